"""The reference is what the code says; `python -m tests.reference` writes it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.cli.ending import Exit
from reference.page import BEGIN, END, PAGE, README, everything, page, with_table


@pytest.mark.parametrize(("file", "made"), [(README, with_table), (PAGE, lambda text: page())], ids=["README", "page"])
def test_what_is_written_is_what_the_code_says(file: Path, made: Callable[[str], str]) -> None:
    assert file.read_text() == made(file.read_text()), "run: python -m tests.reference"


def test_the_readme_has_one_place_for_the_table_and_names_every_command() -> None:
    text = README.read_text()
    assert (text.count(BEGIN), text.count(END)) == (1, 1)
    named = re.findall(r"^\| \[`([^`]+)`\]\(docs/commands.md#([\w-]+)\)", text, re.MULTILINE)
    headings = re.findall(r"^## (.+)$", PAGE.read_text(), re.MULTILINE)
    assert {name for name, _ in named} <= set(headings)
    assert [anchor for _, anchor in named] == [name.replace(" ", "-") for name, _ in named]
    assert {name for name, _ in everything()} - {name for name, _ in named} == {
        "debate-hall",
        "debate-hall eval",
        "debate-hall fleet",
        "debate-hall key",
        "debate-hall review",
        "debate-hall store",
    }


def test_the_readmes_exit_codes_are_those_of_the_code() -> None:
    _, _, table = README.read_text().partition("## Exit codes")
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)] == [int(code) for code in Exit]
