"""What a run may spend: set aside before a call is made, settled when it has ended.

A call is never made on an estimate. Its bound, the most it can take, is set aside first; so the sum of what was taken
and what may still be taken by calls under way never passes a limit, whatever the replies turn out to be.

No tokenizer is asked. One that splits text into bytes or larger pieces makes at most one token of each byte, in any
script; four characters to a token, the usual estimate, undercounts Chinese threefold and emoji sixfold. What makes the
bound close in a long debate is what providers report: the beginning that a request shares with an earlier one has been
counted by them, and only what is new counts by its bytes.

What no bound covers is a server that writes more than it was allowed to, or asks more than its price: what it says it
took counts all the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import lru_cache
from itertools import takewhile
from unicodedata import normalize

from orchestrator.errors import LimitMet, UsageError
from orchestrator.models.base import Endpoint, Message, Request, Shape, Usage
from orchestrator.models.cli_known import cli_of
from orchestrator.models.prices import price_of
from orchestrator.models.rehearsal import NAME as REHEARSAL
from orchestrator.recipe import NO_LIMITS, Limits
from orchestrator.wording import counted

PER_MESSAGE = 16  # tokens for the marks of role, beginning and end that a provider puts around each message
PER_CALL = 64  # tokens for what it puts around them all
PER_SHAPE = 512  # tokens for the words with which some make a tool of a schema

_CENT, _SMALLEST_SHOWN = Decimal("0.01"), Decimal("0.0001")
_PRICE_CURE = (
    "Give one with --assume-price IN/OUT (US dollars per million tokens, such as 3/15), or give input_cost_per_token "
    "and output_cost_per_token in the models file."
)


@dataclass(frozen=True, slots=True)
class Bound:
    """The most that calls can take: tokens in and out together; US dollars, None when no price is known."""

    tokens: int
    cost_usd: Decimal | None


NO_BOUND = Bound(0, Decimal(0))


def total_bound(bounds: Iterable[Bound]) -> Bound:
    """The sum; its cost is None as soon as one is unknown."""
    summed = list(bounds)
    costs = [bound.cost_usd for bound in summed]
    return Bound(
        tokens=sum(bound.tokens for bound in summed),
        cost_usd=None if None in costs else sum((cost for cost in costs if cost is not None), Decimal(0)),
    )


def taken(bound: Bound, usage: Usage | None, *, charged: bool) -> Bound:
    """What a call that has ended counts for.

    Args:
        bound: the most it can have taken.
        usage: the provider's count; with no input in it, it is none.
        charged: whether the provider may have charged for the call, where there is no count.
    """
    if usage is None or usage.input == 0:
        return bound if charged else NO_BOUND
    return Bound(usage.input + usage.output, bound.cost_usd if usage.cost_usd is None else usage.cost_usd)


@dataclass(frozen=True, slots=True)
class Left:
    """What calls may still take; None where there is no limit. Below zero when more was taken than is allowed now."""

    tokens: int | None
    cost_usd: Decimal | None


def require_prices(routes: Iterable[tuple[str, Endpoint]], limits: Limits) -> None:
    """Sees to it that a cost limit can be kept.

    Args:
        routes: every model that may be asked, with where its calls go.

    Raises:
        UsageError: there is a cost limit, and routes without a known price: unknown is never zero.
    """
    if limits.cost_usd is None:
        return
    unknown = [model for model, endpoint in routes if model != REHEARSAL and price_of(model, endpoint) is None]
    if unknown:
        raise UsageError(
            f"A cost limit cannot be kept: no price is known for {', '.join(dict.fromkeys(unknown))}.",
            _PRICE_CURE,
        )


class Budget:
    """What a run may still spend. One event loop uses it; it is not thread-safe.

    For each batch of calls: `bound_of` every call, `reserve` them all, make them, `settle` each when it has ended,
    however it ended.

    Args:
        limits: those of cost and tokens are kept here; seconds are the runner's.
        spent: what earlier processes of the run took, calls of unknown outcome at their bound.

    Raises:
        UsageError: there is a cost limit, and what was spent has no known price.
    """

    def __init__(self, limits: Limits = NO_LIMITS, spent: Bound = NO_BOUND) -> None:
        if limits.cost_usd is not None and spent.cost_usd is None:
            raise UsageError(
                "A cost limit cannot be kept: what this run has taken so far has no known price.",
                "Resume without --cost-limit; --token-limit needs no price.",
            )
        self._limits = limits
        self._spent = spent
        self._reserved: list[Bound] = []
        self._reports: dict[tuple[str, Endpoint], _Report] = {}

    @property
    def spent(self) -> Bound:
        """What the calls that have ended took, at their bound where no count of theirs is known."""
        return self._spent

    def left(self, keep: Bound = NO_BOUND) -> Left:
        """What is neither spent nor reserved, nor kept for later.

        Raises:
            UsageError: there is a cost limit, and what is kept has no known price.
        """
        gone, limits = self._gone(keep), self._limits
        return Left(
            tokens=None if limits.tokens is None else limits.tokens - gone.tokens,
            cost_usd=None if limits.cost_usd is None else limits.cost_usd - _known(gone.cost_usd),
        )

    def bound_of(self, request: Request) -> Bound:
        """The most that one call can take, its thinking included, which is output; nothing for a rehearsal."""
        if request.model == REHEARSAL:
            return NO_BOUND
        read, write = self._most_read(request), request.max_output_tokens
        price = price_of(request.model, request.endpoint)
        return Bound(read + write, price.most(input=read, output=write) if price else None)

    def reserve(self, bounds: Sequence[Bound], keep: Bound = NO_BOUND) -> None:
        """Sets aside what a batch of parallel calls can take: all of it, or nothing.

        Args:
            bounds: one for each call.
            keep: what must still be left after them.

        Raises:
            LimitMet: it is more than what is left.
            UsageError: there is a cost limit, and a bound without a known price; `require_prices` says so earlier.
        """
        needed, gone = total_bound(bounds), self._gone(keep)
        cost, tokens = self._limits.cost_usd, self._limits.tokens
        calls = "The next call" if len(bounds) == 1 else f"The next {len(bounds)} calls"
        if cost is not None and _known(needed.cost_usd) > (rest := cost - _known(gone.cost_usd)):
            could, kept = (_dollars(_known(bound.cost_usd), ROUND_CEILING) for bound in (needed, keep))
            shown = _dollars(rest if rest >= 0 else rest + _known(keep.cost_usd), ROUND_FLOOR)
            rest_of = f"{shown} of {_dollars(cost, ROUND_FLOOR)} is left{_beside(keep, kept, fits=rest >= 0)}"
            raise LimitMet(
                f"{calls} could take {could}, and {rest_of}.",
                "Raise --cost-limit and resume.",
                limit="cost_usd",
            )
        if tokens is not None and needed.tokens > (spare := tokens - gone.tokens):
            shown = f"{max(spare if spare >= 0 else spare + keep.tokens, 0):,}"
            rest_of = f"{shown} of {tokens:,} are left{_beside(keep, f'{keep.tokens:,}', fits=spare >= 0)}"
            raise LimitMet(
                f"{calls} could take {counted(needed.tokens, 'token')}, and {rest_of}.",
                "Raise --token-limit and resume.",
                limit="tokens",
            )
        self._reserved += bounds

    def settle(self, request: Request, bound: Bound, usage: Usage | None, *, charged: bool) -> None:
        """Puts what a call took, as `taken` says, in the place of what was reserved for it.

        Raises:
            ValueError: no such bound is reserved.
        """
        self._reserved.remove(bound)
        self._spent = total_bound((self._spent, taken(bound, usage, charged=charged)))
        if usage is not None and usage.input > 0:
            self._learn(request, usage.input)

    def _gone(self, keep: Bound) -> Bound:
        return total_bound((self._spent, *self._reserved, keep))

    def _learn(self, request: Request, tokens: int) -> None:
        """Keeps a route's newest report.

        One that counts fewer tokens in a longer text is not believed: some servers leave out what their cache served.
        """
        route, report = (request.model, request.endpoint), _Report(request.messages, tokens)
        known = self._reports.get(route)
        if known is None or tokens >= known.tokens or report.most < known.most:
            self._reports[route] = report

    def _most_read(self, request: Request) -> int:
        """An upper bound of the input, in tokens."""
        most = _most_tokens(request.messages) + _own_tokens(request)
        report = self._reports.get((request.model, request.endpoint))
        said = most if report is None else min(most, report.most_tokens(request.messages))
        return said + _most_tokens_of(request.shape)


@dataclass(frozen=True, slots=True)
class _Report:
    """How many tokens a provider counted in a request's messages."""

    messages: tuple[Message, ...]
    tokens: int

    @property
    def most(self) -> int:
        return _most_tokens(self.messages)

    def most_tokens(self, messages: Sequence[Message]) -> int:
        """An upper bound for other messages: the beginning that they share took no more than the whole did."""
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(self.messages, messages, strict=False)))
        return self.tokens + _most_tokens(messages[shared:])


