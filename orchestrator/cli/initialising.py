"""What `debate-hall init` does: write a models file for the keys, servers and agent CLIs that are found here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.cli.plain import answer
from orchestrator.discovery import Server, agent_clis, local_servers
from orchestrator.errors import UsageError
from orchestrator.files import prepare_folder, write_atomically
from orchestrator.hall.terms import Role
from orchestrator.keychain import Keys, bring, own_file, unread_file
from orchestrator.models.key_names import KEYS
from orchestrator.models_file import SUFFIXES, load_models_file, models_path, parse_models
from orchestrator.routing import SETUP
from orchestrator.shelves import bundled, folders
from orchestrator.wanted import DEFAULT_MODELS

# What is asked where a provider's key is set, beside the models of the bundled file.
SUGGESTED: Mapping[str, str] = {
    "xai": "xai/grok-4.7",
    "mistral": "mistral/mistral-large-latest",
    "deepseek": "deepseek/deepseek-v4-pro",
    "groq": "groq/openai/gpt-oss-120b",
    "openrouter": "openrouter/openrouter/auto",  # which picks one; its users know better ones
}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What was found: routes by key, servers, agent CLIs."""

    keyed: tuple[tuple[str, str], ...]  # route, and the variable that holds its key
    servers: tuple[Server, ...]
    clis: tuple[str, ...]
    keys: Keys

    @property
    def routes(self) -> tuple[str, ...]:
        """The routes that will be asked: of the first kind that is there; models of one server count as different."""
        served = tuple(f"openai/{model.id}" for server in self.servers[:1] for model in server.models[: len(Role)])
        return tuple(route for route, _ in self.keyed) or served or self.clis


def init(out: Path | None, force: bool) -> None:
    """Writes the file, and prints what was found and what to do next.

    Raises:
        UsageError: nothing was found to speak, or a file is there already.
    """
    file = own_file().with_name(f"{DEFAULT_MODELS}{SUFFIXES[0]}") if out is None else Path(os.path.expanduser(out))
    if os.path.lexists(file) and not force:
        raise UsageError(f"{file} is there already.", "Nothing was written; --force writes over it.")
    found = look_around(os.environ)
    if not found.routes:
        raise UsageError(f"Nothing is found here that could speak. {unread_file()}".rstrip(), SETUP)
    text = models_text(found)
    parse_models(text, str(file))
    write_atomically(prepare_folder(file.parent), {file.name: text})
    answer("\n".join(_told(file, found, is_named=out is not None)) + "\n")


def look_around(environment: MutableMapping[str, str]) -> Surroundings:
    """Finds what could speak; keys that stand elsewhere are put into the environment."""
    keys = bring(environment, KEYS.values())
    routes = _by_provider()
    keyed = ((routes[name], set_) for name in routes if (set_ := next(filter(keys.sources.get, KEYS[name]), "")))
    servers = tuple(server for server in local_servers(environment) if server.models)
    return Surroundings(tuple(keyed), servers, tuple(agent_clis(environment)), keys)


def _by_provider() -> dict[str, str]:
    """The route for each provider: the bundled file's own, in its order, then the suggested ones."""
    default = load_models_file(DEFAULT_MODELS, [bundled("configs")])
    return {route.partition("/")[0]: route for route in default.routes.PATHOS} | dict(SUGGESTED)


# ------------------------------------------------------------------------------------------------------------ its text


def models_text(found: Surroundings) -> str:
    """The models file."""
    parts = [_HEAD, _routes(found.routes), _entries(found), _others(found), _TAIL]
    return "\n".join(filter(None, parts))


_HEAD = """\
# Which models speak, as `debate-hall init` found them here. Of each list the first model that can be asked answers and
# the rest are its fallbacks. Three different ones disagree better than one. What else a models file can say:
# `debate-hall config` names the bundled one, which explains each key. Never write a key into this file.
"""

_TAIL = """\
# defaults:
#   max_output_tokens: 8000   # of one answer, thinking included
#   timeout_s: 180            # of one call
"""


def _routes(names: Sequence[str]) -> str:
    """The routes, each cognition beginning with another one as far as they go."""
    turned = {role: index % len(names) for index, role in enumerate(Role)}
    lists = (
        f"  {role.cognition}: {_listed((*names[first:], *names[:first]))}  # {role}\n" for role, first in turned.items()
    )
    return f"routes:\n{''.join(lists)}"


def _listed(names: Iterable[str]) -> str:
    return f"[{', '.join(map(_quoted, names))}]"


def _quoted(name: str) -> str:
    return f'"{name}"' if ":" in name else name


def _entries(found: Surroundings) -> str:
    """Where the models of a local server are asked: live if they speak, else to be taken over."""
    lines = [line for server in found.servers for line in _entry(server, found.routes)]
    if not lines:
        return ""
    if found.keyed:
        return _commented("Found as well, on this machine:", ["models:", *lines])
    return "\n".join(["models:", *lines]) + "\n"


def _entry(server: Server, asked: Sequence[str]) -> Iterator[str]:
    for model in server.models:
        route = f"openai/{model.id}"
        if route not in asked and len(asked) == len(Role):
            continue
        yield f"  {_quoted(route)}:"
        yield f"    api_base: {server.address}/v1  # {server.name}"
        if model.context_tokens:
            yield f"    context_tokens: {model.context_tokens}"
        yield "    max_parallel: 1"
        yield "    timeout_s: 600  # a local model may take minutes for one turn"


def _others(found: Surroundings) -> str:
    if not found.clis or found.routes == found.clis:
        return ""
    return _commented("Agent CLIs that are here and could speak too:", [_listed(found.clis)])


def _commented(title: str, lines: Iterable[str]) -> str:
    return "\n".join([f"# {title}", "#", *(f"# {line}" for line in lines)]) + "\n"


# ------------------------------------------------------------------------------------------------- what people are told


def _told(file: Path, found: Surroundings, is_named: bool) -> Iterator[str]:
    for route, variable in found.keyed:
        yield f"found {variable} ({found.keys.sources[variable]}): {route}"
    for server in found.servers:
        yield f"found {server.name} at {server.address}: {', '.join(model.id for model in server.models)}"
    for route in found.clis:
        yield f"found an agent CLI: {route}"
    yield from (f"note: {notice}" for notice in found.keys.notices)
    yield f"wrote {file}"
    taken = models_path(DEFAULT_MODELS, folders("configs"))
    if not is_named and taken.resolve() != file.resolve():
        yield f"note: from this folder {taken} is taken in its place"
    named = f" --models {file}" if is_named else ""
    yield f'Next: debate-hall doctor --deep{named}, then run-debate{named} "Your question?"'
