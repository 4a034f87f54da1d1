"""What models say is text: whatever it says, nothing of it runs, loads, links, hides or steers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser.pages import HOSTILE, Written, hostile
from browser.reader import Reading, reading
from orchestrator.wording import visible

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

OURS = {
    *(
        "a",
        "b",
        "button",
        "caption",
        "code",
        "dd",
        "details",
        "div",
        "dl",
        "dt",
        "h1",
        "h2",
        "h3",
        "h4",
        "header",
        "li",
    ),
    *("main", "nav", "ol", "p", "section", "small", "span", "strong", "summary", "table", "tbody", "td", "tfoot", "th"),
    *("thead", "tr", "ul"),
}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Written:
    return hostile(tmp_path_factory.mktemp("hostile"))


@pytest.fixture
def read(browser: Browser, page: Written) -> Iterator[Reading]:
    with reading(browser, page.file) as read:
        read.checked()
        yield read


def test_forty_hostile_turns_run_nothing_and_load_nothing(read: Reading, page: Written) -> None:
    assert len(HOSTILE) >= 40
    read.expand()
    read.page.mouse.move(300, 300)
    for selector in ("summary", "a", "button", ".said", "td"):
        for place in read.page.locator(selector).all()[:60]:
            place.dispatch_event("click")
            place.dispatch_event("mouseover")
            place.dispatch_event("focus")
    read.page.wait_for_function("document.readyState === 'complete'")
    assert read.page.evaluate("window.reached") is None
    assert read.noise == []
    assert read.requests == [page.file.as_uri()]
    assert read.page.url.partition("#")[0] == page.file.as_uri()


def test_hostile_words_verify_as_they_were_said(read: Reading) -> None:
    assert read.verdict == "verified"


def test_every_element_of_the_report_is_ours(read: Reading) -> None:
    names = read.page.evaluate(
        "[...new Set([...document.querySelectorAll('#report *')].map((each) => each.localName))]"
    )
    assert set(names) <= OURS
    handlers = read.page.evaluate(
        "[...document.querySelectorAll('#report *')].flatMap((each) => each.getAttributeNames())"
        ".filter((name) => name.startsWith('on') || ['style', 'src', 'srcdoc', 'action'].includes(name))"
    )
    assert handlers == []


def test_no_word_of_theirs_becomes_a_link_out_or_an_id(read: Reading) -> None:
    links = read.page.evaluate("[...document.querySelectorAll('#report a')].map((each) => each.getAttribute('href'))")
    assert links
    assert all(link.startswith("#") for link in links)
    ids = read.page.evaluate("[...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in links} <= set(ids)


def test_every_hostile_word_is_there_to_be_read(read: Reading, page: Written) -> None:
    said = "\n".join(read.words("#debate .said"))
    for payload in HOSTILE:
        redacted = payload == HOSTILE[3]
        assert (visible(payload) in said) != redacted, payload


def test_nothing_that_reorders_or_steers_stands_in_the_page_or_its_title(read: Reading) -> None:
    text = read.page.locator("body").text_content() or ""
    shown = (text.partition('{"schema"')[0]) + read.page.title()
    assert not [sign for sign in "\u202e\u2066\u202d\u0007\u001b\u0085\r\u007f" if sign in shown]


def test_the_policy_lets_nothing_in(read: Reading) -> None:
    policy = read.page.locator("meta[http-equiv='Content-Security-Policy']").get_attribute("content") or ""
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules.keys() == {"default-src", "style-src", "script-src", "base-uri", "form-action"}
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    hashes = f"{rules['style-src']} {rules['script-src']}".split()
    assert len(hashes) == 3
    assert all(each.startswith("'sha256-") for each in hashes)


@pytest.mark.parametrize("code", ["eval('1')", "document.body.append(Object.assign(document.createElement('script'), "
                                  "{textContent: 'window.reached = true'}))"])  # fmt: skip
def test_a_script_that_came_in_after_all_would_not_run(read: Reading, code: str) -> None:
    read.page.evaluate(f"() => {{ try {{ {code} }} catch (refused) {{}} }}")
    assert read.page.evaluate("window.reached") is None


@pytest.mark.parametrize("phone", [True, False])
def test_words_of_any_width_make_no_page_wider_than_its_window(
    browser: Browser, page: Written, tmp_path: Path, phone: bool
) -> None:
    with reading(browser, page.file, phone=phone) as read:
        read.checked()
        assert read.overflow() == 0
        read.expand()
        assert read.overflow() == 0
        read.keep(f"hostile-{'phone' if phone else 'desk'}", tmp_path)
