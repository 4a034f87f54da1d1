"""Routes: which models answer for which seats, from the models file, the flags and the keys in the environment.

A route is a litellm model name or `rehearsal`. For each seat the flags of its role win over its agent's routes, those
over its cognition's; of these the first usable one answers and the rest are its fallbacks. A route is usable when the
key it needs is set; nothing is asked over the network to find out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic_core import PydanticCustomError

from orchestrator.errors import ConfigurationError, UsageError
from orchestrator.hall.terms import Cognition, Role
from orchestrator.models import prices
from orchestrator.models.base import Endpoint
from orchestrator.models.rehearsal import NAME as REHEARSAL
from orchestrator.models_file import ModelsFile, load_models_file, route_name
from orchestrator.strict_yaml import did_you_mean

__all__ = ["KEYS", "REHEARSAL", "ModelsFile", "Route", "Routing", "load_models_file", "resolve"]


# The variables litellm reads each provider's key from; one of them is enough. A provider that is not named here is
# taken to be usable: it may need several variables, or a sign-in of its own.
KEYS: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "openai": ("OPENAI_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "openrouter": ("OPENROUTER_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "groq": ("GROQ_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "xai": ("XAI_API_KEY",),
    "together_ai": ("TOGETHERAI_API_KEY", "TOGETHER_API_KEY", "TOGETHER_AI_API_KEY", "TOGETHER_AI_TOKEN"),
    "fireworks_ai": ("FIREWORKS_AI_API_KEY", "FIREWORKS_API_KEY", "FIREWORKSAI_API_KEY", "FIREWORKS_AI_TOKEN"),
    "cohere": ("COHERE_API_KEY", "CO_API_KEY"),
    "cohere_chat": ("COHERE_API_KEY", "CO_API_KEY"),
    "perplexity": ("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"),
    "azure": ("AZURE_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_AD_TOKEN"),
    "ollama": (),
    "ollama_chat": (),
}

_SETUP = """\
Set up one of these:

  a key, in the shell that runs the debate (one is enough; three let the roles differ)
      export ANTHROPIC_API_KEY=...     https://platform.claude.com
      export OPENAI_API_KEY=...        https://platform.openai.com
      export GEMINI_API_KEY=...        https://aistudio.google.com

  a local server, such as Ollama at http://127.0.0.1:11434 (edit configs/local.yaml for another)
      run-debate --models local ...

  no model at all: a worksheet to hold the debate by hand
      run-debate --rehearse ..."""


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

    def is_usable(self, environment: Mapping[str, str]) -> bool:
        needed = self.key_variables
        return not needed or any(environment.get(variable, "").strip() for variable in needed)


@dataclass(frozen=True, slots=True)
class Routing:
    """The usable routes, in order: the first answers, the rest are its fallbacks.

    `missing` are the variables that are not set and would make more of a cognition's routes usable; `notices` are
    sentences a user should read before the debate begins.
    """

    flags: Mapping[Role, tuple[Route, ...]]
    agents: Mapping[str, tuple[Route, ...]]
    cognitions: Mapping[Cognition, tuple[Route, ...]]
    missing: Mapping[Cognition, tuple[str, ...]]
    max_output_tokens: int
    timeout_s: float
    notices: tuple[str, ...]

    def of(self, role: Role, agent: str) -> tuple[Route, ...]:
        """The routes of one seat.

        Raises:
            UsageError: there is none; it shows how to set one up.
        """
        routes = self.flags.get(role) or self.agents.get(agent) or self.cognitions.get(role.cognition)
        if not routes:
            missing = " or ".join(self.missing[role.cognition])
            raise UsageError(f"No model can be used for {role} ({role.cognition}): {missing} is not set.", _SETUP)
        return routes


def resolve(
    models: ModelsFile, environment: Mapping[str, str], flags: Mapping[Role, Sequence[str]] | None = None
) -> Routing:
    """Decides what is usable.

    Args:
        models: the models file.
        environment: where keys are looked for; their values are only tested for being there.
        flags: what was asked for by name (`--wind`, `--wall`, `--door`), in order.

    Raises:
        UsageError: a flag's model cannot be used.
    """
    flagged = {
        role: tuple(_flagged(role, name, models, environment) for name in names)
        for role, names in (flags or {}).items()
        if names
    }
    by_cognition = {
        cognition: tuple(_route(models, name) for name in getattr(models.routes, cognition)) for cognition in Cognition
    }
    routing = Routing(
        flags=flagged,
        agents={
            agent: _usable((_route(models, name) for name in names), environment)
            for agent, names in models.agents.items()
        },
        cognitions={cognition: _usable(routes, environment) for cognition, routes in by_cognition.items()},
        missing={cognition: _missing(routes, environment) for cognition, routes in by_cognition.items()},
        max_output_tokens=models.defaults.max_output_tokens,
        timeout_s=models.defaults.timeout_s,
        notices=(),
    )
    return replace(routing, notices=tuple(_notices(routing)))


def _route(models: ModelsFile, name: str) -> Route:
    return Route(name, models.endpoint(name))


def _usable(routes: Iterable[Route], environment: Mapping[str, str]) -> tuple[Route, ...]:
    return tuple(route for route in routes if route.is_usable(environment))


def _missing(routes: Iterable[Route], environment: Mapping[str, str]) -> tuple[str, ...]:
    unusable = (route for route in routes if not route.is_usable(environment))
    return tuple(dict.fromkeys(variable for route in unusable for variable in route.key_variables[:1]))


def _flagged(role: Role, name: str, models: ModelsFile, environment: Mapping[str, str]) -> Route:
    flag = f"--{role.lower()}"
    try:
        route = _route(models, route_name(name))
    except PydanticCustomError as error:
        context = error.context or {}
        raise ConfigurationError(context["message"], context["cure"], source=flag) from None
    if not route.is_usable(environment):
        raise UsageError(
            f"{flag} {name}: {' or '.join(route.key_variables)} is not set.",
            "Put the key into the environment, or name a model whose key is there.",
        )
    return route


def _notices(routing: Routing) -> Iterator[str]:
    for agent, routes in routing.agents.items():
        if not routes:
            yield f"No route of the agent {agent} has its key set; it speaks through the routes of its role."
    first = [found[0] for role in Role if (found := routing.flags.get(role) or routing.cognitions[role.cognition])]
    providers = {route.endpoint.api_base or route.provider or route.model for route in first}
    if len(first) == len(Role) and len(providers) == 1 and providers != {REHEARSAL}:
        yield f"All roles use one provider ({providers.pop()}); three different ones disagree better."
    for route in dict.fromkeys(first):
        yield from _unknown(route)


def _unknown(route: Route) -> Iterator[str]:
    """Says so when litellm has a list of the provider's models and this one is not in it."""
    if route.endpoint.api_base or prices.known_model(route.model):
        return
    prefix, _, bare = route.model.partition("/")
    siblings = {
        name.removeprefix(f"{prefix}/") for name, known in prices.known_models().items() if known.provider == prefix
    }
    if bare and siblings:
        near = did_you_mean(bare, siblings).replace("mean ", f"mean {prefix}/")
        price = "" if prices.price_of(route.model, route.endpoint) else ", nor its price"
        yield f"The model {route.model} is not known here{price}. {near}".strip()
