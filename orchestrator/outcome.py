"""What a program is told of a debate that has ended, and can write of it."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from orchestrator import run_folder
from orchestrator.decision.record import DecisionRecord, record_of
from orchestrator.drafts import Draft
from orchestrator.hall.debate import Debate
from orchestrator.hall.terms import Status
from orchestrator.journal import Uncertain
from orchestrator.models.base import Usage
from orchestrator.plan import Plan
from orchestrator.runner import Run


@dataclass(frozen=True, slots=True)
class Outcome:
    """A debate that has ended, and what it came to.

    Args:
        debate: every entry of its ledger, verified.
        plan: the plan it followed.
        record: the decision and what it rests on.
        spent: tokens and US dollars of all its calls, those of earlier processes too.
        unused: drafts that were paid for and became no turn.
        uncertain: calls whose outcome nobody knows.
    """

    debate: Debate
    plan: Plan
    record: DecisionRecord
    spent: Usage
    unused: tuple[Draft, ...]
    uncertain: tuple[Uncertain, ...]

    @classmethod
    def of(cls, ended: Run, plan: Plan) -> Outcome:
        return cls(ended.debate, plan, record_of(ended.debate), ended.spent, ended.unused, ended.uncertain)

    @property
    def thread_id(self) -> str:
        return self.record.thread_id

    @property
    def status(self) -> Status:
        """`synthesis`, `stalemate`, or `force_closed`."""
        return self.debate.state.status

    @property
    def decision(self) -> str | None:
        """What was decided; None where nothing was."""
        return self.record.decision

    @property
    def cost_usd(self) -> Decimal | None:
        """None when any price is unknown."""
        return self.spent.cost_usd

    @property
    def degraded(self) -> bool:
        """Whether a seat that could not be heard is missing; `record.degraded` says which and why."""
        return bool(self.record.degraded)

    def files(self, formats: Collection[str] = run_folder.FORMATS) -> dict[str, str]:
        """The texts of the files that the command line leaves behind, by name.

        Args:
            formats: of `json`, `octave`, `adr`, `html`.
        """
        return run_folder.files_of(formats, self.debate, self.record)

    def write(self, folder: str | Path, formats: Collection[str] = run_folder.FORMATS) -> tuple[Path, ...]:
        """Writes those files and `plan.yaml` into a folder, which is made if it is not there; returns their paths.

        Raises:
            UsageError: the folder cannot be written, or holds the files of another run.
        """
        run_folder.require_unused(Path(os.path.expanduser(folder)))
        return run_folder.write_run(Path(folder), formats, self.debate, self.record, self.plan)
