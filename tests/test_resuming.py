"""A run that was cut short goes on in a later process: nothing is lost or bought twice, and the record says so.

The first process is cut short at each of its calls, at each of its commits and at each of its writes; the next one has
nothing but the store.
"""

from __future__ import annotations

import math
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import pytest

from building import (
    BUNDLED,
    THREAD,
    TOPIC,
    hall_at,
    hold,
    order,
    plan_of,
    priced,
    resume,
    speech,
    turns_of,
    vote_text,
)
from hall.halls import HastyStore, database
from orchestrator.decision.ballot import voters
from orchestrator.decision.record import record_of
from orchestrator.drafts import Paid
from orchestrator.errors import (
    AuthenticationFailed,
    LedgerBroken,
    RunPaused,
    StoreUnavailable,
    UnknownThread,
    UsageError,
)
from orchestrator.events import DraftFinished, Event, Resumed, RunStarted, SynthesisRefined, TurnCommitted, VoteCast
from orchestrator.hall.debate import Debate
from orchestrator.hall.entries import Note, Refined, SeatRecord, Turn, Vote
from orchestrator.hall.folder import prepare as prepare_state
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Role, Status
from orchestrator.models.base import Endpoint, Reply, Request, Usage
from orchestrator.models.scripted import Scripted
from orchestrator.plan import Changes, Plan
from orchestrator.recipe import Limits
from orchestrator.resuming import changed_files, changes_wanted, resumable
from orchestrator.runner import Run, open_debate
from orchestrator.taking_up import TakeUp
from orchestrator.wanted import Wanted, prepare

pytestmark = pytest.mark.anyio

Key = tuple[str, str]  # slot and step


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    with hall_at(tmp_path / "state") as hall:
        yield hall


@dataclass
class Process:
    """What one process asks. Of its calls only the first `answers` are answered; `then` says what the next one meets.

    hangs: it and all that are asked beside it are never answered, and the process is cancelled.
    fails: its key was revoked a moment ago; those beside it are answered.

    Where there are votes, the first one objects to the first synthesis.
    """

    plan: Plan
    number: int
    answers: float = math.inf
    then: str = "hangs"
    asked: list[Key] = field(default_factory=list)
    answered: list[Key] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    paid: Paid = field(default_factory=Paid)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    refinements: int = 0  # that stand already

    async def complete(self, request: Request) -> Reply:
        self.asked.append(key_of(self.plan, request, 1 + self.refinements))
        if self.then == "fails" and len(self.asked) == self.answers + 1:
            raise AuthenticationFailed("the key was revoked", "Set another.", model=request.model)
        if self.then == "hangs" and len(self.asked) > self.answers:
            self.scope.cancel()
            await anyio.sleep_forever()
        self.answered.append(self.asked[-1])
        objects = self.asked[-1] == ("V1.Wind.1", "vote")
        text = vote_text("object") if objects else speech(request, self.number * 100 + len(self.asked))
        return priced(text)

    def tell(self, event: Event) -> None:
        self.events.append(event)
        self.refinements += isinstance(event, SynthesisRefined)

    async def begin(self, hall: Hall) -> None:
        with self.scope, suppress(RunPaused):
            await hold(hall, self.plan, self, self.tell, paid=self.paid)

    async def go_on(self, hall: Hall) -> Run | None:
        """Returns how the run ended; None when this process was cut short too."""
        self.refinements = hall.debate(THREAD).state.refinements
        with self.scope, suppress(RunPaused):
            return await resume(hall, self, self.tell, paid=self.paid)
        return None


def key_of(plan: Plan, request: Request, ballot: int) -> Key:
    """Which seat asks, and for which step."""
    task = request.task
    if task.step == "account":
        return account_slot(plan), task.step
    if task.step == "refine":
        return f"V{ballot}.Door.1", task.step
    seats = voters(plan, ballot) if task.step == "vote" else plan.rounds[task.round - 1].of(task.role)
    (slot,) = (seat.slot for seat in seats if (seat.role, seat.agent, seat.lens) == (task.role, task.agent, task.lens))
    return slot, task.step


