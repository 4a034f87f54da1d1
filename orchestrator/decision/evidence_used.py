"""What of the evidence a debate used: the pieces, where they are cited, and the earlier decisions it touches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.decision.account import Account, Ledger, problems_of_earlier
from orchestrator.decision.seating import Part
from orchestrator.evidence import Evidence, cited
from orchestrator.hall.debate import Debate, Line
from orchestrator.hall.entries import Closed, Refined, Turn, Vote


class Citation(Part):
    """A place that a turn cites, with the words it quotes and the sentence that rests on it; `problem` says why the
    place or the words are not there, None when they are. `where` names the words that cite it: T3, a vote's slot,
    refinement 1, the close; `turn` is the last turn up to there."""

    where: str
    turn: int
    citation: str
    quote: str | None
    claim: str
    problem: str | None


class EvidenceUsed(Part):
    id: str
    kind: str
    path: str
    sha256: str


class EarlierDecision(Part):
    """A decision in the evidence that this one touches, with the two sentences; both stand where they are said to."""

    id: str
    path: str
    relation: str
    theirs: str
    ours: str


def used(evidence: Sequence[Evidence]) -> Iterator[EvidenceUsed]:
    """The pieces that were on the table."""
    return (EvidenceUsed(id=piece.id, kind=piece.kind, path=piece.path, sha256=piece.sha256) for piece in evidence)


def cited_in(debate: Debate, evidence: Sequence[Evidence]) -> Iterator[Citation]:
    """Every citation of turns, votes, refinements and the closing words, checked."""
    number, texts = 0, set[str]()
    for line in debate.of(Turn, Vote, Refined, Closed):
        if isinstance(line.entry.body, Closed) and line.text in texts:
            continue  # it repeats the synthesis it closes with
        if isinstance(line.entry.body, Turn):
            number = line.turn.turn_index + 1
        texts.add(line.text or "")
        for found in cited(line.text or "", evidence):
            yield Citation(
                where=_where(line),
                turn=number,
                citation=str(found.citation),
                quote=found.citation.quote,
                claim=found.claim,
                problem=found.problem,
            )


def _where(line: Line) -> str:
    match line.entry.body:
        case Turn(turn_index=index):
            return f"T{index + 1}"
        case Vote(seat=seat):
            return seat.slot if seat else "a vote"
        case Refined(number=number):
            return f"refinement {number}"
        case _:
            return "the close"


def earlier_in(account: Account, ledger: Ledger) -> Iterator[EarlierDecision]:
    """The earlier decisions of an account, where both sentences stand."""
    paths = {piece.id: piece.path for piece in ledger.evidence}
    for earlier in account.earlier_decisions:
        if not any(problems_of_earlier(earlier, ledger)):
            yield EarlierDecision(path=paths[earlier.id], **earlier.model_dump())
