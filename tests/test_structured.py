"""What is read from a model's answer, and what is not: never a word of the prose, never a part of an answer."""

from __future__ import annotations

import json
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from orchestrator.hall.terms import Role
from orchestrator.models.base import Message, Model, Request, Shape, Task
from orchestrator.models.rehearsal import Rehearsal
from orchestrator.models.scripted import Scripted
from orchestrator.structured import Answer, Unreadable, asking_for, read, schema_of


class Outcome(StrEnum):
    MET = "met"
    OPEN = "open"


class Answered(Answer):
    """What became of one constraint,
    as Door says it."""

    id: Annotated[str, Field(pattern=r"^T\d+\.C\d+$", description="The constraint's id, as T3.C1.")]
    outcome: Outcome
    title: str | None


class Vote(Answer):
    choice: Literal["approve", "object"]
    why: str = Field(description="In your own words.")
    confidence: float
    constraints: tuple[Answered, ...]


CONSTRAINT = {"id": "T3.C1", "outcome": "met", "title": None}
OBJECT: dict[str, Any] = {"choice": "object", "why": "No way back.", "confidence": 0.5, "constraints": [CONSTRAINT]}
VOTE = Vote(
    choice="object",
    why="No way back.",
    confidence=0.5,
    constraints=(Answered(id="T3.C1", outcome=Outcome.MET, title=None),),
)
BARE = json.dumps(OBJECT)


def problems(text: str, shape: type[Answer] = Vote) -> tuple[str, ...]:
    with pytest.raises(Unreadable) as caught:
        read(text, shape)
    assert str(caught.value) == " ".join(caught.value.problems)
    return caught.value.problems


def problem(text: str, shape: type[Answer] = Vote) -> str:
    (only,) = problems(text, shape)
    return only


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in OBJECT.items() if name != key}


# ---------------------------------------------------------------- what is read


@pytest.mark.parametrize(
    "text",
    [
        BARE,
        json.dumps(OBJECT, indent=2),
        f"\ufeff{BARE}",
        f"```json\n{BARE}\n```",
        f"```\n{BARE}\n```",
        f"~~~~jsonc title=vote\r\n{BARE}\r\n~~~~",
        f"Here is my vote:\n\n{BARE}",
        f"{BARE}\n\nI hope that this helps, and that [E1:3-4] is read.",
        f'I cite [1], [C1] and the [page](http://x).\n- [ ] to do\n```json\n{BARE}\n```\nThat\'s "it".',
        f"{BARE} And again: {json.dumps(OBJECT, indent=1)}",
    ],
)
def test_the_object_is_read_in_every_wrapping(text: str) -> None:
    assert read(text, Vote) == VOTE


def test_only_the_object_counts_and_never_the_prose() -> None:
    approves = json.dumps(OBJECT | {"choice": "approve"})
    assert read(f"I cannot approve this. I object. BLOCKED. {approves}", Vote).choice == "approve"
    assert read(f"No objections, approved! {BARE}", Vote).choice == "object"


@pytest.mark.parametrize(
    "example",
    [
        '{"acks": "all"}',
        '{"choice": "approve" | "object", "why": …}',
        '{"choice": "abstain"}',
        "{topic, partition}",
        "{}",
        '["approve", "object"]',
        '[{"choice": "approve"}]',
        '{"vote": ' + BARE + "}",
        '{"choice": "approve", "choice": "object"}',
    ],
)
def test_an_example_that_is_no_answer_does_not_shadow_the_answer(example: str) -> None:
    assert read(f"The form is {example}, so:\n{BARE}", Vote) == VOTE


@pytest.mark.parametrize("example", ['{"acks": "all"}', '{"choice": "abstain"}', "{}", '["approve", "object"]'])
def test_nor_does_one_that_follows_it(example: str) -> None:
    assert read(f"{BARE}\nI did not say {example}.", Vote) == VOTE


def test_brackets_and_escapes_within_a_text_are_text() -> None:
    why = 'He said "{" and [, then "}}" \\" \\\\ and {"choice": "approve"} \U0001f600'
    assert read(f"So: {json.dumps(OBJECT | {'why': why})}", Vote).why == why


def test_a_line_break_within_a_text_is_read_as_one() -> None:
    assert read(BARE.replace("way back", "way\n\tback"), Vote).why == "No way\n\tback."


def test_the_same_answer_twice_is_one_answer() -> None:
    turned = json.dumps(dict(reversed(OBJECT.items())))
    assert read(f"{BARE}\n{turned}", Vote) == VOTE


