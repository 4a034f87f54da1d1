"""An index of decision records, and one more line in it, in the index's own style.

A line is made from the one beside it: the link, the number, the title, the date and the status in it become those of
the new record; other words were about the other record, and are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote, unquote

_LINK = re.compile(r"\[((?:[^\[\]\\]|\\.)*)\]\(<?((?:[^()<>/]*/)*)([^()<>/]+\.md)>?\)", re.IGNORECASE)
_ITEM = re.compile(r"(\s*)([-*+]|(\d{1,9})([.)]))(\s+)")
_CELL_END = re.compile(r"(?<!\\)\|")
_BEGIN, _END = re.compile(r"<!-- adrlog(?:\s(?!stop).*)?-->"), re.compile(r"<!-- adrlogstop.*-->")
_DATE = r"\d{4}-\d{2}-\d{2}"
_STATUS = r"\b(?:accepted|proposed|rejected|deprecated|draft|superseded(?: by [^|]*)?)"
_LABELS = {"adr", "madr", "status", "date"}


@dataclass(frozen=True, slots=True)
class Entry:
    """A record as an index tells it.

    Args:
        digits: its number, as its file's name has it.
        title: safe on one line, without its number.
    """

    name: str
    digits: str
    title: str
    status: str = ""
    date: str = ""

    @property
    def number(self) -> int:
        return int(self.digits)


class _Row(NamedTuple):
    at: int
    entry: Entry


def indexed(text: str, entry: Entry, known: Mapping[str, Entry]) -> str:
    """Returns an index with a line for one more record; as it was, if it has one or lists no record.

    Args:
        known: the records that are there, by the names of their files.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.split(newline)
    first, last = _part(lines)
    rows = list(_rows(lines[first:last], first, known))
    if any(unquote(link[3]) == entry.name for line in lines for link in _LINK.finditer(line)):
        return text
    if rows:
        lines[slice(*_place(lines, rows, entry))] = [_made_from(lines, rows, entry)]
    elif first:  # between the marks of adr-log, which writes it so
        inside = [line for line in lines[first:last] if line.strip()]
        lines[first:last] = ["", *inside, f"* [ADR-{entry.digits}]({quote(entry.name)}) - {entry.title}", ""]
    return newline.join(lines)


def _part(lines: Sequence[str]) -> tuple[int, int]:
    """Where the list may stand: between the marks of adr-log, if they are there."""
    begin = next((at for at, line in enumerate(lines) if _BEGIN.search(line)), None)
    end = next((at for at, line in enumerate(lines) if _END.search(line)), None)
    return (begin + 1, end) if begin is not None and end is not None and begin < end else (0, len(lines))


def _rows(lines: Sequence[str], first: int, known: Mapping[str, Entry]) -> Iterator[_Row]:
    for at, line in enumerate(lines, first):
        names = [unquote(link[3]) for link in _LINK.finditer(line)]
        entry = next((known[name] for name in names if name in known), None)
        if entry is not None and (_ITEM.match(line) or line.lstrip().startswith("|")):
            yield _Row(at, entry)


def _newest(lines: Sequence[str], rows: Sequence[_Row]) -> list[_Row]:
    """The rows, one after another, among which the newest record stands."""
    newest = max(rows, key=lambda row: row.entry.number)
    together = [newest]
    for row in rows[rows.index(newest) + 1 :]:
        if _end(lines, together[-1].at) == row.at:
            together.append(row)
    for row in reversed(rows[: rows.index(newest)]):
        if _end(lines, row.at) == together[0].at:
            together.insert(0, row)
    return together


def _end(lines: Sequence[str], at: int) -> int:
    """Where an item ends: the lines that hang below it are its own."""
    end = at + 1
    while end < len(lines) and lines[end].startswith(("  ", "\t")) and not _ITEM.match(lines[end]):
        end += 1
    return end


def _counts_down(rows: Sequence[_Row]) -> bool:
    return rows[0].entry.number > rows[-1].entry.number


def _place(lines: Sequence[str], rows: Sequence[_Row], entry: Entry) -> tuple[int, int]:
    """Where the new line goes: behind the others, or before them where the newest stands first."""
    together = _newest(lines, rows)
    at = together[0].at if _counts_down(together) else _end(lines, together[-1].at)
    return at, at


def _made_from(lines: Sequence[str], rows: Sequence[_Row], entry: Entry) -> str:
    together = _newest(lines, rows)
    model = together[0] if _counts_down(together) else together[-1]
    line = lines[model.at]
    item = _ITEM.match(line)
    if item is None:
        return "|".join(_padded(_told(cell, model.entry, entry), cell) for cell in _CELL_END.split(line))
    marker = item[2]
    if item[3] and len({_ITEM.match(lines[row.at])[2] for row in together}) > 1:  # type: ignore[index]
        marker = f"{int(item[3]) + 1}{item[4]}"
    return f"{item[1]}{marker}{item[5]}{_told(line[item.end() :], model.entry, entry)}".rstrip()


def _padded(text: str, cell: str) -> str:
    return f" {text.strip()} ".ljust(len(cell)) if cell else ""


def _told(text: str, model: Entry, entry: Entry) -> str:
    """A cell, or what stands in an item, of the new record."""
    told, done = [], 0
    for link in _LINK.finditer(text):
        words = _words(link[1], model, entry)
        told += [_words(text[done : link.start()], model, entry) or "", f"[{entry.title if words is None else words}]"]
        told += [f"({link[2]}{quote(entry.name)})"]
        done = link.end()
    return "".join([*told, _words(text[done:], model, entry) or ""])


def _words(text: str, model: Entry, entry: Entry) -> str | None:
    """Words about the one record as words about the other; None where they say more than both have."""
    number = rf"(?<![\d.])0*{model.number}(?!\d)"
    both = re.compile(
        rf"(?P<title>{re.escape(model.title) or '(?!)'})|(?P<date>{_DATE})|(?P<status>{_STATUS})|{number}",
        re.IGNORECASE,
    )

    def instead(match: re.Match[str]) -> str:
        if match["title"]:
            return entry.title
        if match["date"]:
            return entry.date
        if match["status"]:
            return entry.status.capitalize() if match[0][0].isupper() else entry.status
        return str(entry.number).zfill(len(match[0]) if match[0].startswith("0") else 1)

    rest = re.findall(r"\w+", both.sub(" ", text))
    return both.sub(instead, text) if all(word.casefold() in _LABELS for word in rest) else None
