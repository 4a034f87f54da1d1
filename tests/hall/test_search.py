"""What a query means, and which part of a text shows what was found."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import InvalidInput
from orchestrator.hall.search import (
    MAX_WORDS,
    SNIPPET,
    Query,
    Snippet,
    Term,
    composed,
    folded_text,
    read,
    snippet,
    words,
)


def terms(typed: str) -> list[str]:
    """The terms of a query, each as one line; one that may go on ends in an asterisk."""
    return [" ".join(term.words) + "*" * term.begun for term in read(typed).terms]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("Kafka billing", ["kafka", "billing*"]),
        ('"event log" kafka', ["event log", "kafka*"]),
        ('kafka "event log"', ["kafka", "event log"]),
        ("kafka «Event Log» „x“", ["kafka", "event log", "x"]),
        ("kafka bi", ["kafka", "bi"]),
        ('an "unbalanced quote', ["an", "unbalanced", "quote*"]),
        ("T3.C1", ["t3 c1"]),
        ("don't", ["don t"]),
        ("kafka AND (NOT* folded:queue) OR NEAR(a, 2)", ["kafka", "and", "not", "folded queue", "or", "near a", "2"]),
        ("kafka kafka KAFKA", ["kafka", "kafka*"]),
        ("Straße CAFÉ cafe\u0301 İstanbul ﬁne", ["strasse", "cafe", "istanbul", "fine*"]),
        ("データベース", ["デ ー タ ベ ー ス"]),
        ("移行 データ", ["移 行", "デ ー タ"]),
        ("ภาษา", ["ภ า ษ า"]),
        ("데이터", ["데 이 터"]),
        ("ship 🚀", ["ship", "🚀"]),
        ("½ ⑴", ["1⁄2", "1"]),
        ("nul\0and \udcff \x1b[2J words", ["nul and", "2j", "words*"]),
    ],
)
def test_a_query_means_its_words_and_nothing_else(typed: str, expected: list[str]) -> None:
    assert terms(typed) == expected


@pytest.mark.parametrize("typed", ["", " \n", '"', '""', "* ( ) : - ^ + ~ '", "\0", "\udcff", "…", "\u0301"])
def test_a_query_without_words_is_refused_in_a_sentence(typed: str) -> None:
    with pytest.raises(InvalidInput, match="no word in what is looked for"):
        read(typed)


def test_a_query_of_too_many_words_is_refused_in_a_sentence() -> None:
    many = [f"w{number}" for number in range(MAX_WORDS)]
    assert len(read(" ".join(many)).terms) == MAX_WORDS
    for typed in (" ".join([*many, "more"]), "語" * 10_000, '"' + "a " * 5_000 + '"'):
        with pytest.raises(InvalidInput, match=f"at most {MAX_WORDS} can be"):
            read(typed)
    with pytest.raises(InvalidInput, match="A query is text, not int"):
        read(7)  # type: ignore[arg-type]


@given(st.text())
def test_an_index_gets_the_words_of_a_text_however_it_is_read(text: str) -> None:
    folded = [word.folded for word in words(composed(text))]
    assert folded_text(text).split(" ") == (folded or [""])
    assert all(not character.isascii() or character.isdigit() or character.islower() for character in "".join(folded))


@given(st.text(), st.text())
def test_any_text_is_a_query_or_is_refused_and_shows_a_part_of_any_other(typed: str, text: str) -> None:
    try:
        query = read(typed)
    except InvalidInput:
        assert not any(words(typed)) or sum(1 for _ in words(typed)) > MAX_WORDS
        return
    shown = snippet(text, query)
    inside = shown.text.removeprefix("… ").removesuffix(" …")
    assert inside in re.sub(r"\s+", " ", composed(text))
    assert all(0 <= start < end <= len(shown.text) for start, end in shown.matches)


def marked(shown: Snippet) -> str:
    line, at = "", 0
    for start, end in shown.matches:
        line += f"{shown.text[at:start]}«{shown.text[start:end]}»"
        at = end
    return line + shown.text[at:]


@pytest.mark.parametrize(
    ("text", "typed", "expected"),
    [
        ("Should we move billing\nto  Kafka?", "KAFKA billing", "Should we move «billing» to «Kafka»?"),
        ("The event log, the log of events.", '"event log"', "The «event log», the log of events."),
        ("Kafkaesque", "kafka", "«Kafkaesque»"),
        ("Kafkaesque", '"kafka"', "Kafkaesque"),
        ("eventlog of an event\n\nlog", '"event log"', "eventlog of an «event log»"),
        ("Die STRASSE, cafe\u0301s", "straße café", "Die «STRASSE», «cafés»"),
        ("請求をカフカに移すべきか。", "カフカ", "請求を«カフカ»に移すべきか。"),
        ("word", "another", "word"),
        ("", "another", ""),
    ],
)
def test_a_snippet_marks_what_was_looked_for(text: str, typed: str, expected: str) -> None:
    assert marked(snippet(text, read(typed))) == expected


def test_a_snippet_is_the_part_in_which_most_of_a_query_stands() -> None:
    filler = " ".join(f"filler{number}" for number in range(200))
    text = f"kafka kafka kafka {filler} kafka has an owner, {filler} the owner"
    shown = snippet(text, read("owner kafka"))
    assert "«kafka» has an «owner»," in marked(shown)
    assert shown.text.startswith("… filler")
    assert shown.text.endswith(" …")
    assert len(shown.text) <= SNIPPET + 10


def test_a_snippet_is_bounded_though_a_word_is_not() -> None:
    shown = snippet("x" * 10_000 + " end", read("xxx"))
    assert (len(shown.text), shown.matches) == (SNIPPET + 2, ((0, SNIPPET),))


def test_words_are_the_same_composed_or_not() -> None:
    for text in ("Ångström", "naïve", "Việt Nam", "ガス", "한국어", "Ёлка", "שָׁלוֹם"):
        forms = {form: folded_text(unicodedata.normalize(form, text)) for form in ("NFC", "NFD")}
        assert forms["NFC"] == forms["NFD"], text


def test_a_phrase_is_found_where_it_goes_on() -> None:
    assert snippet("event logs", Query((Term(("event", "log"), begun=True),))).matches == ((0, 10),)
