"""A run can be seen, stopped and closed from another process; its calls in flight end at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import anyio
import pytest

from building import NO_WAITS, THREAD, TOPIC, hall_at, hold, plan_of, priced, speech, voices
from hall.halls import database
from orchestrator.drafting import Drafting
from orchestrator.drafts import Patience
from orchestrator.errors import NotActive, RateLimited, RunPaused
from orchestrator.events import DraftDelta, Event, Stream
from orchestrator.hall.entries import ForceClosed, Turn
from orchestrator.hall.hall import Hall
from orchestrator.hall.runs import Life
from orchestrator.hall.terms import Status
from orchestrator.models.base import Endpoint, Model, Reply, Request
from orchestrator.runner import Run, run_debate
from orchestrator.watch import Watch

pytestmark = pytest.mark.anyio


class Hanging:
    """A model whose Doors never answer; it says when one was asked and when the call was cancelled."""

    def __init__(self) -> None:
        self.asked, self.cancelled = anyio.Event(), anyio.Event()
        self._numbers = count(1)

    async def complete(self, request: Request) -> Reply:
        if request.task.role != "Door":
            return priced(speech(request, next(self._numbers)))
        self.asked.set()
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            self.cancelled.set()
            raise
        raise AssertionError("it sleeps for ever")


def life_of(hall: Hall) -> Life:
    return hall.runs.life(hall.runs.row(THREAD), hall.debate(THREAD).state.status is Status.ACTIVE)


async def watched(hall: Hall, model: Model) -> Run:
    watch = Watch(hall)
    stream = Stream(THREAD, lambda: datetime.now(UTC), watch)
    drafting = Drafting(lambda route: model, stream, NO_WAITS)
    return await run_debate(hall, plan_of("speed"), THREAD, TOPIC, drafting, watch)


async def test_what_a_run_told_can_be_read_when_it_has_ended(tmp_path: Path) -> None:
    with hall_at(tmp_path) as hall, anyio.fail_after(10):
        await watched(hall, voices())
        reports = hall.runs.reports(THREAD)
        assert [report["number"] for report in reports] == list(range(len(reports)))
        assert (reports[0]["type"], reports[-1]["type"]) == ("run_started", "closed")
        assert life_of(hall) == "done"
        assert hall.runs.reports(THREAD, after=reports[-2]["number"]) == [reports[-1]]


async def test_somebody_elsewhere_stops_a_run_and_its_call_in_flight(tmp_path: Path) -> None:
    model = Hanging()
    with hall_at(tmp_path) as hall, hall_at(tmp_path) as elsewhere, anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(_when_asked, model, lambda: elsewhere.runs.stop(THREAD, "it costs too much"))
            with pytest.raises(RunPaused, match="Stopped on request: it costs too much") as pause:
                await watched(hall, model)
        assert model.cancelled.is_set()
        assert pause.value.code == "paused"
        assert hall.get_debate(THREAD)["turn_count"] == 2
        assert life_of(elsewhere) == "paused"


async def test_the_kill_switch_ends_a_run_and_its_call_in_flight(tmp_path: Path) -> None:
    model = Hanging()
    with hall_at(tmp_path) as hall, hall_at(tmp_path) as elsewhere, anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(_when_asked, model, lambda: elsewhere.force_close_debate(THREAD, "wrong question"))
            run = await watched(hall, model)
        assert model.cancelled.is_set()
        assert run.debate.state.status == "force_closed"
        assert run.debate.state.turn_count == 2
        assert life_of(elsewhere) == "done"
        assert type(hall.debate(THREAD).lines[-1].entry.body) is ForceClosed
        assert [call.slot for call in run.uncertain] == ["R1.Door.1"]


@pytest.mark.slow
async def test_whatever_is_in_flight_when_a_debate_is_killed_nothing_is_asked_committed_or_written_down_after_it(
    tmp_path: Path,
) -> None:
    """Three Walls: one has answered, one waits to be asked again, and one has not answered yet."""
    asked, told, both = list[str](), set[str](), anyio.Event()

    class Walls:
        async def complete(self, request: Request) -> Reply:
            asked.append(request.task.step)
            if request.task.step != "apply" or request.task.lens == "attack surface and trust boundaries":
                return priced(speech(request, len(asked)))
            if request.task.lens == "cost, capacity and reversibility":
                await anyio.sleep_forever()
            raise RateLimited("in a minute", model=request.model, retry_after=60.0)

    def tell(event: Event) -> None:
        if getattr(event, "step", "") == "apply" and event.type in ("draft_finished", "retried"):
            told.add(event.type)
        if len(told) == 2:
            both.set()

    def kill() -> None:
        elsewhere.force_close_debate(THREAD, "wrong question")
        seen.append((len(elsewhere.journal(THREAD)), len(asked)))

    seen: list[tuple[int, int]] = []
    with hall_at(tmp_path) as hall, hall_at(tmp_path) as elsewhere, anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(_when, both, kill)
            run = await hold(hall, plan_of("fortress"), Walls(), tell, patience=Patience(first_s=0))
        assert run.debate.state.status == "force_closed"
        assert [(len(hall.journal(THREAD)), len(asked))] == seen
        assert [type(line.entry.body) for line in hall.debate(THREAD).lines[-2:]] == [Turn, ForceClosed]
        assert ("R1.Wall.1", "apply") in {(draft.seat.slot, draft.step) for draft in run.unused}
        assert [call.slot for call in run.uncertain] == ["R1.Wall.3"]


async def test_a_thread_that_nobody_runs_cannot_be_stopped(tmp_path: Path) -> None:
    with hall_at(tmp_path) as hall:
        hall.init_debate(THREAD, TOPIC)
        assert (hall.runs.row(THREAD), life_of(hall)) == (None, "none")
        with pytest.raises(NotActive, match="Nobody runs"):
            hall.runs.stop(THREAD, "why")


async def test_a_request_to_an_earlier_run_does_not_stop_the_next(tmp_path: Path) -> None:
    with hall_at(tmp_path) as hall:
        hall.init_debate(THREAD, TOPIC)
        first = hall.runs.begin(THREAD)
        hall.runs.stop(THREAD, "why")
        assert hall.runs.attend(first) == (True, "why")
        hall.runs.release(first)
        assert hall.runs.attend(hall.runs.begin(THREAD)) == (True, None)


async def test_a_debate_that_waits_for_its_store_stops_no_other_in_the_same_loop(tmp_path: Path) -> None:
    """The lock is released only when the other debate has ended: a hall that was called in the loop itself would wait
    for the lock, and the other debate with it."""
    waits, ended = anyio.Event(), list[Run]()
    with hall_at(tmp_path / "locked") as locked, hall_at(tmp_path / "free") as free, anyio.fail_after(20):
        with closing(database(tmp_path / "locked")) as other:

            def lock(request: Request) -> None:
                if not waits.is_set():
                    other.execute("BEGIN IMMEDIATE")
                    waits.set()

            async def wait_for_the_store() -> None:
                ended.append(await watched(locked, voices(lock)))

            async with anyio.create_task_group() as group:
                group.start_soon(wait_for_the_store)
                await waits.wait()
                try:
                    run = await watched(free, voices())
                    turns = locked.get_debate(THREAD)["turn_count"]
                finally:
                    other.execute("ROLLBACK")
        assert (run.debate.state.status, turns) == ("synthesis", 0)
        assert [run.debate.state.status for run in ended] == ["synthesis"]


async def _when_asked(model: Hanging, act: Callable[[], object]) -> None:
    await _when(model.asked, act)


async def _when(event: anyio.Event, act: Callable[[], object]) -> None:
    await event.wait()
    await anyio.to_thread.run_sync(act)


class Streaming:
    """Says each answer in pieces, and whole."""

    def __init__(self) -> None:
        self._numbers = count(1)

    async def complete(self, request: Request) -> Reply:
        reply = priced(speech(request, next(self._numbers)))
        assert request.hear is not None
        for letter in reply.text:
            request.hear(letter)
        return reply


async def test_pieces_of_a_draft_are_told_and_not_kept(tmp_path: Path) -> None:
    told: list[Event] = []
    plan = plan_of("speed", endpoint=Endpoint(stream=True))
    with hall_at(tmp_path / "state") as hall, anyio.fail_after(5):
        watch = Watch(hall)
        stream = Stream(THREAD, lambda: datetime.now(UTC), watch, lambda one: told.append(one.event))
        model = Streaming()
        await run_debate(hall, plan, THREAD, TOPIC, Drafting(lambda route: model, stream, NO_WAITS), watch)
        kept = [report["type"] for report in hall.runs.reports(THREAD)]
    assert kept == [event.type for event in told if not isinstance(event, DraftDelta)]
    assert any(isinstance(event, DraftDelta) for event in told)
