"""`debate-hall`: look into the hall and tend it."""

from __future__ import annotations

from orchestrator.cli.commands import keeping, looking, reviewing, setting_up, speaking
from orchestrator.cli.group import debate_hall

COMMANDS = (looking, speaking, reviewing, keeping, setting_up)  # each adds its own to the group


def main() -> None:
    """The console script."""
    debate_hall()
