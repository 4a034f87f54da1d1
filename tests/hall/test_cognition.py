from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.hall.cognition import Nature, findings, read_wall
from orchestrator.hall.terms import Role
from orchestrator.hall.verdict import Verdict

CONTRACT = Path(__file__).parents[2] / "docs" / "wall-content-contract.oct.md"

WIND = """### Option 1: Freeze the schema
Nothing moves until spring.

### Option 2: Publish from an outbox
One transaction.

## QUESTIONS
- Who owns the outbox at night?
"""

WALL = """VERDICT: BLOCKED
Invoices would leave before the ledger is written.

## EVIDENCE
- [E1:12-18] "the auditor reads the ledger, not the topic".

## CONSTRAINTS
- [C1] CONSTRAINT: An invoice must be in the ledger before it leaves. Reality: the auditor reads only the ledger \
[E1:12-18]. Violation: T1 says "publish first and let the ledger catch up later". Instead: write an outbox row in one \
transaction. Remediation: name who owns the outbox.
- [C2] OPPORTUNITY: There is no proof that a replay does not bill twice. Build: a test that replays one day. \
Done when: both sums agree. Remediation: Door puts it before the first step.
"""

DOOR = """## SYNTHESIS
A modular monolith, extracted when the team grows.

## STEPS
1. Draw the boundaries.
2. Move billing behind one.
"""


def says(found: tuple[str, ...], *starts: str) -> bool:
    return len(found) == len(starts) and all(map(str.startswith, found, starts))


# ── Wind ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "content",
    [
        WIND,
        "- Stay with the queue we have\n- Move billing to Kafka\n\nWhat would a rollback cost?",
        "* What if we kept it?\n* What if we dropped it?",
        "1. Keep it running\n2. Drop it\n\nWhy now?",
        "**Option A** keep everything\n\n**Option B** drop everything\n\nWho pays?",
        "What if we kept the queue?\n\nWhat if we had none?",
        "## The obvious path\nText.\n## A bolder idea\nText.\nHow many invoices a day?",
        "- 保留现有的队列\n- 迁移到新的系统\n\n谁来负责夜间值班？",
        "### Option 1\nKeep the queue.\n### Option 2\nDrop the queue.\nWhich one is cheaper to undo?",
        "# 1. Keep the queue\r\n# 2. Drop the queue\r\n- alpha beta\r\n- gamma delta\r\nWhich one?\r\n",
    ],
)
def test_options_and_a_question_are_found_in_the_forms_models_write(content: str) -> None:
    assert findings(Role.WIND, content) == ()


@pytest.mark.parametrize(
    "content",
    [
        "-\n-\n?",
        "- \n- \n- \n ? ?",
        "- a\n- b\n- ?",
        "1.\n2.\n3.\n?",
        "### Option 1\n### Option 2\n?",
        "",
        "options questions",
        "- TBD\n- none\n?!",
        "***\n---\n???",
    ],
)
def test_bare_markers_are_neither_options_nor_questions(content: str) -> None:
    assert says(findings(Role.WIND, content), "Several options are missing", "A question is missing")


@pytest.mark.parametrize(
    "content",
    [
        "- Keep the queue\n\nWhat would it cost?",
        "- Keep the queue\n- keep  the QUEUE\n\nWhat would it cost?",
        "- Who owns it at night?\n- What does a replay cost?",
        "- Keep the queue\n  - because it works\n  - because it is paid for\n\nWhat would it cost?",
        "```\n- Keep the queue\n- Drop the queue\n```\nWhat would it cost?",
        "> - Keep the queue\n> - Drop the queue\n\nWhat would it cost?",
        "We have several options. What would they cost?",
    ],
)
def test_one_option_its_details_a_repetition_questions_and_quoted_lists_are_not_several_options(content: str) -> None:
    assert says(findings(Role.WIND, content), "Several options are missing")


@pytest.mark.parametrize(
    "tail",
    [
        "?",
        "Cost ?x",
        "See https://example.org/a?b=1 for it.",
        "> What would it cost?",
        "~~~\nWhat is it?\n~~~",
        "Ask: ??",
    ],
)
def test_a_question_mark_without_a_question_before_it_is_no_question(tail: str) -> None:
    assert says(findings(Role.WIND, f"- Keep the queue\n- Drop the queue\n\n{tail}"), "A question is missing")


