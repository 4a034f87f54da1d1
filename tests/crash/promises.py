"""What must be true of a debate in the end, however many processes it took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from stage import Ended, Stage

from building import THREAD
from endpoint import Call
from orchestrator.decision.ballot import voters
from orchestrator.hall.debate import Debate
from orchestrator.hall.entries import Note, Refined, Turn, Vote
from orchestrator.hall.journal import Intent, JournalLine, Outcome
from orchestrator.plan import Plan

FILES = {"debate.json", "decision.md", "plan.yaml", "report.html", "transcript.oct.md"}
UNUSED = "unused-drafts.json"


def assert_nothing_lost_nothing_twice(stage: Stage, last: Ended) -> None:
    """Judges a debate that came to its end.

    Every planned turn stands once, in the plan's order, and so do votes, refinement and account. No question was asked
    again once it had an answer of use, and no other calls brought nothing than those that failed, and those in flight
    at the end of a process, which are told. What was counted is what was billed for the answers that were kept. The
    files are there.
    """
    assert last.code == 0, last.told
    with stage.hall() as hall:
        debate = hall.debate(THREAD)
        hall.verify_debate(THREAD)
        lines = hall.journal(THREAD)
    plan = Plan.decode(debate.plan or "")
    _assert_turns(debate, plan)
    lost = _lost(lines)
    kept = _assert_asked_once(plan, stage.server.calls, [line.text for line in _answers(lines)], lost.total())
    _assert_billed(last.outcome, kept)
    assert Counter((call["slot"], call["step"]) for call in last.outcome["uncertain"]) == lost
    noted = last.outcome["record"]["uncertain"]
    assert len(set(noted)) == len(noted) == lost.total()
    besides = {UNUSED} if any(map(is_useless, kept)) else set[str]()
    assert FILES <= {file.name for file in stage.out.iterdir()} <= FILES | besides


def _assert_turns(debate: Debate, plan: Plan) -> None:
    planned = [seat.slot for planned in plan.rounds for seat in planned.seats]
    bodies = [line.entry.body for line in debate.lines]
    spoke = [body.seat.slot for body in bodies if isinstance(body, Turn | Vote | Refined | Note) and body.seat]
    assert spoke == [*planned, *_settling(plan)]
    assert debate.state.status == "synthesis"


def _settling(plan: Plan) -> list[str]:
    """The slots after the last turn. Where there are votes, one of the first objects, and Door refines it once."""
    first, second = ([seat.slot for seat in voters(plan, ballot)] for ballot in (1, 2))
    return [*first, *(["V1.Door.1"] if first else []), *second, f"R{len(plan.rounds)}.Door.account"]


def _calls(plan: Plan) -> int:
    """The calls of a whole debate: those planned, and where there are votes, a refinement on which all vote again."""
    return plan.calls + (1 + len(plan.voters) if plan.voters else 0)


def _answers(lines: Sequence[JournalLine]) -> list[JournalLine]:
    return [line for line in lines if isinstance(line.record, Outcome) and line.record.failed is None]


def _lost(lines: Sequence[JournalLine]) -> Counter[tuple[str, str]]:
    """The slots and steps of the calls whose outcome nobody knows."""
    intents = {line.number: line.record for line in lines if isinstance(line.record, Intent)}
    for line in lines:
        if isinstance(line.record, Outcome):
            del intents[line.record.intent]
    return Counter((intent.slot, intent.step) for intent in intents.values())


def _assert_asked_once(plan: Plan, calls: Sequence[Call], answers: Sequence[str | None], lost: int) -> list[Call]:
    """Returns the calls whose answers were kept; each answer holds the number of its call.

    Of use are as many as the plan has. One that is no turn may be asked for again, and brings one question more, in
    which it is sent back.
    """
    kept = [call for call in calls if call.answer in answers]
    assert len(kept) == len(answers)
    useful = [call for call in kept if not is_useless(call)]
    assert len(useful) == _calls(plan)
    questions: dict[Any, list[Call]] = {}
    for call in calls:
        questions.setdefault(call.messages, []).append(call)
    assert _calls(plan) <= len(questions) <= _calls(plan) + len(kept) - len(useful)
    for call in useful:
        assert call == questions[call.messages][-1], f"call {call.number} was answered, and is made again"
    failed = [call for call in calls if call.finished is not None and call.answer is None]
    assert len(calls) - len(kept) - len(failed) <= lost
    return kept


def useless(call: Call) -> str:
    """An answer that is no turn."""
    return f"Call {call.number} has nothing to say."


def is_useless(call: Call) -> bool:
    return call.answer == useless(call)


def _assert_billed(outcome: Mapping[str, Any], calls: Sequence[Call]) -> None:
    read, cached, written = (sum(counts) for counts in zip(*(call.charged or () for call in calls), strict=True))
    assert outcome["tokens"] == {"input": read, "cached": cached, "output": written}
    millionths = (read - cached) + cached * Decimal("0.5") + written * 3  # `ModelServer.models_file`
    assert Decimal(outcome["cost_usd"]) == millionths / 1_000_000
