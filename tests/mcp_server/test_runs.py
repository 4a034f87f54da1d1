"""Whole debates over MCP, with runs that ask no model: how they are begun, followed and refused."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from subprocess import Popen
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp import Client
from mcp.server import MCPServer
from processes import elsewhere, names, over, status, text_of
from processes import out as out
from processes import processes as processes
from processes import root as root
from processes import server as server

from orchestrator import background
from orchestrator.hall.hall import Hall
from orchestrator.hall.store import Lease
from orchestrator.mcp_server import build, launching, runs
from orchestrator.plan import Changes

Call = Callable[..., Awaitable[dict[str, Any]]]
Refused = Callable[..., Awaitable[str]]

pytestmark = pytest.mark.anyio

TOPIC = "Should we move billing to Kafka?"
OUTSIDE = "is outside the folders that may be read here."


class Idle:
    """A process that is there and does nothing."""

    def poll(self) -> int | None:
        return None


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> list[Lease]:
    """No process is started; returns the leases that would have been handed over."""
    asked: list[Lease] = []

    def start(lease: Lease, folder: Path, changes: Changes) -> Idle:
        asked.append(lease)
        return Idle()

    monkeypatch.setattr(background, "start", start)
    return asked


# ------------------------------------------------------------------------------------------------- a run to its end


@pytest.mark.slow
async def test_a_rehearsal_runs_to_its_end_and_claims_no_decision(
    call: Call, out: Path, tmp_path: Path, processes: list[Popen[bytes]]
) -> None:
    ended = await call("run_debate", topic=TOPIC, recipe="speed", rehearse=True, wait=True)
    assert ended["thread_id"].endswith("-should-we-move-billing-to-kafka")
    assert (ended["status"], ended["marks"], ended["decision"]) == ("synthesis", ["REHEARSAL"], None)
    run = ended["run"]
    assert (run["state"], run["recipe"], run["rehearsal"]) == ("done", "speed", True)
    assert (run["round"], run["rounds"], run["turns"], run["planned_turns"]) == (1, 1, 3, 3)
    assert (run["drafting"], run["message"], run["cost_usd"]) == ([], None, "0")
    assert run["tokens"] == {"input": 0, "cached": 0, "output": 0}
    assert await over(processes[0]) == 0
    folder = out / ended["thread_id"]
    assert names(folder) == ["debate.json", "decision.md", "plan.yaml", "report.html", "run.log", "transcript.oct.md"]
    assert (folder / "run.log").stat().st_size == 0
    assert names(tmp_path) == ["out", "root", "state", "work"]
    assert names(tmp_path / "work") == []
    assert {name.split("-")[0] for name in names(tmp_path / "state")} == {"hall.sqlite3"}


@pytest.mark.slow
async def test_without_wait_it_answers_at_once_and_any_server_follows_it_to_the_end(
    call: Call, processes: list[Popen[bytes]]
) -> None:
    begun = await call("run_debate", topic=TOPIC, recipe="FORTRESS", rehearse=True, thread_id="2026-01-06-kafka")
    assert (begun["thread_id"], begun["status"], begun["next_role"]) == ("2026-01-06-kafka", "active", None)
    assert begun["run"]["state"] == "running"
    async with elsewhere() as client:
        told = [begun["run"]["news"]]
        while (now := await status(client, "2026-01-06-KAFKA", wait_seconds=20, after=told[-1]))["run"][
            "state"
        ] == "running":
            assert now["run"]["news"] > told[-1], "it answered, but there was no news"
            told.append(now["run"]["news"])
        assert now["run"]["turns"] == now["turn_count"] == 9
        assert now["run"]["state"] == "done"
        debate = await client.call_tool("get_debate", {"thread_id": "2026-01-06-kafka"})
        assert len((debate.structured_content or {})["transcript"]) == 9
    assert await over(processes[0]) == 0


@pytest.mark.slow
async def test_progress_is_told_until_the_end_each_notice_further_than_the_one_before(client: Client) -> None:
    notices: list[tuple[float, float | None, str | None]] = []

    async def take(done: float, total: float | None, message: str | None) -> None:
        notices.append((done, total, message))

    result = await client.call_tool(
        "run_debate",
        {"topic": TOPIC, "recipe": "deep", "rehearse": True, "wait": True},
        progress_callback=take,
    )
    assert not result.is_error
    done = [notice[0] for notice in notices]
    assert done == sorted(set(done))
    assert notices[0] == (0.0, 37, "running: starting")
    assert notices[-1] == (37, 37, "done: round 12 of 12, 36 turns")


async def test_a_client_that_waits_hears_of_a_silent_run_too(
    client: Client, idle: list[Lease], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "PROGRESS_S", 0.0)
    heard, enough = list[float](), anyio.Event()

    async def take(done: float, total: float | None, message: str | None) -> None:
        heard.append(done)
        if len(heard) == 3:
            enough.set()

    async with anyio.create_task_group() as group:
        arguments = {"topic": TOPIC, "rehearse": True, "wait": True}
        group.start_soon(lambda: client.call_tool("run_debate", arguments, progress_callback=take))
        await enough.wait()
        group.cancel_scope.cancel()
    assert heard == sorted(set(heard))


@pytest.fixture
def traps(tmp_path: Path) -> None:
    """Modules in the working folder that nobody should take for the program's own."""
    for name in ("orchestrator", "secrets", "anyio"):
        (tmp_path / "work" / f"{name}.py").write_text("raise SystemExit('taken from the working folder')")


