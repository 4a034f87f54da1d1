"""One time of a review, held to its end, also where the power goes at any moment of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import anyio
import pytest
from offices import MONDAY, Speaker, commit, office_of, repository, reviews_of

from building import hall_at
from hall.halls import HastyStore
from orchestrator.errors import RunHeld, RunPaused, UsageError
from orchestrator.hall.folder import prepare
from orchestrator.hall.hall import Hall
from orchestrator.models.base import Request
from orchestrator.review.office import Ended, Office
from orchestrator.review.running import hold_review
from orchestrator.review.times import NotNow, Taken, enrol, take_by_hand, take_due

pytestmark = pytest.mark.anyio

TOPIC = 'topic: "Is billing still right on {date}, {range}, after: {decision}?"'
DEADLINE_S = 60


async def held(office: Office) -> Ended:
    taken = take_by_hand(office.desk, office.file.reviews[0], office.file.path, office.now())
    assert isinstance(taken, Taken)
    with anyio.fail_after(DEADLINE_S):
        return await hold_review(office, office.file.reviews[0], taken)


async def test_the_topic_names_the_day_of_its_time_zone_the_commits_and_the_decision_before(tmp_path: Path) -> None:
    place = repository(tmp_path / "repo")
    first = commit(place)
    with hall_at(tmp_path / "state") as hall:
        office = office_of(hall, reviews_of(place, TOPIC, "context: docs"), Speaker())
        await held(office)
        second = commit(place, billing="# Billing\n\nBilling is a service.\n")
        late = office_of(hall, office.file.path, Speaker(), lambda: MONDAY + timedelta(hours=15, minutes=30))
        await held(late)
        topics = [hall.debate(str(row.notes.thread_id)).opening.words for row in hall.reviews.rows("weekly")]
    assert topics[0].splitlines()[0] == f"Is billing still right on 2026-03-16, {first[:12]}, after: none so far?"
    range_ = f"{first[:12]}..{second[:12]}"
    assert topics[1] == f"Is billing still right on 2026-03-17, {range_}, after: What was decided?"


async def test_a_decision_goes_among_the_records_and_a_folder_that_cannot_take_it_undoes_no_debate(
    tmp_path: Path,
) -> None:
    place = repository(tmp_path / "repo")

    def hears(request: Request) -> None:
        if request.task.step == "account":
            (place / "adr").rmdir()

    with hall_at(tmp_path / "state") as hall:
        office = office_of(hall, reviews_of(place, TOPIC, "adr: adr"), Speaker(hears))
        ended = await held(office)
        assert ended.outcome == "decided"
        assert len(ended.problems) == 1
        assert "is no folder of decision records" in ended.problems[0]
        (place / "adr").mkdir()
        again = office_of(hall, office.file.path, Speaker())
        ended = await held(again)
        assert ended.debated is not None
        assert [file.parent for file in ended.debated.files] == [place / "adr"]
        assert ended.problems == ()


async def test_a_debate_that_stops_can_be_gone_on_with_and_a_limit_that_was_raised_is_taken_up(tmp_path: Path) -> None:
    place = repository(tmp_path / "repo")
    with hall_at(tmp_path / "state") as hall:
        office = office_of(hall, reviews_of(place, TOPIC, "limits: {tokens: 100}"), Speaker())
        with pytest.raises(RunPaused):
            await held(office)
        (row,) = hall.reviews.rows("weekly")
        assert (row.is_over, row.run.released) == (False, True)
        raised = office_of(hall, reviews_of(place, TOPIC, "limits: {tokens: 1000000}"), Speaker())
        ended = await held(raised)
        assert ended.debated is not None
        assert ended.debated.run.debate.state.thread_id == row.notes.thread_id
        assert len(hall.list_debates()) == 1


async def test_what_cannot_be_held_ends_its_time_and_keeps_nothing_else_from_being_held(tmp_path: Path) -> None:
    place = repository(tmp_path / "repo")
    with hall_at(tmp_path / "state") as hall:
        office = office_of(hall, reviews_of(place, TOPIC, "context: gone"), Speaker())
        with pytest.raises(UsageError, match="gone"):
            await held(office)
        assert [row.notes.outcome for row in hall.reviews.rows()] == ["failed"]
        assert (await held(office_of(hall, reviews_of(place, TOPIC), Speaker()))).outcome == "decided"


async def test_a_due_time_of_which_nothing_can_be_begun_stays_due_until_the_next_one(tmp_path: Path) -> None:
    """A file is missing at that moment, say, or a secret is not set yet."""
    place = repository(tmp_path / "repo")

    async def asked(hall: Hall, after: timedelta) -> Ended | NotNow:
        keys = (TOPIC, "context: docs/late.md", "overlap: after")  # the hall's own clock is another
        office = office_of(hall, reviews_of(place, *keys), Speaker(), lambda: MONDAY + after)
        taken = take_due(office.desk, office.file.reviews[0], office.file.path, office.now())
        if isinstance(taken, NotNow):
            return taken
        with anyio.fail_after(DEADLINE_S):
            return await hold_review(office, office.file.reviews[0], taken)

    def times(hall: Hall) -> list[tuple[str, str | None]]:
        return [(row.due_at[:10], row.notes.outcome) for row in hall.reviews.rows("weekly")][1:]

    with hall_at(tmp_path / "state") as hall:
        before = office_of(hall, reviews_of(place, TOPIC), Speaker())
        enrol(before.desk, before.file.reviews[0], before.file.path, MONDAY - timedelta(days=1))
        for after in (timedelta(), timedelta(hours=1), timedelta(days=7)):
            with pytest.raises(UsageError, match=r"late\.md"):
                await asked(hall, after)
        assert times(hall) == [("2026-03-16", "stopped"), ("2026-03-23", None)]
        assert "late.md" in str(hall.reviews.rows("weekly")[1].notes.why)
        commit(place, late="# Late\n")
        ended = await asked(hall, timedelta(days=7, hours=1))
        assert isinstance(ended, Ended)
        assert ended.why == "It is always debated."
        assert times(hall) == [("2026-03-16", "stopped"), ("2026-03-23", "decided")]
        assert isinstance(await asked(hall, timedelta(days=7, hours=2)), NotNow)


@pytest.mark.parametrize("meets", ["somebody else", "no model"])
async def test_an_open_debate_is_not_given_up_for_what_keeps_it_from_being_gone_on_with(
    tmp_path: Path, meets: str
) -> None:
    """A person resumes it at the same time, or the models that it was begun with cannot be asked for now."""
    place = repository(tmp_path / "repo")
    with hall_at(tmp_path / "state") as hall:
        office = office_of(hall, reviews_of(place, TOPIC, "limits: {tokens: 100}"), Speaker())
        with pytest.raises(RunPaused):
            await held(office)
        (row,) = hall.reviews.rows("weekly")
        raised = office_of(hall, reviews_of(place, TOPIC, "limits: {tokens: 1000000}"), Speaker())
        if meets == "somebody else":
            lease = hall.runs.begin(str(row.notes.thread_id))
            with pytest.raises(RunHeld):
                await held(raised)
            hall.runs.release(lease)
        else:
            with pytest.raises(UsageError):
                await held(replace(raised, client=None))
        assert [row.is_over for row in hall.reviews.rows("weekly")] == [False]
        ended = await held(raised)
        assert (ended.outcome, len(hall.list_debates())) == ("decided", 1)


class PowerCut(BaseException):
    """The machine is gone: nothing handles that."""


class Unplugged(HastyStore):
    """A store that takes so many writes, and from then on none: the one that was on its way may have arrived or not."""

    def __init__(self, folder: Path, writes: int, *, arrives: bool) -> None:
        self.writes, self._arrives = writes, arrives
        super().__init__(folder)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self.writes -= 1
        if self.writes < 0 or (self.writes == 0 and not self._arrives):
            raise PowerCut
        with super()._transaction() as db:
            yield db
        if self.writes == 0:
            raise PowerCut


async def cut_and_gone_on_with(folder: Path, writes: int, *, arrives: bool) -> bool:
    """Holds a review until the power goes, then once more; returns whether it went."""
    place = repository(folder / "repo")
    file, speaker = reviews_of(place, TOPIC, "context: docs", "adr: adr"), Speaker()
    store = Unplugged(prepare(folder / "state"), writes, arrives=arrives)
    went = False
    with Hall(store, clock=lambda: MONDAY) as hall:
        try:
            await held(office_of(hall, file, speaker))
        except BaseExceptionGroup as group:
            went = group.subgroup(PowerCut) is not None
        except PowerCut:
            went = True
    later = MONDAY + timedelta(minutes=1)  # whoever held it has not been heard of since
    with Hall(HastyStore(prepare(folder / "state")), clock=lambda: later) as hall:
        if went and (rows := hall.reviews.rows("weekly")) and not rows[-1].is_over:
            await held(office_of(hall, file, speaker))
        rows, debates = hall.reviews.rows("weekly"), hall.list_debates()
        if not rows:  # it was not even taken up
            assert (debates, speaker.asked) == ([], [])
            return went
        assert [row.notes.outcome for row in rows] == ["decided"]
        assert [debate["thread_id"] for debate in debates] == [rows[0].notes.thread_id]
        hall.verify_debate(debates[0]["thread_id"])
    assert len(list((place / "adr").glob("*.md"))) == 1
    assert len(speaker.asked) <= 5 + 2  # a speed debate's calls, and those that were in flight
    return went


@pytest.mark.parametrize("arrives", [True, False])
@pytest.mark.parametrize("writes", [1, 2, 3, 4, 9])
async def test_whenever_the_power_goes_one_debate_is_held_to_its_end(
    tmp_path: Path, writes: int, arrives: bool
) -> None:
    assert await cut_and_gone_on_with(tmp_path, writes, arrives=arrives)


@pytest.mark.slow
async def test_at_no_moment_at_which_the_power_can_go_a_second_debate_is_begun(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    writes = 4
    while await cut_and_gone_on_with(tmp_path_factory.mktemp("cut"), writes, arrives=True):
        writes += 1
    assert writes > 20
