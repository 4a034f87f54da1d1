"""The barrier protocol with scripted models: who speaks when, who drafts beside whom, and what ends or pauses a run."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import pytest

from building import (
    LETTERS,
    RECIPES,
    THREAD,
    TOPIC,
    hall_at,
    hold,
    order,
    plan_of,
    priced,
    speech,
    turns_of,
    voices,
    wordy,
)
from orchestrator.decision.record import record_of
from orchestrator.drafts import Paid
from orchestrator.errors import (
    AuthenticationFailed,
    CutOff,
    DebateError,
    EmptyReply,
    RateLimited,
    RunPaused,
    ScriptExhausted,
    ServerFailed,
    StoreUnavailable,
    ThreadExists,
)
from orchestrator.events import Closed, Event, FellBack, Paused, SentBack, TurnCommitted
from orchestrator.hall.entries import FloorGiven, Note, Turn, Vote
from orchestrator.hall.hall import Hall
from orchestrator.hall.sqlite import FILE
from orchestrator.hall.terms import Mode, Role, Status
from orchestrator.instructions import winds_of
from orchestrator.models.base import Reply, Request, Usage
from orchestrator.models.scripted import Line, Scripted
from orchestrator.runner import Run

pytestmark = pytest.mark.anyio

ORDER = {
    "speed": "WLD",
    "standard": " · ".join(["WLD"] * 4),
    "deep": " · ".join(["WLD"] * 12),
    "fortress": "WLLLD · WLLD",
    "laboratory": "WWWLD · WWLD",
    "council": "WWLLDDD · WWLDD",
}


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    with hall_at(tmp_path / "state") as hall:
        yield hall


class LastFirst:
    """Answers only when a whole batch is in flight, and then the last request first.

    Serial drafting would hang on it.

    Args:
        sizes: how many requests each batch has, in order.
    """

    def __init__(self, sizes: list[int]) -> None:
        self.batches: list[list[Request]] = []
        self._sizes = iter(sizes)
        self._numbers = count(1)
        self._waiting: list[anyio.Event] = []

    async def complete(self, request: Request) -> Reply:
        if not self._waiting:
            self._size = next(self._sizes)
            self.batches.append([])
        self.batches[-1].append(request)
        reply = Reply(speech(request, next(self._numbers)), request.model, Usage(1, 0, 1, None))
        turn, before = anyio.Event(), self._waiting[-1] if self._waiting else anyio.Event()
        self._waiting.append(turn)
        if len(self._waiting) == self._size:
            self._waiting = []
            turn.set()
        await turn.wait()
        before.set()
        return reply


def batch_letters(batch: list[Request]) -> str:
    """W Wind, c checklist, L a Wall that applies one, l a Wall without one, D Door, v a vote, a Door's account."""
    letters = {"checklist": "c", "apply": "L", "vote": "v", "account": "a"}
    turns = {**LETTERS, Role.WALL: "l"}
    return "".join(letters.get(request.task.step) or turns[request.task.role] for request in batch)


# ------------------------------------------------------------------------------------------------------ who speaks when


@pytest.mark.parametrize(
    "recipe", [pytest.param(name, marks=[pytest.mark.slow] if name == "deep" else []) for name in RECIPES]
)
async def test_the_ledger_of_each_recipe_holds_the_turns_in_the_order_of_the_design(hall: Hall, recipe: str) -> None:
    plan = plan_of(recipe)
    with anyio.fail_after(20):
        run = await hold(hall, plan, voices())
    debate = hall.debate(THREAD)
    assert order(debate) == ORDER[recipe]
    assert [turn.seat and turn.seat.slot for turn in turns_of(debate)] == [
        seat.slot for planned in plan.rounds for seat in planned.seats
    ]
    assert [(turn.agent_role, turn.seat and turn.seat.lens) for turn in turns_of(debate)] == [
        (seat.agent, seat.lens) for planned in plan.rounds for seat in planned.seats
    ]
    assert debate.state.status is Status.SYNTHESIS
    assert debate.synthesis is not None
    assert debate.synthesis.text == debate.turns[-1].text
    assert (run.debate, run.unused, debate.state.starved_roles) == (debate, (), ())


