"""What every output says of a decision in the same words: its marks, its source, what stands against it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

from orchestrator.decision.ballot import answers_of
from orchestrator.decision.constraints import CLOSE, statements
from orchestrator.decision.decided import Dissent, VoteCast
from orchestrator.decision.people import named
from orchestrator.decision.record import DecisionRecord, make_record
from orchestrator.errors import ConfigurationError
from orchestrator.evidence import Evidence, with_broken_marked
from orchestrator.hall.debate import ANSWER, Debate, answer_to
from orchestrator.hall.entries import Note, Refined, SeatRecord, Vote
from orchestrator.hall.terms import About, Role, Status
from orchestrator.plan import Plan
from orchestrator.wording import counted

INCOMPLETE = "What is incomplete"  # the heading of the list


class Mark(NamedTuple):
    """A word that stands before everything else, and the sentences that say why."""

    word: str
    why: str

    def __str__(self) -> str:
        return f"{self.word}: {self.why}"


NO_MODEL = Mark("REHEARSAL", "no model was asked and nothing was decided; this is a worksheet for people.")


def marks_of(record: DecisionRecord, listing: str) -> Iterator[Mark]:
    """What every output says first.

    Args:
        listing: where this output lists what is incomplete.
    """
    if record.rehearsal:
        yield NO_MODEL
    if record.answers is not None:
        yield Mark(ANSWER, answer_to(record.answers))
    if record.reviews is not None:
        does = record.relation or "reviews"
        yield Mark(does.upper(), f"it {does} the decision of {record.reviews}.")
    if record.replays is not None:
        again = f"it holds {record.replays} again with something changed, and supersedes nothing"
        yield Mark("REPLAY", f"{again}; {counted(record.reused, 'reply', 'replies')} of that debate are reused.")
    if record.baseline is not None:
        yield Mark("BASELINE", record.baseline.line)
    if record.degraded:
        yield Mark("DEGRADED", " ".join(record.degraded))
    if record.closed_early is not None:
        yield Mark("CLOSED EARLY", record.closed_early)
    yield from cautions_of(record, listing)


def cautions_of(record: DecisionRecord, listing: str) -> Iterator[Mark]:
    """What is to be said of the decision itself: that it is none, not agreed, or not borne out."""
    if record.status is Status.ACTIVE:
        told = "nobody has answered it yet" if record.answers else "the debate goes on; nothing is decided yet"
        yield Mark("NOT CLOSED", f"{told}.")
    if record.status is Status.STALEMATE:
        objected = any(dissent.turn is None for dissent in record.dissent)
        why = "the objections below were not settled" if objected else "votes that count from Wind and Wall are missing"
        yield Mark("STALEMATE", f"{why}.")
    if record.status is Status.FORCE_CLOSED:
        yield Mark("CLOSED BY FORCE", f"there is no {'answer' if record.answers else 'decision'}.")
    if record.incomplete:
        number = len(record.incomplete)
        what = "one thing in it does" if number == 1 else f"{number} things in it do"
        lacks = "is missing" if number == 1 else "are missing"
        yield Mark("INCOMPLETE", f"{what} not hold against the ledger, or {lacks}; see {listing}.")


def source_of(debate: Debate) -> str | None:
    """Which text a debate closed with: T12, refinement 2; None where the closing words stand nowhere else."""
    closing = debate.synthesis
    if closing is None or closing.text is None:
        return None
    texts = {each.where: each.said.text for each in statements(debate) if each.said.role is Role.DOOR}
    return next((where for where in reversed(texts) if where != CLOSE and texts[where] == closing.text), None)


def objections_of(record: DecisionRecord, debate: Debate) -> Iterator[str]:
    """The objections that stand, a line each, in their seats' own words, with what would end it and Door's answers.

    What a seat has objected several times in the same words is told once, with all its names.
    """
    answers = _answers(debate)
    same: dict[tuple[object, ...], list[Dissent]] = {}
    for dissent in record.dissent:
        said = (dissent.objection, dissent.settlement or "")
        folded = (" ".join(words.casefold().split()) for words in said)
        by = (dissent.role, dissent.agent, dissent.lens, dissent.turn, dissent.grounded)
        same.setdefault((*by, *folded), []).append(dissent)
    for told in same.values():
        names = [dissent.id for dissent in told]
        answered = [answer for name in names for answer in answers.get(name, ())]
        yield _in_a_row(
            [f"{', '.join(names)}, {told[0].role} {told[0].agent}: {told[0].objection}", *_of(told[0]), *answered]
        )


def _of(dissent: Dissent) -> Iterator[str]:
    """What is to be said of an objection behind its words."""
    if not dissent.grounded:
        yield "It rests on nothing that exists, and does not count."
    if dissent.settlement:
        yield f"What would end it, a {dissent.settled_by}: {dissent.settlement}"


def _answers(debate: Debate) -> dict[str, list[str]]:
    """What Door's refinements answer to each objection, by its name."""
    found: dict[str, list[str]] = {}
    for line in debate.of(Refined):
        body = line.entry.body
        assert isinstance(body, Refined), "only refinements were asked for"
        for name, words in answers_of(line.text or ""):
            found.setdefault(name, []).append(f"Door in refinement {body.number}: {words}")
    return found


