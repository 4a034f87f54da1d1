"""What the runner writes beside turns: a run's opening, votes, refinements, notes and higher limits."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from orchestrator.hall import ledger, results
from orchestrator.hall.commit import Committer
from orchestrator.hall.debate import State
from orchestrator.hall.entries import Closed, Extended, Link, Note, Opened, Refined, SeatRecord, Vote
from orchestrator.hall.inputs import require_no_secret, require_thread_id, word
from orchestrator.hall.ledger import Standing
from orchestrator.hall.reading import Reader
from orchestrator.hall.review_desk import ReviewDesk
from orchestrator.hall.rules import Command
from orchestrator.hall.runs import RunDesk
from orchestrator.hall.store import Lease, Store
from orchestrator.hall.terms import Choice, Mode, Role, SettledBy, Status


def _now() -> datetime:
    return datetime.now(UTC)


def _new_salt() -> str:
    return secrets.token_hex(32)


class Writer(Reader):
    """The half of a hall that a runner writes to; `Hall` tells the arguments. `reviews` is the desk of reviews."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Callable[[], datetime] = _now,
        salt: Callable[[], str] = _new_salt,
        lease: Lease | None = None,
    ) -> None:
        super().__init__(store, RunDesk(store, clock))
        self.reviews = ReviewDesk(store, clock)
        self._clock, self._salt = clock, salt
        self._committer = Committer(store, clock, salt, lease)

    def open_run(
        self,
        thread_id: str,
        topic: str,
        plan: str,
        mode: str,
        max_turns: int,
        max_rounds: int,
        marks: Sequence[str] = (),
        *,
        barrier: bool = True,
        link: Link | None = None,
        recipe: str | None = None,
    ) -> results.Summary:
        """Opens a debate and pins the plan it follows: its digest stands in the opening entry, its text beside it.

        Args:
            marks: words that every output shows first, such as REHEARSAL.
            barrier: whether Door speaks only after Wind and Wall.
            link: the thread that it is about, where it is about one.
            recipe: the name of the recipe that the plan was made from.

        Raises:
            InvalidInput, ThreadExists: nothing was written.
        """
        return self._open(
            thread_id,
            topic,
            mode,
            max_turns,
            max_rounds,
            False,
            barrier,
            plan=plan,
            marks=marks,
            link=link,
            recipe=recipe,
        )

    def cast_vote(
        self,
        thread_id: str,
        role: str,
        choice: str,
        reason: str,
        rests_on: Sequence[str] = (),
        seat: SeatRecord | None = None,
        expected_head: str | None = None,
        *,
        settled_by: str | None = None,
    ) -> results.EntryResult:
        """Records a seat's vote on the newest synthesis.

        Args:
            rests_on: the constraints, turns or citations it uses, by name.
            settled_by: what would end an objection: a fact, a measurement or a change; the reason's last line says it.

        Raises:
            HallError: nothing was written.
        """
        voter, chosen = word(Role, role, "role"), word(Choice, choice, "choice")
        ends = word(SettledBy, settled_by, "settled_by") if settled_by is not None else None

        def make(state: State | None, digest: str) -> Vote:
            on = state.synthesis_seq if state and state.synthesis_seq is not None else 0
            rests = tuple(rests_on)
            return Vote(digest=digest, on=on, role=voter, choice=chosen, rests_on=rests, settled_by=ends, seat=seat)

        return self._entry(thread_id, Command(make, self._committer.salted(reason), "reason"), expected_head)

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

        return self._entry(thread_id, Command(make, self._committer.salted(synthesis), "synthesis"), expected_head)

    def note(
        self,
        thread_id: str,
        words: str,
        about: str,
        by: str,
        to: str | None = None,
        slot: str | None = None,
        expected_head: str | None = None,
        *,
        seat: SeatRecord | None = None,
        human: bool = False,
    ) -> results.EntryResult:
        """Records words that are no turn: a remark, what a run had to change.

        Args:
            about: what they say, see `terms.About`; only remarks are shown to the voices.
            to: the role they are meant for.
            slot: the seat they are about.
            seat: the runner's record of the seat that wrote them.
            human: whether a person did; `by` is that person's name.

        Raises:
            HallError: nothing was written.
        """
        reader = word(Role, to, "to") if to is not None else None
        command = Command(
            lambda state, digest: Note(
                digest=digest, about=about, by=by, to=reader, slot=slot, seat=seat, human=human or None
            ),
            self._committer.salted(words),
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
            self._committer.salted(reason),
            "reason",
        )
        return self._entry(thread_id, command, expected_head)

    def close_run(
        self, thread_id: str, synthesis: str, status: str, expected_head: str | None = None, record: str | None = None
    ) -> results.EntryResult:
        """Closes a debate as `close_debate` does, and reads nothing of it again.

        Args:
            record: the digest of the note that holds Door's account of the decision.

        Raises:
            InvalidInput, BarrierUp, NotActive, StaleHead, UnknownThread: nothing was written.
        """
        after = self._close(thread_id, synthesis, status, expected_head, record)
        return {"thread_id": after.state.thread_id, "seq": after.state.seq, "head": after.head}

    def _close(
        self, thread_id: str, synthesis: str, status: str, expected_head: str | None, record: str | None = None
    ) -> Standing:
        ending = word(Status, status, "status")
        command = Command(
            lambda state, digest: Closed(digest=digest, status=ending, record=record),
            self._committer.salted(synthesis),
            "synthesis",
        )
        return self._committer.write(thread_id, command, expected_head)[1]

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
        marks: Sequence[str],
        link: Link | None = None,
        recipe: str | None = None,
    ) -> results.Summary:
        require_no_secret(require_thread_id(thread_id), "thread id")
        if plan is not None:
            require_no_secret(plan, "plan")
        how = word(Mode, mode, "mode")

        def make(state: State | None, digest: str) -> Opened:
            return Opened(
                digest=digest,
                mode=how,
                max_turns=max_turns,
                max_rounds=max_rounds,
                strict_cognition=strict_cognition,
                barrier=barrier,
                plan=ledger.plan_digest(plan) if plan is not None else None,
                marks=tuple(marks),
                link=link,
                recipe=recipe,
            )

        command = Command(make, self._committer.salted(topic), "topic")
        after = self._committer.open(thread_id, command, plan)
        return results.summary(after, topic)

    def _entry(self, thread_id: str, command: Command, expected_head: str | None) -> results.EntryResult:
        sealed, after = self._committer.write(thread_id, command, expected_head)
        return {"thread_id": after.state.thread_id, "seq": sealed.entry.seq, "head": after.head}
