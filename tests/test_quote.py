"""What a debate will take, told before anything is asked: it holds the calls of the run, and holds what they take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from building import RECIPES, TOPIC, evidence_of, hall_at, hold, plan_of, recipe_of, speech, vote_text
from orchestrator.budget import Bound
from orchestrator.errors import UsageError
from orchestrator.forecast import calls_of, chain_of
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Role
from orchestrator.imagined import Imagined, Pace, head_of
from orchestrator.models.base import Endpoint, Reply, Request, Usage
from orchestrator.models.cli_known import CLIS
from orchestrator.models.scripted import Line, Scripted
from orchestrator.plan import Plan
from orchestrator.quote import SHORTEST, Quote, Range, quote_of
from orchestrator.recipe import Recipe

PRICED = Endpoint(
    input_cost_per_token=Decimal("0.000001"),
    cached_cost_per_token=Decimal("0.0000001"),
    output_cost_per_token=Decimal("0.000003"),
)
VOTED: dict[str, Any] = {"consensus": {"required": True, "refinements": 2}}
NOBODY = {role: ["rehearsal"] for role in Role}
SHORT = Pace(SHORTEST, 5, None, [0])


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    with hall_at(tmp_path / "state") as hall:
        yield hall


def quoted(recipe: str | Recipe = "speed", **changes: Any) -> Quote:
    return quote_of(plan_of(recipe, **{"endpoint": PRICED, **changes}), TOPIC)


# ----------------------------------------------------------------------------------------- the requests are the run's


def seen_in(request: Request) -> tuple[Any, ...]:
    """Who is asked what, and how many turns before it are told; what others wrote is not known beforehand."""
    task = request.task
    return task.step, task.round, task.agent, task.lens, task.last, len(request.messages), len(task.said)


def imagined(plan: Plan, pace: Pace) -> list[list[Request]]:
    batches = Imagined(plan, pace, head_of(plan, TOPIC)).batches()
    return [[asked.request for asked in batch] for batch in batches]


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize(
    ("recipe", "changes"),
    [
        *((recipe, {}) for recipe in RECIPES if recipe != "deep"),
        pytest.param("deep", {}, marks=pytest.mark.slow),
        ("council", {"doors": "independent"}),
        ("council", {"doors": "independent", "turns": 14}),
        ("fortress", {"wall": "reactive"}),
        ("standard", {"socratic": True, "turns": 6}),
        ("fortress", VOTED),
    ],
)
async def test_what_is_imagined_asks_what_the_run_asks(hall: Hall, recipe: str, changes: dict[str, Any]) -> None:
    plan = plan_of(recipe, evidence=[evidence_of()], **changes)
    model = Scripted(lambda request: speech(request, len(model.requests)))
    with anyio.fail_after(60):
        await hold(hall, plan, model)
    asked, told = list(model.requests), imagined(plan, SHORT)
    for batch in told:
        now, asked = asked[: len(batch)], asked[len(batch) :]
        assert sorted(map(repr, map(seen_in, now))) == sorted(map(repr, map(seen_in, batch)))
        assert {request.messages[:2] for request in now} == {batch[0].messages[:2]}
    assert asked == []


@pytest.mark.anyio
async def test_with_every_refinement_too(hall: Hall) -> None:
    plan = plan_of("fortress", **VOTED)

    def objects(request: Request) -> Line:
        number = len(model.requests)
        return vote_text("object", f"No {number}.") if request.task.step == "vote" else speech(request, number)

    model = Scripted(objects)
    with anyio.fail_after(60):
        await hold(hall, plan, model)
    told = [request for batch in imagined(plan, Pace(SHORTEST, 5, None, [9, 9, 9])) for request in batch]
    assert sorted(map(repr, map(seen_in, told))) == sorted(map(repr, map(seen_in, model.requests)))


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_calls_are_those_that_the_plan_foresees(recipe: str) -> None:
    plan = plan_of(recipe, endpoint=PRICED)
    quote = quote_of(plan, TOPIC)
    assert (quote.calls, quote.chain) == (calls_of(plan), chain_of(plan))
    assert sum(map(len, imagined(plan, SHORT))) == quote.calls.least
    assert len(imagined(plan, SHORT)) == quote.chain.least


def test_what_may_be_left_out_is_left_out_of_the_least_alone() -> None:
    early, late = quoted("standard", early_close=True), quoted("standard")
    assert early.calls.least < late.calls.least
    assert early.tokens.low < late.tokens.low
    assert early.tokens.expected >= late.tokens.expected  # Door is told more


# ------------------------------------------------------------------------------------------------- it holds what comes


def counted(text: str) -> int:
    return len(text.encode()) // 4


def taking(size: int, *, objects: bool) -> Scripted:
    """A model whose answers are of so many tokens, as it counts them: a token has four bytes."""

    def say(request: Request) -> Line:
        number = len(model.requests)
        if request.task.step == "vote":
            text = vote_text("object" if objects else "approve", "It is. " * (size // 4 + 1))
        elif request.task.step == "account":
            text = speech(request, number)
        else:
            text = speech(request, number)
            text += "\n" + f"Number {number} goes on. " * (size // 4)
            text = text[: max(size * 4, 800)]
        read = sum(counted(message.text) + 1 for message in request.messages)
        usage = Usage(read, 0, counted(text), read * Decimal("0.000001") + counted(text) * Decimal("0.000003"))
        return Reply(text, "test/answered", usage)

    model = Scripted(say)
    return model


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize(("size", "objects"), [(0, False), (900, False), (2000, True)])
async def test_a_run_takes_what_lies_between_the_least_and_the_most(hall: Hall, size: int, objects: bool) -> None:
    plan = plan_of("council", endpoint=PRICED, max_output_tokens=2000)
    quote = quote_of(plan, TOPIC)
    with anyio.fail_after(60):
        run = await hold(hall, plan, taking(size, objects=objects))
    assert quote.cost_usd is not None
    assert run.spent.cost_usd is not None
    assert quote.tokens.low <= run.spent.input + run.spent.output <= quote.tokens.high
    assert quote.cost_usd.low <= run.spent.cost_usd <= quote.cost_usd.high


def test_at_the_most_every_answer_is_as_long_as_it_may_be_and_sent_back_once() -> None:
    small, large = quoted(max_output_tokens=100), quoted(max_output_tokens=8000)
    assert small.output.high == 100 * 2 * small.calls.most
    assert large.output.high == 8000 * 2 * large.calls.most
    assert small.output.expected <= small.output.high


# --------------------------------------------------------------------------------------------------------------- laws


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    """A recipe that can be laid out, of any shape."""
    base = draw(st.sampled_from(("speed", "fortress", "laboratory", "council")))
    fixed = base == "speed"
    parts = st.integers(1, 3)
    ratio = dict.fromkeys(("wind", "wall", "door"), 1) if fixed else {n: draw(parts) for n in ("wind", "wall", "door")}
    changes = {
        "turns": draw(st.integers(1, 3)) * 3 if fixed else draw(st.integers(3, 8)),
        "ratio": ratio,
        "wall": draw(st.sampled_from(("framework", "reactive"))),
        "doors": draw(st.sampled_from(("sequential", "independent"))),
        "socratic": draw(st.booleans()),
        "early_close": draw(st.booleans()),
        "consensus": {"required": draw(st.booleans()), "refinements": draw(st.integers(0, 2))},
    }
    try:
        return recipe_of(base, **changes)
    except (UsageError, ValueError):
        assume(False)  # such as a Socratic debate of one round
        raise


OUTPUTS = st.sampled_from((1, 40, 200, 900, 2000))


def assert_in_order(ranges: Sequence[Range[Any] | None]) -> None:
    for each in ranges:
        assert each is not None
        assert 0 <= each.low <= each.expected <= each.high


@given(recipe=recipes(), most=OUTPUTS, evidence=st.text(max_size=200))
def test_the_least_is_never_more_than_the_expected_and_that_never_more_than_the_most(
    recipe: Recipe, most: int, evidence: str
) -> None:
    quote = quoted(recipe, max_output_tokens=most, evidence=[evidence_of(evidence)])
    assert_in_order([quote.input, quote.output, quote.tokens, quote.cost_usd])


@settings(max_examples=settings().max_examples // 2)
@given(recipe=recipes(), most=OUTPUTS, texts=st.lists(st.text(max_size=400), max_size=3), more=st.text(max_size=400))
def test_more_evidence_never_lowers_a_quote(recipe: Recipe, most: int, texts: list[str], more: str) -> None:
    def with_texts(texts: Sequence[str]) -> Quote:
        evidence = [evidence_of(text, f"E{number}") for number, text in enumerate(texts, 1)]
        return quoted(recipe, max_output_tokens=most, evidence=evidence)

    before, after = with_texts(texts), with_texts([*texts, more])
    assert before.cost_usd is not None
    assert after.cost_usd is not None
    assert all(less <= now for less, now in zip(before.input, after.input, strict=True))
    assert all(less <= now for less, now in zip(before.cost_usd, after.cost_usd, strict=True))
    assert before.output == after.output


def test_a_longer_file_costs_more_at_every_call() -> None:
    long = quoted(evidence=[evidence_of("word " * 4000)])
    short = quoted(evidence=[evidence_of("word")])
    assert long.input.low - short.input.low == pytest.approx(5 * 4000, rel=0.01)  # five calls, five bytes a token
    assert long.input.expected - short.input.expected == pytest.approx(5 * 5000, rel=0.01)
    assert long.input.high - short.input.high == pytest.approx(10 * 20_000, rel=0.01)


# -------------------------------------------------------------------------------------------------------------- prices


@pytest.mark.slow
def test_a_debate_of_very_many_turns_is_not_quoted() -> None:
    assert quote_of(plan_of("standard", turns=120), TOPIC) is not None
    assert quote_of(plan_of("standard", turns=123), TOPIC) is None


def test_the_cost_is_unknown_where_the_price_of_a_model_is_and_it_says_which() -> None:
    quote = quote_of(plan_of("speed"), TOPIC)
    assert quote.cost_usd is None
    assert quote.unpriced == ("test/door", "test/wall", "test/wind")
    assert str(quote).endswith("tokens, cost unknown: no price is known for test/door, test/wall, test/wind")
    assert quote.described()["cost_usd"] is None


def test_a_fallback_has_no_say_in_it() -> None:
    plan = plan_of("speed", endpoint=PRICED, routes={Role.WALL: ["test/wall", "test/else"]})
    plan = plan.model_copy(update={"endpoints": {**plan.endpoints, "test/else": Endpoint()}})
    assert quote_of(plan, TOPIC).cost_usd is not None


def test_what_a_prompt_cache_serves_is_cheaper_but_not_of_a_claude_that_takes_no_marks() -> None:
    routes = {role: ["openai/x"] for role in Role}
    dear = quoted("standard", routes=routes, endpoint=Endpoint(**{**members(PRICED), "cached_cost_per_token": None}))
    cheap, claude = quoted("standard", routes=routes), quoted("standard", routes={role: ["x/claude"] for role in Role})
    marked = quoted("standard", routes={role: ["anthropic/claude-x"] for role in Role})
    assert dear.cost_usd is not None
    assert cheap.cost_usd is not None
    assert cheap.tokens == dear.tokens == claude.tokens
    assert cheap.cost_usd.expected < dear.cost_usd.expected
    assert cheap.cost_usd.high == dear.cost_usd.high
    assert claude.cost_usd == dear.cost_usd
    assert marked == cheap


def members(endpoint: Endpoint) -> dict[str, Any]:
    return {name: getattr(endpoint, name) for name in endpoint.__dataclass_fields__}


def test_thinking_is_expected_where_it_is_asked_for() -> None:
    plain, thinks = quoted(), quoted(endpoint=Endpoint(**{**members(PRICED), "effort": "medium"}))
    assert thinks.output.expected == plain.output.expected + 5 * 1500
    assert (thinks.output.low, thinks.output.high) == (plain.output.low, plain.output.high)


def test_an_agent_cli_adds_what_it_puts_around_a_prompt() -> None:
    plain, cli = quoted(), quoted(routes={Role.WALL: ["cli/codex"]})
    own = CLIS["codex"].own_tokens
    assert cli.input.low == plain.input.low
    assert cli.input.expected - plain.input.expected == 2 * own // 4  # Wall's two calls
    assert cli.input.high - plain.input.high == 4 * own


# --------------------------------------------------------------------------------------------------------------- words


def test_a_quote_in_words() -> None:
    quote = quoted("fortress")
    dollars = Range(Decimal("0.404"), Decimal("0.9"), Decimal("3.0967"))
    tokens = Range(100_000, 187_400, 2_500_000), Range(900, 22_650, 139_001)
    told = Quote(quote.calls, quote.chain, *tokens, dollars, ())
    assert str(told) == "100k–210k–2.7M tokens, $0.40–0.90–3.10"
    first, second = told.lines()
    assert first == "quote: 100k–210k–2.7M tokens (in 100k–187k–2.5M, out 900–23k–140k), $0.40–0.90–3.10"
    assert second.startswith("  low–expected–high, from the prompts of this plan")
    spent = Usage(input=180_000, cached=0, output=7_000, cost_usd=Decimal("0.7149"))
    assert told.against(spent) == f"quoted {told}; took 187k tokens, $0.71"
    besides = "; besides, calls whose outcome nobody knows took at most 8.4k tokens, "
    assert told.against(spent, Bound(8356, Decimal("0.52"))) == f"{told.against(spent)}{besides}$0.52"
    assert told.against(spent, Bound(8356, None)) == f"{told.against(spent)}{besides}cost unknown"
    small = Quote(
        quote.calls, quote.chain, *tokens, Range(Decimal("0.00042"), Decimal("0.0009"), Decimal("0.0031")), ()
    )
    assert str(small).endswith("$0.0004–0.0009–0.0031")
    assert told.against(Usage(1200, 0, 0, None)).endswith("; took 1.2k tokens, cost unknown")


def test_a_quote_as_values() -> None:
    quote = quoted()
    told = quote.described()
    assert told["calls"] == {"least": 5, "most": 5}
    assert told["chain"] == {"least": 4, "most": 4}
    assert list(told["tokens"]) == list(told["input"]) == list(told["output"]) == ["low", "expected", "high"]
    assert quote.cost_usd is not None
    assert {name: Decimal(cost) for name, cost in told["cost_usd"].items()} == quote.cost_usd._asdict()
    assert told["unpriced"] == []


def test_a_rehearsal_asks_no_model_and_takes_nothing() -> None:
    quote = quoted("fortress", routes=NOBODY)
    assert quote.tokens == Range(0, 0, 0)
    assert quote.cost_usd == Range(Decimal(0), Decimal(0), Decimal(0))
    assert not quote.asks_models
    assert list(quote.lines()) == []


def test_of_a_role_that_is_rehearsed_nothing_is_quoted() -> None:
    """Door and Wall are asked; the worksheets of Wind stand in their prompts."""
    quote = quoted("speed", routes={Role.WIND: ["rehearsal"]})
    assert 0 < quote.output.low < quoted("speed").output.low
