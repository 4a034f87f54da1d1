"""The tools that hold whole debates: each runs in a process of its own, and what it does is read from the store.

So a client or a server that goes away stops nothing, and any server on the same hall can say how a run goes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp_types import ToolAnnotations
from typing_extensions import TypedDict

from orchestrator.errors import UsageError
from orchestrator.hall.debate import ANSWER, REHEARSAL, Debate
from orchestrator.hall.folder import state_folder
from orchestrator.hall.hall import Hall
from orchestrator.hall.inputs import require_words
from orchestrator.hall.terms import Role, Status
from orchestrator.mcp_server import parameters as p
from orchestrator.mcp_server.client_model import ClientModel
from orchestrator.mcp_server.refusals import CodedTool, harmless
from orchestrator.models.base import CLIENT
from orchestrator.run_state import RunState, run_state
from orchestrator.wording import counted

if TYPE_CHECKING:
    from orchestrator.mcp_server.launching import Launch, Launcher
    from orchestrator.plan import Plan
    from orchestrator.recipe import Limits

LOOK_S = 0.25  # how often a waiting call looks for news
PROGRESS_S = 10.0  # a client that waits hears of the run at least this often


class RunResult(TypedDict):
    """A debate that a run holds, as it stands now.

    `decision` is there when it has been made; `first_words` (who is missing and why, that it is a stalemate, what does
    not hold) belong before it, and `objections` are those that stand, each with what would end it.
    """

    thread_id: str
    status: str
    marks: list[str]
    first_words: list[str]
    turn_count: int
    max_turns: int
    next_role: str | None
    head: str
    run: RunState
    decision: str | None
    objections: list[str]


@dataclass(frozen=True)
class RunTools:
    """Whole debates over a hall.

    Args:
        roots: the folders that evidence may come from.
        out: the folder that holds each run's folder.
    """

    hall: Hall
    roots: Sequence[Path]
    out: Path

    @cached_property
    def launcher(self) -> Launcher:
        from orchestrator.mcp_server.launching import Launcher  # here: what holds debates is slow to load

        return Launcher(self.hall, self.roots, self.out)

    async def run_debate(
        self,
        topic: p.Topic,
        ctx: Context,
        recipe: p.RecipeName = "standard",
        tier: p.Tier = None,
        models: p.ModelsName = "models",
        wind: p.Voices = None,
        wall: p.Voices = None,
        door: p.Voices = None,
        rehearse: p.Rehearse = False,
        context: p.ContextFiles = None,
        adr: p.DecisionRecords = None,
        context_limit: p.ContextLimit = None,
        thread_id: p.NewThreadId = None,
        cost_limit: p.CostLimit = None,
        token_limit: p.TokenLimit = None,
        time_limit: p.TimeLimit = None,
        assume_price: p.AssumePrice = None,
        on_failure: p.OnFailure = None,
        consensus: p.Consensus = None,
        early_close: p.EarlyClose = None,
        fleet: p.Fleet = False,
        wait: p.Wait = False,
    ) -> RunResult:
        """Hold a whole debate between models and decide: no turns to take by hand.

        It runs in a process of its own, or with fleet=true in a worker's, and answers at once; read debate_status for
        how it goes (run state none: it waits for a worker) and get_debate for what was said. With wait=true it answers
        at the end and reports progress; a client that gives up earlier loses nothing. A debate of frontier models takes
        minutes and costs money: not for questions of fact or plain tasks. A run that stops before its end (paused,
        interrupted, at a limit) goes on with resume_debate.
        """
        from orchestrator.wanted import Wanted

        limits = _limits(cost_limit, token_limit, time_limit)
        voices = _voices(wind, wall, door)
        wanted = Wanted(
            recipe,
            tier,
            models,
            voices,
            rehearse,
            tuple(context or ()),
            limits,
            assume_price,
            on_failure,
            consensus,
            early_close,
            tuple(adr or ()),
            context_limit,
        )
        plan = await anyio.to_thread.run_sync(self.launcher.plan, topic, wanted)
        if fleet:
            opened = await anyio.to_thread.run_sync(self.launcher.submit, plan, topic, thread_id)
            if wait:
                await self._to_the_end(opened, ctx, waiting=True)
            return await anyio.to_thread.run_sync(self._result, opened)
        return await self._held(plan, partial(self.launcher.open, plan, topic, thread_id), ctx, wait)

    async def resume_debate(
        self,
        thread_id: p.ThreadId,
        ctx: Context,
        wind: p.OtherVoices = None,
        wall: p.OtherVoices = None,
        door: p.OtherVoices = None,
        models: p.ModelsName = "models",
        cost_limit: p.CostLimit = None,
        token_limit: p.TokenLimit = None,
        time_limit: p.TimeLimit = None,
        assume_price: p.AssumePrice = None,
        on_failure: p.OnFailure = None,
        wait: p.Wait = False,
    ) -> RunResult:
        """Go on with a debate whose run stopped before its end: paused, interrupted, killed, or at a limit.

        It keeps the plan of its start. No turn is taken again and no draft that was paid for is bought again; a call
        whose outcome nobody knows is noted as uncertain and made again. Models and limits can be others from here on;
        the ledger says so. Refused with run_held while the run goes on in another process.
        """
        from orchestrator.wanted import Wanted

        limits, voices = _limits(cost_limit, token_limit, time_limit), _voices(wind, wall, door)
        wanted = Wanted(models=models, voices=voices, limits=limits, assumed=assume_price, on_failure=on_failure)
        found, changes = await anyio.to_thread.run_sync(self.launcher.find, thread_id, wanted)
        plan = found.plan.with_changes(changes)
        return await self._held(plan, partial(self.launcher.take_up, found, changes), ctx, wait)

    async def _held(self, plan: Plan, take_up: Callable[[], Launch], ctx: Context, wait: bool) -> RunResult:
        """Takes a run up and has it held: here where the client's model speaks, else by a process of its own."""
        client = _client_of(plan, ctx, wait)
        if client is not None:
            launch = await anyio.to_thread.run_sync(take_up)
            async with anyio.create_task_group() as group:
                group.start_soon(self._to_the_end, launch.lease.thread_id, ctx)
                await self.launcher.hold_here(launch, client)
                group.cancel_scope.cancel()
        else:
            launch = await anyio.to_thread.run_sync(self.launcher.hand_over, take_up)
            if wait:
                await self._to_the_end(launch.lease.thread_id, ctx)
        return await anyio.to_thread.run_sync(self._result, launch.lease.thread_id)

    async def debate_status(
        self, thread_id: p.ThreadId, wait_seconds: p.WaitSeconds = 0, after: p.After = None
    ) -> RunResult:
        """Say how a run goes: who is drafting, turns so far, seconds, tokens, cost, and the decision when it is there.

        With wait_seconds it answers as soon as there is news (after the `news` you pass, else after now) or the time is
        up. Works for runs of any process on this hall, the command line's too.
        """
        result = await anyio.to_thread.run_sync(self._result, thread_id)
        known = result["run"]["news"] if after is None else after
        with anyio.move_on_after(wait_seconds):
            while result["run"]["news"] <= known and result["run"]["state"] == "running":
                await anyio.sleep(LOOK_S)
                result = await anyio.to_thread.run_sync(self._result, thread_id)
        return result

    def cancel_run(self, thread_id: p.ThreadId, reason: p.WhyStop) -> RunResult:
        """Stop a run, wherever it is: calls in flight are cancelled, committed turns stand, the debate stays open.

        One that waits in the queue of a fleet is taken out of it.

        To end the debate itself, use force_close_debate.
        """
        require_words(reason, "reason")
        if not self.launcher.take_back(thread_id):
            self.hall.runs.stop(thread_id, reason)
        return self._result(thread_id)

    async def _to_the_end(self, thread_id: str, ctx: Context, waiting: bool = False) -> None:
        """Reports progress until the run is over, in turns; the close is the last step.

        Args:
            waiting: it may wait for a worker first.

        Every notice is further than the one before, as MCP requires: between two turns they near the next.
        """
        told, silent_s, turns, since = -2, 0.0, 0, -1
        while True:
            result = await anyio.to_thread.run_sync(self._result, thread_id)
            run = result["run"]
            if run["news"] != told or silent_s >= PROGRESS_S:
                since = since + 1 if run["turns"] == turns else 0
                told, silent_s, turns = run["news"], 0.0, run["turns"]
                steps = max(turns, run["planned_turns"] or result["max_turns"]) + 1
                done = steps if run["state"] == "done" else turns + since / (since + 1)
                await ctx.report_progress(done, steps, _in_words(run))
            if run["state"] != "running" and not (waiting and run["state"] == "none"):
                return
            await anyio.sleep(LOOK_S)
            silent_s += LOOK_S

    def _result(self, thread_id: str) -> RunResult:
        # In this order: a run that is done has closed its debate.
        row, reports = self.hall.runs.row(thread_id), self.hall.runs.reports(thread_id)
        debate = self.hall.get_debate(thread_id, include_transcript=False)
        life = self.hall.runs.life(row, active=debate["status"] == Status.ACTIVE)
        run = run_state(reports, life, self.hall.runs.seconds(thread_id))
        undecided = {REHEARSAL, ANSWER} & set(debate["marks"])
        decided = debate["status"] in (Status.SYNTHESIS, Status.STALEMATE) and not undecided
        alone = set(debate["marks"]) <= {REHEARSAL}  # what is behind the other marks takes the whole ledger to tell
        whole = self.hall.debate(thread_id) if decided or not alone else None
        first_words = [*(whole.first_words if whole else debate["marks"])]
        decision, cautions, objections = _told_of(whole) if whole and decided else (None, (), ())
        if run["message"] is not None:
            run["message"] = harmless(run["message"])
        return {
            "thread_id": debate["thread_id"],
            "status": debate["status"],
            "marks": debate["marks"],
            "first_words": [harmless(words) for words in (*first_words, *cautions)],
            "turn_count": debate["turn_count"],
            "max_turns": debate["max_turns"],
            "next_role": debate["next_role"],
            "head": debate["head"],
            "run": run,
            "decision": decision,
            "objections": [harmless(words) for words in objections],
        }


