"""The one answer that every arm gives to a brief, whoever gives it and however it came about."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from orchestrator import structured
from orchestrator.structured import Words

OTHER = "other"  # none of the listed options; a person places it


class Answered(structured.Answer):
    """Something that the documents demand, and what the answer does about it."""

    constraint: Annotated[Words, Field(description="what must hold, in one sentence, and where a document says so")]
    how: Annotated[Words, Field(description="how your decision meets it, or why it need not")]


class Answer(structured.Answer):
    """A decision between the options of a brief; what it rests on stands before what it comes to."""

    constraints: Annotated[tuple[Answered, ...], Field(description="each constraint that decides the question")]
    reasons: Annotated[tuple[Words, ...], Field(description="why this option and not another, a sentence or two each")]
    option: Annotated[Words, Field(description=f"the letter of the option you choose, or {OTHER}")]
    statement: Annotated[Words, Field(description="the decision in a sentence or two, with its conditions")]
    citations: Annotated[tuple[Words, ...], Field(description="the lines it rests on, such as [E1:12-18]")]

    @property
    def text(self) -> str:
        """All that it says, as a reader would see it."""
        constraints = [f"- {each.constraint} {each.how}" for each in self.constraints]
        reasons = [f"- {reason}" for reason in self.reasons]
        return "\n".join([self.statement, *reasons, *constraints, " ".join(self.citations)]).strip()
