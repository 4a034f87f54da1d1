"""The entries of a ledger: frozen, one class a kind, and their one text form.

An entry is a header (version, thread, sequence number, time, hash of the entry before) and a body. Free text stands
beside the entry, never in it: the body holds the text's salted digest. A field that is None is left out of the text
form, so that a field added later leaves older entries as they are.
"""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from enum import StrEnum
from functools import cache, partial
from inspect import Parameter, signature
from typing import Any, ClassVar, NamedTuple, Union, get_args, get_origin, get_type_hints

from orchestrator.errors import InvalidInput
from orchestrator.hall import canonical
from orchestrator.hall.terms import Choice, Cognition, LinkKind, Mode, Role, SettledBy, Status

VERSION = 1


@dataclass(frozen=True, slots=True)
class SeatRecord:
    """Who sat where and what it took: tokens as the provider counted them, cost in US dollars as a decimal string."""

    slot: str
    agent: str
    asked: str  # the model route the plan names first
    answered: str  # the model that answered, in its provider's words
    route: str | None = None  # the route that answered, where it is not the one asked first
    lens: str | None = None
    input: int | None = None
    cached: int | None = None
    output: int | None = None
    cost: str | None = None
    tried: tuple[str, ...] | None = None  # the calls that brought no turn, `route: what went wrong`, in their order
    summarised: int | None = None  # so many of the oldest turns it read in a summary: its model's window was too small
    thinking: int | None = None  # of the tokens out, those that were thought and not said
    reused: int | None = None  # replies behind it that were bought in the debate that this one replays


@dataclass(frozen=True, slots=True)
class Link:
    """What a thread is to another, as that one stood at one head; `kind` says it in a word, see terms.LinkKind."""

    kind: LinkKind
    thread_id: str
    head: str

    def __str__(self) -> str:
        return f"{self.thread_id} as it stood at {self.head}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The first entry. `digest` is the topic's; `plan` is the digest of the pinned plan when a runner opens it.

    `marks` are words that every output of the debate shows first, such as REHEARSAL; `link` leads to the thread that it
    is about, where it is about one; `recipe` is the name of the recipe that its plan was made from.
    """

    kind: ClassVar[str] = "opened"
    digest: str
    mode: Mode
    max_turns: int
    max_rounds: int
    strict_cognition: bool
    barrier: bool
    plan: str | None = None
    marks: tuple[str, ...] = ()
    link: Link | None = None
    recipe: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FloorGiven:
    """Mediated mode: the next turn is this role's."""

    kind: ClassVar[str] = "floor_given"
    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One committed statement of one role. `human` where a person spoke: `agent_role` is that person's name."""

    kind: ClassVar[str] = "turn"
    digest: str
    turn_index: int  # 0-based
    round: int  # 1-based
    role: Role
    cognition: Cognition
    agent_role: str | None = None
    model: str | None = None
    token_input: int | None = None
    token_output: int | None = None
    token_total: int | None = None
    seat: SeatRecord | None = None
    human: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """A seat's word on the synthesis in entry `on`; `rests_on` names the constraints, turns or citations it uses.

    Of an objection `settled_by` says what kind of thing would end it; the last line of the text says which.
    """

    kind: ClassVar[str] = "vote"
    digest: str
    on: int
    role: Role
    choice: Choice
    rests_on: tuple[str, ...] = ()
    settled_by: SettledBy | None = None
    seat: SeatRecord | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refined:
    """A new synthesis after objections; `answers` are the sequence numbers of the votes it answers."""

    kind: ClassVar[str] = "refined"
    digest: str
    number: int  # 1-based
    answers: tuple[int, ...] = ()
    seat: SeatRecord | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Words that are no turn: `about` says what for (terms.About), `to` for whom, `slot` of which seat.

    `seat` is that of the seat that wrote them, where one did; `human` where a person did, whose name is `by`.
    """

    kind: ClassVar[str] = "note"
    digest: str
    about: str
    by: str
    to: Role | None = None
    slot: str | None = None
    seat: SeatRecord | None = None
    human: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Extended:
    """Higher limits; the text says why. `human` where a person asked for another round, whose name is `by`."""

    kind: ClassVar[str] = "extended"
    digest: str
    by: str
    max_turns: int
    max_rounds: int
    human: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstoned:
    """The text of entry `target` and its salt are deleted; `original` is its digest, the text here says why."""

    kind: ClassVar[str] = "tombstoned"
    digest: str
    target: int
    original: str
    turn_index: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """The end, with the synthesis as text; `record` is the digest of Door's account of it, where there is one."""

    kind: ClassVar[str] = "closed"
    digest: str
    status: Status
    record: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForceClosed:
    """The kill switch was used; the text says why."""

    kind: ClassVar[str] = "force_closed"
    digest: str


Body = Opened | FloorGiven | Turn | Vote | Refined | Note | Extended | Tombstoned | Closed | ForceClosed

BODIES: dict[str, type[Body]] = {body.kind: body for body in get_args(Body)}


class Entry(NamedTuple):
    thread_id: str
    seq: int  # 0 is the opening
    at: str  # ISO 8601, UTC, microseconds
    prev: str | None  # the hash of the entry before
    body: Body


def text_of(entry: Entry) -> str:
    """Returns the canonical JSON of an entry: the bytes that are stored and hashed."""
    header = {"v": VERSION, "thread_id": entry.thread_id, "seq": entry.seq, "kind": entry.body.kind, "at": entry.at}
    if entry.prev is not None:
        header["prev"] = entry.prev
    return canonical.encode(header | plain(entry.body))


