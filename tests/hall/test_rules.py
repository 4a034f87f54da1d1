"""The transition table, written out: every operation in every state, and what is refused changes nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from halls import SEAT, THREAD, dump, hall_in

from orchestrator.errors import BarrierUp, HallError, HoldsSecret, InvalidInput
from orchestrator.hall import rules
from orchestrator.hall.entries import BODIES, SeatRecord
from orchestrator.hall.hall import Hall
from orchestrator.hall.rules import GUARDS, PERMITTED
from orchestrator.hall.terms import Role, Status
from test_secrets import HARMLESS, SECRETS

OPERATIONS: dict[str, Callable[[Hall], Any]] = {
    "open": lambda hall: hall.init_debate(THREAD, "Again?"),
    "pickW": lambda hall: hall.pick_next_speaker(THREAD, "Wind"),
    "pickL": lambda hall: hall.pick_next_speaker(THREAD, "Wall"),
    "pickD": lambda hall: hall.pick_next_speaker(THREAD, "Door"),
    "turnW": lambda hall: hall.add_turn(THREAD, "Wind", "What if?"),
    "turnL": lambda hall: hall.add_turn(THREAD, "Wall", "Yes, but."),
    "turnD": lambda hall: hall.add_turn(THREAD, "Door", "Therefore."),
    "vote": lambda hall: hall.cast_vote(THREAD, "Wall", "object", "It has no owner."),
    "renew": lambda hall: hall.refine(THREAD, "Therefore, with an owner."),
    "note": lambda hall: hall.note(THREAD, "By the way.", "remark", "somebody"),
    "raise": lambda hall: hall.extend(THREAD, 99, 99, "somebody", "More is needed."),
    "erase": lambda hall: hall.tombstone_turn(THREAD, 0, "It named somebody."),
    "close": lambda hall: hall.close_debate(THREAD, "So be it."),
    "force": lambda hall: hall.force_close_debate(THREAD, "Enough."),
}
CODES = {
    "ok": None,
    "taken": "thread_exists",
    "mode": "wrong_mode",
    "order": "out_of_turn",
    "floor": "floor_not_given",
    "bar": "barrier",
    "limit": "limit_reached",
    "shut": "not_active",
    "input": "invalid_input",
    "gone": "already_redacted",
}
# Capitals are turns (picked first where the debate is mediated), small letters picks without a turn; R redacts turn 0,
# C closes, S closes as a stalemate, K is the kill switch.
SCENARIOS: dict[str, tuple[str, bool, int, int, str]] = {
    "fixed": ("fixed", True, 12, 4, ""),
    "fixed: W": ("fixed", True, 12, 4, "W"),
    "fixed: WL": ("fixed", True, 12, 4, "WL"),
    "fixed: WLD": ("fixed", True, 12, 4, "WLD"),
    "fixed: WLDW": ("fixed", True, 12, 4, "WLDW"),
    "fixed/3 turns: WLD": ("fixed", True, 3, 4, "WLD"),
    "fixed/1 turn: W": ("fixed", True, 1, 4, "W"),
    "fixed/1 round: WLD": ("fixed", True, 12, 1, "WLD"),
    "fixed/1 round: WL": ("fixed", True, 12, 1, "WL"),
    "fixed-free": ("fixed", False, 12, 4, ""),
    "fixed-free: W": ("fixed", False, 12, 4, "W"),
    "mediated": ("mediated", True, 12, 4, ""),
    "mediated: w": ("mediated", True, 12, 4, "w"),
    "mediated: wl": ("mediated", True, 12, 4, "wl"),
    "mediated: W": ("mediated", True, 12, 4, "W"),
    "mediated: L": ("mediated", True, 12, 4, "L"),
    "mediated: Wl": ("mediated", True, 12, 4, "Wl"),
    "mediated: LLw": ("mediated", True, 12, 4, "LLw"),
    "mediated: WL": ("mediated", True, 12, 4, "WL"),
    "mediated: WLd": ("mediated", True, 12, 4, "WLd"),
    "mediated: WLdw": ("mediated", True, 12, 4, "WLdw"),
    "mediated: WLD": ("mediated", True, 12, 4, "WLD"),
    "mediated: WLDd": ("mediated", True, 12, 4, "WLDd"),
    "mediated: WLDD": ("mediated", True, 12, 4, "WLDD"),
    "mediated: WLDL": ("mediated", True, 12, 4, "WLDL"),
    "mediated: WLDLWd": ("mediated", True, 12, 4, "WLDLWd"),
    "mediated/3 turns: WLD": ("mediated", True, 3, 4, "WLD"),
    "mediated/2 turns: WL": ("mediated", True, 2, 4, "WL"),
    "mediated/1 round: WLD": ("mediated", True, 12, 1, "WLD"),
    "mediated/1 round: WLDd": ("mediated", True, 12, 1, "WLDd"),
    "mediated-free": ("mediated", False, 12, 4, ""),
    "mediated-free: d": ("mediated", False, 12, 4, "d"),
    "mediated-free: D": ("mediated", False, 12, 4, "D"),
    "mediated-free: DLd": ("mediated", False, 12, 4, "DLd"),
    "mediated-free/1 round: D": ("mediated", False, 12, 1, "D"),
    "mediated: WR": ("mediated", True, 12, 4, "WR"),
    "mediated: WlR": ("mediated", True, 12, 4, "WlR"),
    "fixed: WLDC": ("fixed", True, 12, 4, "WLDC"),
    "mediated: WLS": ("mediated", True, 12, 4, "WLS"),
    "mediated: wK": ("mediated", True, 12, 4, "wK"),
    "fixed: WLDRC": ("fixed", True, 12, 4, "WLDRC"),
    "fixed-free: C": ("fixed", False, 12, 4, "C"),
}
TABLE = """
                         | open  pickW pickL pickD turnW turnL turnD vote  renew note  raise erase close force
