"""A question whose process is killed at any write, or beside its call, is answered by the next one, nothing twice."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Iterator

import pytest
from stage import Stage

from building import THREAD
from endpoint import ModelServer

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kills-of-answers")]

DEBATE = ("--recipe", "speed", "--models", "./here.yaml", "--thread-id", THREAD, "--quiet", "Kafka?")
# Before and after each transaction and call: begun, asked, heard; the turn, the close.
PLACES = {"create": 2, "begin_run": 2, "keep": 2 * 3, "call": 2, "append": 2 * 2, "release_run": 2}
HEARD = 12  # at this place the reply is kept


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A debate that was held; each test asks a question of its own."""
    with ModelServer(deadline_s=60) as server:
        stage = Stage(tmp_path_factory.mktemp("held"), server)
        assert stage.run(*DEBATE).code == 0
        yield stage
        stage.clear()


def test_an_answer_passes_every_place_at_which_it_is_killed_below(held: Stage) -> None:
    tally = held.folder / "tally.json"
    assert held.run("ask", THREAD, "Why?", "--json", tally=str(tally)).code == 0
    passed = json.loads(tally.read_text())
    assert Counter(place.split()[1] for place in passed) == PLACES
    assert passed[HEARD - 3 : HEARD] == ["after call", "before keep", "after keep"]


@pytest.mark.parametrize("place", range(2, sum(PLACES.values()) + 1, 2))
def test_a_question_whose_process_is_killed_is_answered_by_the_next(place: int, held: Stage) -> None:
    with held.hall() as hall:
        before, threads = hall.export_debate(THREAD), len(hall.list_debates())
    held.server.calls.clear()
    question = ("ask", THREAD, f"Why, at place {place}?", "--json")
    killed = held.run(*question, at=place)
    assert killed.code == -signal.SIGKILL, killed.told
    last = held.run(*question)
    assert last.code == 0, last.told
    with held.hall() as hall:
        assert hall.export_debate(THREAD) == before
        assert len(hall.list_debates()) == threads + 1
        answer = hall.debate(last.outcome["thread_id"])
    assert [line.text for line in answer.turns] == [last.outcome["answer"]]
    assert answer.state.status == "synthesis"
    bought_again = place in range(HEARD - 3, HEARD)  # it was answered, and nobody kept that
    assert len(held.server.calls) == 1 + bought_again
    assert len(last.outcome["uncertain"]) == (place in range(HEARD - 5, HEARD))
