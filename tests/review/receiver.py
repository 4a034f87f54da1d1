"""A receiver of results on loopback: it keeps what it is sent, and answers as it is told."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SECRET = "shared by both sides"
DROPS = 0  # an answer that never comes: the connection is closed
HANGS = 1  # one that is waited for in vain


@dataclass
class Receiver:
    """Answers with one status after the other, with the last one from then on."""

    url: str = ""
    answers: list[int] = field(default_factory=lambda: [204])
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    let_go: threading.Event = field(default_factory=threading.Event)

    @property
    def results(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, body in self.got]

    @property
    def keys(self) -> set[str]:
        return {headers["idempotency-key"] for headers, _ in self.got}

    def all_are_signed(self, secret: str = SECRET) -> bool:
        """As a receiver checks it that knows only the documentation."""
        return all(
            hmac.compare_digest(
                headers["x-debate-hall-signature"],
                "sha256="
                + hmac.digest(
                    secret.encode(), headers["x-debate-hall-timestamp"].encode() + b"." + body, hashlib.sha256
                ).hex(),
            )
            for headers, body in self.got
        )


@contextmanager
def receiving(*answers: int) -> Iterator[Receiver]:
    receiver = Receiver(answers=list(answers) or [204])

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
            answer = receiver.answers.pop(0) if len(receiver.answers) > 1 else receiver.answers[0]
            if answer == HANGS:
                receiver.let_go.wait(60)
            if answer in (DROPS, HANGS):
                self.close_connection = True
                return
            self.send_response(answer)
            self.send_header("Location", f"{receiver.url}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver.url = f"http://127.0.0.1:{server.server_port}/hooks/a-token-in-the-path"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield receiver
        finally:
            receiver.let_go.set()
            server.shutdown()
            thread.join()
