"""`debate-hall`: look into the hall and tend it.

Each command parses, calls one function and prints. Nothing but click is loaded until there is something to do.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

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
@click.option("--entries", is_flag=True, help="Its ledger, a line for each entry: what `tombstone --seq` counts.")
@THREAD
def show(thread_id: str, entries: bool, as_json: bool) -> None:
    """Show a debate: its topic, its turns, how it ended."""
    from orchestrator.cli import showing

    with showing.hall() as hall:
        if entries:
            ledger = showing.entries(hall.debate(thread_id))
            showing.put(ledger, as_json, showing.entry_lines(ledger))
        else:
            debate = hall.get_debate(thread_id, include_metadata=True)
            showing.put(debate, as_json, showing.page(debate, hall.debate(thread_id)))


@AS_JSON
@click.option("--head", metavar="HASH", help="A head that was kept elsewhere; it must stand in the chain.")
@click.option("--against", type=A_FILE, metavar="FILE", help="An earlier export; its entries must stand in the chain.")
@click.option("--all", "all_threads", is_flag=True, help="Every debate of the hall.")
@click.option("--file", type=A_FILE, metavar="FILE", help="All that stands in an exported file; opens no hall.")
@click.option("--public-key", metavar="KEY", help="Of --file: this key must have signed it; base64 or a file.")
@click.argument("thread_id", metavar="[THREAD]", required=False)
def verify(
    thread_id: str | None,
    head: str | None,
    against: Path | None,
    all_threads: bool,
    file: Path | None,
    public_key: str | None,
    as_json: bool,
) -> None:
    """Derive a ledger again from its first entry; exit 7 and name the first bad entry if it is not what was written.

    A whole that was rewritten or cut off shows against what you kept elsewhere: --head, --against, --public-key.
    """
    _require_one_source(thread_id, against, all_threads, file)
    if (head and against) or (all_threads and (head or against)) or (public_key and not file):
        raise click.UsageError("--head or --against goes with one debate, --public-key with --file.")
    from orchestrator.cli import checking, showing

    kept = checking.Kept(head, against)
    if file is not None:
        checks = checking.of_file(file, kept, public_key)
    else:
        checks = checking.of_all() if all_threads else checking.of_hall(thread_id, kept)
    showing.put(checks, as_json, checking.lines(checks, kept))
    if not all(check["verified"] for check in checks):
        sys.exit(7)


def _require_one_source(thread_id: str | None, against: Path | None, all_threads: bool, file: Path | None) -> None:
    named = [bool(thread_id), all_threads, file is not None]
    if sum(named) > 1 or not (any(named) or against):
        raise click.UsageError("Give a THREAD (with --head or --against, if you like), --all, or --file.")


@AS_JSON
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
def diff(a: str, b: str, as_json: bool) -> None:
    """Show how two debates differ: A and B are threads, exported files, or folders that runs wrote.

    Decisions, constraints, options, objections and assumptions are matched by the likeness of their words, and nothing
    more is claimed. The exit code is 0 whether they differ or not; `--json` says all of it.
    """
    from orchestrator.cli import comparing, showing

    members, text = comparing.compare(a, b)
    showing.put(members, as_json, text)


@click.option(
    "--format", "format", type=click.Choice(["json", "octave", "adr", "html"]), default="json", show_default=True
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="[default: print it]")
@click.option("--sign", is_flag=True, help="Sign the head, so that `verify --file` can say by whom. JSON only.")
@click.option("--key-name", metavar="NAME", help="The key that signs. [default: default]")
@click.option("--seal", is_flag=True, help="Seal the document, so that damage to it shows. OCTAVE only.")
@click.option(
    "--adr", type=click.Path(path_type=Path), metavar="DIR", help="Record it in this folder. ADR only, not with --out."
)
@THREAD
def export(
    thread_id: str, format: str, out: Path | None, sign: bool, key_name: str | None, seal: bool, adr: Path | None
) -> None:
    """Export a verified debate as JSON, OCTAVE or HTML with its whole ledger, or as an ADR.

    --adr puts it among the decision records of a folder, numbered and titled as they are, and prints where it stands.
    """
    if sign and format != "json":
        raise click.UsageError("--sign goes with --format json: only there the ledger stands that it signs.")
    if key_name is not None and not sign:
        raise click.UsageError("--key-name goes with --sign.")
    if seal and format != "octave":
        raise click.UsageError("--seal goes with --format octave; --sign signs JSON.")
    if adr is not None and (format != "adr" or out is not None):
        raise click.UsageError("--adr goes with --format adr, and in place of --out.")
    from orchestrator.cli import plain, showing

    if adr is not None:
        from orchestrator.cli import recording

        recording.export(thread_id, adr)
        return

    with showing.hall() as hall:
        text = showing.rendered(hall.debate(thread_id), format)
    if sign:
        from orchestrator.cli import keys

        text = keys.signed(text, key_name)
    if seal:
        from orchestrator.hall import octave

        text = octave.seal(text)
    if out is None:
        plain.export(text)
    else:
        showing.save(out, text)


@AS_JSON
@click.option("--ledger-only", is_flag=True, help="Take a ledger that verifies, whatever else stands in its file.")
@click.argument("files", nargs=-1, required=True, type=A_FILE, metavar="FILE…")
def _import(files: tuple[Path, ...], ledger_only: bool, as_json: bool) -> None:
    """Take in debates that were exported as JSON or OCTAVE, entry for entry; each file is verified first.

    A debate that stands here already is left as it is; one whose run has not ended is refused.
    """
    from orchestrator.cli import importing, showing

    results = importing.take_in(files, ledger_only)
    showing.put(results, as_json, importing.lines(results))


@AS_JSON
@click.option("--reason", required=True, help="Why; it stays on the ledger.")
@click.option("--seq", type=int, metavar="N", help="Any entry that has a text; `show --entries` numbers them.")
@THREAD
@click.argument("turn_index", type=int, required=False)
def tombstone(thread_id: str, turn_index: int | None, seq: int | None, reason: str, as_json: bool) -> None:
    """Delete the text of turn TURN_INDEX (0 is T1), or of entry N; leave the reason; the chain still verifies.

    What says the same again is deleted with it; what quotes it is named, with the command that deletes that too.
    """
    if (turn_index is None) == (seq is None):
        raise click.UsageError("Give TURN_INDEX or --seq N.")
    from orchestrator.cli import redacting, showing

    result, text = redacting.redact(thread_id, turn_index, seq, reason)
    showing.put(result, as_json, text)


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


@AS_JSON
@click.option("--models", default="models", metavar="NAME|FILE", help="The models file. [default: models]")
@click.option("--deep", is_flag=True, help="Also make a tiny real call to every model that can be asked.")
def doctor(models: str, deep: bool, as_json: bool) -> None:
    """Show who would speak, what each model needs and whether it is there; exit 2 when a role has no model."""
    from orchestrator.cli import doctoring

    doctoring.doctor(models, deep, as_json)


@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="[your config folder]")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def init(out: Path | None, force: bool) -> None:
    """Write a commented models file for the keys, local servers and agent CLIs that are found here."""
    from orchestrator.cli import initialising

    initialising.init(out, force)


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


@AS_JSON
@KEY_NAME
def key_new(name: str, as_json: bool) -> None:
    """Make an Ed25519 key, readable by you alone, and print its public half and fingerprint."""
    from orchestrator.cli import keys

    keys.make(name, as_json)


@AS_JSON
@KEY_NAME
def key_show(name: str, as_json: bool) -> None:
    """Print the public half of a key and its fingerprint."""
    from orchestrator.cli import keys

    keys.show(name, as_json)


for function in (
    *(_list, show, verify, diff, export, _import, tombstone, force_close),
    *(recipes, agents, config, doctor, init, serve),
):
    command(function)
command(key_new, key)
command(key_show, key)


def main() -> Any:
    debate_hall()
