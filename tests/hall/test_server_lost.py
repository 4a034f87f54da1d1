"""A PostgreSQL server of the test's own is stopped, killed and frozen in the middle of commits.

What was acknowledged is there, nothing is there twice, and the same process goes on once the server is back.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Event, Timer

import pytest
from threads import RECORDS, add, begin, hold, sealed, speak

from orchestrator.errors import StoreUnavailable
from orchestrator.hall import ledger, postgres_schema
from orchestrator.hall.entries import Note
from orchestrator.hall.ledger import Standing
from orchestrator.hall.store import Store
from orchestrator.hall.store_place import migrate, open_store
from postgres import needs_postgres
from postgres_cluster import PASSWORD, Cluster, cluster, program

pytestmark = [
    pytest.mark.slow,
    needs_postgres,
    pytest.mark.skipif(program("initdb") is None, reason="there is no initdb to make a server with"),
]


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    with cluster() as running:
        migrate(running.address())
        yield running


@pytest.fixture
def store(server: Cluster) -> Iterator[Store]:
    with closing(open_store(server.address())) as store:
        yield store


def test_a_wrong_password_is_said_and_neither_it_nor_the_right_one_is_told(server: Cluster) -> None:
    with pytest.raises(
        StoreUnavailable, match=r"password authentication failed.* Set the password: in ~/\.pgpass"
    ) as no:
        open_store(server.address("Wr0ng-one"))
    assert "Wr0ng" not in str(no.value)
    assert PASSWORD not in str(no.value)


def write_until(store: Store, opening: Standing, enough: Event, acknowledged: list[Standing]) -> None:
    """Commits notes; of one whose commit failed it asks the ledger whether it is there, as a run that goes on does."""
    standing: Standing | None = opening
    while not enough.is_set():
        try:
            if standing is None:
                standing = store.standing(opening.state.thread_id)
            note = Note(digest="", about="remark", by="x")
            standing = add(store, standing, sealed(standing.state.thread_id, standing, note, f"{standing.state.seq}"))
            acknowledged.append(standing)
        except StoreUnavailable:
            standing = None


OUTAGES_S = (0.5, 3.0)
LOSSES: dict[str, Callable[[Cluster], None]] = {
    "stopped": Cluster.stop,
    "killed": Cluster.kill,
}


@pytest.mark.parametrize("lose", LOSSES.values(), ids=LOSSES)
def test_a_server_that_is_away_for_a_while_loses_nothing_that_was_acknowledged(
    server: Cluster, store: Store, lose: Callable[[Cluster], None]
) -> None:
    names = [f"{lose.__name__}-{number}" for number in range(4)]
    openings = [begin(store, name) for name in names]
    enough, told = Event(), [list[Standing]() for _ in names]
    with ThreadPoolExecutor(4) as pool:
        writing = [
            pool.submit(write_until, store, opening, enough, kept) for opening, kept in zip(openings, told, strict=True)
        ]
        try:
            for away_s in OUTAGES_S:
                _await_more(told)
                lose(server)
                back = Timer(away_s, server.start)
                back.start()
                back.join()
                _await_more(told)
        finally:
            enough.set()
        for written in writing:
            written.result(60)
    for name, kept in zip(names, told, strict=True):
        debate = ledger.verify(store.thread(name))
        hashes = [line.hash for line in debate.lines]
        heads = list(dict.fromkeys(standing.head for standing in kept))
        assert [head for head in heads if head not in hashes] == [], "acknowledged, and not there"
        assert [line.text for line in debate.lines[1:]] == [f"{seq}" for seq in range(len(hashes) - 1)]
        assert len(hashes) - 1 - len(heads) <= 2 * len(OUTAGES_S), "there, and not acknowledged"


def test_a_server_that_stays_away_is_waited_for_no_longer_than_a_locked_file(
    server: Cluster, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_schema, "PATIENCE_S", 1.5)
    opening = begin(store, "waits")
    lease = hold(store, "waits")
    server.stop()
    try:
        for use in (
            lambda: speak(store, opening, "never"),
            lambda: store.keep(lease, RECORDS),
            lambda: store.attend(lease, "10"),
            lambda: open_store(server.address()),
        ):
            with pytest.raises(StoreUnavailable, match=r"Connection refused\. See that the server runs"):
                use()
    finally:
        server.start()
    store.keep(lease, RECORDS)
    assert speak(store, opening, "now") == store.standing("waits")


def test_a_frozen_server_keeps_a_commit_waiting_and_makes_it_once(server: Cluster, store: Store) -> None:
    opening = begin(store, "frozen")
    server.signal(signal.SIGSTOP)
    try:
        with ThreadPoolExecutor(1) as pool:
            committing = pool.submit(speak, store, opening, "one", "two")
            assert not Event().wait(0.5)
            assert not committing.done()
            server.signal(signal.SIGCONT)
            after = committing.result(30)
    finally:
        server.signal(signal.SIGCONT)
    assert [line.text for line in store.thread("frozen").lines] == ["topic", "one", "two"]
    assert store.standing("frozen") == after


def _await_more(told: list[list[Standing]]) -> None:
    """Waits until each writer has got further by a few commits."""
    enough = [len(kept) + 5 for kept in told]
    for _ in range(6000):
        if all(len(kept) >= least for kept, least in zip(told, enough, strict=True)):
            return
        Event().wait(0.01)
    raise AssertionError("nobody gets any further")
