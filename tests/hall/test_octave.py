from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.errors import InvalidInput
from orchestrator.hall.octave import Value, emit, first_other_line, is_name, parse, seal, unseal

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
keys = st.from_regex(r"[A-Z][A-Z0-9_]{0,8}", fullmatch=True).filter(lambda key: key != "SEAL")
names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,8}", fullmatch=True).filter(is_name)
leaves = st.one_of(texts, st.integers(0, 10**18 - 1), st.booleans(), st.lists(names, max_size=4).map(tuple))
blocks = st.dictionaries(keys, leaves, min_size=1, max_size=4)
documents = st.dictionaries(
    keys, st.recursive(leaves, lambda inner: st.dictionaries(keys, inner, min_size=1, max_size=3)), max_size=5
).filter(bool)

DOCUMENT: dict[str, Value] = {
    "META": {"TYPE": "NOTES", "VERSION": "1.0", "MARKS": ("REHEARSAL",)},
    "TOPIC": "Should we move billing to Kafka?",
    "COUNT": 12,
    "OPEN": False,
    "NOBODY": (),
    "ROLES": ("Wind", "Wall", "Door"),
    "TURNS": {"T1": {"ROLE": "Wind", "CONTENT": "Three paths:\n- stay\n- go\n"}},
}


def test_a_document_is_written_as_a_person_would_read_it() -> None:
    assert emit("NOTES", DOCUMENT) == (
        """===NOTES===
META:
  TYPE::NOTES
  VERSION::"1.0"
  MARKS::[REHEARSAL]
TOPIC::"Should we move billing to Kafka?"
COUNT::12
OPEN::false
NOBODY::[]
ROLES::[
  Wind,
  Wall,
  Door
]
TURNS:
  T1:
    ROLE::Wind
    CONTENT::
    ```
Three paths:
- stay
- go

    ```
===END===
"""
    )


@given(keys, documents)
def test_any_document_comes_back_as_it_was(name: str, members: dict[str, Value]) -> None:
    assert parse(emit(name, members)) == (name, members)


@pytest.mark.parametrize("text", [*NASTY, "".join(NASTY), "\n".join(NASTY), "\r\n".join(NASTY)])
def test_hostile_text_comes_back_byte_for_byte(text: str) -> None:
    members: dict[str, Value] = {"TOPIC": text, "TURNS": {"T1": {"CONTENT": text}}}
    assert parse(emit("NOTES", members)) == ("NOTES", members)


@pytest.mark.parametrize("key", ["", "rehearsal", "A,B", "A]\nSTATUS::active", "A B", "1A"])
def test_a_key_that_could_forge_structure_is_refused(key: str) -> None:
    for members in ({key: "x"}, {key: 1}, {key: ("x",)}, {key: {"A": "x"}}, {"A": {key: "x"}}):
        with pytest.raises(InvalidInput, match="cannot be a key"):
            emit("NOTES", members)
    with pytest.raises(InvalidInput, match="cannot be a key"):
        emit(key, {"A": "x"})


@pytest.mark.parametrize("word", ["", "a b", "a,b", "a]", "true", "null", "1", "a-"])
def test_a_word_that_is_no_name_stands_in_no_list(word: str) -> None:
    with pytest.raises(InvalidInput, match="cannot stand in a list"):
        emit("NOTES", {"WORDS": ("a", word)})


def test_an_empty_block_is_refused() -> None:
    with pytest.raises(InvalidInput, match="The block TURNS is empty"):
        emit("NOTES", {"TURNS": {}})


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("===NOTES===", "==NOTES==", "Line 1 .*not how a document"),
        ("===NOTES===", "===notes===", "cannot be a key"),
        ('VERSION::"1.0"', "VERSION::1.0", "Line 4 .*not how a document"),
        ("COUNT::12", "COUNT::012", "Line 7 .*not how a document"),
        ("COUNT::12", "COUNT::²", "Line 7 .*not how a document"),
        ("COUNT::12", "COUNT::" + "9" * 5000, "Line 7 .*not how a document"),
        ("COUNT::12", "TOPIC::12", "not how a document"),
        ("COUNT::12", " COUNT::12", "expected ===END==="),
        ("  Wind,", "  Ra in,", "cannot stand in a list"),
        ("  T1:", "  t1:", "expected a key"),
        ("    ROLE", "   ROLE", "expected a key"),
        ("===END===\n", "===END===", "not how a document"),
        ("===END===\n", "===END===\nmore", "not how a document"),
        ("===END===\n", "", "Line 25 .*expected ===END==="),
        ("    CONTENT::\n", "    CONTENT::\n    `````\n", "the text ends before"),
        ("\n", "\r\n", "Line "),
        ("COUNT::12", "\n".join(f"{'  ' * depth}A:" for depth in range(2000)), "nested too deeply"),
    ],
)
def test_what_emit_does_not_write_is_refused_with_its_place(old: str, new: str, where: str) -> None:
    text = emit("NOTES", DOCUMENT)
    assert old in text
    with pytest.raises(InvalidInput, match=where):
        parse(text.replace(old, new))


