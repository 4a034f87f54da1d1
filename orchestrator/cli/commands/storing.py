"""Keep: the store itself."""

from __future__ import annotations

import sys

import click

from orchestrator.cli.group import AS_JSON, command, debate_hall
from orchestrator.cli.help import Contents

PLACE = click.argument("place", metavar="[PLACE]", required=False)


@click.group(cls=Contents)
def store() -> None:
    """Tend the store in which debates are kept: a folder, or a PostgreSQL database.

    PLACE is a folder or postgresql://USER@HOST/DATABASE, and by default what DEBATE_HALL_STORE and
    DEBATE_HALL_STATE_DIR say. Keep passwords in ~/.pgpass: command lines are seen by others.
    """


@AS_JSON
@PLACE
def store_status(place: str | None, as_json: bool) -> None:
    """Say where the store is, which format it has, and whether it can be used; exit 2 when it cannot.

    Examples:
        debate-hall store status
        debate-hall store status ~/halls/payments --json
    """
    from orchestrator.cli import storing

    if not storing.status(place, as_json):
        sys.exit(2)


@AS_JSON
@PLACE
def store_migrate(place: str | None, as_json: bool) -> None:
    """Bring the store to this version's format, whole or not at all; on PostgreSQL that makes it, too.

    A folder is also brought there when it is opened. Stop older versions first: they refuse the new format.

    Examples:
        debate-hall store migrate
    """
    from orchestrator.cli import storing

    storing.migrate_to_newest(place, as_json)


@AS_JSON
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
def store_copy(source: str, target: str, as_json: bool) -> None:
    """Copy every debate into another store: ledgers, plans, runs, journals, checks and reviews, each verified.

    One that is there already, the same to the last word, is left; so a copy that was interrupted is made again. What
    is under way is refused. The exit code is that of the first refusal.

    Examples:
        debate-hall store copy ~/.local/state/debate-hall ~/halls/another
    """
    from orchestrator.cli import storing

    sys.exit(storing.copy(source, target, as_json))


debate_hall.add_command(store)
for function in (store_status, store_migrate, store_copy):
    command(function, store)
