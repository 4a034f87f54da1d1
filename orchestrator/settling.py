"""From the last synthesis to the end: Wind and Wall vote on it, Door refines it, then accounts for it.

What is left to do is read off the ledger here too: every step commits what it made and looks again. So a later process
goes on where an earlier one died, and a turn of another writer only means another synthesis to settle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from orchestrator.agenda import LAST_WORD, last_word
from orchestrator.asking import Asking
from orchestrator.commits import Commits, pause, seat_record
from orchestrator.decision.ballot import (
    Case,
    VoteAnswer,
    agree,
    answered_in,
    best_voted_on,
    names_of,
    objections_in,
    silent,
    standing_objections,
    vote_text,
)
from orchestrator.decision.constraints import constraints_of
from orchestrator.drafting import Drafting
from orchestrator.drafts import Assignment, Draft, Failure
from orchestrator.errors import LimitMet, ModelError
from orchestrator.events import BallotCounted, SynthesisRefined, VoteCast
from orchestrator.faults import repair_of
from orchestrator.hall.debate import Debate, Line
from orchestrator.hall.entries import Refined
from orchestrator.hall.terms import About, Role, Status
from orchestrator.plan import Plan, PlannedSeat, slot_name
from orchestrator.structured import read
from orchestrator.worker import in_thread


@dataclass(frozen=True, slots=True)
class Ending:
    """How a debate can be closed: with which words, as what, and by which account of it (the digest of its note)."""

    synthesis: str
    status: Status
    record: str | None


@dataclass(frozen=True, slots=True)
class Settling:
    """Settles the debate of one run."""

    plan: Plan
    drafting: Drafting
    commits: Commits
    asking: Asking

    async def ending(self, debate: Debate) -> Ending | None:
        """Takes one step towards the end; None when it was taken and the debate has to be looked at again.

        Raises:
            RunPaused, LimitMet: a seat could not be heard, or afforded.
        """
        case = Case.of(debate, self.plan)
        if debate.notes(About.CLOSED_EARLY):  # at a limit: there is nothing left to pay votes with
            return _closed_early(debate, case)
        status = Status.SYNTHESIS
        if self.plan.voters:
            if left := silent(self.plan, debate, case):
                await self._vote(debate, case, left)
                return None
            if not agree(case.ballot):
                if self._refines(debate, case):
                    await self._refine(debate, case)
                    return None
                status = Status.STALEMATE
        synthesis = _words_of(debate, best_voted_on(case.votes)) if status is Status.STALEMATE else last_word(debate)
        case = replace(case, constraints=constraints_of(debate, synthesis, self.plan.first_position))
        return await self._accounted(debate, case, Ending(synthesis, status, None))

    def _refines(self, debate: Debate, case: Case) -> bool:
        """Whether Door has objections to answer, and may."""
        against = any(vote.counts for vote in objections_in(case.ballot))
        refined = [line for line in debate.of(Refined) if not _answers_people(line)]
        return against and len(refined) < self.plan.recipe.consensus.refinements

    async def _vote(self, debate: Debate, case: Case, seats: Sequence[PlannedSeat]) -> None:
        """All vote at once; each vote is an entry, in the order of the seats. What was voted stands before a limit is
        told: no objection is lost to it."""
        drafts = await self.drafting.all([self.asking.vote(seat, debate, case) for seat in seats])
        heard = {vote.role for vote in case.ballot} | {draft.seat.role for draft in drafts if isinstance(draft, Draft)}
        head: str | None = debate.head
        met: LimitMet | None = None
        for place, draft in enumerate(drafts):
            if head is None:
                return
            if isinstance(draft, Failure) and isinstance(draft.error, LimitMet):
                met = draft.error
                continue
            done = sum(isinstance(earlier, Draft) for earlier in drafts[:place])
            if isinstance(draft, Failure):
                head = await self.commits.go_on_without(draft, draft.seat.role in heard, debate, head, done)
            else:
                head = await self._cast(debate, case, done, head, draft)
        if met is not None:
            raise met
        if head is not None:
            self.commits.emit(_counted(case, [draft for draft in drafts if isinstance(draft, Draft)]))

    async def _cast(self, base: Debate, case: Case, done: int, head: str, draft: Draft) -> str | None:
        seat, answer = draft.seat, read(draft.text, VoteAnswer)
        ends = answer.would_settle_it if answer.choice == "object" else None

        async def commit(head: str) -> str:
            cast = await in_thread(
                self.commits.hall.cast_vote,
                self.commits.thread_id,
                seat.role,
                answer.choice,
                vote_text(answer),
                answer.rests_on,
                seat_record(draft),
                head,
                settled_by=ends.kind if ends else None,
            )
            self.commits.paid.committed(draft)
            return cast["head"]

        moved = await self.commits.behind(base, done, head, commit)
        if moved is not None:
            told = {"slot": seat.slot, "role": seat.role, "agent": seat.agent}
            self.commits.emit(VoteCast(**told, choice=answer.choice, counts=_counts(answer, case)))
        return moved

    async def _refine(self, debate: Debate, case: Case) -> None:
        seat = self._door(f"V{case.number}.{Role.DOOR}.1")
        draft = await self._alone(self.asking.refinement(seat, debate, case))
        if isinstance(draft, Failure):
            raise _unheard(draft)
        answered = answered_in(draft.text, objections_in(case.ballot))
        moved = await self.commits.refine(debate, draft, [vote.seq for vote in answered])
        if moved is not None:
            self.commits.emit(SynthesisRefined(slot=seat.slot, agent=seat.agent, answers=names_of(answered)))

    async def _accounted(self, debate: Debate, case: Case, ending: Ending) -> Ending | None:
        """The ending with Door's account of it, which is asked for where there is none yet."""
        if not self.plan.has_account:
            return ending
        told = [line for line in debate.notes(About.ACCOUNT, About.NO_ACCOUNT) if _is_of(case, line)]
        if told:
            note = told[-1].note
            return Ending(ending.synthesis, ending.status, note.digest if note.about == About.ACCOUNT else None)
        seat = self._door(slot_name(debate.state.round, Role.DOOR, "account"))
        draft = await self._alone(self.asking.account(seat, debate, case, ending.synthesis))
        if isinstance(draft, Failure) and not _came_to_nothing(draft):
            raise _unheard(draft)
        await self.commits.behind(debate, 0, debate.head, lambda head: self._note_account(head, draft))
        return None

    async def _note_account(self, head: str, draft: Draft | Failure) -> str:
        slot = draft.seat.slot
        if isinstance(draft, Draft):
            return await self.commits.note(About.ACCOUNT, draft.text, slot, head, draft)
        why = f"No account could be read: {draft.error.message}"
        return await self.commits.note(About.NO_ACCOUNT, why, slot, head, draft)

    def _door(self, slot: str) -> PlannedSeat:
        return self.plan.rounds[-1].doors[-1].model_copy(update={"slot": slot})

    async def _alone(self, assignment: Assignment) -> Draft | Failure:
        (draft,) = await self.drafting.all([assignment])
        return draft


