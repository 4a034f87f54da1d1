"""A debate as a page: its parts, and the page as plain text. `typeset` sets the same parts for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from orchestrator.cli.listing import marked
from orchestrator.decision.people import named
from orchestrator.decision.record import DecisionRecord
from orchestrator.errors import UsageError
from orchestrator.export.marks import INCOMPLETE, Told, Word, source_of
from orchestrator.hall.debate import Debate
from orchestrator.hall.results import DebateResult, TranscriptTurn
from orchestrator.hall.runs import Life
from orchestrator.hall.terms import Role

Kind = Literal["mark", "title", "detail", "topic", "turn", "settling", "synthesis", "list", "note"]


_DONE_BY = {"supersedes": "superseded", "confirms": "confirmed", None: "reviewed"}


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a page: a heading and what stands under it, each of which may be empty; of a list its rows."""

    kind: Kind
    heading: str = ""
    text: str = ""
    role: Role | None = None


def parts(debate: DebateResult, ledger: Debate, life: Life, later: Sequence[DecisionRecord] = ()) -> Iterator[Part]:
    """Returns a debate in parts; marks that say why they are there stand in parts of their own.

    Args:
        debate: with its transcript, or that of the turns that are wanted.
        life: what its run does.
        later: the records of the debates that start from its decision.
    """
    beside = Told.of(ledger)
    for words in (*(words for words in ledger.first_words if words not in debate["marks"]), *beside.first):
        yield Part("mark", words)
    bare = [mark for mark in debate["marks"] if mark in ledger.first_words]
    yield Part(
        "title",
        f"{marked(bare)}{debate['thread_id']}: {debate['status']}, "
        f"{debate['turn_count']} of {debate['max_turns']} turns, "
        f"round {debate['round']} of {debate['max_rounds']}, {debate['mode']}",
    )
    yield Part("detail", f"head {debate['head']}")
    if ledger.opened.link is not None:
        yield Part("detail", f"{ledger.opened.link.kind} {ledger.opened.link}")
    for record in later:
        yield Part("detail", f"{_DONE_BY[record.relation]} by {record.thread_id}")
    yield Part("topic", text=debate["topic"])
    for turn in debate.get("transcript", []):
        yield turn_part(turn, beside)
    for word in beside.settling:
        yield _settling(word, beside)
    if debate["synthesis"] is not None:
        source = source_of(ledger)
        heading = f"Synthesis ({source})" if source else "Synthesis"
        yield Part("synthesis", heading, beside.marked(debate["synthesis"]), Role.DOOR)
    yield from _listed("Objections that stand", beside.objections)
    yield from _listed(INCOMPLETE, beside.incomplete)
    yield from _ending(debate, life)


def turn_part(turn: TranscriptTurn, beside: Told) -> Part:
    speaker = turn["agent_role"] and named(turn["agent_role"], turn.get("human"))
    who = ", ".join(name for name in (speaker, turn["model"]) if name)
    heading = f"T{turn['turn_index'] + 1}  {turn['role']} ({turn['cognition']}), round {turn['round']}"
    return Part("turn", f"{heading}, {who}" if who else heading, beside.marked(turn["content"]), Role(turn["role"]))


def turn_named(debate: DebateResult, name: str) -> TranscriptTurn:
    """Returns the turn called T3, or 3.

    Raises:
        UsageError: there is none.
    """
    for turn in debate["transcript"]:
        if name.strip().upper().removeprefix("T") == str(turn["turn_index"] + 1):
            return turn
    count = len(debate["transcript"])
    raise UsageError(
        f"{debate['thread_id']} has no turn {name!r:.40}.",
        f"Its turns are T1 to T{count}." if count else "It has none.",
    )


def plain(told: Iterator[Part] | Sequence[Part]) -> str:
    """Returns a page as plain text, headings apart and what stands under them indented."""
    blocks = (block for part in told for block in (part.heading, _indented(part.text)) if block)
    return "\n\n".join(blocks) + "\n"


def _settling(word: Word, beside: Told) -> Part:
    """A vote on the synthesis, or a new synthesis after it."""
    return Part("settling", ", ".join([word.heading, *word.by]), beside.marked(word.text))


def _listed(title: str, rows: Sequence[str]) -> Iterator[Part]:
    if rows:
        yield Part("list", title, "\n".join(rows))


def _ending(debate: DebateResult, life: Life) -> Iterator[Part]:
    if "reason" in debate:
        yield Part("note", f"Closed by force: {debate['reason']}")
    if debate["next_role"]:
        yield Part("note", f"Next: {debate['next_role']}")
    if life in ("paused", "interrupted"):
        yield Part("note", f"Its run is {life}. Go on with: run-debate --resume {debate['thread_id']}")


def _indented(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.splitlines())
