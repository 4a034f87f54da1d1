"""The models file: which models answer for which cognition, and what litellm cannot know about them.

The shapes below are the file's format, key for key (DESIGN section 4).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from orchestrator.cli_entry import CliEntry, Variable
from orchestrator.errors import ConfigurationError
from orchestrator.hall.terms import Role
from orchestrator.models.base import Effort, Endpoint
from orchestrator.models.cli_known import CLIS, cli_name, is_cli
from orchestrator.secrets import find_secret
from orchestrator.shelves import ENDINGS, is_path, standing
from orchestrator.strict_yaml import Shape, did_you_mean, fault, load, read
from orchestrator.yaml_tree import Place

SUFFIXES = ENDINGS["configs"]
REVIEWS = "reviews"  # the name of a reviews file

_OF_KEYS = ("authorization", "proxy-authorization", "cookie", "api-key", "x-api-key", "x-goog-api-key")  # headers
# What an entry of an agent CLI may say; the rest is for models that are asked over HTTP.
_OF_CLIS = {
    *("cli", "input_cost_per_token", "cached_cost_per_token", "output_cost_per_token", "context_tokens"),
    *("json_schema", "effort", "max_output_tokens", "timeout_s"),
    *("max_parallel", "max_per_minute"),
}
_ROLES = {role.lower(): role for role in Role}


def models_files(shelves: Sequence[Path]) -> dict[str, Path]:
    """The models files on the shelves, by name; a reviews file, which stands there too, is none."""
    return {name: path for name, path in standing(shelves, SUFFIXES).items() if name != REVIEWS}


def models_path(name: str, shelves: Sequence[Path]) -> Path:
    """The models file a user means: a path when it looks like one, else a name on the shelves.

    Raises:
        ConfigurationError: no shelf has it.
    """
    if is_path(name, SUFFIXES):
        return Path(name)
    files = models_files(shelves)
    if name.lower() not in files:
        cure = f"{did_you_mean(name, files)} The models files are {', '.join(files) or 'none'}; a path works too."
        raise ConfigurationError(f"There is no models file called {name!r:.80}.", cure.strip())
    return files[name.lower()]


def load_models_file(name: str, shelves: Sequence[Path]) -> ModelsFile:
    """Loads a models file by name or path.

    One that describes agent CLIs decides which programs run, and one with addresses who is sent prompts and keys. So in
    a working folder, which may be anybody's, such a file is taken only by its path.

    Raises:
        ConfigurationError: it is not there, or says something wrong.
    """
    path = models_path(name, shelves)
    models = parse_models(read(path), str(path))
    risks = () if is_path(name, SUFFIXES) or path.is_absolute() else filter(None, map(_risk, models.models.values()))
    for told in risks:
        raise ConfigurationError(
            f"This file of the working folder says {told}.",
            f"Read it, and name it by its path if that is what you want: --models ./{path}",
            source=str(path),
        )
    return models


def _risk(entry: ModelEntry) -> str:
    """What a file with such an entry decides; nothing where anybody's may."""
    if entry.cli is not None:
        return "which commands are run"
    return f"that prompts and keys go to {entry.api_base}" if entry.api_base and not is_here(entry.api_base) else ""


def parse_models(text: str, source: str) -> ModelsFile:
    """Reads a models file from its text.

    Raises:
        ConfigurationError: names the line and the key.
    """
    return load(text, source=source, shape=ModelsFile)


def route_name(name: str) -> str:
    """Checks one route; a shape's validator, so what it raises is `fault`'s."""
    if not name or not name.isprintable() or " " in name:
        raise fault("must be the name of a model, such as openai/gpt-5.", "Write provider/model.")
    if is_cli(name) and not re.fullmatch(r"cli/[A-Za-z0-9][A-Za-z0-9_.-]*(?::[A-Za-z0-9]\S*)?", name):
        raise fault(f"{name:.80} names no agent CLI.", "Write cli/codex, or cli/codex:MODEL.")
    return name


