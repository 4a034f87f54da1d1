"""How soon a server answers `initialize` after it is spawned, against importing the SDK alone."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter

from bench.row import Row

PAIRS = 15
INITIALIZE = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
    b'"clientInfo":{"name":"bench","version":"1"}}}\n'
)


def measure() -> Iterator[Row]:
    sdk, server = [], []
    with tempfile.TemporaryDirectory() as state:
        for _ in range(PAIRS):
            sdk.append(_imported())
            server.append(_initialized(state))
    detail = f"{median(sdk) * 1e3:.0f} ms and {median(server) * 1e3:.0f} ms, {PAIRS} pairs"
    yield Row(
        "debate-hall serve to initialize over 'from mcp.server import MCPServer'",
        median(server) / median(sdk),
        1.2,
        detail,
    )


def _imported() -> float:
    began = perf_counter()
    subprocess.run([sys.executable, "-c", "from mcp.server import MCPServer"], check=True)
    return perf_counter() - began


def _initialized(state: str) -> float:
    script = Path(sysconfig.get_path("scripts")) / "debate-hall"
    began = perf_counter()
    with subprocess.Popen(
        [sys.executable, str(script), "serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "DEBATE_HALL_STATE_DIR": state},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(INITIALIZE)
        process.stdin.flush()
        reply = process.stdout.readline()
        took = perf_counter() - began
        process.stdin.close()
    assert b'"serverInfo"' in reply, reply
    return took