# ── Wall: verdict and evidence ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("opening", "verdict"),
    [
        ("VERDICT: APPROVED", Verdict.APPROVED),
        ("VERDICT: BLOCKED", Verdict.BLOCKED),
        ("verdict: conditional", Verdict.CONDITIONAL),
        ("\n\n  VERDICT: BLOCKED", Verdict.BLOCKED),
        ("## VERDICT: BLOCKED", Verdict.BLOCKED),
        ("### VERDICT\nBLOCKED", Verdict.BLOCKED),
        ("### VERDICT\n\n**BLOCKED** because it cannot be undone", Verdict.BLOCKED),
        ("VERDICT\n=======\nCONDITIONAL", Verdict.CONDITIONAL),
        ("**Verdict:** Blocked", Verdict.BLOCKED),
        ("**VERDICT: CONDITIONAL**", Verdict.CONDITIONAL),
        ("__Verdict__: _BLOCKED_", Verdict.BLOCKED),
        ("*Verdict*: `BLOCKED`", Verdict.BLOCKED),
        ("[VERDICT] BLOCKED", Verdict.BLOCKED),
        ("[VERDICT: BLOCKED]", Verdict.BLOCKED),
        ("VERDICT::BLOCKED", Verdict.BLOCKED),
        ("- **Verdict** — BLOCKED", Verdict.BLOCKED),
        ("🛑 VERDICT: 🔴 BLOCKED", Verdict.BLOCKED),
        ("Final verdict: APPROVED.", Verdict.APPROVED),
        ("VERDICT: APPROVED (nothing stands against it)", Verdict.APPROVED),
        ("VERDICT: APPROVED because the load test holds", Verdict.APPROVED),
        ("VERDICT: BLOCKED, but not for ever", Verdict.BLOCKED),
        ("VERDICT: CONDITIONAL on an owner for the outbox", Verdict.CONDITIONAL),
        ("VERDICT: CONDITIONALLY APPROVED", Verdict.CONDITIONAL),
        ("VERDICT: BLOCKED\nThis is not APPROVED.", Verdict.BLOCKED),
        ("# Wall, round 2\n\nVERDICT: BLOCKED", Verdict.BLOCKED),
        ("Yes, but…\n\nVERDICT: BLOCKED", Verdict.BLOCKED),
        ("\u202bVERDICT: BLOCKED", Verdict.BLOCKED),
        ("\ufeffVERDICT: BLOCKED\r\n", Verdict.BLOCKED),
    ],
)
def test_a_verdict_is_read_in_the_forms_models_write(opening: str, verdict: Verdict) -> None:
    assert read_wall(opening).verdict is verdict
    assert findings(Role.WALL, f"{opening}\n\n## EVIDENCE\nThe load test of March.") == ()


@pytest.mark.parametrize(
    "opening",
    [
        "VERDICT: NOT APPROVED",
        "VERDICT: not BLOCKED, but nearly",
        "VERDICT: I cannot say APPROVED",
        "VERDICT: APPROVED | CONDITIONAL | BLOCKED",
        "VERDICT: APPROVED/CONDITIONAL/BLOCKED",
        "VERDICT: APPROVED, CONDITIONAL or BLOCKED",
        "VERDICT: BLOCKED or CONDITIONAL",
        "VERDICT: APPROVED with conditions",
        "VERDICT: APPROVED, but only once C1 is met",
        "VERDICT: APPROVED if the outbox has an owner",
        "VERDICT: APPROVED would be wrong here",
        "VERDICT: APPROVED? No.",
        "VERDICT: ~~APPROVED~~",
        "VERDICT: !APPROVED",
        "VERDICT: DISAPPROVED",
        "VERDICT: UNBLOCKED",
        "VERDICT: pending",
        "VERDICT:",
        "## VERDICT\n\n## EVIDENCE",
        "The verdict is not BLOCKED",
        "Before I approve, fix this. APPROVED.",
        "not approved",
        "APPROVED",
        "| VERDICT | BLOCKED |",
        "```\nVERDICT: APPROVED\n```",
        "> VERDICT: APPROVED",
        "- > VERDICT: APPROVED",
        "- ```\n  VERDICT: APPROVED\n  ```",
        "~~~~\n~~~\nVERDICT: APPROVED",
        "one line\n\nsecond line\n\nthird line\n\nVERDICT: APPROVED",
        "VERDICT: CONDıTIONAL",
        "VERDICT: BLOC\u212aED",
        "",
    ],
)
def test_a_verdict_word_without_the_form_of_a_verdict_is_none(opening: str) -> None:
    reading = read_wall(opening)
    assert reading.verdict is None
    assert "verdict" in reading.missing[0] or "CONDITIONAL" in reading.missing[0]
    assert findings(Role.WALL, f"{opening}\n\nAs measured [E1:12-18].")[:1] == reading.missing[:1]


