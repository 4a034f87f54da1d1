"""Whether a text quotes another: a run of words that stands in both."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

# Hiragana, Han, Thai, Lao, Burmese and Khmer put no space between words, and only a dictionary finds them there. As
# in the default rules of Unicode's UAX #29 each character is then a word, with its marks. Katakana and Hangul are not
# among them: a run of Katakana is one loan word, and Korean puts spaces.
_UNSPACED = (
    r"\u3041-\u309f\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
)
_WORD = re.compile(rf"[{_UNSPACED}]\W*|[^{_UNSPACED}]+")  # within letters, marks and digits only marks are \W


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
    spoken = [[word.folded for word in _words(source)] for source in sources]
    length = min(words, max(map(len, spoken), default=0))
    if length == 0:
        return None
    runs = {tuple(source[at : at + length]) for source in spoken for at in range(len(source) - length + 1)}
    said = list(_words(text))
    folded = [word.folded for word in said]
    for at in range(len(said) - length + 1):
        if tuple(folded[at : at + length]) in runs:
            return text[said[at].start : said[at + length - 1].end]
    return None


@dataclass(frozen=True, slots=True)
class _Word:
    folded: str
    start: int
    end: int


def _words(text: str) -> Iterator[_Word]:
    for inside, positions in groupby(range(len(text)), lambda at: unicodedata.category(text[at])[0] in "LMN"):
        if inside:
            run = list(positions)
            for match in _WORD.finditer(text, run[0], run[-1] + 1):
                yield _Word(unicodedata.normalize("NFKC", match[0].casefold()), *match.span())
