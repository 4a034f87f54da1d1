"""resume_debate, and the limits of runs: what is handed to the process that goes on, and what is refused before."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from processes import out as out
from processes import root as root
from processes import server as server

from building import plan_of
from orchestrator import background
from orchestrator.hall.hall import Hall
from orchestrator.hall.store import Lease
from orchestrator.hall.terms import About, Role
from orchestrator.mcp_server import launching
from orchestrator.mcp_server.server import INSTRUCTIONS
from orchestrator.plan import Changes, Plan

Call = Callable[..., Awaitable[dict[str, Any]]]
Refused = Callable[..., Awaitable[str]]

pytestmark = pytest.mark.anyio

TOPIC = "Should we move billing to Kafka?"
THREAD = "2026-01-06-kafka"
PLAN = plan_of("speed", routes={role: [f"openai/{role.lower()}-1"] for role in Role})
START = background.start
MODELS = "routes: {PATHOS: [openai/mine], ETHOS: [openai/mine], LOGOS: [openai/mine]}\n"


@dataclass
class Handed:
    """What was handed over to processes, none of which is started."""

    leases: list[Lease] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)
    changes: list[Changes] = field(default_factory=list)

    def start(self, lease: Lease, folder: Path, changes: Changes) -> Handed:
        self.leases.append(lease)
        self.folders.append(folder)
        self.changes.append(changes)
        return self

    def poll(self) -> int | None:
        return None


@pytest.fixture(autouse=True)
def handed(monkeypatch: pytest.MonkeyPatch) -> Handed:
    handed = Handed()
    monkeypatch.setattr(background, "start", handed.start)
    return handed


@pytest.fixture
def paused(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> Hall:
    """A hall with a debate whose run has stopped after its opening."""
    monkeypatch.setenv("OPENAI_API_KEY", "asked-of-nobody")
    hall.open_run(THREAD, TOPIC, PLAN.encode(), PLAN.mode, PLAN.turns, len(PLAN.rounds))
    hall.runs.release(hall.runs.begin(THREAD))
    return hall


# ---------------------------------------------------------------------------------------------------- what is handed on


async def test_a_run_that_stopped_is_handed_to_a_process_with_its_next_epoch(
    call: Call, paused: Hall, handed: Handed, out: Path
) -> None:
    begun = await call("resume_debate", thread_id=THREAD.upper())
    assert (begun["thread_id"], begun["run"]["state"], begun["status"]) == (THREAD, "running", "active")
    assert (handed.leases, handed.folders, handed.changes) == ([Lease(THREAD, 2)], [out / THREAD], [Changes()])


async def test_a_run_goes_on_in_its_own_folder_as_long_as_that_can_be_there(
    call: Call, paused: Hall, handed: Handed, out: Path, tmp_path: Path
) -> None:
    for folder, goes_to in ((tmp_path / "mine", tmp_path / "mine"), (tmp_path / "gone" / "mine", out / THREAD)):
        lease = paused.runs.begin(THREAD)
        await _note_folder(paused, lease, folder)
        paused.runs.release(lease)
        await call("resume_debate", thread_id=THREAD)
        assert handed.folders[-1] == goes_to
        paused.runs.release(handed.leases[-1])


async def _note_folder(hall: Hall, lease: Lease, folder: Path) -> None:
    from orchestrator.journal import Journal

    await (await Journal.opened(hall, lease)).begin(str(folder), None)


async def test_what_is_to_be_otherwise_is_handed_on(call: Call, paused: Hall, handed: Handed) -> None:
    await call(
        "resume_debate",
        thread_id=THREAD,
        door=["openai/mine", "openai/other"],
        cost_limit=2.5,
        token_limit=200_000,
        time_limit=600,
        assume_price="3/15",
        on_failure="degrade",
    )
    (changes,) = handed.changes
    assert changes.routes == {Role.DOOR: ("openai/mine", "openai/other")}
    assert (changes.limits.cost_usd, changes.limits.tokens, changes.limits.seconds) == (Decimal("2.5"), 200_000, 600.0)
    assert changes.on_failure == "degrade"
    assert {name: str(endpoint.input_cost_per_token) for name, endpoint in changes.endpoints.items()} == dict.fromkeys(
        ("openai/wind-1", "openai/wall-1", "openai/door-1", "openai/mine", "openai/other"), "0.000003"
    )


async def test_the_limits_of_a_new_debate_are_pinned(
    call: Call, hall: Hall, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "asked-of-nobody")
    shelf = tmp_path / "config" / "debate-hall" / "configs"
    shelf.mkdir(parents=True)
    (shelf / "mine.yaml").write_text(MODELS)
    limits = {
        "cost_limit": 0.1,
        "token_limit": 9000,
        "time_limit": 1.5,
        "assume_price": "3/15",
        "on_failure": "degrade",
    }
    begun = await call("run_debate", topic=TOPIC, models="mine", recipe="speed", **limits)
    plan = Plan.decode(hall.debate(begun["thread_id"]).plan or "")
    assert (str(plan.limits.cost_usd), plan.limits.tokens, plan.limits.seconds) == ("0.1", 9000, 1.5)
    assert plan.on_failure == "degrade"
    assert "The price of openai/mine is assumed: $3/15 per million tokens in/out." in plan.notices


# ------------------------------------------------------------------------------------------------------ what is refused


async def test_what_cannot_go_on_is_refused_with_its_code(
    call: Call, refused: Refused, paused: Hall, handed: Handed
) -> None:
    await call("init_debate", thread_id="by-hand", topic=TOPIC)
    await call("force_close_debate", thread_id=THREAD, reason="moot")
    assert (await refused("resume_debate", thread_id="nowhere")).startswith("unknown_thread: ")
    by_hand = await refused("resume_debate", thread_id="by-hand")
    assert by_hand.startswith("usage: by-hand is held by hand: it has no plan to go on with.")
    closed = await refused("resume_debate", thread_id=THREAD)
    assert closed == f"not_active: {THREAD} is force_closed: there is nothing to go on with. Read it: get_debate."
    assert handed.leases == []


async def test_a_run_that_goes_on_is_refused_with_who_holds_it(
    call: Call, refused: Refused, paused: Hall, handed: Handed
) -> None:
    await call("resume_debate", thread_id=THREAD)
    told = await refused("resume_debate", thread_id=THREAD)
    assert told.startswith("run_held: process ")
    assert "once it is not heard of for 15 s it can be taken over." in told
    assert len(handed.leases) == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"wall": ["openai/a b"]}, "must be the name of a model"),
        ({"wall": ["anthropic/claude-opus-5-5"]}, "ANTHROPIC_API_KEY or"),
        ({"wall": ["rehearsal"]}, "A debate between models cannot go on with the rehearsal"),
        ({"wall": ["client"]}, "The route `client` asks your own model while you wait."),
        ({"models": "local"}, "The models file local changes nothing by itself"),
        ({"models": "./mine"}, "is a path. Give a name"),
        ({"cost_limit": 1}, "A cost limit cannot be kept: no price is known for openai/door-1"),
        ({"assume_price": "3/x"}, "'3/x' is no price."),
    ],
)
async def test_a_change_that_cannot_be_is_refused_and_nothing_is_begun(
    arguments: dict[str, Any], told: str, refused: Refused, paused: Hall, handed: Handed
) -> None:
    before = paused.runs.row(THREAD)
    refusal = await refused("resume_debate", thread_id=THREAD, **arguments)
    assert refusal.split(": ")[0] in ("usage", "configuration")
    assert told in refusal
    assert (paused.runs.row(THREAD), handed.leases) == (before, [])


@pytest.mark.parametrize("tool", ["run_debate", "resume_debate"])
async def test_a_limit_that_is_none_is_refused_by_name(tool: str, refused: Refused, handed: Handed) -> None:
    whose = {"topic": TOPIC, "rehearse": True} if tool == "run_debate" else {"thread_id": THREAD}
    for name, value in (
        *(("cost_limit", value) for value in (0, -1, "2", True, 1e10)),
        *(("token_limit", value) for value in (0, -1, 1.5, "2", 10**10)),
        *(("time_limit", value) for value in (0, -1, "2", 1e10)),
        *(("on_failure", value) for value in ("stop", "", 1)),
        *(("assume_price", value) for value in (3, ["3/15"])),
        *(("wait", value) for value in ("yes", 1)),
    ):
        told = await refused(tool, **whose, **{name: value})
        assert told.startswith("invalid_input: "), (name, value)
        assert name in told, (name, value)
    assert handed.leases == []


async def test_a_server_that_holds_so_many_runs_leaves_a_run_as_it_is(
    refused: Refused, paused: Hall, handed: Handed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launching, "MOST_RUNS", 0)
    before = paused.runs.row(THREAD)
    assert (await refused("resume_debate", thread_id=THREAD)).startswith("limit_reached: ")
    assert (paused.runs.row(THREAD), handed.leases) == (before, [])


@pytest.fixture
def blocked(out: Path) -> None:
    """A file stands where the runs' folder should be."""
    out.write_text("a file")


