"""The group of `debate-hall`'s commands, and what they share.

Nothing but click is loaded until there is something to do.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import ParamSpec

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


@click.group(
    cls=Contents,
    purposes=("Look", "Speak", "Review", "Keep", "Set up"),
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


def command(function: Callable[P, None], group: click.Group = debate_hall) -> click.Command:
    """A command of a group, whose errors become a sentence, an exit code and with `--json` an object."""

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
    return group.command(name=name)(told)
