"""No test can reach the network by accident."""

from __future__ import annotations

import socket

import httpx
import pytest


def test_nothing_beyond_this_machine_can_be_connected_to() -> None:
    with pytest.raises(RuntimeError, match=r"may not connect to 192\.0\.2\.1"):
        socket.create_connection(("192.0.2.1", 443), timeout=1)
    with socket.socket() as connecting, pytest.raises(RuntimeError, match="may not connect"):
        connecting.connect_ex(("192.0.2.1", 443))


def test_no_name_is_looked_up() -> None:
    with pytest.raises(RuntimeError, match="may not look up"):
        httpx.get("https://example.com")


def test_loopback_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert client.getpeername() == server.getsockname()
