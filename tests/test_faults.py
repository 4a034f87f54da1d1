"""The table of faults: it names every kind, and the page shows what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from orchestrator import errors
from orchestrator.cli.ending import Exit
from orchestrator.degenerate import ECHO_WORDS, LEAST_WORDS, LONG_WORDS
from orchestrator.drafts import PATIENT
from orchestrator.errors import (
    AuthenticationFailed,
    ConnectionFailed,
    CutOff,
    GarbledReply,
    ModelError,
    NoSuchModel,
    RateLimited,
    ServerFailed,
    TimedOut,
)
from orchestrator.faults import FAULTS, Fault, fault_of
from orchestrator.hall.terms import Role

PAGE = (Path(__file__).parents[1] / "docs" / "faults.md").read_text()
KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, ModelError)]


def failed(kind: type[ModelError], status: int | None = None) -> ModelError:
    return kind("it failed", model="openai/wind-1", status=status)


def test_every_kind_of_failed_call_is_named() -> None:
    assert len(KINDS) > 14
    assert set(FAULTS) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_that_is_not_named_is_treated_as_the_one_above_it(kind: type[ModelError]) -> None:
    below = type("Below", (kind,), {})
    assert fault_of(failed(below)) == fault_of(failed(kind)) == FAULTS[kind]


def test_a_retired_model_and_a_missing_key_are_asked_once_and_never_again() -> None:
    assert FAULTS[NoSuchModel] == FAULTS[AuthenticationFailed] == Fault(attempts=1, stays=True)


@pytest.mark.parametrize("fault", FAULTS.values())
def test_a_fault_has_one_answer(fault: Fault) -> None:
    assert fault.attempts >= 1
    assert [fault.attempts > 1, fault.stays, fault.repair is not None, fault.larger].count(True) <= 1


@pytest.mark.parametrize(
    ("kind", "status", "maybe_billed"),
    [
        (TimedOut, None, True),
        (TimedOut, 408, False),
        (TimedOut, 504, True),
        (ServerFailed, None, True),
        (ServerFailed, 500, False),
        (ServerFailed, 502, True),
        (RateLimited, None, False),
        (GarbledReply, None, True),
        (GarbledReply, 404, False),
        (CutOff, None, True),
    ],
)
def test_an_http_error_is_not_charged_for_unless_a_gateway_gave_up(
    kind: type[ModelError], status: int | None, maybe_billed: bool
) -> None:
    assert failed(kind, status).maybe_billed is maybe_billed


def test_who_knows_better_says_whether_a_call_was_charged_for() -> None:
    assert not ConnectionFailed("refused", model="m", maybe_billed=False).maybe_billed
    assert RateLimited("later", model="m", status=429, maybe_billed=True).maybe_billed


# ---------------------------------------------------------------- the page


def said(fault: Fault) -> str:
    if fault.stays:
        return "next route; not asked again in this run"
    if fault.larger:
        return "next route that reads more"
    if fault.repair:
        return "told why and asked once more; then next route"
    if fault.attempts > 1:
        return f"asked again, {fault.attempts} calls in all; then next route"
    return "next route"


def test_the_page_says_what_happens_and_what_it_costs() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .+ \| (.+) \| (nothing|its bound)(?: \(.+: nothing\))? \|$", PAGE, re.MULTILINE)
    expected = {
        (kind.code, said(fault), "its bound" if failed(kind).maybe_billed else "nothing")
        for kind, fault in FAULTS.items()
    }
    assert len(rows) == len(expected)
    assert set(rows) == expected


def test_the_page_names_the_numbers_that_hold() -> None:
    text = " ".join(PAGE.split())
    words = f"{LEAST_WORDS[Role.WIND]} words as a turn of Wind or Wall, {LEAST_WORDS[Role.DOOR]} as one of Door"
    for promise in (
        words,
        f"shorter than {LONG_WORDS} words",
        f"a run of {ECHO_WORDS} words",
        f"exit code {Exit.PAUSED:d}",
        f"for up to {['', 'one', 'two', 'three'][int(PATIENT.believed_s / 60)]} minutes",
    ):
        assert promise in text
    gateways = [status for status in range(400, 600) if failed(ServerFailed, status).maybe_billed]
    assert re.findall(r"\b\d+\b", text[text.index("The exceptions are") : text.index("with which a gateway")]) == [
        *map(str, gateways)
    ]