def _own_tokens(request: Request) -> int:
    """What an agent CLI puts around a prompt; it is part of what it reports."""
    cli = cli_of(request.model, request.endpoint)
    return cli.own_tokens if cli else 0


def _most_tokens(messages: Iterable[Message]) -> int:
    return PER_CALL + sum(PER_MESSAGE + most_bytes(message.text) for message in messages)


def _most_tokens_of(shape: Shape | None) -> int:
    """The schema that is sent beside the messages, in whichever form a provider counts it."""
    return 0 if shape is None else PER_SHAPE + most_bytes(json.dumps(shape.schema))


@lru_cache(maxsize=256)  # of the same messages again with every call
def most_bytes(text: str) -> int:
    """The most tokens of a text: its length in UTF-8, also of the forms that some tokenizers bring it into first."""
    if text.isascii():
        return len(text)
    forms = {text, normalize("NFC", text), normalize("NFKC", text)}
    return max(len(form.encode("utf-8", "surrogatepass")) for form in forms)


def _beside(keep: Bound, kept: str, *, fits: bool) -> str:
    """What is kept for Door, beside what is left, or more than that."""
    if keep == NO_BOUND:
        return ""
    return f" besides {kept} kept for Door" if fits else f", less than must be kept for Door to close ({kept})"


def _known(cost: Decimal | None) -> Decimal:
    if cost is None:
        raise UsageError("A cost limit cannot be kept: the price of a call is unknown.", _PRICE_CURE)
    return cost


def _dollars(amount: Decimal, rounding: str) -> str:
    """At least whole cents and at most hundredths of them; nothing for what is below zero."""
    shown = max(amount, Decimal(0)).quantize(_SMALLEST_SHOWN, rounding)
    cents = shown.quantize(_CENT, ROUND_FLOOR)
    return f"${cents if cents == shown else shown.normalize():f}"
