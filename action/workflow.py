"""What a GitHub workflow gives a step, and how the step answers: outputs, annotations, the job's summary.

The runner reads commands in what a step prints, lines such as `::error::…`. So nothing that a model, a file or a pull
request may have worded is printed but between `muted`, or escaped in an annotation.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

Kind = Literal["notice", "warning", "error"]


class ActionError(Exception):
    """Nothing can be done with what was given; says what happened and what to do."""


def as_step(main: Callable[[], None]) -> None:
    """Does a step of the action; one that cannot be done fails with an annotation that says why."""
    try:
        main()
    except ActionError as error:
        annotate("error", str(error))
        sys.exit(1)


def variable(name: str) -> str:
    """What the runner gives every step.

    Raises:
        ActionError: it does not.
    """
    value = os.environ.get(name, "")
    if not value:
        raise ActionError(f"{name} is not set. This runs as a step of a GitHub workflow; see docs/ci.md.")
    return value


def given(name: str) -> str:
    """An input of the action, without blanks around it; empty where it was left out."""
    return os.environ.get(f"INPUT_{name}", "").strip()


def switch(name: str) -> bool:
    """An input that is "true" or "false".

    Raises:
        ActionError: it is neither.
    """
    value = given(name).lower()
    if value not in ("true", "false"):
        raise ActionError(f'{name.lower()} is {value[:80]!r}. Give "true" or "false".')
    return value == "true"


def put(**outputs: str) -> None:
    """Sets outputs of the step, each on one line; `exit_code` is the output `exit-code`."""
    with Path(variable("GITHUB_OUTPUT")).open("a", encoding="utf-8") as file:
        for name, value in outputs.items():
            if len(value.splitlines()) > 1:
                raise ValueError(f"{name} has several lines")
            file.write(f"{name.replace('_', '-')}={value}\n")


def summarise(page: str) -> None:
    """Adds Markdown to the summary of the job."""
    with Path(variable("GITHUB_STEP_SUMMARY")).open("a", encoding="utf-8") as file:
        file.write(f"{page}\n")


def annotate(kind: Kind, message: str) -> None:
    """Says something beside the job, whoever worded it."""
    escaped = message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    print(f"::{kind}::{escaped}", flush=True)


@contextmanager
def muted() -> Iterator[None]:
    """What is printed meanwhile, by whatever this step starts too, is no command to the runner."""
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}", flush=True)
    try:
        yield
    finally:
        sys.stderr.flush()
        print(f"::{token}::", flush=True)
