"""What `run-debate` does: prepare, hold the debate, write its folder, print, and say how it ended."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import click

from orchestrator import result, run_folder
from orchestrator.cli.ending import Exit, exit_code, plain_group
from orchestrator.cli.plain import visible
from orchestrator.cli.progress import progress_lines
from orchestrator.drafting import Drafting
from orchestrator.errors import DebateError, RunPaused, ThreadExists, UnknownThread, UsageError
from orchestrator.events import Stream
from orchestrator.export.markdown import REHEARSAL_MARK
from orchestrator.files import prepare_folder
from orchestrator.hall.debate import Debate
from orchestrator.hall.hall import Hall
from orchestrator.hall.inputs import require_thread_id, require_words, thread_id_warnings
from orchestrator.hall.terms import Status
from orchestrator.models.switchboard import Switchboard
from orchestrator.plan import Plan
from orchestrator.prepare import Wanted, prepare
from orchestrator.record import DecisionRecord, make_record
from orchestrator.runner import Run, run_debate
from orchestrator.thread_id import thread_id_for


@dataclass(frozen=True, slots=True)
class Call:
    """What the command line asks beside the recipe and its seats; the topic - stands for standard input."""

    topic: str
    thread_id: str | None
    out: Path | None
    formats: tuple[str, ...]
    dry_run: bool
    as_json: bool
    quiet: bool


@dataclass(slots=True)
class Place:
    """Where a run goes, for the words that are said when it ends too early."""

    thread_id: str | None = None
    folder: Path | None = None


def run(call: Call, wanted: Wanted) -> int:
    """Does it all and returns the exit code."""
    place = Place()
    try:
        with plain_group():
            return _run(call, wanted, place)
    except KeyboardInterrupt as error:
        return _report(call, place, RunPaused("Interrupted."), exit_code(error))
    except DebateError as error:
        return _report(call, place, error, exit_code(error))
    except Exception as error:  # noqa: BLE001  the last resort: it is told whole, with where it happened
        click.echo(traceback.format_exc(), err=True)
        told = DebateError(f"Internal error: {error!r}.", "Please report it with the lines above.")
        return _report(call, place, told, Exit.INTERNAL)


def _run(call: Call, wanted: Wanted, place: Place) -> int:
    topic = _from_standard_input() if call.topic == "-" else call.topic
    require_words(topic, "topic")
    if call.thread_id is not None:
        require_thread_id(call.thread_id)
    plan = prepare(wanted, os.environ, Path.cwd())
    if call.dry_run:
        click.echo(_dry_run(plan, call.as_json), nl=False)
        return Exit.DECIDED
    for notice in (*plan.notices, *(thread_id_warnings(call.thread_id) if call.thread_id else ())):
        _tell(call, f"note: {notice}")
    with Hall.open() as hall:
        ended = _held(call, topic, plan, hall, place)
    return _finished(call, plan, ended, place)


def _from_standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise UsageError("The topic on standard input is not UTF-8.", "Send it as UTF-8 text.") from error


def _held(call: Call, topic: str, plan: Plan, hall: Hall, place: Place) -> Run:
    """Holds the debate under the id that was asked for, else under the first free one of the topic's."""
    for thread_id in _candidates(call, topic, hall):
        place.folder = prepare_folder(call.out or _default_folder(thread_id))
        stream = Stream(thread_id, lambda: datetime.now(UTC), *([] if call.quiet else [progress_lines(_to_stderr)]))
        _tell(call, f"thread {thread_id}")
        try:
            place.thread_id = thread_id
            return anyio.run(_debate, hall, plan, thread_id, topic, stream)
        except ThreadExists:
            place.thread_id = None
            if call.thread_id is not None:
                raise
    raise AssertionError("there is always another id")


async def _debate(hall: Hall, plan: Plan, thread_id: str, topic: str, stream: Stream) -> Run:
    async with aclosing(Switchboard()) as models:
        return await run_debate(hall, plan, thread_id, topic, Drafting(models.of, stream))


