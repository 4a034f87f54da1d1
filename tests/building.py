"""Plans from the bundled recipes, voices to speak them and halls to hold them in: nothing of the user's is read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from hall.halls import HastyStore
from orchestrator.agent import Agent, load_agent
from orchestrator.baseline import ALONE
from orchestrator.drafting import Drafting
from orchestrator.drafts import Paid, Patience
from orchestrator.events import Event
from orchestrator.evidence import Evidence
from orchestrator.hall.debate import Debate
from orchestrator.hall.entries import Turn
from orchestrator.hall.folder import prepare
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Cognition, Role
from orchestrator.instructions import winds_of
from orchestrator.models.base import Endpoint, Model, Reply, Request, Usage
from orchestrator.models.scripted import Line, Scripted
from orchestrator.plan import OnFailure, Plan
from orchestrator.planning import make_plan
from orchestrator.prompt import PROTOCOL
from orchestrator.recipe import NO_LIMITS, Limits, Recipe, load_recipe
from orchestrator.resuming import resumable
from orchestrator.routing import Route, Routing
from orchestrator.runner import Run, hold_debate, run_debate
from orchestrator.taking_up import FIRST, TakeUp

BUNDLED = Path(__file__).parents[1]
RECIPES = ("speed", "standard", "deep", "fortress", "laboratory", "council")
THREAD = "2026-01-06-billing"
TOPIC = "Should we move billing to Kafka?"
FENCE = "3f9a1c07d2e84b65"
NO_WAITS = Patience(first_s=0, longest_s=0)
LETTERS = {Role.WIND: "W", Role.WALL: "L", Role.DOOR: "D"}


def hall_at(folder: Path) -> Hall:
    """A hall that does not wait for the disk; several may be open at one folder."""
    return Hall(HastyStore(prepare(folder)))


@cache
def bundled_recipe(name: str) -> Recipe:
    return load_recipe(name, [BUNDLED / "recipes"])


@cache
def bundled_agent(name: str) -> Agent:
    return load_agent(name, [BUNDLED / "agents"])


def recipe_of(name: str, **changes: Any) -> Recipe:
    """A bundled recipe, validated again with some keys changed."""
    if not changes:
        return bundled_recipe(name)
    members = bundled_recipe(name).model_dump(mode="json")
    return Recipe.model_validate_json(json.dumps({**members, **changes}))


def routing_of(
    routes: Mapping[Role, Sequence[str]] | None = None, endpoint: Endpoint | None = None, max_output_tokens: int = 4000
) -> Routing:
    """Each role speaks through a route of its own, or through those that are given."""
    named = {role: (f"test/{role.lower()}",) for role in Role} | dict(routes or {})
    return Routing(
        flags={},
        agents={},
        roles={},
        cognitions={
            role.cognition: tuple(Route(name, endpoint or Endpoint()) for name in names)
            for role, names in named.items()
        },
        missing={cognition: () for cognition in Cognition},
        max_output_tokens=max_output_tokens,
        timeout_s=180.0,
        notices=(),
    )


def plan_of(
    recipe: str | Recipe = "speed",
    *,
    routes: Mapping[Role, Sequence[str]] | None = None,
    endpoint: Endpoint | None = None,
    max_output_tokens: int = 4000,
    evidence: Sequence[Evidence] = (),
    fence: str = FENCE,
    limits: Limits = NO_LIMITS,
    on_failure: OnFailure = "pause",
    **changes: Any,
) -> Plan:
    """A plan of a bundled recipe; `changes` are keys of the recipe that stand otherwise than in its file."""
    chosen = recipe_of(recipe, **changes) if isinstance(recipe, str) else recipe
    names = {seat.agent for role in Role for seat in chosen.seats_of(role)}
    agents = {name: bundled_agent(name) for name in names}
    return make_plan(
        chosen,
        agents,
        routing_of(routes, endpoint, max_output_tokens),
        evidence,
        protocol=PROTOCOL,
        fence=fence,
        limits=limits,
        on_failure=on_failure,
    )


def evidence_of(text: str = "first line\nsecond line\n", id: str = "E1", path: str = "notes.md") -> Evidence:
    return Evidence(id, path, "sha256:0123", text)


def voices(before: Callable[[Request], None] = lambda request: None) -> Scripted:
    """A model for every seat: no two replies are alike, and a Wall quotes the newest Wind of its round.

    Args:
        before: called with each request before it is answered.
    """
    numbers = count(1)

    def line(request: Request) -> Line:
        before(request)
        return speech(request, next(numbers))

    return Scripted(line)


def speech(request: Request, number: int) -> str:
    task = request.task
    name = f"draft {number} of {task.agent} in round {task.round}"
    if task.step == "checklist":
        return f"checklist, {name}"
    if task.step == "summary":
        return f"a summary by {name}"
    if task.step == "account":
        return account_text(title=name)
    if task.step == "vote":
        return vote_text()
    if task.agent == ALONE:
        return placing_text() if task.step == "place" else lone_text(decision=f"It stays, says draft {number}.")
    if task.step == "answer":
        return f"That is what {name} found in [T1], and what was decided in [T3]."
    if task.step == "refine":
        refined = wordy(f"Therefore {name} refines.\n\n## OBJECTIONS\n{answers_to_objections(request)}")
        return refined + answers_to_people(task.due)
    if task.role is Role.WIND:
        return wordy(f"What if {name} moved one table at a time?")
    if task.role is Role.DOOR:
        return wordy(f"Therefore {name} decides.") + answers_to_people(task.due)
    return wordy(f"VERDICT: APPROVED\n{name} tests this: {winds_of(task)[-1].text}")


def lone_text(**changes: Any) -> str:
    """What somebody decides alone, as a model answers it."""
    members = {"options": ["stay", "move"], "reasons": ["It works."], "decision": "It stays as it is.", "citations": []}
    return json.dumps({**members, **changes})


def placing_text(number: int | None = 1, decides: bool = True) -> str:
    """Which decision somebody's own answer is, as a model answers it."""
    return json.dumps({"why": "It takes the same path.", "decides": decides, "number": number})


