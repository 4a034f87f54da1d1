"""Who could speak without a key: local model servers at their usual ports, agent CLIs on the PATH.

Only this machine is asked, each server once and briefly: what it lists at `/v1/models`. No proxy and no redirect leads
the question elsewhere.
"""

from __future__ import annotations

import json
import re
import shutil
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any
from urllib.parse import urlsplit

from orchestrator.errors import UsageError
from orchestrator.hall.terms import Cognition, Role
from orchestrator.models.base import Endpoint
from orchestrator.models_file import is_here
from orchestrator.route import CLIS, Route
from orchestrator.routing import StandIns

OLLAMA_HOST = "OLLAMA_HOST"  # Ollama's own
SERVERS = "DEBATE_HALL_LOCAL_SERVERS"  # addresses with commas between them, in place of the usual ports
STAND_INS = "DEBATE_HALL_STAND_INS"  # `none`: a route without its key is an error, whatever else is there

_OLLAMA, _OLLAMA_PORT = "Ollama", 11434
_USUAL = (("LM Studio", 1234), ("llama.cpp", 8080), ("vLLM", 8000))
_PATIENCE_S = 1.0
_LARGEST = 1 << 20  # bytes of an answer
_TURN_S = 600.0  # a local model may take minutes for one turn
_NAME = re.compile(r"[\w.:/@+-]{1,200}", re.ASCII)
_NO_CHAT = re.compile(
    r"embed|rerank|whisper|minilm|stable-diffusion|\b(?:bge|e5|gte|clip|tts|flux)\b", re.IGNORECASE | re.ASCII
)
_WINDOW = "It cuts long prompts without a word unless its window is set: OLLAMA_CONTEXT_LENGTH=32768."


