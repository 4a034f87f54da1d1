"""run-debate and debate-hall for a shell, each call a fork of a process that has loaded all of it already.

A page of the documentation calls them dozens of times; what takes them seconds is to import their libraries. The fork
has the shell's own streams, folder and environment, and is told to stop when its caller is, so that pipes,
redirections, `kill` and exit codes are what they are.

    python ready_commands.py SOCKET      serves until its standard input is closed
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import socket
import sys
from pathlib import Path
from typing import Any

MAINS = {"run-debate": "orchestrator.cli.run_debate", "debate-hall": "orchestrator.cli.debate_hall"}
_LOADED = (
    *MAINS.values(),
    "orchestrator.cli.running",
    "orchestrator.cli.resuming",
    "orchestrator.mcp_server",
    "litellm",
)
_SHIM = """\
#!{python} -IS
import json, os, signal, socket, sys
asked = {{"argv": sys.argv, "folder": os.getcwd(), "environment": dict(os.environ)}}
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
socket.send_fds(server, [json.dumps(asked).encode()], [0, 1, 2])
pid = int.from_bytes(server.recv(4), "big")
signal.signal(signal.SIGTERM, lambda number, frame: os.kill(pid, number))
code = server.recv(1)
sys.exit(code[0] if code else "the command died")
"""


def write_shims(folder: Path, address: Path) -> None:
    """Writes the commands into a folder for the PATH."""
    for name in MAINS:
        shim = folder / name
        shim.write_text(_SHIM.format(python=sys.executable, address=str(address)))
        shim.chmod(0o755)


def serve(address: str) -> None:
    for module in _LOADED:
        importlib.import_module(module)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(address)
    listening.listen()
    print("ready", flush=True)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a fork
    while sys.stdin not in select.select([listening, sys.stdin], [], [])[0]:
        caller, _ = listening.accept()
        message, streams, _, _ = socket.recv_fds(caller, 1 << 20, 3)
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listening.close()
            _be(json.loads(message), streams, caller)
        for descriptor in (*streams, caller.detach()):
            os.close(descriptor)
    os._exit(0)  # what was loaded would take seconds to be cleared away


def _be(asked: dict[str, Any], streams: list[int], caller: socket.socket) -> None:
    """Becomes the command that was asked for, and ends with it."""
    caller.sendall(os.getpid().to_bytes(4, "big"))
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.argv = asked["argv"]
    code: Any = 1
    try:
        code = importlib.import_module(MAINS[Path(sys.argv[0]).name]).main()
    except SystemExit as ended:
        code = ended.code
    finally:
        sys.stdout.flush()
        caller.sendall(bytes([code if isinstance(code, int) else 0 if code is None else 1]))
        os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1])