@pytest.mark.usefixtures("blocked")
async def test_a_run_that_cannot_be_handed_over_is_given_back(
    call: Call, refused: Refused, paused: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "start", START)
    assert (await refused("resume_debate", thread_id=THREAD)).startswith("usage: Cannot write to <out>")
    assert (await call("debate_status", thread_id=THREAD))["run"]["state"] == "paused"


# -------------------------------------------------------------------------------------------------------- what is shown


def speak(hall: Hall, thread_id: str) -> str:
    for role in Role:
        head = hall.add_turn(thread_id, role, f"What {role} says.")["head"]
    return head


async def test_a_degraded_decision_is_shown_behind_who_is_missing_and_why(
    call: Call, client: Client, paused: Hall
) -> None:
    why = "Wall critic (R1.Wall.2) is missing: openai/wall-1 answered HTTP 400: *no*\n# not a heading"
    paused.note(THREAD, why, About.MISSING.value, "run-debate", slot="R1.Wall.2")
    speak(paused, THREAD)
    paused.close_debate(THREAD, "We wait.")
    now = await call("debate_status", thread_id=THREAD)
    first, caution = now["first_words"]
    assert (now["marks"], first, now["decision"]) == (["DEGRADED"], f"DEGRADED: {why}", "We wait.")
    assert caution.startswith("INCOMPLETE: one thing in it")  # Door gave no account of it
    (page,) = (await client.read_resource(f"debate://{THREAD}/transcript")).contents
    assert page.text.splitlines()[2:4] == [f"> DEGRADED: {why.splitlines()[0]}", "> # not a heading"]


