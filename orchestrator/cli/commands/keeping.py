"""Keep: verify, export, import, redact, close by force, sign."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from orchestrator.cli.completing import threads
from orchestrator.cli.group import A_FILE, AS_JSON, KEY_NAME, THREAD, command, debate_hall
from orchestrator.cli.help import Contents


@AS_JSON
@click.option("--head", metavar="HASH", help="A head that was kept elsewhere; it must stand in the chain.")
@click.option("--against", type=A_FILE, metavar="FILE", help="An earlier export; its entries must stand in the chain.")
@click.option("--all", "all_threads", is_flag=True, help="Every debate of the hall.")
@click.option("--file", type=A_FILE, metavar="FILE", help="All that stands in an exported file; opens no hall.")
@click.option("--public-key", metavar="KEY", help="Of --file: this key must have signed it; base64 or a file.")
@click.argument("thread_id", metavar="[THREAD]", required=False, shell_complete=threads)
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

    Examples:
        debate-hall verify --all
        debate-hall verify 2026-01-06-billing --head sha256:0a1b…
        debate-hall verify --file debate.json --public-key team.pub
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

    Examples:
        debate-hall export 2026-01-06-billing --sign --out debate.json
        debate-hall export 2026-01-06-billing --format adr --adr docs/adr
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

    Examples:
        debate-hall import debate.json
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

    Examples:
        debate-hall tombstone 2026-01-06-billing 2 --reason "names a customer"
        debate-hall tombstone 2026-01-06-billing --seq 0 --reason "names a customer"
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
    """The kill switch: close a debate at once, whatever it lacks.

    Examples:
        debate-hall force-close 2026-01-06-billing --reason "asked the wrong question"
    """
    from orchestrator.cli import showing

    with showing.hall() as hall:
        result = hall.force_close_debate(thread_id, reason)
    showing.put(result, as_json, f"{result['thread_id']} is closed by force; turns kept: {result['turn_count']}.\n")


@click.group(cls=Contents)
def key() -> None:
    """Keys that sign exports: `export --sign` signs, `verify --file` checks."""


@AS_JSON
@KEY_NAME
def key_new(name: str, as_json: bool) -> None:
    """Make an Ed25519 key, readable by you alone, and print its public half and fingerprint.

    Examples:
        debate-hall key new
    """
    from orchestrator.cli import keys

    keys.make(name, as_json)


@AS_JSON
@KEY_NAME
def key_show(name: str, as_json: bool) -> None:
    """Print the public half of a key and its fingerprint.

    Examples:
        debate-hall key show --json
    """
    from orchestrator.cli import keys

    keys.show(name, as_json)


for function in (verify, export, _import, tombstone, force_close):
    command(function)
debate_hall.add_command(key)
command(key_new, key)
command(key_show, key)
