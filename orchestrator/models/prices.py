"""What a model costs and how much it can read, from litellm's own table, without importing litellm.

The table is a JSON file in litellm's package; `find_spec` finds it, and reading it takes a tenth of a second where
importing litellm takes several. A price that is not known is None, never zero.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

from orchestrator.models.base import Endpoint

_TABLE = "model_prices_and_context_window_backup.json"
_MODES = ("chat", "responses")
_TIER = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")
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
    """The rates of one model; some providers ask more for long requests."""

    rates: tuple[Rate, ...]  # by `above`, the smallest first

    def cost(self, *, input: int, output: int, cached: int = 0, written: int = 0) -> Decimal:
        """US dollars for one call; `cached` and `written` are parts of `input`, all in tokens."""
        rate = max((r for r in self.rates if input > r.above), key=lambda r: r.above, default=self.rates[0])
        fresh = max(0, input - cached - written)
        return fresh * rate.input + cached * rate.cached + written * rate.written + output * rate.output


@dataclass(frozen=True, slots=True)
class KnownModel:
    name: str
    provider: str  # as litellm calls it
    price: Price | None
    context_tokens: int | None  # the most it reads
    max_output_tokens: int | None


@cache
def known_models() -> Mapping[str, KnownModel]:
    """The chat models litellm knows, by its names for them (`claude-…`, `gemini/gemini-…`)."""
    spec = find_spec("litellm")
    if spec is None or not spec.submodule_search_locations:
        return MappingProxyType({})
    text = Path(spec.submodule_search_locations[0], _TABLE).read_text(encoding="utf-8")
    table: dict[str, dict[str, Any]] = json.loads(text, parse_float=Decimal)
    return MappingProxyType({name: _known(name, entry) for name, entry in table.items() if entry.get("mode") in _MODES})


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


def context_of(model: str, endpoint: Endpoint) -> int | None:
    """How many tokens the model reads: what the models file says, else what litellm knows."""
    known = known_model(model)
    return endpoint.context_tokens or (known.context_tokens if known else None)


def _known(name: str, entry: Mapping[str, Any]) -> KnownModel:
    return KnownModel(
        name=name,
        provider=entry["litellm_provider"],
        price=_price(entry),
        context_tokens=entry.get("max_input_tokens") or None,
        max_output_tokens=entry.get("max_output_tokens") or None,
    )


def _price(entry: Mapping[str, Any]) -> Price | None:
    if any(entry.get(field) for field in _NOT_BY_TOKEN):
        return None
    tiers = sorted(int(found[1]) for field in entry if (found := _TIER.fullmatch(field)))
    rates = [_rate(entry, "", 0), *(_rate(entry, f"_above_{tier}k_tokens", tier * 1000) for tier in tiers)]
    known = tuple(rate for rate in rates if rate is not None)
    return Price(known) if len(known) == len(rates) else None


def _rate(entry: Mapping[str, Any], suffix: str, above: int) -> Rate | None:
    fresh = entry.get(f"input_cost_per_token{suffix}")
    output = entry.get(f"output_cost_per_token{suffix}")
    if fresh is None or output is None:
        return None
    # thinking is billed as output; where it has a price of its own, the dearer one holds
    output = max(output, entry.get("output_cost_per_reasoning_token") or 0)
    cached = entry.get(f"cache_read_input_token_cost{suffix}")
    written = entry.get(f"cache_creation_input_token_cost{suffix}")
    return Rate(
        input=Decimal(fresh),
        output=Decimal(output),
        cached=Decimal(fresh if cached is None else cached),
        written=Decimal(fresh if written is None else written),
        above=above,
    )
