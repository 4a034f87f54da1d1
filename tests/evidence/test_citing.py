from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.evidence import Citation, Evidence, check, citations, cited, with_broken_marked


def test_citations_are_found_once_each_in_order() -> None:
    text = "As [E2:7] and [E1:12-18] say, [E2:7]; see [E1:3–4].\n> [E10:1]"
    assert list(map(str, citations(text))) == ["[E2:7]", "[E1:12-18]", "[E1:3-4]", "[E10:1]"]


@pytest.mark.parametrize(
    "text", ["", "E1:3", "[E1]", "[E1:]", "[E1:a]", "[E1: 3]", "[E0:1]", "[E1:٣]", "[E1:3-]", "[T1:3]"]
)
def test_what_only_looks_like_a_citation_is_none(text: str) -> None:
    assert citations(text) == ()


def test_fenced_code_is_not_searched_and_what_follows_it_is() -> None:
    text = "\n".join(
        [
            "[E1:1]",
            "```python",
            "[E1:2]",
            "~~~",
            "[E1:3]",
            "```not an end",
            "[E1:4]",
            "````",
            "[E1:5]",
            "  ~~~~ info ` here",
            "[E1:6]",
            "~~~",
            "[E1:7]",
            "~~~~\r",
            "```inline [E1:8]```",
            "```",
            "[E1:9]",
        ]
    )
    assert [citation.first for citation in citations(text)] == [1, 5, 8]


def test_a_citation_is_checked_against_the_files_and_their_lines() -> None:
    evidence = (Evidence("E1", "a.md", "", "one\ntwo\nthree\n"), Evidence("E2", "b.md", "", ""))
    assert check(Citation("E1", 1, 3), evidence) is None
    assert check(Citation("E1", 3, 4), evidence) == "a.md has 3 lines"
    assert check(Citation("E3", 2, 2), (Evidence("E3", "c.md", "", "one\n"),)) == "c.md has 1 line"
    assert check(Citation("E2", 1, 1), evidence) == "b.md has 0 lines"
    assert check(Citation("E1", 0, 1), evidence) == "lines are counted from 1"
    assert check(Citation("E1", 3, 1), evidence) == "line 1 stands before line 3"
    assert check(Citation("E3", 1, 1), evidence) == "there is no E3; the evidence is E1, E2"
    assert check(Citation("E1", 1, 1), ()) == "there is no E1; no evidence was given"


# ------------------------------------------------------------------------------------------------- the words it quotes

BILLING = """\
# Billing

Billing runs on **Postgres 15**, on one host.
The auditor reads the ledger,
    not the topic.
An invoice costs 1.50 euro; `retry(3)` is the default.

Der Prüfer liest das Hauptbuch, nicht das Thema.
审计员只读账本，
不读主题。
Аудитор читает журнал, а не тему.
लेखा परीक्षक खाता पढ़ता है।
config = {"retry": 3, "host": "db-1"}
Loading... please wait.
"""
PIECE = Evidence("E1", "docs/billing.md", "", BILLING)
OTHER = Evidence("E2", "git:main..HEAD", "", "a\nb\n")
TABLE = (PIECE, OTHER)


def quoted(text: str) -> list[tuple[str, str | None]]:
    return [(str(found), found.quote) for found in citations(text, TABLE)]


def problems(text: str) -> list[str | None]:
    return [found.problem for found in cited(text, TABLE)]


WORDS = "the auditor reads"


@pytest.mark.parametrize(
    "text",
    [
        f'"{WORDS}" [E1:4]',
        f'"{WORDS}"[E1:4]',
        f'It says "{WORDS}" ([E1:4]).',
        f'It says "{WORDS}"\n  [E1:4].',
        f'*"{WORDS}"* [E1:4]',
        f'"{WORDS}" – [E1:4]',
        f'[E1:4] "{WORDS}": so it is.',
        f'[E1:4]: "{WORDS}"',
        f'**[E1:4]** — "{WORDS}"',
        f'([E1:4]) "{WORDS}"',
        f'[E1:4]\n"{WORDS}"',
        f'[E1:4: "{WORDS}"]',
        f'[E1:4, "{WORDS}"]',
        f'[E1:4 "{WORDS}"]',
        f"“{WORDS}” [E1:4]",
        f"«{WORDS}» [E1:4]",
        f"»{WORDS}« [E1:4]",
        f"„{WORDS}“ [E1:4]",
        f"„{WORDS}” [E1:4]",
        f"”{WORDS}” [E1:4]",
        f"'{WORDS}' [E1:4]",
        f"‘{WORDS}’ [E1:4]",
        f"‹{WORDS}› [E1:4]",
        f"「{WORDS}」[E1:4]",
        f"[E1:4: “{WORDS}”]",
        f"[E1:4] „{WORDS}“",
    ],
)
def test_a_quotation_in_the_brackets_or_directly_beside_them_belongs_to_the_citation(text: str) -> None:
    assert quoted(text) == [("[E1:4]", WORDS)]


