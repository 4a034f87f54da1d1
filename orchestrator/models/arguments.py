"""How litellm is told what is asked: a request becomes the arguments of a call, in litellm's names.

What a model does not take is left out, and said, because a provider would refuse the call for it. What it takes,
litellm's own tables say: a parameter that litellm would not pass on is none that this model knows.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from orchestrator.errors import AuthenticationFailed
from orchestrator.models import prices
from orchestrator.models.base import Request
from orchestrator.models.caching import cache_arguments
from orchestrator.models.failures import failure

_NO_KEY = "no-key"

# Where a model is, in litellm's words, by the provider that its route begins with; others have no such place.
_PLACES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "azure": {"api_version": "api_version"},
        "azure_ai": {"api_version": "api_version"},
        "bedrock": {"region": "aws_region_name"},
        "sagemaker_chat": {"region": "aws_region_name"},
        "vertex_ai": {"region": "vertex_location", "project": "vertex_project"},
    }
)


class Tuned(NamedTuple):
    """Arguments for what not every model takes, and what is left out, in the models file's words."""

    arguments: dict[str, Any]
    left_out: tuple[str, ...]


def plain(request: Request) -> dict[str, Any]:
    """What is said to every model.

    Raises:
        AuthenticationFailed: a variable that the models file names is not set.
    """
    endpoint = request.endpoint
    arguments: dict[str, Any] = {
        "model": request.model,
        **cache_arguments(request),
        "max_tokens": request.max_output_tokens,
        "timeout": request.timeout_s,
        "num_retries": 0,  # litellm's own attempts
        "max_retries": 0,  # the provider SDK's own attempts
        "drop_params": True,  # what is left to litellm's tables to leave out
    }
    if request.streams:
        arguments |= {"stream": True, "stream_options": {"include_usage": True}}
    if endpoint.api_base:
        arguments["api_base"] = endpoint.api_base
    if key := _key(request):
        arguments["api_key"] = key
    if headers := {**dict(endpoint.headers), **dict(_secret_headers(request))}:
        arguments["extra_headers"] = headers
    return arguments


def tuned(request: Request, litellm: Any) -> Tuned:
    """What is said only to models that take it, in litellm's words.

    Args:
        litellm: the module.
    """
    places = _PLACES.get(request.model.partition("/")[0], {})
    arguments = _shape(request, litellm.model_cost)
    left_out = []
    for name in ("api_version", "region", "project"):
        value = getattr(request.endpoint, name)
        if value is not None and name in places:
            arguments[places[name]] = value
        elif value is not None:
            left_out.append(f"{name} {value}")
    effort, temperature = request.endpoint.effort, request.temperature
    if effort is not None:
        if _takes_effort(request.model, effort, request.max_output_tokens):
            arguments["reasoning_effort"] = effort
        else:
            left_out.append(f"effort {effort}")
    if temperature is not None:
        if _takes_temperature(request.model, temperature, arguments.get("reasoning_effort")):
            arguments["temperature"] = temperature
        else:
            left_out.append(f"temperature {temperature:g}")
    return Tuned(arguments, tuple(left_out))


def _takes_effort(model: str, effort: str, most: int) -> bool:
    """Whether a model thinks as hard as it is told.

    Claudes that are given a number of tokens to think must be allowed to write more than that.
    """
    plain, told = _passed_on(model), _passed_on(model, effort=effort)
    if plain is None or told is None:
        return True  # a provider that litellm does not know is told of at the call
    if told == plain:
        # nothing is to be said to one that does not think, nor to a Claude, which thinks only where it is told to
        return effort == "none" and ("claude" in model or _passed_on(model, effort="low") == plain)
    thinking = told.get("thinking")
    budget = thinking.get("budget_tokens", 0) if isinstance(thinking, dict) else 0
    return bool(budget < most)


def _takes_temperature(model: str, temperature: float, effort: str | None) -> bool:
    plain, told = _passed_on(model), _passed_on(model, temperature=temperature)
    if plain is None or told is None:
        return True
    # A Claude that thinks takes none but its own.
    thinks = effort is not None and "claude" in model and "thinking" in (_passed_on(model, effort=effort) or {})
    return told != plain and not thinks


@lru_cache(256)
def _passed_on(model: str, *, effort: str | None = None, temperature: float | None = None) -> dict[str, Any] | None:
    """What litellm would pass on to a provider; None where it does not know the provider. Once loaded, it is quick."""
    litellm: Any = importlib.import_module("litellm")
    said = {"reasoning_effort": effort, "temperature": temperature}
    try:
        name, provider, *_ = litellm.get_llm_provider(model=model)
        found: dict[str, Any] = litellm.get_optional_params(
            model=name,
            custom_llm_provider=provider,
            drop_params=True,
            max_tokens=1,
            **{key: value for key, value in said.items() if value is not None},
        )
    except litellm.exceptions.BadRequestError:
        return None
    return found


def _shape(request: Request, table: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The argument that holds a model to a JSON schema; litellm puts it into its provider's own words.

    Args:
        table: litellm's own of what each model can do.
    """
    takes, shape = request.endpoint.json_schema, request.shape
    if takes is None and shape is not None:
        known = prices.known_model(request.model)
        takes = known is not None and table.get(known.name, {}).get("supports_response_schema") is True
    if shape is None or not takes:
        return {}
    json_schema = {"name": shape.name, "strict": True, "schema": dict(shape.schema)}
    return {"response_format": {"type": "json_schema", "json_schema": json_schema}}


def _key(request: Request) -> str | None:
    """The key to send; None lets litellm take the provider's own from the environment."""
    variable = request.endpoint.api_key_env
    if variable is None:
        # a server of the user's own must not be sent the key of another provider, and clients insist on some key
        return _NO_KEY if request.endpoint.api_base else None
    return _value_of(variable, request)


def _secret_headers(request: Request) -> Iterator[tuple[str, str]]:
    for name, variable in request.endpoint.header_env:
        yield name, _value_of(variable, request)


def _value_of(variable: str, request: Request) -> str:
    value = os.environ.get(variable, "").strip()
    if not value:
        raise failure(AuthenticationFailed, f"the variable {variable} is not set", model=request.model)
    return value
