from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, field_validator, model_validator

from orchestrator.errors import ConfigurationError
from orchestrator.hall.terms import Mode
from orchestrator.strict_yaml import Shape, did_you_mean, fault, load, read


class Seat(Shape):
    agent: str
    lens: str | None = None


class Table(Shape):
    text: str = ""
    flag: bool = False
    number: Annotated[int, Field(ge=1, le=9)] = 1
    odd: int = 1
    share: Annotated[float, Field(gt=0, lt=2)] = 1
    price: Decimal | None = None
    mode: Mode = Mode.FIXED
    wall: Literal["framework", "reactive"] = "framework"
    names: tuple[str | Seat, ...] = ()
    seats: dict[str, tuple[Seat, ...]] = Field(default_factory=dict)

    @field_validator("odd")
    @classmethod
    def _is_odd(cls, number: int) -> int:
        if number % 2 == 0:
            raise ValueError("must be odd")
        return number

    @model_validator(mode="after")
    def _text_is_not_a_name(self) -> Table:
        for index, name in enumerate(self.names):
            if self.text and name == self.text:
                raise fault("stands in {braces} twice.", "Keep one.", at=("names", index))
        return self


class Named(Shape):
    name: str
    summary: str


def table(text: str) -> Table:
    return load(text, source="table.yaml", shape=Table)


def refusal(text: str, shape: type[BaseModel] = Table) -> str:
    with pytest.raises(ConfigurationError) as refused:
        load(text, source="table.yaml", shape=shape)
    return str(refused.value)


@pytest.mark.parametrize(
    "spelling",
    [
        "no",
        "off",
        "Yes",
        "12:30",
        "1_000",
        "0x1F",
        "0o17",
        "007",
        ".inf",
        ".nan",
        ".5",
        "+1",
        "2026-01-06",
        "NULL",
        "=",
        "<",
    ],
)
def test_what_only_yaml_1_1_takes_for_something_else_is_text(spelling: str) -> None:
    assert table(f"text: {spelling}") == Table(text=spelling)


@pytest.mark.parametrize("spelling", ["1.10", "1e3", "-0", "true", "false", "36"])
def test_a_number_or_boolean_where_text_is_wanted_keeps_its_spelling(spelling: str) -> None:
    expected = Table(names=(spelling, Seat(agent=spelling, lens=spelling)))
    assert table(f"names: [{spelling}, {{agent: {spelling}, lens: {spelling}}}]") == expected


def test_a_number_keeps_its_spelling_as_a_key_and_below_it() -> None:
    assert table("seats:\n  1.10:\n  - agent: 2.0\n") == Table(seats={"1.10": (Seat(agent="2.0"),)})


@pytest.mark.parametrize("spelling", ["", "~", "null"])
def test_nothing_is_null_where_it_may_be_and_no_text(spelling: str) -> None:
    assert table(f"price: {spelling}").price is None
    assert refusal(f"text: {spelling}") == "table.yaml:1: text: must be a text, not nothing."


