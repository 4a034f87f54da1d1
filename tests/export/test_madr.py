"""`decision.md` is an ADR as the template of MADR 4.0.0 has it (npm `madr`, template/adr-template.md)."""

from __future__ import annotations

import datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from markdown_it import MarkdownIt

from building import flowing
from export.endings import ENDINGS, Ended
from orchestrator.export.markdown import render_adr

TEMPLATE = [  # level, heading, whether it may be left out
    (1, None, False),
    (2, "Context and Problem Statement", False),
    (2, "Decision Drivers", True),
    (2, "Considered Options", False),
    (2, "Decision Outcome", False),
    (3, "Consequences", True),
    (3, "Confirmation", True),
    (2, "Pros and Cons of the Options", True),
    (2, "More Information", True),
]
MEMBERS = ["status", "date", "decision-makers", "consulted", "informed"]


@cache
def ended(name: str) -> tuple[Ended, str]:
    with TemporaryDirectory() as folder:
        found = ENDINGS[name](Path(folder) / "state")
    return found, render_adr(found.record, found.debate)


def parts_of(document: str) -> tuple[dict[str, Any], list[tuple[int, str]]]:
    """The front matter, and the headings in order with their levels."""
    front, _, body = document.removeprefix("---\n").partition("\n---\n")
    tokens = MarkdownIt("commonmark").parse(body)
    headings = [
        (int(token.tag[1]), after.content)
        for token, after in pairwise(tokens)
        if token.type == "heading_open" and token.level == 0
    ]
    return yaml.safe_load(front), headings


def section(name: str, heading: str) -> str:
    """What stands under a heading, up to the next one, each paragraph and item on one line."""
    body = flowing(ended(name)[1]).partition(f"# {heading}\n")[2]
    return body.partition("\n#")[0].strip()


each_ending = pytest.mark.parametrize("name", ENDINGS)


@pytest.mark.slow
@each_ending
def test_the_sections_are_those_of_the_template_in_its_order(name: str) -> None:
    _, headings = parts_of(ended(name)[1])
    assert headings[0][0] == 1
    assert [level for level, _ in headings].count(1) == 1
    wanted = [(level, heading) for level, heading, _ in TEMPLATE[1:]]
    there = [heading for heading in headings if heading in wanted]
    assert there == [heading for heading in wanted if heading in there]
    assert [heading for heading in wanted if heading not in there and not _may_lack(heading)] == []
    assert {heading for level, heading in headings if level == 2} <= {heading for _, heading in wanted}


def _may_lack(heading: tuple[int, str]) -> bool:
    return next(optional for level, name, optional in TEMPLATE if (level, name) == heading)


@pytest.mark.slow
@each_ending
def test_no_two_headings_are_alike_and_none_skips_a_level(name: str) -> None:
    _, headings = parts_of(ended(name)[1])
    assert len({heading for _, heading in headings}) == len(headings)
    assert all(after <= before + 1 for (before, _), (after, _) in pairwise(headings))


@pytest.mark.slow
@each_ending
def test_the_front_matter_has_members_of_the_template_with_values_of_their_kinds(name: str) -> None:
    (_, record), document = ended(name)
    front, _ = parts_of(document)
    assert list(front) == [member for member in MEMBERS if member in front]
    assert front["status"] in ("draft", "proposed", "rejected")
    assert front["date"] == datetime.date.fromisoformat(record.decided_at[:10])
    doors = [seat for seat in record.seats if seat.role == "Door"]
    if record.rehearsal:
        assert list(front) == ["status", "date"]
    else:
        assert len(front["decision-makers"]) == len(doors)
        assert len(front["consulted"]) == len(record.seats) - len(doors)
        assert all(word.startswith("Door ") for word in front["decision-makers"])


@pytest.mark.slow
@each_ending
def test_the_outcome_begins_with_the_option_that_is_chosen_or_with_why_there_is_none(name: str) -> None:
    record = ended(name)[0].record
    first = section(name, "Decision Outcome").partition("\n")[0]
    taken = [option for option in record.options if option.taken]
    if taken and record.agreed is not False:
        assert first.startswith(f'Chosen option: "{taken[0].title}", because ')
    else:
        assert first.startswith("No option is ")


@pytest.mark.slow
@each_ending
def test_the_decision_in_a_sentence_and_the_marks_stand_before_everything_else(name: str) -> None:
    (_, record), document = ended(name)
    top = flowing(document).partition("\n## ")[0]
    if record.summary:
        assert record.summary in top
    for word, marks in (("REHEARSAL", record.rehearsal), ("INCOMPLETE", record.incomplete)):
        assert (f"\n{word}: " in top) == bool(marks)


@each_ending
def test_each_constraint_stands_among_the_drivers_with_what_became_of_it(name: str) -> None:
    record = ended(name)[0].record
    drivers = section(name, "Decision Drivers").split("\n")
    if not record.constraints:
        assert drivers == ["- None stated."]
        return
    for constraint, row in zip(record.constraints, drivers, strict=True):
        assert row.startswith(f"- {constraint.id} (")
        assert f" → {constraint.outcome.replace('_', ' ')}" in row
        if constraint.outcome == "open" and record.decision:
            assert row.endswith(" → open: the decision does not answer it")
            assert " **open: " in " ".join(ended(name)[1].split())


@each_ending
def test_each_option_stands_in_the_list_and_is_weighed_below_its_own_heading(name: str) -> None:
    (_, record), document = ended(name)
    _, headings = parts_of(document)
    if not record.options:
        assert (2, "Pros and Cons of the Options") not in headings
        return
    titles = [option.title for option in record.options]
    assert section(name, "Considered Options").split("\n") == [f"- {title}" for title in titles]
    at = headings.index((2, "Pros and Cons of the Options"))
    assert headings[at + 1 : at + 1 + len(titles)] == [(3, title.rstrip(".")) for title in titles]
    for option in record.options:
        weighed = section(name, option.title.rstrip("."))
        assert f"\n- {'Good' if option.taken else 'Bad'}, because " in weighed


def test_what_stands_against_a_decision_stands_with_it_and_in_the_words_it_uses() -> None:
    name = "stalemate with dissent"
    record = ended(name)[0].record
    assert record.status == "stalemate"
    assert "- O1, Wall wall-agent: Nobody owns it [E1:7] (broken: " in section(name, "Objections that stand")
    outcome = section(name, "Decision Outcome")
    assert "No option is chosen: Wind and Wall did not agree to the synthesis.\n" in outcome
    assert 'What it would take: "Step by step", because it works.' in outcome
    assert 'says "third" [E1:2] (broken: the quoted words stand nowhere in notes.md).' in outcome
    assert "See [E9:1] (broken: " in outcome
    assert section(name, "Consequences").split("\n") == [
        "- Good, because it is good.",
        "- Neutral, because it is neutral.",
        "- Bad, because it is bad.",
    ]
    assert "- To be reviewed by 2027-01-31\n" in section(name, "Confirmation")
    assert "(broken: " in section(name, "Decision Drivers")


@each_ending
def test_every_fact_of_the_run_stands_at_the_end(name: str) -> None:
    record = ended(name)[0].record
    facts = section(name, "Ledger and cost")
    assert f"- Thread: `{record.thread_id}`" in facts
    assert f"- Head of the ledger: `{record.head}`" in facts
    assert "- Cost: " in facts
    assert len(section(name, "Seats").split("\n")) == max(1, len(record.seats))
