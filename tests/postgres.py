"""Halls on a PostgreSQL server: each in a schema of its own, which goes when it is done with.

DEBATE_HALL_TEST_POSTGRES names a database that tests may use, postgresql://root@127.0.0.1/test say. What needs one is
skipped where none is named; in CI one is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from uuid import uuid4

import pytest

DATABASE = os.environ.get("DEBATE_HALL_TEST_POSTGRES", "").strip()
needs_postgres = pytest.mark.skipif(not DATABASE, reason="DEBATE_HALL_TEST_POSTGRES names no database")


def address_of(schema: str, more: str = "") -> str:
    """The address of a schema; what is acknowledged may be lost in a power cut, which is not what most tests are
    about."""
    joint = "&" if "?" in DATABASE else "?"
    return f"{DATABASE}{joint}schema={schema}&options=-csynchronous_commit%3Doff{more}"


@contextmanager
def fresh_schema() -> Iterator[str]:
    """The name of a schema that is not there yet."""
    import psycopg

    name = f"test_{uuid4().hex}"
    yield name
    with psycopg.connect(DATABASE, autocommit=True) as db:
        db.execute("SET client_min_messages = warning")
        db.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")


@contextmanager
def fresh_hall() -> Iterator[str]:
    """The address of a hall that is empty."""
    from orchestrator.hall.store_place import migrate

    with fresh_schema() as schema:
        address = address_of(schema)
        migrate(address)
        yield address


HALL = ("said", "entries", "runs", "reports", "journal", "checks", "reviews", "deliveries", "threads")
FLEET = ("permits", "servers", "spending", "budget")
QUEUE = ("procrastinate_periodic_defers", "procrastinate_events", "procrastinate_jobs", "procrastinate_workers")


def empty(schema: str, tables: Sequence[str] = HALL) -> None:
    """Takes all rows out of what was made already, which is faster than to make another."""
    import psycopg

    with psycopg.connect(DATABASE, options=f"-csearch_path={schema} -csynchronous_commit=off") as db, db.pipeline():
        for table in tables:
            db.execute(f"DELETE FROM {table}")
