"""Each rule of the two published skills, shown through the door a user takes: MCP client, loaders, runner."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import pytest

from building import (
    BUNDLED,
    RECIPES,
    THREAD,
    bundled_agent,
    bundled_recipe,
    hall_at,
    hold,
    order,
    plan_of,
    priced,
    resume,
    speech,
    voices,
)
from mcp_requirements.calls import Call, Door, opened, read_call
from mcp_requirements.requirements import BY_ID, REQUIREMENTS, shown_by, shows
from orchestrator.agent import list_agents
from orchestrator.errors import ContentRefused, RunPaused, StoppedByLimit
from orchestrator.hall.hall import Hall
from orchestrator.hall.octave import parse as parse_octave
from orchestrator.hall.store import Lease
from orchestrator.hall.terms import Role
from orchestrator.models.base import Reply, Request
from orchestrator.models.scripted import Scripted
from orchestrator.models_file import load_models_file
from orchestrator.plan import Changes
from orchestrator.prompt import PROTOCOL
from orchestrator.recipe import TIERS, Limits, Recipe, list_recipes, load_recipe, with_tier
from orchestrator.taking_up import TakeUp

pytestmark = pytest.mark.anyio

DEBATE = "2026-01-06-billing"
QUESTION = "Should we move billing to Kafka?"
ROLES = ("Wind", "Wall", "Door")
REQUIRED = object()


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    with hall_at(tmp_path / "state") as hall:
        yield hall


@pytest.fixture
async def door(hall: Hall) -> AsyncIterator[Door]:
    async with opened(hall) as door:
        yield door


async def begin(door: Door, **options: Any) -> str:
    """Opens the debate and returns its head."""
    head: str = (await door("init_debate", thread_id=DEBATE, topic=QUESTION, **options))["head"]
    return head


async def say(door: Door, role: str, content: str = "", **options: Any) -> dict[str, Any]:
    return await door("add_turn", thread_id=DEBATE, role=role, content=content or f"What {role} says.", **options)


async def pick_and_say(door: Door, role: str, **options: Any) -> dict[str, Any]:
    await door("pick_next_speaker", thread_id=DEBATE, role=role)
    return await say(door, role, **options)


async def read(door: Door, **options: Any) -> dict[str, Any]:
    return await door("get_debate", thread_id=DEBATE, **options)


def roles_of(debate: dict[str, Any]) -> list[str]:
    return [turn["role"] for turn in debate["transcript"]]


# ---------------------------------------------------------------------------------------------------------- both ways


def test_every_row_has_an_id_of_its_own() -> None:
    assert [id for id, times in Counter(row.id for row in REQUIREMENTS).items() if times > 1] == []


def test_every_row_has_a_test() -> None:
    assert [row.id for row in REQUIREMENTS if not shown_by(row.id)] == []


def test_a_test_that_names_no_row_is_refused_where_it_is_written() -> None:
    with pytest.raises(KeyError, match="hall 99"):
        shows("hall 99")


# ---------------------------------------------------------------------------------------------------- tools, parameters

PARAMETERS = {  # id of the row -> tool, parameter, default
    "hall.3.init.thread_id": ("init_debate", "thread_id", REQUIRED),
    "manual.2.init.thread_id": ("init_debate", "thread_id", REQUIRED),
    "hall.3.init.topic": ("init_debate", "topic", REQUIRED),
    "manual.2.init.topic": ("init_debate", "topic", REQUIRED),
    "hall.3.init.mode": ("init_debate", "mode", "fixed"),
    "manual.2.init.mode": ("init_debate", "mode", "fixed"),
    "hall.3.init.max_turns": ("init_debate", "max_turns", 12),
    "manual.2.init.max_turns": ("init_debate", "max_turns", 12),
    "hall.3.init.max_rounds": ("init_debate", "max_rounds", 4),
    "manual.2.init.max_rounds": ("init_debate", "max_rounds", 4),
    "hall.3.init.strict_cognition": ("init_debate", "strict_cognition", False),
    "manual.2.init.strict_cognition": ("init_debate", "strict_cognition", False),
    "hall.3.add.thread_id": ("add_turn", "thread_id", REQUIRED),
    "manual.2.add.thread_id": ("add_turn", "thread_id", REQUIRED),
    "hall.3.add.role": ("add_turn", "role", REQUIRED),
    "manual.2.add.role": ("add_turn", "role", REQUIRED),
    "hall.3.add.content": ("add_turn", "content", REQUIRED),
    "manual.2.add.content": ("add_turn", "content", REQUIRED),
    "hall.3.add.cognition": ("add_turn", "cognition", None),
    "manual.2.add.cognition": ("add_turn", "cognition", None),
    "hall.3.add.agent_role": ("add_turn", "agent_role", None),
    "manual.2.add.agent_role": ("add_turn", "agent_role", None),
    "hall.3.add.model": ("add_turn", "model", None),
    "manual.2.add.model": ("add_turn", "model", None),
    "hall.3.get.thread_id": ("get_debate", "thread_id", REQUIRED),
    "manual.2.get.thread_id": ("get_debate", "thread_id", REQUIRED),
    "hall.3.get.include_transcript": ("get_debate", "include_transcript", True),
    "manual.2.get.include_transcript": ("get_debate", "include_transcript", True),
    "hall.3.get.context_lines": ("get_debate", "context_lines", None),
    "manual.2.get.context_turns": ("get_debate", "context_turns", None),
    "hall.3.close.thread_id": ("close_debate", "thread_id", REQUIRED),
    "manual.2.close.thread_id": ("close_debate", "thread_id", REQUIRED),
    "hall.3.close.synthesis": ("close_debate", "synthesis", REQUIRED),
    "manual.2.close.synthesis": ("close_debate", "synthesis", REQUIRED),
    "hall.3.close.output_format": ("close_debate", "output_format", "json"),
    "manual.2.close.output_format": ("close_debate", "output_format", "json"),
    "manual.2.pick.thread_id": ("pick_next_speaker", "thread_id", REQUIRED),
    "manual.2.pick.role": ("pick_next_speaker", "role", REQUIRED),
    "hall.9.force.call": ("force_close_debate", "reason", REQUIRED),
    "hall.9.tombstone.call": ("tombstone_turn", "turn_index", REQUIRED),
}


def default_in(schema: dict[str, Any], parameter: str) -> object:
    required = parameter in schema.get("required", [])
    return REQUIRED if required else schema["properties"][parameter]["default"]


@shows(*PARAMETERS)
async def test_the_tools_have_the_parameters_and_the_defaults_of_the_skills(door: Door) -> None:
    schemas = await door.schemas()
    found = {id: (tool, name, default_in(schemas[tool], name)) for id, (tool, name, _) in PARAMETERS.items()}
    assert found == PARAMETERS


SIGNATURES = ("hall.2.init", "hall.2.add", "hall.2.get", "hall.2.close", "hall.9.force.call", "hall.9.tombstone.call")


@shows(*SIGNATURES)
async def test_the_signatures_of_the_skill_stand_in_the_tools_schemas_in_their_order(door: Door) -> None:
    schemas = await door.schemas()
    for id in SIGNATURES:
        tool, inside = re.search(r"(\w+)\((.*)\)", BY_ID[id].quote).groups()  # type: ignore[union-attr]
        names = [name.removesuffix("?") for name in inside.split(",")]
        assert [name for name in schemas[tool]["properties"] if name in names] == names
        assert {name for name in inside.split(",") if not name.endswith("?")} == set(schemas[tool]["required"])


@shows("hall.front.name", "hall.front.tools", "manual.front.tools")
async def test_an_allow_list_of_the_published_skills_matches_our_server_and_tools(door: Door) -> None:
    server = door.client.server_info
    assert server is not None
    assert server.name == "debate-hall"
    tools = set(await door.schemas())
    assert tools >= {"init_debate", "add_turn", "get_debate", "close_debate", "pick_next_speaker"}
    assert tools >= {"force_close_debate", "tombstone_turn"}


def skill(name: str) -> str:
    return (BUNDLED / "skills" / name / "SKILL.md").read_text()


@shows("hall.front.name", "hall.front.triggers", "manual.front.name", "manual.front.triggers", "manual.meta.router")
@pytest.mark.parametrize("name", ["hall", "manual"])
def test_our_skill_has_the_name_and_the_triggers_of_the_published_one(name: str) -> None:
    published = {"hall": "architecture decision", "manual": "mediated mode"}
    text = skill({"hall": "debate-hall", "manual": "debate-hall-manual"}[name])
    front = text.split("---")[1]
    assert f"{BY_ID[f'{name}.front.name'].quote}\n" in front
    quoted = re.findall('"([^"]+)"', BY_ID[f"{name}.front.triggers"].quote)
    triggers = re.findall('"([^"]+)"', re.search("^triggers: (.*)$", front, re.MULTILINE)[1])  # type: ignore[index]
    assert triggers == [*quoted, published[name]]
    assert name == "hall" or BY_ID["manual.meta.router"].quote in text


@shows("hall.front.use", "hall.8.complex", "hall.8.approaches", "hall.8.tradeoffs", "hall.8.reviewers", "hall.8.risk")
def test_our_skill_says_when_to_debate_and_what_to_do_with_the_decision() -> None:
    when = skill("debate-hall").split("§2::WHEN")[1].split("§3::")[0]
    for condition in (
        "complex architectural decision",
        "multiple valid approaches",
        "unclear trade-offs",
        "reviewers who disagree",
        "high-risk implementation",
        "apply the synthesis to the task",
    ):
        assert condition in when


# --------------------------------------------------------------------------------------------------- opening a debate


@shows("hall.3.init.thread_id", "hall.3.init.format", "manual.2.init.thread_id")
async def test_a_thread_id_is_unique_and_date_first_by_convention(door: Door) -> None:
    (example,) = re.findall('EXAMPLE:"([^"]+)"', BY_ID["hall.3.init.format"].quote)
    assert (await door("init_debate", thread_id=example, topic=QUESTION))["warnings"] == []
    assert "thread_exists" in await door.refused("init_debate", thread_id=example, topic=QUESTION)
    (warning,) = (await door("init_debate", thread_id="no-date", topic=QUESTION))["warnings"]
    assert "YYYY-MM-DD" in warning


@shows("hall.3.init.topic", "manual.2.init.topic")
async def test_a_topic_comes_back_and_a_blank_one_is_refused(door: Door) -> None:
    await begin(door)
    assert (await read(door))["topic"] == QUESTION
    assert "invalid_input" in await door.refused("init_debate", thread_id="2026-01-07-x", topic=" ")


@shows("hall.3.init.mode", "manual.2.init.mode")
async def test_a_mode_is_fixed_or_mediated(door: Door) -> None:
    opening = {"topic": QUESTION}
    assert (await door("init_debate", thread_id="2026-01-01-a", **opening))["mode"] == "fixed"
    assert (await door("init_debate", thread_id="2026-01-01-b", mode="mediated", **opening))["mode"] == "mediated"
    await door.refused("init_debate", thread_id="2026-01-01-c", mode="speed", **opening)


@shows("hall.3.init.max_turns", "manual.2.init.max_turns", "hall.3.init.max_rounds", "manual.2.init.max_rounds")
async def test_the_limits_hold_and_a_full_debate_can_be_closed(door: Door) -> None:
    await begin(door, max_turns=4, max_rounds=2)
    for role in (*ROLES, "Wind"):
        await say(door, role)
    assert "limit_reached" in await door.refused("add_turn", thread_id=DEBATE, role="Wall", content="Yes, but …")
    await door("init_debate", thread_id="2026-01-07-x", topic=QUESTION, max_rounds=1)
    for role in ROLES:
        answer = await door("add_turn", thread_id="2026-01-07-x", role=role, content="…")
    assert answer["next_role"] is None
    refusal = await door.refused("add_turn", thread_id="2026-01-07-x", role="Wind", content="What if …")
    assert "limit_reached" in refusal
    await door("close_debate", thread_id="2026-01-07-x", synthesis="Therefore …")


@shows("hall.3.init.strict_cognition", "manual.2.init.strict_cognition")
async def test_strict_cognition_refuses_what_is_otherwise_kept_with_warnings(door: Door) -> None:
    await begin(door)
    assert (await say(door, "Wind", "No options here."))["cognition_warnings"]
    await door("init_debate", thread_id="2026-01-07-x", topic=QUESTION, strict_cognition=True)
    weak = {"thread_id": "2026-01-07-x", "role": "Wind", "content": "No options here."}
    assert "cognition" in await door.refused("add_turn", **weak)
    assert (await door("get_debate", thread_id="2026-01-07-x"))["turn_count"] == 0


# -------------------------------------------------------------------------------------------------------------- turns


@shows("hall.3.add.role", "manual.2.add.role", "manual.2.pick.role")
async def test_only_wind_wall_and_door_speak(door: Door) -> None:
    await begin(door, mode="mediated")
    assert [(await pick_and_say(door, role))["role"] for role in ROLES] == list(ROLES)
    await door.refused("pick_next_speaker", thread_id=DEBATE, role="Chair")
    await door.refused("add_turn", thread_id=DEBATE, role="Chair", content="Order!")


@shows("hall.3.add.content", "manual.2.add.content", "hall.7.flash.constraint")
async def test_content_is_the_callers_and_comes_back_as_it_was_sent(door: Door) -> None:
    content = "  What if “quotes”, ===END===, ⇌ and\r\n```code```\tstay?  \n"
    await begin(door)
    await say(door, "Wind", content)
    assert [turn["content"] for turn in (await read(door))["transcript"]] == [content]
    assert "invalid_input" in await door.refused("add_turn", thread_id=DEBATE, role="Wall", content="")


@shows("hall.1.wind", "hall.1.wall", "hall.1.door", "hall.3.add.cognition", "manual.2.add.cognition", "hall.5.mapping")
async def test_each_role_has_its_cognition_and_another_can_be_named(door: Door) -> None:
    await begin(door)
    spoken = [(await say(door, role))["cognition"] for role in ROLES]
    assert spoken == ["PATHOS", "ETHOS", "LOGOS"]
    other = await say(door, "Wind", cognition="LOGOS")
    assert other["cognition"] == "LOGOS"
    assert "Wind spoke as LOGOS, not as PATHOS." in other["cognition_warnings"]
    await door.refused("add_turn", thread_id=DEBATE, role="Wall", content="…", cognition="FOO")


@shows("hall.1.wind", "hall.1.wall", "hall.1.door")
def test_seats_are_told_what_the_voices_are() -> None:
    for role, words in zip(Role, ("“What if…”", "“Yes, but…”", "“Therefore…”"), strict=True):
        line = f"{role} ({role.cognition}, {words}"
        assert line.replace("“", '"').replace("”", '"') in PROTOCOL


@shows("hall.3.add.agent_role", "manual.2.add.agent_role", "hall.3.add.model", "manual.2.add.model")
@shows("hall.7.models.audit")
async def test_who_spoke_stays_with_the_turn_and_is_covered_by_its_hash(door: Door) -> None:
    await begin(door)
    await say(door, "Wind", agent_role="ideator", model="claude")
    (turn,) = (await read(door))["transcript"]
    assert (turn["agent_role"], turn["model"]) == ("ideator", "claude")
    exported = json.loads((await door("export_debate", thread_id=DEBATE))["text"])
    assert any("ideator" in str(entry) and "claude" in str(entry) for entry in exported["ledger"])


# ------------------------------------------------------------------------------------------------------------ reading


@shows("hall.3.get.include_transcript", "manual.2.get.include_transcript")
async def test_the_transcript_is_there_unless_it_is_left_out(door: Door) -> None:
    await begin(door)
    await say(door, "Wind")
    assert roles_of(await read(door)) == ["Wind"]
    assert (await read(door, include_transcript=False)).get("transcript") is None


@shows("hall.3.get.context_lines", "manual.2.get.context_turns")
@pytest.mark.parametrize("name", ["context_lines", "context_turns"])
async def test_a_window_shows_the_newest_turns_and_says_how_many_it_left_out(door: Door, name: str) -> None:
    await begin(door)
    for role in ROLES:
        await say(door, role)
    assert roles_of(await read(door)) == list(ROLES)
    window = await read(door, **{name: 1})
    assert (roles_of(window), window["omitted_turns"]) == (["Door"], 2)


@shows("hall.3.add.thread_id", "manual.2.add.thread_id", "hall.3.get.thread_id", "manual.2.get.thread_id")
@shows("hall.3.close.thread_id", "manual.2.close.thread_id", "manual.2.pick.thread_id")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("add_turn", {"role": "Wind", "content": "…"}),
        ("get_debate", {}),
        ("close_debate", {"synthesis": "…"}),
        ("pick_next_speaker", {"role": "Wind"}),
    ],
)
async def test_a_thread_that_was_never_opened_is_unknown(door: Door, tool: str, arguments: dict[str, Any]) -> None:
    assert "unknown_thread" in await door.refused(tool, thread_id="2026-01-06-nobody", **arguments)


# ------------------------------------------------------------------------------------------------------------ closing


@shows("hall.3.close.synthesis", "manual.2.close.synthesis", "hall.2.sequence", "manual.1.sequence")
async def test_a_debate_goes_from_init_over_turns_to_its_close(door: Door) -> None:
    await begin(door)
    for role in ROLES:
        await say(door, role)
    assert "invalid_input" in await door.refused("close_debate", thread_id=DEBATE, synthesis="  ")
    closed = await door("close_debate", thread_id=DEBATE, synthesis="Therefore: an outbox.")
    assert (closed["status"], closed["synthesis"]) == ("synthesis", "Therefore: an outbox.")
    assert (await read(door))["synthesis"] == "Therefore: an outbox."
    assert "not_active" in await door.refused("add_turn", thread_id=DEBATE, role="Wind", content="What if …")
    assert "not_active" in await door.refused("close_debate", thread_id=DEBATE, synthesis="Again.")


@shows("hall.3.close.output_format", "manual.2.close.output_format", "hall.10.persistence")
@pytest.mark.parametrize(
    ("chosen", "parts"),
    [
        ({}, {"transcript"}),
        ({"output_format": "octave"}, {"octave"}),
        ({"output_format": "both"}, {"transcript", "octave"}),
    ],
)
async def test_a_close_answers_in_the_format_that_was_asked_for(
    door: Door, chosen: dict[str, str], parts: set[str]
) -> None:
    await begin(door)
    for role in ROLES:
        await say(door, role)
    assert "invalid_input" in await door.refused("close_debate", thread_id=DEBATE, synthesis="…", output_format="xml")
    closed = await door("close_debate", thread_id=DEBATE, synthesis="Therefore: an outbox.", **chosen)
    assert {part for part in ("transcript", "octave") if closed.get(part) is not None} == parts
    if "octave" in parts:
        _, kept = parse_octave(closed["octave"])
        assert [turn["CONTENT"] for turn in kept["TURNS"].values()] == [f"What {role} says." for role in ROLES]
        assert (kept["SYNTHESIS"], kept["META"]["HEAD"]) == ("Therefore: an outbox.", closed["head"])


# -------------------------------------------------------------------------------------------------------------- modes


@shows("hall.4.fixed.sequence", "hall.4.fixed.use", "manual.3.fixed.sequence", "manual.3.fixed.use")
async def test_fixed_is_wind_wall_door_and_again_so_that_nobody_is_left_out(door: Door) -> None:
    await begin(door)
    for role in ROLES * 2:
        assert (await read(door))["next_role"] == role
        for other in set(ROLES) - {role}:
            assert "out_of_turn" in await door.refused("add_turn", thread_id=DEBATE, role=other, content="Me first.")
        await say(door, role)
    debate = await read(door)
    assert (roles_of(debate), debate["starved_roles"]) == (list(ROLES * 2), [])


@shows("hall.4.mediated.sequence", "manual.3.mediated.sequence", "hall.4.1.floor", "hall.4.1.floor.wind")
@shows("hall.4.1.floor.wall", "hall.4.1.floor.door")
async def test_mediated_gives_the_floor_for_one_turn_to_the_role_that_was_picked(door: Door) -> None:
    await begin(door, mode="mediated")
    for role in ROLES:
        assert "floor_not_given" in await door.refused("add_turn", thread_id=DEBATE, role=role, content="Unasked.")
        assert (await door("pick_next_speaker", thread_id=DEBATE, role=role))["next_role"] == role
        for other in set(ROLES) - {role}:
            await door.refused("add_turn", thread_id=DEBATE, role=other, content="Not mine.")
        await say(door, role)
    assert roles_of(await read(door)) == list(ROLES)


@shows("hall.4.mediated.use", "manual.3.mediated.use")
async def test_mediated_allows_any_order_a_new_pick_and_several_agents_of_one_cognition(door: Door) -> None:
    await begin(door, mode="mediated")
    await pick_and_say(door, "Wall", agent_role="validator")
    await door("pick_next_speaker", thread_id=DEBATE, role="Wall")  # who then falls silent
    await pick_and_say(door, "Wind", agent_role="ideator")
    await pick_and_say(door, "Wall", agent_role="critical-engineer")
    assert [(turn["role"], turn["agent_role"]) for turn in (await read(door))["transcript"]] == [
        ("Wall", "validator"),
        ("Wind", "ideator"),
        ("Wall", "critical-engineer"),
    ]


@shows("hall.4.mediated.use", "hall.4.mediated.warning", "manual.3.mediated.warning")
async def test_a_role_can_be_skipped_without_the_barrier_and_the_debate_says_who_was_starved(door: Door) -> None:
    await begin(door, mode="mediated", barrier=False)
    await pick_and_say(door, "Wind")
    await pick_and_say(door, "Door")
    closed = await door("close_debate", thread_id=DEBATE, synthesis="Therefore …")
    assert (closed["balance"], closed["starved_roles"]) == ({"Wind": 1, "Wall": 0, "Door": 1}, ["Wall"])


@shows("manual.2.pick.mode")
async def test_a_pick_is_for_mediated_mode_only(door: Door) -> None:
    await begin(door)
    assert "wrong_mode" in await door.refused("pick_next_speaker", thread_id=DEBATE, role="Wind")


# ---------------------------------------------------------------------------------------------------- parallel, by hand


@shows("hall.1.dynamic", "hall.4.1.door_last", "manual.5.door_last", "hall.7.parallel.guarantee")
@pytest.mark.parametrize("spoken", [(), ("Wind",), ("Wall",)])
async def test_door_waits_for_wind_and_wall(door: Door, spoken: Sequence[str]) -> None:
    await begin(door, mode="mediated")
    for role in spoken:
        await pick_and_say(door, role)
    assert "barrier" in await door.refused("pick_next_speaker", thread_id=DEBATE, role="Door")
    assert "barrier" in await door.refused("close_debate", thread_id=DEBATE, synthesis="Therefore …")


@shows("hall.4.1.principle", "hall.4.1.parallel_thinking", "manual.5.parallel_thinking", "hall.4.1.one_commit")
@shows("manual.5.one_commit", "hall.4.1.sequential_commit", "manual.5.sequential_commit", "hall.4.1.one_head")
@shows("manual.5.one_head")
async def test_of_drafts_written_from_one_head_one_is_committed_and_none_is_lost_unseen(door: Door) -> None:
    head = await begin(door, mode="mediated")
    head = (await door("pick_next_speaker", thread_id=DEBATE, role="Wind", expected_head=head))["head"]
    drafts = [f"What if {number}?" for number in range(8)]
    outcomes: dict[str, bool] = {}

    async def commit(draft: str) -> None:
        arguments = {"thread_id": DEBATE, "role": "Wind", "content": draft, "expected_head": head}
        outcomes[draft] = (await door.client.call_tool("add_turn", arguments)).is_error

    async with anyio.create_task_group() as together:
        for draft in drafts:
            together.start_soon(commit, draft)
    (winner,) = [draft for draft, refused in outcomes.items() if not refused]
    assert [turn["content"] for turn in (await read(door))["transcript"]] == [winner]


@shows("hall.4.1.retry", "manual.5.retry", "hall.7.parallel.conflict")
async def test_a_stale_writer_is_told_the_head_reads_writes_again_and_is_heard(door: Door) -> None:
    head = await begin(door)
    await say(door, "Wind")
    late = {"thread_id": DEBATE, "role": "Wind", "content": "What if I had been faster?", "expected_head": head}
    refusal = await door.refused("add_turn", **late)
    now = await read(door)
    assert "stale_head" in refusal
    assert now["head"] in refusal
    assert "get_debate" in refusal
    again = await say(door, now["next_role"], "Yes, but …", expected_head=now["head"])
    assert (again["role"], again["turn_count"]) == ("Wall", 2)


@shows("hall.4.1.step1", "hall.4.1.step2", "hall.4.1.step3", "hall.4.1.step4", "hall.4.1.step5", "manual.5.step1")
@shows("manual.5.step2", "manual.5.step3", "manual.5.step4", "manual.5.step5", "hall.7.parallel.steps")
@shows("hall.7.parallel.purpose", "hall.4.1.both_sides", "hall.10.parallel.door", "manual.5.door_barrier")
async def test_the_barrier_protocol_by_hand(door: Door) -> None:
    await begin(door)
    for number in (1, 2):
        snapshot = await read(door)
        wind = await say(door, "Wind", f"What if {number}?", expected_head=snapshot["head"])
        wall = await say(door, "Wall", f"Yes, but {number}.", expected_head=wind["head"])
        latest = await read(door)
        assert latest["head"] == wall["head"]
        assert [turn["content"] for turn in latest["transcript"][-2:]] == [f"What if {number}?", f"Yes, but {number}."]
        last = await say(door, "Door", f"Therefore {number}.", expected_head=latest["head"])
        assert last["round"] == number
    await door("close_debate", thread_id=DEBATE, synthesis="Therefore 2.", expected_head=last["head"])
    assert roles_of(await read(door)) == list(ROLES * 2)


@shows("hall.4.1.deployment", "hall.4.1.split_brain", "manual.5.deployment")
async def test_servers_with_one_state_folder_share_one_debate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEBATE_HALL_STORE", raising=False)
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(tmp_path / "shared"))
    with Hall.open() as one, Hall.open() as other:
        async with opened(one) as first, opened(other) as second:
            await begin(first)
            head = (await say(first, "Wind"))["head"]
            await say(second, "Wall", expected_head=head)
            stale = {"thread_id": DEBATE, "role": "Door", "content": "Therefore …", "expected_head": head}
            assert "stale_head" in await first.refused("add_turn", **stale)
            assert roles_of(await read(first)) == roles_of(await read(second)) == ["Wind", "Wall"]


# ------------------------------------------------------------------------------------------------ parallel, by a runner


class InBatches:
    """Answers only when a whole batch is in flight, so that a runner who drafts one by one would hang.

    Args:
        sizes: how many requests each batch has, in order.
    """

    def __init__(self, *sizes: int) -> None:
        self.batches: list[list[Request]] = []
        self._voices = voices()
        self._sizes = iter(sizes)
        self._left = 0

    async def complete(self, request: Request) -> Reply:
        if not self._left:
            self._left, self._full = next(self._sizes), anyio.Event()
            self.batches.append([])
        self.batches[-1].append(request)
        self._left -= 1
        if not self._left:
            self._full.set()
        await self._full.wait()
        return await self._voices.complete(request)


@shows("hall.4.1.step1", "hall.4.1.step2", "hall.4.1.wall_tests", "manual.5.wall_tests", "hall.4.1.wall_framework")
@shows("hall.10.parallel.wall", "manual.5.wall_framework", "hall.10.parallel.door", "hall.4.1.step4", "hall.4.1.step3")
async def test_a_runner_drafts_wind_and_walls_checklist_together_and_lets_wall_apply_it_to_what_wind_said(
    hall: Hall,
) -> None:
    model = InBatches(2, 1, 1, 1)
    with anyio.fail_after(10):
        await hold(hall, plan_of("speed"), model)
    (wind, checklist), (wall,), (last,), (account,) = model.batches
    steps = [request.task.step for request in (wind, checklist, wall, last, account)]
    assert steps == ["turn", "checklist", "apply", "turn", "account"]
    assert wind.messages[:-1] == checklist.messages[:-1]
    assert [said.role for said in wall.task.said] == ["Wind"]
    assert wall.task.said[0].text in "".join(message.text for message in wall.messages)
    assert [said.role for said in last.task.said] == ["Wind", "Wall"]
    assert order(hall.debate(THREAD)) == "WLD"


@shows("hall.10.parallel.default", "manual.5.default")
def test_parallel_drafts_and_one_commit_at_a_time_are_every_recipes_default() -> None:
    assert {recipe.wall for recipe in list_recipes([BUNDLED / "recipes"])} == {"framework"}


@shows("hall.4.1.step5", "manual.5.step5")
async def test_a_runner_repeats_the_round_and_closes_after_the_last(hall: Hall) -> None:
    with anyio.fail_after(10):
        await hold(hall, plan_of("standard"), voices())
    debate = hall.debate(THREAD)
    assert order(debate) == " · ".join(["WLD"] * 4)
    assert debate.state.status == "synthesis"


# ------------------------------------------------------------------------------------------------------ agents, recipes


def tier(name: str) -> dict[str, list[str]]:
    seats = TIERS[name]
    rows = {"Wind": seats.wind, "Wall": seats.wall, "Door": seats.door}
    return {role: [seat.agent for seat in row] for role, row in rows.items()}


def agents_of_tier(name: str) -> list[str]:
    return [agent for agents in tier(name).values() for agent in agents]


def agents_of(recipe: Recipe) -> list[str]:
    return [seat.agent for role in Role for seat in recipe.seats_of(role)]


@shows(
    "hall.5.tier1.agents", "hall.5.tier2.pathos", "hall.5.tier2.ethos", "hall.5.tier2.logos", "hall.5.tier3.security"
)
@shows("hall.5.tier3.innovation", "hall.5.tier3.architecture", "hall.5.mapping")
@pytest.mark.parametrize(
    ("name", "wind", "wall", "last"),
    [
        ("1", ["wind-agent"], ["wall-agent"], ["door-agent"]),
        ("2", ["ideator", "edge-optimizer"], ["validator", "critical-engineer"], ["synthesizer"]),
        ("3:security", ["edge-optimizer"], ["critical-engineer"], ["technical-architect"]),
        ("3:innovation", ["ideator"], ["validator"], ["synthesizer"]),
        ("3:architecture", ["ideator"], ["critical-engineer"], ["holistic-orchestrator"]),
    ],
)
def test_a_tier_seats_the_agents_the_skill_names_in_the_roles_of_their_cognition(
    name: str, wind: list[str], wall: list[str], last: list[str]
) -> None:
    assert tier(name) == {"Wind": wind, "Wall": wall, "Door": last}
    for role, agents in tier(name).items():
        assert {bundled_agent(agent).role for agent in agents} == {role}
        assert all((BUNDLED / "agents" / f"{agent}.oct.md").is_file() for agent in agents)


@shows("hall.5.tier1.behavior", "hall.5.tier2.pathos", "hall.5.tier2.ethos", "hall.5.tier2.logos")
@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("wind-agent", "the obvious paths"),
        ("wall-agent", "Balanced judgement"),
        ("door-agent", "Balanced integration"),
        ("ideator", "elegant, subtractive"),
        ("edge-optimizer", "hidden vectors"),
        ("validator", "Cold truth"),
        ("critical-engineer", "Production readiness"),
        ("synthesizer", "more than their sum"),
    ],
)
def test_an_agent_is_what_the_skill_says_of_it(agent: str, words: str) -> None:
    assert words in bundled_agent(agent).summary


@shows("hall.5.choose", "hall.5.tier1.use", "hall.5.tier2.use")
def test_the_agents_page_says_which_tier_is_for_what() -> None:
    page = (BUNDLED / "agents" / "README.md").read_text()
    assert "| 1 | quick and standard decisions" in page
    assert "| 2 | architecture, security, innovation" in page
    for agent in list_agents([BUNDLED / "agents"]):
        assert f"| [{agent.name}]({agent.name}.oct.md) | {agent.role} | {agent.tier} |" in page


AGENTS_OF = {
    "speed": agents_of_tier("1"),
    "standard": agents_of_tier("1"),
    "deep": agents_of_tier("2"),
    "fortress": ["edge-optimizer", *["critical-engineer"] * 3, "technical-architect"],
    "laboratory": ["ideator", "edge-optimizer", "wind-agent", "validator", "synthesizer"],
    "council": ["ideator", "edge-optimizer", "validator", "critical-engineer", *["synthesizer"] * 3],
}


@pytest.mark.slow
@shows(*(f"hall.6.{name}" for name in RECIPES))
@pytest.mark.parametrize(
    ("name", "turns", "mode", "ratio"),
    [
        ("SPEED", 3, "fixed", (1, 1, 1)),
        ("STANDARD", 12, "fixed", (4, 4, 4)),
        ("DEEP", 36, "fixed", (12, 12, 12)),
        ("FORTRESS", 9, "mediated", (1, 3, 1)),
        ("LABORATORY", 9, "mediated", (3, 1, 1)),
        ("COUNCIL", 12, "mediated", (2, 2, 3)),
    ],
)
async def test_a_recipe_is_what_the_skill_says_and_runs_to_its_close(
    hall: Hall, name: str, turns: int, mode: str, ratio: tuple[int, int, int]
) -> None:
    recipe = load_recipe(name, [BUNDLED / "recipes"])
    assert (recipe.turns, recipe.mode, recipe.ratio.parts) == (turns, mode, ratio)
    assert agents_of(recipe) == AGENTS_OF[recipe.name]
    with anyio.fail_after(20):
        await hold(hall, plan_of(recipe), voices())
    assert hall.debate(THREAD).state.turn_count == turns


@shows("hall.6.standard")
def test_standard_takes_the_specialists_on_request() -> None:
    assert agents_of(with_tier(bundled_recipe("standard"), "2")) == agents_of_tier("2")


@shows(*(f"hall.6.{name}" for name in RECIPES))
async def test_the_server_lists_the_six_recipes(door: Door) -> None:
    answer = await door("list_recipes")
    assert {recipe["name"] for recipe in answer["recipes"]} >= set(RECIPES)


# ----------------------------------------------------------------------------------------------------------- patterns


@shows("hall.7.flash.purpose", "hall.7.flash.sequence", "hall.8.run", "hall.10.single")
async def test_a_flash_debate_is_three_turns_that_one_agent_can_take_alone(door: Door) -> None:
    await begin(door, max_turns=3, max_rounds=1)
    for role, content in zip(ROLES, ("What if …", "Yes, but …", "Therefore …"), strict=True):
        await say(door, role, content, agent_role="one-agent")
    closed = await door("close_debate", thread_id=DEBATE, synthesis="Therefore …")
    assert (closed["turn_count"], closed["balance"]) == (3, {"Wind": 1, "Wall": 1, "Door": 1})


@shows("hall.7.socratic.purpose", "hall.7.socratic.round1", "hall.7.socratic.round2")
async def test_a_socratic_recipe_asks_in_round_1_and_takes_positions_after_it(hall: Hall) -> None:
    recipe = load_recipe(str(BUNDLED / "docs" / "examples" / "socratic.yaml"), [])
    model = voices()
    with anyio.fail_after(10):
        await hold(hall, plan_of(recipe), model)
    turns = [request for request in model.requests if request.task.step != "account"]
    asks = {request.task.round: "This round only asks." in request.messages[-1].text for request in turns}
    rests = {request.task.round: "as they were settled in T3" in request.messages[-1].text for request in turns}
    assert asks == {1: True, 2: False, 3: False}
    assert rests == {1: False, 2: True, 3: True}


@shows("hall.7.socratic.enforcement")
async def test_by_hand_a_position_in_round_1_is_taken_too(door: Door) -> None:
    await begin(door)
    assert (await say(door, "Wind", "We move everything, now."))["turn_count"] == 1


@shows("hall.7.models.wind", "hall.7.models.wall", "hall.7.models.door", "hall.10.multi")
def test_by_default_each_cognition_goes_to_the_model_family_the_skill_names() -> None:
    routes = load_models_file("models", [BUNDLED / "configs"]).routes
    first = [names[0].partition("/")[0] for names in (routes.PATHOS, routes.ETHOS, routes.LOGOS)]
    assert first == ["anthropic", "openai", "gemini"]


@shows("hall.7.models.audit", "hall.10.multi")
async def test_in_a_run_with_a_model_for_each_role_every_turn_says_who_spoke(hall: Hall) -> None:
    routes = {Role.WIND: ["a/creative"], Role.WALL: ["b/analytical"], Role.DOOR: ["c/balanced"]}
    with anyio.fail_after(10):
        await hold(hall, plan_of("speed", routes=routes), voices())
    async with opened(hall) as door:
        turns = (await door("get_debate", thread_id=THREAD))["transcript"]
    assert [(turn["agent_role"], turn["model"]) for turn in turns] == [
        ("wind-agent", "a/creative"),
        ("wall-agent", "b/analytical"),
        ("door-agent", "c/balanced"),
    ]


@shows("hall.10.third_way")
def test_door_is_asked_for_what_neither_side_proposed() -> None:
    assert "the path that neither proposed alone" in PROTOCOL
    assert bundled_agent("synthesizer").section == "THE THIRD WAY"


@shows("hall.8.complex", "hall.8.approaches", "hall.8.tradeoffs", "hall.8.reviewers", "hall.8.risk")
@shows("hall.8.if", "hall.8.then", "hall.8.run", "hall.8.apply")
@pytest.mark.parametrize("id", ["complex", "approaches", "tradeoffs", "reviewers", "risk"])
async def test_the_prompt_for_a_hard_task_walks_from_the_trigger_to_the_synthesis_applied(door: Door, id: str) -> None:
    trigger = BY_ID[f"hall.8.{id}"].quote.partition("[")[0]
    prompt = await door.client.get_prompt("escalate", {"task": "Billing events need a queue", "conditions": trigger})
    text = "".join(message.content.text for message in prompt.messages if message.content.type == "text")
    assert f"- {trigger}: " in text
    assert re.search(
        r'init_debate\(thread_id="ho-billing-events-need-a-queue-\d{8}T\d{6}Z", .*, mode="mediated"\)', text
    )
    assert "Wind, then Wall, then Door" in text
    assert "Apply the synthesis to the task" in text


@shows("hall.8.then")
async def test_the_id_the_trigger_names_opens_a_mediated_debate(door: Door) -> None:
    template = re.search('thread_id:"([^"]+)"', BY_ID["hall.8.then"].quote)[1]  # type: ignore[index]
    thread_id = template.format(task="billing-queue", ts="20260106T090000Z")
    opening = await door("init_debate", thread_id=thread_id, topic="Which queue?", mode="mediated")
    assert (opening["thread_id"], opening["mode"]) == ("ho-billing-queue-20260106T090000Z", "mediated")
    assert len(opening["warnings"]) == 1


# -------------------------------------------------------------------------------------------------------------- admin


@shows("hall.9.force.purpose", "hall.9.force.call")
async def test_the_kill_switch_closes_a_debate_whatever_it_lacks_once(door: Door) -> None:
    await begin(door)
    closed = await door("force_close_debate", thread_id=DEBATE, reason="The question went away.")
    assert (closed["status"], closed["reason"]) == ("force_closed", "The question went away.")
    assert "not_active" in await door.refused("add_turn", thread_id=DEBATE, role="Wind", content="What if …")
    assert "not_active" in await door.refused("force_close_debate", thread_id=DEBATE, reason="Again.")


@shows("hall.9.tombstone.purpose", "hall.9.tombstone.call")
async def test_a_tombstone_takes_the_text_and_leaves_a_chain_that_verifies(door: Door) -> None:
    await begin(door)
    before = await say(door, "Wind", "What if we asked Ms Example?")
    answer = await door("tombstone_turn", thread_id=DEBATE, turn_index=0, reason="It names a customer.")
    assert answer["original_content_hash"].startswith("sha256:")
    (turn,) = (await read(door))["transcript"]
    assert turn["redacted"]
    assert turn["turn_hash"] == before["turn_hash"]
    assert "Ms Example" not in turn["content"] + str(await door("export_debate", thread_id=DEBATE))
    verified = await door("verify_debate", thread_id=DEBATE, head=before["head"])
    assert (verified["verified"], verified["newer"]) == (True, 1)


# ---------------------------------------------------------------------------------------------- examples, as they stand


def calls_of(*ids: str) -> list[Call]:
    return [read_call(BY_ID[id].quote) for id in ids]


@shows("manual.4.init", "manual.4.wind", "manual.4.wall", "manual.4.door", "manual.4.close")
async def test_the_example_of_the_manual_works_word_for_word(door: Door) -> None:
    calls = calls_of("manual.4.init", "manual.4.wind", "manual.4.wall", "manual.4.door", "manual.4.close")
    answers = await door.play(calls, thread_id="2026-02-09-api-design", synthesis="REST outside, GraphQL inside.")
    assert [answer["role"] for answer in answers[1:4]] == list(ROLES)
    assert parse_octave(answers[-1]["octave"])[1]["SYNTHESIS"] == "REST outside, GraphQL inside."


@shows("hall.11.init", "hall.11.wind", "hall.11.wall", "hall.11.door", "hall.11.close")
async def test_the_microservices_example_works_word_for_word_though_its_id_has_no_date(door: Door) -> None:
    known = {"thread_id": "microservices-decision", "synthesis": "Modular monolith."}
    (opening,) = await door.play(calls_of("hall.11.init"))
    assert (opening["thread_id"], len(opening["warnings"])) == ("microservices-decision", 1)
    for role in ROLES:
        content = BY_ID[f"hall.11.{role.lower()}"].quote.strip('"')
        await door("add_turn", thread_id="microservices-decision", role=role, content=content)
    (closed,) = await door.play(calls_of("hall.11.close"), **known)
    assert "Extract when team grows." in closed["octave"]


# ---------------------------------------------------------------------------------------------------------- resources


@shows("hall.12.agents", "hall.12.contracts", "hall.12.patterns", "hall.12.orchestration")
def test_the_pages_the_skill_points_to_are_there() -> None:
    agents = (BUNDLED / "agents" / "README.md").read_text()
    assert all(f"[{role.lower()}-agent]" in agents for role in ROLES)
    assert "BLOCKING_SEMANTICS" in (BUNDLED / "docs" / "wall-content-contract.oct.md").read_text()
    patterns = (BUNDLED / "docs" / "multi-model-debate-patterns.md").read_text()
    titles = ["## Flash", "## Socratic", "## Several models", "## Parallel drafts"]
    assert all(patterns.index(one) < patterns.index(next) for one, next in pairwise(titles))
    assert bundled_agent("holistic-orchestrator").role is Role.DOOR
    assert "FROM_A_TASK" in skill("debate-hall")


# ------------------------------------------------------------------------------------- whole debates, which are our own


class Ended:
    """A process that has done its work."""

    def poll(self) -> int:
        return 0


@pytest.fixture
def goes_on(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    """The voices of runs that go on; each does so in this process, and to its end, before its call answers."""
    model = voices()

    def start(lease: Lease, folder: Path, changes: Changes) -> Ended:
        anyio.run(partial(resume, hall, model, how=TakeUp(lease, str(folder), changes)))
        return Ended()

    monkeypatch.setattr("orchestrator.background.start", start)
    return model


@pytest.fixture
def second_wall_fails() -> Scripted:
    """Voices among which that of the second lens is never heard."""

    def refuse(request: Request) -> None:
        if "failure" in (request.task.lens or ""):
            raise ContentRefused("the filter did not like it", model=request.model)

    return voices(refuse)


def test_what_our_own_rows_quote_stands_in_our_skill() -> None:
    ours = [row for row in REQUIREMENTS if row.id.startswith("ours.")]
    assert [row.quote for row in ours if row.quote not in skill("debate-hall")] == []


@shows("ours.9.resume", "ours.9.resume.plan", "ours.9.resume.turns", "ours.9.failure.pause")
async def test_a_paused_run_goes_on_with_its_plan_and_buys_nothing_again(
    door: Door, hall: Hall, goes_on: Scripted, second_wall_fails: Scripted
) -> None:
    with pytest.raises(RunPaused, match="the filter did not like it"):
        await hold(hall, plan_of("fortress"), second_wall_fails)
    paused = await door("debate_status", thread_id=THREAD)
    assert (paused["run"]["state"], paused["status"]) == ("paused", "active")
    before = hall.debate(THREAD)
    ended = await door("resume_debate", thread_id=THREAD)
    assert (ended["run"]["state"], ended["status"], ended["marks"]) == ("done", "synthesis", [])
    debate = hall.debate(THREAD)
    assert (debate.plan, debate.lines[: len(before.lines)]) == (before.plan, before.lines)
    assert order(debate) == "WLLLD · WLLD"
    answered = len(second_wall_fails.requests) - 1  # Wind and two of three checklists
    assert (answered, len(goes_on.requests)) == (3, plan_of("fortress").calls - answered)


@shows("ours.9.limits", "ours.9.limits.pause", "ours.9.resume.changes")
async def test_a_run_that_meets_its_limit_is_paused_and_goes_on_with_a_higher_one(
    door: Door, hall: Hall, goes_on: Scripted
) -> None:
    model = Scripted(lambda request: priced(speech(request, 1)))  # each takes 110 tokens
    with pytest.raises(StoppedByLimit):
        await hold(hall, plan_of("speed", limits=Limits(tokens=14_000)), model)
    stopped = await door("debate_status", thread_id=THREAD)
    assert (stopped["run"]["state"], stopped["turn_count"]) == ("paused", 0)
    ended = await door("resume_debate", thread_id=THREAD, token_limit=100_000)
    assert (ended["run"]["state"], ended["turn_count"]) == ("done", 3)
    assert len(goes_on.requests) == plan_of("speed").calls - len(model.requests)


@shows("ours.9.failure.degrade", "ours.9.failure.first")
async def test_a_degraded_run_decides_and_says_who_is_missing_and_why(
    door: Door, hall: Hall, second_wall_fails: Scripted
) -> None:
    await hold(hall, plan_of("fortress", on_failure="degrade"), second_wall_fails)
    ended = await door("debate_status", thread_id=THREAD)
    assert ended["decision"].startswith("Therefore ")
    (first,) = ended["first_words"]
    assert first.startswith("DEGRADED: Wall critical-engineer (R1.Wall.2) is missing: the filter did not like it")


@shows("ours.9.resume.held")
async def test_a_run_that_goes_on_is_refused(door: Door, hall: Hall) -> None:
    plan = plan_of("speed")
    hall.open_run(THREAD, QUESTION, plan.encode(), plan.mode, plan.turns, 1)
    hall.runs.begin(THREAD)
    assert (await door.refused("resume_debate", thread_id=THREAD)).startswith("run_held: process ")