@pytest.mark.slow
@given(st.data())
def test_a_damaged_document_is_refused_or_reads_as_another(data: st.DataObject) -> None:
    members = data.draw(documents)
    text = emit("NOTES", members)
    start, length = data.draw(st.integers(0, len(text) - 1)), data.draw(st.integers(1, 30))
    damaged = text[:start] + data.draw(st.text(max_size=5)) + text[start + length :]
    try:
        read = parse(damaged)
    except InvalidInput:
        return
    assert (read == ("NOTES", members)) == (damaged == text)


def test_the_first_line_that_differs_is_counted_from_one() -> None:
    assert first_other_line("a\nb\n", "a\nc\n") == 2
    assert first_other_line("a\nb", "a\nb\nc") == 2
    assert first_other_line("a\nb\n", "a\nb\nc\n") == 3


# ------------------------------------------------------------------------------------------------------------- the seal


@pytest.mark.slow
@given(documents)
def test_a_seal_comes_off_as_it_was_put_on(members: dict[str, Value]) -> None:
    text = emit("NOTES", members)
    assert unseal(seal(text)) == (text, True)
    assert unseal(text) == (text, False)


@pytest.mark.slow
@given(st.data())
def test_a_sealed_document_that_was_damaged_is_noticed(data: st.DataObject) -> None:
    sealed = seal(emit("NOTES", data.draw(documents)))
    at = data.draw(st.integers(0, len(sealed) - 1))
    damaged = sealed[:at] + data.draw(st.characters().filter(lambda other: other != sealed[at])) + sealed[at + 1 :]
    try:
        bare, had = unseal(damaged)
        assert not had, "a damaged seal is none"
        parse(bare)
    except (InvalidInput, UnicodeEncodeError):
        return
    raise AssertionError("the damage was not noticed")


# ----------------------------------------------------------------------------------------- octave-mcp reads it the same


def as_octave_reads(members: Any) -> Any:
    if isinstance(members, dict):
        return {key: as_octave_reads(value) for key, value in members.items()}
    return list(members) if isinstance(members, tuple) else members


def check(oracle: Any, members: dict[str, Value]) -> None:
    text = emit("NOTES", members)
    answer = oracle(text)
    assert answer["tree"] == as_octave_reads({key: value for key, value in members.items() if key != "META"})
    assert answer["again"] == text
    sealed = oracle(seal(text))
    assert (sealed["seal"], sealed["again"]) == ("VERIFIED", seal(text))


@pytest.mark.parametrize("text", [*NASTY, "".join(NASTY), "\n".join(NASTY), "\r\n".join(NASTY)])
def test_octave_mcp_reads_every_hostile_text_back(oracle: Any, text: str) -> None:
    check(oracle, {**DOCUMENT, "TOPIC": text, "TURNS": {"T1": {"CONTENT": text}}})


@given(documents)
@settings(deadline=None, max_examples=60)
def test_octave_mcp_reads_any_document_back_and_writes_it_the_same_way(oracle: Any, members: dict[str, Value]) -> None:
    check(oracle, {"META": {"TYPE": "NOTES"}} | {key: value for key, value in members.items() if key != "META"})


def test_the_oracle_notices_a_broken_seal(oracle: Any) -> None:
    sealed = seal(emit("NOTES", DOCUMENT))
    assert oracle(re.sub("COUNT::12", "COUNT::13", sealed))["seal"] == "INVALID"
