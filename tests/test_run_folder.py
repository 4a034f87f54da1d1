"""The folder of a run, and its ledger verified by somebody who knows only the documented rules."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml

from building import THREAD, TOPIC, evidence_of, flowing, hall_at, hold, plan_of, voices, wordy
from orchestrator.decision.record import make_record
from orchestrator.drafting import Draft
from orchestrator.errors import UsageError
from orchestrator.evidence import Evidence
from orchestrator.hall.hall import Hall
from orchestrator.hall.octave import parse
from orchestrator.hall.terms import Role
from orchestrator.models.base import Model, Usage
from orchestrator.models.rehearsal import Rehearsal
from orchestrator.models.scripted import Scripted
from orchestrator.plan import Changes, Plan
from orchestrator.recipe import Limits
from orchestrator.run_folder import FORMATS, keep_drafts, outline, plan_yaml, render, write_run

pytestmark = pytest.mark.anyio
ALL = {name: ["rehearsal"] for name in ("Wind", "Wall", "Door")}


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    with hall_at(tmp_path / "state") as hall:
        yield hall


async def written(hall: Hall, folder: Path, plan: Plan, model: Model | None = None) -> tuple[Path, ...]:
    """Holds a debate and writes its folder."""
    with anyio.fail_after(20):
        run = await hold(hall, plan, model or voices())
    return write_run(folder, FORMATS, run.debate, make_record(run.debate, plan), plan)


# ------------------------------------------------------------------------------------- a verifier of the ledger's rules


def sha256(*lines: str) -> str:
    return "sha256:" + hashlib.sha256("\n".join(lines).encode()).hexdigest()


def first_fault(exported: dict[str, Any]) -> str | None:
    """Checks a `debate.json` by DESIGN section 5: hashes over the stored bytes, the chain, the salted text digests."""
    ledger = exported["ledger"]
    entries = [json.loads(line["entry"]) for line in ledger]
    erased = {entry["target"]: entry for entry in entries if entry["kind"] == "tombstoned"}
    head = None
    for seq, (line, entry) in enumerate(zip(ledger, entries, strict=True)):
        if (entry["seq"], entry["thread_id"], entry.get("prev")) != (seq, exported["thread_id"], head):
            return f"entry {seq} does not follow"
        if line["hash"] != sha256("debate-hall/entry/v1", line["entry"]):
            return f"entry {seq} has another hash"
        if seq in erased:
            if line["text"] is not None or erased[seq]["original"] != entry["digest"]:
                return f"entry {seq} is not what was redacted"
        elif "digest" in entry and entry["digest"] != sha256("debate-hall/text/v1", line["salt"], line["text"]):
            return f"entry {seq} has another text"
        head = line["hash"]
    return None if exported["head"] == head else "the head is another"


@pytest.mark.parametrize("recipe", ["speed", "fortress"])
async def test_the_exported_ledger_verifies_from_its_own_content(hall: Hall, tmp_path: Path, recipe: str) -> None:
    plan = plan_of(recipe)
    await written(hall, tmp_path / "out", plan)
    exported = json.loads((tmp_path / "out" / "debate.json").read_text())
    assert first_fault(exported) is None
    assert json.loads(exported["ledger"][0]["entry"])["plan"] == sha256(
        "debate-hall/plan/v1", hall.debate(THREAD).plan or ""
    )
    turns = [line for line in exported["ledger"] if json.loads(line["entry"])["kind"] == "turn"]
    assert [line["text"] for line in turns] == [turn["content"] for turn in exported["transcript"]]


async def test_the_ledger_still_verifies_after_a_redaction(hall: Hall, tmp_path: Path) -> None:
    plan = plan_of()
    await written(hall, tmp_path / "out", plan)
    hall.tombstone_turn(THREAD, 0, "It named a customer.")
    debate = hall.debate(THREAD)
    exported = json.loads(render("json", debate, make_record(debate, plan)))
    assert first_fault(exported) is None
    assert exported["ledger"][1]["text"] is exported["ledger"][1]["salt"] is None


CHANGES: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "a text": lambda ledger: ledger[1].update(text="Never said."),
    "a role": lambda ledger: ledger[1].update(entry=ledger[1]["entry"].replace('"Wind"', '"Wall"')),
    "a dropped entry": lambda ledger: ledger.pop(2),
    "swapped entries": lambda ledger: ledger.insert(1, ledger.pop(2)),
    "a dropped end": lambda ledger: ledger.pop(),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_whoever_changes_the_export_is_found_out(hall: Hall, tmp_path: Path, change: str) -> None:
    await written(hall, tmp_path / "out", plan_of())
    exported = json.loads((tmp_path / "out" / "debate.json").read_text())
    CHANGES[change](exported["ledger"])
    assert first_fault(exported) is not None


# ------------------------------------------------------------------------------------------------------------ the files


async def test_a_run_leaves_its_decision_transcript_ledger_and_plan(hall: Hall, tmp_path: Path) -> None:
    plan = plan_of("speed", evidence=[evidence_of()])
    folder = tmp_path / "deep" / "er"
    files = await written(hall, folder, plan)
    assert [file.relative_to(folder).as_posix() for file in files] == [
        "debate.json",
        "transcript.oct.md",
        "decision.md",
        "report.html",
        "plan.yaml",
    ]
    assert sorted(folder.iterdir()) == sorted(files)
    debate = hall.debate(THREAD)
    synthesis = debate.synthesis
    assert synthesis is not None
    assert f"{synthesis.words}\n" in flowing((folder / "decision.md").read_text())
    name, transcript = parse((folder / "transcript.oct.md").read_text())
    assert (name, transcript["SYNTHESIS"], transcript["META"]["HEAD"]) == (
        "DEBATE_TRANSCRIPT",
        synthesis.words,
        debate.head,
    )
    exported = json.loads((folder / "debate.json").read_text())
    assert exported["head"] == exported["record"]["head"] == debate.head
    assert exported["record"]["decision"] == synthesis.words
    described = yaml.safe_load((folder / "plan.yaml").read_text())
    assert described["plan_hash"] == exported["record"]["plan_hash"] == plan.hash
    assert [seat["slot"] for seat in described["rounds"][0]["seats"]] == ["R1.Wind.1", "R1.Wall.1", "R1.Door.1"]
    assert described["evidence"] == [
        {"id": "E1", "kind": "file", "path": "notes.md", "lines": 2, "sha256": "sha256:0123"}
    ]


async def test_a_rehearsal_is_marked_in_every_file(hall: Hall, tmp_path: Path) -> None:
    files = await written(hall, tmp_path / "out", plan_of(routes=ALL), Rehearsal())
    ledger, transcript, decision, page, plan = (file.read_text() for file in files)
    assert "REHEARSAL" in "\n".join(decision.splitlines()[:8])
    assert "REHEARSAL" in "\n".join(transcript.splitlines()[:10])
    assert 0 < page.index("<strong>REHEARSAL</strong>") < page.index("<h2")
    assert json.loads(ledger)["record"]["rehearsal"] is yaml.safe_load(plan)["rehearsal"] is True
    assert json.loads(ledger)["record"]["decision"] is None


async def test_only_the_formats_that_were_asked_for_are_written(hall: Hall, tmp_path: Path) -> None:
    plan = plan_of()
    with anyio.fail_after(20):
        run = await hold(hall, plan, voices())
    files = write_run(tmp_path / "out", ["octave"], run.debate, make_record(run.debate, plan), plan)
    assert [file.name for file in files] == ["transcript.oct.md", "plan.yaml"]


async def test_the_transcript_keeps_the_turns_as_they_were_said_and_lists_the_citations_that_do_not_hold(
    hall: Hall, tmp_path: Path
) -> None:
    told = wordy("It is slow [E1:9].")
    plan = plan_of(evidence=[evidence_of()])
    with anyio.fail_after(20):
        run = await hold(hall, plan, Scripted(lambda request: told))
    _, transcript = parse(render("octave", run.debate, make_record(run.debate, plan)))
    assert [turn["CONTENT"] for turn in transcript["TURNS"].values()] == [told] * 3
    found = [citation for citation in transcript["RECORD"]["CITATIONS"].values() if "PROBLEM" in citation]
    assert [(each["TURN"], each["CITATION"], each["CLAIM"], each["PROBLEM"]) for each in found[:3]] == [
        (turn, "[E1:9]", "It is slow [E1:9].", "notes.md has 2 lines") for turn in (1, 2, 3)
    ]


async def test_a_folder_that_cannot_be_written_is_a_usage_error(hall: Hall, tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    with pytest.raises(UsageError, match="there is a file of that name, not a folder"):
        await written(hall, tmp_path / "out", plan_of())


def test_drafts_that_became_no_turn_are_kept_with_who_wrote_them(tmp_path: Path) -> None:
    assert keep_drafts(tmp_path, []) == ()
    seat = plan_of().rounds[0].walls[0]
    draft = Draft(seat, "checklist", "VERDICT: BLOCKED", "openai/x", "x-0102", Usage(1, 0, 1, None))
    (file,) = keep_drafts(tmp_path / "out", [draft])
    assert json.loads(file.read_text()) == [
        {
            "slot": "R1.Wall.1",
            "agent": "wall-agent",
            "step": "checklist",
            "model": "x-0102",
            "text": "VERDICT: BLOCKED",
        }
    ]


# ------------------------------------------------------------------------------------------------------------- the plan


def test_a_long_agents_name_and_its_model_are_two_words() -> None:
    plan, name = plan_of("speed"), "a" * 64
    winds = tuple(seat.model_copy(update={"agent": name}) for seat in plan.rounds[0].winds)
    renamed = plan.model_copy(update={"rounds": (plan.rounds[0].model_copy(update={"winds": winds}),)})
    assert f"  Wind {name} test/wind" in outline(renamed).splitlines()


def test_a_plan_is_a_screen_of_rounds_with_a_seat_a_line() -> None:
    plan = plan_of("fortress", evidence=[evidence_of()])
    lines = outline(plan).splitlines()
    assert lines[:2] == [
        f"fortress: {plan.recipe.summary}",
        "mediated, 9 turns in 2 rounds, Walls framework, Doors sequential",
    ]
    assert lines[3:9] == [
        "Round 1",
        "  Wind edge-optimizer         test/wind",
        "  Wall critical-engineer      test/wall  (attack surface and trust boundaries)",
        "  Wall critical-engineer      test/wall  (failure, recovery and on-call load)",
        "  Wall critical-engineer      test/wall  (cost, capacity and reversibility)",
        "  Door technical-architect    test/door",
    ]
    assert lines[-3:] == [
        "E1 notes.md, 2 lines, sha256:0123",
        "15 calls, 7 of them one after another; an answer that fails or is sent back takes one more",
        f"note: {plan.notices[0]}",
    ]


def test_a_plan_says_that_it_is_voted_on_and_may_end_early_and_what_that_means_for_its_calls() -> None:
    plan = plan_of("council", early_close=True)
    assert outline(plan).splitlines()[-4:-1] == [
        "votes: 4 voices on the synthesis, which has up to 2 refinements",
        "early close: after any round from round 1 on that leaves nothing open",
        "14 to 30 calls, at least 7 and up to 15 of them one after another; an answer that fails or is sent back takes "
        "one more",
    ]
    described = yaml.safe_load(plan_yaml(plan))
    assert described["consensus"] == {
        "required": True,
        "voters": [
            {"role": "Wind", "agent": "ideator"},
            {"role": "Wind", "agent": "edge-optimizer"},
            {"role": "Wall", "agent": "validator"},
            {"role": "Wall", "agent": "critical-engineer"},
        ],
        "refinements": 2,
    }
    assert described["early_close"] is True
    assert (described["calls"], described["longest_chain"]) == ({"least": 14, "most": 30}, {"least": 7, "most": 15})


def test_a_plan_without_votes_and_early_close_says_nothing_of_them() -> None:
    plan = plan_of("fortress")
    assert not {"votes", "early"} & set(outline(plan).replace(":", "").split())
    assert yaml.safe_load(plan_yaml(plan))["consensus"] == {"required": False, "voters": [], "refinements": 0}


def test_a_plan_of_one_round_and_one_line_counts_them_so_and_tells_an_earlier_decision() -> None:
    earlier = Evidence("E1", "adr/0001.md", "sha256:0123", "# We use a queue", kind="adr")
    lines = outline(plan_of("speed", evidence=[earlier])).splitlines()
    assert lines[1] == "fixed, 3 turns in 1 round, Walls framework, Doors sequential"
    assert lines[-2] == "E1 adr/0001.md, an earlier decision, 1 line, sha256:0123"


def test_the_plan_for_people_holds_no_text_of_the_prompts() -> None:
    plan = plan_of("fortress", evidence=[evidence_of()])
    text = plan_yaml(plan)
    for hidden in (plan.protocol, plan.fence, plan.agents["critical-engineer"].text, "first line", TOPIC):
        assert hidden not in text


def test_the_plan_for_people_says_within_which_limits_and_what_happens_at_one_and_on_failure() -> None:
    limits = Limits(cost_usd=Decimal("2.50"), tokens=90_000, seconds=600)
    plan = plan_of("fortress", limits=limits, on_failure="degrade", on_limit="close")
    described = yaml.safe_load(plan_yaml(plan))
    assert described["limits"] == {"cost_usd": "2.50", "tokens": 90_000, "seconds": 600.0}
    assert (described["on_limit"], described["on_failure"]) == ("close", "degrade")
    assert "$2.50, 90,000 tokens, 600 s" in outline(plan)
    assert "limits:" not in outline(plan_of("fortress"))


async def test_the_folder_of_a_run_that_went_on_otherwise_holds_its_plan_under_the_hash_that_is_pinned(
    hall: Hall, tmp_path: Path
) -> None:
    plan = plan_of()
    with anyio.fail_after(20):
        run = await hold(hall, plan, voices())
    changed = plan.with_changes(Changes(routes={Role.DOOR: ("test/other",)}))
    write_run(tmp_path / "out", FORMATS, run.debate, make_record(run.debate, changed), changed)
    described = yaml.safe_load((tmp_path / "out" / "plan.yaml").read_text())
    assert described["plan_hash"] == plan.hash == run.debate.opened.plan
    assert described["rounds"][0]["seats"][2]["models"] == ["test/other"]
