"""Streamable HTTP on real sockets: who is let in, what is refused, and that a refusal stops nobody else."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import uvicorn
from mcp import Client
from mcp.server import MCPServer

from orchestrator.errors import UsageError
from orchestrator.mcp_server import http

pytestmark = pytest.mark.slow  # real processes and sockets; what they say is tested in memory too

TOKEN = "a-token-of-good-length-1234"
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
INITIALIZE = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
)


@dataclass(frozen=True)
class Door:
    """A server that listens, and a way to knock."""

    port: int
    token: str | None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{http.PATH}"

    def post(self, body: Any = INITIALIZE, *, right_token: bool = True, **headers: str) -> tuple[int, str, str]:
        """Returns the status, the body, and what WWW-Authenticate says."""
        shown = {"Authorization": f"Bearer {self.token}"} if self.token and right_token else {}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=20)) as connection:
            connection.request("POST", http.PATH, body, {**ACCEPT, **shown, **named})
            answer = connection.getresponse()
            return answer.status, answer.read().decode(), answer.headers.get("WWW-Authenticate", "")

    def is_open(self) -> bool:
        status, body, _ = self.post()
        return status == 200 and '"serverInfo"' in body


@contextmanager
def serving(server: MCPServer, token: str | None) -> Iterator[Door]:
    with http.listen("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        config = uvicorn.Config(http.http_app(server, "127.0.0.1", port, token), log_config=None, ws="none")
        running = uvicorn.Server(config)
        thread = Thread(target=running.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield Door(port, token)
        finally:
            running.should_exit = True
            thread.join(20)
            assert not thread.is_alive()


@pytest.fixture
def door(server: MCPServer) -> Iterator[Door]:
    with serving(server, None) as opened:
        yield opened


@pytest.fixture
def locked(server: MCPServer) -> Iterator[Door]:
    with serving(server, TOKEN) as opened:
        yield opened


@pytest.mark.anyio
async def test_a_client_holds_a_debate_over_http(door: Door) -> None:
    async with Client(door.url) as client:
        opened = await client.call_tool("init_debate", {"thread_id": "2026-01-06-kafka", "topic": "Kafka?"})
        assert not opened.is_error
        again = await client.call_tool("init_debate", {"thread_id": "2026-01-06-kafka", "topic": "Kafka?"})
        assert again.content[0].type == "text"
        assert again.content[0].text.startswith("thread_exists: ")
        assert "add_turn" in {tool.name for tool in (await client.list_tools()).tools}


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "[::1]:{port}"])
def test_loopback_names_with_the_port_are_known(door: Door, host: str) -> None:
    name = host.format(port=door.port)
    assert door.post(Host=name, Origin=f"http://{name}")[0] == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example:{port}", "127.0.0.1", "localhost:1", "localhost.evil.example:{port}", "127.0.0.1:{port}@evil"],
)
def test_another_host_is_refused(door: Door, host: str) -> None:
    assert door.post(Host=host.format(port=door.port))[0] == 421
    assert door.is_open()


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:1", "https://evil.example:{port}", "file://"]
)
def test_another_origin_is_refused(door: Door, origin: str) -> None:
    assert door.post(Origin=origin.format(port=door.port))[0] == 403
    assert door.is_open()


def test_without_a_token_nobody_is_let_in(locked: Door) -> None:
    status, body, challenge = locked.post(right_token=False)
    assert (status, challenge) == (401, 'Bearer realm="debate-hall"')
    assert body.startswith("unauthorized: ")
    assert locked.is_open()


@pytest.mark.parametrize(
    "shown",
    [f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer", "Bearer ", "Bearer t\u00f6ken", f"Basic {TOKEN}", TOKEN],
)
def test_a_wrong_token_is_refused(locked: Door, shown: str) -> None:
    status, _, challenge = locked.post(right_token=False, Authorization=shown)
    assert status == 401
    assert challenge.startswith('Bearer realm="debate-hall"')


def test_the_scheme_is_read_in_any_case(locked: Door) -> None:
    assert locked.post(right_token=False, Authorization=f"bearer {TOKEN}")[0] == 200


def test_a_token_does_not_stand_for_the_right_host(locked: Door) -> None:
    assert locked.post(Host="evil.example")[0] == 421


def test_a_body_that_is_too_large_is_refused(door: Door) -> None:
    assert door.post(b" " * (http.MAX_BODY + 1))[0] == 413
    assert door.is_open()


def test_a_body_of_unknown_length_is_refused_once_it_is_too_large(door: Door) -> None:
    chunks = iter([b" " * 65_536] * (http.MAX_BODY // 65_536 + 1))
    assert door.post(chunks)[0] == 413
    assert door.is_open()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ("Host: localhost:{port}", 401),
        ("Host: evil.example", 421),
        ("Host: localhost:{port}\r\nOrigin: http://evil.example", 403),
    ],
)
def test_the_body_of_a_stranger_is_not_read(locked: Door, headers: str, status: int) -> None:
    """The answer is there before the body is."""
    head = f"POST {http.PATH} HTTP/1.1\r\n{headers.format(port=locked.port)}\r\nContent-Length: 100\r\n\r\n"
    with socket.create_connection(("127.0.0.1", locked.port), timeout=20) as stranger:
        stranger.sendall(head.encode())
        assert stranger.recv(4096).startswith(f"HTTP/1.1 {status} ".encode())


def test_half_a_request_keeps_nobody_waiting(door: Door) -> None:
    head = f"POST {http.PATH} HTTP/1.1\r\nHost: 127.0.0.1:{door.port}\r\n"
    with (
        socket.create_connection(("127.0.0.1", door.port), timeout=20) as no_end,
        socket.create_connection(("127.0.0.1", door.port), timeout=20) as no_body,
    ):
        no_end.sendall(head.encode())
        no_body.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{".encode())
        assert door.is_open()
    assert door.is_open()


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff\xfe", b'{"jsonrpc":"2.0"}', b"null"])
def test_what_is_no_request_is_refused(door: Door, body: bytes) -> None:
    assert 400 <= door.post(body)[0] < 500
    assert door.is_open()


def test_nothing_else_is_served(door: Door) -> None:
    with closing(HTTPConnection("127.0.0.1", door.port, timeout=20)) as connection:
        connection.request("GET", "/", headers={"Accept": "*/*"})
        assert connection.getresponse().status == 404


# ------------------------------------------------------------------------------------------------- before it listens


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("LOCALHOST", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.0.2.7", False),
        ("localhost.example", False),
        ("2130706433", False),
        ("", False),
    ],
)
def test_beyond_loopback_a_token_is_required(host: str, loopback: bool) -> None:
    http.require_token(host, TOKEN)
    if loopback:
        http.require_token(host, None)
    else:
        with pytest.raises(UsageError, match="a bearer token is required"):
            http.require_token(host, None)


def test_the_name_that_is_served_is_a_known_host_beside_loopback() -> None:
    settings = http._settings("Hall.internal", 80)
    assert "Hall.internal:80" in settings.allowed_hosts
    assert "hall.internal" in settings.allowed_hosts
    assert "http://hall.internal" in settings.allowed_origins
    assert "[2001:db8::1]:8000" in http._settings("2001:db8::1", 8000).allowed_hosts


def test_a_token_comes_from_a_private_file_or_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o600)
    assert http.load_token(file, {http.TOKEN: "another-token-of-good-length"}) == TOKEN
    assert http.load_token(None, {http.TOKEN: TOKEN}) == TOKEN
    assert http.load_token(None, {}) is None
    assert http.load_token(None, {http.TOKEN: " "}) is None


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_token_that_others_may_know_is_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(mode)
    with pytest.raises(UsageError, match="Others may read"):
        http.load_token(file, {})


@pytest.mark.parametrize("text", ["", "short", "has a space in the middle", "zwei\nzeilen-sind-kein-token", "ö" * 20])
def test_what_cannot_be_a_token_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "token"
    file.write_text(text)
    file.chmod(0o600)
    with pytest.raises(UsageError, match="token"):
        http.load_token(file, {})


def test_a_missing_token_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        http.load_token(tmp_path / "none", os.environ)


def test_a_port_that_is_taken_is_refused() -> None:
    with http.listen("127.0.0.1", 0) as taken, pytest.raises(UsageError, match="cannot be served"):
        http.listen("127.0.0.1", taken.getsockname()[1])
