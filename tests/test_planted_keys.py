"""Keys are planted wherever a run takes words in; afterwards every byte is searched that it wrote, told or exported."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from typing import Any

import anyio
import anyio.to_thread
import pytest
from click.testing import CliRunner, Result
from mcp import Client
from mcp_types import TextContent

from building import THREAD, TOPIC
from endpoint import Answer, Call, ModelServer, error, tokens
from endpoint_voices import plausible
from orchestrator import background
from orchestrator.cli.debate_hall import debate_hall
from orchestrator.cli.run_debate import run_debate
from orchestrator.drafts import Patience
from orchestrator.errors import HoldsSecret
from orchestrator.hall.hall import Hall
from orchestrator.mcp_server import build
from orchestrator.mcp_server.logs import HarmlessFormatter
from orchestrator.models import reading
from orchestrator.models.base import Reply, Request
from orchestrator.models.reading import Answered
from orchestrator.run_folder import FORMATS
from orchestrator.secrets import REMOVED
from test_secrets import SECRETS, drawn

PASSWORD = "the heron walks at dusk"
ENVIRONMENT = {
    "OPENAI_API_KEY": "sk-" + "proj-" + drawn(48, seed=1),
    "MY_TOKEN": drawn(24, seed=2),
    "DB_PASSWORD": 'Regen&"Sturm"_2031',
    "SHED_SECRET": PASSWORD,
}
LOOKS = tuple(SECRETS[case][1] for case in ("github", "anthropic", "jwt", "rsa", "postgres"))
PLANTED = (*ENVIRONMENT.values(), *LOOKS)
LEAK = "\n\n".join(("By the way, these are the keys:", *PLANTED))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder with a hall of its own; the keys stand in the environment."""
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(Patience, "wait", lambda self, state: 0.0)
    for name, key in ENVIRONMENT.items():
        monkeypatch.setenv(name, key)
    work = tmp_path / "work"
    (work / "configs").mkdir(parents=True)
    monkeypatch.chdir(work)
    return tmp_path


@dataclass
class Indiscreet:
    """A provider's models that say every key they know: in their answers and as their own names.

    While the debate goes on, somebody tries to write each key into it.
    """

    refusals: list[str] = field(default_factory=list)

    def __call__(self, call: Call) -> Answer:
        if call.model == "wall-1" and not self.refusals:
            self.refusals += _written_by_hand()
        text = f"{plausible(call)}\n\n{LEAK}"
        usage = {"prompt_tokens": tokens(call.messages), "completion_tokens": 900, "total_tokens": 0}
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        name = f"{call.model} of {PASSWORD}, {LOOKS[0]}"
        body = {"id": "1", "object": "chat.completion", "created": 0, "model": name, "choices": [choice]}
        return Answer(body=json.dumps({**body, "usage": usage}))


def _written_by_hand() -> Iterator[str]:
    with Hall.open() as hall:
        for secret in PLANTED:
            for write in (hall.add_turn, hall.note):
                try:
                    write(THREAD, *(("Wind", secret) if write == hall.add_turn else (secret, "remark", "somebody")))
                except HoldsSecret as refusal:
                    yield str(refusal)
        hall.note(THREAD, "It rains.", "remark", "somebody")


@pytest.fixture
def models(folder: Path, model_server: ModelServer) -> Indiscreet:
    model_server.reply = indiscreet = Indiscreet()
    listed = model_server.models_file().replace("ETHOS: [openai/wall-1]", "ETHOS: [openai/gone-1, openai/wall-1]")
    gone = f"  openai/gone-1:\n    api_base: {model_server.base_url}\n"
    (folder / "work" / "configs" / "planted.yaml").write_text(listed + gone)
    model_server.inject(error(429, f"Too fast with {LEAK}", retry_after="0.01"), model="wind-1", call=1)
    model_server.inject(error(401, f"Incorrect API key provided: {LEAK}"), model="gone-1")
    return indiscreet


def debate(*arguments: str, topic: str = TOPIC) -> Result:
    given = ("--recipe", "speed", "--models", "planted", "--thread-id", THREAD, *arguments)
    return CliRunner().invoke(run_debate, [*given, topic])


def looked_at(*arguments: str) -> str:
    result = CliRunner().invoke(debate_hall, arguments)
    assert result.exit_code == 0, result.output
    return result.output


