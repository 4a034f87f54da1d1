"""The cassette: written before anything counts, read to its last whole line, by one process at a time."""

from __future__ import annotations

import json
import resource
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from orchestrator.budget import Bound
from orchestrator.errors import ConfigurationError, EmptyReply, Overloaded, UsageError
from orchestrator.evaluate.cassette import FILE, Cassette, Cell, Place, digest_of
from orchestrator.hall.terms import Role
from orchestrator.models.base import Endpoint, Message, Reply, Request, Shape, Task
from orchestrator.usage import Usage

TASK = Task("answer", Role.DOOR, "alone", None, 1, 1, False, "What now?")
REQUEST = Request("openai/a", (Message("user", "What now?"),), TASK, 400, 30.0)
PLACE = Place(Cell("001-a", "single", 1), "round 1 Door alone: answer")
BOUND, COST = Bound(900, Decimal("0.09")), Decimal("0.0125")
REPLY = Reply("This.", "a-2026", Usage(100, 20, 10, COST, 5), ("temperature",))


def test_what_was_written_is_there_when_it_is_opened_again(tmp_path: Path) -> None:
    with Cassette.recording(tmp_path) as first:
        first.begin(["B_KEY", "A_KEY"])
        first.replied(first.asked(PLACE, REQUEST, BOUND, 10.0), REPLY, 1.5)
        error = EmptyReply("Nothing came.", model="openai/a", usage=Usage(100, 0, 0, COST), text=" ")
        first.failed(first.asked(PLACE, REQUEST, BOUND, 12.0), error, 0.5)
        calls = first.at(PLACE)
    again = Cassette.to_replay(tmp_path)
    assert again.at(PLACE) == calls
    assert again.begun is not None
    assert again.begun.variables == ("A_KEY", "B_KEY")
    reply, failed = (call.outcome for call in again.at(PLACE))
    assert reply is not None
    assert reply.reply == REPLY  # type: ignore[union-attr]
    caught = failed.error  # type: ignore[union-attr]
    assert (type(caught), caught.message, caught.usage, caught.text) == (EmptyReply, error.message, error.usage, " ")


def test_a_call_without_an_outcome_counts_at_its_bound(tmp_path: Path) -> None:
    with Cassette.recording(tmp_path) as cassette:
        cassette.replied(cassette.asked(PLACE, REQUEST, BOUND, 10.0), REPLY, 1.5)
        cassette.asked(PLACE, REQUEST, BOUND, 11.0)
        free = Overloaded("Later.", model="openai/a")
        cassette.failed(cassette.asked(PLACE, REQUEST, BOUND, 12.0), free, 0.1)
    assert not free.maybe_billed
    assert Cassette.to_replay(tmp_path).spent == Bound(110 + 900, COST + Decimal("0.09"))


def test_a_call_stands_in_the_file_before_it_is_made(tmp_path: Path) -> None:
    with Cassette.recording(tmp_path) as cassette:
        cassette.asked(PLACE, REQUEST, BOUND, 10.0)
        (line,) = (tmp_path / FILE).read_text().splitlines()
        assert json.loads(line)["request"] == digest_of(REQUEST)
        assert (json.loads(line)["tokens"], json.loads(line)["cost_usd"]) == (900, "0.09")


def test_a_line_that_was_not_written_to_its_end_is_none_and_the_next_stands_in_its_place(tmp_path: Path) -> None:
    with Cassette.recording(tmp_path) as cassette:
        cassette.replied(cassette.asked(PLACE, REQUEST, BOUND, 10.0), REPLY, 1.5)
        cassette.replied(cassette.asked(PLACE, REQUEST, BOUND, 11.0), REPLY, 1.5)
    whole = (tmp_path / FILE).read_bytes()
    lines = whole.splitlines(keepends=True)
    for cut in range(len(lines[-1])):
        (tmp_path / FILE).write_bytes(whole[: len(whole) - len(lines[-1]) + cut])
        with Cassette.recording(tmp_path) as cassette:
            assert [call.outcome is None for call in cassette.at(PLACE)] == [False, True]
            cassette.replied(2, REPLY, 1.5)
        assert (tmp_path / FILE).read_bytes() == whole


