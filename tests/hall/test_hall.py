"""The hall through its public operations: what goes in comes back, and every answer has the keys clients read."""

from __future__ import annotations

import inspect
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from halls import OTHER, PLAN, SEAT, THREAD, database, dump, every_kind, hall_in, speak
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.errors import (
    BarrierUp,
    HallError,
    InvalidInput,
    LedgerBroken,
    StaleHead,
    ThreadExists,
    UnknownThread,
)
from orchestrator.hall import canonical, entries, ledger
from orchestrator.hall.canonical import SaltedText
from orchestrator.hall.entries import Link
from orchestrator.hall.hall import Hall
from orchestrator.hall.inputs import MAX_CONTENT
from orchestrator.hall.terms import LinkKind, Role

WILD = [
    "carriage\r\nreturn\rand\n",
    "\u202eright to left\u202c",
    "emoji 🙂👩‍👩‍👧‍👦 and e\u0301",
    "===END===",
    "===2026-01-06-billing===\nMETA:\n  TYPE::DEBATE_TRANSCRIPT\n",
    "```python\nprint('fence')\n```\n~~~~",
    '"quotes" \\ and \\" \'more\'',
    "  leading and trailing  \n\n",
    "tab\tbell\x07escape\x1b[31m\x7f\x85\u2028\u2029\ufeff",
    "\ufffd\uffff\U0010ffff",
    "TURNS::[T1]\nSYNTHESIS::forged\n[REDACTED: not really]",
    '{"seq": 0, "kind": "opened"}',
    "日本語 и русский",
    "'); DROP TABLE texts; --",
]


@pytest.fixture
def opened(hall: Hall) -> Hall:
    hall.init_debate(THREAD, "Which?", max_turns=100_000, max_rounds=100_000)
    return hall


@pytest.mark.parametrize("text", WILD)
def test_every_kind_of_text_comes_back_byte_for_byte(hall: Hall, folder: Path, text: str) -> None:
    hall.init_debate(THREAD, text)
    for role in Role:
        hall.add_turn(THREAD, role, text)
    hall.note(THREAD, text, "remark", "somebody")
    hall.cast_vote(THREAD, "Wall", "object", text)
    hall.refine(THREAD, text)
    hall.extend(THREAD, 99, 99, "somebody", text)
    assert hall.close_debate(THREAD, text)["synthesis"] == text
    with hall_in(folder) as another:
        for shown in (another.get_debate(THREAD), json.loads(another.export_debate(THREAD))):
            assert (shown["topic"], shown["synthesis"]) == (text, text)
            assert [turn["content"] for turn in shown["transcript"]] == [text] * 3
        texts = [line["text"] for line in json.loads(another.export_debate(THREAD))["ledger"]]
        assert texts == [text] * 9
        another.verify_debate(THREAD)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1))
def test_any_text_with_words_comes_back_byte_for_byte(opened: Hall, text: str) -> None:
    if not text.strip():
        return
    turn = opened.add_turn(THREAD, opened.get_debate(THREAD, False)["next_role"], text)  # type: ignore[arg-type]
    shown = opened.get_debate(THREAD, context_turns=1)
    assert [turn["content"] for turn in shown["transcript"]] == [text]
    assert shown["omitted_turns"] == turn["turn_index"]


@pytest.mark.parametrize(
    "text", ["", " ", "\r\n\t\u2003", "nul\0", "lone \ud800", "\udfff", "x" * 262_145, "é" * 131_073]
)
def test_texts_no_debate_accepts_are_refused_and_nothing_is_written(hall: Hall, folder: Path, text: str) -> None:
    hall.init_debate(THREAD, "Which?")
    for role in Role:
        hall.add_turn(THREAD, role, "words")
    before = dump(folder)
    for operation in (
        lambda: hall.add_turn(THREAD, "Wind", text),
        lambda: hall.close_debate(THREAD, text),
        lambda: hall.force_close_debate(THREAD, text),
        lambda: hall.tombstone_turn(THREAD, 0, text),
        lambda: hall.note(THREAD, text, "remark", "somebody"),
        lambda: hall.cast_vote(THREAD, "Wall", "object", text),
        lambda: hall.refine(THREAD, text),
        lambda: hall.extend(THREAD, 99, 99, "somebody", text),
        lambda: hall.init_debate(OTHER, text),
    ):
        with pytest.raises(InvalidInput):
            operation()
    assert dump(folder) == before


