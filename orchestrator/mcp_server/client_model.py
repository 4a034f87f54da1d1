"""The calling client's own model, reached through sampling where the client offers it.

The protocol has deprecated sampling with a year's grace, so this is a route one may name, never a default.
"""

from __future__ import annotations

import warnings
from typing import Any

import anyio
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError, NoBackChannelError
from mcp_types import SamplingMessage, TextContent

from orchestrator.errors import BadRequest, CutOff, EmptyReply, ModelError, TimedOut, UsageError
from orchestrator.models.base import CLIENT, Reply, Request
from orchestrator.usage import Usage

_NO_WAY_BACK = "2026-07-28"  # from this version on a server cannot ask its client in the middle of a call
_UNCOUNTED = Usage(input=0, cached=0, output=0, cost_usd=None)  # a client does not say what its model took
_REJECTED = -1  # its user said no, before its model was asked
_CURE = "Name a model, or take the turns by hand with add_turn."


class ClientModel:
    """A `Model` that asks the client of one call.

    Args:
        context: the call in which the client asked for the debate.

    Raises:
        UsageError: this client offers no sampling.
    """

    def __init__(self, context: Context) -> None:
        capabilities = context.client_capabilities
        if capabilities is None or capabilities.sampling is None:
            raise UsageError(
                "The route `client` needs a client that offers sampling, and yours does not.",
                _CURE,
            )
        if (context.protocol_version or "") >= _NO_WAY_BACK:
            raise UsageError(
                f"Over protocol {context.protocol_version} a server cannot ask its client for turns.",
                f"Connect with an earlier version, where your client offers it. {_CURE}",
            )
        self._context = context

    async def complete(self, request: Request) -> Reply:
        try:
            with anyio.fail_after(request.timeout_s):
                answer = await self._sample(request)
        except TimeoutError as error:
            raise TimedOut(f"the client did not answer in {request.timeout_s:.0f} s", model=CLIENT) from error
        except MCPError as error:
            raise _failure(error) from error
        text = answer.content.text if isinstance(answer.content, TextContent) else ""
        if answer.stop_reason == "maxTokens":
            raise CutOff("the client's model stopped at its limit", model=CLIENT, usage=_UNCOUNTED, text=text.strip())
        if not text.strip():
            raise EmptyReply("the client's model gave no text", model=CLIENT, usage=_UNCOUNTED)
        return Reply(text=text, model=answer.model if answer.model.isprintable() else CLIENT, usage=_UNCOUNTED)

    async def _sample(self, request: Request) -> Any:
        system = "\n\n".join(message.text for message in request.messages if message.speaker == "system")
        messages = [
            SamplingMessage(role=message.speaker, content=TextContent(text=message.text))
            for message in request.messages
            if message.speaker != "system"
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            return await self._context.session.create_message(
                messages,
                max_tokens=request.max_output_tokens,
                system_prompt=system,
                temperature=request.temperature,
                related_request_id=self._context.request_id,
            )


def _failure(error: MCPError) -> ModelError:
    if isinstance(error, NoBackChannelError):
        return BadRequest("the client cannot be asked over this connection", _CURE, model=CLIENT)
    told = f"the client refused: {' '.join(str(error).split())[:200]}"
    return BadRequest(told, model=CLIENT, maybe_billed=error.code != _REJECTED)
