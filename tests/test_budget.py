"""What a run may spend, against a provider that counts and bills by itself.

`Provider` knows nothing of `Budget`: it splits texts with a tokenizer of its own, picks what its cache serves, bills in
fractions, and loses calls in every way that calls are lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from itertools import count
from random import Random
from unicodedata import normalize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.budget import (
    NO_BOUND,
    PER_CALL,
    PER_MESSAGE,
    Bound,
    Budget,
    Left,
    require_prices,
    taken,
    total_bound,
)
from orchestrator.errors import LimitMet, UsageError
from orchestrator.hall.terms import Role
from orchestrator.models.base import Endpoint, Message, Request, Task, Usage
from orchestrator.models.prices import Price, Rate
from orchestrator.models.rehearsal import NAME as REHEARSAL
from orchestrator.recipe import Limits

TASK = Task(step="turn", role=Role.WIND, agent="a", lens=None, round=1, rounds=1, last=False, topic="t")
PRICED = Endpoint(input_cost_per_token=Decimal("0.001"), output_cost_per_token=Decimal("0.01"))
SCRIPTS = (
    "move billing to Kafka, one table at a time ",
    "把计费系统迁移到卡夫卡，",
    "🙂🚀👩‍🚀",
    "\ufdfa\u337f\uff26\u0958",
    "हम भुगतान ",
    "é̄",
)


def request_of(*texts: str, model: str = "test/one", endpoint: Endpoint = PRICED, output: int = 10) -> Request:
    messages = tuple(Message("user", text) for text in texts)
    return Request(model, messages, TASK, max_output_tokens=output, timeout_s=1, endpoint=endpoint)


def most_read(budget: Budget, request: Request) -> int:
    return budget.bound_of(request).tokens - request.max_output_tokens


def counted(input: int, output: int = 0, cost: str | None = "0") -> Usage:
    return Usage(input, cached=0, output=output, cost_usd=None if cost is None else Decimal(cost))


# --- the bound of one call


@pytest.mark.parametrize("text", [script * 50 for script in SCRIPTS])
def test_a_tokenizer_that_knows_only_bytes_makes_no_more_tokens_than_the_bound(text: str) -> None:
    assert most_read(Budget(), request_of(text)) >= len(text.encode())


@pytest.mark.parametrize(("text", "times"), [("计费系统迁移", 12), ("🙂🚀", 16)])
def test_four_characters_to_a_token_would_undercount_what_bytes_cover(text: str, times: int) -> None:
    tokens = len(text.encode())  # a model that has seen nothing like it makes one of each byte
    assert tokens == times * len(text) / 4
    assert most_read(Budget(), request_of(text)) >= tokens


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("\ufdfa\u337f", "NFKC"),  # a ligature of eighteen letters, a square of four
        ("\uff26\uff35\u0958", "NFC"),  # full width letters, which NFKC makes small, and a letter that is taken apart
    ],
)
def test_a_text_that_grows_when_a_tokenizer_normalizes_it_is_bounded_by_its_largest_form(text: str, form: str) -> None:
    sizes = {name: len(normalize(name, text * 50).encode()) for name in ("NFC", "NFKC")}
    assert sizes[form] == max(len(text.encode()) * 50 + 1, *sizes.values())
    assert most_read(Budget(), request_of(text * 50)) >= sizes[form]


def test_marks_around_every_message_and_every_call_are_bounded_too() -> None:
    assert most_read(Budget(), request_of("abc", "de")) == PER_CALL + 2 * PER_MESSAGE + 5


def test_a_text_that_no_provider_could_be_sent_still_has_a_bound() -> None:
    assert most_read(Budget(), request_of("\ud800")) >= 3


def test_the_bound_in_dollars_is_that_in_tokens_at_the_dearest_price() -> None:
    request = request_of("abc", output=10)
    tokens = PER_CALL + PER_MESSAGE + 3
    assert Budget().bound_of(request) == Bound(tokens + 10, tokens * Decimal("0.001") + 10 * Decimal("0.01"))


def test_a_call_without_a_known_price_has_a_bound_in_tokens_only() -> None:
    bound = Budget().bound_of(request_of("abc", endpoint=Endpoint(api_base="http://127.0.0.1:1/v1")))
    assert bound.tokens > 0
    assert bound.cost_usd is None


def test_a_rehearsal_takes_nothing() -> None:
    assert Budget().bound_of(request_of("abc", model=REHEARSAL, endpoint=Endpoint())) == NO_BOUND


# --- what is learned from a provider's count


def reported(budget: Budget, request: Request, input: int) -> None:
    bound = budget.bound_of(request)
    budget.reserve([bound])
    budget.settle(request, bound, counted(input), charged=True)


def test_a_beginning_that_was_counted_before_counts_as_the_provider_counted_it() -> None:
    budget = Budget()
    reported(budget, request_of("s" * 1000, "own"), 300)
    assert most_read(budget, request_of("s" * 1000, "new")) == 300 + PER_CALL + PER_MESSAGE + 3


def test_only_whole_messages_count_as_counted() -> None:
    budget = Budget()
    reported(budget, request_of("s" * 1000, "t" * 1000), 300)
    assert most_read(budget, request_of("s" * 1000, "t" * 999)) == 300 + PER_CALL + PER_MESSAGE + 999


def test_the_same_words_of_another_speaker_are_another_message() -> None:
    budget = Budget()
    reported(budget, request_of("s" * 1000), 300)
    other = replace(request_of(), messages=(Message("system", "s" * 1000),))
    assert most_read(budget, other) == most_read(Budget(), other)


@pytest.mark.parametrize(
    "other",
    [
        {"model": "test/two"},
        {"endpoint": Endpoint(api_base="http://127.0.0.1:1/v1")},
    ],
)
def test_a_count_says_nothing_about_another_route(other: dict[str, str]) -> None:
    budget = Budget()
    reported(budget, request_of("s" * 1000), 300)
    assert most_read(budget, request_of("s" * 1000, **other)) == PER_CALL + PER_MESSAGE + 1000


def test_the_bytes_bound_a_request_that_a_count_does_not() -> None:
    budget = Budget()
    reported(budget, request_of("s" * 1000), 300)
    assert most_read(budget, request_of("x")) == PER_CALL + PER_MESSAGE + 1


def test_an_answer_without_a_count_teaches_nothing() -> None:
    budget = Budget()
    reported(budget, request_of("s" * 1000), 0)
    assert most_read(budget, request_of("s" * 1000)) == PER_CALL + PER_MESSAGE + 1000


def test_a_server_that_leaves_out_what_its_cache_served_is_not_believed() -> None:
    budget = Budget()
    reported(budget, request_of("s" * 1000), 300)
    reported(budget, request_of("s" * 1000, "t" * 40), 10)
    assert most_read(budget, request_of("s" * 1000, "t" * 40)) >= 300 + 10


def test_a_shorter_prompt_is_learned_from_again() -> None:
    budget = Budget()
    reported(budget, request_of("s" * 1000), 300)
    reported(budget, request_of("z" * 500), 150)
    assert most_read(budget, request_of("z" * 500, "x")) == 150 + PER_CALL + PER_MESSAGE + 1


def test_in_a_long_debate_most_of_the_bound_is_what_was_counted() -> None:
    """Prose of four and a half bytes a token, twelve rounds of three seats, turns of 2 KB, agents of 2 KB."""
    budget = Budget()
    shared = ["p" * 2000, "t" * 3000]
    for turn in range(36):
        request = request_of(*shared, f"agent {turn % 3} " * 250)
        by_bytes, bound = most_read(Budget(), request), most_read(budget, request)
        tokens = sum(len(message.text) for message in request.messages) * 10 // 45
        assert tokens <= bound <= by_bytes
        reported(budget, request, tokens)
        shared.append(f"turn {turn} " * 250)
    assert bound < by_bytes / 3
    assert bound < 1.5 * tokens


# --- what a call counts for when it has ended

BOUND = Bound(100, Decimal("0.50"))


@pytest.mark.parametrize(
    ("usage", "charged", "counts_for"),
    [
        (counted(20, 5, "0.10"), True, Bound(25, Decimal("0.10"))),
        (counted(20, 5, "0.10"), False, Bound(25, Decimal("0.10"))),
        (counted(20, 0, "0.10"), True, Bound(20, Decimal("0.10"))),
        (counted(20, 5, None), True, Bound(25, Decimal("0.50"))),
        (counted(0, 5, "0.10"), True, BOUND),
        (counted(0, 0, None), True, BOUND),
        (counted(0, 0, None), False, NO_BOUND),
        (None, True, BOUND),
        (None, False, NO_BOUND),
        (counted(120, 30, "0.70"), True, Bound(150, Decimal("0.70"))),
    ],
)
def test_a_count_replaces_the_bound_and_without_one_what_may_be_charged_counts_whole(
    usage: Usage | None, charged: bool, counts_for: Bound
) -> None:
    assert taken(BOUND, usage, charged=charged) == counts_for
    budget = Budget(Limits(cost_usd=Decimal(1), tokens=1000))
    budget.reserve([BOUND])
    budget.settle(request_of("abc"), BOUND, usage, charged=charged)
    assert budget.spent == counts_for


def test_what_was_not_reserved_cannot_be_settled() -> None:
    budget = Budget()
    budget.reserve([BOUND])
    budget.settle(request_of("abc"), BOUND, None, charged=True)
    with pytest.raises(ValueError):
        budget.settle(request_of("abc"), BOUND, None, charged=True)
    assert budget.spent == BOUND


def test_a_sum_with_an_unknown_cost_is_unknown() -> None:
    assert total_bound([BOUND, Bound(1, None)]) == Bound(101, None)
    assert total_bound([]) == NO_BOUND


# --- reserving


def test_what_is_reserved_is_not_left_until_it_is_settled() -> None:
    budget = Budget(Limits(cost_usd=Decimal(2), tokens=250))
    budget.reserve([BOUND, BOUND])
    assert budget.left() == Left(50, Decimal("1.00"))
    assert budget.left(Bound(10, Decimal("0.25"))) == Left(40, Decimal("0.75"))
    budget.settle(request_of("abc"), BOUND, counted(20, 5, "0.10"), charged=True)
    assert budget.left() == Left(125, Decimal("1.40"))
    assert Budget().left() == Left(None, None)


@pytest.mark.parametrize("limits", [Limits(tokens=250), Limits(cost_usd=Decimal("1.25"))])
def test_a_batch_is_set_aside_whole_or_not_at_all(limits: Limits) -> None:
    budget = Budget(limits)
    with pytest.raises(LimitMet):
        budget.reserve([BOUND, BOUND, BOUND])
    budget.reserve([BOUND, BOUND])
    with pytest.raises(LimitMet):
        budget.reserve([BOUND])


def test_a_limit_can_be_met_to_the_last_token_and_cent() -> None:
    Budget(Limits(cost_usd=Decimal(1), tokens=200)).reserve([BOUND, BOUND])
    with pytest.raises(LimitMet):
        Budget(Limits(cost_usd=Decimal("0.999999"))).reserve([BOUND, BOUND])
    with pytest.raises(LimitMet):
        Budget(Limits(tokens=199)).reserve([BOUND, BOUND])


def test_what_is_kept_must_still_be_left_and_is_not_set_aside() -> None:
    budget = Budget(Limits(tokens=250))
    with pytest.raises(LimitMet):
        budget.reserve([BOUND], keep=Bound(151, Decimal(0)))
    budget.reserve([BOUND], keep=Bound(150, Decimal(0)))
    budget.reserve([Bound(150, Decimal(0))])


def test_what_earlier_processes_took_counts() -> None:
    budget = Budget(Limits(tokens=250), spent=Bound(151, None))
    with pytest.raises(LimitMet):
        budget.reserve([BOUND])
    assert budget.spent.tokens == 151


@pytest.mark.parametrize(
    ("limits", "spent", "bounds", "keep", "words"),
    [
        (
            Limits(cost_usd=Decimal("1.0")),
            Bound(0, Decimal("0.9")),
            [Bound(1, Decimal("0.14"))] * 3,
            NO_BOUND,
            "The next 3 calls could take $0.42, and $0.10 of $1.00 is left. Raise --cost-limit and resume.",
        ),
        (
            Limits(cost_usd=Decimal("1E-2")),
            Bound(0, Decimal("0.00951")),
            [Bound(1, Decimal("0.00051"))],
            Bound(9, Decimal("0.001")),
            "The next call could take $0.0006, and $0.0004 of $0.01 is left, less than must be kept for Door to close "
            "($0.001). "
            "Raise --cost-limit and resume.",
        ),
        (
            Limits(tokens=100_000),
            Bound(90_000, None),
            [Bound(5_000, None)] * 2,
            Bound(4_000, None),
            "The next 2 calls could take 10,000 tokens, and 6,000 of 100,000 are left besides 4,000 kept for Door. "
            "Raise --token-limit and resume.",
        ),
        (
            Limits(tokens=14_000),
            NO_BOUND,
            [Bound(2_000, None)],
            Bound(19_621, None),
            "The next call could take 2,000 tokens, and 14,000 of 14,000 are left, less than must be kept for Door to "
            "close (19,621). Raise --token-limit and resume.",
        ),
        (
            Limits(cost_usd=Decimal("0.01")),
            Bound(0, Decimal("0.005")),
            [Bound(1, Decimal("0.0045"))],
            Bound(9, Decimal("0.001")),
            "The next call could take $0.0045, and $0.004 of $0.01 is left besides $0.001 kept for Door. "
            "Raise --cost-limit and resume.",
        ),
        (
            Limits(tokens=1_000),
            Bound(2_000, None),
            [Bound(1, None)],
            NO_BOUND,
            "The next call could take 1 token, and 0 of 1,000 are left. Raise --token-limit and resume.",
        ),
    ],
)
def test_the_refusal_says_what_could_be_taken_what_is_left_and_what_to_do(
    limits: Limits, spent: Bound, bounds: Sequence[Bound], keep: Bound, words: str
) -> None:
    with pytest.raises(LimitMet) as refused:
        Budget(limits, spent).reserve(bounds, keep)
    assert str(refused.value) == words
    assert refused.value.code == "limit_met"
    assert getattr(limits, refused.value.limit) is not None


def test_every_history_of_small_batches_stays_within_the_limit() -> None:
    """All of them, four steps deep: a batch goes in exactly when it fits beside what is spent and what is under way."""
    limit, batches = 4, ((1,), (2,), (1, 1), (3, 1), (5,))
    histories: list[tuple[tuple[int, ...] | int, ...]] = [()]
    seen = 0
    for _ in range(4):
        longer = []
        for history in histories:
            for step in (*batches, *range(-3, 0)):
                if (outcome := _replayed(limit, (*history, step))) is not None:
                    longer.append((*history, step))
                    assert outcome <= limit
                    seen += 1
        histories = longer
    assert seen > 1000


def _replayed(limit: int, history: Sequence[tuple[int, ...] | int]) -> int | None:
    """Plays a history; a negative step settles the oldest call with so many tokens. None: it makes no sense."""
    budget, under_way, spent = Budget(Limits(tokens=limit)), list[int](), 0
    for step in history:
        if isinstance(step, int):
            if not under_way or under_way[0] < -step:
                return None
            bound = under_way.pop(0)
            budget.settle(request_of("x"), Bound(bound, None), counted(-step, 0, None), charged=True)
            spent += -step
            continue
        fits = spent + sum(under_way) + sum(step) <= limit
        try:
            budget.reserve([Bound(tokens, None) for tokens in step])
        except LimitMet:
            assert not fits
        else:
            assert fits
            under_way += step
    assert budget.left() == Left(limit - spent - sum(under_way), None)
    return spent + sum(under_way)


# --- unknown is never zero


def test_a_route_without_a_price_is_refused_under_a_cost_limit_and_named() -> None:
    nowhere = Endpoint(api_base="http://127.0.0.1:1/v1")
    routes = [("openai/a", nowhere), ("test/one", PRICED), (REHEARSAL, Endpoint()), ("b", Endpoint())] * 2
    with pytest.raises(UsageError, match="known for openai/a, b") as refused:
        require_prices(routes, Limits(cost_usd=Decimal(1)))
    assert "--assume-price IN/OUT (US dollars per million tokens, such as 3/15)" in refused.value.cure
    require_prices(routes, Limits(tokens=1, seconds=1))
    require_prices(routes[1:3], Limits(cost_usd=Decimal(1)))


def test_a_call_of_unknown_price_is_never_reserved_under_a_cost_limit() -> None:
    budget = Budget(Limits(cost_usd=Decimal(1)))
    with pytest.raises(UsageError, match="unknown"):
        budget.reserve([Bound(1, None)])
    with pytest.raises(UsageError, match="unknown"):
        budget.reserve([NO_BOUND], keep=Bound(1, None))
    assert budget.left() == Left(None, Decimal(1))


def test_a_cost_limit_is_refused_where_what_was_spent_before_has_no_known_price() -> None:
    with pytest.raises(UsageError, match="has no known price"):
        Budget(Limits(cost_usd=Decimal(1)), spent=Bound(5, None))
    assert Budget(Limits(tokens=10), spent=Bound(5, None)).left() == Left(5, None)


def test_without_a_cost_limit_an_unknown_cost_stays_unknown() -> None:
    budget = Budget(Limits(tokens=100))
    budget.reserve([Bound(10, None)])
    budget.settle(request_of("x"), Bound(10, None), counted(3, 4, None), charged=True)
    assert budget.spent == Bound(7, None)


# --- whole runs, against a provider that bills by itself


@dataclass
class Provider:
    """A route's other end. `grain` bytes of ASCII make a token, of anything else each byte one, after normalizing.

    A harsh one takes all that it may: a token of every byte, the dearest way to charge for it, the longest answer.
    """

    random: Random
    price: Price
    endpoint: Endpoint
    model: str
    form: str | None
    grain: int
    overhead: tuple[int, int]
    harsh: bool
    tokens: int = 0
    bill: Fraction = Fraction(0)
    heard: list[tuple[Message, ...]] = field(default_factory=list)

    def answer(self, request: Request, fault: str) -> tuple[Usage | None, bool]:
        """Counts and bills one call. Returns what its caller learns: the count, and whether it may be charged for."""
        if fault == "refused":
            return None, False
        sizes = [self._size(message) for message in request.messages]
        known = max((sum(1 for _ in _same(earlier, request.messages)) for earlier in self.heard), default=0)
        self.heard.append(request.messages)
        read, outputs = self.overhead[1] + sum(sizes), (0, 1, request.max_output_tokens // 2, request.max_output_tokens)
        output = outputs[-1] if self.harsh else self.random.choice(outputs)
        ways = [(served, written) for served in {0, sum(sizes[:known])} for written in (0, read - served)]
        costs = [(self._cost(read, *way, output), way) for way in ways]
        cost, (served, _) = max(costs) if self.harsh else self.random.choice(costs)
        self.tokens += read + output
        self.bill += cost
        exact = Decimal(cost.numerator) / Decimal(cost.denominator)
        usage = Usage(read, served, output, exact)
        return {"lost": None, "uncounted": Usage(0, 0, 0, None), "unpriced": replace(usage, cost_usd=None)}.get(
            fault, usage
        ), True

    def _size(self, message: Message) -> int:
        text = normalize(self.form, message.text) if self.form else message.text
        plain = len(text.encode("ascii", "ignore"))
        return self.overhead[0] + -(-plain // self.grain) + len(text.encode()) - plain

    def _cost(self, read: int, served: int, written: int, output: int) -> Fraction:
        rate = [rate for rate in self.price.rates if read > rate.above or rate.above == 0][-1]
        dollars = [(read - served - written, rate.input), (served, rate.cached), (written, rate.written)]
        return sum((amount * Fraction(price) for amount, price in [*dollars, (output, rate.output)]), Fraction(0))


def _same(one: Sequence[Message], other: Sequence[Message]) -> Iterator[Message]:
    for mine, yours in zip(one, other, strict=False):
        if mine != yours:
            return
        yield mine


def _price(random: Random) -> Price:
    def amount() -> Decimal:
        return Decimal(random.randint(1, 10_000)).scaleb(-random.randint(6, 10))

    rates = []
    for above in (0, *sorted(random.sample(range(200, 20_000), random.randint(0, 2)))):
        fresh = amount()  # a longer request may even be cheaper, and the cache dearer
        rates.append(
            Rate(fresh, amount(), fresh * random.randint(0, 12) / 10, fresh * random.randint(5, 20) / 10, above)
        )
    return Price(tuple(rates))


@dataclass
class Driver:
    """Holds a debate as a run does: batches in parallel, retries, second tries, processes that die."""

    random: Random
    limits: Limits
    providers: Sequence[Provider]
    faults: Sequence[str]
    budget: Budget = field(init=False)
    said: list[str] = field(default_factory=lambda: ["protocol " * 40, "topic"])
    under_way: list[tuple[Request, Bound, int]] = field(default_factory=list)
    refused: int = 0
    numbers: Iterator[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        self.budget = Budget(self.limits)

    def hold(self, batches: int) -> None:
        for _ in range(batches):
            batch = [(self.request(), 0) for _ in range(self.random.randint(1, 4))]
            if not self._begin(batch):
                return
            while self.under_way:
                self._end(self.under_way.pop(self.random.randrange(len(self.under_way))))
            self.said += [self._text() for _ in batch]

    def _begin(self, calls: Sequence[tuple[Request, int]]) -> bool:
        bounds = [self.budget.bound_of(request) for request, _ in calls]
        for (request, _), bound in zip(calls, bounds, strict=True):
            assert bound.tokens <= Budget().bound_of(request).tokens
        before = self.budget.left(), self.budget.spent
        try:
            self.budget.reserve(bounds)
        except LimitMet:
            assert (self.budget.left(), self.budget.spent) == before
            self.refused += 1
            return False
        self.under_way += [(request, bound, tries) for (request, tries), bound in zip(calls, bounds, strict=True)]
        return True

    def _end(self, call: tuple[Request, Bound, int]) -> None:
        request, bound, tries = call
        fault = self.random.choice(self.faults)
        provider = next(provider for provider in self.providers if provider.model == request.model)
        usage, charged = provider.answer(request, fault)
        if fault == "killed":
            self._resume([bound])
            return
        self.budget.settle(request, bound, usage, charged=charged)
        self._check()
        if tries < 2 and fault == "mended":
            again = (*request.messages, Message("assistant", self._text()), Message("user", "It lacks a quotation."))
            self._begin([(replace(request, messages=again), 2)])
        elif tries < 2 and fault != "none":
            self._begin([(request, tries + 1)])

    def _resume(self, killed: Sequence[Bound]) -> None:
        """The process dies with all its calls; those in flight are answered and billed, and nobody hears."""
        uncertain = [*killed, *(bound for _, bound, _ in self.under_way)]
        for request, _, _ in self.under_way:
            next(provider for provider in self.providers if provider.model == request.model).answer(request, "lost")
        self.under_way.clear()
        self.budget = Budget(self.limits, total_bound([self.budget.spent, *uncertain]))
        self._check()

    def _check(self) -> None:
        tokens, bill = sum(one.tokens for one in self.providers), sum(one.bill for one in self.providers)
        assert self.limits.tokens is None or tokens <= self.limits.tokens
        assert self.limits.cost_usd is None or bill <= Fraction(self.limits.cost_usd)
        assert tokens <= self.budget.spent.tokens

    def request(self) -> Request:
        provider = self.random.choice(self.providers)
        own = f"seat {next(self.numbers)} {self._text()}"
        output = self.random.randint(1, 3000)
        return request_of(*self.said, own, model=provider.model, endpoint=provider.endpoint, output=output)

    def _text(self) -> str:
        return self.random.choice(SCRIPTS) * self.random.randint(1, 30)


def _providers(random: Random, monkeypatch: pytest.MonkeyPatch) -> list[Provider]:
    known = {f"test/{number}": _price(random) for number in range(random.randint(1, 3))}
    monkeypatch.setattr("orchestrator.budget.price_of", lambda model, endpoint: known[model])
    providers = []
    for model, price in known.items():
        harsh = random.random() < 0.6
        grain = 1 if harsh else random.randint(1, 6)
        overhead = (PER_MESSAGE, PER_CALL) if harsh else (random.randint(0, PER_MESSAGE), random.randint(0, PER_CALL))
        form = random.choice([None, "NFC", "NFKC"])
        providers.append(Provider(random, price, Endpoint(), model, form, grain, overhead, harsh))
    return providers


FAULTS = ("none", "none", "none", "mended", "refused", "lost", "uncounted", "unpriced", "killed")


LIMITED = st.sampled_from(["both", "cost_usd", "tokens"])
TIMES = st.integers(4, 80)  # halves of what the first call can take


@given(st.integers(), TIMES, TIMES, LIMITED)
def test_no_run_passes_its_limits(seed: int, dollars: int, tokens: int, limited: str) -> None:
    hold_within_limits(seed, dollars, tokens, limited)


@pytest.mark.slow
@settings(max_examples=1000)
@given(st.integers(), TIMES, TIMES, LIMITED)
def test_none_of_a_thousand_runs_passes_its_limits(seed: int, dollars: int, tokens: int, limited: str) -> None:
    hold_within_limits(seed, dollars, tokens, limited)


def hold_within_limits(seed: int, dollars: int, tokens: int, limited: str) -> None:
    random = Random(seed)
    with pytest.MonkeyPatch.context() as patch:
        providers = _providers(random, patch)
        first = Budget().bound_of(Driver(Random(seed), Limits(), providers, FAULTS).request())
        assert first.cost_usd is not None
        limits = Limits(
            cost_usd=None if limited == "tokens" else first.cost_usd * dollars / 2,
            tokens=None if limited == "cost_usd" else first.tokens * tokens // 2,
        )
        run = Driver(random, limits, providers, FAULTS)
        run.hold(batches=12)
    left, spent = run.budget.left(), run.budget.spent
    assert limits.tokens is None or left.tokens == limits.tokens - spent.tokens, "nothing stays reserved"
    assert limits.cost_usd is None or left.cost_usd == limits.cost_usd - (spent.cost_usd or 0)


@given(st.integers())
def test_a_generous_limit_refuses_nothing_and_what_is_counted_is_what_is_billed(seed: int) -> None:
    random = Random(seed)
    with pytest.MonkeyPatch.context() as patch:
        providers = _providers(random, patch)
        run = Driver(random, Limits(cost_usd=Decimal(10**6), tokens=10**9), providers, ("none", "mended", "refused"))
        run.hold(batches=4)
    assert run.refused == 0
    assert run.budget.spent.tokens == sum(one.tokens for one in providers)
    assert Fraction(run.budget.spent.cost_usd or 0) == sum(one.bill for one in providers)
