"""What was heard already when a seat asks: by earlier processes of its run, or for an earlier draft.

What is of use is not bought again; what failed on the way to it belongs to the draft that uses it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from orchestrator.answers import Answer, asked_again, mendable, of_no_use
from orchestrator.calls import Calls
from orchestrator.drafts import Assignment
from orchestrator.errors import DegenerateReply, ModelError
from orchestrator.faults import KINDS
from orchestrator.journal import Ask, Heard, Past
from orchestrator.models.base import Request, Step, Usage
from orchestrator.models.failures import failure
from orchestrator.models.guarded import cleaned


@dataclass(slots=True)
class Recalling:
    """What was heard for one draft.

    Args:
        taken, tried: the draft's own; what is recalled is added to them.
    """

    calls: Calls
    assignment: Assignment
    taken: list[Usage]
    tried: list[str]
    _counted: set[int] = field(default_factory=set)  # earlier calls that are counted in already
    _cleaned: tuple[Request, Request] | None = None  # the newest request, and as it is sent: it is asked about often
    _began: int = field(init=False)  # what stands in the journal before this number was asked for an earlier draft

    def __post_init__(self) -> None:
        self._began = self.calls.written

    def ask(self, request: Request, step: Step | None = None) -> Ask:
        """Returns the call that a request is; of the draft's own step where none is given."""
        if self._cleaned is None or self._cleaned[0] is not request:
            self._cleaned = request, cleaned(request)
        return Ask(self.assignment.seat.slot, step or self.assignment.step, self._cleaned[1])

    def is_known(self, request: Request) -> bool:
        """Whether the answer that a request would bring, in the end, was heard already."""
        return self._usable(request) is not None or self.mended_before(request) is not None

    def recall(self, request: Request, step: Step | None) -> Heard | None:
        """What was heard already when the same was asked. What failed before it belongs to this draft too."""
        found = self._usable(request, step)
        for past in self._past(request, step):
            if past == found:
                break
            self._count_in(past)
            answer = self._useless(past) if step is None else None
            for again in self._past(asked_again(request, answer)) if answer else ():
                if again.failed or not self._is_of_use(again.text):
                    self._count_in(again)
        if found is None or found.reply is None:
            return None
        self.taken.append(found.reply.usage)
        return Heard(found.reply, found.route, known=found)

    def mended_before(self, request: Request) -> Answer | None:
        """An answer of no use that an earlier process got, if its second try, which was of use, is known too."""
        for past in self._past(request):
            answer = self._useless(past)
            if answer is not None and self._usable(asked_again(request, answer)) is not None:
                return answer
        return None

    def _usable(self, request: Request, step: Step | None = None) -> Past | None:
        """What was heard already when the same was asked, if it is of use."""
        past = self._past(request, step)
        return next((one for one in past if one.reply and (step or self._is_of_use(one.text))), None)

    def _past(self, request: Request, step: Step | None = None) -> tuple[Past, ...]:
        """What came when the same was asked: in this run, then in the debate that it replays."""
        ask = self.ask(request, step)
        return (*self.calls.past(ask), *self.calls.replayed.past(ask, self.assignment.seat))

    def _useless(self, past: Past) -> Answer | None:
        """What an earlier process was told again, where it was."""
        if past.failed is not None:
            error = failure(KINDS.get(past.failed, ModelError), "", model=past.route, usage=past.usage, text=past.text)
            return mendable(error)
        useless = self.assignment.useless(past.text)
        return of_no_use(past.route, useless, past.text, past.usage) if useless else None

    def _is_of_use(self, text: str) -> bool:
        return self.assignment.useless(text) is None

    def _count_in(self, past: Past) -> None:
        """Counts a call for an earlier draft that brought nothing; a question is the same for every route.

        What brought nothing in another debate belongs to that one.
        """
        if past.thread is None and past.number < self._began and past.number not in self._counted:
            self._counted.add(past.number)
            self.tried.append(f"{past.route}: {past.failed or DegenerateReply.code}")
            self.taken += [past.usage] if past.usage else []
