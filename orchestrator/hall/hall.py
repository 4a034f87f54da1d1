"""The hall: every operation of the protocol, over any store.

Each operation reads where the thread stands, lets the rules decide, seals the entry and appends it behind the head it
read. When another writer was faster, a caller who named an `expected_head` is told (`StaleHead`); for one who did not,
the rules are asked again.

A hall may be used from several threads at once. Its calls wait for the disk: from an event loop, call them in a worker
thread.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from orchestrator.errors import AlreadyRedacted, HallError, InvalidInput, LedgerBroken, StaleHead
from orchestrator.hall import ledger, results, rules
from orchestrator.hall.canonical import SaltedText
from orchestrator.hall.debate import Debate, Line, State
from orchestrator.hall.entries import (
    Closed,
    Extended,
    FloorGiven,
    ForceClosed,
    Note,
    Opened,
    Refined,
    SeatRecord,
    Tombstoned,
    Turn,
    Vote,
)
from orchestrator.hall.export import export_json, export_octave
from orchestrator.hall.inputs import require_thread_id, require_words
from orchestrator.hall.ledger import Sealed, Standing, StoredLine
from orchestrator.hall.rules import Command
from orchestrator.hall.store import Erasure, Store, open_store
from orchestrator.hall.terms import Choice, Cognition, Mode, Role, Status

OUTPUT_FORMATS = ("json", "octave", "both")
_REPEAT_LENGTH = 40  # characters from which a text inside another is no coincidence

Word = TypeVar("Word", bound=StrEnum)


def _now() -> datetime:
    return datetime.now(UTC)


def _new_salt() -> str:
    return secrets.token_hex(32)


class Hall:
    """A debate hall over a store.

    Args:
        store: where the ledgers are; `Hall.open` finds it.
        clock: says what time it is.
        salt: makes a new salt for each text: 64 random hex digits.
    """

    def __init__(
        self, store: Store, *, clock: Callable[[], datetime] = _now, salt: Callable[[], str] = _new_salt
    ) -> None:
        self._store, self._clock, self._salt = store, clock, salt

    @classmethod
    def open(cls, location: str | Path | None = None) -> Hall:
        """Opens the hall at a folder, else where DEBATE_HALL_STORE or DEBATE_HALL_STATE_DIR say, else the user's own.

        Raises:
            StoreError: the place cannot be used.
        """
        return cls(open_store(location))

    def close(self) -> None:
        self._store.close()

    def __enter__(self) -> Hall:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # ------------------------------------------------------------------------------------------ the protocol's seven

    def init_debate(
        self,
        thread_id: str,
        topic: str,
        mode: str = Mode.FIXED,
        max_turns: int = 12,
        max_rounds: int = 4,
        strict_cognition: bool = False,
        barrier: bool = True,
    ) -> results.Summary:
        """Opens a debate.

        Args:
            thread_id: date-first by convention, `2026-01-06-microservices-decision`.
            topic: the question, at most 12,000 characters.
            mode: fixed (Wind, Wall, Door, …) or mediated (pick_next_speaker, then a turn).
            max_turns, max_rounds: 1 to 100,000.
            strict_cognition: refuse turns that do not show what their role must show.
            barrier: Door speaks only after Wind and Wall; without it roles can be skipped, and that is recorded.

        Raises:
            InvalidInput, ThreadExists: nothing was written.
        """
        return self._open(thread_id, topic, mode, max_turns, max_rounds, strict_cognition, barrier, plan=None)

    def pick_next_speaker(self, thread_id: str, role: str, expected_head: str | None = None) -> results.PickResult:
        """Gives the floor to a role for one turn; a later pick replaces an earlier one (mediated mode).

        Raises:
            WrongMode, NotActive, BarrierUp, LimitReached, StaleHead, UnknownThread: nothing was written.
        """
        picked = _word(Role, role, "role")
        _, after = self._write(thread_id, Command(lambda state, _: FloorGiven(role=picked)), expected_head)
        state = after.state
        return {
            "thread_id": state.thread_id,
            "next_role": picked,
            "mode": state.mode,
            "round": state.round_of(picked),
            "head": after.head,
        }

    def add_turn(
        self,
        thread_id: str,
        role: str,
        content: str,
        cognition: str | None = None,
        agent_role: str | None = None,
        model: str | None = None,
        token_input: int | None = None,
        token_output: int | None = None,
        token_total: int | None = None,
        expected_head: str | None = None,
        *,
        seat: SeatRecord | None = None,
    ) -> results.TurnResult:
        """Commits one turn.

        Args:
            content: at most 262,144 bytes of UTF-8; it comes back byte for byte.
            cognition: the role's own if left out.
            agent_role, model: who spoke, for the record.
            token_input, token_output, token_total: as the provider counted them.
            expected_head: the head this turn was written from; when it has moved, StaleHead and nothing is written.
            seat: the runner's record of the seat.

        Raises:
            InvalidInput, NotActive, OutOfTurn, FloorNotGiven, BarrierUp, LimitReached, CognitionMissing, StaleHead,
            UnknownThread: nothing was written.
        """
        audit = {
            "agent_role": agent_role,
            "model": model,
            "token_input": _count(token_input, "token_input"),
            "token_output": _count(token_output, "token_output"),
            "token_total": _count(token_total, "token_total"),
            "seat": seat,
        }
        spoken_as = _word(Cognition, cognition, "cognition") if cognition is not None else None
        command = rules.add_turn(_word(Role, role, "role"), spoken_as, self._salted(content, "content"), audit)
        sealed, after = self._write(thread_id, command, expected_head)
        return results.turn_result(cast(Turn, sealed.entry.body), after, content)

    def get_debate(
        self,
        thread_id: str,
        include_transcript: bool = True,
        context_turns: int | None = None,
        context_lines: int | None = None,
        include_metadata: bool = False,
    ) -> results.DebateResult:
        """Returns a debate, with all turns or the newest `context_turns` (`context_lines` is the same).

        Raises:
            UnknownThread, InvalidInput: a window below 1.
        """
        window = context_turns if context_turns is not None else context_lines
        if window is not None and (type(window) is not int or window < 1):
            raise InvalidInput(f"context_turns is {window!r}; it is at least 1.", "Leave it out for all turns.")
        debate = self._windowed(thread_id, (window or rules.MAX_LIMIT) if include_transcript else 0)
        return results.debate_result(debate, include_transcript=include_transcript, include_metadata=include_metadata)

    def close_debate(
        self,
        thread_id: str,
        synthesis: str,
        output_format: str = "json",
        status: str = Status.SYNTHESIS,
        expected_head: str | None = None,
    ) -> results.CloseResult:
        """Closes a debate with Door's final text.

        Args:
            output_format: json adds the transcript to the answer, octave the OCTAVE text, both adds both.
            status: synthesis, or stalemate.

        Raises:
            InvalidInput, BarrierUp, NotActive, StaleHead, UnknownThread: nothing was written.
        """
        if output_format not in OUTPUT_FORMATS:
            raise InvalidInput(f"output_format is {output_format!r}; it is one of {', '.join(OUTPUT_FORMATS)}.")
        ending = _word(Status, status, "status")
        command = Command(
            lambda state, digest: Closed(digest=digest, status=ending),
            self._salted(synthesis, "synthesis"),
            "synthesis",
        )
        _, after = self._write(thread_id, command, expected_head)
        return self._closed(after, synthesis, output_format)

    def force_close_debate(self, thread_id: str, reason: str) -> results.ForceCloseResult:
        """The kill switch: closes a debate at once, whatever it lacks.

        Raises:
            InvalidInput, NotActive, UnknownThread: nothing was written.
        """
        command = Command(lambda state, digest: ForceClosed(digest=digest), self._salted(reason, "reason"), "reason")
        _, after = self._write(thread_id, command, None)
        state = after.state
        return {
            "thread_id": state.thread_id,
            "status": state.status,
            "reason": reason,
            "turn_count": state.turn_count,
            "head": after.head,
        }

    def tombstone_turn(self, thread_id: str, turn_index: int, reason: str) -> results.TombstoneResult:
        """Deletes a turn's text and its salt and leaves the reason; the chain still verifies.

        A synthesis that says the same again is redacted with it. Files that were exported before keep what they have.

        Args:
            turn_index: 0 is the first turn.

        Raises:
            InvalidInput, AlreadyRedacted, UnknownThread: nothing was written.
        """
        require_words(reason, "reason")
        while True:
            debate = self._verified(thread_id)
            try:
                return self._redact(debate, _turn_at(debate, turn_index), reason)
            except StaleHead:
                continue

    # -------------------------------------------------------------------------------------------- reading and checking

    def list_debates(self, status: str | None = None, text: str | None = None) -> list[results.Listing]:
        """Returns every debate, the one that moved last first.

        Args:
            status: only those with this status.
            text: only those whose thread id or topic holds this, in any case.
        """
        wanted = _word(Status, status, "status") if status is not None else None
        needle = (text or "").casefold()
        return [
            _listing(listed.standing, listed.topic or "[REDACTED]", listed.planned)
            for listed in self._store.listed()
            if wanted in (None, listed.standing.state.status)
            and needle in f"{listed.standing.state.thread_id}\n{listed.topic or ''}".casefold()
        ]

    def verify_debate(self, thread_id: str, head: str | None = None) -> results.VerifyResult:
        """Derives a ledger again from its first entry.

        Args:
            head: a head that was kept elsewhere; it must stand in the chain.

        Raises:
            LedgerBroken: names the first bad entry.
            UnknownThread
        """
        debate = self._verified(thread_id)
        return {
            "thread_id": debate.state.thread_id,
            "verified": True,
            "entries": len(debate.lines),
            "head": debate.head,
            "newer": ledger.require_head(debate, head) if head else None,
        }

    def export_debate(self, thread_id: str, format: str = "json") -> str:
        """Returns a verified debate as JSON (all that is needed to verify it again) or as OCTAVE text.

        Raises:
            LedgerBroken, InvalidInput, UnknownThread
        """
        exporters = {"json": export_json, "octave": export_octave}
        if format not in exporters:
            raise InvalidInput(f"format is {format!r}; it is one of {', '.join(exporters)}.")
        return exporters[format](self.debate(thread_id))

    def debate(self, thread_id: str) -> Debate:
        """Returns a whole debate, verified.

        Raises:
            LedgerBroken, UnknownThread
        """
        return self._verified(thread_id)

    def plan(self, thread_id: str) -> str | None:
        """Returns the plan that was pinned when a runner opened the thread, byte for byte; None for other threads."""
        return self._store.thread(thread_id).plan

    # --------------------------------------------------------------------------------------------------- for the runner

    def open_run(
        self, thread_id: str, topic: str, plan: str, mode: str, max_turns: int, max_rounds: int
    ) -> results.Summary:
        """Opens a debate and pins the plan it follows: its digest stands in the opening entry, its text beside it.

        Raises:
            InvalidInput, ThreadExists: nothing was written.
        """
        return self._open(thread_id, topic, mode, max_turns, max_rounds, False, True, plan=plan)

    def cast_vote(
        self,
        thread_id: str,
        role: str,
        choice: str,
        reason: str,
        rests_on: Sequence[str] = (),
        seat: SeatRecord | None = None,
        expected_head: str | None = None,
    ) -> results.EntryResult:
        """Records a seat's vote on the newest synthesis; `rests_on` names constraints, turns or citations.

        Raises:
            HallError: nothing was written.
        """
        voter, chosen = _word(Role, role, "role"), _word(Choice, choice, "choice")

        def make(state: State | None, digest: str) -> Vote:
            on = state.synthesis_seq if state and state.synthesis_seq is not None else 0
            return Vote(digest=digest, on=on, role=voter, choice=chosen, rests_on=tuple(rests_on), seat=seat)

        return self._entry(thread_id, Command(make, self._salted(reason, "reason"), "reason"), expected_head)

    def refine(
        self,
        thread_id: str,
        synthesis: str,
        answers: Sequence[int] = (),
        seat: SeatRecord | None = None,
        expected_head: str | None = None,
    ) -> results.EntryResult:
        """Records a new synthesis; `answers` are the sequence numbers of the votes it answers.

        Raises:
            HallError: nothing was written.
        """

        def make(state: State | None, digest: str) -> Refined:
            number = state.refinements + 1 if state else 1
            return Refined(digest=digest, number=number, answers=tuple(answers), seat=seat)

        return self._entry(thread_id, Command(make, self._salted(synthesis, "synthesis"), "synthesis"), expected_head)

    def note(
        self,
        thread_id: str,
        words: str,
        about: str,
        by: str,
        to: str | None = None,
        expected_head: str | None = None,
    ) -> results.EntryResult:
        """Records words that are no turn: a remark, what a run had to change.

        Raises:
            HallError: nothing was written.
        """
        reader = _word(Role, to, "to") if to is not None else None
        command = Command(
            lambda state, digest: Note(digest=digest, about=about, by=by, to=reader),
            self._salted(words, "note"),
            "note",
        )
        return self._entry(thread_id, command, expected_head)

    def extend(
        self,
        thread_id: str,
        max_turns: int,
        max_rounds: int,
        by: str,
        reason: str,
        expected_head: str | None = None,
    ) -> results.EntryResult:
        """Raises a debate's limits.

        Raises:
            HallError: nothing was written.
        """
        command = Command(
            lambda state, digest: Extended(digest=digest, by=by, max_turns=max_turns, max_rounds=max_rounds),
            self._salted(reason, "reason"),
            "reason",
        )
        return self._entry(thread_id, command, expected_head)

    # ------------------------------------------------------------------------------------------------------- the steps

    def _open(
        self,
        thread_id: str,
        topic: str,
        mode: str,
        max_turns: int,
        max_rounds: int,
        strict_cognition: bool,
        barrier: bool,
        *,
        plan: str | None,
    ) -> results.Summary:
        require_thread_id(thread_id)
        how = _word(Mode, mode, "mode")
        limits = {"max_turns": _whole(max_turns, "max_turns"), "max_rounds": _whole(max_rounds, "max_rounds")}
        flags = {"strict_cognition": strict_cognition is True, "barrier": barrier is not False}
        pinned = ledger.plan_digest(plan) if plan is not None else None
        command = Command(
            lambda state, digest: Opened(digest=digest, mode=how, plan=pinned, **limits, **flags),
            self._salted(topic, "topic"),
            "topic",
        )
        sealed, after = self._sealed(thread_id, None, command)
        self._store.create(sealed, after, plan)
        return results.summary(after, topic)

    def _entry(self, thread_id: str, command: Command, expected_head: str | None) -> results.EntryResult:
        sealed, after = self._write(thread_id, command, expected_head)
        return {"thread_id": after.state.thread_id, "seq": sealed.entry.seq, "head": after.head}

    def _write(self, thread_id: str, command: Command, expected_head: str | None) -> tuple[Sealed, Standing]:
        while True:
            before = self._store.standing(thread_id)
            if expected_head is not None and expected_head != before.head:
                raise StaleHead(before.state.thread_id, expected_head, before.head)
            sealed, after = self._sealed(before.state.thread_id, before, command)
            try:
                self._store.append(before.head, [sealed], after)
            except StaleHead:
                if expected_head is not None:
                    raise
                continue
            return sealed, after

    def _sealed(self, thread_id: str, before: Standing | None, command: Command) -> tuple[Sealed, Standing]:
        body = rules.decide(before.state if before else None, command)
        sealed = ledger.seal(thread_id, before, body, command.words, self._at())
        return sealed, ledger.standing([sealed], before)

    def _redact(self, debate: Debate, target: Line, reason: str) -> results.TombstoneResult:
        repeats = [line for line in debate.of(Refined, Closed) if _repeats(target, line)]
        sealed: list[Sealed] = []
        after = Standing(debate.head, debate.state)
        for line in (target, *repeats):
            entry, after = self._sealed(debate.state.thread_id, after, self._tombstone(line, reason))
            sealed.append(entry)
        erasures = [Erasure(cast(Tombstoned, entry.entry.body).target, entry.entry.seq) for entry in sealed]
        self._store.append(debate.head, sealed, after, erasures)
        turn = cast(Turn, target.entry.body)
        return {
            "thread_id": debate.state.thread_id,
            "turn_index": turn.turn_index,
            "reason": reason,
            "original_content_hash": turn.digest,
            "also_redacted": [line.entry.seq for line in repeats],
            "erased": "done" if self._store.erase_traces() else "pending",
            "head": after.head,
        }

    def _tombstone(self, line: Line, reason: str) -> Command:
        body: Any = line.entry.body
        return Command(
            lambda state, digest: Tombstoned(
                digest=digest,
                target=line.entry.seq,
                original=body.digest,
                turn_index=body.turn_index if isinstance(body, Turn) else None,
            ),
            self._salted(reason, "reason"),
            "reason",
        )

    def _closed(self, after: Standing, synthesis: str, output_format: str) -> results.CloseResult:
        state = after.state
        result: results.CloseResult = {
            "thread_id": state.thread_id,
            "status": state.status,
            "synthesis": synthesis,
            "turn_count": state.turn_count,
            "balance": results.balance(state),
            "starved_roles": list(state.starved_roles),
            "head": after.head,
        }
        debate = self._verified(state.thread_id)
        if output_format in ("json", "both"):
            result["transcript"] = results.transcript(debate, include_metadata=False)
        if output_format in ("octave", "both"):
            result["octave"] = export_octave(debate)
        return result

    def _verified(self, thread_id: str) -> Debate:
        return ledger.verify(self._store.thread(thread_id))

    def _windowed(self, thread_id: str, turns: int) -> Debate:
        window = self._store.window(thread_id, turns)
        lines = tuple(_read(window.standing.state.thread_id, line) for line in window.lines)
        return Debate(window.standing.state, window.standing.head, lines)

    def _salted(self, text: str, what: str) -> SaltedText:
        if not isinstance(text, str):
            raise InvalidInput(f"The {what} is text, not {type(text).__name__}.")
        return SaltedText(text, self._salt())

    def _at(self) -> str:
        return self._clock().astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _read(thread_id: str, stored: StoredLine) -> Line:
    try:
        return ledger.read(stored)
    except HallError as error:
        raise LedgerBroken(thread_id, stored.seq, error.message) from error


def _turn_at(debate: Debate, turn_index: int) -> Line:
    if type(turn_index) is not int or not 0 <= turn_index < len(debate.turns):
        last = len(debate.turns) - 1
        raise InvalidInput(
            f"{debate.state.thread_id} has no turn {turn_index!r}.",
            f"turn_index counts from 0; its last turn is {last}." if last >= 0 else "It has no turns yet.",
        )
    line = debate.turns[turn_index]
    if line.text is None:
        raise AlreadyRedacted(f"Turn {turn_index} of {debate.state.thread_id} is redacted already: {line.words}")
    return line


def _repeats(turn: Line, later: Line) -> bool:
    """Whether a later text says the turn's text again, word for word."""
    if turn.text is None or later.text is None:
        return False
    return later.text == turn.text or (len(turn.text) >= _REPEAT_LENGTH and turn.text in later.text)


def _listing(standing: Standing, topic: str, planned: bool) -> results.Listing:
    state = standing.state
    return {
        "thread_id": state.thread_id,
        "topic": topic,
        "mode": state.mode,
        "status": state.status,
        "turn_count": state.turn_count,
        "max_turns": state.max_turns,
        "round": state.round,
        "opened_at": state.opened_at,
        "updated_at": state.updated_at,
        "planned": planned,
        "head": standing.head,
    }


def _word(words: type[Word], value: str, what: str) -> Word:
    """Returns a word of the protocol, given in any case."""
    for word in words:
        if isinstance(value, str) and value.casefold() == word.value.casefold():
            return word
    raise InvalidInput(f"{what} is {str(value)[:60]!r}; it is one of {', '.join(words)}.")


def _whole(value: int, what: str) -> int:
    if type(value) is not int:
        raise InvalidInput(f"{what} is {value!r}; it is a whole number.")
    return value


def _count(value: int | None, what: str) -> int | None:
    return value if value is None else _whole(value, what)