def account_slot(plan: Plan) -> str:
    return f"R{len(plan.rounds)}.Door.account"


def settling(plan: Plan) -> list[str]:
    """The slots that have to be heard after the last turn, in order: all vote twice, as one of them objects once."""
    first, second = ([seat.slot for seat in voters(plan, ballot)] for ballot in (1, 2))
    return [*first, *(["V1.Door.1"] if first else []), *second, *([account_slot(plan)] if plan.has_account else [])]


def calls_of(plan: Plan) -> int:
    """The calls of a whole debate."""
    return plan.calls + (len(plan.voters) + 1 if plan.voters else 0)


def commits_of(plan: Plan) -> int:
    """Its turns, votes and refinements."""
    return plan.turns + len(settling(plan)) - plan.has_account


async def begun(hall: Hall, plan: Plan, answers: float, then: str = "hangs") -> Process:
    process = Process(plan, 1, answers, then)
    await process.begin(hall)
    return process


async def gone_on(hall: Hall, *before: Process, answers: float = math.inf, then: str = "hangs") -> tuple[Process, Any]:
    process = Process(before[0].plan, 1 + len(before), answers, then)
    return process, await process.go_on(hall)


def calls(number: int) -> Usage:
    """What so many calls of `priced` take."""
    return Usage(100 * number, 40 * number, 10 * number, Decimal("0.01") * number)


def lost(processes: Sequence[Process]) -> Counter[Key]:
    """The calls that hung."""
    hanging = [process for process in processes if process.then == "hangs"]
    return sum((Counter(process.asked) - Counter(process.answered) for process in hanging), Counter())


def require_nothing_lost_or_bought_twice(hall: Hall, run: Run | None, *processes: Process) -> None:
    assert run is not None
    plan, debate = processes[0].plan, hall.debate(THREAD)  # verified
    assert run.debate == debate
    assert (debate.state.status, debate.plan) == (Status.SYNTHESIS, plan.encode())
    seats = seats_of(debate)
    slots = [seat.slot for planned in plan.rounds for seat in planned.seats]
    assert [seat.slot for seat in seats] == [*slots, *settling(plan)]
    answered = [key for process in processes for key in process.answered]
    assert len(answered) == len(set(answered)) == calls_of(plan)
    assert run.spent == calls(calls_of(plan))
    assert sum(Decimal(seat.cost or 0) for seat in seats) == run.spent.cost_usd
    assert run.unused == ()
    uncertain = [(call.slot, call.step) for call in run.uncertain]
    assert Counter(uncertain) == lost(processes)
    record = record_of(run.debate)
    assert record.agreed is (True if plan.voters else None)
    assert record.resumed == len(processes) - 1
    assert [call.partition(": ")[2].removesuffix(".") for call in record.uncertain] == list(map(str, run.uncertain))


def seats_of(debate: Debate) -> list[SeatRecord]:
    """Whose words the ledger holds, in order."""
    bodies = (line.entry.body for line in debate.lines)
    return [body.seat for body in bodies if isinstance(body, Turn | Vote | Refined | Note) and body.seat]


# ------------------------------------------------------------------------------------------------- at each of its calls

CALLS = plan_of("fortress").calls
ENDS = ["hangs", "fails"]


def voted_on() -> Plan:
    """One Wind and one Wall, who vote."""
    return plan_of("speed", consensus={"required": True, "refinements": 2})


FIRST_ENDS = [
    pytest.param(answers, then, marks=[pytest.mark.slow] if then == "fails" and answers % 5 else [])
    for answers in range(CALLS)
    for then in ENDS
]


@pytest.mark.slow
@pytest.mark.parametrize(("answers", "then"), FIRST_ENDS)
async def test_a_run_that_was_cut_short_at_any_call_goes_on_and_buys_nothing_twice(
    hall: Hall, answers: int, then: str
) -> None:
    with anyio.fail_after(20):
        first = await begun(hall, plan_of("fortress"), answers, then)
        assert hall.debate(THREAD).state.status is Status.ACTIVE
        second, run = await gone_on(hall, first)
    require_nothing_lost_or_bought_twice(hall, run, first, second)