@pytest.mark.parametrize(
    "text",
    [
        f'"{WORDS}", and [E1:4] shows why',
        f'"{WORDS}". [E1:4]',
        f'"{WORDS}", [E1:4]',
        f'[E1:4], "{WORDS}"',
        f'[E1:4]. "{WORDS}"',
        f'[E1:4]. Violation: T1 says "{WORDS}"',
        f'[E1:4]\n\n"{WORDS}"',
        f'"{WORDS}"\n\n[E1:4]',
        f'"{WORDS}"\n- [E1:4]',
        f'- [E1:4]\n- "{WORDS}"',
        f'* [E1:4]\n* "{WORDS}"',
        f'| "{WORDS}" | [E1:4] |',
        f"`{WORDS}` [E1:4]",
        f'"{WORDS} [E1:4]',
        "the seats' [E1:4]",
        "'One' was the seats' [E1:4]",
        '"…" [E1:4]',
        f'[E1:4]\n```\n"{WORDS}"\n```',
    ],
)
def test_a_quotation_that_stands_further_away_does_not(text: str) -> None:
    assert quoted(text) == [("[E1:4]", None)]


@pytest.mark.parametrize(
    ("text", "quotes"),
    [
        ('"a" [E1:1], "b" [E1:2]', ["a", "b"]),
        ('"a" [E1:1] "b" [E1:2]', ["a", "b"]),
        ('[E1:1] "a", [E1:2] "b"', ["a", "b"]),
        ('[E1:1] "a" [E1:2] "b"', ["a", "b"]),
        ('[E1:1]: "a" [E1:2]: "b"', ["a", "b"]),
        ('See [E1:1]: "b" [E1:2]', [None, "b"]),
        ('"a" [E1:1][E1:2]', ["a", None]),
        ('[E1:1: "a"] "b" [E1:2]', ["a", "b"]),
        ('[E1:1] [E1:2: "b"]', [None, "b"]),
        ('"a" [E1:1] and [E1:2] "b"', ["a", "b"]),
    ],
)
def test_each_quotation_belongs_to_one_citation(text: str, quotes: list[str | None]) -> None:
    assert [found.citation.quote for found in cited(text, ())] == quotes


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ('"he said "no" to it" [E1:1]', 'he said "no" to it'),
        ('[E1:1] "he said "no" to it" at once', 'he said "no" to it'),
        ('"config = {"retry": 3, "host": "db-1"}" [E1:1]', 'config = {"retry": 3, "host": "db-1"}'),
        ("“he said “no” to it” [E1:1]", "he said “no” to it"),
        ("“the ‘ledger’ is” [E1:1]", "the ‘ledger’ is"),
        ('"the auditor\'s ledger" [E1:1]', "the auditor's ledger"),
        ("'the auditor's ledger' [E1:1]", "the auditor's ledger"),
        ("‘the auditor’s ledger’ [E1:1]", "the auditor’s ledger"),
        ('据说"审计员"[E1:1]', "审计员"),
        ('[E1:1: "see [1] there"]', "see [1] there"),
    ],
)
def test_a_quotation_may_hold_quotations_and_apostrophes(text: str, quote: str) -> None:
    assert [found.quote for found in citations(text)] == [quote]


@pytest.mark.parametrize(
    "text",
    [
        '"The auditor reads the ledger, not the topic." [E1:4-5]',
        '"The auditor\nreads   the\tledger" [E1:4]',
        '"Billing runs on Postgres 15, on one host." [E1:3]',
        '"Billing runs on **Postgres 15**, on" [E1:3]',
        '"**Postgres 15**" [E1:3]',
        '"*Billing* runs on `Postgres` 15" [E1:3]',
        '"1.50 euro; retry(3) is" [E1:6]',
        '"Billing … host" [E1:3]',
        '"… runs on […] one host." [E1:1-3]',
        '"The auditor ... topic" [E1:4-5]',
        '"Loading... please" [E1:14]',
        '"Der Prüfer liest das Hauptbuch" [E1:8]',
        '"Der Pru\u0308fer" [E1:8]',
        "“审计员只读账本，不读主题。” [E1:9-10]",
        "“只读账本” [E1:9]",
        "«читает журнал, а не тему» [E1:11]",
        '"परीक्षक खाता" [E1:12]',
        '"{"retry": 3, "host": "db-1"}" [E1:13]',
        '> "Billing\n> runs on" [E1:3]',
        '"runs on" [docs/billing.md:3] and "runs on" [./docs/billing.md:1-3]',
        '"b" [git:main..HEAD:2]',
    ],
)
def test_a_quotation_whose_words_stand_in_its_lines_holds(text: str) -> None:
    assert set(problems(text)) == {None}


