"""Every test runs without the network: only loopback answers. Coroutines run on asyncio, the loop litellm needs."""

from __future__ import annotations

import ipaddress
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from endpoint import ModelServer


# How long an example takes says nothing on a shared machine; how many are tried, `HYPOTHESIS_EXAMPLES` may say.
settings.register_profile("run-debate", deadline=None, max_examples=int(os.environ.get("HYPOTHESIS_EXAMPLES", "25")))
settings.load_profile("run-debate")


class NetworkBlockedError(RuntimeError):
    """A test reached for something beyond this machine."""


def _refuse_beyond_loopback(connecting: socket.socket, address: Any) -> None:
    if not isinstance(address, tuple) or address[0] in ("localhost", ""):  # a UNIX socket's address is a path
        return
    if not ipaddress.ip_address(address[0]).is_loopback:
        connecting.close()
        raise NetworkBlockedError(f"tests may not connect to {address[0]}")


def _resolve(host: Any, *args: Any, **kwargs: Any) -> Any:
    name = host.decode() if isinstance(host, bytes) else host
    if name not in (None, "", "localhost"):
        try:
            ipaddress.ip_address(name)
        except ValueError:  # a name, and asking for its address is already network
            raise NetworkBlockedError(f"tests may not look up {name}") from None
    return _getaddrinfo(host, *args, **kwargs)


def _connect(self: socket.socket, address: Any) -> None:
    _refuse_beyond_loopback(self, address)
    _socket_connect(self, address)


def _connect_ex(self: socket.socket, address: Any) -> int:
    _refuse_beyond_loopback(self, address)
    return _socket_connect_ex(self, address)


_getaddrinfo, _socket_connect, _socket_connect_ex = socket.getaddrinfo, socket.socket.connect, socket.socket.connect_ex


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What asks a provider runs in one process, so that litellm, which takes seconds to import, is imported once.

    What asks octave-mcp, which not every machine has, is among the slow tests.
    """
    for item in items:
        if "oracle" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)
        asks_models = {"model_server", "ready_commands"}.intersection(getattr(item, "fixturenames", ()))
        if asks_models or item.path.name == "test_litellm.py":
            item.add_marker(pytest.mark.xdist_group("litellm"))


@pytest.fixture(scope="session", autouse=True)
def _only_loopback() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", _connect)
        patch.setattr(socket.socket, "connect_ex", _connect_ex)
        patch.setattr(socket, "getaddrinfo", _resolve)
        yield


@pytest.fixture(scope="session", autouse=True)
def _nothing_of_this_machine() -> Iterator[None]:
    """Whatever serves models, stands on the PATH or lies in the keyring of this machine has no part in a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEBATE_HALL_STAND_INS", "none")
        patch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
        yield


@pytest.fixture(scope="session", autouse=True)
def _interruptible() -> None:
    """What a shell starts in its background ignores Ctrl-C, what nohup starts a closed terminal; so would children."""
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    """A provider on loopback; see `endpoint`."""
    from endpoint import ModelServer  # here, because aiohttp is slow to import and most tests do without

    with ModelServer() as server:
        yield server


@pytest.fixture(scope="session")
def ready_commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for the PATH in which run-debate and debate-hall start at once; see `ready_commands.py`."""
    from ready_commands import write_shims

    folder = tmp_path_factory.mktemp("bin")
    address = tmp_path_factory.mktemp("ready") / "socket"
    script = Path(__file__).with_name("ready_commands.py")
    command, pipe = [sys.executable, str(script), str(address)], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        write_shims(folder, address)
        yield folder
        server.stdin.close()
