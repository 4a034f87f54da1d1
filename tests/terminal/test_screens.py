"""What a person sees of a run, in terminals of several sizes, is what is kept in `screens/`."""

from __future__ import annotations

from pathlib import Path

import pytest

from terminal.scenes import SCREENS, SIZES, fortress, moments, screen_of
from terminal.window import normal

pytestmark = pytest.mark.slow
AGAIN = "Is that wanted? python -m tests.terminal writes the screens again."


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_a_run_is_seen_as_its_kept_screens_show_it(size: tuple[int, int], tmp_path: Path) -> None:
    with fortress(tmp_path, *size) as scene:
        for name, screen in moments(scene):
            assert normal(screen) == screen_of(name, *size).read_text(encoding="utf-8"), AGAIN
            assert name == "decided" or len(screen) <= size[1]
            assert max(map(len, screen)) <= size[0]
        assert scene.seen.cursor_is_shown
        assert scene.seen.cursor_is_at_a_line


def test_no_screen_is_kept_that_nobody_compares() -> None:
    kept = {file.name.partition("-")[0] for file in SCREENS.iterdir()}
    assert kept == {f"{columns}x{lines}" for columns, lines in SIZES}
    assert len(list(SCREENS.iterdir())) == 5 * len(SIZES)
