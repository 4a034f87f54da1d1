"""Constraints over a debate: which lines answer them, what those come to, and what lifts a block."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from building import BUNDLED, THREAD, TOPIC, hall_at
from orchestrator.decision.constraints import (
    Answer,
    Constraint,
    Outcome,
    answers_in,
    constraints_in,
    constraints_of,
    open_blocks,
    outcome_of,
    statements,
)
from orchestrator.hall.cognition import Nature
from orchestrator.hall.debate import Said
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Role

DOORS = {
    "MET": Outcome.MET,
    "TRADED OFF": Outcome.TRADED_OFF,
    "REFUTED": Outcome.REFUTED,
    "OPEN": Outcome.OPEN,
    "REROUTED": Outcome.MET,
    "DROPPED": Outcome.MET,
    "BUILD": Outcome.MET,
}
WALLS = {"STANDS": Outcome.OPEN, "LIFTED": Outcome.MET}
CONTRACT = BUNDLED / "docs" / "wall-content-contract.oct.md"


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    with hall_at(tmp_path / "state") as hall:
        hall.init_debate(THREAD, TOPIC)
        yield hall


def wall(number: int, *rows: str, verdict: str = "CONDITIONAL", agent: str = "validator") -> Said:
    return Said(number, (number + 2) // 3, Role.WALL, agent, "\n".join([f"VERDICT: {verdict}", "", *rows]))


def door(number: int, *rows: str) -> Said:
    return Said(number, (number + 2) // 3, Role.DOOR, "synthesizer", "\n".join(["Therefore.", "", *rows]))


def stated(name: str = "C1", nature: str = "CONSTRAINT: ") -> str:
    return f"- [{name}] {nature}Nobody on call knows {name}. Instead: an outbox. Remediation: train two."


def only(*turns: Said) -> Constraint:
    (constraint,) = constraints_in(turns)
    return constraint


# ------------------------------------------------------------------------------------------------- what Walls stated


def test_a_constraint_is_named_by_its_turn_and_stands_as_it_was_stated() -> None:
    first, second = constraints_in([wall(2, stated(), stated("C2", "OPPORTUNITY: "), verdict="BLOCKED")])
    assert (first.id, first.turn, first.agent, first.nature, first.blocks) == (
        "T2.C1",
        2,
        "validator",
        Nature.CONSTRAINT,
        True,
    )
    assert (first.statement, first.part("Instead"), first.part("Remediation"), first.part("Build")) == (
        "Nobody on call knows C1.",
        "an outbox.",
        "train two.",
        "",
    )
    assert (first.answers, first.outcome) == ((), Outcome.OPEN)
    assert (second.id, second.nature) == ("T2.C2", Nature.OPPORTUNITY)


@pytest.mark.parametrize(
    ("verdict", "blocks"),
    [("BLOCKED", True), ("CONDITIONAL", False), ("APPROVED", False), ("not BLOCKED, but close", False)],
)
def test_only_a_verdict_of_blocked_blocks(verdict: str, blocks: bool) -> None:
    constraint = only(wall(2, stated(), verdict=verdict))
    assert (constraint.blocks, constraint.is_open_block) == (blocks, blocks)
    assert open_blocks([constraint]) == ((constraint,) if blocks else ())


def test_only_walls_state_constraints_and_each_turn_has_its_own() -> None:
    said = [
        Said(1, 1, Role.WIND, "ideator", stated()),
        wall(2, stated()),
        wall(3, stated()),
        door(4, stated()),
    ]
    assert [constraint.id for constraint in constraints_in(said)] == ["T2.C1", "T3.C1"]


# ------------------------------------------------------------------------------------------ words of answer, by whom


@pytest.mark.parametrize(("word", "outcome"), [*DOORS.items(), *WALLS.items()])
@pytest.mark.parametrize("role", Role)
def test_each_word_answers_only_in_the_mouth_of_its_own_role(role: Role, word: str, outcome: Outcome) -> None:
    own = Role.WALL if word in WALLS else Role.DOOR
    text = f"- [T2.C1] {word}: It is kept for a month."
    said = list(answers_in(text, role))
    assert said == ([("T2.C1", word, "It is kept for a month.")] if role is own else [])
    constraint = only(wall(2, stated()), Said(3, 1, role, "somebody", f"VERDICT: APPROVED\n{text}"))
    expected = (Answer(role, "T3", word, "It is kept for a month."),) if role is own else ()
    assert (constraint.answers, outcome_of(word)) == (expected, outcome)
    assert constraint.outcome is (outcome if role is own else Outcome.OPEN)


FORMS = [
    "- [T2.C1] MET: By it.",
    "[T2.C1] MET: By it.",
    "* [T2.C1] MET: By it.",
    "1. [T2.C1] MET: By it.",
    "- [x] [T2.C1] MET: By it.",
    "- T2.C1: MET: By it.",
    "- T2.C1 MET. By it.",
    "- T2.C1 — MET — By it.",
    "- (T2.C1) MET - By it.",
    "- [T2.C1] MET – By it.",
    "- **[T2.C1]** MET: By it.",
    "- **[T2.C1] MET:** By it.",
    "- [T2.C1] **MET**: By it.",
    "- **T2.C1 — MET.** By it.",
    "- [T2.C1] `MET`: By it.",
    "- [T2.C1]: *MET*: By it.",
    "### [T2.C1] MET: By it.",
    "- [t2.c1] met: By it.",
    "✅ [T2.C1] MET: By it.",
    "   - [T2.C1]   MET :  By it.  ",
]


@pytest.mark.parametrize("line", FORMS)
def test_a_line_that_begins_with_a_name_and_a_word_answers_however_it_is_set(line: str) -> None:
    assert list(answers_in(f"Therefore.\r\n\r\n{line}\r\nMore.", Role.DOOR)) == [("T2.C1", "MET", "By it.")]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("- [T2.C1] MET: By a table\n  that is there.", "By a table that is there."),
        ("* [T2.C1] MET: By a table\r\n  that is\r\n    there.", "By a table that is there."),
        ("  - [T2.C1] MET:\n    By a table.", "By a table."),
        ("- [T2.C1] MET: By a table\nthat is there.", "By a table"),
        ("- [T2.C1] MET: By a table\n\n  that is there.", "By a table"),
        ("- [T2.C1] MET: By a table\n  - that is there.", "By a table"),
        ("- [T2.C1] MET: By a table\n  ## There", "By a table"),
        ("[T2.C1] MET: By a table\n  that is there.", "By a table"),
        ("- [T2.C1] MET: By a table\n  > that is there.", "By a table"),
    ],
)
def test_an_answer_that_was_wrapped_is_read_to_the_end_of_its_item(text: str, sentence: str) -> None:
    assert list(answers_in(f"Therefore.\n\n{text}\n\nMore.", Role.DOOR)) == [("T2.C1", "MET", sentence)]


@pytest.mark.parametrize(
    "line", ["- [T2.C1] {}", "[T2.C1] {}.", "- **[T2.C1] {}**", "- [T2.C1] {}: ", "- [T2.C1] {}: n/a"]
)
def test_only_what_leaves_a_constraint_open_may_go_without_a_sentence(line: str) -> None:
    for word in DOORS.keys() - {"OPEN"}:
        assert list(answers_in(line.format(word), Role.DOOR)) == []
    assert [word for _, word, _ in answers_in(line.format("OPEN"), Role.DOOR)] == ["OPEN"]
    assert [word for _, word, _ in answers_in(line.format("STANDS"), Role.WALL)] == ["STANDS"]
    assert list(answers_in(line.format("LIFTED"), Role.WALL)) == []


@pytest.mark.parametrize("word", ["TRADED OFF", "traded off", "TRADED-OFF", "Traded_off", "**TRADED OFF**"])
def test_traded_off_is_two_words_however_they_are_joined(word: str) -> None:
    assert list(answers_in(f"- [T2.C1] {word}: It is so.", Role.DOOR)) == [("T2.C1", "TRADED OFF", "It is so.")]


@pytest.mark.parametrize(
    "names",
    [
        "[T2.C1], [T2.C2] and [T5.C10]",
        "[T2.C1], [T2.C2], and [T5.C10]",
        "[T2.C1] [T2.C2] [T5.C10]",
        "[T2.C1] & T2.C2, T5.C10",
        "[T2.C1, T2.C2, T5.C10]",
        "**T2.C1, T2.C2 and T5.C10**",
    ],
)
def test_a_list_of_names_is_answered_in_one_line(names: str) -> None:
    assert list(answers_in(f"- {names} MET: By it.", Role.DOOR)) == [
        (name, "MET", "By it.") for name in ("T2.C1", "T2.C2", "T5.C10")
    ]


HEDGED = [
    "[T2.C1] is not MET.",
    "[T2.C1] is not MET: by it.",
    "[T2.C1] NOT MET: by it.",
    "[T2.C1] NOT: MET: by it.",
    "[T2.C1] not **MET**: by it.",
    "[T2.C1] MET, but only in March.",
    "[T2.C1] MET but not proven.",
    "[T2.C1] MET (partly): by it.",
    "[T2.C1] MET? Nobody knows.",
    "[T2.C1] MET… perhaps.",
    "[T2.C1] MET... perhaps.",
    "[T2.C1] MET if we are lucky.",
    "[T2.C1] MET or OPEN: by it.",
    "[T2.C1] MET/OPEN: by it.",
    "[T2.C1] MET; OPEN.",
    "[T2.C1] partly MET: by it.",
    "[T2.C1] almost: MET.",
    "[T2.C1] UNMET: by it.",
    "[T2.C1] METHOD: by it.",
    "[T2.C1] OPEN-ended.",
    "[T2.C1] is MET: by it.",
    "[T2.C1] Build a replay test.",
    "not [T2.C1] MET: by it.",
    "¬[T2.C1] MET: by it.",
    "~~[T2.C1] MET: by it.~~",
    "~~[T2.C1]~~ MET: by it.",
    "[T2.C1] ~~MET~~ : by it.",
    "Nobody can say [T2.C1] MET: by it.",
    "T3 would say: [T2.C1] MET: by it.",
    "[T2.C1] and not [T2.C2] MET: by it.",
    "[T2.C1] or [T2.C2] MET: by it.",
    "[C1] MET: by it.",
    "T2 MET: by it.",
    "[T2.C1]",
    "MET: by it.",
    "I cannot say that T2.C1 is MET.",
    "[T2.C1] ſTANDS: letters that only look like ASCII.",
]


@pytest.mark.parametrize("line", HEDGED)
@pytest.mark.parametrize("lead", ["- ", "", "**"])
def test_what_is_negated_hedged_or_prose_answers_nothing(lead: str, line: str) -> None:
    text = f"{lead}{line}{'**' if lead == '**' else ''}"
    assert [list(answers_in(text, role)) for role in (Role.DOOR, Role.WALL)] == [[], []]


OTHERS_WORDS = [
    pytest.param("```\n- [T2.C1] MET: By it.\n```", id="a code fence"),
    pytest.param("~~~ text\n- [T2.C1] MET: By it.\n~~~", id="another code fence"),
    pytest.param("```\n- [T2.C1] MET: By it.", id="a code fence that is never closed"),
    pytest.param("> - [T2.C1] MET: By it.", id="a block quote"),
    pytest.param("- > [T2.C1] MET: By it.", id="a block quote in a list"),
    pytest.param("| [T2.C1] | MET | By it. |", id="a row of a table"),
    pytest.param("|[T2.C1] MET: By it.|", id="a cell of a table"),
    pytest.param('- "[T2.C1] MET: By it." is what T3 says, and it is wrong.', id="quotation marks"),
    pytest.param("- “[T2.C1] MET: By it.”", id="curly quotation marks"),
    pytest.param("«[T2.C1] MET: By it.»", id="guillemets"),
    pytest.param("- '[T2.C1] MET: By it.'", id="single quotation marks"),
    pytest.param("[T2.C1]\nMET: By it.", id="a name and a word on two lines"),
]


@pytest.mark.parametrize("text", OTHERS_WORDS)
def test_what_is_quoted_or_stands_in_code_or_a_table_answers_nothing(text: str) -> None:
    assert list(answers_in(f"Therefore.\n\n{text}", Role.DOOR)) == []


def test_each_line_answers_and_no_name_is_taken_for_a_longer_one() -> None:
    text = "- [T2.C1] MET: First.\n- [T2.C10] OPEN: Tenth.\n\n## More\n- [T12.C1] REFUTED: Twelfth."
    assert list(answers_in(text, Role.DOOR)) == [
        ("T2.C1", "MET", "First."),
        ("T2.C10", "OPEN", "Tenth."),
        ("T12.C1", "REFUTED", "Twelfth."),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("line", ["- [T2.C1] {}x", "- [T2.C1]{} MET{}x", "{}[T2.C1] MET", "- T2.C1{} MET:", "{}"])
@pytest.mark.parametrize("run", ["*", "_", " ", "`", "-", ":", "\t*", "*`", "T2.C1, ", "[", ".", "!"])
def test_a_line_of_any_length_is_read_once(line: str, run: str) -> None:
    """What is quadratic would not come back from these."""
    assert list(answers_in(line.replace("{}", run * 100_000), Role.WALL)) == []


def test_the_contract_names_every_word_by_whom_and_its_own_lines_are_read_as_it_says() -> None:
    ids = CONTRACT.read_text().partition("§5::IDS")[2].partition("§6::")[0]
    words = dict(re.findall(r'^    (DOOR|WALL|FORM|SEVERAL)::"(.*)"$', ids, re.MULTILINE))
    named = [re.findall(r"[A-Z]{3,}(?: OFF)?", words[role]) for role in ("DOOR", "WALL")]
    assert [set(each) for each in named] == [set(DOORS), set(WALLS)]
    assert [name for name, *_ in answers_in(words["FORM"], Role.DOOR)] == ["T3.C1"]
    several = words["SEVERAL"].partition(": ")[2]
    assert [name for name, *_ in answers_in(several, Role.DOOR)] == ["T3.C1", "T3.C2", "T5.C1"]
    no_answers = re.findall("'([^']+)'", ids.partition("NO_ANSWER")[2])
    assert len(no_answers) == 6
    assert [list(answers_in(line, Role.DOOR)) for line in no_answers] == [[]] * 6


@pytest.mark.parametrize("agent", ["door-agent", "synthesizer", "technical-architect", "holistic-orchestrator"])
def test_the_line_that_each_bundled_door_is_shown_is_an_answer(agent: str) -> None:
    text = (BUNDLED / "agents" / f"{agent}.oct.md").read_text()
    (shown,) = re.findall(r"- \[T3\.C1\][^\n]*", text)
    assert [(name, word) for name, word, _ in answers_in(shown, Role.DOOR)] == [("T3.C1", "MET")]


# --------------------------------------------------------------------------------------------------- over the debate


def test_the_last_answer_counts_and_all_of_them_are_kept() -> None:
    constraint = only(
        wall(2, stated()),
        door(3, "- [T2.C1] MET: By the outbox."),
        wall(5, "- [T2.C1] STANDS: Nobody runs it."),
        door(6, "- [T2.C1] TRADED OFF: We carry that."),
    )
    assert [(answer.where, answer.role, answer.word, answer.outcome) for answer in constraint.answers] == [
        ("T3", Role.DOOR, "MET", Outcome.MET),
        ("T5", Role.WALL, "STANDS", Outcome.OPEN),
        ("T6", Role.DOOR, "TRADED OFF", Outcome.TRADED_OFF),
    ]
    assert (constraint.outcome, constraint.answers[-1].sentence) == (Outcome.TRADED_OFF, "We carry that.")


def test_nothing_is_answered_before_it_is_stated_and_no_constraint_comes_of_an_answer() -> None:
    said = [door(3, "- [T5.C1] MET: Ahead of it.", "- [T9.C9] MET: Nobody said that."), wall(5, stated())]
    assert [(each.id, each.answers) for each in constraints_in(said)] == [("T5.C1", ())]


def test_a_wall_may_say_of_an_earlier_constraint_that_it_stands_beside_stating_its_own() -> None:
    said = [
        wall(2, stated()),
        door(3, "- [T2.C1] MET: By it."),
        wall(5, "- [T2.C1] STANDS: No.", "", stated()),
    ]
    assert [(each.id, each.outcome) for each in constraints_in(said)] == [
        ("T2.C1", Outcome.OPEN),
        ("T5.C1", Outcome.OPEN),
    ]


# ------------------------------------------------------------------------------------------------------------ blocks

LIFTS = {
    "CONSTRAINT: ": {"REROUTED", "DROPPED"},
    "OPPORTUNITY: ": {"BUILD"},
    "": {"REROUTED", "DROPPED", "BUILD"},
}


@pytest.mark.parametrize("word", DOORS)
@pytest.mark.parametrize("nature", LIFTS, ids=lambda nature: nature or "none")
def test_door_lifts_a_block_by_another_course_only(nature: str, word: str) -> None:
    constraint = only(wall(2, stated(nature=nature), verdict="BLOCKED"), door(3, f"- [T2.C1] {word}: The outbox."))
    lifts = word in LIFTS[nature]
    assert constraint.is_open_block != lifts
    assert constraint.why_open == (None if lifts else f"T2.C1 blocks, and T3 answers {word}, which lifts no block.")
    assert constraint.outcome is DOORS[word]


@pytest.mark.parametrize("nature", LIFTS, ids=lambda nature: nature or "none")
def test_wall_lifts_a_block_with_a_word_and_says_with_another_that_it_stands(nature: str) -> None:
    blocked = wall(2, stated(nature=nature), verdict="BLOCKED")
    assert only(blocked).why_open == "T2.C1 blocks, and Door does not answer it."
    assert only(blocked, wall(5, "- [T2.C1] LIFTED: It is proven.")).why_open is None
    stands = only(blocked, wall(5, "- [T2.C1] STANDS: It is not."))
    assert stands.why_open == "T2.C1 blocks, and T5 answers STANDS, which lifts no block."


def rows_of(*words: str) -> list[Said]:
    """One answer a turn, from T3 on, each by the role whose word it is."""
    turns = enumerate(words, 3)
    return [(wall if word in WALLS else door)(number, f"- [T2.C1] {word}: It is so.") for number, word in turns]


@pytest.mark.parametrize(
    ("words", "is_open"),
    [
        (["REROUTED", "MET"], False),
        (["REROUTED", "TRADED OFF"], False),
        (["REROUTED", "REFUTED"], False),
        (["REROUTED", "OPEN"], True),
        (["REROUTED", "OPEN", "MET"], True),
        (["REROUTED", "STANDS"], True),
        (["REROUTED", "STANDS", "MET"], True),
        (["REROUTED", "STANDS", "DROPPED"], False),
        (["MET", "REROUTED"], False),
        (["BUILD", "MET"], True),
        (["STANDS", "LIFTED"], False),
        (["LIFTED", "STANDS", "REFUTED"], True),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_lifted_block_stays_so_until_somebody_says_that_it_is_open_again(words: list[str], is_open: bool) -> None:
    constraint = only(wall(2, stated(), verdict="BLOCKED"), *rows_of(*words))
    assert len(constraint.answers) == len(words)
    assert constraint.is_open_block == is_open
    assert open_blocks([constraint]) == ((constraint,) if is_open else ())


@given(words=st.lists(st.sampled_from([*DOORS, *WALLS]), max_size=6), nature=st.sampled_from(list(LIFTS)))
def test_a_block_is_open_unless_something_lifted_it_since_it_was_last_called_open(
    words: list[str], nature: str
) -> None:
    constraint = only(wall(2, stated(nature=nature), verdict="BLOCKED"), *rows_of(*words))
    said_open = max((at for at, word in enumerate(words) if word in ("OPEN", "STANDS")), default=-1)
    lifted = any(word in {*LIFTS[nature], "LIFTED"} for word in words[said_open + 1 :])
    assert constraint.is_open_block != lifted
    assert not only(wall(2, stated(nature=nature)), *rows_of(*words)).is_open_block


def test_what_a_wall_says_stands_is_open_whatever_its_verdict_was_until_door_answers() -> None:
    constraint = only(wall(2, stated()), *rows_of("MET", "STANDS"))
    assert constraint.why_open == "T2.C1 stands, as T4 says, and nobody answers that."
    assert (constraint.stands, only(wall(2, stated()), *rows_of("OPEN")).stands) == (True, False)
    assert only(wall(2, stated()), *rows_of("MET", "STANDS", "MET")).why_open is None
    assert only(wall(2, stated()), *rows_of("OPEN")).why_open is None  # Door leaves it open itself
    assert only(wall(2, stated())).why_open is None


# -------------------------------------------------------------------------------------------------- read off a ledger


def hold_round(hall: Hall, answer: str, number: int = 2, verdict: str = "BLOCKED") -> None:
    hall.add_turn(THREAD, "Wind", "What if billing were a log?", agent_role="ideator")
    hall.add_turn(THREAD, "Wall", wall(number, stated(), verdict=verdict).text, agent_role="validator")
    hall.add_turn(THREAD, "Door", door(number + 1, answer).text, agent_role="synthesizer")


def answers_of(hall: Hall) -> list[tuple[str, str]]:
    (constraint,) = constraints_of(hall.debate(THREAD))
    return [(answer.where, answer.word) for answer in constraint.answers]


def test_a_refinement_and_a_close_answer_as_a_turn_of_door_does(hall: Hall) -> None:
    hold_round(hall, "- [T2.C1] MET: By the outbox.")
    hall.cast_vote(THREAD, "Wall", "object", "It has no owner.", ["T2.C1"])
    hall.refine(THREAD, "Therefore.\n- [T2.C1] REROUTED: The outbox has an owner.")
    assert answers_of(hall) == [("T3", "MET"), ("refinement 1", "REROUTED")]
    hall.close_debate(THREAD, "Therefore.\n- [T2.C1] DROPPED: There is no broker.")
    assert answers_of(hall) == [("T3", "MET"), ("refinement 1", "REROUTED"), ("the close", "DROPPED")]
    assert [(each.where, each.said.role) for each in statements(hall.debate(THREAD))][2:] == [
        ("T3", Role.DOOR),
        ("refinement 1", Role.DOOR),
        ("the close", Role.DOOR),
    ]


def test_a_close_with_the_words_of_its_synthesis_answers_nothing_twice(hall: Hall) -> None:
    hold_round(hall, "- [T2.C1] REROUTED: An outbox.")
    hall.close_debate(THREAD, hall.debate(THREAD).turns[-1].text or "")
    assert answers_of(hall) == [("T3", "REROUTED")]


def test_a_close_with_an_earlier_synthesis_takes_back_what_refined_it(hall: Hall) -> None:
    hold_round(hall, "- [T2.C1] REROUTED: An outbox.")
    hall.cast_vote(THREAD, "Wall", "object", "It has no owner.", ["T2.C1"])
    hall.refine(THREAD, "Therefore.\n- [T2.C1] OPEN: Nobody owns it.")
    assert answers_of(hall) == [("T3", "REROUTED"), ("refinement 1", "OPEN")]
    hall.close_debate(THREAD, hall.debate(THREAD).turns[-1].text or "", status="stalemate")
    assert answers_of(hall) == [("T3", "REROUTED")]


def test_a_close_that_says_nothing_of_a_constraint_leaves_its_last_answer(hall: Hall) -> None:
    hold_round(hall, "- [T2.C1] REROUTED: An outbox.")
    hall.close_debate(THREAD, "An outbox, by March.")
    assert answers_of(hall) == [("T3", "REROUTED")]


def test_a_close_that_calls_a_block_open_opens_it_again(hall: Hall) -> None:
    hold_round(hall, "- [T2.C1] REROUTED: An outbox.")
    assert open_blocks(constraints_of(hall.debate(THREAD))) == ()
    hall.close_debate(THREAD, "Therefore.\n- [T2.C1] OPEN: Nobody owns it.", status="stalemate")
    assert [each.id for each in open_blocks(constraints_of(hall.debate(THREAD)))] == ["T2.C1"]


def test_what_was_redacted_states_and_answers_nothing(hall: Hall) -> None:
    hold_round(hall, "- [T2.C1] REROUTED: An outbox.")
    hall.tombstone_turn(THREAD, 2, "- [T2.C1] MET: The reason is no answer either.")
    assert answers_of(hall) == []
    hall.tombstone_turn(THREAD, 1, "VERDICT: BLOCKED - [C1] CONSTRAINT: no statement.")
    assert constraints_of(hall.debate(THREAD)) == ()


def test_a_seat_that_may_see_a_part_sees_the_constraints_of_that_part(hall: Hall) -> None:
    hold_round(hall, "- [T2.C1] MET: By it.")
    turns = hall.debate(THREAD).snapshot().turns
    assert constraints_in(turns) == constraints_of(hall.debate(THREAD))
    assert [each.answers for each in constraints_in(turns[:2])] == [()]
    assert constraints_in(turns[:1]) == ()
