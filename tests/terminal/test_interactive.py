"""`run-debate --interactive` at a terminal: what a person types after a round, and what comes of it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from building import THREAD, TOPIC
from hall.halls import HastyStore
from orchestrator.hall.debate import Debate
from orchestrator.hall.entries import Refined
from orchestrator.hall.folder import prepare
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Role, Status
from table import signed
from terminal.window import RUN_DEBATE, Terminal, terminal

pytestmark = pytest.mark.slow


@contextmanager
def rehearsal(folder: Path, recipe: str, *options: str) -> Iterator[Terminal]:
    call = ("--rehearse", "--recipe", recipe, "--thread-id", THREAD, "--out", "out", "-i", "--as", "maria")
    with terminal(*RUN_DEBATE, *call, *options, TOPIC, folder=folder) as seen:
        yield seen


def asked(seen: Terminal, number: int) -> None:
    """Waits until the person is asked after a round."""
    seen.until(lambda screen: f"Round {number} is over. What do you say? (? for help)" in screen and screen[-1] == ">")


def typed(seen: Terminal, text: str, answer: str) -> None:
    """Types a line, and waits for what the run says to it."""
    seen.press(f"{text}\n")
    seen.until(lambda screen: any(answer in line for line in screen) and screen[-1] in (">", "|"))


def ledger(folder: Path) -> Debate:
    with Hall(HastyStore(prepare(folder / "state"))) as hall:
        return hall.debate(THREAD)


def human(debate: Debate) -> list[tuple[str, str, str | None]]:
    return [(line.turn.role, line.turn.agent_role or "", line.text) for line in debate.turns if line.turn.human]


def test_a_person_writes_to_door_and_opens_another_round_to_speak_in(tmp_path: Path) -> None:
    with rehearsal(tmp_path, "speed") as seen:
        asked(seen, 1)
        typed(seen, "?", "ask for another round")
        typed(seen, "n Who is on call?", "N1 stands on the ledger as yours.")
        typed(seen, "l", "An empty line ends it.")
        seen.press("Nobody may touch the ledger.\nNor the audit.\n\n")
        seen.until(lambda screen: screen[-1].endswith("[y/N]"))
        typed(seen, "y", "It is said as soon as it is the turn of Wall.")
        seen.press("\n")
        asked(seen, 2)
        seen.press("\n")
        assert seen.end() == 0
        assert seen.cursor_is_shown
    debate = ledger(tmp_path)
    assert signed(debate) == "WLD · WlD"
    assert human(debate) == [(Role.WALL, "maria", "Nobody may touch the ledger.\nNor the audit.")]
    assert [(remark.number, remark.by, remark.text, remark.human) for remark in debate.remarks] == [
        (1, "maria", "Who is on call?", True)
    ]


def test_words_take_the_next_place_of_their_role_and_those_that_cannot_be_said_yet_wait(tmp_path: Path) -> None:
    with rehearsal(tmp_path, "standard") as seen:
        asked(seen, 1)
        typed(seen, "d Therefore we wait for the audit.", "It is said as soon as it is the turn of Door.")
        typed(seen, "w What if we moved one table?", "T4 stands on the ledger as yours.")
        seen.press("\n")
        asked(seen, 2)
        seen.press("q\n")
        assert seen.end() == 0
    debate = ledger(tmp_path)
    assert signed(debate) == "WLD · wLd · WLD · WLD"
    assert [role for role, _, _ in human(debate)] == [Role.WIND, Role.DOOR]


def test_what_is_pasted_is_taken_whole_and_what_nobody_asked_for_is_not_taken(tmp_path: Path) -> None:
    with rehearsal(tmp_path, "speed") as seen:
        asked(seen, 1)
        seen.press("c is how they call it.\nn One.\n\nc\n")
        seen.until(lambda screen: "3 lines passed over, for nobody had asked yet." in screen and screen[-1] == ">")
        seen.press("n One.\n\nc\nTwo.\n\n")
        seen.until(lambda screen: "N1 stands on the ledger as yours." in screen and screen[-1] == ">")
        seen.press("q\n")
        assert seen.end() == 0
    assert [remark.text for remark in ledger(tmp_path).remarks] == ["One.\n\nc\nTwo."]


def test_what_was_typed_before_the_question_is_no_answer_to_it(tmp_path: Path) -> None:
    with rehearsal(tmp_path, "deep") as seen:
        asked(seen, 1)
        seen.press("\nc\nc")  # the second line is typed while round 2 goes on, the third has no end
        seen.until(lambda screen: "1 line passed over, for nobody had asked yet." in screen)
        asked(seen, 2)
        seen.press("q\n")
        assert seen.end() == 0
    assert ledger(tmp_path).turns[-1].turn.round == 12


def test_what_a_terminal_cuts_off_or_nobody_can_read_is_not_said(tmp_path: Path) -> None:
    with rehearsal(tmp_path, "speed") as seen:
        asked(seen, 1)
        typed(seen, "n " + "x" * 5_000, "Not taken: a terminal keeps 4,095 bytes of a line.")
        typed(seen, "n \udcff", "Not taken: that line is not UTF-8.")
        seen.press("n Who?\x04\x04")
        seen.until(lambda screen: "N1 stands on the ledger as yours." in screen and screen[-1] == ">")
        seen.press("\x04")
        assert seen.end() == 0
    assert [remark.text for remark in ledger(tmp_path).remarks] == ["Who?"]


def test_a_person_ends_the_debate_and_door_decides(tmp_path: Path) -> None:
    with rehearsal(tmp_path, "fortress") as seen:
        asked(seen, 1)
        typed(seen, "x", "end it: Door decides now")
        seen.press("c\n")
        assert seen.end() == 0
    debate = ledger(tmp_path)
    assert {line.turn.round for line in debate.turns} == {1}
    assert len(debate.of(Refined)) == 1
    assert debate.state.status is Status.SYNTHESIS


def test_an_end_of_input_lets_the_run_go_on_and_asks_no_more(tmp_path: Path) -> None:
    with rehearsal(tmp_path, "fortress") as seen:
        asked(seen, 1)
        seen.press("\x04")
        assert seen.end() == 0
    assert signed(ledger(tmp_path)) == "WLLLD · WLLD"


def test_ctrl_c_while_a_person_is_asked_stops_the_run_so_that_it_can_go_on(tmp_path: Path) -> None:
    with rehearsal(tmp_path, "fortress") as seen:
        asked(seen, 1)
        seen.press("n Mind")
        seen.until(lambda screen: screen[-1] == "> n Mind")
        seen.press("\x03")
        assert seen.end() == 130
        assert "> n Mind^C" in seen.screen
        assert seen.screen[-1] == f"Go on with: run-debate --resume {THREAD}"
    command = (*RUN_DEBATE, "--resume", THREAD, "--interactive", "--as", "maria")
    with terminal(*command, folder=tmp_path) as seen:
        asked(seen, 2)
        typed(seen, "n Mind the audit.", "N1 stands on the ledger as yours.")
        seen.press("\n")
        assert seen.end() == 0
    debate = ledger(tmp_path)
    assert signed(debate) == "WLLLD · WLLD"
    assert len(debate.of(Refined)) == 1


def test_where_nobody_can_be_asked_nothing_is_begun(tmp_path: Path) -> None:
    told = subprocess.run(
        [*RUN_DEBATE, "--rehearse", "--interactive", TOPIC],
        cwd=tmp_path,
        env={"DEBATE_HALL_STATE_DIR": str(tmp_path / "state"), "HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert told.returncode == 2
    assert told.stderr.startswith("error: --interactive asks in a terminal")
    assert not (tmp_path / "debates").exists()
