"""The tools that hold whole debates: each runs in a process of its own, and what it does is read from the store.

So a client or a server that goes away stops nothing, and any server on the same hall can say how a run goes.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import partial
from itertools import count
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Literal, TypedDict

import anyio
import anyio.to_thread
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp_types import ToolAnnotations
from pydantic import Field

from orchestrator.errors import ConfigurationError, LimitReached, NotActive, RunPaused, ThreadExists, UsageError
from orchestrator.hall.debate import REHEARSAL
from orchestrator.hall.folder import state_folder
from orchestrator.hall.hall import Hall
from orchestrator.hall.inputs import MAX_CONTENT, MAX_COUNT, require_thread_id, require_words
from orchestrator.hall.terms import Role, Status
from orchestrator.mcp_server import parameters as p
from orchestrator.mcp_server.client_model import ClientModel
from orchestrator.mcp_server.refusals import CodedTool, harmless
from orchestrator.models.switchboard import CLIENT
from orchestrator.run_state import RunState, run_state

if TYPE_CHECKING:
    from orchestrator.hall.store import Lease
    from orchestrator.plan import Changes, Plan
    from orchestrator.recipe import Limits
    from orchestrator.runner import Run
    from orchestrator.wanted import Wanted

MOST_RUNS = 8  # at once, of one server
LOOK_S = 0.25  # how often a waiting call looks for news
PROGRESS_S = 10.0  # a client that waits hears of the run at least this often

RecipeName = Annotated[str, Field(description="How to debate: a name that list_recipes shows.", max_length=64)]
Tier = Annotated[str | None, Field(description="Other agents: 1, 2, 3:security, 3:innovation, 3:architecture.")]
ModelsName = Annotated[str, Field(description="Which models speak: the name of a models file.", max_length=64)]
Voices = Annotated[list[str] | None, Field(description="Models for this role, in order; they win over `models`.")]
Rehearse = Annotated[bool, Field(description="Ask no model: write worksheets for a debate held by people.")]
ContextFiles = Annotated[
    list[str] | None, Field(description="Evidence: text files and globs below the server's roots.")
]
NewThreadId = Annotated[str | None, Field(description="The date and the topic's words if left out.", max_length=128)]
Wait = Annotated[bool, Field(description="Answer when the debate has ended, with progress; false answers at once.")]
WaitSeconds = Annotated[float, Field(description="Wait for news at most this long; 0 answers at once.", ge=0, le=50)]
WhyStop = Annotated[str, Field(description="Why; the run tells it.", min_length=1, max_length=MAX_CONTENT)]
CostLimit = Annotated[
    float | None, Field(description="Spend no more US dollars than this, over all resumes.", gt=0, le=1_000_000)
]
TokenLimit = Annotated[int | None, Field(description="Take no more tokens, in and out together.", ge=1, le=MAX_COUNT)]
TimeLimit = Annotated[float | None, Field(description="Have ended after so many seconds.", gt=0, le=10_000_000)]
OnFailure = Annotated[
    Literal["pause", "degrade"] | None,
    Field(description="When a seat fails for good: pause (the default), or go on without it, which is said first."),
]
After = Annotated[int | None, Field(description="The `news` you know; the call waits for what came after it.", ge=-1)]


class RunResult(TypedDict):
    """A debate that a run holds, as it stands now. `decision` is there when it has been made."""

    thread_id: str
    status: str
    marks: list[str]
    turn_count: int
    max_turns: int
    next_role: str | None
    head: str
    run: RunState
    decision: str | None


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
    children: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    starting: Lock = field(default_factory=Lock)

    async def run_debate(
        self,
        topic: p.Topic,
        ctx: Context,
        recipe: RecipeName = "standard",
        tier: Tier = None,
        models: ModelsName = "models",
        wind: Voices = None,
        wall: Voices = None,
        door: Voices = None,
        rehearse: Rehearse = False,
        context: ContextFiles = None,
        thread_id: NewThreadId = None,
        cost_limit: CostLimit = None,
        token_limit: TokenLimit = None,
        time_limit: TimeLimit = None,
        on_failure: OnFailure = None,
        wait: Wait = False,
    ) -> RunResult:
        """Hold a whole debate between models and decide: no turns to take by hand.

        It runs in a process of its own and answers at once; read debate_status for how it goes and get_debate for what
        was said. With wait=true it answers at the end and reports progress; a client that gives up earlier loses
        nothing. A debate of frontier models takes minutes and costs money: not for questions of fact or plain tasks.
        """
        from orchestrator.wanted import Wanted  # here, as below: what holds debates is slow to load

        limits = _limits(cost_limit, token_limit, time_limit)
        voices = _voices(wind, wall, door)
        files = tuple(context or ())
        wanted = Wanted(recipe, tier, models, voices, rehearse, files, limits, on_failure=on_failure)
        plan = await anyio.to_thread.run_sync(self._plan, topic, wanted)
        client = _client_of(plan, ctx, wait)
        if client is not None:
            lease = await anyio.to_thread.run_sync(self._open, plan, topic, thread_id)
            await self._hold_here(plan, lease, client, ctx)
        else:
            lease = await anyio.to_thread.run_sync(self._start, plan, topic, thread_id)
            if wait:
                await self._to_the_end(lease.thread_id, ctx)
        return await anyio.to_thread.run_sync(self._result, lease.thread_id)

    async def resume_debate(
        self,
        thread_id: p.ThreadId,
        ctx: Context,
        wind: Voices = None,
        wall: Voices = None,
        door: Voices = None,
        models: ModelsName = "models",
        cost_limit: CostLimit = None,
        token_limit: TokenLimit = None,
        time_limit: TimeLimit = None,
        on_failure: OnFailure = None,
        wait: Wait = False,
    ) -> RunResult:
        """Go on with a debate whose run stopped: paused, interrupted, killed, or at a limit.

        It keeps the plan of its start. No turn is taken again and no draft that was paid for is bought again; calls
        whose outcome nobody knows are noted as uncertain. Models and limits may be others from here on, which is noted.
        """
        limits = _limits(cost_limit, token_limit, time_limit)
        resume = partial(self._resume, thread_id, _voices(wind, wall, door), models, limits, on_failure)
        lease = await anyio.to_thread.run_sync(resume)
        if wait:
            await self._to_the_end(lease.thread_id, ctx)
        return await anyio.to_thread.run_sync(self._result, lease.thread_id)

    async def debate_status(
        self, thread_id: p.ThreadId, wait_seconds: WaitSeconds = 0, after: After = None
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

    def cancel_run(self, thread_id: p.ThreadId, reason: WhyStop) -> RunResult:
        """Stop a run, wherever it is: calls in flight are cancelled, committed turns stand, the debate stays open.

        To end the debate itself, use force_close_debate.
        """
        require_words(reason, "reason")
        self.hall.runs.stop(thread_id, reason)
        return self._result(thread_id)

    def _plan(self, topic: str, wanted: Wanted) -> Plan:
        from orchestrator.wanted import prepare

        require_words(topic, "topic")
        for name in (wanted.recipe, wanted.models):
            _require_name(name)
        base = self.roots[0] if self.roots else Path.cwd()
        return prepare(wanted, os.environ, base, tuple(self.roots))

    def _resume(
        self,
        thread_id: str,
        voices: Mapping[Role, Sequence[str]],
        models: str,
        limits: Limits,
        on_failure: Literal["pause", "degrade"] | None,
    ) -> Lease:
        """Starts a process that goes on with a run."""
        from orchestrator.budget import require_prices
        from orchestrator.models.switchboard import Switchboard
        from orchestrator.resuming import changes_wanted, resumable

        _require_name(models)
        found = resumable(self.hall, thread_id)
        state = found.debate.state
        if state.status is not Status.ACTIVE:
            raise NotActive(
                f"{state.thread_id} is {state.status}: there is nothing to go on with.", "Read it: get_debate."
            )
        changes = changes_wanted(found.plan, voices, models, os.environ, limits, None, on_failure)
        plan = found.plan.with_changes(changes)
        Switchboard().require(plan.routes)
        require_prices(((route, plan.endpoint(route)) for route in sorted(plan.routes)), plan.limits)
        with self.starting:
            self._require_room()
            lease = self.hall.runs.begin(state.thread_id)
            self._go_on(lease, found.folder or self.out / state.thread_id, changes)
        return lease

    def _go_on(self, lease: Lease, folder: Path, changes: Changes | None = None) -> None:
        """Hands a run to a process of its own."""
        from orchestrator import background
        from orchestrator.taking_up import NO_CHANGES

        try:
            self.children[lease.thread_id] = background.start(lease, folder, changes or NO_CHANGES)
        except BaseException:
            self.hall.runs.release(lease)
            raise

    def _open(self, plan: Plan, topic: str, thread_id: str | None) -> Lease:
        """Opens the debate under the id that was asked for, else under the first free one, and takes its run up."""
        from orchestrator.files import prepare_folder
        from orchestrator.runner import open_debate
        from orchestrator.thread_id import thread_id_for

        if thread_id is not None:
            require_thread_id(thread_id)
        prepare_folder(self.out)  # a debate whose files cannot be written is not begun
        today = datetime.now().astimezone().date()
        ids = (thread_id_for(topic, today, attempt) for attempt in count(1)) if thread_id is None else iter([thread_id])
        for candidate in ids:
            if thread_id is None and os.path.lexists(self.out / candidate):
                continue  # the files of another hall's run
            try:
                open_debate(self.hall, plan, candidate, topic)
            except ThreadExists:
                if thread_id is not None:
                    raise
                continue
            return self.hall.runs.begin(candidate)
        raise AssertionError("there is always another id")

    def _start(self, plan: Plan, topic: str, thread_id: str | None) -> Lease:
        """Opens the debate and starts its process."""
        with self.starting:  # calls at once must not find the same room
            self._require_room()
            lease = self._open(plan, topic, thread_id)
            self._go_on(lease, self.out / lease.thread_id)
        return lease

    async def _hold_here(self, plan: Plan, lease: Lease, client: ClientModel, ctx: Context) -> None:
        """Holds a debate for which the client's model speaks: only as long as the client waits can it be asked."""
        from orchestrator import background
        from orchestrator.drafts import Paid
        from orchestrator.taking_up import TakeUp

        paid, folder = Paid(), self.out / lease.thread_id
        how = TakeUp(lease, str(folder))
        ended: Run | None = None
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._to_the_end, lease.thread_id, ctx)
                with suppress(RunPaused):  # the reason is told to the store, and so to the answer
                    ended = await background.hold(self.hall, plan, lease.thread_id, paid, how=how, client=client)
                group.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):  # a client that went away has paid all the same
                await anyio.to_thread.run_sync(background.keep, folder, paid)
        if ended is not None:
            await anyio.to_thread.run_sync(background.write, folder, plan, ended)

    def _require_room(self) -> None:
        for thread_id, child in list(self.children.items()):
            if child.poll() is not None:
                del self.children[thread_id]
        if len(self.children) >= MOST_RUNS:
            raise LimitReached(f"{MOST_RUNS} runs of this server are going on.", "Wait for one, or cancel one.")

    async def _to_the_end(self, thread_id: str, ctx: Context) -> None:
        """Reports progress until the run is over, in turns; the close is the last step.

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
            if run["state"] != "running":
                return
            await anyio.sleep(LOOK_S)
            silent_s += LOOK_S

    def _result(self, thread_id: str) -> RunResult:
        # In this order: a run that is done has closed its debate.
        row, reports = self.hall.runs.row(thread_id), self.hall.runs.reports(thread_id)
        debate = self.hall.get_debate(thread_id, include_transcript=False)
        life = self.hall.runs.life(row, active=debate["status"] == Status.ACTIVE)
        run = run_state(reports, life, self.hall.runs.seconds(thread_id))
        decided = debate["status"] in (Status.SYNTHESIS, Status.STALEMATE) and REHEARSAL not in debate["marks"]
        if run["message"] is not None:
            run["message"] = harmless(run["message"])
        return {
            "thread_id": debate["thread_id"],
            "status": debate["status"],
            "marks": debate["marks"],
            "turn_count": debate["turn_count"],
            "max_turns": debate["max_turns"],
            "next_role": debate["next_role"],
            "head": debate["head"],
            "run": run,
            "decision": debate["synthesis"] if decided else None,
        }


def _voices(
    wind: Sequence[str] | None, wall: Sequence[str] | None, door: Sequence[str] | None
) -> dict[Role, Sequence[str]]:
    return {Role.WIND: wind or (), Role.WALL: wall or (), Role.DOOR: door or ()}


def _limits(cost_usd: float | None, tokens: int | None, seconds: float | None) -> Limits:
    from orchestrator.recipe import Limits  # here: what holds debates is slow to load

    return Limits(cost_usd=None if cost_usd is None else Decimal(str(cost_usd)), tokens=tokens, seconds=seconds)


def _require_name(name: str) -> None:
    from orchestrator.shelves import is_path

    if is_path(name, (".yaml", ".yml")):
        raise ConfigurationError(f"{name!r:.80} is a path.", "Give a name: list_recipes shows the recipes.")


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
    where = f"round {run['round']} of {run['rounds']}, {run['turns']} turns" if run["rounds"] else "starting"
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
