"""Who holds a review says so, and stops when somebody else holds it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import anyio
import pytest
from offices import MONDAY

from hall.halls import HastyStore
from orchestrator.errors import LeaseLost, UsageError
from orchestrator.hall.folder import prepare
from orchestrator.hall.holder import Holder
from orchestrator.hall.review_desk import ReviewDesk
from orchestrator.hall.review_rows import ReviewClaim
from orchestrator.hall.store import Store
from orchestrator.review import attending
from orchestrator.review.attending import attended

pytestmark = pytest.mark.anyio


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = HastyStore(prepare(tmp_path / "state"))
    yield store
    store.close()


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attending, "BEAT_S", 0.001)


def desk_of(store: Store, pid: int) -> ReviewDesk:
    return ReviewDesk(store, lambda: MONDAY, Holder("a machine", pid))


def begun(desk: ReviewDesk) -> ReviewClaim:
    claim = desk.begin("weekly", "/reviews.yaml", MONDAY, None)
    assert claim is not None
    return claim


async def test_whoever_is_at_it_is_heard_of_and_gives_it_back(store: Store) -> None:
    heard = anyio.Event()

    class Desk(ReviewDesk):
        def attend(self, claim: ReviewClaim) -> None:
            super().attend(claim)
            anyio.from_thread.run_sync(heard.set)

    desk = Desk(store, lambda: MONDAY + timedelta(minutes=1), Holder("a machine", 1))
    claim = begun(desk_of(store, 1))

    async def work() -> str:
        await heard.wait()
        return store.reviews()[0].run.beat_at

    with anyio.fail_after(10):
        assert await attended(desk, claim, work) == "2026-03-16T08:01:00.000000Z"
    assert store.reviews()[0].run.released


async def test_what_another_process_has_taken_over_is_let_go_of_at_once(store: Store) -> None:
    mine, theirs = desk_of(store, 1), desk_of(store, 2)
    claim = begun(mine)

    async def work() -> None:
        assert theirs.take_over(store.reviews()[0])
        await anyio.sleep_forever()

    with anyio.fail_after(10), pytest.raises(LeaseLost, match="weekly"):
        await attended(mine, claim, work)
    assert not store.reviews()[0].run.released  # it is theirs


async def test_what_goes_wrong_is_told_as_it_is_and_the_review_given_back(store: Store) -> None:
    desk = desk_of(store, 1)

    async def work() -> None:
        raise UsageError("It cannot be.")

    with anyio.fail_after(10), pytest.raises(UsageError, match="It cannot be"):
        await attended(desk, begun(desk), work)
    assert store.reviews()[0].run.released