# ---------------------------------------------------------------- what is not


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n",
        "I approve of this.",
        "approve",
        '"approve"',
        "42",
        "null",
        "[1, 2]",
        "```json\n```",
        "choice: approve",
    ],
)
def test_without_an_object_there_is_no_answer(text: str) -> None:
    assert problem(text) == "There is no JSON object in the answer; write one JSON object and nothing else."


@pytest.mark.parametrize("text", [f"[{BARE}]", f"[[{BARE}]]", f'["x", {BARE}]', f"So: [\n {BARE}, {BARE}]"])
def test_a_list_is_no_answer_whatever_it_holds(text: str) -> None:
    assert problem(text) == "The answer is a list; write one JSON object."


@pytest.mark.parametrize("name", ["choice", "id"])
def test_a_key_that_comes_twice_is_named(name: str) -> None:
    value = json.dumps({**OBJECT, **CONSTRAINT}[name])
    twice = BARE.replace(f'"{name}": ', f'"{name}": {value}, "{name}": ')
    assert problem(twice) == f"{name}: this key comes twice; give it once."


def test_a_key_that_comes_twice_in_two_spellings_is_found() -> None:
    assert "choice: this key comes twice" in problem(BARE.replace('"why"', r'"choi\u0063e": "approve", "why"'))


@pytest.mark.parametrize("end", [1, 2, 30, len(BARE) - 1])
def test_an_answer_that_is_cut_off_is_told_so(end: int) -> None:
    assert problem(f"I approve: {BARE[:end]}").startswith("The JSON ends in the middle: ")


def test_an_answer_that_is_cut_off_is_not_replaced_by_an_earlier_one() -> None:
    earlier = json.dumps(OBJECT | {"choice": "approve"})
    assert "ends in the middle" in problem(f"At first: {earlier}\nNow: {BARE[:-5]}")
    assert "ends in the middle" in problem(f'{{"draft": {earlier}, "vote": ')
    assert "no JSON" in problem(
        f"At first: {earlier}\nNow: {BARE.replace('way', 'way, ' + chr(34) + 'none' + chr(34))}"
    )


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("{'choice': 'approve'}", "This is no JSON: Expecting property name enclosed in double quotes at \"'choice'"),
        (BARE.replace("]}", "],}"), "This is no JSON: "),
        (BARE.replace("0.5", "NaN"), "NaN is no number in JSON."),
        (BARE.replace("0.5", "-Infinity"), "-Infinity is no number in JSON."),
        (BARE.replace("0.5", "1e999"), "1e999 is too large a number."),
        (BARE.replace("0.5", "9" * 5000), "This is no JSON: a number is too long."),
        (BARE.replace("No way", r"\ud83d"), r"A text holds \ud83d alone, which is half a character."),
        (BARE.replace("No way", "\udc00"), r"A text holds \udc00 alone, which is half a character."),
        (BARE.replace('"why"', r'"why\ud83d"'), r"A text holds \ud83d alone, which is half a character."),
        (BARE.replace("No way", r"No\u0000way"), r"A text holds \u0000, which no text here can; leave it out."),
        (BARE.replace("No way", "No\0way"), r"A text holds \u0000, which no text here can; leave it out."),
        (BARE.replace('"why"', r'"why\\\u0000"'), r"A text holds \u0000, which no text here can; leave it out."),
        (BARE + json.dumps(OBJECT | {"choice": "approve"}), "There are two answers that differ; "),
    ],
)
def test_what_is_no_json_or_could_mean_two_things_is_told(wrong: str, told: str) -> None:
    assert problem(wrong).startswith(told)


@pytest.mark.parametrize(
    ("members", "told"),
    [
        (without("choice"), ("choice: this key is missing.",)),
        (OBJECT | {"vote": 1}, ("vote: there is no such key.",)),
        (OBJECT | {"choice": "Approve"}, ("choice: Input should be 'approve' or 'object'.",)),
        (OBJECT | {"choice": "I do not approve"}, ("choice: Input should be 'approve' or 'object'.",)),
        (OBJECT | {"why": None}, ("why: Input should be a valid string.",)),
        (OBJECT | {"why": 1}, ("why: Input should be a valid string.",)),
        (OBJECT | {"confidence": "0.5"}, ("confidence: Input should be a valid number.",)),
        (OBJECT | {"confidence": True}, ("confidence: Input should be a valid number.",)),
        (OBJECT | {"constraints": CONSTRAINT}, ("constraints: Input should be a valid array.",)),
        (
            OBJECT | {"constraints": [CONSTRAINT, CONSTRAINT, {"id": "C1", "outcome": "good", "titel": ""}]},
            (
                "constraints.2.id: String should match pattern '^T\\d+\\.C\\d+$'.",
                "constraints.2.outcome: Input should be 'met' or 'open'.",
                "constraints.2.title: this key is missing.",
                "constraints.2.titel: there is no such key.",
            ),
        ),
        (OBJECT | {"a b\n": 1}, (r"'a b\n': there is no such key.",)),
    ],
)
def test_what_does_not_fit_is_told_key_by_key_and_nothing_is_converted(
    members: dict[str, Any], told: tuple[str, ...]
) -> None:
    assert problems(json.dumps(members)) == told


