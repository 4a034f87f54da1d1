"""The page checks itself: green as it was written, red after any changed byte, never green where it did not look."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from browser.pages import Written, example, hostile, written
from browser.reader import Reading, reading
from examples.shelf import ALL
from orchestrator.wording import visible

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

SEED = 20260113
EACH = 60  # changed bytes of a kind


class Change(NamedTuple):
    what: str
    content: bytes


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Votes, refinements, citations, a redaction, evidence: all that a page can show."""
    return example("everything", tmp_path_factory.mktemp("everything"))


@pytest.mark.parametrize("name", ALL)
def test_a_page_as_it_was_written_is_verified(browser: Browser, tmp_path: Path, name: str) -> None:
    page = example(name, tmp_path)
    with reading(browser, page.file) as read:
        assert read.checked() == "verified"
        assert f"The {len(page.debate.lines)} entries" in read.told
        assert page.debate.head in read.told
        read.expand()
        command = f"debate-hall verify {page.debate.state.thread_id} --head {page.debate.head}"
        assert command in read.told
        assert "rewritten as a whole" in read.told
        assert (read.requests, read.noise) == ([page.file.as_uri()], [])


def test_a_page_is_verified_too_where_a_link_leads_into_what_is_folded_away(browser: Browser, shown: Written) -> None:
    with reading(browser, shown.file) as read:
        target = read.page.locator("details.piece:not([open]) .excerpt").first.get_attribute("id")
        read.page.goto("about:blank")
        read.page.goto(f"{shown.file.as_uri()}#{target}")
        assert read.checked() == "verified"
        assert read.page.locator(f"#{target}").is_visible()


def test_the_head_and_the_command_can_be_copied(browser: Browser, shown: Written) -> None:
    with reading(browser, shown.file, permissions=["clipboard-read", "clipboard-write"]) as read:
        read.checked()
        for label, copied in (
            ("Copy head", shown.debate.head),
            ("Copy command", f"debate-hall verify {shown.debate.state.thread_id} --head {shown.debate.head}"),
        ):
            read.page.get_by_role("button", name=label).click()
            read.page.get_by_role("button", name="Copied").first.wait_for()
            assert read.page.evaluate("navigator.clipboard.readText()") == copied


# -------------------------------------------------------------------------------------------------- what is changed


def embedded(html: str) -> tuple[int, int]:
    """Where the embedded data begins and ends."""
    start = html.index(">", html.index('<script type="application/json" id="ledger"')) + 1
    return start, html.index("</script>", start)


def changed(html: str, old: str, new: str, start: int = 0) -> str:
    at = html.index(old, start)
    return html[:at] + new + html[at + len(old) :]


def in_data(old: str, new: str) -> Callable[[str], str]:
    return lambda html: changed(html, old, new, embedded(html)[0])


def behind(place: str, old: str, new: str) -> Callable[[str], str]:
    """In what is shown, behind a place."""
    return lambda html: changed(html, old, new, html.index(place))


def one_other(pattern: str) -> Callable[[str], str]:
    """The last character of what matches in the data becomes another."""

    def change(html: str) -> str:
        start, end = embedded(html)
        found = re.compile(pattern).search(html, start, end)
        assert found
        other = "0" if html[found.end() - 1] != "0" else "1"
        return html[: found.end() - 1] + other + html[found.end() :]

    return change


