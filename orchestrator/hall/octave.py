"""Nested values as an OCTAVE document, and back.

`emit` writes as octave-mcp's own emitter would. `parse` reads what `emit` writes and nothing else:
`parse(emit(name, members)) == (name, members)` for every text in them.

Text comes back byte for byte because it is never altered. One plain line stands in quotes; anything else (line ends,
control and bidirectional characters, text that is not in Unicode's composed form) stands in a literal zone, a fence
longer than any run of backticks inside it, of which OCTAVE readers touch nothing. So there is no escape that could
come back wrong, and no text that could end the zone. A file must be written and read without translating line ends.

A seal is octave-mcp's: the SHA-256 of the document without it. It shows damage, not who wrote it.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping

from orchestrator.errors import InvalidInput

Value = str | int | bool | tuple[str, ...] | Mapping[str, "Value"]

_STEP = "  "
_DEEPEST = 16  # blocks in blocks, far beyond what a debate has
_END = "===END==="
_KEY = re.compile(r"[A-Z][A-Z0-9_]*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*(?<!-)")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")
_MEMBER = re.compile(r"( *)([A-Z][A-Z0-9_]*):(?:(:)(.*))?")
# Words that OCTAVE reads as something else when bare, and shapes that octave-mcp writes bare though they are no names.
_LITERAL = re.compile(r"(?:true|false|null|vs)(?:[.-].*)?|True|TRUE|False|FALSE|Null|NULL")
_EXPRESSION = re.compile(r"\$\S*|[A-Za-z_][A-Za-z0-9_.-]*[<@⊕⧺⇌∧∨→]\S*")
_ESCAPE = re.compile(r'\\(["\\])')
_SEAL = re.compile(
    r'§SEAL::SEAL\n  SCOPE::"LINES\[1,(\d+)\]"\n  ALGORITHM::SHA256\n  HASH::"?([0-9a-f]{64})"?\n(?====END===\n\Z)'
)


def emit(name: str, members: Mapping[str, Value]) -> str:
    """Returns an OCTAVE document. A tuple holds words, each a name; a mapping in it is a block, and not empty.

    Raises:
        InvalidInput: a key is not in capitals, or a word of a tuple is no name.
    """
    return "\n".join([f"==={_key(name)}===", *_lines(members, ""), _END]) + "\n"


def parse(text: str) -> tuple[str, dict[str, Value]]:
    """Returns the name and the members that `emit` wrote as `text`.

    Raises:
        InvalidInput: `emit` does not write such a text; the message names the line where they part.
    """
    lines = _Cursor(text.split("\n"))
    head = lines.next()
    name, members = head.strip("="), _block(lines, "")
    if lines.next() != _END:
        raise _refusal(lines.row, f"expected {_END}")
    written = emit(name, members)
    if written != text:
        raise _refusal(first_other_line(text, written), "this is not how a document of this version is written")
    return name, members


def first_other_line(text: str, other: str) -> int:
    """The number of the first line, from 1, in which two texts that differ do so."""
    pairs = enumerate(zip(text.split("\n"), other.split("\n"), strict=False), 1)
    end = min(text.count("\n"), other.count("\n")) + 1
    return next((row for row, (found, wanted) in pairs if found != wanted), end)


def is_name(word: str) -> bool:
    """Whether a word stands bare, as the words of a list must."""
    return _NAME.fullmatch(word) is not None and _LITERAL.fullmatch(word) is None


def seal(text: str) -> str:
    """Returns a document of `emit` with its seal."""
    size, digest = len(text.split("\n")), hashlib.sha256(text.encode()).hexdigest()
    lines = ["§SEAL::SEAL", f'  SCOPE::"LINES[1,{size}]"', "  ALGORITHM::SHA256", *_text("HASH", digest, _STEP)]
    return text.removesuffix(f"{_END}\n") + "\n".join([*lines, _END]) + "\n"


def unseal(text: str) -> tuple[str, bool]:
    """Returns a document without its seal, and whether it had one.

    Raises:
        InvalidInput: it is not what was sealed.
    """
    found = _SEAL.search(text)
    if found is None:
        return text, False
    bare = text[: found.start()] + text[found.end() :]
    if seal(bare) != text:
        raise InvalidInput("The document is not the one that was sealed: its SEAL has another hash.")
    return bare, True


def _lines(members: Mapping[str, Value], pad: str) -> Iterator[str]:
    for key, value in members.items():
        match value:
            case str():
                yield from _text(_key(key), value, pad)
            case bool() | int():
                yield f"{pad}{_key(key)}::{str(value).lower()}"
            case tuple():
                yield from _words(_key(key), value, pad)
            case Mapping():
                if not value:
                    raise InvalidInput(f"The block {key} is empty.")
                yield f"{pad}{_key(key)}:"
                yield from _lines(value, pad + _STEP)


def _key(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise InvalidInput(f"{key!r} cannot be a key of OCTAVE.", "A key is one upper-case word: REHEARSAL.")
    return key


def _words(key: str, words: tuple[str, ...], pad: str) -> list[str]:
    """Octave-mcp sets lists of up to two words on one line, longer ones on a line for each word."""
    for word in words:
        if not is_name(word):
            raise InvalidInput(f"{word!r} cannot stand in a list of OCTAVE.", "A word is a plain name: REHEARSAL.")
    if len(words) < 3:
        return [f"{pad}{key}::[{','.join(words)}]"]
    return [f"{pad}{key}::[", *(f"{pad}  {word}," for word in words[:-1]), f"{pad}  {words[-1]}", f"{pad}]"]


def _text(key: str, value: str, pad: str) -> list[str]:
    if _LITERAL.fullmatch(value) or _EXPRESSION.fullmatch(value) or not _is_plain_line(value):
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", value)), default=0))
        return [f"{pad}{key}::", f"{pad}{fence}", value, f"{pad}{fence}"]
    if _NAME.fullmatch(value):
        return [f"{pad}{key}::{value}"]
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    return [f'{pad}{key}::"{quoted}"']


def _is_plain_line(value: str) -> bool:
    return value.isprintable() and unicodedata.is_normalized("NFC", value)


class _Cursor:
    """A place in a document's lines; `row` is the number of the last one taken."""

    def __init__(self, lines: list[str]) -> None:
        self._lines, self.row = lines, 0

    @property
    def ahead(self) -> str:
        return self._lines[self.row] if self.row < len(self._lines) else ""

    def next(self) -> str:
        if self.row == len(self._lines):
            raise _refusal(self.row, "the text ends before its document does")
        self.row += 1
        return self._lines[self.row - 1]


