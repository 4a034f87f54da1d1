"""How a models file describes an agent CLI: the key `cli:` of a `cli/…` model.

Of a CLI that is known by itself (claude, codex, gemini) only what differs is given; any other needs its command.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from orchestrator.models.base import Cli, CliAnswer
from orchestrator.models.cli_known import CLIS
from orchestrator.secrets import SERVER_TOKEN, find_secret
from orchestrator.strict_yaml import Shape, did_you_mean, fault

PLACEHOLDERS = ("model", "effort", "system", "system_file", "schema_file", "folder", "files")


def variable_name(name: str) -> str:
    # Keys hold small letters, so a key pasted here is never taken for a variable; nor is it shown.
    if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", name):
        raise fault(
            "must be the name of an environment variable, in capitals; this is none, or it is a key.",
            "Put the key into the environment (export LOCAL_KEY=...), and LOCAL_KEY here.",
        )
    return name


def _no_token_of_the_hall(name: str) -> str:
    if name == SERVER_TOKEN:
        raise fault(f"{SERVER_TOKEN} is for clients of the hall; models have no use for it.")
    return name


def _command(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._+-]*", name) and not PurePath(name).is_absolute():
        raise fault("must be the name of a command, or its whole path.", "Such as our-agent or /opt/bin/our-agent.")
    return name


def _argument(text: str) -> str:
    if "\0" in text or find_secret(text) is not None:
        raise fault("must be text that holds no key.", "Name a key's variable in `variables`.")
    for name in re.findall(r"\{([a-z_]+)\}", text):
        if name not in PLACEHOLDERS:
            known = ", ".join(f"{{{known}}}" for known in PLACEHOLDERS)
            cure = did_you_mean(name, PLACEHOLDERS) or f"They are {known}."
            raise fault(f"{{{name:.40}}} stands for nothing.", cure)
    return text


def _file_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name) or name in ("system.md", "schema.json"):
        raise fault("must be the plain name of a file, other than system.md and schema.json.")
    return name


def _path(path: str) -> str:
    if not re.fullmatch(r"[^.\s]+(?:\.[^.\s]+)*", path):
        raise fault("must be keys with dots between them.", "Such as usage.input_tokens, or models.*.tokens.")
    return path


Argument = Annotated[str, AfterValidator(_argument)]
Variable = Annotated[str, AfterValidator(variable_name), AfterValidator(_no_token_of_the_hall)]
FileName = Annotated[str, AfterValidator(_file_name)]
Place = Annotated[str, AfterValidator(_path)]
ExitCode = Annotated[str, Field(pattern="^[0-9]{1,3}$")]
Meaning = Literal["authentication", "bad_request", "cut_off", "no_such_model", "rate_limited"]


class AnswerEntry(Shape):
    """Where the CLI's output holds what counts; the keys are `CliAnswer`'s."""

    format: Literal["json", "text"] = "json"
    text: Place | Literal[""] = ""
    only: dict[Place, str] = Field(default_factory=dict)
    failed: Place | Literal[""] = ""
    error: tuple[Place, ...] = ()
    input: tuple[Place, ...] = ()
    cached: tuple[Place, ...] = ()
    output: tuple[Place, ...] = ()
    thinking: tuple[Place, ...] = ()
    cost: Place | Literal[""] = ""
    model: Place | Literal[""] = ""


class CliEntry(Shape):
    """What differs from the CLI that is known by this name, or from a CLI that takes no arguments; the keys are
    `Cli`'s."""

    command: Annotated[str, AfterValidator(_command)] = ""
    args: tuple[Argument, ...] = ()
    model: Annotated[str, Field(pattern=r"^[A-Za-z0-9][^\s]*$")] | None = None
    model_args: tuple[Argument, ...] = ()
    effort_args: tuple[Argument, ...] = ()
    schema_args: tuple[Argument, ...] = ()
    extra_args: tuple[Argument, ...] = ()
    variables: tuple[Variable, ...] = ()
    settings: dict[Variable, Argument] = Field(default_factory=dict)
    files: dict[FileName, Argument] = Field(default_factory=dict)
    answer: AnswerEntry = AnswerEntry()
    exits: dict[ExitCode, Meaning] = Field(default_factory=dict)
    own_tokens: Annotated[int, Field(ge=0)] = 0
    login: str = ""
    login_args: tuple[Argument, ...] = ()
    version_args: tuple[Argument, ...] = ()

    def described(self, name: str) -> Cli:
        """The CLI, all of it."""
        given = {key: _frozen(getattr(self, key)) for key in self.model_fields_set}
        return replace(CLIS.get(name) or Cli(command=self.command), **given)


def _frozen(value: Any) -> Any:
    if isinstance(value, AnswerEntry):
        return CliAnswer(**{key: _frozen(member) for key, member in value})
    return tuple(value.items()) if isinstance(value, dict) else value
