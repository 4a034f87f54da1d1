"""GitHub's API, as far as it is needed: requests, asked again when the server fails; pages; who we are."""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from http.client import HTTPException
from itertools import count
from typing import Any, TypeVar

from workflow import ActionError, variable

T = TypeVar("T")

_DIFF = "application/vnd.github.diff"
_JSON = "application/vnd.github+json"
_ATTEMPTS = 4
_TIMEOUT_S = 60
_WAIT_S, _LONGEST_WAIT_S = 5.0, 60.0
_PAGE = 100
_HEADERS = {
    "Content-Type": "application/json",
    "User-Agent": "run-debate",
    "X-GitHub-Api-Version": "2022-11-28",
}


class ApiError(ActionError):
    """GitHub refused, or could not be reached.

    Args:
        status: the HTTP status; None: no answer came.
        wait_s: after so many seconds it may go otherwise; None: it will not.
    """

    def __init__(self, status: int | None, message: str, wait_s: float | None = None) -> None:
        super().__init__(message)
        self.status, self.wait_s = status, wait_s


def patiently(work: Callable[[], T]) -> T:
    """Does what may fail for a moment, a few times at most. It must do no harm to do it twice.

    Raises:
        ApiError: it is refused, or fails each time.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return work()
        except ApiError as error:
            if error.wait_s is None:
                raise
            time.sleep(error.wait_s)
    return work()


@dataclass(frozen=True, slots=True)
class GitHub:
    """One repository, seen with one token."""

    api: str
    graphql: str
    repository: str
    token: str

    @classmethod
    def of_environment(cls) -> GitHub:
        api = variable("GITHUB_API_URL")
        graphql = os.environ.get("GITHUB_GRAPHQL_URL") or f"{api}/graphql"
        return cls(api, graphql, variable("GITHUB_REPOSITORY"), variable("GITHUB_TOKEN"))

    def diff(self, number: int) -> bytes:
        """The diff of a pull request."""
        return patiently(lambda: self._asked("GET", f"{self._repo}/pulls/{number}", accept=_DIFF))

    def files(self, number: int) -> Iterator[dict[str, Any]]:
        """The changed files, each with its `patch`, unless that is too large."""
        return self._paged(f"{self._repo}/pulls/{number}/files")

    def comments(self, number: int) -> Iterator[dict[str, Any]]:
        """The comments below a pull request, oldest first."""
        return self._paged(f"{self._repo}/issues/{number}/comments")

    def add_comment(self, number: int, body: str) -> Any:
        """Asked once: after an answer that did not come, look first whether the comment is there."""
        return self._json("POST", f"{self._repo}/issues/{number}/comments", {"body": body})

    def change_comment(self, id: int, body: str) -> Any:
        return self._json("PATCH", f"{self._repo}/issues/comments/{id}", {"body": body})

    def login(self) -> str:
        """Whose token it is. Only GraphQL tells that of every kind of token."""
        answer = patiently(lambda: self._json("POST", self.graphql, {"query": "query { viewer { login } }"}))
        try:
            return str(answer["data"]["viewer"]["login"])
        except (KeyError, TypeError):
            raise ApiError(None, "GitHub does not say whose token it is.") from None

    @property
    def _repo(self) -> str:
        return f"{self.api}/repos/{self.repository}"

    def _paged(self, address: str) -> Iterator[Any]:
        for page in count(1):
            found = patiently(partial(self._json, "GET", f"{address}?per_page={_PAGE}&page={page}"))
            yield from found
            if len(found) < _PAGE:
                return

    def _json(self, method: str, address: str, body: dict[str, Any] | None = None) -> Any:
        said = self._asked(method, address, body)
        try:
            return json.loads(said)
        except ValueError as error:
            raise ApiError(None, f"{method} {address}: GitHub's answer is no JSON.") from error

    def _asked(self, method: str, address: str, body: dict[str, Any] | None = None, accept: str = _JSON) -> bytes:
        """The answer to a request.

        Raises:
            ApiError: there is none, or a refusal.
        """
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(address, data, _HEADERS | {"Accept": accept}, method=method)
        request.add_unredirected_header("Authorization", f"Bearer {self.token}")
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
                said: bytes = answer.read()
                return said
        except urllib.error.HTTPError as error:
            with error:
                message = f"{method} {address}: HTTP {error.code}, {_reason(error)}."
                raise ApiError(error.code, message, _wait(error)) from error
        except (OSError, HTTPException) as error:
            raise ApiError(None, f"{method} {address}: {error}.", _WAIT_S) from error


def _reason(error: urllib.error.HTTPError) -> str:
    """What GitHub says of it, on one line."""
    try:
        said = json.loads(error.read(10_000))["message"]
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        said = error.reason
    return " ".join(str(said).split()).rstrip(".")[:300]


def _wait(error: urllib.error.HTTPError) -> float | None:
    """Seconds until it is worth to ask again: what the server says, within reason."""
    asked = error.headers.get("Retry-After", "")
    if asked.isdecimal():
        return min(float(asked), _LONGEST_WAIT_S)
    return _WAIT_S if error.code == 429 or error.code >= 500 else None