@pytest.mark.parametrize("recipe", ["speed", "fortress", "laboratory", "council"])
async def test_every_turn_of_a_mediated_debate_follows_its_pick_and_a_fixed_one_has_no_picks(
    hall: Hall, recipe: str
) -> None:
    plan = plan_of(recipe)
    with anyio.fail_after(20):
        await hold(hall, plan, voices())
    bodies = [line.entry.body for line in hall.debate(THREAD).lines]
    picks = [body.role for body in bodies if isinstance(body, FloorGiven)]
    if plan.mode is Mode.FIXED:
        assert picks == []
        return
    assert len(picks) == plan.turns
    settling = [*[Vote] * len(plan.voters), Note]  # the votes where there are any, and the account
    assert [type(body) for body in bodies[1:-1]] == [FloorGiven, Turn] * plan.turns + settling
    assert picks == [body.role for body in bodies if isinstance(body, Turn)]


async def test_the_debate_is_opened_with_the_plan_as_its_limits_and_the_plan_is_pinned(hall: Hall) -> None:
    plan = plan_of("fortress")
    with anyio.fail_after(5):
        await hold(hall, plan, voices())
    debate = hall.debate(THREAD)
    assert (debate.state.max_turns, debate.state.max_rounds) == (9, 2)
    assert hall.debate(THREAD).plan == plan.encode()
    assert debate.opening.text == TOPIC


VOTES, NO_VOTES = ({"required": required, "refinements": 2} for required in (True, False))
BATCHES = [
    pytest.param("speed", {}, "Wc L D a", id="speed"),
    pytest.param("standard", {}, " ".join(["Wc L D"] * 4) + " a", id="standard"),
    pytest.param("fortress", {}, "Wccc LLL D Wcc LL D a", id="fortress"),
    pytest.param("fortress", {"consensus": VOTES}, "Wccc LLL D Wcc LL D vvvv a", id="fortress, with votes"),
    pytest.param("laboratory", {}, "WWWc L D WWc L D a", id="laboratory"),
    pytest.param("council", {}, "WWcc LL D D D WWc L D D vvvv a", id="council"),
    pytest.param("council", {"consensus": NO_VOTES}, "WWcc LL D D D WWc L D D a", id="council, without votes"),
    pytest.param("council", {"doors": "independent"}, "WWcc LL DDD WWc L D D vvvv a", id="council, independent Doors"),
    pytest.param("fortress", {"wall": "reactive"}, "W lll D W ll D a", id="fortress, reactive Walls"),
    pytest.param("fortress", {"socratic": True}, "W lll D Wcc LL D a", id="fortress, Socratic"),
]


@pytest.mark.parametrize(("recipe", "changes", "batches"), BATCHES)
async def test_seats_draft_together_as_the_protocol_says_and_commit_in_seat_order_though_replies_come_last_first(
    hall: Hall, recipe: str, changes: dict[str, Any], batches: str
) -> None:
    plan, model = plan_of(recipe, **changes), LastFirst([len(batch) for batch in batches.split()])
    events: list[Event] = []
    with anyio.fail_after(10):
        await hold(hall, plan, model, events.append)
    assert " ".join(map(batch_letters, model.batches)) == batches
    committed = [event.slot for event in events if isinstance(event, TurnCommitted)]
    assert committed == [seat.slot for planned in plan.rounds for seat in planned.seats]
    assert [turn.seat and turn.seat.slot for turn in turns_of(hall.debate(THREAD))] == committed
    assert order(hall.debate(THREAD)) == ORDER[recipe]


@pytest.mark.parametrize(("recipe", "changes", "batches"), BATCHES)
async def test_the_plan_foretells_the_calls_and_how_many_of_them_wait_for_one_another(
    recipe: str, changes: dict[str, Any], batches: str
) -> None:
    plan = plan_of(recipe, **changes)
    assert plan.calls == len(batches.replace(" ", ""))
    assert plan.longest_chain == len(batches.split())


def turns_asked(model: Scripted, role: Role) -> list[Request]:
    return [request for request in model.requests if (request.task.role, request.task.step) == (role, "turn")]


