"""Executables that stand in for agent CLIs: they write down what they got, and then do what a test says."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_BEGINS = """\
#!{python} -IS
import json, os, signal, sys, time
HERE = {here!r}
prompt = sys.stdin.buffer.read()
files = [word for word in (*sys.argv, *os.environ.values()) if "/files/" in word]
paths = [word.partition('"')[2].rstrip('"') or word for word in files]
seen = {{
    "arguments": sys.argv[1:],
    "environment": dict(os.environ),
    "folder": os.getcwd(),
    "holds": os.listdir("."),
    "files": {{os.path.basename(path): open(path).read() for path in paths}},
    "group": os.getpgrp(),
    "pid": os.getpid(),
}}
open(HERE + "/prompt", "wb").write(prompt)
json.dump(seen, open(HERE + "/seen", "w"))
def child(hang=True, leave=False):
    \"\"\"A child that holds what its parent holds, and does not end.\"\"\"
    pid = os.fork()
    if pid == 0:
        if leave:
            os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)
        os._exit(0)
    with open(HERE + "/children", "a") as file:
        file.write(str(pid) + "\\n")
def tell():
    \"\"\"Tells the test, which waits for it, that it got so far.\"\"\"
    open(HERE + "/reached", "w").close()
def say(text):
    sys.stdout.write(text)
    sys.stdout.flush()
"""


@dataclass(frozen=True)
class StandIn:
    """One of them. `folder` is where it writes down what it got."""

    folder: Path

    @property
    def seen(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "seen").read_text())
        return found

    @property
    def prompt(self) -> bytes:
        return (self.folder / "prompt").read_bytes()

    @property
    def processes(self) -> list[int]:
        """Its own number and those of its children."""
        children = self.folder / "children"
        return [self.seen["pid"], *map(int, children.read_text().split() if children.exists() else ())]

    def wait(self) -> None:
        """Waits, in a thread, until it tells that it got so far."""
        (self.folder / "reached").read_bytes()


def stand_in(tmp_path: Path) -> Callable[[str, str], StandIn]:
    """Makes a command of a name that does what `body`, a piece of Python, says."""

    def make(name: str, body: str) -> StandIn:
        folder = tmp_path / f"of {name}"
        folder.mkdir(exist_ok=True)
        if not (folder / "reached").exists():
            os.mkfifo(folder / "reached")
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(_BEGINS.format(python=sys.executable, here=str(folder)) + body)
        path.chmod(0o755)
        return StandIn(folder)

    return make


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be buried does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def claude_says(text: str, **fields: Any) -> str:
    """What claude prints, by its documentation."""
    usage = {
        "input_tokens": 60,
        "cache_read_input_tokens": 30,
        "cache_creation_input_tokens": 10,
        "output_tokens": 7,
    }
    said = {"type": "result", "subtype": "success", "is_error": False, "result": text, "total_cost_usd": 0.0123}
    return json.dumps(said | {"usage": usage, "modelUsage": {"claude-opus-5-5": {}}} | fields)


def codex_says(text: str) -> str:
    """What codex 0.171 prints."""
    usage = {"input_tokens": 100, "cached_input_tokens": 40, "output_tokens": 20, "reasoning_output_tokens": 7}
    lines = (
        {"type": "thread.started", "thread_id": "01a2"},
        {"type": "turn.started"},
        {"type": "item.completed", "item": {"id": "i0", "type": "reasoning", "text": "I had better think."}},
        {"type": "item.completed", "item": {"id": "i1", "type": "agent_message", "text": text}},
        {"type": "turn.completed", "usage": usage},
    )
    return "\n".join(map(json.dumps, lines)) + "\n"


def gemini_says(text: str) -> str:
    """What gemini 0.61 prints."""
    tokens = {"input": 60, "prompt": 100, "candidates": 20, "total": 127, "cached": 40, "thoughts": 7, "tool": 0}
    said = {"session_id": "3", "response": text, "stats": {"models": {"gemini-4-argon": {"tokens": tokens}}}}
    return json.dumps(said, indent=2)


SAYS: dict[str, Callable[[str], str]] = {"claude": claude_says, "codex": codex_says, "gemini": gemini_says}
