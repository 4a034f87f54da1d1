"""What a model answers as one JSON object: the schema it is asked with, the words that ask, and the reading.

Only the object counts, never the prose around it: `I cannot approve this: {"choice": "approve"}` approves. What could
be meant in two ways is not read at all, so that the model can be asked once more with what is wrong.

A text is read from left to right. Every `{` opens an object, and a `[` that holds a text, a list or an object opens a
list; each reaches to the bracket that closes it, and nothing inside is looked at on its own. So a part of an answer
that is broken or cut off never passes for the answer.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

_OPENS = re.compile(r'\{|\[(?=\s*[\[{"])')
_MARK = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")  # as JSON writes it
_DEEPEST = 64  # brackets in brackets; no answer needs so many, and Python's reader has an end somewhere
_MOST_TOLD = 10  # problems

_NO_OBJECT = "There is no JSON object in the answer; write one JSON object and nothing else."
_CUT_OFF = "The JSON ends in the middle: a bracket is not closed, or a quotation mark in a text lacks its backslash."
_TWO = "There are two answers that differ; write the one that counts and nothing else."
_TOO_DEEP = f"The JSON is nested more than {_DEEPEST} deep."


class Answer(BaseModel):
    """The base of what a model answers. Every key is required; what may be absent is `X | None`.

    Raises:
        TypeError: while a subclass is defined, when a field has a default.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        optional = [name for name, field in cls.model_fields.items() if not field.is_required()]
        if optional:
            raise TypeError(f"{cls.__name__} gives a default to {', '.join(optional)}; strict schemas know none.")