@pytest.mark.usefixtures("traps")
@pytest.mark.slow
async def test_a_run_takes_no_module_from_the_working_folder(call: Call, processes: list[Popen[bytes]]) -> None:
    ended = await call("run_debate", topic=TOPIC, recipe="speed", rehearse=True, wait=True)
    assert ended["run"]["state"] == "done"
    assert await over(processes[0]) == 0


@pytest.mark.slow
async def test_what_was_asked_before_the_process_is_there_is_heard(call: Call, processes: list[Popen[bytes]]) -> None:
    await call("run_debate", topic=TOPIC, recipe="speed", rehearse=True, thread_id="stopped")
    await call("cancel_run", thread_id="stopped", reason="too early")
    await call("run_debate", topic=TOPIC, recipe="speed", rehearse=True, thread_id="closed")
    await call("force_close_debate", thread_id="closed", reason="wrong question")
    assert [await over(process) for process in processes] == [0, 0]
    stopped, closed = await call("debate_status", thread_id="stopped"), await call("debate_status", thread_id="closed")
    assert (stopped["status"], stopped["turn_count"]) == ("active", 0)
    assert (stopped["run"]["state"], stopped["run"]["message"]) == ("paused", "Stopped on request: too early")
    assert (closed["status"], closed["turn_count"], closed["run"]["state"]) == ("force_closed", 0, "done")
    assert closed["decision"] is None


# -------------------------------------------------------------------------------------------------------- thread ids


async def test_ids_are_made_of_the_topic_and_never_taken_twice(call: Call, out: Path, idle: list[Lease]) -> None:
    first = (await call("run_debate", topic=TOPIC, rehearse=True))["thread_id"]
    (out / f"{first}-2").mkdir(parents=True)  # the files of another hall's run
    second = await call("run_debate", topic=TOPIC, rehearse=True)
    assert second["thread_id"] == f"{first}-3"
    assert [lease.thread_id for lease in idle] == [first, f"{first}-3"]


async def test_a_taken_id_is_refused_in_any_case_and_nothing_is_begun(
    call: Call, refused: Refused, idle: list[Lease]
) -> None:
    await call("init_debate", thread_id="2026-01-06-Kafka", topic="Kafka?")
    told = await refused("run_debate", topic=TOPIC, rehearse=True, thread_id="2026-01-06-kafka")
    assert told.startswith("thread_exists: ")
    assert idle == []
    assert (await call("debate_status", thread_id="2026-01-06-kafka"))["run"]["state"] == "none"


