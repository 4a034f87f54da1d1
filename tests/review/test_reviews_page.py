"""docs/reviews.md says what the code does: keys, forms of checks, and how a receiver looks at a signature."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import yaml

from orchestrator.review import checking, delivering, webhook
from orchestrator.review.checks import parse
from orchestrator.review.results import Results
from orchestrator.review.reviews_file import Review
from orchestrator.review.work_copy import MOST_BYTES, MOST_FILES

sys.path.insert(0, str(Path(__file__).parents[1] / "pages"))
from page_shell import DOCS, blocks

PAGE = DOCS / "reviews.md"


def rows(heading: str) -> list[list[str]]:
    """The rows of the first table behind a line that begins so, without what is above it."""
    table = PAGE.read_text().partition(heading)[2].partition("\n|---|")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()[1:]]


def test_the_page_lists_every_key_with_its_default() -> None:
    listed = {
        name: default.strip("`") for names, default, *_ in rows("# Reviews\n") for name in re.findall(r"`(\w+)`", names)
    }
    assert listed.keys() == Review.model_fields.keys()
    for name in ("timezone", "recipe", "models", "when", "missed", "overlap", "on_failure"):
        assert listed[name] == Review.model_fields[name].default or name == "recipe"
    assert listed["commands"] == str(Review.model_fields["commands"].default).lower()


def test_the_page_shows_forms_that_are_read() -> None:
    forms = [form.strip("`").replace("HEX", "0" * 64) for form, _ in rows("## Checks\n")]
    assert len(forms) == 6
    assert all(parse(form) for form in forms)


def test_the_page_shows_results_as_they_are_read_and_the_limits_that_hold() -> None:
    (shown,) = (yaml.safe_load(block)["results"] for block in blocks(PAGE, "yaml"))
    results = Results.model_validate_json(json.dumps(shown))
    assert results.webhook is not None
    assert shown.keys() == Results.model_fields.keys()
    text = " ".join(PAGE.read_text().split())
    assert checking.SECONDS == 60
    assert f"of {MOST_BYTES >> 30} GiB and {MOST_FILES:,} files at most" in text
    assert delivering.PACE.attempts == 6


def test_a_receiver_that_does_as_the_page_shows_knows_what_comes_from_us() -> None:
    (code,) = blocks(PAGE, "python")
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    comes_from_us = names["comes_from_us"]
    now = str(int(time.time()))
    headers = {webhook.TIMESTAMP: now, webhook.SIGNATURE: webhook.signature("secret", now, b"{}")}
    assert comes_from_us(b"secret", headers, b"{}")
    assert not comes_from_us(b"another", headers, b"{}")
    assert not comes_from_us(b"secret", headers, b"{ }")
    old = str(int(time.time()) - 3600)
    assert not comes_from_us(
        b"secret", {webhook.TIMESTAMP: old, webhook.SIGNATURE: webhook.signature("secret", old, b"{}")}, b"{}"
    )