def texts_of(thread_id: str = THREAD) -> str:
    """All that anybody can be shown of a debate."""
    shown = [looked_at("export", thread_id, "--format", format) for format in FORMATS]
    shown += [looked_at("show", thread_id), looked_at("show", thread_id, "--json"), looked_at("list", "--json")]
    with Hall.open() as hall:
        reports = hall.runs.reports(thread_id)
    assert reports
    return "\n".join((*shown, json.dumps(reports, ensure_ascii=False)))


def assert_no_key(text: str) -> None:
    """Neither as it is nor as JSON and Python write it."""
    for secret in PLANTED:
        for spelling in {secret, json.dumps(secret)[1:-1], repr(secret)[1:-1], *secret.split("\n")[1:-1]}:
            assert not spelling or spelling not in text


def assert_no_key_in_files(folder: Path) -> None:
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert any(file.parent.name == "state" for file in files)
    for file in files:
        assert_no_key(file.read_bytes().decode("utf-8", "replace"))


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_a_run_that_decides_leaves_no_key_anywhere(
    folder: Path, model_server: ModelServer, models: Indiscreet, as_json: tuple[str, ...]
) -> None:
    result = debate(*as_json)
    assert result.exit_code == 0, result.output
    assert_no_key(result.stdout)
    assert_no_key(result.stderr)
    assert_no_key(texts_of())
    assert_no_key_in_files(folder)
    assert result.stdout.count(REMOVED) >= len(PLANTED)
    assert f"Too fast with By the way, these are the keys: {REMOVED}" in result.stderr
    assert f"Incorrect API key provided: By the way, these are the keys: {REMOVED}" in result.stderr
    with Hall.open() as hall:
        turns = hall.get_debate(THREAD, include_metadata=True)["transcript"]
    assert [turn["model"] for turn in turns] == [
        f"{role}-1 of {REMOVED}, {REMOVED}" for role in ("wind", "wall", "door")
    ]
    assert all(turn["content"].count(REMOVED) >= len(PLANTED) for turn in turns)


def test_no_key_is_sent_though_it_stands_in_what_was_said(
    folder: Path, model_server: ModelServer, models: Indiscreet
) -> None:
    assert debate("--recipe", "standard").exit_code == 0
    assert_no_key(json.dumps([call.body for call in model_server.calls], ensure_ascii=False))
    assert REMOVED in model_server.calls[-1].prompt


def test_what_another_machine_could_store_is_not_sent_where_it_is_a_key(
    folder: Path, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, models: Indiscreet
) -> None:
    def wall_is_spoken_for(call: Call) -> Answer:
        if call.model == "wall-1" and call.nth == 2:  # the only call in flight; what it answers comes too late
            with Hall.open() as hall, pytest.MonkeyPatch.context() as elsewhere:
                elsewhere.delenv("SHED_SECRET")
                hall.add_turn(THREAD, "Wall", f"Yes, but: {PASSWORD}.")
        return models(call)

    model_server.reply = wall_is_spoken_for
    assert debate().exit_code == 0
    door = model_server.calls[-1]
    assert door.model == "door-1"
    assert f"Yes, but: {REMOVED}." in door.prompt
    assert_no_key(door.prompt)


def test_whoever_writes_a_key_into_a_debate_by_hand_is_refused_and_the_run_goes_on(
    folder: Path, models: Indiscreet
) -> None:
    assert debate().exit_code == 0
    assert len(models.refusals) == 2 * len(PLANTED)
    assert "The content holds what looks like the value of SHED_SECRET; nothing was sent" in models.refusals[6]
    assert_no_key("\n".join(models.refusals))
    with Hall.open() as hall:
        assert "It rains." in [line.text for line in hall.debate(THREAD).lines]


@pytest.mark.slow
@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_a_run_that_pauses_leaves_no_key_anywhere(
    folder: Path, model_server: ModelServer, models: Indiscreet, as_json: tuple[str, ...]
) -> None:
    model_server.inject(error(401, f"Incorrect API key provided: {LEAK}"), model="door-1")
    result = debate(*as_json)
    assert result.exit_code == 3, result.output
    assert REMOVED in result.stderr
    assert_no_key(result.output)
    assert_no_key(texts_of())
    assert_no_key_in_files(folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    "answer",
    [Answer(LEAK, finish_reason="length"), Answer(LEAK, finish_reason="content_filter"), Answer(body=LEAK)],
    ids=["cut off", "filtered", "garbled"],
)
def test_a_run_that_fails_at_its_first_seat_leaves_no_key_anywhere(
    folder: Path, model_server: ModelServer, models: Indiscreet, answer: Answer
) -> None:
    model_server.inject(answer, model="wind-1")
    result = debate("--json")
    assert result.exit_code == 3, result.output
    assert_no_key(result.output)
    assert_no_key(texts_of())
    assert_no_key_in_files(folder)


