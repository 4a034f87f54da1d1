"""What a model costs and how much it can read, from litellm's own table, without importing litellm.

The table is a JSON file in litellm's package; `find_spec` finds it, and reading it takes a tenth of a second where
importing litellm takes several. A price that is not known is None, never zero.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

from orchestrator.errors import UsageError
from orchestrator.models.base import Endpoint

_TABLE = "model_prices_and_context_window_backup.json"
_PROVIDERS = "provider_endpoints_support_backup.json"
_MODES = ("chat", "responses")
_TIER = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")
_IN_OUT = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)/([0-9]{1,6}(?:\.[0-9]{1,6})?)")
_MILLION = 1_000_000
# These search the web in every call, and a search has a price of its own.
_SEARCHING = re.compile(r"\bsonar\b|\bsearch\b|\bdeep-research\b")
_LOCAL = ("lemonade", "ollama")
_NOT_BY_TOKEN = (
    "input_cost_per_request",
    "input_cost_per_second",
    "output_cost_per_second",
    "input_dbu_cost_per_token",
)


@dataclass(frozen=True, slots=True)
class Rate:
    """US dollars per token, for requests of more than `above` input tokens."""

    input: Decimal
    output: Decimal
    cached: Decimal  # input that the provider's prompt cache served
    written: Decimal  # input that was written into it
    above: int = 0


@dataclass(frozen=True, slots=True)
class Price:
    """The rates of one model; some providers ask more for long requests.

    What is charged is what litellm counts: for every provider its input holds what a cache served and what was written
    into one (Anthropic and Bedrock count these apart, and litellm adds them), its output holds the thinking.
    """

    rates: tuple[Rate, ...]  # by `above`, the smallest first

    def cost(self, *, input: int, output: int, cached: int = 0, written: int = 0) -> Decimal:
        """US dollars for one call; `cached` and `written` are parts of `input`, all in tokens."""
        rate = max((r for r in self.rates if input > r.above), key=lambda r: r.above, default=self.rates[0])
        fresh = max(0, input - cached - written)
        return fresh * rate.input + cached * rate.cached + written * rate.written + output * rate.output

    def most(self, *, input: int, output: int) -> Decimal:
        """US dollars that a call of at most so many tokens can cost, however its input is charged.

        A shorter request may fall under another rate, so every rate that it could meet counts.
        """
        rates = (rate for rate in self.rates if rate is self.rates[0] or input > rate.above)
        return max(input * max(rate.input, rate.cached, rate.written) + output * rate.output for rate in rates)


@dataclass(frozen=True, slots=True)
class KnownModel:
    name: str
    provider: str  # as litellm calls it
    price: Price | None
    context_tokens: int | None  # the most it reads
    max_output_tokens: int | None
    retires: date | None = None  # from this day on its provider no longer answers
    caches: bool = False  # its provider has a prompt cache
    marked: bool = False  # which holds only what ends at a mark, as OpenAI writes it


@cache
def known_models() -> Mapping[str, KnownModel]:
    """The chat models litellm knows, by its names for them (`claude-…`, `gemini/gemini-…`)."""
    table: dict[str, dict[str, Any]] = _told_in(_TABLE)
    return MappingProxyType({name: _known(name, entry) for name, entry in table.items() if entry.get("mode") in _MODES})


@cache
def known_providers() -> frozenset[str]:
    """What litellm lets stand before the slash of a model's name; empty where it does not say."""
    listed = _told_in(_PROVIDERS).get("providers", {})
    models = known_models().items()
    named = {name.partition("/")[0] for name, _ in models if "/" in name} | {known.provider for _, known in models}
    return frozenset(listed) | named if listed else frozenset()


def _told_in(name: str) -> dict[str, Any]:
    """A file of litellm's package; empty where it is not there."""
    spec = find_spec("litellm")
    file = Path(spec.submodule_search_locations[0], name) if spec and spec.submodule_search_locations else None
    if file is None or not file.exists():
        return {}
    told: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"), parse_float=Decimal)
    return told


def known_model(name: str) -> KnownModel | None:
    """Finds a route's model, with its provider's prefix (`anthropic/claude-…`) or without."""
    models = known_models()
    if name in models:
        return models[name]
    prefix, _, bare = name.partition("/")
    found = models.get(bare)
    # `vertex_ai/…` is `vertex_ai-language-models` in the table, `bedrock/…` is `bedrock_converse`
    same = found is not None and re.split(r"[-/]|_converse|_chat", found.provider)[0] == prefix
    return found if same else None


