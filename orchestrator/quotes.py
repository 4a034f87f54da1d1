"""Whether a text quotes another: a run of words that stands in both."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from typing import NamedTuple

# Hiragana, Han, Thai, Lao, Burmese and Khmer put no space between words, and only a dictionary finds them there. As
# in the default rules of Unicode's UAX #29 each character is then a word, with its marks. Katakana and Hangul are not
# among them: a run of Katakana is one loan word, and Korean puts spaces.
_UNSPACED = (
    r"\u3041-\u309f\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
)
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")


class Word(NamedTuple):
    """A word, and where it stands in its text.

    `folded` is what is compared: without regard to case and to the forms Unicode holds for the same letter. Where
    `spaced` is false the script puts no space between words, and the word is a single character.
    """

    folded: str
    start: int
    end: int
    spaced: bool


@lru_cache(maxsize=64)  # a turn is counted, held against its Wind and against every constraint, and read for likeness
def words_of(text: str) -> tuple[Word, ...]:
    """The words of a text in their order: runs of letters, digits and marks."""
    if text.isascii():  # the same, several times faster
        return tuple(Word(match[0], *match.span(), True) for match in _ASCII_WORD.finditer(text.lower()))
    marks = {each for each in set(text) if unicodedata.category(each)[0] == "M"}
    words = _word(frozenset(marks)).finditer(text)
    return tuple(Word(_folded(match[0]), *match.span(), match.lastgroup == "spaced") for match in words)


def quotes_run(text: str, sources: Sequence[str], words: int = 6) -> str | None:
    """The first run of a text's words that also stands in one of the sources, as the text writes it, or None.

    Words are compared without regard to case, to the forms Unicode holds for the same letter, and to what stands
    between them: white space, punctuation, Markdown's marks.

    Args:
        text: what should quote.
        sources: what it may quote.
        words: how many words the run has, at least 1. Where every source is shorter, the run is a longest source whole.

    Returns:
        Exactly that many words, from the first to the last, or None where there is no such run.
    """
    length = min(words, max((len(_spoken(source)) for source in sources), default=0))
    if length == 0 or not any(_may_share(text, source, length) for source in sources):
        return None
    own = _runs(text, length)
    runs = [_runs(source, length) for source in sources]
    if all(of_source.isdisjoint(own) for of_source in runs):
        return None
    said, folded = words_of(text), _spoken(text)
    first = next(at for at in count() if any(folded[at : at + length] in of_source for of_source in runs))
    return text[said[first].start : said[first + length - 1].end]


def _may_share(text: str, source: str, length: int) -> bool:
    """Whether two texts may have a run of so many words in common: mostly not, and that is seen at once.

    Any such run covers one of the blocks of half as many words into which the text is cut.
    """
    block, said, told = (length + 1) // 2, _spoken(text), _in_a_row(source)
    places = range(0, len(said) - block + 1, block)
    return any(f" {' '.join(said[at : at + block])} " in told for at in places)


@lru_cache(maxsize=64)  # every turn of a debate is held against the same instructions, and against other turns
def _in_a_row(source: str) -> str:
    """The words of a text with a blank around each."""
    return f" {' '.join(_spoken(source))} "


@lru_cache(maxsize=64)
def _runs(source: str, length: int) -> frozenset[tuple[str, ...]]:
    said = _spoken(source)
    return frozenset(said[at : at + length] for at in range(len(said) - length + 1))


def spoken(text: str) -> tuple[str, ...]:
    """The words of a text as they are compared."""
    return tuple(_ASCII_WORD.findall(text.lower()) if text.isascii() else (word.folded for word in words_of(text)))


def _folded(word: str) -> str:
    return word.lower() if word.isascii() else unicodedata.normalize("NFKC", word.casefold())


_spoken = lru_cache(maxsize=64)(spoken)
_ASCII_WORD = re.compile(r"[0-9a-z]++")  # of a text in small letters


@lru_cache(maxsize=64)
def _word(marks: frozenset[str]) -> re.Pattern[str]:
    """What a word looks like in a text that holds these marks.

    `re` has a class for letters and digits, `[^\\W_]`, and none for marks: so those a text holds are written out, each
    list with one more, since an empty set is no pattern.
    """
    within = "".join(mark for mark in marks if _IS_UNSPACED.match(mark)) + "\u0e31"
    beyond = "".join(mark for mark in marks if not _IS_UNSPACED.match(mark)) + "\u0300"
    spaced = rf"(?P<spaced>(?:[^\W_{_UNSPACED}]++|[{beyond}]++)+)"
    return re.compile(rf"{spaced}|(?:(?=\w)[{_UNSPACED}]|[{within}])[{within}{beyond}]*")
