"""Whole debates from Python: the command line's words, one value back, nothing printed, nothing else written."""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from textwrap import indent
from typing import Any

import anyio
import pytest

from building import BUNDLED, THREAD, TOPIC, order, priced, speech
from orchestrator import (
    Hall,
    Outcome,
    Reply,
    Request,
    RunPaused,
    StoppedByLimit,
    Told,
    UsageError,
    load_recipe,
    resume_debate,
    resume_debate_sync,
    run_debate,
    run_debate_sync,
)
from orchestrator.cli.run_debate import run_debate as command
from orchestrator.errors import AuthenticationFailed, InvalidInput, ThreadExists, UnknownThread

pytestmark = pytest.mark.anyio
PAGE = BUNDLED / "docs" / "python.md"


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "work" / "docs").mkdir(parents=True)
    (tmp_path / "work" / "docs" / "facts.md").write_text("Billing runs on Postgres.\n")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


class Speaker:
    """Speaks for every seat, at a cent a call; `hears` may raise."""

    def __init__(self, hears: Callable[[Request], None] = lambda request: None) -> None:
        self.asked: list[Request] = []
        self.hears = hears

    async def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        self.hears(request)
        return priced(speech(request, len(self.asked)))


async def test_a_debate_starts_from_an_earlier_decision(work: Path) -> None:
    with anyio.fail_after(30):
        earlier = await run_debate(TOPIC, recipe="speed", context="docs", model=Speaker())
        (work / "docs" / "facts.md").write_text("Billing runs on Kafka.\n")
        later = await run_debate(TOPIC, recipe="speed", context="docs", model=Speaker(), since=earlier.thread_id)
        with pytest.raises(UnknownThread):
            await run_debate(TOPIC, recipe="speed", model=Speaker(), since="nothing")
    assert later.debate.reviews is not None
    assert (later.debate.reviews.thread_id, later.debate.reviews.head) == (earlier.thread_id, earlier.debate.head)
    assert [piece.kind for piece in later.plan.evidence] == ["file", "adr", "diff"]
    assert later.record.incomplete == (
        "It does not say whether it supersedes or confirms E2, the decision that it reviews.",
    )


async def test_a_debate_is_one_call_and_its_outcome_one_value(work: Path, capfd: pytest.CaptureFixture[str]) -> None:
    speaker, told = Speaker(), list[Told]()
    with anyio.fail_after(30):
        decided = await run_debate(
            TOPIC, recipe="fortress", context="docs", model=speaker, thread_id=THREAD, on_event=told.append
        )
    assert (decided.thread_id, decided.status, order(decided.debate)) == (THREAD, "synthesis", "WLLLD · WLLD")
    assert decided.decision == decided.record.decision is not None
    assert decided.cost_usd == Decimal("0.01") * len(speaker.asked) == decided.spent.cost_usd
    assert (decided.unused, decided.uncertain, decided.degraded) == ((), (), False)
    assert [piece.path for piece in decided.plan.evidence] == ["docs/facts.md"]
    assert (told[0].event.type, told[-1].event.type) == ("run_started", "closed")
    assert os.listdir(work) == ["docs"], "nothing is written"
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
async def test_what_is_written_of_it_is_what_the_command_line_writes(work: Path) -> None:
    with anyio.fail_after(30):
        decided = await run_debate(TOPIC, recipe="speed", rehearse=True)
    written = decided.write(work / "out")
    assert [file.name for file in written] == [
        *("debate.json", "transcript.oct.md", "decision.md", "report.html"),
        "plan.yaml",
    ]
    assert decided.files() == {file.name: file.read_text() for file in written[:-1]}
    assert list(decided.files(["adr"])) == ["decision.md"]
    with pytest.raises(UsageError, match="holds the files of another run"):
        decided.write(work / "out")


async def test_the_same_question_twice_has_two_threads_and_one_that_was_named_is_not_taken_twice() -> None:
    with anyio.fail_after(30):
        first, second = [await run_debate(TOPIC, recipe="speed", rehearse=True) for _ in range(2)]
        assert second.thread_id == f"{first.thread_id}-2"
        with pytest.raises(ThreadExists):
            await run_debate(TOPIC, recipe="speed", rehearse=True, thread_id=first.thread_id)


@pytest.mark.slow
async def test_a_recipe_may_be_a_name_a_file_or_what_was_loaded(work: Path) -> None:
    text = (BUNDLED / "recipes" / "speed.yaml").read_text().replace("name: speed", "name: ours")
    (work / "ours.yaml").write_text(text)
    assert load_recipe("SPEED").turns == 3
    for recipe in (Path("ours.yaml"), "./ours.yaml", load_recipe(Path("ours.yaml"))):
        with anyio.fail_after(30):
            decided = await run_debate(TOPIC, recipe=recipe, rehearse=True)
        assert decided.plan.recipe.name == "ours"


