from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.errors import InvalidInput
from orchestrator.hall.octave import BrokenCitation, Transcript, TranscriptTurn, emit, parse
from orchestrator.hall.terms import Cognition, Mode, Role, Status

ORACLE = """
import asyncio, json, sys, types
types_module = types.ModuleType("mcp.types")
types_module.Tool = object  # all that the validator needs of the mcp package
sys.modules["mcp"] = types.ModuleType("mcp")
sys.modules["mcp.types"] = types_module
sys.path.insert(0, sys.argv[1])
from octave_mcp import emit, parse
from octave_mcp.mcp.validate import ValidateTool

def plain(value):
    if type(value).__name__ == "LiteralZoneValue":
        return value.content
    return value.items if type(value).__name__ == "ListValue" else value

def tree(nodes):
    return {n.key: tree(n.children) if hasattr(n, "children") else plain(n.value) for n in nodes}

print("ready", flush=True)
for line in sys.stdin:
    text = json.loads(line)
    document = parse(text)
    verdict = asyncio.run(ValidateTool().execute(content=text, schema="DEBATE_TRANSCRIPT"))
    answer = {
        "meta": {key: plain(value) for key, value in document.meta.items()},
        "tree": tree(document.sections),
        "again": emit(document),
        "status": verdict["validation_status"],
        "complaints": verdict["errors"] + verdict["validation_errors"],
    }
    print(json.dumps(answer), flush=True)
"""

NASTY = [
    "===END===", "===DEBATE_TRANSCRIPT===", "```", "````", "  ```\n", "`" * 40, "~~~", '"', '"""', "\\", "\\n",
    "\\\\", "\\r", "\r\n", "\r", "\n", "\n\n", "\t", " ", "  ", "\x1b[31m", "\x07", "\x0b", "\x0c", "\x1c",
    "\x7f", "\x85", "\u2028", "\u2029", "\u202e", "\u200f", "\ufeff", "\u200d", "👩\u200d🚀", "🏳️", "e\u0301",
    "é", "\u212b", "\u1112\u1161\u11ab", "\u0338", "한", "SYNTHESIS::", "TURNS:\n  T9:\n    ROLE::Door\n",
    "    CONTENT::\n    ```\n", "null", "true", "vs", "A→B", "a⊕b", "A<b>", "$X", "a@b", "a b", "42", "-1",
    "1.2.3", "2026-01-06", "§1", "# x", "// x", "http://x.y/z", "[a,b]", "{x}", "a::b", "---", "[redacted]",
    "closed",
]  # fmt: skip

words = st.lists(st.one_of(st.sampled_from(NASTY), st.text(max_size=6)), max_size=6)
texts = st.one_of(words.map("".join), words.map(" ".join), st.text(max_size=40))
names = st.one_of(st.none(), texts)
numbers = st.integers(min_value=0, max_value=100_000)


@st.composite
def turns(draw: st.DrawFn) -> TranscriptTurn:
    content, reason = draw(st.one_of(st.tuples(texts, st.none()), st.tuples(st.none(), texts)))
    return TranscriptTurn(
        index=0,
        round=draw(numbers),
        role=draw(st.sampled_from(Role)),
        cognition=draw(st.sampled_from(Cognition)),
        agent_role=draw(names),
        model=draw(names),
        at=draw(texts),
        hash=draw(texts),
        content=content,
        redacted_reason=reason,
    )


transcripts = st.builds(
    Transcript,
    thread_id=texts,
    topic=texts,
    mode=st.sampled_from(Mode),
    status=st.sampled_from(Status),
    head=texts,
    opened_at=texts,
    max_turns=numbers,
    max_rounds=numbers,
    turns=st.lists(turns(), max_size=3).map(
        lambda said: tuple(replace(turn, index=index) for index, turn in enumerate(said))
    ),
    synthesis=names,
    marks=st.lists(st.from_regex(r"[A-Z][A-Z0-9_]{0,8}", fullmatch=True), max_size=4).map(tuple),
    reason=names,
    broken=st.lists(st.builds(BrokenCitation, numbers, texts, texts, texts), max_size=2).map(tuple),
)


