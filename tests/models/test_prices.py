"""Prices and context sizes from litellm's own table, without importing litellm."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import UsageError
from orchestrator.models.base import Endpoint
from orchestrator.models.prices import Price, Rate, context_of, known_model, known_models, parse_price, price_of

TIERED = Price(
    (
        Rate(input=Decimal(2), output=Decimal(10), cached=Decimal("0.2"), written=Decimal("2.5")),
        Rate(input=Decimal(4), output=Decimal(15), cached=Decimal("0.4"), written=Decimal(5), above=1000),
    )
)


def test_reading_the_table_does_not_import_litellm() -> None:
    code = (
        "import sys; from orchestrator.models.prices import known_models; known_models();"
        " sys.exit('litellm' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_table_is_read_once() -> None:
    assert known_models() is known_models()


@pytest.mark.parametrize(
    ("name", "found", "provider"),
    [
        ("claude-opus-5-5", "claude-opus-5-5", "anthropic"),
        ("anthropic/claude-opus-5-5", "claude-opus-5-5", "anthropic"),
        ("openai/gpt-6.1-sol", "gpt-6.1-sol", "openai"),
        ("gemini/gemini-4-argon", "gemini/gemini-4-argon", "gemini"),
        ("vertex_ai/gemini-2.5-pro", "gemini-2.5-pro", "vertex_ai-language-models"),
    ],
)
def test_a_model_is_found_with_and_without_its_providers_prefix(name: str, found: str, provider: str) -> None:
    known = known_model(name)
    assert known is not None
    assert (known.name, known.provider) == (found, provider)


@pytest.mark.parametrize("name", ["", "/", "nope", "openai/nope", "openrouter/gpt-6.1-sol", "sample_spec", "openai/"])
def test_a_model_is_not_found_under_another_providers_name(name: str) -> None:
    assert known_model(name) is None


def test_prices_are_exact_decimals() -> None:
    known = known_model("claude-opus-5-5")
    assert known is not None
    assert known.price == Price((Rate(Decimal("0.000004"), Decimal("0.00002"), Decimal("2E-7"), Decimal("0.000005")),))
    assert (known.context_tokens, known.max_output_tokens) == (1_000_000, 128_000)


def test_every_known_number_is_a_number() -> None:
    for known in known_models().values():
        assert known.context_tokens is None or known.context_tokens > 0, known
        assert known.price is None or all(isinstance(rate.input, Decimal) for rate in known.price.rates), known


def test_no_price_is_unknown_and_not_zero() -> None:
    unpriced = [known for known in known_models().values() if known.price is None]
    assert unpriced
    assert price_of(unpriced[0].name, Endpoint()) is None


def test_a_call_is_priced_by_its_parts() -> None:
    cost = TIERED.cost(input=100, cached=60, written=10, output=7)
    assert cost == 30 * Decimal(2) + 60 * Decimal("0.2") + 10 * Decimal("2.5") + 7 * Decimal(10)


def test_a_long_request_is_priced_at_its_own_rate() -> None:
    assert TIERED.cost(input=1000, output=0) == 2000
    assert TIERED.cost(input=1001, output=1) == 4004 + 15


@given(st.integers(0, 5000), st.integers(0, 5000), st.integers(0, 500), st.data())
def test_more_tokens_never_cost_less_and_the_cache_never_costs_more(
    read: int, more: int, output: int, data: st.DataObject
) -> None:
    cached = data.draw(st.integers(0, read))
    assert TIERED.cost(input=read, output=output) <= TIERED.cost(input=read + more, output=output)
    assert TIERED.cost(input=read, cached=cached, output=output) <= TIERED.cost(input=read, output=output)


def test_the_models_file_wins_over_the_table() -> None:
    endpoint = Endpoint(input_cost_per_token=Decimal(1), output_cost_per_token=Decimal(3), context_tokens=8192)
    price = price_of("gpt-6.1-sol", endpoint)
    assert price == Price((Rate(input=Decimal(1), output=Decimal(3), cached=Decimal(1), written=Decimal(1)),))
    assert context_of("gpt-6.1-sol", endpoint) == 8192


def test_a_server_of_ones_own_has_no_known_price() -> None:
    assert price_of("openai/gpt-6.1-sol", Endpoint(api_base="http://127.0.0.1:1/v1")) is None
    assert price_of("openai/gpt-6.1-sol", Endpoint()) is not None


# --- the most that a call can cost


def test_the_most_is_what_the_dearest_way_to_charge_for_a_call_costs() -> None:
    dear_cache = Price((Rate(Decimal(2), Decimal(10), cached=Decimal(3), written=Decimal(1)),))
    assert dear_cache.most(input=100, output=7) == 300 + 70
    assert TIERED.most(input=1000, output=7) == TIERED.cost(input=1000, written=1000, output=7)
    assert TIERED.most(input=0, output=7) == 70


def test_a_shorter_call_at_a_dearer_rate_counts_among_the_most() -> None:
    cheap_when_long = Price((Rate(Decimal(2), Decimal(10), Decimal(2), Decimal(2)), Rate(*[Decimal(1)] * 4, above=100)))
    assert cheap_when_long.most(input=101, output=1) == 202 + 10


@given(st.integers(0, 2_000_000), st.integers(0, 200_000), st.data())
def test_no_known_model_costs_more_than_the_most(read: int, output: int, data: st.DataObject) -> None:
    price = data.draw(st.sampled_from([known.price for known in known_models().values() if known.price]))
    less = data.draw(st.integers(0, read))
    cached = data.draw(st.integers(0, less))
    written = data.draw(st.integers(0, less - cached))
    cost = price.cost(input=less, output=data.draw(st.integers(0, output)), cached=cached, written=written)
    assert cost <= price.most(input=read, output=output)


# --- what the table leaves open


def _price_of(name: str) -> Price:
    price = price_of(name, Endpoint())
    assert price is not None
    return price


def test_rates_by_the_length_of_a_request_are_read_in_both_of_the_tables_forms() -> None:
    assert [rate.above for rate in _price_of("dashscope/qwen3-coder-plus").rates] == [0, 32_000, 128_000, 256_000]
    assert [rate.above for rate in _price_of("gemini/gemini-2.5-pro").rates] == [0, 199_999]  # at 200,000 the dearer


def test_no_rate_reads_dearer_than_it_writes_into_a_cache() -> None:
    for known in known_models().values():
        assert known.price is None or all(rate.written >= rate.input for rate in known.price.rates), known


def test_vertex_asks_more_where_it_is_not_global() -> None:
    raw = Decimal("1.5E-6")
    assert _price_of("vertex_ai/gemini-3.5-flash").rates[0].input == raw * Decimal("1.1")
    assert _price_of("gemini/gemini-3.5-flash").rates[0].input == raw


@pytest.mark.parametrize(
    "name",
    ["perplexity/sonar", "gpt-4o-search-preview", "gpt-5-search-api", "o3-deep-research", "perplexity/sonar-pro"],
)
def test_a_model_that_searches_in_every_call_has_no_price_by_the_token(name: str) -> None:
    assert known_model(name) is not None
    assert price_of(name, Endpoint()) is None


def test_a_name_that_only_sounds_like_searching_is_priced() -> None:
    assert price_of("nebius/NousResearch/Hermes-4-70B", Endpoint()) is not None


@pytest.mark.parametrize("name", ["azure/model-router", "zai/glm-4.5-flash"])
def test_a_zero_in_the_table_is_no_price(name: str) -> None:
    assert known_model(name) is not None
    assert price_of(name, Endpoint()) is None


def test_a_model_on_ones_own_machine_is_free() -> None:
    assert _price_of("ollama/llama3").most(input=10**9, output=10**9) == 0


# --- a price by hand


@pytest.mark.parametrize(
    ("text", "input", "output"),
    [("3/15", "0.000003", "0.000015"), ("0.25/1", "2.5E-7", "0.000001"), ("0/0", "0", "0")],
)
def test_a_price_by_hand_is_in_dollars_per_million_tokens(text: str, input: str, output: str) -> None:
    assert parse_price(text) == (Decimal(input), Decimal(output))


@pytest.mark.parametrize(
    "text",
    [
        *("", "3", "3/", "/15", "3/15/1", "-3/15", "+3/15", "3 / 15", "$3/$15", "3/15\n"),  # not two numbers
        *("1e3/1", "٣/15", "3,5/1", ".5/1", "nan/inf"),  # not written so
        *("1234567/1", "3.1234567/1"),  # not what anybody asks
    ],
)
def test_what_is_no_price_is_told_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="such as 3/15"):
        parse_price(text)
