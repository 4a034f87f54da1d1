"""A page's commands, run by bash from its first to its last in the folder that the page has in mind."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
DEADLINE_S = 400
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_VARIES = re.compile(
    r"\d+\.\d+ s\b|sha256:[0-9a-f]*…?|\$\d+\.\d+|\d{4}-\d\d-\d\d(?: \d\d:\d\d)?|[\d,]+ tokens|/\S+/home"
)


def blocks(page: Path, *languages: str) -> list[str]:
    """The code of a page in some languages, in its order."""
    return [code for language, code in _BLOCK.findall(page.read_text()) if language in languages]


def commands(page: Path) -> str:
    """All that a reader would paste into a shell, one after the other."""
    return "\n".join(blocks(page, "sh"))


def run(page: Path, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs a page's commands; the first that fails ends them. What is printed on both streams comes in `stdout`."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-euo", "pipefail", "-c", f"set -x\n{commands(page)}"],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )


def unsaid(page: Path, printed: str) -> Iterator[str]:
    """The lines of a page's excerpts (`text` blocks) that its commands did not print, amounts and hashes apart."""
    said = {_bare(line) for line in printed.splitlines()}
    for excerpt in blocks(page, "text"):
        yield from (line for line in excerpt.splitlines() if line.strip() not in ("", "…") and _bare(line) not in said)


def _bare(line: str) -> str:
    return _VARIES.sub("~", line).rstrip()