async def test_what_cannot_be_an_id_is_refused_before_a_folder_is_made(
    refused: Refused, idle: list[Lease], tmp_path: Path
) -> None:
    for thread_id in ("../up", "a/b", "", ".", "a b", "x" * 129, "line\nbreak", "ünï", "nul\0"):
        told = await refused("run_debate", topic=TOPIC, rehearse=True, thread_id=thread_id)
        assert told.startswith("invalid_input: "), thread_id
    assert "out" not in names(tmp_path)
    assert idle == []


@pytest.mark.parametrize(
    ("recipe", "asked", "votes", "early"),
    [
        ("speed", {}, False, False),
        ("speed", {"consensus": True, "early_close": True}, True, True),
        ("COUNCIL", {}, True, False),
        ("council", {"consensus": False, "early_close": False}, False, False),
    ],
)
async def test_votes_and_an_early_close_are_the_recipes_unless_asked_for_otherwise(
    call: Call, hall: Hall, idle: list[Lease], recipe: str, asked: dict[str, bool], votes: bool, early: bool
) -> None:
    begun = await call("run_debate", topic=TOPIC, recipe=recipe, rehearse=True, **asked)
    pinned = json.loads(hall.debate(begun["thread_id"]).plan or "")["recipe"]
    assert (pinned["consensus"]["required"], pinned["early_close"]) == (votes, early)


@pytest.fixture
def blocked(out: Path) -> None:
    """A file stands where the runs' folder should be."""
    out.write_text("a file")


@pytest.mark.usefixtures("blocked")
async def test_a_folder_that_cannot_be_written_is_told_before_a_debate_is_opened(
    call: Call, refused: Refused, idle: list[Lease], tmp_path: Path
) -> None:
    told = await refused("run_debate", topic=TOPIC, rehearse=True)
    assert told.startswith("usage: Cannot write to ")
    assert str(tmp_path) not in told
    assert (await call("list_debates"))["debates"] == []
    assert idle == []


