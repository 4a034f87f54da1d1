"""GitHub's API on loopback, as far as the Action asks it: a pull request, its diff and files, its comments."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

REPOSITORY = "acme/billing"
BOT = "github-actions[bot]"
DIFF = """\
diff --git a/src/queue.py b/src/queue.py
index 1111111..2222222 100644
--- a/src/queue.py
+++ b/src/queue.py
@@ -1,2 +1,3 @@
 import time
-RETRIES = 3
+RETRIES = 30
+# diff --git a/not/a b/file
diff --git a/.github/workflows/ci.yml b/.github/workflows/ci.yml
--- a/.github/workflows/ci.yml
+++ b/.github/workflows/ci.yml
@@ -1 +1 @@
-on: push
+on: pull_request
"""


@dataclass
class Asked:
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class GitHubStandIn:
    """The server; a context manager."""

    diff: str = DIFF
    files: list[dict[str, Any]] = field(default_factory=list)
    comments: list[dict[str, Any]] = field(default_factory=list)
    login: str | None = BOT
    refusals: list[tuple[str, str, int]] = field(default_factory=list)  # method, what the path holds, status
    lost: list[tuple[str, str]] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def refuse(self, method: str, within: str, *statuses: int) -> None:
        """Refuses the next requests whose path holds a text, once with each status."""
        self.refusals += [(method, within, status) for status in statuses]

    def lose(self, method: str, within: str) -> None:
        """Does what the next such request asks, and says that the gateway gave up."""
        self.lost.append((method, within))

    def comment(self, body: str, by: str = BOT) -> dict[str, Any]:
        """A comment that stands there."""
        id = len(self.comments) + 1
        told = {"id": id, "user": {"login": by}, "body": body, "html_url": f"https://github.example/comment/{id}"}
        self.comments.append(told)
        return told

    def made(self, method: str) -> list[Asked]:
        """The requests of a method, without those to GraphQL."""
        return [asked for asked in self.asked if asked.method == method and asked.path != "/graphql"]

    def answer(self, asked: Asked) -> tuple[int, Any]:
        """The status and the content of an answer."""
        self.asked.append(asked)
        status, content = self._done(asked)
        for method, within in self.lost:
            if method == asked.method and within in asked.path:
                self.lost.remove((method, within))
                return 504, {"message": "Gateway Timeout"}
        return status, content

    def _done(self, asked: Asked) -> tuple[int, Any]:
        for refusal in self.refusals:
            method, within, status = refusal
            if method == asked.method and within in asked.path:
                self.refusals.remove(refusal)
                return status, {"message": "Refused, as the test has it."}
        path, _, query = asked.path.partition("?")
        issue = f"/repos/{REPOSITORY}/issues"
        match asked.method, path:
            case "POST", "/graphql":
                return 200, {"data": {"viewer": {"login": self.login}}} if self.login else {"errors": []}
            case "GET", str() if path == f"/repos/{REPOSITORY}/pulls/12":
                assert asked.headers["Accept"] == "application/vnd.github.diff"
                return 200, self.diff
            case "GET", str() if path == f"/repos/{REPOSITORY}/pulls/12/files":
                return 200, _page(self.files, query)
            case "GET", str() if path == f"{issue}/12/comments":
                return 200, _page(self.comments, query)
            case "POST", str() if path == f"{issue}/12/comments":
                return 201, self.comment(asked.body["body"])
            case "PATCH", str() if path.startswith(f"{issue}/comments/"):
                told = self.comments[int(path.rpartition("/")[2]) - 1]
                told["body"] = asked.body["body"]
                return 200, told
        return 404, {"message": "Not Found"}


def _page(items: list[dict[str, Any]], query: str) -> list[dict[str, Any]]:
    size, page = (int(number) for number in re.findall(r"page=(\d+)", query))
    return items[(page - 1) * size : page * size]


def _handler(hub: GitHubStandIn) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.loads(sent) if sent else None
            status, said = hub.answer(Asked(self.command, self.path, dict(self.headers), body))
            content = (said if isinstance(said, str) else json.dumps(said)).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            if status >= 500:
                self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = _answer  # noqa: N815  the names that http.server calls

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is said."""

    return Handler
