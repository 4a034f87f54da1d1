"""What goes to a terminal, a pipe or a file: harmless to show, and no reason to end a debate when nobody reads it."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from typing import Any

import click

from orchestrator.errors import DebateError, UsageError
from orchestrator.secrets import scrub
from orchestrator.wording import STEERING, visible

_ESCAPED = {code: f"\\u{code:04x}" for code in STEERING}


def json_text(value: Any) -> str:
    """Returns JSON, in which what steers a terminal is escaped, as is everything where the output takes no UTF-8."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=2)
    return text.translate(_ESCAPED) + "\n"


def answer(text: str) -> None:
    """Writes to standard output. A reader that has enough (`| head -1`) is no failure.

    Raises:
        UsageError: it cannot be written, on a full disk say; what comes after is dropped.
    """
    try:
        click.echo(encodable(text), nl=False)
    except BrokenPipeError:
        _drop_the_rest()
    except OSError as error:
        _drop_the_rest()
        raise UsageError(f"Standard output cannot be written: {error.strerror}.", "Send it elsewhere.") from error


def encodable(text: str) -> str:
    """Returns a text in which what standard output cannot write is an escape."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def export(text: str) -> None:
    """Writes a document to standard output: byte for byte, but for a terminal, which sees it harmless."""
    answer(visible(text) if sys.stdout is not None and sys.stdout.isatty() else text)


def tell(line: str) -> None:
    """Writes to standard error, for people, what is no secret. When that is closed or full, all goes on untold."""
    with suppress(OSError):
        click.echo(visible(scrub(line)), err=True)


def print_failure(error: DebateError) -> None:
    """Writes an error as the object that a program asked for."""
    with suppress(UsageError):  # there is nowhere left to say it
        answer(json_text({"error": {"code": error.code, "message": scrub(str(error))}}))


def _drop_the_rest() -> None:
    """Lets standard output lead nowhere, so that what waits in its buffer fails no second time at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