async def test_all_that_draft_together_see_the_same_turns(hall: Hall) -> None:
    model = LastFirst([4, 2, 3, 3, 1, 1, 1, 4, 1])
    with anyio.fail_after(5):
        await hold(hall, plan_of("council", doors="independent"), model)
    seen = [{request.task.said for request in batch} for batch in model.batches]
    assert [len(views) for views in seen] == [1] * len(seen)
    assert [len(said) for views in seen for said in views] == [0, 2, 4, 7, 9, 10, 11, 12, 12]


async def test_sequential_doors_each_see_the_door_before(hall: Hall) -> None:
    model = voices()
    with anyio.fail_after(5):
        await hold(hall, plan_of("council"), model)
    doors = turns_asked(model, Role.DOOR)
    spoken = [[said.role for said in request.task.said].count(Role.DOOR) for request in doors]
    assert spoken == [0, 1, 2, 3, 4]
    assert "T5 spoke as Door before you" in doors[1].messages[-1].text
    assert "T5, T6 spoke as Door before you" in doors[2].messages[-1].text


async def test_the_last_of_independent_doors_sees_them_all_and_only_it_is_told_that_it_is_last(hall: Hall) -> None:
    model = voices()
    with anyio.fail_after(5):
        await hold(hall, plan_of("council", doors="independent"), model)
    doors = turns_asked(model, Role.DOOR)
    assert len(doors[-1].task.said) == 11
    assert [request.task.last for request in doors] == [False, False, False, False, True]
    assert ["Yours is the last turn" in request.messages[-1].text for request in doors] == [False] * 4 + [True]


async def test_reactive_walls_are_asked_once_and_only_after_wind_is_committed(hall: Hall) -> None:
    model = voices()
    with anyio.fail_after(5):
        await hold(hall, plan_of("fortress", wall="reactive"), model)
    walls = [request.task for request in model.requests if request.task.role is Role.WALL]
    assert [task.step for task in walls] == ["turn"] * 5
    assert all(winds_of(task) for task in walls)


# ------------------------------------------------------------------------------------------- checklists and quotations


async def test_a_wall_applies_its_own_checklist_and_sees_no_other(hall: Hall) -> None:
    model = voices()
    with anyio.fail_after(5):
        await hold(hall, plan_of("fortress"), model)
    asked = [request for request in model.requests if request.task.role is Role.WALL and request.task.round == 1]
    checklists = {
        request.task.lens: f"checklist, draft {number} of critical-engineer in round 1"
        for number, request in enumerate(model.requests, 1)
        if request.task.step == "checklist" and request.task.round == 1
    }
    applying = [request for request in asked if request.task.step == "apply"]
    assert len(checklists) == len(applying) == 3
    for request in applying:
        prompt = "\n".join(message.text for message in request.messages)
        assert [lens for lens, words in checklists.items() if words in prompt] == [request.task.lens]


def wall_that_says(*texts: str) -> Scripted:
    """A table whose Wall says these texts, one after the other, when it applies its checklist. See `worded`."""
    said, numbers = iter(texts), count(1)

    def line(request: Request) -> Line:
        text = worded(next(said)) if request.task.step == "apply" else speech(request, next(numbers))
        return priced(text, model=request.model)

    return Scripted(line)


def warnings_of(run: Run) -> tuple[str, ...]:
    return record_of(run.debate).warnings


def lacking_of(run: Run, turn: str) -> list[str]:
    """What the record says that a turn lacks."""
    return [found for found in record_of(run.debate).incomplete if found.startswith(turn)]


def sent_back(events: list[Event], step: str = "apply") -> list[str]:
    return [event.reason for event in events if isinstance(event, SentBack) and event.step == step]


def worded(text: str) -> str:
    """A Wall's text, long enough for a turn; what is added quotes nobody."""
    return wordy(text, of="euros")


QUOTING = "VERDICT: APPROVED. It asks: what if draft 1 of wind-agent in round 1 moved slowly?"


async def test_a_wall_that_quotes_six_words_of_wind_is_taken_at_once(hall: Hall) -> None:
    events: list[Event] = []
    with anyio.fail_after(5):
        await hold(hall, plan_of(), wall_that_says(QUOTING), events.append)
    assert not [event for event in events if isinstance(event, SentBack)]
    assert hall.debate(THREAD).turns[1].text == worded(QUOTING)


