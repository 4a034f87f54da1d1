"""A check is evaluated: does the assumption hold, is it broken, or is that not known, and why.

This is no sandbox. A command gets a copy of the folder to work in, a home of its own, an environment without keys, a
time limit and bounded output, and all that it started is ended with it. But what the user may read, write and reach
over the network it may too: commands run only where they are allowed.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import deque
from datetime import date
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from orchestrator.evidence.account import Unfit
from orchestrator.evidence.reading import File, is_within, look, place_of, read, read_bytes, unreadable
from orchestrator.models.cli_process import MOST_OUTPUT, Ended, run
from orchestrator.review.checks import RELATIONS, Check, Exits, FileIs, Prints, Text, Until
from orchestrator.review.work_copy import NoCopyError, copy_folder
from orchestrator.secrets import scrub
from orchestrator.wording import shortened, visible
from orchestrator.worker import in_thread

SECONDS = 60.0  # for one command

# How a shell says that a program may not be run (126), is not there (127) or was ended by a signal (128 and more), and
# git that it could not do what it was asked to (128).
_NO_ANSWER = range(126, 128 + 64 + 1)
_MOST_TOLD = 200  # characters of what a command complains of
_NUMBER = re.compile(r"(?:(?<![\w.])[-+])?\d[\d.,]*(?:[eE][-+]?(?P<exponent>\d+))?", re.ASCII)
_MOST_EXPONENT = 4  # digits: a larger one is an id or a hash, and no number that can be compared


class State(StrEnum):
    """What is known of an assumption; only a broken one is a reason to debate."""

    HOLDS = "holds"
    BROKEN = "broken"
    UNKNOWN = "unknown"


class Finding(NamedTuple):
    """What a check came to; `why` says it in a sentence without a full stop."""

    state: State
    why: str


def _found(holds: bool, why: str) -> Finding:
    return Finding(State.HOLDS if holds else State.BROKEN, why)


def _unknown(why: str) -> Finding:
    return Finding(State.UNKNOWN, why)


async def evaluate(check: Check, folder: Path, *, today: date, commands: bool, seconds: float = SECONDS) -> Finding:
    """Evaluates one check. Whatever goes wrong with it is a finding, too: it is not known whether it holds.

    Args:
        folder: what it is about.
        today: for checks that hold until a day.
        commands: whether it may run a command.
        seconds: how long that may take.
    """
    match check:
        case Until(day):
            return _found(today <= day, f"today is {today}")
        case FileIs() | Text():
            return await in_thread(_of_file, check, folder)
        case Exits() | Prints():
            if not commands:
                return _unknown("it runs a command, and none may run here")
            return await _of_command(check, folder, seconds)


# -------------------------------------------------------------------------------------------------------------- files


def _of_file(check: FileIs | Text, folder: Path) -> Finding:
    if not is_within(place_of(check.path, folder), [folder.resolve()]):
        return _unknown(f"{check.path} leads out of the folder that is checked")
    try:
        place_of(check.path, folder).stat()
        file = look(check.path, folder)
        return _digest(check, file) if isinstance(check, FileIs) else _text(check, file)
    except (FileNotFoundError, NotADirectoryError):
        # That a text is not in a file that was moved away says nothing.
        is_broken = isinstance(check, FileIs) or check.present
        return Finding(State.BROKEN if is_broken else State.UNKNOWN, f"there is no {check.path}")
    except OSError as error:  # a loop of links, a path that is too long or may not be looked at: it may be there
        return _unknown(f"{check.path} {unreadable(error).why}")
    except Unfit as unfit:
        return _unknown(f"{check.path} {unfit.why}")


def _digest(check: FileIs, file: File) -> Finding:
    digest = hashlib.sha256(read_bytes(file)).hexdigest()
    return _found(digest == check.digest, f"{check.path} has sha256 {digest}")


def _text(check: Text, file: File) -> Finding:
    _, text = read(file)
    is_there = " ".join(check.words.split()) in " ".join(text.split())
    return _found(is_there == check.present, f"{check.path} {'holds' if is_there else 'does not hold'} the text")


# ----------------------------------------------------------------------------------------------------------- commands


async def _of_command(check: Exits | Prints, folder: Path, seconds: float) -> Finding:
    try:
        ended = await _run(check.command, folder, seconds)
    except (NoCopyError, OSError) as error:
        return _unknown(f"the command was not run: {error}")
    if ended.late:
        return _unknown(f"the command took longer than {seconds:g} seconds, and was ended")
    if ended.flooded:
        return _unknown(f"the command printed more than {MOST_OUTPUT >> 20} MiB, and was ended")
    return _exit(check, ended) if isinstance(check, Exits) else _number(check, ended)


async def _run(command: str, folder: Path, seconds: float) -> Ended:
    """
    Raises:
        NoCopyError, OSError: it was not run.
    """
    with TemporaryDirectory(prefix="debate-hall-", ignore_cleanup_errors=True) as place:
        within = await in_thread(Path(place).resolve)
        work, home, rest = (Path(place, name) for name in ("work", "home", "tmp"))
        await in_thread(copy_folder, folder, work)
        home.mkdir()
        rest.mkdir()
        seen = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(home),
            "TMPDIR": str(rest),
            "LANG": "C.UTF-8",  # numbers and complaints read the same everywhere
            "GIT_CEILING_DIRECTORIES": str(within),  # git looks for no repository around the copy
        }
        return await run(["/bin/sh", "-c", command], b"", folder=work, environment=seen, seconds=seconds)


def _exit(check: Exits, ended: Ended) -> Finding:
    if ended.code != check.code and (ended.code < 0 or ended.code in _NO_ANSWER):
        return _unknown(_complaint(ended))
    return _found(ended.code == check.code, f"the command ended with exit code {ended.code}")


def _number(check: Prints, ended: Ended) -> Finding:
    # Commands that count and find nothing, as `grep -c`, end with 1.
    if ended.code not in (0, 1):
        return _unknown(_complaint(ended))
    numbers = deque(_NUMBER.finditer(ended.output), maxlen=1)
    if not numbers:
        return _unknown("the command printed no number")
    last = numbers[0]
    printed = last[0].rstrip(".,")
    if len(last["exponent"] or "") > _MOST_EXPONENT:
        return _unknown(f"the command printed {shortened(printed, 40)}, whose exponent has more than four digits")
    try:
        number = Decimal(printed)
    except InvalidOperation:  # 1,234 and 1.2.3: which number is that?
        return _unknown(f"the command printed {shortened(printed, 40)}, which can be read in more than one way")
    return _found(RELATIONS[check.relation](number, check.bound), f"the command printed {printed:.40}")


def _complaint(ended: Ended) -> str:
    """How a command failed, with the last line of its complaint."""
    how = f"ended by signal {-ended.code}" if ended.code < 0 else f"ended with exit code {ended.code}"
    lines = ended.errors.strip().splitlines()
    return f"the command {how}{f': {shortened(visible(scrub(lines[-1].strip())), _MOST_TOLD)}' if lines else ''}"
