"""A PostgreSQL server of a test's own, which can be stopped, killed and started again; its password is asked for."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PASSWORD = "S3cret/with:signs"
_BESIDE = [str(folder) for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]


def program(name: str) -> str | None:
    """Where a program of PostgreSQL's stands: on the PATH, or where Debian puts those that are not."""
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *_BESIDE]))


class Cluster:
    """
    Args:
        folder: where its files go.
    """

    def __init__(self, folder: Path) -> None:
        self.data, self._socket = folder / "data", folder
        self.port = _free_port()
        self._user = _whoever_may_run_it()
        folder.chmod(0o777)
        secret = folder / "password"
        secret.write_text(PASSWORD)
        self._run("initdb", "--auth=scram-sha-256", "--username=root", f"--pwfile={secret}", "--no-sync", "-E", "UTF8")
        self.start()

    def address(self, password: str = PASSWORD) -> str:
        written = password.replace("/", "%2F").replace(":", "%3A")
        return f"postgresql://root:{written}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self._socket}"
        self._run("pg_ctl", "--wait", "--silent", f"--log={self._socket}/log", f"--options={options}", "start")

    def stop(self) -> None:
        """Stops it as an operator does who does not wait for those who use it."""
        self._run("pg_ctl", "--wait", "--silent", "--mode=fast", "stop")

    def kill(self) -> None:
        """Ends it as a power cut would, as far as it can tell."""
        self._run("pg_ctl", "--wait", "--silent", "--mode=immediate", "stop")

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to the server and to all that serve."""
        for pid in _with_children(int((self.data / "postmaster.pid").read_text().split()[0])):
            os.kill(pid, number)

    def _run(self, name: str, *arguments: str) -> None:
        path = program(name)
        assert path is not None, f"{name} is not installed"
        environment = {"PATH": os.environ["PATH"], "PGDATA": str(self.data), "LC_ALL": "C.UTF-8"}
        with (self._socket / "said").open("w") as said:
            done = subprocess.run([path, *arguments], env=environment, user=self._user, stdout=said, stderr=said)
        assert done.returncode == 0, (self._socket / "said").read_text()


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A server that runs, and is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="pg", dir="/tmp") as folder:  # the path of a socket is short
        running = Cluster(Path(folder))
        try:
            yield running
        finally:
            if (running.data / "postmaster.pid").exists():  # the test may have stopped it
                running.kill()


def _whoever_may_run_it() -> str | None:
    """The server refuses to be run by root."""
    if os.geteuid() != 0:
        return None
    names = {user.pw_name for user in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def _with_children(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *map(int, children)]
