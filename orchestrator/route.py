"""A route: a model, where it is asked, and what it needs before it can be.

A route is a litellm model name, `cli/…` for an agent CLI, or `rehearsal`. Nothing is asked over the network here.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date

from orchestrator.models import cli_known, prices
from orchestrator.models.base import CLIENT, Endpoint
from orchestrator.models.cli_known import PREFIX, cli_of, is_cli
from orchestrator.models.key_names import KEYS
from orchestrator.models.rehearsal import NAME as REHEARSAL
from orchestrator.strict_yaml import did_you_mean

# The agent CLIs that are known by themselves, each with its command.
CLIS: Mapping[str, str] = {f"{PREFIX}{name}": cli.command for name, cli in cli_known.CLIS.items()}


@dataclass(frozen=True, slots=True)
class Route:
    """A model and where it is asked."""

    model: str
    endpoint: Endpoint

    @property
    def provider(self) -> str | None:
        """The provider as litellm calls it; None when the name does not tell."""
        prefix, slash, _ = self.model.partition("/")
        if slash:
            return prefix
        known = prices.known_model(self.model)
        return known.provider if known else None

    @property
    def key_variables(self) -> tuple[str, ...]:
        """The environment variables of which one must hold the key; empty when no key is needed."""
        if self.endpoint.api_key_env:
            return (self.endpoint.api_key_env,)
        return () if self.endpoint.api_base else KEYS.get(self.provider or "", ())

    @property
    def needed_variables(self) -> tuple[tuple[str, ...], ...]:
        """The variables that must be set, of each group one."""
        headers = tuple((variable,) for _, variable in self.endpoint.header_env)
        return (self.key_variables, *headers) if self.key_variables else headers

    @property
    def command(self) -> str | None:
        """The command that must be on the PATH; None for what is no agent CLI, or one that is not known."""
        cli = cli_of(self.model, self.endpoint)
        return cli.command if cli else None

    def lacking(self, environment: Mapping[str, str]) -> tuple[str, ...]:
        """What it needs and does not find: variables, of which one is enough, or a command."""
        for needed in self.needed_variables:
            if not any(environment.get(variable, "").strip() for variable in needed):
                return needed
        if is_cli(self.model) and self.command is None:
            return (f"a description of {self.model} in the models file",)
        if self.command and not shutil.which(self.command, path=environment.get("PATH", "")):
            return (f"the command {self.command}",)
        return ()

    def is_usable(self, environment: Mapping[str, str]) -> bool:
        return not self.lacking(environment)


def missing(lacking: Iterable[str]) -> str:
    """Half a sentence about what is lacking, without a full stop."""
    names = list(lacking)
    return f"{' or '.join(names)} is {'not set' if all(map(str.isupper, names)) else 'missing'}"


def doubts(route: Route, today: date | None = None) -> Iterator[str]:
    """Sentences about a model whose provider litellm does not have, or does not have it, or has it as retired."""
    known = prices.known_model(route.model)
    if route.endpoint.api_base or (known and (today is None or known.retires is None or known.retires > today)):
        return
    prefix, slash, bare = route.model.partition("/")
    if not known and _has_no_provider(route.model):
        near = did_you_mean(prefix, KEYS).replace("?", f"/{bare}?") if slash else ""
        yield f"The provider of {route.model} is not known here. {near or 'Write provider/model.'}"
        return
    siblings = {
        name.removeprefix(f"{prefix}/")
        for name, other in prices.known_models().items()
        if other.provider == prefix and (today is None or other.retires is None or other.retires > today)
    }
    near = did_you_mean(bare, siblings).replace("mean ", f"mean {prefix}/")
    if known:
        yield f"The model {route.model} was retired on {known.retires}. {near}".strip()
    elif bare and siblings:
        price = "" if prices.price_of(route.model, route.endpoint) else ", nor its price"
        yield f"The model {route.model} is not known here{price}. {near}".strip()


def _has_no_provider(model: str) -> bool:
    """Whether a model's name begins with no provider that is known."""
    if model in (REHEARSAL, CLIENT) or is_cli(model) or not prices.known_providers():
        return False
    return model.partition("/")[0] not in {*KEYS, *prices.known_providers()} or "/" not in model
