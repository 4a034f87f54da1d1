"""An agent opens a debate; the key stands in its user's own file, and neither agent nor hall ever sees it."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from endpoint import ModelServer

KEY = "not-like-any-key-0815"
SERVE = [sys.executable, str(Path(sysconfig.get_path("scripts")) / "debate-hall"), "serve"]


@pytest.mark.anyio
async def test_a_server_finds_the_users_key_for_its_runs_and_lets_nobody_write_it_down(
    surroundings: dict[str, str], model_server: ModelServer, tmp_path: Path
) -> None:
    own = tmp_path / "home" / ".config" / "debate-hall" / "configs" / ".env"
    own.parent.mkdir(parents=True)
    own.write_text(f"OPENAI_API_KEY={KEY}\nOPENAI_API_BASE={model_server.base_url}\n")
    own.chmod(0o600)
    server = StdioServerParameters(command=SERVE[0], args=SERVE[1:], env=surroundings, cwd=tmp_path / "work")
    with anyio.fail_after(180):
        async with Client(server) as client:
            await client.call_tool("init_debate", {"thread_id": "2026-01-06-by-hand", "topic": "Which queue?"})
            turn: dict[str, Any] = {"thread_id": "2026-01-06-by-hand", "role": "Wind", "content": f"Use {KEY}."}
            refused = await client.call_tool("add_turn", turn)
            held = await client.call_tool("run_debate", {"topic": "Kafka?", "recipe": "speed", "wait": True})
    assert refused.is_error
    assert "the value of OPENAI_API_KEY" in str(refused.content)
    assert not held.is_error, held.content
    assert held.structured_content is not None
    assert held.structured_content["status"] == "synthesis"
    sent = [{name.lower(): value for name, value in call.headers.items()} for call in model_server.calls]
    assert {headers["authorization"] for headers in sent} == {f"Bearer {KEY}"}
    assert holding_the_key(tmp_path) == [own]


def holding_the_key(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
