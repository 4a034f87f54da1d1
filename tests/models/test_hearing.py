"""What is heard of an answer while it comes holds no secret, however it is cut, and adds up to what is kept."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import ConnectionFailed
from orchestrator.hall.terms import Role
from orchestrator.models.base import Endpoint, Message, Model, Reply, Request, Task, Usage
from orchestrator.models.guarded import Guarded
from orchestrator.models.hearing import Hearing
from orchestrator.secrets import REMOVED, scrub

TASK = Task("turn", Role.WALL, "validator", None, round=1, rounds=1, last=False, topic="Kafka?")
USAGE = Usage(input=9, cached=3, output=2, cost_usd=None)
TOKEN = "gh" + "p_" + "Zk3vQ9xT1mB7nR5wL2cY8dF4hJ6pS0gUaEiO"
RANDOM = "q7Xz2Lp9Vt4Rk8Ws3Nm6Bd1F"
SPOKEN = "the heron walks at dusk"  # a key that is made of words
OVER_LINES = "first half of it\nand the second"
BLOCK = (
    "-----BEGIN PRIVATE KEY-----\n"
    + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n" * 4
    + "-----END PRIVATE KEY-----"
)
KEYS = (SPOKEN, OVER_LINES)
SECRETS = (TOKEN, RANDOM, SPOKEN, OVER_LINES, BLOCK)

WORDS = st.sampled_from(
    [
        "What if we moved one table?",
        "# Wall",
        "token:",
        "api_key =",
        "Bearer",
        "https://shed:",
        "@host",
        "-----",
        "first",
    ]
)
TEXTS = st.lists(
    st.one_of(
        WORDS, st.sampled_from(SECRETS), st.sampled_from(["\n", " ", "\n\n", ": ", "-----BEGIN ", "half of it\n"])
    ),
    max_size=25,
).map("".join)


def heard(text: str, cuts: list[int]) -> list[str]:
    told: list[str] = []
    hearing = Hearing(told.append, KEYS)
    for begin, end in pairwise([0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]):
        hearing.add(text[begin:end])
    hearing.end()
    return told


@given(TEXTS, st.lists(st.integers(0, 600), max_size=40))
def test_what_was_heard_adds_up_to_what_is_kept(text: str, cuts: list[int]) -> None:
    assert "".join(heard(text, cuts)) == scrub(text, KEYS)


@pytest.mark.parametrize("secret", SECRETS, ids=["token", "random", "words", "over lines", "block"])
def test_a_key_in_two_pieces_is_never_heard(secret: str) -> None:
    text = f"Yes, but.\nSet api_key = {secret}\nand go on.\nThen stop."
    assert scrub(text, KEYS) != text
    for cut in range(len(text)):
        told = heard(text, [cut])
        assert "".join(told) == scrub(text, KEYS)
        assert "".join(told).count(REMOVED) == 1


@pytest.mark.parametrize("secret", SECRETS, ids=["token", "random", "words", "over lines", "block"])
def test_nothing_of_a_key_is_heard_before_it_has_ended(secret: str) -> None:
    told: list[str] = []
    hearing = Hearing(told.append, KEYS)
    for letter in f"Yes, but.\nIts token:\n{secret[:-1]}":
        hearing.add(letter)
    assert "".join(told) == "Yes, but.\nIts token:\n"


def test_lines_are_heard_as_they_end() -> None:
    told: list[str] = []
    hearing = Hearing(told.append, KEYS)
    for piece in ("What", " if?\nTh", "en what", "?\n\nWhy"):
        hearing.add(piece)
    assert told == ["What if?\n", "Then what?\n\n"]
    hearing.end()
    assert told[-1] == "Why"


class Streaming:
    """A model that tells its answer in pieces, and may break off."""

    def __init__(self, *pieces: str, breaks: bool = False) -> None:
        self.pieces, self.breaks = pieces, breaks

    async def complete(self, request: Request) -> Reply:
        assert request.hear is not None
        for piece in self.pieces:
            request.hear(piece)
        if self.breaks:
            raise ConnectionFailed("lost", model=request.model, text="".join(self.pieces))
        return Reply("".join(self.pieces), "a-1", USAGE)


def asked(told: list[str], **endpoint: object) -> Request:
    messages = (Message("user", "Kafka?"),)
    return Request("a", messages, TASK, 100, 1, endpoint=Endpoint(**endpoint), hear=told.append)  # type: ignore[arg-type]


@pytest.mark.anyio
async def test_no_key_of_the_call_leaves_through_what_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAM_PASS", SPOKEN)
    monkeypatch.setenv("GATE", "over the wet grass")
    told: list[str] = []
    model: Model = Guarded(
        Streaming("It goes over the", " wet grass.\nAnd the heron ", "walks at dusk \ud83d.", "\nEnd")
    )
    reply = await model.complete(asked(told, header_env=(("X-Gate", "GATE"),)))
    assert reply.text == f"It goes {REMOVED}.\nAnd {REMOVED} \ufffd.\nEnd"
    assert told == [f"It goes {REMOVED}.\n", f"And {REMOVED} \ufffd.\n", "End"]


@pytest.mark.anyio
async def test_of_an_answer_that_broke_off_the_line_under_way_is_not_heard() -> None:
    told: list[str] = []
    with pytest.raises(ConnectionFailed):
        await Guarded(Streaming("One line.\nHalf a ", breaks=True)).complete(asked(told))
    assert told == ["One line.\n"]
