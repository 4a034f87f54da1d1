"""A local model server, as far as finding it goes: it lists models, or answers whatever else stands at its port."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def listing(*models: str, **about: object) -> str:
    """What `/v1/models` says; `about` stands beside each name."""
    return json.dumps({"object": "list", "data": [{"id": model, "object": "model", **about} for model in models]})


@contextmanager
def serving(
    body: str,
    status: int = 200,
    content_type: str = "application/json",
    location: str = "",
    asked: list[str] | None = None,
) -> Iterator[str]:
    """Answers every GET so, at the address that is yielded; `asked` gathers the paths."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if asked is not None:
                asked.append(self.path)
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body.encode())))
            if location:
                self.send_header("Location", location)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
