"""What is printed of a decision at a terminal: what it says first, and where all of it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio
from click.testing import Result

from building import TOPIC, account_text, hall_at, hold, plan_of, priced, speech, vote_text, wordy
from orchestrator.cli.deciding import short_decision, where_to_read, whole_decision
from orchestrator.decision.record import make_record
from orchestrator.hall.debate import Debate
from orchestrator.models.base import Request
from orchestrator.models.scripted import Scripted
from orchestrator.plan import Plan

LONG = "\n\n".join(wordy(f"Therefore step {number} comes.") for number in range(1, 13))


def held(folder: Path, plan: Plan, say: Callable[[Request], str | None]) -> Debate:
    model = Scripted(lambda request: priced(say(request) or speech(request, len(request.messages))))
    with hall_at(folder) as hall:
        return anyio.run(hold, hall, plan, model).debate


def test_a_decision_is_short_with_its_title_and_says_how_much_more_there_is(tmp_path: Path) -> None:
    plan = plan_of("speed")
    account = account_text(title="Billing moves", decision=LONG)
    debate = held(tmp_path, plan, lambda request: account if request.task.step == "account" else None)
    rows = short_decision(debate, make_record(debate, plan), plan).splitlines()
    title = rows.index("Billing moves")
    assert rows[title + 2].startswith("Therefore step 1 comes.")
    assert len(rows) == title + 2 + 15 + 1
    assert rows[-1].startswith("… ")
    assert rows[-1].endswith(" more lines")
    assert max(map(len, rows)) <= 100


def test_what_is_to_be_read_first_and_every_objection_are_told_in_full(tmp_path: Path) -> None:
    plan = plan_of("speed", consensus={"required": True, "refinements": 0})
    reason = f"It cannot be carried. {'And that is not all. ' * 30}"

    def say(request: Request) -> str | None:
        return vote_text("object", reason) if request.task.step == "vote" else None

    debate = held(tmp_path, plan, say)
    record = make_record(debate, plan)
    short, whole = (told(debate, record, plan) for told in (short_decision, whole_decision))
    assert short.startswith("STALEMATE: ")
    assert " ".join(reason.split()) in short
    assert whole.startswith(short.splitlines()[0])


def test_a_pipe_gets_all_of_it(rehearse: Callable[..., Result]) -> None:
    result = rehearse(TOPIC)
    assert "more lines" not in result.stdout
    assert "Read on" not in result.stderr


def test_it_says_where_to_read_on() -> None:
    files = (Path("out/debate.json"), Path("out/report.html"))
    assert where_to_read("x", files) == "debate-hall show x, or open out/report.html"
    assert where_to_read("x", files[:1]) == "debate-hall show x"


def test_a_debate_that_was_closed_by_force_has_none_to_shorten(tmp_path: Path) -> None:
    with hall_at(tmp_path) as hall:
        hall.init_debate("x", TOPIC)
        hall.force_close_debate("x", "No longer needed.")
        debate = hall.debate("x")
    told = [words(debate, make_record(debate, None), plan_of("speed")) for words in (short_decision, whole_decision)]
    assert told == ["No decision: x was closed by force (No longer needed.)."] * 2
