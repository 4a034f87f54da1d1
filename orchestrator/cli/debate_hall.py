"""`debate-hall`: look into the hall and tend it."""

from __future__ import annotations

from orchestrator.cli.commands import evaluating, fleet, keeping, looking, reviewing, setting_up, speaking, storing
from orchestrator.cli.group import debate_hall

COMMANDS = (looking, speaking, reviewing, evaluating, fleet, keeping, storing, setting_up)  # each adds its own


def main() -> None:
    """The console script."""
    debate_hall()
