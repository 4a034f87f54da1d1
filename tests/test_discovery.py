"""Who is found to speak when no key is there: local servers, then agent CLIs; with a key nobody is looked for."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

import pytest

from local_server import listing, serving
from orchestrator import discovery
from orchestrator.discovery import SERVERS, STAND_INS, agent_clis, find_stand_ins, local_servers
from orchestrator.errors import UsageError
from orchestrator.hall.terms import Cognition, Role
from orchestrator.models.base import Endpoint
from orchestrator.route import Route
from orchestrator.routing import Routing
from orchestrator.wanted import routing_of

KEY = {"OPENAI_API_KEY": "x"}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder of a user without settings; commands put into its `bin` are on the PATH."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bin").mkdir()
    return tmp_path


def install(place: Path, *commands: str) -> None:
    for command in commands:
        file = place / "bin" / command
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)


def routed(place: Path, environment: Mapping[str, str], models: str = "models", **voices: list[str]) -> Routing:
    """The routes of somebody with only this environment; no server is asked unless it names one."""
    surroundings = {"PATH": str(place / "bin"), SERVERS: "", **environment}
    return routing_of(models, surroundings, {Role(role.title()): names for role, names in voices.items()})


def firsts(routing: Routing) -> list[str]:
    return [routing.of(role, "any")[0].model for role in Role]


# ---------------------------------------------------------------- local servers


def test_ollama_is_found_where_it_says_it_listens_and_its_first_model_that_can_chat_is_taken(place: Path) -> None:
    with serving(listing("nomic-embed-text:latest", "qwen3:8b", "gpt-oss:20b")) as address:
        host = address.removeprefix("http://")
        stand_ins = find_stand_ins({"OLLAMA_HOST": host, "PATH": ""})
    assert stand_ins is not None
    endpoint = Endpoint(api_base=f"{address}/v1", timeout_s=600, max_parallel=1)
    assert stand_ins.routes == dict.fromkeys(Cognition, (Route("openai/qwen3:8b", endpoint),))
    assert stand_ins.why == (
        f"No key is set, so openai/qwen3:8b speaks for all roles, on Ollama at {address}. "
        "It cuts long prompts without a word unless its window is set: OLLAMA_CONTEXT_LENGTH=32768."
    )


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8", "http://127.0.0.1:8"),
        (":8", "http://127.0.0.1:8"),
        ("localhost:8", "http://localhost:8"),
        ("http://127.0.0.1:8/", "http://127.0.0.1:8"),
        ("[::1]:8", "http://[::1]:8"),
        ("[::]", "http://127.0.0.1:11434"),
        ("192.0.2.1", None),
        ("https://example.com:443", None),
        ("ollama.internal:11434", None),
        ("a:b:c", None),
    ],
)
def test_only_this_machine_is_asked(host: str, address: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(discovery, "_ask", lambda name, address: asked.append(address))
    local_servers({"OLLAMA_HOST": host})
    assert asked == [
        *([address] if address else []),
        *(f"http://127.0.0.1:{port}" for port in (1234, 8080, 8000)),
    ]


def test_what_a_server_says_of_its_window_is_taken(place: Path) -> None:
    with serving(listing("m", max_model_len=8192)) as address:
        (route,) = routed(place, {SERVERS: f"http://127.0.0.1:9, {address}/v1"}).of(Role.WIND, "any")
    assert (route.model, route.endpoint.api_base, route.endpoint.context_tokens) == ("openai/m", f"{address}/v1", 8192)


def test_the_window_that_ollama_was_given_is_taken() -> None:
    with serving(listing("m")) as address:
        stand_ins = find_stand_ins({"OLLAMA_HOST": address, "OLLAMA_CONTEXT_LENGTH": "16384", "PATH": ""})
    assert stand_ins is not None
    assert {route.endpoint.context_tokens for routes in stand_ins.routes.values() for route in routes} == {16384}
    assert "cuts" not in stand_ins.why


@pytest.mark.parametrize(
    "answer",
    [
        {"body": "<html>a wiki</html>", "content_type": "text/html"},
        {"body": listing("m"), "status": 404},
        {"body": listing("m"), "status": 302, "location": "http://192.0.2.1/v1/models"},
        {"body": '{"data": [{"id"'},
        {"body": '["a"]'},
        {"body": "[" * 100_000},
        {"body": '{"data": {}}'},
        {"body": '{"data": [{"id": 7}, {}, "m", {"id": "two words"}, {"id": "\\u001b[2J"}]}'},
        {"body": listing("bge-m3", "text-embedding-nomic-embed-text-v1.5", "whisper-large")},
        {"body": " " * (1 << 20) + listing("m")},
    ],
    ids=["web page", "not found", "redirect", "broken", "list", "deep", "no list", "no names", "no chat", "endless"],
)
def test_what_is_no_model_server_is_passed_over(place: Path, answer: dict[str, str]) -> None:
    with serving(**answer) as address, pytest.raises(UsageError, match="No model can be used"):  # type: ignore[arg-type]
        routed(place, {SERVERS: address}).of(Role.WIND, "any")


def test_a_port_that_takes_connections_and_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "_PATIENCE_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert local_servers({SERVERS: f"http://127.0.0.1:{silent.getsockname()[1]}"}) == ()


def test_a_server_that_answers_drop_by_drop_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "_PATIENCE_S", 0.2)
    given_up = Event()

    def drip(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection, suppress(OSError):
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n")
            for _ in range(900):
                connection.sendall(b" ")
                if given_up.wait(0.05):
                    return

    with socket.create_server(("127.0.0.1", 0)) as server:
        dripping = Thread(target=drip, args=(server,))
        dripping.start()
        began = time.monotonic()
        try:
            assert local_servers({SERVERS: f"http://127.0.0.1:{server.getsockname()[1]}"}) == ()
            assert time.monotonic() - began < 20, "all of it would take 45 seconds"
        finally:
            given_up.set()
            dripping.join()


# ---------------------------------------------------------------- agent CLIs


def test_agent_clis_speak_when_no_server_answers_each_for_another_role(place: Path) -> None:
    install(place, "claude", "codex", "gemini")
    routing = routed(place, {})
    assert firsts(routing) == ["cli/claude", "cli/codex", "cli/gemini"]
    assert [route.model for route in routing.of(Role.WALL, "any")] == ["cli/codex", "cli/gemini", "cli/claude"]
    assert routing.notices == (
        "No key is set and no local server answers, so agent CLIs speak: "
        "Wind through cli/claude, Wall through cli/codex, Door through cli/gemini.",
    )


def test_the_only_agent_cli_speaks_for_all_roles_and_the_run_says_so(place: Path) -> None:
    install(place, "codex")
    routing = routed(place, {})
    assert firsts(routing) == ["cli/codex"] * 3
    assert "Wind through cli/codex, Wall through cli/codex, Door through cli/codex." in routing.notices[0]


def test_a_file_that_cannot_be_run_is_no_agent_cli(place: Path) -> None:
    (place / "bin" / "claude").write_text("#!/bin/sh\n")
    assert agent_clis({"PATH": str(place / "bin")}) == {}


# ---------------------------------------------------------------- the order


def test_a_server_comes_before_an_agent_cli(place: Path) -> None:
    install(place, "claude")
    with serving(listing("m")) as address:
        assert firsts(routed(place, {SERVERS: address})) == ["openai/m"] * 3


def test_with_a_key_nobody_else_is_looked_for(place: Path) -> None:
    install(place, "claude")
    asked: list[str] = []
    with serving(listing("m"), asked=asked) as address:
        assert firsts(routed(place, KEY | {SERVERS: address})) == ["openai/gpt-6.1-sol"] * 3
        assert asked == []
        assert firsts(routed(place, {SERVERS: address})) == ["openai/m"] * 3
        assert asked == ["/v1/models"]


def test_with_flags_for_every_role_nobody_else_is_looked_for(place: Path) -> None:
    asked: list[str] = []
    with serving(listing("m"), asked=asked) as address:
        voices = {"wind": ["ollama/a"], "wall": ["ollama/a"], "door": ["ollama/a"]}
        assert firsts(routed(place, {SERVERS: address}, **voices)) == ["ollama/a"] * 3
    assert asked == []


def test_a_models_file_that_is_named_is_taken_at_its_word(place: Path) -> None:
    install(place, "claude")
    (place / "own.yaml").write_text("routes: {PATHOS: [openai/o], ETHOS: [gemini/g], LOGOS: [openai/o]}\n")
    with pytest.raises(UsageError, match=r"No model can be used for Wall \(ETHOS\): GEMINI_API_KEY is not set"):
        routed(place, KEY, models="own.yaml").of(Role.WALL, "any")


def test_a_role_without_a_key_of_its_own_borrows_from_the_others(place: Path) -> None:
    (place / "configs").mkdir()
    (place / "configs" / "models.yaml").write_text(
        "routes: {PATHOS: [openai/o], ETHOS: [gemini/g], LOGOS: [openai/o]}\n"
    )
    routing = routed(place, KEY)
    assert firsts(routing) == ["openai/o"] * 3
    assert "Wall speaks through openai/o, not gemini/g: GEMINI_API_KEY or GOOGLE_API_KEY is not set." in routing.notices


def test_a_key_that_no_route_asks_for_is_spoken_of(place: Path) -> None:
    with pytest.raises(
        UsageError, match=r"OPENROUTER_API_KEY is set, and no route asks openrouter: name one, such as --w"
    ):
        routed(place, {"OPENROUTER_API_KEY": "x"}).of(Role.WIND, "any")


def test_stand_ins_can_be_forbidden(place: Path) -> None:
    install(place, "claude")
    with serving(listing("m")) as address, pytest.raises(UsageError, match="No model can be used"):
        routed(place, {SERVERS: address, STAND_INS: "none"}).of(Role.WIND, "any")


@pytest.mark.parametrize("word", ["no", "off", "nobody"])
def test_who_forbids_stand_ins_in_another_word_is_told_before_any_speaks(place: Path, word: str) -> None:
    install(place, "claude")
    with pytest.raises(UsageError, match=f"{STAND_INS} is '{word}'. Set it to none, or leave it out."):
        routed(place, {STAND_INS: word})


@pytest.mark.parametrize("address", ["http://192.0.2.1:8080", "https://127.0.0.1", "localhost:8080", "8080"])
def test_an_address_beyond_this_machine_is_refused_as_a_local_server(address: str) -> None:
    with pytest.raises(UsageError, match=f"{SERVERS} names what is no http address of this machine"):
        local_servers({SERVERS: f"http://127.0.0.1:9,{address}"})
