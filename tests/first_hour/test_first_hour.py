"""The first hour of somebody who has one thing only: what they see, from an empty home on."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from endpoint import Answer, ModelServer, no_such_model, web_page, wrong_key

First = Callable[..., "CompletedProcess[str]"]

KEY = "not-like-any-key-0815"
TOPIC = "Should we move billing to Kafka?"
DEBATE = ("run-debate", "--recipe", "speed", TOPIC)

# Speaks as claude's documentation says it does, and lets a provider on loopback think.
CLAUDE = """\
#!{python}
import json, sys, urllib.request
if sys.argv[1:] == ["--version"]:
    print("2.1.0 (Claude Code)")
elif sys.argv[1:2] == ["auth"]:
    print("signed in")
else:
    body = {{"model": "claude-cli", "messages": [{{"role": "user", "content": sys.stdin.read()}}]}}
    request = urllib.request.Request(
        "{address}/chat/completions", json.dumps(body).encode(), {{"Content-Type": "application/json"}}
    )
    answer = json.load(urllib.request.build_opener(urllib.request.ProxyHandler({{}})).open(request))
    text = answer["choices"][0]["message"]["content"]
    usage = {{"input_tokens": 9, "output_tokens": 5}}
    print(json.dumps({{"type": "result", "is_error": False, "result": text, "usage": usage}}))