def test_values_arrive_in_their_types() -> None:
    text = "flag: true\nnumber: 9\nshare: 0.5\nprice: 0.10\nmode: mediated\nwall: reactive\n"
    expected = Table(flag=True, number=9, share=0.5, price=Decimal("0.1"), mode=Mode.MEDIATED, wall="reactive")
    assert table(text) == expected


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("flag: no", "table.yaml:1: flag: must be true or false, not the text 'no'."),
        ('flag: "true"', "table.yaml:1: flag: must be true or false, not the text 'true'."),
        ("flag: 1", "table.yaml:1: flag: must be true or false, not 1."),
        ("number: 1.0", "table.yaml:1: number: must be a whole number, not 1.0."),
        ('number: "1"', "table.yaml:1: number: must be a whole number, not the text '1'."),
        ("number: true", "table.yaml:1: number: must be a whole number, not true."),
        ("number: 007", "table.yaml:1: number: must be a whole number, not the text '007'."),
        ("number: 0", "table.yaml:1: number: must be at least 1, not 0."),
        ("number: 10", "table.yaml:1: number: must be at most 9, not 10."),
        ("share: 0", "table.yaml:1: share: must be more than 0, not 0."),
        ("share: 2.0", "table.yaml:1: share: must be less than 2, not 2.0."),
        ("share: .inf", "table.yaml:1: share: must be a number, not the text '.inf'."),
        ("share: 1e999", "table.yaml:1: share: must be a finite number, not 1e999."),
        ("price: [1]", "table.yaml:1: price: must be a number, not a list."),
        ("price: much", "table.yaml:1: price: must be a number, not the text 'much'."),
        ("odd: 2", "table.yaml:1: odd: must be odd."),
        ("mode: Fixed", "table.yaml:1: mode: must be 'fixed' or 'mediated', not the text 'Fixed'."),
        ("wall: soft", "table.yaml:1: wall: must be 'framework' or 'reactive', not the text 'soft'."),
        ("names: ideator", "table.yaml:1: names: must be a list, not the text 'ideator'."),
        ("seats: [1]", "table.yaml:1: seats: must be a mapping of keys to values, not a list."),
        ("text: {a: b}", "table.yaml:1: text: must be a text, not a mapping."),
        ("number: 1\ntxt: a", "table.yaml:2: txt: unknown key. Did you mean text?"),
        (
            "# one\n\nseats:\n  wind:\n  - agent: a\n  - agent: b\n    lnes: c\n",
            "table.yaml:7: seats.wind[1].lnes: unknown key. Did you mean lens?",
        ),
        (
            "seats: {wind: [{agent: a, model: b}]}",
            "table.yaml:1: seats.wind[0].model: unknown key. The keys here are agent, lens.",
        ),
        ("seats:\n  wind:\n  - lens: c\n", "table.yaml:3: seats.wind[0].agent: this key is missing."),
        (
            "number: 1\nseats:\n  a: []\n  a: []\n",
            "table.yaml:4: seats.a: duplicate key; it already stands in line 3. Keep one of them.",
        ),
        ('text: a\n"text": b\n', "table.yaml:2: text: duplicate key; it already stands in line 1. Keep one of them."),
        ("text: a\nnames:\n- b\n- a\n", "table.yaml:4: names[1]: stands in {braces} twice. Keep one."),
    ],
)
def test_a_wrong_value_is_refused_by_file_line_and_key(text: str, sentence: str) -> None:
    assert refusal(text) == sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "table.yaml:1: The file is empty."),
        ("# only a comment\n", "table.yaml:1: The file is empty."),
        ("\n- a\n", "table.yaml:2: The file must be a mapping of keys to values, not a list."),
        ("a text", "table.yaml:1: The file must be a mapping of keys to values, not the text 'a text'."),
        ("text: a\n---\ntext: b\n", "table.yaml:2: A second document begins here. Keep one document in a file."),
        ("? [a]\n: b\n", "table.yaml:1: A key must be a text, not a list or a mapping."),
        (
            "text: &a b",
            "table.yaml:1: Anchors (&name) are not allowed. "
            "Write the value out; a text that begins with & needs quotes.",
        ),
        (
            "number: 1\ntext: *a",
            "table.yaml:2: Aliases (*name) are not allowed. "
            "Write the value out; a text that begins with * needs quotes.",
        ),
        (
            "text: !!python/object:os.system b",
            "table.yaml:1: Tags (!name) are not allowed. Write the value out; a text that begins with ! needs quotes.",
        ),
        ("<<: {text: a}", "table.yaml:1: Merge keys (<<) are not allowed. Write the keys out."),
        (f"text: {'[' * 100_000}", "table.yaml:1: This is nested more than 20 levels deep."),
        ("text: a\x00b", "table.yaml:1: YAML does not allow the character U+0000."),
        (r'text: "\ud800"', "table.yaml:1: This text holds half of a surrogate pair, which is no character."),
        ('number: 1\ntext: "\\UFFFFFFFF"', "table.yaml:2: This is not valid YAML: a number is out of range."),
        (
            "text: a: b",
            "table.yaml:1: This is not valid YAML: mapping values are not allowed here. "
            "Look for a key without a colon, or a text with a colon that needs quotes.",
        ),
        (
            "number: 1\n\ttext: a",
            "table.yaml:2: This is not valid YAML: found character '\\t' that cannot start any token. "
            "Indent with spaces, not tabs.",
        ),
        (
            'number: 1\ntext: "a\n\n',
            "table.yaml:4: This is not valid YAML: found unexpected end of stream "
            "(while scanning a quoted scalar, from line 2). Close the quotes.",
        ),
        (
            "number: 1\nnames: [a,\n",
            "table.yaml:3: This is not valid YAML: expected the node content, but found '<stream end>' "
            "(while parsing a flow node, from line 3).",
        ),
    ],
)
def test_what_is_no_strict_yaml_is_refused_by_file_and_line(text: str, sentence: str) -> None:
    assert refusal(text) == sentence


def test_lines_are_counted_from_the_first_line_given() -> None:
    for text, line in (("text: a\nnumber: 0", 6), ("text: a\n  b: c", 6), ("text: a\x00", 5)):
        with pytest.raises(ConfigurationError) as refused:
            load(text, source="agent.oct.md", shape=Table, first_line=5)
        assert refused.value.line == line


