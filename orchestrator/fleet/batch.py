"""Many debates at once, from a file: CSV with a header, or JSON Lines. A row says what differs from the command line.

The same row submitted again on the same day is the same debate: its id is made of the day, the topic and a digest of
what was asked for. So a batch that was interrupted is submitted again, and nothing is held twice.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from orchestrator.errors import ConfigurationError, DebateError, UsageError
from orchestrator.fleet import names
from orchestrator.fleet.submitting import Submission
from orchestrator.hall.inputs import require_thread_id, require_words
from orchestrator.hall.terms import Role
from orchestrator.recipe import Limits
from orchestrator.strict_yaml import did_you_mean
from orchestrator.thread_id import thread_id_for

MOST_BYTES = 64 * 1024 * 1024
_SEPARATOR = ";"  # of several values in a cell


def _several(value: object) -> object:
    """One name or several: a list, or a text in which they are parted."""
    return [part.strip() for part in value.split(_SEPARATOR) if part.strip()] if isinstance(value, str) else value


Several = Annotated[list[str], BeforeValidator(_several)]
Amount = Annotated[Decimal, Field(gt=0, allow_inf_nan=False)]


class Row(BaseModel):
    """A row of a batch; what it leaves out is as the command line says."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    topic: str
    id: str | None = None
    recipe: str | None = None
    tier: str | None = None
    models: str | None = None
    wind: Several | None = None
    wall: Several | None = None
    door: Several | None = None
    context: Several | None = None
    adr: Several | None = None
    since: str | None = None
    cost_limit: Amount | None = None
    token_limit: Annotated[int, Field(ge=1)] | None = None
    time_limit: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    on_failure: Literal["pause", "degrade"] | None = None
    consensus: bool | None = None
    early_close: bool | None = None
    priority: Annotated[int, Field(ge=names.LEAST, le=names.MOST)] | None = None
    after: datetime | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A debate of a batch: where it stands in the file, what is asked, and the thread whose decision it starts from."""

    where: str
    submission: Submission
    since: str | None


def read_batch(path: Path, usual: Submission, since: str | None, today: date) -> list[Entry]:
    """Reads a batch.

    Args:
        usual: what the command line asks for; its topic counts for nothing.
        since: the same, of the decision that debates start from.
        today: stands in the ids of rows that have none.

    Raises:
        ConfigurationError: the file, or a row of it, says something wrong: names the file and the line.
    """
    text = _text(path)
    rows = _of_csv(text, path) if path.suffix.lower() == ".csv" else _of_json_lines(text, path)
    entries = [_entry(values, where, usual, since, today) for where, values in rows]
    if not entries:
        raise ConfigurationError("There is no debate in this file.", _HEADER, source=str(path))
    seen: dict[str, str] = {}
    for entry in entries:
        key = (entry.submission.thread_id or "").lower()
        if key in seen:
            raise ConfigurationError(
                f"It is the same debate as in {seen[key]}.", "Leave one out, or give each an id.", source=entry.where
            )
        seen[key] = entry.where
    return entries


_HEADER = "A CSV file begins with the names of its columns, of which `topic` must be one: topic,recipe,context"


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise ConfigurationError(f"This file is larger than {MOST_BYTES // 2**20} MiB.", source=str(path))
        return data.decode("utf-8-sig")
    except OSError as error:
        raise ConfigurationError(f"This file cannot be read: {error.strerror}.", source=str(path)) from error
    except UnicodeDecodeError as error:
        raise ConfigurationError("This file is not UTF-8.", source=str(path)) from error


def _of_csv(text: str, path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    reader = csv.DictReader(io.StringIO(text), strict=True)
    try:
        columns = reader.fieldnames or []
        _require_columns(columns, path)
        for cells in reader:
            where = f"{path}, line {reader.line_num}"
            if None in cells:
                raise ConfigurationError(
                    f"It has more cells than the header has columns ({len(columns)}).", source=where
                )
            yield where, {name: cell for name, cell in cells.items() if cell is not None and cell.strip()}
    except csv.Error as error:
        raise ConfigurationError(
            f"This is no CSV: {error}.", source=f"{path}, line {reader.reader.line_num}"
        ) from error


def _require_columns(columns: Sequence[str], path: Path) -> None:
    if "topic" not in columns:
        raise ConfigurationError("There is no column called topic.", _HEADER, source=str(path))
    for name in columns:
        if name not in Row.model_fields or columns.count(name) > 1:
            what = "There are two columns" if name in Row.model_fields else "There can be no column"
            raise ConfigurationError(f"{what} called {name!r:.80}.", _known(name), source=str(path))


def _known(name: str) -> str:
    return did_you_mean(name, Row.model_fields) or f"The columns are {', '.join(Row.model_fields)}."


def _of_json_lines(text: str, path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            values = json.loads(line, object_pairs_hook=_once_each)
        except (ValueError, RecursionError) as error:  # the latter of brackets in brackets
            cure = "Each line is a JSON object; a file of comma separated values is called *.csv."
            raise ConfigurationError(f"This line is no JSON: {error}.", cure, source=where) from error
        if not isinstance(values, dict):
            raise ConfigurationError("This line is no JSON object.", 'Write {"topic": "…"}.', source=where)
        yield where, values


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name stands there twice")
    return members


def _entry(values: Mapping[str, Any], where: str, usual: Submission, since: str | None, today: date) -> Entry:
    row = _row(values, where)
    try:
        require_words(row.topic, "topic")
        if row.id is not None:
            require_thread_id(row.id)
        if row.after is not None and row.after.tzinfo is None:
            raise UsageError(f"after is {row.after}, without a time zone.", "Write 2026-01-06T18:00+01:00.")
    except DebateError as error:
        raise ConfigurationError(error.message, error.cure, source=where) from error
    submission = _submission(row, usual)
    id = row.id or f"{thread_id_for(row.topic, today)}-{_digest(submission, row.since or since)}"
    return Entry(where, replace(submission, thread_id=id), row.since or since)


def _row(values: Mapping[str, Any], where: str) -> Row:
    try:
        return Row.model_validate(dict(values))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(map(str, first["loc"]))
        cure = _known(name) if first["type"] == "extra_forbidden" else ""
        raise ConfigurationError(f"{first['msg']}.", cure, source=where, key=name) from error


def _submission(row: Row, usual: Submission) -> Submission:
    wanted, limits = usual.wanted, usual.wanted.limits
    given = {name: value for name, value in row if value is not None}
    voices = {role: tuple(given.get(role.lower(), wanted.voices.get(role, ()))) for role in Role}
    same = ("recipe", "tier", "models", "on_failure", "consensus", "early_close")
    return Submission(
        topic=row.topic.strip(),
        wanted=replace(
            wanted,
            **{name: given[name] for name in same if name in given},
            voices=voices,
            context=tuple(given.get("context", wanted.context)),
            adr=tuple(given.get("adr", wanted.adr)),
            limits=Limits(
                cost_usd=given.get("cost_limit", limits.cost_usd),
                tokens=given.get("token_limit", limits.tokens),
                seconds=given.get("time_limit", limits.seconds),
            ),
        ),
        priority=given.get("priority", usual.priority),
        after=given.get("after", usual.after),
    )


def _digest(submission: Submission, since: str | None) -> str:
    """Of what is debated and how; when it is held is not what makes it another debate."""
    asked = (submission.topic, submission.wanted, since)
    return hashlib.sha256(repr(asked).encode("utf-8", "surrogatepass")).hexdigest()[:8]
