"""What `debate-hall` shows of the hall, as text for people or as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from orchestrator import run_folder
from orchestrator.cli import page, pager
from orchestrator.cli.plain import answer, json_text
from orchestrator.decision.record import DecisionRecord, record_of
from orchestrator.errors import UsageError
from orchestrator.export.marks import Told
from orchestrator.files import write_atomically
from orchestrator.hall.debate import Debate
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Status
from orchestrator.wording import visible


@contextmanager
def hall() -> Iterator[Hall]:
    with Hall.open() as opened:
        yield opened


def put(value: Any, as_json: bool, text: str) -> None:
    """Prints the value as JSON, or its text."""
    answer(json_text(value) if as_json else visible(text))


def show(thread_id: str, turn: str | None, *, paged: bool, as_json: bool) -> None:
    """Shows a debate, or one turn of it: on a terminal as a page that is well set, else as plain text.

    Args:
        paged: through a pager, where it does not fit on the terminal.

    Raises:
        DebateError
    """
    with hall() as opened:
        debate = opened.get_debate(thread_id, include_metadata=True)
        ledger = opened.debate(thread_id)
        later = [record_of(debate) for debate in opened.reviews_of(thread_id)]
        life = opened.runs.life(opened.runs.row(thread_id), debate["status"] == Status.ACTIVE)
    wanted = page.turn_named(debate, turn) if turn is not None else None
    columns = pager.columns_of_terminal()
    if as_json:
        whole = {**debate, "remarks": _remarks(ledger), "later_decisions": _later(later)}
        answer(json_text(whole if wanted is None else wanted))
        return
    parts = page.parts(debate, ledger, life, later) if wanted is None else [page.turn_part(wanted, Told.of(ledger))]
    if columns is None:
        answer(visible(page.plain(parts)))
    else:
        from orchestrator.cli.typeset import typeset  # here: it takes a while to load

        pager.page_through(typeset(parts, columns), paged)


def _remarks(debate: Debate) -> list[dict[str, Any]]:
    """The notes to the table, which stand beside the turns; Door answers those of people by their names."""
    return [
        {"name": f"N{remark.number}", "by": remark.by, "human": remark.human, "content": remark.text}
        for remark in debate.remarks
    ]


def _later(records: Sequence[DecisionRecord]) -> list[dict[str, str | None]]:
    """The debates that start from its decision, the oldest first, and what each does to it."""
    return [{"thread_id": record.thread_id, "relation": record.relation} for record in records]


def rendered(debate: Debate, format: str) -> str:
    """Returns a verified debate with the record that follows from it."""
    return run_folder.render(format, debate, record_of(debate))


def save(file: Path, text: str) -> None:
    """Writes one file, whole or not at all."""
    if not file.parent.is_dir():
        raise UsageError(f"There is no folder {file.parent}.", "Make it first, or choose another --out.")
    write_atomically(file.parent, {file.name: text})
