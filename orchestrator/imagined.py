"""A debate that nobody has held yet: the requests of its plan in their order, each built as the run will build it.

What the seats will say is not known, only about how much. So every turn is filler of a length that its pace gives, in
which Wind opens options, a Wall states constraints and Door answers them, since later prompts repeat those. The rounds
follow `runner`, the rest `settling`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from orchestrator.asking import Asking
from orchestrator.assigning import Assigning
from orchestrator.baseline import Decision, LoneQuestions, lone_seats
from orchestrator.budget import Budget
from orchestrator.decision.ballot import Case, voters
from orchestrator.drafts import Assignment, Draft
from orchestrator.hall.debate import Debate, Line, advance, fold
from orchestrator.hall.entries import Body, Entry, Opened, Refined, SeatRecord, Turn, Vote
from orchestrator.hall.terms import Choice, Mode, Role, SettledBy
from orchestrator.models.base import Message, Request, Step
from orchestrator.plan import Plan, PlannedRound, PlannedSeat
from orchestrator.prompt import make_request
from orchestrator.usage import NOTHING

_HEAD = 2  # messages: the protocol, and the topic with the evidence; every request begins with them
_CONSTRAINTS = 3  # that a Wall states in a turn; they make half of it
_DECISION = 200  # bytes of one that a single answer is held against
_ANSWER = 80  # bytes of Door's answer to one
_OPTIONS = 3  # that a Wind opens in a turn
_FILLER = "What will be said here is not known yet, only about how many words it will take.\n"


@dataclass(frozen=True, slots=True)
class Pace:
    """How a debate may go.

    Args:
        words: tokens of an answer at each step; None: as many as are permitted.
        token: bytes of a token.
        rounds: how many are held; None: all.
        objecting: for each ballot on the synthesis how many voters object, if there are so many.
    """

    words: Mapping[Step, int] | None
    token: int
    rounds: int | None
    objecting: Sequence[int]

    def answer(self, plan: Plan, seat: PlannedSeat, step: Step) -> int:
        """Returns the tokens of a seat's answer."""
        most = plan.most_output(seat, seat.routes[0])
        return most if self.words is None else min(most, self.words[step])


class Asked(NamedTuple):
    """A request, and how many tokens are answered."""

    request: Request
    answer: int


def head_of(plan: Plan, topic: str) -> tuple[Message, ...]:
    """The messages with which every request of a debate begins."""
    planned = plan.rounds[0]
    seat = planned.winds[0]
    snapshot = _opened(topic).snapshot()
    return make_request(plan, snapshot, planned, seat, "turn", route=seat.routes[0]).messages[:_HEAD]