def vote_text(choice: str = "approve", reason: str = "It can be carried.", rests_on: Sequence[str] = ("T1",)) -> str:
    """A vote as a model answers it."""
    ends = {"kind": "measurement", "what": f"a week in which this is shown to be wrong: {reason}"}
    members = {"choice": choice, "reason": reason, "rests_on": list(rests_on)}
    return json.dumps({**members, "would_settle_it": ends if choice == "object" else None})


def answers_to_objections(request: Request) -> str:
    """A line for every objection that a request wants answered."""
    asked = request.messages[-1].text.rpartition("or why not`: ")[2].partition(".\n")[0]
    return "\n".join(f"- [{name}] It is answered by the second step." for name in re.findall(r"O\d+", asked))


def answers_to_people(due: Sequence[str]) -> str:
    """A line for each turn and note of a person that Door has to answer."""
    return "".join(f"\n- [{name}] It is weighed, and the second step changes for it." for name in due)


def account_text(**changes: Any) -> str:
    """An account of a decision as a model answers it, which holds where nobody stated a constraint."""
    members = {
        "title": "What was decided",
        "decision": "It is done step by step.",
        "options": [{"title": "Step by step", "turns": [1], "taken": True, "why": "It works.", "because": ["T1"]}],
        "constraints": [],
        "consequences": [],
        "risks": [],
        "actions": [],
        "assumptions": [],
        "earlier_decisions": [],
        "reversibility": "two-way",
        "review_by": None,
        "confidence": {"level": "medium", "why": "Little was measured."},
    }
    return json.dumps({**members, **changes})


def wordy(text: str, of: str = "more") -> str:
    """A text with as many words more as make it a turn of any role (`degenerate.LEAST_WORDS`)."""
    return f"{text} {' '.join(f'and {number} {of}' for number in range(1, 31))}"


def flowing(document: str) -> str:
    """A Markdown document with each of its paragraphs and items on one line, the words in it as they were written."""
    unquoted = re.sub(r"(?m)^(?:> ?)+", "", document)
    joined = re.sub(r"(?<=\S)\n *(?=\S)(?!- |\d+\. |```)", " ", unquoted)
    return re.sub(r"\\(?=[^\w\s])|\*\*", "", joined)


def priced(text: str, cost: str | None = "0.01", *, model: str = "test/answered") -> Reply:
    return Reply(text, model, Usage(input=100, cached=40, output=10, cost_usd=None if cost is None else Decimal(cost)))


async def hold(
    hall: Hall,
    plan: Plan,
    model: Model,
    reader: Callable[[Event], None] = lambda event: None,
    *,
    topic: str = TOPIC,
    patience: Patience = NO_WAITS,
    paid: Paid | None = None,
) -> Run:
    """Holds a debate; what it pays for is gathered in `paid`, also when it does not come to its end."""
    gathered = Paid() if paid is None else paid
    return await run_debate(hall, plan, THREAD, topic, Drafting(lambda route: model, reader, patience, gathered))


async def resume(
    hall: Hall,
    model: Model,
    reader: Callable[[Event], None] = lambda event: None,
    *,
    how: TakeUp = FIRST,
    patience: Patience = NO_WAITS,
    paid: Paid | None = None,
) -> Run:
    """Goes on with a debate as a later process does, with nothing but what stands in the store."""
    plan = resumable(hall, THREAD).plan.with_changes(how.changes)
    drafting = Drafting(lambda route: model, reader, patience, Paid() if paid is None else paid)
    return await hold_debate(hall, plan, THREAD, drafting, how=how)


def turns_of(debate: Debate) -> tuple[Turn, ...]:
    return tuple(line.entry.body for line in debate.turns if isinstance(line.entry.body, Turn))


def order(debate: Debate) -> str:
    """The turns as DESIGN's table writes them: W L D, a round between two dots."""
    rounds: dict[int, str] = {}
    for turn in turns_of(debate):
        rounds[turn.round] = rounds.get(turn.round, "") + LETTERS[turn.role]
    return " · ".join(rounds[number] for number in sorted(rounds))
