"""How providers are asked and how they answer: OpenAI's chat completions, Anthropic's messages, Gemini's contents.

Each answers whole or in a stream of server-sent events, the text in pieces of a few letters that mind no word.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

Body = Mapping[str, Any]
Messages = tuple[tuple[str, str], ...]  # (role, text)
Event = tuple[str, Any]  # the name of a server-sent event, or nothing, and its data
PIECE = 7  # characters


class Said(NamedTuple):
    """What a model says, and what that took: tokens in, of these cached, and out; None: nobody says.

    `thinking` is what it thought before, and `thought` the tokens of that, a part of those that went out.
    """

    number: int
    model: str
    text: str
    finish: str  # as OpenAI calls it
    counts: tuple[int, int, int] | None
    thinking: str = ""
    thought: int = 0


class Dialect(Protocol):
    paths: tuple[str, ...]

    def messages(self, body: Body) -> Messages: ...

    def schema(self, body: Body) -> Any:
        """The JSON schema that the answer is held to, or None."""
        ...

    def streams(self, body: Body, path: str) -> bool:
        """Whether the answer is asked for in a stream."""
        ...

    def reply(self, said: Said, body: Body) -> dict[str, Any]: ...

    def events(self, said: Said, body: Body) -> Iterator[Event]:
        """The same, as a stream."""
        ...


class OpenAI:
    paths = ("/v1/chat/completions", "/openai/deployments/{model}/chat/completions")

    def messages(self, body: Body) -> Messages:
        return tuple((message["role"], _text(message["content"])) for message in body["messages"])

    def schema(self, body: Body) -> Any:
        asked = body.get("response_format", {}).get("json_schema")
        return asked["schema"] if asked else None

    def reply(self, said: Said, body: Body) -> dict[str, Any]:
        thinking = {"reasoning_content": said.thinking} if said.thinking else {}
        message = {"role": "assistant", "content": said.text, **thinking}
        choices = [{"index": 0, "finish_reason": said.finish, "message": message}]
        return {**self._about(said, "chat.completion"), "choices": choices, **self._usage(said)}

    def streams(self, body: Body, path: str) -> bool:
        return body.get("stream") is True

    def events(self, said: Said, body: Body) -> Iterator[Event]:
        about = self._about(said, "chat.completion.chunk")
        deltas = [{"role": "assistant", "content": ""}]
        deltas += [{"reasoning_content": piece} for piece in _pieces(said.thinking)]
        deltas += [{"content": piece} for piece in _pieces(said.text)]
        for delta in deltas:
            yield "", {**about, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        yield "", {**about, "choices": [{"index": 0, "delta": {}, "finish_reason": said.finish}]}
        if body.get("stream_options", {}).get("include_usage") and said.counts:
            yield "", {**about, "choices": [], **self._usage(said)}
        yield "", "[DONE]"

    def _about(self, said: Said, kind: str) -> dict[str, Any]:
        return {"id": f"chatcmpl-{said.number}", "object": kind, "created": 0, "model": said.model}

    def _usage(self, said: Said) -> dict[str, Any]:
        if not said.counts:
            return {}
        read, cached, written = said.counts
        return {
            "usage": {
                "prompt_tokens": read,
                "completion_tokens": written,
                "total_tokens": read + written,
                "prompt_tokens_details": {"cached_tokens": cached},
                "completion_tokens_details": {"reasoning_tokens": said.thought},
            }
        }


class Anthropic:
    """A model that is given tools uses the first, where its text is what a tool takes."""

    paths = ("/v1/messages",)

    def messages(self, body: Body) -> Messages:
        system = [("system", _text(body["system"]))] if "system" in body else []
        return (*system, *((message["role"], _text(message["content"])) for message in body["messages"]))

    def schema(self, body: Body) -> Any:
        tools = body.get("tools")
        return tools[0]["input_schema"] if tools else body.get("output_format", {}).get("schema")

    def reply(self, said: Said, body: Body) -> dict[str, Any]:
        thinking: list[dict[str, Any]] = (
            [{"type": "thinking", "thinking": said.thinking, "signature": "s"}] if said.thinking else []
        )
        return self._about(said) | {
            "content": [*thinking, self._block(said, body)],
            "stop_reason": self._stop(said, body),
            "usage": self._usage(said),
        }

    def streams(self, body: Body, path: str) -> bool:
        return body.get("stream") is True

    def events(self, said: Said, body: Body) -> Iterator[Event]:
        usage = self._usage(said)
        begun = self._about(said) | {"content": [], "stop_reason": None, "usage": usage | {"output_tokens": 1}}
        yield self._event("message_start", message=begun)
        yield self._event("ping")
        number = 0
        if said.thinking:
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(said.thinking)]
            yield from self._streamed(number, {"type": "thinking", "thinking": "", "signature": ""}, deltas)
            number += 1
        block = self._block(said, body)
        if block["type"] == "tool_use":
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in _pieces(said.text)]
            yield from self._streamed(number, block | {"input": {}}, deltas)
        else:
            deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(said.text)]
            yield from self._streamed(number, {"type": "text", "text": ""}, deltas)
        delta = {"stop_reason": self._stop(said, body), "stop_sequence": None}
        yield self._event("message_delta", delta=delta, usage={"output_tokens": usage["output_tokens"]})
        yield self._event("message_stop")

    def _streamed(self, number: int, block: Body, deltas: list[dict[str, Any]]) -> Iterator[Event]:
        yield self._event("content_block_start", index=number, content_block=block)
        for delta in deltas:
            yield self._event("content_block_delta", index=number, delta=delta)
        yield self._event("content_block_stop", index=number)

    def _event(self, name: str, **data: Any) -> Event:
        return name, {"type": name, **data}

    def _about(self, said: Said) -> dict[str, Any]:
        return {"id": f"msg_{said.number}", "type": "message", "role": "assistant", "model": said.model}

    def _block(self, said: Said, body: Body) -> dict[str, Any]:
        if self._uses_tool(said, body):
            return {"type": "tool_use", "id": "t1", "name": body["tools"][0]["name"], "input": json.loads(said.text)}
        return {"type": "text", "text": said.text}

    def _stop(self, said: Said, body: Body) -> str:
        told = {"length": "max_tokens", "content_filter": "refusal"}.get(said.finish, "end_turn")
        return "tool_use" if self._uses_tool(said, body) else told

    def _uses_tool(self, said: Said, body: Body) -> bool:
        return "tools" in body and said.text.startswith("{") and said.finish == "stop"

    def _usage(self, said: Said) -> dict[str, Any]:
        read, cached, written = said.counts or (0, 0, 0)
        return {"input_tokens": read - cached, "cache_read_input_tokens": cached, "output_tokens": written}


class Gemini:
    paths = ("/v1/models/{model}:generateContent", "/v1/models/{model}:streamGenerateContent")

    def messages(self, body: Body) -> Messages:
        system = [("system", _text(body["system_instruction"]["parts"]))] if "system_instruction" in body else []
        return (*system, *((content["role"], _text(content["parts"])) for content in body["contents"]))

    def schema(self, body: Body) -> Any:
        return body.get("generationConfig", {}).get("response_json_schema")

    def streams(self, body: Body, path: str) -> bool:
        return path.endswith(":streamGenerateContent")

    def reply(self, said: Said, body: Body) -> dict[str, Any]:
        thinking = [{"text": said.thinking, "thought": True}] if said.thinking else []
        return self._chunk(said, [*thinking, {"text": said.text}], self._finish(said))

    def events(self, said: Said, body: Body) -> Iterator[Event]:
        for piece in _pieces(said.thinking):
            yield "", self._chunk(said, [{"text": piece, "thought": True}])
        *others, last = _pieces(said.text) or [""]
        for piece in others:
            yield "", self._chunk(said, [{"text": piece}])
        yield "", self._chunk(said, [{"text": last}], self._finish(said))

    def _finish(self, said: Said) -> str:
        return {"length": "MAX_TOKENS", "content_filter": "SAFETY"}.get(said.finish, "STOP")

    def _chunk(self, said: Said, parts: list[dict[str, Any]], finish: str | None = None) -> dict[str, Any]:
        candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": parts}}
        if finish is not None:
            candidate["finishReason"] = finish
        read, cached, written = said.counts or (0, 0, 0)
        counts = {"promptTokenCount": read, "cachedContentTokenCount": cached, "totalTokenCount": read + written}
        counts |= {"candidatesTokenCount": written - said.thought, "thoughtsTokenCount": said.thought}
        usage = counts if finish is not None and said.counts else {}
        return {"candidates": [candidate], "modelVersion": said.model, **({"usageMetadata": usage} if usage else {})}


def _text(parts: Any) -> str:
    return parts if isinstance(parts, str) else "".join(part["text"] for part in parts)


def _pieces(text: str) -> list[str]:
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)]


OPENAI = OpenAI()
DIALECTS: tuple[Dialect, ...] = (OPENAI, Anthropic(), Gemini())
# What each sends in the middle of a stream when it cannot go on.
OVERLOADED: Mapping[Dialect, Event] = dict(
    zip(
        DIALECTS,
        (
            ("", {"error": {"message": "The engine is overloaded.", "type": "server_error", "code": 503}}),
            ("error", {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
            ("", {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}),
        ),
        strict=True,
    )
)
