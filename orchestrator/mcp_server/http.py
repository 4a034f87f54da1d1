"""MCP over streamable HTTP, for clients that may be anybody: each request is judged by its headers before its body.

Host and Origin are checked so that no web page can reach a hall through its reader's browser (DNS rebinding); beyond
loopback every request carries a bearer token (RFC 6750).
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import socket
import stat
from collections.abc import Mapping
from pathlib import Path

import uvicorn
from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from orchestrator.errors import UsageError
from orchestrator.secrets import SERVER_TOKEN as TOKEN

PATH = "/mcp"
MAX_BODY = 4 * 1024 * 1024  # bytes; a turn is at most a sixteenth of it
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")

_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]{16,}=*")  # RFC 6750's b64token, long enough not to be guessed
_MAKE_ONE = "Make one: python -c 'import secrets; print(secrets.token_urlsafe(32))'"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address; a name other than localhost may lead anywhere."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def load_token(file: Path | None, environment: Mapping[str, str]) -> str | None:
    """The bearer token: the file's, else DEBATE_HALL_TOKEN, else None.

    Raises:
        UsageError: the file cannot be read or others may read it, or what it holds cannot be a token.
    """
    source, text = (TOKEN, environment.get(TOKEN, "")) if file is None else (str(file), _private_text(file))
    token = text.strip()
    if not token and file is None:
        return None
    if not _TOKEN.fullmatch(token):
        raise UsageError(
            f"{source} holds no token: at least 16 characters of A-Z a-z 0-9 . _ ~ + / - on one line.", _MAKE_ONE
        )
    return token


def _private_text(file: Path) -> str:
    try:
        if file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise UsageError(f"Others may read or write {file}, and so know the token.", f"chmod 600 {file}")
        return file.read_text("ascii")
    except (OSError, ValueError) as error:
        raise UsageError(f"The token file {file} cannot be read: {error}.", _MAKE_ONE) from error


def require_token(host: str, token: str | None) -> None:
    """Beyond loopback nobody is served who shows no token.

    Raises:
        UsageError: there is none.
    """
    if token is None and not is_loopback(host):
        raise UsageError(
            f"Others can reach {host}, so a bearer token is required.",
            f"Give --token-file FILE or set {TOKEN}; to serve this machine only, leave out --host.",
        )


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 lets the system choose one.

    Raises:
        UsageError: the address cannot be had.
    """
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(address[:2], family=family)
    except (OSError, UnicodeError) as error:
        raise UsageError(
            f"{host} port {port} cannot be served: {error}.", "Choose another --host or --port."
        ) from error


def serve_http(server: MCPServer, host: str, listening: socket.socket, token: str | None) -> None:
    """Serves until it is interrupted.

    Args:
        host: what `--host` says; clients may call it by that name.
        listening: from `listen`.
        token: what every request must carry; None asks for none.
    """
    app = http_app(server, host, listening.getsockname()[1], token)
    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, ws="none", timeout_graceful_shutdown=5
    )
    uvicorn.Server(config).run(sockets=[listening])


def http_app(server: MCPServer, host: str, port: int, token: str | None) -> ASGIApp:
    """The server as an ASGI application that answers at `PATH`."""
    settings = _settings(host, port)
    app = server.streamable_http_app(
        streamable_http_path=PATH, host=host, transport_security=settings, max_request_body_size=MAX_BODY
    )
    return Gate(app, settings, token)


def _settings(host: str, port: int) -> TransportSecuritySettings:
    own = f"[{host}]" if ":" in host else host
    names = list(dict.fromkeys((*LOOPBACK, own, own.lower())))
    hosts = [f"{name}:{port}" for name in names] + (names if port == 80 else [])
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=hosts,
        allowed_origins=[f"http://{name}" for name in hosts],
    )


class Gate:
    """Lets a request through whose Host, Origin and token are right; the body of any other is not read."""

    def __init__(self, app: ASGIApp, settings: TransportSecuritySettings, token: str | None) -> None:
        self._app = app
        self._security = TransportSecurityMiddleware(settings)
        self._token = token.encode() if token is not None else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            request = Request(scope)
            refusal = await self._security.validate_request(request) or self._unauthorized(request)
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _unauthorized(self, request: Request) -> PlainTextResponse | None:
        if self._token is None:
            return None
        scheme, _, shown = request.headers.get("authorization", "").partition(" ")
        given = shown.strip().encode() if scheme.lower() == "bearer" else None
        if given is not None and hmac.compare_digest(given, self._token):
            return None
        problem = "" if given is None else ', error="invalid_token"'
        return PlainTextResponse(
            "unauthorized: Send the server's token as Authorization: Bearer TOKEN.\n",
            status_code=401,
            headers={"WWW-Authenticate": f'Bearer realm="debate-hall"{problem}'},
        )
