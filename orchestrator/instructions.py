"""What each step tells its seat to do: the last words of every prompt.

They hold names and rules only. What people, files or models wrote stands in fences before them; see `prompt`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from orchestrator.contract import QUOTED_WORDS
from orchestrator.decision.account import Account
from orchestrator.decision.ballot import VoteAnswer
from orchestrator.decision.constraints import Constraint, open_blocks
from orchestrator.hall.cognition import Nature
from orchestrator.hall.debate import Said
from orchestrator.hall.terms import Role
from orchestrator.models.base import Task
from orchestrator.plan import Plan
from orchestrator.structured import asking_for

SUMMARY_WORDS = 400
ANSWER_WORDS = 250
NOT_RECORDED = "NOT IN THE RECORD"  # what an answer says where the debate says nothing

SUMMARISE = f"""\
Another voice has to go on from these turns and cannot read them whole. Summarise them for it, at most {SUMMARY_WORDS} \
words, in the language of the question. Keep every name (T2, T3.C1, E1:12-18), every number, every constraint and \
verdict, every option with what became of it, and what was decided. Add nothing and judge nothing."""


def turn_instruction(plan: Plan, task: Task, constraints: Sequence[Constraint]) -> str:
    """What a seat is told to write as its turn, or as its checklist.

    Args:
        constraints: those stated so far, with the answers to them.
    """
    lines = [f"It is round {task.round} of {task.rounds}. You are {task.role}, agent {task.agent}."]
    if task.socratic:
        lines += _ASKING[task.role]
    elif task.step == "checklist":
        lines += _CHECKLIST
    elif task.role is Role.DOOR:
        lines += _door(plan, task, constraints)
    elif task.role is Role.WALL:
        lines += _wall(task, constraints)
    else:
        lines += _wind(task, constraints)
    if task.role is Role.WALL and task.step != "checklist":
        lines.append(_quote_rule(task))
    if task.due:
        lines.append(_due_rule(task.due))
    if plan.recipe.socratic and task.round > 1:
        lines.append(_terms_rule(task.said))
    return "\n".join(lines)


_CHECKLIST = (
    "Wind is writing at this moment and you cannot see it yet. Do not write your turn.",
    "Write the checklist that you will hold any proposal against: the constraints that bind here, the questions that "
    "must have an answer, each with what would pass and what would fail. At most ten lines, at most 200 words.",
)

_ASKING = {
    Role.WIND: (
        "This round only asks. Propose nothing yet.",
        "Ask what has to be known before a position is worth taking: what the question's words mean here, what success "
        "would be measured by, what is assumed. Say for each question why the answer would change the outcome.",
    ),
    Role.WALL: (
        "This round only asks. Give no verdict and state no constraint yet.",
        "Ask for definitions, numbers and evidence: which terms two people here could read differently, which figures "
        "exist, who can decide. Say what you would accept as an answer.",
    ),
    Role.DOOR: (
        "This round only asks. Decide nothing yet.",
        "Settle the terms: under the heading TERMS a list with one working definition a line that both sides can use. "
        "Under OPEN list what cannot be settled here and who would know.",
    ),
}


def _wind(task: Task, constraints: Sequence[Constraint]) -> Iterator[str]:
    if task.round == 1:
        yield "Open the space: options that differ in kind, each concrete enough to be tested, and your questions."
        return
    yield (
        "Answer what Wall found and Door decided since your side last spoke, by their names (T2.C1). Repeat no option; "
        "change one, combine two, or open one that the debate has made visible."
    )
    if blocks := open_blocks(constraints):
        yield (
            f"Wall blocks, and Door has not lifted it: {_names(blocks)}. Where reality does not move offer another "
            "path, and where something is missing say what to build."
        )


def _wall(task: Task, constraints: Sequence[Constraint]) -> Iterator[str]:
    how = "Apply your checklist to what Wind actually said" if task.step == "apply" else _TEST
    yield f"Wind has spoken. {how}, then give your turn."
    earlier = [each for each in constraints if each.answers or each.is_open_block]
    if earlier:
        yield (
            "Say of each of these earlier constraints in a line of its own whether it still stands: "
            f"{_names(earlier)}. Write `- [T3.C1] STANDS: why` or `- [T3.C1] LIFTED: why`; do not state it again."
        )


_TEST = "Test what Wind actually said against reality"


def _door(plan: Plan, task: Task, constraints: Sequence[Constraint]) -> Iterator[str]:
    yield "Read what Wind and Wall said in this round, and integrate it."
    before = [f"T{said.number}" for said in task.said if said.role is Role.DOOR and said.round == task.round]
    if before:
        yield f"{', '.join(before)} spoke as Door before you in this round: build on it, or say why not."
    yield from answering(constraints)
    if task.last:
        yield f"Yours is the last turn. {_DECIDES}"
        yield from _again(constraints)
        return
    yield (
        "The debate goes on after you: say what the next round must settle. End with the heading `## OPEN` and under "
        "it the questions that are still open, one a line, or the one word NONE."
    )
    if plan.recipe.early_close:
        yield f"If nothing is open any more the debate ends with your turn. Then: {_DECIDES}"
        yield from _again(constraints)


def _again(constraints: Sequence[Constraint]) -> Iterator[str]:
    answered = [each for each in constraints if each.answers and not each.is_open_block]
    if answered:
        yield f"It answers every constraint, those that were answered before too: {_names(answered)}."


_DECIDES = (
    "Its text becomes the decision of this debate and is read without the rest: state the question, the decision, why, "
    "what it costs, what stays open, what would reopen it, the first steps."
)


def answering(constraints: Sequence[Constraint]) -> Iterator[str]:
    """How Door answers constraints, and which it has not answered; what it does about each block."""
    yield (
        "Answer each constraint by its name in a line of its own, `- [T3.C1] MET: one sentence`; the word is MET, "
        "TRADED OFF, REFUTED or OPEN. Nothing else counts as an answer."
    )
    unanswered = [each for each in constraints if not each.answers and not each.blocks]
    if unanswered:
        yield f"Not answered yet: {_names(unanswered)}."
    standing = [each for each in constraints if each.stands and not each.is_open_block]
    if standing:
        yield f"They stand, says Wall, whatever was answered; answer them anew: {_names(standing)}."
    blocks = open_blocks(constraints)
    if blocks:
        yield "Wall blocks, and a block is lifted only by another course:"
        yield from map(_course, blocks)


def _course(block: Constraint) -> str:
    line = f"`- [{block.id}]"
    ways = {
        Nature.CONSTRAINT: f"reroute the path, {line} REROUTED: how`, or drop it, {line} DROPPED: what`",
        Nature.OPPORTUNITY: f"it becomes something to build, {line} BUILD: what, and how to tell it is done`",
    }
    way = ways[block.nature] if block.nature else " or ".join(ways.values())
    told = f"; {block.answers[-1].word} ({block.answers[-1].where}) does not lift it" if block.answers else ""
    return f"- {block.id}, {block.nature or 'whose nature is not stated'}: {way}{told}."


def vote_instruction(task: Task, constraints: Sequence[Constraint], objections: Sequence[str]) -> str:
    """What a voter is told.

    Args:
        objections: the names of those that were made to an earlier synthesis.
    """
    lines = [
        f"The debate has its synthesis, the one above, and you vote on it as {task.role}, agent {task.agent}.",
        "Judge the synthesis as it stands, whether you can carry it. Approve it, or object. An objection names one "
        "thing that has to be answered and says what would end it: a fact, a measurement or a change.",
        "Rest your reason on what exists: turns, constraints and lines of the evidence, by their names. A vote that "
        "rests on nothing does not count.",
        *_still_blocked(constraints, "say whether you can carry it all the same"),
    ]
    if objections:
        lines.append(
            f"{', '.join(objections)} were raised against an earlier synthesis; look whether this one answers."
        )
    return "\n".join([*lines, asking_for(VoteAnswer)])


def refine_instruction(task: Task, constraints: Sequence[Constraint], objections: Sequence[str]) -> str:
    """What Door is told when its synthesis was objected to."""
    lines = [
        f"Wind and Wall voted on the synthesis above, and it is not agreed. You are {task.role}, agent {task.agent}.",
        f"Write the whole synthesis again, so that they can carry it; give up nothing that it rests on. {_DECIDES}",
        f"Under the heading `## OBJECTIONS` answer each one by its name, a line each, `- [O1] what you changed, or why "
        f"not`: {', '.join(objections)}.",
        *answering(constraints),
        *_again(constraints),
        *([_due_rule(task.due)] if task.due else []),
    ]
    return "\n".join(lines)


def account_instruction(
    task: Task, constraints: Sequence[Constraint], earlier: Sequence[str], reviewed: str | None = None
) -> str:
    """What Door is told when the synthesis stands and has to be accounted for.

    Args:
        earlier: the names of the evidence that holds earlier decisions.
        reviewed: the one of them that the debate starts from.
    """
    turns = f"T1 to T{len(task.said)}" if task.said else "none"
    lines = [
        f"The debate has its final synthesis, the one above. You are {task.role}, agent {task.agent}: account for it.",
        "Decide nothing new. All of it is checked: names must exist, what is copied must stand there word for word.",
        f"The turns are {turns}. The constraints are {_names(constraints)}; give each of them its outcome.",
        *_still_blocked(constraints, "its outcome is open unless the synthesis reroutes, drops or builds"),
        f"Earlier decisions in the evidence: {', '.join(earlier) or 'none'}.",
        *([f"This debate reviews {reviewed}: name it once, as superseded or confirmed."] if reviewed else []),
        asking_for(Account),
    ]
    return "\n".join(lines)


def answer_instruction(task: Task, constraints: Sequence[Constraint], objections: Sequence[str]) -> str:
    """What Door is told when somebody asks about a debate after the fact.

    Args:
        objections: the names of those that were made to a synthesis.
    """
    objected = f" The objections are {', '.join(objections)}." if objections else ""
    lines = [
        f"Somebody asks about this debate after the fact: the question stands above. You are {task.role}, agent "
        f"{task.agent}: answer it.",
        "Answer only from what was said and from the evidence. Add no fact, argument or option of your own, and decide "
        "nothing new.",
        "Name what each statement rests on right behind it: turns as [T3], constraints as [T3.C1], objections as [O1], "
        "lines of the evidence as [E1:12-18], with the words if you quote them. This is checked: names must exist.",
        f"The turns are T1 to T{len(task.said)}. The constraints are {_names(constraints)}.{objected}",
        f"Where the debate did not settle it, say so. Where it says nothing of it, begin with {NOT_RECORDED} and say "
        "what comes nearest, if anything does.",
        f"At most {ANSWER_WORDS} words in plain paragraphs, in the language of the question: the answer first, then "
        "why. Leave out the headings of a turn.",
    ]
    return "\n".join(lines)


def _still_blocked(constraints: Sequence[Constraint], what: str) -> Iterator[str]:
    if blocks := open_blocks(constraints):
        yield f"Wall blocks, and the synthesis does not lift it: {_names(blocks)}; {what}."


def _names(constraints: Iterable[Constraint]) -> str:
    return ", ".join(constraint.id for constraint in constraints) or "none"


def _quote_rule(task: Task) -> str:
    winds = ", ".join(f"T{said.number}" for said in winds_of(task))
    return (
        f"Quote word for word at least {QUOTED_WORDS} consecutive words from a turn of Wind in this round ({winds}), "
        "so that it is plain what you test. This is checked."
    )


def winds_of(task: Task) -> tuple[Said, ...]:
    """The turns of Wind in the task's round: what its Wall must have tested."""
    return tuple(said for said in task.said if said.role is Role.WIND and said.round == task.round)


def _due_rule(due: Sequence[str]) -> str:
    return (
        f"People at the table said {', '.join(due)}. Weigh that as you weigh every turn, and answer each in a line of "
        f"its own that begins with its name, `- [{due[0]}] your answer`. This is checked."
    )


def _terms_rule(said: Sequence[Said]) -> str:
    settled = next((turn for turn in said if turn.role is Role.DOOR and turn.round == 1), None)
    where = f"in T{settled.number}" if settled else "in round 1"
    return f"Use the terms as they were settled {where}; where your position rests on one, name it."
