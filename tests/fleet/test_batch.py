"""Files of debates: each row comes out as it was written, or is named with its line and what is wrong in it."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import ConfigurationError
from orchestrator.fleet import batch
from orchestrator.fleet.batch import Entry, Row, read_batch
from orchestrator.fleet.submitting import Submission
from orchestrator.hall.inputs import require_thread_id
from orchestrator.hall.terms import Role
from orchestrator.recipe import Limits
from orchestrator.wanted import Wanted

TODAY = date(2026, 1, 6)
USUAL = Submission("", Wanted(recipe="deep", context=("docs",), limits=Limits(cost_usd=Decimal(1))), priority=3)


def read(path: Path, text: str | bytes, usual: Submission = USUAL, since: str | None = None) -> list[Entry]:
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    return read_batch(path, usual, since, TODAY)


def csv_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as a spreadsheet writes them."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(Row.model_fields))
    writer.writeheader()
    writer.writerows(
        {name: ";".join(value) if isinstance(value, list) else value for name, value in row.items()} for row in rows
    )
    return text.getvalue()


def lines_of(rows: Sequence[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


# ------------------------------------------------------------------------------------------------- what a row comes to


def test_a_row_says_what_is_otherwise_than_on_the_command_line(tmp_path: Path) -> None:
    row = {
        "topic": " Which queue? ", "id": "2026-01-06-queue", "recipe": "speed", "tier": "2", "models": "ours.yaml",
        "wind": ["a/x", "a/y"], "door": "a/z", "context": ["notes.md", "src"], "adr": ["docs/adr"],
        "since": "2025-01-06-queue", "cost_limit": 0.5, "token_limit": 9000, "time_limit": 60, "on_failure": "degrade",
        "consensus": True, "early_close": False, "priority": -4, "after": "2026-01-07T09:00+01:00",
    }  # fmt: skip
    (entry,) = read(tmp_path / "topics.jsonl", lines_of([row]))
    wanted = Wanted(
        recipe="speed",
        tier="2",
        models="ours.yaml",
        voices={Role.WIND: ("a/x", "a/y"), Role.WALL: (), Role.DOOR: ("a/z",)},
        context=("notes.md", "src"),
        adr=("docs/adr",),
        limits=Limits(cost_usd=Decimal("0.5"), tokens=9000, seconds=60),
        on_failure="degrade",
        consensus=True,
        early_close=False,
    )
    after = datetime(2026, 1, 7, 8, tzinfo=UTC)
    assert entry.submission == Submission("Which queue?", wanted, "2026-01-06-queue", -4, after)
    assert entry.since == "2025-01-06-queue"


def test_a_row_that_names_a_topic_only_is_as_the_command_line_says(tmp_path: Path) -> None:
    (entry,) = read(tmp_path / "topics.csv", "topic\nWhich queue?\n", since="2025-01-06-queue")
    usual = replace(USUAL.wanted, voices=dict.fromkeys(Role, ()))
    assert entry.submission.thread_id is not None
    assert re.fullmatch(r"2026-01-06-which-queue-[0-9a-f]{8}", entry.submission.thread_id)
    assert entry.submission == replace(USUAL, topic="Which queue?", wanted=usual, thread_id=entry.submission.thread_id)
    assert entry.since == "2025-01-06-queue"


def test_a_spreadsheet_may_write_a_mark_of_utf_8_quotes_empty_cells_and_empty_lines(tmp_path: Path) -> None:
    text = '\ufefftopic,context,tier\r\n"Which queue,\r\nand why?"," notes.md ; src;",\r\n\r\nWhich cache?,,2\r\n'
    first, second = read(tmp_path / "topics.csv", text)
    assert first.submission.topic == "Which queue,\r\nand why?"
    assert first.submission.wanted.context == ("notes.md", "src")
    assert (second.submission.wanted.context, second.submission.wanted.tier) == (("docs",), "2")
    assert (first.where, second.where) == (f"{tmp_path}/topics.csv, line 3", f"{tmp_path}/topics.csv, line 5")


words = st.text(st.characters(codec="utf-8", exclude_characters="\0;"), min_size=1, max_size=20).filter(str.strip)
names = words.map(str.strip)
rows = st.fixed_dictionaries(
    {"topic": words},
    optional={
        "recipe": names,
        "wind": st.lists(names, min_size=1, max_size=3),
        "context": st.lists(names, min_size=1, max_size=3),
        "cost_limit": st.floats(0.01, 1000),
        "token_limit": st.integers(1, 10**9),
        "on_failure": st.sampled_from(["pause", "degrade"]),
        "consensus": st.booleans(),
        "priority": st.integers(-1000, 1000),
        "after": st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat),
    },
)


@given(st.lists(rows, min_size=1, max_size=4, unique_by=lambda row: row["topic"].strip()))
def test_rows_come_out_alike_from_either_kind_of_file_with_ids_that_a_thread_may_have(
    tmp_path_factory: pytest.TempPathFactory, written: list[dict[str, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("batch")
    spread, lined = read(folder / "topics.csv", csv_of(written)), read(folder / "topics.jsonl", lines_of(written))
    assert [(entry.submission, entry.since) for entry in spread] == [(entry.submission, entry.since) for entry in lined]
    for row, entry in zip(written, lined, strict=True):
        asked = entry.submission
        assert asked.topic == row["topic"].strip()
        assert list(asked.wanted.context) == row.get("context", ["docs"])
        assert asked.wanted.limits.cost_usd == Decimal(str(row.get("cost_limit", 1)))
        assert asked.priority == row.get("priority", 3)
        require_thread_id(asked.thread_id or "")


# ------------------------------------------------------------------------------------------------------------- the ids


def ids_of(folder: Path, *told: Mapping[str, Any], usual: Submission = USUAL, today: date = TODAY) -> list[str | None]:
    path = folder / "topics.jsonl"
    path.write_text(lines_of(told))
    return [entry.submission.thread_id for entry in read_batch(path, usual, None, today)]


def test_the_same_row_is_the_same_debate_wherever_it_stands_and_whenever_it_is_held(tmp_path: Path) -> None:
    queue = {"topic": "Which queue?", "recipe": "speed"}
    (first,) = ids_of(tmp_path, queue)
    assert (
        ids_of(tmp_path, {"topic": "Which cache?"}, {"priority": 9, "after": "2026-01-07T09:00Z", **queue})[1] == first
    )
    assert ids_of(
        tmp_path, {"topic": "Which queue?"}, usual=replace(USUAL, wanted=replace(USUAL.wanted, recipe="speed"))
    ) == [first]


@pytest.mark.parametrize(
    "otherwise",
    [{"topic": "Which queue"}, {"recipe": "deep"}, {"context": ["src"]}, {"since": "2025-01-06-x"}, {"cost_limit": 2}],
    ids=lambda row: next(iter(row)),
)
def test_another_row_is_another_debate(otherwise: dict[str, Any], tmp_path: Path) -> None:
    queue = {"topic": "Which queue?", "recipe": "speed"}
    first, second = ids_of(tmp_path, queue, queue | otherwise)
    assert first != second
    assert ids_of(tmp_path, queue, today=date(2026, 1, 7)) != [first]


# --------------------------------------------------------------------------------------------------------- bad rows

GOOD = '{"topic": "Which queue?"}\n'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param("{", "This line is no JSON: Expecting property name", id="half"),
        pytest.param("topic,recipe", "no JSON: .* a file of comma separated values is called", id="csv"),
        pytest.param('{"topic": "a", "topic": "b"}', "This line is no JSON: a name stands there twice", id="twice"),
        pytest.param("[" * 100_000, "This line is no JSON", id="brackets"),
        pytest.param('["topic"]', r'This line is no JSON object\. Write \{"topic"', id="list"),
        pytest.param("{}", "topic: Field required", id="no topic"),
        pytest.param('{"topic": 5}', "topic: Input should be a valid string", id="topic"),
        pytest.param('{"topic": " "}', "The topic is blank", id="blank"),
        pytest.param(r'{"topic": "a\u0000"}', "The topic holds a NUL", id="NUL"),
        pytest.param(r'{"topic": "\ud800"}', "surrogate|Unicode", id="surrogate"),
        pytest.param('{"topic": "AKIA' + 'IOSFODNN7EXAMPLQ"}', "key|secret", id="secret"),
        pytest.param('{"topic": "a", "recip": "x"}', "recip: Extra .* Did you mean", id="name"),
        pytest.param('{"topic": "a", "cost_limit": -1}', "cost_limit: Input should be greater than 0", id="cost"),
        pytest.param('{"topic": "a", "cost_limit": NaN}', "cost_limit: Input should be", id="NaN"),
        pytest.param('{"topic": "a", "cost_limit": "1 USD"}', "cost_limit: Input should be", id="unit"),
        pytest.param('{"topic": "a", "token_limit": 0.5}', "token_limit: Input should be", id="tokens"),
        pytest.param('{"topic": "a", "time_limit": Infinity}', "time_limit: Input should be a finite", id="time"),
        pytest.param('{"topic": "a", "on_failure": "stop"}', "on_failure: Input should be 'pause' or", id="failure"),
        pytest.param('{"topic": "a", "consensus": "perhaps"}', "consensus: Input should be", id="flag"),
        pytest.param('{"topic": "a", "priority": 1001}', "priority: Input should be less than", id="priority"),
        pytest.param('{"topic": "a", "wind": {"model": "x"}}', "wind: Input should be a valid list", id="models"),
        pytest.param('{"topic": "a", "context": ["b", 5]}', "context.1: Input should be a valid string", id="part"),
        pytest.param('{"topic": "a", "after": "tomorrow"}', "after: Input should be a valid datetime", id="when"),
        pytest.param('{"topic": "a", "after": "2026-01-07T09:00"}', "without a time zone. Write 2026-", id="zone"),
        pytest.param('{"topic": "a", "id": "../a"}', "cannot be a thread id", id="id"),
    ],
)
def test_a_bad_line_is_named_with_what_is_wrong_in_it(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "topics.jsonl"
    with pytest.raises(ConfigurationError, match=message) as raised:
        read(path, f"{GOOD}\n{line}\n")
    assert str(raised.value).startswith(f"{path}, line 3: ")


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        pytest.param("", "", "There is no column called topic. A CSV file begins with the names", id="empty"),
        pytest.param("Which queue?\n", "", "There is no column called topic", id="no header"),
        pytest.param("topic,recip\na,b\n", "", "There can be no column called 'recip'. Did you mean", id="name"),
        pytest.param("topic,recipe,recipe\na,b,c\n", "", "There are two columns called 'recipe'", id="twice"),
        pytest.param("topic\n", "", "There is no debate in this file", id="no row"),
        pytest.param("topic,recipe\na,b\na,b,c\n", ", line 3", "more cells than the header has columns .2", id="cells"),
        pytest.param("topic,recipe\na,b\n,speed\n", ", line 3", "topic: Field required", id="topic"),
        pytest.param('topic\na\n"b\n', ", line 3", "This is no CSV: unexpected end", id="quote"),
        pytest.param("topic,after\na,2026-01-07\n", ", line 2", "without a time zone", id="zone"),
        pytest.param("topic,token_limit\na,many\n", ", line 2", "token_limit: Input should be", id="number"),
        pytest.param(f"topic\n{'a' * 200_000}\n", ", line 2", "This is no CSV: field larger", id="large cell"),
        pytest.param("topic\na\na\n", ", line 3", r"It is the same debate as in .*, line 2\. Leave one out", id="same"),
        pytest.param("topic,id\na,Queue\nb,queue\n", ", line 3", "It is the same debate as in", id="same id"),
    ],
)
def test_a_bad_csv_is_named_with_the_line_where_there_is_one(
    text: str, place: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "topics.csv"
    with pytest.raises(ConfigurationError, match=message) as raised:
        read(path, text)
    assert str(raised.value).startswith(f"{path}{place}: ")


def test_a_file_that_is_no_text_or_no_file_or_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigurationError, match="is not UTF-8"):
        read(tmp_path / "topics.csv", b"topic\n\xff\xfe\n")
    with pytest.raises(ConfigurationError, match="cannot be read: Is a directory"):
        read_batch(tmp_path, USUAL, None, TODAY)
    monkeypatch.setattr(batch, "MOST_BYTES", 10)
    with pytest.raises(ConfigurationError, match="is larger than"):
        read(tmp_path / "topics.csv", "topic\nWhich queue?\n")
