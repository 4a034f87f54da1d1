"""What becomes of a review's result."""

from __future__ import annotations

from orchestrator.recipe import Line
from orchestrator.strict_yaml import Shape


class Webhook(Shape):
    """Where the result is posted; `secret_env` names the variable with the key of its signature."""

    url: Line
    secret_env: Line


class Results(Shape):
    """Where the result goes."""

    folder: Line | None = None
    command: tuple[Line, ...] = ()
    webhook: Webhook | None = None
    pull_request: bool = False

    @property
    def risks(self) -> tuple[str, ...]:
        """What it does that a file which was not named has no right to."""
        runs = ("runs a command with the result",) if self.command else ()
        sends = ("sends the result over the network",) if self.webhook else ()
        return runs + sends


NO_RESULTS = Results()
