"""A thread's id, made from its topic: date first, readable, and valid whatever the topic is written in."""

from __future__ import annotations

import datetime
import hashlib
import re
import unicodedata
from collections.abc import Iterator
from itertools import count

MAX_WORDS_LENGTH = 60  # characters of the topic's words in an id

# Letters that Unicode does not take apart into an ASCII letter and a mark; ß becomes ss by case folding.
_LATIN = str.maketrans({"æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "ł": "l", "þ": "th", "ı": "i"})
_TRADE_MARKS = re.compile("[™℠]")  # which Unicode takes apart into the letters TM and SM
_SILENT = re.compile("['’‘ʼ\u0300-\u036f]+")  # apostrophes and accents, which part no word


def thread_id_for(topic: str, on: datetime.date, attempt: int = 1) -> str:
    """The id of a new thread: `2026-11-30-should-we-move-billing-to-kafka`.

    A topic of which ASCII keeps half its letters or less (Chinese, emoji, punctuation) is told apart by a digest:
    `2026-11-30-topic-1f2e3d4c`. The same topic, date and attempt always give the same id.

    Args:
        topic: any text.
        on: the day the debate opens.
        attempt: 1 for the first try; n ends the id with `-n`, for a topic whose id is taken.

    Returns:
        ASCII small letters, digits and `-`, starting with the date, at most 128 characters.
    """
    parts = [f"{on.year:04}-{on.month:02}-{on.day:02}", slug(topic, "topic")]
    if attempt > 1:
        parts.append(str(attempt))
    return "-".join(parts)


def ids_for(topic: str, on: datetime.date) -> Iterator[str]:
    """The ids of a new thread, the one to try first first; there is always another one."""
    return (thread_id_for(topic, on, attempt) for attempt in count(1))


def slug(text: str, instead: str) -> str:
    """A text's words as a part of a name: ASCII small letters, digits and `-`.

    Args:
        text: one of which ASCII keeps half its letters or less is told apart by a digest.
        instead: stands for a text of which ASCII keeps nothing.
    """
    folded = unicodedata.normalize("NFKD", _TRADE_MARKS.sub("", " ".join(text.split()))).casefold()
    plain = _SILENT.sub("", folded.translate(_LATIN))
    words = "-".join(re.findall("[a-z0-9]+", plain))
    kept = len(words) - words.count("-")
    if 2 * kept > sum(c.isalnum() for c in plain):
        return _cut(words)
    return f"{_cut(words) or instead}-{hashlib.sha256(folded.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def _cut(words: str) -> str:
    """At most the length allowed, ending with a whole word unless the first is longer than that."""
    if len(words) <= MAX_WORDS_LENGTH:
        return words
    whole, _, _ = words[: MAX_WORDS_LENGTH + 1].rpartition("-")
    return whole or words[:MAX_WORDS_LENGTH]
