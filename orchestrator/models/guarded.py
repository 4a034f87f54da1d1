"""The seam through which every call to a model goes: no secret passes it, in either direction, and no broken Unicode.

A secret in a prompt cannot be called back, and one in an answer would stand in the ledger. The same text is scrubbed
the same way every time, so that providers' prompt caches serve it; one without a secret passes as it is.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from functools import lru_cache

from orchestrator.errors import ModelError
from orchestrator.models.base import Message, Model, Reply, Request
from orchestrator.models.hearing import Hearing
from orchestrator.secrets import keys_in, scrub

_SURROGATE = re.compile("[\ud800-\udfff]")
_REMEMBERED = 512  # texts: a prompt repeats those of the one before, and a debate has a few hundred


class Guarded:
    """A `Model` that asks another one, and keeps secrets out of what is asked and of what comes back.

    Args:
        model: the one that is asked.
    """

    def __init__(self, model: Model) -> None:
        self._model = model

    async def complete(self, request: Request) -> Reply:
        """Makes one attempt.

        Raises:
            ModelError: the model's own; its words hold no secret.
        """
        keys = _keys(request)
        sent = _without(request, keys)
        hearing = Hearing(request.hear, keys) if request.hear else None
        if hearing is not None:
            sent = replace(sent, hear=lambda piece: hearing.add(_whole(piece)))
        try:
            reply = await self._model.complete(sent)
        except ModelError as error:
            _clean(error, keys)
            raise
        if hearing is not None:
            hearing.end()
        text, name = _told(reply.text, keys), _told(reply.model, keys)
        return reply if (text, name) == (reply.text, reply.model) else replace(reply, text=text, model=name)


def cleaned(request: Request) -> Request:
    """The request as it is sent: the same object where its messages hold no secret."""
    return _without(request, _keys(request))


def _without(request: Request, keys: tuple[str, ...]) -> Request:
    messages = tuple(_cleaned(message, keys) for message in request.messages)
    return request if messages == request.messages else replace(request, messages=messages)


def _cleaned(message: Message, keys: tuple[str, ...]) -> Message:
    text = _scrubbed(message.text, keys)
    return message if text == message.text else replace(message, text=text)


_scrubbed = lru_cache(_REMEMBERED)(scrub)


def _keys(request: Request) -> tuple[str, ...]:
    """The environment's keys, the one that this call is made with among them, whatever its variable is called."""
    return tuple(keys_in(os.environ, *request.endpoint.variables))


def _told(text: str, keys: tuple[str, ...]) -> str:
    """A text that came in, without secrets."""
    return scrub(_whole(text), keys)


def _whole(text: str) -> str:
    """The text with U+FFFD for half a surrogate pair, which no UTF-8 can say."""
    return _SURROGATE.sub("\ufffd", text)


def _clean(error: ModelError, keys: tuple[str, ...]) -> None:
    error.message, error.cure, error.text = (_told(words, keys) for words in (error.message, error.cure, error.text))
    error.args = (error.message,)
