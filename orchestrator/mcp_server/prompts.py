"""Instructions to an agent that takes part by hand: one turn, one round, or a debate begun from a task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from mcp.server import MCPServer
from pydantic import Field

from orchestrator.errors import InvalidInput
from orchestrator.hall.hall import Hall
from orchestrator.hall.inputs import require_words, word
from orchestrator.hall.terms import Role
from orchestrator.mcp_server.refusals import CodedPrompt

# Agents and texts are loaded when a prompt is asked for: they need YAML, which is slow to load.

DEFAULT_AGENTS = {Role.WIND: "wind-agent", Role.WALL: "wall-agent", Role.DOOR: "door-agent"}


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class HallPrompts:
    hall: Hall
    clock: Callable[[], datetime] = _now

    def debate_agent(
        self,
        role: Annotated[str, Field(description="Wind, Wall or Door.")],
        agent: Annotated[
            str | None,
            Field(description="An agent of that role, such as critical-engineer; the balanced one if left out."),
        ] = None,
    ) -> str:
        """Speak as Wind, Wall or Door: the agent's own instruction and how to take the turn. For one agent that plays
        each role in sequence, ask again before each turn."""
        from orchestrator.agent import load_agent
        from orchestrator.mcp_server.instructions import as_agent
        from orchestrator.shelves import folders

        speaker = word(Role, role, "role")
        loaded = load_agent(agent or DEFAULT_AGENTS[speaker], folders("agents"))
        if loaded.role is not speaker:
            raise InvalidInput(
                f"{loaded.name} speaks as {loaded.role}, not as {speaker}.",
                f"Ask for role {loaded.role}, or leave out agent for {DEFAULT_AGENTS[speaker]}.",
            )
        return as_agent(speaker, loaded.name, loaded.text)

    def run_round(
        self, thread_id: Annotated[str, Field(description="The debate whose next round is to be held.")]
    ) -> str:
        """Hold the next round of a debate by the barrier protocol, step by step from where the thread stands now."""
        from orchestrator.mcp_server.instructions import round_steps

        debate = self.hall.debate(thread_id)
        return "\n\n".join(round_steps(debate.state, debate.head, debate.opening.words)) + "\n"

    def escalate(
        self,
        task: Annotated[str, Field(description="The task that raised the decision, in a sentence.")],
        conditions: Annotated[
            str, Field(description="What makes it hard: unclear trade-offs, several valid approaches, high risk, …")
        ],
    ) -> str:
        """Take a hard decision out of a task into a debate, or learn that it needs none; apply the synthesis after."""
        from orchestrator.mcp_server.instructions import escalation

        require_words(task, "task")
        require_words(conditions, "conditions")
        return "\n\n".join(escalation(task, conditions, self.clock())) + "\n"


def add_prompts(server: MCPServer, hall: Hall) -> None:
    """Gives the server its prompts."""
    prompts = HallPrompts(hall)
    for function, title in (
        (prompts.debate_agent, "Speak as Wind, Wall or Door"),
        (prompts.run_round, "Hold the next round"),
        (prompts.escalate, "Escalate a decision to a debate"),
    ):
        description = " ".join((function.__doc__ or "").split())
        server.add_prompt(CodedPrompt.from_function(function, title=title, description=description))
