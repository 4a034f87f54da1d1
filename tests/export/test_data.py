"""`debate.json` and `transcript.oct.md`: the same facts, the most important first, and a debate that comes back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from examples.shelf import ALL
from examples.stage import Shown
from orchestrator.export.data import render_json, render_octave
from orchestrator.export.json_schema import FILE, schema_text
from orchestrator.export.marks import marks_of
from orchestrator.hall import exported, octave

ROOT = Path(__file__).parents[2]
MARKS = {
    "rehearsal": ["REHEARSAL"],
    "everything": ["DEGRADED", "INCOMPLETE"],
    "stalemate": ["STALEMATE"],
    "running": ["NOT CLOSED"],
    "forced": ["CLOSED BY FORCE"],
    "by-hand": [],
}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Shown]:
    """A debate of every kind, by name."""
    return {name: make(tmp_path_factory.mktemp(name)) for name, make in ALL.items()}


@pytest.fixture(params=ALL)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def shown(shelf: Mapping[str, Shown], name: str) -> Shown:
    return shelf[name]


# ---------------------------------------------------------------------------------------------------------------- JSON


def test_the_published_schema_is_the_one_that_the_shapes_make() -> None:
    assert (ROOT / FILE).read_text() == schema_text(), "run python -m orchestrator.export.json_schema"


def strict(schema: Any) -> Any:
    """The published schema, but that every object has no more members than it names."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {"additionalProperties": False} if "properties" in schema and "additionalProperties" not in schema else {}
    return {key: strict(member) for key, member in schema.items()} | closed


@pytest.fixture(scope="module")
def judge() -> jsonschema.Draft202012Validator:
    schema = json.loads((ROOT / FILE).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(strict(schema))


def test_every_kind_of_debate_is_as_the_published_schema_says(
    shown: Shown, judge: jsonschema.Draft202012Validator
) -> None:
    told = json.loads(render_json(shown.record, shown.debate))
    assert [error.message for error in judge.iter_errors(told)] == []


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every member of a JSON value, at any depth."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        if isinstance(value, dict):
            yield (*at, key)
        yield from places(member, (*at, key))


OPEN = {"seat", "balance", "transcript", "reason"}  # of any members, or not always there


@pytest.mark.slow
def test_the_schema_notices_a_member_of_another_type_or_name_anywhere(
    shelf: Mapping[str, Shown], judge: jsonschema.Draft202012Validator
) -> None:
    told = json.loads(render_json(shelf["everything"].record, shelf["everything"].debate))
    told |= {"ledger": told["ledger"][:1], "plan": "", "transcript": [], "synthesis": ""}  # what is large, and no shape
    known = {place for place in places(told) if not OPEN & set(place)}
    shapes = {tuple("*" if isinstance(step, int) else step for step in place): place for place in known}
    assert len(shapes) > 100
    for place in shapes.values():
        for name, value in ((place[-1], {"another": "type"}), ("unknown_member", 1)):
            changed = deepcopy(told)
            within = changed
            for step in place[:-1]:
                within = within[step]
            within[name] = value
            assert not judge.is_valid(changed), (place, name)


def test_what_is_to_be_read_first_stands_first_in_both(shown: Shown, name: str) -> None:
    told = json.loads(render_json(shown.record, shown.debate))
    marks = list(marks_of(shown.record, "x"))
    assert [mark.word for mark in marks] == MARKS[name]
    assert list(told)[:2] == ["schema", "read_first"]
    assert [sentence.partition(": ")[0] for sentence in told["read_first"]] == MARKS[name]
    head = render_octave(shown.record, shown.debate).partition("\nTHREAD_ID::")[0]
    for mark in marks:
        key = mark.word.replace(" ", "_")
        assert f"\n  {key}::" in head


@pytest.mark.parametrize("format", ["json", "octave"])
def test_every_kind_of_debate_comes_back_from_its_file(shown: Shown, format: str) -> None:
    render = {"json": render_json, "octave": render_octave}[format]
    text = render(shown.record, shown.debate)
    found = exported.read(text.encode(), "a file")
    assert found.debate == shown.debate
    assert found.with_record
    exported.require_told(found, text)


# -------------------------------------------------------------------------------------------------------------- OCTAVE


def words_of(value: Any) -> set[str]:
    """Every text in a value, at any depth."""
    if isinstance(value, Mapping):
        return {word for member in value.values() for word in words_of(member)}
    if isinstance(value, list | tuple):
        return {word for member in value for word in words_of(member)}
    return {value} if isinstance(value, str) and value else set()


def test_octave_says_all_that_the_record_says(shown: Shown) -> None:
    _, members = octave.parse(render_octave(shown.record, shown.debate))
    told = words_of(members)
    assert words_of(shown.record.model_dump(mode="json", by_alias=True)) - told <= {"run-debate/record/v1"} | {
        str(shown.record.status)
    }
    assert isinstance(members["META"], dict)
    assert members["META"]["HEAD"] == shown.debate.head


def test_octave_for_reading_alone_has_no_ledger_and_all_else(shown: Shown) -> None:
    whole, short = (render_octave(shown.record, shown.debate, whole=whole) for whole in (True, False))
    assert short.removesuffix("===END===\n") == whole.partition("\nLEDGER:\n")[0] + "\n"


def test_octave_mcp_accepts_every_kind_of_debate(oracle: Any, shown: Shown) -> None:
    text = render_octave(shown.record, shown.debate)
    for document, seal in ((text, "NO_SEAL"), (octave.seal(text), "VERIFIED")):
        answer = oracle(document)
        assert (answer["status"], answer["complaints"], answer["seal"]) == ("VALIDATED", [], seal)
        assert answer["again"] == document