def _block(lines: _Cursor, pad: str) -> dict[str, Value]:
    """Takes the members that stand at one depth; what is wrong but readable is left to `parse`, which writes again."""
    if len(pad) > _DEEPEST * len(_STEP):
        raise _refusal(lines.row, "it is nested too deeply")
    members: dict[str, Value] = {}
    while (member := _MEMBER.fullmatch(lines.ahead)) and member[1] == pad:
        lines.next()
        members[member[2]] = _value(lines, member[4], pad) if member[3] else _block(lines, pad + _STEP)
    if not members:
        raise _refusal(lines.row + 1, "expected a key and its value")
    return members


def _value(lines: _Cursor, written: str, pad: str) -> Value:
    if written == "":
        return _zone(lines)
    if written == "[":
        return tuple(_words_below(lines, f"{pad}]"))
    if written.startswith("["):
        return tuple(word for word in written.strip("[]").split(",") if word)
    if written.startswith('"'):
        return _ESCAPE.sub(r"\1", written[1:-1])
    if written in ("true", "false"):
        return written == "true"
    return int(written) if _NUMBER.fullmatch(written) else written


def _words_below(lines: _Cursor, end: str) -> Iterator[str]:
    while (line := lines.next()) != end:
        yield line.strip(" ,")


def _zone(lines: _Cursor) -> str:
    fence, inside = lines.next(), list[str]()
    while (line := lines.next()) != fence:
        inside.append(line)
    return "\n".join(inside)


def _refusal(row: int, why: str) -> InvalidInput:
    return InvalidInput(f"Line {row} of the OCTAVE document: {why}.", "Give a document as it was exported.")
