"""What becomes of a review's result."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

from orchestrator.cli_entry import Variable
from orchestrator.errors import UsageError
from orchestrator.recipe import Line
from orchestrator.strict_yaml import Shape, fault


def _address(text: str) -> str:
    try:
        address = urlsplit(text)
        usable = address.scheme in ("http", "https") and bool(address.hostname) and not re.search(r"\s", text)
        signed_in = "@" in address.netloc
        usable = usable and address.port != 0 and _is_taken(text)
    except ValueError:  # brackets that do not close, a port beyond the last
        usable = signed_in = False
    if signed_in:
        raise fault("holds a name or password.", "The receiver knows who sends by the signature: see secret_env.")
    if not usable:
        raise fault("must be an http or https address.", "Such as https://hooks.example.org/reviews.")
    return text


def _is_taken(text: str) -> bool:
    """Whether what posts can read the address: of names in other scripts it cannot read each."""
    import httpx  # here: it takes a while to load

    try:
        return bool(httpx.URL(text).host)
    except (httpx.InvalidURL, UnicodeError):
        return False


class Webhook(Shape):
    """Where the result is posted; `secret_env` names the variable with the key of its signature."""

    url: Annotated[Line, AfterValidator(_address)]
    secret_env: Variable

    @property
    def host(self) -> str:
        """What may be told of the address: the rest of it may be what lets in."""
        return urlsplit(self.url).netloc

    def secret(self, environment: Mapping[str, str]) -> str:
        """
        Raises:
            UsageError: it is not there, or no text.
        """
        secret = environment.get(self.secret_env, "")
        if not secret:
            raise UsageError(
                f"{self.secret_env} is not set, with which results for {self.host} are signed.",
                "Set it to a long random text that the receiver has too: openssl rand -hex 32.",
            )
        try:
            secret.encode()
        except UnicodeEncodeError:
            raise UsageError(
                f"{self.secret_env}, with which results for {self.host} are signed, is not UTF-8 text.",
                "Set it to a long random text that the receiver has too: openssl rand -hex 32.",
            ) from None  # the error holds the secret
        return secret


class Results(Shape):
    """Where the result goes, from the folder of the reviews file.

    Args:
        folder: the files of each run stand in a folder of its own in this one, named by the thread.
        command: a program and its arguments; the result comes on its standard input.
        webhook: where it is posted.
        pull_request: the Action leaves it as a comment.
    """

    folder: Line | None = None
    command: tuple[Line, ...] = ()
    webhook: Webhook | None = None
    pull_request: bool = False

    @property
    def risks(self) -> tuple[str, ...]:
        """What it does that a file which was not named has no right to."""
        runs = ("runs a command with the result",) if self.command else ()
        sends = ("sends the result over the network",) if self.webhook else ()
        return runs + sends

    def require_deliverable(self, environment: Mapping[str, str]) -> None:
        """
        Raises:
            UsageError: what the result is to be delivered with is missing; better before the debate than after it.
        """
        if self.webhook is not None:
            self.webhook.secret(environment)


NO_RESULTS = Results()
