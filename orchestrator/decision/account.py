"""Door's account of a decision: asked for as JSON once the synthesis stands, checked against the ledger, not believed.

`problems_of` says what in it does not hold: a constraint it passes over, a sentence that is not in the synthesis, a
turn that was never taken. Door is told once; what still fails then makes the record incomplete, in plain sight.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from orchestrator.decision.constraints import Constraint, answers_in, outcome_of
from orchestrator.decision.grounds import Grounds, plain_name
from orchestrator.evidence import Evidence, check, citations
from orchestrator.evidence.prose import prose_of
from orchestrator.hall.terms import Role
from orchestrator.quotes import words_of
from orchestrator.structured import Answer, Words

LEAST_WORDS = 3  # of a sentence that answers something


def _day(text: str) -> str:
    date.fromisoformat(text)
    return text


Name = Annotated[str, AfterValidator(plain_name)]
Day = Annotated[str, AfterValidator(_day)]


class Option(Answer):
    """A path that was on the table."""

    title: Words
    turns: tuple[int, ...] = Field(description="the numbers of the turns that raised it, T1 is 1")
    taken: bool
    why: Words = Field(description="why it was taken, or why not")
    because: tuple[Name, ...] = Field(description="what that rests on: turns, constraints, lines of evidence, by name")


class Answered(Answer):
    """What became of one constraint."""

    id: Name = Field(description="its name, T3.C1")
    outcome: Literal["met", "traded_off", "refuted", "open"]
    sentence: str | None = Field(
        description="the sentence of the synthesis that answers it, copied word for word; null only if it is open"
    )


class Consequence(Answer):
    kind: Literal["good", "neutral", "bad"]
    what: Words


class Risk(Answer):
    what: Words
    mitigation: Words


class Action(Answer):
    what: Words
    who: str | None = Field(description="who does it, where that was said")
    by: str | None = Field(description="by when or before what, where that was said")


# The forms that `orchestrator.review.checks` reads.
_CHECK = (
    "how to check it later; where a machine can, exactly one of: exit 0: COMMAND · number < 200: COMMAND (the last that"
    ' it prints) · file PATH sha256 HEX · text "…" in PATH · no text "…" in PATH · until 2027-03-01. Paths as the'
    " evidence has them; commands start there, without keys, for a minute at most"
)


class Assumption(Answer):
    what: Words
    check: str | None = Field(description=_CHECK)


class EarlierDecision(Answer):
    """A decision in the evidence that this one touches."""

    id: Name = Field(description="the evidence that holds it, E3")
    relation: Literal["supersedes", "confirms", "contradicts", "builds_on"]
    theirs: Words = Field(description="its sentence, copied word for word")
    ours: Words = Field(description="the sentence of the synthesis that touches it, copied word for word")


class Confidence(Answer):
    """Door's own, and named as that."""

    level: Literal["low", "medium", "high"]
    why: Words


class Account(Answer):
    """What was decided and why, as Door tells it."""

    title: Words = Field(description="the decision in at most twelve words, as a title")
    decision: Words = Field(description="the decision in one to three sentences")
    options: tuple[Option, ...] = Field(description="every option that was on the table")
    constraints: tuple[Answered, ...] = Field(description="every constraint that a Wall stated, each once")
    consequences: tuple[Consequence, ...]
    risks: tuple[Risk, ...]
    actions: tuple[Action, ...] = Field(description="the first steps, in their order")
    assumptions: tuple[Assumption, ...]
    earlier_decisions: tuple[EarlierDecision, ...] = Field(
        description="the earlier decisions in the evidence that this one supersedes, confirms, contradicts or builds on"
    )
    reversibility: Literal["one-way", "two-way"]
    review_by: Day | None = Field(description="the day by which to look at it again, YYYY-MM-DD")
    confidence: Confidence


@dataclass(frozen=True, slots=True)
class Ledger:
    """What an account is checked against; `reviewed` is the evidence that holds the decision the debate starts from."""

    synthesis: str
    constraints: tuple[Constraint, ...]
    grounds: Grounds
    reviewed: str | None = None

    @property
    def evidence(self) -> Sequence[Evidence]:
        return self.grounds.evidence


def problems_of(account: Account, ledger: Ledger) -> tuple[str, ...]:
    """What in an account does not hold, a sentence each."""
    return tuple(
        dict.fromkeys(
            [
                *_about_constraints(account, ledger),
                *_about_options(account, ledger),
                *_about_earlier_decisions(account, ledger),
                *_about_names(account, ledger),
            ]
        )
    )


def answered_in(account: Account, constraint: Constraint, ledger: Ledger) -> Answered | None:
    """What an account says of a constraint, where that holds."""
    told = [answer for answer in account.constraints if answer.id == constraint.id]
    return told[0] if len(told) == 1 and not any(_wrong(told[0], constraint, ledger)) else None


def is_said(words: str, text: str) -> bool:
    """Whether words are whole sentences of a text, white space and marks around them apart.

    A part of a sentence may say the opposite of it. The words that answer a constraint, `[T3.C1] MET: …`, may be left
    out, and so may the last full stop.
    """
    sought = _bare(words)
    return bool(sought) and sought in _sayings(text)