def _candidates(call: Call, topic: str, hall: Hall) -> Iterator[str]:
    if call.thread_id is not None:
        yield call.thread_id
        return
    today = datetime.now().astimezone().date()
    for attempt in count(1):
        thread_id = thread_id_for(topic, today, attempt)
        if not _is_taken(hall, thread_id) and not _default_folder(thread_id).exists():
            yield thread_id


def _is_taken(hall: Hall, thread_id: str) -> bool:
    try:
        hall.get_debate(thread_id, include_transcript=False)
    except UnknownThread:
        return False
    return True


def _default_folder(thread_id: str) -> Path:
    return Path("debates") / thread_id


def _finished(call: Call, plan: Plan, ended: Run, place: Place) -> int:
    """Writes the folder, prints the decision and returns the exit code."""
    assert place.folder is not None
    record = make_record(ended.debate, plan, ended.warnings)
    code = Exit.DECIDED if record.status is Status.SYNTHESIS else Exit.NO_CONSENSUS
    files: tuple[Path, ...] = ()
    problem: UsageError | None = None
    try:
        formats = call.formats or run_folder.FORMATS
        files = run_folder.write_run(place.folder, formats, ended.debate, record, plan)
        files += run_folder.keep_drafts(place.folder, ended.unused)
    except UsageError as error:
        problem, code = error, exit_code(error)
    if call.as_json:
        outcome = result.decided(ended.debate, record, ended.spent, files, code)
        _print_json(outcome if problem is None else {**outcome, "error": result.told(problem)})
    else:
        click.echo(visible(_decision(ended.debate, record)))
    for line in _last_words(plan, record, files, problem):
        _tell(call, line)
    return code


def _decision(debate: Debate, record: DecisionRecord) -> str:
    if record.decision is not None:
        return record.decision
    if record.rehearsal and debate.synthesis:
        return f"{REHEARSAL_MARK}\n\n{debate.synthesis.words}"
    return f"No decision: {record.thread_id} was closed by force ({debate.closing.words if debate.closing else ''})."


def _last_words(
    plan: Plan, record: DecisionRecord, files: tuple[Path, ...], problem: UsageError | None
) -> Iterator[str]:
    for warning in record.warnings:
        if warning not in plan.notices:  # those were told at the beginning
            yield f"warning: {warning}"
    for file in files:
        yield f"wrote {file}"
    if problem is not None:
        yield f"error: {problem}"
        yield f"The debate is closed and kept: debate-hall export {record.thread_id}"


def _report(call: Call, place: Place, error: DebateError, code: Exit) -> int:
    """Says what went wrong and what is kept."""
    debate = _begun(place)
    kept = run_folder.keep_drafts(place.folder, error.drafts) if isinstance(error, RunPaused) and place.folder else ()
    if call.as_json:
        outcome = result.failed(error, code, place.thread_id if debate else None, debate)
        _print_json({**outcome, "files": [str(file) for file in kept]})
    _to_stderr(visible(f"error: {error}"))
    if debate is not None:
        turns = debate.state.turn_count
        _to_stderr(
            f"{turns} committed {'turn is' if turns == 1 else 'turns are'} kept: debate-hall show {place.thread_id}"
        )
    for file in kept:
        _to_stderr(f"Drafts that became no turn are in {file}")
    return code


def _begun(place: Place) -> Debate | None:
    """The debate as it stands, if it was opened."""
    if place.thread_id is None:
        return None
    try:
        with Hall.open() as hall:
            return hall.debate(place.thread_id)
    except DebateError:
        return None  # what is reported is the first error


def print_usage_failure(message: str) -> None:
    _print_json(result.failed(UsageError(message), Exit.USAGE))


def _dry_run(plan: Plan, as_json: bool) -> str:
    if as_json:
        return json.dumps(run_folder.describe(plan), ensure_ascii=False, indent=2) + "\n"
    return visible(run_folder.outline(plan))


def _print_json(outcome: dict[str, Any]) -> None:
    click.echo(json.dumps(outcome, ensure_ascii=False, indent=2))


def _tell(call: Call, line: str) -> None:
    if not call.quiet:
        _to_stderr(visible(line))


def _to_stderr(line: str) -> None:
    click.echo(line, err=True)
