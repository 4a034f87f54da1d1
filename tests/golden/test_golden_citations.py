"""Planted citations: each is counted once, and one that does not hold is shown as broken beside its claim."""

from __future__ import annotations

from pathlib import Path

import pytest

from building import evidence_of, flowing, plan_of, vote_text
from golden.planting import Parts, door, held, objection, wall
from orchestrator.decision.evidence_used import Citation
from orchestrator.export.markdown import render_adr

pytestmark = pytest.mark.anyio

EVIDENCE = (
    evidence_of(),
    evidence_of("# Billing\n\nInvoices leave at night.\nThe ledger is the record.\n", "E2", "docs/billing.md"),
)
RIGHT = [  # the claim, its citation as the record names it, the quoted words
    ("The lines are there [E1:1-2].", "[E1:1-2]", None),
    ('It says "second line" [E1:2].', "[E1:2]", "second line"),
    ('It says so [E2:4: "The ledger is the record."].', "[E2:4]", "The ledger is the record."),
    ("A path will do [docs/billing.md:3].", "[docs/billing.md:3]", None),
    ("So will a bare name [notes.md:1].", "[notes.md:1]", None),
]
BROKEN = [  # and why it does not hold
    ("The line is not there [E1:3].", "[E1:3]", None, "notes.md has 2 lines"),
    ("Lines have an order [E1:2-1].", "[E1:2-1]", None, "line 1 stands before line 2"),
    ('It says "first line" [E1:2].', "[E1:2]", "first line", "the quoted words stand in line 1, not in 2"),
    ('It says "third line" [E1:1].', "[E1:1]", "third line", "the quoted words stand nowhere in notes.md"),
    ("The piece is not there [E9:1].", "[E9:1]", None, "there is no E9; the evidence is E1, E2"),
    ("The path ends there [docs/billing.md:5].", "[docs/billing.md:5]", None, "docs/billing.md has 4 lines"),
    (
        "There is no such file [docs/none.md:1].",
        "[docs/none.md:1]",
        None,
        "there is no docs/none.md; the evidence is E1, E2",
    ),
]
CLAIMS = [claim for claim, *_ in (*RIGHT, *BROKEN)]
ROWS = [row for claim in CLAIMS for row in (claim, "")]
FOUND = [(*right, None) for right in RIGHT] + BROKEN


def found_in(turn: int) -> list[Citation]:
    return [
        Citation(turn=turn, where=f"T{turn}", citation=citation, quote=quote, claim=claim, problem=problem)
        for claim, citation, quote, problem in FOUND
    ]


@pytest.mark.parametrize(
    ("parts", "turns"),
    [
        ({"Wall 1": wall("APPROVED", *ROWS)}, [2]),
        ({"Door 1": door(*ROWS)}, [3]),  # the debate closes with its words, which count once
        ({"Wall 1": wall("APPROVED", *ROWS), "Door 1": door(*ROWS)}, [2, 3]),
    ],
)
async def test_planted_citations_are_counted_with_their_claims(tmp_path: Path, parts: Parts, turns: list[int]) -> None:
    run = await held(tmp_path, plan_of(evidence=EVIDENCE), parts)
    assert run.record.citations == tuple(found for turn in turns for found in found_in(turn))
    assert run.record.citations_broken == len(turns) * len(BROKEN)
    told = [f"T{turn} cites {citation}: {problem}" for turn in turns for _, citation, _, problem in BROKEN]
    assert [warning for warning in run.record.warnings if " cites " in warning] == told


async def test_a_broken_citation_of_the_decision_is_broken_in_the_document_too(tmp_path: Path) -> None:
    run = await held(tmp_path, plan_of(evidence=EVIDENCE), {"Door 1": door(*ROWS)})
    document = flowing(render_adr(run.record, run.debate))
    assert document.count("(broken: ") == len(BROKEN)
    for claim, *_, problem in BROKEN:
        assert f"{claim[:-1]} (broken: {problem})." in document
    for claim, *_ in RIGHT:
        assert claim in document
    assert f"Citations: {len(FOUND)}, of which {len(BROKEN)} broken" in document


async def test_what_a_vote_and_a_refinement_cite_is_checked_and_counted_too(tmp_path: Path) -> None:
    plan = plan_of(evidence=EVIDENCE, consensus={"required": True, "refinements": 1})
    parts = {
        "vote of wall-agent": [objection("The line is not there [E1:3]."), vote_text()],
        "refine": door("## OBJECTIONS", "- [O1] It is there [E1:2], and not there [E1:4]."),
    }
    run = await held(tmp_path, plan, parts)
    assert [(each.where, each.citation, each.problem) for each in run.record.citations] == [
        ("V1.Wall.1", "[E1:3]", "notes.md has 2 lines"),
        ("refinement 1", "[E1:2]", None),
        ("refinement 1", "[E1:4]", "notes.md has 2 lines"),
    ]
    assert run.record.citations_broken == 2
