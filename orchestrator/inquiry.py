"""A question about a debate, asked after the fact and answered from its ledger, in a thread of its own.

The debate is read and never written: what it is asked, and what is answered, stands in a new thread that is linked to
it as it stood at one head. That thread is open before anything is paid for, and its journal keeps what was: the same
question of the same debate at the same head goes on where an earlier process died, or shows the answer that it has.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, MutableMapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count

from orchestrator.agenda import last_word
from orchestrator.agent import load_agent
from orchestrator.drafting import Drafting
from orchestrator.drafts import Paid
from orchestrator.errors import (
    LimitMet,
    RunPaused,
    StaleHead,
    StoppedByLimit,
    ThreadExists,
    UnknownThread,
    UsageError,
)
from orchestrator.events import LimitReached, Reader, Stream
from orchestrator.hall.debate import ANSWER, Debate
from orchestrator.hall.entries import Link, Tombstoned
from orchestrator.hall.hall import Hall
from orchestrator.hall.inputs import require_words
from orchestrator.hall.store import Lease
from orchestrator.hall.terms import About, LinkKind, Role, Status
from orchestrator.holding import Held, Run, hold_thread
from orchestrator.journal import Journal
from orchestrator.models.switchboard import Switchboard
from orchestrator.plan import Changes, Plan
from orchestrator.planning import make_plan
from orchestrator.prompt import PROTOCOL
from orchestrator.question import RECIPE, Question, plan_of_answer
from orchestrator.recipe import NO_LIMITS, Limits
from orchestrator.resuming import Resumable, changes_wanted, left_behind
from orchestrator.shelves import folders
from orchestrator.taking_up import NO_CHANGES, TakeUp
from orchestrator.telemetry import traced
from orchestrator.wanted import DEFAULT_MODELS, Wanted, routing_of
from orchestrator.watch import Watch
from orchestrator.worker import in_thread

_LONGEST_ID = 128


@dataclass(frozen=True, slots=True)
class AnswerWanted:
    """What somebody wants to know.

    Args:
        question: in words.
        model: who is to answer, a route with its fallbacks; empty: Door of the debate, or the models file's.
        models: the models file, by name or path.
        limits: what the answer may take.
        assumed: what a model without a known price is taken to cost.
        again: ask even if the question was answered before.
    """

    question: str
    model: tuple[str, ...] = ()
    models: str = DEFAULT_MODELS
    limits: Limits = NO_LIMITS
    assumed: str | None = None
    again: bool = False


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A question that can be put: in which thread, by which plan, and what is otherwise than its pinned one."""

    thread_id: str
    question: Question
    changes: Changes = NO_CHANGES


def debate_to_ask(hall: Hall, thread_id: str) -> Debate:
    """Returns the debate that a question is about.

    Raises:
        UnknownThread
        LedgerBroken: nobody answers from a ledger that does not verify.
        UsageError: it is an answer itself, or nobody has spoken in it.
    """
    debate = hall.debate(thread_id)
    about, name = debate.answers, debate.state.thread_id
    if about is not None:
        raise UsageError(
            f"{name} is itself an answer to a question about {about.thread_id}.",
            f'Ask that debate: debate-hall ask {about.thread_id} "…"',
        )
    if not debate.turns:
        raise UsageError(f"Nobody has spoken in {name}: there is nothing to answer from.", "Ask when it has a turn.")
    return debate


def answers_to(hall: Hall, debate: Debate) -> Iterator[Debate]:
    """The answers to questions about a debate, in the order in which they were asked, open ones too."""
    for number in count(1):
        try:
            found = hall.debate(_answer_id(debate, number))
        except UnknownThread:
            return
        if found.answers is not None and found.answers.thread_id == debate.state.thread_id:
            yield found


def _answer_id(debate: Debate, number: int) -> str:
    ending = f"-answer-{number}"
    return f"{debate.state.thread_id[: _LONGEST_ID - len(ending)]}{ending}"


