"""Runs that stand still at a moment, in terminals of several sizes, and the screens that are kept of them.

`python -m tests.terminal` writes the screens again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from building import THREAD, TOPIC
from terminal.window import STAGED, Terminal, terminal

SCREENS = Path(__file__).with_name("screens")
SIZES = ((80, 24), (200, 50), (40, 10))
_STEPS = ("Wind.turn", "Wall.checklist", "Wall.apply", "Door.turn", "Door.account")


class Scene:
    """A FORTRESS debate at which nobody says more than half of a turn until it is let on.

    Args:
        seen: the terminal it is seen in.
        gates: where its seats wait.
    """

    def __init__(self, seen: Terminal, gates: Path) -> None:
        self.seen, self._gates = seen, gates

    def let_on(self, *steps: str) -> None:
        """Lets the seats of these steps say all they have to say: `1.Wind.turn`; without any, everybody."""
        names = steps or tuple(os.listdir(self._gates))
        for name in names:
            gate = self._gates / name
            away = gate.with_name(f"{name}-open")
            gate.rename(away)  # whoever comes later does not wait
            with open(os.open(away, os.O_RDWR)):  # both ends: it waits for no reader
                pass
            away.unlink()


@contextmanager
def fortress(
    folder: Path,
    columns: int = 80,
    lines: int = 24,
    *options: str,
    env: Mapping[str, str] | None = None,
    shell: str = "",
    **streams: int,
) -> Iterator[Scene]:
    """Begins the debate in an empty folder; `shell` is what a shell does around it, with the command as "$@"."""
    gates = folder / "gates"
    gates.mkdir()
    for step in (f"{number}.{step}" for number in (1, 2) for step in _STEPS):
        os.mkfifo(gates / step)
    call = ("--recipe", "fortress", "--thread-id", THREAD, "--out", "out", "--cost-limit", "2.50")
    models = ("--wind", "openai/gpt-5.2", "--wall", "openai/gpt-5.1", "--door", "openai/gpt-5.2-pro")
    around = ("bash", "-c", shell, "bash") if shell else ()
    command = (*around, *STAGED, str(gates), *call, *models, *options, TOPIC)
    with terminal(*command, folder=folder, columns=columns, lines=lines, env=env, **streams) as seen:
        yield Scene(seen, gates)


def moments(scene: Scene) -> Iterator[tuple[str, list[str]]]:
    """The debate, moment by moment; each has a name, and what is seen then."""
    seen = scene.seen
    yield "drafting", seen.until(shows("~", many=4))
    scene.let_on("1.Wind.turn")
    yield "winds-wait", seen.until(shows("drafted"))
    scene.let_on("1.Wall.checklist")
    yield "walls-apply", seen.until(shows("~", "1 of 9", many=3))
    scene.let_on("1.Wall.apply", "1.Door.turn")
    yield "second-round", seen.until(shows("~", "5 of 9", many=3))
    scene.let_on()
    assert seen.end() == 0
    yield "decided", seen.scrolled


def shows(*words: str, many: int = 1) -> Callable[[list[str]], bool]:
    """Whether a whole view has them, the first of them on so many lines."""

    def look(screen: list[str]) -> bool:
        whole = bool(screen) and screen[-1].startswith("$")
        return (
            whole
            and sum(line.count(words[0]) for line in screen) >= many
            and all(any(word in line for line in screen) for word in words)
        )

    return look


def screen_of(name: str, columns: int, lines: int) -> Path:
    return SCREENS / f"{columns}x{lines}-{name}.txt"
