"""A seat's way to its draft over several processes: what one heard, tried and mended is known to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from itertools import count, takewhile
from pathlib import Path

import anyio
import pytest

from building import THREAD, evidence_of, hall_at, hold, plan_of, priced, resume, speech, turns_of, wordy
from orchestrator.decision.record import record_of
from orchestrator.errors import ContextTooLong, CutOff, EmptyReply, ModelError, RateLimited, RunPaused
from orchestrator.events import DraftFinished, Event, SentBack, Summarised
from orchestrator.hall.hall import Hall
from orchestrator.hall.journal import Intent
from orchestrator.hall.terms import Role
from orchestrator.models.base import Endpoint, Reply, Request, Usage
from orchestrator.models.scripted import Line, Scripted
from orchestrator.plan import Plan

pytestmark = pytest.mark.anyio


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    with hall_at(tmp_path / "state") as hall:
        yield hall


def calls(number: int) -> Usage:
    """What so many calls of `priced` take."""
    return Usage(100 * number, 40 * number, 10 * number, Decimal("0.01") * number)


USELESS_USAGE = priced("").usage
REFUSAL = "I'm sorry, but I can't help with that."


def refused(request: Request) -> Line:
    return RateLimited("slow down", model=request.model)


def cut_off(request: Request) -> Line:
    return CutOff("cut off", model=request.model, usage=USELESS_USAGE, text="What if we")


def empty(request: Request) -> Line:
    return EmptyReply("empty", model=request.model, usage=USELESS_USAGE)


def degenerate(request: Request) -> Line:
    return priced(REFUSAL)


def good(request: Request) -> Line:
    return priced(wordy("What if we moved one table?"), model="the one that answered")


Play = Sequence[Callable[[Request], Line]]


class Played:
    """One seat's calls at a step bring what is played; the others of its batch hang, and then the process is cancelled.

    Args:
        first: whether a request is that seat's.
        beside: whether it is one of the others.
    """

    def __init__(self, play: Play, first: Callable[[Request], bool], beside: Callable[[Request], bool]) -> None:
        self.left, self.first, self.beside = list(play), first, beside
        self.asked, self.over, self.scope = list[Request](), anyio.Event(), anyio.CancelScope()

    async def complete(self, request: Request) -> Reply:
        if self.first(request):
            line = self.left.pop(0)(request)
            if not self.left:
                self.over.set()
        elif self.beside(request):
            await self.over.wait()
            self.scope.cancel()
            await anyio.sleep_forever()
        else:
            line = priced(speech(request, 1))
        self.asked.append(request)
        if isinstance(line, Reply):
            return line
        assert isinstance(line, ModelError)
        raise line


def is_wind(request: Request) -> bool:
    return request.task.role is Role.WIND


def is_wall(request: Request) -> bool:
    return request.task.role is Role.WALL


TWO_ROUTES = {Role.WIND: ("test/a", "test/b")}
PLAYS: list[tuple[Play, tuple[str, ...], int]] = [
    ((degenerate, good), ("test/a: degenerate",), 2),
    ((cut_off, good), ("test/a: cut_off",), 2),
    ((empty, good), ("test/a: empty",), 2),
    ((refused, good), ("test/a: rate_limited",), 1),
    ((refused, degenerate, refused, good), ("test/a: rate_limited", "test/a: degenerate", "test/a: rate_limited"), 2),
    ((degenerate, degenerate, good), ("test/a: degenerate", "test/a: degenerate"), 3),
    ((cut_off, empty, degenerate, good), ("test/a: cut_off", "test/a: empty", "test/b: degenerate"), 4),
]


@pytest.mark.parametrize(("play", "tried", "charged"), PLAYS, ids=lambda value: "" if isinstance(value, int) else None)
async def test_a_draft_that_was_mended_or_came_from_another_route_is_known_with_all_that_it_took(
    hall: Hall, play: Play, tried: tuple[str, ...], charged: int
) -> None:
    first, events = Played(play, is_wind, is_wall), list[Event]()
    with anyio.fail_after(10):
        with first.scope:
            await hold(hall, plan_of(routes=TWO_ROUTES), first)
        assert hall.debate(THREAD).turns == ()
        model = Scripted(lambda request: priced(speech(request, 1)))
        run = await resume(hall, model, events.append)
    assert Role.WIND not in {request.task.role for request in model.requests}
    wind = turns_of(run.debate)[0].seat
    assert wind is not None
    assert (wind.answered, set(wind.tried or ())) == ("the one that answered", set(tried))
    assert sorted(wind.tried or ()) == sorted(tried)
    assert (wind.input, wind.cost) == (100 * charged, format(Decimal("0.01") * charged, "f"))
    assert run.spent == calls(charged + 4)  # with the checklist, Wall, Door, and Door's account
    (known,) = [event for event in events if isinstance(event, DraftFinished) and event.role == Role.WIND]
    assert (known.known, known.input) == (True, 0)  # an event counts what its process pays
    record = record_of(run.debate)
    assert [attempts.turn for attempts in record.attempts] == [1]
    assert [(one.route, one.why) for one in record.substitutions] == (
        [("test/b", wind.tried)] if len({route[:6] for route in tried}) > 1 or charged == 3 else []
    )


@pytest.mark.parametrize("play", [(refused,) * 4, (degenerate,) * 2, (cut_off, empty)], ids=["refused", "", "useless"])
async def test_a_seat_that_failed_is_asked_anew_and_its_turn_says_what_was_tried_before(hall: Hall, play: Play) -> None:
    plays, numbers = list(play), count(1)

    def line(request: Request) -> Line:
        return plays.pop(0)(request) if request.task.role is Role.WIND else priced(speech(request, next(numbers)))

    with anyio.fail_after(10):
        with pytest.raises(RunPaused, match=r"R1\.Wind\.1"):
            await hold(hall, plan_of(), Scripted(line))
        model = Scripted(lambda request: priced(speech(request, 9)))
        run = await resume(hall, model)
    winds = [request for request in model.requests if request.task.role is Role.WIND]
    assert len(winds) == 1
    assert len(winds[0].messages) == 3  # the question itself, not the one that was sent back
    seat = turns_of(run.debate)[0].seat
    assert seat is not None
    assert len(seat.tried or ()) == len(play)
    assert seat.input == (100 if play[0] is refused else 300)
    assert run.spent.input == (500 if play[0] is refused else 700)


async def test_a_second_try_for_what_a_wall_lacks_is_known_too(hall: Hall) -> None:
    """Wall's first turn quotes nobody; what it wrote when it was sent back was paid for when the process died."""

    def applies(request: Request) -> bool:
        return request.task.step == "apply"

    def is_first(request: Request) -> bool:
        return applies(request) and request.task.lens == "attack surface and trust boundaries"

    def quoting(request: Request) -> Line:
        return priced(speech(request, 7))

    first = Played((lambda request: priced(wordy("VERDICT: APPROVED.", of="euros")), quoting), is_first, applies)
    events = list[Event]()
    with anyio.fail_after(10):
        with first.scope:
            await hold(hall, plan_of("fortress"), first)
        model = Scripted(lambda request: priced(speech(request, 9)))
        run = await resume(hall, model, events.append)
    assert not [request for request in model.requests if is_first(request) and request.task.round == 1]
    assert "draft 7 of" in (run.debate.turns[1].text or "")
    (sent_back,) = [event for event in events if isinstance(event, SentBack)]  # what is known is judged as if it came
    assert (sent_back.slot, sent_back.step) == ("R1.Wall.1", "apply")
    wall = turns_of(run.debate)[1].seat
    assert wall is not None
    assert wall.input == 300  # the checklist, the turn, and the second try