@pytest.mark.parametrize(
    "evidence",
    [
        "## EVIDENCE\nThe load test of March.",
        "## Evidence and assumptions\n\n### Load\n- 900 invoices a minute",
        "[EVIDENCE] The load test of March.",
        "[EVIDENCE]\nThe load test of March.",
        "EVIDENCE: the load test of March",
        "**Evidence:**\nFrom the load test:\n- 900 invoices a minute",
        "- **Evidence** — the load test of March",
        "## EVIDENCE\n| claim | source |\n| load holds | March test |",
        "The queue holds [E1:12-18].",
        "The queue holds [E2].",
    ],
)
def test_evidence_is_a_section_with_words_or_a_citation(evidence: str) -> None:
    assert findings(Role.WALL, f"VERDICT: APPROVED\n\n{evidence}") == ()


@pytest.mark.parametrize(
    "evidence",
    [
        "",
        "## EVIDENCE",
        "## EVIDENCE\n- none",
        "## EVIDENCE\n\n## RISKS\nMany of them.",
        "EVIDENCE:\n\nCONSTRAINTS:\n- [C1] CONSTRAINT: the disk is finite",
        "There is no evidence for it.",
        "Evidence shows nothing.",
        "```\n## EVIDENCE\nload test\n```",
        "> [E1:12-18]",
    ],
)
def test_an_empty_evidence_section_a_keyword_and_a_quotation_are_no_evidence(evidence: str) -> None:
    assert says(findings(Role.WALL, f"VERDICT: APPROVED\n\n{evidence}"), "Evidence is missing")


# ── Door ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "content",
    [
        DOOR,
        "Therefore, a modular monolith.\n\n1) Draw the boundaries.\n2) Move billing.",
        "### Step 1: Draw the boundaries\n### Step 2: Move billing\n\n**Synthesis:** a modular monolith",
        "### 1. Draw the boundaries\n### 2. Move billing\n\nDECISION: a modular monolith",
        "**1. Draw** the boundaries\n**2. Move** billing\n[SYNTHESIS] a modular monolith",
        "(1) Draw the boundaries\n(2) Move billing\nBoth are right. Therefore a modular monolith.",
        "1. Draw the boundaries\n1. Move billing\n\n# Therefore: a modular monolith",
    ],
)
def test_steps_and_a_synthesis_are_found_in_the_forms_models_write(content: str) -> None:
    assert findings(Role.DOOR, content) == ()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "1.\n2.\ntherefore",
        "Step 1:\nStep 2:\n## SYNTHESIS",
        "- a step\n- a step\nand therefore it holds",
        "Therefore: …",
    ],
)
def test_bare_numbers_and_a_bare_therefore_are_neither_steps_nor_synthesis(content: str) -> None:
    assert says(findings(Role.DOOR, content), "Numbered steps are missing", "A synthesis is missing")


@pytest.mark.parametrize("steps", ["1. Draw them.", "1. Draw them.\n2. draw THEM.", "3.5 GB of memory\n4.5 GB of disk"])
def test_fewer_than_two_different_numbered_steps_are_too_few(steps: str) -> None:
    assert says(findings(Role.DOOR, f"Therefore we stay.\n\n{steps}"), "Numbered steps are missing")