async def test_a_wall_that_quotes_nothing_is_sent_back_once_with_its_draft_and_the_reason(hall: Hall) -> None:
    model, events = wall_that_says("VERDICT: BLOCKED.", QUOTING), list[Event]()
    with anyio.fail_after(5):
        run = await hold(hall, plan_of(), model, events.append)
    first, again = (request for request in model.requests if request.task.step == "apply")
    assert again.messages[: len(first.messages)] == first.messages
    draft, complaint = again.messages[len(first.messages) :]
    assert (draft.speaker, draft.text, complaint.speaker) == ("assistant", worded("VERDICT: BLOCKED."), "user")
    assert "no run of 6 words" in complaint.text
    assert sent_back(events) == [complaint.text]
    assert hall.debate(THREAD).turns[1].text == worded(QUOTING)
    assert record_of(run.debate).incomplete == ()


async def test_what_a_wall_lacks_twice_is_recorded_as_incomplete_and_is_no_warning(hall: Hall) -> None:
    model = wall_that_says("VERDICT: APPROVED.", "VERDICT: APPROVED again.")
    with anyio.fail_after(5):
        run = await hold(hall, plan_of(), model)
    assert [request.task.step for request in model.requests].count("apply") == 2
    assert hall.debate(THREAD).turns[1].text == worded("VERDICT: APPROVED again.")
    quotation, verdict = record_of(run.debate).incomplete
    assert quotation.startswith("T2 (Wall, wall-agent): It quotes no run of 6 words from a turn of Wind in this round")
    assert verdict.startswith("T2 (Wall, wall-agent): The verdict is not one of the three words")
    assert not [warning for warning in warnings_of(run) if "quotes" in warning]


async def test_the_first_draft_stands_when_the_second_cannot_be_had(hall: Hall) -> None:
    numbers, refusals = count(1), count()
    text = worded("VERDICT: BLOCKED.")

    def line(request: Request) -> Line:
        if request.task.step == "apply":
            return AuthenticationFailed("the key was revoked", model="x") if next(refusals) else text
        return speech(request, next(numbers))

    with anyio.fail_after(5):
        run = await hold(hall, plan_of(), Scripted(line))
    assert hall.debate(THREAD).turns[1].text == text
    assert lacking_of(run, "T2 (Wall, wall-agent): It quotes no run")


async def test_the_seat_of_a_turn_counts_all_its_calls_its_checklist_and_the_second_try_too(hall: Hall) -> None:
    with anyio.fail_after(5):
        run = await hold(hall, plan_of(), wall_that_says("VERDICT: BLOCKED.", QUOTING))
    wind, wall, _ = turns_of(hall.debate(THREAD))
    assert wall.seat is not None
    assert (wall.seat.input, wall.seat.cached, wall.seat.output, wall.seat.cost) == (300, 120, 30, "0.03")
    assert (wall.token_input, wall.token_output, wall.token_total) == (300, 30, 330)
    assert wind.seat is not None
    assert (wind.seat.input, wind.seat.cost) == (100, "0.01")
    assert run.spent == Usage(600, 240, 60, Decimal("0.06"))  # with Door's turn and its account


async def test_one_call_without_a_price_makes_the_cost_of_its_turn_and_of_the_run_unknown(hall: Hall) -> None:
    def line(request: Request) -> Line:
        text = worded(QUOTING) if request.task.step == "apply" else speech(request, 1)
        return priced(text, None if request.task.step == "checklist" else "0.01")

    with anyio.fail_after(5):
        run = await hold(hall, plan_of(), Scripted(line))
    assert [turn.seat and turn.seat.cost for turn in turns_of(hall.debate(THREAD))] == ["0.01", None, "0.01"]
    assert run.spent.cost_usd is None