VOTED_ENDS = [
    pytest.param(answers, then, marks=[pytest.mark.slow] if then == "fails" and answers not in (5, 6, 9) else [])
    for answers in range(calls_of(voted_on()))
    for then in ENDS
]


@pytest.mark.slow
@pytest.mark.parametrize(("answers", "then"), VOTED_ENDS)
async def test_a_run_that_is_voted_on_and_refined_can_be_cut_short_at_any_call(
    hall: Hall, answers: int, then: str
) -> None:
    with anyio.fail_after(20):
        first = await begun(hall, voted_on(), answers, then)
        assert hall.debate(THREAD).state.status is Status.ACTIVE
        second, run = await gone_on(hall, first)
    require_nothing_lost_or_bought_twice(hall, run, first, second)


@pytest.mark.parametrize(("once", "again"), [(0, 0), (3, 0), (6, 2)])
async def test_a_resume_that_is_cut_short_is_resumed_in_its_turn(hall: Hall, once: int, again: int) -> None:
    with anyio.fail_after(20):
        first = await begun(hall, plan_of("fortress"), once)
        second, run = await gone_on(hall, first, answers=again)
        assert run is None
        third, run = await gone_on(hall, first, second)
    require_nothing_lost_or_bought_twice(hall, run, first, second, third)


@pytest.mark.slow
@pytest.mark.parametrize("once", range(CALLS))
async def test_every_second_interruption_loses_nothing_either(tmp_path: Path, once: int) -> None:
    with anyio.fail_after(120):
        for again in range(CALLS - once):
            with hall_at(tmp_path / str(again)) as hall:
                first = await begun(hall, plan_of("fortress"), once)
                second, run = await gone_on(hall, first, answers=again)
                if run is None:
                    third, run = await gone_on(hall, first, second)
                    require_nothing_lost_or_bought_twice(hall, run, first, second, third)


LARGER = [
    ("council", {}),
    ("council", {"doors": "independent"}),
    ("laboratory", {}),
    ("laboratory", {"socratic": True}),
    ("fortress", {"wall": "reactive"}),
    ("standard", {}),
]


@pytest.mark.slow
@pytest.mark.parametrize("then", ENDS)
@pytest.mark.parametrize(("recipe", "changes"), LARGER, ids=str)
async def test_every_recipe_can_be_cut_short_at_any_call(
    tmp_path: Path, recipe: str, changes: dict[str, Any], then: str
) -> None:
    plan = plan_of(recipe, **changes)
    with anyio.fail_after(120):
        for answers in range(calls_of(plan)):
            with hall_at(tmp_path / str(answers)) as hall:
                first = await begun(hall, plan, answers, then)
                second, run = await gone_on(hall, first)
                require_nothing_lost_or_bought_twice(hall, run, first, second)


async def test_what_the_second_process_knows_it_says_and_what_it_asks_is_only_what_is_missing(hall: Hall) -> None:
    """The first is cut short when Wind and one checklist are paid for, and two checklists are in flight."""
    with anyio.fail_after(10):
        first = await begun(hall, plan_of("fortress"), 2)
        second, run = await gone_on(hall, first)
    drafts = [event for event in second.events if isinstance(event, DraftFinished)]
    known = [(draft.slot, draft.step) for draft in drafts if draft.known]
    assert known == first.answered == [("R1.Wind.1", "turn"), ("R1.Wall.1", "checklist")]
    assert sorted(second.asked[:2]) == [("R1.Wall.2", "checklist"), ("R1.Wall.3", "checklist")]
    assert run is not None
    assert "draft 101 of" in (run.debate.turns[0].text or "")