def earlier_answer(hall: Hall, debate: Debate, question: str) -> Debate | None:
    """The newest thread in which the same was asked of the debate as it stands, whose answer is there or may come."""
    same = [
        answer
        for answer in answers_to(hall, debate)
        if answer.answers is not None
        and answer.answers.head == debate.head
        and answer.opening.text == question
        and answer.state.status is not Status.FORCE_CLOSED
        and (answer.synthesis is None or answer.synthesis.text is not None)
    ]
    return same[-1] if same else None


def prepare(hall: Hall, debate: Debate, wanted: AnswerWanted, environment: MutableMapping[str, str]) -> Inquiry:
    """Opens the thread of an answer, or finds the open one in which the same was asked.

    Args:
        environment: where keys are looked for; those that stand elsewhere are put into it.

    Raises:
        UsageError: nobody can answer, or not within the limits; nothing was opened.
        InvalidInput, HoldsSecret: the question cannot be asked.
    """
    require_words(wanted.question, "question")
    while True:
        opened = earlier_answer(hall, debate, wanted.question)
        if opened is not None and opened.plan is not None and opened.state.status is Status.ACTIVE:
            return _taken_up(left_behind(hall, opened, opened.plan), debate, wanted, environment)
        plan = _plan_for(hall, debate, wanted, environment)
        try:
            return Inquiry(_open(hall, debate, wanted.question, plan), Question.about(debate, wanted.question, plan))
        except ThreadExists:  # another process asks, the same perhaps
            continue


def _taken_up(found: Resumable, debate: Debate, wanted: AnswerWanted, environment: MutableMapping[str, str]) -> Inquiry:
    changes = changes_wanted(found, _as_changes(wanted, environment), environment)
    plan = _speaking(found.plan.with_changes(changes), debate)
    return Inquiry(found.debate.state.thread_id, Question.about(debate, wanted.question, plan), changes)


def _open(hall: Hall, debate: Debate, question: str, plan: Plan) -> str:
    thread_id = next(_answer_id(debate, number) for number in count(1) if _is_free(hall, _answer_id(debate, number)))
    marks, link = (ANSWER,), link_to(debate)
    hall.open_run(thread_id, question, plan.encode(), plan.mode, 1, 1, marks, barrier=False, link=link)
    return thread_id


def link_to(debate: Debate) -> Link:
    """What an answer to a question about a debate as it stands is linked to."""
    return Link(LinkKind.ANSWERS, debate.state.thread_id, debate.head)


def _is_free(hall: Hall, thread_id: str) -> bool:
    try:
        hall.get_debate(thread_id, include_transcript=False)
    except UnknownThread:
        return True
    return False


def _plan_for(hall: Hall, debate: Debate, wanted: AnswerWanted, environment: MutableMapping[str, str]) -> Plan:
    """The plan of a new answer: by the debate's own, or by the models file where it was held by hand."""
    if debate.plan is None:
        plan = _plan_by_hand(wanted, environment)
    else:
        plan = plan_of_answer(left_behind(hall, debate, debate.plan).plan)
    nothing_asked = Journal(hall, Lease(debate.state.thread_id, 0))
    found = Resumable(debate, nothing_asked, plan, None, None)
    return _speaking(plan.with_changes(changes_wanted(found, _as_changes(wanted, environment), environment)), debate)


def _plan_by_hand(wanted: AnswerWanted, environment: MutableMapping[str, str]) -> Plan:
    routing = routing_of(wanted.models, environment, {role: wanted.model for role in Role} if wanted.model else {})
    shelves = folders("agents")
    agents = {seat.agent: load_agent(seat.agent, shelves) for role in Role for seat in RECIPE.seats_of(role)}
    plan = make_plan(RECIPE, agents, routing, protocol=PROTOCOL, fence=secrets.token_hex(8))
    return plan_of_answer(plan).model_copy(update={"notices": routing.notices})


