"""Agents: the bundled ten, and what a file must say."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.agent import Agent, list_agents, load_agent, parse_agent
from orchestrator.errors import ConfigurationError
from orchestrator.hall.terms import Role

BUNDLED = (Path(__file__).parent.parent / "agents",)
TEN = {
    "wind-agent": (Role.WIND, 1),
    "ideator": (Role.WIND, 2),
    "edge-optimizer": (Role.WIND, 2),
    "wall-agent": (Role.WALL, 1),
    "validator": (Role.WALL, 2),
    "critical-engineer": (Role.WALL, 2),
    "door-agent": (Role.DOOR, 1),
    "synthesizer": (Role.DOOR, 2),
    "technical-architect": (Role.DOOR, 2),
    "holistic-orchestrator": (Role.DOOR, 3),
}
MUST_ASK_FOR = {
    Role.WIND: ("### Option 1:", "## QUESTIONS"),
    Role.WALL: (
        "VERDICT: APPROVED | CONDITIONAL | BLOCKED",
        "## EVIDENCE",
        "## CONSTRAINTS",
        "- [C1] CONSTRAINT",
        "OPPORTUNITY",
        "Reality:",
        "Violation:",
        "Instead:",
        "Build:",
        "Done when:",
        "Remediation:",
        "at least six words of Wind exactly",
    ),
    Role.DOOR: ("## STEPS: a numbered list", "## SYNTHESIS", "- [T3.C1] MET: ", "or TRADED OFF, REFUTED, OPEN"),
}
GOOD = """---
name: planner
role: wALL
tier: 2
summary: "Arithmetic: before  opinion."
temperature: 0.3
max_output_tokens: 3000
---

