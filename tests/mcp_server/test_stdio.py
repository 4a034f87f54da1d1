"""`debate-hall serve`, as its own process: nothing but protocol on standard output."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from orchestrator.hall.hall import Hall

SCRIPT = [sys.executable, str(Path(sysconfig.get_path("scripts")) / "debate-hall"), "serve"]
HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
pytestmark = pytest.mark.slow  # real processes and sockets; what they say is tested in memory too

NOISY = """
import os, subprocess, sys
from orchestrator.hall.hall import Hall

def noisy(hall, *arguments):
    print("printed, and left in the buffer", end="")
    os.write(1, b"written to the descriptor\\n")
    subprocess.run(["echo", "said by a child"], check=True)
    return []

Hall.list_debates = noisy
from orchestrator.cli.debate_hall import main

print("said before it serves", file=sys.stderr)
sys.argv = ["debate-hall", "serve"]
main()
"""


def request(number: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


@contextmanager
def ended_in_time(process: subprocess.Popen[Any]) -> Iterator[None]:
    """A process that hangs is killed, so that whoever reads from it goes on."""
    timer = Timer(60, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def converse(command: list[str], *messages: dict[str, Any] | str) -> tuple[list[dict[str, Any]], str, int]:
    """Sends messages, waits for as many replies as there are requests, closes; returns replies, log, exit code."""
    with (
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process,
        ended_in_time(process),
    ):
        assert process.stdin
        assert process.stdout
        assert process.stderr
        lines = []
        for message in messages:
            process.stdin.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
            process.stdin.flush()
            if "id" in message:
                lines.append(process.stdout.readline())
        process.stdin.close()
        rest, log = process.stdout.read(), process.stderr.read()
        code = process.wait(20)
    return [json.loads(line) for line in [*lines, *rest.splitlines()]], log, code


READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


@pytest.mark.anyio
async def test_a_client_holds_a_debate_over_stdio(state: Path) -> None:
    parameters = StdioServerParameters(command=SCRIPT[0], args=SCRIPT[1:], env=dict(os.environ))
    async with Client(parameters) as client:
        await client.call_tool("init_debate", {"thread_id": "2026-01-06-kafka", "topic": "Kafka?"})
        for role in ("Wind", "Wall", "Door"):
            turn = await client.call_tool(
                "add_turn", {"thread_id": "2026-01-06-kafka", "role": role, "content": f"I am {role}."}
            )
            assert not turn.is_error
    with Hall.open() as hall:
        assert hall.verify_debate("2026-01-06-kafka")["entries"] == 4


def test_whatever_prints_prints_to_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)  # which would leave nothing in a buffer
    replies, log, code = converse(
        [sys.executable, "-c", NOISY], HELLO, READY, request(1, "tools/call", name="list_debates", arguments={})
    )
    assert [reply["id"] for reply in replies] == [0, 1]
    assert replies[1]["result"]["structuredContent"] == {"debates": []}
    for said in ("printed, and left in the buffer", "written to the descriptor", "said by a child"):
        assert said in log
    assert code == 0


def test_what_is_no_message_is_survived() -> None:
    replies, _, code = converse(
        SCRIPT, HELLO, READY, "no json", request(1, "tools/call", name="list_debates", arguments={})
    )
    assert [reply["id"] for reply in replies] == [0, 1]
    assert code == 0


def test_a_fault_of_ours_is_logged_without_the_hosts_folders(state: Path) -> None:
    broken = NOISY.replace("return []", "raise ZeroDivisionError(os.environ['DEBATE_HALL_STATE_DIR'] + '/x')")
    replies, log, _ = converse(
        [sys.executable, "-c", broken], HELLO, READY, request(1, "tools/call", name="list_debates", arguments={})
    )
    assert replies[1]["result"]["content"][0]["text"] == "Error executing tool list_debates"
    assert "ZeroDivisionError: <state folder>/x" in log
    assert 'File "…/mcp_server/tools.py"' in log
    assert not re.search(r'File "/', log)
    assert str(state) not in log


def test_serving_loads_neither_litellm_nor_rich_nor_yaml() -> None:
    probe = (
        "import sys\n"
        "sys.argv = ['debate-hall', 'serve']\n"
        "from orchestrator.cli.debate_hall import main\n"
        "try:\n    main()\n"
        "finally:\n    print(sorted(set(sys.modules) & {'litellm', 'rich', 'yaml', 'jinja2'}), file=sys.stderr)\n"
    )
    _, log, _ = converse([sys.executable, "-c", probe], HELLO)
    assert log.splitlines()[-1] == "[]"


# ------------------------------------------------------------------------------------------------------- the command


def refused(*arguments: str) -> str:
    ended = subprocess.run([*SCRIPT, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert ended.stdout == ""
    return ended.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--host", "0.0.0.0"), "a bearer token is required"),
        (("--token-file", "t"), "A token is for HTTP"),
        (("--port", "0", "--token-file", "missing"), "cannot be read"),
        (("--root", "missing"), "--root missing is no folder"),
        (("--port", "70000"), "70000"),
    ],
)
def test_what_cannot_be_served_is_said_with_exit_2(arguments: tuple[str, ...], problem: str) -> None:
    assert problem in refused(*arguments)


def test_an_unsafe_hall_is_not_served(state: Path) -> None:
    state.mkdir()
    state.chmod(0o777)
    assert "Others may write the state folder" in refused()


@contextmanager
def listening(*arguments: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server over HTTP and the address that it tells."""
    with subprocess.Popen(
        [*SCRIPT, "--port", "0", *arguments], stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
    ) as process:
        assert process.stderr
        try:
            with ended_in_time(process):
                yield process, process.stderr.readline().split()[-1]
        finally:
            process.kill()


@pytest.mark.anyio
async def test_a_port_serves_http_on_this_machine_alone() -> None:
    with listening() as (process, url):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/mcp", url)
        async with Client(url) as client:
            assert client.server_info is not None
            assert client.server_info.name == "debate-hall"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130


def test_a_token_in_the_environment_is_asked_for_on_loopback_too() -> None:
    from http.client import HTTPConnection
    from urllib.parse import urlsplit

    with listening(DEBATE_HALL_TOKEN="a-token-of-good-length-1234") as (_, url):
        connection = HTTPConnection(urlsplit(url).netloc, timeout=20)
        connection.request("POST", "/mcp", "{}", {"Content-Type": "application/json"})
        assert connection.getresponse().status == 401
        connection.close()


def test_ctrl_c_ends_a_server_that_waits_for_its_client() -> None:
    with subprocess.Popen(SCRIPT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process, ended_in_time(process):
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps(HELLO).encode() + b"\n")
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == -signal.SIGINT
