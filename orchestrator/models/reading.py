"""What a provider answered, read: the text without the thinking before it, how it ended, and what it took.

It is read the same whether it came whole or in pieces.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

from orchestrator.errors import ContentRefused, CutOff, EmptyReply, GarbledReply, InvalidInput, ModelError
from orchestrator.hall.inputs import require_name
from orchestrator.models import prices
from orchestrator.models.base import Reply, Request, Usage
from orchestrator.models.failures import failure

_POSSIBLE = range(10**9)  # tokens of one call
_TAGS = {"<think>": "</think>", "<thinking>": "</thinking>"}


class Answered(NamedTuple):
    """What came back, in litellm's terms; `usage` is None where the provider did not count."""

    text: str
    finish: str | None
    refused: bool
    model: Any
    usage: Any


class Spoken:
    """Takes the thinking off the beginning of an answer, piece by piece.

    Servers that do not know what their model's template means by `<think>` send it as a part of the text. What stands
    further on is the answer's own. The white space after the thinking goes with it.

    Args:
        thought: thinking came before, apart from the text.
    """

    def __init__(self, thought: bool = False) -> None:
        self._thought = thought
        self._held = ""  # what may be thinking, or the end of it
        self._closing = ""  # the tag that ends the thinking under way
        self._speaks = False

    def add(self, piece: str) -> str:
        """Returns what has turned out to be said."""
        if self._speaks:
            return piece
        self._held += piece
        while not self._speaks:
            if self._closing and not self._is_over():
                return ""
            said = self._held.lstrip()
            opening = next((tag for tag in _TAGS if said.startswith(tag)), None)
            if opening is not None:
                self._thought, self._closing, self._held = True, _TAGS[opening], said.removeprefix(opening)
            elif any(tag.startswith(said) for tag in _TAGS):
                return ""
            else:
                self._speaks = True
        return self._rest()

    def end(self) -> str:
        """Returns what was held back to the end; a thought that never ended is none of it."""
        return "" if self._speaks or self._closing else self._rest()

    def thinks(self) -> None:
        """Notes that thinking comes apart from the text."""
        self._thought = True

    def _is_over(self) -> bool:
        """Whether the thinking under way has ended. Held is then what follows it, and else what may begin its tag."""
        _, found, rest = self._held.partition(self._closing)
        if found:
            self._closing, self._held = "", rest
        else:
            self._held = self._held[1 - len(self._closing) :]
        return bool(found)

    def _rest(self) -> str:
        return self._held.lstrip() if self._thought else self._held


def whole(request: Request, response: Any) -> Answered:
    """Takes litellm's response apart.

    Raises:
        GarbledReply: it is none.
    """
    try:
        choice = response.choices[0] if response.choices else None
        message = choice.message if choice else None
        spoken = Spoken(thought=bool(getattr(message, "reasoning_content", None)))
        said = spoken.add((message.content if message else None) or "") + spoken.end()
        refused = bool(getattr(message, "refusal", None))
        finish = choice.finish_reason if choice else None
        return Answered(said, finish, refused, response.model, getattr(response, "usage", None))
    except (AttributeError, TypeError, ValueError) as error:
        raise failure(GarbledReply, f"an answer that cannot be read: {error}", model=request.model) from error


def reply(request: Request, answered: Answered) -> Reply:
    """Judges what came.

    Raises:
        ModelError: it is no whole answer.
    """
    usage = _usage(request, answered.usage)

    def useless(kind: type[ModelError], words: str) -> ModelError:
        return failure(kind, words, model=request.model, usage=usage, text=answered.text.strip())

    if answered.finish == "content_filter" or answered.refused:
        raise useless(ContentRefused, "the provider's content filter withheld the answer")
    if answered.finish == "length":
        raise useless(CutOff, f"the answer stopped at its limit, after {usage.output:,} tokens{_thought(usage)}")
    if not answered.text.strip():
        raise useless(EmptyReply, f"an empty answer{_thought(usage)}")
    return Reply(text=answered.text, model=_one_line_name(answered.model) or request.model, usage=usage)


def _thought(usage: Usage) -> str:
    return f", {usage.thinking:,} of them thinking" if usage.thinking else ""


def _one_line_name(name: Any) -> str | None:
    """The model's name as its provider gives it, unless no ledger would take that as a name."""
    with suppress(InvalidInput):
        return require_name(str(name or ""))
    return None


def _usage(request: Request, usage: Any) -> Usage:
    """Tokens as the provider counted them; without a count there is no cost either, since unknown is not zero.

    Counts that cannot be (below zero, or beyond all that is read at once) are none.
    """
    details = getattr(usage, "prompt_tokens_details", None)
    read = getattr(usage, "prompt_tokens", 0) or 0
    output = getattr(usage, "completion_tokens", 0) or 0
    cached = getattr(details, "cached_tokens", 0) or getattr(usage, "cache_read_input_tokens", 0) or 0
    written = getattr(details, "cache_creation_tokens", 0) or getattr(usage, "cache_creation_input_tokens", 0) or 0
    thinking = getattr(getattr(usage, "completion_tokens_details", None), "reasoning_tokens", 0) or 0
    if not all(count in _POSSIBLE for count in (read, output, cached, written, thinking)):
        read = output = cached = written = thinking = 0
    price = prices.price_of(request.model, request.endpoint)
    cost = price.cost(input=read, output=output, cached=cached, written=written) if price and read else None
    return Usage(input=read, cached=cached, output=output, cost_usd=cost, thinking=min(thinking, output))
