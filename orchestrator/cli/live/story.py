"""What stays in the terminal: the first words of each turn, and whatever a reader of plain lines is told of trouble."""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch
from typing import Any

from rich.console import Console
from rich.text import Text

from orchestrator import events
from orchestrator.cli.live.picture import COLOURS, plain
from orchestrator.cli.progress import line_of
from orchestrator.hall.terms import Role

_LINES = 3  # of a turn
_WIDEST = 100  # columns that are read with ease


@singledispatch
def story_of(event: Any, console: Console) -> Iterator[Text]:
    """The lines that an event leaves behind, as wide as the console."""
    for line in line_of(event).splitlines():
        yield from _wrapped(plain(" ".join(line.split()), "dim"), console.width, console)


@story_of.register
def _(event: events.DraftFinished, console: Console) -> Iterator[Text]:
    """A cell shows it."""
    yield from ()


@story_of.register
def _(event: events.TurnCommitted, console: Console) -> Iterator[Text]:
    head = plain(f"T{event.turn_index + 1} {event.role}", f"bold {COLOURS[Role(event.role)]}")
    yield head.append_text(plain(f" {event.agent} · {event.model}", "dim"))
    for line in _first_lines(event.text, min(console.width, _WIDEST) - 2, console):
        yield plain("  ").append_text(line)


def _first_lines(text: str, width: int, console: Console) -> Iterator[Text]:
    """The first lines of a turn, its headings apart; the last of them says that there are more."""
    paragraphs = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    lines: list[Text] = []
    for paragraph in paragraphs:
        lines += _wrapped(plain(paragraph), width, console)
        if len(lines) > _LINES:
            last = lines[_LINES - 1]
            last.truncate(max(width - 2, 1), overflow="crop")
            last.rstrip()
            last.append(" …")
            break
    yield from lines[:_LINES]


def _wrapped(words: Text, width: int, console: Console) -> Iterator[Text]:
    words.no_wrap = False
    for line in words.wrap(console, max(width, 1)):
        line.rstrip()
        yield line
