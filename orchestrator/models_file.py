"""The models file: which models answer for which cognition, and what litellm cannot know about them.

The shapes below are the file's format, key for key (DESIGN section 4).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from orchestrator.errors import ConfigurationError
from orchestrator.models.base import Effort, Endpoint
from orchestrator.secrets import find_secret
from orchestrator.shelves import is_path, standing
from orchestrator.strict_yaml import Shape, did_you_mean, fault, load, read

SUFFIXES = (".yaml", ".yml")


def models_path(name: str, shelves: Sequence[Path]) -> Path:
    """The models file a user means: a path when it looks like one, else a name on the shelves.

    Raises:
        ConfigurationError: no shelf has it.
    """
    if is_path(name, SUFFIXES):
        return Path(name)
    files = standing(shelves, SUFFIXES)
    if name.lower() not in files:
        cure = f"{did_you_mean(name, files)} The models files are {', '.join(files) or 'none'}; a path works too."
        raise ConfigurationError(f"There is no models file called {name!r:.80}.", cure.strip())
    return files[name.lower()]


def load_models_file(name: str, shelves: Sequence[Path]) -> ModelsFile:
    """Loads a models file by name or path.

    Raises:
        ConfigurationError: it is not there, or says something wrong.
    """
    path = models_path(name, shelves)
    return parse_models(read(path), str(path))


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
    if name.startswith("cli/"):
        raise fault(f"{name:.80} cannot be used: agent CLIs are not supported yet.", "Name a model: provider/model.")
    return name


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
    return text


def _variable(name: str) -> str:
    # Keys hold small letters, so a key pasted here is never taken for a variable; nor is it shown.
    if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", name):
        raise fault(
            "must be the name of an environment variable, in capitals; this is none, or it is a key.",
            "Put the key into the environment (export LOCAL_KEY=...), and LOCAL_KEY here.",
        )
    return name


def _header_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
        raise fault("is no name of an HTTP header.", "Such as X-Team.")
    return name


def _header_value(value: str) -> str:
    if not value.isprintable() or not value.isascii() or find_secret(value) is not None:
        raise fault("must be one line of plain text that is no key.", "Name a key's variable in header_env.")
    return value


def _word(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._:/-]*", value):
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
HeaderValue = Annotated[str, AfterValidator(_header_value)]
Word = Annotated[str, AfterValidator(_word)]


class ByCognition(Shape):
    PATHOS: RouteNames
    ETHOS: RouteNames
    LOGOS: RouteNames


class ModelEntry(Shape):
    """What litellm cannot know about a model. Prices are in US dollars per token."""

    api_base: Annotated[str, AfterValidator(_web_address)] | None = None
    api_key_env: Annotated[str, AfterValidator(_variable)] | None = None
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
    stream: bool | None = None
    headers: dict[HeaderName, HeaderValue] = Field(default_factory=dict)
    header_env: dict[HeaderName, Annotated[str, AfterValidator(_variable)]] = Field(default_factory=dict)
    api_version: Word | None = None
    region: Word | None = None
    project: Word | None = None

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


class ModelsFile(Shape):
    """A models file, key for key (DESIGN section 4)."""

    routes: ByCognition
    agents: dict[str, RouteNames] = Field(default_factory=dict)
    models: dict[RouteName, ModelEntry] = Field(default_factory=dict)
    defaults: Defaults = Defaults()

    def endpoint(self, model: str) -> Endpoint:
        """Where calls to a model go; an empty one when the file does not say.

        Models of one server take the least `max_parallel` that is given for any of them.
        """
        asked = _endpoint(self.models.get(model))
        server = asked.server(model)
        siblings = (entry for name, entry in self.models.items() if _endpoint(entry).server(name) == server)
        given = [entry.max_parallel for entry in siblings if entry.max_parallel is not None]
        return replace(asked, max_parallel=min(given, default=None))


def _endpoint(entry: ModelEntry | None) -> Endpoint:
    if entry is None:
        return Endpoint()
    members = entry.model_dump()
    return Endpoint(**members | {name: tuple(members[name].items()) for name in ("headers", "header_env")})
