"""Agent CLIs as models: `claude`, `codex`, `gemini`, and others that the models file describes.

One call is one run: the prompt on standard input, an empty folder of its own, an environment with nothing in it but
what the CLI needs, and nothing left of it afterwards. How each is run and read stands in `cli_known`, how a run is
begun and ended in `cli_process`, how its output is read in `cli_output`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from orchestrator.errors import EmptyReply, GarbledReply, InvalidInput, NoSuchModel
from orchestrator.hall.inputs import require_name
from orchestrator.models.base import Cli, Message, Reply, Request, Usage
from orchestrator.models.cli_failures import cli_failure, kind_in, late_failure, not_started, run_failure
from orchestrator.models.cli_known import cli_of
from orchestrator.models.cli_output import Printed, plain, read
from orchestrator.models.cli_process import MOST_OUTPUT, Ended, run
from orchestrator.models.failures import one_line
from orchestrator.models.prices import price_of
from orchestrator.secrets import KEY_NAMES

# What every program may see: where things are, which language, how the network is reached. No key is among them.
_HARMLESS = (
    *("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TZ", "LANG", "LANGUAGE", "DBUS_SESSION_BUS_ADDRESS"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *(name for each in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY") for name in (each, each.lower())),
)
_HARMLESS_BEGIN = ("LC_", "XDG_")
_QUIET = {"TERM": "dumb", "NO_COLOR": "1"}

_PLACEHOLDER = re.compile(r"\{(model|effort|system|system_file|schema_file|folder|files)\}")


class CliAgent:
    """A `Model` that runs the CLI its request names.

    Args:
        environment: what the CLI's own is chosen from; this process's where it is left out.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment

    async def complete(self, request: Request) -> Reply:
        """Makes one attempt, at most `request.timeout_s` seconds long.

        Raises:
            ModelError: the attempt failed.
        """
        cli = cli_of(request.model, request.endpoint)
        if cli is None:
            words, cure = "no such agent CLI is known", "Describe it under `cli:` in the models file."
            raise NoSuchModel(f"{request.model}: {words}", cure, model=request.model)
        try:
            with TemporaryDirectory(prefix="debate-hall-", ignore_cleanup_errors=True) as place:
                ended = await self._run(cli, request, Path(place))
        except OSError as error:
            raise not_started(request, cli, error) from error
        return _reply(request, cli, ended)

    async def _run(self, cli: Cli, request: Request, place: Path) -> Ended:
        folder, files = place / "work", place / "files"
        folder.mkdir()
        files.mkdir()
        system, prompt = _parts(request.messages)
        known = {
            "model": cli.model or "",
            "effort": request.endpoint.effort or "",
            "system": system,
            "system_file": str(files / "system.md"),
            "schema_file": str(files / "schema.json"),
            "folder": str(folder),
            "files": str(files),
        }
        texts = [*_arguments(cli, request), *(value for _, value in cli.settings), *(text for _, text in cli.files)]
        if not any(name in text for text in texts for name in ("{system}", "{system_file}")):
            prompt = f"{system}\n\n{prompt}"
        written = {"system.md": system, "schema.json": json.dumps(request.shape.schema) if request.shape else "{}"}
        for name, text in (written | {name: _filled(text, known) for name, text in cli.files}).items():
            (files / name).write_text(text, encoding="utf-8", errors="replace")
        return await run(
            [self._found(cli), *(_filled(argument, known) for argument in _arguments(cli, request))],
            prompt.encode("utf-8", "replace"),
            folder=folder,
            environment=self._seen(cli) | {name: _filled(value, known) for name, value in cli.settings},
            seconds=request.timeout_s,
        )

    def _found(self, cli: Cli) -> str:
        """The program, looked for where its user would find it.

        Raises:
            FileNotFoundError: it is not there.
        """
        found = shutil.which(cli.command, path=self._environment.get("PATH", ""))
        if found is None:
            raise FileNotFoundError(cli.command)
        return os.path.abspath(found)  # a PATH may be relative, and it runs elsewhere

    def _seen(self, cli: Cli) -> dict[str, str]:
        """All that the CLI sees of the environment."""
        seen = {
            name: value
            for name, value in self._environment.items()
            if name in _HARMLESS or name in cli.variables or name.startswith(_HARMLESS_BEGIN)
        }
        return seen | _QUIET

    async def probe(self, cli: Cli, seconds: float = 10.0) -> Probe:
        """Finds out, without asking a model, whether a CLI is there and somebody is signed in.

        Args:
            seconds: how long it may take in all.
        """
        with suppress(FileNotFoundError):
            return await self._probed(cli, self._found(cli), seconds)
        return Probe(cli.command, None)

    async def _probed(self, cli: Cli, path: str, seconds: float) -> Probe:
        signed_in: bool | None = None
        with suppress(OSError), TemporaryDirectory(prefix="debate-hall-", ignore_cleanup_errors=True) as place:

            async def told(arguments: tuple[str, ...]) -> Ended:
                seen = self._seen(cli)
                return await run([path, *arguments], b"", folder=Path(place), environment=seen, seconds=seconds / 2)

            version = await told(cli.version_args)
            if any(name.endswith(KEY_NAMES) and self._environment.get(name) for name in cli.variables):
                signed_in = True  # by a key, of which a CLI that is asked for its sign-in may know nothing
            elif cli.login_args and not version.late:
                status = await told(cli.login_args)
                signed_in = None if status.late else status.code == 0
            return Probe(cli.command, path, _version(version), signed_in)
        return Probe(cli.command, path)


