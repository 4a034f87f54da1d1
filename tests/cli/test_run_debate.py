"""`run-debate` as a new user meets it: from an empty folder, with every option."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result

from building import flowing
from orchestrator.evidence import DEFAULT_TOKENS
from orchestrator.hall.hall import Hall
from orchestrator.mcp_server.parameters import ContextLimit
from orchestrator.run_folder import NAMES, PLAN
from orchestrator.shelves import folders

TOPIC = "Should we move billing to Kafka?"
MARK = "REHEARSAL: no model was asked and nothing was decided; this is a worksheet for people."
FILES = ["debate.json", "decision.md", "plan.yaml", "report.html", "transcript.oct.md"]

Command = Callable[..., Result]
Script = Callable[..., Any]
Listed = Callable[[], list[dict[str, Any]]]


def today() -> str:
    return datetime.now().astimezone().date().isoformat()


def only_run() -> Path:
    (folder,) = Path("debates").iterdir()
    return folder


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def bundled(kind: Any, name: str) -> Path:
    return folders(kind)[-1] / name


def planned(run: Command, *arguments: str, **sent: bytes) -> dict[str, Any]:
    result = run("--dry-run", "--json", *arguments, TOPIC, **sent)
    assert result.exit_code == 0, result.output
    plan: dict[str, Any] = json.loads(result.stdout)
    return plan


def models_of(plan: dict[str, Any]) -> dict[str, list[str]]:
    return {seat["role"]: seat["models"] for seat in plan["rounds"][0]["seats"]}


# ---------------------------------------------------------------------------------------------------------- a rehearsal


def test_a_rehearsal_prints_its_worksheet_and_leaves_four_files(run: Command, work: Path) -> None:
    result = run("--rehearse", "--recipe", "fortress", TOPIC)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(f"{MARK}\n\nREHEARSAL — no model was asked")
    assert TOPIC in result.stdout
    folder = only_run()
    assert folder.name == f"{today()}-should-we-move-billing-to-kafka"
    assert names(folder) == FILES
    assert names(work) == ["debates"]


def test_progress_goes_to_standard_error_one_line_for_each_draft_and_commit(rehearse: Command) -> None:
    told = rehearse(TOPIC).stderr.splitlines()
    drafted = re.compile(r"  R1\.(Wind|Wall|Door)\.1 .* (drafted|wrote its checklist) in \d+\.\d s, 0 tokens in .*")
    committed = re.compile(r"  R1\.(Wind|Wall|Door)\.1 .* committed as T[123], sha256:[0-9a-f]{12}…")
    assert sum(bool(drafted.fullmatch(line)) for line in told) == 4
    assert sum(bool(committed.fullmatch(line)) for line in told) == 3
    assert told[0] == f"thread {today()}-should-we-move-billing-to-kafka"
    assert told[-5:] == [f"wrote {only_run() / name}" for name in (*NAMES.values(), PLAN)]


def test_every_output_of_a_rehearsal_is_marked_and_none_claims_a_decision(rehearse: Command, hall: Command) -> None:
    outcome = json.loads(rehearse("--json", TOPIC).stdout)
    assert outcome["rehearsal"] is True
    assert outcome["decision"] is outcome["record"]["decision"] is None
    folder = only_run()
    front, title, mark = flowing((folder / "decision.md").read_text()).split("\n\n")[:3]
    assert (title, mark) == (f"# {TOPIC}", MARK)
    assert "status: draft" in front
    assert "  MARKS::[REHEARSAL]" in (folder / "transcript.oct.md").read_text().splitlines()[:10]
    ledger = json.loads((folder / "debate.json").read_text())
    assert ledger["record"]["rehearsal"] is True
    assert ledger["record"]["decision"] is None
    assert all(turn["content"].startswith("REHEARSAL") for turn in ledger["transcript"])
    assert yaml.safe_load((folder / "plan.yaml").read_text())["rehearsal"] is True
    for format, sign in (("octave", "MARKS::[REHEARSAL]"), ("adr", MARK), ("json", '"rehearsal": true')):
        exported = hall("export", folder.name, "--format", format).stdout
        assert sign in (flowing(exported) if format == "adr" else exported)


def test_a_rehearsal_is_marked_wherever_its_debate_is_shown_and_a_real_debate_nowhere(
    rehearse: Command, run: Command, hall: Command, debates: Listed, model_server: Any, work: Path
) -> None:
    (work / "here.yaml").write_text(model_server.models_file())
    real = ("--models", "here.yaml", "--recipe", "speed", "--thread-id", "2026-01-06-real", "Which queue?")
    rehearsed = rehearse("--thread-id", "2026-01-07-rehearsed", "Which queue?")
    decided = run(*real)
    assert (rehearsed.exit_code, decided.exit_code) == (0, 0)
    assert [(debate["thread_id"], debate["marks"]) for debate in debates()] == [
        ("2026-01-06-real", []),
        ("2026-01-07-rehearsed", ["REHEARSAL"]),
    ]
    first, second = hall("list").stdout.splitlines()
    assert "REHEARSAL" not in first
    assert second.endswith("  REHEARSAL: Which queue?")
    for thread_id, marks in (("2026-01-06-real", []), ("2026-01-07-rehearsed", ["REHEARSAL"])):
        page = hall("show", thread_id).stdout
        assert page.startswith("".join(f"{mark}: " for mark in marks) + f"{thread_id}: synthesis, 3 of 3 turns")
        assert json.loads(hall("show", thread_id, "--json").stdout)["marks"] == marks
        with Hall.open() as opened:
            texts = [opened.export_debate(thread_id, "octave"), opened.export_debate(thread_id, "json")]
        assert json.loads(texts[1])["marks"] == marks
        outputs = [page, *texts, (work / "debates" / thread_id / "decision.md").read_text()]
        assert [("REHEARSAL" in text) for text in outputs] == [bool(marks)] * 4
    assert rehearsed.stdout.startswith(MARK)
    assert "REHEARSAL" not in decided.output


def test_a_debate_in_which_one_seat_rehearses_is_marked_and_claims_no_decision(
    run: Command, debates: Listed, model_server: Any, work: Path
) -> None:
    (work / "here.yaml").write_text(model_server.models_file())
    result = run("--models", "here.yaml", "--recipe", "speed", "--wall", "rehearsal", "--json", TOPIC)
    outcome = json.loads(result.stdout)
    assert (outcome["rehearsal"], outcome["decision"], outcome["record"]["rehearsal"]) == (True, None, True)
    assert [debate["marks"] for debate in debates()] == [["REHEARSAL"]]
    assert MARK in flowing((only_run() / "decision.md").read_text())


def test_a_real_run_prints_the_decision_and_only_that(run: Command, model_server: Any, work: Path) -> None:
    (work / "here.yaml").write_text(model_server.models_file())
    result = run("--models", "./here.yaml", "--recipe", "speed", TOPIC)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("## SYNTHESIS\nCall 4 decides")
    assert result.stdout.rstrip().endswith("3. Switch on the named day.")
    adr = (only_run() / "decision.md").read_text()
    assert "status: proposed" in adr
    assert "REHEARSAL" not in adr
    assert re.search(r"drafted in \d+\.\d s, [1-9][\d,]* tokens in \(0 cached\), [1-9]\d* out, wind-1", result.stderr)
    assert "unclosed" not in result.output.lower()


# -------------------------------------------------------------------------------------------------------------- options


def test_json_prints_one_object_and_nothing_else(rehearse: Command) -> None:
    result = rehearse("--json", TOPIC)
    outcome = json.loads(result.stdout)
    assert outcome["schema"] == "run-debate/result/v1"
    assert (outcome["exit_code"], outcome["status"], outcome["error"]) == (0, "synthesis", None)
    assert [turn["role"] for turn in outcome["turns"]] == ["Wind", "Wall", "Door"]
    assert sorted(outcome["files"]) == [str(only_run() / name) for name in FILES]
    assert "committed as T3" in result.stderr


def test_quiet_prints_the_decision_and_not_a_line_more(rehearse: Command) -> None:
    result = rehearse("--quiet", "--thread-id", "undated", TOPIC)
    assert result.stdout.startswith(MARK)
    assert result.stderr == ""


@pytest.mark.parametrize("name", ["speed", "SPEED", "Speed"])
def test_a_recipe_is_named_in_any_case(name: str, run: Command) -> None:
    assert planned(run, "--rehearse", "-r", name)["recipe"] == "speed"


def test_a_recipe_may_be_a_file_or_stand_beside_the_bundled_ones(run: Command, work: Path, tmp_path: Path) -> None:
    text = bundled("recipes", "speed.yaml").read_text()
    for folder, name in ((work, "once"), (work / "recipes", "here"), (tmp_path / "config/debate-hall/recipes", "mine")):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.yaml").write_text(text.replace("name: speed", f"name: {name}"))
    for asked, found in (("once.yaml", "once"), ("./recipes/here.yaml", "here"), ("HERE", "here"), ("mine", "mine")):
        assert planned(run, "--rehearse", "-r", asked)["recipe"] == found


def test_an_agent_of_ones_own_shadows_the_bundled_one(run: Command, work: Path, tmp_path: Path) -> None:
    text = bundled("agents", "wind-agent.oct.md").read_text()
    (tmp_path / "config/debate-hall/agents").mkdir(parents=True)
    (tmp_path / "config/debate-hall/agents/wind-agent.oct.md").write_text(text.replace("SECTION::", "SECTION:: ", 1))
    (work / "agents").mkdir()
    (work / "agents/wind-agent.oct.md").write_text(text.replace("QUESTIONS::[", 'QUESTIONS::["Who owns our own?",'))
    result = run("--rehearse", "-r", "speed", "--json", TOPIC)
    assert "Who owns our own?" in json.loads(result.stdout)["turns"][0]["content"]


def test_a_tier_replaces_the_agents(run: Command) -> None:
    seats = planned(run, "--rehearse", "--tier", "3:Security")["rounds"][0]["seats"]
    assert [seat["agent"] for seat in seats] == ["edge-optimizer", "critical-engineer", "technical-architect"]


def test_models_come_from_the_default_file_a_named_one_a_path_and_the_flags(
    run: Command, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-a-key")
    by_default = models_of(planned(run))
    assert all(routes[0].startswith("anthropic/") for routes in by_default.values())
    local = models_of(planned(run, "--models", "LOCAL"))
    assert local["Wind"] == local["Door"] != by_default["Wind"]
    (work / "own.yaml").write_text("routes: {PATHOS: [ollama/a], ETHOS: [ollama/b], LOGOS: [ollama/c]}\n")
    assert models_of(planned(run, "--models", "own.yaml")) == {
        "Wind": ["ollama/a"],
        "Wall": ["ollama/b"],
        "Door": ["ollama/c"],
    }
    flags = ("--wind", "ollama/x", "--wind", "ollama/y", "--wall", "ollama/z", "--door", "ollama/w")
    assert models_of(planned(run, *flags)) == {
        "Wind": ["ollama/x", "ollama/y"],
        "Wall": ["ollama/z"],
        "Door": ["ollama/w"],
    }


def test_context_is_given_by_path_and_glob_and_hashed(run: Command, work: Path) -> None:
    (work / "docs").mkdir()
    for name in ("a.md", "b.md"):
        (work / "docs" / name).write_text(f"The file {name}.\nIts second line.\n")
    plan = planned(run, "--rehearse", "-c", "docs/b.md", "--context", "docs/*.md")
    assert [(piece["id"], piece["path"], piece["lines"]) for piece in plan["evidence"]] == [
        ("E1", "docs/b.md", 2),
        ("E2", "docs/a.md", 2),
    ]
    text = run("--rehearse", "-c", "docs/a.md", "--dry-run", TOPIC).stdout
    assert re.search(r"^E1 docs/a\.md, 2 lines, sha256:[0-9a-f]{64}$", text, re.MULTILINE)


def test_a_folder_a_diff_standard_input_and_decision_records_are_evidence(run: Command, work: Path) -> None:
    (work / "docs" / "adr").mkdir(parents=True)
    (work / "docs" / "a.md").write_text("The file.\n")
    (work / "docs" / "logo.png").write_bytes(b"\x89PNG\0")
    (work / "docs" / "adr" / "0001-queue.md").write_text("# We use a queue\n")
    git = ("git", "-C", work, "-c", "user.name=A", "-c", "user.email=a@example.com")
    for command in (("init", "-q"), ("add", "."), ("commit", "-qm", "1"), ("rm", "-q", "--cached", "docs/a.md")):
        subprocess.run([*git, *command], check=True)
    subprocess.run([*git, "commit", "-qm", "2"], check=True)
    arguments = ("-c", "docs", "-c", "git:HEAD~1..HEAD", "-c", "-", "--adr", "docs/adr")
    plan = planned(run, "--rehearse", *arguments, input=b"Ten a second.\n")
    assert [(piece["id"], piece["path"]) for piece in plan["evidence"]] == [
        ("E1", "docs/a.md"),
        ("E2", "git:HEAD~1..HEAD"),
        ("E3", "standard input"),
        ("E4", "docs/adr/0001-queue.md"),
    ]
    assert plan["notices"] == ["Left out of the evidence: docs/logo.png is a binary file (it holds NUL bytes)."]


def test_what_does_not_fit_into_the_context_limit_is_told_and_stands_in_the_record(
    rehearse: Command, work: Path
) -> None:
    (work / "a.md").write_text("x" * 41)
    (work / "b.md").write_text("y" * 40)
    result = rehearse("-c", "a.md", "-c", "b.md", "--context-limit", "10", TOPIC)
    notice = "Left out of the evidence: a.md (11 tokens) does not fit into the rest of 10 tokens (4 bytes are taken"
    assert f"note: {notice} for one).\n" in result.stderr
    record = json.loads((only_run() / "debate.json").read_bytes())
    assert notice in json.dumps(record)
    assert result.exit_code == 0


def test_the_usual_context_limit_is_what_the_help_says(run: Command) -> None:
    assert f"[default: {DEFAULT_TOKENS:,}]" in " ".join(run("--help").output.split())
    assert f"{DEFAULT_TOKENS:,} if left out" in str(ContextLimit)


def test_a_thread_id_of_ones_own_names_thread_and_folder(rehearse: Command, debates: Listed) -> None:
    result = rehearse("--thread-id", "Billing_v2.1", TOPIC)
    assert result.exit_code == 0, result.output
    assert "note: Billing_v2.1 does not begin with a date" in result.stderr
    assert only_run().name == "Billing_v2.1"
    assert [debate["thread_id"] for debate in debates()] == ["Billing_v2.1"]


def test_out_names_the_folder(rehearse: Command, work: Path, tmp_path: Path) -> None:
    assert rehearse("--out", "deep/er", TOPIC).exit_code == 0
    assert names(work / "deep" / "er") == FILES
    assert rehearse("--out", "~/home", "Another question?").exit_code == 0
    assert names(tmp_path / "home") == FILES
    assert names(work) == ["deep"]


def test_with_out_a_folder_of_another_debates_takes_no_name(rehearse: Command, debates: Listed) -> None:
    (Path("debates") / f"{today()}-kafka").mkdir(parents=True)
    assert rehearse("--out", "out", "Kafka?").exit_code == 0
    assert [debate["thread_id"] for debate in debates()] == [f"{today()}-kafka"]


def test_format_chooses_the_files(rehearse: Command) -> None:
    rehearse("--out", "adr", "--format", "adr", TOPIC)
    assert names(Path("adr")) == ["decision.md", "plan.yaml"]
    rehearse("--out", "two", "--format", "json", "--format", "octave", "--format", "json", TOPIC)
    assert names(Path("two")) == ["debate.json", "plan.yaml", "transcript.oct.md"]


def test_a_dry_run_shows_the_rounds_and_writes_nothing(run: Command, work: Path, tmp_path: Path) -> None:
    result = run("--rehearse", "--recipe", "fortress", "--dry-run", TOPIC)
    assert result.exit_code == 0
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[1] == "mediated, 9 turns in 2 rounds, Walls framework, Doors sequential"
    assert "  Wall critical-engineer      rehearsal  (attack surface and trust boundaries)" in lines
    assert lines[-1] == "14 calls, 6 of them one after another"
    assert planned(run, "--rehearse", "-r", "fortress")["calls"] == {"least": 14, "most": 14}
    assert names(tmp_path) == ["work"]
    assert names(work) == []


def test_help_and_version(run: Command) -> None:
    assert run("-h").stdout == run("--help").stdout
    assert "Hold a structured debate on TOPIC" in run("-h").stdout
    assert re.fullmatch(r"run-debate, version \d+\.\d+\.\d+\n", run("--version").stdout)


# ------------------------------------------------------------------------------------------------------------ the topic


def test_a_topic_comes_from_standard_input_as_utf_8(rehearse: Command, debates: Listed) -> None:
    result = rehearse("-", input="\ufeff  Kafka — or\n\na queue 中? \n".encode())
    assert result.exit_code == 0, result.output
    assert [debate["topic"] for debate in debates()] == ["Kafka — or\n\na queue 中?"]


@pytest.mark.parametrize(
    ("topic", "thread_id"),
    [
        ("我们应该把计费系统迁移到事件日志吗？", r"topic-[0-9a-f]{8}"),
        ("🚀🔥", r"topic-[0-9a-f]{8}"),
        ("Kafka? " * 1714 + "ab", r"(kafka-){9}kafka"),
        ("===END===\r\n```\n\u202eevil\x1b[2J", "end-evil-2j"),
    ],
    ids=["chinese", "emoji", "12,000 characters", "hostile"],
)
def test_any_topic_gets_an_id_that_begins_with_the_date(
    topic: str, thread_id: str, rehearse: Command, hall: Command, debates: Listed
) -> None:
    assert rehearse(topic).exit_code == 0
    (debate,) = debates()
    assert re.fullmatch(f"{today()}-{thread_id}", debate["thread_id"])
    assert debate["topic"] == topic
    assert hall("verify", debate["thread_id"]).exit_code == 0
    assert only_run().name == debate["thread_id"]


def test_the_same_topic_twice_gets_the_next_free_id(rehearse: Command, debates: Listed) -> None:
    assert [rehearse("Kafka?").exit_code for _ in range(3)] == [0, 0, 0]
    expected = [f"{today()}-kafka", f"{today()}-kafka-2", f"{today()}-kafka-3"]
    assert sorted(debate["thread_id"] for debate in debates()) == names(Path("debates")) == expected


def test_a_folder_that_is_there_is_never_filled_by_a_generated_id(rehearse: Command, debates: Listed) -> None:
    taken = Path("debates") / f"{today()}-kafka"
    taken.mkdir(parents=True)
    (taken / "decision.md").write_text("Ours, from another hall.")
    (taken.parent / f"{taken.name}-2").symlink_to("nowhere")
    assert rehearse("Kafka?").exit_code == 0
    assert [debate["thread_id"] for debate in debates()] == [f"{today()}-kafka-3"]
    assert names(taken) == ["decision.md"]
    assert (taken / "decision.md").read_text() == "Ours, from another hall."


def test_a_damaged_debate_keeps_its_id(rehearse: Command, damage: Callable[[str], None]) -> None:
    assert rehearse("--out", "first", "Kafka?").exit_code == 0
    damage("UPDATE threads SET state = 'broken'")
    result = rehearse("Kafka?")
    assert result.exit_code == 0, result.output
    assert only_run().name == f"{today()}-kafka-2"


@pytest.mark.slow
def test_two_processes_with_one_topic_hold_two_debates(script: Script, debates: Listed) -> None:
    arguments = ("run-debate", "--rehearse", "-r", "speed", "--quiet", "Kafka?")
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda _: script(*arguments), range(2)))
    assert [(result.returncode, result.stderr) for result in results] == [(0, b"")] * 2
    expected = [f"{today()}-kafka", f"{today()}-kafka-2"]
    assert sorted(debate["thread_id"] for debate in debates()) == names(Path("debates")) == expected
    assert [names(Path("debates") / name) for name in expected] == [FILES] * 2


# -------------------------------------------------------------------------------------------- streams that nobody reads


@pytest.mark.slow
def test_a_reader_that_has_enough_of_the_answer_ends_nothing(script: Script, nobody_reads: int) -> None:
    result = script("run-debate", "--rehearse", "-r", "speed", "--quiet", TOPIC, stdout=nobody_reads)
    assert (result.returncode, result.stderr) == (0, b"")
    assert names(only_run()) == FILES


@pytest.mark.slow
def test_nobody_to_tell_the_progress_to_ends_no_debate(script: Script, nobody_reads: int, debates: Listed) -> None:
    result = script("run-debate", "--rehearse", "-r", "speed", TOPIC, stderr=nobody_reads)
    assert result.returncode == 0
    assert result.stdout.decode().startswith(MARK)
    assert [debate["status"] for debate in debates()] == ["synthesis"]


@pytest.mark.slow
def test_closed_streams_end_no_debate(script: Script, debates: Listed) -> None:
    result = script("run-debate", "--rehearse", "-r", "speed", TOPIC, shell='exec "$@" <&- >&- 2>&-')
    assert result.returncode == 0
    assert [debate["status"] for debate in debates()] == ["synthesis"]
    assert names(only_run()) == FILES


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_answer_that_cannot_be_written_is_an_error_that_says_what_is_kept(script: Script) -> None:
    with open("/dev/full", "wb") as full:
        result = script("run-debate", "--rehearse", "-r", "speed", "--json", "--quiet", "Kafka?", stdout=full)
    assert result.returncode == 1  # not 2: something was begun, and paid for
    assert result.stderr.decode() == (
        "error: Standard output cannot be written: No space left on device. Send it elsewhere.\n"
        f"The debate is closed and kept; read it: debate-hall show {today()}-kafka\n"
    )
    assert names(only_run()) == FILES


@pytest.mark.slow
def test_an_output_that_takes_no_utf_8_still_gets_the_answer(script: Script) -> None:
    arguments = ("run-debate", "--rehearse", "-r", "speed", "--quiet", "--json", "Kafka 中 🙂?")
    result = script(*arguments, env={"PYTHONIOENCODING": "latin-1"})
    assert json.loads(result.stdout)["record"]["question"] == "Kafka 中 🙂?"


# --------------------------------------------------------------------------------------------- what goes wrong later on


@pytest.fixture
def ask(run: Command, model_server: Any, work: Path) -> Command:
    """`run-debate --recipe speed`, answered by the model server."""
    (work / "here.yaml").write_text(model_server.models_file())
    return lambda *arguments: run("--models", "here.yaml", "--recipe", "speed", "--out", "out", *arguments, TOPIC)


def before_door(model_server: Any, act: Callable[[], Any]) -> None:
    """Lets something happen while Door is being asked for its turn."""
    from endpoint_voices import plausible

    def reply(call: Any) -> str:
        if (call.model, call.nth) == ("door-1", 1):
            act()
        return plausible(call)

    model_server.reply = reply


def test_a_model_that_fails_for_good_pauses_the_run_and_says_what_is_kept(ask: Command, model_server: Any) -> None:
    from endpoint import wrong_key

    model_server.inject(wrong_key(), model="door-1")
    result = ask("--json", "--quiet")
    outcome = json.loads(result.stdout)
    assert result.exit_code == outcome["exit_code"] == 3
    assert (outcome["status"], outcome["decision"], outcome["files"]) == ("active", None, [])
    assert [turn["role"] for turn in outcome["turns"]] == ["Wind", "Wall"]
    assert outcome["error"]["code"] == "paused"
    assert "HTTP 401" in outcome["error"]["message"]
    assert result.stderr.splitlines()[-2:] == [
        f"2 committed turns are kept: debate-hall show {outcome['thread_id']}",
        f"Go on with: run-debate --resume {outcome['thread_id']}",
    ]


def test_a_folder_that_goes_away_during_the_run_is_made_again(ask: Command, model_server: Any) -> None:
    before_door(model_server, lambda: Path("out").rmdir())
    assert ask().exit_code == 0
    assert names(Path("out")) == FILES


def spoil_the_folder() -> None:
    Path("out").rmdir()
    Path("out").write_text("A file in its place.")


def test_a_folder_that_cannot_be_written_in_the_end_costs_no_decision(
    ask: Command, model_server: Any, hall: Command, debates: Listed
) -> None:
    before_door(model_server, spoil_the_folder)
    result = ask("--quiet")
    assert result.exit_code == 1  # not 2: the debate was held, and to repeat it would be to pay again
    assert result.stdout.startswith("## SYNTHESIS")
    (debate,) = debates()
    assert result.stderr.splitlines() == [
        "error: Cannot write to out: there is a file of that name, not a folder. Make room or allow writing there, or "
        "choose another folder with --out.",
        f"The debate is closed and kept; write its files again: run-debate --resume {debate['thread_id']} --out DIR",
    ]
    assert "Call 4 decides" in hall("export", debate["thread_id"], "--format", "adr").stdout


def test_with_json_the_decision_and_the_error_are_both_told(ask: Command, model_server: Any) -> None:
    before_door(model_server, spoil_the_folder)
    result = ask("--json")
    outcome = json.loads(result.stdout)
    assert result.exit_code == outcome["exit_code"] == 1
    assert outcome["decision"].startswith("## SYNTHESIS")
    assert outcome["files"] == []
    assert outcome["error"]["message"].startswith("Cannot write to out: there is a file of that name")


def test_drafts_that_cannot_be_kept_do_not_hide_why_the_run_paused(ask: Command, model_server: Any) -> None:
    from endpoint import wrong_key
    from endpoint_voices import plausible

    def refuse(call: Any) -> Any:
        spoil_the_folder()
        return wrong_key()

    model_server.reply = lambda call: refuse(call) if call.model == "wind-1" else plausible(call)
    result = ask("--quiet")
    assert result.exit_code == 3
    assert "HTTP 401" in result.stderr
    assert "Cannot write to out" in result.stderr


def test_a_debate_that_somebody_closes_by_force_ends_the_run_without_a_decision(
    ask: Command, model_server: Any, hall: Command, debates: Listed
) -> None:
    def close() -> None:
        assert hall("force-close", debates()[0]["thread_id"], "--reason", "No longer needed.").exit_code == 0

    before_door(model_server, close)
    result = ask()
    assert result.exit_code == 4
    assert result.stdout.endswith("was closed by force (No longer needed.).\n")
    assert "CLOSED BY FORCE: there is no decision." in flowing(Path("out/decision.md").read_text())