async def test_a_later_process_tells_what_the_earlier_ones_took_and_what_nobody_knows(hall: Hall) -> None:
    with anyio.fail_after(10):
        first = await begun(hall, plan_of("fortress"), 5)
        second, _ = await gone_on(hall, first)
    (told,) = [event for event in second.events if isinstance(event, Resumed)]
    assert (told.turns, told.input, told.output, told.cost_usd) == (1, 500, 50, Decimal("0.05"))
    assert [call.partition(" through")[0] for call in told.uncertain] == [
        "R1.Wall.2 apply, attempt 1",
        "R1.Wall.3 apply, attempt 1",
    ]
    assert [type(event) for event in second.events[:2]] == [RunStarted, Resumed]
    assert not [event for event in first.events if isinstance(event, Resumed)]


async def test_the_same_process_can_go_on_after_a_pause(hall: Hall) -> None:
    with anyio.fail_after(10):
        first = await begun(hall, plan_of("fortress"), 7, "fails")
        assert first.paid.uncertain == ()
        second, run = await gone_on(hall, first)
    require_nothing_lost_or_bought_twice(hall, run, first, second)


# ------------------------------------------------------------------------------------ at each of its commits and writes


async def cut_short_at_a_commit(hall: Hall, plan: Plan, commit: int) -> Process:
    commits, first = count(1), Process(plan, 1)

    def die(event: Event) -> None:
        first.tell(event)
        if isinstance(event, TurnCommitted | VoteCast | SynthesisRefined) and next(commits) == commit:
            first.scope.cancel()

    with first.scope:
        await hold(hall, plan, first, die)
    assert len(hall.debate(THREAD).of(Turn, Vote, Refined)) == commit
    return first


@pytest.mark.parametrize(
    "commit",
    [pytest.param(commit, marks=[] if commit in (1, 2, 3, 7) else [pytest.mark.slow]) for commit in range(1, 10)],
)
async def test_drafts_whose_siblings_were_committed_are_not_bought_again(hall: Hall, commit: int) -> None:
    """What a batch was asked from is read off the ledger, not the newest head: so the questions are the same."""
    with anyio.fail_after(10):
        first = await cut_short_at_a_commit(hall, plan_of("fortress"), commit)
        second, run = await gone_on(hall, first)
    require_nothing_lost_or_bought_twice(hall, run, first, second)


@pytest.mark.parametrize("commit", range(4, commits_of(voted_on()) + 1))
async def test_votes_whose_siblings_were_cast_are_not_bought_again(hall: Hall, commit: int) -> None:
    with anyio.fail_after(10):
        first = await cut_short_at_a_commit(hall, voted_on(), commit)
        second, run = await gone_on(hall, first)
    require_nothing_lost_or_bought_twice(hall, run, first, second)


@pytest.mark.slow
@pytest.mark.parametrize(("recipe", "changes"), LARGER, ids=str)
async def test_no_sibling_is_bought_again_at_any_table(tmp_path: Path, recipe: str, changes: dict[str, Any]) -> None:
    plan = plan_of(recipe, **changes)
    with anyio.fail_after(120):
        for commit in range(1, commits_of(plan) + 1):
            with hall_at(tmp_path / str(commit)) as hall:
                first = await cut_short_at_a_commit(hall, plan, commit)
                second, run = await gone_on(hall, first)
                require_nothing_lost_or_bought_twice(hall, run, first, second)


class Lost(HastyStore):
    """A store that is lost at a write: before it, or when it was done and nobody heard of it."""

    left: float = math.inf  # writes
    unheard: bool = False

    def append(self, *args: Any, **kwargs: Any) -> None:
        self._write(super().append, *args, **kwargs)

    def keep(self, *args: Any, **kwargs: Any) -> None:
        self._write(super().keep, *args, **kwargs)

    def release_run(self, *args: Any, **kwargs: Any) -> None:
        self._write(super().release_run, *args, **kwargs)

    def _write(self, write: Callable[..., None], *args: Any, **kwargs: Any) -> None:
        self.left -= 1
        if self.left >= 0 or (self.left == -1 and self.unheard):
            write(*args, **kwargs)
        if self.left < 0:
            raise StoreUnavailable("The connection is lost.", "Look for it.")


