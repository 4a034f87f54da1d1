"""The rehearsal: a model that is no language model. It writes worksheets for people who hold a debate by hand.

A worksheet has the shape of its role's turn and blanks where the answers go. It asks the agent's own questions, each
beside a passage to test it on: evidence at first, in later rounds what was said. Nothing is judged and nothing decided:
no verdict, no constraint and no decision is ever written, so nobody can take a rehearsal for a debate.

Everything comes from `request.task`; the same task gives the same worksheet.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import zip_longest

from orchestrator.hall.terms import Role
from orchestrator.models.base import Reply, Request, Task, Usage
from orchestrator.models.passages import Passage, from_evidence, from_turns, label, nearest, one_line, questions_in

NAME = "rehearsal"

_FREE = Usage(input=0, cached=0, output=0, cost_usd=Decimal(0))
_BLANK = "Your answer: …"
_LEAST_QUESTIONS = 4
_MOST_HEARD = 4
_MOST_CLOSING = 12
_ANYBODYS = {
    Role.WIND: (
        "What else could be done here?",
        "What would have to be true for that to work?",
        "What has been taken for granted so far?",
        "What could be tried first at little cost?",
    ),
    Role.WALL: (
        "What limit does this meet, whatever anyone decides?",
        "What evidence is there, and what is only assumed?",
        "What would it cost to be wrong?",
        "What is missing before this could be approved?",
    ),
    Role.DOOR: (
        "What do both sides want to protect?",
        "Which path keeps the larger part of both?",
        "What is the first step, and who takes it?",
        "What would reopen this?",
    ),
}
_NOTHING_CLAIMED = {
    Role.WIND: "No option is proposed here; the blanks are yours.",
    Role.WALL: "No verdict is given here; the blanks are yours.",
    Role.DOOR: "No decision is claimed here; the blanks are yours.",
}


class Rehearsal:
    """Answers every request at once, offline and for nothing."""

    async def complete(self, request: Request) -> Reply:
        return Reply(text=_Worksheet(request.task).text(), model=NAME, usage=_FREE)


class _Worksheet:
    def __init__(self, task: Task) -> None:
        self._task = task
        self._lens = one_line(task.lens or "", 100)
        # Seats differ in where they begin, and so do the rounds of one seat.
        seed = hashlib.sha256(f"{task.agent}\n{task.lens}".encode()).digest()[0]
        self._turning = seed + task.round
        self._questions = _turned(_at_least(_LEAST_QUESTIONS, task), self._turning)
        self._beside = self._passages_beside_questions()

    def text(self) -> str:
        return "\n\n".join([*self._opening(), *self._body()]) + "\n"

    def _opening(self) -> Iterator[str]:
        task = self._task
        claim = "Nothing is settled here; this round only asks." if task.socratic else _NOTHING_CLAIMED[task.role]
        yield (
            f"REHEARSAL — no model was asked; a worksheet for {one_line(task.agent, 80)} ({task.role}), "
            f"round {task.round} of {task.rounds}. {claim}"
        )
        yield f"On the table: “{one_line(task.topic, 160)}”"
        if self._lens:
            yield f"Lens: {self._lens}. Answer everything below from this angle and leave the rest to other seats."

    def _body(self) -> Iterator[str]:
        if self._task.step == "checklist":
            yield "## CHECKLIST"
            yield "For each line write what passes and what fails, before you hear what Wind says."
            yield "\n".join(f"- {self._asked(index)}" for index in range(len(self._questions)))
            return
        yield _pace(self._task)
        if self._task.role is Role.WALL:
            yield from self._what_wind_said()
        if self._task.socratic:
            yield from self._terms()
        else:
            yield from {Role.WIND: self._wind, Role.WALL: self._wall, Role.DOOR: self._door}[self._task.role]()
        if self._task.last:
            yield from self._closing()

    # --- one method for each kind of worksheet

    def _terms(self) -> Iterator[str]:
        yield "## QUESTIONS"
        yield from self._numbered(range(len(self._questions)))
        yield from self._section()
        yield "## TERMS TO SETTLE"
        yield (
            "Write one sentence for each word that two people at this table could read differently; later rounds rest "
            "on these sentences."
        )

    def _wind(self) -> Iterator[str]:
        middle = len(self._questions) // 2
        for index in range(middle):
            yield f"### Option {index + 1}: {self._asked(index)}"
            yield _BLANK
        yield from self._section()
        yield "## QUESTIONS"
        yield from self._numbered(range(middle, len(self._questions)))

    def _wall(self) -> Iterator[str]:
        middle = len(self._questions) // 2
        yield "## YOUR VERDICT"
        yield (
            "Open your own turn with one of the three, APPROVED, CONDITIONAL or BLOCKED, and the reason it rests on; a "
            "block also says what would lift it."
        )
        yield "## EVIDENCE"
        yield from self._numbered(range(middle))
        yield "## CONSTRAINTS"
        yield from self._numbered(range(middle, len(self._questions)))
        yield (
            "Write each as `- [C1] CONSTRAINT: …` with Reality, Violation and Instead, or as `- [C1] OPPORTUNITY: …` "
            "with Build and Done when; both with Remediation."
        )
        yield from self._section()

    def _door(self) -> Iterator[str]:
        yield from self._section()
        yield "## STEPS"
        heard = [turn for turn in self._task.said if turn.round == self._task.round and turn.role is not Role.DOOR]
        asked = _in_rotation((label(turn), questions_in(turn.text)) for turn in heard)[:_MOST_HEARD]
        steps = [f'Say how the path answers {turn}, which asks "{question}"' for turn, question in asked]
        steps += [f"Answer {name}, in a line that begins with its name" for name in self._task.due]
        steps += [self._asked(index) for index in range(len(self._questions))]
        yield from (f"{number}. {step}\n\n   {_BLANK}" for number, step in enumerate(steps, 1))
        yield "## SYNTHESIS"
        walls = ", ".join(f"T{turn.number}" for turn in heard if turn.role is Role.WALL)
        honoured = f" ({walls})" if walls else ""
        yield (
            "Answer what is on the table in one sentence. Then say what this path keeps of Wind, what it honours of "
            f"Wall{honoured}, what it gives up, and who pays for that."
        )
        yield _BLANK

    # --- pieces

    def _asked(self, index: int) -> str:
        angle = f"As to {self._lens}" if self._lens else ""
        passage = self._beside[index]
        where = ", ".join(
            filter(None, (angle, f"{'read' if angle else 'Read'} it beside {passage}" if passage else ""))
        )
        return self._questions[index] + (f"\n   {where}" if where else "")

    def _numbered(self, indexes: Iterable[int]) -> Iterator[str]:
        yield from (f"{number}. {self._asked(index)}\n\n   {_BLANK}" for number, index in enumerate(indexes, 1))

    def _section(self) -> Iterator[str]:
        """The part only this agent writes; its questions stand elsewhere, for none is made for a certain part."""
        yield f"## {one_line(self._task.section, 80) or 'IN YOUR OWN WORDS'}"
        yield "No other seat writes this part. Fill it in from your answers on this sheet and from the turns so far."
        yield _BLANK

    def _what_wind_said(self) -> Iterator[str]:
        wind = [turn for turn in self._task.said if turn.role is Role.WIND]
        here = from_turns(turn for turn in wind if turn.round == self._task.round)
        passages = here or from_turns(wind) or from_turns(self._task.said)
        if passages:
            yield "## WHAT WAS SAID"
        for passage in nearest(passages, self._lens, self._turning, 2):
            yield f"> {passage}"
            yield f"Name the check of yours that these words meet or fail, and how you would show it. {_BLANK}"

    def _closing(self) -> Iterator[str]:
        heard = [(label(turn), questions_in(turn.text)) for turn in self._task.said]
        asked = _in_rotation([*heard, ("this turn", self._questions)])
        yield "## QUESTIONS A DECISION MUST ANSWER"
        yield "\n".join(f"{n}. {question} — {turn}" for n, (turn, question) in enumerate(asked[:_MOST_CLOSING], 1))
        if len(asked) > _MOST_CLOSING:
            yield f"{len(asked) - _MOST_CLOSING} more stand in the turns above."
        yield "No decision is claimed: this was a rehearsal, and these questions are open."

    def _passages_beside_questions(self) -> list[Passage | None]:
        """In the first round questions meet evidence; in later ones what was said before, and evidence, by turns."""
        written = from_evidence(self._task.evidence)
        others = (turn for turn in self._task.said if turn.agent != self._task.agent)
        spoken = from_turns(turn for turn in others if turn.round < self._task.round)
        beside: list[Passage | None] = []
        for index, question in enumerate(self._questions):
            pool = spoken if spoken and (index % 2 == 0 or not written) else written
            unused = [passage for passage in pool if passage not in beside]
            beside += nearest(unused, f"{self._lens} {question}", self._turning, 1) or [None]
        return beside


def _at_least(count: int, task: Task) -> tuple[str, ...]:
    own = tuple(one_line(question, 240) for question in task.questions)
    return own + _ANYBODYS[task.role][: max(0, count - len(own))]


def _turned(questions: tuple[str, ...], by: int) -> tuple[str, ...]:
    by %= len(questions)
    return questions[by:] + questions[:by]


def _pace(task: Task) -> str:
    """What this round is for."""
    before = [turn for turn in task.said if turn.round < task.round]
    if task.socratic:
        return "Ask and settle terms; positions come in later rounds."
    if not before:
        return "This round opens: answer from what is known, and mark every guess as a guess."
    if task.round < task.rounds:
        return f"This round deepens: answer again after {label(before[-1])}, and say what that turn changed for you."
    return f"This round settles: after {label(before[-1])}, say what you now hold, what you drop and what stays open."


def _in_rotation(asked: Iterable[tuple[str, Sequence[str]]]) -> list[tuple[str, str]]:
    """Questions with who asks them: everybody's first, then everybody's second, and so on; each once."""
    columns = [[(who, question) for question in questions] for who, questions in asked]
    first: dict[str, tuple[str, str]] = {}
    for row in zip_longest(*columns):
        for entry in filter(None, row):
            first.setdefault(entry[1].casefold(), entry)
    return list(first.values())
