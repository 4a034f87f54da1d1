"""A panel whose truth is known: simulated models, to check the instrument that measures real ones.

A simulated model says nothing about real models. It knows which options of a puzzle are right and draws whether it
finds one, so that what an evaluation ought to show can be computed beforehand:

- It finds a right option with `accuracy`. Of two answers to one puzzle the errors go together with `correlation`: each
  follows the model's one reading of the puzzle with the root of that probability, and else draws for itself.
- Asked again, it keeps its position, but for two reasons. With `conformity` it gives it up for one that somebody else
  holds, right or wrong. With `correction` it sees that it is wrong. Without either, what it answers stays as good as it
  was; with conformity alone, more rounds make a panel worse that is more often right than wrong.

Everything follows from the seed: the n-th time that one model is asked the same thing it answers the same.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import anyio

from orchestrator.errors import BadRequest, Overloaded
from orchestrator.evaluate.answer import Answer, Answered
from orchestrator.evaluate.asked import SHAPE, TRANSCRIBE
from orchestrator.evaluate.brief import Brief, Planted
from orchestrator.models.base import Reply, Request
from orchestrator.usage import Usage

SIMULATED = "SIMULATED"  # the word that stands in each of its answers
MODELS = "simulated panel"  # in the place of a models file: a report of it is marked

_HELD = re.compile(r"([\w/.:-]+) holds option (\w+)\b")
_BYTES_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Traits:
    """What a simulated model is like.

    Args:
        accuracy: how often it finds a right option by itself.
        correlation: of the errors of two of its answers to one puzzle; 0 to 1.
        conformity: how often it takes over a position that differs from its own, once it sees one.
        correction: how often it finds to a right option when it looks at a wrong position of its own again.
        price_per_token: in US dollars, of what goes in and of what comes out.
        latency_s: how long it takes.
        failure_rate: how often it fails, as an overloaded provider does.
    """

    accuracy: float
    correlation: float = 0.0
    conformity: float = 0.0
    correction: float = 0.0
    price_per_token: Decimal = Decimal("0.000001")
    latency_s: float = 0.0
    failure_rate: float = 0.0


@dataclass(frozen=True, slots=True)
class Puzzle:
    """A question with what is true of it.

    Args:
        question: its words; a request that holds them is about this puzzle.
        right, wrong: the options that may be answered; at least one of each.
        facts: what the documents demand. Each is named with the model's accuracy.
        beliefs: what the documents say wrongly. Who is wrong believes it.
    """

    question: str
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    facts: tuple[str, ...] = ()
    beliefs: tuple[str, ...] = ()

    @classmethod
    def of(cls, brief: Brief) -> Puzzle:
        """A brief as a puzzle: its verdicts are the truth, its planted constraints and false claims the rest."""
        places = [(each, Planted.at(each.where, brief.documents)) for each in brief.constraints]
        return cls(
            question=brief.question,
            right=tuple(option.id for option in brief.options if option.verdict != "violates"),
            wrong=tuple(option.id for option in brief.options if option.verdict == "violates"),
            facts=tuple(f"{each.statement} [{place.document}:{place.first}]" for each, place in places),
            beliefs=tuple(claim.claim for claim in brief.false_claims),
        )

    def is_right(self, option: str) -> bool:
        return option in self.right


Speak = Callable[[Request, str], str]
"""How a sentence that says a position becomes what is asked for where no answer to a brief is: a turn, an account."""


_Positions = tuple[tuple[str, str], ...]


class Panel:
    """Simulated models, each known by the name of its route.

    Args:
        puzzles: what they can be asked.
        traits: of each model; or of all of them.
        seed: another one draws everything anew.
        speak: how a position is put in a debate.

    Attributes:
        asked: how many calls were made.
    """

    def __init__(
        self,
        puzzles: Sequence[Puzzle],
        traits: Traits | Mapping[str, Traits],
        seed: int = 0,
        speak: Speak = lambda request, sentence: sentence,
    ) -> None:
        self.asked = 0
        self._puzzles, self._traits, self._seed, self._speak = tuple(puzzles), traits, seed, speak
        self._times: Counter[tuple[Any, ...]] = Counter()

    async def complete(self, request: Request) -> Reply:
        """Answers from the puzzle that is asked about, after the model's latency.

        Raises:
            BadRequest: the request is about no puzzle that the panel knows.
            Overloaded: as often as the model fails.
        """
        puzzle = self._puzzle_of(request)
        traits = self._traits if isinstance(self._traits, Traits) else self._traits[request.model]
        seen = _positions_in(request)
        draw = self._drawing(request, puzzle, seen)
        if traits.latency_s:
            await anyio.sleep(traits.latency_s)
        if draw.random() < traits.failure_rate:
            raise Overloaded(f"{request.model} is simulated to be overloaded.", model=request.model)
        option = self._option(request, puzzle, traits, seen, draw)
        text = self._said(request, puzzle, option, traits, draw)
        return Reply(text, request.model, _usage(request, text, traits))

    def _puzzle_of(self, request: Request) -> Puzzle:
        said = "\n".join([request.task.topic, *(message.text for message in request.messages)])
        for puzzle in self._puzzles:
            if puzzle.question in said:
                return puzzle
        raise BadRequest("The panel knows no puzzle with this question.", model=request.model)

    def _drawing(self, request: Request, puzzle: Puzzle, seen: _Positions) -> random.Random:
        """Draws for this call alone: asked the same again, it draws anew, in other words for the same it does not."""
        self.asked += 1
        task = request.task
        asked = (request.model, puzzle.question, seen, task.step, task.agent, task.lens, task.round)
        self._times[asked] += 1
        return random.Random(repr((self._seed, asked, self._times[asked])))

    def _option(self, request: Request, puzzle: Puzzle, traits: Traits, seen: _Positions, draw: random.Random) -> str:
        if seen and TRANSCRIBE in request.messages[-1].text:
            return seen[-1][1]  # what others decided, which it does not look at itself
        last = dict(seen)
        own = last.pop(_name(request), None)
        if own and request.task.step == "account":
            return own
        position = own or self._found(request, puzzle, traits, draw)
        differing = [option for option in last.values() if option != position]
        if seen and not puzzle.is_right(position) and draw.random() < traits.correction:
            return draw.choice(puzzle.right)
        if differing and draw.random() < traits.conformity:
            return draw.choice(differing)
        return position

    def _found(self, request: Request, puzzle: Puzzle, traits: Traits, draw: random.Random) -> str:
        """What the model finds by itself: by its one reading of the puzzle, or by a reading of its own."""
        shared = random.Random(repr((self._seed, request.model, puzzle.question)))
        reading = shared if draw.random() < traits.correlation**0.5 else draw
        return reading.choice(puzzle.right if reading.random() < traits.accuracy else puzzle.wrong)

    def _said(self, request: Request, puzzle: Puzzle, option: str, traits: Traits, draw: random.Random) -> str:
        facts = [fact for fact in puzzle.facts if draw.random() < traits.accuracy]
        believed = () if puzzle.is_right(option) else puzzle.beliefs
        sentence = f"{SIMULATED}: {_name(request)} holds option {option}."
        if request.shape != SHAPE:
            return self._speak(request, sentence)
        return Answer(
            constraints=tuple(Answered(constraint=fact, how="It is met.") for fact in facts),
            reasons=(*believed, sentence),
            option=option,
            statement=sentence,
            citations=(),
        ).model_dump_json()


def _positions_in(request: Request) -> _Positions:
    """Who holds what in all that a request shows, in its order."""
    texts = (message.text for message in request.messages)
    return tuple((found[1], found[2]) for text in texts for found in _HELD.finditer(text))


def position_in(text: str) -> str | None:
    """The option that a simulated answer in prose holds."""
    found = _HELD.findall(text)
    return found[-1][1] if found else None


def _name(request: Request) -> str:
    """Who answers: a seat of a debate by its agent and lens, so that three equal ones are told apart."""
    return re.sub(r"[^\w/.:-]+", "-", "/".join(filter(None, (request.task.agent, request.task.lens))))


def _usage(request: Request, text: str, traits: Traits) -> Usage:
    read = sum(len(message.text.encode()) for message in request.messages) // _BYTES_A_TOKEN
    written = len(text.encode()) // _BYTES_A_TOKEN
    return Usage(read, 0, written, traits.price_per_token * (read + written))