# ── The Wall content contract ────────────────────────────────────────────────────────────────────────────────────────


def test_a_whole_wall_turn_is_read_and_lacks_nothing() -> None:
    reading = read_wall(WALL)
    assert (reading.verdict, reading.missing) == (Verdict.BLOCKED, ())
    first, second = reading.constraints
    assert (first.id, first.nature) == ("C1", Nature.CONSTRAINT)
    assert first.statement == "An invoice must be in the ledger before it leaves."
    assert first.text == WALL.splitlines()[7]
    assert (second.id, second.nature) == ("C2", Nature.OPPORTUNITY)
    assert second.statement == "There is no proof that a replay does not bill twice."
    assert findings(Role.WALL, WALL) == ()


def test_the_contract_s_own_examples_pass_and_its_bad_ones_do_not() -> None:
    page = CONTRACT.read_text(encoding="utf-8")
    good = re.findall(r"```\n( *VERDICT: .*?)\n *```", page, re.DOTALL)
    assert len(good) == 2
    for example in good:
        assert read_wall(example).missing == ()
        assert findings(Role.WALL, example) == ()
    bad = re.findall(r'^ *"([^"]+)" {3,}', page, re.MULTILINE)
    assert len(bad) >= 4
    for example in bad:
        assert read_wall(f"VERDICT: BLOCKED\n{example}" if example.startswith("- [C1]") else example).missing != ()


LISTED = """VERDICT: CONDITIONAL

**CONSTRAINTS**
- **[C1] CONSTRAINT — The disk of the broker is finite.**
  - **What violates it:** keeping events for ever
  - *Reality*: 2 TB, bought in March
  - **Where to go instead** — compact the topic
  - `Remediation request`:
    state the retention
"""

HEADED = """VERDICT: CONDITIONAL

## Constraints

### [C1] (OPPORTUNITY): Nobody has shown a replay
#### What to build
A replay test.
```
[C9] inside code
```
#### How to tell it is done
The sums agree.
#### Remediation
Put it first.

## Later
Words.
"""

FLAT = """VERDICT: CONDITIONAL
[C1] The disk is finite (CONSTRAINT)
Reality: 2 TB.
Violated by: keeping events for ever.
Go instead: compact the topic.
Remediation: state the retention.
"""

LABELLED = """VERDICT: CONDITIONAL
* [C1] The disk is finite
  Type: CONSTRAINT
  Reality: 2 TB; violated by: keeping events; Instead: compact it

## REMEDIATION
- [C1] State the retention.
"""

BEFORE = """VERDICT: CONDITIONAL
1. CONSTRAINT [C1]: The disk is finite. Fact: 2 TB. Violation: keeping events. Instead: compact.
2. OPPORTUNITY [C2]: No replay test. Build: one. Done when: sums agree.

REMEDIATION: answer both.
"""


@pytest.mark.parametrize(
    ("content", "natures"),
    [
        (LISTED, ["CONSTRAINT"]),
        (HEADED, ["OPPORTUNITY"]),
        (FLAT, ["CONSTRAINT"]),
        (LABELLED, ["CONSTRAINT"]),
        (BEFORE, ["CONSTRAINT", "OPPORTUNITY"]),
    ],
)
def test_constraints_are_read_in_the_layouts_models_write(content: str, natures: list[str]) -> None:
    reading = read_wall(content)
    assert [constraint.nature for constraint in reading.constraints] == natures
    assert reading.missing == ()


