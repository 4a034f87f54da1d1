"""What independent single answers chose beside the debate: read off the ledger, counted, and told in a line.

Each was given before anybody knew what the debate would come to. Once that has its synthesis, whoever gave the answer
says which of the decisions on the table it is: a closed question, asked without saying whose is which. That is a claim
of the model about its own words; the statement stands beside it for whoever wants to judge.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Literal

from pydantic import ValidationError

from orchestrator.decision.account import Option
from orchestrator.decision.seating import Part, Tokens
from orchestrator.hall.debate import Debate, Line
from orchestrator.hall.terms import About, Status
from orchestrator.wording import counted, listed

Chose = Literal["debate", "option", "other", "undecided", "unplaced", "unheard", "unread"]


_WHAT_ELSE = {
    "other": "chose something else",
    "undecided": "chose nothing",
    "unplaced": "could not be placed",
    "unheard": "could not be heard",
    "unread": "cannot be read any more",
}


class Placed(Part):
    """One single answer, as its note on the ledger holds it.

    `chose` says what its model says it is: what the debate chose, another `option` of the debate, none of them
    (`other`), no decision (`undecided`); `unplaced` where that was not heard, `unheard` where no answer was, `unread`
    where the note was redacted.
    """

    statement: str | None
    chose: Chose
    option: str | None
    why: str | None


class SingleAnswer(Placed):
    """The same, with who gave it."""

    slot: str
    model: str


class Baseline(Part):
    """All of them, with what they took; `line` is what every output says."""

    answers: tuple[SingleAnswer, ...]
    tokens: Tokens
    cost_usd: Decimal | None
    line: str


def notes_of_answers(debate: Debate) -> dict[str, Line]:
    """The newest note of each single answer, by its slot."""
    return {line.note.slot: line for line in debate.notes(About.BASELINE) if line.note.slot}


def baseline_of(debate: Debate, options: Sequence[Option], cost_usd: Decimal | None) -> Baseline | None:
    """Returns what single answers chose; None where there are none.

    Args:
        options: as Door accounted for them.
        cost_usd: what the debate itself took; None when a price is unknown.
    """
    lines = list(notes_of_answers(debate).values())
    if not lines:
        return None
    answers = tuple(map(_answer, lines))
    seats = [line.note.seat for line in lines]
    costs = [Decimal(seat.cost) if seat and seat.cost is not None else None for seat in seats]
    took = None if None in costs else sum((cost for cost in costs if cost is not None), Decimal(0))
    tokens = Tokens(
        input=sum(seat.input or 0 for seat in seats if seat),
        cached=sum(seat.cached or 0 for seat in seats if seat),
        output=sum(seat.output or 0 for seat in seats if seat),
    )
    line = " ".join(_sentences(debate, answers, options, took, cost_usd))
    return Baseline(answers=answers, tokens=tokens, cost_usd=took, line=line)


def _answer(line: Line) -> SingleAnswer:
    seat = line.note.seat
    try:
        placed = Placed.model_validate_json(line.text or "")
    except ValidationError:  # it was redacted, or written by another version
        placed = Placed(statement=None, chose="unread", option=None, why=None)
    return SingleAnswer(slot=line.note.slot or "", model=seat.answered if seat else "", **placed.model_dump())


def _sentences(
    debate: Debate,
    answers: Sequence[SingleAnswer],
    options: Sequence[Option],
    took: Decimal | None,
    cost_usd: Decimal | None,
) -> Iterator[str]:
    same = sum(answer.chose == "debate" for answer in answers)
    whose = "what Door proposed" if debate.state.status is Status.STALEMATE else "what the debate chose"
    told = [f"{same} of {counted(len(answers), 'independent answer')} chose {whose}", *_others(answers)]
    yield f"{'; '.join(told)}.{_costs(took, cost_usd)}"
    if 2 * same <= len(answers):
        yield from _what_made_it(options)


def _others(answers: Sequence[SingleAnswer]) -> Iterator[str]:
    chosen = Counter(answer.option for answer in answers if answer.chose == "option")
    yield from (f"{number} chose “{title}”" for title, number in chosen.most_common())
    counts = Counter(str(answer.chose) for answer in answers)
    yield from (f"{counts[chose]} {what}" for chose, what in _WHAT_ELSE.items() if counts[chose])


def _costs(took: Decimal | None, cost_usd: Decimal | None) -> str:
    if took is None or cost_usd is None:
        return ""
    return f" They took ${took:.4f}, the debate ${cost_usd:.4f}."


def _what_made_it(options: Sequence[Option]) -> Iterator[str]:
    """By which turns the debate came to something else, as Door tells it."""
    for option in (option for option in options if option.taken):
        raised = listed([f"T{turn}" for turn in option.turns]) if option.turns else "no turn"
        rests = f", and rests on {listed(option.because)}" if option.because else ""
        yield f"By Door's account “{option.title}” was raised in {raised}{rests}."
