"""A report says what was planted in its results, and no more than so many briefs can show."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from html.parser import HTMLParser

import pytest
from planting import answer, planted, result, results, spent

from orchestrator.errors import UsageError
from orchestrator.evaluate.brief import Brief
from orchestrator.evaluate.cassette import Cell
from orchestrator.evaluate.judging import Agreed, Judged, Opinion
from orchestrator.evaluate.panel import MODELS
from orchestrator.evaluate.report import NOTHING_REAL, Report, report_of
from orchestrator.evaluate.report_page import render_page
from orchestrator.evaluate.report_text import render_markdown
from orchestrator.evaluate.results import Result, Results, Votes
from orchestrator.usage import NOTHING

IDS = tuple(f"9{number:02}-event-bus" for number in range(1, 13))


@pytest.fixture(scope="module")
def briefs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Brief]:
    folder = tmp_path_factory.mktemp("briefs")
    return {id: planted(folder, id) for id in IDS}


def arms_of(chosen: Mapping[str, str], reason: str = "Orders are kept for seven days.") -> list[Result]:
    """A result of each arm at each brief: the letters are the options it chose, `-` where it failed."""
    found = []
    for id, *options in zip(IDS, *chosen.values(), strict=True):
        for arm, option in zip(chosen, options, strict=True):
            given = None if option == "-" else answer("other" if option == "o" else option, reason)
            found.append(result(given, id, arm))
    return found


def evaluation() -> Results:
    """Majority decides soundly at six of twelve, the debate at all but one, which is set aside."""
    return results(*arms_of({"majority": "AAAAAABBBBBB", "recipe:speed": "BBBBBBBBCCCo"}))


def measures(report: Report, arm: str) -> dict[str, float | None]:
    (found,) = [each for each in report.arms if each.name == arm]
    return {measure.name: measure.value for measure in found.measures}


# ------------------------------------------------------------------------------------------------------- what is said


def test_each_measure_is_what_was_planted(briefs: Mapping[str, Brief]) -> None:
    report = report_of(evaluation(), briefs)
    assert measures(report, "majority") == {
        "soundness": 0.5, "constraint_recall": 0.25, "false_claims": 0.0, "cost_per_sound": 0.02, "seconds": 2.0
    }  # fmt: skip
    assert measures(report, "recipe:speed") == {
        "soundness": 1.0, "constraint_recall": 0.25, "false_claims": 0.0, "cost_per_sound": 0.0109091, "seconds": 2.0
    }  # fmt: skip


def test_a_planted_difference_is_found_and_said(briefs: Mapping[str, Brief]) -> None:
    report = report_of(evaluation(), briefs)
    assert report.against == "majority"
    found = report.difference("recipe:speed", "soundness")
    assert found is not None
    assert (found.briefs, found.shows) == (11, "more")  # one brief has no pair: its answer is set aside
    assert list(found.by_brief.values()) == [1] * 6 + [0] * 5
    assert report.conclusions[0].startswith("recipe:speed decides soundly more often than majority: +55 points (")
    assert "for a person" in " ".join(report.conclusions)
    assert [(aside.brief, aside.arm) for aside in report.asides] == [(IDS[-1], "recipe:speed")]


def test_where_nothing_shows_that_is_said_with_what_could_have_shown(briefs: Mapping[str, Brief]) -> None:
    report = report_of(results(*arms_of({"single": "AAAAAABBBBBB", "refine": "BAAAAABBBBBB"})), briefs)
    assert report.against == "single"
    said = report.conclusions[0]
    assert said.startswith("Whether refine or single decides soundly more often cannot be told: +8 points (")
    found = report.difference("refine", "soundness")
    assert found is not None
    assert found.smallest is not None
    assert f"a difference of {round(100 * found.smallest)} points or more in 80 %" in said


def test_few_briefs_one_arm_and_one_answer_each_are_called_so(briefs: Mapping[str, Brief]) -> None:
    few = results(*(one for one in arms_of({"single": "B" * 12}) if one.brief in IDS[:2]))
    report = report_of(few, briefs)
    assert (report.against, report.differences) == (None, ())
    said = " ".join(report.conclusions)
    for words in ("There is one arm, single", "With 2 briefs", "answered each brief once", "read by rule"):
        assert words in said


def test_more_arms_make_wider_intervals_so_that_all_hold_together(briefs: Mapping[str, Brief]) -> None:
    two = {"majority": "AAAAAABBBBBB", "single": "AABBAABBABBB"}
    both, more = (report_of(results(*arms_of(each)), briefs) for each in (two, {**two, "refine": "B" * 12}))
    narrow, wide = (each.difference("single", "soundness") for each in (both, more))
    assert (both.confidence, more.confidence) == (0.95, 0.975)
    assert narrow is not None
    assert wide is not None
    assert narrow.low is not None
    assert wide.low is not None
    assert wide.low <= narrow.low


def test_the_arm_to_compare_with_can_be_named_and_must_be_there(briefs: Mapping[str, Brief]) -> None:
    report = report_of(evaluation(), briefs, against="recipe:speed")
    found = report.difference("majority", "soundness")
    assert found is not None
    assert found.shows == "less"
    with pytest.raises(UsageError, match=r"no arm 'single' in it. There are majority, recipe:speed."):
        report_of(evaluation(), briefs, against="single")
    with pytest.raises(UsageError, match="no result in it yet"):
        report_of(evaluation().model_copy(update={"results": ()}), briefs)


def test_an_unknown_price_and_no_sound_decision_are_no_numbers(briefs: Mapping[str, Brief]) -> None:
    unpriced = [result(answer("B"), id, "single", spent=spent(None)) for id in IDS]
    unsound = [result(answer("A"), id, "refine") for id in IDS]
    report = report_of(results(*unpriced, *unsound), briefs)
    assert measures(report, "single")["cost_per_sound"] is None
    assert measures(report, "refine")["cost_per_sound"] is None
    text = render_markdown(report)
    assert re.search(r"\| single \|.*\| unknown \|", text)
    assert re.search(r"\| refine \|.*\| none was sound \|", text)
    assert json.loads(report.text)["arms"][0]["beside"]["cost_usd"] is None


def test_what_stands_beside_the_measures_is_counted(briefs: Mapping[str, Brief]) -> None:
    split = (Votes(option="B", count=2), Votes(option="A", count=2))
    told = [
        result(answer("B", "ADR-0012 [E1:5]."), IDS[0], votes=split, tied=("B", "A"), allowed_usd=Decimal("0.03")),
        result(answer("C", "Seven days [E2:3]. So ordering of orders of one customer [E9:9]."), IDS[1],
               allowed_usd=Decimal("0.03")),
        result(None, IDS[2], allowed_usd=Decimal("0.03")),
    ]  # fmt: skip
    (arm,) = report_of(results(*told), briefs).arms
    known = arm.beside
    assert (known.answered, known.aside, known.failed, known.tied) == (2, 0, 1, 1)
    assert (known.conditions, known.conditional) == (1, 1)
    assert (known.noticed, known.conflicts) == (1, 2)
    assert (known.verified, known.citations) == (2, 3)
    assert (known.kept, known.divided) == (0, 1)
    assert (known.calls, known.tokens, known.cost_usd, known.allowed_usd) == (3, 330, Decimal("0.03"), Decimal("0.09"))


def test_repetitions_of_a_brief_are_one_brief(briefs: Mapping[str, Brief]) -> None:
    told = [result(answer(option), IDS[0], "single", repeat) for repeat, option in enumerate("AAB", 1)]
    told += [result(answer("B"), IDS[1], "single", repeat) for repeat in (1, 2, 3)]
    (arm,) = report_of(results(*told), briefs).arms
    soundness = arm.measures[0]
    assert (soundness.briefs, soundness.value) == (2, pytest.approx((1 / 3 + 1) / 2, abs=1e-5))


# ---------------------------------------------------------------------------------------------------------- the judge


def test_a_judge_changes_no_score_and_its_agreement_is_shown(briefs: Mapping[str, Brief]) -> None:
    told = results(
        result(answer("B", "Orders are kept for seven days.", "It is under 5 ms."), IDS[0]),
        result(answer("B", "Orders are kept for seven days."), IDS[1]),
        result(answer("B"), IDS[2]),
    )
    opinions = {
        Cell(IDS[0], "single", 1): Opinion(answered=("C2", "C4"), believed=("F1",)),
        Cell(IDS[1], "single", 1): Opinion(answered=(), believed=()),
    }
    bare = report_of(told, briefs)
    report = report_of(told, briefs, judged=Judged("test/judge", opinions, 1, NOTHING))
    assert report.model_copy(update={"judge": None}) == bare
    assert report.judge is not None
    assert (report.judge.judge, report.judge.judged, report.judge.unheard) == ("test/judge", 2, 1)
    assert report.judge.constraints == Agreed(both=1, judge_only=1, rule_only=1, neither=5, share=0.75, kappa=0.3333)
    assert report.judge.claims == Agreed(both=1, judge_only=0, rule_only=0, neither=1, share=1.0, kappa=1.0)
    assert [(each.brief, each.id, each.said_by) for each in report.judge.differing] == [
        (IDS[0], "C4", "judge"), (IDS[1], "C2", "rule")
    ]  # fmt: skip
    assert "75 % the same, κ 0.33; only the judge 1, only the rules 1" in render_markdown(report)
    assert "The judge test/judge" in render_page(report)


# ----------------------------------------------------------------------------------------------------- the three ways


class _Page(HTMLParser):
    """What a reader who sees no picture is given: words, roles, names of elements."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_the_page_needs_no_network_and_no_script_and_its_plots_have_words(briefs: Mapping[str, Brief]) -> None:
    text = render_page(report_of(evaluation(), briefs))
    page = _Page(text)
    names = [tag for tag, _ in page.tags]
    assert not {"script", "img", "link", "iframe"} & set(names)
    assert not re.search(r"(?:src|href)=|url\(|style=", text)
    pictures = [attributes for tag, attributes in page.tags if tag == "svg"]
    assert len(pictures) == 5 + 2  # each measure; what arms differ by, and on how many briefs
    ids = {attributes.get("id") for _, attributes in page.tags}
    assert all(each["role"] == "img" and each["aria-labelledby"] in ids for each in pictures)
    assert names.count("desc") == len(pictures)
    assert len([each for tag, each in page.tags if tag == "tr" and each.get("class") == "differs"]) == 6


