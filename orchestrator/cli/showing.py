"""What `debate-hall` shows of the hall, as text for people or as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from orchestrator import run_folder
from orchestrator.cli.plain import answer, json_text, visible
from orchestrator.errors import LedgerBroken, UsageError
from orchestrator.files import write_atomically
from orchestrator.hall.export import export_octave
from orchestrator.hall.hall import Hall
from orchestrator.hall.results import DebateResult, Listing, TombstoneResult, TranscriptTurn
from orchestrator.plan import Plan
from orchestrator.record import make_record, title_of


@contextmanager
def hall() -> Iterator[Hall]:
    with Hall.open() as opened:
        yield opened


def put(value: Any, as_json: bool, text: str) -> None:
    """Prints the value as JSON, or its text."""
    answer(json_text(value) if as_json else visible(text))


def listing(debates: Sequence[Listing]) -> str:
    if not debates:
        return 'No debates yet. Begin one: run-debate --rehearse "Your question?"\n'
    width = max(len(debate["thread_id"]) for debate in debates)
    return "".join(
        f"{debate['thread_id']:<{width}}  {debate['status']:<12}  {debate['turn_count']:>3} of {debate['max_turns']} "
        f"turns  {debate['updated_at'][:16].replace('T', ' ')}  {_marked(debate['marks'])}{title_of(debate['topic'])}\n"
        for debate in debates
    )


def _marked(marks: Sequence[str]) -> str:
    return "".join(f"{mark}: " for mark in marks)


def page(debate: DebateResult) -> str:
    parts = [
        f"{_marked(debate['marks'])}{debate['thread_id']}: {debate['status']}, "
        f"{debate['turn_count']} of {debate['max_turns']} turns, "
        f"round {debate['round']} of {debate['max_rounds']}, {debate['mode']}",
        f"head {debate['head']}",
        _indented(debate["topic"]),
        *(_turn(turn) for turn in debate.get("transcript", [])),
    ]
    if debate["synthesis"] is not None:
        parts += ["Synthesis", _indented(debate["synthesis"])]
    if "reason" in debate:
        parts += [f"Closed by force: {debate['reason']}"]
    if debate["next_role"]:
        parts += [f"Next: {debate['next_role']}"]
    return "\n\n".join(parts) + "\n"


def _turn(turn: TranscriptTurn) -> str:
    who = ", ".join(name for name in (turn["agent_role"], turn["model"]) if name)
    head = f"T{turn['turn_index'] + 1}  {turn['role']} ({turn['cognition']}), round {turn['round']}"
    return f"{head}{f', {who}' if who else ''}\n\n{_indented(turn['content'])}"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.splitlines())


def checked(hall: Hall, threads: Sequence[str], head: str | None) -> tuple[list[dict[str, Any]], bool]:
    """Returns what verifying each thread said, and whether any is broken."""
    results: list[dict[str, Any]] = []
    for thread_id in threads:
        try:
            results.append(dict(hall.verify_debate(thread_id, head)))
        except LedgerBroken as error:
            results.append(
                {"thread_id": error.thread_id, "verified": False, "bad_entry": error.seq, "reason": error.reason}
            )
    return results, any(not result["verified"] for result in results)


def check(result: dict[str, Any]) -> str:
    if not result["verified"]:
        where = "" if result["bad_entry"] is None else f" at entry {result['bad_entry']}"
        return f"{result['thread_id']}: BROKEN{where}: {result['reason']}"
    newer = "" if result["newer"] is None else f"; {result['newer']} entries are newer than the head you gave"
    return f"{result['thread_id']}: verified, {result['entries']} entries, head {result['head']}{newer}"


def exported(hall: Hall, thread_id: str, format: str) -> str:
    """Returns a verified debate with the record that follows from it."""
    debate = hall.debate(thread_id)
    if format == "octave":
        return export_octave(debate)
    record = make_record(debate, Plan.decode(debate.plan) if debate.plan is not None else None)
    return run_folder.render(format, debate, record)


def save(file: Path, text: str) -> None:
    """Writes one file, whole or not at all."""
    if not file.parent.is_dir():
        raise UsageError(f"There is no folder {file.parent}.", "Make it first, or choose another --out.")
    write_atomically(file.parent, {file.name: text})


def tombstoned(result: TombstoneResult) -> str:
    lines = [f"T{result['turn_index'] + 1} of {result['thread_id']} is redacted; the chain still verifies."]
    if result["also_redacted"]:
        lines.append("The synthesis that said the same is redacted with it.")
    if result["erased"] == "pending":
        lines.append("A reader keeps old pages alive: the last traces go when the hall is next opened without it.")
    lines.append("Files exported before still hold the text: export them again, or delete them.")
    return "\n".join(lines) + "\n"