@pytest.mark.parametrize(
    ("line", "nature", "statement"),
    [
        ("- [C1] CONSTRAINT: Disks are finite", "CONSTRAINT", "Disks are finite"),
        ("* [C1] CONSTRAINT: Disks are finite", "CONSTRAINT", "Disks are finite"),
        ("- **[C1]** CONSTRAINT Disks are finite", "CONSTRAINT", "Disks are finite"),
        ("- **[C1] CONSTRAINT:** Disks are finite", "CONSTRAINT", "Disks are finite"),
        ("- **[C1] CONSTRAINT: Disks are finite.** More.", "CONSTRAINT", "Disks are finite. More."),
        ("- [C1] (OPPORTUNITY) No replay test", "OPPORTUNITY", "No replay test"),
        ("- [C1] [OPPORTUNITY] No replay test", "OPPORTUNITY", "No replay test"),
        ("- [C1] **Constraint:** Disks are finite", "CONSTRAINT", "Disks are finite"),
        ("- [C1] CONSTRAINT (hard): Disks are finite", "CONSTRAINT", "Disks are finite"),
        ("- [C1]: Disks are finite (CONSTRAINT).", "CONSTRAINT", "Disks are finite"),
        ("- `[C1]` CONSTRAINT: `a_b` is 2 ** 8", "CONSTRAINT", "`a_b` is 2 ** 8"),
        ("- [C1] Constraint on memory is 2 GB", None, "Constraint on memory is 2 GB"),
        ("- [C1] not a CONSTRAINT at all", None, "not a CONSTRAINT at all"),
        ("- [C1] CONSTRAINT | OPPORTUNITY: Disks are finite", None, None),
        ("- [C1] CONSTRAINT or OPPORTUNITY: Disks are finite", None, None),
    ],
)
def test_nature_and_statement_are_told_apart(line: str, nature: str | None, statement: str | None) -> None:
    (constraint,) = read_wall(f"VERDICT: CONDITIONAL\n{line}").constraints
    assert constraint.nature == nature
    assert statement is None or constraint.statement == statement
    assert constraint.text == line


@pytest.mark.parametrize(
    "line",
    [
        "| [C1] | CONSTRAINT |",
        "> - [C1] CONSTRAINT: quoted",
        "as [C1] says",
        "- T3.C1 is met",
        "- [T3.C1] is met",
        "C1: x",
    ],
)
def test_cells_quotations_and_references_state_no_constraint(line: str) -> None:
    assert read_wall(f"VERDICT: APPROVED\n{line}").constraints == ()


def test_a_constraint_lacks_each_part_it_does_not_say() -> None:
    bare = read_wall(
        "VERDICT: BLOCKED\n- [C1] CONSTRAINT: Disks are finite. Reality: TBD. Instead:\n- [C2] OPPORTUNITY:"
    )
    assert bare.missing == (
        "C1 does not say what reality makes it immutable: add `Reality: …` to it.",
        "C1 does not say what violates it: add `Violation: …` to it.",
        "C1 does not say where to go instead: add `Instead: …` to it.",
        "C1 asks for no remediation: add `Remediation: …` to it.",
        "C2 states nothing: say in one sentence what holds, `- [C2] CONSTRAINT: …`.",
        "C2 does not say what to build: add `Build: …` to it.",
        "C2 does not say how to tell that it is done: add `Done when: …` to it.",
        "C2 asks for no remediation: add `Remediation: …` to it.",
    )


def test_a_block_without_nature_and_remediation_is_incomplete() -> None:
    reading = read_wall("VERDICT: BLOCKED\n- [C1] Too risky")
    assert says(reading.missing, "C1 does not say what it is", "C1 asks for no remediation")


@pytest.mark.parametrize("verdict", ["BLOCKED", "CONDITIONAL"])
def test_a_verdict_that_objects_states_a_constraint(verdict: str) -> None:
    assert says(read_wall(f"VERDICT: {verdict}. Too risky.").missing, f"{verdict} without a constraint")


def test_an_approval_needs_neither_constraints_nor_remediation() -> None:
    assert read_wall("VERDICT: APPROVED").missing == ()
    improved = "VERDICT: APPROVED\n- [C1] OPPORTUNITY: No replay test. Build: a test. Done when: the sums agree."
    assert read_wall(improved).missing == ()


def test_an_id_stated_twice_is_reported_and_no_constraint_is_dropped() -> None:
    line = "- [C1] OPPORTUNITY: No test. Build: a test. Done when: sums agree.\n"
    reading = read_wall("VERDICT: APPROVED\n" + line + line)
    assert len(reading.constraints) == 2
    assert says(reading.missing, "C1 is stated 2 times")


def test_an_id_under_a_later_heading_refers_to_its_constraint() -> None:
    later = "\n## WHAT WOULD CHANGE MY MIND\n- [C1] an audit that reads the topic\n- [C2] a replay\n"
    assert read_wall(WALL + later) == read_wall(WALL)
    headless = WALL.replace("## CONSTRAINTS\n", "")
    assert read_wall(headless + later).missing == ()


