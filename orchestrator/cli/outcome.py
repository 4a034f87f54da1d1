"""How a run ends on the command line: its files, its last words, its exit code, whatever happened."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import anyio

from orchestrator import result, run_folder
from orchestrator.budget import total_bound
from orchestrator.cli import recording
from orchestrator.cli.against import against_the_replayed
from orchestrator.cli.deciding import short_decision, stands_on_a_terminal, where_to_read, whole_decision
from orchestrator.cli.ending import Exit, ended_as, exit_code, plain_group
from orchestrator.cli.event_log import STANDARD_OUTPUT
from orchestrator.cli.plain import answer, json_text, tell
from orchestrator.cli.telling import Telling
from orchestrator.decision.record import DecisionRecord, record_of
from orchestrator.drafts import Draft, Paid
from orchestrator.errors import DebateError, LeaseLost, RunHeld, RunPaused, StoppedByLimit, UnknownThread, UsageError
from orchestrator.export.adr_folder import Kept
from orchestrator.hall.debate import Debate
from orchestrator.hall.entries import Link
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Status
from orchestrator.own_task import in_own_task
from orchestrator.plan import Plan
from orchestrator.quote import Quote
from orchestrator.runner import Run
from orchestrator.wording import visible

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_RAISES = {"cost_usd": "--cost-limit USD", "tokens": "--token-limit N", "seconds": "--time-limit SECONDS"}


@dataclass(frozen=True, slots=True)
class Call:
    """What the command line asks beside the debate itself."""

    thread_id: str | None
    out: Path | None
    formats: tuple[str, ...]
    sign: bool
    dry_run: bool
    as_json: bool
    quiet: bool
    colour: bool
    events: str | None
    interactive: bool = False
    name: str | None = None
    since: str | None = None
    baseline: bool = False

    def tell(self, line: str) -> None:
        """Says what is not the answer, unless that is not wanted."""
        if not self.quiet:
            tell(line)


@dataclass(slots=True)
class Place:
    """Where a run goes, what it was to take and what it has paid for: for the words that are said when it ends."""

    thread_id: str | None = None
    folder: Path | None = None
    adr: Path | None = None
    link: Link | None = None
    key: Ed25519PrivateKey | None = None
    rehearsal: bool = False
    paid: Paid = field(default_factory=Paid)
    quote: Quote | None = None
    telling: Telling = field(default_factory=Telling)

    @property
    def quoted(self) -> dict[str, Any] | None:
        return self.quote.described() if self.quote else None


def ending_well(call: Call, work: Callable[[Place], int]) -> int:
    """Works, and says how it ended; returns the exit code."""
    place = Place()
    return politely(partial(work, place), partial(_report, call, place))


def politely(work: Callable[[], int], report: Callable[[DebateError, Exit], int]) -> int:
    """Works; returns the exit code. Ctrl-C, SIGTERM and a closed terminal end it politely.

    Args:
        report: says what went wrong, and returns the code that it is given.
    """
    for name in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(name) is not signal.SIG_IGN:  # as under nohup
            signal.signal(name, _interrupt)
    try:
        with plain_group():
            return work()
    except KeyboardInterrupt as error:
        return report(RunPaused("Interrupted."), exit_code(error))
    except DebateError as error:
        return report(error, exit_code(error))
    except Exception as error:  # noqa: BLE001  the last resort: it is told whole, with where it happened
        tell(traceback.format_exc())
        told = DebateError(f"Internal error: {error!r}.", "Please report it with the lines above.")
        return report(told, Exit.FAILED)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """A polite end is as good as Ctrl-C, for which an event loop has a handler of its own: it cancels the run."""
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else signal.default_int_handler)(number, frame)


def held(debate: Callable[[], Awaitable[Run]]) -> Run:
    """Runs a debate in a task of its own, so that Ctrl-C cancels it as anything else does."""
    return anyio.run(in_own_task, debate)


def signing_key(call: Call) -> Ed25519PrivateKey | None:
    """The key to sign with, where that is wanted.

    Raises:
        UsageError: there is none, or there is nothing to sign.
    """
    if not call.sign:
        return None
    if call.formats and "json" not in call.formats:
        raise UsageError("--sign signs debate.json, which is not among the formats.", "Add --format json.")
    from orchestrator.signing import load_key

    return load_key()


def finished(call: Call, plan: Plan, ended: Run, place: Place) -> int:
    """Writes the folder, prints the decision and returns the exit code."""
    assert place.folder is not None, "it was prepared before"
    record = record_of(ended.debate)
    code = ended_as(ended.debate.state)
    files: tuple[Path, ...] = ()
    problem: UsageError | None = None
    shortly = not call.quiet and stands_on_a_terminal()
    kept: Kept | None = None
    against = against_the_replayed(ended.debate)
    try:
        formats = call.formats or run_folder.FORMATS
        files = run_folder.write_run(place.folder, formats, ended.debate, record, plan, place.key)
        files += run_folder.keep_drafts(place.folder, ended.unused)
        files += run_folder.write_difference(place.folder, against.text) if against else ()
        kept = recording.kept(place.adr, record, ended.debate)
        files += kept.files if kept else ()
    except UsageError as error:
        problem, code = error, Exit.FAILED  # not 2: the debate was held, and to repeat it would be to pay again
    place.telling.close()
    again = f"write its files again: run-debate --resume {record.thread_id} --out DIR"
    try:
        if call.as_json:
            taken = (ended.spent, files, code, ended.uncertain, place.quoted)
            outcome = result.decided(ended.debate, record, *taken, replay=against.members if against else None)
            answer(json_text(outcome if problem is None else {**outcome, "error": result.told(problem)}))
        elif call.events != STANDARD_OUTPUT:
            told = short_decision if shortly else whole_decision
            beside = f"\n{against.text}" if against else ""
            answer(visible(f"{told(ended.debate, record, plan)}\n{beside}"))
    except UsageError as error:
        if problem is None:
            problem, code, again = error, Exit.FAILED, f"read it: debate-hall show {record.thread_id}"
    for line in (*_last_words(plan, record, files), *recording.words_on(place.adr, record, kept)):
        call.tell(line)
    if shortly:
        call.tell(f"Read on: {where_to_read(record.thread_id, files)}")
    if place.quote and place.quote.asks_models:
        call.tell(place.quote.against(ended.spent, total_bound(one.bound for one in ended.uncertain)))
    if problem is not None:
        tell(f"error: {problem}")
        tell(f"The debate is closed and kept; {again}")
    return code


def _last_words(plan: Plan, record: DecisionRecord, files: tuple[Path, ...]) -> Iterator[str]:
    for warning in record.warnings:
        if warning not in plan.notices:  # those were told at the beginning
            yield f"warning: {warning}"
    for lacking in record.incomplete:
        yield f"incomplete: {lacking}"
    for uncertain in record.uncertain:
        yield f"uncertain: {uncertain}"
    for file in files:
        yield f"wrote {file}"


def _report(call: Call, place: Place, error: DebateError, code: Exit) -> int:
    """Says what went wrong, what is kept, and as the last line how to go on."""
    debate, kept = _begun(place, error), _kept(place, error)
    place.telling.close()
    tell(f"error: {error}")
    if debate is not None:
        turns = debate.state.turn_count
        tell(f"{turns} committed {'turn is' if turns == 1 else 'turns are'} kept: debate-hall show {place.thread_id}")
    for call_made in place.paid.uncertain:
        tell(f"uncertain: {call_made}")
    for file in kept:
        tell(f"Answers that were paid for and are not on the ledger are in {file}")
    if call.as_json:
        taken = (place.rehearsal, place.paid.spent, debate, place.paid.uncertain, place.quoted)
        outcome = result.failed(error, code, *taken)
        with suppress(UsageError):  # there is nowhere left to say it
            answer(json_text({**outcome, "files": [str(file) for file in kept]}))
    if _can_go_on(place, error, debate):
        is_open = debate is None or debate.state.status is Status.ACTIVE
        what = "Go on with" if is_open else "It is closed; write its files with"
        tell(f"{what}: run-debate --resume {place.thread_id}{what_to_raise(error)}")
    return code


def what_to_raise(error: DebateError) -> str:
    """The option without which a run would stop at the same limit again."""
    return f" {_RAISES[error.limit]}" if isinstance(error, StoppedByLimit) else ""


def _kept(place: Place, error: DebateError) -> tuple[Path, ...]:
    """The file of the answers that are paid for and not on the ledger; where no file can be written, they are told."""
    if place.folder is None:
        return ()
    beside = "-elsewhere" if isinstance(error, LeaseLost) else ""  # the folder is another process's by now
    try:
        return run_folder.keep_drafts(place.folder, place.paid.unused, beside)
    except UsageError as refused:
        tell(f"error: {refused}")
        for draft in place.paid.unused:
            tell(f"The draft of {_title(draft)}:\n{draft.text}")
        return ()


def _title(draft: Draft) -> str:
    return f"{draft.seat.slot} ({draft.seat.agent}, {draft.step}, {draft.answered})"


def _begun(place: Place, error: DebateError) -> Debate | None:
    """The debate as it stands, if it was opened, and its run is this process's."""
    if place.thread_id is None or isinstance(error, RunHeld):
        return None
    try:
        with Hall.open() as hall:
            return hall.debate(place.thread_id)
    except UnknownThread:
        place.thread_id = None  # it was never opened
    except DebateError:
        pass  # what is reported is the first error
    return None


def _can_go_on(place: Place, error: DebateError, debate: Debate | None) -> bool:
    """Whether there is something to resume; a run that was paused had begun, also where the store is gone since."""
    if place.thread_id is None or isinstance(error, LeaseLost):
        return False
    return isinstance(error, RunPaused) or (debate is not None and debate.state.status is Status.ACTIVE)


def print_usage_failure(message: str) -> None:
    answer(json_text(result.failed(UsageError(message), Exit.USAGE)))
