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

P = ParamSpec("P")

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
THREAD = click.argument("thread_id", metavar="THREAD")
A_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
KEY_NAME = click.option("--name", default="default", show_default=True, help="Which key.")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="run-debate")
def debate_hall() -> None:
    """Look into the debate hall and tend it.

    The hall is one place for all your debates: DEBATE_HALL_STATE_DIR, else your user's state folder.

    Exit codes: 0 done, 1 internal error, 2 usage or configuration, 7 a ledger does not verify.
    """


@debate_hall.group()
def key() -> None:
    """Keys that sign exports: `export --sign` signs, `verify --file` checks."""


def command(function: Callable[P, None], group: click.Group = debate_hall) -> click.Command:
    """A command of a group, whose errors become a sentence and an exit code."""

    @wraps(function)
    def told(*args: P.args, **kwargs: P.kwargs) -> None:
        from orchestrator.cli.ending import exit_code
        from orchestrator.cli.plain import tell
        from orchestrator.errors import DebateError

        try:
            function(*args, **kwargs)
        except DebateError as error:
            tell(f"error: {error}")
            sys.exit(exit_code(error))
        except (click.ClickException, click.exceptions.Exit):
            raise
        except Exception:  # noqa: BLE001  the last resort: it is told whole, without secrets
            tell(traceback.format_exc())
            sys.exit(1)

    name = function.__name__.strip("_").removeprefix(f"{group.name}_").replace("_", "-")
    return group.command(name=name)(told)