async def test_by_default_runs_write_into_the_state_folder(
    hall: Hall, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders: list[Path] = []

    def start(lease: Lease, folder: Path, changes: Changes) -> Idle:
        folders.append(folder)
        return Idle()

    monkeypatch.setattr(background, "start", start)
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", "~/kept")
    async with Client(build(hall, roots=(), out=None)) as client:
        await client.call_tool("run_debate", {"topic": TOPIC, "rehearse": True, "thread_id": "x"})
    assert folders == [Path(os.environ["HOME"]) / "kept" / "debates" / "x"]


# ---------------------------------------------------------------------------------------------------- what is refused


async def test_a_topic_that_is_none_is_refused(refused: Refused, idle: list[Lease]) -> None:
    for topic in ("", " \n", "x" * 12_001, "nul \0", "half \ud800"):
        assert (await refused("run_debate", topic=topic, rehearse=True)).startswith("invalid_input: "), topic
    assert idle == []


async def test_an_unknown_recipe_is_refused_with_the_one_that_was_meant(refused: Refused) -> None:
    told = await refused("run_debate", topic=TOPIC, recipe="fortres", rehearse=True)
    assert told.startswith("configuration: ")
    assert "Did you mean fortress?" in told


async def test_an_unknown_models_file_is_refused_with_the_one_that_was_meant(refused: Refused) -> None:
    told = await refused("run_debate", topic=TOPIC, models="modls")
    assert told.startswith("configuration: ")
    assert "Did you mean models?" in told


@pytest.fixture
def mine(tmp_path: Path) -> None:
    (tmp_path / "work" / "sub").mkdir()
    for name in ("mine.yaml", "mine", "sub/mine"):
        (tmp_path / "work" / name).write_text("name: mine")


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize(
    ("what", "cure"),
    [("recipe", "list_recipes shows the recipes."), ("models", "the models files are cli, local, models.")],
)
async def test_recipes_and_models_go_by_name_never_by_path(
    refused: Refused, idle: list[Lease], what: str, cure: str
) -> None:
    """Whether a file is there makes no difference."""
    for name in ("mine.yaml", "./mine", "sub/mine", "/etc/passwd", "MINE.YML", "../work/mine.yaml"):
        told = await refused("run_debate", **{"topic": TOPIC, "rehearse": True, what: name})
        assert told.startswith("configuration: "), name
        assert told.endswith(f"{name!r} is a path. Give a name: {cure}"), name
    assert idle == []


async def test_a_refusal_names_no_option_of_the_command(refused: Refused, idle: list[Lease], root: Path) -> None:
    (root / "a.md").write_text("x" * 41)
    for arguments, cure in (
        ({"adr": ["a.md"]}, "Give the folder that they are in; a single file is named as context."),
        ({"context": ["a.md"], "context_limit": 10}, "Raise the context limit, or give the part that the question"),
    ):
        told = await refused("run_debate", topic=TOPIC, rehearse=True, **arguments)
        assert cure in told
        assert "--" not in told
    assert idle == []


async def test_a_models_file_of_the_user_is_found_by_its_name(call: Call, idle: list[Lease], tmp_path: Path) -> None:
    shelf = tmp_path / "config" / "debate-hall" / "configs"
    shelf.mkdir(parents=True)
    routes = "".join(f"  {cognition}: [rehearsal]\n" for cognition in ("PATHOS", "ETHOS", "LOGOS"))
    (shelf / "Mine.yaml").write_text(f"routes:\n{routes}")
    begun = await call("run_debate", topic=TOPIC, models="mine")
    assert begun["marks"] == ["REHEARSAL"]


async def test_seats_that_nobody_can_fill_are_refused(refused: Refused, idle: list[Lease]) -> None:
    for arguments in (
        {},  # no key
        {"wind": ["openai/a b"]},
        {"wind": ["cli/claude"], "wall": ["cli/claude"], "door": ["cli/claude"]},
        {"wind": ["client"], "wall": ["client"], "door": ["client"]},
        {"rehearse": True, "wind": ["openai/gpt-5"]},
        {"rehearse": True, "tier": "9"},
        {"rehearse": True, "tier": "2", "recipe": "fortress"},
    ):
        told = await refused("run_debate", topic=TOPIC, **arguments)
        assert told.split(": ")[0] in ("usage", "configuration"), arguments
    assert idle == []


async def test_a_server_holds_so_many_runs_at_once_and_not_one_more(server: MCPServer, idle: list[Lease]) -> None:
    """All ask at the same moment."""
    answers: list[str] = []

    async def ask(client: Client) -> None:
        result = await client.call_tool("run_debate", {"topic": TOPIC, "rehearse": True})
        answers.append(text_of(result).split(":")[0] if result.is_error else "begun")

    async with Client(server) as client, anyio.create_task_group() as group:
        for _ in range(launching.MOST_RUNS + 4):
            group.start_soon(ask, client)
    assert sorted(answers) == ["begun"] * launching.MOST_RUNS + ["limit_reached"] * 4
    assert len(idle) == launching.MOST_RUNS


@pytest.mark.slow
async def test_a_run_that_has_ended_makes_room(
    call: Call, refused: Refused, monkeypatch: pytest.MonkeyPatch, processes: list[Popen[bytes]]
) -> None:
    monkeypatch.setattr(launching, "MOST_RUNS", 1)
    await call("run_debate", topic=TOPIC, recipe="speed", rehearse=True)
    assert (await refused("run_debate", topic=TOPIC, rehearse=True)).startswith("limit_reached: ")
    assert await over(processes[0]) == 0
    await call("run_debate", topic=TOPIC, recipe="speed", rehearse=True)


# ---------------------------------------------------------------------------------------------------------- evidence


async def test_evidence_below_a_root_is_read_and_cited_by_its_name_there(
    call: Call, hall: Hall, root: Path, idle: list[Lease]
) -> None:
    (root / "notes").mkdir()
    (root / "brief.md").write_text("Orders must not be lost.\n")
    (root / "notes" / "load.md").write_text("Ten a second.\n")
    begun = await call("run_debate", topic=TOPIC, rehearse=True, context=["brief.md", "notes/*.md", f"{root}/brief.md"])
    pinned = json.loads(hall.debate(begun["thread_id"]).plan or "")
    assert [piece["path"] for piece in pinned["evidence"]] == ["brief.md", "notes/load.md"]


async def test_a_folder_a_diff_and_decision_records_below_a_root_are_evidence_within_a_limit(
    call: Call, hall: Hall, root: Path, idle: list[Lease]
) -> None:
    (root / "docs" / "adr").mkdir(parents=True)
    (root / "docs" / "adr" / "0001-queue.md").write_text("# We use a queue\n")
    (root / "docs" / "brief.md").write_text("Orders must not be lost.\n")
    (root / "docs" / "long.md").write_text("x" * 4000)
    git = ("git", "-C", root, "-c", "user.name=A", "-c", "user.email=a@example.com")
    commands = [["init", "-q"], ["commit", "-qm", "1", "--allow-empty"], ["add", "."], ["commit", "-qm", "2"]]
    for command in [*commands, ["rm", "-q", "--cached", "docs/brief.md"], ["commit", "-qm", "3"]]:
        await anyio.run_process([*git, *command])
    context = ["docs", "git:HEAD~1..HEAD"]
    begun = await call("run_debate", topic=TOPIC, rehearse=True, context=context, adr=["docs/adr"], context_limit=200)
    plan = json.loads(hall.debate(begun["thread_id"]).plan or "")
    assert [(piece["path"], piece["kind"]) for piece in plan["evidence"]] == [
        ("docs/brief.md", "file"),
        ("git:HEAD~1..HEAD", "diff"),
        ("docs/adr/0001-queue.md", "adr"),
    ]
    (notice,) = plan["notices"]
    assert notice.startswith("Left out of the evidence: docs/long.md (1,000 tokens) does not fit")


async def test_standard_input_is_not_offered_and_a_repository_must_be_in_a_root(
    refused: Refused, idle: list[Lease], root: Path, outside: Path, tmp_path: Path
) -> None:
    told = await refused("run_debate", topic=TOPIC, rehearse=True, context=["-"])
    assert told.startswith("configuration: There is no standard input to read evidence from.")
    await anyio.run_process(["git", "init", "-q", tmp_path])
    told = await refused("run_debate", topic=TOPIC, rehearse=True, context=["git:main..HEAD"])
    assert "belongs to a repository outside the folders that may be read here." in told
    assert str(tmp_path) not in told
    for way in ("../outside", "link", "{outside}", "{root}/../outside", "sub/../../outside"):
        told = await refused("run_debate", topic=TOPIC, rehearse=True, adr=[_path(way, "", root, outside)])
        assert OUTSIDE in told, way
    assert idle == []


@pytest.fixture
def outside(tmp_path: Path, root: Path) -> Path:
    """A folder beside the root, which links in the root lead to; `there.md` is in it, `gone.md` is not."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "there.md").write_text("private")
    (root / "sub").mkdir()
    (root / "link").symlink_to(folder)
    (root / "there.md").symlink_to(folder / "there.md")
    (root / "gone.md").symlink_to(folder / "gone.md")
    (tmp_path / "home").mkdir()
    for place in ("home", "work"):
        (tmp_path / place / "there.md").write_text("private")
    return folder


WAYS_OUT = [
    "../outside/{}",
    "sub/../../outside/{}",
    "{outside}/{}",
    "{root}/../outside/{}",
    "link/{}",
    "sub/../link/{}",
    "{}",
    "~/{}",
    "~root/{}",
    "../outside/{}*",
    "../*/{}",
    "*/../../outside/{}",
    "s?b/../../outside/{}",
    "**/../../outside/{}",
    "{outside}/[tg]{}",
    "/*/{}",
    "../outside/{}/../{}",
]


async def test_nothing_outside_the_roots_is_read_and_whether_it_is_there_is_not_told(
    refused: Refused, idle: list[Lease], root: Path, outside: Path
) -> None:
    leaks = {}
    for way in WAYS_OUT:
        there, gone = await _told(refused, way, root, outside)
        if OUTSIDE not in there or there.replace("there.md", "gone.md") != gone:
            leaks[way] = (there, gone)
    assert leaks == {}
    assert idle == []


async def test_a_glob_does_not_follow_a_link_out_of_the_root(
    refused: Refused, idle: list[Lease], root: Path, outside: Path
) -> None:
    (root / "there.md").unlink()
    (root / "gone.md").unlink()
    for way in ("link/*{}", "li?k/{}", "l*/{}", "**/{}"):
        there, gone = await _told(refused, way, root, outside)
        assert there.replace("there.md", "gone.md") == gone, way
    assert idle == []


async def test_without_roots_there_is_no_evidence_at_all(
    hall: Hall, idle: list[Lease], root: Path, outside: Path
) -> None:
    async with Client(build(hall, roots=(), out=None)) as client:
        for way in ("{}", "*{}", "**/*.md", "{root}/{}", "../outside/{}", "~/{}", "/etc/passwd", "/"):
            arguments = {"topic": TOPIC, "rehearse": True, "context": [_path(way, "there.md", root, outside)]}
            result = await client.call_tool("run_debate", arguments)
            assert result.is_error, way
            assert OUTSIDE in text_of(result), way
    assert idle == []


async def test_a_secret_below_a_root_is_refused_and_not_quoted(refused: Refused, idle: list[Lease], root: Path) -> None:
    key = "sk-proj-" + "a1B2c3D4e5" * 5
    for name in (".env", "id_rsa", "notes.md"):
        (root / name).write_text(f"OPENAI_API_KEY={key}\n")
    (root / "alias.md").symlink_to(root / ".env")
    for name in (".env", "id_rsa", "notes.md", "alias.md", "*.md"):
        told = await refused("run_debate", topic=TOPIC, rehearse=True, context=[name])
        assert told.startswith("configuration: "), name
        assert "secret" in told or "looks like" in told, name
        assert key not in told, name
    assert idle == []


async def test_what_is_no_file_below_a_root_is_refused_without_the_roots_place(
    refused: Refused, idle: list[Lease], root: Path, tmp_path: Path
) -> None:
    (root / "sub").mkdir()
    wrong = [
        "missing.md",
        "miss*.md",
        "sub",
        "nul\0.md",
        "half\ud800.md",
        "line\nbreak.md",
        "",
        "x" * 5000,
        "a/" * 3000,
    ]
    for path in wrong:
        told = await refused("run_debate", topic=TOPIC, rehearse=True, context=[path])
        assert told.startswith("configuration: "), path
        assert str(tmp_path) not in told, path
    assert idle == []


async def _told(refused: Refused, way: str, root: Path, outside: Path) -> list[str]:
    """What is told of a file that is there, and of one that is not."""
    paths = [_path(way, name, root, outside) for name in ("there.md", "gone.md")]
    return [await refused("run_debate", topic=TOPIC, rehearse=True, context=[path]) for path in paths]


def _path(way: str, name: str, root: Path, outside: Path) -> str:
    return way.replace("{root}", str(root)).replace("{outside}", str(outside)).replace("{}", name)


# ------------------------------------------------------------------------------------------------- status and cancel


async def test_a_debate_held_by_hand_has_no_run(call: Call, refused: Refused) -> None:
    await call("init_debate", thread_id="x", topic=TOPIC)
    now = await call("debate_status", thread_id="x", wait_seconds=50)
    assert (now["run"]["state"], now["run"]["news"], now["next_role"]) == ("none", -1, "Wind")
    told = await refused("cancel_run", thread_id="x", reason="why")
    assert told.startswith("not_active: Nobody runs x.")


async def test_a_thread_that_nobody_knows_is_refused(refused: Refused) -> None:
    assert (await refused("debate_status", thread_id="nowhere")).startswith("unknown_thread: ")
    assert (await refused("cancel_run", thread_id="nowhere", reason="why")).startswith("unknown_thread: ")


async def test_bad_arguments_are_refused_by_name(call: Call, refused: Refused, idle: list[Lease]) -> None:
    await call("run_debate", topic=TOPIC, rehearse=True, thread_id="x")
    for name, value in (
        *(("wait_seconds", value) for value in (-1, 51, "3", True, None)),
        *(("after", value) for value in (-2, 1.5, "1")),
        *(("reason", value) for value in (" ", "nul \0", "half \ud800", None, 3)),
    ):
        tool = "cancel_run" if name == "reason" else "debate_status"
        told = await refused(tool, thread_id="x", **{name: value})
        assert told.startswith("invalid_input: "), (name, value)
        assert name in told, (name, value)


async def test_waiting_ends_when_the_time_is_up(call: Call, idle: list[Lease]) -> None:
    await call("run_debate", topic=TOPIC, rehearse=True, thread_id="x")
    now = await call("debate_status", thread_id="x", wait_seconds=0.3)
    assert (now["run"]["state"], now["run"]["news"]) == ("running", -1)


async def test_waiting_ends_with_news_of_another_process(
    call: Call, hall: Hall, idle: list[Lease], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is told while the call waits comes through another hall on the same folder."""
    read, looked = hall.runs.reports, threading.Event()

    def reports(thread_id: str, after: int = -1) -> list[dict[str, Any]]:
        told = read(thread_id, after)
        looked.set()
        return told

    await call("run_debate", topic=TOPIC, rehearse=True, thread_id="x")
    answers: list[dict[str, Any]] = []

    async def wait() -> None:
        answers.append(await call("debate_status", thread_id="x", wait_seconds=50))

    monkeypatch.setattr(hall.runs, "reports", reports)
    with Hall.open() as writer:
        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            assert await anyio.to_thread.run_sync(looked.wait, 20)
            report = {"type": "round_started", "round": 1, "rounds": 4, "at": "2026-01-06T09:00:00.000Z"}
            await anyio.to_thread.run_sync(writer.runs.report, idle[0], [report])
    assert answers[0]["run"]["news"] == 0
    assert answers[0]["run"]["round"] == 1


async def test_news_that_came_before_the_call_is_told_at_once(call: Call, hall: Hall, idle: list[Lease]) -> None:
    await call("run_debate", topic=TOPIC, rehearse=True, thread_id="x")
    hall.runs.report(idle[0], [{"type": "round_started", "round": 1, "rounds": 4, "at": "2026-01-06T09:00:00.000Z"}])
    assert (await call("debate_status", thread_id="x", wait_seconds=50, after=-1))["run"]["news"] == 0


async def test_a_run_that_is_not_heard_of_is_interrupted(call: Call, idle: list[Lease]) -> None:
    await call("run_debate", topic=TOPIC, rehearse=True, thread_id="x")
    async with elsewhere(later_s=20) as client:
        assert (await status(client, "x", wait_seconds=50))["run"]["state"] == "interrupted"


async def test_what_a_run_was_paused_by_is_told_without_places_and_keys(
    call: Call, hall: Hall, idle: list[Lease], state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUR_KEY", "correct horse battery")
    await call("run_debate", topic=TOPIC, rehearse=True, thread_id="x")
    message = f"The store {state}/hall.sqlite3 is locked: correct horse battery."
    paused = {"type": "paused", "code": "store", "message": message, "at": "2026-01-06T09:00:00.000Z"}
    hall.runs.report(idle[0], [paused])
    now = await call("debate_status", thread_id="x")
    assert now["run"]["message"] == "The store <state folder>/hall.sqlite3 is locked: [secret removed]."


async def test_a_hall_in_a_file_has_no_fleet_and_nothing_is_opened(refused: Refused, hall: Hall) -> None:
    told = await refused("run_debate", topic=TOPIC, recipe="speed", rehearse=True, fleet=True)
    assert "A fleet needs a hall that many machines share" in told
    assert hall.list_debates() == []
