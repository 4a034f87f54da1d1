"""The reviews file: what it says, and how it is refused."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from string import printable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import ConfigurationError, UsageError
from orchestrator.models_file import models_path
from orchestrator.recipe import Limits
from orchestrator.review.reviews_file import find_reviews_file, load_reviews
from orchestrator.review.topic import PLACES, fault_in, filled
from orchestrator.shelves import folders

WEEKLY = """\
reviews:
  - name: weekly
    cron: '0 9 * * 1'
    timezone: Europe/Berlin
    recipe: fortress
    models: rehearsal
    topic: Is the architecture of {date} still right?
    context: [docs/architecture/**/*.md]
    adr: docs/adr
    when: changed
    limits: {cost_usd: 3, seconds: 1800}
"""


def written(folder: Path, text: str = WEEKLY) -> Path:
    file = folder / "reviews.yaml"
    file.write_text(text)
    return file


def test_what_a_file_says_and_what_it_leaves_unsaid(tmp_path: Path) -> None:
    file = load_reviews(written(tmp_path, WEEKLY + "  - {name: nightly, cron: 0 2 * * *, topic: 'Right?'}\n"))
    assert (file.path, file.folder) == (tmp_path / "reviews.yaml", tmp_path)
    weekly, nightly = file.reviews
    assert (weekly.context, weekly.adr, weekly.limits) == (
        ("docs/architecture/**/*.md",),
        ("docs/adr",),
        Limits(cost_usd=Decimal(3), seconds=1800),
    )
    assert (nightly.timezone, nightly.recipe, nightly.models, nightly.when) == ("UTC", "standard", "models", "always")
    assert (nightly.missed, nightly.overlap, nightly.commands, nightly.risks) == ("once", "skip", False, ())
    assert file.named("NIGHTLY") is nightly


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("'0 9 * * 1'", "'0 9 * * 9'", r":3: reviews\[0\].cron: is no cron expression: bad day-of-week"),
        ("'0 9 * * 1'", "'0 0 9 * * 1'", r":3: reviews\[0\].cron: must be five fields"),
        ("'0 9 * * 1'", "'@weekly'", r":3: reviews\[0\].cron: must be five fields"),
        ("'0 9 * * 1'", "'0 0 30 2 *'", r":3: reviews\[0\].cron: is no cron expression: bad day-of-month"),
        ("'0 9 * * 1'", "'0 0 31 11 *'", r":3: reviews\[0\].cron: is no cron expression: bad day-of-month"),
        ("Europe/Berlin", "Europe/Berlim", r":4: reviews\[0\].timezone: there is no time zone 'Europe/Berlim'"),
        ("Europe/Berlin", "../etc/passwd", r":4: reviews\[0\].timezone: there is no time zone"),
        ("Europe/Berlin", "Europe", r":4: reviews\[0\].timezone: there is no time zone 'Europe'"),
        ("fortress", "fortres", r":5: reviews\[0\].recipe: There is no recipe 'fortres'. Did you mean fortress"),
        ("fortress", "fortress\n    tier: 2", r":6: reviews\[0\].tier: The seats of fortress are its point"),
        ("fortress", "own.yaml", r":5: reviews\[0\].recipe: .*own.yaml: There is no such file"),
        (
            "{date}",
            "{dato}",
            r":7: reviews\[0\].topic: has no place {dato}. The places are {date}, {range}",
        ),
        ("{date}", "{date.__class__}", r":7: reviews\[0\].topic: has no place {date.__class__}"),
        ("{date}", "{date", r":7: reviews\[0\].topic: has a brace that is no place"),
        ("name: weekly", "name: Weekly Review", r":2: reviews\[0\].name: must be at most 64 small letters"),
        ("when:", "wen:", r":10: reviews\[0\].wen: unknown key. Did you mean when?"),
        ("changed", "no", r":10: reviews\[0\].when: must be 'always', 'changed' or 'broken'"),
        ("cost_usd: 3", "cost_usd: free", r":11: reviews\[0\].limits.cost_usd: must be a number"),
        ("[docs/architecture/**/*.md]", "[1, {}]", r":8: reviews\[0\].context\[1\]: must be a text"),
        ("[docs/architecture/**/*.md]", "[docs, '-']", r":8: reviews\[0\].context\[1\]: is standard input"),
        ("adr: docs/adr", "decision: a b", r":9: reviews\[0\].decision: .*thread"),
        ("context: [docs/architecture/**/*.md]\n    adr: docs/adr", "tier: null", r"changed needs something that can"),
        ("- name: weekly", "- name: weekly\n    name: daily", r":3: reviews\[0\].name: duplicate key"),
    ],
)
def test_what_is_wrong_is_refused_with_file_line_and_key(tmp_path: Path, old: str, new: str, told: str) -> None:
    file = written(tmp_path, WEEKLY.replace(old, new))
    with pytest.raises(ConfigurationError, match=told):
        load_reviews(file)


def test_two_reviews_of_one_name_are_refused(tmp_path: Path) -> None:
    twice = WEEKLY + "  - {name: weekly, cron: 0 2 * * *, topic: 'Right?'}\n"
    with pytest.raises(ConfigurationError, match=r":12: reviews\[1\].name: weekly stands here twice"):
        load_reviews(written(tmp_path, twice))


def test_a_recipe_that_is_a_file_stands_beside_the_reviews(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "name: own\nsummary: Ours.\nmode: fixed\nturns: 3\nratio: {wind: 1, wall: 1, door: 1}\ntier: 1\n"
    )
    file = load_reviews(written(tmp_path, WEEKLY.replace("fortress", "own.yaml")))
    assert file.reviews[0].recipe_from(file.folder).name == "own"


def test_a_review_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no review 'weekli'\. Did you mean weekly\?"):
        load_reviews(written(tmp_path)).named("weekli")


def test_the_file_is_the_one_that_is_named_else_the_one_here_else_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    named = tmp_path / "other.yaml"
    assert find_reviews_file(named) == named
    with pytest.raises(ConfigurationError, match=r"There is no reviews.yaml\. Name one with --file"):
        find_reviews_file(None)  # not the example that is bundled
    (tmp_path / "config" / "debate-hall" / "configs").mkdir(parents=True)
    users = written(tmp_path / "config" / "debate-hall" / "configs")
    assert find_reviews_file(None) == users
    here = written(tmp_path)
    assert find_reviews_file(None).resolve() == here


WORDS = st.text(printable)


@given(WORDS)
def test_of_a_topic_only_the_places_are_filled_and_what_fills_them_is_taken_as_it_is(text: str) -> None:
    if fault_in(text) is None:
        told = filled(text, dict.fromkeys(PLACES, "{date}{}"))
        assert re.sub(r"\{(date|range|decision)\}", "{date}{}", text) == told
    else:
        assert "{" in text or "}" in text
    plain = text.replace("{", "").replace("}", "")
    assert fault_in(plain) is None
    assert filled(plain, {}) == plain


def test_a_reviews_file_on_the_shelf_of_models_files_is_none_of_them() -> None:
    with pytest.raises(ConfigurationError, match=r"There is no models file called 'reviews'. .*cli, local, models;"):
        models_path("reviews", folders("configs"))
