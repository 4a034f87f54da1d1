"""What the loopback provider says when a test does not care: turns with the structure the agents ask for, votes that
approve, an account of the decision that holds, and answers to questions about a debate."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from building import account_text, lone_text, placing_text, vote_text

if TYPE_CHECKING:
    from endpoint import Call

_ROLE = re.compile(r"\b(?:You are|you vote on it as) (Wind|Wall|Door)\b")
_WIND_SAID = re.compile(r"Option 1 of call \d+ keeps what runs today and adds one small step at a time")
_CONSTRAINTS = re.compile(r"The constraints are (T\d.*?); give each of them its outcome")
_UNANSWERED = re.compile(r"Not answered yet: (.*?)\.$", re.MULTILINE)
_OBJECTIONS = re.compile(r"^Under the heading `## OBJECTIONS` .*: (O\d.*?)\.$", re.MULTILINE)
MEETS = "Both are written until the switch, and the rehearsal is step 1."  # every constraint that `plausible` states


def plausible(call: Call) -> str:
    """A turn of the role that is asked, in which Wall quotes the newest Wind turn; a vote; an account."""
    task = task_of(call)
    if (answered := answer_to_a_brief(call)) is not None:
        return answered
    if "account for it." in task:
        return account_of(call, MEETS)
    if "Your answer stands and is not asked for again." in task:
        return placing_text()
    if task.startswith("Decide. Weigh the paths"):
        return lone_text(decision=f"Call {call.number} decides to take one step.")
    if "you vote on it" in task:
        return vote_text(reason=f"Call {call.number} can carry it.")
    if "asks about this debate after the fact" in task:
        return f"Call {call.number} answers: it was to be undone if need be [T2.C2], and so Door decided [T3]."
    asked = _ROLE.search(task)
    role = asked[1] if asked else call.model.split("-")[0].title()
    return {"Wall": _wall, "Door": _door}.get(role, _wind)(call)


def answer_to_a_brief(call: Call) -> str | None:
    """What an evaluation asks: an answer, its criticism, an opinion about one; None where it is something else."""
    if call.task.startswith("Criticise your answer"):
        return f"Call {call.number} missed what the contract says, and counted nothing."
    shape = next((text for _, text in reversed(call.messages) if "Give every key of this JSON schema" in text), "")
    if '"believed"' in shape:
        return json.dumps({"answered": ["C1"], "believed": []})
    if '"statement"' not in shape:
        return None
    members = {"reasons": ["It is the only one that no document bars."], "citations": ["[E1:1]"], "constraints": []}
    return json.dumps({**members, "option": "B", "statement": f"Call {call.number} takes option B."})


def task_of(call: Call) -> str:
    """The message that tells a seat what to do; behind it stand an answer that was sent back, and why."""
    return next((text for _, text in reversed(call.messages) if _ROLE.search(text)), call.task)


def account_of(call: Call, sentence: str) -> str:
    """The account that a call asks for, in which every constraint is met by one sentence of the synthesis."""
    told = _CONSTRAINTS.search(task_of(call))
    names = told[1].split(", ") if told else []
    answers = [{"id": name, "outcome": "met", "sentence": sentence} for name in names]
    return account_text(title=f"What call {call.number} decided", constraints=answers)


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
        f"{MEETS} What nobody asked for is left out, so that one team can carry the rest until March.\n\n"
        f"{_answers('CONSTRAINTS', _UNANSWERED, call, f'MET: {MEETS}')}"
        f"{_answers('OBJECTIONS', _OBJECTIONS, call, 'It is answered by step 1.')}"
        "## STEPS\n1. Rehearse the way back.\n2. Write both.\n3. Switch on the named day.\n"
    )


def _answers(heading: str, asked: re.Pattern[str], call: Call, answer: str) -> str:
    """A line for each name that a call asks to answer, below a heading."""
    names = asked.search(task_of(call))
    lines = [f"- [{name}] {answer}\n" for name in names[1].split(", ")] if names else []
    return f"## {heading}\n{''.join(lines)}\n" if lines else ""
