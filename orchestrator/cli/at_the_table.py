"""A person at the table of a run: `run-debate --interactive` asks after each round what the person has to say.

What cannot be said yet waits until its role is next. All of it goes to the hall as `debate-hall say` sends it; the run
notices, as it notices anybody.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from orchestrator import saying
from orchestrator.attendance import NOBODY, People
from orchestrator.cli.outcome import Call, Place
from orchestrator.cli.plain import tell
from orchestrator.cli.saying import own_name
from orchestrator.cli.typed_lines import TypedLines, put
from orchestrator.errors import DebateError, HallError, UsageError
from orchestrator.hall.hall import Hall
from orchestrator.hall.inputs import require_name, require_words
from orchestrator.hall.terms import Role
from orchestrator.saying import Words
from orchestrator.worker import in_thread

_AS = {"w": Role.WIND, "l": Role.WALL, "d": Role.DOOR, "n": None}
_KEYS = """\
  Enter  go on                     w, l, d  speak as Wind, Wall, Door
  r      ask for another round     n        write a note that Door answers
  c      end it: Door decides now  q        go on, and ask no more
Words may follow their key on its line (n Who is on call?), or stand on the
lines after it, up to an empty one. What is pasted is taken whole.
"""


def require_terminals() -> None:
    """Refuses where nobody could be asked.

    Raises:
        UsageError
    """
    streams = (sys.stdin, sys.stderr)
    if not all(stream is not None and stream.isatty() for stream in streams):
        raise UsageError(
            "--interactive asks in a terminal, and standard input or standard error is none.",
            "Leave it out; `debate-hall say THREAD` speaks from elsewhere while the run goes on.",
        )


@contextmanager
def person_at(call: Call, hall: Hall, place: Place) -> Iterator[People]:
    """The person at the table of a run, where one is to be asked; in the end told what could not be said."""
    if not call.interactive or place.thread_id is None:
        yield NOBODY
        return
    person = AtTheTable(hall, place.thread_id, require_name(call.name or own_name()), place.telling.away)
    try:
        yield person
    finally:
        for line in person.unsaid():
            tell(line)


class AtTheTable:
    """The person at the terminal, who is asked after each round.

    Args:
        name: under which the person's words stand on the ledger.
        away: takes what else shows the run off the terminal meanwhile.
    """

    def __init__(self, hall: Hall, thread_id: str, name: str, away: Callable[[], AbstractContextManager[None]]) -> None:
        self._hall, self._thread_id, self._name, self._away = hall, thread_id, name, away
        self._waiting: list[Words] = []
        self._lines = TypedLines()
        self._asks = True

    async def before(self, role: Role) -> bool:
        """Says what waited for this role."""
        waited = [words for words in self._waiting if words.role is role]
        for words in waited:
            with self._away():
                if await self._said(words):
                    self._waiting.remove(words)
        return bool(waited)

    async def after_round(self, number: int) -> bool:
        """Asks until the person lets the run go on."""
        if not self._asks:
            return False
        with self._away():
            await self._lines.pass_over()
            await in_thread(put, f"\nRound {number} is over. What do you say? (? for help)\n")
            while await self._one_wish():
                pass
        return True

    def unsaid(self) -> Iterator[str]:
        """The words for which no moment came."""
        for words in self._waiting:
            yield f"not said, for no turn of {words.role} came any more: {words.text}"

    async def _one_wish(self) -> bool:
        """Asks once; returns whether to ask again."""
        line = await self._lines.next("> ")
        if line is None:  # Ctrl-D
            self._asks = False
            return False
        key, _, text = line.strip().partition(" ")
        key = key.lower()
        if not key:
            return False
        try:
            return await self._do(key, text.strip())
        except HallError as error:
            await in_thread(put, f"{error}\n")
            return True

    async def _do(self, key: str, text: str) -> bool:
        if key in _AS:
            await self._speak(_AS[key], await self._lines.words(text))
        elif text:  # no key: the first word of something longer
            await self._explain()
        elif key == "r":
            await in_thread(saying.open_round, self._hall, self._thread_id, self._name)
            await in_thread(put, "There will be another round.\n")
        elif key == "c":
            await in_thread(saying.end, self._hall, self._thread_id, self._name)
            return False
        elif key == "q":
            self._asks = False
            return False
        else:
            await self._explain()
        return True

    async def _explain(self) -> None:
        await self._lines.pass_over()
        await in_thread(put, _KEYS)

    async def _speak(self, role: Role | None, text: str) -> None:
        if not text.strip():
            await in_thread(put, "Nothing was said.\n")
            return
        require_words(text, "statement")
        words = Words(text, self._name, role)
        if role is not None and not await in_thread(saying.has_room, self._hall, self._thread_id, role):
            answer = await self._lines.next(f"No turn of {role} is left in the plan. Open another round for it? [y/N] ")
            if (answer or "").strip().lower() not in ("y", "yes"):
                await in_thread(put, "Nothing was said. As a note to Door it can be said: n\n")
                return
            await in_thread(saying.open_round, self._hall, self._thread_id, self._name)
        if not await self._said(words):
            self._waiting.append(words)
            await in_thread(put, f"It is said as soon as it is the turn of {role}.\n")

    async def _said(self, words: Words) -> bool:
        try:
            spoken = await in_thread(saying.say_now, self._hall, self._thread_id, words)
        except DebateError as error:
            await in_thread(put, f"{error}\n")
            return False
        if spoken is not None:
            await in_thread(put, f"{spoken.name} stands on the ledger as yours.\n")
        return spoken is not None
