"""MCP over standard input and output, which carries protocol and nothing else.

mcp itself leads descriptor 1 to standard error while it serves; what is left to do is what comes before and after.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

from mcp.server import MCPServer

from orchestrator.errors import UsageError


def serve_stdio(server: MCPServer) -> None:
    """Serves one client until it closes standard input.

    Raises:
        UsageError: standard input or output is closed.
    """
    if sys.stdin is None or sys.stdout is None:
        raise UsageError(
            "Standard input or output is closed; MCP over stdio needs both.", "Leave them open, or serve HTTP: --port."
        )
    # A thread waits for standard input and cannot be told to stop, so Ctrl-C must end the process by itself. No turn
    # is lost: what was acknowledged is on disk.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        server.run("stdio")
    finally:
        with suppress(OSError):
            os.dup2(2, 1)  # what a library printed may still be in a buffer, and is written when the process ends