"""


def notes(said: CompletedProcess[str]) -> list[str]:
    return [line.removeprefix("note: ") for line in said.stderr.splitlines() if line.startswith("note: ")]


def is_decided(said: CompletedProcess[str]) -> bool:
    return said.returncode == 0 and said.stdout.startswith("## SYNTHESIS\n") and "closed: synthesis" in said.stderr


def reads_well(said: CompletedProcess[str]) -> bool:
    """No inside of a program is shown, no colour, no key."""
    text = said.stdout + said.stderr
    return not any(word in text for word in ("Traceback", "litellm", "\x1b[", "<html", KEY))


def sent(server: ModelServer, header: str) -> set[str]:
    """What all calls had in a header; of any that lacked it, nothing."""
    return {{name.lower(): value for name, value in call.headers.items()}.get(header, "") for call in server.calls}


# ---------------------------------------------------------------- what they have is enough


def test_only_an_anthropic_key(first: First, model_server: ModelServer) -> None:
    have = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_API_BASE": model_server.base_url.removesuffix("/v1")}
    said = first(*DEBATE, **have)
    assert is_decided(said), said.stderr
    assert reads_well(said)
    assert notes(said)[:2] == [
        "Wall speaks through anthropic/claude-opus-5-5, not openai/gpt-6.1-sol: OPENAI_API_KEY is not set.",
        "Door speaks through anthropic/claude-opus-5-5, not gemini/gemini-4-argon: "
        "GEMINI_API_KEY or GOOGLE_API_KEY is not set.",
    ]
    assert "Wind, Wall and Door ask one model (anthropic/claude-opus-5-5)" in said.stderr
    assert sent(model_server, "x-api-key") == {KEY}


def test_only_a_key_in_the_users_own_file(first: First, model_server: ModelServer, tmp_path: Path) -> None:
    own = tmp_path / "home" / ".config" / "debate-hall" / "configs" / ".env"
    own.parent.mkdir(parents=True)
    own.write_text(f"OPENAI_API_KEY={KEY}\nOPENAI_API_BASE={model_server.base_url}\n")
    own.chmod(0o600)
    said = first(*DEBATE)
    assert is_decided(said), said.stderr
    assert reads_well(said)
    assert sent(model_server, "authorization") == {f"Bearer {KEY}"}
    doctor = first("debate-hall", "doctor")
    assert f"OPENAI_API_KEY ({own})" in doctor.stdout
    assert reads_well(doctor)


def test_only_ollama(first: First, model_server: ModelServer) -> None:
    model_server.listed = ("nomic-embed-text:latest", "gpt-oss:20b")
    address = model_server.base_url.removesuffix("/v1")
    said = first(*DEBATE, ollama=address)
    assert is_decided(said), said.stderr
    assert reads_well(said)
    assert notes(said)[0] == (
        f"No key is set, so openai/gpt-oss:20b speaks for all roles, on Ollama at {address}. "
        "It cuts long prompts without a word unless its window is set: OLLAMA_CONTEXT_LENGTH=32768."
    )
    assert {call.model for call in model_server.calls} == {"gpt-oss:20b"}
    assert max_in_flight(model_server) == 1
    written = first("debate-hall", "init", ollama=address)
    assert f"found Ollama at {address}: gpt-oss:20b\n" in written.stdout
    doctor = first("debate-hall", "doctor", "--deep", ollama=address)
    assert doctor.returncode == 0, doctor.stdout
    assert "  answers  openai/gpt-oss:20b\n" in doctor.stdout


def max_in_flight(server: ModelServer) -> int:
    most = now = 0
    for what, _ in server.order():
        now += 1 if what == "started" else -1
        most = max(most, now)
    return most


def test_only_an_agent_cli(first: First, model_server: ModelServer, bin: Path) -> None:
    claude = bin / "claude"
    claude.write_text(CLAUDE.format(python=sys.executable, address=model_server.base_url))
    claude.chmod(0o755)
    said = first(*DEBATE)
    assert is_decided(said), said.stderr
    assert reads_well(said)
    assert notes(said)[0] == (
        "No key is set and no local server answers, so agent CLIs speak: "
        "Wind through cli/claude, Wall through cli/claude, Door through cli/claude."
    )
    doctor = first("debate-hall", "doctor")
    assert doctor.returncode == 0
    assert f"Agent CLI: claude: {claude}, 2.1.0 (Claude Code), signed in\n" in doctor.stdout


# ---------------------------------------------------------------- what they have is not enough


def test_nothing_at_all(first: First, tmp_path: Path) -> None:
    (tmp_path / "work" / ".env").write_text(f"OPENAI_API_KEY={KEY}\n")
    said = first(*DEBATE)
    assert (said.returncode, said.stdout) == (2, "")
    assert reads_well(said)
    assert said.stderr.startswith(
        "error: No model can be used for Wind (PATHOS): "
        "ANTHROPIC_API_KEY or OPENAI_API_KEY or GEMINI_API_KEY is not set. The .env in this folder is not read; "
        f"what of it is meant for debates belongs into {tmp_path}/home/.config/debate-hall/configs/.env. "
        "Set up one of these:\n"
    )
    for way in ("export ANTHROPIC_API_KEY=...", "ollama pull", "claude, codex, gemini", "run-debate --rehearse"):
        assert way in said.stderr
    assert len(said.stderr.splitlines()) < 24
    asked = first("run-debate", "--json", TOPIC)
    assert asked.returncode == 2
    assert json.loads(asked.stdout)["error"]["code"] == "usage"
    doctor = first("debate-hall", "doctor")
    assert doctor.returncode == 2
    assert (
        "Wind, Wall, Door: no model can be asked (ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN is not set;"
        in doctor.stdout
    )
    assert first("run-debate", "--rehearse", "--recipe", "speed", TOPIC).returncode == 0


WRONG = {
    "a wrong key": (
        wrong_key(KEY),
        (),
        "openai/gpt-6.1-sol answered HTTP 401: Incorrect API key provided: [secret removed].",
        "Check the key (debate-hall doctor says where it stands), its credit, and its right to the model.",
    ),
    "a retired model": (
        no_such_model("gpt-4-turbo"),
        ("--wind", "openai/gpt-4-turbo", "--wall", "openai/gpt-4-turbo"),
        "openai/gpt-4-turbo answered HTTP 404: The model `gpt-4-turbo` does not exist or you do not have access to it.",
        "Check the model's name, and api_base if the models file gives one.",
    ),
    "a proxy's page": (
        web_page(),
        (),
        "openai/gpt-6.1-sol: a web page instead of an answer (Welcome to nginx!)",
        "Check the address (api_base, or a proxy): an API must answer there, such as at http://host/v1.",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_goes_wrong_is_told_with_its_cure_and_can_be_gone_on_with(
    case: str, first: First, model_server: ModelServer
) -> None:
    answer, flags, words, cure = WRONG[case]
    have = {"OPENAI_API_KEY": KEY, "OPENAI_API_BASE": model_server.base_url}
    model_server.reply = failing(answer)
    said = first(*DEBATE, "--thread-id", "2026-01-06-first", *flags, **have)
    assert (said.returncode, said.stdout) == (3, "")
    assert reads_well(said)
    assert f"error: Wind wind-agent (R1.Wind.1) could not be heard: {words} {cure}\n" in said.stderr
    assert said.stderr.endswith("Go on with: run-debate --resume 2026-01-06-first\n")
    assert ("was retired on 2026-10-23. Did you mean openai/gpt-" in said.stderr) == (case == "a retired model")


def test_doctor_tells_a_wrong_key_before_a_debate_is_begun(first: First, model_server: ModelServer) -> None:
    model_server.reply = failing(wrong_key(KEY))
    said = first("debate-hall", "doctor", "--deep", OPENAI_API_KEY=KEY, OPENAI_API_BASE=model_server.base_url)
    assert said.returncode == 2
    assert reads_well(said)
    assert "  fails    openai/gpt-6.1-sol\n" in said.stdout
    assert "answered HTTP 401: Incorrect API key provided: [secret removed]." in said.stdout
    assert "Wind, Wall, Door: no model answers.\n" in said.stdout


def failing(answer: Answer) -> Callable[[object], Answer]:
    return lambda call: answer
