"""The tables of the queue, in the hall's schema: made, and brought to the newest format with procrastinate's files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
from procrastinate.schema import SchemaManager

from orchestrator.hall.address import Address
from orchestrator.hall.postgres_schema import explained, parameters_of

# Whoever takes a job looks for others of its lock: with a million that wait 54 ms without this, and 0.6 with it.
_BY_LOCK = "CREATE INDEX debate_jobs_by_lock ON procrastinate_jobs (lock)"
_MAKING = 0x64656261746532  # names the lock that whoever makes them holds: "debate2"


def make(address: Address) -> bool:
    """Makes the tables, or what is new in them; of several that do so at once, one after the other.

    Returns:
        whether there was anything to make.

    Raises:
        StoreUnavailable
    """
    steps = sorted(Path(SchemaManager.get_migrations_path()).glob("*.sql"))
    with explained(address.shown), psycopg.connect("", **parameters_of(address)) as db:
        db.execute("SELECT pg_advisory_lock(%s)", (_MAKING,))
        made = _newest_made(db)
        if made is None:
            with db.transaction():
                db.execute("SET LOCAL client_min_messages = warning")
                db.execute(SchemaManager.get_schema())
                db.execute(_BY_LOCK)
                _note(db, steps[-1].stem)
            return True
        missing = [step for step in steps if step.stem > made]
        for step in missing:
            with db.transaction():
                db.execute(step.read_bytes())
                _note(db, step.stem)
        return bool(missing)


def _newest_made(db: psycopg.Connection[Any]) -> str | None:
    """The newest step that was made, None where there is no table."""
    asked = "SELECT to_regclass('procrastinate_jobs')::oid, obj_description(to_regclass('procrastinate_jobs')::oid)"
    table, noted = db.execute(asked).fetchone() or (None, None)
    return None if table is None else noted or ""


def _note(db: psycopg.Connection[Any], step: str) -> None:
    db.execute(psycopg.sql.SQL("COMMENT ON TABLE procrastinate_jobs IS {}").format(step))