def test_of_several_objects_the_nearest_to_the_shape_is_told() -> None:
    near = json.dumps(without("why"))
    assert problem(f'{{"a": 1}} {near} {{"b": 2}}') == "why: this key is missing."


def test_very_many_problems_are_counted() -> None:
    told = problems(json.dumps(OBJECT | {"constraints": [1] * 1000}))
    assert (len(told), told[-1]) == (11, "And 990 problems more.")


@pytest.mark.slow
@pytest.mark.parametrize("count", [65, 100_000])
@pytest.mark.parametrize("nested", ['{"choice": ', "[[", '{"a": ['])
def test_what_is_nested_too_deeply_is_refused_and_harms_nobody(count: int, nested: str) -> None:
    closing = {"[": "]", "{": "}"}
    end = "".join(closing[mark] for mark in reversed(nested) if mark in closing)
    assert "middle" in problem(nested * count)
    refused = problem(f'{{"choice": {nested * count}1{end * count}}}')
    assert refused == "The JSON is nested more than 64 deep."
    assert read(f"{nested * count}1{end * count} {BARE}", Vote) == VOTE


@pytest.mark.slow
@pytest.mark.parametrize("text", ["{" * 300_000, "[ {" * 300_000, '"{' * 300_000, "{}" * 5_000, '{"' + "\\" * 300_000])
def test_a_text_of_nothing_but_brackets_is_refused_in_one_pass(text: str) -> None:
    assert problems(text)


# ---------------------------------------------------------------- laws

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30) | st.text(
    '{}[]":,\\ `\n', max_size=12
)
VOTES = st.builds(
    Vote,
    choice=st.sampled_from(["approve", "object"]),
    why=TEXTS,
    confidence=st.floats(allow_nan=False, allow_infinity=False),
    constraints=st.lists(
        st.builds(
            Answered,
            id=st.from_regex(r"T[0-9]{1,3}\.C[0-9]{1,3}", fullmatch=True),
            outcome=st.sampled_from(Outcome),
            title=st.none() | TEXTS,
        ),
        max_size=2,
    ).map(tuple),
)
PROSE = st.text(st.characters(codec="utf-8", exclude_characters="{["), max_size=40)
WRITTEN = st.tuples(VOTES, st.booleans(), st.sampled_from([None, 0, 2])).map(
    lambda drawn: json.dumps(drawn[0].model_dump(mode="json"), ensure_ascii=drawn[1], indent=drawn[2])
)


@st.composite
def wrapped(draw: st.DrawFn, text: str) -> str:
    fence = draw(st.sampled_from(["", "```", "~~~~", "`````"]))
    label = draw(st.sampled_from(["", "json", "JSON5", "vote title=x"])) if fence else ""
    return f"{draw(PROSE)}{fence}{label}\n{text}\n{fence}{draw(PROSE)}"


@pytest.mark.slow
@given(st.data(), VOTES, st.booleans())
def test_every_answer_is_read_as_it_was_written_in_every_wrapping(data: st.DataObject, vote: Vote, ascii: bool) -> None:
    text = json.dumps(vote.model_dump(mode="json"), ensure_ascii=ascii)
    assert read(text, Vote) == vote
    assert read(data.draw(wrapped(text)), Vote) == vote


@given(PROSE)
def test_nothing_is_ever_read_from_prose(prose: str) -> None:
    assert "no JSON object" in problem(f"{prose} approve {prose}")


@given(st.data(), WRITTEN, PROSE)
def test_a_cut_answer_is_never_read(data: st.DataObject, text: str, before: str) -> None:
    end = data.draw(st.integers(0, len(text) - 1))
    assert problem(before + text[:end])


