"""Runs that ask models over real HTTP: what is told of them is what was taken, and they end when they are told to."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from subprocess import DEVNULL, Popen
from typing import Any
from urllib.request import Request, urlopen

import anyio.to_thread
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from processes import SERVE, elsewhere, names, over, status, text_of
from processes import out as out
from processes import processes as processes
from processes import root as root
from processes import server as server

from building import vote_text
from endpoint import Call, ModelServer, content_policy, tokens, wrong_key
from endpoint_voices import plausible

pytestmark = [pytest.mark.anyio, pytest.mark.slow]  # each run imports litellm in a process of its own

KEY = "sk-proj-" + "z9Y8x7W6v5" * 4
Ask = Callable[..., Awaitable[dict[str, Any]]]

TOPIC = "Should we move billing to Kafka?"
THREAD = "2026-01-06-kafka"


class Awaited(list[Call]):
    """Calls as they arrive; `wait` returns when the n-th is there."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number, self._there = number, threading.Event()

    def append(self, call: Call) -> None:
        super().append(call)
        if len(self) == self._number:
            self._there.set()

    async def wait(self) -> None:
        assert await anyio.to_thread.run_sync(partial(self._there.wait, 25))


@pytest.fixture(autouse=True)
def models(model_server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A models file called loopback, whose provider is sent a key."""
    monkeypatch.setenv("OUR_API_KEY", KEY)
    text = model_server.models_file().replace("    api_base", "    api_key_env: OUR_API_KEY\n    api_base")
    Path("configs").mkdir()
    Path("configs/loopback.yaml").write_text(text)


@pytest.fixture
def held(model_server: ModelServer) -> Awaited:
    """Wind, checklist and Wall are answered; Door's call is held. Its arrival can be waited for."""
    model_server.deadline_s = 60
    model_server.hold_until(2, 1, 2)
    model_server.calls = calls = Awaited(4)
    return calls


async def begin(call: Ask, **arguments: Any) -> dict[str, Any]:
    asked = {"topic": TOPIC, "recipe": "speed", "models": "loopback", "thread_id": THREAD, **arguments}
    return await call("run_debate", **asked)


def tidy(told: object, tmp_path: Path) -> None:
    """Neither a key nor a place on this machine stands in an answer."""
    for secret in (KEY, "sk-proj-", str(tmp_path), sys.prefix):
        assert secret not in str(told)


async def test_a_run_decides_and_says_what_it_took(
    call: Ask, model_server: ModelServer, processes: list[Popen[bytes]], out: Path, tmp_path: Path
) -> None:
    ended = await begin(call, wait=True)
    assert (ended["status"], ended["marks"], ended["run"]["state"]) == ("synthesis", [], "done")
    assert "decides to take one step" in ended["decision"]
    taken = bill(model_server)
    assert ended["run"]["tokens"] == taken
    fresh = taken["input"] - taken["cached"]
    assert Decimal(ended["run"]["cost_usd"]) * 10_000_000 == 10 * fresh + 5 * taken["cached"] + 30 * taken["output"]
    assert {made.headers["Authorization"] for made in model_server.calls} == {f"Bearer {KEY}"}
    assert await over(processes[0]) == 0
    assert json.loads((out / THREAD / "debate.json").read_text())["head"] == ended["head"]
    assert set(names(tmp_path)) <= {"out", "root", "state", "work", "config", "home"}
    assert names(tmp_path / "work") == ["configs"]
    tidy(ended, tmp_path)
    for file in (out / THREAD).iterdir():
        assert KEY not in file.read_text()


async def test_a_run_that_no_provider_lets_in_is_paused_and_says_why(
    call: Ask, model_server: ModelServer, processes: list[Popen[bytes]], tmp_path: Path
) -> None:
    model_server.inject(wrong_key(KEY))
    ended = await begin(call, wait=True)
    assert (ended["status"], ended["decision"], ended["turn_count"]) == ("active", None, 0)
    assert ended["run"]["state"] == "paused"
    assert "wind-1" in ended["run"]["message"]
    assert await over(processes[0]) == 0
    tidy(ended, tmp_path)


async def test_a_run_is_seen_at_work_and_a_killed_one_is_interrupted(
    call: Ask, held: Awaited, processes: list[Popen[bytes]]
) -> None:
    await begin(call)
    await held.wait()
    async with elsewhere() as client:
        now = await status(client, THREAD)
        while not now["run"]["drafting"] or now["run"]["turns"] < 2:
            now = await status(client, THREAD, wait_seconds=20, after=now["run"]["news"])
        assert now["run"]["state"] == "running"
        assert [(seat["role"], seat["step"], seat["model"]) for seat in now["run"]["drafting"]] == [
            ("Door", "turn", "openai/door-1")
        ]
        processes[0].kill()
        assert await over(processes[0]) == -signal.SIGKILL
        late = await status(client, THREAD, wait_seconds=20)
        assert (late["run"]["state"], late["run"]["drafting"]) == ("interrupted", [])
        assert (late["status"], late["turn_count"], late["next_role"]) == ("active", 2, "Door")


async def resumed(client: Client, **arguments: Any) -> dict[str, Any]:
    """How a debate stands when its run has gone on to the end."""
    result = await client.call_tool("resume_debate", {"thread_id": THREAD, "wait": True, **arguments})
    assert not result.is_error, text_of(result)
    told: dict[str, Any] = result.structured_content or {}
    return told


def bill(server: ModelServer) -> dict[str, int]:
    """The tokens of every call that was answered."""
    answered = [made for made in server.calls if made.answer is not None]
    return {
        "input": sum(tokens(made.messages) for made in answered),
        "cached": sum(made.cached for made in answered),
        "output": sum(tokens((("assistant", made.answer or ""),)) for made in answered),
    }


async def test_a_killed_run_is_resumed_by_another_server_and_what_runs_is_refused(
    call: Ask, held: Awaited, model_server: ModelServer, processes: list[Popen[bytes]], out: Path
) -> None:
    await begin(call)
    await held.wait()
    async with elsewhere() as client:
        refused = await client.call_tool("resume_debate", {"thread_id": THREAD})
        assert text_of(refused).startswith(f"run_held: process {processes[0].pid} on ")
        processes[0].kill()
        assert await over(processes[0]) == -signal.SIGKILL
        model_server.hold_until()
        ended = await resumed(client)
    assert (ended["run"]["state"], ended["status"], ended["turn_count"]) == ("done", "synthesis", 3)
    doors = [made.task for made in model_server.calls if made.model == "door-1"]
    assert doors[0] == doors[1] != doors[2]  # the one in flight, once more, and its account
    assert (len(doors), len(model_server.calls)) == (3, 6)
    assert ended["run"]["tokens"] == bill(model_server)
    (uncertain,) = ended["run"]["uncertain"]
    assert uncertain.startswith("R1.Door.1 turn, attempt 1 through openai/door-1 at ")
    assert await over(processes[1]) == 0
    assert json.loads((out / THREAD / "debate.json").read_text())["head"] == ended["head"]
    assert (out / THREAD / "run.log").read_text() == ""


async def test_a_run_that_met_its_limit_says_so_and_goes_on_with_a_higher_one(
    call: Ask, model_server: ModelServer, processes: list[Popen[bytes]], tmp_path: Path
) -> None:
    stopped = await begin(call, wait=True, cost_limit=0.02)
    assert (stopped["run"]["state"], stopped["decision"]) == ("paused", None)
    assert "of $0.02 is left." in stopped["run"]["message"]
    ended = await call("resume_debate", thread_id=THREAD, wait=True, cost_limit=0.2)
    assert (ended["run"]["state"], ended["marks"], ended["status"]) == ("done", [], "synthesis")
    assert len(model_server.calls) == 5
    assert ended["run"]["tokens"] == bill(model_server)
    assert Decimal(stopped["run"]["cost_usd"]) < Decimal(ended["run"]["cost_usd"]) < Decimal("0.2")
    tidy(ended, tmp_path)


async def test_a_degraded_run_decides_and_says_first_who_is_missing_and_why(
    call: Ask, model_server: ModelServer, tmp_path: Path
) -> None:
    model_server.reply = lambda made: content_policy() if "on-call load" in made.task else plausible(made)
    ended = await begin(call, recipe="fortress", on_failure="degrade", wait=True)
    assert (ended["status"], ended["marks"]) == ("synthesis", ["DEGRADED"])
    (first,) = ended["first_words"]
    assert first.startswith("DEGRADED: Wall critical-engineer (R1.Wall.2) is missing: openai/wall-1 answered HTTP 400")
    assert "decides to take one step" in ended["decision"]
    tidy(ended, tmp_path)


async def test_a_run_that_wind_and_wall_do_not_agree_on_ends_in_a_stalemate_with_its_best_synthesis(
    call: Ask, model_server: ModelServer, processes: list[Popen[bytes]], out: Path, tmp_path: Path
) -> None:
    no = vote_text("object", "Nobody has measured the way back.")
    model_server.reply = lambda made: no if "you vote on it as Wall" in made.task else plausible(made)
    ended = await begin(call, consensus=True, wait=True)
    assert (ended["status"], ended["run"]["state"], ended["turn_count"]) == ("stalemate", "done", 3)
    assert await over(processes[0]) == 0
    record = json.loads((out / THREAD / "debate.json").read_text())["record"]
    assert ended["decision"] == record["decision"]
    assert [vote["choice"] for vote in record["votes"]] == ["approve", "object"] * 3
    assert [one["objection"] for one in record["dissent"]] == ["Nobody has measured the way back."] * 3
    assert ended["run"]["tokens"] == bill(model_server)
    tidy(ended, tmp_path)


async def test_a_run_that_may_close_early_ends_with_the_round_that_leaves_nothing_open(
    call: Ask, model_server: ModelServer, processes: list[Popen[bytes]], out: Path, tmp_path: Path
) -> None:
    model_server.reply = lambda made: (
        plausible(made)
        .replace("VERDICT: CONDITIONAL", "VERDICT: APPROVED")
        .replace("## STEPS", "## OPEN\nNONE\n## STEPS")
    )
    ended = await begin(call, recipe="standard", early_close=True, wait=True)
    assert (ended["status"], ended["run"]["state"], ended["marks"]) == ("synthesis", "done", [])
    assert (ended["turn_count"], ended["max_turns"]) == (3, 12)
    assert await over(processes[0]) == 0
    record = json.loads((out / THREAD / "debate.json").read_text())["record"]
    assert (record["turns_not_needed"], record["decision"]) == (9, ended["decision"])
    tidy(ended, tmp_path)


def environment_of(pid: int) -> set[bytes]:
    """The names in a process's environment."""
    return {line.partition(b"=")[0] for line in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")}


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
async def test_a_run_inherits_the_keys_and_not_the_servers_token(
    call: Ask, held: Awaited, processes: list[Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEBATE_HALL_TOKEN", "a-token-of-good-length-1234")
    await begin(call)
    await held.wait()
    inherited = environment_of(processes[0].pid)
    assert b"OUR_API_KEY" in inherited
    assert b"DEBATE_HALL_TOKEN" not in inherited


async def test_a_cancelled_run_drops_its_call_and_people_can_go_on(
    call: Ask, held: Awaited, model_server: ModelServer, processes: list[Popen[bytes]]
) -> None:
    await begin(call)
    await held.wait()
    async with elsewhere() as client:
        asked = await client.call_tool("cancel_run", {"thread_id": THREAD, "reason": "it costs too much"})
        assert not asked.is_error
    assert await over(processes[0]) == 0
    now = await call("debate_status", thread_id=THREAD)
    assert (now["run"]["state"], now["run"]["message"]) == ("paused", "Stopped on request: it costs too much")
    assert (now["status"], now["turn_count"]) == ("active", 2)
    assert [made.model for made in model_server.calls if made.finished is None] == ["door-1"]
    await call("add_turn", thread_id=THREAD, role="Door", content="Therefore we wait.", expected_head=now["head"])
    assert (await call("close_debate", thread_id=THREAD, synthesis="We wait."))["turn_count"] == 3


async def test_the_kill_switch_stops_a_run_and_ends_its_debate(
    call: Ask, held: Awaited, model_server: ModelServer, processes: list[Popen[bytes]], out: Path
) -> None:
    await begin(call)
    await held.wait()
    await call("force_close_debate", thread_id=THREAD, reason="wrong question")
    assert await over(processes[0]) == 0
    now = await call("debate_status", thread_id=THREAD)
    assert (now["status"], now["turn_count"], now["run"]["state"]) == ("force_closed", 2, "done")
    assert now["decision"] is None
    assert [made.model for made in model_server.calls if made.finished is None] == ["door-1"]
    assert (out / THREAD / "run.log").read_text() == ""


CLIENT = """
import os, sys
import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters

async def wait_for_the_decision():
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ))
    async with Client(server) as client:
        arguments = {"topic": "Kafka?", "recipe": "speed", "models": "loopback", "thread_id": "2026-01-06-kafka"}
        await client.call_tool("run_debate", arguments | {"wait": True})

anyio.run(wait_for_the_decision)
"""


@pytest.fixture
def waiting(held: Awaited) -> Iterator[Popen[bytes]]:
    """A client process that waits for a run's decision."""
    with Popen([sys.executable, "-c", CLIENT, *SERVE], stderr=DEVNULL) as process:
        yield process
        process.kill()


def keep_company(server: ModelServer) -> None:
    """Makes a call beside the one that is held, so that both are answered."""
    body = json.dumps({"model": "company", "messages": [{"role": "user", "content": "You are Door."}]}).encode()
    with urlopen(Request(f"{server.base_url}/chat/completions", body, {"Content-Type": "application/json"})) as answer:
        assert answer.status == 200


async def test_a_client_killed_while_it_waits_reads_the_decision_from_a_new_server(
    held: Awaited, model_server: ModelServer, waiting: Popen[bytes]
) -> None:
    await held.wait()
    waiting.kill()
    await anyio.to_thread.run_sync(keep_company, model_server)
    parameters = StdioServerParameters(command=SERVE[0], args=SERVE[1:], env=dict(os.environ))
    async with Client(parameters) as client:
        now = await status(client, THREAD)
        while now["run"]["state"] == "running":
            now = await status(client, THREAD, wait_seconds=20, after=now["run"]["news"])
        assert (now["run"]["state"], now["status"], now["turn_count"]) == ("done", "synthesis", 3)
        assert "decides to take one step" in now["decision"]
        verified = await client.call_tool("verify_debate", {"thread_id": THREAD, "head": now["head"]})
        assert not verified.is_error, text_of(verified)
