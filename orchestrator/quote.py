"""What a debate will take, told before anything is asked: calls, tokens and cost, each as low, expected and high.

Low: answers as short as can be, no call repeated, closed as early as can be. Expected: answers of the usual length, and
one refinement where there are votes. High: every answer as long as it may be, each of them sent back once, every
refinement; its input is counted by the rules of `budget`, byte for byte. What no quote covers are calls that fail and
are charged all the same, a fallback that costs more than the model before it, summaries for a small window, and what
the turns of others add.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from itertools import takewhile
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from orchestrator.budget import NO_BOUND, Bound, Budget, most_bytes
from orchestrator.errors import UsageError
from orchestrator.forecast import Span, calls_of, chain_of, first_close_of, refinements_of
from orchestrator.imagined import Asked, Imagined, Pace, head_of
from orchestrator.models.base import Effort, Message, Request, Step
from orchestrator.models.caching import cache_of
from orchestrator.models.cli_known import cli_of
from orchestrator.models.prices import price_of
from orchestrator.models.rehearsal import NAME as REHEARSAL
from orchestrator.plan import Plan
from orchestrator.usage import Usage, amount

T = TypeVar("T")

# Tokens of an answer, without what a model thinks before it.
SHORTEST: Mapping[Step, int] = MappingProxyType(
    {"checklist": 40, "turn": 90, "apply": 90, "vote": 30, "refine": 120, "account": 120, "answer": 60, "place": 30}
)
USUAL: Mapping[Step, int] = MappingProxyType(
    {
        "checklist": 300,
        "turn": 900,
        "apply": 900,
        "vote": 150,
        "refine": 1000,
        "account": 1000,
        "answer": 400,
        "place": 80,
    }
)
# Tokens that a model usually thinks before an answer, where the models file says how hard.
THOUGHT: Mapping[Effort | None, int] = MappingProxyType(
    {None: 0, "none": 0, "minimal": 200, "low": 500, "medium": 1500, "high": 4000}
)

HOW = (
    "low–expected–high, from the prompts of this plan with answers as short as can be, of the usual length, and as "
    "long as they may be, each sent back once"
)

_MOST_ALONE = 100  # who answer alone; more say no more
_MOST_TURNS = 120  # each later prompt holds all turns before it
_LONG_TOKEN, _USUAL_TOKEN = 5, 4  # bytes: of plain prose, and of what debates are made of
_AROUND = 4  # tokens that a provider puts around a message
_COMPLAINT = Message("user", " " * 500)  # why an answer was sent back


class Range(NamedTuple, Generic[T]):
    low: T
    expected: T
    high: T


# How debates go of which most is known already: all rounds are held, and at the highest all voters object.
PACES = Range(Pace(SHORTEST, _LONG_TOKEN, None, (0,)), Pace(USUAL, _USUAL_TOKEN, None, (0,)), Pace(None, 1, None, (1,)))


@dataclass(frozen=True, slots=True)
class Quote:
    """What a debate will take; its cost is None where the price of a route is not known, which `unpriced` names."""

    calls: Span
    chain: Span
    input: Range[int]
    output: Range[int]
    cost_usd: Range[Decimal] | None
    unpriced: tuple[str, ...]

    @property
    def tokens(self) -> Range[int]:
        """In and out together."""
        low, expected, high = (read + written for read, written in zip(self.input, self.output, strict=True))
        return Range(low, expected, high)

    def __str__(self) -> str:
        return f"{_counts(self.tokens)} tokens, {self._cost}"

    def lines(self) -> Iterator[str]:
        """Returns the quote as a dry run shows it; nothing where no model is asked."""
        if self.asks_models:
            parts = f"in {_counts(self.input)}, out {_counts(self.output)}"
            yield f"quote: {_counts(self.tokens)} tokens ({parts}), {self._cost}"
            yield f"  {HOW}"

    @property
    def asks_models(self) -> bool:
        return self.tokens.high > 0

    def against(self, spent: Usage, uncertain: Bound = NO_BOUND) -> str:
        """Returns what was quoted beside what was taken.

        Args:
            uncertain: the most that calls took whose outcome nobody knows.
        """
        told = f"quoted {self}; took {_taken(spent.input + spent.output, spent.cost_usd)}"
        if not uncertain.tokens:
            return told
        most = _taken(uncertain.tokens, uncertain.cost_usd)
        return f"{told}; besides, calls whose outcome nobody knows took at most {most}"

    def described(self) -> dict[str, Any]:
        """Returns the quote as plain values."""
        cost = self.cost_usd
        return {
            "calls": self.calls._asdict(),
            "chain": self.chain._asdict(),
            "tokens": self.tokens._asdict(),
            "input": self.input._asdict(),
            "output": self.output._asdict(),
            "cost_usd": None if cost is None else {name: amount(each) for name, each in cost._asdict().items()},
            "unpriced": list(self.unpriced),
        }

    @property
    def _cost(self) -> str:
        if self.cost_usd is None:
            return f"cost unknown: no price is known for {', '.join(self.unpriced)}"
        places = _places(self.cost_usd.high)
        told = (_dollars(each, places, how) for each, how in zip(self.cost_usd, _ROUNDINGS, strict=True))
        return f"${'–'.join(told)}"


def quote_of(plan: Plan, topic: str) -> Quote | None:
    """Estimates what a plan takes; None where it has too many turns for every prompt of it to be imagined."""
    if plan.turns > _MOST_TURNS:
        return None
    head = head_of(plan, topic)
    flat = tuple(replace(message, text=" " * most_bytes(message.text)) for message in head)  # is counted at once
    refinements, voices = refinements_of(plan), len(plan.voters)
    least = Pace(SHORTEST, _LONG_TOKEN, first_close_of(plan), [0])
    usual = Pace(USUAL, _USUAL_TOKEN, None, [1, 0] if refinements else [0])
    most = Pace(None, 1, None, [voices] * (1 + refinements))
    whole = plan.model_copy(update={"recipe": plan.recipe.model_copy(update={"context": "full"})})  # no brief is longer
    low = _total(_estimated(Imagined(plan, least, head).batches(), _LONG_TOKEN))
    expected = _total(_estimated(Imagined(plan, usual, head).batches(), _USUAL_TOKEN, _AROUND))
    high = _total(_bounded(Imagined(whole, most, flat).batches()))
    return _quoted(calls_of(plan), chain_of(plan), Range(low, expected, high), tuple(_unpriced(plan)))


def with_baseline(plan: Plan, topic: str) -> Plan:
    """The plan with as many who answer alone as cost what the debate is expected to, and at least one.

    Where a price is not known, tokens stand for cost.

    Raises:
        UsageError: nobody can say what the debate will take, or it is a rehearsal.
    """
    quote = None if plan.is_rehearsal else quote_of(plan, topic)
    if quote is None:
        why = "a rehearsal asks no model" if plan.is_rehearsal else "what so many turns will take cannot be told"
        raise UsageError(f"There is no baseline for this debate: {why}.", "Leave out --baseline.")
    head, pace = head_of(plan, topic), PACES.expected
    most = quote.tokens.expected if quote.cost_usd is None else quote.cost_usd.expected
    before: int | Decimal = 0
    for number in range(1, _MOST_ALONE + 1):
        answers, placings = Imagined(plan.model_copy(update={"baseline": number}), pace, head).alone()
        taken = _total(_estimated([*answers, *placings], _USUAL_TOKEN, _AROUND))
        cost = taken.input + taken.output if quote.cost_usd is None else taken.cost_usd
        if number > 1 and cost - most > most - before:  # one less comes nearer
            return plan.model_copy(update={"baseline": number - 1})
        before = cost
    return plan.model_copy(update={"baseline": _MOST_ALONE})


def quote_of_batches(asked: Range[Sequence[Sequence[Asked]]]) -> Quote:
    """Estimates what calls take of which most is known, those of each of `PACES`, batch by batch."""
    low, expected, high = asked
    calls = [sum(map(len, batches)) for batches in asked]
    chain = [sum(map(bool, batches)) for batches in asked]
    routes = {request.model: request.endpoint for batches in asked for batch in batches for request, _ in batch}
    taken = Range(
        _total(_estimated(low, _LONG_TOKEN)),
        _total(_estimated(expected, _USUAL_TOKEN, _AROUND)),
        _total(_bounded(high)),
    )
    unpriced = (route for route in sorted(routes) if price_of(route, routes[route]) is None)
    return _quoted(Span(min(calls), max(calls)), Span(min(chain), max(chain)), taken, tuple(unpriced))


def quote_of_call(request: Request) -> Quote:
    """Estimates what one call takes of which no provider remembers the beginning."""
    step, most = request.task.step, request.max_output_tokens
    low = _total(_estimated([[Asked(request, min(most, SHORTEST[step]))]], _LONG_TOKEN))
    expected = _total(_estimated([[Asked(request, min(most, USUAL[step]))]], _USUAL_TOKEN, _AROUND))
    high = _total(_bounded([[Asked(request, most)]]))
    unpriced = () if price_of(request.model, request.endpoint) else (request.model,)
    return _quoted(Span(1, 1), Span(1, 1), Range(low, expected, high), unpriced)


def _quoted(calls: Span, chain: Span, taken: Range[_Taken], unpriced: tuple[str, ...]) -> Quote:
    low, expected, high = taken
    return Quote(
        calls=calls,
        chain=chain,
        input=Range(low.input, expected.input, high.input),
        output=Range(low.output, expected.output, high.output),
        cost_usd=None if unpriced else Range(low.cost_usd, expected.cost_usd, high.cost_usd),
        unpriced=unpriced,
    )


def _taken(tokens: int, cost_usd: Decimal | None) -> str:
    cost = "cost unknown" if cost_usd is None else f"${_dollars(cost_usd, _places(cost_usd))}"
    return f"{_count(tokens)} tokens, {cost}"


class _Taken(NamedTuple):
    input: int
    output: int
    cost_usd: Decimal  # nothing where no price is known


def _total(calls: Iterable[_Taken]) -> _Taken:
    taken = list(calls)
    cost = sum((each.cost_usd for each in taken), Decimal(0))
    return _Taken(sum(each.input for each in taken), sum(each.output for each in taken), cost)


def _estimated(batches: Iterable[Iterable[Asked]], token: int, around: int = 0) -> Iterator[_Taken]:
    """What calls take that have tokens of so many bytes, and so many of them around each message."""
    known: dict[str, tuple[Message, ...]] = {}
    for batch in batches:
        asked = list(_of_models(batch))
        for request, answer in asked:
            read = _read(request.messages, token, around)
            cached, kept = _served(request, known.get(request.model, ()), token, around)
            read += _beside(request, token) if around else 0
            written = min(request.max_output_tokens, answer + (THOUGHT[request.endpoint.effort] if around else 0))
            price = price_of(request.model, request.endpoint)
            cost = price.cost(input=read, output=written, cached=cached, written=kept) if price else None
            yield _Taken(read, written, cost or Decimal(0))
        known.update({request.model: request.messages for request, _ in asked})


def _bounded(batches: Iterable[Iterable[Asked]]) -> Iterator[_Taken]:
    """The most that calls take whose answers are each sent back once."""
    budget = Budget()
    for batch in batches:
        for first, answer in _of_models(batch):
            told = (Message("assistant", " " * answer), _COMPLAINT)
            for request in (first, replace(first, messages=(*first.messages, *told))):
                bound, written = budget.bound_of(request), request.max_output_tokens
                yield _Taken(bound.tokens - written, written, bound.cost_usd or Decimal(0))


def _of_models(batch: Iterable[Asked]) -> Iterator[Asked]:
    return (asked for asked in batch if asked.request.model != REHEARSAL)


def _read(messages: Iterable[Message], token: int, around: int) -> int:
    return sum(around + len(message.text.encode("utf-8", "surrogatepass")) // token for message in messages)


def _beside(request: Request, token: int) -> int:
    """Tokens beside the messages: the schema of an answer, and what an agent CLI puts around a prompt."""
    cli = cli_of(request.model, request.endpoint)
    schema = json.dumps(request.shape.schema) if request.shape else ""
    return (len(schema) + (cli.own_tokens if cli else 0)) // token  # its own are counted by bytes, too


def _common(mine: tuple[Message, ...], theirs: tuple[Message, ...]) -> Iterator[Message]:
    return (each for each, _ in takewhile(lambda pair: pair[0] == pair[1], zip(mine, theirs, strict=False)))


def _served(request: Request, known: tuple[Message, ...], token: int, around: int) -> tuple[int, int]:
    """Tokens that a cache serves, since they were sent before, and those that are written into it at a price."""
    cache = cache_of(request)
    if not cache.serves:
        return 0, 0
    cached = _read(_common(request.messages, known), token, around)
    shared = _read(request.messages[: request.shared], token, around)
    return cached, max(shared - cached, 0) if cache.marks else 0


def _unpriced(plan: Plan) -> Iterator[str]:
    asked = {seat.routes[0] for planned in plan.rounds for seat in planned.seats} - {REHEARSAL}
    return (route for route in sorted(asked) if price_of(route, plan.endpoint(route)) is None)


_ROUNDINGS = (ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_CEILING)
_CENTS, _FINE = Decimal("0.01"), Decimal("0.0001")
_SMALL = Decimal("0.10")  # US dollars below which hundredths of a cent are told


def _counts(three: Range[int]) -> str:
    return "–".join(_count(each, how) for each, how in zip(three, _ROUNDINGS, strict=True))


def _count(tokens: int, rounding: str = ROUND_HALF_EVEN) -> str:
    """A number of tokens in two or three digits: `640`, `1.5k`, `187k`, `2.3M`."""
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if tokens >= size:
            shown = Decimal(tokens) / size
            return f"{shown.quantize(Decimal(1) if shown >= 10 else Decimal('0.1'), rounding)}{unit}"
    return f"{tokens}"


def _places(cost: Decimal) -> Decimal:
    return _CENTS if cost >= _SMALL else _FINE


def _dollars(cost: Decimal, places: Decimal, rounding: str = ROUND_HALF_EVEN) -> str:
    return f"{cost.quantize(places, rounding):f}"
