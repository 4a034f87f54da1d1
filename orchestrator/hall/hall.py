"""The hall: every operation of the protocol, over any store.

Each operation reads where the thread stands, lets the rules decide, seals the entry and appends it behind the head it
read. When another writer was faster, a caller who named an `expected_head` is told (`StaleHead`); for one who did not,
the rules are asked again.

A hall may be used from several threads at once. Its calls wait for the disk: from an event loop, call them in a worker
thread.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

from orchestrator.errors import InvalidInput, StaleHead
from orchestrator.hall import importing, redaction, results, rules
from orchestrator.hall.debate import Debate, Line, State
from orchestrator.hall.entries import (
    Extended,
    FloorGiven,
    ForceClosed,
    SeatRecord,
    Tombstoned,
    Turn,
)
from orchestrator.hall.export import export_octave
from orchestrator.hall.inputs import require_words, word
from orchestrator.hall.ledger import Standing
from orchestrator.hall.rules import Command
from orchestrator.hall.store import Lease
from orchestrator.hall.store_place import open_store
from orchestrator.hall.terms import About, Cognition, Mode, Role, Status
from orchestrator.hall.writing import Writer

OUTPUT_FORMATS = ("json", "octave", "both")


class Hall(Writer):
    """A debate hall over a store. `runs` is the desk at which runs report.

    Args:
        store: where the ledgers are; `Hall.open` finds it.
        clock: says what time it is.
        salt: makes a new salt for each text: 64 random hex digits.
        lease: what is written is refused (LeaseLost) once it is good no more.
    """

    @classmethod
    def open(cls, location: str | Path | None = None) -> Hall:
        """Opens the hall at a folder or an address, as `store_place.open_store` finds it.

        Raises:
            StoreError: the place cannot be used.
        """
        store = open_store(location)
        return cls(store, clock=store.now)

    def under(self, lease: Lease) -> Hall:
        """Returns this hall for the run that holds a lease; only this one is to be closed."""
        return Hall(self._store, clock=self._clock, salt=self._salt, lease=lease)

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
        return self._open(thread_id, topic, mode, max_turns, max_rounds, strict_cognition, barrier, plan=None, marks=())

    def pick_next_speaker(self, thread_id: str, role: str, expected_head: str | None = None) -> results.PickResult:
        """Gives the floor to a role for one turn; a later pick replaces an earlier one (mediated mode).

        Raises:
            WrongMode, NotActive, BarrierUp, LimitReached, StaleHead, UnknownThread: nothing was written.
        """
        picked = word(Role, role, "role")
        _, after = self._committer.write(thread_id, _floor_for(picked), expected_head)
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
        takes_floor: bool = False,
    ) -> results.TurnResult:
        """Commits one turn.

        Args:
            content: at most 262,144 bytes of UTF-8; it comes back byte for byte.
            cognition: the role's own if left out.
            agent_role, model: who spoke, for the record.
            token_input, token_output, token_total: as the provider counted them.
            expected_head: the head this turn was written from; when it has moved, StaleHead and nothing is written.
            seat: the runner's record of the seat.
            takes_floor: give the role the floor first, in the same transaction (mediated mode), for the runner.

        Raises:
            InvalidInput, NotActive, WrongMode, OutOfTurn, FloorNotGiven, BarrierUp, LimitReached, CognitionMissing,
            StaleHead, UnknownThread: nothing was written.
        """
        audit = {
            "agent_role": agent_role,
            "model": model,
            "token_input": token_input,
            "token_output": token_output,
            "token_total": token_total,
            "seat": seat,
        }
        spoken_as = word(Cognition, cognition, "cognition") if cognition is not None else None
        speaker = word(Role, role, "role")
        turn = rules.add_turn(speaker, spoken_as, self._committer.salted(content), audit)
        commands = [_floor_for(speaker), turn] if takes_floor else [turn]
        sealed, after = self._committer.write_all(thread_id, commands, expected_head)
        return results.turn_result(cast(Turn, sealed[-1].entry.body), after, content)

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
        return self._closed(self._close(thread_id, synthesis, status, expected_head), synthesis, output_format)

    def force_close_debate(self, thread_id: str, reason: str) -> results.ForceCloseResult:
        """The kill switch: closes a debate at once, whatever it lacks.

        Raises:
            InvalidInput, NotActive, UnknownThread: nothing was written.
        """
        command = Command(lambda state, digest: ForceClosed(digest=digest), self._committer.salted(reason), "reason")
        _, after = self._committer.write(thread_id, command, None)
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

        Whatever says the same again is redacted with it. Files that were exported before keep what they have.

        Args:
            turn_index: 0 is the first turn.

        Raises:
            InvalidInput, AlreadyRedacted, UnknownThread: nothing was written.
        """
        return self._redact(thread_id, lambda debate: redaction.turn_at(debate, turn_index), reason)

    def tombstone(self, thread_id: str, seq: int, reason: str) -> results.TombstoneResult:
        """Deletes the text of any entry as `tombstone_turn` does: a topic, vote, note, reason, synthesis or turn.

        Args:
            seq: 0 is the opening, whose text is the topic.

        Raises:
            InvalidInput, AlreadyRedacted, UnknownThread: nothing was written.
        """
        return self._redact(thread_id, lambda debate: redaction.text_at(debate, seq), reason)

    def import_debate(self, debate: Debate) -> results.ImportResult:
        """Takes in a debate that was exported elsewhere (`exported.read`), entry for entry.

        Raises:
            InvalidInput, HoldsSecret, ThreadExists: nothing was written.
        """
        return importing.take_in(self._store, debate)

    # ------------------------------------------------------------------------------------------------------ for people

    def say(
        self, thread_id: str, role: str, content: str, by: str, expected_head: str | None = None
    ) -> results.TurnResult:
        """Commits a turn of a person, marked `human`; in mediated mode it takes the floor with it, in one step.

        Args:
            by: the person's name; it stands on the ledger.

        Raises:
            HallError: nothing was written, as with `add_turn`.
        """
        speaker = word(Role, role, "role")
        turn = rules.add_turn(speaker, None, self._committer.salted(content), {"agent_role": by, "human": True})
        is_mediated = self._store.standing(thread_id).state.mode is Mode.MEDIATED
        pick = [Command(lambda state, _: FloorGiven(role=speaker))] if is_mediated else []
        sealed, after = self._committer.write_all(thread_id, [*pick, turn], expected_head)
        return results.turn_result(cast(Turn, sealed[-1].entry.body), after, content)

    def remark(self, thread_id: str, words: str, by: str) -> results.EntryResult:
        """Records a person's note to Door; all who speak after it read it, and Door answers it.

        Raises:
            HallError: nothing was written.
        """
        return self.note(thread_id, words, About.REMARK.value, by, to=Role.DOOR, human=True)

    def ask_for_round(self, thread_id: str, turns: int, by: str, reason: str) -> results.EntryResult:
        """Raises a debate's limits by one round of so many turns, because a person asks for it.

        Raises:
            HallError: nothing was written.
        """

        def make(state: State | None, digest: str) -> Extended:
            most = (state.max_turns + turns, state.max_rounds + 1) if state else (turns, 1)
            return Extended(digest=digest, by=by, max_turns=most[0], max_rounds=most[1], human=True)

        return self._entry(thread_id, Command(make, self._committer.salted(reason), "reason"), None)

    # ------------------------------------------------------------------------------------------------------- the steps

    def _redact(self, thread_id: str, find: Callable[[Debate], Line], reason: str) -> results.TombstoneResult:
        require_words(reason, "reason")
        while True:
            debate = self.debate(thread_id)
            target = find(debate)
            redaction.require_other_words(reason, target)
            try:
                sealed, after = self._committer.redact(debate, target, reason)
            except StaleHead:
                continue
            break
        tombstones = [cast(Tombstoned, entry.entry.body) for entry in sealed]
        return {
            "thread_id": debate.state.thread_id,
            "seq": target.entry.seq,
            "turn_index": tombstones[0].turn_index,
            "reason": reason,
            "original_content_hash": tombstones[0].original,
            "also_redacted": [tombstone.target for tombstone in tombstones[1:]],
            "erased": "done" if self._store.erase_traces() else "pending",
            "head": after.head,
        }

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
        debate = self.debate(state.thread_id)
        if output_format in ("json", "both"):
            result["transcript"] = results.transcript(debate, include_metadata=False)
        if output_format in ("octave", "both"):
            result["octave"] = export_octave(debate, whole=False)
        return result


def _floor_for(role: Role) -> Command:
    return Command(lambda state, _: FloorGiven(role=role))