def transcript(content: str = "What if we kept it?", **changes: Any) -> Transcript:
    turn = TranscriptTurn(
        0, 1, Role.WIND, Cognition.PATHOS, "ideator", "openai/gpt-5.1", "2026-01-06T10:00:00Z", "sha256:ab", content
    )
    values: dict[str, Any] = {
        "thread_id": "2026-01-06-kafka",
        "topic": "Should we move billing to Kafka?",
        "mode": Mode.FIXED,
        "status": Status.ACTIVE,
        "head": "sha256:cd",
        "opened_at": "2026-01-06T09:00:00Z",
        "max_turns": 12,
        "max_rounds": 4,
        "turns": (turn,),
    }
    return Transcript(**(values | changes))


def test_a_debate_is_written_as_a_person_would_read_it() -> None:
    debate = transcript(
        "Three paths:\n- stay\n- go\n", status=Status.SYNTHESIS, synthesis="Stay.", marks=("REHEARSAL",)
    )
    redacted = replace(debate.turns[0], index=1, role=Role.WALL, model=None, content=None, redacted_reason="a name")
    assert emit(replace(debate, turns=(debate.turns[0], redacted))) == (
        """===DEBATE_TRANSCRIPT===
META:
  TYPE::DEBATE_TRANSCRIPT
  VERSION::"1.0"
  HEAD::"sha256:cd"
  OPENED_AT::"2026-01-06T09:00:00Z"
  MARKS::[REHEARSAL]
THREAD_ID::"2026-01-06-kafka"
TOPIC::"Should we move billing to Kafka?"
MODE::fixed
STATUS::synthesis
PARTICIPANTS::[
  Wind,
  Wall,
  Door
]
MAX_TURNS::12
MAX_ROUNDS::4
TURNS:
  T1:
    TURN_INDEX::0
    ROUND::1
    ROLE::Wind
    COGNITION::PATHOS
    AGENT_ROLE::ideator
    MODEL::"openai/gpt-5.1"
    TIMESTAMP::"2026-01-06T10:00:00Z"
    HASH::"sha256:ab"
    CONTENT::
    ```
Three paths:
- stay
- go

    ```
  T2:
    TURN_INDEX::1
    ROUND::1
    ROLE::Wall
    COGNITION::PATHOS
    AGENT_ROLE::ideator
    TIMESTAMP::"2026-01-06T10:00:00Z"
    HASH::"sha256:ab"
    REDACTED::"a name"
    CONTENT::"[redacted]"
SYNTHESIS::Stay.
===END===
"""
    )


def test_citations_that_do_not_hold_stand_behind_the_synthesis_and_the_turns_as_they_were_said() -> None:
    claim = "It is slow [E1:9]."
    debate = transcript(claim, synthesis="Stay.", broken=(BrokenCitation(0, "[E1:9]", claim, "a.md has 2 lines"),))
    assert emit(debate).endswith(
        """    CONTENT::"It is slow [E1:9]."
SYNTHESIS::Stay.
CITATIONS_BROKEN:
  B1:
    TURN_INDEX::0
    CITATION::"[E1:9]"
    CLAIM::"It is slow [E1:9]."
    PROBLEM::"a.md has 2 lines"
===END===
"""
    )
    assert parse(emit(debate)) == debate
    assert "CITATIONS" not in emit(replace(debate, broken=()))


@given(transcripts)
def test_any_debate_comes_back_as_it_was(debate: Transcript) -> None:
    assert parse(emit(debate)) == debate


@pytest.mark.parametrize("text", [*NASTY, "".join(NASTY), "\n".join(NASTY), "\r\n".join(NASTY)])
def test_hostile_text_comes_back_byte_for_byte(text: str) -> None:
    debate = transcript(text, topic=text, synthesis=text, reason=text)
    assert parse(emit(debate)) == debate


