"""The forms of a check: what is read, what is for a person, and that each form reads back as it was written."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from orchestrator.decision.account import Assumption
from orchestrator.review.checks import RELATIONS, Check, Exits, FileIs, Prints, Text, Until, parse

DIGEST = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("text", "check"),
    [
        ("exit 0: pytest -q tests/billing", Exits(0, "pytest -q tests/billing")),
        ("exit 1: grep -rq 'kafka: on' src", Exits(1, "grep -rq 'kafka: on' src")),
        ("`exit 0: make check`", Exits(0, "make check")),
        ("exit 0: echo `date`", Exits(0, "echo `date`")),
        ("exit 0:\nset -e\nmake a\nmake b\n", Exits(0, "set -e\nmake a\nmake b")),
        ("number < 200: ./p95.sh", Prints("<", Decimal(200), "./p95.sh")),
        ("number<=-1.5: ./p95.sh", Prints("<=", Decimal("-1.5"), "./p95.sh")),
        ("number == 0: grep -c TODO a.py", Prints("==", Decimal(0), "grep -c TODO a.py")),
        (f"file docs/my schema.sql sha256 {DIGEST.upper()}", FileIs("docs/my schema.sql", DIGEST)),
        (f"file a sha256:{DIGEST}", FileIs("a", DIGEST)),
        ('text "max_connections = 200" in db.conf', Text("max_connections = 200", "db.conf", True)),
        (r'text "say \"no\" in C:\\tmp\d" in a "b" c.md', Text(r'say "no" in C:\tmp\d', 'a "b" c.md', True)),
        ('no text "kafka" in docs/billing.md', Text("kafka", "docs/billing.md", False)),
        ("until 2027-03-01", Until(date(2027, 3, 1))),
    ],
)
def test_a_check_in_one_of_the_forms_is_read(text: str, check: Check) -> None:
    assert parse(text) == check


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ask the team in March",
        "pytest -q tests/billing",
        "exit 256: true",
        "exit nonzero: true",
        "exit 0:",
        "number != 3: ls",
        "number < 1,000: ls",
        "number < many: ls",
        "file a sha256 0123",
        'text "" in a.md',
        'text "  " in a.md',
        'text "open in a.md',
        'text "a" in ',
        "until 2027-02-30",
        "until March",
        "exit 0: true\0",
        "exit 0: \ud800",
        "I think exit 0: true",
    ],
)
def test_what_follows_no_form_is_for_a_person(text: str) -> None:
    assert parse(text) is None


COMMANDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(
    lambda text: text == text.strip()
)
PATHS = COMMANDS.filter(lambda text: "\n" not in text)
BOUNDS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20)
CHECKS = st.one_of(
    st.builds(Exits, st.integers(0, 255), COMMANDS),
    st.builds(Prints, st.sampled_from(list(RELATIONS)), BOUNDS, COMMANDS),
    st.builds(FileIs, PATHS, st.text("0123456789abcdef", min_size=64, max_size=64)),
    st.builds(Text, COMMANDS, PATHS, st.booleans()),
    st.builds(Until, st.dates()),
)


@given(CHECKS)
@example(Text("\\", '\\" in a', True))
@example(FileIs(f"a sha256 {DIGEST}", DIGEST))
def test_each_check_reads_back_as_it_was_written(check: Check) -> None:
    assert parse(str(check)) == check
    assert parse(f"  `{check}`\n") in (check, None)


@given(
    st.one_of(
        st.text(),
        st.builds(
            lambda start, rest: start + rest,
            st.sampled_from(["exit 0: ", "number < 1: ", 'text "', "until "]),
            st.text(),
        ),
    )
)
def test_any_text_is_a_check_that_reads_back_or_for_a_person(text: str) -> None:
    check = parse(text)
    assert check is None or parse(str(check)) == check


def test_the_forms_that_door_is_told_are_those_that_are_read() -> None:
    told = Assumption.model_fields["check"].description or ""
    forms = told.partition("exactly one of: ")[2].partition(". Paths")[0].replace(" (the last that it prints)", "")
    read = [parse(form.replace("HEX", DIGEST)) for form in forms.split(" · ")]
    assert [type(check) for check in read] == [Exits, Prints, FileIs, Text, Text, Until]
