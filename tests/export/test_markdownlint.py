"""markdownlint, as npm has it, with the configuration it has by itself, finds nothing in any `decision.md`.

`NODE_TOOLS` names a folder in which `npm install markdownlint-cli2` was run.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings

from building import evidence_of, plan_of
from export.endings import ENDINGS
from export.test_adr_folder import fill
from export.test_markdown import accounted, debate_of, rendered
from export.writings import HOSTILE, WRITTEN
from orchestrator.decision.account import Option
from orchestrator.export.adr_folder import keep
from orchestrator.export.headings import Headings
from orchestrator.export.lines import listed, paragraph
from orchestrator.export.markdown import render_adr
from orchestrator.export.prose import quote
from orchestrator.export.words import code, inline, plain

Lint = Callable[[], str]
TEXTS = [parameter.values[0] for parameter in HOSTILE]

pytestmark = pytest.mark.slow


@pytest.fixture
def linted(tmp_path: Path) -> Path:
    folder = tmp_path / "linted"
    folder.mkdir()
    return folder


@pytest.fixture
def lint(linted: Path) -> Lint:
    """What markdownlint says of the files in `linted`: nothing, if all is well."""
    tools = os.environ.get("NODE_TOOLS")
    if tools is None:
        pytest.skip("NODE_TOOLS names no folder in which `npm install markdownlint-cli2` was run")
    command = [str(Path(tools) / "node_modules" / ".bin" / "markdownlint-cli2"), "*.md"]

    def run() -> str:
        done = subprocess.run(command, cwd=linted, capture_output=True, text=True, timeout=120, check=False)
        assert f"Linting: {len(list(linted.iterdir()))} file(s)" in done.stdout
        return done.stderr

    return run


def test_the_tool_finds_what_is_wrong(linted: Path, lint: Lint) -> None:
    (linted / "wrong.md").write_text(f"# Title\n\n{'word ' * 20}\n- <b>x</b>\n")
    assert {rule for rule in ("MD013", "MD032", "MD033") if rule in lint()} == {"MD013", "MD032", "MD033"}


def test_it_finds_nothing_however_a_debate_ended(linted: Path, lint: Lint, tmp_path: Path) -> None:
    for at, (name, end) in enumerate(ENDINGS.items()):
        debate, record = end(tmp_path / str(at))
        (linted / f"{name}.md").write_text(render_adr(record, debate))
    assert lint() == ""


def test_it_finds_nothing_whatever_was_said(linted: Path, lint: Lint, tmp_path: Path) -> None:
    for at, text in enumerate(TEXTS):
        plan = plan_of(evidence=[evidence_of()])
        document = rendered(debate_of(tmp_path / str(at), text), plan, (f"T1: {text}",))
        (linted / f"said {at}.md").write_text(document)
        options = tuple(Option(title=text, turns=(1,), taken=taken, why=text, because=()) for taken in (True, False))
        changes = {"options": options, "summary": text, "title": text, "incomplete": (text,)}
        (linted / f"accounted {at}.md").write_text(accounted(tmp_path / f"{at} accounted", **changes))
    assert lint() == ""


def test_it_finds_nothing_in_a_folder_of_records(linted: Path, lint: Lint, tmp_path: Path) -> None:
    fill(linted, ["0001-a.md"], "# {number}. {words}")
    for at, text in enumerate(TEXTS):
        plan = plan_of()
        debate = debate_of(tmp_path / str(at), "Therefore.", topic="Kafka?", plan=plan)
        record = ENDINGS["accounted"](tmp_path / f"{at} accounted").record
        keep(linted, record.model_copy(update={"title": text, "thread_id": f"thread-{at}"}), debate)
    assert len(list(linted.iterdir())) == len(TEXTS) + 1
    assert lint() == ""


def test_it_finds_nothing_in_words_put_together_at_random(linted: Path, lint: Lint) -> None:
    headings = Headings(["Title"])
    parts = ["# Title"]

    @given(text=WRITTEN)
    @settings(max_examples=600, deadline=None, database=None)
    def write(text: str) -> None:
        parts.extend(
            [headings.of(2, text), "Words:", quote(text), listed([f"Said: {inline(text)}", inline(text) or "x"])]
        )
        parts.append(paragraph(f"Plain: {plain(text)} and {code(text)}"))

    write()
    (linted / "random.md").write_text("\n\n".join(parts) + "\n")
    assert lint() == ""