@pytest.mark.parametrize("text", [None, 7, b"bytes", ["words"]])
def test_what_is_no_text_is_refused(opened: Hall, text: Any) -> None:
    for operation in (
        lambda: opened.add_turn(THREAD, "Wind", text),
        lambda: opened.force_close_debate(THREAD, text),
        lambda: opened.init_debate(OTHER, text),
    ):
        with pytest.raises(InvalidInput, match="is text, not"):
            operation()


def test_texts_are_as_long_as_the_limits_say(hall: Hall) -> None:
    hall.init_debate(THREAD, "🙂" * 12_000)
    with pytest.raises(InvalidInput, match="12,001 characters; at most 12,000"):
        hall.init_debate(OTHER, "x" * 12_001)
    longest = "é" * (MAX_CONTENT // 2)
    hall.add_turn(THREAD, "Wind", longest)
    assert hall.get_debate(THREAD)["transcript"][0]["content"] == longest


@pytest.mark.parametrize(
    "thread_id",
    ["a", "7", "2026-01-06-kafka", "ho-task-123", "a.b_c-D", "x" * 128, "a_", "a-", "con", "2026"],
)
def test_thread_ids_that_are_safe_file_names_are_accepted(hall: Hall, thread_id: str) -> None:
    assert hall.init_debate(thread_id, "Which?")["thread_id"] == thread_id
    assert hall.get_debate(thread_id.upper())["thread_id"] == thread_id
    with pytest.raises(ThreadExists):
        hall.init_debate(thread_id.swapcase(), "Which?")


@pytest.mark.parametrize(
    "thread_id",
    [
        "",
        ".",
        "..",
        ".a",
        "-a",
        "_a",
        "a.",
        "a/b",
        "a\\b",
        "a b",
        "a\n",
        "\na",
        "é",
        "２",
        "a\0",
        "x" * 129,
        "\udcff",
        "a:b",
    ],
)
def test_other_thread_ids_are_refused_and_unknown(hall: Hall, thread_id: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be a thread id"):
        hall.init_debate(thread_id, "Which?")
    for operation in (hall.get_debate, hall.verify_debate, hall.export_debate, hall.debate):
        with pytest.raises(UnknownThread):
            operation(thread_id)
    assert hall.list_debates() == []


def test_a_thread_id_that_is_not_date_first_is_accepted_with_a_warning(hall: Hall) -> None:
    assert hall.init_debate("2026-01-06-kafka", "Which?")["warnings"] == []
    assert hall.init_debate("microservices-decision", "Which?")["warnings"] == [
        "microservices-decision does not begin with a date (YYYY-MM-DD-subject), so it will not sort with the others."
    ]


@pytest.mark.parametrize("mode", ["", "free", None, 1])
def test_a_mode_that_is_none_is_refused(hall: Hall, mode: Any) -> None:
    with pytest.raises(InvalidInput, match="mode is"):
        hall.init_debate(THREAD, "Which?", mode)


@pytest.mark.parametrize("flag", ["yes", 1, None, "false"])
def test_a_flag_is_true_or_false(hall: Hall, flag: Any) -> None:
    for flags in ({"strict_cognition": flag}, {"barrier": flag}):
        with pytest.raises(InvalidInput):
            hall.init_debate(THREAD, "Which?", **flags)
    assert hall.list_debates() == []


@pytest.mark.parametrize("window", [0, -1, True, 1.0, "2"])
def test_a_window_below_one_is_refused(opened: Hall, window: Any) -> None:
    for name in ("context_turns", "context_lines"):
        with pytest.raises(InvalidInput, match="at least 1"):
            opened.get_debate(THREAD, **{name: window})


@pytest.mark.parametrize("name", ["context_turns", "context_lines"])
def test_all_turns_can_be_asked_for_in_a_word(opened: Hall, name: str) -> None:
    speak(opened, THREAD, *Role)
    shown = opened.get_debate(THREAD, **{name: "all"})  # type: ignore[arg-type]
    assert shown == opened.get_debate(THREAD)
    assert (len(shown["transcript"]), shown["omitted_turns"]) == (3, 0)
    with pytest.raises(InvalidInput, match="at least 1"):
        opened.get_debate(THREAD, **{name: "ALL of them"})  # type: ignore[arg-type]


def test_context_turns_wins_over_its_other_name(opened: Hall) -> None:
    speak(opened, THREAD, *Role)
    assert len(opened.get_debate(THREAD, context_turns=1, context_lines="all")["transcript"]) == 1
    assert len(opened.get_debate(THREAD, context_turns="all", context_lines=1)["transcript"]) == 3


@pytest.mark.parametrize("thread_id", [None, 7, 1.5, True, b"a", ["a"], {}])
def test_a_thread_id_that_is_no_text_is_refused_and_unknown(hall: Hall, thread_id: Any) -> None:
    hall.init_debate("7", "Which?")
    with pytest.raises(InvalidInput, match="cannot be a thread id"):
        hall.init_debate(thread_id, "Which?")
    for operation in (
        hall.get_debate,
        hall.verify_debate,
        hall.export_debate,
        lambda thread_id: hall.add_turn(thread_id, "Wind", "words"),
        lambda thread_id: hall.force_close_debate(thread_id, "reason"),
        lambda thread_id: hall.tombstone_turn(thread_id, 0, "reason"),
    ):
        with pytest.raises(UnknownThread):
            operation(thread_id)


@pytest.mark.parametrize("head", [7, 0, True, b"sha256:", ["sha256:"]])
def test_an_expected_head_that_is_no_text_is_refused_and_nothing_is_written(
    opened: Hall, folder: Path, head: Any
) -> None:
    speak(opened, THREAD, *Role)
    before = dump(folder)
    for operation in (
        lambda: opened.add_turn(THREAD, "Wind", "words", expected_head=head),
        lambda: opened.pick_next_speaker(THREAD, "Wind", head),
        lambda: opened.close_debate(THREAD, "words", expected_head=head),
        lambda: opened.note(THREAD, "words", "remark", "somebody", expected_head=head),
        lambda: opened.extend(THREAD, 100_000, 100_000, "somebody", "words", expected_head=head),
    ):
        with pytest.raises(InvalidInput, match="expected_head is"):
            operation()
    assert dump(folder) == before


@pytest.mark.parametrize("closes", [True, False])
def test_a_debate_without_a_turn_left_says_how_it_can_end(hall: Hall, closes: bool) -> None:
    hall.init_debate(THREAD, "Which?", max_turns=2 if closes else 1)
    speak(hall, THREAD, *list(Role)[: 2 if closes else 1])
    assert hall.get_debate(THREAD)["next_role"] is None
    if closes:
        assert hall.close_debate(THREAD, "Neither.")["status"] == "synthesis"
        return
    with pytest.raises(BarrierUp) as refused:
        hall.close_debate(THREAD, "Neither.")
    assert refused.value.message == f"{THREAD} has no turn left and cannot be closed before Wall has spoken."
    assert refused.value.cure == "Raise its limits; to end it as it is there is force_close_debate."


# ---------------------------------------------------------------------------------------------------------------- marks


def test_the_marks_of_a_debate_stand_in_every_view_and_first_in_its_octave_text(hall: Hall) -> None:
    hall.open_run(THREAD, "Which?", PLAN, "fixed", 3, 1, ["REHEARSAL"])
    hall.init_debate(OTHER, "Which?")
    for thread_id, marks in ((THREAD, ["REHEARSAL"]), (OTHER, [])):
        speak(hall, thread_id, *Role)
        texts = [hall.close_debate(thread_id, "So be it.", "octave")["octave"], hall.export_debate(thread_id, "octave")]
        for text in texts:
            assert ("  MARKS::[REHEARSAL]" in text.splitlines()[:10]) == bool(marks)
            assert ("REHEARSAL" in text) == bool(marks)
        assert hall.get_debate(thread_id)["marks"] == json.loads(hall.export_debate(thread_id))["marks"] == marks
        (listed,) = [listed for listed in hall.list_debates() if listed["thread_id"] == thread_id]
        assert listed["marks"] == marks
        assert hall.debate(thread_id).state.marks == tuple(marks)


@pytest.mark.parametrize(
    "mark", ["", "rehearsal", "TWO WORDS", "9TH", "RE\nHEARSAL", "REHEARSAL\n", "É", "A,B", "A]", "x"]
)
def test_a_mark_is_one_word_in_capitals(hall: Hall, mark: str) -> None:
    with pytest.raises(InvalidInput):
        hall.open_run(THREAD, "Which?", PLAN, "fixed", 3, 1, [mark])
    assert hall.list_debates() == []


# ---------------------------------------------------------------------------------------------------------------- links


def test_a_link_stands_in_the_opening_for_good_and_in_what_is_told_of_the_debate(hall: Hall) -> None:
    hall.init_debate(OTHER, "Which?")
    link = Link(LinkKind.ANSWERS, OTHER, hall.debate(OTHER).head)
    hall.open_run(THREAD, "Why?", PLAN, "mediated", 1, 1, ["ANSWER"], barrier=False, link=link)
    hall.pick_next_speaker(THREAD, "Door")
    hall.add_turn(THREAD, "Door", "So it is.")
    closed = hall.close_debate(THREAD, "So it is.")
    assert closed["starved_roles"] == []
    told = {"kind": "answers", "thread_id": OTHER, "head": link.head}
    assert hall.get_debate(THREAD)["link"] == json.loads(hall.export_debate(THREAD))["link"] == told
    assert (hall.debate(THREAD).answers, hall.debate(OTHER).answers) == (link, None)
    assert hall.verify_debate(THREAD)["verified"]


@pytest.mark.parametrize(
    ("thread_id", "head"),
    [("no thread", f"sha256:{'0' * 64}"), (OTHER, ""), (OTHER, f"sha256:{'0' * 63}"), (OTHER, f"sha256:{'0' * 64}\n")],
)
def test_a_link_leads_to_a_whole_head_of_a_thread(hall: Hall, thread_id: str, head: str) -> None:
    with pytest.raises(InvalidInput):
        hall.open_run(THREAD, "Why?", PLAN, "fixed", 1, 1, link=Link(LinkKind.ANSWERS, thread_id, head))
    assert hall.list_debates() == []


# ----------------------------------------------------------------------------------------------------- names, for good

NEEDED = object()
OPERATIONS: dict[str, dict[str, Any]] = {  # DESIGN section 5; clients call them by these names
    "init_debate": {
        "thread_id": NEEDED,
        "topic": NEEDED,
        "mode": "fixed",
        "max_turns": 12,
        "max_rounds": 4,
        "strict_cognition": False,
        "barrier": True,
    },
    "pick_next_speaker": {"thread_id": NEEDED, "role": NEEDED, "expected_head": None},
    "add_turn": {
        "thread_id": NEEDED,
        "role": NEEDED,
        "content": NEEDED,
        "cognition": None,
        "agent_role": None,
        "model": None,
        "token_input": None,
        "token_output": None,
        "token_total": None,
        "expected_head": None,
    },
    "get_debate": {
        "thread_id": NEEDED,
        "include_transcript": True,
        "context_turns": None,
        "context_lines": None,
        "include_metadata": False,
    },
    "close_debate": {
        "thread_id": NEEDED,
        "synthesis": NEEDED,
        "output_format": "json",
        "status": "synthesis",
        "expected_head": None,
    },
    "force_close_debate": {"thread_id": NEEDED, "reason": NEEDED},
    "tombstone_turn": {"thread_id": NEEDED, "turn_index": NEEDED, "reason": NEEDED},
    "list_debates": {
        "status": None,
        "text": None,
        "recipe": None,
        "since": None,
        "until": None,
        "limit": None,
    },
    "search_debates": {
        "query": NEEDED,
        "limit": 20,
        "status": None,
        "recipe": None,
        "since": None,
        "until": None,
    },
    "verify_debate": {"thread_id": NEEDED, "head": None},
    "export_debate": {"thread_id": NEEDED, "format": "json"},
}
FOR_THE_RUNNER = {
    "add_turn": {"seat": None, "takes_floor": False}
}  # by keyword only, so that it takes no place of the protocol's


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_has_the_arguments_of_the_design_in_their_order_with_their_defaults(name: str) -> None:
    parameters = list(inspect.signature(getattr(Hall, name)).parameters.values())[1:]
    by_place = [parameter for parameter in parameters if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    by_name = [parameter for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]
    assert len(by_place) + len(by_name) == len(parameters)
    for found, expected in ((by_place, OPERATIONS[name]), (by_name, FOR_THE_RUNNER.get(name, {}))):
        defaults = [
            (parameter.name, NEEDED if parameter.default is parameter.empty else parameter.default)
            for parameter in found
        ]
        assert defaults == list(expected.items())


def test_the_operations_for_the_runner_are_there() -> None:
    assert all(callable(getattr(Hall, name)) for name in ("open_run", "cast_vote", "refine", "note", "extend"))


# ------------------------------------------------------------------------------------------------------------ conflicts


def test_a_stale_head_is_refused_by_every_operation_that_takes_one(opened: Hall, folder: Path) -> None:
    stale = opened.get_debate(THREAD)["head"]
    speak(opened, THREAD, *Role)
    current = opened.get_debate(THREAD)["head"]
    before = dump(folder)
    for operation in (
        lambda head: opened.add_turn(THREAD, "Wind", "words", expected_head=head),
        lambda head: opened.pick_next_speaker(THREAD, "Wind", head),
        lambda head: opened.close_debate(THREAD, "words", expected_head=head),
        lambda head: opened.cast_vote(THREAD, "Wall", "approve", "words", expected_head=head),
        lambda head: opened.refine(THREAD, "words", expected_head=head),
        lambda head: opened.note(THREAD, "words", "remark", "somebody", expected_head=head),
        lambda head: opened.extend(THREAD, 100_000, 100_000, "somebody", "words", expected_head=head),
    ):
        for head in (stale, "", "sha256:"):
            with pytest.raises(StaleHead) as refusal:
                operation(head)
            assert (refusal.value.expected, refusal.value.current) == (head, current)
    assert dump(folder) == before
    assert opened.add_turn(THREAD, "Wind", "words", expected_head=current)["turn_count"] == 4


def test_results_have_the_keys_that_clients_read(hall: Hall) -> None:
    every_kind(hall)
    shown = hall.get_debate(THREAD, include_metadata=True)
    assert shown == {
        "thread_id": THREAD,
        "topic": "Should we move billing to Kafka?",
        "mode": "mediated",
        "status": "synthesis",
        "turn_count": 3,
        "max_turns": 9,
        "max_rounds": 3,
        "round": 1,
        "next_role": None,
        "legal_roles": [],
        "strict_cognition": False,
        "barrier": True,
        "marks": ["REHEARSAL"],
        "balance": {"Wind": 1, "Wall": 1, "Door": 1},
        "starved_roles": [],
        "head": hall.verify_debate(THREAD)["head"],
        "opened_at": "2026-01-06T09:00:00.000000Z",
        "updated_at": "2026-01-06T09:00:15.000000Z",
        "warnings": [],
        "synthesis": "An outbox table, owned by payments, by March.",
        "omitted_turns": 0,
        "transcript": shown["transcript"],
    }
    wall = shown["transcript"][1]
    assert wall == {
        "turn_index": 1,
        "round": 1,
        "role": "Wall",
        "cognition": "ETHOS",
        "content": "[REDACTED: It named a colleague.]",
        "redacted": True,
        "agent_role": None,
        "model": None,
        "timestamp": "2026-01-06T09:00:05.000000Z",
        "turn_hash": wall["turn_hash"],
        "seq": 5,
        "token_input": None,
        "token_output": None,
        "token_total": None,
        "seat": entries.plain(SEAT),
        "cognition_warnings": [],
    }
    assert hall.get_debate(OTHER)["reason"] == "The question went away."
    assert hall.debate(THREAD).plan == PLAN
    assert hall.debate(OTHER).plan is None


def test_an_export_can_be_verified_by_whoever_has_only_the_export(hall: Hall) -> None:
    every_kind(hall)
    export = json.loads(hall.export_debate(THREAD))
    prev = None
    for line in export["ledger"]:
        assert canonical.digest("debate-hall/entry/v1", line["entry"].encode()) == line["hash"]
        entry = json.loads(line["entry"])
        assert entry.get("prev") == prev
        if line["text"] is not None:
            assert SaltedText(line["text"], line["salt"]).digest == entry["digest"]
        prev = line["hash"]
    assert export["head"] == prev


def test_a_closing_answers_with_the_formats_that_were_asked_for(hall: Hall) -> None:
    answers = {}
    for output_format in ("json", "octave", "both"):
        hall.init_debate(output_format, "Which?")
        speak(hall, output_format, *Role)
        answers[output_format] = hall.close_debate(output_format, "So be it.", output_format, "STALEMATE")
        assert answers[output_format]["status"] == "stalemate"
    formats = {name: {"transcript", "octave"} & answer.keys() for name, answer in answers.items()}
    assert formats == {"json": {"transcript"}, "octave": {"octave"}, "both": {"transcript", "octave"}}
    for wrong in ("html", "", None):
        with pytest.raises(InvalidInput, match="output_format is"):
            hall.close_debate(THREAD, "So be it.", wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="format is"):
        hall.export_debate("json", "html")


@pytest.mark.parametrize("status", ["active", "force_closed"])
def test_a_debate_closes_as_synthesis_or_stalemate_only(opened: Hall, status: str) -> None:
    speak(opened, THREAD, *Role)
    with pytest.raises(InvalidInput, match="closes as synthesis or stalemate"):
        opened.close_debate(THREAD, "So be it.", status=status)


def test_debates_are_listed_by_status_and_words_with_the_newest_first(hall: Hall) -> None:
    every_kind(hall)
    hall.init_debate("2026-02-01-third", "A KAFKA question? Straße")
    ids = lambda **filters: [listed["thread_id"] for listed in hall.list_debates(**filters)]  # noqa: E731
    assert ids() == ["2026-02-01-third", OTHER, THREAD]
    assert ids(status="Active") == ["2026-02-01-third"]
    assert ids(status="force_closed") == [OTHER]
    assert ids(text="kafka") == ["2026-02-01-third", THREAD]
    assert ids(text="STRASSE") == ["2026-02-01-third"]
    assert ids(text="2026-01", status="synthesis") == [THREAD]
    assert ids(text="\udcff") == []
    assert [listed["planned"] for listed in hall.list_debates()] == [False, False, True]
    with pytest.raises(InvalidInput, match="status is"):
        hall.list_debates("open")


def test_of_eight_threads_that_write_one_debate_every_acknowledged_turn_is_stored_in_its_place(hall: Hall) -> None:
    hall.init_debate(THREAD, "Which?", "mediated", 20, 20, barrier=False)
    together = threading.Barrier(8)

    def write(number: int) -> list[tuple[int, str]]:
        together.wait()
        acknowledged = []
        for turn in range(5):
            content = f"writer {number}, turn {turn}"
            try:
                hall.pick_next_speaker(THREAD, "Wind")
                acknowledged.append((hall.add_turn(THREAD, "Wind", content)["turn_index"], content))
            except HallError:
                continue
        return acknowledged

    with ThreadPoolExecutor(8) as pool:
        acknowledged = sorted(turn for turns in pool.map(write, range(8)) for turn in turns)
    shown = hall.get_debate(THREAD)
    assert [(turn["turn_index"], turn["content"]) for turn in shown["transcript"]] == acknowledged
    assert 0 < shown["turn_count"] <= 20
    hall.verify_debate(THREAD)


def test_without_an_expected_head_the_rules_are_asked_again_and_a_lost_turn_is_refused_not_repeated(
    opened: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another writer takes Wind's turn between the reading and the writing."""
    seal = ledger.seal

    def seal_after_another(*arguments: Any) -> Any:
        monkeypatch.setattr(ledger, "seal", seal)
        opened.add_turn(THREAD, "Wind", "another writer")
        return seal(*arguments)

    monkeypatch.setattr(ledger, "seal", seal_after_another)
    with pytest.raises(HallError) as refusal:
        opened.add_turn(THREAD, "Wind", "too late")
    assert refusal.value.code == "out_of_turn"
    assert opened.get_debate(THREAD)["turn_count"] == 1


def test_a_head_from_an_export_stands_in_the_chain_for_good(opened: Hall) -> None:
    kept = json.loads(opened.export_debate(THREAD))["head"]
    speak(opened, THREAD, *Role)
    opened.tombstone_turn(THREAD, 0, "It named a customer.")
    assert opened.verify_debate(THREAD, kept)["newer"] == 4
    with pytest.raises(LedgerBroken):
        opened.verify_debate(THREAD, "sha256:" + "0" * 64)


def test_a_thread_whose_state_is_damaged_hides_no_other_from_the_list(hall: Hall, folder: Path) -> None:
    hall.init_debate(THREAD, "Which?")
    hall.init_debate(OTHER, "Which other?")
    with closing(database(folder)) as db:
        db.execute("UPDATE threads SET state = 'no state' WHERE thread_id = ?", (OTHER,))
    assert [(listed["thread_id"], listed["status"]) for listed in hall.list_debates()] == [
        (THREAD, "active"),
        (OTHER, "unreadable"),
    ]
    assert [listed["thread_id"] for listed in hall.list_debates(text="other?")] == [OTHER]
    with pytest.raises(LedgerBroken):
        hall.verify_debate(OTHER)
    assert hall.verify_debate(THREAD)["verified"]


def test_rounds_that_people_ask_for_at_once_are_all_opened(hall: Hall) -> None:
    hall.init_debate(THREAD, "Which?", max_turns=3, max_rounds=1)
    people, together = 8, threading.Barrier(8)

    def ask(number: int) -> None:
        together.wait(10)
        hall.ask_for_round(THREAD, 3, f"person {number}", "There is more to say.")

    with ThreadPoolExecutor(people) as pool:
        list(pool.map(ask, range(people)))
    state = hall.state(THREAD)
    assert (state.max_turns, state.max_rounds) == (3 + 3 * people, 1 + people)


def test_a_turn_that_takes_the_floor_is_a_pick_and_a_turn_or_neither(hall: Hall) -> None:
    opened = hall.init_debate(THREAD, "Kafka?", mode="mediated")["head"]
    hall.add_turn(THREAD, "Wind", "What if billing were a log?", expected_head=opened, takes_floor=True)
    assert [line.entry.body.kind for line in hall.debate(THREAD).lines] == ["opened", "floor_given", "turn"]
    with pytest.raises(StaleHead):
        hall.add_turn(THREAD, "Wall", "Yes, but who is on call?", expected_head=opened, takes_floor=True)
    with pytest.raises(InvalidInput):
        hall.add_turn(THREAD, "Wall", " ", takes_floor=True)
    assert len(hall.debate(THREAD).lines) == 3
