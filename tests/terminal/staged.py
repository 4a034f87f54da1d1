"""`run-debate` with models in its own process that say half of their turn and wait until they are let on.

    python staged.py GATES --recipe fortress "Should we move billing to Kafka?"

A call waits while a FIFO of its name stands in the folder GATES (`1.Wind.turn`, `1.Wall.apply`, …), until somebody has
opened and closed the other end. STAGED_RAISES may name the call at which the program itself goes wrong.
"""

from __future__ import annotations

import os
import sys
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio

sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest does

from building import priced
from endpoint_voices import plausible
from orchestrator.cli.run_debate import main
from orchestrator.models.base import Reply, Request
from orchestrator.models.switchboard import Switchboard


class Staged:
    """A model for every seat, which says the same whenever it is asked the same.

    Args:
        gates: the folder of those who wait.
    """

    def __init__(self, gates: Path) -> None:
        self._gates = gates

    async def complete(self, request: Request) -> Reply:
        task, text = request.task, plausible(_call(request))
        if request.hear is not None:
            request.hear(text[: len(text) // 2])
        place = f"{task.round}.{task.role}.{task.step}"
        await _passed(self._gates / place)
        if place == os.environ.get("STAGED_RAISES"):
            raise ZeroDivisionError("by us")
        return priced(text, model=request.model)


def _call(request: Request) -> Any:
    """The request as the provider on loopback would get it."""
    messages = tuple((message.speaker, message.text) for message in request.messages)
    asked = "\n\n".join(text for _, text in messages)
    task = request.task
    number = zlib.crc32(f"{task.round} {task.role} {task.agent} {task.lens} {task.step}".encode()) % 1000
    return SimpleNamespace(number=number, model="staged", messages=messages, prompt=asked, task=messages[-1][1])


async def _passed(gate: Path) -> None:
    try:
        waiting = os.open(gate, os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        return
    try:
        await anyio.wait_readable(waiting)  # it ends when the other side has come and gone
    finally:
        os.close(waiting)


if __name__ == "__main__":
    staged: Any = Staged(Path(sys.argv.pop(1)))
    os.environ["OPENAI_API_KEY"] = "asked-of-nobody"
    Switchboard.of = lambda self, route: staged  # type: ignore[method-assign]
    main()