===PLANNER===
WHO::"Wall with a spreadsheet."
SECTION::"HEAD \\"ROOM\\""
QUESTIONS::["What is the peak, and [when]?", "Who measured it?",]
===END===
"""


def bundled() -> list[Agent]:
    return [load_agent(name, BUNDLED) for name in TEN]


def without(*names: str) -> str:
    return "".join(line for line in GOOD.splitlines(keepends=True) if not line.startswith(names))


def test_the_bundled_agents_are_the_ten_in_their_roles_and_tiers() -> None:
    assert {agent.name: (agent.role, agent.tier) for agent in list_agents(BUNDLED)} == TEN


@pytest.mark.parametrize("agent", bundled(), ids=lambda agent: agent.name)
def test_a_bundled_agent_is_dense_and_says_how_to_answer(agent: Agent) -> None:
    # A token is about four characters of English; measured with cl100k_base the ten have 506 to 600 tokens.
    assert 350 <= len(agent.text) / 4 <= 600
    assert 4 <= len(agent.questions) <= 6
    assert all(question.endswith("?") and '"' not in question for question in agent.questions)
    for field in ("WHO::", "METHOD::", "EARLY::", "LATE::", "ANSWER::", "NEVER::", "[E1:12-18]"):
        assert field in agent.text
    for words in MUST_ASK_FOR[agent.role]:
        assert words in agent.text


def test_each_bundled_agent_has_a_section_that_no_other_agent_mentions() -> None:
    for agent in bundled():
        assert f"## {agent.section}" in agent.text
        assert [other.name for other in bundled() if agent.section in other.text] == [agent.name]


def test_no_question_is_asked_by_two_bundled_agents() -> None:
    questions = [question for agent in bundled() for question in agent.questions]
    assert len(set(questions)) == len(questions)


def test_the_readme_lists_every_bundled_agent_with_its_section() -> None:
    readme = (BUNDLED[0] / "README.md").read_text(encoding="utf-8")
    for agent in bundled():
        row = next(line for line in readme.splitlines() if line.startswith(f"| [{agent.name}]"))
        assert f"| {agent.role} | {agent.tier} |" in row
        assert row.endswith(f"| {agent.section} |")


def test_a_file_is_read_into_an_agent() -> None:
    agent = parse_agent(GOOD, "planner.oct.md")
    assert agent == Agent(
        name="planner",
        role=Role.WALL,
        tier=2,
        summary="Arithmetic: before opinion.",
        temperature=0.3,
        max_output_tokens=3000,
        text=GOOD[GOOD.index("===PLANNER===") :],
        section='HEAD "ROOM"',
        questions=("What is the peak, and [when]?", "Who measured it?"),
        source="planner.oct.md",
    )


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "planner.oct.md"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert load_agent("planner", [tmp_path]) == parse_agent(GOOD, str(path))


def test_what_may_be_left_out_is_empty() -> None:
    agent = parse_agent(without("SECTION", "QUESTIONS", "temperature", "max_output_tokens"), "planner.oct.md")
    assert (agent.section, agent.questions, agent.temperature, agent.max_output_tokens) == ("", (), None, None)


def test_the_first_folder_wins_and_shadowed_agents_are_not_listed(tmp_path: Path) -> None:
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    for folder, summary in ((mine, "mine"), (theirs, "theirs")):
        folder.mkdir()
        text = GOOD.replace("summary: ", f"summary: {summary} # ")
        (folder / "planner.oct.md").write_text(text, encoding="utf-8")
    folders = [tmp_path / "missing", mine, theirs]
    assert load_agent("Planner", folders).summary == "mine"
    assert [agent.summary for agent in list_agents(folders)] == ["mine"]


def test_an_unknown_agent_is_answered_with_the_nearest_name_and_the_list() -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_agent("Critical_Enginer", BUNDLED)
    assert "no agent called 'Critical_Enginer'" in str(caught.value)
    assert "Did you mean critical-engineer?" in str(caught.value)
    for name in TEN:
        assert name in caught.value.cure


def test_a_name_cannot_reach_outside_the_folders(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "planner.oct.md").write_text(GOOD, encoding="utf-8")
    with pytest.raises(ConfigurationError, match="no agent called"):
        load_agent("../planner", [tmp_path / "agents"])


BAD = {
    "empty file": ("", 1, "", "front matter is missing"),
    "no front matter": (GOOD[GOOD.index("===PLANNER===") :], 1, "", "front matter is missing"),
    "endless front matter": (GOOD.replace("---\n\n", ""), 1, "", "never ends"),
    "unknown key": (GOOD.replace("summary:", "sumary:"), 5, "sumary", "Did you mean summary?"),
    "duplicate key": (GOOD.replace("tier: 2", "tier: 2\ntier: 2"), 5, "tier", "duplicate"),
    "missing key": (without("tier"), 2, "tier", "missing"),
    "broken YAML": (GOOD.replace('"Arithmetic: before  opinion."', "Arithmetic: before"), 5, "", "not valid YAML"),
    "no such tier": (GOOD.replace("tier: 2", "tier: 4"), 4, "tier", "at most 3"),
    "no such role": (GOOD.replace("wALL", "Floor"), 3, "role", "Wind, Wall or Door"),
    "role of a wrong type": (GOOD.replace("wALL", "[Wall]"), 3, "role", "Wind, Wall or Door"),
    "bad name": (GOOD.replace("name: planner", "name: ../planner"), 2, "name", "cannot be an agent's name"),
    "long name": (GOOD.replace("name: planner", f"name: {'a' * 65}"), 2, "name", "at most 64"),
    "blank summary": (GOOD.replace('"Arithmetic: before  opinion."', '" "'), 5, "summary", "one printable line"),
    "too hot": (GOOD.replace("0.3", "2.1"), 6, "temperature", "at most 2"),
    "no tokens": (GOOD.replace("3000", "0"), 7, "max_output_tokens", "at least 1"),
    "no body": (GOOD[: GOOD.index("\n===PLANNER===")], 9, "", "does not begin with ===NAME==="),
    "words before the body": (GOOD.replace("===PLANNER===", "Hello\n===PLANNER==="), 10, "", "does not begin"),
    "only an end": (GOOD[: GOOD.index("===PLANNER===")] + "===END===\n", 10, "", "does not begin"),
    "no end": (without("===END==="), 13, "", "does not end with ===END==="),
    "words after the end": (GOOD + "Bye\n", 15, "", "does not end with ===END==="),
    "NUL": (GOOD.replace("spreadsheet", "spread\0sheet"), 11, "", "NUL"),
    "bare section": (GOOD.replace('SECTION::"HEAD \\"ROOM\\""', "SECTION::HEADROOM"), 12, "SECTION", "cannot be read"),
    "two sections": (GOOD.replace("WHO::", 'SECTION::"X"\nWHO::'), 13, "SECTION", "second time"),
    "open list": (GOOD.replace(",]", ""), 13, "QUESTIONS", "cannot be read"),
    "bad escape": (GOOD.replace("Who measured", "Who \\q measured"), 13, "QUESTIONS", "cannot be read"),
    "half a surrogate": (GOOD.replace("Who measured", "Who \\ud800 measured"), 13, "QUESTIONS", "cannot be read"),
}


@pytest.mark.parametrize(("text", "line", "key", "words"), BAD.values(), ids=BAD.keys())
def test_a_bad_file_is_refused_by_file_line_and_key(text: str, line: int, key: str, words: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_agent(text, "planner.oct.md")
    assert (caught.value.source, caught.value.line, caught.value.key) == ("planner.oct.md", line, key)
    assert words in str(caught.value)


def test_an_agent_larger_than_64_kib_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"^planner\.oct\.md: The agent is larger than 64 KiB"):
        parse_agent(GOOD.replace("spreadsheet", "x" * 65_536), "planner.oct.md")


def test_a_name_that_is_not_the_files_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "planer.oct.md"
    path.write_text(GOOD, encoding="utf-8")
    for attempt in (lambda: load_agent("planer", [tmp_path]), lambda: list_agents([tmp_path])):
        with pytest.raises(ConfigurationError, match="calls itself planner") as caught:
            attempt()
        assert (caught.value.source, caught.value.line, caught.value.key) == (str(path), 2, "name")


def test_a_file_that_is_not_utf_8_is_refused_by_line(tmp_path: Path) -> None:
    path = tmp_path / "planner.oct.md"
    path.write_bytes(GOOD.encode().replace(b"spreadsheet", b"spreadsh\xe9et"))
    with pytest.raises(ConfigurationError, match="UTF-8") as caught:
        load_agent("planner", [tmp_path])
    assert (caught.value.source, caught.value.line) == (str(path), 11)
