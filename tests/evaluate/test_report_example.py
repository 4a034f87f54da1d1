"""The example in docs/ is what the panel and the code make now, and says that it is simulated."""

from __future__ import annotations

import pytest
from simulated import COMMAND, EXAMPLE, files_of, scores_of, simulated

from orchestrator.evaluate.panel import MODELS, Traits
from orchestrator.evaluate.report import NOTHING_REAL
from orchestrator.evaluate.results import load_results

STALE = f"docs/examples/evaluation is not what the panel makes now: run {COMMAND}"


def test_the_kept_report_is_made_from_the_kept_results() -> None:
    made = files_of(load_results(EXAMPLE))
    kept = {file.name: file.read_text(encoding="utf-8") for file in EXAMPLE.iterdir()}
    assert sorted(name for name in made.keys() | kept.keys() if made.get(name) != kept.get(name)) == [], STALE


def test_the_panel_answers_two_of_the_briefs_as_it_did() -> None:
    kept = load_results(EXAMPLE)
    for result in simulated("004-catalogue-store", "010-account-reads").results:
        assert result in kept.results, f"{result.place}: {STALE}"


@pytest.mark.slow
def test_the_panel_answers_all_of_them_as_it_did() -> None:
    assert simulated() == load_results(EXAMPLE), STALE


def test_it_is_marked_wherever_it_is_read() -> None:
    assert load_results(EXAMPLE).models == MODELS
    for name in ("report.md", "report.html", "report.json"):
        assert NOTHING_REAL in (EXAMPLE / name).read_text(encoding="utf-8")


def test_a_panel_that_is_always_right_or_wrong_is_scored_so_in_every_arm() -> None:
    """Through real prompts, real debates and the scores by rule, the planted truth comes out."""
    for accuracy in (1.0, 0.0):
        results = simulated("004-catalogue-store", traits=Traits(accuracy))
        for score in scores_of(results):
            assert score.sound is (accuracy == 1.0), score
            assert score.recall == accuracy, score
            assert score.accepted == 1 - accuracy, score