NOWHERE = "the quoted words stand nowhere in docs/billing.md"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('"The auditor reads the topic" [E1:4-5]', NOWHERE),
        ('"the auditor reads" [E1:4]', NOWHERE),  # its first letter is another
        ('"The auditor reads the ledger." [E1:4]', NOWHERE),  # its full stop is a comma
        ('"The audit" [E1:4]', NOWHERE),
        ('"Postgres 1" [E1:3]', NOWHERE),
        ('"costs 1" [E1:6]', NOWHERE),
        ('"costs 1.5" [E1:6]', NOWHERE),
        ('"50 euro" [E1:6]', NOWHERE),
        ('"host … Billing" [E1:3]', NOWHERE),
        ('"The auditor … database" [E1:4-5]', NOWHERE),
        ('"परीक्षक खात" [E1:12]', NOWHERE),  # without its vowel sign
        ("“审计员只写账本” [E1:9]", NOWHERE),
        ('"runs on" [E1:4-5]', "the quoted words stand in line 3, not in 4-5"),
        ('"The auditor reads the ledger, not the topic." [E1:5]', "the quoted words stand in lines 4-5, not in 5"),
        ('"one host" [E1:1]', "the quoted words stand in line 3, not in 1"),
        ("“不读主题” [E1:9]", "the quoted words stand in line 10, not in 9"),
        ('"runs on" [E1:99]', "docs/billing.md has 14 lines"),
        ('"runs on" [E1:4-3]', "line 3 stands before line 4"),
        ('"runs on" [E9:3]', "there is no E9; the evidence is E1, E2"),
        ('"runs on" [docs/none.md:3]', "there is no docs/none.md; the evidence is E1, E2"),
    ],
)
def test_a_quotation_that_does_not_hold_says_why(text: str, problem: str) -> None:
    assert problems(text) == [problem]


@pytest.mark.parametrize(
    "name", ["billing.md", "README.MD", "main.py", "tsconfig.build.json", ".eslintrc.yml", "Ü-1.c"]
)
def test_a_bare_name_that_ends_as_files_do_and_that_the_evidence_lacks_is_a_broken_citation(name: str) -> None:
    assert problems(f"See [{name}:3].") == [f"there is no {name}; the evidence is E1, E2"]
    assert problems(f'[{name}:3-4: "runs on"]') == [f"there is no {name}; the evidence is E1, E2"]
    assert cited(f"See [{name}:3].", ()) == ()  # nothing was given that it could be meant to cite
    assert check(Citation(name, 1, 1), [Evidence("E1", name, "", "one\n")]) is None


@pytest.mark.parametrize(
    "text",
    [
        "[example.com:443]",
        "[db.internal:5432]",
        "[host:8080]",
        "[localhost:80]",
        "[10.0.0.1:22]",
        "[12:30]",
        "[10:30]",
        "[v1.2:3]",
        "[T3.C1:2]",
        "[http://a/b.html:80]",
        "[docs/x:3]",
        "[Makefile:3]",
        "[md:3]",
        "[.md:3]",
        "[a.mdown:3]",
        "[see README.md:3]",
        "[README.md]",
        "README.md:3",
    ],
)
def test_a_name_that_is_no_path_of_the_evidence_and_looks_like_none_is_no_citation(text: str) -> None:
    assert citations(text, TABLE) == ()


# ------------------------------------------------------------------------------------------------ the claim, the marks


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("It is old. It is slow [E1:1]. Next.", "It is slow [E1:1]."),
        ("It is old. It is slow. [E1:1] Next.", "[E1:1] Next."),
        ("It is old. It is slow. [E1:1]", "It is slow. [E1:1]"),
        ("- One.\n- It is slow [E1:1], and\n  it stays so.\n- Three.", "It is slow [E1:1], and it stays so."),
        ("1. It is slow [E1:1].", "It is slow [E1:1]."),
        ("| a | b |\n|---|---|\n| slow | [E1:1] |\n| x | y |", "slow | [E1:1]"),
        ("# Slow [E1:1]\nText.", "Slow [E1:1]"),
        ("> It is\n> slow [E1:1].\n\nMore.", "It is slow [E1:1]."),
        ('He says "It is. Old." [E1:1] now. More.', 'He says "It is. Old." [E1:1] now.'),
        ("它很旧。它很慢[E1:1]。好的。", "它很慢[E1:1]。"),
        ("```\ncode.\n```\nSlow [E1:1]\n```\nmore\n```", "Slow [E1:1]"),
    ],
)
def test_a_claim_is_the_sentence_around_its_citation_on_one_line(text: str, claim: str) -> None:
    assert [found.claim for found in cited(text, ())] == [claim]


