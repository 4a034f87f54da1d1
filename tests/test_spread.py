"""Routes spread over the seats of a role, and what is said when voices that should differ are one model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from building import FENCE, bundled_agent, plan_of, recipe_of
from orchestrator.errors import ConfigurationError, UsageError
from orchestrator.hall.terms import Role
from orchestrator.layout import spread
from orchestrator.models_file import parse_models
from orchestrator.plan import Changes, Plan
from orchestrator.planning import make_plan
from orchestrator.prompt import PROTOCOL
from orchestrator.routing import resolve
from orchestrator.wanted import routing_of

ROUTES = "routes: {PATHOS: [ollama/w], ETHOS: [ollama/l, ollama/m], LOGOS: [ollama/d]}\n"
FORTRESS_WALLS = ["R1.Wall.1", "R1.Wall.2", "R1.Wall.3", "R2.Wall.1", "R2.Wall.2"]


def planned(text: str = ROUTES, recipe: str = "fortress", **flags: Sequence[str]) -> Plan:
    chosen = recipe_of(recipe)
    names = {seat.agent for role in Role for seat in chosen.seats_of(role)}
    routing = resolve(parse_models(text, "models.yaml"), {}, {Role(name.title()): said for name, said in flags.items()})
    return make_plan(chosen, {name: bundled_agent(name) for name in names}, routing, protocol=PROTOCOL, fence=FENCE)


def asked(plan: Plan, role: Role = Role.WALL) -> Mapping[str, tuple[str, ...]]:
    """The routes of every seat of a role, by slot, without their provider."""
    seats = (seat for planned in plan.rounds for seat in planned.of(role))
    return {seat.slot: tuple(route.removeprefix("ollama/") for route in seat.routes) for seat in seats}


# ---------------------------------------------------------------- over the seats


@given(lists=st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=4), max_size=3), seats=st.integers(1, 9))
def test_every_seat_has_every_route_once_and_each_list_leads_in_turn(lists: list[list[int]], seats: int) -> None:
    for seat in range(seats):
        routes = spread(lists, seat)
        assert sorted(routes) == sorted({route for each in lists for route in each})
        assert not lists or routes[0] == lists[0][seat % len(lists[0])]


def test_the_three_critics_of_a_fortress_are_three_models_by_the_models_file() -> None:
    plan = planned(ROUTES + "agents: {wall: [ollama/a, ollama/b, ollama/c]}")
    spread_out = [("a", "b", "c"), ("b", "c", "a"), ("c", "a", "b")]
    assert asked(plan) == dict(zip(FORTRESS_WALLS, [*spread_out, *spread_out[:2]], strict=True))
    assert asked(plan, Role.WIND) == {"R1.Wind.1": ("w",), "R2.Wind.1": ("w",)}
    assert alike(plan) == []


def test_they_are_so_by_one_flag_too() -> None:
    plan = planned(wall=["ollama/a,ollama/b, ollama/c"])
    assert [routes[0] for routes in asked(plan).values()] == ["a", "b", "c", "a", "b"]


def test_repeated_flags_are_fallbacks_of_every_seat_after_the_list_that_is_spread() -> None:
    plan = planned(wall=["ollama/a,ollama/b", "ollama/c"])
    assert list(asked(plan).values())[:3] == [("a", "b", "c"), ("b", "a", "c"), ("a", "b", "c")]
    assert set(asked(planned(wall=["ollama/a", "ollama/b"])).values()) == {("a", "b")}


def test_a_seat_that_speaks_again_asks_what_it_asked_before() -> None:
    plan = planned(ROUTES + "agents: {door: [ollama/a, ollama/b, ollama/c]}", "council")
    assert [routes[0] for routes in asked(plan, Role.DOOR).values()] == ["a", "b", "c", "a", "b"]
    lenses = [seat.lens for planned in plan.rounds for seat in planned.doors]
    assert lenses[:2] == lenses[3:]


# ---------------------------------------------------------------- what wins


def test_flags_win_over_an_agent_that_over_its_roles_list_and_that_over_its_cognition() -> None:
    agents = "agents: {wall: [ollama/a, ollama/b], validator: [ollama/v]}"
    assert list(asked(planned(ROUTES + agents, "council")).values())[:2] == [("v",), ("b", "a")]
    assert set(asked(planned(ROUTES + agents, "council", wall=["ollama/f"])).values()) == {("f",)}
    assert set(asked(planned(ROUTES, "council")).values()) == {("l", "m")}


def test_what_cannot_be_used_is_left_out_of_the_list() -> None:
    plan = planned(ROUTES + "agents: {wall: [groq/x, ollama/a, ollama/b]}")
    assert [routes[0] for routes in asked(plan).values()] == ["a", "b", "a", "a", "b"]


def test_a_role_whose_list_is_unusable_speaks_through_its_cognition_and_the_run_says_so() -> None:
    plan = planned(ROUTES + "agents: {wall: [groq/x]}")
    assert set(asked(plan).values()) == {("l", "m")}
    assert any(notice.startswith("No route of Wall has its key set") for notice in plan.notices)


def test_a_role_whose_list_can_be_used_needs_no_route_of_its_cognition() -> None:
    text = "routes: {PATHOS: [ollama/w], ETHOS: [groq/x], LOGOS: [ollama/d]}\nagents: {wall: [ollama/a]}"
    assert set(asked(planned(text)).values()) == {("a",)}


@pytest.mark.parametrize("flag", ["ollama/a,", ",ollama/a", "ollama/a,,ollama/b"])
def test_an_empty_place_in_a_list_is_an_error_that_names_the_flag(flag: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^--wall: must be the name of a model"):
        planned(wall=[flag])


def test_the_rehearsal_is_no_fallback_in_a_list_either() -> None:
    with pytest.raises(UsageError, match="would fall back to the rehearsal"):
        planned(wall=["ollama/a,rehearsal"])


def test_a_name_that_is_neither_agent_nor_role_is_an_error_that_offers_the_nearest(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(ROUTES + "agents: {walls: [ollama/a]}")
    with pytest.raises(ConfigurationError, match=r"There is no agent called 'walls'\. Did you mean wall"):
        routing_of(str(path), {}, {})


# ---------------------------------------------------------------- a run that goes on


def test_a_run_that_goes_on_otherwise_spreads_too() -> None:
    plan = planned().with_changes(Changes(routes={Role.WALL: ("ollama/a,ollama/b", "ollama/c")}))
    assert list(asked(plan).values())[:3] == [("a", "b", "c"), ("b", "a", "c"), ("a", "b", "c")]
    assert set(asked(plan, Role.WIND).values()) == {("w",)}


# ---------------------------------------------------------------- what is said


def alike(plan: Plan) -> list[str]:
    return [notice.partition(". Different")[0] for notice in plan.notices if "one model" in notice]


def test_seats_of_equal_agents_on_one_model_are_told_in_one_sentence() -> None:
    assert alike(planned()) == ["3 seats of critical-engineer ask one model (ollama/l)"]
    two = planned(wall=["ollama/a,ollama/b"])
    assert alike(two) == ["2 seats of critical-engineer ask one model (ollama/a)"]


def test_roles_on_one_model_are_told_with_them() -> None:
    plan = planned(wind=["ollama/l"])
    assert alike(plan) == [
        "Wind and Wall ask one model (ollama/l); 3 seats of critical-engineer ask one model (ollama/l)"
    ]
    every = planned(recipe="speed", wind=["ollama/x"], wall=["ollama/x"], door=["ollama/x"])
    assert alike(every) == ["Wind, Wall and Door ask one model (ollama/x)"]
    alone = planned(wind=["ollama/x"], wall=["ollama/x"], door=["ollama/x"])
    assert alike(alone) == alike(every)  # which says it of every seat


@pytest.mark.parametrize(
    ("recipe", "flags", "cure"),
    [
        ("fortress", {}, "--wall a,b spreads two over Wall's seats."),
        ("council", {"wall": ["ollama/a"]}, "--door a,b spreads two over Door's seats."),
        ("speed", {"wind": ["ollama/l"]}, "--wall names another."),
    ],
)
def test_how_they_could_differ_is_told_with_it(recipe: str, flags: Mapping[str, Sequence[str]], cure: str) -> None:
    (notice,) = (notice for notice in planned(ROUTES, recipe, **flags).notices if "one model" in notice)
    assert notice.endswith(f"Different models disagree better: {cure}")


def test_a_fallback_that_others_ask_first_is_not_told() -> None:
    assert alike(planned(recipe="speed", wind=["ollama/w", "ollama/l"])) == []


def test_different_agents_of_a_role_on_one_model_are_its_own_to_choose() -> None:
    assert alike(planned(recipe="laboratory")) == []


def test_a_rehearsal_asks_no_model() -> None:
    nobody = {role: ["rehearsal"] for role in Role}
    assert alike(plan_of("fortress", routes=nobody)) == []