@pytest.mark.parametrize("status", Status)
def test_every_status_comes_back_and_only_the_schema_s_words_stand_as_status(status: Status) -> None:
    text = emit(transcript(status=status))
    assert parse(text).status is status
    assert text.split("\nSTATUS::")[1].split("\n")[0] in ("active", "synthesis", "closed")


def test_text_that_says_redacted_is_not_a_redaction() -> None:
    debate = transcript("[redacted]")
    assert parse(emit(debate)) == debate


def test_a_turn_has_either_content_or_the_reason_of_its_redaction() -> None:
    turn = transcript().turns[0]
    with pytest.raises(InvalidInput, match="T1 must have either"):
        replace(turn, content=None)
    with pytest.raises(InvalidInput, match="T1 must have either"):
        replace(turn, redacted_reason="both")


@pytest.mark.parametrize("mark", ["", "rehearsal", "A,B", "A]\nSTATUS::active", "A B"])
def test_a_mark_that_could_forge_structure_is_refused(mark: str) -> None:
    with pytest.raises(InvalidInput, match="cannot mark"):
        emit(transcript(marks=(mark,)))


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("===DEBATE_TRANSCRIPT===", "===NOTES===", "Line 1 .*expected '===DEBATE_TRANSCRIPT==='"),
        ('VERSION::"1.0"', 'VERSION::"9.0"', "Line 4 "),
        ("MODE::fixed", "MODE::open", "MODE cannot be 'open'"),
        ("ROLE::Wind", "ROLE::Rain", "ROLE cannot be 'Rain'"),
        ("MAX_TURNS::12", "MAX_TURNS::²", "MAX_TURNS must be a whole number"),
        ("MAX_TURNS::12", "MAX_TURNS::012", "not how a transcript"),
        ("MAX_TURNS::12", "MAX_TURNS::" + "9" * 5000, "MAX_TURNS must be a whole number"),
        ("  T1:", "  T2:", "Line 19 .*not how a transcript"),
        ("HASH::", "SEAL::", "expected HASH"),
        ("  Wind,", "  Rain,", "Line 12 .*not how a transcript"),
        ("===END===\n", "===END===", "not how a transcript"),
        ("===END===\n", "===END===\nmore", "not how a transcript"),
        ("===END===\n", "", "Line 33 .*expected '===END==='"),
        ("    CONTENT::\n", "    CONTENT::\n    `````\n", "the text ends before"),
        ("\n", "\r\n", "Line 1 "),
    ],
)
def test_what_emit_does_not_write_is_refused_with_its_place(old: str, new: str, where: str) -> None:
    text = emit(transcript("one\ntwo"))
    assert old in text
    with pytest.raises(InvalidInput, match=where):
        parse(text.replace(old, new))


@given(st.data())
def test_a_damaged_transcript_is_refused_or_reads_as_another_debate(data: st.DataObject) -> None:
    debate = data.draw(transcripts)
    text = emit(debate)
    start, length = data.draw(st.integers(0, len(text) - 1)), data.draw(st.integers(1, 30))
    damaged = text[:start] + data.draw(st.text(max_size=5)) + text[start + length :]
    try:
        read = parse(damaged)
    except InvalidInput:
        return
    assert (read == debate) == (damaged == text)


@pytest.fixture(scope="module")
def oracle() -> Iterator[Any]:
    """Octave-mcp, in a process of its own that sees no installed package, so that its pins cannot disturb ours."""
    folder = os.environ.get("OCTAVE_MCP_PATH")
    if not folder:
        pytest.skip(
            "OCTAVE_MCP_PATH does not name a folder with octave-mcp: pip install --no-deps --target FOLDER octave-mcp"
        )
    command = [sys.executable, "-I", "-S", "-c", ORACLE, folder]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", f"octave-mcp cannot be imported from {folder}"

        def ask(text: str) -> Any:
            process.stdin.write(json.dumps(text) + "\n")  # type: ignore[union-attr]
            process.stdin.flush()  # type: ignore[union-attr]
            return json.loads(process.stdout.readline())  # type: ignore[union-attr]

        yield ask
        process.stdin.close()