def route_names(text: str) -> tuple[str, ...]:
    """The routes that one flag names: `a,b,c` is a list to be spread over the seats of its role."""
    return tuple(name.strip() for name in text.split(","))


def is_here(address: str) -> bool:
    """Whether a web address is one of this machine; a name is one only if it is `localhost`.

    Raises:
        ValueError: it is no address.
    """
    host = urlsplit(address).hostname or ""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


def _web_address(text: str) -> str:
    try:
        address = urlsplit(text)
        usable = address.scheme in ("http", "https") and bool(address.hostname) and not re.search(r"\s", text)
        signed_in = "@" in address.netloc
    except ValueError:
        usable = signed_in = False
    if signed_in:
        raise fault("holds a name or password.", "Give the key through api_key_env.")
    if not usable:
        raise fault("must be an http or https address.", "Such as http://127.0.0.1:8080/v1.")
    if find_secret(text) is not None:
        raise fault("holds a key.", "Give the key through api_key_env.")
    return text


def _header_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
        raise fault("is no name of an HTTP header.", "Such as X-Team.")
    return name


def _open_header_name(name: str) -> str:
    if _header_name(name).lower() in _OF_KEYS:
        raise fault("is a header for keys.", "Name the variable that holds the key in header_env.")
    return name


def _header_value(value: str) -> str:
    if not value.isprintable() or not value.isascii() or find_secret(value) is not None:
        raise fault("must be one line of plain text that is no key.", "Name a key's variable in header_env.")
    return value


def _word(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._:-]*", value):  # no part of a path: it stands within an address
        raise fault("must be one plain word, such as 2025-04-01-preview.")
    return value


def _region(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9-]*", value):  # providers' hosts are named by it, and get the key
        raise fault("must be one plain word, such as eu-central-1.")
    return value


