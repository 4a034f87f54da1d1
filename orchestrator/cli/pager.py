"""Long answers on a terminal: through a pager, unless they fit."""

from __future__ import annotations

import os
import shlex
import shutil
import sys

import click

from orchestrator.cli.plain import answer, encodable
from orchestrator.errors import UsageError

_LESS = "-FRX"  # what fits is printed, colours stay, and the page is still there when it is left


def columns_of_terminal() -> int | None:
    """Returns how wide the terminal is that standard output is; None where it is none, or cannot be drawn on."""
    if sys.stdout is None or not sys.stdout.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        return None
    return shutil.get_terminal_size().columns


def page_through(text: str, paged: bool = True) -> None:
    """Shows a text: at once where it fits on the terminal, else in PAGER, else in less.

    Raises:
        UsageError: PAGER cannot be read as a command.
    """
    if not paged or text.count("\n") < shutil.get_terminal_size().lines:
        answer(text)
        return
    try:
        shlex.split(os.environ.get("PAGER", ""))
    except ValueError as error:
        raise UsageError(f"PAGER is no command: {error}.", "Mend or unset it, or use --no-pager.") from error
    os.environ.setdefault("LESS", _LESS)
    click.echo_via_pager(encodable(text))
