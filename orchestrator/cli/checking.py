"""What `debate-hall verify` does: debates of the hall, or a file, derived again and held against what was kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from orchestrator.cli.showing import hall, rendered
from orchestrator.errors import LedgerBroken, UsageError
from orchestrator.hall import exported, ledger
from orchestrator.hall.debate import Debate
from orchestrator.hall.export import export_json, export_octave
from orchestrator.hall.exported import Exported
from orchestrator.hall.hall import Hall
from orchestrator.wording import counted

_LONGEST_REASON = 400  # characters: a damaged file may hold anything, of any length

Check = dict[str, Any]  # what verifying one debate said


@dataclass(frozen=True, slots=True)
class Kept:
    """What was kept elsewhere: a head, or an earlier export of the debate; at most one of them."""

    head: str | None = None
    against: Path | None = None

    @property
    def name(self) -> str:
        return "the head you gave" if self.head is not None else str(self.against)

    def newer(self, debate: Debate) -> int | None:
        """Returns how many entries are newer than what was kept; None when nothing was.

        Raises:
            LedgerBroken: it does not stand in the debate's chain.
            UsageError: it is of another debate.
        """
        if self.head is not None:
            return ledger.require_head(debate, self.head)
        if self.against is None:
            return None
        earlier = _earlier(self.against)
        if earlier.state.thread_id != debate.state.thread_id:
            raise UsageError(
                f"{self.against} is an export of {earlier.state.thread_id}, not of {debate.state.thread_id}.",
                "Give an earlier export of the same debate.",
            )
        return exported.require_earlier(debate, earlier)


def of_hall(thread_id: str | None, kept: Kept) -> list[Check]:
    """Checks a debate of the hall: where none is named, the one that the earlier export names."""
    with hall() as opened:
        return [_checked(lambda: _of_thread(opened, thread_id or _named_by(kept), kept))]


def of_all() -> list[Check]:
    """Checks every debate of the hall."""
    with hall() as opened:
        threads = [listed["thread_id"] for listed in opened.list_debates()]
        return [_checked(partial(_of_thread, opened, thread_id, Kept())) for thread_id in threads]


def of_file(file: Path, kept: Kept, public_key: str | None) -> list[Check]:
    """Checks an exported debate and all that stands in its file; opens no hall."""
    return [_checked(lambda: _of_file(file, kept, public_key))]


def lines(checks: Sequence[Check], kept: Kept) -> str:
    """Returns a line for each check, for people."""
    return "".join(f"{_line(check, kept)}\n" for check in checks)


def _line(check: Check, kept: Kept) -> str:
    if not check["verified"]:
        where = "" if check["bad_entry"] is None else f" at entry {check['bad_entry']}"
        return f"{check['thread_id']}: BROKEN{where}: {check['reason']}"
    said = f"{check['thread_id']}: verified, {counted(check['entries'], 'entry', 'entries')}, head {check['head']}"
    if check["newer"] is not None:
        are = "is" if check["newer"] == 1 else "are"
        said += f"; {counted(check['newer'], 'entry', 'entries')} {are} newer than {kept.name}"
    if "signed_by" in check:
        said += f"; signed by the key {check['signed_by']}" if check["signed_by"] else "; not signed"
        said += ", sealed" if check["sealed"] else ""
    return said


def _checked(check: Callable[[], Check]) -> Check:
    try:
        return check()
    except LedgerBroken as error:
        reason = error.reason if len(error.reason) <= _LONGEST_REASON else f"{error.reason[:_LONGEST_REASON]}…"
        return {"thread_id": error.thread_id, "verified": False, "bad_entry": error.seq, "reason": reason}


def _named_by(kept: Kept) -> str:
    assert kept.against is not None, "the command asks for a THREAD otherwise"
    return _earlier(kept.against).state.thread_id


def _of_thread(opened: Hall, thread_id: str, kept: Kept) -> Check:
    check: Check = dict(opened.verify_debate(thread_id))
    return check | {"newer": kept.newer(opened.debate(thread_id))}


def _of_file(file: Path, kept: Kept, public_key: str | None) -> Check:
    found = read(file)
    signed_by = signer(found, public_key)
    require_told(found)
    debate = found.debate
    return {
        "thread_id": debate.state.thread_id,
        "verified": True,
        "entries": len(debate.lines),
        "head": debate.head,
        "newer": kept.newer(debate),
        "signed_by": signed_by,
        "sealed": found.sealed,
    }


def require_told(found: Exported) -> None:
    """Judges what stands beside the ledger of an export.

    Raises:
        LedgerBroken: it is not what the ledger tells.
    """
    if found.with_record:
        written = rendered(found.debate, found.format)
    else:
        written = (export_json if found.format == "json" else export_octave)(found.debate)
    exported.require_told(found, written)


def signer(found: Exported, public_key: str | None) -> str | None:
    """Returns the fingerprint of the key that signed an export; None where it is not signed, and needs not be.

    Raises:
        LedgerBroken: it is signed wrongly, by another key than the one demanded, or, where one is, not at all.
    """
    if "signature" not in found.members and public_key is None:
        return None
    from orchestrator import signing  # here, because most exports are not signed

    demanded = signing.read_public_key(public_key) if public_key is not None else None
    thread_id, head = found.debate.state.thread_id, found.debate.head
    if "signature" not in found.members:
        raise LedgerBroken(thread_id, None, "it is not signed")
    signer = signing.require_signature(found.members["signature"], thread_id, head)
    if demanded not in (None, signer):
        raise LedgerBroken(thread_id, None, f"it is signed by another key, {signer.fingerprint}")
    return signer.fingerprint


def _earlier(file: Path) -> Debate:
    try:
        found = read(file)
        signer(found, None)
    except LedgerBroken as error:
        raise LedgerBroken(error.thread_id, error.seq, f"in the earlier export {file}, {error.reason}") from error
    return found.debate


def read(file: Path) -> Exported:
    """Reads an export and verifies its ledger, and its seal if it has one.

    Raises:
        UsageError, InvalidInput: it cannot be read, or is no exported debate.
        LedgerBroken
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.") from error
    return exported.read(content, str(file))