@dataclass(frozen=True, slots=True)
class Probe:
    """What is known of a CLI without asking a model; None: it is not there, or does not tell."""

    command: str
    path: str | None
    version: str | None = None
    signed_in: bool | None = None


def _version(told: Ended) -> str | None:
    lines = plain(told.output).split("\n") if told.code == 0 else []
    return next((one_line(line) for line in lines if any(map(str.isdigit, line))), None)


def _arguments(cli: Cli, request: Request) -> tuple[str, ...]:
    """The arguments, their placeholders unfilled."""
    held = request.shape is not None and request.endpoint.json_schema is not False
    return (
        *cli.args,
        *(cli.model_args if cli.model else ()),
        *(cli.effort_args if request.endpoint.effort else ()),
        *(cli.schema_args if held else ()),
        *cli.extra_args,
    )


def _filled(text: str, known: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda found: known[found[1]], text)


def _parts(messages: tuple[Message, ...]) -> tuple[str, str]:
    """The system prompt, and all that follows it as one text."""
    system = "\n\n".join(message.text for message in messages if message.speaker == "system")
    rest = (message for message in messages if message.speaker != "system")
    return system, "\n\n".join(
        f"You answered before:\n\n{message.text}" if message.speaker == "assistant" else message.text
        for message in rest
    )


def _reply(request: Request, cli: Cli, ended: Ended) -> Reply:
    """Reads what a run left.

    Raises:
        ModelError: it holds no whole answer.
    """
    if ended.late:
        raise late_failure(request, cli, ended)
    if ended.flooded:
        raise cli_failure(request, cli, GarbledReply, f"it wrote more than {MOST_OUTPUT >> 20} MiB")
    printed = read(cli.answer, ended.output, ended.errors)
    usage = _usage(request, printed)
    if ended.code or printed.failed:
        raise run_failure(request, cli, ended, printed, usage)
    if printed.text is None:
        words = printed.error or "an answer that cannot be read"
        raise cli_failure(request, cli, kind_in(printed.error, GarbledReply), words, usage=usage)
    text = plain(printed.text).strip()
    if not text:
        raise cli_failure(request, cli, EmptyReply, "an empty answer", usage=usage)
    return Reply(text, _name(request, cli, printed), usage, left_out=tuple(_left_out(request, cli)))


def _usage(request: Request, printed: Printed) -> Usage:
    """Tokens as the CLI counted them; the cost as it tells it, else by the models file's price, else unknown."""
    price, cost = price_of(request.model, request.endpoint), printed.cost
    if cost is None and price and printed.input:
        cost = price.cost(input=printed.input, output=printed.output, cached=printed.cached)
    return Usage(printed.input, printed.cached, printed.output, cost, printed.thinking)


def _left_out(request: Request, cli: Cli) -> Iterator[str]:
    """What no CLI takes, and what this one does not."""
    if request.temperature is not None:
        yield f"temperature {request.temperature:g}"
    if request.endpoint.effort and not cli.effort_args:
        yield f"effort {request.endpoint.effort}"


def _name(request: Request, cli: Cli, printed: Printed) -> str:
    """The model that answered, as far as it is known."""
    with suppress(InvalidInput):
        return require_name(printed.model or cli.model or request.model)
    return request.model
