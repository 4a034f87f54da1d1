"""How providers are asked and how they answer: OpenAI's chat completions, Anthropic's messages, Gemini's contents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

Body = Mapping[str, Any]
Messages = tuple[tuple[str, str], ...]  # (role, text)


class Said(NamedTuple):
    """What a model says, and what that took: tokens in, of these cached, and out; None: nobody says."""

    number: int
    model: str
    text: str
    finish: str  # as OpenAI calls it
    counts: tuple[int, int, int] | None


class Dialect(Protocol):
    path: str

    def messages(self, body: Body) -> Messages: ...

    def schema(self, body: Body) -> Any:
        """The JSON schema that the answer is held to, or None."""
        ...

    def reply(self, said: Said, body: Body) -> dict[str, Any]: ...


class OpenAI:
    path = "/v1/chat/completions"

    def messages(self, body: Body) -> Messages:
        return tuple((message["role"], message["content"]) for message in body["messages"])

    def schema(self, body: Body) -> Any:
        asked = body.get("response_format", {}).get("json_schema")
        return asked["schema"] if asked else None

    def reply(self, said: Said, body: Body) -> dict[str, Any]:
        message = {"role": "assistant", "content": said.text}
        return {
            "id": f"chatcmpl-{said.number}",
            "object": "chat.completion",
            "created": 0,
            "model": said.model,
            "choices": [{"index": 0, "finish_reason": said.finish, "message": message}],
            **({"usage": self._usage(*said.counts)} if said.counts else {}),
        }

    def _usage(self, read: int, cached: int, written: int) -> dict[str, Any]:
        return {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
            "prompt_tokens_details": {"cached_tokens": cached},
        }


class Anthropic:
    """A model that is given tools uses the first, where its text is what a tool takes."""

    path = "/v1/messages"

    def messages(self, body: Body) -> Messages:
        system = [("system", _text(body["system"]))] if "system" in body else []
        return (*system, *((message["role"], _text(message["content"])) for message in body["messages"]))

    def schema(self, body: Body) -> Any:
        tools = body.get("tools")
        return tools[0]["input_schema"] if tools else body.get("output_format", {}).get("schema")

    def reply(self, said: Said, body: Body) -> dict[str, Any]:
        content: list[dict[str, Any]] = [{"type": "text", "text": said.text}]
        stop = {"length": "max_tokens", "content_filter": "refusal"}.get(said.finish, "end_turn")
        if "tools" in body and said.text.startswith("{") and said.finish == "stop":
            tool = body["tools"][0]["name"]
            content, stop = [{"type": "tool_use", "id": "t1", "name": tool, "input": json.loads(said.text)}], "tool_use"
        read, cached, written = said.counts or (0, 0, 0)
        usage = {"input_tokens": read - cached, "cache_read_input_tokens": cached, "output_tokens": written}
        about = {"id": f"msg_{said.number}", "type": "message", "role": "assistant", "model": said.model}
        return about | {"content": content, "stop_reason": stop, "usage": usage}


class Gemini:
    path = "/v1/models/{model}:generateContent"

    def messages(self, body: Body) -> Messages:
        system = [("system", _text(body["system_instruction"]["parts"]))] if "system_instruction" in body else []
        return (*system, *((content["role"], _text(content["parts"])) for content in body["contents"]))

    def schema(self, body: Body) -> Any:
        return body.get("generationConfig", {}).get("response_json_schema")

    def reply(self, said: Said, body: Body) -> dict[str, Any]:
        finish = {"length": "MAX_TOKENS", "content_filter": "SAFETY"}.get(said.finish, "STOP")
        content = {"role": "model", "parts": [{"text": said.text}]}
        read, cached, written = said.counts or (0, 0, 0)
        counts = {"promptTokenCount": read, "cachedContentTokenCount": cached, "candidatesTokenCount": written}
        return {
            "candidates": [{"index": 0, "content": content, "finishReason": finish}],
            "modelVersion": said.model,
            "usageMetadata": counts | {"totalTokenCount": read + written},
        }


def _text(parts: Any) -> str:
    return parts if isinstance(parts, str) else "".join(part["text"] for part in parts)


OPENAI = OpenAI()
DIALECTS: tuple[Dialect, ...] = (OPENAI, Anthropic(), Gemini())