def without_absent(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def as_octave_reads(debate: Transcript) -> dict[str, Any]:
    ended = debate.status in (Status.STALEMATE, Status.FORCE_CLOSED)
    return without_absent(
        {
            "THREAD_ID": debate.thread_id,
            "TOPIC": debate.topic,
            "MODE": debate.mode.value,
            "STATUS": "closed" if ended else debate.status.value,
            "OUTCOME": debate.status.value if ended else None,
            "REASON": debate.reason,
            "PARTICIPANTS": ["Wind", "Wall", "Door"],
            "MAX_TURNS": debate.max_turns,
            "MAX_ROUNDS": debate.max_rounds,
            "TURNS": {
                f"T{turn.index + 1}": without_absent(
                    {
                        "TURN_INDEX": turn.index,
                        "ROUND": turn.round,
                        "ROLE": turn.role.value,
                        "COGNITION": turn.cognition.value,
                        "AGENT_ROLE": turn.agent_role,
                        "MODEL": turn.model,
                        "TIMESTAMP": turn.at,
                        "HASH": turn.hash,
                        "REDACTED": turn.redacted_reason,
                        "CONTENT": "[redacted]" if turn.content is None else turn.content,
                    }
                )
                for turn in debate.turns
            }
            or [],
            "SYNTHESIS": debate.synthesis,
            "CITATIONS_BROKEN": {
                f"B{number}": {
                    "TURN_INDEX": found.index,
                    "CITATION": found.citation,
                    "CLAIM": found.claim,
                    "PROBLEM": found.problem,
                }
                for number, found in enumerate(debate.broken, 1)
            }
            or None,
        }
    )


def check(oracle: Any, debate: Transcript) -> Any:
    text = emit(debate)
    answer = oracle(text)
    assert answer["tree"] == as_octave_reads(debate)
    assert answer["meta"]["HEAD"] == debate.head
    assert answer["meta"].get("MARKS", []) == list(debate.marks)
    assert answer["again"] == text
    return answer


@pytest.mark.parametrize("text", [*NASTY, "".join(NASTY), "\n".join(NASTY), "\r\n".join(NASTY)])
def test_octave_mcp_reads_every_hostile_text_back_and_its_schema_accepts_the_document(oracle: Any, text: str) -> None:
    answer = check(oracle, transcript(text, topic=text, synthesis=text, reason=text))
    assert (answer["status"], answer["complaints"]) == ("VALIDATED", [])


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("marks", [(), ("REHEARSAL",), ("A", "B"), ("A", "B", "C")])
def test_octave_mcp_s_schema_accepts_every_status_and_mark(oracle: Any, status: Status, marks: tuple[str, ...]) -> None:
    answer = check(oracle, transcript(status=status, marks=marks))
    assert (answer["status"], answer["complaints"]) == ("VALIDATED", [])


def test_octave_mcp_s_schema_accepts_a_debate_without_turns(oracle: Any) -> None:
    answer = check(oracle, transcript(turns=()))
    assert (answer["status"], answer["complaints"]) == ("VALIDATED", [])


def test_octave_mcp_s_schema_accepts_citations_that_do_not_hold(oracle: Any) -> None:
    broken = tuple(BrokenCitation(index, f"[E1:{index}]", "A claim.", "why not") for index in (0, 0, 7))
    answer = check(oracle, transcript(broken=broken))
    assert (answer["status"], answer["complaints"]) == ("VALIDATED", [])


def test_the_oracle_notices_a_wrong_role(oracle: Any) -> None:
    assert oracle(emit(transcript()).replace("ROLE::Wind", "ROLE::Rain"))["status"] == "INVALID"


@given(transcripts)
@settings(deadline=None, max_examples=60)
def test_octave_mcp_reads_any_debate_back_and_writes_it_the_same_way(oracle: Any, debate: Transcript) -> None:
    check(oracle, debate)
