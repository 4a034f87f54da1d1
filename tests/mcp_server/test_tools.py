"""The tools, through an in-memory client."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp.server import MCPServer
from mcp_types import Tool

from orchestrator import report_copies
from orchestrator.hall.entries import Link
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import LinkKind
from orchestrator.mcp_server import build
from orchestrator.mcp_server.refusals import harmless

pytestmark = pytest.mark.anyio

THREAD = "2026-01-06-kafka"
SIGNATURES = {
    "init_debate": "thread_id topic mode max_turns max_rounds strict_cognition barrier",
    "add_turn": "thread_id role content cognition agent_role model token_input token_output token_total expected_head",
    "get_debate": "thread_id include_transcript context_turns context_lines include_metadata",
    "close_debate": "thread_id synthesis output_format status expected_head",
    "pick_next_speaker": "thread_id role expected_head",
    "force_close_debate": "thread_id reason",
    "tombstone_turn": "thread_id turn_index reason",
    "list_debates": "status text recipe since until limit",
    "search_debates": "query limit",
    "verify_debate": "thread_id head",
    "export_debate": "thread_id format",
    "list_recipes": "",
}
REFUSAL = re.compile(r"[a-z_]+: \S.*")

Call = Callable[..., Awaitable[dict[str, Any]]]
Refused = Callable[..., Awaitable[str]]


async def hall_tools(client: Client) -> dict[str, Tool]:
    """The tools of the hall; those that hold whole debates are tested with the runs."""
    return {tool.name: tool for tool in (await client.list_tools()).tools if tool.name in SIGNATURES}


@pytest.fixture
async def opened(call: Call) -> str:
    """The head of a fixed debate."""
    head: str = (await call("init_debate", thread_id=THREAD, topic="Kafka?"))["head"]
    return head


async def test_the_server_introduces_itself_and_says_when_to_debate(client: Client) -> None:
    assert client.server_info is not None
    assert client.server_info.name == "debate-hall"
    assert client.instructions is not None
    for word in ("init_debate", "Do not debate", "stale_head", "pick_next_speaker"):
        assert word in client.instructions


async def test_tools_have_exactly_the_protocols_names_and_parameters(client: Client) -> None:
    tools = await hall_tools(client)
    assert {name: " ".join(tool.input_schema["properties"]) for name, tool in tools.items()} == SIGNATURES
    for tool in tools.values():
        assert tool.title
        assert tool.description
        assert tool.annotations is not None
        assert tool.annotations.open_world_hint is False
        assert tool.input_schema["additionalProperties"] is False
        assert tool.output_schema is not None
        assert tool.output_schema["type"] == "object"
        assert all("description" in shape for shape in tool.input_schema["properties"].values())


async def test_only_redaction_and_the_kill_switch_are_destructive_and_reading_is_read_only(client: Client) -> None:
    hints = {name: tool.annotations for name, tool in (await hall_tools(client)).items()}
    assert {name for name, hint in hints.items() if hint and hint.destructive_hint} == {
        "force_close_debate",
        "tombstone_turn",
    }
    assert {name for name, hint in hints.items() if hint and hint.read_only_hint} == {
        "get_debate",
        "list_debates",
        "search_debates",
        "verify_debate",
        "export_debate",
        "list_recipes",
    }
    assert {name for name, hint in hints.items() if hint and not hint.idempotent_hint} == {
        "add_turn",
        "pick_next_speaker",
    }


async def test_a_schema_shows_the_words_of_the_protocol(client: Client) -> None:
    tools = {name: tool.input_schema["properties"] for name, tool in (await hall_tools(client)).items()}
    assert tools["init_debate"]["mode"]["enum"] == ["fixed", "mediated"]
    assert tools["add_turn"]["role"]["enum"] == ["Wind", "Wall", "Door"]
    assert tools["add_turn"]["cognition"]["anyOf"][0]["enum"] == ["PATHOS", "ETHOS", "LOGOS"]
    assert tools["close_debate"]["output_format"]["enum"] == ["json", "octave", "both"]
    assert tools["close_debate"]["status"]["enum"] == ["synthesis", "stalemate"]
    assert tools["init_debate"]["max_turns"] | {"title": ""} == {
        "type": "integer",
        "default": 12,
        "minimum": 1,
        "maximum": 100_000,
        "description": "Turns of the whole debate.",
        "title": "",
    }


async def test_a_fixed_debate_from_opening_to_synthesis(call: Call, opened: str) -> None:
    head = opened
    for role, text in (("Wind", "What if?"), ("Wall", "Yes, but."), ("Door", "Therefore.")):
        turn = await call(
            "add_turn",
            thread_id=THREAD,
            role=role,
            content=text,
            agent_role="ideator",
            model="m-1",
            token_input=7,
            expected_head=head,
        )
        head = turn["head"]
    assert turn["turn_count"] == 3
    assert turn["next_role"] == "Wind"
    closed = await call("close_debate", thread_id=THREAD, synthesis="Do it.", output_format="both", expected_head=head)
    assert closed["status"] == "synthesis"
    assert closed["octave"].startswith("===DEBATE_TRANSCRIPT===")
    assert [spoken["content"] for spoken in closed["transcript"]] == ["What if?", "Yes, but.", "Therefore."]
    verified = await call("verify_debate", thread_id=THREAD, head=opened)
    assert verified == {
        "thread_id": THREAD,
        "verified": True,
        "entries": 5,
        "head": closed["head"],
        "newer": 4,
    }
    exported = await call("export_debate", thread_id=THREAD)
    assert json.loads(exported["text"])["head"] == closed["head"]


async def test_a_mediated_debate_takes_roles_and_modes_in_any_case(call: Call) -> None:
    await call("init_debate", thread_id=THREAD, topic="Kafka?", mode="MEDIATED")
    picked = await call("pick_next_speaker", thread_id=THREAD, role="wind")
    turn = await call(
        "add_turn", thread_id=THREAD, role="WIND", content="What if?", cognition="pathos", expected_head=picked["head"]
    )
    assert turn["role"] == "Wind"
    assert turn["legal_roles"] == ["Wind", "Wall"]


async def test_the_structured_result_is_what_the_text_says(client: Client, opened: str, call: Call) -> None:
    await call("add_turn", thread_id=THREAD, role="Wind", content="What if?")
    result = await client.call_tool("get_debate", {"thread_id": THREAD, "include_metadata": True})
    assert result.content[0].type == "text"
    assert json.loads(result.content[0].text) == result.structured_content


async def test_what_was_not_asked_for_is_absent_and_not_null(call: Call, opened: str) -> None:
    brief = await call("get_debate", thread_id=THREAD, include_transcript=False)
    assert "transcript" not in brief
    assert "reason" not in brief
    await call("add_turn", thread_id=THREAD, role="Wind", content="What if?")
    (turn,) = (await call("get_debate", thread_id=THREAD))["transcript"]
    assert "seat" not in turn


async def test_context_lines_is_context_turns(call: Call, opened: str) -> None:
    for role in ("Wind", "Wall"):
        await call("add_turn", thread_id=THREAD, role=role, content=f"I am {role}.")
    windows = [await call("get_debate", thread_id=THREAD, **{name: 1}) for name in ("context_turns", "context_lines")]
    assert windows[0] == windows[1]
    assert windows[0]["omitted_turns"] == 1
    assert [turn["role"] for turn in windows[0]["transcript"]] == ["Wall"]


async def test_a_loser_is_told_the_head_and_what_to_do(call: Call, refused: Refused, opened: str) -> None:
    won = await call("add_turn", thread_id=THREAD, role="Wind", content="First.", expected_head=opened)
    told = await refused("add_turn", thread_id=THREAD, role="Wall", content="Too late.", expected_head=opened)
    assert told.startswith(f"stale_head: The head of {THREAD} is {won['head']}, not {opened}")
    assert "get_debate" in told
    assert (await call("get_debate", thread_id=THREAD))["turn_count"] == 1


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("init_debate", {"thread_id": THREAD, "topic": "again"}, "thread_exists"),
        ("init_debate", {"thread_id": THREAD.upper(), "topic": "again"}, "thread_exists"),
        ("init_debate", {"thread_id": "../up", "topic": "t"}, "invalid_input"),
        ("init_debate", {"thread_id": "new", "topic": " "}, "invalid_input"),
        ("add_turn", {"thread_id": THREAD, "role": "Wall", "content": "x"}, "out_of_turn"),
        ("add_turn", {"thread_id": THREAD, "role": "Judge", "content": "x"}, "invalid_input"),
        ("add_turn", {"thread_id": "nowhere", "role": "Wind", "content": "x"}, "unknown_thread"),
        ("pick_next_speaker", {"thread_id": THREAD, "role": "Wind"}, "wrong_mode"),
        ("close_debate", {"thread_id": THREAD, "synthesis": "x", "output_format": "xml"}, "invalid_input"),
        ("get_debate", {"thread_id": THREAD, "context_turns": 0}, "invalid_input"),
        ("get_debate", {"thread_id": "line\nbreak"}, "unknown_thread"),
        ("tombstone_turn", {"thread_id": THREAD, "turn_index": 0, "reason": "why"}, "invalid_input"),
        ("force_close_debate", {"thread_id": THREAD, "reason": " "}, "invalid_input"),
        ("verify_debate", {"thread_id": THREAD, "head": "sha256:00"}, "ledger_broken"),
        ("export_debate", {"thread_id": THREAD, "format": "xml"}, "invalid_input"),
        ("list_debates", {"status": "paused"}, "invalid_input"),
        ("list_debates", {"since": "last week"}, "invalid_input"),
        ("search_debates", {"query": '*:("'}, "invalid_input"),
        ("search_debates", {"query": "kafka", "limit": 0}, "invalid_input"),
    ],
)
async def test_refusals_begin_with_a_code_and_are_one_line(
    refused: Refused, opened: str, tool: str, arguments: dict[str, Any], code: str
) -> None:
    told = await refused(tool, **arguments)
    assert told.startswith(f"{code}: ")
    assert REFUSAL.fullmatch(told)


async def test_door_waits_for_wind_and_wall(call: Call, refused: Refused) -> None:
    await call("init_debate", thread_id=THREAD, topic="Kafka?", mode="mediated", max_turns=1)
    assert (await refused("pick_next_speaker", thread_id=THREAD, role="Door")).startswith("barrier: ")
    assert (await refused("add_turn", thread_id=THREAD, role="Wind", content="x")).startswith("floor_not_given: ")
    assert (await refused("close_debate", thread_id=THREAD, synthesis="x")).startswith("barrier: ")


async def test_limits_and_endings_are_kept(call: Call, refused: Refused) -> None:
    await call("init_debate", thread_id=THREAD, topic="Kafka?", max_turns=1)
    await call("add_turn", thread_id=THREAD, role="Wind", content="x")
    assert (await refused("add_turn", thread_id=THREAD, role="Wall", content="x")).startswith("limit_reached: ")
    ended = await call("force_close_debate", thread_id=THREAD, reason="enough")
    assert ended["status"] == "force_closed"
    assert (await refused("add_turn", thread_id=THREAD, role="Wall", content="x")).startswith("not_active: ")
    assert (await call("get_debate", thread_id=THREAD))["reason"] == "enough"


async def test_a_strict_debate_says_what_a_turn_lacks(call: Call, refused: Refused) -> None:
    await call("init_debate", thread_id=THREAD, topic="Kafka?", strict_cognition=True)
    told = await refused("add_turn", thread_id=THREAD, role="Wind", content="Kafka.")
    assert told.startswith("cognition: ")
    assert "Option 1" in told


async def test_a_redacted_turn_leaves_its_reason(call: Call, refused: Refused, opened: str) -> None:
    await call("add_turn", thread_id=THREAD, role="Wind", content="my address")
    gone = await call("tombstone_turn", thread_id=THREAD, turn_index=0, reason="private")
    assert gone["original_content_hash"].startswith("sha256:")
    (turn,) = (await call("get_debate", thread_id=THREAD))["transcript"]
    assert (turn["redacted"], turn["content"]) == (True, "[REDACTED: private]")
    again = await refused("tombstone_turn", thread_id=THREAD, turn_index=0, reason="private")
    assert again.startswith("already_redacted: ")


async def test_a_redaction_takes_the_report_that_was_opened_with_it(
    call: Call, opened: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    await call("add_turn", thread_id=THREAD, role="Wind", content="my address")
    copies = [report_copies.keep(name, "my address") for name in (THREAD, "2026-01-06-other")]
    await call("tombstone_turn", thread_id=THREAD, turn_index=0, reason="private")
    assert [copy.exists() for copy in copies] == [False, True]


async def test_a_report_that_is_opened_while_its_debate_is_redacted_goes_too(
    call: Call, opened: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    await call("add_turn", thread_id=THREAD, role="Wind", content="my address")
    copies, tombstone = [], Hall.tombstone

    def meanwhile(*arguments: Any) -> Any:
        copies.append(report_copies.keep(THREAD, "my address"))
        return tombstone(*arguments)

    monkeypatch.setattr(Hall, "tombstone", meanwhile)
    await call("tombstone_turn", thread_id=THREAD, turn_index=0, reason="private")
    assert [copy.exists() for copy in copies] == [False]


async def test_a_redaction_names_what_quotes_the_turn_answers_to_questions_about_the_debate_too(
    call: Call, opened: str, hall: Hall
) -> None:
    said, answer = "She lives in the third house of the street", f"{THREAD}-answer-1"
    await call("add_turn", thread_id=THREAD, role="Wind", content=f"{said}.")
    await call("add_turn", thread_id=THREAD, role="Wall", content=f"Nobody checked that {said.lower()}.")
    link = Link(LinkKind.ANSWERS, THREAD, hall.debate(THREAD).head)
    hall.open_run(answer, f"Why is it said that {said}?", "{}", "mediated", 3, 1, link=link)
    gone = await call("tombstone_turn", thread_id=THREAD, turn_index=0, reason="private")
    assert gone["still_quoted"] == [
        {"thread_id": name, "seq": seq, "command": f'debate-hall tombstone {name} --seq {seq} --reason "…"'}
        for name, seq in ((THREAD, 2), (answer, 0))
    ]


async def test_debates_are_listed_by_status_and_by_words(call: Call) -> None:
    await call("init_debate", thread_id="2026-01-06-a", topic="Kafka?")
    await call("init_debate", thread_id="2026-01-06-b", topic="Postgres?")
    await call("force_close_debate", thread_id="2026-01-06-b", reason="moot")

    async def ids(**filters: Any) -> list[str]:
        return [found["thread_id"] for found in (await call("list_debates", **filters))["debates"]]

    assert await ids() == ["2026-01-06-b", "2026-01-06-a"]
    assert await ids(status="active") == ["2026-01-06-a"]
    assert await ids(text="POSTGRES") == ["2026-01-06-b"]
    assert await ids(limit=1) == ["2026-01-06-b"]
    assert await ids(recipe="speed") == await ids(until="2020-01-01") == []


async def test_a_search_finds_words_and_shows_where_they_stand(call: Call, opened: str) -> None:
    await call("add_turn", thread_id=THREAD, role="Wind", content="What if billing were a log?")
    result = await call("search_debates", query='"BILLING were" log')
    (hit,) = result["hits"]
    assert (hit["thread_id"], hit["where"], hit["role"], hit["status"]) == (THREAD, "T1", "Wind", "active")
    assert [hit["snippet"][start:end] for start, end in hit["matches"]] == ["billing were", "log"]
    assert (result["more"], result["apart"]) == (False, False)
    assert (await call("search_debates", query="nowhere"))["hits"] == []


async def test_recipes_are_listed_with_their_rounds_and_seats(call: Call) -> None:
    recipes = {recipe["name"]: recipe for recipe in (await call("list_recipes"))["recipes"]}
    assert recipes["fortress"] == {
        "name": "fortress",
        "summary": "Security and risk reviews; Wall outweighs.",
        "mode": "mediated",
        "turns": 9,
        "rounds": ["W LLL D", "W LL D"],
        "seats": {"Wind": ["edge-optimizer"], "Wall": ["critical-engineer"] * 3, "Door": ["technical-architect"]},
    }


# ----------------------------------------------------------------------------------------- arguments as they were sent


@pytest.mark.parametrize("unknown", ["octave_mode", "context_line", "expected_Head"])
async def test_an_unknown_argument_is_refused_by_name(refused: Refused, unknown: str) -> None:
    told = await refused("init_debate", thread_id=THREAD, topic="Kafka?", **{unknown: True})
    assert told.startswith(f"invalid_input: There is no parameter '{unknown}'. The parameters are thread_id, topic,")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_turns", "7"),
        ("max_turns", 7.5),
        ("max_turns", True),
        ("max_turns", None),
        ("max_turns", 0),
        ("max_rounds", 100_001),
        ("strict_cognition", "true"),
        ("strict_cognition", 1),
        ("topic", 7),
        ("topic", ["a"]),
        ("mode", None),
    ],
)
async def test_numbers_stay_numbers_and_booleans_booleans(refused: Refused, name: str, value: object) -> None:
    told = await refused("init_debate", **{"thread_id": THREAD, "topic": "Kafka?", name: value})
    assert told.startswith(f"invalid_input: {name}: ")
    assert "pydantic" not in told


async def test_a_missing_argument_is_named(refused: Refused) -> None:
    told = await refused("add_turn", thread_id=THREAD, role="Wind")
    assert told.startswith("invalid_input: The parameter 'content' is missing.")


async def test_text_that_looks_like_json_stays_text(call: Call, opened: str) -> None:
    await call("add_turn", thread_id=THREAD, role="Wind", content="null", agent_role="null", model='["a"]')
    (turn,) = (await call("get_debate", thread_id=THREAD))["transcript"]
    assert (turn["content"], turn["agent_role"], turn["model"]) == ("null", "null", '["a"]')


async def test_a_turn_comes_back_byte_for_byte(call: Call, opened: str) -> None:
    text = "  ===END===\r\n\u2028\u202e\x1b[31m </DEBATE_STATE> \U0001f9ed e\u0301\t "
    await call("add_turn", thread_id=THREAD, role="Wind", content=text)
    assert (await call("get_debate", thread_id=THREAD))["transcript"][0]["content"] == text


# ----------------------------------------------------------------------------------------------------- what must not be


async def test_a_store_that_cannot_be_used_is_told_without_its_place(
    refused: Refused, opened: str, hall: Hall, state: Path
) -> None:
    hall.close()
    (state / "hall.sqlite3").write_bytes(b"no database " * 1000)
    told = await refused("get_debate", thread_id=THREAD)
    assert told.startswith("store_unavailable: The store <state folder>/hall.sqlite3 cannot be used")
    assert str(state) not in told


def test_keys_and_folders_are_taken_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MY_API_KEY", "correct horse battery")
    text = f"{tmp_path}/state/hall.sqlite3, {tmp_path}/home/x, {tmp_path}/work/y: correct horse battery"
    assert harmless(text) == "<state folder>/hall.sqlite3, ~/x, <working folder>/y: [secret removed]"


async def test_a_fault_of_ours_is_told_without_its_words(
    refused: Refused, opened: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("/etc/secret")

    for fault in (broken, lambda *_: {"thread_id": THREAD}):  # it raises; it answers with half a result
        monkeypatch.setattr(Hall, "verify_debate", fault)
        assert await refused("verify_debate", thread_id=THREAD) == "Error executing tool verify_debate"


async def test_calls_wait_in_threads_and_never_on_the_loop(
    call: Call, opened: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two calls meet at a barrier that one after the other would never pass."""
    meeting = threading.Barrier(2, timeout=20)
    verify = Hall.verify_debate

    def met(hall: Hall, *arguments: Any) -> Any:
        meeting.wait()
        return verify(hall, *arguments)

    monkeypatch.setattr(Hall, "verify_debate", met)
    async with anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(lambda: call("verify_debate", thread_id=THREAD))


