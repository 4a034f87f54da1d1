"""`debate-hall`: look into the hall and tend it.

Each command parses, calls one function and prints. Nothing but click is loaded until there is something to do.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

import click

P = ParamSpec("P")

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
THREAD = click.argument("thread_id", metavar="THREAD")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="run-debate")
def debate_hall() -> None:
    """Look into the debate hall and tend it.

    The hall is one place for all your debates: DEBATE_HALL_STATE_DIR, else your user's state folder.

    Exit codes: 0 done, 1 internal error, 2 usage or configuration, 7 a ledger does not verify.
    """


def command(function: Callable[P, None]) -> click.Command:
    """A command of the group whose errors become a sentence and an exit code."""

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

    return debate_hall.command(name=function.__name__.strip("_").replace("_", "-"))(told)


@AS_JSON
@click.option("--status", help="Only debates with this status: active, synthesis, stalemate, force_closed.")
@click.option("--text", help="Only debates whose id or topic holds this.")
def _list(status: str | None, text: str | None, as_json: bool) -> None:
    """List the debates, the one that moved last first."""
    from orchestrator.cli import showing

    with showing.hall() as hall:
        debates = hall.list_debates(status, text)
    showing.put(debates, as_json, showing.listing(debates))


@AS_JSON
@THREAD
def show(thread_id: str, as_json: bool) -> None:
    """Show a debate: its topic, its turns, how it ended."""
    from orchestrator.cli import showing

    with showing.hall() as hall:
        debate = hall.get_debate(thread_id, include_metadata=True)
    showing.put(debate, as_json, showing.page(debate))


@AS_JSON
@click.option("--head", metavar="HASH", help="A head that was kept elsewhere; it must stand in the chain.")
@click.option("--all", "all_threads", is_flag=True, help="Every debate of the hall.")
@click.argument("thread_id", metavar="[THREAD]", required=False)
def verify(thread_id: str | None, head: str | None, all_threads: bool, as_json: bool) -> None:
    """Derive a ledger again from its first entry; exit 7 and name the first bad entry if it is not what was written."""
    from orchestrator.cli import showing

    if all_threads == (thread_id is not None) or (all_threads and head):
        raise click.UsageError("Give a THREAD (with --head, if you like), or --all.")
    with showing.hall() as hall:
        threads = [thread_id] if thread_id else [listed["thread_id"] for listed in hall.list_debates()]
        checked, broken = showing.checked(hall, threads, head)
    showing.put(checked, as_json, "".join(f"{line}\n" for line in map(showing.check, checked)))
    if broken:
        sys.exit(7)


@click.option("--format", "format", type=click.Choice(["json", "octave", "adr"]), default="json", show_default=True)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="[default: print it]")
@THREAD
def export(thread_id: str, format: str, out: Path | None) -> None:
    """Export a verified debate as JSON with its whole ledger, as OCTAVE, or as an ADR."""
    from orchestrator.cli import plain, showing

    with showing.hall() as hall:
        text = showing.exported(hall, thread_id, format)
    if out is None:
        plain.export(text)
    else:
        showing.save(out, text)


@AS_JSON
@click.option("--reason", required=True, help="Why; it stays on the ledger.")
@THREAD
@click.argument("turn_index", type=int)
def tombstone(thread_id: str, turn_index: int, reason: str, as_json: bool) -> None:
    """Delete the text of turn TURN_INDEX (0 is T1) and leave the reason; the chain still verifies."""
    from orchestrator.cli import showing

    with showing.hall() as hall:
        result = hall.tombstone_turn(thread_id, turn_index, reason)
    showing.put(result, as_json, showing.tombstoned(result))


@AS_JSON
@click.option("--reason", required=True, help="Why; it stays on the ledger.")
@THREAD
def force_close(thread_id: str, reason: str, as_json: bool) -> None:
    """The kill switch: close a debate at once, whatever it lacks."""
    from orchestrator.cli import showing

    with showing.hall() as hall:
        result = hall.force_close_debate(thread_id, reason)
    showing.put(result, as_json, f"{result['thread_id']} is closed by force; turns kept: {result['turn_count']}.\n")


@AS_JSON
def recipes(as_json: bool) -> None:
    """List the recipes, your own beside the bundled ones."""
    from orchestrator.cli import shelf

    found = shelf.recipes()
    shelf.put(found, as_json, shelf.recipe_lines(found))


@AS_JSON
def agents(as_json: bool) -> None:
    """List the agents, your own beside the bundled ones."""
    from orchestrator.cli import shelf

    found = shelf.agents()
    shelf.put(found, as_json, shelf.agent_lines(found))


@AS_JSON
@click.option("--models", default="models", metavar="NAME|FILE", help="The models file. [default: models]")
def config(models: str, as_json: bool) -> None:
    """Show every setting, its value and where it came from; never the value of a key."""
    from orchestrator.cli import shelf

    found = shelf.settings(models)
    shelf.put(found, as_json, shelf.setting_lines(found))


@click.option("--host", metavar="ADDRESS", help="Serve HTTP here; beyond this machine with a token. [127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65535), help="Serve HTTP here; 0 takes a free one. [8000]")
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The bearer token that HTTP requires. [DEBATE_HALL_TOKEN]",
)
@click.option(
    "--root",
    "roots",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Evidence may be read from here; repeat. [the working folder; over HTTP none]",
)
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Runs write here. [./debates]")
def serve(
    host: str | None, port: int | None, token_file: Path | None, roots: tuple[Path, ...], out: Path | None
) -> None:
    """Serve the hall to MCP clients: over standard input and output, or over HTTP where --host or --port say."""
    from orchestrator.cli import serving

    serving.serve(host, port, token_file, roots, out)


for function in (_list, show, verify, export, tombstone, force_close, recipes, agents, config, serve):
    command(function)


def main() -> Any:
    debate_hall()
