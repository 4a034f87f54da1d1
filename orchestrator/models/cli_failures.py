"""What it means when an agent CLI fails: by its exit code where that is known, else by its words."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping

from orchestrator.errors import (
    AuthenticationFailed,
    BadRequest,
    ConnectionFailed,
    ContentRefused,
    ContextTooLong,
    CutOff,
    GarbledReply,
    ModelError,
    NoSuchModel,
    Overloaded,
    RateLimited,
    ServerFailed,
    TimedOut,
)
from orchestrator.models.base import Cli, Request, Usage
from orchestrator.models.cli_output import Printed, plain
from orchestrator.models.cli_process import Ended
from orchestrator.models.failures import one_line
from orchestrator.secrets import keys_in

_BY_EXIT: Mapping[str, type[ModelError]] = {
    kind.code: kind for kind in (AuthenticationFailed, BadRequest, CutOff, NoSuchModel, RateLimited)
}

# What CLIs say in their own words; the first that fits holds.
_WORDS: tuple[tuple[re.Pattern[str], type[ModelError]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), kind)
    for pattern, kind in (
        (r"unexpected argument|(?:unknown|unrecognized) (?:option|argument|flag)", BadRequest),
        (r"context (?:length|window)|(?:prompt|input) is too long|input token count|too many tokens", ContextTooLong),
        (r"rate.?limit|\b429\b|quota|usage limit|too many requests|resource.?exhausted|limit reached", RateLimited),
        (r"overloaded|at capacity|\b(?:503|529)\b", Overloaded),
        (r"not (?:logged|signed) in|please (?:log|sign) in|/login\b|\bauth(?:\b|entic|oriz)", AuthenticationFailed),
        (r"unauthori[sz]ed|\b40[13]\b|credentials|credit balance", AuthenticationFailed),
        (r"(?:invalid|incorrect|missing) (?:api.?key|token|environment variable)", AuthenticationFailed),
        (r"model\b.{0,80}\b(?:not (?:found|exist|supported|available)|invalid)", NoSuchModel),
        (r"(?:invalid|unknown|unsupported) model", NoSuchModel),
        (r"safety|content.?policy|usage polic|flagged|prohibited", ContentRefused),
        (r"ECONN\w+|ENOTFOUND|ETIMEDOUT|fetch failed|network error", ConnectionFailed),
        (r"stream disconnected|error sending request", ConnectionFailed),
    )
)

_CURES: Mapping[type[ModelError], str] = {
    NoSuchModel: "Check the model's name.",
    BadRequest: "Bring the CLI up to date, and check `args` where the models file gives them.",
    RateLimited: "Wait until its limit is over, or give the role another model.",
    ContextTooLong: "Attach less context, or give the role a model that reads more.",
    ContentRefused: "Put the question in other words, or give the role another model.",
    TimedOut: "Raise timeout_s in the models file if it needs longer.",
    ConnectionFailed: "Check the network.",
    GarbledReply: "Bring the CLI up to date, and check `answer` where the models file gives it.",
}

_BROKEN = (errno.ENOENT, errno.EACCES, errno.ENOEXEC)
_LAST_LINES = 5


def cli_failure(
    request: Request, cli: Cli, kind: type[ModelError], words: str, cure: str = "", *, usage: Usage | None = None
) -> ModelError:
    """A `ModelError` with its cure, its words on one line and without keys."""
    if kind is AuthenticationFailed:
        cure = f"Run `{cli.login or cli.command}` in a terminal and sign in."
    told = f"{request.model}: {one_line(words, keys_in(os.environ, *cli.variables))}"
    return kind(told, cure or _CURES.get(kind, ""), model=request.model, usage=usage)


def run_failure(request: Request, cli: Cli, ended: Ended, printed: Printed, usage: Usage) -> ModelError:
    """What a run means that says it failed, by its exit code or in its output."""
    said = printed.error or (printed.text or "" if printed.failed else "") or _tail(ended.errors) or _tail(ended.output)
    kind = _BY_EXIT.get(dict(cli.exits).get(str(ended.code), "")) or kind_in(said, ServerFailed)
    how = f"ended by signal {-ended.code}" if ended.code < 0 else f"exit code {ended.code}"
    words = f"{said} ({how})" if said and ended.code else said or how
    return cli_failure(request, cli, kind, words, usage=usage if usage.input else None)


def late_failure(request: Request, cli: Cli, ended: Ended) -> ModelError:
    """What it means that no answer came in time: a CLI that asks again by itself may have said why it has to."""
    said = _tail(ended.errors)
    kind = kind_in(said, TimedOut)
    words = "no answer in time" if kind is TimedOut else f"no answer in time: {said}"
    failed = cli_failure(request, cli, kind, words)
    failed.maybe_billed = True  # whatever was refused before, its last attempt was under way
    return failed


def not_started(request: Request, cli: Cli, error: OSError) -> ModelError:
    """What it means that a CLI could not be run at all; no model was asked."""
    if isinstance(error, FileNotFoundError) and error.errno is None:
        words, cure = f"the command {cli.command} is not on the PATH", "Install it, or name another model."
        return cli_failure(request, cli, NoSuchModel, words, cure)
    words = f"the command {cli.command} cannot be run: {error.strerror or error}"
    failed = cli_failure(request, cli, NoSuchModel if error.errno in _BROKEN else ServerFailed, words, "Repair it.")
    failed.maybe_billed = False
    return failed


def kind_in(words: str, otherwise: type[ModelError]) -> type[ModelError]:
    """What words mean."""
    return next((kind for pattern, kind in _WORDS if pattern.search(words)), otherwise)


def _tail(text: str) -> str:
    """The last lines, where programs say what went wrong."""
    return " ".join(line.strip() for line in plain(text).strip().split("\n")[-_LAST_LINES:])
