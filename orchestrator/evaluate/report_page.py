"""The report of an evaluation as one HTML page that needs no network and no script.

Each plot is a picture with its words beside it; each figure stands in a table, too.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from orchestrator.evaluate import figures, plots, report_text
from orchestrator.evaluate.measuring import SOUNDNESS
from orchestrator.evaluate.report import Report
from orchestrator.wording import visible


def render_page(report: Report) -> str:
    """Returns `report.html`."""
    templates = _templates()
    assert templates.loader is not None, "it was made with one"
    style = templates.loader.get_source(templates, "evaluation.css")[0]
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return templates.get_template("evaluation.html.j2").render(
        report=report,
        policy=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
        style=Markup(style),
        plots=plots.plots_of(report),
        compared=plots.differences_of(report, SOUNDNESS.name),
        strips=plots.strips_of(report, SOUNDNESS.name),
    )


@cache
def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("orchestrator.evaluate", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    templates.globals |= {"figures": figures, "text": report_text, "size": plots}
    return templates


def _shown(value: Any) -> Any:
    """Whatever is no markup of ours is shown with its control characters as signs."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
