"""The example debates are those that their scripts make, to the byte, and hold what they are there to show."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from building import TOPIC
from examples.everything import everything
from examples.shelf import ALL, WRITTEN, rehearsal
from examples.stage import BRIEF, EXAMPLES, Shown
from examples.writing import COMMAND, write
from orchestrator.cli.debate_hall import debate_hall
from orchestrator.cli.run_debate import run_debate
from orchestrator.decision.constraints import Outcome
from orchestrator.hall.terms import About, Choice, Status
from orchestrator.wanted import Wanted, prepare

README = (EXAMPLES / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """The debate that has met nearly all that a debate can meet."""
    return everything(tmp_path_factory.mktemp("state"))


@pytest.mark.parametrize("name", WRITTEN)
def test_docs_examples_hold_what_the_scripts_make(name: str, tmp_path: Path) -> None:
    made = {file.name: file.read_bytes() for file in write(WRITTEN[name], tmp_path / name)}
    kept = {file.name: file.read_bytes() for file in (EXAMPLES / name).iterdir()}
    changed = sorted(file for file in made.keys() | kept.keys() if made.get(file) != kept.get(file))
    assert not changed, f"docs/examples/{name} is not what the scripts make now ({', '.join(changed)}): run {COMMAND}"


def test_the_rehearsal_is_the_one_that_the_command_makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # beside no recipe, agent or models file
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    wanted = Wanted("fortress", rehearse=True, context=[BRIEF])
    plan, ours = prepare(wanted, {}, EXAMPLES), rehearsal(tmp_path / "state").plan
    assert ours is not None
    assert plan.model_copy(update={"fence": ours.fence}) == ours


@pytest.mark.parametrize(("name", "status"), [
    ("rehearsal", Status.SYNTHESIS), ("everything", Status.SYNTHESIS), ("stalemate", Status.STALEMATE),
    ("running", Status.ACTIVE), ("forced", Status.FORCE_CLOSED), ("by-hand", Status.SYNTHESIS),
])  # fmt: skip
def test_each_ends_as_its_name_says(name: str, status: Status, tmp_path: Path) -> None:
    _, record, plan = ALL[name](tmp_path)
    assert (record.question, record.status, record.rehearsal) == (TOPIC, status, name == "rehearsal")
    assert (plan is None) == (name == "by-hand")


def test_the_commands_of_the_tour_do_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(EXAMPLES.parents[1])
    *commands, rehearsal = [shlex.split(line) for line in re.findall(r"^(?:debate-hall|run-debate) .*$", README, re.M)]
    assert [words[1] for words in commands] == ["verify", "diff", "import", "show"]
    for words in commands:
        result = CliRunner().invoke(debate_hall, words[1:])
        assert result.exit_code == 0, result.output
    monkeypatch.chdir(EXAMPLES)
    result = CliRunner().invoke(run_debate, [*rehearsal[1:], "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output


# -------------------------------------------------------------------------------------------- what "everything" holds


def test_everything_holds_constraints_of_both_natures_and_of_every_outcome(shown: Shown) -> None:
    outcomes = {one.id: (one.nature, one.blocks, one.lifted, one.outcome) for one in shown.record.constraints}
    assert outcomes == {
        "T3.C1": ("CONSTRAINT", False, False, Outcome.MET),
        "T3.C2": ("CONSTRAINT", False, False, Outcome.TRADED_OFF),
        "T3.C3": ("CONSTRAINT", False, False, Outcome.REFUTED),
        "T4.C1": ("CONSTRAINT", True, True, Outcome.MET),
        "T4.C2": ("OPPORTUNITY", True, True, Outcome.MET),
        "T9.C1": ("CONSTRAINT", False, False, Outcome.OPEN),
        "T9.C2": ("OPPORTUNITY", False, False, Outcome.OPEN),
    }
    assert [one.verdict for one in shown.record.verdicts] == ["CONDITIONAL", "BLOCKED", "CONDITIONAL"]


def test_everything_is_agreed_after_a_refinement_and_dissent_stands_all_the_same(shown: Shown) -> None:
    record = shown.record
    assert record.agreed
    assert [(vote.choice, vote.name, vote.grounded, vote.answered_in) for vote in record.votes] == [
        (Choice.APPROVE, None, True, ()),
        (Choice.OBJECT, "O1", False, ("refinement 1",)),
        (Choice.APPROVE, None, True, ()),
        (Choice.OBJECT, "O2", True, ("refinement 1",)),
        *[(Choice.APPROVE, None, True, ())] * 4,
    ]
    assert [one.id for one in record.dissent] == ["T9.C1", "T9.C2"]
    assert record.incomplete == (
        "T9.C2 is met by a sentence that is not in the synthesis: “The payments team is woken when the outbox is "
        "behind.”",
    )


def test_everything_lost_a_voice_and_had_another_one_answered_by_a_fallback(shown: Shown) -> None:
    record, late, down = shown.record, "scripted/wall-1: timed_out", "scripted/wind-1: server"
    assert [one.slot for one in shown.debate.notes(About.MISSING) for one in [one.note]] == ["R2.Wind.2"]
    assert record.degraded == (
        "Wind edge-optimizer (R2.Wind.2) is missing: scripted/wind-1: HTTP 503, the service is down",
    )
    assert [(one.turn, one.asked, one.route) for one in record.substitutions] == [
        (4, "scripted/wall-1", "scripted/wall-2")
    ]
    assert [(one.slot, one.failed) for one in record.attempts] == [
        ("R1.Wall.2", (late, late)),
        ("R2.Wind.2", (down,) * 4),
    ]


def test_everything_rests_on_evidence_and_one_citation_is_broken(shown: Shown) -> None:
    record = shown.record
    assert [(piece.id, piece.kind) for piece in record.evidence] == [
        ("E1", "file"), ("E2", "file"), ("E3", "file"), ("E4", "adr")
    ]  # fmt: skip
    assert {found.citation.strip("[").partition(":")[0] for found in record.citations} == {
        "E1", "E2", "E3", "E4", "evidence/on-call-notes.md"
    }  # fmt: skip
    assert [(found.where, found.citation, found.quote) for found in record.citations if found.problem] == [
        ("T4", "[E1:9]", "Peak load is 1,400 invoices a minute")
    ]
    assert [(one.id, one.relation) for one in record.earlier_decisions] == [("E4", "builds_on")]


def test_everything_names_what_comes_next_and_what_it_cost(shown: Shown) -> None:
    record = shown.record
    assert all((record.options, record.consequences, record.risks, record.actions, record.load_bearing))
    assert any(one.check for one in record.assumptions)
    assert (record.reversibility, record.review_by) == ("two-way", "2026-04-17")
    assert record.confidence is not None
    assert record.tokens.cached > 0
    costs = [seat.cost_usd for seat in record.seats]
    assert record.cost_usd == sum(cost for cost in costs if cost is not None)
    assert None not in costs


def test_in_everything_a_person_had_a_word_and_a_turn_was_redacted(shown: Shown) -> None:
    (remark,) = shown.debate.notes(About.REMARK)
    assert (remark.note.by, remark.entry.seq) == ("Mara Lindqvist", shown.debate.turns[6].entry.seq + 1)
    assert [line.turn.turn_index for line in shown.debate.turns if line.text is None] == [5]
    assert "an amount, which stand in no evidence" in shown.debate.turns[5].words


def test_every_word_of_everything_but_what_was_redacted_takes_no_warning_of_its_role(shown: Shown) -> None:
    warnings = shown.record.warnings
    assert [warning.partition(" ")[0] for warning in warnings] == [
        "3",  # seats that ask one model
        "T4",  # the fallback
        "T4",  # the broken citation
    ]
