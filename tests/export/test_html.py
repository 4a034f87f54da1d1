"""`report.html` as text: what stands in it, and that nothing which is said becomes more than words. Browsers read it in
tests/browser."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from building import THREAD, evidence_of, hall_at, plan_of
from export.test_markdown import ACCOUNT, ADR, HOSTILE, debate_of
from orchestrator.decision.grounds import Grounds
from orchestrator.decision.record import make_record
from orchestrator.errors import ConfigurationError
from orchestrator.export.html import render_html
from orchestrator.export.report import Report
from orchestrator.hall.debate import Debate
from orchestrator.hall.terms import Role
from orchestrator.plan import Plan
from orchestrator.wording import visible

EVIDENCE = (evidence_of(), ADR)


class Parsed(HTMLParser):
    """A page as a parser reads it: its elements with their attributes, and the words in each that is named."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}  # of elements with `data-of`, without what is added
        self.sources: dict[str, list[str]] = {"style": [], "script": []}
        self.words = ""
        self._open: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        element = (tag, dict(attributes))
        self.elements.append(element)
        if tag != "meta":
            self._open.append(element)
        if tag in ("th", "td"):
            self.words += " "
        if "data-of" in element[1]:
            self.texts.setdefault(str(element[1]["data-of"]), []).append("")
        if tag in self.sources:
            self.sources[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        tag = self._open[-1][0] if self._open else ""
        if tag in self.sources:
            self.sources[tag][-1] += data
            return
        self.words += data
        if not any("data-added" in attributes for _, attributes in self._open):
            for _, attributes in self._open:
                if "data-of" in attributes:
                    self.texts[str(attributes["data-of"])][-1] += data

    @property
    def data(self) -> dict[str, Any]:
        """What the page embeds."""
        read: dict[str, Any] = json.loads(self.sources["script"][0])
        return read

    def order(self, *names: str) -> list[str]:
        return [str(attributes.get("id")) for tag, attributes in self.elements if tag in names]


def page_of(debate: Debate, plan: Plan | None = None, **changes: Any) -> Parsed:
    return Parsed(render_html(make_record(debate, plan).model_copy(update=changes), debate))


def accounted(folder: Path, **changes: Any) -> Parsed:
    plan = plan_of(evidence=EVIDENCE)
    debate = debate_of(folder, "It is moved. It is kept.", topic="Kafka?", plan=plan)
    return page_of(debate, plan, **{"incomplete": (), **ACCOUNT, **changes})


# ------------------------------------------------------------------------------------------------------ one safe file


def test_the_page_asks_for_nothing_beyond_itself(tmp_path: Path) -> None:
    page = accounted(tmp_path / "state")
    named = {name for _, attributes in page.elements for name in attributes}
    assert not named & {"src", "srcset", "action", "style", "ping", "background", "data", "poster"}
    links = [attributes["href"] for _, attributes in page.elements if "href" in attributes]
    assert links
    assert all(str(link).startswith("#") for link in links)
    assert "link" not in {tag for tag, _ in page.elements}
    ours = "".join([*page.sources["style"], *page.sources["script"][1:]])  # the first is the ledger
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|import\(|eval\(|innerHTML", ours)


def test_the_policy_lets_in_the_pages_own_style_and_scripts_alone(tmp_path: Path) -> None:
    page = accounted(tmp_path / "state")
    meta = next(attributes for tag, attributes in page.elements if tag == "meta" and "http-equiv" in attributes)
    _, *scripts = page.sources["script"]  # the first is the ledger, which is no script
    style, check, open = (
        f"'sha256-{b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"
        for source in (*page.sources["style"], *scripts)
    )
    assert meta["content"] == (
        f"default-src 'none'; style-src {style}; script-src {check} {open}; base-uri 'none'; form-action 'none'"
    )


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_is_said_becomes_an_element_or_leaves_its_own(tmp_path: Path, text: str) -> None:
    plan = plan_of(evidence=[evidence_of(text), evidence_of(text, "E2", "a.md")])
    debate = debate_of(tmp_path / "state", f"{text}\n[E1:1] [E2:9]", topic=text, plan=plan)
    plain = debate_of(tmp_path / "plain", "Said.\n[E1:1] [E2:9]", topic="Kafka?", plan=plan)
    said = {"title": text, "summary": text, "warnings": (text,), "incomplete": (text,)}
    page, other = page_of(debate, plan, **said), page_of(plain, plan, **said)
    assert {tag for tag, _ in page.elements} == {tag for tag, _ in other.elements}
    for line in debate.lines:
        if line.text is not None:
            assert set(page.texts[str(line.entry.seq)]) == {visible(line.text)}
    assert [line["text"] for line in page.data["ledger"]] == [line.text for line in debate.lines]
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[a-z]+(-[a-zA-Z0-9]+)*", str(id)) for id in ids)


def test_the_embedded_ledger_holds_no_sign_that_could_end_its_element(tmp_path: Path) -> None:
    debate = debate_of(tmp_path / "state", "</script><!-- &amp; \u2028 \u2029 -->")
    html = render_html(make_record(debate, None), debate)
    start = html.index(">", html.index('id="ledger"')) + 1
    embedded = html[start : html.index("</script>", start)]
    assert not set("<>&\u2028\u2029") & set(embedded)
    assert json.loads(embedded)["ledger"][1]["text"] == "</script><!-- &amp; \u2028 \u2029 -->"


# --------------------------------------------------------------------------------------------------------- the words

CITING = ["[E1:1]", '[E1:2] "second line"', "[E9:1]", "[notes.md:1-2]"]
MARKDOWN = ["## Heading", "**bold**", "**", "*", "# ", "```", "- ", "\n", "\r\n", " ", "\t"]
OTHERS = ["<b>", "&amp;", "\x1b", "\u202e", "word", "'", '"', "…"]


@cache
def uncited() -> Report:
    """A report of a debate in which nothing is cited, beside two pieces of evidence."""
    with TemporaryDirectory() as folder:
        debate = debate_of(Path(folder) / "state", "Said.")
    return Report(make_record(debate, None), debate, EVIDENCE, Grounds(3, frozenset(), EVIDENCE))


@given(text=st.lists(st.sampled_from([*CITING, *MARKDOWN, *OTHERS]), max_size=14).map("".join))
def test_words_are_shown_whole_whatever_is_put_around_them(text: str) -> None:
    shown = Parsed(f'<div data-of="0">{uncited().said(text)}</div>')
    assert shown.texts["0"] == [visible(text)]


def test_behind_a_broken_citation_stands_why_and_the_words_stay_as_they_were_said(tmp_path: Path) -> None:
    plan = plan_of(evidence=[evidence_of()])
    page = page_of(debate_of(tmp_path / "state", "It is slow [E1:9].", topic="Kafka?", plan=plan), plan)
    assert page.texts["1"] == ["It is slow [E1:9]."]
    assert "It is slow [E1:9] (broken: notes.md has 2 lines)." in page.words


def test_each_text_stands_once_in_the_page_and_once_in_its_ledger(tmp_path: Path) -> None:
    said = " ".join(f"word{number}" for number in range(400))
    with hall_at(tmp_path / "state") as hall:
        hall.init_debate(THREAD, "Kafka?", max_turns=36, max_rounds=12)
        for at in range(36):
            hall.add_turn(THREAD, tuple(Role)[at % 3], f"turn{at} {said}")
        hall.close_debate(THREAD, "It is decided.")
        debate = hall.debate(THREAD)
    html = render_html(make_record(debate, None), debate)
    assert html.count(said) == 2 * 36
    assert len(html) < 2 * 36 * len(said) + 150_000


def test_a_redacted_text_is_nowhere_in_the_page_and_why_stands_in_its_place(tmp_path: Path) -> None:
    debate_of(tmp_path / "state", "It named a customer.", topic="Kafka?", close=False)
    with hall_at(tmp_path / "state") as hall:
        hall.tombstone_turn(THREAD, 0, "Not for everybody.")
        page = page_of(hall.debate(THREAD))
    assert "1" not in page.texts
    assert page.texts["4"] == ["Not for everybody."] * 2  # in the turn's place, and as an entry of its own
    assert page.data["ledger"][1] | {"entry": "", "hash": ""} == {
        **{"entry": "", "hash": "", "text": None, "salt": None},
        "erased_by": 4,
    }


# ------------------------------------------------------------------------------------------------------- what it shows


def test_the_decision_comes_first_and_what_is_to_be_said_of_it_before_that(tmp_path: Path) -> None:
    page = accounted(tmp_path / "state", incomplete=("T2.C1 has no outcome.",))
    assert page.order("section") == ["decision", "options", "follows", "debate", "evidence", "seats", "ledger-section"]
    at = page.words.index
    assert at("Kafka?") < at("INCOMPLETE") < at("Billing moves to Kafka, one table at a time.") < at("T2.C1 has no")


def test_options_stand_beside_the_constraints_that_they_rest_on(tmp_path: Path) -> None:
    page = accounted(tmp_path / "state")
    words = " ".join(page.words.split())
    assert "A Stay raised in T1 – not taken It is slow. T2.C1, T9.C1, which there is not" in words
    assert "B Move raised in T3, T42, which there is not ✓ taken It is fast." in words
    row = words[words.index("T2.C1 It is moved.") :]
    assert row.startswith("T2.C1 It is moved. It is kept. ideator in T2 constraint ■ blocks")
    assert "✗ A" in row


def test_a_debate_whose_plan_this_version_cannot_read_is_refused_as_in_every_format(tmp_path: Path) -> None:
    with hall_at(tmp_path / "state") as hall:
        hall.open_run(THREAD, "Kafka?", "{}", "fixed", 3, 1, [])
        debate = hall.debate(THREAD)
    with pytest.raises(ConfigurationError):
        render_html(make_record(debate, None), debate)


def test_a_debate_in_which_nobody_has_spoken_is_a_page_too(tmp_path: Path) -> None:
    with hall_at(tmp_path / "state") as hall:
        hall.init_debate(THREAD, "Kafka?")
        page = page_of(hall.debate(THREAD))
    assert "Nobody has spoken yet." in page.words
    assert page.texts["0"] == ["Kafka?"]


def test_a_long_question_is_folded_so_that_it_stands_before_no_decision(tmp_path: Path) -> None:
    topic = "Should we move?\n\n" + "Because of this and that. " * 40
    page = page_of(debate_of(tmp_path / "state", "Said.", topic=topic))
    assert page.texts["0"] == [topic]
    html = render_html(make_record(debate := debate_of(tmp_path / "other", "Said.", topic=topic), None), debate)
    assert "<details><summary><b>Question</b>" in html


@pytest.mark.parametrize("verdict", ["VERDICT: CONDITIONAL. ", "VERDICT: CONDITIONAL\n\n", "VERDICT: CONDITIONAL — "])
def test_what_a_walls_turn_begins_with_is_told_without_its_verdict(tmp_path: Path, verdict: str) -> None:
    with hall_at(tmp_path / "state") as hall:
        hall.init_debate(THREAD, "Kafka?")
        hall.add_turn(THREAD, Role.WIND, "What if?")
        hall.add_turn(THREAD, Role.WALL, f"{verdict}Yes, but three people cannot run it.")
        html = render_html(make_record(debate := hall.debate(THREAD), None), debate)
    assert '<span class="glimpse">Yes, but three people cannot run it.</span>' in html
