"""`debate-hall show` tells who voted how on the synthesis, and what Door made of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from building import THREAD, TOPIC
from orchestrator.cli.debate_hall import debate_hall
from orchestrator.hall.entries import SeatRecord
from orchestrator.hall.hall import Hall


def test_votes_and_refinements_stand_behind_the_turns_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(tmp_path / "state"))
    seat = SeatRecord(slot="V1.Wall.1", agent="validator", asked="test/wall", answered="test/wall-0102")
    with Hall.open() as hall:
        hall.init_debate(THREAD, TOPIC)
        for role in ("Wind", "Wall", "Door"):
            hall.add_turn(THREAD, role, f"I am {role}.")
        against = hall.cast_vote(THREAD, "Wall", "object", "It names no owner.", ["T3"], seat, settled_by="change")
        hall.refine(THREAD, "Therefore ops owns it.", [against["seq"]])
    shown = CliRunner().invoke(debate_hall, ["show", THREAD])
    assert shown.exit_code == 0
    _, _, after = shown.output.partition("I am Door.")
    assert after == (
        "\n\nVote of Wall on T3: object (O1), V1.Wall.1, validator, test/wall-0102\n\n  It names no owner."
        "\n\nRefinement 1 by Door\n\n  Therefore ops owns it.\n\nNext: Wind\n"
    )


def test_of_a_stalemate_stands_first_that_it_is_one_and_last_what_stands_against_it_and_what_is_incomplete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(tmp_path / "state"))
    with Hall.open() as hall:
        hall.init_debate(THREAD, TOPIC)
        hall.add_turn(THREAD, "Wind", "What if?")
        hall.add_turn(THREAD, "Wall", "VERDICT: CONDITIONAL\n\n- [C1] CONSTRAINT: Three people run it.")
        hall.add_turn(THREAD, "Door", "Therefore yes.")
        hall.cast_vote(THREAD, "Wall", "object", "Nobody owns it.", ["T1"])
        hall.cast_vote(THREAD, "Wind", "approve", "It is fine.", ["T9"])
        hall.close_debate(THREAD, "Therefore yes.", status="stalemate")
    page = CliRunner().invoke(debate_hall, ["show", THREAD]).output
    assert page.startswith(
        "STALEMATE: the objections below were not settled.\n\n"
        "INCOMPLETE: one thing in it does not hold against the ledger, or is missing; see “What is incomplete” below."
        f"\n\n{THREAD}: stalemate"
    )
    assert "Vote of Wall on T3: object (O1)\n" in page
    assert "Vote of Wind on T3: approve, which does not count: it rests on nothing that exists\n" in page
    assert page.endswith(
        "Synthesis (T3)\n\n  Therefore yes.\n\nObjections that stand\n\n  O1, Wall unnamed: Nobody owns it.\n"
        "  T2.C1, Wall unnamed: Three people run it.\n\nWhat is incomplete\n\n  T2.C1 has no outcome.\n"
    )


def test_a_debate_whose_plan_this_version_cannot_read_is_shown_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(tmp_path / "state"))
    with Hall.open() as hall:
        hall.open_run(THREAD, TOPIC, "a plan of tomorrow", "fixed", 3, 1)
        for role in ("Wind", "Wall", "Door"):
            hall.add_turn(THREAD, role, f"I am {role}.")
        hall.cast_vote(THREAD, "Wall", "object", "Nobody owns it.", ["T1"])
    page = CliRunner().invoke(debate_hall, ["show", THREAD]).output
    assert page.startswith("The pinned plan cannot be read by this version")
    assert "Vote of Wall: object\n\n  Nobody owns it." in page
