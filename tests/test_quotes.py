from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.quotes import Word, quotes_run, spoken, words_of

WIND = "What if we let the **ledger** be the queue, and drop Kafka for good? It's one writer less."
WORDS = st.lists(st.sampled_from(["a", "b", "c"]), max_size=14)


def plain(text: str) -> list[str]:
    return re.findall("[a-z0-9]+", text.lower())


def test_the_run_is_returned_as_the_text_writes_it() -> None:
    said = "BLOCKED. Wind says: “Let the *ledger* be\n> the QUEUE, and drop Kafka”, but who reads it?"
    assert quotes_run(said, ["Nothing here.", WIND]) == "Let the *ledger* be\n> the QUEUE"


def test_four_words_are_no_quote_of_six() -> None:
    assert quotes_run("He would let the ledger be a file.", [WIND]) is None
    assert quotes_run("He would let the ledger be a file.", [WIND], words=4) == "let the ledger be"


def test_the_same_words_in_another_order_are_no_quote() -> None:
    assert quotes_run("for good drop Kafka and the queue be ledger the let we if what", [WIND]) is None


def test_a_run_must_stand_in_one_source() -> None:
    assert quotes_run("one two three four five six", ["one two three", "four five six seven eight nine"]) is None


def test_apostrophes_and_quotation_marks_of_any_kind_are_alike() -> None:
    assert quotes_run("‘good? It’s one writer less’", [WIND]) == "good? It’s one writer less"


def test_forms_of_the_same_letter_are_alike() -> None:
    assert quotes_run(
        "Zwo\u0308lf Bu\u0308cher u\u0308ber gro\u00dfe Ma\u0308rkte heute", ["zwölf bücher über GROSSE märkte heute"]
    )


@pytest.mark.parametrize(
    ("said", "source"),
    [
        ("风险在于：把账本当作队列。", "如果我们把账本当作队列呢？"),
        ("その台帳をキューにするのは危険", "台帳をキューにするとしたら？"),
        ("ถ้าเราใช้บัญชีเป็นคิว ไม่ได้", "ลองใช้บัญชีเป็นคิว"),
        ("단점: 원장을 큐로 쓰고 카프카를 아예 버리면 안 된다", "만약 원장을 큐로 쓰고 카프카를 아예 버리면 어떨까"),
        ("नहीं: खाता बही को ही कतार बना दें", "अगर हम खाता बही को ही कतार बना दें"),
    ],
)
def test_scripts_with_and_without_spaces_can_be_quoted(said: str, source: str) -> None:
    assert quotes_run(said, [source])


def test_characters_of_a_script_without_spaces_are_words_and_loan_words_are_one() -> None:
    assert quotes_run("把账本当队列", ["把账本当队列"]) == "把账本当队列"
    assert quotes_run("把账本当队", ["把账本当作"], words=5) is None
    assert quotes_run("アーキテクチャ が よい", ["アーキテクチャ は わるい"]) is None


def test_where_every_source_is_shorter_a_longest_is_quoted_whole() -> None:
    assert quotes_run("Wind only says: drop Kafka now. That is thin.", ["Drop Kafka now!", "Drop"]) == "drop Kafka now"
    assert quotes_run("Wind says drop.", ["Drop Kafka now!", "Drop"]) is None


@pytest.mark.parametrize("sources", [[], [""], ["…!", "🙂"]])
def test_where_nothing_was_said_nothing_is_quoted(sources: list[str]) -> None:
    assert quotes_run("Some six words of a turn.", sources) is None


@given(WORDS, st.lists(WORDS, max_size=3), st.integers(1, 4))
def test_it_finds_what_comparing_every_place_finds(said: list[str], sources: list[list[str]], words: int) -> None:
    length = min(words, max(map(len, sources), default=0))
    places = [
        at
        for at in range(len(said) - length + 1)
        for source in sources
        for there in range(len(source) - length + 1)
        if length and said[at : at + length] == source[there : there + length]
    ]
    expected = " ".join(said[places[0] : places[0] + length]) if places else None
    assert quotes_run(" ".join(said), [" ".join(source) for source in sources], words) == expected


@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from(["\n> ", " **", "… ", "\t"]))
def test_a_quote_is_found_wherever_it_stands_and_however_it_is_set(before: str, after: str, gap: str) -> None:
    quote = gap.join(["Let", "THE", "ledger", "be", "the", "queue"])
    found = quotes_run(f"{before} {quote} {after}", [WIND])
    assert found is not None
    assert plain(found) == plain(quote)


@given(st.text(max_size=80), st.integers(1, 8))
def test_a_text_quotes_itself(text: str, words: int) -> None:
    found = quotes_run(text, [text], words)
    assert found == quotes_run(found or "", [text], words)
    assert found is None or found in text


def unspaced(letter: str) -> bool:
    """Whether its script puts no space between words, said another way than `quotes` says it."""
    blocks = ("3041 309f", "2e80 2fdf", "3005 3007", "3400 4dbf", "4e00 9fff", "f900 faff", "20000 3ffff")
    blocks += ("0e00 0eff", "1000 109f", "1780 17ff")
    return any(int(first, 16) <= ord(letter) <= int(last, 16) for first, last in map(str.split, blocks))


def words_one_by_one(text: str) -> Iterator[Word]:
    """Letter by letter, by Unicode's own categories: what `words_of` must find."""
    for inside, places in groupby(range(len(text)), lambda at: unicodedata.category(text[at])[0] in "LMN"):
        word: list[int] = []
        for at in places if inside else ():
            mark = unicodedata.category(text[at])[0] == "M"
            alone = bool(word) and unspaced(text[word[0]])
            if word and not (mark if alone else not unspaced(text[at])):
                yield as_word(text, word)
                word = []
            word.append(at)
        if word:
            yield as_word(text, word)


def as_word(text: str, places: list[int]) -> Word:
    start, end = places[0], places[-1] + 1
    folded = unicodedata.normalize("NFKC", text[start:end].casefold())
    return Word(folded, start, end, spaced=not unspaced(text[start]))


SCRIPTS = st.sampled_from(
    [(0x20, 0x7F), (0xA0, 0x36F), (0x900, 0x97F), (0xE00, 0xE7F), (0x3000, 0x30FF), (0, 0x10FFFF)]
)
LETTERS = SCRIPTS.flatmap(lambda block: st.characters(min_codepoint=block[0], max_codepoint=block[1]))


@given(st.lists(LETTERS, max_size=60).map("".join))
def test_the_words_are_those_that_unicodes_categories_say(text: str) -> None:
    assert list(words_of(text)) == list(words_one_by_one(text))


@pytest.mark.slow
def test_every_letter_is_read_as_its_category_says() -> None:
    every = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x20100), *range(0xE0000, 0xE0200)]))
    for text in (every, "a".join(every)):
        assert list(words_of(text)) == list(words_one_by_one(text))


@pytest.mark.slow
def test_long_texts_are_compared_in_one_reading() -> None:
    """Comparing every place with every place would take hours here."""
    said = "the ledger is the queue and " * 10_000
    assert quotes_run(said, ["the ledger is not the queue " * 10_000]) is None


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_a_text_of_ascii_has_the_words_that_it_has_beside_others(text: str) -> None:
    beside = [word for word in words_of(f"{text} é") if word.end <= len(text)]
    assert list(words_of(text)) == beside
    assert spoken(text) == tuple(word.folded for word in beside)
