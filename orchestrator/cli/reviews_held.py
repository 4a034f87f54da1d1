"""What `debate-hall review run` and `daemon` do."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio

from orchestrator.cli.deciding import whole_decision
from orchestrator.cli.ending import Exit
from orchestrator.cli.outcome import politely
from orchestrator.cli.plain import answer, json_text, print_failure, tell
from orchestrator.cli.telling import Telling, telling
from orchestrator.decision.record import record_of
from orchestrator.errors import ConfigurationError, DebateError, LimitMet, RunHeld, RunPaused, StoppedByLimit
from orchestrator.events import Reader
from orchestrator.hall.hall import Hall
from orchestrator.lanes import Turns
from orchestrator.own_task import in_own_task
from orchestrator.plan import Plan
from orchestrator.review.daemon import Daemon, WallClock
from orchestrator.review.leaving import leaving
from orchestrator.review.office import Ended, Office
from orchestrator.review.result import exit_code_of, not_held, result_of
from orchestrator.review.reviews_file import Review, ReviewsFile, find_reviews_file, load_reviews
from orchestrator.review.running import hold_review
from orchestrator.review.times import NotNow, Taken, take_by_hand, take_due
from orchestrator.wording import visible


class _Voice:
    """Tells of a run on standard error, unless that is not wanted."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._telling = Telling()

    def line(self, line: str) -> None:
        if not self._quiet:
            tell(line)

    def readers(self, plan: Plan) -> Sequence[Reader]:
        self._telling = telling(plan, quiet=self._quiet, colour=True, events=None)
        return self._telling.readers

    def close(self) -> None:
        self._telling.close()


def run(name: str, given: Path | None, *, due: bool, quiet: bool, as_json: bool) -> int:
    """Holds a review and returns the exit code."""
    held = partial(_run, name, given, due=due, quiet=quiet, as_json=as_json)
    return politely(held, partial(_report, name, given, as_json))


def _run(name: str, given: Path | None, *, due: bool, quiet: bool, as_json: bool) -> int:
    file = _trusted(given)
    review = file.named(name)
    voice = _Voice(quiet)
    with Hall.open() as hall:
        take = take_due if due else take_by_hand
        taken = take(hall.reviews, review, file.path, _now())
        if isinstance(taken, NotNow):
            if taken.is_held and not due:
                raise RunHeld(f"{review.name}: {taken.why}", f"See how it goes: debate-hall history {review.name}")
            answer(json_text(not_held(review.name, taken.why)) if as_json else _nothing(taken.why))
            return Exit.DECIDED
        office = Office(hall, file, _now, voice.line, readers=voice.readers)
        try:
            ended = anyio.run(in_own_task, partial(hold_review, office, review, taken))
        finally:
            voice.close()
    answer(json_text(result_of(review, taken, ended)) if as_json else _told(ended))
    for line in _last_words(ended):
        voice.line(line)
    for problem in ended.problems:
        tell(f"error: {problem}")
    return exit_code_of(ended)


def _nothing(why: str) -> str:
    return f"Nothing to debate: {visible(why)}\n"


def _told(ended: Ended) -> str:
    if ended.debated is None:
        return _nothing(ended.why)
    debated = ended.debated
    return f"{visible(whole_decision(debated.run.debate, record_of(debated.run.debate), debated.plan))}\n"


def _last_words(ended: Ended) -> Sequence[str]:
    return [f"wrote {file}" for file in ended.debated.files] if ended.debated else []


def _report(name: str, given: Path | None, as_json: bool, error: DebateError, code: Exit) -> int:
    if isinstance(error, StoppedByLimit):
        error = _with_its_own_cure(error)
    tell(f"error: {error}")
    if as_json:
        print_failure(error)
    if isinstance(error, RunPaused):
        file = f" --file {shlex.quote(str(given))}" if given is not None else ""
        tell(f"Go on with it: debate-hall review run {name}{file}")
    return code


def _with_its_own_cure(error: StoppedByLimit) -> StoppedByLimit:
    """A review has no options for its limits."""
    cure = f"Raise {error.limit} under limits: in the reviews file, and go on with it."
    return StoppedByLimit(LimitMet(error.message, cure, limit=error.limit))


def daemon(given: Path | None) -> int:
    """Holds each review when its time comes, until it is told to stop; returns the exit code."""
    return politely(partial(_daemon, given), _end_of_the_daemon)


def _daemon(given: Path | None) -> int:
    with Hall.open() as hall:
        anyio.run(in_own_task, daemon_of(hall, given).serve)
    return Exit.DECIDED


def daemon_of(hall: Hall, given: Path | None, turns: Callable[[str], Turns] | None = None) -> Daemon:
    """What holds the reviews of a file when their time has come.

    Args:
        turns: as an office has them.

    Raises:
        UsageError: the file is missing, says something wrong, or decides what is not its to decide.
    """
    file = _trusted(given)
    office = Office(hall, file, _now, tell, turns=turns)

    async def hold(review: Review, taken: Taken) -> None:
        tell(f"{review.name}: its time has come: {taken.due_at:%Y-%m-%d %H:%M} UTC")
        try:
            ended = await hold_review(office, review, taken)
        except StoppedByLimit as error:
            raise _with_its_own_cure(error) from error
        for line in (*_last_words(ended), *(f"error: {problem}" for problem in ended.problems)):
            tell(f"{review.name}: {line}")
        tell(f"{review.name}: {ended.outcome.replace('_', ' ')}: {ended.why}")

    tell(f"holding the reviews of {file.path}: {', '.join(review.name for review in file.reviews)}")
    return Daemon(hall.reviews, file, WallClock(), hold, tell)


def _end_of_the_daemon(error: DebateError, code: Exit) -> int:
    """To be told to stop is how a daemon ends."""
    if code is Exit.INTERRUPTED:
        tell("stopped; what was under way is paused, and gone on with at the next start")
        return Exit.DECIDED
    tell(f"error: {error}")
    return code


def _trusted(given: Path | None) -> ReviewsFile:
    """The file; one of the working folder, which may be anybody's, decides nothing risky unless it is named.

    Raises:
        UsageError: it is missing, says something wrong, or decides what is not its to decide.
    """
    found = find_reviews_file(given)
    file = load_reviews(found)
    if given is None and not found.is_absolute():
        for number, review in enumerate(file.reviews):
            outside = (f"has a path that leaves its folder ({key})" for key in leaving(review, file.folder))
            for risk in (*review.risks, *outside):
                raise ConfigurationError(
                    f"This file of the working folder {risk}.",
                    f"Read it, and name it if that is what you want: --file {found}",
                    source=str(found),
                    key=f"reviews[{number}]",
                )
    return file


def _now() -> datetime:
    return datetime.now(UTC)