def test_words_of_models_are_text_in_every_form(briefs: Mapping[str, Brief]) -> None:
    hostile = answer("other", statement="<script>alert(1)</script> | \x1b[31m **x**")
    report = report_of(results(result(hostile, IDS[0]), result(answer("B"), IDS[1])), briefs)
    page, text = render_page(report), render_markdown(report)
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "\x1b" not in page + text


def test_the_same_results_give_the_same_bytes(briefs: Mapping[str, Brief]) -> None:
    one, other = (report_of(evaluation(), briefs) for _ in range(2))
    assert (one.text, render_markdown(one), render_page(one)) == (
        other.text,
        render_markdown(other),
        render_page(other),
    )
    assert Report.model_validate_json(one.text) == one


def test_what_a_simulated_panel_answered_is_marked_everywhere(briefs: Mapping[str, Brief]) -> None:
    report = report_of(evaluation().model_copy(update={"models": MODELS}), briefs)
    assert report.marks == (NOTHING_REAL,)
    for text in (report.text, render_markdown(report), render_page(report)):
        assert NOTHING_REAL in text
    assert NOTHING_REAL not in render_page(report_of(evaluation(), briefs))


def test_markdown_shows_every_brief_and_where_arms_differ(briefs: Mapping[str, Brief]) -> None:
    text = render_markdown(report_of(evaluation(), briefs))
    assert f"| **{IDS[0]}** | A ✗ | B ✓ |" in text
    assert f"| {IDS[6]} | B ✓ | B ✓ |" in text
    assert f"| {IDS[-1]} | B ✓ | ? |" in text  # set aside is no difference