async def test_every_attempt_counts_in_the_seat_of_its_turn_and_in_the_run(hall: Hall) -> None:
    """Wind's first route is cut off twice, Wall's second try fails, Door's first answer is empty."""
    plan = plan_of(routes={Role.WIND: ("test/first", "test/wind")})
    told = iter([EmptyReply("empty", model="x", usage=priced("").usage), wordy("Therefore one table.")])
    cut_off = CutOff("cut off", model="x", usage=priced("").usage, text="VERDICT:")
    said = {"apply": iter([worded("VERDICT: CONDITIONAL"), cut_off]), "turn": told}

    def line(request: Request) -> Line:
        task = request.task
        if request.model == "test/first":
            return CutOff("cut off", model="x", usage=priced("").usage, text="What if we")
        scripted = task.step in said and task.role is not Role.WIND
        words = next(said[task.step]) if scripted else speech(request, 1)
        return priced(words) if isinstance(words, str) else words

    paid = Paid()
    with anyio.fail_after(5):
        run = await hold(hall, plan, Scripted(line), paid=paid)
    seats = [turn.seat for turn in turns_of(hall.debate(THREAD)) if turn.seat]
    assert [(seat.input, seat.cached, seat.output, seat.cost) for seat in seats] == [
        (300, 120, 30, "0.03"),
        (300, 120, 30, "0.03"),  # the checklist, the turn, and the second try
        (200, 80, 20, "0.02"),
    ]
    assert [seat.tried for seat in seats] == [
        ("test/first: cut_off",) * 2,
        ("test/wall: cut_off",),
        ("test/door: empty",),
    ]
    assert [turn.token_total for turn in turns_of(hall.debate(THREAD))] == [330, 330, 220]
    assert run.spent == paid.spent == Usage(900, 360, 90, Decimal("0.09"))
    assert [draft.text for draft in run.unused] == ["What if we", "What if we", "VERDICT:"]


async def test_a_run_that_pauses_has_counted_the_answer_that_made_it_pause(hall: Hall) -> None:
    cut_off = CutOff("cut off", model="test/door-0102", usage=priced("").usage, text="Therefore we")
    model = Scripted(lambda request: cut_off if request.task.role is Role.DOOR else priced(speech(request, 1)))
    paid = Paid()
    with anyio.fail_after(5), pytest.raises(RunPaused, match="cut off"):
        await hold(hall, plan_of(), model, paid=paid)
    assert paid.spent == Usage(500, 200, 50, Decimal("0.05"))  # it was sent back once
    assert [(draft.seat.slot, draft.text, draft.answered) for draft in paid.unused] == [
        ("R1.Door.1", "Therefore we", "test/door-0102")
    ] * 2


# -------------------------------------------------------------------------------------------- a verdict and its grounds

BARE_BLOCK = f"VERDICT: BLOCKED\n{QUOTING.removeprefix('VERDICT: APPROVED. ')}\n\n- [C1] Nobody on call knows Kafka.\n"
GROUNDS = "Reality: the rota. Violation: a page at night. Instead: an outbox. Remediation: train two people."
GROUNDED_BLOCK = f"{BARE_BLOCK.replace('Nobody', 'CONSTRAINT: Nobody').rstrip()} {GROUNDS}\n"
NATURE = "C1 does not say what it is: write `- [C1] CONSTRAINT: …` or `- [C1] OPPORTUNITY: …`."
REMEDIATION = "C1 asks for no remediation: add `Remediation: …` to it."
OPENING = "write `VERDICT: APPROVED`, `VERDICT: CONDITIONAL` or `VERDICT: BLOCKED` as the first line."
NO_VERDICT = f"The verdict does not stand first: {OPENING}"


async def test_a_block_that_says_no_grounds_is_sent_back_once_with_what_is_missing(hall: Hall) -> None:
    model, events = wall_that_says(BARE_BLOCK, GROUNDED_BLOCK), list[Event]()
    with anyio.fail_after(5):
        run = await hold(hall, plan_of(), model, events.append)
    (reason,) = sent_back(events)
    assert reason == f"Your turn lacks something. {NATURE} {REMEDIATION} Give the whole turn again."
    again = [request for request in model.requests if request.task.step == "apply"][1]
    assert [message.text for message in again.messages[-2:]] == [worded(BARE_BLOCK), reason]
    assert hall.debate(THREAD).turns[1].text == worded(GROUNDED_BLOCK)
    assert lacking_of(run, "T2 (Wall, wall-agent)") == []
    assert [constraint.id for constraint in record_of(run.debate).constraints] == ["T2.C1"]