async def test_a_stalemate_is_told_with_what_stands_against_it(call: Call, paused: Hall) -> None:
    speak(paused, THREAD)
    against = "Nobody owns it.\n\nWhat would end it, a change: name an owner"
    paused.cast_vote(THREAD, "Wall", "object", against, ["T1"], settled_by="change")
    paused.close_debate(THREAD, "We wait.", status="stalemate")
    now = await call("debate_status", thread_id=THREAD)
    assert (now["status"], now["decision"]) == ("stalemate", "We wait.")
    assert now["first_words"][0] == "STALEMATE: the objections below were not settled."
    assert now["objections"] == ["O1, Wall unnamed: Nobody owns it. What would end it, a change: name an owner"]


async def test_a_rehearsal_is_shown_as_one_and_decides_nothing(call: Call, client: Client, hall: Hall) -> None:
    plan = plan_of("speed", routes={role: ["rehearsal"] for role in Role})
    hall.open_run(THREAD, TOPIC, plan.encode(), plan.mode, plan.turns, 1, plan.marks)
    speak(hall, THREAD)
    hall.close_debate(THREAD, "A worksheet.")
    now = await call("debate_status", thread_id=THREAD)
    assert (now["first_words"], now["decision"], now["objections"]) == (["REHEARSAL"], None, [])
    (page,) = (await client.read_resource(f"debate://{THREAD}/transcript")).contents
    assert page.text.splitlines()[2] == "> REHEARSAL"


async def test_an_agent_is_told_of_resuming_where_it_reads_of_runs(client: Client) -> None:
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert "resume_debate" in INSTRUCTIONS
    assert "resume_debate" in (tools["run_debate"].description or "")
    described = tools["resume_debate"].description or ""
    for promise in ("no draft that was paid for is bought again", "uncertain", "run_held"):
        assert promise in described
    hints = tools["resume_debate"].annotations
    assert hints is not None
    assert (hints.read_only_hint, hints.destructive_hint, hints.open_world_hint) == (False, False, True)
