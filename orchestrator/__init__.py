"""Structured debates between language models that leave a decision people can read, trust and check.

The parts, in the order in which they are best read:

    errors.py         everything that can go wrong, as one tree
    hall/             the embedded debate hall: entries, rules, hash chain, store; start with terms.py, end with hall.py
    models/           one seam to language models (base.py), and those behind it
    structured.py     what a model answers as JSON: asked for, and read
    events.py  secrets.py            what a run tells; what must never leave
    recipe.py  agent.py  routing.py  one loader for each of recipes/, agents/ and configs/
    evidence/         context files: numbered, hashed, cited, checked
    plan.py  planning.py  forecast.py   what a run does; how recipe, agents and routes become it; its calls
    decision/         what a debate comes to: constraints and their answers, votes, Door's account, the record
    instructions.py  prompt.py       what each step tells its seat; a snapshot and a seat become messages
    journal.py  budget.py            what was asked and what came of it; what may be spent
    calls.py  lanes.py               one call: its cost set aside, its intent and its outcome written down; its turn
    onlookers.py                     whether it streams because somebody looks on
    faults.py  degenerate.py  contract.py   what follows a failed call; what is no turn; what a Wall's turn must show
    answers.py  recalling.py         what a call brought: a turn, or why it is sent back; what was heard already
    seat_at_work.py  drafting.py     one seat on its way to its draft; all of them at once, in seat order
    agenda.py  assigning.py  commits.py     what is left to do; what each seat has to write; drafts become turns
    asking.py  settling.py           votes, refinements and the account, from the last synthesis to the end
    baseline.py  answering_alone.py  single answers beside a debate: what they are asked, and which decision each is
    imagined.py  quote.py            a debate that nobody has held yet; what it will take
    holding.py        a process holds a thread: lease, journal, limits, and how it ends
    runner.py         the barrier protocol: snapshot, draft, commit, synthesize, close
    attendance.py  saying.py         people at the table of a run, and from elsewhere: what they say, and when
    taking_up.py  resuming.py        a later process goes on with a run; what it needs for that
    watch.py  run_state.py  background.py   what a run tells, read and stopped from any process; a process of its own
    telemetry.py  spans.py  sending.py      the same as traces for OpenTelemetry
    export/  signing.py              a debate and its record as text, and who signed it
    wanted.py  run_folder.py  result.py     what was asked for; what a run leaves behind
    api.py  outcome.py               whole debates from Python; what one came to
    replaying.py  replayed.py  foreseeing.py   a debate held again with something changed; what it reuses, and will ask
    question.py  inquiry.py          a question about a debate, asked after the fact, and answered from its ledger
    redacting.py      a redaction with what goes with it, and what still quotes the words that went
    evaluate/         does it help? briefs, arms at equal cost, what each reached, and what that shows
    mcp_server/       the hall and its runs as MCP
    cli/              run-debate and debate-hall

A debate in code:

    decided = await run_debate("Should we move billing to Kafka?", recipe="fortress", rehearse=True)
    print(decided.status, decided.record.verdicts)

The names below are the public ones. Each is loaded when it is first asked for, so that `import orchestrator` costs
nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orchestrator.agent import load_agent as load_agent
    from orchestrator.api import resume_debate as resume_debate
    from orchestrator.api import resume_debate_sync as resume_debate_sync
    from orchestrator.api import run_debate as run_debate
    from orchestrator.api import run_debate_sync as run_debate_sync
    from orchestrator.decision.record import DecisionRecord as DecisionRecord
    from orchestrator.errors import DebateError as DebateError
    from orchestrator.errors import RunPaused as RunPaused
    from orchestrator.errors import StoppedByLimit as StoppedByLimit
    from orchestrator.errors import UsageError as UsageError
    from orchestrator.events import Told as Told
    from orchestrator.hall.hall import Hall as Hall
    from orchestrator.hall.terms import Cognition as Cognition
    from orchestrator.hall.terms import Mode as Mode
    from orchestrator.hall.terms import Role as Role
    from orchestrator.hall.terms import Status as Status
    from orchestrator.models.base import Model as Model
    from orchestrator.models.base import Reply as Reply
    from orchestrator.models.base import Request as Request
    from orchestrator.models.base import Usage as Usage
    from orchestrator.models.litellm import LiteLLM as LiteLLM
    from orchestrator.models.rehearsal import Rehearsal as Rehearsal
    from orchestrator.models.scripted import Scripted as Scripted
    from orchestrator.outcome import Outcome as Outcome
    from orchestrator.plan import Plan as Plan
    from orchestrator.recipe import Recipe as Recipe
    from orchestrator.recipe import load_recipe as load_recipe

_HOMES = {
    "agent": ("load_agent",),
    "api": ("resume_debate", "resume_debate_sync", "run_debate", "run_debate_sync"),
    "decision.record": ("DecisionRecord",),
    "errors": ("DebateError", "RunPaused", "StoppedByLimit", "UsageError"),
    "events": ("Told",),
    "hall.hall": ("Hall",),
    "hall.terms": ("Cognition", "Mode", "Role", "Status"),
    "models.base": ("Model", "Reply", "Request", "Usage"),
    "models.litellm": ("LiteLLM",),
    "models.rehearsal": ("Rehearsal",),
    "models.scripted": ("Scripted",),
    "outcome": ("Outcome",),
    "plan": ("Plan",),
    "recipe": ("Recipe", "load_recipe"),
}
_HOME_OF = {name: f"{__name__}.{module}" for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
