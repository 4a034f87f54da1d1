"""What `debate-hall import` does: debates that were exported come into the hall, as their ledgers tell them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from orchestrator.cli import checking
from orchestrator.cli.showing import hall
from orchestrator.errors import LedgerBroken
from orchestrator.hall.debate import Debate
from orchestrator.hall.results import ImportResult
from orchestrator.wording import counted


def take_in(files: Sequence[Path], ledger_only: bool) -> list[ImportResult]:
    """Imports exported debates; each file is judged before any is taken in.

    Args:
        ledger_only: what stands beside a ledger may be told otherwise than this version tells it.
    """
    debates = [_judged(file, ledger_only) for file in files]
    with hall() as opened:
        return [opened.import_debate(debate) for debate in debates]


def lines(results: Sequence[ImportResult]) -> str:
    """Returns a line for each debate, for people."""
    return "".join(f"{_line(result)}\n" for result in results)


def _line(result: ImportResult) -> str:
    what = "imported" if result["is_new"] else "is here already"
    return f"{result['thread_id']}: {what}, {counted(result['entries'], 'entry', 'entries')}, head {result['head']}"


def _judged(file: Path, ledger_only: bool) -> Debate:
    found = checking.read(file)
    if not ledger_only:
        try:
            checking.signer(found, None)
            checking.require_told(found)
        except LedgerBroken as error:
            reason = f"{error.reason}; another version may have written {file} (--ledger-only takes its ledger alone)"
            raise LedgerBroken(error.thread_id, error.seq, reason) from error
    return found.debate