@given(st.data(), WRITTEN)
def test_a_repeated_key_is_never_read(data: st.DataObject, text: str) -> None:
    members: dict[str, Any] = json.loads(text)
    name = data.draw(st.sampled_from(sorted(members)))
    again = f"{json.dumps(name)}: {json.dumps(data.draw(st.just(members[name]) | st.sampled_from(['approve', None])))}"
    first = data.draw(st.booleans())
    rest = text.strip()[1:-1]
    told = problem(f"{{{again}, {rest}}}" if first else f"{{{rest}, {again}}}")
    assert told == f"{name}: this key comes twice; give it once."


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | TEXTS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner)
    )
)
def test_no_value_of_another_shape_is_ever_read(value: Any) -> None:
    assert problems(json.dumps(value))


@given(st.text() | st.text('{}[]":,\\ tru1', max_size=60))
def test_any_text_is_read_or_refused_with_a_reason(text: str) -> None:
    assert all(told == told.strip() and "\n" not in told for told in problems(text))


# ---------------------------------------------------------------- models that know no schema

TASK = Task("turn", Role.WIND, "ideator", None, round=1, rounds=1, last=False, topic="Kafka or not?")


@pytest.mark.anyio
@pytest.mark.parametrize("model", [Scripted(lambda request: f"So: {BARE}"), Rehearsal()], ids=["scripted", "rehearsal"])
async def test_models_that_know_no_schema_say_the_same_with_one_and_without(model: Model) -> None:
    request = Request("test/wind", (Message("user", asking_for(Vote)),), TASK, 100, 1)
    held = replace(request, shape=Shape("vote", schema_of(Vote)))
    assert await model.complete(held) == await model.complete(request)
    assert len({request, held, replace(held)}) == 2


# ---------------------------------------------------------------- asking


def test_the_schema_is_one_that_strict_providers_take() -> None:
    constraint = {
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": r"The constraint's id, as T3.C1. (pattern ^T\d+\.C\d+$)"},
            "outcome": {"type": "string", "enum": ["met", "open"]},
            "title": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["id", "outcome", "title"],
        "additionalProperties": False,
        "description": "What became of one constraint, as Door says it.",
    }
    assert schema_of(Vote) == {
        "type": "object",
        "properties": {
            "choice": {"type": "string", "enum": ["approve", "object"]},
            "why": {"type": "string", "description": "In your own words."},
            "confidence": {"type": "number"},
            "constraints": {"type": "array", "items": constraint},
        },
        "required": ["choice", "why", "confidence", "constraints"],
        "additionalProperties": False,
    }


def test_a_single_choice_and_a_choice_of_objects_are_said_in_words_that_every_provider_knows() -> None:
    class Yes(Answer):
        kind: Literal["yes"]

    class No(Answer):
        kind: Literal["no"]

    class Either(Answer):
        said: Annotated[Yes | No, Field(discriminator="kind")]

    def kind(name: str) -> dict[str, Any]:
        members = {"kind": {"type": "string", "enum": [name]}}
        return {"type": "object", "properties": members, "required": ["kind"], "additionalProperties": False}

    assert schema_of(Either)["properties"] == {"said": {"anyOf": [kind("yes"), kind("no")]}}
    assert read('{"said": {"kind": "no"}}', Either) == Either(said=No(kind="no"))


def test_the_words_that_ask_hold_the_schema_on_one_line() -> None:
    *words, schema = asking_for(Vote).splitlines()
    assert "one JSON object and nothing else" in " ".join(words)
    assert json.loads(schema) == schema_of(Vote)
    assert '": ' not in schema


def test_the_words_that_ask_are_no_answer() -> None:
    assert problems(asking_for(Vote))


def test_a_default_is_refused_when_the_shape_is_made() -> None:
    with pytest.raises(TypeError, match="Loose gives a default to why"):

        class Loose(Answer):
            choice: str
            why: str = ""


class Tree(Answer):
    below: tuple[Tree, ...]


class Table(Answer):
    rows: dict[str, int]


class Pair(Answer):
    two: tuple[int, str]


@pytest.mark.parametrize("shape", [Tree, Table, Pair])
def test_what_no_strict_schema_can_say_is_refused(shape: type[Answer]) -> None:
    with pytest.raises(TypeError, match="strict schema"):
        schema_of(shape)


def test_an_answer_does_not_change() -> None:
    with pytest.raises(ValueError, match="frozen"):
        VOTE.choice = "approve"  # type: ignore[misc]