async def require_that_no_write_can_lose_anything(folder: Path, plan: Plan, unheard: bool) -> None:
    """Loses the store at each write in turn, until a run comes to its end without meeting it."""
    for writes in count():
        first, store = Process(plan, 1), Lost(prepare_state(folder / str(writes)))
        with Hall(store) as hall:
            store.left, store.unheard = writes, unheard
            await first.begin(hall)
            if store.left >= 0:
                return
        with Hall(HastyStore(prepare_state(folder / str(writes))), clock=much_later) as hall:
            if hall.debate(THREAD).state.status is Status.SYNTHESIS:
                continue  # the close was done and nobody heard of it
            second, run = await gone_on(hall, first)
            handed_back = {(draft.seat.slot, draft.step) for draft in first.paid.unused}
            twice = set(first.answered) & set(second.answered)
            assert run is not None
            assert run.debate.state.status is Status.SYNTHESIS
            assert twice <= handed_back & {(call.slot, call.step) for call in run.uncertain}
            assert len(second.answered) == calls_of(plan) - len(set(first.answered) - twice)


def much_later() -> datetime:
    """When a process that could not say that it ended is taken for dead."""
    return datetime.now(UTC) + timedelta(hours=1)


UNHEARD = pytest.mark.parametrize("unheard", [False, True], ids=["before a write", "behind a write"])


@pytest.mark.slow
@UNHEARD
async def test_a_store_that_is_lost_at_any_write_loses_nothing(tmp_path: Path, unheard: bool) -> None:
    with anyio.fail_after(60):
        await require_that_no_write_can_lose_anything(tmp_path, plan_of("speed"), unheard)


@pytest.mark.slow
@UNHEARD
@pytest.mark.parametrize("plan", [plan_of("fortress"), voted_on()], ids=["fortress", "voted on"])
async def test_a_store_that_is_lost_at_any_write_of_a_long_debate_loses_nothing(
    tmp_path: Path, plan: Plan, unheard: bool
) -> None:
    with anyio.fail_after(240):
        await require_that_no_write_can_lose_anything(tmp_path, plan, unheard)


# ---------------------------------------------------------------------------------- what has changed since it was begun


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a recipe, an agent and evidence of its own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    work = tmp_path / "work"
    for kind, file in (("recipes", "speed.yaml"), ("agents", "wind-agent.oct.md")):
        (work / kind).mkdir(parents=True)
        text = (BUNDLED / kind / file).read_text()
        (work / kind / file.replace("speed", "own")).write_text(text.replace("name: speed", "name: own"))
    (work / "facts.md").write_text("The auditor reads the ledger.\n")
    monkeypatch.chdir(work)
    return work


