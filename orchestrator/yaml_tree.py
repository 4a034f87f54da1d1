"""Strict YAML as a tree of nodes that know their lines.

What a plain scalar means is decided by JSON, not by YAML 1.1: a JSON number is a number, `true` and `false` are
booleans, `null`, `~` and nothing at all are null, and everything else (`no`, `12:30`, `0x1F`, `.inf`) is text.

Duplicate keys, anchors, aliases, merge keys, tags, a second document and deep nesting are errors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from orchestrator.errors import ConfigurationError

MAX_DEPTH = 20

Place = tuple[str | int, ...]

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,99})(?:\.[0-9]{1,99})?(?:[eE][-+]?[0-9]{1,9})?")
_JSON_WORDS = {"": "null", "~": "null", "null": "null", "true": "true", "false": "false"}

_SYNTAX_CURES = {
    "mapping values are not allowed": "Look for a key without a colon, or a text with a colon that needs quotes.",
    "found character '\\t'": "Indent with spaces, not tabs.",
    "found character": "A text that begins with this character needs quotes.",
    "found unexpected end of stream": "Close the quotes.",
    "could not find expected ':'": "Every key is followed by a colon and a space.",
    "expected <block end>": "Check how far this line is indented, and that quotes and brackets are closed.",
}


def parse(text: str, *, source: str, first_line: int) -> Node:
    """Reads one YAML document whose root is a mapping; arguments as for `strict_yaml.load`.

    Raises:
        ConfigurationError: the text is not strict YAML.
    """
    return _Reader(text, source, first_line).document()


def dotted(path: Place) -> str:
    """A path as a sentence names it: `seats.wall[1].agent`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{clipped(part)}" for part in path)
    return "".join(parts).removeprefix(".")


def clipped(text: str) -> str:
    """One short line of it, whatever a quoted text may hold."""
    line = text if text.isprintable() else repr(text)[1:-1]
    return line if len(line) <= 80 else f"{line[:79]}…"


@dataclass(frozen=True, slots=True)
class Node:
    """A value and the line where a reader looks for it: its key's, or in a list its own."""

    line: int
    value: str | list[Node] | dict[str, Node]
    plain: bool = False  # a scalar without quotes

    def as_json(self, spelled: frozenset[int]) -> str:
        """JSON of this node; plain scalars whose id is in `spelled` become text."""
        if isinstance(self.value, list):
            return f"[{','.join(item.as_json(spelled) for item in self.value)}]"
        if isinstance(self.value, dict):
            return f"{{{','.join(f'{json.dumps(k)}:{v.as_json(spelled)}' for k, v in self.value.items())}}}"
        return json.dumps(self.value) if id(self) in spelled else self._literal() or json.dumps(self.value)

    def can_be_spelled(self, error_type: str) -> bool:
        """Whether text was wanted here and a number or boolean has a spelling to give."""
        return error_type == "string_type" and self._literal() not in (None, "null")

    def shown(self) -> str:
        """The value as a sentence names it."""
        if not isinstance(self.value, str):
            return "a list" if isinstance(self.value, list) else "a mapping"
        literal = self._literal()
        if literal == "null":
            return "nothing"
        return literal or f"the text '{clipped(self.value)}'"

    def at(self, place: Place) -> tuple[Place, Node]:
        """The node at `place` and how it is reached; parts that are no key (a union's branches) are passed over."""
        path: Place = ()
        node = self
        for part in place:
            if (below := node._below(part)) is not None:
                path, node = (*path, part), below
        return path, node

    def _below(self, part: str | int) -> Node | None:
        if isinstance(self.value, dict) and isinstance(part, str):
            return self.value.get(part)
        if isinstance(self.value, list) and isinstance(part, int) and part < len(self.value):
            return self.value[part]
        return None

    def _literal(self) -> str | None:
        """The JSON number or word a plain scalar is, if it is one."""
        if not self.plain or not isinstance(self.value, str):
            return None
        return self.value if _NUMBER.fullmatch(self.value) else _JSON_WORDS.get(self.value)


