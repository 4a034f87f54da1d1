"""What an agent CLI printed becomes a text, counts, and what went wrong; banners and colours are no part of either."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from orchestrator.models.base import CliAnswer

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])"  # colours and moves, titles, the rest
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f]"
)
_OPENS = re.compile(r"^[ \t]*(?=\{)", re.MULTILINE)
_MOST_FALSE_STARTS = 50  # lines that begin as an object does and are none
_POSSIBLE = range(10**9)  # tokens of one call


@dataclass(frozen=True, slots=True)
class Printed:
    """What stood in the output.

    `text` is None where nothing holds one; counts are 0 and the cost is None where nobody tells.
    """

    text: str | None
    failed: bool
    error: str
    input: int
    cached: int
    output: int
    thinking: int
    cost: Decimal | None
    model: str


def plain(text: str) -> str:
    """The text without escape sequences of terminals and other control characters; lines end in a line feed."""
    return _ESCAPES.sub("", text.replace("\r\n", "\n"))


def read(answer: CliAnswer, output: str, errors: str = "") -> Printed:
    """Reads what was printed.

    Args:
        answer: where what counts stands.
        output: standard output.
        errors: standard error, where some say what went wrong in the same way.
    """
    if answer.format == "text":
        return Printed(plain(output).strip(), False, "", 0, 0, 0, 0, None, "")
    objects = tuple(_objects(plain(output)))
    text = _last(objects, answer.text, answer.only)
    return Printed(
        text=text if isinstance(text, str) else None,
        failed=_last(objects, answer.failed) is True,
        error=_words(answer.error, objects) or _words(answer.error, tuple(_objects(plain(errors)))),
        input=_count(objects, answer.input),
        cached=_count(objects, answer.cached),
        output=_count(objects, answer.output),
        thinking=_count(objects, answer.thinking),
        cost=_cost(_last(objects, answer.cost)),
        model=_name(_last(objects, answer.model)),
    )


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    """The JSON objects that begin on lines of their own; what stands between them is passed over."""
    decoder = json.JSONDecoder(parse_float=Decimal)
    at, false_starts = 0, 0
    while false_starts < _MOST_FALSE_STARTS and (found := _OPENS.search(text, at)):
        try:
            value, at = decoder.raw_decode(text, found.end())
        except (ValueError, RecursionError):
            at, false_starts = found.end() + 1, false_starts + 1
        else:
            yield value


def _values(value: Any, path: str) -> Iterator[Any]:
    """What stands at a path."""
    if not path:
        yield value
        return
    key, _, rest = path.partition(".")
    items = value if isinstance(value, dict) else dict(enumerate(value)) if isinstance(value, list) else {}
    for name, inner in items.items():
        if key in ("*", str(name)):
            yield from _values(inner, rest)


def _last(objects: Sequence[Any], path: str, only: Sequence[tuple[str, str]] = ()) -> Any:
    """What stands at a path in the last of the objects that have it, and `only` in them; None: nowhere."""
    for each in reversed(objects if path else ()):
        if all(wanted in _values(each, where) for where, wanted in only):
            for value in _values(each, path):
                return value
    return None


def _words(paths: Sequence[str], objects: Sequence[Any]) -> str:
    found = (_last(objects, path) for path in paths)
    return next((words for words in found if isinstance(words, str) and words.strip()), "")


def _count(objects: Sequence[Any], paths: Sequence[str]) -> int:
    """The sum of what stands at the paths in the last object that has any of them; counts that cannot be are none."""
    for each in reversed(objects):
        counts = [count for path in paths for count in _values(each, path)]
        if counts:
            possible = all(type(count) is int and count in _POSSIBLE for count in counts)
            return sum(counts) if possible else 0
    return 0


def _cost(value: Any) -> Decimal | None:
    cost = Decimal(value) if type(value) is int else value
    return cost if isinstance(cost, Decimal) and cost.is_finite() and 0 <= cost < 10**6 else None


def _name(value: Any) -> str:
    """A model's name, where there is one and no other."""
    if isinstance(value, dict) and len(value) == 1:
        return str(next(iter(value)))
    return value if isinstance(value, str) else ""