def rewrite(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


async def test_a_run_goes_on_with_the_texts_of_its_start_though_the_files_have_changed(hall: Hall, place: Path) -> None:
    plan = prepare(Wanted("own", rehearse=True, context=("facts.md",)), {}, place)
    with anyio.fail_after(10):
        first = await begun(hall, plan, 2)
        rewrite(place / "recipes" / "own.yaml", "turns: 3", "turns: 6")
        rewrite(place / "agents" / "wind-agent.oct.md", "===END===", "  EXTRA::always\n===END===")
        rewrite(place / "facts.md", "auditor", "customer")
        assert list(changed_files(plan)) == ["the recipe own", "the agent wind-agent", "E1 (facts.md)"]
        second, run = await gone_on(hall, first)
    require_nothing_lost_or_bought_twice(hall, run, first, second)
    assert order(run.debate) == "WLD"
    assert resumable(hall, THREAD).plan == plan


def test_a_run_whose_files_are_as_they_were_says_nothing_of_them(place: Path) -> None:
    plan = prepare(Wanted("own", rehearse=True, context=("facts.md",)), {}, place)
    assert list(changed_files(plan)) == []
    for gone in ("recipes/own.yaml", "facts.md"):
        (place / gone).unlink()
    rewrite(place / "agents" / "wind-agent.oct.md", "---\n", "--- broken\n")
    assert list(changed_files(plan)) == []  # what is gone or broken has no say


def test_at_a_resume_neither_revisions_nor_standard_input_are_read_again(place: Path) -> None:
    git = ("git", "-c", "user.name=A", "-c", "user.email=a@example.com")
    for command in (["init", "-q"], ["commit", "-qm", "1", "--allow-empty"], ["add", "."], ["commit", "-qm", "2"]):
        subprocess.run([*git, *command], check=True)
    (place / "adr").mkdir()
    (place / "adr" / "0001-queue.md").write_text("# We use a queue\n")
    (place / "git:x").write_text("named like a range\n")
    wanted = Wanted("own", rehearse=True, context=("git:HEAD~1..HEAD", "-", "./git:x"), adr=("adr",))
    plan = prepare(wanted, {}, place, standard_input=lambda: b"Ten a second.\n")
    assert [piece.kind for piece in plan.evidence] == ["diff", "input", "file", "adr"]
    subprocess.run([*git, "commit", "-qm", "3", "--allow-empty"], check=True)
    assert list(changed_files(plan)) == []
    rewrite(place / "adr" / "0001-queue.md", "queue", "log")
    rewrite(place / "git:x", "named", "called")
    assert list(changed_files(plan)) == ["E3 (git:x)", "E4 (adr/0001-queue.md)"]


def test_seats_that_a_tier_replaced_are_no_change_of_the_recipe(place: Path) -> None:
    assert list(changed_files(prepare(Wanted("standard", tier="2", rehearse=True), {}, place))) == []


@pytest.mark.parametrize("recipe", ["own", "council"])
@pytest.mark.parametrize("ending", [(True, True), (False, False), (True, None), (None, True)])
def test_an_ending_that_was_asked_for_at_the_start_is_no_change_of_the_recipe(
    place: Path, recipe: str, ending: tuple[bool | None, bool | None]
) -> None:
    plan = prepare(Wanted(recipe, rehearse=True, consensus=ending[0], early_close=ending[1]), {}, place)
    assert list(changed_files(plan)) == []
    if recipe == "own":
        rewrite(place / "recipes" / "own.yaml", "turns: 3", "turns: 6")
        assert list(changed_files(plan)) == ["the recipe own"]


OTHER_WIND = Changes(routes={Role.WIND: ("test/other", "test/spare")})
ROOM = Limits(tokens=1_000_000)


async def test_other_routes_are_asked_from_the_resume_on_and_noted(hall: Hall) -> None:
    with anyio.fail_after(10):
        first = await begun(hall, plan_of("fortress"), 0)
        model = Scripted(lambda request: priced(speech(request, 1), model=request.model))
        changes = OTHER_WIND.model_copy(update={"limits": ROOM, "on_failure": "degrade"})
        run = await resume(hall, model, how=TakeUp(changes=changes))
    assert {request.model for request in model.requests} == {"test/other", "test/wall", "test/door"}
    assert record_of(run.debate).changes == (
        "From here on Wind is asked through test/other, test/spare; it may take at most 1,000,000 tokens; "
        "a seat that fails makes the run degrade.",
    )
    assert next(turn.seat and turn.seat.asked for turn in turns_of(run.debate)) == "test/other"
    assert run.debate.plan == first.plan.encode()


async def test_what_was_changed_holds_for_every_later_resume_and_the_newest_word_wins(hall: Hall) -> None:
    priced_endpoint = Endpoint(input_cost_per_token=Decimal("1E-6"), output_cost_per_token=Decimal("1E-6"))
    one = OTHER_WIND.model_copy(update={"endpoints": {"test/other": priced_endpoint}, "limits": ROOM})
    two = Changes(routes={Role.DOOR: ("test/late",)}, limits=Limits(seconds=3600), on_failure="degrade")
    with anyio.fail_after(10):
        await begun(hall, plan_of("fortress"), 0)
        for changes in (one, two):
            hanging = Process(plan_of("fortress"), 2, answers=0)
            with hanging.scope:
                await resume(hall, hanging, how=TakeUp(changes=changes))
        found = resumable(hall, THREAD)
        assert found.plan == plan_of("fortress").with_changes(one).with_changes(two)
        assert found.plan.limits == Limits(tokens=1_000_000, seconds=3600)
        assert (found.plan.on_failure, found.plan.endpoint("test/other")) == ("degrade", priced_endpoint)
        model = Scripted(lambda request: priced(speech(request, 1)))
        run = await resume(hall, model)
    assert {request.model for request in model.requests} == {"test/other", "test/wall", "test/late"}
    record = record_of(run.debate)
    assert [change.partition(" ")[2][:15] for change in record.changes] == ["here on Wind is", "here on Door is"]
    assert (record.resumed, len(record.uncertain)) == (3, 12)


async def test_a_reply_that_was_paid_for_is_taken_though_its_route_is_asked_no_more(hall: Hall) -> None:
    with anyio.fail_after(10):
        await begun(hall, plan_of("fortress"), 2)
        model = Scripted(lambda request: priced(speech(request, 9)))
        run = await resume(hall, model, how=TakeUp(changes=OTHER_WIND))
    assert "test/other" not in {request.model for request in model.requests if request.task.round == 1}
    (first_wind, *_) = (turn.seat for turn in turns_of(run.debate))
    assert first_wind is not None
    assert (first_wind.asked, first_wind.route) == ("test/other", "test/wind")


async def test_a_thread_that_nobody_ran_cannot_be_resumed(hall: Hall) -> None:
    with pytest.raises(UnknownThread):
        resumable(hall, THREAD)
    hall.init_debate(THREAD, TOPIC)
    with pytest.raises(UsageError, match="is held by hand") as refused:
        resumable(hall, THREAD)
    assert "add_turn" in refused.value.cure


async def test_a_journal_that_was_changed_is_not_built_on(hall: Hall, tmp_path: Path) -> None:
    with anyio.fail_after(10):
        await begun(hall, plan_of("speed"), 1)
    with closing(database(tmp_path / "state")) as db:
        db.execute("UPDATE journal SET stored = replace(stored, '\"attempt\":1', '\"attempt\":2')")
    with pytest.raises(LedgerBroken, match="of its journal is not what was written"):
        resumable(hall, THREAD)
    with anyio.fail_after(10), pytest.raises(LedgerBroken):
        await resume(hall, Process(plan_of("speed"), 2))


def test_changes_are_judged_before_anything_is_begun(hall: Hall, place: Path) -> None:
    plan = prepare(Wanted("own", models=local_models(place)), {}, place)
    open_debate(hall, plan, THREAD, TOPIC)
    found = resumable(hall, THREAD)
    assert changes_wanted(found, Wanted(), {}) == Changes()
    voices = {Role.WIND: ["openai/local-2"]}
    changes = changes_wanted(found, Wanted(voices=voices, models="here.yaml", limits=Limits(tokens=5)), {})
    assert (changes.routes, changes.limits) == ({Role.WIND: ("openai/local-2",)}, Limits(tokens=5))
    for wanted, why in (
        (Wanted(models="here.yaml"), "changes nothing by itself"),
        (Wanted(voices={Role.DOOR: ["rehearsal"]}), "cannot go on with the rehearsal"),
        (Wanted(limits=Limits(cost_usd=Decimal(1))), "no price is known for openai/local-1"),
        (Wanted(voices={Role.DOOR: ["openai/nowhere"]}), "openai/nowhere"),
    ):
        with pytest.raises(UsageError, match=why):
            changes_wanted(found, wanted, {})
    assumed = changes_wanted(found, Wanted(limits=Limits(cost_usd=Decimal(1)), assumed="3/15"), {})
    assert found.plan.with_changes(assumed).endpoint("openai/local-1").output_cost_per_token == Decimal("0.000015")


def local_models(place: Path) -> str:
    """The name of a models file whose models answer on this machine and have no known price."""
    local = "{api_base: 'http://127.0.0.1:9/v1'}"
    routes = "".join(f"  {cognition}: [openai/local-1]\n" for cognition in ("PATHOS", "ETHOS", "LOGOS"))
    models = "".join(f"  openai/local-{number}: {local}\n" for number in (1, 2))
    (place / "here.yaml").write_text(f"routes:\n{routes}models:\n{models}")
    return "here.yaml"
