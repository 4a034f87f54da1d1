"""What octave-mcp says of a document: a reader and a schema that are not ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

ORACLE = """
import asyncio, json, sys, types
types_module = types.ModuleType("mcp.types")
types_module.Tool = object  # all that the validator needs of the mcp package
sys.modules["mcp"] = types.ModuleType("mcp")
sys.modules["mcp.types"] = types_module
sys.path.insert(0, sys.argv[1])
from octave_mcp import emit, parse
from octave_mcp.core.sealer import verify_seal
from octave_mcp.mcp.validate import ValidateTool

def plain(value):
    if type(value).__name__ == "LiteralZoneValue":
        return value.content
    return value.items if type(value).__name__ == "ListValue" else value

def tree(nodes):
    return {n.key: tree(n.children) if hasattr(n, "children") else plain(n.value) for n in nodes if n.key != "SEAL"}

print("ready", flush=True)
for line in sys.stdin:
    text = json.loads(line)
    document = parse(text)
    verdict = asyncio.run(ValidateTool().execute(content=text, schema="DEBATE_TRANSCRIPT"))
    answer = {
        "meta": {key: plain(value) for key, value in document.meta.items()},
        "tree": tree(document.sections),
        "again": emit(document),
        "status": verdict["validation_status"],
        "seal": verify_seal(document).status.value,
        "complaints": verdict["errors"] + verdict["validation_errors"],
    }
    print(json.dumps(answer), flush=True)
"""


@pytest.fixture(scope="session")
def oracle() -> Iterator[Any]:
    """Octave-mcp, in a process of its own that sees no installed package, so that its pins cannot disturb ours."""
    folder = os.environ.get("OCTAVE_MCP_PATH")
    if not folder:
        pytest.skip(
            "OCTAVE_MCP_PATH does not name a folder with octave-mcp: pip install --no-deps --target FOLDER octave-mcp"
        )
    command = [sys.executable, "-I", "-S", "-c", ORACLE, folder]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", f"octave-mcp cannot be imported from {folder}"

        def ask(text: str) -> Any:
            process.stdin.write(json.dumps(text) + "\n")  # type: ignore[union-attr]
            process.stdin.flush()  # type: ignore[union-attr]
            return json.loads(process.stdout.readline())  # type: ignore[union-attr]

        yield ask
        process.stdin.close()