@dataclass(frozen=True, slots=True)
class Server:
    """A local model server that answered, and those of its models that can chat, in its order."""

    name: str
    address: str
    models: tuple[Listed, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """A model as a server lists it; `context_tokens` is None where it does not say."""

    id: str
    context_tokens: int | None = None


def local_servers(environment: Mapping[str, str]) -> tuple[Server, ...]:
    """The servers that answer, in the order in which they would be taken.

    Raises:
        UsageError: an address was named that is none of this machine.
    """
    places = _places(environment)
    if not places:
        return ()
    with ThreadPoolExecutor(len(places)) as threads:
        found = threads.map(lambda place: _ask(*place), places)
        return tuple(server for server in found if server is not None)


def server_at(api_base: str) -> Server | None:
    """The server at an address of this machine, if it lists its models."""
    return _ask("the local server", _bare(api_base)) if _is_loopback(api_base) else None


def is_open(api_base: str) -> bool:
    """Whether something takes connections at an address; one beyond this machine is taken to."""
    if not _is_loopback(api_base):
        return True
    parts = urlsplit(api_base)
    with suppress(OSError), socket.create_connection((parts.hostname, parts.port or 80), timeout=_PATIENCE_S):
        return True
    return False


def agent_clis(environment: Mapping[str, str]) -> dict[str, str]:
    """The agent CLIs on the PATH: route -> file."""
    path = environment.get("PATH", "")
    return {route: file for route, command in CLIS.items() if (file := shutil.which(command, path=path))}


def find_stand_ins(environment: Mapping[str, str]) -> StandIns | None:
    """Who speaks when no key is there: a local server's first model, else the agent CLIs.

    Raises:
        UsageError: a variable says neither who may speak nor that nobody may.
    """
    wanted = environment.get(STAND_INS, "").strip()
    if wanted.lower() == "none":
        return None
    if wanted:
        raise UsageError(f"{STAND_INS} is {wanted!r:.80}.", "Set it to none, or leave it out.")
    server = next((server for server in local_servers(environment) if server.models), None)
    if server is not None:
        return _served_by(server, environment)
    names = list(agent_clis(environment))
    return _spoken_by(names) if names else None


def _served_by(server: Server, environment: Mapping[str, str]) -> StandIns:
    route = route_to(server, server.models[0], environment)
    window = "" if route.endpoint.context_tokens or server.name != _OLLAMA else f" {_WINDOW}"
    why = f"No key is set, so {route.model} speaks for all roles, on {server.name} at {server.address}.{window}"
    return StandIns(dict.fromkeys(Cognition, (route,)), why)


def _spoken_by(names: Sequence[str]) -> StandIns:
    """Each cognition asks another CLI first, as far as they go."""
    routes = [Route(name, Endpoint()) for name in names]
    turns = {role: index % len(routes) for index, role in enumerate(Role)}
    who = ", ".join(f"{role} through {routes[first].model}" for role, first in turns.items())
    return StandIns(
        {role.cognition: (*routes[first:], *routes[:first]) for role, first in turns.items()},
        f"No key is set and no local server answers, so agent CLIs speak: {who}.",
    )


def route_to(server: Server, model: Listed, environment: Mapping[str, str]) -> Route:
    """The route to a model of a server."""
    window = environment.get("OLLAMA_CONTEXT_LENGTH", "") if server.name == _OLLAMA else ""
    context = int(window) if window.isdecimal() and int(window) else model.context_tokens
    address = f"{server.address}/v1"
    endpoint = Endpoint(api_base=address, context_tokens=context, timeout_s=_TURN_S, max_parallel=1)
    return Route(f"openai/{model.id}", endpoint)


def _places(environment: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Name and address of the servers to ask."""
    if SERVERS in environment:
        words = [_bare(word.strip()) for word in environment[SERVERS].split(",") if word.strip()]
        if not all(map(_is_loopback, words)):
            raise UsageError(
                f"{SERVERS} names what is no http address of this machine.",
                "Write http://127.0.0.1:8080 or the like; other machines stand in a models file, as api_base.",
            )
        return tuple(("the local server", word) for word in words)
    ollama = _ollama(environment.get(OLLAMA_HOST, "").strip())
    places = [(_OLLAMA, ollama), *((name, f"http://127.0.0.1:{port}") for name, port in _USUAL)]
    return tuple(place for place in places if _is_loopback(place[1]))


def _bare(api_base: str) -> str:
    return api_base.rstrip("/").removesuffix("/v1")


def _ollama(host: str) -> str:
    """Where Ollama listens, by the forms it takes itself: `127.0.0.1`, `0.0.0.0:11434`, `:11434`, `http://…`."""
    scheme, _, rest = host.rpartition("://")
    name, colon, port = rest.rstrip("/").rpartition(":") if not rest.endswith("]") else (rest, "", "")
    name, port = (name, port) if colon else (rest.rstrip("/"), "")
    here = "127.0.0.1" if name in ("", "0.0.0.0", "[::]") else name
    return f"{scheme or 'http'}://{here}:{port or _OLLAMA_PORT}"


def _is_loopback(address: str) -> bool:
    """Whether it is an http address of this machine."""
    try:
        parts = urlsplit(address)
        _ = parts.port  # which raises where it is none
        return parts.scheme == "http" and is_here(address)
    except ValueError:
        return False


def _ask(name: str, address: str) -> Server | None:
    """The server, if what answers there is one."""
    parts = urlsplit(address)
    connection = HTTPConnection(parts.hostname or "", parts.port or 80, timeout=_PATIENCE_S)
    try:
        connection.request("GET", f"{parts.path}/v1/models", headers={"Accept": "application/json"})
        answer = connection.getresponse()
        is_json = "json" in answer.getheader("content-type", "")
        listed = json.loads(_read(answer)) if answer.status == 200 and is_json else None
    except (OSError, HTTPException, ValueError, RecursionError):  # the last of brackets in brackets
        return None
    finally:
        connection.close()
    models = listed.get("data") if isinstance(listed, dict) else None
    return Server(name, address, tuple(_chatting(models))) if isinstance(models, list) else None


def _read(answer: HTTPResponse) -> bytes:
    """An answer, as far as it comes in time: a server that sends it drop by drop is not waited for."""
    ends, read = time.monotonic() + _PATIENCE_S, b""
    while len(read) < _LARGEST and time.monotonic() < ends and (piece := answer.read1(_LARGEST - len(read))):
        read += piece
    return read


def _chatting(models: list[Any]) -> Iterator[Listed]:
    for model in models:
        id = model.get("id") if isinstance(model, dict) else None
        if isinstance(id, str) and _NAME.fullmatch(id) and not _NO_CHAT.search(id):
            context = model.get("max_model_len")  # vLLM's
            yield Listed(id, context if isinstance(context, int) and context > 0 else None)
