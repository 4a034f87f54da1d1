"""What the documents show runs as it stands there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from orchestrator.cli.run_debate import run_debate

ROOT = Path(__file__).parents[1]
PATTERNS = ROOT / "docs" / "multi-model-debate-patterns.md"


@pytest.fixture(autouse=True)
def hall_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(tmp_path / "state"))
    for key in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(key, "a-key-for-a-dry-run")


def blocks(language: str, document: Path) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", document.read_text(), re.DOTALL | re.MULTILINE)


def commands(document: Path) -> Iterator[list[str]]:
    for block in blocks("sh", document):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words and words[0].endswith("run-debate"):
                yield words[1:]


@pytest.mark.parametrize("arguments", list(commands(PATTERNS)), ids=" ".join)
def test_each_pattern_runs_as_its_page_says(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    offline = [] if "--rehearse" in arguments else ["--dry-run"]
    result = CliRunner().invoke(run_debate, [*arguments, *offline, *([] if offline else ["--out", str(tmp_path)])])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("arguments", list(commands(ROOT / "README.md")), ids=" ".join)
def test_each_command_of_the_readme_is_understood(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    result = CliRunner().invoke(run_debate, [*arguments, "--dry-run"])
    assert result.exit_code == 0, result.output


def test_the_excerpts_show_what_a_run_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Line by line, hashes apart, each excerpt of a rehearsal stands in what its command prints."""
    monkeypatch.chdir(ROOT)
    rehearsals = [arguments for arguments in commands(PATTERNS) if "--rehearse" in arguments]
    shown = [block for block in blocks("text", PATTERNS) if "rehearsal" in block]
    assert len(rehearsals) == len(shown) == 3
    for number, (arguments, excerpt) in enumerate(zip(rehearsals, shown, strict=True)):
        result = CliRunner().invoke(run_debate, [*arguments, "--out", str(tmp_path / str(number))])
        printed = [_bare(line) for line in result.stderr.splitlines()]
        assert [line for line in excerpt.splitlines() if line.strip() != "…" and _bare(line) not in printed] == []


def _bare(line: str) -> str:
    return re.sub(r"sha256:[0-9a-f]*…?", "sha256:", line)


def test_the_python_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = blocks("python", PATTERNS)
    exec(compile(example, str(PATTERNS), "exec"), {})


def test_ci_runs_the_readmes_own_commands() -> None:
    readme, script = (ROOT / "README.md").read_text(), (ROOT / ".ci" / "run").read_text()
    for name in ("first", "tests"):
        assert re.search(rf"^<!-- {name} -->\n```sh\n[^\n]+\n```$", readme, re.MULTILINE)
        assert f"readme_command {name}" in script
