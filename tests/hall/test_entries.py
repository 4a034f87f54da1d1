from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, get_args

import pytest
from halls import SEAT, THREAD
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.errors import InvalidInput
from orchestrator.hall import canonical
from orchestrator.hall.entries import (
    BODIES,
    Body,
    Closed,
    Entry,
    FloorGiven,
    Opened,
    Refined,
    Turn,
    Vote,
    parse,
    text_of,
    typed,
)
from orchestrator.hall.terms import Choice, Cognition, Mode, Role, Status

st.register_type_strategy(str, st.text(st.characters(exclude_categories=["Cs"])))
ENTRIES = st.builds(Entry, body=st.one_of(*(st.builds(body) for body in get_args(Body))))
TURN = Turn(digest="sha256:1", turn_index=0, round=1, role=Role.WIND, cognition=Cognition.PATHOS)


def entry_of(body: Body) -> Entry:
    return Entry(THREAD, 1, "2026-01-06T09:00:00.000000Z", "sha256:0", body)


@settings(deadline=None)
@given(ENTRIES)
def test_every_entry_comes_back_from_its_text_form(entry: Entry) -> None:
    assert parse(text_of(entry)) == entry
    assert typed(entry.body) == entry.body


def test_every_kind_has_its_own_name() -> None:
    names = "opened floor_given turn vote refined note extended tombstoned closed force_closed"
    assert list(BODIES) == names.split()


def test_fields_that_are_none_leave_no_trace_in_the_text_form() -> None:
    assert json.loads(text_of(entry_of(TURN))) == {
        "v": 1,
        "thread_id": THREAD,
        "seq": 1,
        "kind": "turn",
        "at": "2026-01-06T09:00:00.000000Z",
        "prev": "sha256:0",
        "digest": "sha256:1",
        "turn_index": 0,
        "round": 1,
        "role": "Wind",
        "cognition": "PATHOS",
    }


def changed(**members: Any) -> str:
    """The text form of TURN with other members; those that are `...` are left out."""
    form = json.loads(text_of(entry_of(TURN))) | members
    return json.dumps(
        {name: member for name, member in form.items() if member is not ...}, sort_keys=True, separators=(",", ":")
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "7",
        "[]",
        '"turn"',
        "{}",
        "[" * 100_000,
        '{"a":' * 100_000,
        changed(v=2),
        changed(v="1"),
        changed(v=True),
        changed(v=...),
        changed(kind="remark"),
        changed(kind=["turn"]),
        changed(kind=...),
        changed(extra=1),
        changed(thread_id=...),
        changed(thread_id=7),
        changed(seq=True),
        changed(seq="1"),
        changed(seq=1.0),
        changed(at=...),
        changed(prev=None),
        changed(prev=7),
        changed(digest=...),
        changed(digest=None),
        changed(turn_index=False),
        changed(role="wind"),
        changed(role=[]),
        changed(cognition="LOGIC"),
        changed(token_input=None),
        changed(token_input=1.5),
        changed(token_input=float("nan")),
        changed(seat={}),
        changed(seat="wall-1"),
        changed(seat={"slot": "wall-1", "agent": "a", "asked": "b", "answered": "c", "price": 1}),
        changed() + " ",
        " " + changed(),
        changed().replace(",", ", ", 1),
        changed().replace('"v":1', '"v":1,"v":1'),
        changed().replace('"digest":"sha256:1"', '"digest":"\\u0073ha256:1"'),
        changed().replace("sha256:0", "\\ud800"),
        '{"v":1' + "0" * 5000 + "}",
    ],
)
def test_what_is_not_the_one_text_form_of_an_entry_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse(text)


@settings(deadline=None)
@given(ENTRIES, st.data())
def test_no_character_of_a_text_form_can_change_and_still_say_the_same(entry: Entry, data: st.DataObject) -> None:
    text = text_of(entry)
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters(exclude_categories=["Cs"]).filter(lambda character: character != text[place]))
    with suppress(InvalidInput):
        assert parse(text[:place] + other + text[place + 1 :]) != entry


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (Refined(digest="d", number=1, answers=("8",)), "answers"),  # type: ignore[arg-type]
        (Refined(digest="d", number=True), "number"),
        (Vote(digest="d", on=1, role=Role.WALL, choice=Choice.OBJECT, rests_on=(1,)), "rests_on"),  # type: ignore[arg-type]
        (Turn(digest="d", turn_index=0, round=1, role=Role.WIND, cognition=Cognition.PATHOS, seat=7), "SeatRecord"),  # type: ignore[arg-type]
        (FloorGiven(role="wind"), "role"),  # type: ignore[arg-type]
        (Closed(digest="d", status=Status.SYNTHESIS, record=b"d"), "record"),  # type: ignore[arg-type]
    ],
)
def test_a_body_that_could_not_be_read_again_is_refused_before_it_is_written(body: Body, field: str) -> None:
    with pytest.raises(InvalidInput, match=field):
        typed(body)


def test_the_seat_stands_inside_the_hashed_bytes() -> None:
    stored = text_of(entry_of(Refined(digest="d", number=1, answers=(3, 4), seat=SEAT)))
    assert json.loads(stored)["seat"]["cost"] == "0.0123"
    assert canonical.encode(json.loads(stored)) == stored


def test_what_an_entry_always_says_is_missed() -> None:
    """What a field is by default is written all the same, so that one entry has one text."""
    opened = Opened(digest="d", mode=Mode.FIXED, max_turns=3, max_rounds=1, strict_cognition=False, barrier=True)
    text = text_of(Entry("t", 0, "2026-01-06T09:00:00.000000Z", None, opened))
    assert parse(text).body == opened
    members = json.loads(text)
    assert members.pop("marks") == []
    for wrong in (members, {**json.loads(text), "recipe": None}):
        with pytest.raises(InvalidInput, match=r"marks|canonical"):
            parse(json.dumps(wrong, sort_keys=True, separators=(",", ":")))
