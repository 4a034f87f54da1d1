"""One scenario for every transport and client: what a debate by hand, and one that is run, look like from outside.

It needs nothing but Python, so that a client in an environment of its own can play it too.
"""

from __future__ import annotations

import json
import re
from typing import Any, Protocol

TOOLS = {
    *("init_debate", "add_turn", "get_debate", "close_debate", "pick_next_speaker", "force_close_debate"),
    *("tombstone_turn", "list_debates", "search_debates", "verify_debate", "export_debate", "list_recipes"),
    *("run_debate", "resume_debate", "debate_status", "cancel_run"),
}
TURNS = (("Wind", "What if?"), ("Wall", "Yes, but."), ("Door", "Therefore."))


class Refused(Exception):
    """The server refused; the text is what it said."""


class Door(Protocol):
    """A client, whatever its version. A refusal is raised."""

    async def tools(self) -> set[str]: ...
    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]: ...
    async def progress(self, tool: str, **arguments: Any) -> list[float]:
        """The progress that a call tells before it answers."""

    async def prompt(self, name: str, **arguments: str) -> str: ...
    async def read(self, uri: str) -> str: ...


async def play(door: Door) -> None:
    """Plays the scenario on a hall that is empty.

    Raises:
        AssertionError: it went otherwise.
    """
    assert await door.tools() == TOOLS
    await _fixed(door)
    await _mediated(door)
    await _refusals(door)
    await _run(door)
    statuses = {listed["thread_id"]: listed["status"] for listed in (await door.call("list_debates"))["debates"]}
    assert statuses == {"fixed": "synthesis", "mediated": "force_closed", "run": "synthesis"}


async def _fixed(door: Door) -> None:
    opened = await door.call("init_debate", thread_id="fixed", topic="Kafka?", max_turns=3, max_rounds=1)
    assert (opened["status"], opened["next_role"], opened["max_turns"]) == ("active", "Wind", 3)
    head = opened["head"]
    for role, content in TURNS:
        turn = await door.call("add_turn", thread_id="fixed", role=role, content=content, expected_head=head)
        head = turn["head"]
        stale = await _refused(
            door.call("add_turn", thread_id="fixed", role=role, content="!", expected_head="sha256:0")
        )
        assert stale.startswith("stale_head: "), stale
        assert head in stale
        assert "get_debate" in stale
    debate = await door.call("get_debate", thread_id="fixed")
    assert [(turn["role"], turn["content"]) for turn in debate["transcript"]] == list(TURNS)
    assert (debate["next_role"], debate["head"]) == (None, head)
    closed = await door.call("close_debate", thread_id="fixed", synthesis="Do it.", expected_head=head)
    assert (closed["status"], closed["synthesis"]) == ("synthesis", "Do it.")
    exported = await door.call("export_debate", thread_id="fixed")
    assert json.loads(exported["text"])["head"] == closed["head"]
    verified = await door.call("verify_debate", thread_id="fixed", head=head)
    assert (verified["verified"], verified["entries"], verified["newer"]) == (True, 5, 1)
    assert "Do it." in await door.read("debate://fixed/transcript")
    assert (await door.read("debate://fixed/octave")).startswith("===DEBATE_TRANSCRIPT===")
    assert json.loads(await door.read("debate://fixed"))["head"] == closed["head"]


async def _mediated(door: Door) -> None:
    await door.call("init_debate", thread_id="mediated", topic="Kafka?", mode="mediated")
    for role, content in (TURNS[1], TURNS[0], TURNS[2]):
        picked = await door.call("pick_next_speaker", thread_id="mediated", role=role)
        assert picked["next_role"] == role
        await door.call("add_turn", thread_id="mediated", role=role, content=content, expected_head=picked["head"])
    redacted = await door.call("tombstone_turn", thread_id="mediated", turn_index=0, reason="private")
    assert redacted["original_content_hash"].startswith("sha256:")
    told = await door.prompt("run_round", thread_id="mediated")
    assert "head" in told
    assert redacted["head"] in told
    assert "critical-engineer" in await door.prompt("debate_agent", role="Wall", agent="critical-engineer")
    assert "init_debate" in await door.prompt("escalate", task="Billing", conditions="high risk")
    await door.call("force_close_debate", thread_id="mediated", reason="moot")
    assert (await door.call("verify_debate", thread_id="mediated"))["verified"] is True


async def _refusals(door: Door) -> None:
    for code, asked in (
        ("thread_exists", door.call("init_debate", thread_id="FIXED", topic="Kafka?")),
        ("not_active", door.call("add_turn", thread_id="fixed", role="Wind", content="x")),
        ("unknown_thread", door.call("get_debate", thread_id="nowhere")),
        ("invalid_input", door.call("init_debate", thread_id="other", topic="Kafka?", max_turns="7")),
        ("invalid_input", door.call("init_debate", thread_id="other", topic="Kafka?", octave=True)),
        ("configuration", door.call("run_debate", topic="Kafka?", recipe="fortres", rehearse=True)),
        ("configuration", door.call("run_debate", topic="Kafka?", rehearse=True, context=["/etc/passwd"])),
        ("not_active", door.call("cancel_run", thread_id="fixed", reason="why")),
        ("unknown_thread", door.read("debate://nowhere")),
        ("not_found", door.read("recipe://nowhere")),
        ("unknown_thread", door.prompt("run_round", thread_id="nowhere")),
        ("invalid_input", door.prompt("debate_agent", role="Judge")),
    ):
        told = await _refused(asked)
        assert re.fullmatch(f"{code}: \\S.*", told), (code, told)


async def _run(door: Door) -> None:
    progress = await door.progress(
        "run_debate", topic="Kafka?", recipe="speed", rehearse=True, thread_id="run", wait=True
    )
    assert progress == sorted(set(progress))
    assert progress[-1] == 4
    ended = await door.call("debate_status", thread_id="run")
    assert (ended["run"]["state"], ended["marks"], ended["turn_count"]) == ("done", ["REHEARSAL"], 3)
    assert ended["decision"] is None


async def _refused(asked: Any) -> str:
    try:
        answer = await asked
    except Refused as refusal:
        return str(refusal)
    raise AssertionError(f"it was not refused: {answer}")