# --------------------------------------------------------------------------------------------- replies that are no turn


async def test_a_reply_that_is_no_turn_is_sent_back_once_then_the_next_route_is_asked_then_the_seat_has_failed(
    hall: Hall,
) -> None:
    model, events = Scripted(lambda request: priced(REFUSAL, model=request.model)), list[Event]()
    with anyio.fail_after(10), pytest.raises(RunPaused, match="declines to take part"):
        await hold(hall, plan_of(routes=TWO_ROUTES), model, events.append)
    winds = [(request.model, len(request.messages)) for request in model.requests if is_wind(request)]
    assert winds == [("test/a", 3), ("test/a", 5), ("test/b", 3), ("test/b", 5)]
    assert [event.type for event in events if getattr(event, "role", "") == Role.WIND] == [
        *("draft_started", "sent_back", "fell_back", "draft_started", "sent_back", "draft_failed"),
    ]


async def test_a_reply_of_the_same_process_that_was_no_turn_counts_once_though_another_route_answers(
    hall: Hall,
) -> None:
    play = [degenerate, degenerate, good]
    model = Scripted(lambda request: play.pop(0)(request) if is_wind(request) else priced(speech(request, 1)))
    with anyio.fail_after(10):
        run = await hold(hall, plan_of(routes=TWO_ROUTES), model)
    seat = turns_of(run.debate)[0].seat
    assert seat is not None
    assert (seat.tried, seat.input) == (("test/a: degenerate",) * 2, 300)
    assert run.spent == calls(7)


