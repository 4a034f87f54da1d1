"""What is printed of a decision: all of it, or, for somebody at a terminal, what it says first and where to read on."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from orchestrator.decision.record import DecisionRecord
from orchestrator.evidence import with_broken_marked
from orchestrator.export.marks import marks_of, objections_of, source_of
from orchestrator.hall.debate import Debate
from orchestrator.hall.terms import Status
from orchestrator.plan import Plan
from orchestrator.wording import counted

_ROWS = 15  # of a decision that is told shortly
_WIDEST = 100  # columns that are read with ease


def stands_on_a_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def whole_decision(debate: Debate, record: DecisionRecord, plan: Plan) -> str:
    """What was decided, its marks first, each broken citation marked; of a stalemate also what stands against it."""
    if not debate.synthesis:
        return _none(debate)
    told = [debate.synthesis.words, *(_against(debate, record) if record.status is Status.STALEMATE else ())]
    return "\n\n".join([*_marks(record), *(with_broken_marked(words, plan.evidence) for words in told)])


def short_decision(debate: Debate, record: DecisionRecord, plan: Plan) -> str:
    """Its marks, its title, the first lines of what was decided, and every objection that stands."""
    if not debate.synthesis:
        return _none(debate)
    words = with_broken_marked(record.summary or debate.synthesis.words, plan.evidence)
    told = [*_marks(record), *([record.title] if record.summary else []), _first_rows(words)]
    against = [with_broken_marked(words, plan.evidence) for words in _against(debate, record)]
    return "\n\n".join([*told, *against])


def where_to_read(thread_id: str, files: tuple[Path, ...]) -> str:
    """Where all of it stands."""
    page = next((str(file) for file in files if file.suffix == ".html"), None)
    return f"debate-hall show {thread_id}" + (f", or open {page}" if page else "")


def _none(debate: Debate) -> str:
    closing = debate.closing.words if debate.closing else ""
    return f"No decision: {debate.state.thread_id} was closed by force ({closing})."


def _marks(record: DecisionRecord) -> Iterator[str]:
    return map(str, marks_of(record, f"debate-hall show {record.thread_id}"))


def _against(debate: Debate, record: DecisionRecord) -> Iterator[str]:
    objections = list(objections_of(record, debate))
    source = source_of(debate)
    if objections:
        yield f"Objections that stand{f' (the synthesis is {source})' if source else ''}:"
        yield from objections


def _first_rows(words: str) -> str:
    """As many rows of a text as are read at once, and how many more there are."""
    from rich.console import Console
    from rich.text import Text

    console = Console(width=min(shutil.get_terminal_size().columns, _WIDEST))
    rows = [row.plain.rstrip() for row in Text(words.expandtabs(4)).wrap(console, console.width)]
    left = len(rows) - _ROWS
    return "\n".join(rows if left < 2 else [*rows[:_ROWS], f"… {counted(left, 'more line')}"])
