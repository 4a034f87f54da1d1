"""Two decision records side by side: what differs, and how much is the same.

Two debates have no names in common, so what is stated in both is found by its words. Likeness is all that is claimed:
the share of the words that two statements have in common, short words that join others apart. Each is matched once, the
likest first. Of what is matched everything is compared but names and places: ids, turns, agents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import product
from typing import Any, Generic, TypeVar

from orchestrator.decision.account import Assumption, Option
from orchestrator.decision.decided import ConstraintAnswered, Dissent
from orchestrator.decision.record import DecisionRecord
from orchestrator.decision.seating import Part
from orchestrator.quotes import words_of

Item = TypeVar("Item", Option, ConstraintAnswered, Dissent, Assumption)

# Measured on statements such as those of tests/decision/test_difference.py: one thing said twice in other words is 0.4
# to 0.8, two things of one debate are up to 0.3.
ALIKE = 0.4
_JOINS = 3  # letters of the longest words that only join others


class Changed(Part):
    """What the two records say of one thing; None where a record says nothing of it."""

    what: str
    a: str | int | Decimal | None
    b: str | int | Decimal | None


class Pair(Part, Generic[Item]):
    """Two items that were matched for the likeness of their words, 0 to 1, and the members in which they differ."""

    a: Item
    b: Item
    likeness: float
    differs: tuple[str, ...]


class Compared(Part, Generic[Item]):
    """The items of one kind: how many are the same, those that are matched and differ, those that stand on one side."""

    same: int
    alike: tuple[Pair[Item], ...]
    only_a: tuple[Item, ...]
    only_b: tuple[Item, ...]

    @property
    def differs(self) -> bool:
        return bool(self.alike or self.only_a or self.only_b)


class Difference(Part):
    """What differs between two records. `question` is None where both debates answer the same one."""

    question: Changed | None
    decision: tuple[Changed, ...]
    outcome: tuple[Changed, ...]
    options: Compared[Option]
    constraints: Compared[ConstraintAnswered]
    dissent: Compared[Dissent]
    assumptions: Compared[Assumption]
    cost: tuple[Changed, ...]

    @property
    def is_empty(self) -> bool:
        parts = (self.options, self.constraints, self.dissent, self.assumptions)
        return not (self.question or self.decision or self.outcome or self.cost or any(part.differs for part in parts))


def difference(a: DecisionRecord, b: DecisionRecord) -> Difference:
    """Returns how two records differ; that of b and a is the same with the sides changed."""
    return Difference(
        question=next(_changed(a, b, _QUESTION), None),
        decision=tuple(_changed(a, b, _DECISION)),
        outcome=tuple(_changed(a, b, _OUTCOME)),
        options=Compared[Option](**_compared(a.options, b.options, _OPTION)),
        constraints=Compared[ConstraintAnswered](**_compared(a.constraints, b.constraints, _CONSTRAINT)),
        dissent=Compared[Dissent](**_compared(a.dissent, b.dissent, _DISSENT)),
        assumptions=Compared[Assumption](**_compared(a.assumptions, b.assumptions, _ASSUMPTION)),
        cost=tuple(_changed(a, b, _COST)),
    )


def likeness(one: str, other: str) -> float:
    """The share of the words of two statements that both have (Dice's measure), without regard to order and case."""
    first, second = _telling(one), _telling(other)
    if not first or not second:
        return float(one.split() == other.split())
    return 2 * len(first & second) / (len(first) + len(second))


@lru_cache(maxsize=1024)  # each statement is held against all of the other side
def _telling(text: str) -> frozenset[str]:
    """The words that say something: not the short ones, but for numbers and scripts in which all are short."""
    words = words_of(text)
    long = [word for word in words if not word.spaced or len(word.folded) > _JOINS or not word.folded.isalpha()]
    return frozenset(word.folded for word in long or words)


def _verdicts(record: DecisionRecord) -> str | None:
    """How often Walls gave which verdict: `1 BLOCKED, 2 CONDITIONAL`."""
    counts = Counter(one.verdict or "no verdict" for one in record.verdicts)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in sorted(counts)) or None


Facts = Mapping[str, Callable[[DecisionRecord], str | int | Decimal | None]]

_QUESTION: Facts = {"question": lambda record: record.question}
_DECISION: Facts = {
    "title": lambda record: record.title,
    "decision": lambda record: record.summary or record.decision,  # Door's short form, where there is one
}
_OUTCOME: Facts = {
    "status": lambda record: record.status,
    "agreed": lambda record: {True: "yes", False: "no", None: "not voted on"}[record.agreed],
    "verdicts": _verdicts,
    "reversibility": lambda record: record.reversibility,
    "confidence": lambda record: record.confidence.level if record.confidence else None,
    "review by": lambda record: record.review_by,
}
_COST: Facts = {
    "US dollars": lambda record: record.cost_usd,
    "tokens in": lambda record: record.tokens.input,
    "of them cached": lambda record: record.tokens.cached,
    "tokens out": lambda record: record.tokens.output,
    "turns": lambda record: sum(record.balance.values()),
}

# What is compared of each kind, first the words that it is matched by.
_OPTION = ("title", "taken", "why")
_CONSTRAINT = ("statement", "nature", "blocks", "lifted", "outcome", "sentence")
_DISSENT = ("objection", "role", "grounded", "settled_by", "settlement")
_ASSUMPTION = ("what", "check")
MATCHED_BY = frozenset(members[0] for members in (_OPTION, _CONSTRAINT, _DISSENT, _ASSUMPTION))


def _changed(a: DecisionRecord, b: DecisionRecord, facts: Facts) -> Iterator[Changed]:
    for what, of in facts.items():
        if of(a) != of(b):
            yield Changed(what=what, a=of(a), b=of(b))


def _compared(a: Sequence[Item], b: Sequence[Item], members: Sequence[str]) -> dict[str, Any]:
    """Matches items, each once: the likest first, of those the ones that differ in least, then those that stand first.

    The sort is stable, and of two pairs with an item in common the same stands first from either side.
    """
    left_a, left_b = dict(enumerate(a)), dict(enumerate(b))
    matched: list[Pair[Item]] = []
    for pair, at, to in sorted(_pairs(a, b, members), key=lambda each: (-each[0].likeness, len(each[0].differs))):
        if at in left_a and to in left_b:
            del left_a[at], left_b[to]
            matched.append(pair)
    alike = tuple(pair for pair in matched if pair.differs)
    same = len(matched) - len(alike)
    return {"same": same, "alike": alike, "only_a": tuple(left_a.values()), "only_b": tuple(left_b.values())}


def _pairs(a: Sequence[Item], b: Sequence[Item], members: Sequence[str]) -> Iterator[tuple[Pair[Item], int, int]]:
    """Every pair that is alike, with the places of its two items."""
    for (at, one), (to, other) in product(enumerate(a), enumerate(b)):
        share = likeness(getattr(one, members[0]), getattr(other, members[0]))
        if share >= ALIKE:
            differs = tuple(name for name in members if getattr(one, name) != getattr(other, name))
            yield Pair(a=one, b=other, likeness=share, differs=differs), at, to
