"""A loopback provider for the real CLIs: codex asks OpenAI's responses, gemini Google's contents in its own spelling.

A text that is a JSON object with a `type` is no text but a call of a tool, which a CLI may answer or refuse.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from endpoint import ModelServer
from endpoint_dialects import DIALECTS, Body, Event, Gemini, Messages, Said


class Responses:
    """OpenAI's responses, as codex asks for them: always in a stream."""

    paths = ("/v1/responses",)

    def messages(self, body: Body) -> Messages:
        items = body["input"]
        said = [(item["role"], _joined(item["content"])) for item in items if item.get("type") == "message"]
        return (*said, *(("tool", _joined(item["output"])) for item in items if "output" in item))

    def schema(self, body: Body) -> Any:
        return body.get("text", {}).get("format", {}).get("schema")

    def streams(self, body: Body, path: str) -> bool:
        return True

    def reply(self, said: Said, body: Body) -> dict[str, Any]:
        raise AssertionError("codex asks for a stream")

    def events(self, said: Said, body: Body) -> Iterator[Event]:
        content = [{"type": "output_text", "text": said.text, "annotations": []}]
        message = {"type": "message", "role": "assistant", "id": "m1", "status": "completed", "content": content}
        item = _called(said.text) or message
        read, cached, written = said.counts or (0, 0, 0)
        usage = {
            "input_tokens": read,
            "input_tokens_details": {"cached_tokens": cached},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": said.thought},
            "total_tokens": read + written,
        }
        whole = {"id": f"r{said.number}", "status": "completed", "output": [item], "usage": usage}
        yield self._event("response.created", response={"id": f"r{said.number}"})
        yield self._event("response.output_item.done", output_index=0, item=item)
        yield self._event("response.completed", response=whole)

    def _event(self, name: str, **data: Any) -> Event:
        return name, {"type": name, **data}


class GeminiCli(Gemini):
    paths = ("/v1beta/models/{model}:generateContent", "/v1beta/models/{model}:streamGenerateContent")

    def messages(self, body: Body) -> Messages:
        system = _joined(body["systemInstruction"]["parts"])
        return (("system", system), *((item["role"], _joined(item["parts"])) for item in body["contents"]))

    def events(self, said: Said, body: Body) -> Iterator[Event]:
        if call := _called(said.text):
            yield "", self._chunk(said, [{"functionCall": call}], "STOP")
        else:
            yield from super().events(said, body)


def _joined(parts: Any) -> str:
    """The texts of parts, and of what tools gave."""
    return parts if isinstance(parts, str) else "".join(part.get("text") or json.dumps(part) for part in parts)


def _called(text: str) -> dict[str, Any] | None:
    """The call of a tool that a text is, or None."""
    if not text.startswith('{"type"'):
        return None
    call: dict[str, Any] = json.loads(text)
    return call


class CliProvider(ModelServer):
    dialects = (*DIALECTS, Responses(), GeminiCli())

    @property
    def root(self) -> str:
        """The address without the version."""
        return self.base_url.removesuffix("/v1")
