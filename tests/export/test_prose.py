"""What models wrote, quoted: it keeps its form as far as it fits, loses no word, and opens nothing of its own."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import example, given, settings
from markdown_it import MarkdownIt
from markdown_it.token import Token

from export.writings import HOSTILE, WRITTEN
from orchestrator.export.headings import Headings
from orchestrator.export.lines import columns, fits, paragraph
from orchestrator.export.prose import quote
from orchestrator.export.words import code, going_on, inline, plain
from orchestrator.wording import visible

READER = MarkdownIt("commonmark")
KEPT = {"paragraph", "bullet_list", "ordered_list", "list_item", "blockquote", "fence"}
INLINE = {"inline", "text", "code_inline", "softbreak", "hardbreak", "em", "strong"}
TEXTS = [parameter.values[0] for parameter in HOSTILE]


def every(tokens: list[Token]) -> list[Token]:
    return list(chain.from_iterable([token, *every(token.children or [])] for token in tokens))


def kinds(tokens: list[Token]) -> set[str]:
    return {token.type.removesuffix("_open").removesuffix("_close") for token in every(tokens)}


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def shown(tokens: list[Token]) -> str:
    """The letters that a reader sees, the numbers of lists and the names of languages among them."""
    told = []
    for token in every(tokens):
        if token.type == "list_item_open" or (token.type == "fence" and token.info != "text"):
            told.append(token.info)
        if token.type in ("text", "code_inline", "fence"):
            told.append(token.content)
    return letters("".join(told))


def is_within(words: str, text: str) -> bool:
    """Whether words stand in a text in their order; what a block of code is in may be told twice."""
    rest = iter(text)
    return all(letter in rest for letter in words)


def require_kept(text: str) -> None:
    quoted = quote(text)
    tokens = READER.parse(f"before\n\n{quoted}\n\nafter\n")
    outermost = [token.type for token in tokens if token.level == 0]
    ours = ["paragraph_open", "inline", "paragraph_close"]
    assert [kind for kind in outermost if kind != "inline"] == [
        kind for kind in [*ours, "blockquote_open", "blockquote_close", *ours] if kind != "inline"
    ]
    assert kinds(tokens) <= KEPT | INLINE
    assert is_within(letters("\n".join(map(visible, text.splitlines()))), shown(tokens))
    assert all(fits(line, 80) for line in quoted.split("\n"))
    assert visible(quoted) == quoted


@pytest.mark.slow
@given(text=WRITTEN)
@settings(max_examples=300, deadline=None)
def test_no_text_leaves_its_quote_opens_anything_or_loses_a_letter(text: str) -> None:
    require_kept(text)


@pytest.mark.parametrize("text", HOSTILE)
def test_nor_does_a_hostile_one(text: str) -> None:
    require_kept(text)


@pytest.mark.slow
@given(text=WRITTEN)
@example(text="*a* *b")
@settings(max_examples=300, deadline=None)
def test_words_on_a_line_open_no_block_no_link_and_lose_no_letter(text: str) -> None:
    for safe in (inline(text), plain(text)):
        tokens = READER.parse(paragraph(f"Said: “{safe}” – {safe}."))
        assert kinds(tokens) <= {"paragraph", *INLINE}
        words = letters(visible(" ".join(text.split())))
        assert shown(tokens) == letters(f"Said{words}{words}")


@given(text=WRITTEN)
@settings(max_examples=100, deadline=None)
def test_code_is_code_and_nothing_else(text: str) -> None:
    tokens = every(READER.parse(paragraph(f"Run {code(text)}")))
    words = [token.content for token in tokens if token.type == "code_inline"]
    outside = [token.content for token in tokens if token.type == "text"]
    assert letters("".join(words)) + letters("".join(outside)) == f"{letters(visible(' '.join(text.split())))}Run"


@given(text=WRITTEN)
@settings(max_examples=100, deadline=None)
def test_a_heading_is_one_line_that_fits_and_none_is_there_twice(text: str) -> None:
    headings = Headings(["Consequences"])
    made = [headings.of(2, text), headings.of(3, text), headings.of(2, "Consequences.")]
    contents = {content_of(heading).casefold() for heading in made}
    assert len({*contents, "consequences"}) == 4
    assert all(columns(heading) <= 80 for heading in made)


def test_a_heading_of_a_question_as_long_as_may_be_is_what_fits_of_it() -> None:
    assert Headings([]).of(1, "字" * 12_000) == f"# {'字' * 77}…"
    assert Headings([]).of(1, "word " * 2_400) == f"# {'word ' * 14}word…"


def content_of(heading: str) -> str:
    opened, inline, closed = READER.parse(heading)
    assert (opened.type, closed.type) == ("heading_open", "heading_close")
    assert kinds(inline.children or []) <= {"text", "code_inline"}
    return inline.content


# --------------------------------------------------------------------------------------------------- what it looks like

SEEN = [
    ("## Decide\n\nAn *outbox*.\n\n1. Build it.\n2. Ship.", "**Decide**\n\nAn *outbox*.\n\n1. Build it.\n2. Ship."),
    ("- a\n  - b\n- c", "- a\n  - b\n- c"),
    ("- a\n\n- b", "- a\n\n- b"),
    ("* a\n+ b", "- a\n\n- b"),
    ("3. a\n4. b", "- 3\\. a\n- 4\\. b"),
    ("> a\n\n> b", "> a\n>\n> b"),
    ("**a** __b__ _c_ `d`", "**a** **b** *c* `d`"),
    ("***a*** b", "a b"),
    ("| A | B |\n|---|---|\n| x | *y* |\n|  | z |", "**A · B**\n\n- x · *y*\n- – · z"),
    ("```java\nList<String> x;\n```\nno <b>x</b>, 3 < 4", "```java\nList<String> x;\n```\n\nno \\<b>x\\</b>, 3 < 4"),
    ("    indented\n\n    code", "```text\nindented\n\ncode\n```"),
    ("```sh\n$ make\n$ make install\n```", "`$ make`\\\n`$ make install`"),
    ("```python title=x\ny\n```", "python title=x\n\n```python\ny\n```"),
    ("see https://x.y/a_b, or me@x.org.", "see `https://x.y/a_b`, or `me@x.org`."),
    ("a_b and 5 * 3 and #5 and [x]", "a_b and 5 \\* 3 and #5 and \\[x]"),
    ("[E1:2] and [T3.C1] MET: [a](b), [a][b], ![a]", "[E1:2] and [T3.C1] MET: \\[a](b), \\[a]\\[b], !\\[a]"),
    ("***[done]***[too] x", "\\[done]\\[too] x"),
    ("one\\\ntwo  \nthree", "one\\\ntwo\\\nthree"),
    ("a\n***\nb", "a\n\n\\---\n\nb"),
    ("", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "seen"), SEEN)
def test_a_text_keeps_its_form(text: str, seen: str) -> None:
    assert quote(text).split("\n") == [f"> {line}".rstrip() for line in seen.split("\n")]


def test_a_line_begins_with_nothing_that_means_something() -> None:
    for sign in ("-", "+", "1.", "12)", "#", "##", ">", "===", "---", ":-:"):
        lines = quote(f"{'word ' * 15}ab {sign} {'more ' * 3}").split("\n")
        assert lines[1].startswith("> \\" if not sign[0].isdigit() else f"> {sign[:-1]}\\")


def test_what_a_parser_would_drop_is_shown_as_it_was_typed() -> None:
    assert quote("| a |\n|---|\n| x | lost |") == ("> \\| a \\|\\\n> \\|---\\|\\\n> \\| x \\| lost \\|")
    assert "deep" in quote(f"{'> ' * 40}deep")


def test_a_long_line_of_code_is_parted_with_a_sign() -> None:
    quoted = quote(f"```text\n{'word ' * 30}\n```").split("\n")
    assert quoted[2].startswith("> ↪ word")
    assert max(map(columns, quoted)) <= 80


def test_words_that_go_on_a_sentence_lose_the_capital_of_its_beginning_and_no_name_does() -> None:
    assert [going_on(words) for words in ("It is slow.", "Kafka is.", "A", "IT is")] == [
        "it is slow.",
        "Kafka is.",
        "a",
        "IT is",
    ]


@pytest.mark.parametrize("text", TEXTS)
def test_what_was_quoted_is_quoted_again_without_another_change(text: str) -> None:
    """A document that a model copied its own words from."""
    once = quote(text)
    unquoted = "\n".join(line[2:] for line in once.split("\n"))
    assert letters(quote(unquoted)) == letters(once)
