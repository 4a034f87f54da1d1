"""A plan: what it resolves, what it refuses, and that the text that is pinned says all of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from building import (
    BUNDLED,
    FENCE,
    RECIPES,
    THREAD,
    TOPIC,
    bundled_agent,
    evidence_of,
    hall_at,
    plan_of,
    recipe_of,
    routing_of,
)
from orchestrator.errors import ConfigurationError, UsageError
from orchestrator.evidence import Evidence
from orchestrator.hall.terms import Mode, Role
from orchestrator.models.base import Endpoint
from orchestrator.models.rehearsal import NAME as REHEARSAL
from orchestrator.plan import Changes, Plan
from orchestrator.planning import make_plan
from orchestrator.recipe import Limits, Seat, Seats, load_recipe

ENDPOINT = Endpoint(
    api_base="http://127.0.0.1:8080/v1",
    api_key_env="LOCAL_KEY",
    input_cost_per_token=Decimal("0.0000010"),
    cached_cost_per_token=Decimal("1E-7"),
    output_cost_per_token=Decimal("0"),
    context_tokens=131_072,
)


def whole_plan() -> Plan:
    evidence = (evidence_of("one\n\ttwo “x” \U0001f600\n"), evidence_of("", "E2", "empty.md"))
    return plan_of("fortress", endpoint=ENDPOINT, evidence=evidence, consensus={"required": True, "refinements": 3})


# ------------------------------------------------------------------------------------------------------ the pinned text


@pytest.mark.parametrize("recipe", RECIPES)
def test_what_was_encoded_comes_back_equal_and_encodes_to_the_same_text(recipe: str) -> None:
    plan = plan_of(recipe, endpoint=ENDPOINT, evidence=[evidence_of()])
    again = Plan.decode(plan.encode())
    assert again == plan
    assert again.encode() == plan.encode()
    assert again.hash == plan.hash


def test_prices_evidence_and_lenses_come_back_as_they_were() -> None:
    plan = whole_plan()
    again = Plan.decode(plan.encode())
    assert again == plan
    endpoint = again.endpoints["test/wall"]
    assert endpoint == ENDPOINT
    assert [type(price) for price in (endpoint.input_cost_per_token, endpoint.cached_cost_per_token)] == [Decimal] * 2
    assert again.evidence == plan.evidence
    assert [type(piece) for piece in again.evidence] == [Evidence] * 2
    assert [seat.lens for seat in again.rounds[0].walls] == [seat.lens for seat in plan.rounds[0].walls]
    assert again.recipe.consensus.refinements == 3


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=40), lens=st.text("ab “é漢", min_size=1))
def test_any_text_of_evidence_comes_back(text: str, lens: str) -> None:
    plan = plan_of(evidence=[evidence_of(text, path=lens)])
    assert Plan.decode(plan.encode()) == plan


def test_reading_a_plan_does_not_change_its_hash() -> None:
    plan = plan_of(evidence=[evidence_of()])
    before = plan.encode()
    assert plan.evidence[0].lines == ("first line", "second line")
    assert (plan.encode(), plan.hash) == (before, Plan.decode(before).hash)


def test_the_same_parts_make_the_same_hash() -> None:
    assert whole_plan().hash == whole_plan().hash
    assert whole_plan().hash.startswith("sha256:")


OTHERS: dict[str, Callable[[], Plan]] = {
    "recipe": lambda: plan_of("laboratory"),
    "a key of the recipe": lambda: plan_of("fortress", wall="reactive"),
    "turns": lambda: plan_of("fortress", turns=12),
    "fence": lambda: plan_of("fortress", fence="0000000000000000"),
    "protocol": lambda: plan_of("fortress").model_copy(update={"protocol": "Be kind."}),
    "evidence": lambda: plan_of("fortress", evidence=[evidence_of()]),
    "a character of evidence": lambda: plan_of("fortress", evidence=[evidence_of("first line\nsecond line.\n")]),
    "a route": lambda: plan_of("fortress", routes={Role.DOOR: ("test/other",)}),
    "a fallback": lambda: plan_of("fortress", routes={Role.DOOR: ("test/door", "test/other")}),
    "an endpoint": lambda: plan_of("fortress", endpoint=ENDPOINT),
    "time": lambda: plan_of("fortress").model_copy(update={"timeout_s": 1.0}),
    "an agent": lambda: plan_of("fortress").model_copy(update={"agents": {}}),
    "a limit": lambda: plan_of("fortress", limits=Limits(tokens=5)),
    "what happens on failure": lambda: plan_of("fortress", on_failure="degrade"),
    "a notice": lambda: plan_of("fortress").model_copy(update={"notices": ("Mind the gap.",)}),
}


def test_any_part_changes_the_hash() -> None:
    hashes = {name: make().hash for name, make in OTHERS.items()} | {"as it is": plan_of("fortress").hash}
    assert len(set(hashes.values())) == len(hashes)


def test_the_pinned_plan_is_in_the_store_byte_for_byte(tmp_path: Path) -> None:
    plan = whole_plan()
    with hall_at(tmp_path / "state") as hall:
        hall.open_run(THREAD, TOPIC, plan.encode(), plan.mode, plan.turns, len(plan.rounds))
        pinned = hall.debate(THREAD).plan
        assert pinned == plan.encode()
        assert hall.verify_debate(THREAD)["verified"]
    assert pinned is not None
    assert Plan.decode(pinned).hash == plan.hash


# ----------------------------------------------------------------------------------------------------- what it resolves


def test_a_plan_seats_the_agents_with_their_routes_and_lenses_round_by_round() -> None:
    plan = plan_of("fortress", routes={Role.WALL: ("test/wall", "test/spare")})
    assert [seat.slot for seat in plan.rounds[0].seats] == [
        "R1.Wind.1",
        "R1.Wall.1",
        "R1.Wall.2",
        "R1.Wall.3",
        "R1.Door.1",
    ]
    assert [(seat.agent, seat.routes) for seat in plan.rounds[1].of(Role.WALL)] == [
        ("critical-engineer", ("test/wall", "test/spare"))
    ] * 2
    assert (plan.mode, plan.turns, len(plan.rounds)) == (Mode.MEDIATED, 9, 2)


@pytest.mark.parametrize("recipe", RECIPES)
def test_no_two_seats_of_a_plan_share_a_slot(recipe: str) -> None:
    slots = [seat.slot for planned in plan_of(recipe).rounds for seat in planned.seats]
    assert len(set(slots)) == len(slots)


def test_a_plan_holds_the_texts_of_its_agents_and_no_others() -> None:
    plan = plan_of("fortress")
    assert sorted(plan.agents) == ["critical-engineer", "edge-optimizer", "technical-architect"]
    for name, pinned in plan.agents.items():
        agent = bundled_agent(name)
        assert (pinned.text, pinned.section, pinned.questions) == (agent.text, agent.section, agent.questions)


def test_an_endpoint_is_kept_only_where_the_models_file_says_one() -> None:
    assert plan_of().endpoints == {}
    assert set(plan_of(endpoint=ENDPOINT).endpoints) == {"test/wind", "test/wall", "test/door"}


def test_a_plan_is_a_rehearsal_when_a_seat_rehearses() -> None:
    assert not plan_of().is_rehearsal
    assert plan_of(routes={Role.DOOR: (REHEARSAL,)}).is_rehearsal


@pytest.mark.parametrize("routes", [("test/door", REHEARSAL), (REHEARSAL, REHEARSAL), ("test/door", REHEARSAL, "b")])
def test_a_rehearsal_that_would_stand_in_for_a_model_is_refused(routes: tuple[str, ...]) -> None:
    """Its worksheet would be committed as a turn of a debate that no output marks."""
    with pytest.raises(
        UsageError, match="Door door-agent would fall back to the rehearsal, which is no model"
    ) as refused:
        plan_of(routes={Role.DOOR: routes})
    assert refused.value.cure == "Leave it out of the fallbacks, or name it first and alone."


@pytest.mark.parametrize("text", ["", "no plan", "{}", "[]", "null", '{"v": 2}', "[" * 10_000, "\udcff"])
def test_a_text_that_is_no_plan_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(ConfigurationError, match="The pinned plan cannot be read by this version") as refused:
        Plan.decode(text)
    assert refused.value.cure == "Use the version that made it."


def test_a_plan_of_another_version_or_with_another_key_is_refused() -> None:
    members = json.loads(plan_of().encode())
    assert Plan.decode(json.dumps(members)) == plan_of()
    less = {key: members[key] for key in members if key != "fence"}
    for changed in ({**members, "v": 2}, {**members, "more": 1}, less):
        with pytest.raises(ConfigurationError):
            Plan.decode(json.dumps(changed))


def test_a_plan_in_which_anybody_rehearses_marks_its_debate() -> None:
    assert plan_of().marks == ()
    for role in Role:
        assert plan_of(routes={role: (REHEARSAL,)}).marks == ("REHEARSAL",)


# -------------------------------------------------------------------------------------------- what it refuses and says


def test_an_agent_in_a_seat_of_another_role_is_refused_with_the_place() -> None:
    seats = Seats(wind=(Seat(agent="wall-agent"),), wall=(Seat(agent="wall-agent"),), door=(Seat(agent="door-agent"),))
    recipe = load_recipe("speed", [BUNDLED / "recipes"]).model_copy(update={"tier": None, "seats": seats})
    with pytest.raises(ConfigurationError, match=r"seats\.wind: The agent wall-agent speaks as Wall") as refused:
        plan_of(recipe)
    assert "Seat it under wall" in refused.value.cure
    assert refused.value.source.endswith("speed.yaml")


@pytest.mark.parametrize("limits", [{"tokens": 5}, {"seconds": 1.5}, {"cost_usd": "2.50"}], ids=str)
def test_limits_of_a_recipe_are_the_plans_and_those_that_are_given_win(limits: dict[str, object]) -> None:
    own = Limits(cost_usd=Decimal("7.5"), tokens=9, seconds=30)
    recipe, given = recipe_of("speed").model_copy(update={"limits": own}), Limits.model_validate(limits, strict=False)
    assert plan_of(recipe).limits == own
    assert plan_of(recipe, limits=given).limits == own.model_copy(update=given.model_dump(exclude_none=True))
    assert plan_of("speed", limits=given).limits == given


@pytest.mark.parametrize(
    "lens", ["費用\u3000容量", "people \U0001f469\u200d\U0001f4bb", "cost\u00a0only", "\u202elens"]
)
def test_a_lens_that_the_hall_would_refuse_is_refused_before_anybody_is_asked(lens: str) -> None:
    recipe = recipe_of("fortress")
    assert recipe.seats is not None
    seats = recipe.seats.model_copy(update={"wind": (Seat(agent="edge-optimizer", lens=lens),)})
    with pytest.raises(ConfigurationError, match=r"seats\.wind: .* cannot be a name"):
        plan_of(recipe.model_copy(update={"seats": seats}))


@pytest.mark.parametrize(
    "changes",
    [{}, {"consensus": {"required": True}}, {"early_close": True}, {"context": "synthesis"}, {"socratic": True}],
    ids=str,
)
def test_what_a_recipe_may_ask_for_is_done_and_needs_no_notice(changes: dict[str, object]) -> None:
    assert plan_of("standard", **changes).notices == ()


def test_a_socratic_recipe_with_one_round_is_an_error() -> None:
    with pytest.raises(ValueError, match="there is only one round"):
        plan_of("speed", socratic=True)


def test_a_seat_without_a_model_is_refused_with_the_way_to_set_one_up() -> None:
    agents = {name: bundled_agent(name) for name in ("wind-agent", "wall-agent", "door-agent")}
    routing = routing_of({Role.DOOR: ()})
    with pytest.raises(UsageError, match="No model can be used for Door"):
        make_plan(recipe_of("speed"), agents, routing, protocol="", fence=FENCE)


# --------------------------------------------------------------------------------- what somebody wants to be otherwise


def test_other_routes_are_those_of_every_seat_of_a_role_and_of_no_other() -> None:
    plan = plan_of("fortress")
    changed = plan.with_changes(Changes(routes={Role.WALL: ("test/a", "test/b")}))
    seats = [seat for planned in changed.rounds for seat in planned.seats]
    assert {seat.role: seat.routes for seat in seats} == {
        Role.WIND: ("test/wind",),
        Role.WALL: ("test/a", "test/b"),
        Role.DOOR: ("test/door",),
    }
    restored = changed.with_changes(Changes(routes={Role.WALL: ("test/wall",)}))
    assert restored == plan


def test_of_limits_only_those_that_are_given_change_and_endpoints_are_added() -> None:
    plan = plan_of("fortress", endpoint=ENDPOINT, limits=Limits(tokens=5, seconds=60), on_failure="degrade")
    other = Endpoint(context_tokens=8000)
    changed = plan.with_changes(Changes(limits=Limits(tokens=7), endpoints={"test/other": other}))
    assert changed.limits == Limits(tokens=7, seconds=60)
    assert changed.endpoints == {**plan.endpoints, "test/other": other}
    assert changed.on_failure == "degrade"
    assert changed.model_copy(update={"limits": plan.limits, "endpoints": plan.endpoints}) == plan


def test_no_changes_are_none_and_leave_the_plan_as_it_is() -> None:
    assert not Changes()
    assert str(Changes()) == ""
    assert plan_of("council").with_changes(Changes()) == plan_of("council")
    for one in (
        Changes(routes={Role.WIND: ("a",)}),
        Changes(limits=Limits(tokens=5)),
        Changes(endpoints={"a": ENDPOINT}),
        Changes(on_failure="pause"),
    ):
        assert one
        assert str(one) != ""
        assert Changes.model_validate_json(one.model_dump_json()) == one


@pytest.mark.parametrize("recipe", RECIPES)
def test_one_seat_of_a_debate_has_its_last_turn(recipe: str) -> None:
    plan = plan_of(recipe)
    last = [seat.slot for planned in plan.rounds for seat in planned.seats if plan.ends_with(planned, seat)]
    assert last == [plan.rounds[-1].doors[-1].slot]


def test_the_door_of_a_round_that_closes_early_has_the_last_turn_too() -> None:
    plan = plan_of("fortress")
    early = plan.rounds[0].model_copy(update={"closes": True})
    assert [plan.ends_with(early, seat) for seat in early.seats] == [False] * 4 + [True]
