"""What the loopback provider says when a test does not care: turns with the structure the agents ask for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from endpoint import Call

_ROLE = re.compile(r"\bYou are (Wind|Wall|Door)\b")
_WIND_SAID = re.compile(r"Option 1 of call \d+ keeps what runs today and adds one small step at a time")


def plausible(call: Call) -> str:
    """A turn of the role that is asked; Wall quotes the newest Wind turn."""
    asked = _ROLE.search(call.task)
    role = asked[1] if asked else call.model.split("-")[0].title()
    return {"Wall": _wall, "Door": _door}.get(role, _wind)(call)


def _wind(call: Call) -> str:
    return (
        "### Option 1: stay\n"
        f"Option 1 of call {call.number} keeps what runs today and adds one small step at a time.\n\n"
        f"### Option 2: move\nOption 2 of call {call.number} moves one part and measures before it moves the next.\n\n"
        f"### Option 3: leave\nOption 3 of call {call.number} drops the part that nobody has asked for this year.\n\n"
        "## QUESTIONS\n1. What does a day without it cost?\n2. Who would notice first?\n"
    )


def _wall(call: Call) -> str:
    said = _WIND_SAID.findall(call.prompt)
    quote = f'Wind said "{said[-1]}". ' if said else ""
    return (
        f"VERDICT: CONDITIONAL\n{quote}Call {call.number} finds that it holds if the step can be undone.\n\n"
        "## EVIDENCE\n- ASSUMED: the load doubles within a year.\n\n"
        "## CONSTRAINTS\n"
        "- [C1] CONSTRAINT: No order may be lost. Reality: the ledger is the record. Violation: a step without a copy. "
        "Instead: write both, read one. Remediation: name the day of the switch.\n"
        "- [C2] OPPORTUNITY: There is no proof of a way back. Build: a rehearsal of it. Done when: it takes an hour. "
        "Remediation: Door puts it first.\n"
    )


def _door(call: Call) -> str:
    return (
        f"## SYNTHESIS\nCall {call.number} decides to take one step and to rehearse the way back before it.\n"
        "C1 is met: both are written until the switch. C2 is met: the rehearsal is step 1. What nobody asked for is "
        "left out, so that one team can carry the rest.\n\n"
        "## STEPS\n1. Rehearse the way back.\n2. Write both.\n3. Switch on the named day.\n"
    )
