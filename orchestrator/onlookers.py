"""Whether a call streams because somebody looks on while it is answered.

The models file has the first word. Where it says nothing, prose is streamed for those who look on; a route with which
that goes wrong is asked for whole answers from then on, so that nothing is lost by looking.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from orchestrator.errors import BadRequest, ConnectionFailed, GarbledReply, ModelError, ServerFailed, TimedOut
from orchestrator.models.base import CLIENT, Request, Usage
from orchestrator.models.cli_known import is_cli
from orchestrator.models.rehearsal import NAME as REHEARSAL

_GOES_WRONG = (BadRequest, ConnectionFailed, GarbledReply, ServerFailed, TimedOut)  # as far as one can tell from them


@dataclass(frozen=True, slots=True)
class Onlookers:
    """Those who look on in one run.

    Args:
        look: whether there are any.
        whole: routes that do not stream well.
    """

    look: bool = False
    whole: set[str] = field(default_factory=set)

    def hear(self, request: Request) -> bool:
        """Whether the pieces of an answer are to be told as they come."""
        return self._alone(request) if request.endpoint.stream is None else request.endpoint.stream

    def _alone(self, request: Request) -> bool:
        """Whether that is for nothing but those who look on."""
        route = request.model
        in_one_piece = is_cli(route) or route in (CLIENT, REHEARSAL) or route in self.whole
        return self.look and not in_one_piece and request.shape is None

    def went_wrong(self, made: Request, error: ModelError) -> bool:
        """Whether a failed call may have failed because it streamed for them alone, and is worth making again whole."""
        wrong = made.hear is not None and made.endpoint.stream is None and isinstance(error, _GOES_WRONG)
        if wrong:
            self.whole.add(made.model)
        return wrong

    def went_well(self, made: Request, usage: Usage) -> None:
        """Notes a route that does not count what it streams."""
        if made.hear is not None and made.endpoint.stream is None and usage.input == 0:
            self.whole.add(made.model)