_NESTED = (SeatRecord, Link)


def plain(value: Any) -> dict[str, Any]:
    """Returns the fields of a body, or of another frozen value like it, as JSON values; what is None is left out."""
    shape: Any = type(value)
    return {
        name: plain(member) if isinstance(member, _NESTED) else member
        for name in _fields(shape).readers
        if (member := getattr(value, name)) is not None
    }


def parse(text: str) -> Entry:
    """Returns the entry whose canonical JSON is `text`.

    Raises:
        InvalidInput: it is not the canonical form of an entry of this version.
    """
    try:
        canonical.require_text(text)
        members, _ = _JSON.raw_decode(text)  # what stands around it is not canonical
        is_canonical = canonical.encoded(members) == text and not ("null" in text and _holds_null(members))
        version, body = members.pop("v"), BODIES[members.pop("kind")]
        header = {name: members.pop(name, None) for name in _HEADER}
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise InvalidInput(f"This is no ledger entry ({error!r}).") from error
    if version != VERSION or type(version) is not int:  # True is 1, too
        raise InvalidInput(f"The entry has version {version!r}; this program reads version {VERSION}.")
    if not is_canonical:
        raise InvalidInput("The entry is not in canonical form.")
    return Entry(**_typed(Entry, header), body=build(body, members))


_JSON = json.JSONDecoder()
_HEADER = Entry._fields[:-1]  # all but the body


def _holds_null(value: Any) -> bool:
    """Whether a null stands anywhere in JSON values; in canonical form what is not there is left out."""
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return value is None or any(map(_holds_null, members))


def typed(body: Body) -> Body:
    """Returns a body whose every field has the type it declares, so that it can be read again once it is stored.

    Raises:
        InvalidInput: one has another.
    """
    checked: Body = build(type(body), plain(body))
    return checked


def build(shape: Any, members: Any) -> Any:
    """Returns the frozen value of class `shape` that these JSON values make.

    Raises:
        InvalidInput: a field is unknown, missing, or has another type than it declares.
    """
    if not isinstance(members, dict):
        raise InvalidInput(f"A {shape.__name__} cannot be {members!r}.")
    try:
        value = shape(**_typed(shape, members))
    except TypeError as error:
        raise InvalidInput(f"A {shape.__name__} has other fields: {error}.") from error
    if not members.keys() >= (always := _fields(shape).always):
        raise InvalidInput(f"A {shape.__name__} says its {min(always - members.keys())!r}, which is missing.")
    return value


def _typed(shape: Any, members: dict[str, Any]) -> dict[str, Any]:
    kinds, readers, _ = _fields(shape)
    if not members.keys() <= readers.keys():
        raise InvalidInput(f"A {shape.__name__} has no field {min(members.keys() - readers.keys())!r}.")
    return {
        name: member if type(member) is kinds[name] else readers[name](member, name) for name, member in members.items()
    }


_Reader = Callable[[Any, str], Any]  # of a JSON value and the name of its field


class _Fields(NamedTuple):
    """What is known of the fields of a class, found once: a ledger's every entry is read with every look at it."""

    kinds: Mapping[str, Any]  # what each declares, beside None
    readers: Mapping[str, _Reader]  # of the values that are not of that type yet
    always: frozenset[str]  # those that `plain` always writes: what they are without it is not None


@cache
def _fields(shape: Any) -> _Fields:
    hints, parameters = get_type_hints(shape), signature(shape).parameters
    kinds = {name: _beside_none(hints[name]) for name in parameters}
    readers = {name: _reader_of(hints[name]) for name in parameters}
    always = frozenset(name for name, each in parameters.items() if each.default not in (None, Parameter.empty))
    return _Fields(kinds, readers, always)


def _beside_none(hint: Any) -> Any:
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    return next(option for option in options if option is not type(None))


def _reader_of(hint: Any) -> _Reader:
    """What makes a JSON value the type that a field declares; a bool is no int, a number no text."""
    kind = _beside_none(hint)
    if kind is not hint:
        some = _reader_of(kind)
        return lambda value, name: None if value is None else some(value, name)
    if get_origin(kind) is tuple:
        return partial(_tuple_of, _reader_of(get_args(kind)[0]))
    if hasattr(kind, "_fields"):
        return partial(_counts, kind)
    if is_dataclass(kind):
        return lambda value, name: build(kind, value)
    if issubclass(kind, StrEnum):
        return partial(_word_of, {member.value: member for member in kind})
    return partial(_exactly, kind)


def _tuple_of(member_of: _Reader, value: Any, name: str) -> Any:
    if isinstance(value, list | tuple):
        return tuple(member_of(member, name) for member in value)
    raise _cannot_be(name, value)


def _counts(shape: Any, value: Any, name: str) -> Any:
    """A NamedTuple of counts."""
    if isinstance(value, list):
        return shape(*(_exactly(int, member, name) for member in value))
    raise _cannot_be(name, value)


def _word_of(words: Mapping[str, StrEnum], value: Any, name: str) -> Any:
    if isinstance(value, str) and value in words:
        return words[value]
    raise _cannot_be(name, value)


def _exactly(kind: type, value: Any, name: str) -> Any:
    if type(value) is kind:
        return value
    raise _cannot_be(name, value)


def _cannot_be(name: str, value: Any) -> InvalidInput:
    return InvalidInput(f"The field {name!r} cannot be {value!r}.")
