"""What `debate-hall ask` does: a question about a debate, answered from its ledger, with what it rests on checked."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from orchestrator import result
from orchestrator.budget import total_bound
from orchestrator.cli import standard_input
from orchestrator.cli.ending import Exit, ended_as
from orchestrator.cli.outcome import held, politely, what_to_raise
from orchestrator.cli.plain import answer, json_text, tell
from orchestrator.cli.progress import progress_lines
from orchestrator.decision.record import DecisionRecord, record_of
from orchestrator.drafts import Paid
from orchestrator.errors import DebateError, RunPaused, UsageError
from orchestrator.evidence import with_broken_marked
from orchestrator.export.marks import marks_of
from orchestrator.hall.debate import Debate
from orchestrator.hall.entries import plain
from orchestrator.hall.hall import Hall
from orchestrator.hall.inputs import require_words
from orchestrator.hall.terms import Status
from orchestrator.holding import Run
from orchestrator.inquiry import AnswerWanted, debate_to_ask, earlier_answer, hold_answer, link_to, prepare
from orchestrator.journal import Journal
from orchestrator.plan import Plan
from orchestrator.question import Named, Question
from orchestrator.quote import Quote, quote_of_call
from orchestrator.wording import listed, visible


@dataclass(slots=True)
class Inquirer:
    """Who asks: what, how it wants to be told, and what came of it so far.

    Args:
        about: the thread of the debate that is asked about.
    """

    about: str
    wanted: AnswerWanted
    as_json: bool
    quiet: bool
    debate: Debate | None = None  # the one that is asked about, once it is found
    thread_id: str | None = None  # of the answer, once it is open
    quote: Quote | None = None
    paid: Paid = field(default_factory=Paid)

    def tell(self, line: str) -> None:
        """Says what is not the answer, unless that is not wanted."""
        if not self.quiet:
            tell(line)

    @property
    def told(self) -> dict[str, Any]:
        """What every outcome says in JSON."""
        quoted = self.quote.described() if self.quote else None
        about = link_to(self.debate) if self.debate else None
        told = {"about": plain(about) if about else None, "question": self.wanted.question}
        return {**told, "thread_id": self.thread_id, "quote": quoted}


def ask(inquirer: Inquirer) -> int:
    """Does it all and returns the exit code."""
    return politely(partial(_ask, inquirer), partial(_report, inquirer))


def _ask(inquirer: Inquirer) -> int:
    if inquirer.wanted.question == "-":
        question = standard_input.text("question", "it", "Ask it shorter.")
        inquirer.wanted = replace(inquirer.wanted, question=question)
    wanted = inquirer.wanted
    require_words(wanted.question, "question")
    with Hall.open() as hall:
        debate = inquirer.debate = debate_to_ask(hall, inquirer.about)
        known = None if wanted.again else earlier_answer(hall, debate, wanted.question)
        if known is not None and known.state.status is not Status.ACTIVE:
            inquirer.thread_id = known.state.thread_id
            inquirer.tell("note: the same was asked before, and nothing was said since; --again asks anew")
            plan, journal = Plan.decode(known.plan or ""), Journal.to_read(hall, inquirer.thread_id)
            run = Run(known, journal.spent, (), journal.uncertain)
            return _finished(inquirer, Question.about(debate, wanted.question, plan), run)
        inquiry = prepare(hall, debate, wanted, os.environ)
        inquirer.thread_id = inquiry.thread_id
        for notice in inquiry.question.plan.notices:
            inquirer.tell(f"note: {notice}")
        inquirer.quote = quote_of_call(inquiry.question.request(inquiry.question.seat.routes[0]))
        inquirer.tell(f"quote: {inquirer.quote}")
        readers = [] if inquirer.quiet else [progress_lines(tell)]
        run = held(partial(hold_answer, hall, inquiry, inquirer.paid, *readers))
    return _finished(inquirer, inquiry.question, run)


def _finished(inquirer: Inquirer, question: Question, run: Run) -> int:
    """Prints the answer and returns the exit code."""
    record, code = record_of(run.debate), ended_as(run.debate.state)
    words = run.debate.synthesis.words if run.debate.synthesis else None
    named = question.named_in(words) if words else ()
    try:
        if inquirer.as_json:
            told = result.answered(run.debate, record, named, run.spent, run.uncertain, code)
            answer(json_text({**told, **inquirer.told}))
        else:
            answer(visible(f"{_answer(record, run.debate, question.plan)}\n"))
    except UsageError as error:  # it is bought and kept: not 2, which says that nothing was begun
        tell(f"error: {error}\nThe answer is kept; read it: debate-hall show {run.debate.state.thread_id}")
        code = Exit.FAILED
    for line in _last_words(record, named, run.debate.state.thread_id):
        inquirer.tell(line)
    if inquirer.quote:
        inquirer.tell(inquirer.quote.against(run.spent, total_bound(one.bound for one in run.uncertain)))
    return code


def _answer(record: DecisionRecord, debate: Debate, plan: Plan) -> str:
    """The answer, its marks first, each citation that does not hold marked."""
    if debate.synthesis is None:
        why = debate.closing.words if debate.closing else ""
        return f"No answer: {record.thread_id} was closed by force ({why})."
    marks = map(str, marks_of(record, f"debate-hall show {record.thread_id}"))
    return "\n\n".join([*marks, with_broken_marked(debate.synthesis.words, plan.evidence)])


def _last_words(record: DecisionRecord, named: tuple[Named, ...], thread_id: str) -> Iterator[str]:
    yield from (f"warning: {warning}" for warning in record.warnings)
    yield from (f"incomplete: {lacking}" for lacking in record.incomplete)
    there = [each.name for each in named if each.problem is None]
    if there:
        yield f"checked: {listed(there)} {'is' if len(there) == 1 else 'are'} there; whether it follows is for you"
    yield f"kept in {thread_id}: debate-hall show {thread_id}"


def _report(inquirer: Inquirer, error: DebateError, code: Exit) -> int:
    """Says what went wrong, what is kept, and as the last line how to go on."""
    tell(f"error: {error}")
    for call in inquirer.paid.uncertain:
        tell(f"uncertain: {call}")
    for draft in inquirer.paid.unused:
        tell(f"An answer that was paid for and is not on the ledger ({draft.answered}):\n{draft.text}")
    if inquirer.as_json:
        paid = inquirer.paid
        answer(json_text({**result.not_answered(error, code, paid.spent, paid.uncertain), **inquirer.told}))
    if inquirer.thread_id is not None and isinstance(error, RunPaused):
        words = shlex.join(["debate-hall", "ask", inquirer.about, inquirer.wanted.question])
        tell(f"Go on with: {words}{what_to_raise(error)}")
    return code
