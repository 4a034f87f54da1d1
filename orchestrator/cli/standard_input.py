"""What stands on standard input, where a command is given - for it."""

from __future__ import annotations

import sys

from orchestrator.errors import UsageError
from orchestrator.evidence import MAX_BYTES


def read(instead: str) -> bytes:
    """Returns what stands there, or as much of it as shows that it is more than any use of it takes.

    Args:
        instead: what may be given in place of -, for the error.

    Raises:
        UsageError: it is closed, or cannot be read.
    """
    cure = f"Give {instead} in place of -."
    if sys.stdin is None:
        raise UsageError("Standard input is closed, so that it holds nothing.", cure)
    try:
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(
            f"Standard input cannot be read: {error.strerror}.", f"Give {instead} in place of -."
        ) from error


def text(what: str, instead: str, shorter: str) -> str:
    """Returns the text that stands there, without blanks around it.

    Args:
        what: it is called in errors: topic, statement, …
        shorter: what to do when it is more than any use of it takes.

    Raises:
        UsageError
    """
    data = read(instead)
    if len(data) > MAX_BYTES:
        raise UsageError(f"The {what} on standard input is larger than {MAX_BYTES:,} bytes.", shorter)
    try:
        return data.decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise UsageError(f"The {what} on standard input is not UTF-8.", "Send it as UTF-8 text.") from error