def _at_least_one(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        raise fault("holds no route.", "Name at least one model.")
    return names


RouteName = Annotated[str, AfterValidator(route_name)]
RouteNames = Annotated[tuple[RouteName, ...], AfterValidator(_at_least_one)]
Cost = Annotated[Decimal, Field(ge=0, le=1)]


HeaderName = Annotated[str, AfterValidator(_header_name)]
OpenHeaderName = Annotated[str, AfterValidator(_open_header_name)]
HeaderValue = Annotated[str, AfterValidator(_header_value)]
Word = Annotated[str, AfterValidator(_word)]
Region = Annotated[str, AfterValidator(_region)]


class ByCognition(Shape):
    PATHOS: RouteNames
    ETHOS: RouteNames
    LOGOS: RouteNames


class ModelEntry(Shape):
    """What litellm cannot know about a model. Prices are in US dollars per token."""

    api_base: Annotated[str, AfterValidator(_web_address)] | None = None
    api_key_env: Variable | None = None
    input_cost_per_token: Cost | None = None
    cached_cost_per_token: Cost | None = None
    output_cost_per_token: Cost | None = None
    context_tokens: Annotated[int, Field(ge=1)] | None = None
    json_schema: bool | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    effort: Effort | None = None
    max_output_tokens: Annotated[int, Field(ge=1)] | None = None
    timeout_s: Annotated[float, Field(gt=0)] | None = None
    max_parallel: Annotated[int, Field(ge=1)] | None = None
    max_per_minute: Annotated[int, Field(ge=1)] | None = None
    stream: bool | None = None
    headers: dict[OpenHeaderName, HeaderValue] = Field(default_factory=dict)
    header_env: dict[HeaderName, Variable] = Field(default_factory=dict)
    api_version: Word | None = None
    region: Region | None = None
    project: Word | None = None
    cli: CliEntry | None = None

    @model_validator(mode="after")
    def _price_is_whole(self) -> ModelEntry:
        paid = (self.input_cost_per_token is not None, self.output_cost_per_token is not None)
        if paid[0] != paid[1] or (self.cached_cost_per_token is not None and not all(paid)):
            raise fault(
                "has half a price.", "Give input_cost_per_token and output_cost_per_token together, or neither."
            )
        return self


class Defaults(Shape):
    max_output_tokens: Annotated[int, Field(ge=1)] = 4000
    timeout_s: Annotated[float, Field(gt=0)] = 180.0
    stream: bool | None = None


class ModelsFile(Shape):
    """A models file, key for key (DESIGN section 4). In `agents` the name of a role stands for all of its seats."""

    routes: ByCognition
    agents: dict[str, RouteNames] = Field(default_factory=dict)
    models: dict[RouteName, ModelEntry] = Field(default_factory=dict)
    defaults: Defaults = Defaults()

    @model_validator(mode="after")
    def _clis_are_described(self) -> ModelsFile:
        for name, entry in self.models.items():
            if entry.cli is not None and not is_cli(name):
                raise fault("is for models whose names begin with cli/.", at=("models", name, "cli"))
            for key in entry.model_fields_set - _OF_CLIS if is_cli(name) else ():
                raise fault("is nothing that an agent CLI takes.", at=("models", name, key))
        return self

    @model_validator(mode="after")
    def _clis_are_known(self) -> ModelsFile:
        for place, names in self._named():
            for name in filter(is_cli, names):
                if cli_name(name) not in {*CLIS, *self._described}:
                    cure = f"The known ones are {', '.join(CLIS)}; another needs `cli: {{command: ...}}` under models."
                    raise fault(f"{name:.80} is no agent CLI that is known.", cure, at=place)
        return self

    @property
    def _described(self) -> set[str]:
        """The CLIs whose command the file gives."""
        return {cli_name(name) for name, entry in self.models.items() if entry.cli and entry.cli.command}

    def _named(self) -> Iterator[tuple[Place, Iterable[str]]]:
        """Every list of routes in the file, and where it stands."""
        yield from ((("routes", name), routes) for name, routes in self.routes)
        yield from ((("agents", name), routes) for name, routes in self.agents.items())
        yield from ((("models", name), (name,)) for name in self.models)

    @property
    def by_agent(self) -> dict[str, tuple[str, ...]]:
        """The routes of single agents."""
        return {agent: names for agent, names in self.agents.items() if agent not in _ROLES}

    @property
    def by_role(self) -> dict[Role, tuple[str, ...]]:
        """The routes that are spread over the seats of a role."""
        return {_ROLES[name]: names for name, names in self.agents.items() if name in _ROLES}

    def endpoint(self, model: str) -> Endpoint:
        """Where calls to a model go; an empty one when the file does not say.

        Models of one server take the least `max_parallel` and `max_per_minute` that are given for any of them. How a
        CLI is run holds for all of its models.
        """
        asked = _endpoint(model, self.models.get(model))
        if is_cli(model) and asked.cli is None:
            asked = replace(asked, cli=_endpoint(model, self.models.get(f"cli/{cli_name(model)}")).cli)
        server = asked.server(model)
        siblings = [entry for name, entry in self.models.items() if _endpoint(name, entry).server(name) == server]
        parallel = [entry.max_parallel for entry in siblings if entry.max_parallel is not None]
        per_minute = [entry.max_per_minute for entry in siblings if entry.max_per_minute is not None]
        streams = self.defaults.stream if asked.stream is None else asked.stream
        bounded = replace(asked, max_parallel=min(parallel, default=None), max_per_minute=min(per_minute, default=None))
        return replace(bounded, stream=streams)


def _endpoint(model: str, entry: ModelEntry | None) -> Endpoint:
    if entry is None:
        return Endpoint()
    members = entry.model_dump() | {"cli": entry.cli.described(cli_name(model)) if entry.cli else None}
    return Endpoint(**members | {name: tuple(members[name].items()) for name in ("headers", "header_env")})