DATA = {
    "a hash": one_other(r'"hash":"sha256:[0-9a-f]{64}'),
    "a salt": one_other(r'"salt":"[0-9a-f]{64}'),
    "a digest in an entry": one_other(r'digest\\":\\"sha256:[0-9a-f]{64}'),
    "the hash of the entry before": one_other(r'prev\\":\\"sha256:[0-9a-f]{64}'),
    "a number of tokens": one_other(r'token_input\\":\d+'),
    "a role": in_data(r"\"role\":\"Wind\"", r"\"role\":\"Wand\""),
    "the topic": in_data("Should we move billing", "Should he move billing"),
    "the text of a turn": in_data("One writer, one order", "One writer, no order"),
    "the synthesis": in_data("No. Billing stays in PostgreSQL.", "So. Billing stays in PostgreSQL."),
    "the plan": in_data('"plan":"{', '"plan":"['),
    "the evidence in the plan": in_data("Peak load is 900", "Peak load is 800"),
    "the head": one_other(r'"head":"sha256:[0-9a-f]{64}'),
    "the thread": in_data('"thread_id":"2026', '"thread_id":"2027'),
    "the schema": in_data("debate-hall/debate/v1", "debate-hall/debate/v2"),
    "which tombstone redacted a text": one_other(r'"erased_by":\d+'),
    "that a text is redacted": in_data('"erased_by":null', '"erased_by":true'),
    "the name of a member": in_data('"salt":', '"sa1t":'),
    "the spelling of a sign": in_data("\\u003e", "\\u003E"),
    "a space that says nothing": in_data('","hash"', '" ,"hash"'),
    "an entry that is left out": lambda html: re.sub(r'\{"entry":"[^{]*?\{[^{}]*floor_given.*?\},', "", html, count=1),
    "an end that is cut off": lambda html: re.sub(r',\{"entry":(?:(?!"entry":).)*\}\]\}</script>', "]}</script>", html),
    "a text in the place of a redacted one": in_data(
        '"text":null,"salt":null,"erased_by":3', '"text":"It said this.","salt":null,"erased_by":3'
    ),
}
PAGE = {
    "the topic": behind('data-of="0"', "billing", "belling"),
    "a turn": behind('id="turn-1"', "One writer", "One waiter"),
    "white space in a turn": behind('id="turn-1"', "\n\n", "\n \n"),
    "the synthesis": behind('class="synthesis"', "Billing stays", "Billing strays"),
    "why something is redacted": behind('class="redacted"', "customer", "costumer"),
    "an agent": behind('id="turn-3"', "validator", "valldator"),
    "a lens": behind('class="lens"', "third way", "other way"),
    "a model": behind('id="turn-3"', "scripted/wall-1", "scripted/wall-7"),
    "what a turn cost": behind('id="turn-3"', "$0.0", "$0.1"),
    "when a turn was taken": behind('id="turn-3"', "09:01", "09:11"),
    "the hash of a turn": behind('id="turn-3"', "sha256:f", "sha256:e"),
    "how somebody voted": behind("badge approve", "approve</span>", "object</span>"),
    "which text stands there": behind('id="turn-1"', 'class="said" data-of="2"', 'class="said" data-of="4"'),
    "a cited line": behind('data-line="0', "invoice", "invoize"),
    "the number of a cited line": behind("data-line", 'class="at">7', 'class="at">8'),
    "why a citation is broken": behind("data-added", "stand nowhere", "stand somewhere"),
    "an outcome": behind('id="constraint-6"', "! open", "✓ met"),
    "a decision in short": behind('class="lead"', "not moved", "now moved"),
    "a mark": behind('class="mark"', "DEGRADED", "UPGRADED"),
    "a count": behind('class="glance"', "11 turns", "12 turns"),
    "what is hidden": behind('id="dissent"', '<ul class="objections"', '<ul hidden class="objections"'),
    "where a link leads": behind('id="options"', 'href="#turn-1"', 'href="#turn-2"'),
    "a word that is put in": behind('id="turn-1"', "</div>", "<i data-added>not</i></div>"),
    "a text that is taken out": lambda html: re.sub(r'<div class="said" data-of="2">.*?</div>', "", html, flags=re.S),
    "the title": behind("<head>", "Billing stays", "Billing leaves"),
    "the style": behind("<style>", "color-scheme: light", "color-scheme: night"),
    "the checksum": behind("data-checksum", "sha256:", "sha255:"),
}


