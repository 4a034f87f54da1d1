"""The group of `debate-hall`'s commands, and what they share.

Nothing but click is loaded until there is something to do.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from itertools import takewhile
from pathlib import Path
from typing import Any, ParamSpec

import click

from orchestrator.cli.completing import on_shelf, threads
from orchestrator.cli.help import Contents
from orchestrator.cli.manual import ENVIRONMENT, EXIT_STATUS, FILES

P = ParamSpec("P")

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
THREAD = click.argument("thread_id", metavar="THREAD", shell_complete=threads)
MODELS = click.option(
    "--models",
    default="models",
    metavar="NAME|FILE",
    shell_complete=on_shelf("configs"),
    help="The models file. [default: models]",
)
A_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
KEY_NAME = click.option("--name", default="default", show_default=True, help="Which key.")


class _Hall(Contents):
    """Click's own complaints about the command line become an object too, where that was asked for."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        as_json = _asks_for_json(args)
        with _complaints_told(as_json):
            ctx = super().make_context(info_name, args, parent, **extra)
        ctx.meta[_AS_JSON] = as_json
        return ctx

    def invoke(self, ctx: click.Context) -> Any:
        with _complaints_told(ctx.meta[_AS_JSON]):
            return super().invoke(ctx)


_AS_JSON = f"{__name__}.as_json"


def _asks_for_json(args: Sequence[str]) -> bool:
    return "--json" in takewhile(lambda word: word != "--", args)


@contextmanager
def _complaints_told(as_json: bool) -> Iterator[None]:
    try:
        yield
    except click.UsageError as error:
        if as_json:
            from orchestrator.cli.plain import print_failure
            from orchestrator.errors import UsageError

            print_failure(UsageError(error.format_message()))
        raise


@click.group(
    cls=_Hall,
    purposes=("Look", "Speak", "Review", "Evaluate", "Fleet", "Keep", "Set up"),
    more={
        "Files": FILES,
        "Environment": ENVIRONMENT,
        "Exit status": EXIT_STATUS,
    },
)
@click.version_option(package_name="run-debate")
def debate_hall() -> None:
    """Look into the debate hall and tend it: one place for all your debates. `debate-hall help COMMAND` says more.

    Examples:
        debate-hall list
        debate-hall show THREAD
        debate-hall verify --all
    """


def command(
    function: Callable[P, None], group: click.Group = debate_hall, options: Mapping[str, Sequence[str]] | None = None
) -> click.Command:
    """A command of a group, whose errors become a sentence, an exit code and with `--json` an object.

    Args:
        options: as of a `Page`.
    """

    @wraps(function)
    def told(*args: P.args, **kwargs: P.kwargs) -> None:
        from orchestrator.cli.ending import exit_code
        from orchestrator.cli.plain import print_failure, tell
        from orchestrator.errors import DebateError

        try:
            function(*args, **kwargs)
        except DebateError as error:
            tell(f"error: {error}")
            if kwargs.get("as_json"):
                print_failure(error)
            sys.exit(exit_code(error))
        except (click.ClickException, click.exceptions.Exit):
            raise
        except Exception:  # noqa: BLE001  the last resort: it is told whole, without secrets
            tell(traceback.format_exc())
            sys.exit(1)

    name = function.__name__.strip("_").removeprefix(f"{group.name}_").replace("_", "-")
    return group.command(name=name, options=options)(told)