def test_a_long_claim_is_cut_around_its_citation() -> None:
    (found,) = cited(f"{'before ' * 100}[E1:1]{' behind' * 100}", ())
    assert 295 <= len(found.claim) <= 302
    assert "before [E1:1] behind" in found.claim
    assert (found.claim[0], found.claim[-1]) == ("…", "…")


def test_every_occurrence_stands_with_its_place_and_its_own_claim() -> None:
    text = 'A [E1:1]. B "x" [E1:1]. C [E1:1].'
    found = cited(text, TABLE)
    assert [text[one.at : one.end] for one in found] == ["[E1:1]", '"x" [E1:1]', "[E1:1]"]
    assert [one.claim for one in found] == ["A [E1:1].", 'B "x" [E1:1].', "C [E1:1]."]
    assert [one.problem for one in found] == [None, NOWHERE, None]


def test_a_broken_citation_is_marked_behind_it_and_nothing_else_changes() -> None:
    text = 'Fine [E1:1].\r\n\r\n- "slow" [E1:3] and [E7:1]\n| [E1:3] "runs on" | [E1:9-3] |\n```\n[E9:9]\n```\n'
    assert with_broken_marked(text, (PIECE,)) == (
        f'Fine [E1:1].\r\n\r\n- "slow" [E1:3] (broken: {NOWHERE}) and '
        "[E7:1] (broken: there is no E7; the evidence is E1)\n"
        '| [E1:3] "runs on" | [E1:9-3] (broken: line 3 stands before line 9) |\n```\n[E9:9]\n```\n'
    )


def test_a_text_without_a_broken_citation_stays_as_it_is() -> None:
    text = 'As "runs on" [E1:3] says, [E1:1-14].\n'
    assert with_broken_marked(text, TABLE) == text


# --------------------------------------------------------------------------------------------------------------- laws

blanks = st.sampled_from([" ", "  ", "\n", "\t", " \n  ", "\u00a0"])
words = st.text(st.sampled_from("abyzäñжя漢字ख1234"), min_size=1, max_size=6)
lines = st.lists(st.lists(words, min_size=1, max_size=6).map(" ".join), min_size=1, max_size=8)
prose = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "[E1:1]",
                "[E1:3-2]",
                "[E2:9]",
                '"',
                "“",
                "”",
                "'",
                "(",
                ")",
                ": ",
                "runs on",
                "```",
                "\n",
                "\n\n",
                "- ",
                "| ",
                "> ",
            ]
        ),
        st.text(max_size=6),
    ),
    max_size=30,
).map("".join)


@given(st.data(), lines)
def test_any_run_of_words_of_the_cited_lines_holds_with_any_white_space(data: st.DataObject, text: list[str]) -> None:
    first = data.draw(st.integers(1, len(text)))
    last = data.draw(st.integers(first, len(text)))
    standing = [word for line in text[first - 1 : last] for word in line.split(" ")]
    start = data.draw(st.integers(0, len(standing) - 1))
    run = standing[start : data.draw(st.integers(start + 1, len(standing)))]
    quote = run[0] + "".join(data.draw(blanks) + word for word in run[1:])
    assert check(Citation("E1", first, last, quote), [Evidence("E1", "a.md", "", "\n".join(text))]) is None


@given(st.data(), lines)
def test_one_changed_word_breaks_a_quotation(data: st.DataObject, text: list[str]) -> None:
    standing = " ".join(text).split(" ")
    at = data.draw(st.integers(0, len(standing) - 1))
    other = data.draw(words.filter(lambda word: word not in "".join(standing)))
    quote = " ".join([*standing[:at], other, *standing[at + 1 :]])
    piece = Evidence("E1", "a.md", "", "\n".join(text))
    assert check(Citation("E1", 1, len(text), quote), [piece]) == "the quoted words stand nowhere in a.md"


@given(prose)
def test_with_the_marks_taken_out_a_text_is_what_it_was(text: str) -> None:
    marked, shift = with_broken_marked(text, TABLE), 0
    found = cited(text, TABLE)
    for one in found:
        if one.problem is not None:
            mark = f" (broken: {one.problem})"
            assert marked[one.end + shift :].startswith(mark)
            shift += len(mark)
    for one in reversed(found):
        if one.problem is not None:
            shift -= len(f" (broken: {one.problem})")
            marked = marked[: one.end + shift] + marked[one.end + shift + len(f" (broken: {one.problem})") :]
    assert marked == text


@given(prose)
def test_citations_stand_in_order_and_none_overlaps_another(text: str) -> None:
    ends = [0]
    for one in cited(text, TABLE):
        assert ends[-1] <= one.at < one.end <= len(text)
        assert f"[{one.citation.id}:" in text[one.at : one.end]
        assert 0 < len(one.claim) <= 302
        assert one.claim.splitlines() == [one.claim]
        ends.append(one.end)