async def test_a_block_without_grounds_and_without_a_quotation_is_sent_back_once_for_both(hall: Hall) -> None:
    model, events = wall_that_says("VERDICT: BLOCKED\nToo risky.", GROUNDED_BLOCK), list[Event]()
    with anyio.fail_after(5):
        await hold(hall, plan_of(), model, events.append)
    (reason,) = sent_back(events)
    assert "It quotes no run of 6 words" in reason
    assert "BLOCKED without a constraint" in reason


@pytest.mark.parametrize(
    ("verdict", "lacking"),
    [
        pytest.param("VERDICT: BLOCKED\n", [NATURE, REMEDIATION], id="BLOCKED"),
        pytest.param("VERDICT: CONDITIONAL\n", [NATURE, REMEDIATION], id="CONDITIONAL"),
        pytest.param("VERDICT: APPROVED\n", [NATURE], id="APPROVED"),
        pytest.param("", [NO_VERDICT, NATURE, REMEDIATION], id="no verdict"),
        pytest.param("I cannot say VERDICT: APPROVED here.\n", [NO_VERDICT, NATURE, REMEDIATION], id="a negated one"),
    ],
)
async def test_whatever_the_verdict_what_it_lacks_is_sent_back_once_and_then_recorded_as_incomplete(
    hall: Hall, verdict: str, lacking: list[str]
) -> None:
    text = BARE_BLOCK.replace("VERDICT: BLOCKED\n", verdict)
    model, events = wall_that_says(text, f"{text}Again."), list[Event]()
    with anyio.fail_after(5):
        run = await hold(hall, plan_of(), model, events.append)
    assert sent_back(events) == [f"Your turn lacks something. {' '.join(lacking)} Give the whole turn again."]
    assert hall.debate(THREAD).turns[1].text == worded(f"{text}Again.")
    assert lacking_of(run, "T2 (") == [f"T2 (Wall, wall-agent): {sentence}" for sentence in lacking]
    assert not [warning for warning in warnings_of(run) if NATURE in warning or REMEDIATION in warning]


@pytest.mark.parametrize("verdict", ["BLOCKED", "CONDITIONAL", "APPROVED"])
async def test_a_verdict_with_all_its_grounds_is_taken_at_once(hall: Hall, verdict: str) -> None:
    text, events = GROUNDED_BLOCK.replace("BLOCKED", verdict), list[Event]()
    with anyio.fail_after(5):
        run = await hold(hall, plan_of(), wall_that_says(text), events.append)
    assert sent_back(events) == []
    assert hall.debate(THREAD).turns[1].text == worded(text)
    assert lacking_of(run, "T2 (") == []


async def test_a_rehearsals_worksheet_is_never_read_for_a_verdict(hall: Hall) -> None:
    plan, events = plan_of(routes={Role.DOOR: ("rehearsal",)}), list[Event]()
    with anyio.fail_after(5):
        run = await hold(hall, plan, wall_that_says(BARE_BLOCK), events.append)
    assert not [event for event in events if isinstance(event, SentBack)]
    assert (warnings_of(run), record_of(run.debate).incomplete) == ((), ())


async def test_in_the_round_of_a_socratic_debate_that_only_asks_no_verdict_is_read(hall: Hall) -> None:
    numbers, events = count(1), list[Event]()

    def line(request: Request) -> Line:
        asks = request.task.role is Role.WALL and request.task.round == 1
        said = winds_of(request.task)[-1].text if asks else ""
        return worded(f"VERDICT: BLOCKED\nIt asks: {said}\n") if asks else speech(request, next(numbers))

    with anyio.fail_after(5):
        run = await hold(hall, plan_of("standard", socratic=True, turns=6), Scripted(line), events.append)
    assert not [event for event in events if isinstance(event, SentBack)]
    assert (lacking_of(run, "T2 "), record_of(run.debate).constraints) == ([], ())
    assert not [warning for warning in warnings_of(run) if warning.startswith("T2 ")]
    assert [warning for warning in warnings_of(run) if warning.startswith("T5 ")]


# ------------------------------------------------------------------------------------------------------------- Socratic


