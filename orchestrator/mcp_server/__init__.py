"""The hall as an MCP server: what any MCP client, agent or person, can call, read and be told.

    server.py       build(hall, roots, out): the server with everything on it
    parameters.py   the parameters of the tools, as an agent reads them
    tools.py        init_debate, add_turn, … : one method a tool
    runs.py         run_debate, resume_debate, debate_status, cancel_run: whole debates
    launching.py    how those begin and go on; client_model.py: the calling client's own model speaks in them
    resources.py    debate://…, recipe://…, agent://…; transcript.py: a debate as Markdown
    prompts.py      debate_agent, run_round, escalate; instructions.py: what they say
    shapes.py       arguments taken as they were sent, results as TypedDicts with their schema
    refusals.py     every refusal as `code: sentence cure`, without keys and host paths
    stdio.py        standard output carries protocol and nothing else
    http.py         streamable HTTP: Host, Origin, bearer token, bodies of bounded size
    logs.py         one log on standard error, as harmless as the refusals

Nothing outside this package imports mcp, and nothing in here is loaded before a server is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orchestrator.mcp_server.server import build as build

__all__ = ["build"]


def __getattr__(name: str) -> Any:
    if name != "build":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from orchestrator.mcp_server.server import build

    return build
