"""Look: list, show, search, diff, history."""

from __future__ import annotations

from typing import Any

import click

from orchestrator.cli.completing import on_shelf, reviews_or_threads, statuses, threads_or_files
from orchestrator.cli.group import AS_JSON, THREAD, command

STATUS = click.option(
    "--status",
    multiple=True,
    shell_complete=statuses,
    help="Only debates with this status: active, synthesis, stalemate, force_closed; repeat it for several.",
)
RECIPE = click.option("--recipe", metavar="NAME", shell_complete=on_shelf("recipes"), help="Only runs of this recipe.")
SINCE = click.option("--since", metavar="DATE", help="Only debates that moved on this day or later: 2026-01-06.")
UNTIL = click.option("--until", metavar="DATE", help="Only debates that moved last on this day or earlier.")


@AS_JSON
@click.option("--limit", type=int, metavar="N", help="Only so many.")
@UNTIL
@SINCE
@RECIPE
@STATUS
@click.option("--text", help="Only debates whose id or topic holds this.")
def _list(text: str | None, limit: int | None, as_json: bool, **filters: Any) -> None:
    """List the debates, the one that moved last first.

    Examples:
        debate-hall list
        debate-hall list --status active --text kafka --json
        debate-hall list --recipe fortress --since 2026-01-01
    """
    from orchestrator.cli import listing, pager, showing

    with showing.hall() as hall:
        debates = hall.list_debates(text=text, limit=limit, **filters)
    showing.put(debates, as_json, listing.lines(debates, {"text": text, **filters}, pager.columns_of_terminal()))


@AS_JSON
@click.option("--entries", is_flag=True, help="Its ledger, a line for each entry: what `tombstone --seq` counts.")
@click.option("--open", "browse", is_flag=True, help="Open its report in the browser.")
@click.option("--no-pager", is_flag=True, help="Print it, however long it is.")
@click.option("--turn", metavar="T3", help="Only this turn.")
@THREAD
def show(thread_id: str, turn: str | None, no_pager: bool, browse: bool, entries: bool, as_json: bool) -> None:
    """Show a debate: its topic, its turns, how it ended. On a terminal it goes through PAGER, else less.

    Examples:
        debate-hall show 2026-01-06-billing
        debate-hall show 2026-01-06-billing --turn T3
        debate-hall show 2026-01-06-billing --entries
        debate-hall show 2026-01-06-billing --open
    """
    if sum((turn is not None, browse, entries)) > 1:
        raise click.UsageError("--turn, --open and --entries do not go together.")
    from orchestrator.cli import showing

    if entries:
        from orchestrator.cli import ledger_lines

        with showing.hall() as hall:
            ledger = ledger_lines.entries(hall.debate(thread_id))
        showing.put(ledger, as_json, ledger_lines.entry_lines(ledger))
    elif browse:
        from orchestrator.cli import browsing

        told, text = browsing.browse(thread_id)
        showing.put(told, as_json, text)
    else:
        showing.show(thread_id, turn, paged=not no_pager, as_json=as_json)


@AS_JSON
@click.option("--limit", type=int, default=20, show_default=True, metavar="N", help="So many hits at most.")
@UNTIL
@SINCE
@RECIPE
@STATUS
@click.option("--no-pager", is_flag=True, help="Print it, however long it is.")
@click.argument("words", nargs=-1, required=True, metavar="WORDS…")
def search(words: tuple[str, ...], no_pager: bool, limit: int, as_json: bool, **filters: Any) -> None:
    """Look for words in topics, turns, votes and decisions; the best comes first.

    All of them must occur in one text, in any order; "a phrase" stands in quotation marks, for which the shell wants
    others around them. The last word may be the beginning of one. Case and accents mean nothing. The exit code is 0
    whether something is found or not.

    Examples:
        debate-hall search kafka billing
        debate-hall search '"event log" owner' --since 2026-01-01
        debate-hall search --status stalemate broker --json
    """
    from orchestrator.cli import pager, searching, showing

    with showing.hall() as hall:
        found = hall.search_debates(" ".join(words), limit, **filters)
    columns = pager.columns_of_terminal()
    if as_json or columns is None:
        showing.put(found, as_json, searching.plain(found))
    else:
        pager.page_through(searching.typeset(found, columns), not no_pager)


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


@AS_JSON
@click.argument("name", metavar="THREAD|NAME", shell_complete=reviews_or_threads)
def history(name: str, as_json: bool) -> None:
    """Show a line of decisions, the oldest first: that of a review by its NAME, or that in which a THREAD stands.

    For each: when, what was decided, whether it supersedes or confirms the one before, what differs from that one, what
    it cost; of a review also the times at which nothing was debated, and why, and results that did not arrive.

    Examples:
        debate-hall history weekly
        debate-hall history 2026-06-01-billing --json
    """
    from orchestrator.cli import history, showing

    with showing.hall() as hall:
        line = history.line_of(hall, name)
    showing.put([step.described() for step in line], as_json, history.lines(line))


for function in (_list, show, search, diff, history):
    command(function)
