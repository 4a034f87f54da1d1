"""Look: list, show, diff."""

from __future__ import annotations

import click

from orchestrator.cli.completing import statuses, threads_or_files
from orchestrator.cli.group import AS_JSON, THREAD, command


@AS_JSON
@click.option(
    "--status",
    shell_complete=statuses,
    help="Only debates with this status: active, synthesis, stalemate, force_closed.",
)
@click.option("--text", help="Only debates whose id or topic holds this.")
def _list(status: str | None, text: str | None, as_json: bool) -> None:
    """List the debates, the one that moved last first.

    Examples:
        debate-hall list
        debate-hall list --status active --text kafka --json
    """
    from orchestrator.cli import showing

    with showing.hall() as hall:
        debates = hall.list_debates(status, text)
    showing.put(debates, as_json, showing.listing(debates))


@AS_JSON
@click.option("--entries", is_flag=True, help="Its ledger, a line for each entry: what `tombstone --seq` counts.")
@THREAD
def show(thread_id: str, entries: bool, as_json: bool) -> None:
    """Show a debate: its topic, its turns, how it ended.

    Examples:
        debate-hall show 2026-01-06-billing
        debate-hall show 2026-01-06-billing --entries
    """
    from orchestrator.cli import showing

    with showing.hall() as hall:
        if entries:
            ledger = showing.entries(hall.debate(thread_id))
            showing.put(ledger, as_json, showing.entry_lines(ledger))
        else:
            debate = hall.get_debate(thread_id, include_metadata=True)
            showing.put(debate, as_json, showing.page(debate, hall.debate(thread_id)))


@AS_JSON
@click.argument("a", metavar="A", shell_complete=threads_or_files)
@click.argument("b", metavar="B", shell_complete=threads_or_files)
def diff(a: str, b: str, as_json: bool) -> None:
    """Show how two debates differ: A and B are threads, exported files, or folders that runs wrote.

    Decisions, constraints, options, objections and assumptions are matched by the likeness of their words, and nothing
    more is claimed. The exit code is 0 whether they differ or not; `--json` says all of it.

    Examples:
        debate-hall diff 2026-01-06-billing 2026-06-01-billing
    """
    from orchestrator.cli import comparing, showing

    members, text = comparing.compare(a, b)
    showing.put(members, as_json, text)


for function in (_list, show, diff):
    command(function)
