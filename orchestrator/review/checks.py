"""The forms in which a check of an assumption is for a machine; what follows none of them is for a person.

    exit 0: COMMAND              the command ends with that exit code
    number < 200: COMMAND        so is the last number that it prints; also <=, >, >= and ==
    file PATH sha256 HEX         the file's bytes have that digest
    text "…" in PATH             the file holds the text, whatever white space stands between its words
    no text "…" in PATH          it does not
    until 2027-03-01             that day is not over yet

Paths start from the folder that is checked. Within the quotation marks `\\"` is one, and `\\\\` a backslash.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from types import MappingProxyType

RELATIONS: Mapping[str, Callable[[Decimal, Decimal], bool]] = MappingProxyType(
    {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq}
)


@dataclass(frozen=True, slots=True)
class Exits:
    """A command ends with an exit code, from 0 to 255."""

    code: int
    command: str

    def __str__(self) -> str:
        return f"exit {self.code}: {self.command}"


@dataclass(frozen=True, slots=True)
class Prints:
    """The last number that a command prints stands in a relation, one of RELATIONS, to a bound."""

    relation: str
    bound: Decimal
    command: str

    def __str__(self) -> str:
        return f"number {self.relation} {self.bound:f}: {self.command}"


@dataclass(frozen=True, slots=True)
class FileIs:
    """A file's bytes have a SHA-256 digest, 64 small hex digits."""

    path: str
    digest: str

    def __str__(self) -> str:
        return f"file {self.path} sha256 {self.digest}"


@dataclass(frozen=True, slots=True)
class Text:
    """A file holds a text, or does not."""

    words: str
    path: str
    present: bool

    def __str__(self) -> str:
        quoted = self.words.replace("\\", r"\\").replace('"', r"\"")
        return f'{"" if self.present else "no "}text "{quoted}" in {self.path}'


@dataclass(frozen=True, slots=True)
class Until:
    """A day is not over yet."""

    day: date

    def __str__(self) -> str:
        return f"until {self.day}"


Check = Exits | Prints | FileIs | Text | Until
RunsCommand = Exits | Prints

_PATH = r"(\S(?:.*\S)?)"
_COMMAND = r"\s*:\s*(\S(?:[\s\S]*\S)?)"
_EXITS = re.compile(rf"exit\s+(\d{{1,3}}){_COMMAND}", re.ASCII)
_PRINTS = re.compile(rf"number\s*(<=?|>=?|==)\s*([-+]?\d+(?:\.\d+)?){_COMMAND}", re.ASCII)
_FILE = re.compile(rf"file\s+{_PATH}\s+sha256[\s:]\s*([0-9A-Fa-f]{{64}})", re.ASCII)
_TEXT = re.compile(rf'(no\s+)?text\s+"((?:[^"\\]|\\[\s\S])*)"\s+in\s+{_PATH}', re.ASCII)
_UNTIL = re.compile(r"until\s+(\d{4}-\d\d-\d\d)", re.ASCII)


def parse(text: str) -> Check | None:
    """Reads a check as it stands in a record; None where it is for a person. `parse(str(check)) == check`."""
    text = _bare(text)
    if not _can_be_used(text):
        return None
    if found := _EXITS.fullmatch(text):
        return Exits(int(found[1]), found[2]) if int(found[1]) <= 255 else None
    if found := _PRINTS.fullmatch(text):
        return Prints(found[1], Decimal(found[2]), found[3])
    if found := _FILE.fullmatch(text):
        return FileIs(found[1], found[2].lower())
    if found := _TEXT.fullmatch(text):
        words = re.sub(r'\\(["\\])', r"\1", found[2])
        return Text(words, found[3], present=not found[1]) if words.strip() else None
    if found := _UNTIL.fullmatch(text):
        with suppress(ValueError):  # no such day
            return Until(date.fromisoformat(found[1]))
    return None


def _bare(text: str) -> str:
    """Without white space around it, and without the marks of code that models put around what a machine reads."""
    text = text.strip()
    inner = text[1:-1]
    return inner.strip() if text == f"`{inner}`" and "`" not in inner else text


def _can_be_used(text: str) -> bool:
    """Whether it can name a file and be given to a command."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:  # half of a character
        return False
