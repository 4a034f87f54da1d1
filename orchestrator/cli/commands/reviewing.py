"""Review: reviews that run themselves."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from orchestrator.cli.completing import reviews
from orchestrator.cli.group import AS_JSON, THREAD, command, debate_hall
from orchestrator.cli.help import Contents

FILE = click.option(
    "--file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The reviews file. [./reviews.yaml, else reviews.yaml in ./configs or in your config folder]",
)


@click.group(cls=Contents)
def review() -> None:
    """Reviews that run themselves: on a schedule, when something changed, when an assumption broke."""


@AS_JSON
@FILE
def review_list(file: Path | None, as_json: bool) -> None:
    """List the reviews of a file: when each comes next, and how its last time ended.

    Examples:
        debate-hall review list
        debate-hall review list --file ops/reviews.yaml --json
    """
    from orchestrator.cli.reviews import show_list

    show_list(file, as_json)


@AS_JSON
@FILE
@click.option(
    "--count", type=click.IntRange(1, 1000), default=10, show_default=True, metavar="N", help="So many times."
)
def review_next(count: int, file: Path | None, as_json: bool) -> None:
    """Show the times that come next, of all reviews of a file.

    Examples:
        debate-hall review next --count 3
    """
    from orchestrator.cli.reviews import show_next

    show_next(file, count, as_json)


@AS_JSON
@click.option("--quiet", "-q", is_flag=True, help="Print the result and nothing else.")
@FILE
@click.option("--due", is_flag=True, help="Only if a time of its schedule has come since it was held last.")
@click.argument("name", metavar="NAME", shell_complete=reviews)
def review_run(name: str, due: bool, file: Path | None, quiet: bool, as_json: bool) -> None:
    """Hold a review now: from cron, a systemd timer, a workflow, or by hand.

    What stopped the last time is gone on with. Where there is nothing to debate, because nothing changed or no
    assumption broke, that is said, and the exit code is 0; else it is that of run-debate. While another process is
    at it, that is said too: with exit code 2, and with --due, where it is nothing out of order, with 0. A file of the
    working folder that lets commands run or sends results elsewhere is taken only where --file names it.

    Examples:
        debate-hall review run weekly
        debate-hall review run weekly --due --file ops/reviews.yaml --json
    """
    from orchestrator.cli import reviews_held

    sys.exit(reviews_held.run(name, file, due=due, quiet=quiet, as_json=as_json))


@FILE
def review_daemon(file: Path | None) -> None:
    """Hold each review of a file when its time comes, until it is told to stop (Ctrl-C, SIGTERM).

    What is under way then is paused, and gone on with at the next start. Several daemons may share a hall: one of them
    holds each time. A time that was missed is made up for once, where the file does not say otherwise.

    Examples:
        debate-hall review daemon --file ops/reviews.yaml
    """
    from orchestrator.cli import reviews_held

    sys.exit(reviews_held.daemon(file))


@AS_JSON
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="What the checks are about. [the working folder]",
)
@click.option("--allow-commands", is_flag=True, help="Run the commands among them. Read them first: models wrote them.")
@click.option("--check", is_flag=True, help="Check now what a machine can check, and keep what that came to.")
@THREAD
def assumptions(thread_id: str, check: bool, allow_commands: bool, folder: Path | None, as_json: bool) -> None:
    """Show what a decision assumed, how each assumption can be checked, and what its last check came to.

    A command works in a copy of the folder, with no key in its environment, for a minute at most. That is no sandbox:
    it may do what you may. The exit code is 0 whether an assumption is broken or not; `--json` says all of it.

    Examples:
        debate-hall assumptions 2026-01-06-billing
        debate-hall assumptions 2026-01-06-billing --check --folder .
        debate-hall assumptions 2026-01-06-billing --check --allow-commands --json
    """
    if (allow_commands or folder) and not check:
        raise click.UsageError("--allow-commands and --folder say how to check: give --check, too.")
    from orchestrator.cli import assuming

    if check:
        sys.exit(assuming.check(thread_id, folder or Path(), as_json, commands=allow_commands))
    assuming.show(thread_id, as_json)


debate_hall.add_command(review)
command(assumptions)
for function in (review_list, review_next, review_run, review_daemon):
    command(function, review)
