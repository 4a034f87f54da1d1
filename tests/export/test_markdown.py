"""`decision.md`, read as a renderer reads it: whatever was said, the document's structure is its own."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from building import THREAD, evidence_of, flowing, hall_at, plan_of
from export.writings import HOSTILE
from orchestrator.decision.account import Action, Assumption, Consequence, Option, Risk
from orchestrator.decision.evidence_used import EarlierDecision
from orchestrator.decision.record import make_record
from orchestrator.evidence import Evidence
from orchestrator.export.lines import paragraph
from orchestrator.export.markdown import render_adr
from orchestrator.export.marks import NO_MODEL
from orchestrator.export.prose import quote
from orchestrator.export.words import code, inline, plain
from orchestrator.hall.debate import Debate
from orchestrator.hall.entries import SeatRecord
from orchestrator.hall.terms import About, Role
from orchestrator.models.rehearsal import NAME as REHEARSAL
from orchestrator.plan import Plan
from orchestrator.runner import open_debate
from orchestrator.wording import visible

MARKDOWN = MarkdownIt("commonmark").enable("table")

WHERE_NEEDED = {
    "Objections that stand",
    "What it hangs on",
    "What is incomplete",
    "Consequences",
    "First steps",
    "Earlier decisions that it touches",
    "What to know",
}
OURS = [
    "Context and Problem Statement",
    "Decision Drivers",
    "Considered Options",
    "Decision Outcome",
    "Confirmation",
    "More Information",
    "Seats",
    "Ledger and cost",
]


def debate_of(
    folder: Path,
    text: str,
    *,
    topic: str | None = None,
    name: str = "ideator",
    close: bool = True,
    plan: Plan | None = None,
) -> Debate:
    """A debate in which everybody says the same."""
    wall = f"VERDICT: BLOCKED\n- [C1] CONSTRAINT: {text}\n{text}"
    seat = SeatRecord(
        slot="R1.Wind.1", agent=name, asked=name, answered=name, route=name, lens=name, cost="0.5", tried=(name,)
    )
    with hall_at(folder) as hall:
        if plan is None:
            hall.init_debate(THREAD, text if topic is None else topic)
        else:
            open_debate(hall, plan, THREAD, text if topic is None else topic)
        hall.add_turn(THREAD, "Wind", text, agent_role=name, model=name, seat=seat)
        hall.add_turn(THREAD, "Wall", wall, agent_role=name, model=name)
        hall.add_turn(THREAD, "Door", text, agent_role=name, model=name)
        if close:
            hall.close_debate(THREAD, text)
        return hall.debate(THREAD)


def rendered(debate: Debate, plan: Plan | None = None, warnings: tuple[str, ...] = ()) -> str:
    record = make_record(debate, plan)
    return render_adr(record.model_copy(update={"warnings": (*record.warnings, *warnings)}), debate)


def body_of(document: str) -> str:
    """What follows the front matter."""
    front, _, body = document.removeprefix("---\n").partition("\n---\n")
    assert list(yaml.safe_load(front)) in (["status", "date"], ["status", "date", "decision-makers", "consulted"])
    return body


def outermost(document: str) -> list[Token]:
    return [token for token in MARKDOWN.parse(body_of(document)) if token.level == 0]


def headings(document: str) -> list[str]:
    """The headings that stand outside every quote, list and table."""
    tokens = MARKDOWN.parse(body_of(document))
    return [after.content for token, after in pairwise(tokens) if token.type == "heading_open" and token.level == 0]


def require_only_ours(document: str) -> None:
    title, *rest = headings(document)
    assert title
    assert [heading for heading in rest if heading not in WHERE_NEEDED] == OURS
    blocks = {token.type.removesuffix("_open").removesuffix("_close") for token in outermost(document)}
    assert blocks <= {"heading", "paragraph", "inline", "blockquote", "bullet_list"}
    html = [token for token in every(MARKDOWN.parse(body_of(document))) if token.type in ("html_block", "html_inline")]
    assert html == []


def every(tokens: list[Token]) -> list[Token]:
    return [found for token in tokens for found in (token, *every(token.children or []))]


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_is_said_changes_the_structure_of_the_document(tmp_path: Path, text: str) -> None:
    document = rendered(debate_of(tmp_path / "state", text), plan_of(evidence=[evidence_of()]), (f"T1: {text}",))
    require_only_ours(document)


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE)
def test_outside_of_quotes_nothing_that_is_said_becomes_a_link_or_an_image(tmp_path: Path, text: str) -> None:
    document = rendered(debate_of(tmp_path / "state", text))
    unquoted = "\n".join(line for line in body_of(document).split("\n") if not line.startswith(">"))
    links = [token.type for token in every(MARKDOWN.parse(unquoted)) if token.type in ("link_open", "image")]
    assert links == []


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_a_run_notes_changes_the_structure_of_the_document(tmp_path: Path, text: str) -> None:
    """What went wrong is told in the words of whoever was asked."""
    debate_of(tmp_path / "state", "What if?", topic="Kafka?", close=False)
    with hall_at(tmp_path / "state") as hall:
        for about in About:
            hall.note(THREAD, text, about.value, "run-debate", slot="R1.Wall.1")
        document = rendered(hall.debate(THREAD))
    require_only_ours(document)
    title, baseline, degraded, early = body_of(document).strip().split("\n\n")[:4]
    assert title == "# Kafka?"
    assert baseline.split()[0] == "**BASELINE:**"
    assert degraded.split()[0] == "**DEGRADED:**"
    assert early.split()[:2] == ["**CLOSED", "EARLY:**"]
    unquoted = "\n".join(line for line in body_of(document).split("\n") if not line.startswith(">"))
    assert not [token for token in every(MARKDOWN.parse(unquoted)) if token.type in ("link_open", "image")]


@pytest.mark.parametrize(
    "name",
    [
        "a | b",
        "a \\| b",
        "a\\",
        "<b>bold</b>",
        "# heading",
        "`code",
        "[x](http://127.0.0.1)",
        "\\[x](http://127.0.0.1)",
        "**bold",
        "--- ",
    ],
)
def test_no_name_can_leave_its_place(tmp_path: Path, name: str) -> None:
    document = rendered(debate_of(tmp_path / "state", "What if?", name=name))
    require_only_ours(document)
    assert len([row for row in section(document, "Seats") if row.startswith("- ")]) == 3
    assert not [token for token in every(MARKDOWN.parse(body_of(document))) if token.type in ("link_open", "image")]
    assert len(yaml.safe_load(document.split("---\n")[1])["consulted"]) == 2


LINES = st.sampled_from(
    [
        "```",
        "````",
        "~~~",
        "- ```",
        "  ```",
        "> ```",
        "    ```",
        "<b>",
        "</blockquote>",
        "<!--",
        "# x",
        "---",
        "",
        "x",
        "- y",
    ]
)


@pytest.mark.slow
@given(lines=st.lists(LINES, max_size=8))
@settings(max_examples=400, deadline=None)
def test_no_sequence_of_lines_leaves_a_quote_or_becomes_html(lines: list[str]) -> None:
    tokens = MARKDOWN.parse(f"before\n\n{quote(chr(10).join(['said', *lines]))}\n\nafter\n")
    assert [token.type for token in tokens if token.level == 0] == [
        "paragraph_open",
        "paragraph_close",
        "blockquote_open",
        "blockquote_close",
        "paragraph_open",
        "paragraph_close",
    ]
    assert not [token for token in every(tokens) if token.type in ("html_block", "html_inline")]


@given(text=st.text() | st.sampled_from(["\x1b[2J", "\u202eevil"]))
@settings(deadline=None)
def test_nothing_that_steers_a_terminal_is_left_of_what_is_said(text: str) -> None:
    for shown in (quote(text), *map(paragraph, (inline(text), code(text), plain(text)))):
        assert visible(shown) == shown


def test_a_control_character_is_shown_as_it_is_on_standard_output(tmp_path: Path) -> None:
    document = rendered(debate_of(tmp_path / "state", "A \x1b[31mred\x07 word.", topic="Kafka?"))
    assert visible(document) == document
    assert "> A ␛\\[31mred␇ word." in document
    assert "- T1, ideator, round 1: A ␛\\[31mred␇ word." in document


def test_a_path_stands_in_the_list_of_evidence_as_it_is(tmp_path: Path) -> None:
    plan = plan_of(evidence=[evidence_of(path="app/[id]/<page>.tsx")])
    document = rendered(debate_of(tmp_path / "state", "What if?"), plan)
    codes = [token.content for token in every(MARKDOWN.parse(body_of(document))) if token.type == "code_inline"]
    assert "app/[id]/<page>.tsx" in codes


def test_behind_a_citation_that_does_not_hold_stands_why_in_the_decision_and_in_the_options(tmp_path: Path) -> None:
    text = 'It is the "first line" [E1:1], not the "third" [E1:2].'
    plan = plan_of(evidence=[evidence_of()])
    document = rendered(debate_of(tmp_path / "state", text, topic="Kafka?", plan=plan), plan)
    marked = f"{text[:-1]} (broken: the quoted words stand nowhere in notes.md)."
    document = flowing(document)
    assert f"in its own words:\n\n{marked}\n" in document
    assert f"- T1, ideator, round 1: {marked}\n" in document
    assert "- Citations: 8, of which 4 broken" in document  # Wall says it twice


# ----------------------------------------------------------------------------------------------- how a debate ended


def front_of(document: str) -> str:
    return document.split("\n")[1]


def test_a_synthesis_is_proposed(tmp_path: Path) -> None:
    document = rendered(debate_of(tmp_path / "state", "Therefore an outbox."))
    assert front_of(document) == "status: proposed"
    assert "Door's synthesis (T3), in its own words:\n\n> Therefore an outbox." in document


def test_an_open_debate_is_a_draft_that_has_decided_nothing(tmp_path: Path) -> None:
    document = rendered(debate_of(tmp_path / "state", "Therefore an outbox.", close=False))
    assert front_of(document) == "status: draft"
    assert "## Decision Outcome\n\nNo option is chosen: the debate is not closed.\n" in document


def test_a_debate_closed_by_force_is_rejected_and_says_why(tmp_path: Path) -> None:
    debate_of(tmp_path / "state", "Therefore an outbox.", close=False)
    with hall_at(tmp_path / "state") as hall:
        hall.force_close_debate(THREAD, "Enough.\n# Approved")
        document = rendered(hall.debate(THREAD))
    assert front_of(document) == "status: rejected"
    assert "**CLOSED BY FORCE:** there is no decision." in document
    assert "No option is chosen. The debate was closed by force: Enough. # Approved" in document
    require_only_ours(document)


def test_a_rehearsal_is_a_draft_that_says_so_and_claims_no_decision(tmp_path: Path) -> None:
    plan = plan_of(routes={role: (REHEARSAL,) for role in Role})
    debate = debate_of(tmp_path / "state", "What must be known?", plan=plan)
    document = rendered(debate, plan)
    assert rendered(debate).startswith("---\nstatus: draft\n")  # the mark stands in the ledger, not in the plan
    assert front_of(document) == "status: draft"
    assert flowing(document).split("\n\n")[2] == str(NO_MODEL)
    assert "Door's synthesis" not in document
    assert "No option is chosen: a rehearsal decides nothing.\n" in document
    assert "Door's worksheet closes with the questions that a decision must answer:" in document


def test_a_redacted_turn_shows_its_mark_only(tmp_path: Path) -> None:
    debate_of(tmp_path / "state", "The customer is Acme, as everybody in this room knows.", topic="Kafka?")
    with hall_at(tmp_path / "state") as hall:
        hall.tombstone_turn(THREAD, 0, "It named a customer.")  # and what says the same
        document = rendered(hall.debate(THREAD))
    assert "Acme" not in document
    assert "\\[REDACTED: It named a customer.]" in document
    require_only_ours(document)


def test_an_unknown_cost_is_said_and_a_known_one_is_in_dollars(tmp_path: Path) -> None:
    document = rendered(debate_of(tmp_path / "state", "What if?", name="ideator"))
    costs = [row.rpartition(", ")[2] for row in section(document, "Seats")]
    assert costs == ["$0.5000", "cost unknown", "cost unknown"]
    assert "- Cost: unknown (not every price is known)" in document


# -------------------------------------------------------------------------------------------- what Door accounted for


ADR = Evidence("E2", "adr/0001-queue.md", "sha256:4567", "# We use a queue\n\nBilling writes to a queue.\n", kind="adr")
ACCOUNT: dict[str, Any] = {
    "summary": "Billing moves to Kafka, one table at a time.",
    "options": (
        Option(title="Stay", turns=(1,), taken=False, why="It is slow.", because=("T2.C1", "T9.C1")),
        Option(title="Move", turns=(3, 42), taken=True, why="It is fast.", because=()),
    ),
    "consequences": (Consequence(kind="good", what="Faster."), Consequence(kind="bad", what="Kafka must be run.")),
    "risks": (Risk(what="Loss.", mitigation="T3 says how."),),
    "actions": (Action(what="Rehearse it.", who="ops", by="March"), Action(what="Switch.", who=None, by=None)),
    "assumptions": (
        Assumption(what="The load doubles.", check="psql -c 'select 1'"),
        Assumption(what="It holds.", check=None),
    ),
    "earlier_decisions": (
        EarlierDecision(
            id="E2", path=ADR.path, relation="supersedes", theirs="Billing writes to a queue.", ours="It is moved."
        ),
        EarlierDecision(id="E2", path=ADR.path, relation="builds_on", theirs="We use a queue", ours="It is kept."),
    ),
}


def accounted(folder: Path, **changes: Any) -> str:
    plan = plan_of(evidence=[evidence_of(), ADR])
    debate = debate_of(folder, "It is moved. It is kept.", topic="Kafka?", plan=plan)
    record = make_record(debate, plan)
    return render_adr(record.model_copy(update={"incomplete": (), **ACCOUNT, **changes}), debate)


def section(document: str, heading: str) -> list[str]:
    """The lines under a heading that are not blank, each item on one line."""
    _, _, rest = flowing(document).partition(f"# {heading}\n")
    lines = rest.split("\n")
    end = next((at for at, line in enumerate(lines) if line.startswith("#")), len(lines))
    return [line for line in lines[:end] if line]


def test_the_decision_in_a_sentence_stands_under_the_title_and_what_is_to_be_said_of_it(tmp_path: Path) -> None:
    document = accounted(tmp_path / "state", incomplete=("T2.C1 has no outcome.",))
    assert flowing(body_of(document)).strip().split("\n\n")[:4] == [
        "# Kafka?",
        "INCOMPLETE: one thing in it does not hold against the ledger, or is missing; see “What is incomplete” below.",
        "Billing moves to Kafka, one table at a time.",
        "## Context and Problem Statement",
    ]
    assert section(document, "What is incomplete") == ["- T2.C1 has no outcome."]


def test_several_things_that_are_incomplete_are_many(tmp_path: Path) -> None:
    document = accounted(tmp_path / "state", incomplete=("One.", "Two."))
    assert "2 things in it do not hold against the ledger, or are missing; see" in flowing(document)


def test_earlier_decisions_are_quoted_and_are_told_from_other_evidence(tmp_path: Path) -> None:
    document = accounted(tmp_path / "state")
    assert section(document, "Earlier decisions that it touches") == [
        "- Supersedes E2 `adr/0001-queue.md`: “Billing writes to a queue.” – “It is moved.”",
        "- Builds on E2 `adr/0001-queue.md`: “We use a queue” – “It is kept.”",
    ]
    assert section(document, "Context and Problem Statement")[-2:] == [
        "- E1 `notes.md` (sha256:0123)",
        "- E2 `adr/0001-queue.md`, an earlier decision (sha256:4567)",
    ]


def test_the_parts_of_what_door_accounts_for_are_set_apart(tmp_path: Path) -> None:
    document = accounted(tmp_path / "state")
    assert section(document, "Consequences") == [
        "- Good, because Faster.",
        "- Bad, because Kafka must be run.",
        "- Bad, because of a risk: Loss – mitigation: T3 says how.",
    ]
    assert section(document, "First steps") == ["- Rehearse it (ops, March)", "- Switch."]
    assert section(document, "Confirmation")[:2] == [
        "- Assumption: The load doubles – check: `psql -c 'select 1'`",
        "- Assumption: It holds.",
    ]


def test_what_an_option_rests_on_and_is_not_there_is_marked(tmp_path: Path) -> None:
    document = accounted(tmp_path / "state")
    assert section(document, "Considered Options") == ["- Stay", "- Move"]
    assert section(document, "Stay") == [
        "Not taken; raised in T1.",
        "- Bad, because it is slow. (T2.C1, T9.C1, which there is not)",
    ]
    assert section(document, "Move") == ["Taken; raised in T3, T42, which there is not.", "- Good, because it is fast."]
