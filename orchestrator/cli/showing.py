"""What `debate-hall` shows of the hall, as text for people or as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from orchestrator import run_folder
from orchestrator.cli.plain import answer, json_text
from orchestrator.decision.account import Account
from orchestrator.decision.record import record_of, title_of
from orchestrator.errors import UsageError
from orchestrator.export.marks import INCOMPLETE, Told, Word, source_of
from orchestrator.files import write_atomically
from orchestrator.hall.debate import Debate
from orchestrator.hall.entries import Body, FloorGiven, Note, Vote
from orchestrator.hall.hall import Hall
from orchestrator.hall.listings import Listing
from orchestrator.hall.results import DebateResult, TranscriptTurn
from orchestrator.hall.terms import About, Status
from orchestrator.structured import Unreadable, read
from orchestrator.wording import visible


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
        f"{debate['thread_id']:<{width}}  {_standing(debate):<19}  {debate['turn_count']:>3} of {debate['max_turns']} "
        f"turns  {debate['updated_at'][:16].replace('T', ' ')}  {_marked(debate['marks'])}{title_of(debate['topic'])}\n"
        for debate in debates
    )


def _standing(debate: Listing) -> str:
    """Its status, and of a debate that a run holds, or held until it stopped, what the run does."""
    open_run = debate["status"] == Status.ACTIVE and debate["run"] != "none"
    return f"{debate['status']}, {debate['run']}" if open_run else debate["status"]


def _marked(marks: Sequence[str]) -> str:
    return "".join(f"{mark}: " for mark in marks)


def page(debate: DebateResult, ledger: Debate) -> str:
    """Returns a debate for people; marks that say why they are there stand in paragraphs of their own."""
    beside = Told.of(ledger)
    told = [*(words for words in ledger.first_words if words not in debate["marks"]), *beside.first]
    bare = [mark for mark in debate["marks"] if mark in ledger.first_words]
    parts = [
        *told,
        f"{_marked(bare)}{debate['thread_id']}: {debate['status']}, "
        f"{debate['turn_count']} of {debate['max_turns']} turns, "
        f"round {debate['round']} of {debate['max_rounds']}, {debate['mode']}",
        f"head {debate['head']}",
        _indented(debate["topic"]),
        *(_turn(turn, beside) for turn in debate.get("transcript", [])),
        *(_settling(word, beside) for word in beside.settling),
    ]
    if debate["synthesis"] is not None:
        source = source_of(ledger)
        parts += [f"Synthesis ({source})" if source else "Synthesis", _indented(beside.marked(debate["synthesis"]))]
    parts += [*_listed("Objections that stand", beside.objections), *_listed(INCOMPLETE, beside.incomplete)]
    if "reason" in debate:
        parts += [f"Closed by force: {debate['reason']}"]
    if debate["next_role"]:
        parts += [f"Next: {debate['next_role']}"]
    return "\n\n".join(parts) + "\n"


def entries(debate: Debate) -> list[dict[str, Any]]:
    """Returns a ledger entry by entry: what each says and by whom."""
    return [
        {
            "seq": line.entry.seq,
            "kind": line.entry.body.kind,
            "at": line.entry.at,
            "by": _speaker(line.entry.body),
            "says": _says(line.entry.body),
            "text": None if isinstance(line.entry.body, FloorGiven) else line.words,
            "hash": line.hash,
        }
        for line in debate.lines
    ]


def _speaker(body: Body) -> str:
    seat = getattr(body, "seat", None)
    agent = getattr(body, "agent_role", None) or (seat.agent if seat else None)
    names = (getattr(body, "role", None), agent, getattr(body, "by", None))
    return ", ".join(name for name in names if name)


def _says(body: Body) -> str | None:
    """What its words are for, where its kind does not say so: how a seat votes, what a note is about."""
    match body:
        case Vote():
            return body.choice
        case Note():
            return body.about
        case _:
            return None


def entry_lines(found: Sequence[dict[str, Any]]) -> str:
    return "".join(f"{_entry_line(entry)}\n" for entry in found)


def _entry_line(entry: dict[str, Any]) -> str:
    says = None if entry["says"] == About.REMARK else entry["says"] and entry["says"].replace("_", " ")
    said = ": ".join(part for part in (entry["by"], says, entry["text"] and _title_of(entry)) if part)
    return f"{entry['seq']:>4}  {entry['kind']:<12}  {entry['at'][:16].replace('T', ' ')}  {said}"


def _title_of(entry: dict[str, Any]) -> str:
    """What its words begin with; of an account, which is JSON, the title in it."""
    if entry["says"] == About.ACCOUNT:
        with suppress(Unreadable):
            return title_of(read(entry["text"], Account).title)
    return title_of(entry["text"])


def _turn(turn: TranscriptTurn, beside: Told) -> str:
    who = ", ".join(name for name in (turn["agent_role"], turn["model"]) if name)
    head = f"T{turn['turn_index'] + 1}  {turn['role']} ({turn['cognition']}), round {turn['round']}"
    return f"{head}{f', {who}' if who else ''}\n\n{_indented(beside.marked(turn['content']))}"


def _settling(word: Word, beside: Told) -> str:
    """A vote on the synthesis, or a new synthesis after it."""
    return f"{', '.join([word.heading, *word.by])}\n\n{_indented(beside.marked(word.text))}"


def _listed(title: str, rows: Sequence[str]) -> Iterator[str]:
    if rows:
        yield title
        yield _indented("\n".join(rows))


def _indented(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.splitlines())


def rendered(debate: Debate, format: str) -> str:
    """Returns a verified debate with the record that follows from it."""
    return run_folder.render(format, debate, record_of(debate))


def save(file: Path, text: str) -> None:
    """Writes one file, whole or not at all."""
    if not file.parent.is_dir():
        raise UsageError(f"There is no folder {file.parent}.", "Make it first, or choose another --out.")
    write_atomically(file.parent, {file.name: text})