async def test_a_run_that_pauses_says_how_to_go_on_and_buys_nothing_twice() -> None:
    def refuse_door(request: Request) -> None:
        if request.task.role == "Door":
            raise AuthenticationFailed("no such key", model="ours")

    first, second = Speaker(refuse_door), Speaker()
    with anyio.fail_after(30):
        with pytest.raises(RunPaused) as stopped:
            await run_debate(TOPIC, recipe="speed", model=first)
        thread_id = stopped.value.thread_id
        assert thread_id
        assert stopped.value.__notes__ == [f"Go on with it: resume_debate({thread_id!r})"]
        ended = await resume_debate(thread_id, model=second)
    assert (ended.thread_id, ended.status, order(ended.debate)) == (thread_id, "synthesis", "WLD")
    assert {request.task.role for request in second.asked if request.task.step != "account"} == {"Door"}
    assert await resume_debate(thread_id) == ended, "one that has ended is returned as it is"


@pytest.mark.slow
async def test_a_limit_stops_it_and_a_higher_one_lets_it_go_on() -> None:
    with anyio.fail_after(30):
        with pytest.raises(StoppedByLimit) as stopped:
            await run_debate(TOPIC, recipe="speed", model=Speaker(), token_limit=20)
        assert (stopped.value.limit, bool(stopped.value.thread_id)) == ("tokens", True)
        ended = await resume_debate(stopped.value.thread_id, model=Speaker(), token_limit=900_000)
    assert ended.status == "synthesis"


async def test_a_task_that_is_cancelled_pauses_the_run_and_what_was_answered_is_not_asked_again() -> None:
    def cancel(request: Request) -> None:
        if request.task.role == "Wind":
            running.cancel()

    told: list[Told] = []
    with anyio.fail_after(30):
        running = asyncio.create_task(
            run_debate(TOPIC, recipe="speed", model=Speaker(cancel), thread_id=THREAD, on_event=told.append)
        )
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (told[-1].event.type, getattr(told[-1].event, "code", None)) == ("paused", "interrupted")
        with Hall.open() as hall:
            assert hall.runs.life(hall.runs.row(THREAD), True) == "paused"
        speaker = Speaker()
        assert (await resume_debate(THREAD, model=speaker)).status == "synthesis"
    assert not any(request.task.role == "Wind" for request in speaker.asked)


async def test_a_turn_that_is_being_committed_when_its_task_is_cancelled_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """asyncio cancels the task that somebody holds right through anyio's shields: it must not be the run's own."""
    loop, told, paused_too_early = asyncio.get_running_loop(), list[str](), list[bool]()
    add_turn, turns_of_the_loop = Hall.add_turn, 50

    def slow_add_turn(hall: Hall, *args: Any, **kwargs: Any) -> Any:
        passed = threading.Event()

        def pass_on(left: int) -> None:
            loop.call_soon(pass_on, left - 1) if left else passed.set()

        loop.call_soon_threadsafe(running.cancel)
        loop.call_soon_threadsafe(pass_on, turns_of_the_loop)
        passed.wait(30)
        paused_too_early.append("paused" in told)
        return add_turn(hall, *args, **kwargs)

    monkeypatch.setattr(Hall, "add_turn", slow_add_turn)
    with anyio.fail_after(30):
        running = asyncio.create_task(
            run_debate(TOPIC, recipe="speed", rehearse=True, on_event=lambda event: told.append(event.event.type))
        )
        with pytest.raises(asyncio.CancelledError):
            await running
    assert (paused_too_early, told[-1]) == ([False], "paused")


async def test_a_hall_of_ones_own_is_left_open(tmp_path: Path) -> None:
    with Hall.open(tmp_path / "another") as hall, anyio.fail_after(30):
        decided = await run_debate(TOPIC, recipe="speed", rehearse=True, hall=hall)
        assert hall.verify_debate(decided.thread_id)["head"] == decided.record.head
    assert not (tmp_path / "state").exists()


@pytest.mark.slow
async def test_two_debates_at_once_do_not_meet() -> None:
    ended: dict[str, Outcome] = {}

    async def hold(topic: str) -> None:
        ended[topic] = await run_debate(topic, recipe="speed", rehearse=True)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for topic in ("Kafka?", "Postgres?"):
                group.start_soon(hold, topic)
    assert {topic: outcome.debate.opening.words for topic, outcome in ended.items()} == {
        "Kafka?": "Kafka?",
        "Postgres?": "Postgres?",
    }


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"recipe": "fortres"}, "There is no recipe 'fortres'. Did you mean fortress?"),
    ({"cost_limit": "much"}, "cost_limit is 'much'."),
    ({"cost_limit": -1}, "The limit on cost_usd is -1: "),
    ({"token_limit": 1.5}, "The limit on tokens is 1.5: "),
    ({"time_limit": 0}, "The limit on seconds is 0: "),
    ({"on_failure": "panic"}, "on_failure is 'panic'"),
    ({"context": "nowhere.md"}, "nowhere.md"),
    ({"wind": "openai/gpt-6.1-sol", "rehearse": True}, "A rehearsal asks no model"),
    ({"wind": "client", "wall": "client", "door": "client"}, "The route `client`"),
    ({"tier": "9"}, "There is no tier '9'."),
    ({"tier": 9}, "There is no tier '9'."),
]


