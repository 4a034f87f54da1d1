from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.errors import InvalidInput
from orchestrator.hall.canonical import SaltedText, digest, encode

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    TEXTS | st.booleans() | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(max_codepoint=127)), inner, max_size=4)
    ),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"cost": 0.5}, "A float"),
        ({"cost": float("nan")}, "A float"),
        ({"deep": [{"cost": 1.0}]}, "A float"),
        ({"model": None}, "Null"),
        ({"list": [1, None]}, "Null"),
        ({"text": "\ud800"}, "lone surrogate at character 0"),
        ({"text": "ab\udc00"}, "lone surrogate at character 2"),
        ({"ключ": 1}, "not ASCII"),
        ({"deep": {"é": 1}}, "not ASCII"),
        ({1: "one"}, "not ASCII"),
        ({"raw": b"bytes"}, "bytes"),
        ({"set": {1}}, "set"),
    ],
)
def test_what_has_two_json_forms_or_none_is_refused(value: Any, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        encode(value)


def test_the_form_is_sorted_dense_and_unescaped() -> None:
    assert encode({"b": "é\u202e🙂\n", "a": (1, True), "C": {}}) == '{"C":{},"a":[1,true],"b":"é\u202e🙂\\n"}'


@settings(deadline=None, max_examples=40)
@given(st.dictionaries(st.text(st.characters(max_codepoint=127)), VALUES, max_size=5))
def test_a_value_has_one_form_that_any_json_reader_understands(value: dict[str, Any]) -> None:
    text = encode(value)
    assert json.loads(text) == value
    assert encode(json.loads(text)) == text
    assert encode(dict(reversed(list(value.items())))) == text


SALT = "ab" * 32


def test_digests_are_sha256_over_the_domain_and_the_stored_bytes() -> None:
    by_hand = hashlib.sha256(f"debate-hall/text/v1\n{SALT}\né".encode()).hexdigest()
    assert SaltedText("é", SALT).digest == f"sha256:{by_hand}"


@given(st.lists(TEXTS, min_size=2, max_size=2, unique=True))
def test_another_text_salt_or_domain_gives_another_digest(texts: list[str]) -> None:
    one, two = texts
    assert SaltedText(one, SALT).digest != SaltedText(two, SALT).digest
    assert SaltedText(one, SALT).digest != SaltedText(one, "cd" * 32).digest
    assert digest("a", one.encode()) != digest("b", one.encode())


@pytest.mark.parametrize("salt", ["", "ab", f"{SALT}\nfirst line", f"{SALT}\n", SALT.upper(), f" {SALT}"])
def test_a_salt_is_64_hex_digits_so_that_no_line_of_the_text_can_be_moved_into_it(salt: str) -> None:
    with pytest.raises(InvalidInput, match="64 hex digits"):
        SaltedText("second line", salt)
