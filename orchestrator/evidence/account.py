"""What was named and is no evidence, and the sentences that say so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from orchestrator.errors import ConfigurationError

_MOST_NAMES = 20  # in one sentence; the rest is counted


class Unfit(Exception):
    """Something cannot be evidence.

    Args:
        why: what is said of it: "is a binary file".
        cure: what to do about it.
        line: where in it, from 1.
    """

    def __init__(self, why: str, cure: str, line: int | None = None) -> None:
        super().__init__(why)
        self.why, self.cure, self.line = why, cure, line

    def refusal(self, source: str, cure: str | None = None) -> ConfigurationError:
        """The error for what was named by itself; `cure` is a better one than that for files."""
        return ConfigurationError(f"{self.why}.", cure or self.cure, source=source, line=self.line)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that was left out, or how many were in one place."""

    path: str
    why: str  # what is said of it: "is a binary file"
    size: str = ""  # where that is the reason
    count: int | None = None  # of files and folders below the path, where they are not worth a line each
    cure: str = field(default="", compare=False)  # what to do about it, where nothing else is left

    def __str__(self) -> str:
        if self.count is not None:
            return f"{self.count:,} below {self.path}"
        return f"{self.path} ({self.size})" if self.size else self.path


def sentences(left_out: Iterable[LeftOut]) -> Iterator[str]:
    """One for each reason, in order of appearance: `a.png, b.png and 3 more: each is a binary file`."""
    order: dict[str, list[LeftOut]] = {}
    for item in left_out:
        order.setdefault(item.why, []).append(item)
    for why, items in order.items():
        if len(items) == 1 and (items[0].count or 1) == 1:
            yield f"{items[0]} {why}"
        else:
            yield f"{_listed(items)}: each {why}"


def _listed(items: list[LeftOut]) -> str:
    names = [str(item) for item in items[:_MOST_NAMES]]
    more = len(items) - len(names)
    if more:
        return f"{', '.join(names)} and {more:,} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
