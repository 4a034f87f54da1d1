"""Where a text uses the phrases of a brief: a first reading by rule, without a model.

A phrase is found in any case, with any space or hyphen inside, `per cent` as `%`, numbers with or without commas; what
ends in a letter may go on (`recalculat` finds `recalculated`), what ends in a digit may not. A phrase that could mean
anything (one word, one number) counts only near another one, or in a sentence that shares words with the fact itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from orchestrator.evidence.prose import prose_of

_CITATION = re.compile(r"\[(?:E\d+|[\w./-]+\.md):[^\]]*\]")
_COMMA = re.compile(r"(?<=\d)[,\u202f\u00a0'](?=\d{3}(?!\d))")
_PER_CENT = re.compile(r"(?<=\d)\s*(?:per\s?cent|percent|pct|%)", re.IGNORECASE)
_HYPHEN = re.compile(r"(?<=[a-z0-9])[-\u2010\u2011](?=[a-z])|(?<=[a-z])[-\u2010\u2011](?=[a-z0-9])")
_TOKEN = re.compile(r"\d[\d.]*%?|[a-z']+")
_CONTENT = re.compile(r"[a-z]{5,}|\d[\d.]*\d%?")
_EMPTY_WORDS = frozenset(
    ("the", "and", "for", "not", "out", "has", "its", "our", "per", "are", "was", "can", "may", "all", "any", "with")
)
_MOST_USES = 20  # of one phrase in one sentence; who goes on so says nothing new
_NEAR = 160  # characters between two phrases that stand together
_SHARED = 2  # words of the fact itself, in the sentence of a phrase that could mean anything


@dataclass(frozen=True, slots=True)
class Use:
    """A phrase where a text uses it: in the sentence `number` of the unit, from `at` to before `end`."""

    number: int
    at: int
    end: int


class Unit:
    """A part of an answer that stands for itself: its statement, a reason, a constraint with what is done about it.

    Args:
        text: its words.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.said = tuple(sentence for block in prose_of(text).sentences() for sentence in block)
        self.sentences = tuple(plain(sentence) for sentence in self.said)

    def uses(self, phrases: Sequence[str], fact: str) -> tuple[Use, ...]:
        """Where the phrases are used so that they can only mean a fact."""
        found = [(phrase, use) for phrase in dict.fromkeys(map(plain, phrases)) for use in self._found(phrase)]
        return tuple(
            use
            for phrase, use in found
            if _is_unmistakable(phrase)
            or any(self._stand_together(use, other) for name, other in found if name != phrase)
            or _shared(self.sentences[use.number], use, fact) >= _SHARED
        )

    def _found(self, phrase: str) -> Iterator[Use]:
        for number, sentence in enumerate(self.sentences):
            for match in islice(_pattern(phrase).finditer(sentence), _MOST_USES):
                yield Use(number, match.start(), match.end())

    def _stand_together(self, use: Use, other: Use) -> bool:
        if use.number == other.number:
            apart = max(use.at, other.at) - min(use.end, other.end)
            return 0 <= apart <= _NEAR
        return abs(use.number - other.number) == 1


@lru_cache(maxsize=4096)
def plain(text: str) -> str:
    """Words as phrases are compared: small letters, one spelling, without citations."""
    words = _CITATION.sub(" ", text.replace("’", "'")).lower()
    words = _PER_CENT.sub("%", _COMMA.sub("", words))
    return " ".join(_HYPHEN.sub(" ", words).split())


def numbers_in(text: str) -> frozenset[str]:
    """The numbers of a text that have two digits or more."""
    return frozenset(word.rstrip(".") for word in re.findall(r"\d[\d.]*\d", plain(text)))


@lru_cache(maxsize=4096)
def _pattern(phrase: str) -> re.Pattern[str]:
    before = r"(?<![\d.,])" if phrase[0].isdigit() else r"(?<![a-z0-9])"
    after = r"(?![\d%]|[.,]\d)" if phrase[-1].isdigit() else ""
    return re.compile(before + re.escape(phrase) + after)


def _is_unmistakable(phrase: str) -> bool:
    """Whether it has two words that say something; a number with what it counts does."""
    words: list[str] = [word for word in _TOKEN.findall(phrase) if word not in _EMPTY_WORDS]
    counts = any(word[0].isdigit() for word in words)
    return len([word for word in words if counts or len(word) > 2]) > 1


def _shared(sentence: str, use: Use, fact: str) -> int:
    beside = sentence[: use.at] + " " + sentence[use.end :]
    return len(set(_CONTENT.findall(beside)) & set(_CONTENT.findall(plain(fact))))
