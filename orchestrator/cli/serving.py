"""What `debate-hall serve` does: find out how, open the hall, serve until nobody asks any more."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.cli.ending import Exit
from orchestrator.cli.plain import tell
from orchestrator.errors import UsageError
from orchestrator.hall.hall import Hall
from orchestrator.keychain import bring

if TYPE_CHECKING:
    from mcp.server import MCPServer

HOST, PORT = "127.0.0.1", 8000


def serve(host: str | None, port: int | None, token_file: Path | None, roots: Sequence[Path], out: Path | None) -> None:
    """Serves over HTTP when a host or a port is named, else over standard input and output.

    Raises:
        UsageError: it cannot be served so.
        StoreError: the hall cannot be opened.
    """
    from orchestrator.mcp_server.logs import log_to_standard_error

    log_to_standard_error()
    for notice in bring(os.environ, ()).notices:  # keys of the user's own file must not pass through the hall either
        tell(f"note: {notice}")
    if host is not None or port is not None:
        _over_http(host or HOST, PORT if port is None else port, token_file, _folders(roots), out)
    elif token_file is not None:
        raise UsageError("A token is for HTTP, and this would serve standard input.", "Add --port, or leave it out.")
    else:
        _over_stdio(_folders(roots) or (Path.cwd(),), out)


def _folders(roots: Sequence[Path]) -> tuple[Path, ...]:
    for root in roots:
        if not root.is_dir():
            raise UsageError(f"--root {root} is no folder.", "Name one that is there.")
    return tuple(root.resolve() for root in roots)


def _over_stdio(roots: Sequence[Path], out: Path | None) -> None:
    from orchestrator.mcp_server.stdio import serve_stdio

    with Hall.open() as hall:
        with redirect_stdout(sys.stderr):
            server = _server(hall, roots, out)
        serve_stdio(server)


def _over_http(host: str, port: int, token_file: Path | None, roots: Sequence[Path], out: Path | None) -> None:
    from orchestrator.mcp_server import http

    token = http.load_token(token_file, os.environ)
    http.require_token(host, token)
    with Hall.open() as hall, http.listen(host, port) as listening:
        shown = f"[{host}]" if ":" in host else host
        tell(f"debate-hall listens on http://{shown}:{listening.getsockname()[1]}{http.PATH}")
        if not http.is_loopback(host):
            tell("note: HTTP is not encrypted; beyond a network you trust, put a TLS proxy in front of it.")
        try:
            http.serve_http(_server(hall, roots, out), host, listening, token)
        except KeyboardInterrupt:
            sys.exit(Exit.INTERRUPTED)


def _server(hall: Hall, roots: Sequence[Path], out: Path | None) -> MCPServer:
    from orchestrator.mcp_server import build

    return build(hall, roots=roots, out=out)
