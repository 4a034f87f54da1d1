"""A debate with its record for programs: as JSON and as OCTAVE, with the whole ledger, so that it can be imported."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from orchestrator.decision.record import DecisionRecord
from orchestrator.export.marks import marks_of
from orchestrator.hall.debate import Debate
from orchestrator.hall.export import debate_json, export_octave, key_of
from orchestrator.hall.octave import Value, is_name

_IN_OCTAVE_ANYWAY = {"schema", "question", "thread_id", "status", "decision", "head"}


def render_json(record: DecisionRecord, debate: Debate) -> str:
    """Returns `debate.json`: what is to be read first, then the decision, the transcript, the plan and the ledger."""
    members = debate_json(debate)
    ledger = {name: members.pop(name) for name in ("transcript", "plan", "ledger")}
    first = {"schema": members.pop("schema"), "read_first": list(map(str, marks_of(record, "record.incomplete")))}
    view = {**first, **members, "record": record.model_dump(mode="json", by_alias=True), **ledger}
    return json.dumps(view, ensure_ascii=False, indent=2) + "\n"


def render_octave(record: DecisionRecord, debate: Debate, *, whole: bool = True) -> str:
    """Returns `transcript.oct.md`: what is to be read first stands in META, then the decision, its record, the turns.

    Args:
        whole: with the ledger and the plan, as a file has them; without them it is for reading alone.
    """
    marks = [(mark.word.replace(" ", "_"), mark.why) for mark in marks_of(record, "RECORD.INCOMPLETE")]
    told = record.model_dump(mode="json", by_alias=True, exclude_none=True)
    members = {name: value for name, value in told.items() if name not in _IN_OCTAVE_ANYWAY}
    return export_octave(debate, marks, _block(members), whole=whole)


def _block(members: Mapping[str, Any]) -> dict[str, Value]:
    values = {key_of(name): _value(value) for name, value in members.items()}
    return {name: value for name, value in values.items() if value not in ((), {}, "")}


def _value(value: Any) -> Value:
    """A JSON value as OCTAVE has it: lists are of plain names or of numbers, else a block with members N1, N2, …"""
    match value:
        case Mapping():
            return _block(value)
        case list() if all(isinstance(each, str) and is_name(each) for each in value):
            return tuple(value)
        case list() if all(isinstance(each, int) for each in value):
            return ", ".join(map(str, value))
        case list():
            return {f"N{number}": _value(each) for number, each in enumerate(value, 1)}
        case bool() | int() | str():
            return value
        case _:
            raise AssertionError(f"a record holds no {value!r}")