# ------------------------------------------------------------------------------------------- requests that are too long

TOO_LONG_AT = 7  # messages: protocol, topic, four turns, and the seat's own


def reads(*small: str) -> Callable[[Request], Line]:
    """Voices; the routes that are named read no request of so many messages."""

    def line(request: Request) -> Line:
        if request.model in small and len(request.messages) >= TOO_LONG_AT:
            return ContextTooLong("prompt is too long", "Attach less.", model=request.model)
        return priced(speech(request, 1), model=request.model)

    return line


def two_rounds(windows: dict[str, int], door: Sequence[str]) -> Plan:
    """STANDARD's first two rounds; Door's second prompt is too long for most."""
    plan = plan_of("standard", turns=6, routes={Role.DOOR: door})
    return plan.model_copy(
        update={"endpoints": {name: Endpoint(context_tokens=size) for name, size in windows.items()}}
    )


async def test_a_request_that_is_too_long_goes_to_the_next_route_that_reads_more(hall: Hall) -> None:
    """Of the fallbacks one reads less, one as much, one more, and of one nobody knows."""
    routes = ["test/8k", "test/4k", "test/8k-too", "test/32k", "test/unknown"]
    plan = two_rounds({"test/8k": 8000, "test/4k": 4000, "test/8k-too": 8000, "test/32k": 32_000}, routes)
    model, events = Scripted(reads("test/8k")), list[Event]()
    with anyio.fail_after(10):
        run = await hold(hall, plan, model, events.append)
    doors = [request.model for request in model.requests if request.task.role is Role.DOOR]
    assert doors == ["test/8k", "test/8k", "test/32k", "test/8k", "test/32k"]
    record = record_of(run.debate)
    assert [(one.slot, one.route, one.why) for one in record.substitutions] == [
        (slot, "test/32k", ("test/8k: context_too_long",)) for slot in ("R2.Door.1", "R2.Door.account")
    ]
    assert not [event for event in events if isinstance(event, Summarised)]


async def test_a_route_of_unknown_size_may_read_more(hall: Hall) -> None:
    model = Scripted(reads("test/8k"))
    with anyio.fail_after(10):
        await hold(hall, two_rounds({"test/8k": 8000}, ["test/8k", "test/unknown"]), model)
    assert [request.model for request in model.requests][-4:] == ["test/8k", "test/unknown"] * 2  # turn and account


async def test_where_every_window_is_too_small_the_oldest_turns_are_summarised_for_that_seat_alone(
    hall: Hall, tmp_path: Path
) -> None:
    model, events = Scripted(reads("test/8k")), list[Event]()
    other = Scripted(reads())
    plan = two_rounds({"test/8k": 8000}, ["test/8k"])
    with anyio.fail_after(10):
        run = await hold(hall, plan, model, events.append)
        with hall_at(tmp_path / "other") as untouched:
            await hold(untouched, plan, other)
    *before, too_long, summary, again = before_the_account(model)
    assert before == before_the_account(other)[:-1]  # nobody else saw another prompt
    assert (summary.task.step, summary.max_output_tokens) == ("summary", 2000)
    assert "T1: Wind" in summary.messages[-1].text
    assert "T3: Door" in summary.messages[-1].text
    assert "T4: Wind" not in summary.messages[-1].text
    assert [message.text for message in again.messages[:2]] == [message.text for message in too_long.messages[:2]]
    assert "a summary of T1 to T3, made for you" in again.messages[2].text
    assert again.messages[3:] == too_long.messages[5:]
    told = [(event.slot, event.turns) for event in events if isinstance(event, Summarised)]
    assert told == [("R2.Door.1", 3), ("R2.Door.account", 3), ("R2.Door.account", 5)]  # there is one turn more by then
    seat = turns_of(run.debate)[-1].seat
    assert seat is not None
    assert (seat.summarised, seat.input, seat.tried) == (3, 200, ("test/8k: context_too_long",))
    assert [text for text in record_of(run.debate).warnings if "summary" in text] == [
        "T6 (Door, door-agent): its model could not read all turns; of T1 to T3 it read a summary.",
        "R2.Door.account (Door, door-agent): its model could not read all turns; of T1 to T5 it read a summary.",
    ]
    account = [request.task.step for request in model.requests[len(before) + 3 :]]
    assert account == ["account", "summary", "account", "summary", "account"]
    assert record_of(run.debate).summary == "It is done step by step."
    assert run.spent == calls(len(model.requests) - 3)  # those that were too long brought nothing


