"""A model that says what it was told to say: the public fake for tests of anything above the seam."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence

from orchestrator.errors import ModelError, ScriptExhausted
from orchestrator.models.base import Reply, Request, Usage

Line = str | Reply | ModelError
"""One reply: a text, a whole reply, or an error to raise."""


class Scripted:
    """Replies from a script and keeps what it was asked.

    Args:
        script: the lines of each model by name; or one sequence of lines for all models together; or a function from
            a request to its line, which never runs dry.

    Attributes:
        requests: every request, in the order they came.
    """

    def __init__(self, script: Mapping[str, Sequence[Line]] | Sequence[Line] | Callable[[Request], Line]) -> None:
        self.requests: list[Request] = []
        self._line: Callable[[Request], Line] = script if callable(script) else _Lines(script)

    async def complete(self, request: Request) -> Reply:
        """Gives the next line.

        Raises:
            ModelError: the line is one.
            ScriptExhausted: no line is left.
        """
        self.requests.append(request)
        line = self._line(request)
        if isinstance(line, ModelError):
            raise line
        return line if isinstance(line, Reply) else Reply(line, request.model, _counted(request, line))


class _Lines:
    def __init__(self, script: Mapping[str, Sequence[Line]] | Sequence[Line]) -> None:
        if isinstance(script, Mapping):
            self._by_model, self._shared = {model: deque(lines) for model, lines in script.items()}, deque[Line]()
        else:
            self._by_model, self._shared = {}, deque(script)

    def __call__(self, request: Request) -> Line:
        lines = self._by_model.get(request.model, self._shared)
        if not lines:
            asked = f"{request.task.step} of round {request.task.round}"
            raise ScriptExhausted(
                f"The script has no line left for {request.model} ({asked}).",
                "Add one, or ask less often.",
            )
        return lines.popleft()


def _counted(request: Request, text: str) -> Usage:
    """One token a word; the price is unknown."""
    words = sum(len(message.text.split()) for message in request.messages)
    return Usage(input=words, cached=0, output=len(text.split()), cost_usd=None)
