"""Language models through litellm: one call, one attempt.

litellm is imported at the first call, in a thread, because importing it takes seconds of CPU. It neither retries nor
prints nor fetches anything on its own here. What it is told stands in `arguments`, what it answers in `reading` and
`streaming`; failures are told in `failures`, prices in `prices`.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
import threading
import time
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import anyio
import anyio.to_thread

from orchestrator.errors import ModelError
from orchestrator.models import arguments, reading
from orchestrator.models.base import Reply, Request
from orchestrator.models.failures import model_error
from orchestrator.models.streaming import STALL_S, Ear
from orchestrator.secrets import keys_in

# litellm reads these while it is imported, OFFLINE_MODE also later, at the first call to some providers; so they stay
# set. Only litellm reads them, and what the user has set wins.
_ENVIRONMENT = {
    "LITELLM_OFFLINE_MODE": "true",  # its price table and headers from its own files, not over the network
    "LITELLM_MODE": "PRODUCTION",  # or it loads a .env from the working folder into the environment
    "LITELLM_LOG": "ERROR",
}
_loading, _loaded = threading.Lock(), threading.Event()
# litellm's connections are shared by all that made a call and are not closed; each with the loop it made them in.
_in_use: WeakKeyDictionary[LiteLLM, asyncio.AbstractEventLoop] = WeakKeyDictionary()
_beginning: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()  # or closing, not both


class LiteLLM:
    """A `Model` that asks the provider its request names.

    Args:
        clock: seconds since 1970, for a provider that says at what time to come back.
        stall_s: seconds of silence after which a streamed answer is given up.
    """

    def __init__(self, clock: Callable[[], float] = time.time, stall_s: float = STALL_S) -> None:
        self._clock, self._stall_s = clock, stall_s

    async def complete(self, request: Request) -> Reply:
        """Makes one attempt, at most `request.timeout_s` seconds long.

        Raises:
            ModelError: the attempt failed. What was heard of a streamed answer is its `text`.
        """
        plain = arguments.plain(request)
        litellm = await _once_loaded()
        tuned = arguments.tuned(request, litellm)
        if _in_use.get(self) is not asyncio.get_running_loop():
            async with _begins_or_closes() as loop:
                _in_use[self] = loop
        ear = Ear(request, self._stall_s)
        try:
            with anyio.fail_after(request.timeout_s):
                response = await litellm.acompletion(**plain, **tuned.arguments)
                answered = await ear.hear_out(response) if "stream" in plain else reading.whole(request, response)
        except ModelError:
            raise
        except Exception as error:
            told = model_error(
                error,
                model=request.model,
                secrets=keys_in(os.environ, *request.endpoint.variables),
                clock=self._clock,
                text=ear.text,
                begun=ear.begun,
            )
            raise told from error
        reply = reading.reply(request, answered)
        return replace(reply, left_out=tuned.left_out) if tuned.left_out else reply

    async def aclose(self) -> None:
        """Makes no more calls; call it before the event loop ends.

        The connections litellm keeps are shared by all instances: the last one in an event loop closes them. One that
        was forgotten in a loop that is over keeps nobody from it. Whoever makes a first call meanwhile waits.
        """
        _in_use.pop(self, None)
        async with _begins_or_closes() as loop:
            if _loaded.is_set() and loop not in _in_use.values():
                await _close(sys.modules["litellm"])  # only now: another thread may be in the middle of importing it


@asynccontextmanager
async def _begins_or_closes() -> AsyncIterator[asyncio.AbstractEventLoop]:
    """Of those who begin to use a loop's connections, and those who close them, one at a time."""
    loop = asyncio.get_running_loop()
    async with _beginning.setdefault(loop, asyncio.Lock()):
        yield loop


async def _close(litellm: Any) -> None:
    await litellm.close_litellm_async_clients()
    litellm.in_memory_llm_clients_cache.flush_cache()  # else a later call would get a closed client
    # Some streams come through a client of the whole module, which nobody closes; it opens itself again.
    if client := vars(litellm).get("module_level_aclient"):
        await client.client._transport.aclose()


async def _once_loaded() -> Any:
    if _loaded.is_set():  # no thread is asked for what is there
        return sys.modules["litellm"]
    return await anyio.to_thread.run_sync(load, abandon_on_cancel=True)


def load() -> Any:
    """Imports litellm, quiet and offline; once, whoever else asks for it at the same time."""
    with _loading:  # two first calls at once
        for name, value in _ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        litellm: Any = importlib.import_module("litellm")
        litellm.suppress_debug_info = True  # else it prints banners to standard output
        # It makes a call in a thread before it awaits it: one that is cancelled in between would be told to the user.
        warnings.filterwarnings("ignore", r"coroutine '.*\.acompletion' was never awaited", RuntimeWarning)
        _loaded.set()
        return litellm