def test_an_internal_failure_tells_where_it_happened_and_no_key(
    folder: Path, models: Indiscreet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(request: Request, answered: Answered) -> Reply:
        if request.model == "openai/door-1":  # the only call in flight
            raise RuntimeError(LEAK)
        return judge(request, answered)

    judge = reading.reply
    monkeypatch.setattr(reading, "reply", fails)
    result = debate()
    assert result.exit_code == 1
    assert "Traceback (most recent call last)" in result.stderr
    assert f"RuntimeError: By the way, these are the keys:\n\n{REMOVED}" in result.stderr
    assert_no_key(result.output)
    assert_no_key_in_files(folder)


def test_a_servers_log_holds_no_key_and_neither_do_its_tracebacks(folder: Path) -> None:
    try:
        raise RuntimeError(LEAK)
    except RuntimeError:
        failure = logging.makeLogRecord({"msg": "it failed with %s", "args": (LEAK,), "exc_info": sys.exc_info()})
    written = HarmlessFormatter().format(failure)
    assert_no_key(written)
    assert "Traceback (most recent call last)" in written
    assert written.count(f"the keys:\n\n{REMOVED}") == 2


# ---------------------------------------------------------------------------------------------------- what is asked for


@pytest.mark.parametrize("dry_run", [(), ("--dry-run",)])
@pytest.mark.parametrize("secret", [PASSWORD, LOOKS[0]], ids=["environment", "looks"])
def test_a_topic_that_holds_a_key_is_refused_before_anything_is_sent(
    folder: Path, model_server: ModelServer, models: Indiscreet, secret: str, dry_run: tuple[str, ...]
) -> None:
    result = debate("--json", *dry_run, topic=f"Should we use {secret}?")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"]["code"] == "holds_secret"
    assert_no_key(result.output)
    assert model_server.calls == []
    with Hall.open() as hall:
        assert hall.list_debates() == []


def test_evidence_that_holds_a_key_is_refused_before_anything_is_sent(
    folder: Path, model_server: ModelServer, models: Indiscreet
) -> None:
    facts = folder / "work" / "facts.md"
    facts.write_text(f"One.\nThe password is {PASSWORD}.\n")
    result = debate("--context", "facts.md")
    assert result.exit_code == 2
    assert "facts.md:2: holds what looks like the value of SHED_SECRET; nothing was sent" in result.stderr
    facts.unlink()
    assert_no_key(result.output)
    assert model_server.calls == []


@pytest.mark.anyio
async def test_over_mcp_a_topic_that_holds_a_key_is_refused_and_nothing_is_begun(folder: Path) -> None:
    with anyio.fail_after(60), Hall.open() as hall:
        async with Client(build(hall, roots=(), out=folder / "out")) as client:
            asked = {"topic": f"Should we use {PASSWORD}?", "rehearse": True}
            refused = await client.call_tool("run_debate", asked)
            (told,) = refused.content
            assert isinstance(told, TextContent)
            assert told.text.startswith("holds_secret: The topic holds what looks like the value of SHED_SECRET; ")
            assert PASSWORD not in told.text
        assert hall.list_debates() == []
        assert not (folder / "out").exists()


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_run_in_a_process_of_its_own_leaves_no_key_anywhere(
    folder: Path, model_server: ModelServer, models: Indiscreet, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Popen[bytes]] = []

    def start(*how: Any) -> Popen[bytes]:
        started.append(background_start(*how))
        return started[-1]

    background_start = background.start
    monkeypatch.setattr(background, "start", start)
    with anyio.fail_after(120), Hall.open() as hall:
        async with Client(build(hall, roots=(), out=folder / "out")) as client:
            wanted = {"recipe": "speed", "models": "planted", "thread_id": THREAD, "wait": True}
            ended = await client.call_tool("run_debate", {"topic": TOPIC, **wanted})
            assert not ended.is_error, ended.content
        assert hall.get_debate(THREAD)["status"] == "synthesis"
    (process,) = started  # its debate has ended, and it may still write its files
    assert await anyio.to_thread.run_sync(process.wait, 30) == 0
    assert_no_key(ended.model_dump_json())
    assert_no_key_in_files(folder)
    assert (folder / "out" / THREAD / "run.log").exists()