def _as_changes(wanted: AnswerWanted, environment: MutableMapping[str, str]) -> Wanted:
    """What is to be otherwise: of a models file that is named, its routes for Door speak."""
    voices = wanted.model
    if not voices and wanted.models != DEFAULT_MODELS:
        voices = tuple(route.model for route in routing_of(wanted.models, environment, {}).of(Role.DOOR, ""))
    models = wanted.models if voices else DEFAULT_MODELS
    return Wanted(models=models, voices={Role.DOOR: voices}, limits=wanted.limits, assumed=wanted.assumed)


def _speaking(plan: Plan, debate: Debate) -> Plan:
    """The plan of an answer for which somebody can speak.

    Raises:
        UsageError: it is the rehearsal, or the model of a client that is not there.
    """
    if plan.is_rehearsal:
        raise UsageError(
            "The built-in voice of a rehearsal asks questions and answers none.",
            f'Name a model: debate-hall ask {debate.state.thread_id} --model MODEL "…"',
        )
    Switchboard().require(plan.routes)
    return plan


async def hold_answer(hall: Hall, inquiry: Inquiry, paid: Paid, *readers: Reader) -> Run:
    """Has an open question answered by the models that its plan names.

    Args:
        paid: gathers what is paid for, also when no answer comes of it.
        readers: who reads its events, beside the store.

    Raises:
        RunHeld: another process has it answered.
        RunPaused: Door could not be heard, or somebody asked the run to stop; StoppedByLimit: its call does not fit a
            limit; LeaseLost: another process has taken it over.
    """
    watch = Watch(hall)
    async with traced() as tracers, aclosing(Switchboard()) as models:
        stream = Stream(inquiry.thread_id, lambda: datetime.now(UTC), watch, *readers, *tracers)
        return await answer(hall, inquiry, Drafting(models.of, stream, paid=paid), watch)


async def answer(hall: Hall, inquiry: Inquiry, drafting: Drafting, watch: Watch | None = None) -> Run:
    """The same with models that are given."""

    async def work(held: Held) -> None:
        try:
            await _to_its_close(held, inquiry.question)
        except LimitMet as met:
            held.drafting.emit(LimitReached(limit=met.limit, message=met.message, closes=False))
            raise StoppedByLimit(met) from met

    how = TakeUp(changes=inquiry.changes)
    return await hold_thread(hall, inquiry.question.plan, inquiry.thread_id, drafting, watch or Watch(hall), how, work)


async def _to_its_close(held: Held, question: Question) -> None:
    """Door's one turn, what of it does not hold, the close: whatever of it is not there yet."""
    while True:
        debate = await held.commits.look()
        if debate.state.synthesis_seq is None:
            drafts = await held.drafting.all([question.assignment()])
            await in_thread(_require_nothing_redacted, held.hall, question.debate)
            await held.commits.all(debate, drafts)
            continue
        words = last_word(debate)
        told = {line.text for line in debate.notes(About.UNGROUNDED)}
        for problem in question.problems_of(words):
            if problem not in told:
                await held.commits.note(About.UNGROUNDED, problem, question.seat.slot)
        debate = await held.commits.look()
        try:
            await in_thread(held.hall.close_run, held.thread_id, words, Status.SYNTHESIS, debate.head)
        except StaleHead:
            held.commits.count_conflict()
            continue
        return


def _require_nothing_redacted(hall: Hall, debate: Debate) -> None:
    """Refuses to keep an answer that may hold words which are to stand nowhere any more.

    Raises:
        RunPaused: something was redacted since the debate was read.
    """
    name = debate.state.thread_id
    if len(hall.debate(name).of(Tombstoned)) > len(debate.of(Tombstoned)):
        raise RunPaused(
            f"Words of {name} were redacted while the question was answered; the answer may hold them and is not kept.",
            "Ask again: it is answered from what is left.",
        )
