"""A fleet's place: a hall on PostgreSQL with its queue, emptied for each test; and a folder to work in."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner, Result

from orchestrator.cli.debate_hall import debate_hall
from orchestrator.fleet import queue_tables
from orchestrator.fleet.permits import Permits
from orchestrator.fleet.queue import Queue
from orchestrator.hall.address import Address, read
from orchestrator.hall.hall import Hall
from postgres import DATABASE, FLEET, HALL, QUEUE, empty, fresh_hall

Command = Callable[..., Result]


@pytest.fixture(scope="session")
def made() -> Iterator[str]:
    """The address of a hall with a queue."""
    with fresh_hall() as address:
        queue_tables.make(read(address))
        yield address


@pytest.fixture
def address(made: str, monkeypatch: pytest.MonkeyPatch) -> Address:
    """Where the fleet is; nothing is there yet."""
    monkeypatch.setenv("DEBATE_HALL_STORE", made)
    empty(read(made).schema, (*HALL, *FLEET, *QUEUE))
    return read(made)


@pytest.fixture
def permits(address: Address) -> Iterator[Permits]:
    with closing(Permits(address)) as permits:
        yield permits


@pytest.fixture
def queue(address: Address) -> Iterator[Queue]:
    with closing(Queue(address)) as queue:
        yield queue


@pytest.fixture
def hall(address: Address) -> Iterator[Hall]:
    with Hall.open() as hall:
        yield hall


@pytest.fixture
def beside(address: Address) -> Iterator[psycopg.Connection[Any]]:
    """A connection that plants rows, and knows nothing of the fleet's care."""
    with psycopg.connect(DATABASE, options=f"-csearch_path={address.schema}", autocommit=True) as db:
        yield db


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, with no key and no setting in the environment."""
    for name in os.environ:
        if name.startswith("DEBATE_HALL_") or name.endswith(("_API_KEY", "_TOKEN")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DEBATE_HALL_STAND_INS", "none")  # as for all tests
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def command(work: Path, address: Address, made: str, monkeypatch: pytest.MonkeyPatch) -> Command:
    """`debate-hall`, in this process, on the fleet's hall."""
    monkeypatch.setenv("DEBATE_HALL_STORE", made)
    return lambda *arguments, **kwargs: CliRunner().invoke(debate_hall, arguments, **kwargs)