def price_of(model: str, endpoint: Endpoint) -> Price | None:
    """What the models file says; else what litellm knows, unless the calls go to an address of the user's own."""
    if endpoint.input_cost_per_token is not None and endpoint.output_cost_per_token is not None:
        dearest = endpoint.input_cost_per_token
        cached = dearest if endpoint.cached_cost_per_token is None else endpoint.cached_cost_per_token
        return Price((Rate(dearest, endpoint.output_cost_per_token, cached, dearest),))
    known = None if endpoint.api_base else known_model(model)
    return known.price if known else None


def parse_price(text: str) -> tuple[Decimal, Decimal]:
    """Reads `IN/OUT`, US dollars per million tokens, such as `3/15`.

    Returns:
        US dollars per token of input and of output.

    Raises:
        UsageError: it is not of this form.
    """
    found = _IN_OUT.fullmatch(text)
    if not found:
        raise UsageError(
            f"{text!r:.80} is no price.",
            "Write IN/OUT in US dollars per million tokens, such as 3/15 or 0.25/1.",
        )
    return Decimal(found[1]) / _MILLION, Decimal(found[2]) / _MILLION


def context_of(model: str, endpoint: Endpoint) -> int | None:
    """How many tokens the model reads: what the models file says, else what litellm knows."""
    known = known_model(model)
    return endpoint.context_tokens or (known.context_tokens if known else None)


def _known(name: str, entry: Mapping[str, Any]) -> KnownModel:
    return KnownModel(
        name=name,
        provider=entry["litellm_provider"],
        price=None if _SEARCHING.search(name) else _price(entry),
        context_tokens=entry.get("max_input_tokens") or None,
        max_output_tokens=entry.get("max_output_tokens") or None,
        retires=date.fromisoformat(retires) if (retires := entry.get("deprecation_date")) else None,
        caches=entry.get("supports_prompt_caching") is True,
        marked=entry.get("supports_prompt_cache_breakpoint") is True,
    )


def _price(entry: Mapping[str, Any]) -> Price | None:
    """The price, where all that a call costs is known."""
    rates = () if any(entry.get(field) for field in _NOT_BY_TOKEN) else tuple(_rates(entry))
    known = tuple(rate for rate in rates if rate is not None)
    if len(known) < len(rates) or not known:
        return None
    # away from one's own machine a zero in the table may be a gift or a gap, and it does not say which
    gap = entry["litellm_provider"] not in _LOCAL and any(0 in (rate.input, rate.output) for rate in known)
    return None if gap else Price(known)


def _rates(entry: Mapping[str, Any]) -> Iterator[Rate | None]:
    if ranges := entry.get("tiered_pricing"):
        yield from (_rate(tier, above=int(tier["range"][0])) if "range" in tier else None for tier in ranges)
        return
    yield _rate(entry)
    for tier in sorted(int(found[1]) for field in entry if (found := _TIER.fullmatch(field))):
        # one provider (xAI) begins a tier at its threshold, the others after it
        yield _rate(entry, f"_above_{tier}k_tokens", above=tier * 1000 - 1)


def _rate(entry: Mapping[str, Any], suffix: str = "", *, above: int = 0) -> Rate | None:
    """One rate; where the table leaves open what will be charged, the dearer holds."""
    fresh = entry.get(f"input_cost_per_token{suffix}")
    output = entry.get(f"output_cost_per_token{suffix}")
    if fresh is None or output is None:
        return None
    # thinking is billed as output, by some at a price of its own
    output = max(output, entry.get("output_cost_per_reasoning_token") or 0)
    cached = entry.get(f"cache_read_input_token_cost{suffix}")
    # some entries give the price of keeping, and writing is never cheaper than reading
    written = max(fresh, entry.get(f"cache_creation_input_token_cost{suffix}") or 0)
    uplift = Decimal(entry.get("regional_endpoint_uplift_multiplier") or 1)  # Vertex: every place that is not global
    return Rate(
        input=fresh * uplift,
        output=output * uplift,
        cached=(fresh if cached is None else cached) * uplift,
        written=written * uplift,
        above=above,
    )