async def test_a_socratic_debate_only_asks_in_round_1_and_rests_on_the_settled_terms_after_it(hall: Hall) -> None:
    model = voices()
    with anyio.fail_after(5):
        run = await hold(hall, plan_of("standard", socratic=True, turns=6), model)
    *turns, account = model.requests
    assert account.task.step == "account"
    tasks = [(request.messages[-1].text, request.task) for request in turns]
    assert [task.step for _, task in tasks] == ["turn", "turn", "turn", "turn", "checklist", "apply", "turn"]
    assert [task.socratic for _, task in tasks] == [True] * 3 + [False] * 4
    assert ["This round only asks." in text for text, _ in tasks] == [True] * 3 + [False] * 4
    assert ["as they were settled in T3" in text for text, _ in tasks] == [False] * 3 + [True] * 4
    assert not [warning for warning in warnings_of(run) if warning.startswith(("T1 ", "T2 ", "T3 "))]
    assert [warning for warning in warnings_of(run) if warning.startswith("T4 ")]


# ------------------------------------------------------------------------------------------ what cannot be gone on with


def failing(role: Role, error: Exception, *, lens: str | None = None, step: str = "turn") -> Scripted:
    """A table at which one seat's calls end in an error."""
    numbers = count(1)

    def line(request: Request) -> Line:
        task = request.task
        if (task.role, task.step) == (role, step) and lens in (None, task.lens):
            if not isinstance(error, DebateError):
                raise error
            return error  # type: ignore[return-value]
        return speech(request, next(numbers))

    return Scripted(line)


async def test_a_seat_that_fails_for_good_pauses_the_run_and_says_why(hall: Hall) -> None:
    words = "test/door answered 401: the key was revoked."
    error = AuthenticationFailed(words, "Set another key.", model="test/door", status=401)
    events, paid = list[Event](), Paid()
    with anyio.fail_after(5), pytest.raises(RunPaused) as paused:
        await hold(hall, plan_of(), failing(Role.DOOR, error), events.append, paid=paid)
    assert str(paused.value) == f"Door door-agent (R1.Door.1) could not be heard: {words} Set another key."
    assert events[-1] == Paused(code="paused", message=paused.value.message)
    debate = hall.debate(THREAD)
    assert (order(debate), debate.state.status) == ("WL", Status.ACTIVE)
    assert paid.unused == []


async def test_a_failed_sibling_takes_nothing_from_the_others(hall: Hall) -> None:
    """The seats before it are committed; what the others wrote is handed back."""
    lens = "failure, recovery and on-call load"
    model = failing(Role.WALL, AuthenticationFailed("no", model="x"), lens=lens, step="apply")
    paid = Paid()
    with anyio.fail_after(5), pytest.raises(RunPaused):
        await hold(hall, plan_of("fortress"), model, paid=paid)
    assert order(hall.debate(THREAD)) == "WL"
    kept = [(draft.seat.slot, draft.step) for draft in paid.unused]
    assert kept == [("R1.Wall.2", "checklist"), ("R1.Wall.3", "checklist"), ("R1.Wall.3", "apply")]


async def test_a_failed_checklist_pauses_the_run_after_wind_is_committed(hall: Hall) -> None:
    model = failing(Role.WALL, AuthenticationFailed("no", model="x"), step="checklist")
    with anyio.fail_after(5), pytest.raises(RunPaused, match=r"Wall wall-agent \(R1.Wall.1\) could not be heard: no"):
        await hold(hall, plan_of(), model)
    assert order(hall.debate(THREAD)) == "W"


async def test_a_failed_wind_keeps_the_checklists(hall: Hall) -> None:
    model = failing(Role.WIND, AuthenticationFailed("no", model="x"))
    paid = Paid()
    with anyio.fail_after(5), pytest.raises(RunPaused):
        await hold(hall, plan_of("fortress"), model, paid=paid)
    assert hall.debate(THREAD).turns == ()
    assert [draft.step for draft in paid.unused] == ["checklist"] * 3


async def test_a_bug_in_a_model_is_not_taken_for_a_failure(hall: Hall) -> None:
    with anyio.fail_after(5), pytest.raises(ExceptionGroup) as raised:
        await hold(hall, plan_of(), failing(Role.WIND, ZeroDivisionError("a bug")))
    assert raised.group_contains(ZeroDivisionError)


