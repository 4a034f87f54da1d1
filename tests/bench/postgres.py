"""The hall on PostgreSQL, against itself and against SQLite on the same disk: commits, how they grow, and searches."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from time import perf_counter

from bench.commit import growth
from bench.row import Row
from bench.search import searches
from bench.threads import CONTENT, filled
from orchestrator.errors import StaleHead
from orchestrator.hall.hall import Hall
from orchestrator.hall.store_place import migrate, open_store
from postgres import DATABASE, fresh_schema

WRITERS, COMMITS = 8, 1_000


def measure() -> Iterator[Row]:
    assert DATABASE, "DEBATE_HALL_TEST_POSTGRES names the server"
    with _durable() as address, Hall.open(address) as hall:
        yield _on_postgres(growth(hall))
    with _durable() as address, closing(open_store(address)) as store:
        yield from map(_on_postgres, searches(store))
    yield from _throughput()


def _on_postgres(row: Row) -> Row:
    return row._replace(what=f"PostgreSQL: {row.what}")


@contextmanager
def _durable() -> Iterator[str]:
    """The address of an empty hall each of whose commits is on the disk."""
    with fresh_schema() as schema:
        address = f"{DATABASE}{'&' if '?' in DATABASE else '?'}schema={schema}"
        migrate(address)
        yield address


def _throughput() -> Iterator[Row]:
    with ExitStack() as stack:
        halls = {
            "SQLite": Hall.open(stack.enter_context(tempfile.TemporaryDirectory())),
            "PostgreSQL": Hall.open(stack.enter_context(_durable())),
        }
        for hall in halls.values():
            stack.enter_context(hall)
        for name, work in (("one writer", _one), ("8 writers on 8 threads", _apart), ("8 writers on one", _together)):
            rates = {kind: COMMITS / _seconds(partial(work, hall)) for kind, hall in halls.items()}
            detail = ", ".join(f"{kind} {rate:,.0f} commits a second" for kind, rate in rates.items())
            yield Row(
                f"{name}: commits on SQLite over those on PostgreSQL",
                rates["SQLite"] / rates["PostgreSQL"],
                None,
                detail,
            )


def _one(hall: Hall) -> None:
    roles = filled(hall, "one", 0)
    for _ in range(COMMITS):
        hall.add_turn("one", next(roles), CONTENT)


def _apart(hall: Hall) -> None:
    def write(number: int) -> None:
        roles = filled(hall, f"apart-{number}", 0)
        for _ in range(COMMITS // WRITERS):
            hall.add_turn(f"apart-{number}", next(roles), CONTENT)

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, range(WRITERS)))


def _together(hall: Hall) -> None:
    """Each takes whatever turn comes next, and asks again where another was faster."""
    filled(hall, "together", 0)

    def write(_: int) -> None:
        for _ in range(COMMITS // WRITERS):
            while True:
                shown = hall.get_debate("together", include_transcript=False)
                try:
                    hall.add_turn("together", shown["next_role"] or "", CONTENT, expected_head=shown["head"])
                    break
                except StaleHead:
                    continue

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, range(WRITERS)))


def _seconds(work: Callable[[], object]) -> float:
    began = perf_counter()
    work()
    return perf_counter() - began
