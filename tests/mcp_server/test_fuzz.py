"""Whatever a client sends, it is told a result or a code and a sentence; the ledgers are whole afterwards."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp.shared.exceptions import MCPError
from processes import text_of

from building import plan_of
from orchestrator import background
from orchestrator.hall.hall import Hall
from orchestrator.hall.store import Lease
from orchestrator.hall.terms import Role
from orchestrator.mcp_server import build
from orchestrator.plan import Changes

REFUSAL = re.compile(r"[a-z_]+: \S.*")
DEADLINE_S = 30
THREADS = ("fixed", "mediated", "closed", "planned", "paused")
REHEARSAL = plan_of("speed", routes={role: ["rehearsal"] for role in Role})

HOSTILE = st.sampled_from(
    [
        *("", " ", "\0", "\ud800", "\udfff\ud800", "\u202e", "\x1b[31m", "x" * 300, "é" * 140_000),
        *(
            "../../etc/passwd",
            "/etc/passwd",
            "~/.ssh/id_rsa",
            "**/*",
            "a/../..",
            "file:///etc",
            "C:\\",
            "[",
            "{0}",
            "%s",
        ),
        *("null", "true", "[]", '{"a": 1}', "1e999", "===END===", "sha256:" + "0" * 64, "'; DROP TABLE threads; --"),
    ]
)
NUMBERS = st.sampled_from([0, -1, 1, 2, 51, 100_001, 2**53, 2**63, -(2**63), 10**400, 0.5, 1e308, float("inf")])
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | HOSTILE | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)
RIGHT: dict[str, st.SearchStrategy[Any]] = {
    "thread_id": st.sampled_from([*THREADS, "FIXED", "new", "nowhere"]),
    "role": st.sampled_from(["Wind", "wall", "DOOR"]),
    "mode": st.sampled_from(["fixed", "MEDIATED"]),
    "cognition": st.sampled_from(["PATHOS", "ethos", None]),
    "status": st.sampled_from(["synthesis", "stalemate", "active"]),
    "format": st.sampled_from(["json", "octave"]),
    "output_format": st.sampled_from(["json", "octave", "both"]),
    "recipe": st.sampled_from(["speed", "FORTRESS", "sped"]),
    "tier": st.sampled_from(["2", "3:security", None]),
    "models": st.sampled_from(["models", "local", "nobody"]),
    "rehearse": st.booleans(),
    "cost_limit": st.sampled_from([0.01, 2, 1e9]),
    "token_limit": st.sampled_from([1, 200_000]),
    "time_limit": st.sampled_from([0.5, 600]),
    "assume_price": st.sampled_from(["3/15", "3", "", "-1/2"]),
    "on_failure": st.sampled_from(["pause", "degrade", None]),
    "context": st.lists(HOSTILE | st.sampled_from(["brief.md", "*.md"]), max_size=2),
    "wait": st.just(False),
    "wait_seconds": st.just(0),
    "turn_index": st.integers(0, 2),
}
TEXT = st.sampled_from(["What if?", "Yes, but.", "Therefore.", "x"])


@contextmanager
def no_processes() -> Iterator[list[str]]:
    """The threads for which a process would have been started."""
    started: list[str] = []

    class Idle:
        def poll(self) -> int:
            return 0

    def start(lease: Lease, folder: Path, changes: Changes) -> Idle:
        started.append(lease.thread_id)
        return Idle()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(background, "start", start)
        yield started


def furnish(hall: Hall) -> None:
    for thread_id, mode in (("fixed", "fixed"), ("mediated", "mediated"), ("closed", "fixed")):
        hall.init_debate(thread_id, "Kafka?", mode)
    hall.add_turn("fixed", "Wind", "What if?")
    hall.force_close_debate("closed", "enough")
    hall.open_run("planned", "Kafka?", "{}", "mediated", 3, 1)
    hall.runs.begin("planned")
    hall.open_run("paused", "Kafka?", REHEARSAL.encode(), REHEARSAL.mode, REHEARSAL.turns, 1, REHEARSAL.marks)
    hall.runs.release(hall.runs.begin("paused"))


def arguments_of(schema: dict[str, Any], data: st.DataObject) -> dict[str, Any]:
    """Mostly right ones, so that the hall is reached, and some that no schema allows."""
    known = schema["properties"]
    wrong = set(data.draw(st.lists(st.sampled_from([*known, "unknown"]) if known else st.just("unknown"), max_size=2)))
    optional = set(data.draw(st.lists(st.sampled_from(list(known)), max_size=4))) if known else set()
    sent = dict.fromkeys([*schema.get("required", ()), *sorted(optional), *sorted(wrong)])
    return {name: data.draw(ANYTHING if name in wrong else RIGHT.get(name, TEXT)) for name in sent}


def harmless(text: str, folder: Path) -> bool:
    places = (str(folder), str(Path(__file__).parents[2]), sys.prefix, "Traceback", 'File "')
    return not any(place in text for place in places)


@pytest.mark.slow
@settings(max_examples=settings.default.max_examples // 3)
@given(data=st.data())
def test_every_answer_is_a_result_or_a_coded_refusal(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "root").mkdir()
    (folder / "root" / "brief.md").write_text("Orders must not be lost.\n")

    async def ask(hall: Hall) -> None:
        with anyio.fail_after(DEADLINE_S):
            async with Client(build(hall, roots=(folder / "root",), out=folder / "out")) as client:
                tools = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
                for _ in range(data.draw(st.integers(1, 12))):
                    name = data.draw(st.sampled_from(sorted(tools)))
                    arguments = arguments_of(tools[name], data)
                    result = await client.call_tool(name, arguments)
                    assert harmless(text_of(result), folder), (name, arguments)
                    if result.is_error:
                        assert REFUSAL.fullmatch(text_of(result)), (name, arguments)
                    else:
                        assert result.structured_content is not None

    with no_processes() as started, Hall.open(folder / "state") as hall:
        furnish(hall)
        anyio.run(ask, hall)
        listed = {debate["thread_id"]: debate for debate in hall.list_debates()}
        assert {*THREADS, *started} <= set(listed)
        for thread_id, debate in listed.items():
            assert hall.verify_debate(thread_id)["verified"]
            assert debate["turn_count"] <= debate["max_turns"]


@settings(max_examples=settings.default.max_examples // 3)
@given(
    prompts=st.lists(
        st.tuples(
            st.sampled_from(["debate_agent", "run_round", "escalate"]),
            st.dictionaries(
                st.sampled_from(["role", "agent", "thread_id", "task", "conditions", "unknown"]),
                HOSTILE | TEXT | st.sampled_from(["Wind", "fixed", "closed", "ideator"]),
                max_size=3,
            ),
        ),
        max_size=6,
    ),
    uris=st.lists(
        st.tuples(
            st.sampled_from(["debate://{}", "debate://{}/record", "debate://{}/octave", "recipe://{}", "agent://{}"]),
            st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
            | st.sampled_from(["fixed", "closed", "planned", "..%2f..%2fetc", "%00", "speed", "wall-agent"]),
        ),
        max_size=6,
    ),
)
def test_prompts_and_resources_answer_or_refuse_with_a_code(
    tmp_path_factory: pytest.TempPathFactory, prompts: list[tuple[str, dict[str, str]]], uris: list[tuple[str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")

    async def ask(hall: Hall) -> None:
        with anyio.fail_after(DEADLINE_S):
            async with Client(build(hall, roots=(), out=None)) as client:
                for name, arguments in prompts:
                    try:
                        told = str((await client.get_prompt(name, arguments)).messages)
                    except MCPError as error:
                        told = str(error)
                        assert REFUSAL.fullmatch(told), (name, arguments)
                    assert harmless(told, folder)
                for template, name in uris:
                    try:
                        told = str((await client.read_resource(template.format(name))).contents)
                    except MCPError as error:
                        told = str(error)
                    assert harmless(told, folder)

    with Hall.open(folder / "state") as hall:
        furnish(hall)
        anyio.run(ask, hall)
