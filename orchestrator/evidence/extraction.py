"""The text of a PDF or DOCX: standard input is the document, standard output `{"text": …}` or `{"why": …, "cure": …}`.

A program of its own, for a document may be built to do harm: whatever it makes its reader do ends at a limit of memory
and of time, and takes nothing else along. It imports nothing of this package. What a damaged document raises beyond
the libraries' own errors ends it as any error does, which its caller understands.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from io import BytesIO
from typing import Any
from zipfile import BadZipFile, ZipFile

MAX_MEMORY_BYTES = 1 << 30
MAX_SECONDS = 30  # of CPU
MAX_UNPACKED_BYTES = 64 << 20
MAX_TEXT = 4 << 20  # characters

_DAMAGED = ("is a damaged {}, or none", "Save it anew, or give its text.")
_ENCRYPTED = ("is encrypted", "Save it without a password.")
_NO_TEXT = ("holds no text, only pictures of it", "Have its text recognised (OCR) first, or give the text.")
_LARGE = (f"unpacks to more than {MAX_UNPACKED_BYTES:,} bytes", "Give the part that the question rests on.")
_LONG = (f"holds more than {MAX_TEXT:,} characters of text", "Give the part that the question rests on.")
_MISSING = (
    "needs libraries that are not installed here (pip install 'run-debate[documents]')",
    "Install them, or give its text.",
)

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PRINTED = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
_TWICE = {f"{_W}moveFrom", "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"}


class Refused(Exception):
    """The document has no text that can be taken; the two arguments are why, and the cure."""


def main() -> None:
    for limit, most in ((resource.RLIMIT_AS, MAX_MEMORY_BYTES), (resource.RLIMIT_CPU, MAX_SECONDS)):
        with suppress(ValueError, OSError):  # a system without that limit, or one that is lower already
            resource.setrlimit(limit, (most, most))
    data = sys.stdin.buffer.read()
    try:
        answer = {"text": _bounded(_pdf(data) if sys.argv[1] == "PDF" else _docx(data))}
    except Refused as refused:
        why, cure = refused.args
        answer = {"why": why.format(sys.argv[1]), "cure": cure}
    except ImportError:
        answer = dict(zip(("why", "cure"), _MISSING, strict=True))
    sys.stdout.write(json.dumps(answer))


def _bounded(lines: Iterable[str]) -> str:
    kept, length = [], 0
    for line in lines:
        kept.append(line)
        length += len(line) + 1
        if length > MAX_TEXT:
            raise Refused(*_LONG)
    return "".join(f"{line}\n" for line in kept)


def _pdf(data: bytes) -> Iterator[str]:
    """The lines of each page, and before each further one `— page 2 —`."""
    from pypdf import PdfReader
    from pypdf.errors import FileNotDecryptedError, LimitReachedError, PyPdfError

    try:
        pages, has_text = PdfReader(BytesIO(data)).pages, False
        for number, page in enumerate(pages, start=1):
            text = page.extract_text()
            has_text = has_text or bool(text.strip())
            yield from [f"— page {number} —"] if number > 1 else []
            yield from text.splitlines()
    except FileNotDecryptedError as error:
        raise Refused(*_ENCRYPTED) from error
    except LimitReachedError as error:
        raise Refused(*_LARGE) from error
    except PyPdfError as error:
        raise Refused(*_DAMAGED) from error
    if not has_text:
        raise Refused(*_NO_TEXT)


def _docx(data: bytes) -> Iterator[str]:
    """The paragraphs, and each row of a table as `cell | cell`; headers, footnotes and comments are not read."""
    from docx import Document
    from docx.opc.exceptions import OpcError

    if data.startswith(b"\xd0\xcf\x11\xe0"):  # Microsoft's older container, in which encrypted documents come
        raise Refused(*_ENCRYPTED)
    try:
        with ZipFile(BytesIO(data)) as parts:  # which never unpacks more of a part than the size it is listed with
            if sum(part.file_size for part in parts.infolist()) > MAX_UNPACKED_BYTES:
                raise Refused(*_LARGE)
        body = Document(BytesIO(data)).element.body
    except (BadZipFile, OpcError, SyntaxError, KeyError, ValueError) as error:  # lxml's are syntax errors
        raise Refused(*_DAMAGED) from error
    lines = list(_blocks(body))
    if not any(line.strip() for line in lines):
        raise Refused(*_NO_TEXT)
    yield from lines


def _blocks(element: Any) -> Iterator[str]:
    """Also those in content controls, and in what tracked changes put in."""
    for child in element:
        if child.tag == f"{_W}p":
            yield from _printed(child).split("\n")
        elif child.tag == f"{_W}tr":
            yield " | ".join(" ".join(line for line in _blocks(cell) if line) for cell in _cells(child))
        elif child.tag not in _TWICE:
            yield from _blocks(child)


def _cells(element: Any) -> Iterator[Any]:
    for child in element:
        if child.tag == f"{_W}tc":
            yield child
        else:
            yield from _cells(child)


def _printed(element: Any) -> str:
    """The text of a paragraph, without what a tracked change took out."""
    if element.tag == f"{_W}t":
        return element.text or ""
    inside = "".join(_printed(child) for child in element if child.tag not in _TWICE)
    return _PRINTED.get(element.tag, "") + inside


if __name__ == "__main__":
    main()
