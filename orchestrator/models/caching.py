"""What a provider is told so that its prompt cache serves the beginning that the requests of a debate share.

Three kinds of cache are met, and each is told only what its provider reads:
- Claude's keep what ends at a mark, and look back from a mark for what was kept before. Writing costs more than reading
  anew, so nothing is marked where nobody would read it.
- GPT's since 5.6 do so too, but find only what a mark of the new request ends at; so every shared message is marked.
  Left to themselves they mark the end of the newest message, which no later request of a debate begins with, and charge
  for it. They want a key that the requests share.
- All others find a shared beginning by themselves; older GPTs do so more often with such a key.

Nothing of it is sent to an address of the user's own, which need not know it, but for Claude's marks, which are a part
of Anthropic's protocol. Gemini is never sent a mark: that would set up a cache of another kind, paid by the hour.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from orchestrator.models.base import Message, Request
from orchestrator.models.prices import KnownModel, known_model

_CLAUDE_HOSTS = ("anthropic", "azure_ai", "bedrock", "claude", "openrouter", "vertex_ai")  # how their routes begin
_CACHE_ALL = ("anthropic", "claude", "openrouter")  # also Claudes that litellm does not know yet
_EVIDENCE = 1  # the message that ends with it; the protocol stands before
_MOST_MARKS = 80  # of a request, that GPT looks at
_MARK = {"type": "ephemeral"}


class Cache(NamedTuple):
    """How the cache behind a request is used.

    Args:
        marks: of which messages the ends are marked; None where the provider finds a shared beginning by itself, and
            where a Claude cannot be told, none.
        key: what the requests of a debate have in common, where that is asked for.
    """

    marks: frozenset[int] | None = None
    key: str | None = None

    @property
    def serves(self) -> bool:
        """Whether a beginning that was sent before may be served."""
        return self.marks is None or bool(self.marks)


def cache_of(request: Request) -> Cache:
    """How the cache of a request's provider is used. It reads litellm's table, not litellm."""
    known = known_model(request.model)
    if "claude" in request.model.lower():
        marked = request.shared > _EVIDENCE and _takes_marks(request.model, known)
        return Cache(frozenset({_EVIDENCE, request.shared - 1} if marked else ()))
    if known is None or known.provider != "openai" or request.endpoint.api_base is not None:
        return Cache()
    shared = range(_EVIDENCE, request.shared)[-_MOST_MARKS:]
    return Cache(frozenset(shared) if known.marked else None, _key(request.messages))


def is_lost_to_a_schema(request: Request) -> bool:
    """Whether a JSON schema beside the messages would keep the cache from serving what they begin with.

    OpenAI and Anthropic render it before them, Google does not say. A server of the user's own, and one that the models
    file says can be held to a schema, is: there the words of the answer matter more.
    """
    endpoint, known = request.endpoint, known_model(request.model)
    own = endpoint.api_base is not None or endpoint.json_schema is not None
    return request.shared > 0 and not own and known is not None and known.caches


def cache_arguments(request: Request) -> dict[str, Any]:
    """The messages and what is said beside them, in litellm's words, which it puts into each provider's own."""
    cache = cache_of(request)
    marks = cache.marks or frozenset()
    arguments: dict[str, Any] = {
        "messages": [_said(message, number in marks) for number, message in enumerate(request.messages)]
    }
    if cache.key is not None:
        arguments["prompt_cache_key"] = cache.key
        if cache.marks is not None:
            arguments["prompt_cache_options"] = {"mode": "explicit"}  # no mark but ours
    return arguments


def _said(message: Message, marked: bool) -> dict[str, Any]:
    if not marked:
        return {"role": message.speaker, "content": message.text}
    return {"role": message.speaker, "content": [{"type": "text", "text": message.text, "cache_control": _MARK}]}


def _takes_marks(claude: str, known: KnownModel | None) -> bool:
    """Whether marks reach a Claude, and its provider caches it."""
    host = claude.partition("/")[0].partition("-")[0]
    return host in _CLAUDE_HOSTS and (known.caches if known else host in _CACHE_ALL)


def _key(messages: Sequence[Message]) -> str:
    """The first message holds the debate's marker, which no other debate has."""
    return f"debate-{hashlib.sha256(messages[0].text.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"
