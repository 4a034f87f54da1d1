"""Bad input: exit 2, a sentence that names the place and the cure, nothing written, no debate opened."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from orchestrator.hall.hall import Hall
from orchestrator.run_folder import NAMES
from orchestrator.shelves import bundled

Command = Callable[..., Result]
Script = Callable[..., Any]
Listed = Callable[[], list[dict[str, Any]]]
Refused = Callable[..., str]

RECIPE = """\
name: own
summary: A recipe of one's own.
mode: mediated
turns: 4
ratio: {wind: 1, wall: 2, door: 1}
seats:
  wind: [ideator]
  wall: [validator]
  door: [synthesizer]
"""
MINE = """\
routes: {PATHOS: [openai/mine], ETHOS: [openai/mine], LOGOS: [openai/mine]}
models: {openai/mine: {api_base: "http://127.0.0.1:9/v1"}}
"""
GOOD_MODELS = "routes: {PATHOS: [ollama/a], ETHOS: [ollama/b], LOGOS: [ollama/c]}\n"


def tree(folder: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}


@pytest.fixture
def refused(run: Command, work: Path, debates: Listed) -> Refused:
    """Runs the command, which must refuse and leave no trace; returns what it said."""

    def call(*arguments: str, input: bytes | None = None) -> str:
        before = tree(work)
        result = run(*arguments, input=input)
        assert result.exit_code == 2, result.output
        assert result.stdout == ""
        assert tree(work) == before
        assert debates() == []
        return result.stderr

    return call


def test_the_recipe_that_the_tests_spoil_is_good(run: Command, work: Path) -> None:
    (work / "own.yaml").write_text(RECIPE)
    assert run("--rehearse", "-r", "own.yaml", "Kafka?").exit_code == 0


# -------------------------------------------------------------------------------------------------------------- recipes

RECIPES = {
    "broken YAML": ("wall: [validator]", "wall: [validator", r"own\.yaml:[789]: "),
    "unknown key": ("mode: mediated", "modus: mediated", r"own\.yaml:3: modus: .*Did you mean mode\?"),
    "duplicate key": ("turns: 4", "turns: 4\nturns: 5", r"own\.yaml:5: turns: .*(twice|line 4)"),
    "zero in the ratio": ("door: 1}", "door: 0}", r"own\.yaml:5: ratio"),
    "too few turns": ("turns: 4", "turns: 2", r"own\.yaml:4: turns: "),
    "uneven fixed turns": ("mode: mediated\nturns: 4", "mode: fixed\nturns: 4", r"own\.yaml:[345]: (turns|ratio)"),
    "wrong type": ("turns: 4", "turns: four", r"own\.yaml:4: turns: "),
    "no such agent": ("[ideator]", "[ideatr]", r"ideatr.*Did you mean ideator\?"),
    "agent of another role": ("[ideator]", "[validator]", r"own\.yaml: .*validator speaks as Wall.*as Wind.*Seat it"),
    "no limit": ("turns: 4", "turns: 4\nlimits: {tokens: 0}", r"own\.yaml:5: limits\.tokens: must be more than 0"),
    "an endless limit": ("turns: 4", "turns: 4\nlimits: {seconds: 1e400}", r"own\.yaml:5: limits\.seconds: .*finite"),
    "no limit of that name": ("turns: 4", "turns: 4\nlimits: {cost: 1}", r"own\.yaml:5: limits\.cost: unknown key"),
    "another name": ("name: own", "name: other", r"own\.yaml:1: name: is other, but the file's name is own"),
}


@pytest.mark.parametrize("case", RECIPES)
def test_a_spoilt_recipe_is_refused_with_file_line_and_key(case: str, refused: Refused, work: Path) -> None:
    good, bad, sentence = RECIPES[case]
    assert RECIPE.count(good) == 1
    (work / "own.yaml").write_text(RECIPE.replace(good, bad))
    assert re.search(sentence, refused("--rehearse", "-r", "own.yaml", "Kafka?"))


def test_an_unknown_recipe_is_answered_with_the_nearest(refused: Refused) -> None:
    assert refused("--rehearse", "-r", "fortres", "Kafka?") == (
        "error: There is no recipe 'fortres'. Did you mean fortress? There are council, deep, fortress, laboratory, "
        "speed, standard.\n"
    )


@pytest.mark.parametrize("path", ["missing.yaml", "./missing", "."])
def test_a_recipe_file_that_cannot_be_read_is_named(path: str, refused: Refused) -> None:
    said = refused("--rehearse", "-r", f"./{path}", "Kafka?")
    assert said.startswith("error: ")
    assert Path(path).name in said


@pytest.mark.parametrize(
    ("recipe", "tier", "sentence"),
    [
        ("standard", "4", "There is no tier '4'. Choose 1, 2, 3:security, 3:innovation or 3:architecture."),
        ("standard", "3", "Tier 3 goes by domain. Choose 3:security, 3:innovation or 3:architecture."),
        ("fortress", "2", "The seats of fortress are its point"),
    ],
)
def test_a_tier_that_cannot_be_is_refused(recipe: str, tier: str, sentence: str, refused: Refused) -> None:
    assert sentence in refused("--rehearse", "-r", recipe, "--tier", tier, "Kafka?")


# --------------------------------------------------------------------------------------------------- models and context


def test_without_any_model_one_screen_shows_how_to_set_one_up(refused: Refused) -> None:
    screen = refused("Kafka?").splitlines()
    assert len(screen) <= 24
    assert max(map(len, screen[1:])) <= 100
    text = "\n".join(screen)
    for way in ("export ANTHROPIC_API_KEY=", "run-debate --models local", "run-debate --rehearse"):
        assert way in text


MODELS = {
    "no such file": (None, "models.yml", r"models\.yml"),
    "no such name": (None, "modles", r"There is no models file called 'modles'\. Did you mean models\?"),
    "half a file": ("routes: {PATHOS: [ollama/a]}\n", "own.yaml", r"own\.yaml:1: routes\.ETHOS"),
    "unknown key": (f"{GOOD_MODELS}model: {{}}\n", "own.yaml", r"own\.yaml:2: model: .*Did you mean models\?"),
    "a key in it": (
        f"{GOOD_MODELS}models: {{openai/x: {{api_key_env: sk-live0123456789}}}}\n",
        "own.yaml",
        r"own\.yaml:2: models\.openai/x\.api_key_env: must be the name of an environment variable",
    ),
    "an unknown CLI": (GOOD_MODELS.replace("ollama/a", "cli/ours"), "own.yaml", r"own\.yaml:1: .*no agent CLI that is"),
}


@pytest.mark.parametrize("case", MODELS)
def test_a_models_file_that_says_something_wrong_is_refused(case: str, refused: Refused, work: Path) -> None:
    text, name, sentence = MODELS[case]
    if text is not None:
        (work / "own.yaml").write_text(text)
    said = refused("--models", name, "Kafka?")
    assert re.search(sentence, said)
    assert "sk-live" not in said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--wind", "openai/gpt-5"), "--wind openai/gpt-5: OPENAI_API_KEY is not set."),
        (("--door", "cli/"), "--door: cli/ names no agent CLI. Write cli/codex, or cli/codex:MODEL."),
        (("--door", "cli/ours"), "--door cli/ours: a description of cli/ours in the models file is missing."),
        (("--wall", "two words"), "--wall: must be the name of a model"),
        (("--wall", ""), "--wall: must be the name of a model"),
        (("--rehearse", "--wind", "ollama/a"), "A rehearsal asks no model, so it cannot ask the ones that were named."),
    ],
)
def test_a_voice_that_cannot_speak_is_refused(arguments: tuple[str, ...], sentence: str, refused: Refused) -> None:
    assert sentence in refused(*arguments, "Kafka?")


CONTEXT = {
    "missing": ("missing.md", r"missing\.md: "),
    "a folder of nothing that can be read": ("docs", r"docs: leads to nothing that can be evidence: "),
    "a glob without a match": ("docs/*.txt", r"docs/\*\.txt: matches no file"),
    "binary": ("docs/binary.md", r"docs/binary\.md: is a binary file"),
    "not UTF-8": ("docs/latin.md", r"docs/latin\.md:1: .*UTF-8"),
    "a secret by its name": (".env", r"\.env: looks like a secret \(.*\); it was not read"),
    "a secret by its content": ("docs/token.txt.md", r"docs/token\.txt\.md:2: holds what looks like a GitHub token"),
    "oversize": ("docs/large.md", r"docs/large\.md: is larger than 1,048,576 bytes"),
    "a device": ("/dev/null", r"/dev/null: is a device"),
    "no range of revisions": ("git:main", r"'git:main' is no range of revisions\. Write it as git:main\.\.HEAD"),
    "no repository": ("git:main..HEAD", r"git:main\.\.HEAD: .* is in no git repository\."),
    "an empty standard input": ("-", r"Standard input is empty, so that it holds no evidence\."),
}


@pytest.mark.parametrize("case", CONTEXT)
def test_context_that_cannot_be_read_or_must_not_leave_is_refused(case: str, refused: Refused, work: Path) -> None:
    (work / "docs").mkdir()
    (work / "docs" / "binary.md").write_bytes(b"\x7fELF\0\0")
    (work / "docs" / "latin.md").write_bytes("Überblick".encode("latin-1"))
    (work / "docs" / "token.txt.md").write_text(f"# Setup\nghp_{'q7Wd0ZkT2mXv9LbR4cYh' * 2}\n")
    (work / "docs" / "large.md").write_text("x" * (1024 * 1024 + 1))
    (work / ".env").write_text("PORT=8080\n")
    pattern, sentence = CONTEXT[case]
    said = refused("--rehearse", "--context", pattern, "Kafka?")
    assert re.search(sentence, said)
    assert "q7Wd0ZkT" not in said


def test_a_debate_whose_evidence_is_all_left_out_is_not_begun(refused: Refused, work: Path) -> None:
    (work / "a.md").write_text("x" * 41)
    said = refused("--rehearse", "-c", "a.md", "--context-limit", "10", "Kafka?")
    assert said.startswith("error: Nothing is left of the evidence: a.md (11 tokens) does not fit into the rest of 10 ")


# -------------------------------------------------------------------------------------------------- topic and thread id


@pytest.mark.parametrize(
    ("topic", "sentence"),
    [
        ("", "The topic is blank. Send a topic with words in it."),
        (" \n\t\u3000 ", "The topic is blank."),
        ("x" * 12_001, "The topic has 12,001 characters; at most 12,000 fit. Shorten it."),
        ("Kafka\0?", "The topic holds a NUL character."),
        ("Kafka \udcff?", "The text holds a lone surrogate at character 6."),
    ],
    ids=["empty", "blank", "12,001 characters", "NUL", "not Unicode"],
)
def test_a_topic_that_no_debate_can_have_is_refused(topic: str, sentence: str, refused: Refused) -> None:
    assert sentence in refused("--rehearse", topic)


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        (b"", "The topic is blank."),
        (b"\xef\xbb\xbf\r\n", "The topic is blank."),
        ("Überblick".encode("latin-1"), "The topic on standard input is not UTF-8. Send it as UTF-8 text."),
        (b"Kafka?\0", "The topic holds a NUL character."),
        (
            b"x" * (1024 * 1024 + 1),
            "The topic on standard input is larger than 1,048,576 bytes. Send the question alone",
        ),
    ],
    ids=["nothing", "blank", "not UTF-8", "NUL", "too much"],
)
def test_standard_input_that_holds_no_topic_is_refused(sent: bytes, sentence: str, refused: Refused) -> None:
    assert sentence in refused("--rehearse", "-", input=sent)


def test_a_folder_without_decision_records_is_refused(refused: Refused, work: Path) -> None:
    (work / "adr").mkdir()
    (work / "adr" / "README.md").write_text("# Decisions\n")
    assert "adr: holds no decision record" in refused("--rehearse", "--adr", ".", "--adr", "adr", "Kafka?")


def test_standard_input_is_the_topic_or_evidence_and_not_both(refused: Refused) -> None:
    said = refused("--rehearse", "--context", "-", "-", input=b"Kafka?")
    assert "TOPIC and --context cannot both be standard input (-)." in said
    assert "Standard input can be read once only." in refused("--rehearse", "-c", "-", "-c", "-", "Kafka?", input=b"x")


ENDLESS = 'yes | (ulimit -v 2000000; exec "$@")'  # whoever reads it to its end has no memory left


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-c", "-", "Kafka?"], b"error: standard input: is larger than 1,048,576 bytes. Give the part that"),
        (["-"], b"error: The topic on standard input is larger than 1,048,576 bytes. Send the question alone"),
    ],
)
def test_of_an_endless_standard_input_no_more_is_read_than_any_use_of_it_takes(
    arguments: list[str], sentence: bytes, script: Script
) -> None:
    endless = script("run-debate", "--rehearse", *arguments, shell=ENDLESS)
    assert (endless.returncode, endless.stdout) == (2, b"")
    assert endless.stderr.startswith(sentence)


@pytest.mark.slow
def test_closed_or_unreadable_standard_input_is_refused(script: Script) -> None:
    closed = script("run-debate", "--rehearse", "-", shell='exec "$@" <&-')
    assert (closed.returncode, closed.stdout) == (2, b"")
    assert closed.stderr.startswith(b"error: Standard input is closed, so that it holds nothing.")
    unreadable = script("run-debate", "--rehearse", "-", shell='exec "$@" 0>unreadable')
    assert (unreadable.returncode, unreadable.stdout) == (2, b"")
    assert unreadable.stderr.startswith(b"error: Standard input cannot be read: Bad file descriptor.")


@pytest.mark.parametrize("thread_id", ["../x", "a/b", ".hidden", "ends.", "with space", "kafka🙂", "", "x" * 129])
def test_a_bad_thread_id_is_refused(thread_id: str, refused: Refused) -> None:
    said = refused("--rehearse", "--thread-id", thread_id, "Kafka?")
    assert "cannot be a thread id" in said
    assert "Begin with the date, as in 2026-01-06-microservices-decision." in said


def test_a_thread_id_that_is_taken_is_refused_in_any_case(
    rehearse: Command, run: Command, work: Path, debates: Listed
) -> None:
    assert rehearse("--thread-id", "2026-01-06-Kafka", "--out", "first", "Kafka?").exit_code == 0
    before, standing = tree(work), debates()
    for taken in ("2026-01-06-Kafka", "2026-01-06-kafka"):
        result = rehearse("--thread-id", taken, "Another question?")
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"error: There is a debate {taken} already. Choose another thread id" in result.stderr
        assert tree(work) == before
        assert debates() == standing


# -------------------------------------------------------------------------------------------------------------- folders


def test_an_out_folder_that_cannot_be_made_is_refused(refused: Refused, work: Path) -> None:
    (work / "taken").write_text("A file.")
    cure = "Make room or allow writing there, or choose another folder with --out."
    assert refused("--rehearse", "--out", "taken", "Kafka?").endswith(
        f"error: Cannot write to taken: there is a file of that name, not a folder. {cure}\n"
    )
    assert f"taken/er: a part of that path is a file, not a folder. {cure}" in refused(
        "--rehearse", "--out", "taken/er", "Kafka?"
    )
    assert f"Cannot write to {'x' * 300}: the path is too long. {cure}" in refused(
        "--rehearse", "--out", "x" * 300, "Kafka?"
    )


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_an_out_folder_where_nothing_can_be_made_is_refused(refused: Refused) -> None:
    assert "error: Cannot write to /proc/x: " in refused("--rehearse", "--out", "/proc/x", "Kafka?")


def test_an_out_folder_that_holds_another_run_is_refused_and_nothing_in_it_changes(
    rehearse: Command, run: Command, work: Path, debates: Listed
) -> None:
    assert rehearse("--out", "out", "--format", "adr", "Kafka?").exit_code == 0
    before, standing = tree(work), debates()
    for again in (("--rehearse", "-r", "speed"), ("--rehearse", "--thread-id", "2026-01-06-x"), ("--wind", "ollama/a")):
        result = run("--out", "out", *again, "Kafka?")
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == (
            "error: out holds the files of another run (decision.md, plan.yaml). Choose another --out, or move them.\n"
        )
        assert (tree(work), debates()) == (before, standing)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NAMES.values(), "plan.yaml", "unused-drafts.json"])
def test_one_file_of_a_run_is_enough_to_refuse_its_folder_and_a_link_to_nowhere_is_one(
    name: str, refused: Refused, rehearse: Command, work: Path
) -> None:
    (work / "out").mkdir()
    (work / "out" / name).symlink_to("nowhere")
    assert f"out holds the files of another run ({name})." in refused("--rehearse", "--out", "out", "Kafka?")
    (work / "out" / name).rename(work / "out" / "something else")
    assert rehearse("--out", "out", "Kafka?").exit_code == 0


def test_a_rehearsal_as_a_fallback_is_refused_before_anything_begins(refused: Refused, work: Path) -> None:
    (work / "own.yaml").write_text(GOOD_MODELS.replace("[ollama/b]", "[ollama/b, rehearsal]"))
    flags = ("--wind", "ollama/a", "--wall", "ollama/b", "--wall", "rehearsal", "--door", "ollama/c")
    for arguments in (("--models", "own.yaml"), flags):
        assert refused(*arguments, "-r", "speed", "Kafka?") == (
            "error: Wall wall-agent would fall back to the rehearsal, which is no model: its worksheet would pass for "
            "a turn. Leave it out of the fallbacks, or name it first and alone.\n"
        )


def test_a_models_file_that_misspells_an_agent_is_refused_with_the_nearest(refused: Refused, work: Path) -> None:
    for name, cure in (
        ("critical-enginer", "Did you mean critical-engineer?"),
        ("Wall-Agent", "Did you mean wall-agent?"),  # its routes would never be taken
        ("zzzz", "The agents are critical-engineer, door-agent, "),
    ):
        (work / "own.yaml").write_text(f"{GOOD_MODELS}agents: {{{name}: [ollama/d]}}\n")
        said = refused("--models", "own.yaml", "Kafka?")
        assert said.startswith(f"error: own.yaml: agents.{name}: There is no agent called '{name}'. {cure}")


def test_an_agent_of_ones_own_may_have_routes_of_its_own(run: Command, work: Path) -> None:
    (work / "agents").mkdir()
    text = (bundled("agents") / "wall-agent.oct.md").read_text()
    (work / "agents" / "mine.oct.md").write_text(text.replace("name: wall-agent", "name: mine"))
    (work / "own.yaml").write_text(f"{GOOD_MODELS}agents: {{mine: [ollama/d], wall-agent: [ollama/e]}}\n")
    result = run("--models", "own.yaml", "-r", "speed", "--dry-run", "--json", "Kafka?")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["rounds"][0]["seats"][1]["models"] == ["ollama/e"]


def test_a_working_folder_that_is_gone_is_refused(run: Command, work: Path) -> None:
    work.rmdir()
    result = run("--rehearse", "Kafka?")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "error: The working folder is gone. Change to one that is there.\n"


def in_state(run: Command, work: Path, state: Path | str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a run says that must not begin because of its state folder."""
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(state))
    result = run("--rehearse", "-r", "speed", "Kafka?")
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert list(work.iterdir()) == []
    return result.stderr


