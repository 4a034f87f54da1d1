"""A page set for a terminal: turns in the colours of their roles, their Markdown as it is meant to look.

What models wrote steers nothing: it passes `visible` first, its links and its HTML stay the text that they were typed
as, and where the reading of its Markdown would drop a word it stands as it was typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from io import StringIO
from typing import ClassVar

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.markdown import Heading, Markdown, MarkdownElement
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from orchestrator.cli.live.picture import COLOURS
from orchestrator.cli.page import Kind, Part
from orchestrator.export.prose import parsed
from orchestrator.wording import visible

WIDEST = 100  # columns; longer lines are hard to read
_HEADINGS: dict[Kind, str] = {"mark": "bold red", "title": "bold", "detail": "dim", "note": "bold"}


def typeset(parts: Iterable[Part], columns: int) -> str:
    """Returns a page as text with the escapes of this terminal, which NO_COLOR and TERM say."""
    console = console_for(columns)
    for part in parts:
        console.print(Group(*_set(part, console.width)))
        console.print()
    return written(console)


def console_for(columns: int) -> Console:
    """Returns a console that keeps what is printed, for a terminal that wide."""
    width = min(columns, WIDEST)
    return Console(file=StringIO(), width=width, force_terminal=True, highlight=False, markup=False, emoji=False)


def written(console: Console) -> str:
    """Returns what was printed to a console of `console_for`, without the blanks with which it fills lines."""
    assert isinstance(console.file, StringIO), "console_for makes it"
    return re.sub(" +$", "", console.file.getvalue(), flags=re.MULTILINE)


def _set(part: Part, width: int) -> Iterator[RenderableType]:
    heading, text = visible(part.heading), visible(part.text)
    match part.kind:
        case "turn" | "settling" | "synthesis":
            colour = COLOURS[part.role] if part.role else "blue"
            yield _ruled(heading, colour, width)
            yield Padding(_prose(text), (1, 0, 0, 2))
        case "topic":
            yield Padding(Text(text, "bold"), (0, 0, 0, 2))
        case "list":
            yield _ruled(heading, "red", width)
            yield Padding(_rows(text.splitlines()), (1, 0, 0, 2))
        case _:
            yield Text(heading, _HEADINGS[part.kind])


def _ruled(heading: str, colour: str, width: int) -> RenderableType:
    """A heading with a rule behind it, where there is room: a rule cuts its title."""
    text = Text(heading, f"bold {colour}")
    return Rule(text, align="left", style=colour) if text.cell_len + 2 < width else text


def _rows(rows: Iterable[str]) -> Table:
    table = Table.grid(padding=(0, 1))
    for row in rows:
        table.add_row("•", Text(row))
    return table


def _prose(text: str) -> RenderableType:
    tokens = parsed(text)
    if tokens is None:
        return Text(text)
    for token in tokens:
        for child in token.children or ():
            if child.type == "softbreak":  # a line of a model's is a line
                child.type = "hardbreak"
    prose = _Prose("")
    prose.parsed = tokens
    return prose


class _Heading(Heading):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"  # and no box around it
        yield self.text


class _Prose(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {**Markdown.elements, "heading_open": _Heading}
