"""What `debate.json` looks like, as JSON Schema, for whoever reads or checks one.

It is published in docs/schemas, and written there by `python -m orchestrator.export.json_schema`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from typing_extensions import TypedDict

from orchestrator.decision.record import DecisionRecord
from orchestrator.hall.results import DebateResult

FILE = Path("docs/schemas/debate.v1.schema.json")
_NAME = "urn:run-debate:schema:debate:v1"


class LedgerLine(TypedDict):
    """An entry: `entry` holds the stored bytes that are hashed; its text stands beside it with the salt of its digest.

    Where entry number `erased_by`, a tombstone, has deleted them, text and salt are null.
    """

    entry: str
    hash: str
    text: str | None
    salt: str | None
    erased_by: int | None


class ExportedDebate(DebateResult):
    """A debate with the record of its decision and its whole ledger, from which all else in it follows.

    `read_first` are sentences to show before everything else, such as why it is DEGRADED. `plan` is the text of the
    plan that a run followed; null where the debate was held by hand.
    """

    schema: Literal["debate-hall/debate/v1"]
    read_first: list[str]
    record: DecisionRecord
    plan: str | None
    ledger: list[LedgerLine]


def debate_schema() -> dict[str, Any]:
    """Returns the schema of `debate.json`, in JSON Schema's draft 2020-12."""
    shape = TypeAdapter(ExportedDebate).json_schema(mode="serialization", by_alias=True)
    return {"$schema": GenerateJsonSchema.schema_dialect, "$id": _NAME, **shape}


def schema_text() -> str:
    """Returns the schema as it is published."""
    return json.dumps(debate_schema(), indent=2) + "\n"


if __name__ == "__main__":
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(schema_text())
