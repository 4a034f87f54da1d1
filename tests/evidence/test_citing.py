from __future__ import annotations

import pytest

from orchestrator.evidence import Citation, Evidence, check, citations


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
    assert check(Citation("E2", 1, 1), evidence) == "b.md has 0 lines"
    assert check(Citation("E1", 0, 1), evidence) == "lines are counted from 1"
    assert check(Citation("E1", 3, 1), evidence) == "line 1 stands before line 3"
    assert check(Citation("E3", 1, 1), evidence) == "there is no E3; the evidence is E1, E2"
    assert check(Citation("E1", 1, 1), ()) == "there is no E1; no evidence was given"