def _in_a_row(parts: Iterable[str]) -> str:
    """Words of several voices on one line, each but the last ending as a sentence does."""
    *before, last = (" ".join(words.split()) for words in parts)
    ends = (".", "!", "?", "…", ".”", '."')
    return " ".join([*(words if words.endswith(ends) else f"{words}." for words in before), last])


class Word(NamedTuple):
    """A vote, a refinement or a note to the table: what it is, who wrote it (seat, agent, model), its words."""

    heading: str
    by: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Told:
    """What is told beside the turns of a debate.

    Args:
        first: what is to be said of its decision, before everything else.
        settling: its votes, refinements and notes to the table, in order.
        objections: those that stand against its decision, a line each.
        incomplete: what of the decision does not hold, a sentence each.
        evidence: what was on the table, against which citations are checked.
    """

    first: tuple[str, ...] = ()
    settling: tuple[Word, ...] = ()
    objections: tuple[str, ...] = ()
    incomplete: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()

    @classmethod
    def of(cls, debate: Debate, listing: str = f"“{INCOMPLETE}” below") -> Self:
        """Of a debate that has no decision, its votes and refinements alone; where this version cannot read its plan,
        it says so instead of what it would have to say of the decision."""
        try:
            plan = Plan.pinned_in(debate)
        except ConfigurationError as error:
            return cls((str(error),), tuple(_settling(debate, ())))
        record, evidence = make_record(debate, plan), plan.evidence if plan else ()
        settling = tuple(_settling(debate, record.votes))
        if debate.synthesis is None:
            return cls(settling=settling, evidence=evidence)
        cautions = tuple(map(str, cautions_of(record, listing)))
        against = tuple(with_broken_marked(words, evidence) for words in objections_of(record, debate))
        return cls(cautions, settling, against, record.incomplete, evidence)

    def marked(self, words: str) -> str:
        """Words of the debate, each citation in them that does not hold marked as broken."""
        return with_broken_marked(words, self.evidence)


def _settling(debate: Debate, votes: Iterable[VoteCast]) -> Iterator[Word]:
    cast, remarks = iter(votes), iter(debate.remarks)
    for line in debate.of(Vote, Refined, Note):
        match line.entry.body:
            case Vote() as vote:
                yield Word(_vote(vote, next(cast, None)), _written_by(vote.seat), line.words)
            case Refined() as refined:
                yield Word(f"Refinement {refined.number} by Door", _written_by(refined.seat), line.words)
            case Note(about=About.REMARK):
                remark = next(remarks)
                by = named(remark.by, remark.human)
                yield Word(f"N{remark.number}: a note to the table", (by,), line.words)


def _written_by(seat: SeatRecord | None) -> tuple[str, ...]:
    return (seat.slot, seat.agent, seat.answered) if seat else ()


def _vote(body: Vote, cast: VoteCast | None) -> str:
    if cast is None:
        return f"Vote of {body.role}: {body.choice}"
    name = f" ({cast.name})" if cast.name else ""
    void = "" if cast.grounded else ", which does not count: it rests on nothing that exists"
    return f"Vote of {body.role} on {cast.on}: {body.choice}{name}{void}"