@pytest.mark.parametrize(("options", "said"), WRONG, ids=lambda value: str(value)[:30])
async def test_what_cannot_be_is_refused_before_anything_begins(
    options: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with anyio.fail_after(30), pytest.raises(UsageError, match=re.escape(said)):
        await run_debate(TOPIC, **{"model": None if "wind" in options else Speaker(), **options})
    assert not (tmp_path / "state").exists()


async def test_an_empty_topic_a_bad_id_and_an_unknown_thread_are_refused() -> None:
    with anyio.fail_after(30):
        with pytest.raises(InvalidInput):
            await run_debate("  ", rehearse=True)
        with pytest.raises(InvalidInput):
            await run_debate(TOPIC, rehearse=True, thread_id="../up")
        with pytest.raises(UnknownThread):
            await resume_debate("2026-01-06-nothing")


def test_the_twin_without_an_event_loop_does_the_same() -> None:
    decided = run_debate_sync(TOPIC, recipe="speed", model=Speaker())
    assert decided.status == "synthesis"
    assert resume_debate_sync(decided.thread_id) == decided


async def test_inside_an_event_loop_the_twin_says_what_to_write_instead() -> None:
    with pytest.raises(UsageError, match=re.escape("Write `await run_debate(…)` there.")):
        run_debate_sync(TOPIC, rehearse=True)
    with pytest.raises(UsageError, match=re.escape("Write `await resume_debate(…)` there.")):
        resume_debate_sync(THREAD)


def test_each_option_has_the_name_it_has_on_the_command_line() -> None:
    ours = {name for name, of in inspect.signature(run_debate).parameters.items() if of.kind is of.KEYWORD_ONLY}
    theirs = {str(param.name) for param in command.params}
    assert ours - theirs == {"hall", "model", "on_event"}
    assert inspect.signature(run_debate_sync) == inspect.signature(run_debate)
    assert set(inspect.signature(resume_debate).parameters) < ours


BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_each_example_of_the_page_runs(number: int, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """With a model that answers where the example asks one, and a name that the text leaves to the reader filled in."""
    monkeypatch.setenv("OPENAI_API_KEY", "asked-of-nobody")
    speaker = Speaker()
    monkeypatch.setattr("orchestrator.models.switchboard.LiteLLM.complete", speaker.complete)

    async def ask_our_model(messages: list[tuple[str, str]]) -> str:
        return speech(asked[-1], len(asked))

    asked: list[Request] = []

    def answer_to(request: Request) -> str:
        asked.append(request)
        return speech(request, len(asked))

    names: dict[str, Any] = {"Path": Path, "ask_our_model": ask_our_model, "answer_to": answer_to}
    block = BLOCKS[number].replace("text = await", "answer_to(request); text = await")
    exec(compile(block, str(PAGE), "exec"), names)
    if "decide" in names:
        anyio.run(names["decide"])
    assert capsys.readouterr().out


@pytest.mark.slow
def test_the_examples_are_typed(tmp_path: Path) -> None:
    """A user's type checker has nothing against them, and knows what comes back."""
    undefined = """
from pathlib import Path
from orchestrator import Request, run_debate_sync
async def ask_our_model(messages: list[tuple[str, str]]) -> str: ...
def answer_to(request: Request) -> str: ...
run_debate_sync("Kafka?", recpie="speed")
reveal_type(run_debate_sync("Kafka?").cost_usd)
"""
    file = tmp_path / "examples.py"
    file.write_text(
        "\n".join(
            [
                undefined,
                *(f"def block_{number}() -> None:\n{indent(block, '    ')}" for number, block in enumerate(BLOCKS)),
            ]
        )
    )
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--disable-error-code=empty-body",
        "--cache-dir",
        str(tmp_path),
        file.name,
    ]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    told = [line.partition(": ")[2] for line in result.stdout.splitlines()]
    assert told[:-1] == [
        'error: Unexpected keyword argument "recpie"; did you mean "recipe"?  [call-arg]',
        'note: Revealed type is "decimal.Decimal | None"',
    ]


@pytest.mark.slow
def test_a_program_that_was_interrupted_can_be_gone_on_with(tmp_path: Path) -> None:
    """Ctrl-C in `run_debate_sync`, in a process of its own."""
    program = f"""
import os, signal
from orchestrator import run_debate_sync
def interrupt(told):
    if told.event.type == "turn_committed":
        os.kill(os.getpid(), signal.SIGINT)
try:
    run_debate_sync("Kafka?", recipe="speed", rehearse=True, thread_id={THREAD!r}, on_event=interrupt)
except KeyboardInterrupt:
    print("interrupted")
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (result.stdout, result.stderr) == ("interrupted\n", "")
    ended = resume_debate_sync(THREAD)
    assert ended.status == "synthesis"
    assert len(ended.debate.turns) == 3