class _Reader:
    """Builds the tree from PyYAML's events, which are drawn one by one, so that a refusal comes before the cost."""

    def __init__(self, text: str, source: str, first_line: int) -> None:
        self._text, self._source, self._first_line = text, source, first_line
        self._events = self._parsed()

    def document(self) -> Node:
        next(self._events)  # the stream's start
        if isinstance(next(self._events), yaml.StreamEndEvent):
            raise self._error("The file is empty.", self._first_line)
        root = self._node(next(self._events), ())
        next(self._events)  # the document's end
        if not isinstance(more := next(self._events), yaml.StreamEndEvent):
            raise self._error("A second document begins here.", self._line(more), "Keep one document in a file.")
        if not isinstance(root.value, dict):
            raise self._error(f"The file must be a mapping of keys to values, not {root.shown()}.", root.line)
        return root

    def _node(self, event: Any, path: Place, line: int | None = None) -> Node:
        line = line or self._line(event)
        self._refuse_tricks(event)
        if len(path) > MAX_DEPTH:
            raise self._error(f"This is nested more than {MAX_DEPTH} levels deep.", line)
        if isinstance(event, yaml.ScalarEvent):
            return Node(line, self._text_of(event), plain=event.implicit[0])
        if isinstance(event, yaml.SequenceStartEvent):
            return Node(line, self._list(path))
        return Node(line, self._mapping(path))

    def _list(self, path: Place) -> list[Node]:
        items: list[Node] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._node(event, (*path, len(items))))
        return items

    def _mapping(self, path: Place) -> dict[str, Node]:
        items: dict[str, Node] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            line = self._line(event)
            self._refuse_tricks(event)
            if not isinstance(event, yaml.ScalarEvent):
                raise self._error("A key must be a text, not a list or a mapping.", line)
            key = self._text_of(event)
            if key == "<<" and event.implicit[0]:
                raise self._error("Merge keys (<<) are not allowed.", line, "Write the keys out.")
            if key in items:
                message = f"duplicate key; it already stands in line {items[key].line}."
                raise self._error(message, line, "Keep one of them.", dotted((*path, key)))
            items[key] = self._node(next(self._events), (*path, key), line)
        return items

    def _text_of(self, event: yaml.ScalarEvent) -> str:
        if any("\ud800" <= character <= "\udfff" for character in event.value):
            raise self._error("This text holds half of a surrogate pair, which is no character.", self._line(event))
        return str(event.value)

    def _refuse_tricks(self, event: Any) -> None:
        for mark, name, found in (
            ("*", "Aliases", isinstance(event, yaml.AliasEvent)),
            ("&", "Anchors", getattr(event, "anchor", None) is not None),
            ("!", "Tags", getattr(event, "tag", None) is not None),
        ):
            if found:
                cure = f"Write the value out; a text that begins with {mark} needs quotes."
                raise self._error(f"{name} ({mark}name) are not allowed.", self._line(event), cure)

    def _parsed(self) -> Iterator[Any]:
        try:
            loader = yaml.SafeLoader(self._text)
            while loader.check_event():
                yield loader.get_event()  # type: ignore[no-untyped-call]
        except yaml.MarkedYAMLError as error:
            raise self._syntax_error(error) from error
        except yaml.reader.ReaderError as error:
            line = self._first_line + self._text.count("\n", 0, error.position)
            raise self._error(f"YAML does not allow the character U+{error.character:04X}.", line) from error
        except (ValueError, OverflowError) as error:  # PyYAML checks neither \U escapes nor %YAML versions
            raise self._error(
                "This is not valid YAML: a number is out of range.", self._first_line + loader.line
            ) from error

    def _syntax_error(self, error: yaml.MarkedYAMLError) -> ConfigurationError:
        problem = error.problem or "it ends too early"
        mark, begin = error.problem_mark or error.context_mark, error.context_mark
        line = self._first_line + (mark.line if mark else 0)
        where = f" ({error.context}, from line {self._first_line + begin.line})" if error.context and begin else ""
        cure = next((cure for start, cure in _SYNTAX_CURES.items() if problem.startswith(start)), "")
        return self._error(f"This is not valid YAML: {problem}{where}.", line, cure)

    def _line(self, event: Any) -> int:
        return int(event.start_mark.line) + self._first_line

    def _error(self, message: str, line: int, cure: str = "", key: str = "") -> ConfigurationError:
        return ConfigurationError(message, cure, source=self._source, line=line, key=key)
