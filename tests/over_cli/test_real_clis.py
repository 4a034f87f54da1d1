"""The real codex and gemini, as the built-in descriptions run them, against a provider on loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import pytest

from orchestrator.errors import AuthenticationFailed, ModelError, RateLimited
from orchestrator.hall.terms import Role
from orchestrator.models.base import Endpoint, Message, Request, Shape, Task
from orchestrator.models.cli_agent import CliAgent
from orchestrator.models.cli_known import CLIS
from orchestrator.models.cli_process import MARK

if TYPE_CHECKING:
    from cli_provider import CliProvider

pytestmark = pytest.mark.anyio

TASK = Task("turn", Role.WALL, "validator", None, round=1, rounds=1, last=False, topic="Kafka or not?")
CODEX, GEMINI = "cli/codex:gpt-6.1-sol", "cli/gemini:gemini-4-argon"
DEADLINE_S = 120


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.setenv("TMPDIR", str(temporary))
    yield
    assert called_by(tmp_path) == []
    assert list(temporary.glob("debate-hall-*")) == []


def called_by(tmp_path: Path) -> list[str]:
    """The processes that a call of this test started and that are still there."""
    found = []
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            seen = place.read_bytes()
        except OSError:
            continue
        if f"{MARK}=".encode() in seen and str(tmp_path).encode() in seen:
            found.append(place.parent.name)
    return found


def asked(route: str, to_provider: tuple[str, ...], text: str = "Kafka or not?", **fields: Any) -> Request:
    cli = replace(CLIS["codex"], extra_args=to_provider) if route == CODEX else None
    messages = (Message("system", "You are the wall."), Message("user", text))
    return Request(
        route,
        messages,
        TASK,
        max_output_tokens=500,
        timeout_s=fields.pop("timeout_s", 60),
        endpoint=Endpoint(cli=cli),
        **fields,
    )


async def failed(agent: CliAgent, request: Request) -> ModelError:
    with anyio.fail_after(DEADLINE_S), pytest.raises(ModelError) as caught:
        await agent.complete(request)
    return caught.value


@pytest.mark.parametrize("route", [CODEX, GEMINI])
async def test_it_answers_as_its_description_says(
    route: str, signed_in: dict[str, str], to_provider: tuple[str, ...], provider: CliProvider
) -> None:
    provider.reply = lambda call: "Keep **both**.\n\n- {one}\n- two"
    with anyio.fail_after(DEADLINE_S):
        reply = await CliAgent(signed_in).complete(asked(route, to_provider))
    (call,) = provider.calls
    assert reply.text == "Keep **both**.\n\n- {one}\n- two"
    assert (reply.usage.input, reply.usage.cached, reply.usage.output) == call.charged
    assert (reply.model, call.model) == (route.partition(":")[2],) * 2
    assert next(text for role, text in call.messages if role in ("system", "developer")).strip() == "You are the wall."
    assert "Kafka or not?" in call.task
    assert call.headers.get("x-goog-api-key", call.headers.get("Authorization")) in (
        "gemini-key-on-loopback",
        "Bearer codex-key-on-loopback",
    )


@pytest.mark.parametrize("route", [CODEX, GEMINI])
async def test_what_it_adds_of_its_own_is_less_than_its_bound_says(
    route: str, signed_in: dict[str, str], to_provider: tuple[str, ...], provider: CliProvider
) -> None:
    with anyio.fail_after(DEADLINE_S):
        await CliAgent(signed_in).complete(asked(route, to_provider))
    (call,) = provider.calls
    assert len(json.dumps(call.body)) < CLIS[route[4:].partition(":")[0]].own_tokens


def calls_a_tool(route: str, file: Path) -> str:
    """What a model says that wants to read a file."""
    if route == GEMINI:
        return json.dumps({"type": "call", "name": "read_file", "args": {"file_path": str(file)}})
    script = f"text(JSON.stringify(await tools.exec_command({{cmd: 'cat {file}'}})))"
    return json.dumps({"type": "custom_tool_call", "id": "i", "call_id": "c", "name": "exec", "input": script})


@pytest.mark.parametrize("route", [CODEX, GEMINI])
async def test_a_model_that_calls_a_tool_all_the_same_gets_nothing_by_it(
    route: str, signed_in: dict[str, str], to_provider: tuple[str, ...], provider: CliProvider, tmp_path: Path
) -> None:
    file = tmp_path / "of-the-user.txt"
    file.write_text("nobody's business")
    provider.reply = lambda call: calls_a_tool(route, file) if call.nth == 1 else "I was refused."
    with anyio.fail_after(DEADLINE_S):
        reply = await CliAgent(signed_in).complete(asked(route, to_provider))
    assert reply.text == "I was refused."
    assert len(provider.calls) == 2
    assert "nobody's business" not in json.dumps([call.body for call in provider.calls])


async def test_codex_starts_no_agents_of_its_own(
    signed_in: dict[str, str], to_provider: tuple[str, ...], provider: CliProvider
) -> None:
    task = json.dumps({"task_name": "helper", "message": "Say hi."})
    call = {"id": "i", "call_id": "c", "name": "spawn_agent", "namespace": "collaboration", "arguments": task}
    provider.reply = lambda asked: json.dumps({"type": "function_call"} | call) if asked.nth == 1 else "I am alone."
    with anyio.fail_after(DEADLINE_S):
        await CliAgent(signed_in).complete(asked(CODEX, to_provider))
    assert len(provider.calls) == 2
    assert "unsupported call" in provider.calls[1].task


async def test_codex_would_read_the_file_if_its_tools_were_on(
    signed_in: dict[str, str], to_provider: tuple[str, ...], provider: CliProvider, tmp_path: Path
) -> None:
    file = tmp_path / "of-the-user.txt"
    file.write_text("nobody's business")
    provider.reply = lambda call: calls_a_tool(CODEX, file) if call.nth == 1 else "I read it."
    request = asked(CODEX, (*to_provider, "-c", "features.code_mode_host=true", "-c", "features.shell_tool=true"))
    with anyio.fail_after(DEADLINE_S):
        await CliAgent(signed_in).complete(request)
    assert "nobody's business" in provider.calls[1].prompt


async def test_gemini_is_given_no_tools(
    signed_in: dict[str, str], to_provider: tuple[str, ...], provider: CliProvider
) -> None:
    with anyio.fail_after(DEADLINE_S):
        await CliAgent(signed_in).complete(asked(GEMINI, to_provider))
    assert not any(tools.get("functionDeclarations") for tools in provider.calls[0].body.get("tools", ()))


@pytest.mark.parametrize("route", [CODEX, GEMINI])
async def test_a_megabyte_of_prompt_arrives_whole(
    route: str, signed_in: dict[str, str], to_provider: tuple[str, ...], provider: CliProvider
) -> None:
    text = "Wände, Türen, Wind. " * 50_000
    with anyio.fail_after(DEADLINE_S):
        await CliAgent(signed_in).complete(asked(route, to_provider, text))
    assert text.strip() in provider.calls[0].prompt


async def test_codex_is_held_to_a_schema(
    signed_in: dict[str, str], to_provider: tuple[str, ...], provider: CliProvider
) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    schema["additionalProperties"] = False
    with anyio.fail_after(DEADLINE_S):
        await CliAgent(signed_in).complete(asked(CODEX, to_provider, shape=Shape("vote", schema)))
    assert provider.calls[0].schema == schema


@pytest.mark.parametrize("route", [CODEX, GEMINI])
async def test_one_that_is_not_signed_in_says_so(
    route: str, signed_in: dict[str, str], to_provider: tuple[str, ...], provider: CliProvider, tmp_path: Path
) -> None:
    nobody = {"PATH": signed_in["PATH"], "HOME": str(tmp_path)}
    error = await failed(CliAgent(nobody), asked(route, to_provider))
    assert isinstance(error, AuthenticationFailed)
    assert error.cure in ("Run `codex login` in a terminal and sign in.", "Run `gemini` in a terminal and sign in.")
    assert provider.calls == []


@pytest.mark.parametrize("route", [CODEX, GEMINI])
async def test_a_key_that_is_refused_is_told(
    route: str, signed_in: dict[str, str], to_provider: tuple[str, ...], provider: CliProvider
) -> None:
    from endpoint import wrong_key

    provider.inject(wrong_key())
    assert type(await failed(CliAgent(signed_in), asked(route, to_provider))) is AuthenticationFailed


async def test_a_limit_that_codex_meets_is_told(
    signed_in: dict[str, str], to_provider: tuple[str, ...], provider: CliProvider
) -> None:
    from endpoint import out_of_quota

    provider.inject(out_of_quota())
    assert type(await failed(CliAgent(signed_in), asked(CODEX, to_provider))) is RateLimited


async def test_a_limit_that_gemini_waits_for_is_told_when_the_time_is_over(
    signed_in: dict[str, str], to_provider: tuple[str, ...], provider: CliProvider
) -> None:
    from endpoint import rate_limited

    provider.inject(rate_limited(1))
    error = await failed(CliAgent(signed_in), asked(GEMINI, to_provider, timeout_s=15))
    assert isinstance(error, RateLimited)
    assert "no answer in time" in error.message


@pytest.mark.parametrize("route", [CODEX, GEMINI])
async def test_cancelling_ends_it_and_its_children(
    route: str, signed_in: dict[str, str], to_provider: tuple[str, ...], provider: CliProvider, tmp_path: Path
) -> None:
    from endpoint import stalled

    provider.inject(stalled())
    with anyio.fail_after(DEADLINE_S):
        async with anyio.create_task_group() as group:
            group.start_soon(CliAgent(signed_in).complete, asked(route, to_provider))
            await anyio.to_thread.run_sync(provider.arrived.wait)
            assert called_by(tmp_path) != []
            group.cancel_scope.cancel()


@pytest.mark.parametrize("name", ["codex", "gemini"])
async def test_a_probe_tells_its_version(name: str, signed_in: dict[str, str]) -> None:
    with anyio.fail_after(DEADLINE_S):
        probe = await CliAgent(signed_in).probe(CLIS[name], seconds=60)
        assert probe.version is not None
        assert (probe.command, probe.signed_in) == (name, True)
        nobody = await CliAgent({**signed_in, "CODEX_API_KEY": "", "GEMINI_API_KEY": ""}).probe(CLIS[name], seconds=60)
        assert nobody.signed_in is {"codex": False, "gemini": None}[name]


MODELS = """\
routes:
  PATHOS: [openai/wind-1]
  ETHOS: [{codex}]
  LOGOS: [{gemini}]