async def test_a_script_that_runs_dry_is_not_taken_for_a_failure(hall: Hall) -> None:
    with anyio.fail_after(5), pytest.raises(ScriptExhausted):
        await hold(hall, plan_of(), Scripted(["one line"]))


async def test_a_thread_that_exists_is_refused_before_any_call(hall: Hall) -> None:
    hall.init_debate(THREAD, "Another question.")
    model = voices()
    with anyio.fail_after(5), pytest.raises(ThreadExists):
        await hold(hall, plan_of(), model)
    assert model.requests == []


async def test_a_store_that_fails_in_the_middle_pauses_the_run_with_its_reason(hall: Hall, tmp_path: Path) -> None:
    def break_the_store(request: Request) -> None:
        if request.task.role is Role.DOOR:
            with closing(sqlite3.connect(tmp_path / "state" / FILE)) as db:
                db.execute("DROP TABLE texts")

    events, paid = list[Event](), Paid()
    with anyio.fail_after(5), pytest.raises(RunPaused) as paused:
        await hold(hall, plan_of(), voices(break_the_store), events.append, paid=paid)
    assert isinstance(paused.value.__cause__, StoreUnavailable)
    assert "cannot be used" in paused.value.message
    assert events[-1] == Paused(code="store_unavailable", message=paused.value.message)
    assert [draft.seat.slot for draft in paid.unused] == ["R1.Door.1"]


@pytest.mark.parametrize(
    "text", [pytest.param("\0", id="NUL"), pytest.param(" \n", id="blank"), pytest.param("x" * 262_145, id="too long")]
)
async def test_a_text_that_no_debate_accepts_is_sent_back_once_and_then_pauses_the_run_and_is_kept(
    hall: Hall, text: str
) -> None:
    numbers = count(1)
    model = Scripted(lambda request: text if request.task.role is Role.DOOR else speech(request, next(numbers)))
    events, paid = list[Event](), Paid()
    with anyio.fail_after(5), pytest.raises(RunPaused, match=r"R1\.Door\.1"):
        await hold(hall, plan_of(), model, events.append, paid=paid)
    assert order(hall.debate(THREAD)) == "WL"
    assert [draft.text for draft in paid.unused] == [text, text]
    assert [event.reason for event in events if isinstance(event, SentBack)] != []
    assert isinstance(events[-1], Paused)


# ------------------------------------------------------------------------------------------------------------ fallbacks


async def test_a_turn_that_a_fallback_wrote_says_so_on_the_ledger_and_in_the_events(hall: Hall) -> None:
    plan = plan_of(routes={Role.DOOR: ("test/first", "test/second")})
    numbers = count(1)

    def line(request: Request) -> Line:
        if request.model == "test/first":
            return AuthenticationFailed("no key", model="test/first")
        return priced(speech(request, next(numbers)), model=f"{request.model}-0102")

    events: list[Event] = []
    with anyio.fail_after(5):
        await hold(hall, plan, Scripted(line), events.append)
    seats = [turn.seat for turn in turns_of(hall.debate(THREAD)) if turn.seat]
    assert [(seat.asked, seat.route, seat.answered) for seat in seats] == [
        ("test/wind", None, "test/wind-0102"),
        ("test/wall", None, "test/wall-0102"),
        ("test/first", "test/second", "test/second-0102"),
    ]
    assert [(event.model, event.to, event.code) for event in events if isinstance(event, FellBack)] == [
        ("test/first", "test/second", "authentication")
    ] * 2  # for its turn, and for its account
    assert isinstance(events[-1], Closed)


async def test_a_run_pauses_with_the_words_of_the_last_route_when_every_route_fails(hall: Hall) -> None:
    plan = plan_of(routes={Role.WIND: ("test/first", "test/second")})
    errors = {"test/first": RateLimited("slow down", model="a"), "test/second": ServerFailed("broken", model="b")}
    model = Scripted(lambda request: errors.get(request.model) or speech(request, 1))
    with anyio.fail_after(5), pytest.raises(RunPaused, match="could not be heard: broken"):
        await hold(hall, plan, model)
    asked = [request.model for request in model.requests if request.task.role is Role.WIND]
    assert asked == ["test/first"] * 4 + ["test/second"] * 4
