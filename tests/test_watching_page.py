"""The page about watching a run shows what is seen and lists what is told."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from orchestrator import events
from orchestrator.events import DraftEvent

PAGE = (Path(__file__).parents[1] / "docs" / "watching.md").read_text(encoding="utf-8")
SCREEN = Path(__file__).parent / "terminal" / "screens" / "80x24-walls-apply.txt"
SEAT = [f"`{field.name}`" for field in fields(DraftEvent)]


def test_it_lists_every_event_with_all_its_members() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([^;|]*)", PAGE, re.MULTILINE)
    listed = {
        name: [each for member in members.split(",") for each in _spelled(member.strip())] for name, members in rows
    }
    assert listed == {
        event.type: [f"`{field.name}`" for field in fields(event) if not field.metadata]
        for event in events.Event.__args__
    }


def _spelled(member: str) -> list[str]:
    return SEAT if member == "a seat's" else [member]


def test_it_shows_a_screen_that_is_kept() -> None:
    (shown,) = re.findall(r"^```text\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert SCREEN.read_text(encoding="utf-8").endswith(shown)