@lru_cache(maxsize=64)  # a synthesis is asked about once a constraint, and again for the record
def _sayings(text: str) -> frozenset[str]:
    """All runs of sentences of a text that can answer a constraint, bare."""
    runs = (
        " ".join(block[first:last])
        for block in prose_of(text).sentences()
        for first in range(len(block))
        for last in range(first + 1, min(first + _MOST_SENTENCES, len(block)) + 1)
    )
    return frozenset(bare for run in runs for bare in (_bare(run), _bare(_ANSWERING.sub("", run))))


_MOST_SENTENCES = 6  # that answer one constraint
_ANSWERING = re.compile(r"^[^\w\[]*\[?T\d+\.C\d+\b[^:—–]*[:—–]")


def _bare(words: str) -> str:
    return " ".join(words.split()).strip(' *_`"“”.…-')


def _about_constraints(account: Account, ledger: Ledger) -> Iterator[str]:
    known = {constraint.id for constraint in ledger.constraints}
    for name in (answer.id for answer in account.constraints if answer.id not in known):
        yield f"There is no constraint {name}."
    for constraint in ledger.constraints:
        told = [answer for answer in account.constraints if answer.id == constraint.id]
        if not told:
            yield f"{constraint.id} has no outcome."
        elif len(told) > 1:
            yield f"{constraint.id} has {len(told)} outcomes."
        else:
            yield from _wrong(told[0], constraint, ledger)


def _wrong(answer: Answered, constraint: Constraint, ledger: Ledger) -> Iterator[str]:
    if constraint.why_open is not None:
        if answer.outcome != "open":
            yield constraint.why_open
        return
    if answer.outcome != "open" and not answer.sentence:
        yield f"{answer.id} is {answer.outcome} by no sentence of the synthesis."
    elif answer.sentence and not is_said(answer.sentence, ledger.synthesis):
        yield f"{answer.id} is {answer.outcome} by a sentence that is not in the synthesis: {_short(answer.sentence)}"
    elif answer.sentence and len(words_of(answer.sentence)) < LEAST_WORDS:
        yield f"{answer.id} is {answer.outcome} by words that say nothing: {_short(answer.sentence)}"
    else:
        yield from _unlike(answer, ledger)


def _unlike(answer: Answered, ledger: Ledger) -> Iterator[str]:
    """Where the synthesis answers in a line of its own, that line is the answer."""
    said = [(word, line) for name, word, line in answers_in(ledger.synthesis, Role.DOOR) if name == answer.id]
    word, line = said[-1] if said else ("", "")
    if word and outcome_of(word) != answer.outcome:
        yield f"{answer.id} is {answer.outcome} here and {word} in the synthesis."
    elif answer.sentence and line and not is_said(answer.sentence, f"- [{answer.id}] {word}: {line}"):
        yield f"{answer.id} is answered in the synthesis by another sentence: {_short(line)}"


def _about_options(account: Account, ledger: Ledger) -> Iterator[str]:
    if not any(option.taken for option in account.options):
        yield "No option is taken."
    for option in account.options:
        if not option.turns:
            yield f"The option {_short(option.title)} comes from no turn."
        for turn in option.turns:
            if not ledger.grounds.hold(f"T{turn}"):
                yield f"The option {_short(option.title)} comes from turn {turn}, which there is not."
        for name in option.because:
            if not ledger.grounds.hold(name):
                yield f"The option {_short(option.title)} rests on {name}, which there is not."


def _about_earlier_decisions(account: Account, ledger: Ledger) -> Iterator[str]:
    for earlier in account.earlier_decisions:
        yield from problems_of_earlier(earlier, ledger)
    said = {earlier.relation for earlier in account.earlier_decisions if earlier.id == ledger.reviewed}
    if ledger.reviewed is not None and len(said & {"supersedes", "confirms"}) != 1:
        yield f"It does not say whether it supersedes or confirms {ledger.reviewed}, the decision that it reviews."


def problems_of_earlier(earlier: EarlierDecision, ledger: Ledger) -> Iterator[str]:
    """What does not hold of an earlier decision that an account names."""
    piece = next((piece for piece in ledger.evidence if piece.id == earlier.id), None)
    if piece is None or piece.kind != "adr":
        yield f"{earlier.id} is no earlier decision in the evidence."
        return
    if not is_said(earlier.theirs, piece.text):
        yield f"{earlier.id} ({piece.path}) does not say: {_short(earlier.theirs)}"
    if not is_said(earlier.ours, ledger.synthesis):
        yield f"The synthesis does not say to {earlier.id}: {_short(earlier.ours)}"


def _about_names(account: Account, ledger: Ledger) -> Iterator[str]:
    """Turns, constraints and lines of evidence that stand in its words and do not exist."""
    for words in _texts(account.model_dump()):
        yield from (f"There is no {name}: {_short(words)}" for name in ledger.grounds.missing_in(words))
        for citation in citations(words, ledger.evidence):
            problem = check(citation, ledger.evidence)
            if problem:
                yield f"{citation} does not hold ({problem}): {_short(words)}"


_NAMES = ("id", "because")  # they are checked where they stand


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, member in value.items():
            yield from _texts(member) if key not in _NAMES else ()
    elif isinstance(value, list | tuple):
        for member in value:
            yield from _texts(member)


def _short(words: str) -> str:
    line = re.sub(r"\s+", " ", words).strip()
    return f"“{line}”" if len(line) <= 160 else f"“{line[:157]}…”"
