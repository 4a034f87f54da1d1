"""What a client can read without a tool: debates, recipes, agents."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError

from orchestrator.hall.hall import Hall
from orchestrator.mcp_server.refusals import coded_resource
from orchestrator.shelves import Kind, folders, standing

JSON, MARKDOWN, OCTAVE, YAML = "application/json", "text/markdown", "text/plain", "application/yaml"


@dataclass(frozen=True)
class HallResources:
    hall: Hall

    def threads(self) -> str:
        """Every debate of this hall, the one that moved last first."""
        return _json(self.hall.list_debates())

    def debate(self, thread_id: str) -> str:
        """One debate with its turns and their metadata."""
        return _json(self.hall.get_debate(thread_id, include_metadata=True))

    def transcript(self, thread_id: str) -> str:
        """One debate as Markdown for people."""
        from orchestrator.mcp_server.transcript import transcript_markdown  # here: it loads pydantic's record shapes

        return transcript_markdown(self.hall.get_debate(thread_id), self.hall.debate(thread_id))

    def octave(self, thread_id: str) -> str:
        """One debate, verified, as OCTAVE text: its decision with the record of it, and its turns."""
        from orchestrator.decision.record import record_of  # here, as in `transcript`
        from orchestrator.export.data import render_octave

        debate = self.hall.debate(thread_id)
        return render_octave(record_of(debate), debate, whole=False)

    def record(self, thread_id: str) -> str:
        """The decision record of one debate: what was decided, on what, at what cost."""
        from orchestrator.decision.record import (
            record_of,  # here, because plans are slow to load and few calls need one
        )

        record = record_of(self.hall.debate(thread_id))
        return _json(record.model_dump(mode="json", by_alias=True))

    def recipe(self, name: str) -> str:
        """A recipe's file."""
        from orchestrator.recipe import SUFFIXES

        return _shelved("recipes", SUFFIXES, name)

    def agent(self, name: str) -> str:
        """An agent's file: its front matter and its instruction."""
        from orchestrator.agent import SUFFIX

        return _shelved("agents", (SUFFIX,), name)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _shelved(kind: Kind, suffixes: Sequence[str], name: str) -> str:
    """The text of what stands on a shelf under a name. A name is looked up, never made into a path."""
    from orchestrator.strict_yaml import read

    known: dict[str, Path] = standing(folders(kind), suffixes)
    if name.lower() not in known:
        raise ResourceNotFoundError(f"not_found: There is no {kind[:-1]} {name!r:.80}. There are {', '.join(known)}.")
    return read(known[name.lower()])


def add_resources(server: MCPServer, hall: Hall) -> None:
    """Gives the server its resources."""
    resources = HallResources(hall)
    for uri, read, title, kind in (
        ("debate://threads", resources.threads, "Debates", JSON),
        ("debate://{thread_id}", resources.debate, "Debate", JSON),
        ("debate://{thread_id}/transcript", resources.transcript, "Transcript", MARKDOWN),
        ("debate://{thread_id}/octave", resources.octave, "Debate as OCTAVE", OCTAVE),
        ("debate://{thread_id}/record", resources.record, "Decision record", JSON),
        ("recipe://{name}", resources.recipe, "Recipe", YAML),
        ("agent://{name}", resources.agent, "Agent", OCTAVE),
    ):
        server.resource(uri, title=title, mime_type=kind)(coded_resource(read))
