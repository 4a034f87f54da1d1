"""How long a role has to wait: compared with a search over everything that could be said."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from orchestrator.hall.debate import State, advance
from orchestrator.hall.entries import Entry, FloorGiven, Opened, Turn
from orchestrator.hall.rules import legal_roles, turns_before
from orchestrator.hall.terms import Mode, Role


def opened(mode: Mode, max_turns: int, max_rounds: int, barrier: bool) -> State:
    body = Opened(
        digest="", mode=mode, max_turns=max_turns, max_rounds=max_rounds, strict_cognition=False, barrier=barrier
    )
    return advance(None, Entry("thread", 0, "09", None, body))


def spoken(state: State, role: Role) -> State:
    body = Turn(digest="", turn_index=state.turn_count, round=state.round_of(role), role=role, cognition=role.cognition)
    floor = advance(state, Entry("thread", state.seq + 1, "09", None, FloorGiven(role=role)))
    return advance(floor, Entry("thread", floor.seq + 1, "09", None, body))


def reachable(state: State) -> Iterator[State]:
    yield state
    for role in legal_roles(state):
        yield from reachable(spoken(state, role))


def searched(state: State, role: Role) -> int | None:
    """The fewest turns after which a role may speak, by trying all of them."""
    states, turns = [state], 0
    while states:
        if any(role in legal_roles(each) for each in states):
            return turns
        states = [spoken(each, other) for each in states for other in legal_roles(each)]
        turns += 1
    return None


@pytest.mark.parametrize(
    ("mode", "limits", "barrier"), list(product(Mode, [(6, 1), (5, 2), (4, 9), (1, 1)], [True, False]))
)
def test_the_turns_before_a_role_are_the_fewest_after_which_it_may_speak(
    mode: Mode, limits: tuple[int, int], barrier: bool
) -> None:
    states = {(state.spoken, state.in_round, state.round): state for state in reachable(opened(mode, *limits, barrier))}
    for state in states.values():
        assert {role: turns_before(state, role) for role in Role} == {role: searched(state, role) for role in Role}
