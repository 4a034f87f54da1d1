"""The thinking that stands in front of an answer is taken off, in whichever pieces it comes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.models.reading import Spoken

SAID = {
    "plain": ("What if we moved?", "What if we moved?"),
    "white space first": ("\n What if?", "\n What if?"),
    "thought first": ("<think>Hm.\nLet me see.</think>\n\nWhat if?", "What if?"),
    "white space, then a thought": ("\n\n<think>\n</think>What if?", "What if?"),
    "the other tag": ("<thinking>Hm, <think> is short.</thinking> What if?", "What if?"),
    "two thoughts": ("<think>Hm.</think>\n<think>Well.</think>\nWhat if?", "What if?"),
    "a tag further on": ("It says <think>no</think>.", "It says <think>no</think>."),
    "a tag behind a thought": ("<think>Hm.</think>It says <think>no</think>.", "It says <think>no</think>."),
    "a thought that never ends": ("<think>Hm. Let me", ""),
    "nothing but a thought": ("<think>Hm.</think>\n", ""),
    "what only begins like a tag": ("<thin air> it is", "<thin air> it is"),
    "the beginning of a tag and no more": ("<thin", "<thin"),
    "nothing": ("", ""),
    "white space": (" \n", " \n"),
}
PIECES = st.lists(
    st.sampled_from(
        ["<think>", "</think>", "<thinking>", "</thinking>", "<thi", "nk>", "</", " ", "\n", "What if", "<", ">"]
    )
)


def spoken(*pieces: str, thought: bool = False) -> str:
    ear = Spoken(thought)
    return "".join([*map(ear.add, pieces), ear.end()])


@pytest.mark.parametrize(("text", "said"), SAID.values(), ids=SAID)
def test_only_what_was_said_is_left(text: str, said: str) -> None:
    assert spoken(text) == said
    assert spoken(*text) == said  # letter by letter


@given(PIECES)
def test_pieces_say_what_the_whole_says(pieces: list[str]) -> None:
    assert spoken(*pieces) == spoken("".join(pieces))


def test_after_thinking_that_came_apart_an_answer_begins_without_white_space() -> None:
    assert spoken("\n\n", "What", " if?\n", thought=True) == "What if?\n"


def test_what_is_said_is_not_held_back() -> None:
    ear = Spoken()
    assert [ear.add(piece) for piece in ("<", "b>What", " if", "?")] == ["", "<b>What", " if", "?"]


def test_a_long_thought_costs_no_more_than_its_length() -> None:
    ear = Spoken()
    ear.add("<think>")
    for _ in range(20_000):
        assert ear.add("and then we could say that it ") == ""
    assert len(ear._held) < 20
    assert ear.add("</think>So.") == "So."
