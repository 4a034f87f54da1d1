"""What a terminal and a run do to one another: keys, sizes, a terminal that nobody reads, and a pipe in its place."""

from __future__ import annotations

import json
import os
import select
import signal
from pathlib import Path

import pytest

from building import THREAD, TOPIC
from endpoint import ModelServer
from terminal.scenes import fortress, shows
from terminal.window import DEADLINE_S, RUN_DEBATE, terminal

pytestmark = pytest.mark.slow
REHEARSAL = ("--rehearse", "--recipe", "speed", "--thread-id", THREAD, "--out", "out", TOPIC)
GO_ON = f"Go on with: run-debate --resume {THREAD}"


@pytest.mark.parametrize(("key", "number"), [("\x03", None), ("", signal.SIGTERM)], ids=["Ctrl-C", "SIGTERM"])
def test_a_run_that_is_interrupted_leaves_the_terminal_as_it_was_and_says_how_to_go_on(
    key: str, number: signal.Signals | None, tmp_path: Path
) -> None:
    with fortress(tmp_path) as scene:
        scene.seen.until(shows("~", many=4))
        assert not scene.seen.cursor_is_shown
        scene.seen.press(key)
        if number:
            scene.seen.process.send_signal(number)
        assert scene.seen.end() == 130
        assert scene.seen.screen[-1] == GO_ON
        assert not any("awaits" in line for line in scene.seen.scrolled)
        assert scene.seen.cursor_is_shown
        assert scene.seen.cursor_is_at_a_line


def test_what_goes_wrong_with_the_program_itself_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    with fortress(tmp_path, env={"STAGED_RAISES": "1.Wall.apply"}) as scene:
        scene.let_on()
        assert scene.seen.end() == 1
        assert any("error: Internal error: ZeroDivisionError" in line for line in scene.seen.scrolled)
        assert not any("awaits" in line for line in scene.seen.scrolled)
        assert scene.seen.cursor_is_shown


def test_ctrl_z_gives_the_shell_its_terminal_and_the_view_comes_back_with_the_run(tmp_path: Path) -> None:
    with fortress(tmp_path, shell='set -m; "$@"; echo; echo the shell has it; fg >/dev/null') as scene:
        scene.seen.until(shows("~", many=4))
        scene.seen.press("\x1a")
        screen = scene.seen.until(lambda screen: "the shell has it" in screen and scene.seen.cursor_is_shown)
        before = screen[: screen.index("the shell has it")]
        assert not any("awaits" in line for line in before)
        scene.seen.until(shows("~", many=4))
        scene.let_on()
        assert scene.seen.end() == 0
        assert any(line.startswith("T9 Door") for line in scene.seen.scrolled)


def test_a_terminal_may_change_its_size_at_any_time(tmp_path: Path) -> None:
    with fortress(tmp_path, 200, 50) as scene:
        scene.seen.until(shows("~", many=4))
        for columns, lines in ((40, 10), (10, 3), (1, 1), (0, 0), (120, 30)):
            scene.seen.resize(columns, lines)
            scene.seen.until_drawn()
        scene.let_on("1.Wind.turn", "1.Wall.checklist")
        screen = scene.seen.until(shows("~", "1 of 9", many=3))
        assert sum("Wind" in line and "Door" in line and "Wall" in line for line in screen[-14:]) == 1
        scene.let_on()
        assert scene.seen.end() == 0
        assert scene.seen.cursor_is_shown


def test_a_terminal_that_takes_nothing_holds_up_the_last_words_and_not_the_run(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "events")
    with fortress(tmp_path, 80, 24, "--events", "events") as scene, (tmp_path / "events").open("rb", 0) as events:
        scene.seen.until(shows("~", many=4))
        scene.seen.press("\x13")  # Ctrl-S
        scene.let_on()
        told = b""
        while b'"type": "closed"' not in told:
            assert select.select([events], [], [], DEADLINE_S)[0], "the run stands still"
            told += events.read(65_536)
        assert scene.seen.process.poll() is None
        scene.seen.press("\x11")  # Ctrl-Q
        assert scene.seen.end() == 0
        assert any(line.startswith("T9 Door") for line in scene.seen.scrolled)
        assert any("Read on: " in line for line in scene.seen.screen)


def test_a_run_at_a_terminal_streams_what_a_provider_says_though_no_models_file_asks_for_it(tmp_path: Path) -> None:
    with ModelServer() as server:
        (tmp_path / "here.yaml").write_text(server.models_file())
        server.dam()
        command = (*RUN_DEBATE, "--models", "./here.yaml", "--recipe", "speed", "--out", "out", TOPIC)
        with terminal(*command, folder=tmp_path) as seen:
            seen.until(shows("~", many=2))
            server.flow()
            assert seen.end() == 0
        prose = [call.body.get("stream") for call in server.calls]
        assert prose == [True, True, True, True, None]  # the account is JSON
        record = json.loads((tmp_path / "out" / "debate.json").read_text())["record"]
        assert record["cost_usd"] is not None


@pytest.mark.parametrize("option", ["--no-color", "--quiet"])
def test_a_terminal_on_which_nothing_is_to_be_drawn_sees_plain_lines(option: str, tmp_path: Path) -> None:
    with terminal(*RUN_DEBATE, option, *REHEARSAL, folder=tmp_path) as seen:
        assert seen.end() == 0
    assert b"\x1b" not in seen.written
    assert (b"committed as T3" in seen.written) == (option == "--no-color")
    assert seen.written.startswith(b"REHEARSAL: ") == (option == "--quiet")


@pytest.mark.parametrize("setting", [{"TERM": "dumb"}, {"PYTHONIOENCODING": "latin-1"}], ids=str)
def test_a_terminal_that_cannot_be_drawn_on_sees_plain_lines(setting: dict[str, str], tmp_path: Path) -> None:
    with terminal(*RUN_DEBATE, *REHEARSAL, folder=tmp_path, env=setting) as seen:
        assert seen.end() == 0
    assert b"\x1b" not in seen.written
    assert b"committed as T3" in seen.written


def test_no_color_in_the_environment_leaves_the_view_and_takes_its_colours(tmp_path: Path) -> None:
    with terminal(*RUN_DEBATE, *REHEARSAL, folder=tmp_path, env={"NO_COLOR": "1"}) as seen:
        assert seen.end() == 0
    assert b"\x1b[J" in seen.written
    assert b"\x1b[3" not in seen.written.replace(b"\x1b[3F", b"")


def test_json_is_one_object_whatever_a_terminal_is_shown_beside_it(tmp_path: Path) -> None:
    outcome = os.open(tmp_path / "outcome", os.O_WRONLY | os.O_CREAT)
    with terminal(*RUN_DEBATE, "--json", *REHEARSAL, folder=tmp_path, stdout=outcome) as seen:
        assert seen.end() == 0
    assert json.loads((tmp_path / "outcome").read_bytes())["thread_id"] == THREAD
    assert "T3 Door" in "\n".join(seen.scrolled)


def test_a_pipe_gets_the_whole_decision_and_no_control_character(tmp_path: Path) -> None:
    ours, pipe = os.pipe()
    with terminal(*RUN_DEBATE, *REHEARSAL, folder=tmp_path, stdout=pipe, stderr=pipe) as seen:
        os.close(pipe)
        with open(ours, "rb") as told:
            written = told.read()
        assert seen.end() == 0
    assert seen.written == b""
    assert [byte for byte in written if byte < 0x20 and byte != 0x0A] == []
    assert b"more lines" not in written
