"""Help that reads like a manual's page: options by what they are for, examples, files, environment, exit status.

A command's examples stand in its docstring, one a line under `Examples:`; the tests run or parse each of them.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
OTHER = "Other options"

Rows = Sequence[tuple[str, str]]

_EXAMPLES = "\nExamples:\n"


class Page(click.Command):
    """A command whose help is a page.

    Args:
        options: the names of its parameters under the headings they stand under; the rest comes last.
        more: what stands behind the examples: rows of two columns, under their headings.
    """

    def __init__(
        self,
        *args: Any,
        options: Mapping[str, Sequence[str]] | None = None,
        more: Mapping[str, Rows] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **{"context_settings": SETTINGS, **kwargs})
        self._options, self._more = options or {}, more or {}
        self.help, self.examples = _parted(self.help)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, rows in self.option_rows(ctx):
            with formatter.section(heading):
                formatter.write_dl(rows)

    def option_rows(self, ctx: click.Context) -> Iterator[tuple[str, Rows]]:
        """The options under their headings, each with what its help says."""
        shown = {
            param.name: row
            for param in self.get_params(ctx)
            if isinstance(param, click.Option) and (row := param.get_help_record(ctx)) is not None
        }
        for heading, names in self._options.items():
            yield heading, [shown.pop(name) for name in names]
        if shown:
            yield OTHER if self._options else "Options", list(shown.values())

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _write_more(formatter, self.examples, self._more)


class Contents(click.Group):
    """A group whose help lists its commands by what people come for: what the module of each begins with.

    Args:
        purposes: the order of these; others come last.
        more: as of a `Page`.
    """

    command_class = Page

    def __init__(
        self, *args: Any, purposes: Sequence[str] = (), more: Mapping[str, Rows] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **{"context_settings": SETTINGS, **kwargs})
        self._purposes, self._more = purposes, more or {}
        self.help, self.examples = _parted(self.help)

    def by_purpose(self) -> dict[str, dict[str, click.Command]]:
        """The commands under their headings, in the order in which they were added."""
        found: dict[str, dict[str, click.Command]] = {purpose: {} for purpose in self._purposes}
        for name, command in self.commands.items():
            found.setdefault(_purpose(command), {})[name] = command
        return {purpose: commands for purpose, commands in found.items() if commands}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.commands))
        purposes = self.by_purpose()
        for heading, commands in purposes.items():
            with formatter.section(heading if len(purposes) > 1 else "Commands"):
                formatter.write_dl([(f"{name:<{width}}", summary(command)) for name, command in commands.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _write_more(formatter, self.examples, self._more)


def summary(command: click.Command) -> str:
    """The first sentence of a command's help."""
    sentence, _, _ = " ".join((command.help or "").split()).partition(". ")
    return sentence.rstrip(".")


def _purpose(command: click.Command) -> str:
    home = sys.modules[command.callback.__module__] if command.callback else None
    return ((home and home.__doc__) or "Commands").partition(":")[0]


def _parted(text: str | None) -> tuple[str | None, tuple[str, ...]]:
    """A docstring without its examples, and those."""
    if text is None:
        return None, ()
    said, _, lines = inspect.cleandoc(text).partition(_EXAMPLES)
    return said.rstrip(), tuple(line.strip() for line in lines.splitlines() if line.strip())


def _write_more(formatter: click.HelpFormatter, examples: Sequence[str], more: Mapping[str, Rows]) -> None:
    if examples:
        with formatter.section("Examples"):
            for example in examples:  # never wrapped: they are there to be copied
                formatter.write(f"{'':>{formatter.current_indent}}{example}\n")
    for heading, rows in more.items():
        with formatter.section(heading):
            formatter.write_dl(rows, col_max=34)