@dataclass(slots=True)
class Imagined:
    """One debate, which can be asked for its requests once.

    Args:
        head: stands in the place of every request's own: `head_of` it, or something of its length.
    """

    plan: Plan
    pace: Pace
    head: tuple[Message, ...]
    _debate: Debate = field(init=False)
    _assigning: Assigning = field(init=False)
    _asking: Asking = field(init=False)

    def __post_init__(self) -> None:
        bare = self.plan.model_copy(update={"evidence": ()})  # it stands in the head
        self._debate = _opened("")
        self._assigning, self._asking = Assigning(bare, Budget()), Asking(bare)

    def batches(self) -> Iterator[list[Asked]]:
        """Yields the requests that are made at once, batch after batch."""
        answers, placings = self.alone()
        yield from answers
        for planned in self.plan.rounds[: self.pace.rounds]:
            yield from self._round(planned)
        if self.plan.voters:
            yield from self._settled()
        if self.plan.has_account:
            case = self._case()
            yield [self._asked(self._asking.account(self._door, self._debate, case, case.synthesis))]
        yield from placings

    def alone(self) -> tuple[list[list[Asked]], list[list[Asked]]]:
        """Returns what those are asked who answer alone: for their answers, and which decision each is."""
        questions, seats = LoneQuestions(self._asking.plan, ""), lone_seats(self.plan)
        decisions = [Decision(_filler(_DECISION))] * (1 + _OPTIONS)
        answers = [self._alone(questions.answer(seat)) for seat in seats]
        placings = [self._alone(questions.placing(seat, self._text(seat, "answer"), decisions)) for seat in seats]
        return ([answers], [placings]) if seats else ([], [])

    def _alone(self, assignment: Assignment) -> Asked:
        """Who answers alone reads other rules, and the same question with its evidence."""
        rules = assignment.ask(assignment.seat.routes[0], None).messages[0]
        request, answer = self._asked(assignment)
        return Asked(replace(request, messages=(rules, *request.messages[1:])), answer)

    def _round(self, planned: PlannedRound) -> Iterator[list[Asked]]:
        framework = self.plan.has_checklists(planned)
        checklists = [self._turn(planned, seat, "checklist") for seat in planned.walls if framework]
        yield [*(self._turn(planned, seat, "turn") for seat in planned.winds), *checklists]
        for seat in planned.winds:
            self._says(planned, seat, "turn")
        step: Step = "apply" if framework else "turn"
        yield [self._turn(planned, seat, step) for seat in planned.walls]
        for seat in planned.walls:
            self._says(planned, seat, step)
        for doors in self._together(planned):
            yield [self._turn(planned, seat, "turn") for seat in doors]
            for seat in doors:
                self._says(planned, seat, "turn")

    def _together(self, planned: PlannedRound) -> Iterator[Sequence[PlannedSeat]]:
        """The Doors of a round: one by one, or all but the debate's last at once."""
        last = planned is self.plan.rounds[-1]
        if self.plan.recipe.doors == "sequential" or (last and len(planned.doors) == 1):
            yield from ([seat] for seat in planned.doors)
        elif last:
            yield from (planned.doors[:-1], planned.doors[-1:])
        else:
            yield planned.doors

    def _settled(self) -> Iterator[list[Asked]]:
        """Ballot after ballot, with a refinement between them."""
        for number, objecting in enumerate(self.pace.objecting, 1):
            case, seats = self._case(), voters(self.plan, number)
            yield [self._asked(self._asking.vote(seat, self._debate, case)) for seat in seats]
            for place, seat in enumerate(seats):
                self._votes(seat, case, objects=place < objecting)
            if number < len(self.pace.objecting):
                yield [self._asked(self._asking.refinement(self._door, self._debate, self._case()))]
                refined = Refined(digest="", number=number, seat=_record(self._door))
                self._add(refined, self._text(self._door, "refine"))

    @property
    def _door(self) -> PlannedSeat:
        """The seat of the debate's last turn, for what comes after it."""
        return self.plan.rounds[-1].doors[-1].model_copy(update={"slot": "settling"})

    def _turn(self, planned: PlannedRound, seat: PlannedSeat, step: Step) -> Asked:
        written = None
        if step == "apply":
            words = self._text(seat, "checklist")
            written = Draft(seat, "checklist", words, seat.routes[0], seat.routes[0], NOTHING)
        return self._asked(self._assigning.assignment(planned, self._debate, seat, step, written))

    def _asked(self, assignment: Assignment) -> Asked:
        seat, step = assignment.seat, assignment.step
        request = assignment.ask(seat.routes[0], None)
        messages = (*self.head, *request.messages[_HEAD:])
        return Asked(replace(request, messages=messages), self.pace.answer(self.plan, seat, step))

    def _case(self) -> Case:
        return Case.of(self._debate, self.plan)

    def _says(self, planned: PlannedRound, seat: PlannedSeat, step: Step) -> None:
        spoken = len(self._debate.turns)
        turn = Turn(
            digest="",
            turn_index=spoken,
            round=planned.number,
            role=seat.role,
            cognition=seat.role.cognition,
            agent_role=seat.agent,
            seat=_record(seat),
        )
        self._add(turn, self._text(seat, step))

    def _votes(self, seat: PlannedSeat, case: Case, *, objects: bool) -> None:
        assert case.on is not None, "Door has spoken"
        choice, ends = (Choice.OBJECT, SettledBy.FACT) if objects else (Choice.APPROVE, None)
        vote = Vote(
            digest="", on=case.on, role=seat.role, choice=choice, rests_on=("T1",), settled_by=ends, seat=_record(seat)
        )
        self._add(vote, self._text(seat, "vote"))

    def _add(self, body: Body, text: str) -> None:
        entry = Entry("", len(self._debate.lines), "", None, body)
        lines = (*self._debate.lines, Line(entry, "", text))
        self._debate = Debate(advance(self._debate.state, entry), "", lines)

    def _text(self, seat: PlannedSeat, step: Step) -> str:
        size = self.pace.answer(self.plan, seat, step) * self.pace.token
        return words_of(seat.role, step, size, [turn.turn.turn_index + 1 for turn in self._walls()])

    def _walls(self) -> Iterator[Line]:
        """The turns of Wall in the newest round."""
        state = self._debate.state
        return (line for line in self._debate.turns if (line.turn.round, line.turn.role) == (state.round, Role.WALL))


def _opened(topic: str) -> Debate:
    opened = Opened(digest="", mode=Mode.FIXED, max_turns=1, max_rounds=1, strict_cognition=False, barrier=True)
    return fold([Line(Entry("", 0, "", None, opened), "", topic)])


def _record(seat: PlannedSeat) -> SeatRecord:
    return SeatRecord(seat.slot, seat.agent, seat.routes[0], seat.routes[0], lens=seat.lens)


def words_of(role: Role, step: Step, size: int, walls: Sequence[int]) -> str:
    """Returns so many bytes of what a seat may say at a step.

    Args:
        walls: the numbers of Wall's turns in the newest round, which Door answers.
    """
    if role is Role.WALL and step in ("turn", "apply"):
        return _stating(size)
    if role is Role.DOOR and step == "turn":
        return _answering(size, walls)
    return _opening(size) if role is Role.WIND and step == "turn" else _filler(size)


def _opening(size: int) -> str:
    """A Wind's turn of so many bytes."""
    each = _filler(size // _OPTIONS - 40)
    return _cut(
        "".join(f"### Option {number}: a title of some words\n{each}\n" for number in range(1, _OPTIONS + 1)), size
    )


def _stating(size: int) -> str:
    """A Wall's turn of so many bytes."""
    each = " ".join(_filler(size // 2 // _CONSTRAINTS).split())
    stated = "".join(f"- [C{number}] CONSTRAINT: {each}\n" for number in range(1, _CONSTRAINTS + 1))
    return _cut(f"VERDICT: CONDITIONAL\n\n## CONSTRAINTS\n{stated}\n", size)


def _answering(size: int, walls: Sequence[int]) -> str:
    """A Door's turn of so many bytes, which answers what these turns of Wall stated."""
    names = [f"T{wall}.C{number}" for wall in walls for number in range(1, _CONSTRAINTS + 1)]
    words = _filler(_ANSWER).strip()
    return _cut("".join(f"- [{name}] MET: {words}\n" for name in names) + "\n", size)


def _cut(text: str, size: int) -> str:
    return (text + _filler(size))[:size]


def _filler(size: int) -> str:
    return (_FILLER * (size // len(_FILLER) + 1))[:size]