def test_an_id_out_of_nowhere_is_reported_and_one_of_an_earlier_turn_is_not() -> None:
    assert says(
        read_wall(WALL + "\nThis rests on [C7] and T3.C9 and [T3.C8].").missing, "C7 is mentioned but not stated"
    )


# ── Laws ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

PIECES = [
    "VERDICT:", "verdict", "BLOCKED", "APPROVED", "CONDITIONAL", "|", "/", "[C1]", "[C2]", "[", "]",
    "CONSTRAINT", "OPPORTUNITY", "(", ")", "**", "*", "_", "`", "```", "~~~", ">", "#", "## ", "- ", "1. ",
    "(2) ", "\n", "\r\n", "\r", "  ", "\t", ":", "::", "—", "Reality", "Violation", "Instead", "Remediation",
    "Done when", "EVIDENCE", "Evidence", "SYNTHESIS", "Therefore", "Option 1", "What if", "?", "？", ".", "…",
    "ı", "\u212a", "ſ", "İ", "\u202e", "\u2028", "\x00", "\x85", "👩\u200d🚀", "²", "①", "٣.", "---", "===",
]  # fmt: skip
anything = st.one_of(
    st.text(), st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=40).map("".join)
)


@given(anything)
def test_any_text_is_read_and_read_the_same_way_twice(text: str) -> None:
    for wall in (text, f"VERDICT: BLOCKED\n- [C1] {text}"):
        assert read_wall(wall) == read_wall(wall)
    for role in Role:
        assert findings(role, text) == findings(role, text)


@given(anything, st.sampled_from([(Role.WIND, WIND), (Role.WALL, WALL), (Role.DOOR, DOOR)]))
def test_a_turn_that_shows_all_still_does_with_more_behind_it(text: str, shown: tuple[Role, str]) -> None:
    role, content = shown
    assert findings(role, f"{content}\n\n## Appendix\n{text}") == ()


@given(anything)
def test_text_in_a_code_fence_shows_nothing(text: str) -> None:
    fenced = f"{'`' * 60}\n{text}\n{'`' * 60}\n"
    for role in Role:
        assert findings(role, fenced) == findings(role, "")
    assert read_wall(fenced + WALL).missing == ()


SIZE = 256 * 1024
HOSTILE = [
    " ", "\n", "\t", "-", "- ", "# ", "* ", "_", "`", "```\n", "~", ">", "> ", "|", "[", "]", "(", ")", ":",
    "?", "??a", ".", ". ", "1", "1.", "1. ", "a", "A", "A ", "é", "[C1]", "- [C1]\n", "[C1] ", "[E1:", "[E1]",
    "Reality", "Reality ", "Reality: ", "Reality:\n", "Build\n", "Evidence:\n", "## Evidence\n", "VERDICT ",
    "my ", "or ", "and ", "APPROVED ", "VERDICT: APPROVED or ", "- - ", "Option 1\n", "What if ", "therefore ",
    ". . ", "— ", "**", "**a** ", "  - a\n", "\u202e", "👍", "a: ", "A:\n", "=", "[ ] ", "done ",
]  # fmt: skip


def read_everything(piece: str) -> None:
    """No clock: what is not linear would not end at this size before the run is given up."""
    for start, end in (("", ""), ("VERDICT: ", "x"), ("VERDICT: APPROVED", "x"), ("- [C1] ", "x"), ("a", "a")):
        text = start + piece * (SIZE // len(piece.encode())) + end
        read_wall(text)
        for role in Role:
            findings(role, text)


@pytest.mark.parametrize("piece", [" ", "? ", "Reality ", "[C1] "])
@pytest.mark.slow
def test_the_largest_turn_is_read_in_time_that_grows_with_its_length(piece: str) -> None:
    read_everything(piece)


@pytest.mark.slow
@pytest.mark.parametrize("piece", HOSTILE)
def test_any_hostile_largest_turn_is_read_in_time_that_grows_with_its_length(piece: str) -> None:
    read_everything(piece)
