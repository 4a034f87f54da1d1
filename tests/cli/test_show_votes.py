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
        "\n\nVote of Wall: object, V1.Wall.1, validator, test/wall-0102\n\n  It names no owner."
        "\n\nRefinement 1 by Door\n\n  Therefore ops owns it.\n\nNext: Wind\n"
    )
