"""A turn read as Markdown: lines and sections.

Code fences and block quotes are left out, since they hold other voices. Table rows stay as lines that begin with `|`,
which no pattern here takes for a heading, an item or a label. Everything is linear in the length of the text: runs
that could be divided in two ways are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Line:
    row: int  # 0-based, among the rows of the text
    indent: int
    level: int  # of a heading, 1 to 6; 0 for any other line
    marker: str  # of a list item or a numbered heading
    text: str  # without marker and heading signs

    @property
    def is_numbered(self) -> bool:
        return self.marker.strip("(.)").isdecimal()


LEAD = r"[^\w\[|~]*"  # signs, emphasis and emoji that may stand before a word; `~~` strikes it out
SAID = r"(?![^\w\[]*[!≠¬\"'“”„‘’«»])"  # no sign that negates stands before the word, and no quotation begins

_NEWLINE = re.compile(r"\r\n?|\n")
_FENCE = re.compile(r"(`{3,}|~{3,})(.*)")
_HEADING = re.compile(r"(#{1,6})(?:\s+|$)(.*)")
_ITEM = re.compile(r"([-*+•–]|\(?\d{1,3}[.)])(?:\s+|$)(?:\[[ xX]\]\s+)?(.*)")
_UNDERLINE = re.compile(r"={2,}|-{2,}")
_RULE = re.compile(r"={2,}|--|(?:[-*_] *){3,}")
_CAPITALS = re.compile(LEAD + r"\[?[A-Z][A-Z /&-]*(?:\][*_]*|:?[*_]*:?)")
_BARE_LABEL = re.compile(r"[^:]{0,60}:[*_]*")
_PLACEHOLDERS = frozenset({"none", "n/a", "nothing", "tbd", "tba", "todo"})

_LABEL = 7  # a section that a label opens ranks below the six levels of headings


def rows(content: str) -> list[str]:
    return _NEWLINE.split(content)


def lines(content: str) -> list[Line]:
    """Returns the lines that count: neither blank, nor a rule, nor inside a code fence or a block quote."""
    found: list[Line] = []
    fence = ""
    for row, raw in enumerate(rows(content)):
        body = raw.strip()
        if not body:
            continue
        item = _ITEM.match(body)
        inner = item[2] if item and not fence else body
        ticks = _FENCE.match(inner)
        if fence:
            if ticks and ticks[1].startswith(fence) and not ticks[2]:
                fence = ""
        elif ticks and not (ticks[1][0] == "`" and "`" in ticks[2]):
            fence = ticks[1]
        elif _RULE.fullmatch(body):
            if found and found[-1].row == row - 1 and _UNDERLINE.fullmatch(body):
                found[-1] = replace(found[-1], level=1)
        elif inner and not inner.startswith(">"):
            found.append(_line(row, len(raw) - len(raw.lstrip()), body))
    return found


def items(content: str) -> list[str]:
    """Returns the text of each line that counts; a list item that was wrapped, its further lines indented, is one."""
    joined: list[str] = []
    item: Line | None = None
    last = -1  # the row before, where it belongs to the item
    for line in lines(content):
        if item and line.row == last + 1 and line.indent > item.indent and not (line.marker or line.level):
            joined[-1] += f" {line.text}"
        else:
            joined.append(line.text)
            item = line if line.marker and not line.level else None
        last = line.row
    return joined


def _line(row: int, indent: int, body: str) -> Line:
    heading = _HEADING.match(body)
    text = heading[2].rstrip("#").rstrip() if heading else body
    item = _ITEM.match(text)
    return Line(row, indent, len(heading[1]) if heading else 0, item[1] if item else "", item[2] if item else text)


def says(text: str) -> bool:
    """True for real words: three letters or digits of any script, two of them letters, and no mere placeholder."""
    letters, digits = sum(map(str.isalpha, text)), sum(map(str.isdecimal, text))
    return letters >= 2 and letters + digits >= 3 and text.strip(" .:…*_`()[]-").casefold() not in _PLACEHOLDERS


def named(content: str, names: str) -> Iterator[tuple[str, str]]:
    """What a text says to each of some names: the names that a line begins with, and the words behind them.

    Args:
        names: a regular expression of one name, such as `O\\d{1,4}`; it has no groups.
    """
    pattern = re.compile(rf"{SAID}{LEAD}((?:[\[(]?{names}[\])]?[\s,&*_]{{0,3}}(?:and\s)?)+)(.*)")
    for line in lines(content):
        match = pattern.fullmatch(line.text)
        if match and says(match[2]):
            words = match[2].lstrip(" \t*_:.,;—–-")
            yield from ((name, words) for name in re.findall(names, match[1]))


def has_words(found: Iterable[Line]) -> bool:
    """True when a line says something; headings and labels alone do not."""
    return any(not line.level and says(line.text) and not _BARE_LABEL.fullmatch(line.text) for line in found)


def section(names: str) -> re.Pattern[str]:
    """Returns what `under` takes: a pattern for sections with any of these names, a regular expression."""
    return re.compile(rf"{LEAD}\[?(?:{names})(?![^\W_])[*_`\s]*(?P<mark>:+|=|\]:?|—|–|$)?(?P<rest>.*)", re.IGNORECASE)


def under(found: list[Line], name: re.Pattern[str]) -> list[Line]:
    """Returns the lines in every section of that name, which a heading opens, or a label: `Name: …`, `[NAME] …`.

    The first line of each is what stands beside the name, maybe nothing. A section ends at a heading of its level or
    above; one that a label opened also at a label in capitals.
    """
    inside: list[Line] = []
    level = 0
    for line in found:
        opened = name.match(line.text)
        if opened and (line.level or opened["mark"] is not None):
            level = line.level or _LABEL
            inside.append(replace(line, level=0, text=opened["rest"] if opened["mark"] else ""))
        elif level and _closes(line, level):
            level = 0
        elif level:
            inside.append(line)
    return inside


def _closes(line: Line, level: int) -> bool:
    if line.level:
        return line.level <= level
    return level == _LABEL and not line.marker and _CAPITALS.fullmatch(line.text) is not None
