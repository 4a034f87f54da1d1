"""What a Wall's turn must show before it stands: a quotation of Wind, and what the Wall content contract asks for.

The runner sends a turn that lacks something back once; the record says what a turn that stands lacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orchestrator.hall.cognition import read_wall
from orchestrator.hall.debate import Debate
from orchestrator.hall.terms import Role
from orchestrator.quotes import quotes_run

QUOTED_WORDS = 6  # a Wall turn quotes a run this long from a Wind turn of its round


def words_of_wind(debate: Debate, number: int) -> list[str]:
    """What Wind said in a round and a Wall can quote: a redacted turn has no words."""
    turns = ((line.turn, line.text) for line in debate.turns)
    return [text for turn, text in turns if turn.role is Role.WIND and turn.round == number and text is not None]


def lacks(winds: Sequence[str], reads_verdict: bool, text: str) -> tuple[str, ...]:
    """What a Wall's turn lacks, a sentence each.

    Args:
        winds: what Wind said in its round.
        reads_verdict: whether it takes a position, so that the contract holds.
    """
    return (*_lacking_quote(winds, text), *(_lacking_grounds(text) if reads_verdict else ()))


def complaint(winds: Sequence[str], reads_verdict: bool, text: str) -> str | None:
    """The same in words to its seat; None when it lacks nothing that is asked for again."""
    found = lacks(winds, reads_verdict, text)
    return f"Your turn lacks something. {' '.join(found)} Give the whole turn again." if found else None


def _lacking_quote(winds: Sequence[str], text: str) -> Iterable[str]:
    quotes = quotes_run(text, winds, QUOTED_WORDS)
    if not quotes and any(quotes_run(wind, [wind], 1) for wind in winds):  # else there is nothing to quote
        yield (
            f"It quotes no run of {QUOTED_WORDS} words from a turn of Wind in this round, so nobody can see what was "
            "tested: put such a quotation, word for word, where you test it."
        )


def _lacking_grounds(text: str) -> Iterable[str]:
    """What the Wall content contract asks for (docs/wall-content-contract.oct.md): a verdict, and its constraints."""
    return read_wall(text).missing
