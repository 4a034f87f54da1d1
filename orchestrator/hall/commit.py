"""How an entry comes to stand in a ledger: read where the thread stands, decide, seal, append behind that head."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import cast

from orchestrator.errors import InvalidInput, StaleHead
from orchestrator.hall import ledger, redaction, rules
from orchestrator.hall.canonical import SaltedText
from orchestrator.hall.debate import Debate, Line, State
from orchestrator.hall.entries import FloorGiven, Tombstoned, Turn
from orchestrator.hall.ledger import Sealed, Standing
from orchestrator.hall.rules import Command
from orchestrator.hall.store import Erasure, Lease, Store
from orchestrator.iso_time import iso_utc


class Committer:
    """Writes to a store what the rules permit, with the clock and the salts it was given, and under a run's lease."""

    def __init__(
        self, store: Store, clock: Callable[[], datetime], salt: Callable[[], str], lease: Lease | None = None
    ) -> None:
        self._store, self._clock, self._salt, self._lease = store, clock, salt, lease

    def salted(self, text: str) -> SaltedText:
        return SaltedText(text, self._salt())

    def open(self, thread_id: str, command: Command, plan: str | None) -> Standing:
        """Begins a thread.

        Raises:
            HallError: nothing was written.
        """
        sealed, after = self._sealed(thread_id, None, command)
        self._store.create(sealed, after, plan)
        return after

    def write(self, thread_id: str, command: Command, expected_head: str | None) -> tuple[Sealed, Standing]:
        """Appends one entry, see `write_all`."""
        sealed, after = self.write_all(thread_id, [command], expected_head)
        return sealed[0], after

    def write_all(
        self, thread_id: str, commands: Sequence[Command], expected_head: str | None
    ) -> tuple[list[Sealed], Standing]:
        """Appends an entry for each command, one behind the other: all of them, or none.

        When another writer is faster, a caller who expects no head is served from the new one: the rules decide again.

        Raises:
            HallError: nothing was written.
        """
        while True:
            before = self._store.standing(thread_id)
            if not isinstance(expected_head, str | None):
                raise InvalidInput(f"expected_head is {expected_head!r}; it is a hash such as {before.head}.")
            if expected_head is not None and expected_head != before.head:
                raise StaleHead(before.state.thread_id, expected_head, before.head)
            sealed, after = self._sealed_all(before, commands)
            try:
                self._store.append(before.head, sealed, after, lease=self._lease)
            except StaleHead:
                if expected_head is not None:
                    raise
                continue
            return sealed, after

    def redact(self, debate: Debate, target: Line, reason: str) -> tuple[list[Sealed], Standing]:
        """Deletes an entry's text, and every other that says it again, each with a tombstone of its own.

        Raises:
            StaleHead: the debate has moved; nothing was written.
        """
        after = Standing(debate.head, debate.state)
        sealed: list[Sealed] = []
        for line in (target, *redaction.repeats(debate, target)):
            entry, after = self._sealed(debate.state.thread_id, after, self._tombstone(line, reason))
            sealed.append(entry)
        erasures = [Erasure(cast(Tombstoned, entry.entry.body).target, entry.entry.seq) for entry in sealed]
        self._store.append(debate.head, sealed, after, erasures)
        return sealed, after

    def _sealed_all(self, before: Standing, commands: Sequence[Command]) -> tuple[list[Sealed], Standing]:
        sealed, after = [], before
        for command in commands:
            entry, after = self._sealed(before.state.thread_id, after, command)
            sealed.append(entry)
        return sealed, after

    def _sealed(self, thread_id: str, before: Standing | None, command: Command) -> tuple[Sealed, Standing]:
        body = rules.decide(before.state if before else None, command)
        sealed = ledger.seal(thread_id, before, body, command.words, self._at())
        return sealed, ledger.standing(sealed, before)

    def _tombstone(self, line: Line, reason: str) -> Command:
        body = line.entry.body
        assert not isinstance(body, FloorGiven), "only a text can be redacted"
        original, turn_index = body.digest, body.turn_index if isinstance(body, Turn) else None

        def make(state: State | None, digest: str) -> Tombstoned:
            return Tombstoned(digest=digest, target=line.entry.seq, original=original, turn_index=turn_index)

        return Command(make, self.salted(reason), "reason")

    def _at(self) -> str:
        return iso_utc(self._clock(), "microseconds")
