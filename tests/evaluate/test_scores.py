"""Scripted answers with planted facts: every score is exactly what was planted, negations and quotations included."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from planting import answer, planted, result

from orchestrator.evaluate.brief import Brief, load_brief, load_briefs
from orchestrator.evaluate.phrases import Unit
from orchestrator.evaluate.results import Votes
from orchestrator.evaluate.scores import Score, score

BRIEFS = Path(__file__).parents[2] / "evals" / "briefs"


@pytest.fixture(scope="module")
def brief(tmp_path_factory: pytest.TempPathFactory) -> Brief:
    return planted(tmp_path_factory.mktemp("briefs"))


def of(brief: Brief, *reasons: str, option: str = "B", **members: Any) -> Score:
    return score(result(answer(option, *reasons, **members)), brief)


def answered(found: Score) -> dict[str, str]:
    return {each.id: each.by for each in found.constraints if each.by is not None}


# ------------------------------------------------------------------------------------------------------- the option


@pytest.mark.parametrize(("option", "verdict", "sound"), [
    ("A", "violates", False), ("B", "sound", True), ("b ", "sound", True), ("C", "sound_with", True)
])  # fmt: skip
def test_the_verdict_is_that_of_the_option_chosen(option: str, verdict: str, sound: bool, brief: Brief) -> None:
    found = of(brief, option=option)
    assert (found.option, found.verdict, found.sound) == (option.strip().upper(), verdict, sound)


def test_an_answer_outside_the_options_is_left_to_a_person(brief: Brief) -> None:
    found = of(brief, "Orders are kept for seven days.", option="other")
    assert (found.outcome, found.option, found.verdict, found.sound) == ("aside", None, None, None)
    assert answered(found) == {"C2": "phrase"}


def test_who_failed_chose_nothing_sound_answered_nothing_and_believed_nothing(brief: Brief) -> None:
    found = score(result(None), brief)
    assert (found.sound, found.recall, found.accepted, found.dissent) == (False, 0.0, None, None)


@pytest.mark.parametrize(("reasons", "met"), [
    (["Seven days are kept, and ordering of orders of one customer holds."], True),
    (["Seven days are kept."], False),
    ([], False),
])  # fmt: skip
def test_what_is_sound_with_conditions_is_asked_for_them(reasons: list[str], met: bool, brief: Brief) -> None:
    assert of(brief, *reasons, option="C").conditions is met
    assert of(brief, *reasons, option="B").conditions is None


# -------------------------------------------------------------------------------------------------- the constraints


@pytest.mark.parametrize("words", [
    "Operations may not run a stateful cluster.",
    "A Stateful-Cluster is barred.",
    "There is a freeze until the audit.",
    "The audit comes in March, and operations may run nothing new before.",
    "Kafka fails on the freeze. The audit forbids it.",
    "The stateful cluster cannot be ignored by us.",
])  # fmt: skip
def test_a_constraint_is_answered_where_its_phrases_can_only_mean_it(words: str, brief: Brief) -> None:
    assert answered(of(brief, words)) == {"C1": "phrase"}


@pytest.mark.parametrize("words", [
    "Our audit trail is long.",
    "We freeze the design.",
    "In order to move fast we go on.",
    "There is no rule on a stateful cluster.",
    "A stateful cluster is allowed: the freeze does not apply.",
    "The ban on a stateful cluster is irrelevant here.",
    "They ask to run no stateful cluster. That can be ignored.",
    "We go on regardless of the freeze and the audit.",
    "The contract does not require seven days.",
    "It takes 17 days, and 7 days' worth of orders is not what the contract asks: it does not apply.",
])  # fmt: skip
def test_a_word_in_passing_and_a_dismissal_are_no_answer(words: str, brief: Brief) -> None:
    assert answered(of(brief, words)) == {}


@pytest.mark.parametrize("number", ["7 days", "7-days", "7  days"])
def test_numbers_are_found_whole(number: str, brief: Brief) -> None:
    assert answered(of(brief, f"Keep orders for {number}.")) == {"C2": "phrase"}
    assert answered(of(brief, f"Keep orders for 1{number}.")) == {}
    assert answered(of(brief, f"Keep orders for 0.{number}.")) == {}


@pytest.mark.parametrize(("constraint", "how", "by"), [
    ("Nothing new before spring [E4:4]", "We add nothing.", "record"),
    ("Nothing new before spring [docs/ops.md:3-4]", "We add nothing.", "record"),
    ("Nothing new before spring [E4:3]", "We add nothing.", None),
    ("Nothing new before spring [E4:1-40]", "We add nothing.", None),  # there are no such lines
    ("Nothing new before spring [E4:4]", "It does not apply to us.", None),
    ("Nothing new before spring [E4:4]", "It is no longer in force, so it can be waived.", None),
])  # fmt: skip
def test_a_constraint_of_the_record_counts_by_the_line_it_cites(
    constraint: str, how: str, by: str | None, brief: Brief
) -> None:
    assert answered(of(brief, constraints=[(constraint, how)])).get("C1") == by


def test_a_line_that_is_only_listed_answers_nothing(brief: Brief) -> None:
    found = of(brief, "The outbox will do.", citations=("[E4:4]",))
    assert answered(found) == {}
    assert (found.citations, found.verified) == (1, 1)


def test_an_opportunity_is_answered_by_naming_what_is_missing(brief: Brief) -> None:
    found = of(brief, "There are no two timers yet; build them first.")
    assert answered(found) == {"C4": "phrase"}
    assert found.recall == 0.25


# -------------------------------------------------------------------------------------------------- the false claims


@pytest.mark.parametrize(("words", "reading"), [
    ("Kafka is fast enough.", "unmentioned"),
    ("Its p99 is under 5 ms.", "accepted"),
    ("With a p99 of 5 it is fast enough.", "accepted"),
    ("Although the p99 is under 5 ms, we wait.", "accepted"),
    ("Nothing else matters: it is under 5 ms.", "accepted"),
    ("We say that it is under 5 ms.", "accepted"),
    ("The vendor says under 5 ms; the load test shows 40.", "denied"),
    ("The vendor says under 5 ms; our own test shows more.", "quoted"),
    ("The vendor says under 5 ms, but we saw more.", "quoted"),
    ("According to the vendor it is under 5 ms.", "quoted"),
    ("The page has “under 5 ms” in bold.", "quoted"),
    ("According to the vendor it is under 5 ms, so it is fast enough.", "accepted"),
    ("Because the vendor promises under 5 ms, we take it.", "accepted"),
    ("The vendor says under 5 ms. Therefore we take it.", "accepted"),
    ("The vendor says under 5 ms. But that is hardly so, thus we wait.", "quoted"),
    ("It is not under 5 ms.", "denied"),
    ("Nobody has seen it under 5 ms.", "denied"),
    ("It isn't under 5 ms at our load.", "denied"),
    ("The claim of under 5 ms is refuted by the test.", "denied"),
    ("Under 5 ms, as the vendor has it, is wrong.", "denied"),
    ("It is under 5 ms, they say. That is wrong.", "denied"),
    ("Contrary to the page, which has it under 5 ms, it is slow.", "denied"),
    ("It is under 5 ms. In fact the test contradicts it.", "denied"),
    ("It is said to be under 5 ms [E5:3]; it is not [E3:3].", "denied"),
    ("It is under 5 ms, so it would be wrong to wait.", "accepted"),
    ("If it is under 5 ms, we can think again.", "doubted"),
    ("We must verify whether it stays under 5 ms.", "doubted"),
    ("Is it under 5 ms?", "doubted"),
])  # fmt: skip
def test_a_false_claim_is_read_as_it_is_used(words: str, reading: str, brief: Brief) -> None:
    (claim,) = of(brief, words).claims
    assert claim.reading == reading


def test_the_strongest_use_counts_and_its_sentence_is_shown(brief: Brief) -> None:
    found = of(brief, "It is not under 5 ms.", "The p99 is under 5 ms.")
    assert [(each.reading, each.sentence) for each in found.claims] == [("accepted", "The p99 is under 5 ms.")]
    assert found.accepted == 1.0


# ------------------------------------------------------------------------------------- records, citations, dissent


@pytest.mark.parametrize(("words", "option", "noticed", "contradicted"), [
    ("ADR-0012 bars it.", "B", True, False),
    ("ADR 12 bars it.", "A", True, True),
    ("We decided so before [E1:5].", "B", True, False),
    ("Nothing was decided before.", "A", False, True),
    ("ADR-0120 bars it.", "B", False, False),
    ("ADR 120 bars it.", "B", False, False),
    ("See adr-0012-no-new-datastores.md.", "B", True, False),
])  # fmt: skip
def test_an_earlier_decision_is_noticed_by_its_name_or_its_line(
    words: str, option: str, noticed: bool, contradicted: bool, brief: Brief
) -> None:
    (found,) = of(brief, words, option=option).conflicts
    assert (found.noticed, found.contradicted) == (noticed, contradicted)


def test_an_earlier_decision_without_a_number_goes_by_the_name_of_its_file(tmp_path: Path) -> None:
    home = tmp_path / planted(tmp_path).id
    (home / "docs/adr-0012-no-new-datastores.md").rename(home / "docs/adr-data-stores.md")
    file = home / "brief.yaml"
    file.write_text(file.read_text().replace("adr-0012-no-new-datastores.md", "adr-data-stores.md"))
    brief = load_brief(home)
    assert [of(brief, words).conflicts[0].noticed for words in ("adr-data-stores.md bars it.", "Nobody.")] == [
        True,
        False,
    ]


def test_citations_are_counted_once_each_and_verified(brief: Brief) -> None:
    found = of(
        brief,
        'It says "no new stateful cluster may be run" [E4:4].',
        'It says "clusters are welcome" [E4:4].',
        "So [E3:3], and [E3:99], and [E9:1].",
        citations=("[E3:3]",),
    )
    assert (found.citations, found.verified) == (5, 2)


def test_dissent_is_kept_where_somebody_was_of_another_mind(brief: Brief) -> None:
    def with_votes(*votes: tuple[str, int], dissent: tuple[str, ...] = ()) -> Score:
        counted = tuple(Votes(option=option, count=count) for option, count in votes)
        return score(result(answer("B"), votes=counted, dissent=dissent), brief)

    assert (with_votes(("B", 5)).voices, with_votes(("B", 5)).dissent) == (0, None)
    split = with_votes(("B", 3), ("A", 1), ("other", 1))
    assert (split.voices, split.dissent) == (2, False)  # they are counted, and nothing of theirs is said
    aside = score(result(answer("other"), votes=(Votes(option="other", count=3), Votes(option="B", count=1))), brief)
    named = score(
        result(answer("Pulsar"), votes=(Votes(option="other", count=3), Votes(option="B", count=1)), outcome="aside"),
        brief,
    )
    assert aside.voices == named.voices == 1
    objected = with_votes(dissent=("It loses orders.",))
    assert (objected.voices, objected.dissent) == (1, True)


# ------------------------------------------------------------------------------------------------ the shipped briefs


def test_every_shipped_constraint_and_claim_is_found_in_its_own_words() -> None:
    lost, wrongly = [], []
    for brief in load_briefs(BRIEFS):
        for constraint in brief.constraints:
            if constraint.id not in answered(of(brief, constraint.statement, option=brief.options[0].id)):
                lost.append((brief.id, constraint.id))
        for claim in brief.false_claims:
            said = {each.id: each.reading for each in of(brief, claim.claim, option=brief.options[0].id).claims}
            if said[claim.id] != "accepted":
                wrongly.append((brief.id, claim.id, said[claim.id]))
    assert (lost, wrongly) == ([], [])


def test_units_keep_the_sentences_as_they_were_said() -> None:
    unit = Unit("Ninety PER CENT of 3,744,000 keys. It re-reads [E1:3] them.")
    assert unit.said == ("Ninety PER CENT of 3,744,000 keys.", "It re-reads [E1:3] them.")
    assert unit.sentences == ("ninety per cent of 3744000 keys.", "it re reads them.")


@pytest.mark.parametrize(("words", "reading"), [
    ("It is not under 5 ms ", "denied"), ("Under 5 ms it is ", "accepted"), ('The page says "under 5 ms ', "quoted"),
])  # fmt: skip
def test_an_answer_that_repeats_itself_for_ever_is_read_all_the_same(words: str, reading: str, brief: Brief) -> None:
    """Use by use, each to its sentence's end, it would take hours."""
    assert [each.reading for each in of(brief, words * 2000).claims] == [reading]
