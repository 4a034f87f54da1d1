"""The contract of every store: in which entries words are found."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from halls import HastyStore
from hypothesis import given
from hypothesis import strategies as st
from threads import add, begin, redact, sealed, speak, turn

from orchestrator.errors import UnknownThread
from orchestrator.hall.entries import Closed, Extended, Note, Refined, Vote
from orchestrator.hall.folder import prepare
from orchestrator.hall.ledger import Standing
from orchestrator.hall.search import read, words
from orchestrator.hall.store import Store
from orchestrator.hall.terms import About, Choice, Role, Status

CLOSED = Closed(digest="", status=Status.SYNTHESIS)


def found(store: Store, typed: str, apart: bool = False) -> list[tuple[str, int]]:
    return [tuple(place) for place in store.search(read(typed), apart)]


def test_every_word_must_stand_in_one_text_in_any_order_and_case(store: Store) -> None:
    speak(store, begin(store, "thread", "Which queue?"), "What if Kafka held billing?", "Billing; no broker.", "kafka")
    assert found(store, "KAFKA billing") == [("thread", 1)]
    assert found(store, "queue which") == [("thread", 0)]
    assert found(store, "queue kafka") == []
    assert {seq for _, seq in found(store, "bill")} == {1, 2}
    assert found(store, '"held billing"') == [("thread", 1)]
    assert found(store, '"billing held"') == found(store, '"bill"') == []


def test_topics_and_decisions_come_before_turns_that_say_the_same(store: Store) -> None:
    said = "Kafka it is."
    for thread_id in ("older", "newer"):
        opening = begin(store, thread_id, said)
        after = speak(store, opening, said, "Something else.", said)
        add(store, after, sealed(thread_id, after, CLOSED, said))
    assert {seq for _, seq in found(store, "kafka")[:4]} == {0, 4}
    assert {seq for _, seq in found(store, "kafka")[4:]} == {1, 3}


def test_of_equals_the_newest_comes_first(store: Store) -> None:
    for at in ("10", "30", "20"):
        begin(store, f"at-{at}", "Kafka?", at=at)
    assert [thread_id for thread_id, _ in found(store, "kafka")] == ["at-30", "at-20", "at-10"]


def test_a_rare_word_counts_for_more_and_a_short_text_too(store: Store) -> None:
    filler = " ".join(f"filler{number}" for number in range(300))
    speak(store, begin(store, "thread", "Which?"), f"kafka {filler}", "kafka alone", filler)
    assert found(store, "kafka") == [("thread", 2), ("thread", 1)]


def test_turns_votes_refinements_and_remarks_are_looked_through_and_nothing_else(store: Store) -> None:
    after = begin(store, "thread", "topic heron")
    for body in (
        Vote(digest="", on=0, role=Role.WALL, choice=Choice.OBJECT),
        Refined(digest="", number=1),
        Note(digest="", about=About.REMARK, by="the lead"),
        Note(digest="", about=About.ACCOUNT, by="the lead"),
        Note(digest="", about=About.MISSING, by="the lead"),
        Extended(digest="", by="the lead", max_turns=9, max_rounds=3),
    ):
        after = add(store, after, sealed("thread", after, body, f"{body.kind} heron"))
    after = speak(store, after, "turn heron")
    add(store, after, sealed("thread", after, CLOSED, "closed heron"))
    assert {seq for _, seq in found(store, "heron")} == {0, 1, 2, 3, 7, 8}


def test_words_that_stand_in_several_texts_of_a_thread_are_found_apart(store: Store) -> None:
    speak(store, begin(store, "both", "Kafka?"), "Who owns it?", "The owner of Kafka.", "none")
    speak(store, begin(store, "split", "Kafka?"), "The owner left.", "none", "none")
    speak(store, begin(store, "half", "Kafka?"), "none")
    assert found(store, "kafka owner") == [("both", 2)]
    assert {thread_id for thread_id, _ in found(store, "kafka owner", apart=True)} == {"both", "split"}
    assert found(store, "kafka nobody", apart=True) == []


def test_what_is_written_after_a_search_is_found_by_the_next_from_any_store_object(
    opener: Callable[[], Store],
) -> None:
    first, second = opener(), opener()
    after = speak(first, begin(first, "thread", "Which?"), "kafka one")
    assert found(second, "kafka") == [("thread", 1)]
    after = speak(second, after, "kafka two")
    assert {seq for _, seq in found(first, "kafka")} == {1, 2}
    begin(first, "another", "kafka three")
    speak(first, after, "kafka four")
    assert set(found(second, "kafka")) == {("thread", 1), ("thread", 2), ("thread", 3), ("another", 0)}


def test_a_redacted_text_is_not_found_and_the_others_are(store: Store) -> None:
    opening = begin(store, "thread", "Which heron?")
    first = turn(opening, "a heron walks")
    after = speak(store, add(store, opening, first), "a heron sleeps")
    assert {seq for _, seq in found(store, "heron")} == {0, 1, 2}
    redact(store, after, 1, first.entry.body.digest)
    assert store.erase_traces()
    assert {seq for _, seq in found(store, "heron")} == {0, 2}
    assert found(store, "walks") == []


def test_an_adopted_thread_is_found(store: Store, tmp_path: Path) -> None:
    begin(store, "here", "a heron")
    with closing(HastyStore(prepare(tmp_path / "elsewhere"))) as elsewhere:
        elsewhere.adopt(store.thread("here"))
        assert found(elsewhere, "heron") == [("here", 0)]


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("Die STRASSE nach Ærø", "straße ærø"),
        ("Ångström cafés", "angstrom CAFÉS"),
        ("請求をカフカに移すべきか。", "カフカ"),
        ("請求をカフカに移すべきか。", "請求"),
        ("한국어로 데이터베이스를 논의한다", "데이터베이스"),
        ("ระบบฐานข้อมูลใหม่", "ฐานข้อมูล"),
        ("Переносим биллинг на Кафку", "БИЛЛИНГ кафк"),
        ("نقل الفواتير إلى كافكا", "كافكا"),
        ("we ship 🚀 today", "🚀"),
        ('He said "AND" (or NOT) near*', '"and" not near'),
        ("column:value -minus ^caret", "column:value"),
        ("T3.C1 holds", "T3.C1"),
    ],
)
def test_words_of_any_script_and_with_any_signs_are_found(store: Store, text: str, typed: str) -> None:
    begin(store, "thread", text)
    begin(store, "another", "Which heron?")
    assert found(store, typed) == [("thread", 0)]


def test_an_entry_is_read_by_its_number(store: Store) -> None:
    speak(store, begin(store, "Thread", "Which?"), "first")
    assert store.line("thread", 1) == store.thread("Thread").lines[1]
    assert store.line("thread", 2) is None
    with pytest.raises(UnknownThread):
        store.line("nowhere", 0)


def test_no_text_as_a_query_is_too_much_for_an_index(store: Store) -> None:
    begin(store, "thread", 'a heron AND a "heron" OR NEAR(heron) * \' ;')

    @given(st.text(min_size=1))
    def ask(typed: str) -> None:
        if any(words(typed)):
            found(store, typed)
            found(store, typed, apart=True)

    ask()


def test_every_word_of_every_text_finds_it(store: Store) -> None:
    after: list[Standing] = [begin(store, "thread", "topic")]

    @given(st.text(min_size=1).filter(lambda text: any(words(text))))
    def ask(text: str) -> None:
        after.append(add(store, after[-1], sealed("thread", after[-1], Note(digest="", about="remark", by="x"), text)))
        typed = " ".join(text[word.start : word.end] for word in list(words(text))[:20])
        assert ("thread", len(after) - 1) in found(store, typed)

    ask()
