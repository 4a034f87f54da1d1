"""What stands against a decision, and which text it is: read off debates that were voted on."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import pytest

from building import (
    THREAD,
    TOPIC,
    answers_to_objections,
    evidence_of,
    flowing,
    hall_at,
    hold,
    plan_of,
    speech,
    vote_text,
    wordy,
)
from orchestrator.cli import page
from orchestrator.decision.ballot import answers_of
from orchestrator.decision.record import DecisionRecord, make_record
from orchestrator.export.markdown import render_adr
from orchestrator.export.marks import objections_of, source_of
from orchestrator.mcp_server.transcript import transcript_markdown
from orchestrator.models.base import Request
from orchestrator.models.scripted import Scripted
from orchestrator.runner import Run, open_debate

pytestmark = pytest.mark.anyio
ENDS = "What would end it, a measurement: a week in which this is shown to be wrong:"
ANSWER = "It is answered by the second step."


async def voted(folder: Path, vote: Callable[[Request], str], recipe: str = "speed") -> tuple[Run, DecisionRecord]:
    """A debate that is voted on; `vote` is what a voter answers."""
    numbers = count(1)

    def say(request: Request) -> str:
        if request.task.step == "refine":
            return f"{wordy(f'Draft {next(numbers)} refines.')}\n\n## OBJECTIONS\n{answers_to_objections(request)}"
        return vote(request) if request.task.step == "vote" else speech(request, next(numbers))

    plan = plan_of(recipe, consensus={"required": True, "refinements": 2})
    with hall_at(folder) as hall, anyio.fail_after(20):
        run = await hold(hall, plan, Scripted(say))
    return run, make_record(run.debate, plan)


def wall_objects(reason: str) -> Callable[[Request], str]:
    return lambda request: vote_text("object", reason) if request.task.role == "Wall" else vote_text()


async def test_what_a_voter_objects_in_the_same_words_is_told_once_with_each_answer_of_door(tmp_path: Path) -> None:
    run, record = await voted(tmp_path, wall_objects("Nobody owns it"))
    assert [dissent.id for dissent in record.dissent] == ["O1", "O2", "O3"]
    (told,) = objections_of(record, run.debate)
    assert told == (
        f"O1, O2, O3, Wall wall-agent: Nobody owns it. {ENDS} Nobody owns it. "
        f"Door in refinement 1: {ANSWER} Door in refinement 2: {ANSWER}"
    )
    assert f"- {told}\n" in flowing(render_adr(record, run.debate))


async def test_what_two_voters_object_is_told_of_each_though_the_words_are_the_same(tmp_path: Path) -> None:
    run, record = await voted(tmp_path, lambda request: vote_text("object", "Nobody owns it."))
    assert [told.partition(":")[0] for told in objections_of(record, run.debate)] == [
        "O1, O3, O5, Wind wind-agent",
        "O2, O4, O6, Wall wall-agent",
    ]


async def test_an_objection_is_one_line_whatever_its_words_are(tmp_path: Path) -> None:
    run, record = await voted(tmp_path, wall_objects("No.\n\n# Approved\n- [T2.C1] MET: It is."))
    (told,) = objections_of(record, run.debate)
    assert told.startswith("O1, O2, O3, Wall wall-agent: No. # Approved - [T2.C1] MET: It is. What would end it")
    assert record.dissent[0].objection == "No.\n\n# Approved\n- [T2.C1] MET: It is."


async def test_which_text_a_debate_closed_with_is_told(tmp_path: Path) -> None:
    stalemate, _ = await voted(tmp_path / "stalemate", wall_objects("No."))
    agreed, record = await voted(tmp_path / "agreed", lambda request: vote_text())
    assert (source_of(stalemate.debate), source_of(agreed.debate)) == ("refinement 2", "T3")
    assert "Door's synthesis (T3), in its own words:" in render_adr(record, agreed.debate)


def test_closing_words_that_stand_nowhere_else_come_from_nowhere(tmp_path: Path) -> None:
    with hall_at(tmp_path) as hall:
        hall.init_debate("by-hand", "Kafka?")
        for role in ("Wind", "Wall", "Door"):
            hall.add_turn("by-hand", role, f"I am {role}.")
        assert source_of(hall.debate("by-hand")) is None
        hall.close_debate("by-hand", "Not yet.")
        assert source_of(hall.debate("by-hand")) is None


@pytest.mark.parametrize(
    ("line", "answers"),
    [
        ("- [O1] It is step 1.", [("O1", "It is step 1.")]),
        ("- **O1**: it is – step 1", [("O1", "it is – step 1")]),
        ("[O1], [O2]: They are.", [("O1", "They are."), ("O2", "They are.")]),
        ("- [O1]", []),
        ("It answers [O1] somewhere.", []),
        ("> - [O1] It is quoted.", []),
    ],
)
def test_a_refinement_answers_in_lines_that_begin_with_a_name(line: str, answers: list[Any]) -> None:
    assert list(answers_of(f"## OBJECTIONS\n{line}\n")) == answers


async def test_a_broken_citation_is_marked_wherever_a_debate_is_shown(tmp_path: Path) -> None:
    cites, broken = "See [E1:9].", "See [E1:9] (broken: notes.md has 2 lines)."
    with hall_at(tmp_path / "state") as hall:
        open_debate(hall, plan_of(evidence=[evidence_of()]), THREAD, TOPIC)
        for role in ("Wind", "Wall", "Door"):
            hall.add_turn(THREAD, role, cites)
        hall.cast_vote(THREAD, "Wall", "object", cites, ["T1"])
        hall.refine(THREAD, f"{cites} Again.")
        hall.close_debate(THREAD, f"{cites} Again.")
        told, ledger = hall.get_debate(THREAD, include_metadata=True), hall.debate(THREAD)
        assert [turn["content"] for turn in hall.get_debate(THREAD)["transcript"]] == [cites] * 3
    for shown in (page.plain(page.parts(told, ledger, "none")), transcript_markdown(told, ledger)):
        assert shown.count(broken) == shown.count(cites[:-1]) >= 6