@contextmanager
def spoilt(browser: Browser, folder: Path, html: str) -> Iterator[Reading]:
    file = folder / "spoilt.html"
    file.write_text(html)
    with reading(browser, file) as read:
        yield read


def changes(content: bytes, places: Sequence[int], other: Callable[[random.Random, int], int]) -> Iterator[Change]:
    """The content with one byte changed, again and again."""
    chosen = random.Random(SEED)
    for _ in range(EACH):
        at = chosen.choice(places)
        byte = other(chosen, content[at])
        if byte != content[at]:
            yield Change(f"byte {at}: {content[at]} became {byte}", content[:at] + bytes([byte]) + content[at + 1 :])


def flipped(chosen: random.Random, byte: int) -> int:
    return byte ^ (1 << chosen.randrange(8))


def readings(browser: Browser, folder: Path, spoiling: Iterator[Change]) -> Iterator[tuple[str, Reading]]:
    """Reads one after the other in one window, which is quicker."""
    file = folder / "spoilt.html"
    file.touch()
    with reading(browser, file) as read:
        for what, content in spoiling:
            file.write_bytes(content)
            read.page.reload()
            yield what, read


@pytest.mark.parametrize("what", DATA)
def test_whoever_changes_the_embedded_ledger_is_found_out(
    browser: Browser, shown: Written, tmp_path: Path, what: str
) -> None:
    html = shown.file.read_text()
    spoiling = DATA[what](html)
    assert spoiling != html
    with spoilt(browser, tmp_path, spoiling) as read:
        assert read.checked() == "broken"
        assert "✗" in read.told
        assert "Verified" not in read.told


@pytest.mark.parametrize("what", PAGE)
def test_whoever_changes_what_the_page_shows_is_found_out(
    browser: Browser, shown: Written, tmp_path: Path, what: str
) -> None:
    html = shown.file.read_text()
    spoiling = PAGE[what](html)
    assert spoiling != html
    with spoilt(browser, tmp_path, spoiling) as read:
        assert read.checked() == "broken"
        assert "Verified" not in read.told


def test_the_first_bad_entry_is_named(browser: Browser, shown: Written, tmp_path: Path) -> None:
    html = DATA["the synthesis"](DATA["the text of a turn"](shown.file.read_text()))
    with spoilt(browser, tmp_path, html) as read:
        read.checked()
        assert "entry 2: its text is not the text that was written" in read.told


def test_any_changed_byte_of_the_embedded_data_is_found_out(browser: Browser, shown: Written, tmp_path: Path) -> None:
    html = shown.file.read_text()
    start, end = (len(html[:at].encode()) for at in embedded(html))
    for what, read in readings(browser, tmp_path, changes(html.encode(), range(start, end), flipped)):
        assert read.checked() == "broken", what


def test_any_changed_byte_of_what_is_shown_is_found_out(browser: Browser, shown: Written, tmp_path: Path) -> None:
    content = shown.file.read_bytes()
    first, end = content.index(b'<div id="report">'), content.index(b'<script type="application/json"')
    live = re.compile(rb"<(\w+)[^>]*data-live.*?</\1>", re.DOTALL)
    report = live.sub(lambda found: b"<" * len(found[0]), content[first:end])
    spans = [found.span(1) for found in re.finditer(rb">([^<]+)<", report)]
    places = [first + place for span in spans for place in range(*span)]

    def another(chosen: random.Random, byte: int) -> int:
        return chosen.choice(b"abcxyz0189 ,.")

    for what, read in readings(browser, tmp_path, changes(content, places, another)):
        assert read.checked() == "broken", what


def test_a_changed_byte_of_markup_is_found_out_or_changes_nothing_that_is_shown(
    browser: Browser, shown: Written, tmp_path: Path
) -> None:
    content = shown.file.read_bytes()
    report = range(content.index(b'<div id="report">'), content.index(b'<script type="application/json"'))
    with reading(browser, shown.file) as read:
        read.checked()
        before = read.page.locator("main").inner_text()
    for what, read in readings(browser, tmp_path, changes(content, report, flipped)):
        read.page.evaluate("crypto.subtle.digest('SHA-256', new Uint8Array(8))")
        if read.page.locator("#check.verified").count():
            assert read.page.locator("main").inner_text() == before, what


