"""Agent CLIs: stand-ins that are run for real, and of which nothing is left."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from stand_in import SAYS, StandIn, claude_says, codex_says, gemini_says, is_alive, stand_in

from orchestrator.budget import Budget
from orchestrator.errors import (
    AuthenticationFailed,
    BadRequest,
    ConnectionFailed,
    ContextTooLong,
    CutOff,
    EmptyReply,
    GarbledReply,
    ModelError,
    NoSuchModel,
    Overloaded,
    RateLimited,
    ServerFailed,
    TimedOut,
)
from orchestrator.hall.terms import Role
from orchestrator.models import cli_process
from orchestrator.models.base import Cli, Endpoint, Message, Reply, Request, Shape, Task, Usage
from orchestrator.models.cli_agent import CliAgent, Probe
from orchestrator.models.cli_known import CLIS
from orchestrator.models.cli_process import MARK, marked
from orchestrator.models.switchboard import Switchboard

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

TASK = Task("turn", Role.WALL, "validator", None, round=1, rounds=1, last=False, topic="Kafka or not?")
MESSAGES = (Message("system", "Be brief."), Message("user", "Kafka or not?"), Message("user", "You are Wall."))
SECRET = "sk-proj-Zq9vT2mXw8LkR4sYb7Nc1Hd6"
HANGS = "time.sleep(600)"
DEADLINE_S = 30


def asked(route: str, messages: tuple[Message, ...] = MESSAGES, **fields: Any) -> Request:
    return Request(route, messages, TASK, **{"max_output_tokens": 500, "timeout_s": 20.0} | fields)


def says(text: str) -> str:
    return f"say({text!r})"


@pytest.fixture
def make(tmp_path: Path) -> Callable[[str, str], StandIn]:
    return stand_in(tmp_path)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}


@pytest.fixture
def agent(environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CliAgent:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    return CliAgent(environment)


@pytest.fixture(autouse=True)
def nothing_is_left(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """After every test: no process of a stand-in, no folder, no thread."""
    yield
    for place in tmp_path.glob("of *"):
        if not (place / "seen").exists():
            continue
        left = StandIn(place)
        assert [pid for pid in left.processes if is_alive(pid)] == []
        assert tuple(marked(left.seen["environment"][MARK])) == ()
        assert not Path(left.seen["folder"]).exists()
    assert list((tmp_path / "temporary").glob("debate-hall-*")) == []
    for thread in threading.enumerate():
        if thread.name.startswith("waitpid"):  # asyncio's: it has seen the end, and ends itself
            thread.join(DEADLINE_S)
            assert not thread.is_alive()


async def failed(agent: CliAgent, request: Request) -> ModelError:
    with anyio.fail_after(DEADLINE_S), pytest.raises(ModelError) as caught:
        await agent.complete(request)
    return caught.value


# ---------------------------------------------------------------- what is asked


async def test_codex_gets_its_system_prompt_by_file_and_the_rest_on_standard_input(
    agent: CliAgent, make: Callable[[str, str], StandIn]
) -> None:
    codex = make("codex", says(codex_says("Keep **both**.")))
    reply = await agent.complete(asked("cli/codex:gpt-6.1-sol"))
    assert reply == Reply("Keep **both**.", "gpt-6.1-sol", Usage(100, 40, 20, None, thinking=7))
    assert codex.prompt == b"Kafka or not?\n\nYou are Wall."
    assert codex.seen["files"] == {"system.md": "Be brief."}
    assert codex.seen["arguments"][0] == "exec"
    assert codex.seen["arguments"][-2:] == ["--model", "gpt-6.1-sol"]


async def test_claude_and_gemini_get_theirs_by_file_too_and_their_tools_are_off(
    agent: CliAgent, make: Callable[[str, str], StandIn]
) -> None:
    claude, gemini = make("claude", says(claude_says("Yes."))), make("gemini", says(gemini_says("No.")))
    assert (await agent.complete(asked("cli/claude"))).text == "Yes."
    assert claude.seen["files"] == {"system.md": "Be brief."}
    assert claude.prompt == b"Kafka or not?\n\nYou are Wall."
    tools = claude.seen["arguments"].index("--tools")
    assert claude.seen["arguments"][tools + 1] == ""
    assert "--model" not in claude.seen["arguments"]
    reply = await agent.complete(asked("cli/gemini"))
    assert reply == Reply("No.", "gemini-4-argon", Usage(100, 40, 27, None, thinking=7))
    assert gemini.seen["files"]["system.md"] == "Be brief."
    assert 'decision = "deny"' in gemini.seen["files"]["no-tools.toml"]


async def test_a_cli_of_ones_own_that_takes_no_system_prompt_reads_it_in_front_of_the_prompt(
    agent: CliAgent, make: Callable[[str, str], StandIn]
) -> None:
    ours = make("our-agent", says("\x1b[1mNeither.\x1b[0m\r\n"))
    cli = Cli("our-agent", args=("--in", "{folder}"), settings=(("OUR_MODE", "{model}"),), model="big")
    reply = await agent.complete(asked("cli/ours", endpoint=Endpoint(cli=cli)))
    assert reply == Reply("Neither.", "big", Usage(0, 0, 0, None))
    assert ours.prompt == b"Be brief.\n\nKafka or not?\n\nYou are Wall."
    assert ours.seen["arguments"] == ["--in", ours.seen["folder"], "--model", "big"]
    assert ours.seen["environment"]["OUR_MODE"] == "big"


async def test_an_answer_that_was_sent_back_stands_before_why(
    agent: CliAgent, make: Callable[[str, str], StandIn]
) -> None:
    codex = make("codex", says(codex_says("Again.")))
    await agent.complete(asked("cli/codex", (*MESSAGES, Message("assistant", "Hm."), Message("user", "Too short."))))
    assert codex.prompt.endswith(b"You are Wall.\n\nYou answered before:\n\nHm.\n\nToo short.")


async def test_effort_and_schema_reach_a_cli_that_takes_them_and_what_none_takes_is_told(
    agent: CliAgent, make: Callable[[str, str], StandIn]
) -> None:
    codex, shape = make("codex", says(codex_says("{}"))), Shape("vote", {"type": "object"})
    request = asked("cli/codex", temperature=0.7, shape=shape, endpoint=Endpoint(effort="low"))
    assert (await agent.complete(request)).left_out == ("temperature 0.7",)
    assert 'model_reasoning_effort="low"' in codex.seen["arguments"]
    assert codex.seen["files"]["schema.json"] == '{"type": "object"}'
    make("claude", says(claude_says("{}")))
    request = asked("cli/claude", shape=shape, endpoint=Endpoint(effort="low"))
    assert (await agent.complete(request)).left_out == ("effort low",)


async def test_a_megabyte_of_prompt_goes_through_standard_input(
    agent: CliAgent, make: Callable[[str, str], StandIn]
) -> None:
    codex, prompt = make("codex", says(codex_says("Read."))), "Wände, Türen, Wind. " * 50_000
    await agent.complete(asked("cli/codex", (Message("system", "Be brief."), Message("user", prompt))))
    assert sha256(codex.prompt).digest() == sha256(prompt.encode()).digest()
    assert sum(map(len, codex.seen["arguments"])) < 4000


async def test_a_prompt_that_nobody_reads_breaks_nothing(
    agent: CliAgent, make: Callable[[str, str], StandIn], tmp_path: Path
) -> None:
    make("codex", "")  # which reads
    (tmp_path / "bin" / "codex").write_text(f"#!{sys.executable} -IS\nprint({codex_says('Unread.')!r})")
    request = asked("cli/codex", (Message("user", "x" * 1_000_000),))
    assert (await agent.complete(request)).text == "Unread."


# ---------------------------------------------------------------- where it runs


async def test_it_runs_in_an_empty_folder_of_its_own_and_in_a_session_of_its_own(
    agent: CliAgent, make: Callable[[str, str], StandIn]
) -> None:
    codex = make("codex", says(codex_says("Here.")) + "\nopen('left-behind', 'w').write('x')")
    await agent.complete(asked("cli/codex"))
    seen = codex.seen
    assert seen["holds"] == []
    assert seen["group"] == seen["pid"] != os.getpgrp()
    assert seen["arguments"][seen["arguments"].index("-C") + 1] == seen["folder"]


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("claude", {"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"}),
        ("codex", {"CODEX_API_KEY"}),
        ("gemini", {"GEMINI_API_KEY", "GOOGLE_CLOUD_PROJECT"}),
    ],
)
async def test_it_sees_no_key_but_its_own(
    name: str, own: set[str], agent: CliAgent, environment: dict[str, str], make: Callable[[str, str], StandIn]
) -> None:
    keys = {"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "CODEX_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"}
    others = {
        "DEBATE_HALL_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "DATABASE_URL",
        "PYTHONPATH",
        "OPENAI_API_KEY",
    }
    environment |= dict.fromkeys(keys | others | {"GOOGLE_CLOUD_PROJECT"}, SECRET)
    environment |= {"LC_ALL": "C.UTF-8", "XDG_CONFIG_HOME": "/x", "HTTPS_PROXY": "http://p", "SSL_CERT_FILE": "/c"}
    stood_in = make(name, says(SAYS[name]("Seen.")))
    await agent.complete(asked(f"cli/{name}"))
    seen = stood_in.seen["environment"]
    harmless = {"PATH", "HOME", "LC_ALL", "XDG_CONFIG_HOME", "HTTPS_PROXY", "SSL_CERT_FILE", "TERM", "NO_COLOR", MARK}
    assert seen.keys() - harmless - dict(CLIS[name].settings).keys() == own
    assert (seen["TERM"], seen["NO_COLOR"]) == ("dumb", "1")


async def test_two_at_once_know_nothing_of_each_other(agent: CliAgent, make: Callable[[str, str], StandIn]) -> None:
    claude, gemini = make("claude", says(claude_says("A"))), make("gemini", says(gemini_says("B")))
    async with anyio.create_task_group() as group:
        group.start_soon(agent.complete, asked("cli/claude"))
        group.start_soon(agent.complete, asked("cli/gemini"))
    assert claude.seen["folder"] != gemini.seen["folder"]
    assert claude.seen["environment"][MARK] != gemini.seen["environment"][MARK]


def test_the_switchboard_leads_to_it() -> None:
    assert isinstance(Switchboard().of("cli/codex:gpt-6.1-sol"), CliAgent)
    assert not isinstance(Switchboard().of("openai/gpt-6.1-sol"), CliAgent)


# ---------------------------------------------------------------- what comes back


@pytest.mark.parametrize("name", list(SAYS))
async def test_banners_and_colours_are_no_part_of_the_answer(
    name: str, agent: CliAgent, make: Callable[[str, str], StandIn]
) -> None:
    said = SAYS[name]("One {\n\n`two` {}\n\u001b[31mthree\u001b[0m")
    noise = "\x1b]0;agent\x07\x1b[1;32m✔ Welcome!\x1b[0m {beta}\n{ not json\r\n⠋ thinking…\x1b[2K\n"
    make(name, says(f"{noise}{said}\n\x1b[33mA new version is there: {{2.0}}\x1b[0m\n"))
    assert (await agent.complete(asked(f"cli/{name}"))).text == "One {\n\n`two` {}\nthree"


async def test_what_claude_says_it_cost_is_the_cost(agent: CliAgent, make: Callable[[str, str], StandIn]) -> None:
    make("claude", says(claude_says("Yes.")))
    assert (await agent.complete(asked("cli/claude"))).usage == Usage(100, 30, 7, Decimal("0.0123"))


async def test_a_price_of_the_models_file_counts_where_the_cli_tells_none(
    agent: CliAgent, make: Callable[[str, str], StandIn]
) -> None:
    make("codex", says(codex_says("Yes.")))
    priced = Endpoint(input_cost_per_token=Decimal("0.01"), output_cost_per_token=Decimal("0.1"))
    assert (await agent.complete(asked("cli/codex", endpoint=priced))).usage.cost_usd == Decimal("3.00")


async def test_two_megabytes_of_output_are_read(agent: CliAgent, make: Callable[[str, str], StandIn]) -> None:
    make("codex", f"say({codex_says('@')!r}.replace('@', 'long ' * 400_000 + 'end'))")
    text = (await agent.complete(asked("cli/codex"))).text
    assert (len(text), text[-8:]) == (2_000_003, "long end")


async def test_output_without_end_is_not_waited_for(agent: CliAgent, make: Callable[[str, str], StandIn]) -> None:
    make("codex", "child()\nwhile True: say('x' * (1 << 20))")
    error = await failed(agent, asked("cli/codex"))
    assert (type(error), error.message) == (GarbledReply, "cli/codex: it wrote more than 16 MiB")


async def test_complaints_without_end_fill_no_disk(agent: CliAgent, make: Callable[[str, str], StandIn]) -> None:
    make("codex", "import sys\nwhile True: sys.stderr.write('x' * (1 << 20))")
    error = await failed(agent, asked("cli/codex"))
    assert (type(error), error.message) == (GarbledReply, "cli/codex: it wrote more than 16 MiB")


@pytest.mark.parametrize("name", list(SAYS))
async def test_an_empty_answer_is_none(name: str, agent: CliAgent, make: Callable[[str, str], StandIn]) -> None:
    make(name, says(SAYS[name](" \n")))
    error = await failed(agent, asked(f"cli/{name}"))
    assert type(error) is EmptyReply
    assert error.usage is not None
    assert error.usage.input == 100


@pytest.mark.parametrize(
    "output", ["", "It works!", "{broken", '["result"]', '{"other": 1}', '{"result": 7}', "{" * 5000]
)
async def test_what_holds_no_answer_is_garbled(
    output: str, agent: CliAgent, make: Callable[[str, str], StandIn]
) -> None:
    make("claude", says(output))
    assert type(await failed(agent, asked("cli/claude"))) is GarbledReply


# ---------------------------------------------------------------- what goes wrong

CODEX_FAILS = '{"type":"error","message":"Reconnecting... 2/5"}\n{"type":"turn.failed","error":{"message":"%s"}}\n'


@pytest.mark.parametrize(
    ("name", "output", "errors", "code", "kind", "words"),
    [
        ("claude", claude_says("Please run /login", is_error=True), "", 1, AuthenticationFailed, "/login"),
        ("claude", claude_says("Claude AI usage limit reached|1764000000", is_error=True), "", 1, RateLimited, "usage"),
        ("claude", claude_says("API Error: 529 overloaded_error", is_error=True), "", 1, Overloaded, "529"),
        ("claude", claude_says("Prompt is too long", is_error=True), "", 1, ContextTooLong, "too long"),
        ("claude", claude_says("It broke.", is_error=True), "", 0, ServerFailed, "It broke."),
        ("claude", "", "error: unknown option '--tools'", 1, BadRequest, "'--tools' (exit code 1)"),
        ("codex", CODEX_FAILS % "unexpected status 401 Unauthorized", "", 1, AuthenticationFailed, "401"),
        ("codex", CODEX_FAILS % "The model `gpt-9` does not exist or is not supported", "", 1, NoSuchModel, "gpt-9"),
        ("codex", CODEX_FAILS % "stream disconnected before completion", "", 1, ConnectionFailed, "disconnected"),
        ("codex", "", "error: unexpected argument '--nonsense' found", 2, BadRequest, "--nonsense"),
        ("codex", "", "thread 'main' panicked", 101, ServerFailed, "panicked (exit code 101)"),
        ("gemini", "", '{"error": {"message": "Please set an Auth method"}}', 41, AuthenticationFailed, "Auth method"),
        ("gemini", "", "No input provided via stdin.", 42, BadRequest, "No input"),
        ("gemini", "", "Reached max session turns", 53, CutOff, "max session turns"),
        ("gemini", '{"error": {"message": "RESOURCE_EXHAUSTED: quota"}}', "", 1, RateLimited, "quota"),
        ("gemini", "", "", 1, ServerFailed, "exit code 1"),
    ],
)  # fmt: skip
async def test_a_run_that_fails_says_what_it_means(
    name: str,
    output: str,
    errors: str,
    code: int,
    kind: type[ModelError],
    words: str,
    agent: CliAgent,
    make: Callable[[str, str], StandIn],
) -> None:
    make(name, f"{says(output)}\nsys.stderr.write({errors!r})\nsys.exit({code})")
    error = await failed(agent, asked(f"cli/{name}"))
    assert (type(error), error.model) == (kind, f"cli/{name}")
    assert words in error.message


@pytest.mark.parametrize(
    ("name", "code", "cure"),
    [("codex", 1, "Run `codex login`"), ("claude", 1, "Run `claude auth login`"), ("gemini", 41, "Run `gemini`")],
)
async def test_a_missing_sign_in_says_what_to_run(
    name: str, code: int, cure: str, agent: CliAgent, make: Callable[[str, str], StandIn]
) -> None:
    make(name, f"sys.stderr.write('Not logged in')\nsys.exit({code})")
    error = await failed(agent, asked(f"cli/{name}"))
    assert isinstance(error, AuthenticationFailed)
    assert cure in error.cure


async def test_what_it_says_is_told_without_its_key_in_one_line(
    agent: CliAgent, environment: dict[str, str], make: Callable[[str, str], StandIn], monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = "a-key-without-any-form"
    environment["CODEX_API_KEY"] = odd
    monkeypatch.setenv("CODEX_API_KEY", odd)
    make("codex", "sys.stderr.write('line\\n' * 90000 + 'refused: ' + os.environ['CODEX_API_KEY'])\nsys.exit(1)")
    error = await failed(agent, asked("cli/codex"))
    assert "refused: [secret removed] (exit code 1)" in error.message
    assert odd not in str(error)
    assert "\n" not in str(error)


async def test_a_command_that_is_not_there_is_told(agent: CliAgent, tmp_path: Path) -> None:
    error = await failed(agent, asked("cli/codex"))
    assert (type(error), error.maybe_billed) == (NoSuchModel, False)
    assert str(error) == "cli/codex: the command codex is not on the PATH Install it, or name another model."


async def test_a_command_that_cannot_be_run_is_told(agent: CliAgent, tmp_path: Path) -> None:
    path = tmp_path / "bin" / "codex"
    path.parent.mkdir()
    path.write_text("#!/no/such/interpreter\n")
    path.chmod(0o755)
    error = await failed(agent, asked("cli/codex"))
    assert (type(error), error.maybe_billed) == (NoSuchModel, False)
    assert "the command codex cannot be run: No such file" in error.message


async def test_a_cli_that_nobody_described_is_told(agent: CliAgent) -> None:
    error = await failed(agent, asked("cli/ours"))
    assert (type(error), error.cure) == (NoSuchModel, "Describe it under `cli:` in the models file.")


# ---------------------------------------------------------------- what is left of it


async def test_no_answer_in_time_is_a_timeout(agent: CliAgent, make: Callable[[str, str], StandIn]) -> None:
    make("codex", "child()\nchild(leave=True)\ntime.sleep(600)")
    error = await failed(agent, asked("cli/codex", timeout_s=0.5))
    assert (type(error), error.message) == (TimedOut, "cli/codex: no answer in time")


async def test_one_that_asks_again_and_again_says_why_no_answer_came(
    agent: CliAgent, make: Callable[[str, str], StandIn]
) -> None:
    make("gemini", "sys.stderr.write('Attempt 1 failed with status 429. Retrying…')\nsys.stderr.flush()\n" + HANGS)
    error = await failed(agent, asked("cli/gemini", timeout_s=0.5))
    assert (type(error), error.maybe_billed) == (RateLimited, True)
    assert error.message == "cli/gemini: no answer in time: Attempt 1 failed with status 429. Retrying…"


async def test_one_that_does_not_end_when_asked_to_is_killed(
    agent: CliAgent, make: Callable[[str, str], StandIn], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli_process, "_GRACE_S", 0.05)
    make("codex", f"signal.signal(signal.SIGTERM, signal.SIG_IGN)\n{HANGS}")
    assert type(await failed(agent, asked("cli/codex", timeout_s=0.5))) is TimedOut


@pytest.mark.parametrize("leave", [False, True])
async def test_a_child_that_hangs_keeps_nobody_waiting_and_is_killed(
    leave: bool, agent: CliAgent, make: Callable[[str, str], StandIn]
) -> None:
    codex = make("codex", f"child(leave={leave})\n{says(codex_says('Done.'))}")
    with anyio.fail_after(DEADLINE_S):
        assert (await agent.complete(asked("cli/codex"))).text == "Done."
    assert len(codex.processes) == 2


async def test_cancelling_leaves_nothing(agent: CliAgent, make: Callable[[str, str], StandIn]) -> None:
    codex = make("codex", f"child()\nchild(leave=True)\ntell()\n{HANGS}")
    with anyio.fail_after(DEADLINE_S):
        async with anyio.create_task_group() as group:
            group.start_soon(agent.complete, asked("cli/codex", timeout_s=600))
            await anyio.to_thread.run_sync(codex.wait)
            assert [is_alive(pid) for pid in codex.processes] == [True] * 3
            group.cancel_scope.cancel()


async def test_one_that_is_cancelled_before_it_has_begun_is_never_run(
    agent: CliAgent, make: Callable[[str, str], StandIn]
) -> None:
    codex = make("codex", HANGS)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await agent.complete(asked("cli/codex", timeout_s=600))
    assert scope.cancelled_caught
    if (codex.folder / "seen").exists():  # it was faster, and is gone all the same
        assert not is_alive(codex.seen["pid"])


# ---------------------------------------------------------------- is it there


async def test_a_probe_tells_version_and_sign_in(
    agent: CliAgent, make: Callable[[str, str], StandIn], tmp_path: Path
) -> None:
    body = "say('codex-cli 0.171.0\\n') if sys.argv[1:] == ['--version'] else sys.exit({})"
    for code, signed_in in ((0, True), (1, False)):
        make("codex", body.format(code))
        path = str(tmp_path / "bin" / "codex")
        assert await agent.probe(CLIS["codex"]) == Probe("codex", path, "codex-cli 0.171.0", signed_in)


async def test_a_key_is_a_sign_in_and_what_does_not_tell_is_unknown(
    agent: CliAgent, environment: dict[str, str], make: Callable[[str, str], StandIn]
) -> None:
    make("gemini", "say('\x1b[1mWelcome\x1b[0m\\n0.61.0\\n')")
    assert (await agent.probe(CLIS["gemini"])).signed_in is None
    environment["GEMINI_API_KEY"] = SECRET
    probe = await agent.probe(CLIS["gemini"])
    assert (probe.version, probe.signed_in) == ("0.61.0", True)


async def test_a_probe_of_what_is_not_there_or_hangs_ends(
    agent: CliAgent, make: Callable[[str, str], StandIn], tmp_path: Path
) -> None:
    assert await agent.probe(CLIS["codex"]) == Probe("codex", None)
    make("codex", "child()\ntime.sleep(600)")
    with anyio.fail_after(DEADLINE_S):
        assert await agent.probe(CLIS["codex"], seconds=0.5) == Probe("codex", str(tmp_path / "bin" / "codex"))


# ---------------------------------------------------------------- what may be spent


def test_the_bound_of_a_call_holds_what_the_cli_adds_of_its_own() -> None:
    by_api = Budget().bound_of(asked("openai/gpt-6.1-sol")).tokens
    for name, cli in CLIS.items():
        bound = Budget().bound_of(asked(f"cli/{name}"))
        assert (bound.tokens, bound.cost_usd) == (by_api + cli.own_tokens, None)
        assert cli.own_tokens >= 20_000
    small = Endpoint(cli=replace(CLIS["codex"], own_tokens=7))
    assert Budget().bound_of(asked("cli/codex", endpoint=small)).tokens == by_api + 7


def test_what_a_cli_reported_holds_its_own_already() -> None:
    budget, request = Budget(), asked("cli/codex")
    bound = budget.bound_of(request)
    budget.reserve([bound])
    budget.settle(request, bound, Usage(9000, 0, 10, None), charged=True)
    assert budget.bound_of(request).tokens < 9000 + 500 + 100
