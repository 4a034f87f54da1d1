"""A run's events as spans of OpenTelemetry: the run, in it its rounds, in those a draft for each step of each seat.

Names and attributes are those of its conventions for generative AI, and `run_debate.*` for what these do not know. What
was asked and answered is no part of them unless it is wanted; of a debate's words nothing but the turns is told here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, set_span_in_context

from orchestrator.events import (
    Closed,
    DraftDelta,
    DraftEvent,
    DraftFailed,
    DraftFinished,
    DraftStarted,
    Event,
    Paused,
    RoundStarted,
    RunStarted,
    SeatMissing,
    Told,
    TurnCommitted,
)

PROVIDERS: Mapping[str, str] = {  # of a route's beginning: the convention's name, where that is another
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "cli/claude": "anthropic",
    "cli/codex": "openai",
    "cli/gemini": "gcp.gemini",
    "cohere_chat": "cohere",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
_AFTER_ROUNDS = ("vote", "refine", "account", "place")  # the steps that belong to no round

# What an event may show of itself: names, numbers and codes, never a sentence.
_SHOWN = (
    *("agent", "approve", "attempt", "ballot", "choice", "closes", "counts", "head", "limit", "object", "parameters"),
    *("role", "round", "slot", "status", "to", "turn_index", "turns", "void", "wait_s"),
)


class Spans:
    """Reads the events of one run.

    Args:
        tracer: makes the spans.
        words: whether turns and the sentences of errors are told too.
    """

    def __init__(self, tracer: Tracer, words: bool = False) -> None:
        self._tracer, self._words = tracer, words
        self._conversation = ""
        self._run: Span | None = None
        self._round: Span | None = None
        self._drafts: dict[tuple[str, str], Span] = {}

    def __call__(self, told: Told) -> None:
        match told.event:
            case RunStarted() as event:
                self._begin(told.thread_id, event)
            case RoundStarted() as event:
                self._end_round()
                self._round = self._start(f"round {event.round}", self._run, {"run_debate.round": event.round})
            case DraftDelta():
                pass
            case DraftEvent() as event:
                self._tell_draft(event)
            case Closed() as event:
                self._set(self._run, {"run_debate.status": event.status, "run_debate.head": event.head})
                self.end()
            case Paused() as event:
                self.end(event.code, event.message)
            case event:
                self._tell(self._round or self._run, event)

    def end(self, code: str | None = None, message: str = "") -> None:
        """Ends whatever is open.

        Args:
            code: why the run stopped before its end; drafts that are open did so in any case.
            message: the same as a sentence.
        """
        for draft in self._drafts.values():
            self._end(draft, code or "cancelled", message)
        self._drafts.clear()
        self._end_round(code)
        if self._run is not None:
            self._end(self._run, code, message)
            self._run = None

    def _begin(self, thread_id: str, event: RunStarted) -> None:
        self._conversation = thread_id
        members: dict[str, Any] = {
            "gen_ai.operation.name": "invoke_workflow",
            "gen_ai.workflow.name": event.recipe,
            "gen_ai.conversation.id": thread_id,
            "run_debate.rounds": event.rounds,
            "run_debate.turns": event.turns,
            "run_debate.plan_hash": event.plan_hash,
            "run_debate.rehearsal": event.rehearsal,
        }
        self._run = self._tracer.start_span(f"invoke_workflow {event.recipe}", attributes=members)

    def _end_round(self, code: str | None = None) -> None:
        if self._round is not None:
            self._end(self._round, code)
            self._round = None

    def _tell_draft(self, event: DraftEvent) -> None:
        draft = self._drafts.get((event.slot, event.step)) or self._open(event)
        match event:
            case DraftStarted():
                self._set(draft, _asked(event.model))  # another one than before, after a fallback
                draft.update_name(f"chat {event.model}")
            case DraftFinished():
                answered = {"gen_ai.response.model": event.answered, "run_debate.known": event.known}
                self._set(draft, {**answered, **_taken(event)})
                self._end(self._drafts.pop((event.slot, event.step)))
            case DraftFailed():
                self._set(draft, _taken(event))
                self._end(self._drafts.pop((event.slot, event.step)), event.code, event.message)
            case _:
                draft.add_event(event.type, self._members(event))

    def _open(self, event: DraftEvent) -> Span:
        if event.step in _AFTER_ROUNDS:
            self._end_round()
        members = {
            "gen_ai.operation.name": "chat",
            "gen_ai.conversation.id": self._conversation,
            "gen_ai.agent.name": event.agent,
            "run_debate.slot": event.slot,
            "run_debate.role": str(event.role),
            "run_debate.step": event.step,
            **_asked(event.model),
        }
        draft = self._start(f"chat {event.model}", self._round or self._run, members, SpanKind.CLIENT)
        self._drafts[event.slot, event.step] = draft
        return draft

    def _tell(self, span: Span | None, event: Event) -> None:
        if span is None:
            return
        span.add_event(event.type, self._members(event))
        if isinstance(event, SeatMissing):
            self._set(self._run, {"run_debate.degraded": True})

    def _members(self, event: Event | DraftEvent) -> dict[str, Any]:
        """What an event says of itself, without words unless they are wanted."""
        values = {member.name: getattr(event, member.name) for member in fields(event)}
        shown = {f"run_debate.{name}": _plain(values[name]) for name in _SHOWN if values.get(name) is not None}
        if "code" in values:
            shown["error.type"] = values["code"]
        if self._words:
            sentences = ("message", "reason")
            shown |= {f"run_debate.{name}": values[name] for name in sentences if name in values}
        if self._words and isinstance(event, TurnCommitted):
            part = {"type": "text", "content": event.text}
            said = [{"role": "assistant", "parts": [part], "finish_reason": "stop"}]
            shown["gen_ai.output.messages"] = json.dumps(said, ensure_ascii=False)
        return shown

    def _start(
        self, name: str, parent: Span | None, members: Mapping[str, Any], kind: SpanKind = SpanKind.INTERNAL
    ) -> Span:
        context = set_span_in_context(parent) if parent is not None else None
        return self._tracer.start_span(name, context, kind, members)

    def _set(self, span: Span | None, members: Mapping[str, Any]) -> None:
        if span is not None:
            span.set_attributes(members)

    def _end(self, span: Span, code: str | None = None, message: str = "") -> None:
        if code is None:
            span.set_status(StatusCode.OK)
        else:
            span.set_attribute("error.type", code)
            span.set_status(StatusCode.ERROR, message if self._words else None)
        span.end()


def _asked(route: str) -> dict[str, str]:
    return {"gen_ai.request.model": route, "gen_ai.provider.name": provider_of(route)}


def provider_of(route: str) -> str:
    """Returns the convention's name of the provider that a route asks."""
    first, _, rest = route.partition("/")
    begins = f"cli/{rest.partition(':')[0]}" if first == "cli" else first
    return PROVIDERS.get(begins, begins)


def _taken(event: DraftFinished | DraftFailed) -> dict[str, Any]:
    """What this process paid for a draft; an unknown price is no attribute."""
    cost = {} if event.cost_usd is None else {"run_debate.cost_usd": float(event.cost_usd)}
    return {
        "gen_ai.usage.input_tokens": event.input,
        "gen_ai.usage.output_tokens": event.output,
        "gen_ai.usage.cache_read.input_tokens": event.cached,
        "gen_ai.usage.reasoning.output_tokens": event.thinking,
        **cost,
    }


def _plain(value: Any) -> Any:
    return (
        [str(each) for each in value] if isinstance(value, tuple) else str(value) if isinstance(value, str) else value
    )
