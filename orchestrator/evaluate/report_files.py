"""What a report leaves beside the results: the same three ways, and the scores that it rests on."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.evaluate.report import Report
from orchestrator.evaluate.report_page import render_page
from orchestrator.evaluate.report_text import render_markdown
from orchestrator.evaluate.scores import Score, Scores

MARKDOWN = "report.md"


def files_of(report: Report, scores: Sequence[Score]) -> dict[str, str]:
    """Returns the texts of its files by name."""
    return {
        MARKDOWN: render_markdown(report),
        "report.json": report.text,
        "report.html": render_page(report),
        "scores.json": Scores(scores=tuple(scores)).text,
    }
