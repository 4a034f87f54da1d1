"""A debate as Markdown that people read. What models wrote stands in block quotes, which nothing in it can leave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.export.safe import quote
from orchestrator.hall.results import DebateResult, TranscriptTurn


def transcript_markdown(debate: DebateResult, first_words: Sequence[str] = ()) -> str:
    """Returns the transcript.

    Args:
        debate: as the hall tells it, with its turns.
        first_words: its marks, each with what is behind it; they quote providers.
    """
    return "\n\n".join(_blocks(debate, first_words)) + "\n"


def _blocks(debate: DebateResult, first_words: Sequence[str]) -> Iterator[str]:
    yield f"# {debate['thread_id']}"
    yield from map(quote, first_words)
    yield (
        f"{debate['status']}, {debate['turn_count']} of {debate['max_turns']} turns, round {debate['round']} of "
        f"{debate['max_rounds']}, {debate['mode']}, head `{debate['head']}`"
    )
    yield quote(debate["topic"])
    for turn in debate.get("transcript", []):
        yield f"## T{turn['turn_index'] + 1}: {turn['role']} ({turn['cognition']}), round {turn['round']}"
        yield from _speaker(turn)
        yield quote(turn["content"])
    if debate["synthesis"] is not None:
        yield "## Synthesis"
        yield quote(debate["synthesis"])
    if "reason" in debate:
        yield "## Closed by force"
        yield quote(debate["reason"])


def _speaker(turn: TranscriptTurn) -> Iterator[str]:
    """Names come from the writer of the turn too, so they are quoted."""
    names = [name for name in (turn["agent_role"], turn["model"]) if name]
    if names:
        yield quote(f"spoken by {', '.join(names)}")
