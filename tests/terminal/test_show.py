"""What `debate-hall` shows of a hall on a terminal: a page, in a pager where it is long."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from building import THREAD, TOPIC
from orchestrator.hall.hall import Hall
from terminal.window import RUN_DEBATE, Terminal, terminal

pytestmark = pytest.mark.slow
DEBATE_HALL = (sys.executable, str(Path(RUN_DEBATE[1]).with_name("debate-hall")))
SHORT, LONG = THREAD, "2026-01-07-long"

Shown = Callable[..., AbstractContextManager[Terminal]]


@pytest.fixture
def shown(tmp_path: Path) -> Shown:
    """`debate-hall` in a terminal, over a hall with a short debate and a long one."""
    with Hall.open(tmp_path / "state") as hall:
        hall.init_debate(SHORT, TOPIC)
        hall.add_turn(SHORT, "Wind", "What if **billing** were a log?", agent_role="ideator")
        hall.init_debate(LONG, "Which queue do we take, of all the queues that there are?", max_turns=90, max_rounds=30)
        for number in range(90):
            hall.add_turn(LONG, ("Wind", "Wall", "Door")[number % 3], f"Words of turn {number + 1}.\n\nAnd more.")
    return lambda *arguments, **where: terminal(*DEBATE_HALL, *arguments, folder=tmp_path, **where)


def pager(folder: Path) -> str:
    """A pager that keeps what it is given."""
    path = folder / "pager"
    path.write_text(f"#!/bin/sh\nexec cat > {folder / 'paged'}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("size", [(80, 24), (200, 50), (40, 10)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_a_page_that_fits_is_printed_and_leaves_the_terminal_as_it_was(shown: Shown, size: tuple[int, int]) -> None:
    with shown("show", SHORT, "--turn", "T1", columns=size[0], lines=size[1]) as seen:
        assert seen.end() == 0
        assert "  What if billing were a log?" in seen.screen
        assert seen.screen[0].startswith("T1  Wind (PATHOS), round 1")
        assert "\x1b[1;36m" in seen.written.decode()  # Wind's colour
        assert seen.cursor_is_at_a_line


def test_a_long_page_goes_through_the_pager_that_is_named_whole_and_without_colours(
    shown: Shown, tmp_path: Path
) -> None:
    with shown("show", LONG, env={"PAGER": pager(tmp_path)}) as seen:
        assert seen.end() == 0
        assert seen.screen == []
    paged = (tmp_path / "paged").read_text()
    assert [number for number in range(1, 91) if f"\n  Words of turn {number}.\n" not in paged] == []
    assert "\x1b" not in paged


def test_a_long_page_can_be_read_in_less_and_left(shown: Shown) -> None:
    with shown("show", LONG, env={"PAGER": "", "LESS": ""}) as seen:
        seen.until(lambda screen: screen and screen[0].startswith(LONG))
        assert "Words of turn 90." not in "\n".join(seen.screen)
        seen.press("G")
        seen.until(lambda screen: any(line.startswith("Next: Wind") or "turn 90" in line for line in screen))
        seen.press("q")
        assert seen.end() == 0


def test_a_long_page_keeps_its_colours_in_less(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LESS", raising=False)
    with shown("show", LONG, env={"PAGER": ""}) as seen:
        seen.until(lambda screen: any("Words of turn 1." in line for line in screen))
        seen.press("q")
        assert seen.end() == 0
        assert "\x1b[1;36m" in seen.written.decode()  # Wind's colour
        assert "Words of turn 1." in "\n".join(seen.screen)


def test_nobody_is_kept_in_a_pager_who_wants_none(shown: Shown, tmp_path: Path) -> None:
    with shown("show", LONG, "--no-pager", env={"PAGER": pager(tmp_path)}) as seen:
        assert seen.end() == 0
        assert "  Words of turn 1." in seen.scrolled
        assert "  Words of turn 90." in seen.scrolled
    assert not (tmp_path / "paged").exists()


@pytest.mark.parametrize("env", [{"TERM": "dumb"}, {"PAGER": "no-such-pager"}, {"PAGER": "'"}])
def test_a_terminal_or_a_pager_that_is_none_is_no_crash(shown: Shown, env: dict[str, str]) -> None:
    with shown("show", LONG, env=env) as seen:
        assert seen.end() == (2 if env.get("PAGER") == "'" else 0)
        said = "\n".join(seen.scrolled)
    assert ("PAGER is no command" in said) if env.get("PAGER") == "'" else ("Words of turn 90." in said)


def test_colour_is_for_those_who_want_it(shown: Shown) -> None:
    for arguments in (("show", SHORT), ("search", "billing")):
        with shown(*arguments, env={"NO_COLOR": "1"}) as seen:
            assert seen.end() == 0
            assert not any(f"\x1b[{style};3" in seen.written.decode() for style in ("0", "1", "2")), arguments
            assert "\x1b[3" not in seen.written.decode()


def test_a_search_shows_its_hits_in_bold(shown: Shown) -> None:
    with shown("search", "billing", "were") as seen:
        assert seen.end() == 0
        assert seen.screen[1:4] == [
            f"  {TOPIC}",
            "  What if **billing** were a log?",
            f"  debate-hall show {SHORT} --turn T1",
        ]
        assert "\x1b[1;33mbilling\x1b[0m" in seen.written.decode()


@pytest.mark.parametrize(("columns", "lines_each"), [(120, 1), (70, 2), (40, 3)])
def test_a_list_is_fitted_to_the_terminal(shown: Shown, columns: int, lines_each: int) -> None:
    with shown("list", columns=columns) as seen:
        assert seen.end() == 0
        assert len(seen.screen) == 2 * lines_each
        assert seen.screen[0].startswith(LONG)
        assert seen.screen[lines_each].startswith(SHORT)


def test_on_a_pipe_nothing_steers_anything_though_the_terminal_could(shown: Shown, tmp_path: Path) -> None:
    for arguments in (("show", LONG), ("search", "billing")):
        with (tmp_path / "out").open("wb") as out, shown(*arguments, stdout=out.fileno()) as seen:
            assert seen.end() == 0
        said = (tmp_path / "out").read_text()
        assert said
        assert "\x1b" not in said