def _answers_people(refined: Line) -> bool:
    """Whether Door spoke again because of what people said, not of what voters objected."""
    body = refined.entry.body
    return isinstance(body, Refined) and body.seat is not None and body.seat.slot.endswith(f".{LAST_WORD}")


def _counts(answer: VoteAnswer, case: Case) -> bool:
    return bool(case.grounds.existing(answer.rests_on))


def _counted(case: Case, drafts: Sequence[Draft]) -> BallotCounted:
    """The votes that were cast before, and those that were cast now."""
    answers = [read(draft.text, VoteAnswer) for draft in drafts]
    votes = [(str(vote.choice), vote.counts) for vote in case.ballot]
    votes += [(answer.choice, _counts(answer, case)) for answer in answers]
    counting = [choice for choice, counts in votes if counts]
    approve, against = counting.count("approve"), counting.count("object")
    return BallotCounted(ballot=case.number, approve=approve, object=against, void=len(votes) - len(counting))


def _came_to_nothing(failed: Failure) -> bool:
    """Whether answers came, none of them of use: who asks again must expect the same."""
    return isinstance(failed.error, ModelError) and repair_of(failed.error) is not None


def _is_of(case: Case, account: Line) -> bool:
    """Whether an account was made of the newest synthesis and of the objections that stand now."""
    seq = account.entry.seq
    before = standing_objections([vote for vote in case.votes if vote.seq < seq])
    return seq > (case.on or 0) and before == standing_objections(case.votes)


def _closed_early(debate: Debate, case: Case) -> Ending:
    """With what is there: objections that nobody could answer any more make it a stalemate."""
    if any(vote.counts for vote in objections_in(case.ballot)):
        return Ending(_words_of(debate, best_voted_on(case.votes)), Status.STALEMATE, None)
    return Ending(last_word(debate), Status.SYNTHESIS, None)


def _unheard(failed: Failure) -> Exception:
    return failed.error if isinstance(failed.error, LimitMet) else pause(failed.seat, failed.error)


def _words_of(debate: Debate, seq: int) -> str:
    line = debate.at(seq)
    return line.text if line is not None and line.text is not None else last_word(debate)
