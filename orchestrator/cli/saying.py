"""What `debate-hall say` does: a person's words come into a debate, whoever runs it."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Sequence

from orchestrator import saying
from orchestrator.cli import standard_input
from orchestrator.cli.ending import Exit
from orchestrator.cli.plain import tell
from orchestrator.cli.showing import hall, put
from orchestrator.errors import DebateError, UsageError
from orchestrator.hall.debate import State
from orchestrator.hall.hall import Hall
from orchestrator.hall.inputs import require_words, word
from orchestrator.hall.terms import Role
from orchestrator.saying import Spoken, Words


def own_name() -> str:
    """The name under which a person speaks who gives none: that of the login.

    Raises:
        UsageError: this machine knows none.
    """
    try:
        return getpass.getuser()
    except (OSError, KeyError) as error:
        raise UsageError("This machine does not know who you are.", "Say it with --as NAME.") from error


def say(
    thread_id: str,
    given: Sequence[str],
    role: str | None,
    name: str | None,
    another_round: bool,
    patient: bool,
    as_json: bool,
) -> None:
    """Says words in a debate, and prints where they stand."""
    text = standard_input.text("statement", "it", "Say it shorter.") if list(given) == ["-"] else " ".join(given)
    require_words(text, "statement")
    words = Words(text, name or own_name(), word(Role, role, "role") if role is not None else None)
    try:
        with hall() as opened:
            before = opened.state(thread_id)
            try:
                spoken = _said(opened, thread_id, words, another_round, patient)
            except KeyboardInterrupt:
                _give_back(text, given)
                tell(_interrupted(opened, words, before))
                sys.exit(Exit.INTERRUPTED)
    except DebateError:
        _give_back(text, given)
        raise
    result = {"thread_id": thread_id, "name": spoken.name, "role": words.role, "by": words.by, "head": spoken.head}
    put(result, as_json, _told(spoken, words))


def _said(opened: Hall, thread_id: str, words: Words, another_round: bool, patient: bool) -> Spoken:
    if another_round and (words.role is None or not saying.has_room(opened, thread_id, words.role)):
        saying.open_round(opened, thread_id, words.by)
    return saying.say(opened, thread_id, words, lambda why: tell(f"waiting: {why}"), patient=patient)


def _interrupted(opened: Hall, words: Words, before: State) -> str:
    """What stands of words that somebody interrupted."""
    if saying.stands(opened, before.thread_id, words, before.seq):
        return f"They were said already: debate-hall show {before.thread_id}"
    if opened.state(before.thread_id).max_rounds > before.max_rounds:
        return "Taken back: nothing was said. Another round was asked for already, and will be held."
    return "Taken back: nothing was said."


def _told(spoken: Spoken, words: Words) -> str:
    what = f"your turn of {words.role}" if words.role else "your note to Door"
    return f"{spoken.name}: {what} stands on the ledger as {words.by}'s, head {spoken.head}\n"


def _give_back(text: str, given: Sequence[str]) -> None:
    """What was read from standard input stands in no shell's history."""
    if list(given) == ["-"]:
        tell(f"Your words:\n{text}")