def _told_of(debate: Debate) -> tuple[str | None, Sequence[str], Sequence[str]]:
    """A decision, its broken citations marked; what is to be said of it, and what stands against it."""
    from orchestrator.export.marks import Told  # here: what makes records is slow to load

    told = Told.of(debate, f"incomplete in debate://{debate.state.thread_id}/record")
    return told.marked(debate.synthesis.words) if debate.synthesis else None, told.first, told.objections


def _voices(
    wind: Sequence[str] | None, wall: Sequence[str] | None, door: Sequence[str] | None
) -> dict[Role, Sequence[str]]:
    return {Role.WIND: wind or (), Role.WALL: wall or (), Role.DOOR: door or ()}


def _limits(cost_usd: float | None, tokens: int | None, seconds: float | None) -> Limits:
    from orchestrator.recipe import Limits  # here: what holds debates is slow to load

    return Limits(cost_usd=None if cost_usd is None else Decimal(str(cost_usd)), tokens=tokens, seconds=seconds)


def _client_of(plan: Plan, ctx: Context, wait: bool) -> ClientModel | None:
    """The client's model, where a seat is to ask it.

    Raises:
        UsageError: the client cannot be asked.
    """
    if CLIENT not in plan.routes:
        return None
    if not wait:
        raise UsageError("The route `client` asks your own model while you wait.", "Call again with wait=true.")
    return ClientModel(ctx)


def _in_words(run: RunState) -> str:
    at_work = ", ".join(f"{seat['role']} {seat['agent']}" for seat in run["drafting"])
    where = f"round {run['round']} of {run['rounds']}, {counted(run['turns'], 'turn')}" if run["rounds"] else "starting"
    return f"{run['state']}: {where}{f'; drafting: {at_work}' if at_work else ''}"


def run_tools(hall: Hall, roots: Sequence[Path], out: Path | None) -> list[Tool]:
    """The tools over a hall, with the folders they may read from and write to."""
    folder = out if out is not None else state_folder(os.environ) / "debates"
    tools = RunTools(hall, roots, folder.expanduser())
    places = {str(root): "<root>" for root in roots} | {str(tools.out): "<out>"}
    starts = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=True)
    reads = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
    stops = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)
    return [
        CodedTool.of(tools.run_debate, "Hold a whole debate", starts, places),
        CodedTool.of(tools.resume_debate, "Go on with a debate that stopped", starts, places),
        CodedTool.of(tools.debate_status, "See how a run goes", reads),
        CodedTool.of(tools.cancel_run, "Stop a run", stops),
    ]