def test_where_there_is_no_room_it_is_told_and_what_stands_there_stays_whole(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Cassette.recording(tmp_path) as cassette:
        number = cassette.asked(PLACE, REQUEST, BOUND, 10.0)
        before = (tmp_path / FILE).read_bytes()
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 20, hard))  # a part of a line would fit
        try:
            with pytest.raises(UsageError, match="Make room"):
                cassette.replied(number, REPLY, 1.5)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert (tmp_path / FILE).read_bytes() == before
        assert cassette.at(PLACE)[0].outcome is None
        cassette.replied(number, REPLY, 1.5)
    assert Cassette.to_replay(tmp_path).at(PLACE)[0].outcome is not None


@pytest.mark.parametrize("line", ["{}", "[1]", '{"kind": "replied"}', "no JSON", ""])
def test_what_is_no_cassette_is_refused_with_its_line_and_left_as_it_is(line: str, tmp_path: Path) -> None:
    with Cassette.recording(tmp_path) as cassette:
        cassette.asked(PLACE, REQUEST, BOUND, 10.0)
    text = (tmp_path / FILE).read_text() + f"{line}\n"
    (tmp_path / FILE).write_text(text)
    for opening in (Cassette.recording, Cassette.to_replay):
        with pytest.raises(ConfigurationError) as caught:
            opening(tmp_path)
        assert (caught.value.source, caught.value.line) == (str(tmp_path / FILE), 2)
    assert (tmp_path / FILE).read_text() == text


def test_an_outcome_of_no_call_is_refused(tmp_path: Path) -> None:
    with Cassette.recording(tmp_path) as cassette:
        cassette.replied(cassette.asked(PLACE, REQUEST, BOUND, 10.0), REPLY, 1.5)
    (tmp_path / FILE).write_text((tmp_path / FILE).read_text().replace('"number":1', '"number":2', 1))
    with pytest.raises(ConfigurationError, match="no line of a cassette"):
        Cassette.to_replay(tmp_path)


def test_a_second_process_is_refused_while_the_first_writes(tmp_path: Path) -> None:
    with Cassette.recording(tmp_path), pytest.raises(UsageError, match="Another process evaluates into"):
        Cassette.recording(tmp_path)
    Cassette.recording(tmp_path).__exit__(None, None, None)


def test_who_begins_again_with_the_same_keys_adds_nothing(tmp_path: Path) -> None:
    for keys in (["A"], ["A"], ["A", "B"]):
        with Cassette.recording(tmp_path) as cassette:
            cassette.begin(keys)
    assert len((tmp_path / FILE).read_text().splitlines()) == 2


def test_there_is_nothing_to_replay_where_nothing_was_recorded(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="Leave out --replay"):
        Cassette.to_replay(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "openai/b"},
        {"messages": (Message("system", "What now?"),)},
        {"messages": (*REQUEST.messages, Message("user", ""))},
        {"max_output_tokens": 401},
        {"temperature": 0.0},
        {"shape": Shape("answer", {"type": "object"})},
        {"endpoint": Endpoint(effort="low")},
    ],
)
def test_all_that_is_asked_tells_requests_apart(changes: dict[str, Any]) -> None:
    assert digest_of(replace(REQUEST, **changes)) != digest_of(REQUEST)


@pytest.mark.parametrize(
    "changes",
    [
        {"timeout_s": 5.0},
        {"shared": 1},
        {"endpoint": Endpoint(input_cost_per_token=Decimal(1), timeout_s=9.0, api_base="http://127.0.0.1:1/v1")},
        {"task": replace(TASK, round=2)},
    ],
)
def test_what_it_costs_and_how_long_it_may_take_does_not(changes: dict[str, Any]) -> None:
    assert digest_of(replace(REQUEST, **changes)) == digest_of(REQUEST)