fixed                    | taken mode  mode  mode  ok    order order bar   bar   ok    ok    input bar   ok
fixed: W                 | taken mode  mode  mode  order ok    order bar   bar   ok    ok    ok    bar   ok
fixed: WL                | taken mode  mode  mode  order order ok    bar   bar   ok    ok    ok    ok    ok
fixed: WLD               | taken mode  mode  mode  ok    order order ok    ok    ok    ok    ok    ok    ok
fixed: WLDW              | taken mode  mode  mode  order ok    order ok    ok    ok    ok    ok    bar   ok
fixed/3 turns: WLD       | taken mode  mode  mode  limit limit limit ok    ok    ok    ok    ok    ok    ok
fixed/1 turn: W          | taken mode  mode  mode  limit limit limit bar   bar   ok    ok    ok    bar   ok
fixed/1 round: WLD       | taken mode  mode  mode  limit limit order ok    ok    ok    ok    ok    ok    ok
fixed/1 round: WL        | taken mode  mode  mode  order order ok    bar   bar   ok    ok    ok    ok    ok
fixed-free               | taken mode  mode  mode  ok    order order bar   bar   ok    ok    input ok    ok
fixed-free: W            | taken mode  mode  mode  order ok    order bar   bar   ok    ok    ok    ok    ok
mediated                 | taken ok    ok    bar   floor floor floor bar   bar   ok    ok    input bar   ok
mediated: w              | taken ok    ok    bar   ok    floor floor bar   bar   ok    ok    input bar   ok
mediated: wl             | taken ok    ok    bar   floor ok    floor bar   bar   ok    ok    input bar   ok
mediated: W              | taken ok    ok    bar   floor floor floor bar   bar   ok    ok    ok    bar   ok
mediated: L              | taken ok    ok    bar   floor floor floor bar   bar   ok    ok    ok    bar   ok
mediated: Wl             | taken ok    ok    bar   floor ok    floor bar   bar   ok    ok    ok    bar   ok
mediated: LLw            | taken ok    ok    bar   ok    floor floor bar   bar   ok    ok    ok    bar   ok
mediated: WL             | taken ok    ok    ok    floor floor floor bar   bar   ok    ok    ok    ok    ok
mediated: WLd            | taken ok    ok    ok    floor floor ok    bar   bar   ok    ok    ok    ok    ok
mediated: WLdw           | taken ok    ok    ok    ok    floor floor bar   bar   ok    ok    ok    ok    ok
mediated: WLD            | taken ok    ok    ok    floor floor floor ok    ok    ok    ok    ok    ok    ok
mediated: WLDd           | taken ok    ok    ok    floor floor ok    ok    ok    ok    ok    ok    ok    ok
mediated: WLDD           | taken ok    ok    ok    floor floor floor ok    ok    ok    ok    ok    ok    ok
mediated: WLDL           | taken ok    ok    bar   floor floor floor ok    ok    ok    ok    ok    bar   ok
mediated: WLDLWd         | taken ok    ok    ok    floor floor ok    ok    ok    ok    ok    ok    ok    ok
mediated/3 turns: WLD    | taken limit limit limit limit limit limit ok    ok    ok    ok    ok    ok    ok
mediated/2 turns: WL     | taken limit limit limit limit limit limit bar   bar   ok    ok    ok    ok    ok
mediated/1 round: WLD    | taken limit limit ok    limit limit floor ok    ok    ok    ok    ok    ok    ok
mediated/1 round: WLDd   | taken limit limit ok    limit limit ok    ok    ok    ok    ok    ok    ok    ok
mediated-free            | taken ok    ok    ok    floor floor floor bar   bar   ok    ok    input ok    ok
mediated-free: d         | taken ok    ok    ok    floor floor ok    bar   bar   ok    ok    input ok    ok
mediated-free: D         | taken ok    ok    ok    floor floor floor ok    ok    ok    ok    ok    ok    ok
mediated-free: DLd       | taken ok    ok    ok    floor floor ok    ok    ok    ok    ok    ok    ok    ok
mediated-free/1 round: D | taken limit limit ok    limit limit floor ok    ok    ok    ok    ok    ok    ok
mediated: WR             | taken ok    ok    bar   floor floor floor bar   bar   ok    ok    gone  bar   ok
mediated: WlR            | taken ok    ok    bar   floor ok    floor bar   bar   ok    ok    gone  bar   ok
fixed: WLDC              | taken shut  shut  shut  shut  shut  shut  shut  shut  shut  shut  ok    shut  shut
mediated: WLS            | taken shut  shut  shut  shut  shut  shut  shut  shut  shut  shut  ok    shut  shut
mediated: wK             | taken shut  shut  shut  shut  shut  shut  shut  shut  shut  shut  input shut  shut
fixed: WLDRC             | taken shut  shut  shut  shut  shut  shut  shut  shut  shut  shut  gone  shut  shut
fixed-free: C            | taken shut  shut  shut  shut  shut  shut  shut  shut  shut  shut  input shut  shut
"""


def expected() -> dict[str, dict[str, str]]:
    header, *rows = TABLE.strip("\n").splitlines()
    columns = header.replace("|", "").split()
    return {
        name.strip(): dict(zip(columns, words.split(), strict=True)) for name, words in (row.split("|") for row in rows)
    }


def play(hall: Hall, mode: str, barrier: bool, max_turns: int, max_rounds: int, script: str) -> None:
    hall.init_debate(THREAD, "Which?", mode, max_turns, max_rounds, False, barrier)
    names = {"w": "Wind", "l": "Wall", "d": "Door"}
    for step in script:
        match step:
            case "R":
                hall.tombstone_turn(THREAD, 0, "It named somebody.")
            case "C" | "S":
                hall.close_debate(THREAD, "So be it.", status="synthesis" if step == "C" else "stalemate")
            case "K":
                hall.force_close_debate(THREAD, "Enough.")
            case _:
                if mode == "mediated":
                    hall.pick_next_speaker(THREAD, names[step.lower()])
                if step.isupper():
                    hall.add_turn(THREAD, names[step.lower()], f"{step} speaks.")


def outcome(hall: Hall, operation: str) -> str:
    try:
        OPERATIONS[operation](hall)
    except HallError as error:
        return error.code
    return "ok"


def test_the_table_has_every_scenario_and_every_operation() -> None:
    table = expected()
    assert list(table) == list(SCENARIOS)
    assert all(list(row) == list(OPERATIONS) for row in table.values())


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_operation_is_accepted_or_refused_as_the_table_says(scenario: str, tmp_path: Path) -> None:
    row = expected()[scenario]
    with hall_in(tmp_path / "hall") as hall:
        play(hall, *SCENARIOS[scenario])
        before = dump(tmp_path / "hall")
        for operation in (operation for operation, word in row.items() if word != "ok"):
            assert outcome(hall, operation) == CODES[row[operation]], operation
        assert dump(tmp_path / "hall") == before
        hall.verify_debate(THREAD)
    for number, operation in enumerate(operation for operation, word in row.items() if word == "ok"):
        shutil.copytree(tmp_path / "hall", tmp_path / f"{number}")
        with hall_in(tmp_path / f"{number}") as hall:
            head = hall.get_debate(THREAD)["head"]
            assert outcome(hall, operation) == "ok", operation
            assert hall.get_debate(THREAD)["head"] != head
            hall.verify_debate(THREAD)


def test_every_kind_of_entry_has_its_guards_and_its_place_in_the_table_of_statuses() -> None:
    assert set(GUARDS) == set(BODIES.values())
    assert set(PERMITTED) == {None, *Status}
    names = {status: sorted(body.kind for body in kinds) for status, kinds in PERMITTED.items()}
    assert names[None] == ["opened"]
    assert names[Status.ACTIVE] == sorted(kind for kind in BODIES if kind != "opened")
    assert all(names[status] == ["tombstoned"] for status in Status if status is not Status.ACTIVE)


@pytest.fixture
def opened(hall: Hall) -> Hall:
    hall.init_debate(THREAD, "Which?")
    return hall


def seat(**changes: Any) -> SeatRecord:
    return replace(SEAT, **changes)


FORGERIES = [
    "two\nlines",
    "carriage\rreturn",
    "tab\tstop",
    "nul\0",
    "escape\x1b[31m",
    "right\u202eto-left",
    "isolate\u2066",
    "zero\u200bwidth",
    "line\u2028separator",
    "next\x85line",
    "byte order\ufeff",
    "lone\ud800surrogate",
    "",
    " ",
    "x" * 257,
    7,
]


@pytest.mark.parametrize("name", FORGERIES)
@pytest.mark.parametrize("field", ["agent_role", "model", "slot", "agent", "asked", "answered", "lens"])
def test_names_of_a_turn_that_could_forge_structure_are_refused(opened: Hall, field: str, name: Any) -> None:
    audit: dict[str, Any] = {field: name} if field in ("agent_role", "model") else {"seat": seat(**{field: name})}
    with pytest.raises(InvalidInput):
        opened.add_turn(THREAD, "Wind", "What if?", **audit)
    assert opened.get_debate(THREAD)["turn_count"] == 0


@pytest.mark.parametrize("name", FORGERIES)
def test_names_of_other_entries_that_could_forge_structure_are_refused(opened: Hall, name: Any) -> None:
    for role in ("Wind", "Wall", "Door"):
        opened.add_turn(THREAD, role, "words")
    head = opened.get_debate(THREAD)["head"]
    with pytest.raises(InvalidInput):
        opened.note(THREAD, "words", "remark", name)
    with pytest.raises(InvalidInput):
        opened.note(THREAD, "words", name, "somebody")
    with pytest.raises(InvalidInput):
        opened.extend(THREAD, 99, 99, name, "words")
    with pytest.raises(InvalidInput):
        opened.cast_vote(THREAD, "Wall", "object", "words", ["T1.C1", name])
    assert opened.get_debate(THREAD)["head"] == head


@pytest.mark.parametrize("role", ["", "Wind ", "Wind\n", "Storm", "PATHOS", None, 1, "Wınd"])
def test_a_role_that_is_none_is_refused(opened: Hall, role: Any) -> None:
    with pytest.raises(InvalidInput, match="role is"):
        opened.add_turn(THREAD, role, "words")


@pytest.mark.parametrize("role", ["Wind", "wind", "WIND", "wInD"])
def test_roles_are_accepted_in_any_case_and_stored_in_one(opened: Hall, role: str) -> None:
    assert opened.add_turn(THREAD, role, "words", "pathos")["role"] == "Wind"


@pytest.mark.parametrize(
    "audit",
    [
        {"token_input": -1},
        {"token_output": 2**53},
        {"token_total": 10**5000},
        {"token_input": 1.0},
        {"token_input": True},
        {"token_input": "5"},
        {"seat": seat(input=-1)},
        {"seat": seat(cached="300")},
        {"seat": seat(output=2.5)},
        {"seat": seat(cost="-1")},
        {"seat": seat(cost="1e3")},
        {"seat": seat(cost="NaN")},
        {"seat": seat(cost="١")},
        {"seat": seat(cost="1\n")},
        {"seat": seat(cost=0.5)},
        {"seat": 7},
    ],
)
def test_amounts_that_are_none_are_refused(opened: Hall, audit: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        opened.add_turn(THREAD, "Wind", "words", **audit)
    assert opened.get_debate(THREAD)["turn_count"] == 0


@pytest.mark.parametrize("limits", [(0, 4), (12, 0), (-1, 4), (100_001, 4), (12, 100_001), (True, 4), ("12", 4)])
def test_limits_out_of_range_are_refused(hall: Hall, limits: tuple[Any, Any]) -> None:
    with pytest.raises(InvalidInput, match="max_"):
        hall.init_debate(THREAD, "Which?", "fixed", *limits)
    assert hall.list_debates() == []


@pytest.mark.parametrize("limits", [(12, 4), (11, 5), (13, 3), (0, 9), (100_001, 4), (13.0, 4)])
def test_limits_are_only_ever_raised(opened: Hall, limits: tuple[Any, Any]) -> None:
    with pytest.raises(InvalidInput):
        opened.extend(THREAD, *limits, "somebody", "words")


def test_a_strict_debate_refuses_another_roles_cognition_and_one_that_is_not_shown(hall: Hall) -> None:
    hall.init_debate(THREAD, "Which?", strict_cognition=True)
    for cognition, content in (("ETHOS", "What if A? What if B?"), (None, "no")):
        with pytest.raises(HallError) as refusal:
            hall.add_turn(THREAD, "Wind", content, cognition)
        assert refusal.value.code == "cognition"
    assert hall.get_debate(THREAD)["turn_count"] == 0


def test_a_debate_that_is_not_strict_stores_another_cognition_with_a_warning(opened: Hall) -> None:
    turn = opened.add_turn(THREAD, "Wind", "What if?", "ETHOS")
    assert turn["cognition"] == "ETHOS"
    assert "Wind spoke as ETHOS, not as PATHOS." in turn["cognition_warnings"]


def test_a_debate_without_a_legal_turn_says_so(hall: Hall) -> None:
    hall.init_debate(THREAD, "Which?", max_turns=3)
    for role in Role:
        turn = hall.add_turn(THREAD, role, "words")
    assert (turn["next_role"], turn["legal_roles"]) == (None, [])
    hall.close_debate(THREAD, "So be it.")


def test_refinements_answer_entries_that_are_there(opened: Hall) -> None:
    for role in Role:
        opened.add_turn(THREAD, role, "words")
    for answers in ([4], [-1], ["3"], [True], [10**30]):
        with pytest.raises(InvalidInput):
            opened.refine(THREAD, "words", answers)  # type: ignore[arg-type]
    assert opened.refine(THREAD, "words", [3])["seq"] == 4
    with pytest.raises(InvalidInput, match="number 2"):
        rules.check(opened.debate(THREAD).state, BODIES["refined"](digest="d", number=1))
    opened.verify_debate(THREAD)


def test_a_debate_whose_last_round_has_no_room_for_wall_can_still_be_closed(hall: Hall) -> None:
    hall.init_debate(THREAD, "Which?", max_turns=4)
    for role in (*Role, Role.WIND):
        turn = hall.add_turn(THREAD, role, "words")
    assert turn["legal_roles"] == []
    assert hall.close_debate(THREAD, "So be it.")["status"] == "synthesis"


def test_a_debate_in_which_wall_never_spoke_cannot_be_closed_though_no_turn_is_left(hall: Hall) -> None:
    hall.init_debate(THREAD, "Which?", max_turns=1)
    hall.add_turn(THREAD, "Wind", "words")
    with pytest.raises(BarrierUp, match="before Wall has spoken"):
        hall.close_debate(THREAD, "So be it.")
    assert hall.force_close_debate(THREAD, "It was too short.")["status"] == "force_closed"


# -------------------------------------------------------------------------------------------------------------- secrets

PASSWORD = "the heron walks at dusk"
WRITES: dict[str, Callable[[Hall, str], Any]] = {
    "topic": lambda hall, text: hall.init_debate("2026-01-08-new", text),
    "topic of a run": lambda hall, text: hall.open_run("2026-01-08-new", text, "plan", "fixed", 3, 1),
    "content": lambda hall, text: hall.add_turn(THREAD, "Wind", text),
    "vote": lambda hall, text: hall.cast_vote(THREAD, "Wall", "object", text),
    "refinement": lambda hall, text: hall.refine(THREAD, text),
    "note": lambda hall, text: hall.note(THREAD, text, "remark", "somebody"),
    "extension": lambda hall, text: hall.extend(THREAD, 99, 99, "somebody", text),
    "tombstone": lambda hall, text: hall.tombstone_turn(THREAD, 0, text),
    "synthesis": lambda hall, text: hall.close_debate(THREAD, text),
    "force": lambda hall, text: hall.force_close_debate(THREAD, text),
    "agent": lambda hall, text: hall.add_turn(THREAD, "Wind", "words", agent_role=text),
    "model": lambda hall, text: hall.add_turn(THREAD, "Wind", "words", model=text),
    "lens": lambda hall, text: hall.add_turn(THREAD, "Wind", "words", seat=seat(lens=text)),
    "grounds": lambda hall, text: hall.cast_vote(THREAD, "Wall", "object", "words", [text]),
    "author": lambda hall, text: hall.note(THREAD, "words", "remark", text),
}


@pytest.fixture
def spoken(opened: Hall) -> Hall:
    """A debate in which all have spoken; what everybody says here becomes a password afterwards."""
    for role in Role:
        opened.add_turn(THREAD, role, f"{role} says: {PASSWORD}.")
    return opened


@pytest.mark.parametrize("write", WRITES)
def test_no_operation_stores_a_secret(spoken: Hall, folder: Path, monkeypatch: pytest.MonkeyPatch, write: str) -> None:
    before = dump(folder)
    monkeypatch.setenv("SHED_PASSWORD", PASSWORD)
    for secret, kind in ((SECRETS["github"][1], "a GitHub token"), (PASSWORD, "the value of SHED_PASSWORD")):
        with pytest.raises(HoldsSecret) as refusal:
            WRITES[write](spoken, f"It is {secret}")
        assert refusal.value.code == "holds_secret"
        assert kind in str(refusal.value)
        assert "nothing was sent or written" in str(refusal.value)
        assert secret not in repr(refusal.value)
    assert dump(folder) == before
    WRITES[write](spoken, "It is no secret")


def test_a_refusal_names_the_line_of_a_secret(opened: Hall) -> None:
    with pytest.raises(HoldsSecret, match=r"The content holds what looks like a JSON web token, in line 3; .*<token>"):
        opened.add_turn(THREAD, "Wind", f"What if?\n\n{SECRETS['jwt'][1]}\n")


def test_a_turn_that_talks_about_keys_and_passwords_is_taken(opened: Hall) -> None:
    opened.add_turn(THREAD, "Wind", "\n".join(HARMLESS))
    assert opened.get_debate(THREAD)["transcript"][0]["content"] == "\n".join(HARMLESS)


def test_a_secret_that_stands_in_a_ledger_already_is_read_verified_and_redacted(
    spoken: Hall, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHED_PASSWORD", PASSWORD)
    assert PASSWORD in str(spoken.debate(THREAD).turns[0].text)
    for turn_index in range(3):
        spoken.tombstone_turn(THREAD, turn_index, "It held a password.")
    spoken.verify_debate(THREAD)
    assert PASSWORD not in str(dump(folder))
