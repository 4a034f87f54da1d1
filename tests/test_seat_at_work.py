"""A seat's way to its draft over several processes: what one heard, tried and mended is known to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from itertools import count
from pathlib import Path

import anyio
import pytest

from building import THREAD, hall_at, hold, plan_of, priced, record_of, resume, speech, turns_of, wordy
from orchestrator.errors import CutOff, EmptyReply, ModelError, RateLimited, RunPaused
from orchestrator.events import DraftFinished, Event, SentBack
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Role
from orchestrator.models.base import Reply, Request, Usage
from orchestrator.models.scripted import Line, Scripted

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
    assert run.spent == calls(charged + 3)
    (known,) = [event for event in events if isinstance(event, DraftFinished) and event.role == Role.WIND]
    assert (known.known, known.input) == (True, 0)  # an event counts what its process pays
    record = record_of(run)
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
    assert run.spent.input == 400 if play[0] is refused else 600


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
