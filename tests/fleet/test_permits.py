"""Permits: of all that ask at once no more calls are under way, begun in a minute and paid for than may be."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from orchestrator.errors import StoreUnavailable
from orchestrator.fleet.permits import NotYet, OverBudget, Permit, Permits, Wish
from postgres import needs_postgres

pytestmark = needs_postgres
Beside = psycopg.Connection[Any]
CENT = Decimal("0.01")


def wish(
    server: str = "here",
    *,
    most: int | None = None,
    per_minute: int | None = None,
    seconds: float = 60,
    cost: Decimal | None = CENT,
) -> Wish:
    return Wish(server, "2026-01-06-queue", most, per_minute, seconds, cost)


def taken(permits: Permits, asked: Wish) -> Permit:
    permit = permits.take(asked)
    assert isinstance(permit, Permit), permit
    return permit


def at_once(permits: Permits, wishes: Sequence[Wish]) -> list[Permit | NotYet | OverBudget]:
    """What each gets of several that ask in the same moment."""
    together = threading.Barrier(len(wishes))

    def ask(asked: Wish) -> Permit | NotYet | OverBudget:
        together.wait(10)
        return permits.take(asked)

    with ThreadPoolExecutor(len(wishes)) as pool:
        return list(pool.map(ask, wishes))


def kinds(found: Sequence[object]) -> dict[str, int]:
    names = [type(each).__name__ for each in found]
    return {name: names.count(name) for name in sorted(set(names))}


@pytest.fixture
def later(beside: Beside) -> Callable[[timedelta], None]:
    """Lets time go by, for all permits that were taken."""

    def go_by(time: timedelta) -> None:
        earlier = ", ".join(f"{name} = {name} - %(by)s" for name in ("taken_at", "begun_at", "over_at"))
        beside.execute(f"UPDATE permits SET {earlier}", {"by": time})

    return go_by


# ------------------------------------------------------------------------------------------------------------- at once


def test_so_many_calls_are_under_way_at_a_server_and_no_more(permits: Permits) -> None:
    first, _ = (taken(permits, wish(most=2)) for _ in range(2))
    assert permits.take(wish(most=2)) == NotYet(0)
    assert permits.servers() == [("here", 2, 2)]
    taken(permits, wish("there", most=2))
    permits.give_back(first, CENT)
    taken(permits, wish(most=2))
    assert permits.take(wish(most=2)) == NotYet(0)


def test_of_a_server_of_which_nothing_is_said_all_is_asked(permits: Permits) -> None:
    for _ in range(20):
        taken(permits, wish())
    assert permits.servers() == [("here", 20, 20)]


def test_of_several_in_one_moment_no_more_get_a_permit_than_there_are(permits: Permits) -> None:
    assert kinds(at_once(permits, [wish(most=3)] * 8)) == {"NotYet": 5, "Permit": 3}


def test_one_that_is_never_given_back_counts_until_its_call_is_over(
    permits: Permits, later: Callable[[timedelta], None]
) -> None:
    lost = taken(permits, wish(most=1, seconds=600))
    later(timedelta(seconds=590))
    assert permits.take(wish(most=1)) == NotYet(0)
    later(timedelta(seconds=20))
    taken(permits, wish(most=1))
    assert permits.today().cost_usd == 2 * CENT  # nobody knows what became of it
    permits.give_back(lost, Decimal(0))  # it woke up; its row has been cleared away
    assert permits.today().cost_usd == 2 * CENT
    assert permits.take(wish(most=1)) == NotYet(0)


# ---------------------------------------------------------------------------------------------------------- in a minute


def test_so_many_calls_begin_in_a_minute_and_the_next_is_told_how_long_to_wait(
    permits: Permits, later: Callable[[timedelta], None]
) -> None:
    asked = wish(per_minute=2)
    permits.give_back(taken(permits, asked), CENT)  # it has begun, whether it has ended or not
    later(timedelta(seconds=40))
    taken(permits, asked)
    match permits.take(asked):
        case NotYet(wait_s):
            assert 0 < wait_s <= 20
        case other:
            raise AssertionError(other)
    later(timedelta(seconds=20))
    taken(permits, asked)
    match permits.take(asked):
        case NotYet(wait_s):
            assert 40 < wait_s <= 45  # it is not given back yet, and may have been on its way for a while
        case other:
            raise AssertionError(other)


def test_of_several_in_one_moment_no_more_begin_than_may_in_a_minute(permits: Permits) -> None:
    assert kinds(at_once(permits, [wish(per_minute=5)] * 8)) == {"NotYet": 3, "Permit": 5}


def test_what_ended_longer_ago_than_a_minute_is_kept_no_longer(
    permits: Permits, beside: Beside, later: Callable[[timedelta], None]
) -> None:
    for _ in range(5):
        permits.give_back(taken(permits, wish()), CENT)
    under_way = taken(permits, wish(seconds=600))
    later(timedelta(seconds=61))
    newest = taken(permits, wish())
    kept = {number for (number,) in beside.execute("SELECT number FROM permits")}
    assert kept == {under_way.number, newest.number}


# ----------------------------------------------------------------------------------------------------------- the budget


def test_a_call_that_could_cost_more_than_is_left_is_not_made(permits: Permits) -> None:
    permits.set_budget(Decimal("0.025"))
    first = taken(permits, wish())
    taken(permits, wish())
    assert permits.take(wish()) == OverBudget(Decimal("0.025"), Decimal("0.005"))
    taken(permits, wish(cost=Decimal("0.005")))  # all that is left
    permits.give_back(first, Decimal("0.001"))
    assert permits.today()[1:] == (Decimal("0.016"), 0, Decimal("0.025"))
    assert permits.take(wish()) == OverBudget(Decimal("0.025"), Decimal("0.009"))
    permits.set_budget(Decimal("0.026"))
    taken(permits, wish())
    permits.set_budget(None)
    taken(permits, wish(cost=Decimal(1000)))
    assert permits.today().budget_usd is None


def test_a_budget_below_what_was_spent_lets_nothing_be_made(permits: Permits) -> None:
    taken(permits, wish(cost=Decimal(1)))
    permits.set_budget(Decimal("0.5"))
    assert permits.take(wish(cost=Decimal(0))) == OverBudget(Decimal("0.5"), Decimal("-0.5"))


def test_a_call_of_unknown_price_is_made_and_counted_where_there_is_no_budget_only(permits: Permits) -> None:
    unknown = taken(permits, wish(cost=None))
    assert (permits.today().cost_usd, permits.today().unpriced) == (0, 1)
    permits.give_back(unknown, None)
    assert (permits.today().cost_usd, permits.today().unpriced) == (0, 1)
    permits.set_budget(Decimal(1000))
    assert permits.take(wish(cost=None)) == OverBudget(Decimal(1000), Decimal(1000))


@pytest.mark.parametrize("servers", [["here"], ["here", "there"]], ids=["one server", "two servers"])
def test_of_several_in_one_moment_no_more_is_spent_than_may_be(permits: Permits, servers: list[str]) -> None:
    permits.set_budget(5 * CENT)
    found = at_once(permits, [wish(servers[number % len(servers)]) for number in range(8)])
    assert kinds(found) == {"OverBudget": 3, "Permit": 5}
    assert permits.today().cost_usd == 5 * CENT


def test_one_that_is_given_back_twice_is_given_back_once(permits: Permits) -> None:
    permit = taken(permits, wish(cost=Decimal(1)))
    for _ in range(2):
        permits.give_back(permit, CENT)
    assert permits.today().cost_usd == CENT
    assert permits.servers() == [("here", 0, 1)]


def test_who_must_wait_for_the_server_has_nothing_set_aside(permits: Permits) -> None:
    for asked in (wish(most=1), wish("there", per_minute=1)):
        taken(permits, asked)
        assert isinstance(permits.take(asked), NotYet)
    assert permits.today().cost_usd == 2 * CENT


def test_a_new_day_has_its_whole_budget_and_a_call_over_midnight_belongs_to_the_day_it_began(
    permits: Permits, beside: Beside
) -> None:
    permits.set_budget(CENT)
    over_midnight = taken(permits, wish())
    beside.execute("UPDATE permits SET taken_at = taken_at - interval '1 day'")
    beside.execute("UPDATE spending SET day = day - 1")
    assert permits.today().cost_usd == 0
    taken(permits, wish())
    permits.give_back(over_midnight, Decimal("0.002"))
    spent = beside.execute("SELECT cost_usd FROM spending ORDER BY day").fetchall()
    assert spent == [(Decimal("0.002"),), (CENT,)]


# ----------------------------------------------------------------------------------------------------------- its server


def test_whose_server_is_gone_says_so(permits: Permits) -> None:
    permits.close()
    with pytest.raises(StoreUnavailable, match="was closed"):
        permits.take(wish())
