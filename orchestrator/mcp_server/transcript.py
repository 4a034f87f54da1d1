"""A debate as Markdown that people read. What models wrote stands in block quotes, which nothing in it can leave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.decision.people import named
from orchestrator.export.marks import INCOMPLETE, Told, source_of
from orchestrator.export.safe import listed, one_line, quote
from orchestrator.hall.debate import Debate
from orchestrator.hall.results import DebateResult


def transcript_markdown(debate: DebateResult, ledger: Debate) -> str:
    """Returns the transcript.

    Args:
        debate: as the hall tells it, with its turns.
        ledger: the whole of it, for what is told beside its turns.
    """
    return "\n\n".join(_blocks(debate, ledger)) + "\n"


def _blocks(debate: DebateResult, ledger: Debate) -> Iterator[str]:
    beside = Told.of(ledger)
    yield f"# {debate['thread_id']}"
    yield from map(quote, (*ledger.first_words, *beside.first))  # they quote providers
    yield (
        f"{debate['status']}, {debate['turn_count']} of {debate['max_turns']} turns, round {debate['round']} of "
        f"{debate['max_rounds']}, {debate['mode']}, head `{debate['head']}`"
    )
    yield quote(debate["topic"])
    for turn in debate.get("transcript", []):
        yield f"## T{turn['turn_index'] + 1}: {turn['role']} ({turn['cognition']}), round {turn['round']}"
        agent = turn["agent_role"]
        yield from _speaker([named(agent, turn.get("human")) if agent else None, turn["model"]])
        yield quote(beside.marked(turn["content"]))
    for word in beside.settling:
        yield f"## {word.heading}"
        yield from _speaker(word.by)
        yield quote(beside.marked(word.text))
    if debate["synthesis"] is not None:
        source = source_of(ledger)
        yield f"## Synthesis ({source})" if source else "## Synthesis"
        yield quote(beside.marked(debate["synthesis"]))
    yield from _list("Objections that stand", beside.objections)
    yield from _list(INCOMPLETE, beside.incomplete)
    if "reason" in debate:
        yield "## Closed by force"
        yield quote(debate["reason"])


def _speaker(names: Sequence[str | None]) -> Iterator[str]:
    """Names come from the writer of the words too, so they are quoted."""
    known = [name for name in names if name]
    if known:
        yield quote(f"spoken by {', '.join(known)}")


def _list(title: str, rows: Sequence[str]) -> Iterator[str]:
    if rows:
        yield f"## {title}"
        yield listed(map(one_line, rows))
