"""A streamed answer, heard to its end.

It gives what the same answer gives that comes whole. One that breaks off is a failed attempt, never half an answer: a
stream counts as whole only when its provider said why it ended.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio

from orchestrator.errors import ConnectionFailed, GarbledReply, ModelError, TimedOut
from orchestrator.models.base import Request
from orchestrator.models.failures import failure
from orchestrator.models.reading import Answered, Spoken

_GEMINI = "vertex_ai_beta"  # as litellm calls it in a stream, through whichever of Google's doors it comes
STALL_S = 60.0  # of silence, once an answer has begun; before, a model that thinks may be silent as long as it may take


class Ear:
    """Hears one answer.

    Args:
        request: what was asked; its `hear` is told each piece, without thinking.
        stall_s: seconds of silence in the middle of an answer after which it is given up.
    """

    def __init__(self, request: Request, stall_s: float = STALL_S) -> None:
        self._request, self._stall_s = request, stall_s
        self._spoken = Spoken()
        self._told: list[str] = []
        self._came = False  # anything of an answer, thinking too
        self._finish: str | None = None
        self._refused = False
        self._model: Any = None

    @property
    def text(self) -> str:
        """What was heard so far."""
        return "".join(self._told)

    @property
    def begun(self) -> bool:
        """Whether anything came, which the provider may charge for."""
        return self._came

    async def hear_out(self, stream: Any) -> Answered:
        """Hears litellm's stream to its end, and closes it however it ends.

        Raises:
            TimedOut: it fell silent in the middle.
            ConnectionFailed: it ended before the answer did.
            GarbledReply: no answer came in it at all.
            Exception: whatever litellm raises.
        """
        ending = _Ending(stream)
        try:
            chunks = aiter(stream)
            while (chunk := await self._next(chunks)) is not None:
                self._take(chunk)
        finally:
            await stream.aclose()  # it shields itself
        if not ending.was_told:
            raise self._broken_off()
        self._tell(self._spoken.end())
        reported = [usage for chunk in stream.chunks if (usage := getattr(chunk, "usage", None)) is not None]
        # litellm's own last word is no count where the provider gave none: then it estimates
        return Answered(self.text, self._finish, self._refused, self._model, reported[-1] if reported else None)

    async def _next(self, chunks: AsyncIterator[Any]) -> Any:
        """The next chunk; None at the end."""
        with anyio.move_on_after(self._stall_s if self._told else math.inf):
            return await anext(chunks, None)
        words = f"the answer stopped in the middle, and nothing came for {self._stall_s:g} s"
        raise failure(TimedOut, words, model=self._request.model, text=self.text)

    def _take(self, chunk: Any) -> None:
        self._model = chunk.model or self._model
        for choice in chunk.choices[:1]:
            delta = choice.delta
            self._finish = choice.finish_reason or self._finish
            self._refused |= bool(getattr(delta, "refusal", None))
            if getattr(delta, "reasoning_content", None):
                self._came = True
                self._spoken.thinks()
            if delta.content:
                self._came = True
                self._tell(self._spoken.add(delta.content))

    def _tell(self, said: str) -> None:
        if said:
            self._told.append(said)
            if self._request.hear is not None:
                self._request.hear(said)

    def _broken_off(self) -> ModelError:
        model = self._request.model
        if not self._came:
            return failure(GarbledReply, "no answer came in the stream, nor an end of one", model=model)
        return failure(ConnectionFailed, "the answer broke off in the middle", model=model, text=self.text)


class _Ending:
    """Knows whether a provider said why its answer ended.

    litellm gives a reason for the end of every piece of a Gemini answer, so there what Google sent is looked at.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._seen: bool | None = None  # None: litellm itself can tell
        if stream.custom_llm_provider == _GEMINI and stream.make_call is not None:
            self._make_call: Callable[..., Any] = stream.make_call
            stream.make_call = self._made

    @property
    def was_told(self) -> bool:
        stream = self._stream
        told = stream.received_finish_reason or stream.received_any_finish_reason
        return bool(told if self._seen is None else self._seen)

    async def _made(self, **client: Any) -> Any:
        pieces = await self._make_call(**client)
        self._seen, self._parse = False, pieces.chunk_parser
        pieces.chunk_parser = self._parsed
        return pieces

    def _parsed(self, chunk: dict[str, Any]) -> Any:
        candidates = chunk.get("candidates") or ()
        blocked = "blockReason" in (chunk.get("promptFeedback") or {})
        self._seen = self._seen or blocked or any(candidate.get("finishReason") for candidate in candidates)
        return self._parse(chunk=chunk)
