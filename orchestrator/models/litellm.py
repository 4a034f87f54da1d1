"""Language models through litellm: one call, one attempt.

litellm is imported at the first call, in a thread, because importing it takes seconds of CPU. It neither retries nor
prints nor fetches anything on its own here. Failures are told in `failures`, prices in `orchestrator.prices`.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import anyio
import anyio.to_thread

from orchestrator.errors import (
    AuthenticationFailed,
    ContentRefused,
    CutOff,
    EmptyReply,
    GarbledReply,
    InvalidInput,
    ModelError,
)
from orchestrator.hall.inputs import require_name
from orchestrator.models import prices
from orchestrator.models.base import Reply, Request, Usage
from orchestrator.models.failures import failure, model_error
from orchestrator.secrets import keys_in

# litellm reads these while it is imported, OFFLINE_MODE also later, at the first call to some providers; so they stay
# set. Only litellm reads them, and what the user has set wins.
_ENVIRONMENT = {
    "LITELLM_OFFLINE_MODE": "true",  # its price table and headers from its own files, not over the network
    "LITELLM_MODE": "PRODUCTION",  # or it loads a .env from the working folder into the environment
    "LITELLM_LOG": "ERROR",
}
_NO_KEY = "no-key"
_POSSIBLE = range(10**9)  # tokens of one call
_loading = threading.Lock()


class LiteLLM:
    """A `Model` that asks the provider its request names.

    Args:
        clock: seconds since 1970, for a provider that says at what time to come back.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock

    async def complete(self, request: Request) -> Reply:
        """Makes one attempt, at most `request.timeout_s` seconds long.

        Raises:
            ModelError: the attempt failed.
        """
        arguments = _arguments(request)
        litellm = await anyio.to_thread.run_sync(_load, abandon_on_cancel=True)
        arguments |= _held_to(request, litellm.model_cost)
        try:
            with anyio.fail_after(request.timeout_s):
                response = await litellm.acompletion(**arguments)
        except Exception as error:
            secrets = keys_in(os.environ, *filter(None, [request.endpoint.api_key_env]))
            raise model_error(error, model=request.model, secrets=secrets, clock=self._clock) from error
        return _reply(request, response)

    async def aclose(self) -> None:
        """Closes the connections litellm keeps, which all instances share; call it before the event loop ends."""
        if litellm := sys.modules.get("litellm"):
            await litellm.close_litellm_async_clients()
            litellm.in_memory_llm_clients_cache.flush_cache()  # else a later call would get a closed client


def _load() -> Any:
    with _loading:  # two first calls at once
        for name, value in _ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        litellm: Any = importlib.import_module("litellm")
        litellm.suppress_debug_info = True  # else it prints banners to standard output
        # It makes a call in a thread before it awaits it: one that is cancelled in between would be told to the user.
        warnings.filterwarnings("ignore", r"coroutine '.*\.acompletion' was never awaited", RuntimeWarning)
        return litellm


def _arguments(request: Request) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "model": request.model,
        "messages": [{"role": message.speaker, "content": message.text} for message in request.messages],
        "max_tokens": request.max_output_tokens,
        "timeout": request.timeout_s,
        "num_retries": 0,  # litellm's own attempts
        "max_retries": 0,  # the provider SDK's own attempts
        "drop_params": True,  # a model that takes no temperature is asked without
    }
    if request.temperature is not None:
        arguments["temperature"] = request.temperature
    if request.endpoint.api_base:
        arguments["api_base"] = request.endpoint.api_base
    if key := _key(request):
        arguments["api_key"] = key
    return arguments


def _held_to(request: Request, table: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
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
    key = os.environ.get(variable, "").strip()
    if not key:
        raise failure(AuthenticationFailed, f"the variable {variable} is not set", model=request.model)
    return key


def _reply(request: Request, response: Any) -> Reply:
    """Reads litellm's response.

    Raises:
        ModelError: it holds no whole answer.
    """
    try:
        choice = response.choices[0] if response.choices else None
        finish = choice.finish_reason if choice else None
        text = (choice.message.content if choice else None) or ""
        usage = _usage(request, response)
        model = _one_line_name(response.model) or request.model
    except (AttributeError, TypeError, ValueError) as error:
        raise failure(GarbledReply, f"an answer that cannot be read: {error}", model=request.model) from error

    def useless(kind: type[ModelError], words: str) -> ModelError:
        return failure(kind, words, model=request.model, usage=usage, text=text.strip())

    if finish == "content_filter" or getattr(choice and choice.message, "refusal", None):
        raise useless(ContentRefused, "the provider's content filter withheld the answer")
    if finish == "length":
        raise useless(CutOff, f"the answer stopped at its limit, after {usage.output:,} tokens")
    if not text.strip():
        raise useless(EmptyReply, "an empty answer")
    return Reply(text=text, model=model, usage=usage)


def _one_line_name(name: Any) -> str | None:
    """The model's name as its provider gives it, unless no ledger would take that as a name."""
    with suppress(InvalidInput):
        return require_name(str(name or ""))
    return None


def _usage(request: Request, response: Any) -> Usage:
    """Tokens as the provider counted them; without a count there is no cost either, since unknown is not zero.

    Counts that cannot be (below zero, or beyond all that is read at once) are none.
    """
    usage = getattr(response, "usage", None)
    details = getattr(usage, "prompt_tokens_details", None)
    read = getattr(usage, "prompt_tokens", 0) or 0
    output = getattr(usage, "completion_tokens", 0) or 0
    cached = getattr(details, "cached_tokens", 0) or getattr(usage, "cache_read_input_tokens", 0) or 0
    written = getattr(details, "cache_creation_tokens", 0) or getattr(usage, "cache_creation_input_tokens", 0) or 0
    if not all(count in _POSSIBLE for count in (read, output, cached, written)):
        read = output = cached = written = 0
    price = prices.price_of(request.model, request.endpoint)
    cost = price.cost(input=read, output=output, cached=cached, written=written) if price and read else None
    return Usage(input=read, cached=cached, output=output, cost_usd=cost)
