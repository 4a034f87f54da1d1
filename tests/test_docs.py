"""What the documents show runs as it stands there."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from orchestrator.cli.debate_hall import debate_hall
from orchestrator.cli.run_debate import run_debate
from orchestrator.hall.terms import Role
from orchestrator.recipe import TIERS
from orchestrator.signing import new_key

ROOT = Path(__file__).parents[1]
PATTERNS = ROOT / "docs" / "multi-model-debate-patterns.md"
DOCUMENTS = [ROOT / "README.md", ROOT / "agents" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


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
def test_each_command_of_the_readme_is_understood(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    new_key("default")
    result = CliRunner().invoke(run_debate, arguments if "--resume" in arguments else [*arguments, "--dry-run"])
    if "--resume" in arguments:
        assert result.stderr.startswith(f"error: There is no debate {arguments[1]}.")
    else:
        assert result.exit_code == 0, result.output


def tending(document: Path) -> Iterator[list[str]]:
    for block in blocks("sh", document):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            if words and words[0] == "debate-hall":
                yield words[1:]


@pytest.mark.parametrize("arguments", list(tending(ROOT / "README.md")), ids=" ".join)
def test_each_command_that_tends_the_hall_is_one(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Parsed, not run: the files that it names are there."""
    monkeypatch.chdir(tmp_path)
    for name in ("debate.json", "earlier.json", "topics.csv"):
        (tmp_path / name).touch()
    group: click.Command = debate_hall
    while isinstance(group, click.Group) and arguments:
        group, arguments = group.commands[arguments[0]], arguments[1:]
    group.make_context(str(group.name), arguments)


def test_the_excerpts_show_what_a_run_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Line by line, hashes and seconds apart, each excerpt of a rehearsal stands in what its command prints."""
    monkeypatch.chdir(ROOT)
    rehearsals = [arguments for arguments in commands(PATTERNS) if "--rehearse" in arguments]
    shown = [block for block in blocks("text", PATTERNS) if "rehearsal" in block]
    assert len(rehearsals) == len(shown) == 3
    for number, (arguments, excerpt) in enumerate(zip(rehearsals, shown, strict=True)):
        result = CliRunner().invoke(run_debate, [*arguments, "--out", str(tmp_path / str(number))])
        printed = [_bare(line) for line in result.stderr.splitlines()]
        assert [line for line in excerpt.splitlines() if line.strip() != "…" and _bare(line) not in printed] == []


def _bare(line: str) -> str:
    return re.sub(r"\d+\.\d s,", "s,", re.sub(r"sha256:[0-9a-f]*…?", "sha256:", line))


@pytest.mark.parametrize("document", [PATTERNS, ROOT / "README.md"], ids=lambda path: path.stem)
def test_a_python_example_runs(document: Path) -> None:
    (example,) = blocks("python", document)
    exec(compile(example, str(document), "exec"), {})


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_to_a_file_leads_to_one(document: Path) -> None:
    links = re.findall(r"\]\(([^()\s]+)\)|^\[[^]]+\]:\s+(\S+)", document.read_text(), re.MULTILINE)
    files = [link.partition("#")[0] for pair in links for link in pair if link and not link.startswith("https://")]
    missing = [file for file in files if file and not (document.parent / file).exists()]
    assert missing == []


def test_the_documents_link_to_one_another() -> None:
    for page in ("mcp", "faults", "models"):
        assert f"(docs/{page}.md)" in (ROOT / "README.md").read_text()
    assert len(DOCUMENTS) >= 4


def test_the_table_of_tiers_names_the_agents_that_sit_there() -> None:
    rows = re.findall(r"^\| ([123]) \|.*\| (.*) \|$", (ROOT / "agents" / "README.md").read_text(), re.MULTILINE)
    by_role = ". ".join(f"{role}: {', '.join(names)}" for role, names in seated("2").items())
    by_domain = ". ".join(f"{tier[2:]}: {everybody(tier)}" for tier in TIERS if tier.startswith("3:"))
    assert rows == [("1", everybody("1")), ("2", by_role), ("3", by_domain)]


def seated(tier: str) -> dict[Role, list[str]]:
    return {role: [seat.agent for seat in getattr(TIERS[tier], role.lower())] for role in Role}


def everybody(tier: str) -> str:
    return ", ".join(name for names in seated(tier).values() for name in names)


OCTAVE = [
    *(ROOT / "docs").glob("*.oct.md"),
    *(ROOT / "agents").glob("*.oct.md"),
    *(ROOT / "skills").glob("*/SKILL.md"),
]
ROUND_TRIP = """
import json, sys
sys.path.insert(0, sys.argv[1])
from octave_mcp import emit, parse
print(json.dumps([emit(parse(text)) for text in json.load(sys.stdin)]))
"""


@pytest.mark.slow
def test_octave_mcp_reads_every_octave_page_and_writes_it_the_same_way() -> None:
    folder = os.environ.get("OCTAVE_MCP_PATH")
    if not folder:
        pytest.skip("OCTAVE_MCP_PATH does not name a folder with octave-mcp")
    texts = [page.read_text() for page in OCTAVE]
    bodies = [text[text.index("===") :] for text in texts]  # behind the front matter, where there is one
    command = [sys.executable, "-I", "-S", "-c", ROUND_TRIP, folder]
    written = subprocess.run(command, input=json.dumps(bodies), capture_output=True, text=True, check=True)
    assert [body.rstrip() for body in json.loads(written.stdout)] == [body.rstrip() for body in bodies]
    assert len(bodies) >= 13


def test_ci_runs_the_readmes_own_commands() -> None:
    readme, script = (ROOT / "README.md").read_text(), (ROOT / ".ci" / "run").read_text()
    for name in ("first", "tests"):
        assert re.search(rf"^<!-- {name} -->\n```sh\n[^\n]+\n```$", readme, re.MULTILINE)
        assert f"readme_command {name}" in script