def test_a_state_folder_that_others_may_write_is_refused(
    run: Command, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for mode in (0o777, 0o770):
        shared = tmp_path / f"shared-{mode:o}"
        shared.mkdir()
        shared.chmod(mode)
        said = in_state(run, work, shared, monkeypatch)
        assert f"Others may write the state folder {shared} (mode 0{mode:o})" in said
        assert f"`chmod go-w {shared}`" in said
        assert list(shared.iterdir()) == []


def test_a_state_folder_that_is_a_file_or_holds_no_store_is_refused(
    run: Command, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    said = in_state(run, work, tmp_path / "file", monkeypatch)
    assert "Set DEBATE_HALL_STATE_DIR to a folder that you may write." in said
    (tmp_path / "other").mkdir(mode=0o700)
    (tmp_path / "other" / "hall.sqlite3").write_text("These are our holiday pictures.\n" * 20)
    said = in_state(run, work, tmp_path / "other", monkeypatch)
    assert "file is not a database. The file is damaged or not a store: move it away" in said


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_a_state_folder_that_cannot_be_made_is_refused(
    run: Command, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = in_state(run, work, "/proc/x", monkeypatch)
    assert "The state folder /proc/x cannot be made" in said
    assert "Set DEBATE_HALL_STATE_DIR to a folder that you may write." in said


def seal(folder: Path) -> None:
    folder.chmod(0o500)
    if os.access(folder, os.W_OK):
        pytest.skip("this user may write everywhere")


def test_a_read_only_state_folder_or_store_is_refused(
    run: Command, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "read-only"
    folder.mkdir()
    seal(folder)
    assert "you may write the folder, or set DEBATE_HALL_STATE_DIR" in in_state(run, work, folder, monkeypatch)
    folder.chmod(0o700)
    Hall.open(folder).close()
    (folder / "hall.sqlite3").chmod(0o400)
    seal(folder)
    assert "DEBATE_HALL_STATE_DIR" in in_state(run, work, folder, monkeypatch)
    folder.chmod(0o700)


def test_a_read_only_out_folder_is_refused(refused: Refused, work: Path) -> None:
    (work / "sealed").mkdir()
    seal(work / "sealed")
    said = refused("--rehearse", "--out", "sealed", "Kafka?")
    assert "Cannot write to sealed: you may not write there." in said


@pytest.mark.parametrize("store", ["a new store", "a store that is there"])
@pytest.mark.slow
def test_a_disk_that_is_full_before_the_first_entry_leaves_nothing(
    store: str, script: Script, work: Path, debates: Listed
) -> None:
    if store == "a store that is there":
        assert debates() == []
    arguments = ("run-debate", "--rehearse", "-r", "fortress", "--quiet", "Kafka?")
    result = script(*arguments, shell='ulimit -f 8; exec "$@"')
    assert (result.returncode, result.stdout) == (2, b""), result.stderr
    assert b"hall.sqlite3 cannot be used: " in result.stderr
    assert b"See that the disk has room" in result.stderr
    assert list(work.iterdir()) == []
    assert debates() == []


@pytest.mark.parametrize("command", ["run-debate", "debate-hall"])
def test_a_store_that_this_version_does_not_have_is_refused_without_its_password(
    command: str, run: Command, hall: Command, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEBATE_HALL_STORE", "mysql://me:secret@db/hall")
    result = run("--rehearse", "Kafka?") if command == "run-debate" else hall("list")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Ledgers are kept in SQLite or PostgreSQL, not at mysql://db/hall. Set DEBATE_HALL_STORE" in result.stderr
    assert "secret" not in result.stderr
    assert list(work.iterdir()) == []


# ---------------------------------------------------------------------------------------------------------- with --json


@pytest.mark.parametrize(
    ("arguments", "code", "begins"),
    [
        (("-r", "nope", "Kafka?"), "configuration", "There is no recipe 'nope'."),
        (("",), "invalid_input", "The topic is blank."),
        (("--rehearse", "--out", "taken", "Kafka?"), "usage", "Cannot write to taken: "),
        (("Kafka?",), "usage", "No model can be used for Wind"),
    ],
)
def test_json_tells_the_error_as_one_object(
    arguments: tuple[str, ...], code: str, begins: str, run: Command, work: Path
) -> None:
    (work / "taken").touch()
    result = run("--json", *arguments)
    outcome = json.loads(result.stdout)
    assert result.exit_code == outcome["exit_code"] == 2
    assert outcome["error"]["code"] == code
    assert outcome["error"]["message"].startswith(begins)
    assert f"error: {outcome['error']['message']}\n" in result.stderr
    assert (outcome["thread_id"], outcome["status"], outcome["turns"], outcome["files"]) == (None, None, [], [])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--json",), "Missing argument 'TOPIC'."),
        (("--json", "--receipe", "x", "Kafka?"), "--receipe"),
        (("--format", "pdf", "Kafka?", "--json"), "Invalid value for '--format': 'pdf' is not one of"),
        (("--json", "move", "billing", "to", "Kafka?"), "Got unexpected extra arguments (billing to Kafka?)"),
    ],
)
def test_json_tells_the_command_lines_own_errors_too(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from orchestrator.cli.run_debate import main

    monkeypatch.setattr("sys.argv", ["run-debate", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    outcome = json.loads(said.out)
    assert ended.value.code == outcome["exit_code"] == 2
    assert outcome["error"]["code"] == "usage"
    assert message in outcome["error"]["message"]
    assert message in said.err
    assert "Usage: run-debate [OPTIONS] TOPIC" in said.err


def test_without_json_the_command_lines_own_errors_leave_standard_output_empty(script: Script) -> None:
    result = script("run-debate", "--format", "pdf", "Kafka?")
    assert (result.returncode, result.stdout) == (2, b"")
    assert b"'pdf' is not one of 'json', 'octave', 'adr', 'html'." in result.stderr


# --------------------------------------------------------------------------------------------------- limits and prices


@pytest.mark.parametrize("value", ["0", "-1", "nan", "snan", "inf", "1e400", "1e10", "two", ""])
@pytest.mark.parametrize(
    ("option", "what"),
    [
        ("--cost-limit", "amount of US dollars above 0 and up to 1,000,000,000, such as 2.50"),
        ("--token-limit", "number of tokens above 0 and up to 1,000,000,000, such as 200000"),
        ("--time-limit", "number of seconds above 0 and up to 1,000,000,000, such as 600"),
    ],
)
def test_a_limit_that_is_none_is_refused_with_one_that_is(option: str, what: str, value: str, refused: Refused) -> None:
    assert f"Invalid value for '{option}': '{value}' is no {what}." in refused(option, value, "--rehearse", "Kafka?")


def test_half_a_token_is_no_limit(refused: Refused) -> None:
    assert "'0.5' is no number of tokens" in refused("--token-limit", "0.5", "--rehearse", "Kafka?")


@pytest.mark.parametrize("value", ["", "3", "3/", "3/x", "-3/15", "nan/1", "1e3/1", "3/15/1", "$3/$15"])
def test_a_price_that_is_none_is_refused_with_one_that_is(value: str, refused: Refused) -> None:
    said = refused("--assume-price", value, "--models", "local", "Kafka?")
    assert f"'{value}' is no price. Write IN/OUT in US dollars per million tokens, such as 3/15 or 0.25/1." in said


def test_a_cost_limit_is_refused_where_a_price_is_unknown_unless_one_is_assumed(
    refused: Refused, run: Command, work: Path
) -> None:
    (work / "own.yaml").write_text(MINE)
    arguments = ("--models", "own.yaml", "-r", "speed", "--cost-limit", "1", "Kafka?")
    said = refused(*arguments)
    assert "A cost limit cannot be kept: no price is known for openai/mine. Give one with --assume-price IN/OUT" in said
    assert "input_cost_per_token and output_cost_per_token in the models file" in said
    result = run("--assume-price", "3/15", "--dry-run", *arguments)
    assert result.exit_code == 0, result.output
    assert "note: The price of openai/mine is assumed: $3/15 per million tokens in/out." in result.stdout
    assert "limits: $1; at a limit: stop" in result.stdout


def test_what_happens_on_failure_is_one_of_two(refused: Refused) -> None:
    assert "'stop' is not one of 'pause', 'degrade'." in refused("--on-failure", "stop", "--rehearse", "Kafka?")


def test_a_question_that_is_no_question_is_not_paid_for(refused: Refused) -> None:
    assert "run-debate --help says" in refused("help")
