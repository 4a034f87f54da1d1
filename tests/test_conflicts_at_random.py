"""Other writers who do anything at any moment, and processes that die meanwhile: the laws of `table` hold."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from building import plan_of
from orchestrator.errors import HallError, RunPaused
from orchestrator.hall.entries import Tombstoned
from orchestrator.hall.terms import Role, Status
from orchestrator.plan import Plan
from table import (
    Act,
    Table,
    Writer,
    require_barrier,
    require_each_word_once,
    require_laws,
    require_no_turn_on_old_words,
    require_no_vote_on_another_synthesis,
    require_nobody_speaks_too_often,
    require_people_are_answered,
    require_the_ending_that_was_voted_for,
    voted_on,
)

pytestmark = pytest.mark.slow


@contextmanager
def a_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "state"


def tried(act: Act) -> Act:
    """The act, where the rules permit it at that moment."""

    def act_if_permitted(writer: Writer) -> None:
        with suppress(HallError):
            act(writer)

    return act_if_permitted


def say(role: Role) -> Act:
    return lambda writer: writer.say(role)


def say_as_a_person(role: Role) -> Act:
    return lambda writer: writer.say_as_a_person(role)


def pick(role: Role) -> Act:
    return lambda writer: writer.pick(role)


def two(first: Act, second: Act) -> Act:
    def both(writer: Writer) -> None:
        first(writer)
        second(writer)

    return both


TURNS = [say(role) for role in Role]
SETTLED = [Writer.refine, Writer.vote, Writer.object]
PEOPLE = [*map(say_as_a_person, Role), Writer.remark_as_a_person, Writer.ask_for_round, Writer.end]
SINGLE = [*TURNS, *PEOPLE, *map(pick, Role), Writer.note, Writer.extend, Writer.tombstone, *SETTLED]
ACTS = st.sampled_from([*SINGLE, *TURNS]) | st.builds(
    two, st.sampled_from(SINGLE).map(tried), st.sampled_from(SINGLE).map(tried)
)
PLANS = st.sampled_from(
    [
        partial(plan_of, "speed"),
        voted_on,
        partial(plan_of, "fortress"),
        partial(plan_of, "fortress", wall="reactive"),
        partial(plan_of, "laboratory", socratic=True),
        partial(plan_of, "council"),
        partial(plan_of, "council", doors="independent"),
        partial(plan_of, "standard", turns=6),
    ]
)


WRITERS = {
    "make": PLANS,
    "acts": st.dictionaries(st.integers(0, 80).map("#{}".format), ACTS.map(tried), max_size=5),
    "objections": st.integers(0, 2),
}
KILLS = {"make": PLANS, "at": st.integers(0, 80), "turn": st.sampled_from(TURNS)}
SMALL = settings(max_examples=4, suppress_health_check=[HealthCheck.too_slow])
LARGE = settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])


def require_the_laws(make: Callable[[], Plan], acts: dict[str, Act], objections: int) -> None:
    with a_folder() as folder:
        table, paused = Table(folder, make(), acts, objections), False
        try:
            unused: tuple[Any, ...] = anyio.run(table.hold).unused
        except RunPaused:
            paused, unused = True, tuple(table.paid.unused)
        debate = table.debate()
        assert debate.state.status in ([Status.ACTIVE] if paused else [Status.SYNTHESIS, Status.STALEMATE])
        assert not paused or debate.turns[-1].text is None  # the one reason: Door's last word was redacted
        require_laws(table, unused)


@given(**WRITERS)
@SMALL
def test_the_laws_hold_whenever_somebody_else_writes(**case: Any) -> None:
    require_the_laws(**case)


@pytest.mark.slow
@given(**WRITERS)
@LARGE
def test_the_laws_hold_however_often_it_is_tried(**case: Any) -> None:
    require_the_laws(**case)


def require_that_it_ends(make: Callable[[], Plan], at: int, turn: Act) -> None:
    killed_after: list[int] = []

    def kill(writer: Writer) -> None:
        writer.force_close()
        killed_after.append(len(table.model.requests))

    with a_folder() as folder:
        table = Table(folder, make(), {f"#{at}": two(tried(turn), tried(kill))})
        run = anyio.run(table.hold)
        assert run.debate.state.status is (Status.FORCE_CLOSED if killed_after else Status.SYNTHESIS)
        require_laws(table, run.unused)
        in_flight = len(table.model.requests) - killed_after[0] if killed_after else 0
        assert in_flight <= max(len(planned.seats) for planned in table.plan.rounds)


@given(**KILLS)
@SMALL
def test_the_kill_switch_ends_a_run_at_any_moment(make: Callable[[], Plan], at: int, turn: Act) -> None:
    require_that_it_ends(make, at, turn)


@pytest.mark.slow
@given(**KILLS)
@LARGE
def test_the_kill_switch_ends_a_run_however_often_it_is_tried(make: Callable[[], Plan], at: int, turn: Act) -> None:
    require_that_it_ends(make, at, turn)


def require_the_laws_over_processes(
    make: Callable[[], Plan], acts: dict[str, Act], objections: int, deaths: set[int], between: list[Act]
) -> None:
    with a_folder() as folder:
        table = Table(folder, make(), acts, objections)
        table.deaths = deaths
        try:
            run = anyio.run(table.hold_until_it_dies)
            while run is None:
                run = anyio.run(table.go_on, between.pop() if between else Writer.rest)
        except RunPaused:
            assert table.debate().turns[-1].text is None  # the one reason: Door's last word was redacted
        debate = table.debate()
        require_each_word_once(table, debate)
        require_barrier(debate)
        require_no_turn_on_old_words(table, debate)
        require_nobody_speaks_too_often(table.plan, debate)
        require_people_are_answered(debate)
        require_no_vote_on_another_synthesis(table, debate)
        require_the_ending_that_was_voted_for(table, debate)
        asked = [(replace(request.task, said=()), request.messages) for request in table.model.requests]
        assert len(asked) == len(set(asked)) or debate.of(Tombstoned)  # a redaction takes what was heard before it


OVER_PROCESSES = {
    **WRITERS,
    "deaths": st.sets(st.integers(0, 110), min_size=1, max_size=4),
    "between": st.lists(ACTS.map(tried), max_size=2),
}


@pytest.mark.slow
@given(**OVER_PROCESSES)
@LARGE
def test_the_laws_hold_though_processes_die_in_between_and_nobody_is_asked_the_same_twice(**case: Any) -> None:
    require_the_laws_over_processes(**case)
