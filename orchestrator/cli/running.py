"""What `run-debate` does: prepare, hold the debate, write its folder, print, and say how it ended."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from pathlib import Path
from types import FrameType

import anyio

from orchestrator import result, run_folder
from orchestrator.background import hold
from orchestrator.cli.ending import Exit, exit_code, plain_group
from orchestrator.cli.plain import answer, json_text, tell, visible
from orchestrator.cli.progress import progress_lines
from orchestrator.commits import in_thread
from orchestrator.drafting import Paid
from orchestrator.errors import DebateError, LedgerBroken, RunPaused, ThreadExists, UnknownThread, UsageError
from orchestrator.export.markdown import REHEARSAL_MARK
from orchestrator.files import folder_to_fill
from orchestrator.hall.debate import Debate
from orchestrator.hall.hall import Hall
from orchestrator.hall.inputs import require_thread_id, require_words, thread_id_warnings
from orchestrator.hall.terms import Status
from orchestrator.models.switchboard import Switchboard
from orchestrator.plan import Plan
from orchestrator.record import DecisionRecord, make_record
from orchestrator.runner import Run, open_debate
from orchestrator.thread_id import thread_id_for
from orchestrator.wanted import Wanted, prepare


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
    """Where a run goes and what it has paid for, for the words that are said when it ends too early."""

    thread_id: str | None = None
    folder: Path | None = None
    rehearsal: bool = False
    paid: Paid = field(default_factory=Paid)


def run(call: Call, wanted: Wanted) -> int:
    """Does it all and returns the exit code."""
    place = Place()
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        with plain_group():
            return _run(call, wanted, place)
    except KeyboardInterrupt as error:
        return _report(call, place, RunPaused("Interrupted."), exit_code(error))
    except DebateError as error:
        return _report(call, place, error, exit_code(error))
    except Exception as error:  # noqa: BLE001  the last resort: it is told whole, with where it happened
        tell(traceback.format_exc())
        told = DebateError(f"Internal error: {error!r}.", "Please report it with the lines above.")
        return _report(call, place, told, Exit.FAILED)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """A polite end is as good as Ctrl-C, for which an event loop has a handler of its own: it cancels the run."""
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else signal.default_int_handler)(number, frame)


def _run(call: Call, wanted: Wanted, place: Place) -> int:
    topic = _from_standard_input() if call.topic == "-" else call.topic
    require_words(topic, "topic")
    if call.thread_id is not None:
        require_thread_id(call.thread_id)
    if call.out is not None and not call.dry_run:
        run_folder.require_unused(call.out)
    plan = prepare(wanted, os.environ, _working_folder())
    Switchboard().require(plan.routes)
    place.rehearsal = plan.is_rehearsal
    if call.dry_run:
        answer(json_text(run_folder.describe(plan)) if call.as_json else visible(run_folder.outline(plan)))
        return Exit.DECIDED
    for notice in (*plan.notices, *(thread_id_warnings(call.thread_id) if call.thread_id else ())):
        _tell(call, f"note: {notice}")
    with Hall.open() as hall:
        ended = _held(call, topic, plan, hall, place)
    return _finished(call, plan, ended, place)


def _from_standard_input() -> str:
    if sys.stdin is None:
        raise UsageError("Standard input is closed, so that it holds no topic.", "Give the topic in place of -.")
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise UsageError("The topic on standard input is not UTF-8.", "Send it as UTF-8 text.") from error
    except OSError as error:
        raise UsageError(
            f"Standard input cannot be read: {error.strerror}.", "Give the topic in place of -."
        ) from error


def _working_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise UsageError("The working folder is gone.", "Change to one that is there.") from error


def _held(call: Call, topic: str, plan: Plan, hall: Hall, place: Place) -> Run:
    """Holds the debate under the id that was asked for, else under the first free one of the topic's."""
    for thread_id in _candidates(call, topic, hall):
        try:
            with folder_to_fill(call.out or _default_folder(thread_id)) as place.folder:
                _tell(call, f"thread {thread_id}")
                place.thread_id = thread_id
                return anyio.run(_debate, hall, plan, place, topic, not call.quiet)
        except ThreadExists:
            place.thread_id = None
            if call.thread_id is not None:
                raise
    raise AssertionError("there is always another id")


async def _debate(hall: Hall, plan: Plan, place: Place, topic: str, tells: bool) -> Run:
    assert place.thread_id is not None, "it was chosen before"
    await in_thread(open_debate, hall, plan, place.thread_id, topic)
    return await hold(hall, plan, place.thread_id, place.paid, *([progress_lines(tell)] if tells else []))


def _candidates(call: Call, topic: str, hall: Hall) -> Iterator[str]:
    if call.thread_id is not None:
        yield call.thread_id
        return
    today = datetime.now().astimezone().date()
    for attempt in count(1):
        thread_id = thread_id_for(topic, today, attempt)
        free = call.out is not None or not os.path.lexists(_default_folder(thread_id))
        if free and not _is_taken(hall, thread_id):
            yield thread_id


def _is_taken(hall: Hall, thread_id: str) -> bool:
    try:
        hall.get_debate(thread_id, include_transcript=False)
    except UnknownThread:
        return False
    except LedgerBroken:
        pass  # it is there
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
        problem, code = error, Exit.FAILED  # not 2: the debate was held, and to repeat it would be to pay again
    if call.as_json:
        outcome = result.decided(ended.debate, record, ended.spent, files, code)
        answer(json_text(outcome if problem is None else {**outcome, "error": result.told(problem)}))
    else:
        answer(f"{visible(_decision(ended.debate, record))}\n")
    for line in _last_words(plan, record, files):
        _tell(call, line)
    if problem is not None:
        tell(f"error: {problem}")
        tell(f"The debate is closed and kept: debate-hall export {record.thread_id}")
    return code


def _decision(debate: Debate, record: DecisionRecord) -> str:
    if record.decision is not None:
        return record.decision
    if record.rehearsal and debate.synthesis:
        return f"{REHEARSAL_MARK}\n\n{debate.synthesis.words}"
    return f"No decision: {record.thread_id} was closed by force ({debate.closing.words if debate.closing else ''})."


def _last_words(plan: Plan, record: DecisionRecord, files: tuple[Path, ...]) -> Iterator[str]:
    for warning in record.warnings:
        if warning not in plan.notices:  # those were told at the beginning
            yield f"warning: {warning}"
    for file in files:
        yield f"wrote {file}"


def _report(call: Call, place: Place, error: DebateError, code: Exit) -> int:
    """Says what went wrong and what is kept."""
    debate, kept = _begun(place), _kept(place)
    tell(f"error: {error}")
    if debate is not None:
        turns = debate.state.turn_count
        tell(f"{turns} committed {'turn is' if turns == 1 else 'turns are'} kept: debate-hall show {place.thread_id}")
    for file in kept:
        tell(f"Drafts that became no turn are in {file}")
    if call.as_json:
        outcome = result.failed(error, code, place.rehearsal, place.paid.spent, debate)
        with suppress(UsageError):  # there is nowhere left to say it
            answer(json_text({**outcome, "files": [str(file) for file in kept]}))
    return code


def _kept(place: Place) -> tuple[Path, ...]:
    """The file of the drafts that are paid for and became no turn, as far as it can be written."""
    if place.folder is None:
        return ()
    try:
        return run_folder.keep_drafts(place.folder, place.paid.unused)
    except UsageError as refused:
        tell(f"error: {refused}")
        return ()


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
    answer(json_text(result.failed(UsageError(message), Exit.USAGE)))


def _tell(call: Call, line: str) -> None:
    if not call.quiet:
        tell(line)
