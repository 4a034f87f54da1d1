"""Turns of different seats whose text barely differs: seats that were to think apart and wrote the same.

What is compared are runs of words, so the same idea in other words is no likeness. The share is that of a turn's words
which stand in a run that the other turn has too, and the smaller one of the two counts: a turn that quotes a short one
whole and goes on from there is not alike, as it would be if either did (containment). Words are counted and not the
runs themselves, as in Jaccard's measure: one changed word breaks five runs, and a copy with some words changed would
hardly be one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from operator import or_

from orchestrator.quotes import spoken, words_of

# Measured on turns such as those of tests/test_likeness.py: the same idea in other words is under 0.05, half a turn
# quoted 0.4; one word in ten changed anywhere is 0.7 to 0.9, one in five 0.3 to 0.7.
BARELY_DIFFER = 0.6
_RUN = 5  # words; about as many characters say as much where a script puts no space between words:
_UNSPACED_RUN = 10
_LEAST_WORDS = 20  # of a turn's own, beside what it quotes; fewer tell nothing
_LEAST_RUNS = 3  # that turns with so many words share at least if they are alike


@dataclass(frozen=True, slots=True)
class Alike:
    """Two turns by their numbers, and the share of their words that run alike, in that turn where it is smaller."""

    first: int
    second: int
    share: float


def near_duplicates(turns: Sequence[tuple[int, str]], common: Sequence[str] = ()) -> Iterator[Alike]:
    """The pairs of turns that barely differ, in their order.

    Args:
        turns: numbers and texts.
        common: what every seat had before it and may quote; words that stand in a run of these are not counted.
    """
    names: dict[tuple[str, ...], int] = {}
    spoken = [_spoken(number, text, names) for number, text in turns]
    pairs = [pair for pair in combinations(spoken, 2) if len(pair[0].distinct & pair[1].distinct) >= _LEAST_RUNS]
    given = _standing_in(common, names) if pairs else frozenset()
    own = {turn: ~_covered(turn, given) & turn.all_words for turn in {turn for pair in pairs for turn in pair}}
    for one, other in pairs:
        share = min(_share(one, other, own[one]), _share(other, one, own[other]))
        if share >= BARELY_DIFFER:
            yield Alike(one.number, other.number, share)


@dataclass(frozen=True, slots=True, eq=False)
class _Spoken:
    """A turn as the runs of `length` words in it, each run by its name."""

    number: int
    length: int
    runs: tuple[int, ...]
    distinct: frozenset[int]

    @property
    def all_words(self) -> int:
        """A bit for each word."""
        return (1 << (len(self.runs) + self.length - 1)) - 1


def _spoken(number: int, text: str, names: dict[tuple[str, ...], int]) -> _Spoken:
    words = words_of(text)
    length = _RUN if sum(word.spaced for word in words) * 2 >= len(words) else _UNSPACED_RUN
    runs = tuple(names.setdefault(run, len(names)) for run in _runs([word.folded for word in words], length))
    return _Spoken(number, length, runs, frozenset(runs))


def _share(turn: _Spoken, other: _Spoken, own: int) -> float:
    """The share of a turn's own words that stand in a run of the other turn; none where it has too few to tell."""
    words = own.bit_count()
    return (_covered(turn, other.distinct) & own).bit_count() / words if words >= _LEAST_WORDS else 0.0


def _covered(turn: _Spoken, wanted: Set[int]) -> int:
    """A bit for each word of a turn: whether it stands in one of the wanted runs."""
    begins = int("0" + "".join("1" if run in wanted else "0" for run in turn.runs), base=2)
    return reduce(or_, (begins << shift for shift in range(turn.length)))


def _runs(words: Sequence[str], length: int) -> Iterator[tuple[str, ...]]:
    return zip(*(words[at:] for at in range(length)), strict=False)


def _standing_in(texts: Sequence[str], names: Mapping[tuple[str, ...], int]) -> frozenset[int]:
    """The named runs that one of the texts has."""
    words = [spoken(text) for text in texts]
    runs = (run for of_text in words for length in (_RUN, _UNSPACED_RUN) for run in _runs(of_text, length))
    return frozenset(names[run] for run in runs if run in names)
