"""A brief in which everything is planted where a test can see it, and answers to it."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

from orchestrator.evaluate.answer import Answer, Answered
from orchestrator.evaluate.brief import Brief, load_brief
from orchestrator.evaluate.results import Result, Results, Spent

ID = "901-event-bus"
_FILES = {
    "adr-0012-no-new-datastores.md": "# ADR-0012: No new data stores\n\nStatus: accepted\n\nWe add no data store.\n",
    "contract.md": "# Contract\n\nAn order must be readable for seven days.\nOrders of one customer stay in order.\n",
    "load-test.md": "# Load test\n\nAt 20,000 events a second the p99 was 40 ms.\n",
    "ops.md": "# Operations\n\nBefore the audit in March there is a freeze:\nno new stateful cluster may be run.\n",
    "vendor.md": "# Vendor\n\nThe p99 is under 5 ms at any load.\n",
}
_BRIEF = f"""
id: {ID}
title: Event bus for order events
domain: messaging
question: Should we replace our outbox polling with Kafka this quarter?
difficulty: 2
options:
  - {{id: A, name: Kafka this quarter, verdict: violates, because: [C1]}}
  - {{id: B, name: keep the outbox, verdict: sound}}
  - {{id: C, name: the managed queue, verdict: sound_with, because: [C2, C3]}}
constraints:
  - id: C1
    statement: Operations may not run a new stateful cluster before the audit in March.
    where: docs/ops.md:4
    nature: CONSTRAINT
    hidden: false
    mentioned_by: ["stateful cluster", "audit", "freeze"]
  - id: C2
    statement: An order must be readable for seven days.
    where: docs/contract.md:3
    nature: CONSTRAINT
    hidden: false
    mentioned_by: ["seven days", "7 days"]
  - id: C3
    statement: The orders of one customer arrive in their order.
    where: docs/contract.md:4
    nature: CONSTRAINT
    hidden: false
    mentioned_by: ["in order", "ordering"]
  - id: C4
    statement: Nobody measures the polling delay; two timers would show it.
    where: docs/load-test.md:3
    nature: OPPORTUNITY
    hidden: false
    mentioned_by: ["two timers", "polling delay"]
false_claims:
  - id: F1
    claim: The vendor page says p99 is under 5 ms at our load.
    where: docs/vendor.md:3
    refuted_by: docs/load-test.md:3
    accepted_by: ["under 5 ms", "p99 of 5"]
conflicts:
  - {{id: D1, adr: docs/adr-0012-no-new-datastores.md, line: 5, contradicted_by: A}}
trap: Kafka is fast.
key: The freeze bars a cluster, so keep the outbox.
"""
# The documents by name: E1 the decision, E2 the contract, E3 the load test, E4 operations, E5 the vendor.


def planted(folder: Path, id: str = ID) -> Brief:
    """The brief, written below a folder and loaded."""
    home = folder / id
    (home / "docs").mkdir(parents=True, exist_ok=True)
    (home / "brief.yaml").write_text(_BRIEF.replace(ID, id).lstrip())
    for name, text in _FILES.items():
        (home / "docs" / name).write_text(text)
    return load_brief(home)


def answer(option: str = "B", *reasons: str, **members: Any) -> Answer:
    """An answer with these reasons; `constraints` are pairs of what must hold and how it does."""
    pairs = members.pop("constraints", ())
    told: dict[str, Any] = {"statement": f"We take option {option}.", "citations": (), **members}
    constraints = tuple(Answered(constraint=constraint, how=how) for constraint, how in pairs)
    return Answer(option=option, reasons=tuple(reasons), constraints=constraints, **told)


def spent(cost_usd: str | None = "0.01", seconds: float = 2.0) -> Spent:
    cost = None if cost_usd is None else Decimal(cost_usd)
    return Spent(cost_usd=cost, input=100, cached=0, output=10, calls=1, seconds=seconds)


def result(given: Answer | None, brief: str = ID, arm: str = "single", repeat: int = 1, **members: Any) -> Result:
    """A result with an answer; without one it failed, with the option `other` it is set aside."""
    outcome = "failed" if given is None else "aside" if given.option == "other" else "answered"
    return Result(
        brief=brief,
        arm=arm,
        repeat=repeat,
        answer=given,
        **{"outcome": outcome, "spent": spent(), "failure": None if given else "It fell silent.", **members},
    )


def results(*found: Result, missing: int = 0) -> Results:
    """An evaluation of these results."""
    arms, ids = dict.fromkeys(one.arm for one in found), dict.fromkeys(one.brief for one in found)
    return Results(
        briefs="briefs",
        ids=tuple(sorted(ids)),
        arms=tuple(arms),
        repeats=max(one.repeat for one in found),
        models="models",
        results=found,
        missing=missing,
    )
