"""The page is read by everybody: by keyboard, by ear, in the dark, on a phone, on paper."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pypdf import PdfReader

from browser.pages import Written, example, long_debate
from browser.reader import Reading, reading
from orchestrator.hall.terms import Role

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

AXE = Path(os.environ.get("NODE_TOOLS", "/nowhere")) / "node_modules" / "axe-core" / "axe.min.js"
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"color_scheme": "light", "phone": True},
    "dark-phone": {"color_scheme": "dark", "phone": True},
}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Written:
    return example("everything", tmp_path_factory.mktemp("everything"))


def order(read: Reading, selector: str) -> list[str]:
    return [" ".join(words.split()) for words in read.page.locator(selector).all_inner_texts()]


# -------------------------------------------------------------------------------------------------------- the content


def test_the_decision_stands_before_all_but_its_marks_and_the_check(browser: Browser, shown: Written) -> None:
    with reading(browser, shown.file) as read:
        read.checked()
        assert order(read, "h1") == [shown.record.title]
        assert [words.split()[0] for words in order(read, ".mark")] == ["DEGRADED", "INCOMPLETE"]
        assert order(read, "h2") == [
            *("Decision", "Options and constraints", "What follows", "The debate", "Evidence"),
            *("Who spoke, and what it took", "Ledger"),
        ]
        fold = read.page.locator("#decision .lead").bounding_box()
        assert fold is not None
        assert fold["y"] < 900


def test_lanes_hold_the_turns_of_their_roles_round_by_round(browser: Browser, shown: Written) -> None:
    with reading(browser, shown.file) as read:
        for role in Role:
            turns = [line.turn for line in shown.debate.turns if line.turn.role is role]
            numbers = [
                f"T{turn.turn_index + 1}" for turn in sorted(turns, key=lambda turn: (turn.round, turn.turn_index))
            ]
            assert read.words(f".lane.{role.lower()} .number") == numbers
        boxes = [read.page.locator(f".lane.{role.lower()}").first.bounding_box() for role in Role]
        assert [box["y"] for box in boxes if box] == [boxes[0]["y"]] * 3 if boxes[0] else False


def test_constraints_without_an_answer_stand_out_in_words_too(browser: Browser, shown: Written) -> None:
    with reading(browser, shown.file) as read:
        rows = order(read, ".constraints tr.open")
        assert len(rows) == sum(one.outcome == "open" for one in shown.record.constraints) == 2
        assert all("! open" in row and "No answer." in row for row in rows)
        assert "2 without an answer" in order(read, ".constraints caption")[0]


def test_cited_lines_stand_beside_the_sentence_that_rests_on_them(browser: Browser, shown: Written) -> None:
    with reading(browser, shown.file) as read:
        read.checked()
        read.page.locator("#turn-1 summary").click()
        read.page.locator("#turn-1 a.cite").first.click()
        place = read.page.locator(".excerpt:target")
        assert "One writer, one order, and the four pollers" in place.inner_text()
        assert place.locator(".line.cited code").all_text_contents() == [
            "- Four teams poll the billing tables for themselves; their polling is 38 % of the database's load at peak."
        ]
        assert place.is_visible()
        assert len(read.page.locator(".excerpt.broken").all()) == shown.record.citations_broken == 1
        assert "the quoted words stand nowhere" in read.page.locator(".excerpt.broken").inner_text()


@pytest.mark.parametrize(("name", "marks"), [
    ("rehearsal", ["REHEARSAL"]), ("stalemate", ["STALEMATE"]), ("running", ["NOT CLOSED"]),
    ("forced", ["CLOSED BY FORCE"]), ("by-hand", []),
])  # fmt: skip
def test_marks_are_the_first_thing_to_be_seen(browser: Browser, tmp_path: Path, name: str, marks: list[str]) -> None:
    with reading(browser, example(name, tmp_path).file) as read:
        read.checked()
        assert read.words(".mark strong") == marks
        read.keep(name, tmp_path)


# ------------------------------------------------------------------------------------------------------- by keyboard


def test_everything_is_reached_by_keyboard_with_a_focus_that_is_seen(browser: Browser, shown: Written) -> None:
    with reading(browser, shown.file) as read:
        read.checked()
        wanted = read.page.evaluate(
            "[...document.querySelectorAll('a[href], button:not([hidden]), summary')]"
            ".filter((each) => each.checkVisibility()).length"
        )
        unseen, reached = [], 0
        for _ in range(wanted):
            read.page.keyboard.press("Tab")
            reached += 1
            name, outline = read.page.evaluate(
                "[document.activeElement.outerHTML.slice(0, 80), getComputedStyle(document.activeElement).outlineStyle]"
            )
            unseen += [name] if outline == "none" else []
        assert unseen == []
        assert "All 37 entries" in read.page.evaluate("document.activeElement.textContent")


def test_the_first_stop_skips_to_the_decision(browser: Browser, shown: Written) -> None:
    with reading(browser, shown.file) as read:
        read.checked()
        read.page.keyboard.press("Tab")
        assert read.page.evaluate("document.activeElement.textContent") == "Skip to the decision"
        assert read.page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
        read.page.keyboard.press("Enter")
        assert read.page.url.endswith("#decision")


def test_turns_are_opened_and_shut_by_keyboard_one_by_one_and_all_together(browser: Browser, shown: Written) -> None:
    with reading(browser, shown.file) as read:
        read.checked()
        summary = read.page.locator("#turn-1 summary")
        summary.focus()
        for opened in (True, False):
            read.page.keyboard.press("Enter")
            assert read.page.locator("#turn-1 .said").is_visible() is opened
        for label, opened in (("Expand all", True), ("Collapse all", False)):
            read.page.get_by_role("button", name=label).focus()
            read.page.keyboard.press("Space")
            states = read.page.evaluate("[...document.querySelectorAll('#debate details')].map((each) => each.open)")
            assert set(states) == {opened}


# -------------------------------------------------------------------------------------------------- by ear and by eye


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", ["everything", "rehearsal", "stalemate"])
def test_an_accessibility_check_finds_nothing_serious(browser: Browser, tmp_path: Path, name: str, look: str) -> None:
    if not AXE.is_file():
        pytest.skip("axe-core is not there: NODE_TOOLS names no folder that has it")
    with reading(browser, example(name, tmp_path).file, bypass_csp=True, **LOOKS[look]) as read:
        read.checked()
        read.keep(f"{name}-{look}", tmp_path)
        read.expand()
        read.page.add_script_tag(path=str(AXE))
        found = read.page.evaluate(
            "axe.run(document, {resultTypes: ['violations']}).then((result) => result.violations)"
        )
        serious = [
            (each["id"], [(node["html"][:120], node["failureSummary"][:300]) for node in each["nodes"][:3]])
            for each in found
            if each["impact"] in ("serious", "critical")
        ]
        assert serious == []


def test_headings_follow_one_another_and_landmarks_have_names(browser: Browser, shown: Written) -> None:
    with reading(browser, shown.file) as read:
        levels = read.page.evaluate(
            "[...document.querySelectorAll('h1, h2, h3, h4')].map((each) => Number(each.localName[1]))"
        )
        assert levels[0] == 1
        assert all(after <= before + 1 for before, after in zip(levels, levels[1:], strict=False))
        unnamed = read.page.evaluate(
            "[...document.querySelectorAll('section, nav')].filter((each) => !each.hasAttribute('aria-label')"
            " && !document.getElementById(each.getAttribute('aria-labelledby'))).length"
        )
        assert unnamed == 0
        assert read.page.evaluate("document.documentElement.lang") == "en"
        tables = read.page.evaluate(
            "[...document.querySelectorAll('table')].map((each) => [each.caption !== null,"
            " [...each.querySelectorAll('th')].every((head) => head.scope)])"
        )
        assert tables
        assert all(all(table) for table in tables)


@pytest.mark.parametrize("look", LOOKS)
def test_nothing_is_wider_than_its_window(browser: Browser, shown: Written, look: str) -> None:
    with reading(browser, shown.file, **LOOKS[look]) as read:
        read.checked()
        assert read.overflow() == 0
        read.expand()
        assert read.overflow() == 0


def test_who_wants_no_motion_gets_none(browser: Browser, shown: Written) -> None:
    for wish, behaviour in (("reduce", "auto"), ("no-preference", "smooth")):
        with reading(browser, shown.file, reduced_motion=wish) as read:
            assert read.page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == behaviour


# ----------------------------------------------------------------------------------------------------------- on paper


@pytest.mark.parametrize("scripts", [True, False])
def test_paper_holds_every_turn_and_no_button(browser: Browser, tmp_path: Path, scripts: bool) -> None:
    page = long_debate(tmp_path, turns=36, words=60)
    with reading(browser, page.file, java_script_enabled=scripts) as read:
        if scripts:
            read.checked()
        paper = read.page.pdf(format="A4")
    text = "".join(sheet.extract_text() for sheet in PdfReader(io.BytesIO(paper)).pages)
    folded = "".join(text.split())
    missing = [at for at in range(36) if f"Marker{at + 1:02}begins." not in folded or f"word{at}x59" not in folded]
    assert missing == []
    assert "Expandall" not in folded
    assert "Copyhead" not in folded


# --------------------------------------------------------------------------------------------------- a long debate


def test_a_debate_as_long_as_deep_stays_usable(browser: Browser, tmp_path: Path) -> None:
    page = long_debate(tmp_path)
    with reading(browser, page.file) as read:
        assert read.checked() == "verified"
        assert len(read.page.locator("#debate .turn").all()) == 36
        read.page.get_by_role("button", name="Expand all").click()
        assert "word35x799" in read.page.locator("#turn-36 .said").inner_text()
        assert read.overflow() == 0
        read.keep("deep", tmp_path)
