"""A piece of evidence: what a debate may cite, with an id, a hash and numbered lines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Kind = Literal["file", "adr", "diff", "input"]  # an adr is the record of an earlier decision


@dataclass(frozen=True)
class Evidence:
    """One file, diff or input as it stood when it was read."""

    id: str  # E1, E2, … in the order given
    path: str  # from the working folder if the file is below it, else as the user gave it
    sha256: str  # "sha256:…", of the bytes that were read
    text: str  # without a byte order mark; every line end is "\n"
    kind: Kind = "file"

    @property
    def title(self) -> str:
        """The path, and what kind of text stands there where that is not plain from it."""
        return f"{self.path}, an earlier decision" if self.kind == "adr" else self.path

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """Line 1 first. Only line ends part lines, as in editors: a form feed or U+2028 stands inside its line."""
        lines = self.text.split("\n")
        return tuple(lines if lines[-1] else lines[:-1])


def numbered(evidence: Evidence) -> str:
    """The evidence as a prompt shows it: each line as `12| text`."""
    return "\n".join(f"{number}| {line}" for number, line in enumerate(evidence.lines, start=1))
