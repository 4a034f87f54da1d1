"""Whether a reply is a turn at all: not the prompt back again, no refusal, and long enough."""

from __future__ import annotations

import re
from collections.abc import Sequence

from orchestrator.hall.terms import Role
from orchestrator.quotes import quotes_run, words_of
from orchestrator.refusal import declines

LEAST_WORDS = {Role.WIND: 40, Role.WALL: 40, Role.DOOR: 60}
ECHO_WORDS = 25  # a run of the instructions as long as this stands in a reply by no chance
LONG_WORDS = 120  # a reply as long as this says something besides, unless all of it declines

_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")
_OPENING = 3  # sentences: a title, "I'm sorry.", and then what is declined


def degenerate(
    text: str, role: Role, *, instructions: Sequence[str], marker: str, least: int | None = None
) -> str | None:
    """What is wrong with a reply as a turn, in a sentence to the model that wrote it; None: nothing.

    Args:
        text: the reply.
        role: whose turn it should be. Drafts that are no turn (a checklist) may be shorter and are not for this.
        instructions: what the seat was told to do: protocol, agent, task. Not the topic, the evidence and the turns,
            which a turn may quote at length.
        marker: the debate's fence marker, which no turn has a reason to hold.
        least: how many words it has at least, where that is not its role's `LEAST_WORDS`.
    """
    if marker in text:
        return "Your answer holds the debate's marker: it repeats what you were given to read."
    if echo := _echo(text, instructions):
        return f"Your answer repeats what you were told to do: “{' '.join(echo[:80].split())}…”"
    words, least = word_count(text), LEAST_WORDS[role] if least is None else least
    if _refuses(text, words, least):
        return "Your answer declines to take part. All that is asked for is reasoning about the question under debate."
    if words < least:
        return f"Your answer is too short for a turn of {role}: it has {words} words and needs at least {least}."
    return None


def word_count(text: str) -> int:
    """How many words a text has; two characters of a script without spaces count as one."""
    spaced = [word.spaced for word in words_of(text)]
    return sum(spaced) + spaced.count(False) // 2


def _echo(text: str, instructions: Sequence[str]) -> str | None:
    """The first run of `ECHO_WORDS` words that also stands in the instructions."""
    run = quotes_run(text, instructions, ECHO_WORDS)
    return run if run and len(words_of(run)) == ECHO_WORDS else None


def _refuses(text: str, words: int, least: int) -> bool:
    """Whether a reply begins by declining, and is short or says less besides than a turn must."""
    sentences = _SENTENCE.findall(text)
    if not any(map(declines, sentences[:_OPENING])):
        return False
    return words < LONG_WORDS or word_count(" ".join(each for each in sentences if not declines(each))) < least
