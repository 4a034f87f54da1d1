"""Whether a call streams: what the models file says, and where it says nothing, who looks on and how that went."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from building import NO_WAITS, THREAD, TOPIC, hall_at, plan_of, priced, speech
from orchestrator.drafting import Drafting
from orchestrator.errors import AuthenticationFailed, BadRequest, ConnectionFailed, ModelError
from orchestrator.events import DraftDelta, Event, Retried
from orchestrator.models.base import Endpoint, Request, Usage
from orchestrator.models.scripted import Line, Scripted
from orchestrator.onlookers import Onlookers
from orchestrator.runner import run_debate


class Watched:
    """A debate in which a model that is heard says something on the way."""

    def __init__(self, look: bool, **endpoint: Any) -> None:
        self.onlookers, self._endpoint = Onlookers(look), Endpoint(**endpoint)
        self.asked: list[Request] = []
        self.told: list[Event] = []

    def hold(self, folder: Path, fails: ModelError | None = None, counts: bool = True) -> None:
        def line(request: Request) -> Line:
            self.asked.append(request)
            if request.hear is not None and fails is not None:
                raise fails
            if request.hear is not None:
                request.hear("What if\n")
            reply = priced(speech(request, len(self.asked)))
            uncounted = Usage(0, 0, 0, None)
            return reply if counts or request.hear is None else replace(reply, usage=uncounted)

        async def run() -> None:
            drafting = Drafting(lambda route: Scripted(line), self.told.append, NO_WAITS, onlookers=self.onlookers)
            with hall_at(folder) as hall, anyio.fail_after(10):
                await run_debate(hall, plan_of("speed", endpoint=self._endpoint), THREAD, TOPIC, drafting)

        anyio.run(run)

    @property
    def streamed(self) -> list[str]:
        return [request.task.step for request in self.asked if request.streams]


PROSE = ["turn", "checklist", "apply", "turn"]


@pytest.mark.parametrize(
    ("look", "stream", "streamed"),
    [
        (True, None, PROSE),
        (False, None, []),
        (True, False, []),
        (False, True, [*PROSE, "account"]),
    ],
)
def test_prose_streams_for_those_who_look_on_unless_the_models_file_says_no(
    look: bool, stream: bool | None, streamed: list[str], tmp_path: Path
) -> None:
    watched = Watched(look, stream=stream)
    watched.hold(tmp_path)
    assert watched.streamed == streamed
    assert len([event for event in watched.told if isinstance(event, DraftDelta)]) == len(streamed)


@pytest.mark.parametrize("kind", [BadRequest, ConnectionFailed])
def test_a_route_with_which_it_goes_wrong_is_asked_for_whole_answers_from_then_on(
    kind: type[ModelError], tmp_path: Path
) -> None:
    watched = Watched(True)
    watched.hold(tmp_path, kind("it does not stream", model="m"))
    failed = [(event.slot, event.step) for event in watched.told if isinstance(event, Retried)]
    assert failed == [("R1.Wind.1", "turn"), ("R1.Wall.1", "checklist"), ("R1.Door.1", "turn")]  # each route once
    assert watched.onlookers.whole == {"test/wind", "test/wall", "test/door"}


def test_a_route_that_does_not_count_what_it_streams_is_asked_for_whole_answers_from_then_on(tmp_path: Path) -> None:
    watched = Watched(True)
    watched.hold(tmp_path, counts=False)
    assert watched.streamed == ["turn", "checklist", "turn"]


def test_what_has_nothing_to_do_with_streams_changes_nothing() -> None:
    onlookers = Onlookers(True)
    request = Request("openai/a", (), plan_task(), 10, 10, hear=print)
    assert not onlookers.went_wrong(request, AuthenticationFailed("no key", model="openai/a"))
    assert onlookers.hear(request)


@pytest.mark.parametrize("route", ["cli/claude", "client", "rehearsal"])
def test_what_answers_in_one_piece_is_not_asked_for_more(route: str) -> None:
    assert not Onlookers(True).hear(Request(route, (), plan_task(), 10, 10))


def plan_task() -> Any:
    return None  # nothing of it is looked at
