"""What a shell offers behind a half-typed word: threads, reviews, names on the shelves, tiers, files. Never an error.

A command line that is completed loads no more than what it asks about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from orchestrator.shelves import Kind

PROGRAMS = ("run-debate", "debate-hall")
SHELLS = ("bash", "zsh", "fish")

Complete = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]


def script(shell: str) -> str:
    """Returns what a shell has to read, for both programs.

    Args:
        shell: one of `SHELLS`.
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, "click knows these shells"
    parts = (kind(click.Command(name), {}, name, f"_{name}_COMPLETE".replace("-", "_").upper()) for name in PROGRAMS)
    return "".join(f"{part.source().rstrip()}\n\n" for part in parts)


def threads(ctx: click.Context, param: click.Parameter, typed: str) -> list[CompletionItem]:
    """The debates of the hall, the newest first."""
    from orchestrator.hall.glance import newest_threads

    return _items(newest_threads(typed))


def threads_or_files(ctx: click.Context, param: click.Parameter, typed: str) -> list[CompletionItem]:
    return threads(ctx, param, typed) or _file(typed)


def reviews(ctx: click.Context, param: click.Parameter, typed: str) -> list[CompletionItem]:
    """The reviews of the file that was named so far, else of the one that is found."""
    from orchestrator.errors import DebateError
    from orchestrator.review.reviews_file import find_reviews_file, load_reviews

    try:
        file = load_reviews(find_reviews_file(ctx.params.get("file")))
    except DebateError:
        return []
    return _beginning((review.name for review in file.reviews), typed)


def reviews_or_threads(ctx: click.Context, param: click.Parameter, typed: str) -> list[CompletionItem]:
    return [*reviews(ctx, param, typed), *threads(ctx, param, typed)]


def on_shelf(kind: Kind) -> Complete:
    """Completes names on a shelf; what begins none of them is a file's name."""

    def complete(ctx: click.Context, param: click.Parameter, typed: str) -> list[CompletionItem]:
        from orchestrator.errors import ConfigurationError
        from orchestrator.shelves import ENDINGS, folders, standing

        try:
            names = standing(folders(kind), ENDINGS[kind])
        except ConfigurationError:
            names = {}
        return _beginning(names, typed) or _file(typed)

    return complete


def commands(ctx: click.Context, param: click.Parameter, typed: str) -> list[CompletionItem]:
    """The commands of the group that was named so far."""
    asked: click.Command | None = ctx.find_root().command
    for word in ctx.params.get(param.name or "") or ():
        asked = asked.get_command(ctx, word) if isinstance(asked, click.Group) else None
    return _beginning(asked.list_commands(ctx), typed) if isinstance(asked, click.Group) else []


def tiers(ctx: click.Context, param: click.Parameter, typed: str) -> list[CompletionItem]:
    from orchestrator.recipe import TIERS

    return _beginning(TIERS, typed)


def statuses(ctx: click.Context, param: click.Parameter, typed: str) -> list[CompletionItem]:
    from orchestrator.hall.terms import Status

    return _beginning(Status, typed)


def files(ctx: click.Context, param: click.Parameter, typed: str) -> list[CompletionItem]:
    return _file(typed)


def _beginning(names: Iterable[str], typed: str) -> list[CompletionItem]:
    return _items(name for name in names if name.startswith(typed.lower()))


def _items(names: Iterable[str]) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(name) for name in names]


def _file(typed: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(typed, type="file")]
