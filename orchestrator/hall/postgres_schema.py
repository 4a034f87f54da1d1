"""One schema on a PostgreSQL server that threads, processes and machines share: opened safely, connections lent, errors
in plain words.

A call that finds the server away waits for it as one waits for a locked file; one that was under way when it went
fails, and whether its commit was kept, the ledger tells. A process that stops in the middle of a transaction, frozen
say, keeps its row no longer than the others wait for it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from select import POLLIN, poll
from time import monotonic
from typing import Any

import psycopg
from psycopg import errors, sql
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from orchestrator.errors import DebateError, StoreTooNew, StoreUnavailable
from orchestrator.hall.address import Address

PATIENCE_S = 30
CONNECTIONS = 4  # at most, of each process
_ANOTHER_TRY_S = 1.0  # while the server is away
_FRESH_S = 1.0  # a connection that was used so lately is believed to be there
_OURS = f"-c lock_timeout={PATIENCE_S}s -c idle_in_transaction_session_timeout={PATIENCE_S * 2 // 3}s"
_MIGRATING = 0x64656261746531  # names the lock that whoever makes a format holds: "debate1"

logging.getLogger("psycopg").addHandler(logging.NullHandler())  # what it could not do, the errors here say


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that knows when it was used last, and how statements are sent together."""

    used_at = 0.0
    sending: psycopg.Pipeline

    def ask(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Sends a statement of a transaction with those before it, and waits for its rows.

        From then on the server waits for this process, and no longer than it is told to.
        """
        asked = self.execute(statement, values)
        self.sending.sync()
        return asked.fetchall()


class PostgresSchema:
    """
    Args:
        address: of the server, its database and the schema.
        formats: for each version of the format, from 1, the statements that make it from the one before.
        connections: how many it may open.

    Raises:
        StoreUnavailable: the server cannot be reached or used, or the format is older: `migrate` makes it the newest.
        StoreTooNew: a newer version of this program wrote it.
    """

    def __init__(self, address: Address, formats: Sequence[str], connections: int = CONNECTIONS) -> None:
        self._shown = address.shown
        with explained(self._shown):
            self._parameters = parameters_of(address)
            with psycopg.connect("", **self._parameters) as db:
                _require_format(db, self._shown, len(formats))
                self._set_clock(db)
        self._pool = ConnectionPool(
            connection_class=Connection,
            kwargs=self._parameters,
            min_size=0,
            max_size=connections,
            max_idle=60,
            timeout=_ANOTHER_TRY_S,  # the pool alone would try less and less often
            reconnect_timeout=_ANOTHER_TRY_S / 2,
            configure=self._set_clock,
            check=_check,
            open=True,
        )

    def close(self) -> None:
        self._pool.close()

    def now(self) -> datetime:
        """Returns what time it is on the server, as far as it was asked last: clocks of machines may differ."""
        told, at = self._clock
        return told + timedelta(seconds=monotonic() - at)

    def _set_clock(self, db: psycopg.Connection[Any]) -> None:
        (told,) = db.execute("SELECT clock_timestamp()").fetchone() or (datetime.now(UTC),)
        self._clock = told.astimezone(UTC), monotonic()

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        """Lends a connection on which each statement is a transaction."""
        with explained(self._shown):
            lent = self._lend()
            try:
                with lent:
                    yield lent
            finally:
                lent.used_at = monotonic()
                self._pool.putconn(lent)

    def _lend(self) -> Connection:
        until = monotonic() + PATIENCE_S
        while True:
            try:
                return self._pool.getconn()
            except PoolTimeout:
                if monotonic() >= until:
                    psycopg.connect("", **self._parameters).close()  # says what is wrong, if it is the server
                    raise

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        """Several statements together; those whose rows nobody asks for go to the server at once, the commit too."""
        with self._connection() as db, db.pipeline() as db.sending, db.transaction():
            yield db

    @contextmanager
    def _snapshot(self) -> Iterator[Connection]:
        """Several reads at one moment."""
        with self._connection() as db, db.pipeline():
            db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield db
            db.execute("COMMIT")


def migrate(address: Address, formats: Sequence[str]) -> tuple[int, int]:
    """Makes the newest format, whole or not at all; of several that do so at once, one after the other.

    Returns:
        the version before, 0 where there was none, and now.

    Raises:
        StoreUnavailable
        StoreTooNew: a newer version of this program wrote it.
    """
    with explained(address.shown), psycopg.connect("", **parameters_of(address)) as db, db.transaction():
        db.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATING,))
        before = _version(db)
        _require_known(address.shown, before, len(formats))
        if before == 0:
            if db.execute("SELECT current_schema()").fetchone() == (None,):  # whoever may not make one may have one
                db.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(address.schema)))
            db.execute("CREATE TABLE format (version integer NOT NULL)")
            db.execute("INSERT INTO format VALUES (0)")
        for statements in formats[before:]:
            db.execute(statements)
        db.execute("UPDATE format SET version = %s", (len(formats),))
    return before, len(formats)


def format_at(address: Address, formats: Sequence[str]) -> tuple[int, int]:
    """Returns the version of a schema's format, 0 where there is none yet, and the newest.

    Raises:
        StoreUnavailable
        StoreTooNew: a newer version of this program wrote it.
    """
    with explained(address.shown), psycopg.connect("", **parameters_of(address)) as db:
        version = _version(db)
        _require_known(address.shown, version, len(formats))
    return version, len(formats)


def parameters_of(address: Address) -> dict[str, Any]:
    """How to connect: what the address says, and what stands here where it does not say it."""
    try:
        given = conninfo_to_dict(address.conninfo)
    except psycopg.ProgrammingError:
        # Its words quote what it did not understand, a part of a password say.
        raise StoreUnavailable(
            f"The address {address.shown} cannot be read.",
            "Write postgresql://USER@HOST:5432/DATABASE; what is no letter or digit in a name or password as %40.",
        ) from None
    options = f"{_OURS} {given.get('options') or ''} -c search_path={address.schema}"
    usual: dict[str, Any] = {"connect_timeout": 10, "application_name": "run-debate", "keepalives_idle": 30}
    return usual | given | {"options": options, "client_encoding": "UTF8", "autocommit": True}


def _check(db: Connection) -> None:
    """Asks the server whether a connection is still there, if it was not used lately, or if it has sent a farewell."""
    farewell = poll()
    farewell.register(db.fileno(), POLLIN)
    if monotonic() - db.used_at > _FRESH_S or farewell.poll(0):
        ConnectionPool.check_connection(db)


# ------------------------------------------------------------------------------------------------------- the format


def _require_format(db: psycopg.Connection[Any], shown: str, newest: int) -> None:
    encoding = db.execute("SHOW server_encoding").fetchone()
    if encoding != ("UTF8",):
        raise StoreUnavailable(
            f"The database of {shown} keeps text as {encoding[0] if encoding else '?'}, which cannot say all of it.",
            "Make another one: createdb --encoding=UTF8 --template=template0 NAME",
        )
    version = _version(db)
    _require_known(shown, version, newest)
    if version < newest:
        is_there = f"has format {version}, and this version of the program needs {newest}" if version else "has no hall"
        raise StoreUnavailable(f"{shown} {is_there}.", "Make it: debate-hall store migrate")


def _version(db: psycopg.Connection[Any]) -> int:
    (is_there,) = db.execute("SELECT to_regclass(current_schema() || '.format') IS NOT NULL").fetchone() or (False,)
    (version,) = (db.execute("SELECT version FROM format").fetchone() if is_there else None) or (0,)
    return int(version)


def _require_known(shown: str, version: int, newest: int) -> None:
    if version > newest:
        raise StoreTooNew(
            f"{shown} was written by a newer version (format {version}; this one knows {newest}).",
            "Upgrade with `pip install -U run-debate`.",
        )


# ----------------------------------------------------------------------------------------------------- in plain words


@contextmanager
def explained(shown: str) -> Iterator[None]:
    """Says in plain words what PostgreSQL said, and never an address whole."""
    try:
        yield
    except DebateError:
        raise
    except PoolClosed as error:
        raise StoreUnavailable(f"The store {shown} was closed.", "Open it again.") from error
    except PoolTimeout as error:
        raise StoreUnavailable(
            f"The store {shown} cannot be used: this process has all {CONNECTIONS} of its connections in use for "
            f"{PATIENCE_S} s.",
            "See what the server waits for: SELECT * FROM pg_stat_activity",
        ) from error
    except (psycopg.Error, UnicodeError, OSError) as error:
        raise StoreUnavailable(f"The store {shown} cannot be used: {_said(error)}.", _cure(error)) from error


def _said(error: Exception) -> str:
    """What the server said, in one line: of a row that was refused only that, since its details hold the row."""
    primary = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    lines = [line.strip() for line in (primary or str(error)).splitlines() if line.strip()]
    telling = [line for line in lines if "server at" in line]  # several addresses of one host may have been tried
    told = (telling[-1] if telling else lines[0] if lines else type(error).__name__).rstrip(".")
    return told.removeprefix("- ").removeprefix("connection failed: ")


_CURES: tuple[tuple[type[psycopg.Error] | str, str], ...] = (
    (errors.InvalidPassword, "Set the password: in ~/.pgpass, or in PGPASSWORD."),
    ("password", "Set the password: in ~/.pgpass, or in PGPASSWORD."),
    (errors.UndefinedTable, "Something was removed there: restore it from a backup, or see which schema is named."),
    ("does not exist", "See that the address names a database and a user of that server: createdb NAME makes one."),
    ("too many clients", "Let fewer processes use it, or let the server take more (max_connections)."),
    ("connection slots", "Let fewer processes use it, or let the server take more (max_connections)."),
    (errors.ReadOnlySqlTransaction, "This is a replica: name the server that takes writes."),
    (errors.LockNotAvailable, f"Another process kept it locked for {PATIENCE_S} s; see what writes there."),
    (errors.DiskFull, "Make room on the server's disk."),
    (errors.InsufficientPrivilege, "Grant this user the schema and its tables, or let their owner do this."),
)
_USUAL_CURE = "See that the server runs and can be reached from here; what was acknowledged is on its disk."


def _cure(error: Exception) -> str:
    for sign, cure in _CURES:
        if sign in str(error) if isinstance(sign, str) else isinstance(error, sign):
            return cure
    return _USUAL_CURE
