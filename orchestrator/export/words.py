"""Words of models as inline Markdown that opens nothing: emphasis and code stay, all else is shown as it was typed.

What a renderer could take for a link, HTML, an image, a table or a formula is escaped; an address becomes code, since
renderers make links even of escaped ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from markdown_it import MarkdownIt
from markdown_it.token import Token

from orchestrator.export.lines import BREAK, FIXED, columns
from orchestrator.wording import visible

READER = (
    MarkdownIt("commonmark")
    .enable("table")
    .disable(["html_block", "html_inline", "autolink", "link", "image", "entity", "reference"])
)
_STRICT = MarkdownIt("commonmark")

ENDS = " .,;:!。，；：！"  # what no title ends with, as markdownlint has it

_SPACES = re.compile(r"\s+")
_WORD = re.compile(r"\S+")
_ADDRESS = re.compile(r"://|www\.|\S@\S", re.IGNORECASE)
_AROUND = re.compile(r"(\W*)(.*?)([^\w/]*)", re.DOTALL)  # an address and the marks around it
_BRACKET = r"(?<=[\])!])\[|\[(?![\w.:/–-]{2,}\](?![(\[:]))"  # one that is no citation, [E1:2] or [T3.C1]
_TELLING = re.compile(rf"[\\`*~$|]|{_BRACKET}|<(?=[A-Za-z/!?])|(?<=<)!|&(?=#?\w+;)|(?<![^\W_])_|_(?![^\W_])")
_JOINER = "\u2060"  # has no width
_OPENS_COMMENT = re.compile(r"<!--(?=\s*markdownlint-|(?!.*-->))", re.IGNORECASE)
_BESIDE = " \n()[]{}\"'“”‘’«».,;:!?–—-/\\…`"
_RUNS = re.compile(r"`+")
_LONGEST_CODE = 40  # columns: wider code is parted, so that lines fit in the deepest list
_MARKS = {
    "em_open": "*",
    "em_close": "*",
    "strong_open": "**",
    "strong_close": "**",
    "softbreak": " ",
    "hardbreak": BREAK,
}
_NO_NAME = re.compile(
    "A|An|And|As|At|Because|Both|By|Each|Every|For|If|In|Its?|No|Nobody|None|Nothing|On|Only|Our|That|The|Their|There|"
    "These|They|This|Those|To|We|When|Where|While|With|Without"
)
_GLIMPSE = 160  # characters
_EMPHASIS = ("em_open", "em_close", "strong_open", "strong_close")


def inline(text: str) -> str:
    """Returns words as one paragraph of inline Markdown."""
    words = collapsed(text)
    return rendered(READER.parseInline(words)[0].children or ())


def plain(text: str) -> str:
    """Returns words as they were typed, without any emphasis of theirs."""
    return _escaped(collapsed(text))


def one_title(text: str) -> str:
    """Returns words as a title that stands in a line of others, without a full stop."""
    return plain(collapsed(text).rstrip(ENDS)).replace(FIXED, " ")


def collapsed(text: str) -> str:
    return shown(" ".join(text.split()))


def shown(text: str) -> str:
    """Text as it can be shown; a joiner that some readers take for a space becomes one that is none."""
    return visible(text).replace("\ufeff", _JOINER)


def without_comments(row: str) -> str:
    """A line of code that opens no comment: linters look for comments in code too, and heed some of them."""
    return _OPENS_COMMENT.sub(f"<{_JOINER}!--", row)


def going_on(words: str) -> str:
    """Words that go on a sentence: a capital that only stood at the beginning of theirs is none any more."""
    first, space, rest = words.partition(" ")
    return f"{first.lower()}{space}{rest}" if _NO_NAME.fullmatch(first) else words


def glimpse(text: str) -> str:
    """What a text begins with, on one line."""
    words = " ".join(text.split()).lstrip("#>*- ")
    return words if len(words) <= _GLIMPSE else f"{words[: _GLIMPSE - 3].rstrip()}…"


def code(text: str) -> str:
    """Returns words as code, in several pieces where they would not fit on a line."""
    return " ".join(map(_span, _pieces(collapsed(text))))


def rendered(tokens: Sequence[Token]) -> str:
    """Returns what was read as inline Markdown again; emphasis that another reader may see otherwise is left out."""
    marks = _marks_of(tokens)
    if not marks:
        return without_emphasis(tokens)
    parts = [part for token in tokens if (part := _MARKS.get(token.type) or _leaf(token))]
    text = _joined(parts)
    clear = all(map(_is_clear, ["", *parts], parts, [*parts[1:], ""])) and _marks_in(text) == marks
    return text if clear else without_emphasis(tokens)


def _is_clear(before: str, part: str, after: str) -> bool:
    """Whether a part is no mark of emphasis, or stands between words, spaces and common signs: next to other marks,
    meant or escaped, each reader takes it otherwise."""
    beside = (before[-1:], after[:1])
    return part not in ("*", "**") or all(not sign or sign.isalnum() or sign in _BESIDE for sign in beside)


def without_emphasis(tokens: Iterable[Token]) -> str:
    """Returns what was read, its emphasis left out; words that it parted stand side by side, and are judged so."""
    kept = (token for token in tokens if token.type not in _EMPHASIS)
    parts: list[str] = []
    for kind, group in groupby(kept, lambda token: token.type):
        if kind == "text":
            parts.append(_escaped("".join(token.content for token in group)))
        else:
            parts += [_MARKS.get(kind) or _leaf(token) for token in group]
    return _joined(parts)


def _leaf(token: Token) -> str:
    return code(token.content) if token.type == "code_inline" else _escaped(token.content)


def _joined(parts: Iterable[str]) -> str:
    """Parts in a row, code apart from code, with which it would be read as other code, and from what is very long."""
    text = ""
    for part in parts:
        text += f" {part}" if _must_be_apart(text, part) else part
    return text


def _must_be_apart(before: str, after: str) -> bool:
    if not before.endswith("`") and not after.startswith("`"):
        return False
    unit = before[before.rfind(" ") + 1 :] + after.partition(" ")[0]
    return (before.endswith("`") and after.startswith("`")) or (FIXED in unit and columns(unit) > _LONGEST_CODE + 4)


def _marks_in(text: str) -> list[str]:
    return _marks_of(_STRICT.parseInline(text.replace(FIXED, " "))[0].children or ())


def _marks_of(tokens: Iterable[Token]) -> list[str]:
    return [token.type for token in tokens if token.type in _EMPHASIS]


def _escaped(text: str) -> str:
    return _WORD.sub(lambda word: _word(word[0]), _SPACES.sub(" ", text))


def _word(word: str) -> str:
    around = _AROUND.fullmatch(word) if _ADDRESS.search(word) else None
    if around is None or not around[2]:
        return _TELLING.sub(r"\\\g<0>", word)
    before, address, after = around.groups()
    return _joined([_TELLING.sub(r"\\\g<0>", before), _span(address), _TELLING.sub(r"\\\g<0>", after)])


def _span(words: str) -> str:
    core = words.strip("`")
    if words != core and columns(words) > _LONGEST_CODE:  # beside it would have to stand spaces
        before, after = words.split(core, 1) if core else (words, "")
        return _joined(["\\`" * len(before), _span(core) if core else "", "\\`" * len(after)])
    fence = "`" * (max(map(len, _RUNS.findall(words)), default=0) + 1)
    pad = " " if words != core else ""
    return f"{fence}{pad}{without_comments(words)}{pad}{fence}".replace(" ", FIXED)


def _pieces(words: str) -> list[str]:
    """Words in pieces that fit on a line each."""
    pieces: list[str] = []
    for word in words.split(" "):
        if pieces and columns(f"{pieces[-1]} {word}") <= _LONGEST_CODE:
            pieces[-1] += f" {word}"
        else:
            pieces.append(word)
    return [piece for piece in pieces if piece]