models:
  openai/wind-1:
    api_base: {address}
  cli/codex:
    cli: {{extra_args: {extra_args}}}
defaults: {{timeout_s: 120}}
"""


def test_a_speed_debate_with_codex_as_wall_and_gemini_as_door(
    signed_in: dict[str, str], to_provider: tuple[str, ...], provider: CliProvider, tmp_path: Path
) -> None:
    models = tmp_path / "models.yaml"
    told = MODELS.format(codex=CODEX, gemini=GEMINI, address=provider.base_url, extra_args=json.dumps(to_provider))
    models.write_text(told)
    run = subprocess.run(
        [
            str(Path(sysconfig.get_path("scripts"), "run-debate")),
            *("--recipe", "speed", "--models", str(models), "--json", "Should we move billing to Kafka?"),
        ],
        cwd=tmp_path,
        env={
            **signed_in,
            "DEBATE_HALL_STATE_DIR": str(tmp_path / "state"),
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        },
        capture_output=True,
        text=True,
        timeout=DEADLINE_S * 2,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout)
    assert [(turn["role"], turn["model"]) for turn in result["turns"]] == [
        ("Wind", "wind-1"),
        ("Wall", "gpt-6.1-sol"),
        ("Door", "gemini-4-argon"),
    ]
    wind, wall, _ = (turn["content"] for turn in result["turns"])
    by_codex = [call for call in provider.calls if call.model == "gpt-6.1-sol"]
    by_gemini = [call for call in provider.calls if call.model == "gemini-4-argon"]
    assert (len(by_codex), len(by_gemini)) == (2, 2)  # a checklist and a turn; a turn and the account
    assert wind in by_codex[-1].prompt
    assert wall in by_gemini[0].prompt
    charged = [call.charged for call in provider.calls if call.charged]
    assert result["tokens"]["input"] == sum(read for read, _, _ in charged)
    assert result["tokens"]["output"] == sum(written for _, _, written in charged)
    assert result["cost_usd"] is None
    assert all(constraint["outcome"] != "open" for constraint in result["record"]["constraints"])
