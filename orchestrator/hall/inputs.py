"""Values that no debate accepts, whatever its state: names, thread ids and texts are judged here, once."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TypeVar

from orchestrator.errors import HoldsSecret, InvalidInput
from orchestrator.hall import canonical
from orchestrator.secrets import find_secret

Word = TypeVar("Word", bound=StrEnum)

MAX_LIMIT = 100_000
MAX_TOPIC = 12_000  # characters
MAX_CONTENT = 262_144  # bytes of UTF-8
MAX_COUNT = 2**53 - 1  # of tokens: the largest whole number that every JSON reader keeps
MAX_NAME = 256  # characters of an agent's, model's, lens's or author's name

_THREAD_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9_-])?")
_DATE_FIRST = re.compile(r"\d{4}-\d{2}-\d{2}-.+")


def require_words(text: str, what: str) -> None:
    """Judges free text; `what` names it in the error (topic, question, content, synthesis, reason, …).

    Raises:
        InvalidInput: it is no text, blank, too long, not valid Unicode, or holds a NUL.
        HoldsSecret
    """
    if not isinstance(text, str):
        raise InvalidInput(f"The {what} is text, not {type(text).__name__}.")
    if not text.strip():
        raise InvalidInput(f"The {what} is blank.", f"Send a {what} with words in it.")
    size = len(canonical.require_text(text))
    if what in ("topic", "question") and len(text) > MAX_TOPIC:
        raise InvalidInput(f"The {what} has {len(text):,} characters; at most {MAX_TOPIC:,} fit.", "Shorten it.")
    if size > MAX_CONTENT:
        raise InvalidInput(f"The {what} has {size:,} bytes; at most {MAX_CONTENT:,} fit.", "Shorten it.")
    if "\0" in text:
        raise InvalidInput(f"The {what} holds a NUL character.", "Remove it.")
    require_no_secret(text, what)


def require_no_secret(text: str, what: str) -> None:
    """Judges a text that would be stored for good, and sent to models; `what` names it in the error.

    Raises:
        HoldsSecret: it holds a key, token or password, by its looks or because this process's environment has it.
    """
    found = find_secret(text)
    if found is not None:
        where = f", in line {found.line}" if "\n" in text else ""
        raise HoldsSecret(
            f"The {what} holds what looks like {found.kind}{where}; nothing was sent or written.",
            "Take it out, or write a placeholder such as <token>.",
        )


def require_name(name: str) -> str:
    """Returns a name of an agent, model, lens or author: one line of printable text that cannot forge structure.

    Raises:
        InvalidInput: it is blank, too long, or holds control, line-breaking or direction-changing characters.
    """
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable():
        raise InvalidInput(
            f"{name[:60]!r} cannot be a name: one line of at most {MAX_NAME} printable characters.",
            "Send a plain name, such as critical-engineer.",
        )
    return name


def require_thread_id(thread_id: str) -> str:
    """Returns a thread id that is safe as a file name on every system (DESIGN section 5).

    Raises:
        InvalidInput: it is not.
    """
    if not isinstance(thread_id, str) or not _THREAD_ID.fullmatch(thread_id):
        raise InvalidInput(
            f"{str(thread_id)[:140]!r} cannot be a thread id: ASCII letters, digits, '.', '_' and '-', first a letter "
            "or digit, last no '.', at most 128.",
            "Begin with the date, as in 2026-01-06-microservices-decision.",
        )
    return thread_id


def thread_id_warnings(thread_id: str) -> tuple[str, ...]:
    """Date-first is the convention, not the rule."""
    if _DATE_FIRST.fullmatch(thread_id):
        return ()
    return (f"{thread_id} does not begin with a date (YYYY-MM-DD-subject), so it will not sort with the others.",)


def word(vocabulary: type[Word], value: str, what: str) -> Word:
    """Returns a word of the protocol, given in any case."""
    for known in vocabulary:
        if isinstance(value, str) and value.casefold() == known.value.casefold():
            return known
    raise InvalidInput(f"{what} is {str(value)[:60]!r}; it is one of {', '.join(vocabulary)}.")