def test_a_changed_byte_of_the_check_itself_keeps_it_from_running(
    browser: Browser, shown: Written, tmp_path: Path
) -> None:
    content = shown.file.read_bytes()
    start = content.index(b"<script>") + len(b"<script>")
    check = range(start, content.index(b"</script>", start))
    for what, read in readings(browser, tmp_path, changes(content, check, flipped)):
        assert read.verdict == "unchecked", what
        assert "Not checked" in read.told


# --------------------------------------------------------------------------------------------- where it did not look


def test_without_web_crypto_it_says_that_it_could_not_be_checked(browser: Browser, shown: Written) -> None:
    with reading(browser, shown.file) as read:
        read.page.add_init_script("Object.defineProperty(Crypto.prototype, 'subtle', {get: () => undefined})")
        read.page.reload()
        read.page.get_by_text("offers no Web Crypto").wait_for()
        assert read.verdict == "unchecked"
        assert "Not checked" in read.told
        assert "✓" not in read.told


def test_without_scripts_it_says_that_the_check_has_not_run_and_can_be_read(browser: Browser, shown: Written) -> None:
    with reading(browser, shown.file, java_script_enabled=False) as read:
        assert read.verdict == "unchecked"
        assert "has not run" in read.told
        turn = read.page.locator("#turn-1")
        turn.locator("summary").click()
        assert "One writer, one order" in turn.locator(".said").inner_text()
        assert read.page.get_by_role("button").count() == 0


# ------------------------------------------------------------------------------------------- the same as debate.json


def test_every_turn_reads_as_the_ledger_holds_it(browser: Browser, shown: Written) -> None:
    with reading(browser, shown.file) as read:
        told = {f"turn-{line.turn.turn_index + 1}": line.text for line in shown.debate.turns}
        differing = read.page.evaluate(
            """(told) => Object.entries(told).filter(([id, text]) => {
                 const said = document.querySelector(`#${id} > .said`);
                 if (text === null) return said !== null;
                 const copy = said.cloneNode(true);
                 copy.querySelectorAll("[data-added]").forEach((added) => added.remove());
                 return copy.textContent !== text;
               }).map(([id]) => id)""",
            told,
        )
        assert differing == []
        assert len(told) == 11


def test_what_steers_is_shown_as_the_same_sign_in_the_page_as_everywhere(browser: Browser, tmp_path: Path) -> None:
    page = hostile(tmp_path)
    with reading(browser, page.file) as read:
        assert read.checked() == "verified"
        shown = read.words("[data-of]")
    assert visible(page.debate.opening.text or "") in shown
    for line in page.debate.turns:
        assert line.text is None or any(visible(line.text)[:40] in words for words in shown)


def test_a_page_of_another_ledger_and_its_own_script_is_green_and_says_what_that_does_not_show(
    browser: Browser, shown: Written, tmp_path: Path
) -> None:
    """What no page can show: the head is another."""
    other = example("stalemate", tmp_path)
    with reading(browser, written(tmp_path, other.debate, other.record).file) as read:
        assert read.checked() == "verified"
        assert shown.debate.head not in read.told
        read.expand()
        assert "one that was kept elsewhere" in read.told


def test_the_embedded_data_is_what_debate_json_holds(shown: Written) -> None:
    html = shown.file.read_text()
    data = json.loads(html[slice(*embedded(html))])
    assert (data["head"], data["plan"]) == (shown.debate.head, shown.debate.plan)
    assert [(line["hash"], line["text"], line["salt"], line["erased_by"]) for line in data["ledger"]] == [
        (line.hash, line.text, line.salt, line.erased_by) for line in shown.debate.lines
    ]