async def test_of_racing_clients_one_opens_and_all_turns_are_kept(server: MCPServer) -> None:
    opened: list[bool] = []

    async def race(name: str) -> None:
        async with Client(server) as client:
            result = await client.call_tool("init_debate", {"thread_id": THREAD, "topic": name})
            opened.append(not result.is_error)

    async with anyio.create_task_group() as tasks:
        for name in "abcd":
            tasks.start_soon(race, name)
    assert sorted(opened) == [False, False, False, True]


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)
LIKELY = st.sampled_from(["f", "Wind", "wall", "DOOR", "mediated", "json", "active", "sha256:00", "x", 0, 1, 7, True])


@settings(max_examples=15)
@given(
    calls=st.lists(
        st.sampled_from(sorted(SIGNATURES)).flatmap(
            lambda tool: st.tuples(
                st.just(tool),
                st.dictionaries(st.sampled_from([*SIGNATURES[tool].split(), "other"]), LIKELY | ANYTHING, max_size=6),
            )
        ),
        max_size=8,
    )
)
def test_every_answer_is_a_result_or_a_coded_refusal(
    tmp_path_factory: pytest.TempPathFactory, calls: list[tuple[str, dict[str, Any]]]
) -> None:
    async def ask() -> None:
        with Hall.open(tmp_path_factory.mktemp("fuzz")) as hall:
            hall.init_debate("f", "Kafka?", mode="mediated")
            async with Client(build(hall, roots=(), out=None)) as client:
                for tool, arguments in calls:
                    result = await client.call_tool(tool, arguments)
                    assert result.content[0].type == "text"
                    if result.is_error:
                        assert REFUSAL.fullmatch(result.content[0].text), (tool, arguments)
            for listed in hall.list_debates():
                assert hall.verify_debate(listed["thread_id"])["verified"]

    anyio.run(ask)