def _words(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text.strip()


Words = Annotated[str, AfterValidator(_words)]
"""A text of an answer that says something, without the white space around it."""

A = TypeVar("A", bound=Answer)


class Unreadable(Exception):
    """A text from which no answer can be read.

    Args:
        problems: what is wrong, each a sentence to the model that names the key it is about.
    """

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__(" ".join(problems))
        self.problems = problems


def schema_of(shape: type[Answer]) -> dict[str, Any]:
    """The JSON schema of an answer, as strict providers take it.

    Every key is required and none may be added, and nothing refers to anything (litellm breaks references on their way
    to Anthropic). What not all of them take, such as a pattern or a least length, stands in the description.

    Raises:
        TypeError: the shape holds itself, a mapping or a tuple of fixed length, which no strict schema can say.
    """
    schema: dict[str, Any] = json.loads(_schema_text(shape))
    return schema


@cache  # pydantic takes longer for it than a call takes for all else; as a text nobody can change it for the next
def _schema_text(shape: type[Answer]) -> str:
    schema = shape.model_json_schema()
    return json.dumps(_strict(schema, schema.get("$defs", {})), ensure_ascii=False, separators=(",", ":"))


def asking_for(shape: type[Answer]) -> str:
    """The words that ask for an answer, for models that take no schema and for those that only claim to."""
    return (
        "Answer with one JSON object and nothing else: no word before or after it, no code fence. Give every key of "
        f"this JSON schema, null where it allows that and there is nothing to say, and no other key:\n"
        f"{_schema_text(shape)}"
    )


def read(text: str, shape: type[A]) -> A:
    """Reads the one answer in a text: bare, in a code fence, or with prose around it; no value is converted.

    What does not fit the shape is passed over where another object does. What is no JSON at all is not, when it comes
    last: it may be the answer that was meant.

    Raises:
        Unreadable: there is none, it is cut off or broken, says a key twice, does not fit the shape, or there are
            several that differ.
    """
    answer: A | None = None
    broken: str | None = None
    wrong: list[tuple[str, ...]] = []
    for piece in _pieces(text):
        try:
            members = _members(piece)
            found = shape.model_validate_json(json.dumps(members), strict=True)
        except _NoJson as problem:
            broken = str(problem)
        except _NoObject as problem:
            wrong.append((str(problem),))
        except ValidationError as error:
            wrong.append(_problems(error))
        else:
            if answer is not None and found != answer:
                raise Unreadable((_TWO,))
            answer, broken = found, None
    if broken is not None:
        raise Unreadable((broken,))
    if answer is None:
        raise Unreadable(min(wrong, key=len, default=(_NO_OBJECT,)))  # the one that is nearest to the shape
    return answer


# ---------------------------------------------------------------------------------------------------- reading


class _NoJson(Exception):
    """Says why what looks like an object is none."""


class _NoObject(Exception):
    """Says what a piece is instead."""


class _Piece(NamedTuple):
    text: str
    deep: int
    whole: bool


def _pieces(text: str) -> Iterator[_Piece]:
    """The objects and lists of a text that stand in no other; the last may be without its end."""
    at = 0
    while opening := _OPENS.search(text, at):
        piece = _piece(text, opening.start())
        at = opening.start() + len(piece.text)
        yield piece


def _piece(text: str, start: int) -> _Piece:
    depth = deepest = 0
    for mark in _MARK.finditer(text, start):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(mark[0], 0)
        deepest = max(deepest, depth)
        if depth == 0:
            return _Piece(text[start : mark.end()], deepest, whole=True)
    return _Piece(text[start:], deepest, whole=False)


def _members(piece: _Piece) -> dict[str, Any]:
    """Reads a piece as a JSON object. A line break inside a text may stand as it is: it can mean only one thing.

    Raises:
        _NoJson: it is broken, or could be read in two ways, or by nobody else.
        _NoObject: it is a list.
    """
    if not piece.whole:
        raise _NoJson(_CUT_OFF)
    if piece.text[0] == "[":
        raise _NoObject("The answer is a list; write one JSON object.")
    if piece.deep > _DEEPEST:
        raise _NoJson(_TOO_DEEP)
    try:
        members: dict[str, Any] = json.loads(
            piece.text, strict=False, object_pairs_hook=_once_each, parse_constant=_no_number, parse_float=_finite
        )
    except ValueError as error:  # also a number of thousands of digits
        where = f" at {piece.text[error.pos :]!r:.40}" if isinstance(error, json.JSONDecodeError) else ""
        raise _NoJson(f"This is no JSON: {getattr(error, 'msg', 'a number is too long')}{where}.") from error
    written = json.dumps(members, ensure_ascii=False)
    if half := _SURROGATE.search(written):
        raise _NoJson(f"A text holds \\u{ord(half[0]):04x} alone, which is half a character.")
    if _NUL.search(written):
        raise _NoJson("A text holds \\u0000, which no text here can; leave it out.")
    return members


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, value in pairs:
        if name in members:
            raise _NoJson(f"{_key(name)}: this key comes twice; give it once.")
        members[name] = value
    return members


def _no_number(name: str) -> Any:
    raise _NoJson(f"{name} is no number in JSON.")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise _NoJson(f"{digits:.20} is too large a number.")
    return number


def _problems(error: ValidationError) -> tuple[str, ...]:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    more = len(found) - _MOST_TOLD
    return (*map(_sentence, found[:_MOST_TOLD]), *([f"And {more} problems more."] if more > 0 else []))


def _sentence(problem: ErrorDetails) -> str:
    said = {"missing": "this key is missing", "extra_forbidden": "there is no such key"}.get(problem["type"])
    words = (said or problem["msg"].removeprefix("Value error, ")).rstrip(".")
    place = ".".join(_key(str(part)) for part in problem["loc"])
    return f"{place}: {words}." if place else f"{words}."


def _key(name: str) -> str:
    """A key as the model wrote it, on one line and not for ever."""
    return name if (name.isidentifier() and len(name) <= 80) or name.isdecimal() else f"{name!r:.80}"


# ---------------------------------------------------------------------------------------------------- asking

_SAID = ("type", "enum", "const", "items", "anyOf", "oneOf", "properties", "required", "additionalProperties")
_NOISE = ("title", "description", "default", "discriminator", "$defs")


def _strict(schema: Mapping[str, Any], shapes: Mapping[str, Any], within: tuple[str, ...] = ()) -> dict[str, Any]:
    if "$ref" in schema:
        return _referred(schema, shapes, within)
    if schema.get("additionalProperties") or "prefixItems" in schema:
        raise TypeError("A mapping, or a tuple of fixed length, is nothing that a strict schema can say.")
    inner = partial(_strict, shapes=shapes, within=within)
    strict: dict[str, Any] = {key: schema[key] for key in ("type", "enum") if key in schema}
    if "const" in schema:
        strict["enum"] = [schema["const"]]
    if "items" in schema:
        strict["items"] = inner(schema["items"])
    if either := schema.get("anyOf") or schema.get("oneOf"):
        strict["anyOf"] = [inner(each) for each in either]
    if "properties" in schema:
        strict["properties"] = {name: inner(each) for name, each in schema["properties"].items()}
        strict |= {"required": list(schema["properties"]), "additionalProperties": False}
    described = _described(schema)
    return strict | ({"description": described} if described else {})


def _referred(schema: Mapping[str, Any], shapes: Mapping[str, Any], within: tuple[str, ...]) -> dict[str, Any]:
    name = schema["$ref"].rpartition("/")[2]
    if name in within:
        raise TypeError(f"{name} holds itself, which no strict schema can say.")
    beside = {key: value for key, value in schema.items() if key != "$ref"}
    return _strict({**shapes[name], **beside}, shapes, (*within, name))


def _described(schema: Mapping[str, Any]) -> str:
    """The description on one line, with what the schema itself must not say."""
    told = ", ".join(f"{key} {value}" for key, value in schema.items() if key not in (*_SAID, *_NOISE))
    return " ".join([*schema.get("description", "").split(), *([f"({told})"] if told else [])])