def test_an_error_carries_its_place() -> None:
    with pytest.raises(ConfigurationError) as refused:
        table("seats:\n  wind:\n  - agent: a\n    lens: []\n")
    assert (refused.value.source, refused.value.line, refused.value.key) == ("table.yaml", 4, "seats.wind[0].lens")


def test_a_missing_key_is_named_unless_a_misspelt_one_explains_it() -> None:
    assert refusal("name: a", Named) == "table.yaml:1: summary: this key is missing."
    assert refusal("name: a\nsumary: b", Named) == "table.yaml:2: sumary: unknown key. Did you mean summary?"


def test_of_several_errors_the_first_in_the_file_is_named() -> None:
    assert refusal("flag: 1\nnumber: 0").startswith("table.yaml:1: flag:")
    assert refusal("number: 0\nflag: 1").startswith("table.yaml:1: number:")


def test_an_error_is_one_printable_line_whatever_the_file_holds() -> None:
    long = "x" * 10_000
    for text in ('"\\e[31m\\n": 1', 'number: "\\e[31m\\n"', f"{long}: 1", f"number: {long}", f"number: {'9' * 10_000}"):
        sentence = refusal(text)
        assert sentence.isprintable()
        assert len(sentence) < 300


def test_a_validator_sees_where_the_text_came_from() -> None:
    seen: list[Any] = []

    class Sourced(Shape):
        @model_validator(mode="after")
        def _look(self, info: Any) -> Sourced:
            seen.append(info.context["source"])
            return self

    load("{}", source="here.yaml", shape=Sourced)
    assert seen == ["here.yaml"]


PIECES = st.sampled_from(
    ["text", "seats", "names", ": ", ":", "\n", "  ", "- ", "[", "]", "{", "}", ",", '"', "'", "&a", "*a", "!", "<<",
     "#", "|", ">", "---", "...", "%YAML 1.", "9", "0.5", "\\U", "\\x", "F", "?", "\t", "é", "\ufeff", "\x85", "no"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=30).map("".join))
@settings(deadline=None, max_examples=400)
def test_any_text_is_read_or_refused(text: str) -> None:
    line = 1
    try:
        table(text)
    except ConfigurationError as refused:
        line = refused.line or 0
    assert 1 <= line <= len(text.splitlines()) + 1


# PyYAML writes these three, its other line breaks, in a way that it reads as blanks.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x85\u2028\u2029"), max_size=20)


@given(
    st.builds(
        Table,
        text=TEXTS,
        flag=st.booleans(),
        number=st.integers(1, 9),
        share=st.floats(0.001, 1.999),
        names=st.just(()),
        seats=st.dictionaries(TEXTS, st.lists(st.builds(Seat, agent=TEXTS), max_size=3).map(tuple), max_size=3),
    )
)
@settings(deadline=None)
def test_what_yaml_writes_is_read_back(value: Table) -> None:
    assert table(yaml.safe_dump(value.model_dump(mode="json"), allow_unicode=True)) == value


def test_a_file_is_read_without_its_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbftext: \xc3\xa9\r\n")
    assert read(path) == "text: é\r\n"


def test_a_file_that_cannot_be_read_is_refused_by_name(tmp_path: Path) -> None:
    cases = {
        "missing.yaml": (None, "There is no such file."),
        "latin.yaml": (b"text: a\n# caf\xe9\n", "This file is not UTF-8. Save it as UTF-8."),
        "large.yaml": (b"#" * ((1 << 20) + 1), "This file is larger than 1 MiB."),
    }
    for name, (content, sentence) in cases.items():
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        place = f"{path}:2" if name == "latin.yaml" else str(path)
        with pytest.raises(ConfigurationError) as refused:
            read(path)
        assert str(refused.value) == f"{place}: {sentence}"


@pytest.mark.parametrize(
    ("name", "reason"), [("", "Is a directory"), ("x" * 300, "File name too long"), ("\0", "embedded null byte")]
)
def test_what_is_no_file_is_refused_with_the_systems_reason(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read(tmp_path / name)
    assert str(refused.value).endswith(f": This file cannot be read: {reason}.")


def test_a_file_of_exactly_one_mebibyte_is_read(tmp_path: Path) -> None:
    path = tmp_path / "full.yaml"
    path.write_bytes(b"#" * (1 << 20))
    assert len(read(path)) == 1 << 20


def test_the_nearest_known_name_is_offered_in_any_case() -> None:
    assert did_you_mean("FORTRES", ["council", "fortress"]) == "Did you mean fortress?"
    assert did_you_mean("kafka", ["council", "fortress"]) == ""
