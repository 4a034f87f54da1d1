"""What a call brought, judged: a text that can stand as a turn, or why it is sent back."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from orchestrator.errors import DegenerateReply, LimitMet, ModelError
from orchestrator.faults import fault_of, repair_of
from orchestrator.journal import Heard
from orchestrator.models.base import Message, Request, Usage
from orchestrator.models.failures import failure


class Answer(NamedTuple):
    """A reply, or an error that came with an answer; and what its seat is told if it is asked again. `is_turn` says
    whether it can stand as it is."""

    heard: Heard | None
    text: str
    complaint: str | None
    error: ModelError | LimitMet | None = None

    @property
    def is_turn(self) -> bool:
        return self.error is None


def mendable(error: ModelError) -> Answer | None:
    """An error that came with an answer, where asking once more may help."""
    complaint = repair_of(error)
    return None if complaint is None else Answer(None, error.text, complaint, error)


def of_no_use(route: str, useless: str, text: str, usage: Usage | None) -> Answer:
    """An answer that is no turn, for the reason `useless`."""
    words = f"an answer that cannot be used. {useless}"
    error = failure(DegenerateReply, words, model=route, usage=usage, text=text)
    return Answer(None, text, f"{useless} {fault_of(error).repair}", error)


def asked_again(request: Request, answer: Answer) -> Request:
    """The same request, with the answer of no use and what is told of it."""
    before = (Message("assistant", answer.text),) if answer.text.strip() else ()
    return replace(request, messages=(*request.messages, *before, Message("user", answer.complaint or "")))