def before_the_account(model: Scripted) -> list[Request]:
    return list(takewhile(lambda request: request.task.step != "account", model.requests))


async def test_more_is_summarised_where_half_is_not_enough_and_no_more_than_that(hall: Hall) -> None:
    table = reads()

    def line(request: Request) -> Line:
        last = request.task.role is Role.DOOR and request.task.round == 2 and request.task.step == "turn"
        enough = "a summary of T1 to T4" in request.messages[2].text
        too_long = ContextTooLong("prompt is too long", "Attach less.", model=request.model)
        return too_long if last and not enough else table(request)

    model, events = Scripted(line), list[Event]()
    with anyio.fail_after(10):
        run = await hold(hall, two_rounds({}, ["test/door"]), model, events.append)
    assert [event.turns for event in events if isinstance(event, Summarised)] == [3, 4]
    seat = turns_of(run.debate)[-1].seat
    assert seat is not None
    assert (seat.summarised, seat.input, seat.tried) == (4, 300, ("test/door: context_too_long",) * 2)


async def test_a_request_that_is_too_long_with_one_turn_left_pauses_the_run_with_the_cure(hall: Hall) -> None:
    def line(request: Request) -> Line:
        last = request.task.role is Role.DOOR and request.task.round == 2 and request.task.step == "turn"
        too_long = ContextTooLong("prompt is too long", "Attach less.", model=request.model)
        return too_long if last else priced(speech(request, 1))

    model = Scripted(line)
    with anyio.fail_after(10), pytest.raises(RunPaused, match=r"R2\.Door\.1.*prompt is too long") as paused:
        await hold(hall, two_rounds({}, ["test/door"]), model)
    assert paused.value.cure == "Attach less."
    assert [request.task.step for request in model.requests[-5:]] == ["turn", "summary", "turn", "summary", "turn"]


async def test_evidence_that_is_too_long_cannot_be_summarised_and_pauses_the_run(hall: Hall) -> None:
    model = Scripted(lambda request: ContextTooLong("prompt is too long", "Attach less.", model=request.model))
    with anyio.fail_after(10), pytest.raises(RunPaused, match="prompt is too long"):
        await hold(hall, plan_of(evidence=[evidence_of()]), model)
    assert {request.task.step for request in model.requests} == {"turn", "checklist"}
    assert len(model.requests) == 2


async def test_a_summary_that_was_paid_for_is_not_bought_again(hall: Hall) -> None:
    scope, table = anyio.CancelScope(), reads("test/8k")

    class DyingAfterTheSummary:
        async def complete(self, request: Request) -> Reply:
            if "a summary of" in request.messages[2].text:
                scope.cancel()
                await anyio.sleep_forever()
            line = table(request)
            if isinstance(line, Reply):
                return line
            assert isinstance(line, ModelError)
            raise line

    plan = two_rounds({"test/8k": 8000}, ["test/8k"])
    with anyio.fail_after(10):
        with scope:
            await hold(hall, plan, DyingAfterTheSummary())
        model = Scripted(table)
        run = await resume(hall, model)
    steps = [request.task.step for request in before_the_account(model)]
    assert steps == ["turn", "turn"]  # too long, and with its summary
    intents = [line.record for line in hall.journal(THREAD) if isinstance(line.record, Intent)]
    assert [intent.step for intent in intents if intent.slot == "R2.Door.1"].count("summary") == 1
    seat = turns_of(run.debate)[-1].seat
    assert seat is not None
    assert (seat.summarised, seat.input) == (3, 200)
