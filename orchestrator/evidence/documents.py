"""The text of PDF and DOCX files, read by a program of its own that may fail, hang or run out of memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import PurePath

from orchestrator.evidence.account import Unfit

MAX_BYTES = 16 << 20
_MAX_SECONDS = 90  # by the clock; the program has a limit of its own, of CPU
_FORMATS = {".pdf": "PDF", ".docx": "DOCX"}
_PROGRAM = PurePath(__file__).with_name("extraction.py")


def document_format(path: PurePath) -> str | None:
    """PDF or DOCX, by the file's name; None for a text file."""
    return _FORMATS.get(path.suffix.lower())


def text_of(data: bytes, format: str) -> str:
    """The text of a document.

    Args:
        data: the file.
        format: PDF or DOCX.

    Raises:
        Unfit: it is encrypted, damaged or holds no text; its reader is not installed, or came to its limits.
    """
    command = [sys.executable, "-P", str(_PROGRAM), format]  # -P: nothing is imported from beside the program
    try:
        ended = subprocess.run(command, input=data, capture_output=True, timeout=_MAX_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise Unfit(f"is a {format} that takes too long to read", "Give its text.") from error
    if ended.returncode != 0:
        raise Unfit(f"is a {format} that cannot be read: it is damaged, or takes too much to read", "Give its text.")
    answer = json.loads(ended.stdout)
    if "why" in answer:
        raise Unfit(answer["why"], answer["cure"])
    text: str = answer["text"]
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
