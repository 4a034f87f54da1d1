"""The reference of the commands, made from the commands themselves: docs/commands.md and the table of the README."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from orchestrator.cli.debate_hall import debate_hall
from orchestrator.cli.help import SETTINGS, Contents, Rows, summary
from orchestrator.cli.manual import ENVIRONMENT, EXIT_STATUS, FILES
from orchestrator.cli.run_debate import run_debate

ROOT = Path(__file__).parents[2]
README, PAGE = ROOT / "README.md", ROOT / "docs" / "commands.md"
BEGIN, END = "<!-- commands -->\n", "<!-- end of the commands -->"
WIDTH = 88

_HEAD = """\
# Commands

Every option of `run-debate` (also `python -m orchestrator`) and of `debate-hall`, as `--help` says it; `python -m
tests.reference` writes this page. Shells complete all of it: `debate-hall help completion`.
"""


def everything() -> Iterator[tuple[str, click.Command]]:
    """Each command by its whole name."""
    yield "run-debate", run_debate
    yield from _within("debate-hall", debate_hall)


def _within(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, Contents):
        for purpose in command.by_purpose().values():
            for part, inner in purpose.items():
                yield from _within(f"{name} {part}", inner)


def page() -> str:
    parts = [
        _HEAD,
        *(f"## {name}\n\n```text\n{_help(name, command)}\n```\n" for name, command in everything()),
        f"## Files\n\n{_table('file', FILES)}",
        f"## Environment\n\n{_table('variable', ENVIRONMENT)}",
        f"## Exit status\n\n{_table('code', EXIT_STATUS)}",
    ]
    return "\n".join(parts)


def with_table(readme: str) -> str:
    """A README whose table of commands is that of the code."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{_summaries()}{END}{after}"


def _summaries() -> str:
    rows = [(f"[`{name}`](docs/commands.md#{name.replace(' ', '-')})", summary(command)) for name, command in _leaves()]
    return _rows("command", "", rows)


def _leaves() -> Iterator[tuple[str, click.Command]]:
    return ((name, command) for name, command in everything() if not isinstance(command, click.Group))


def _help(name: str, command: click.Command) -> str:
    """What `--help` says, without what is the same for all."""
    text = command.get_help(click.Context(command, info_name=name, terminal_width=WIDTH, **SETTINGS))
    return re.split(r"\n\n(?:Files|Environment|Exit status):\n", text)[0]


def _table(what: str, rows: Rows) -> str:
    return _rows(
        what, "meaning", [(f"`{name}`".replace(", ", "`, `").replace("`…`", "…"), said) for name, said in rows]
    )


def _rows(first: str, second: str, rows: Rows) -> str:
    lines = [(first, second), ("---", "---"), *((left, right.replace("|", r"\|")) for left, right in rows)]
    return "".join(f"| {left} | {right} |\n" for left, right in lines)
