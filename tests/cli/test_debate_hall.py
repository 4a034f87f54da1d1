"""`debate-hall`: looking into the hall and tending it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from building import account_text
from orchestrator.hall.entries import SeatRecord
from orchestrator.hall.hall import Hall
from orchestrator.hall.runs import RunDesk, this_process
from orchestrator.hall.store import Holder
from orchestrator.run_folder import FORMATS, NAMES
from orchestrator.shelves import folders

Command = Callable[..., Result]
Script = Callable[..., Any]

HAND, REHEARSED = "2026-01-06-by-hand", "2026-01-07-rehearsed"
HOSTILE = "# Fine\r\n\x1b[2J\x1b]0;owned\x07 once\rtwice \u202edesrever\u202c \x9b31m"


@pytest.fixture
def by_hand() -> str:
    """A debate that people held through the hall: Wind, Wall, Door, closed."""
    with Hall.open() as hall:
        hall.init_debate(HAND, "Which queue?\nFor billing.", max_turns=3, max_rounds=1)
        hall.add_turn(HAND, "Wind", "None at all.", agent_role="ideator", model="a person")
        hall.add_turn(HAND, "Wall", HOSTILE)
        hall.add_turn(HAND, "Door", "An outbox table.")
        hall.close_debate(HAND, "An outbox table.")
    return HAND


@pytest.fixture
def rehearsed(rehearse: Command) -> str:
    assert rehearse("--thread-id", REHEARSED, "Should we move billing to Kafka?").exit_code == 0
    return REHEARSED


def told(result: Result, code: int = 0) -> str:
    assert result.exit_code == code, result.output
    return result.stdout


def as_json(result: Result, code: int = 0) -> Any:
    return json.loads(told(result, code))


def is_harmless(text: str) -> bool:
    return not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)


# -------------------------------------------------------------------------------------------------------- list and show


def test_an_empty_hall_says_how_to_begin(hall: Command) -> None:
    assert told(hall("list")) == 'No debates yet. Begin one: run-debate --rehearse "Your question?"\n'
    assert as_json(hall("list", "--json")) == []
    assert as_json(hall("verify", "--all", "--json")) == []


def test_list_has_a_line_for_each_debate_the_newest_first(hall: Command, by_hand: str, rehearsed: str) -> None:
    first, second = told(hall("list")).splitlines()
    stamp = r"\d{4}-\d\d-\d\d \d\d:\d\d"
    assert re.fullmatch(
        rf"{REHEARSED}  synthesis              3 of 3 turns  {stamp}  REHEARSAL: Should we move billing to Kafka\?",
        first,
    )
    assert re.fullmatch(rf"{HAND}    synthesis              3 of 3 turns  {stamp}  Which queue\?", second)


def test_list_says_which_runs_go_on_are_paused_or_were_interrupted(hall: Command) -> None:
    names = [f"2026-01-1{number}-{what}" for number, what in enumerate(("by-hand", "goes-on", "was-paused", "died"))]
    with Hall.open() as opened, subprocess.Popen(["true"]) as gone:
        gone.wait()
        for name in names:
            opened.init_debate(name, "Which queue?")
        opened.runs.begin(names[1])
        opened.runs.release(opened.runs.begin(names[2]))
        holder = Holder(this_process().place, gone.pid)
        RunDesk(opened._store, lambda: datetime.now(UTC), holder).begin(names[3])
        said = told(hall("list"))
    found = {name: re.search(rf"{name} +(active(?:, \w+)?)  ", said) for name in names}
    assert [match and match[1] for match in found.values()] == [
        "active",
        "active, running",
        "active, paused",
        "active, interrupted",
    ]


def test_show_says_first_who_is_missing_and_why(hall: Command) -> None:
    with Hall.open() as opened:
        opened.init_debate(HAND, "Which queue?")
        opened.note(HAND, "Wall validator (R1.Wall.2) is missing: no key.", "missing", "run-debate", slot="R1.Wall.2")
    page = told(hall("show", HAND))
    assert page.startswith(f"DEGRADED: Wall validator (R1.Wall.2) is missing: no key.\n\n{HAND}: active,")


def test_list_is_narrowed_by_status_and_text(hall: Command, by_hand: str, rehearsed: str) -> None:
    told(hall("list"))
    with Hall.open() as opened:
        opened.init_debate("2026-01-08-open", "Still open?")
    found = {
        arguments: [debate["thread_id"] for debate in as_json(hall("list", "--json", *arguments))]
        for arguments in (("--status", "ACTIVE"), ("--text", "KAFKA"), ("--text", "by-hand"), ("--text", "nothing"))
    }
    assert list(found.values()) == [["2026-01-08-open"], [REHEARSED], [HAND], []]
    assert "status is 'done'; it is one of active, synthesis" in hall("list", "--status", "done").stderr


def test_show_gives_the_turns_who_spoke_and_how_it_ended(hall: Command, by_hand: str) -> None:
    page = told(hall("show", HAND))
    assert page.startswith(f"{HAND}: synthesis, 3 of 3 turns, round 1 of 1, fixed\n\nhead sha256:")
    assert "  Which queue?\n  For billing.\n" in page
    assert "T1  Wind (PATHOS), round 1, ideator, a person\n\n  None at all.\n" in page
    assert page.endswith("Synthesis (T3)\n\n  An outbox table.\n")


def test_show_says_who_is_next_and_why_a_debate_was_closed_by_force(hall: Command) -> None:
    with Hall.open() as opened:
        opened.init_debate(HAND, "Which queue?")
    assert told(hall("show", HAND)).endswith("\n\nNext: Wind\n")
    told(hall("force-close", HAND, "--reason", "The question went away."))
    assert told(hall("show", HAND)).endswith("Closed by force: The question went away.\n")


def test_show_as_json_says_it_byte_for_byte(hall: Command, by_hand: str) -> None:
    debate = as_json(hall("show", HAND, "--json"))
    assert [turn["content"] for turn in debate["transcript"]] == ["None at all.", HOSTILE, "An outbox table."]
    assert debate["thread_id"] == HAND


def test_no_text_of_a_model_steers_the_terminal(hall: Command, by_hand: str) -> None:
    with Hall.open() as opened:
        opened.init_debate("2026-01-09-hostile", HOSTILE)
        opened.force_close_debate("2026-01-09-hostile", HOSTILE)
    for command in (
        ("show", HAND),
        ("show", HAND, "--json"),
        ("list",),
        ("list", "--json"),
        ("show", "2026-01-09-hostile"),
        ("show", "\x1b[2J"),
    ):
        result = hall(*command)
        assert is_harmless(result.output), command


@pytest.mark.parametrize(
    "command",
    [
        ("show", "nope"),
        ("verify", "nope"),
        ("export", "nope"),
        ("tombstone", "nope", "0", "--reason", "x"),
        ("force-close", "nope", "--reason", "x"),
        ("show", "../etc/passwd"),
        ("show", "\udcff"),
    ],
)
def test_a_thread_that_is_not_there_is_refused(command: tuple[str, ...], hall: Command) -> None:
    result = hall(*command)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: There is no debate ")
    assert result.stderr.endswith("`debate-hall list` shows those there are.\n")


def test_a_thread_is_found_in_any_case(hall: Command, by_hand: str) -> None:
    assert as_json(hall("show", HAND.upper(), "--json"))["thread_id"] == HAND


# --------------------------------------------------------------------------------------------------------------- verify


def test_verify_names_the_head_and_counts_what_is_newer(hall: Command, by_hand: str) -> None:
    with Hall.open() as opened:
        heads = [line.hash for line in opened.debate(HAND).lines]
    assert told(hall("verify", HAND)) == f"{HAND}: verified, 5 entries, head {heads[-1]}\n"
    assert told(hall("verify", HAND, "--head", heads[1])).endswith("; 3 entries are newer than the head you gave\n")
    assert as_json(hall("verify", HAND, "--head", heads[-1], "--json")) == [
        {"thread_id": HAND, "verified": True, "entries": 5, "head": heads[-1], "newer": 0}
    ]


def test_a_head_that_does_not_stand_in_the_chain_breaks_it(hall: Command, by_hand: str) -> None:
    another, part = f"sha256:{'0' * 64}", "sha256:6e43795a3237…"  # a run's progress shows a part
    said = told(hall("verify", HAND, "--head", another), 7)
    assert said == f"{HAND}: BROKEN: the head {another} does not stand in the chain; it was rewritten or cut off\n"
    assert told(hall("verify", HAND, "--head", part), 7) == (
        f"{HAND}: BROKEN: the head {part} does not stand in the chain; a whole one is sha256: and 64 hex digits\n"
    )


TAMPERED = {
    "a text": ("UPDATE texts SET words = 'Kafka.' WHERE words = 'None at all.'", 1),
    "a role": ("UPDATE entries SET stored = replace(stored, '\"Wall\"', '\"Wind\"') WHERE seq = 2", 2),
    "a missing entry": ("DELETE FROM entries WHERE seq = 3", 3),
    "the head": ("UPDATE threads SET head = 'sha256:00'", 5),
}


@pytest.mark.parametrize("case", TAMPERED)
def test_verify_names_the_first_bad_entry(
    case: str, hall: Command, by_hand: str, damage: Callable[[str], None]
) -> None:
    sql, entry = TAMPERED[case]
    damage(sql)
    assert told(hall("verify", HAND), 7).startswith(f"{HAND}: BROKEN at entry {entry}: ")
    (checked,) = as_json(hall("verify", HAND, "--json"), 7)
    assert (checked["verified"], checked["bad_entry"]) == (False, entry)
    export = hall("export", HAND)
    assert (export.exit_code, export.stdout) == (7, "")
    assert f"The ledger does not verify at {HAND}, entry {entry}: " in export.stderr


def test_verify_all_checks_every_debate_and_breaks_for_one(
    hall: Command, by_hand: str, rehearsed: str, damage: Callable[[str], None]
) -> None:
    assert told(hall("verify", "--all")).count(": verified, ") == 2
    damage("UPDATE texts SET words = 'Kafka.' WHERE words = 'None at all.'")
    checked = {line.split(":")[0]: line for line in told(hall("verify", "--all"), 7).splitlines()}
    assert "verified" in checked[REHEARSED]
    assert "BROKEN at entry 1" in checked[HAND]


# --------------------------------------------------------------------------------------------------------------- export


def test_an_export_is_what_the_run_folder_holds(hall: Command, rehearsed: str, work: Path) -> None:
    folder = work / "debates" / REHEARSED
    for format, name in NAMES.items():
        assert told(hall("export", REHEARSED, "--format", format)) == (folder / name).read_text()
    assert told(hall("export", REHEARSED)) == (folder / "debate.json").read_text()


def test_a_debate_that_was_held_by_hand_exports_in_every_format(hall: Command, by_hand: str) -> None:
    ledger = json.loads(told(hall("export", HAND)))
    assert [turn["content"] for turn in ledger["transcript"]][1] == HOSTILE
    assert ledger["record"]["decision"] == "An outbox table."
    assert told(hall("export", HAND, "--format", "octave")).startswith("===DEBATE_TRANSCRIPT===\n")
    adr = told(hall("export", HAND, "--format", "adr"))
    assert "# Which queue?" in adr
    assert "> An outbox table." in adr
    assert "REHEARSAL" not in adr


@pytest.mark.slow
def test_a_document_is_harmless_on_a_terminal_and_exact_elsewhere(hall: Command, script: Script, by_hand: str) -> None:
    ours, theirs = os.openpty()
    result = script("debate-hall", "export", HAND, "--format", "octave", stdout=theirs)
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # how a terminal says that nobody writes to it any more
        while part := os.read(ours, 65536):
            shown += part
    os.close(ours)
    assert result.returncode == 0
    text = shown.decode().replace("\r\n", "\n")
    assert "An outbox table." in text
    assert is_harmless(text)
    assert not is_harmless(told(hall("export", HAND, "--format", "octave")))


@pytest.mark.parametrize("format", FORMATS)
def test_a_debate_that_has_only_begun_exports_too(format: str, hall: Command) -> None:
    with Hall.open() as opened:
        opened.init_debate(HAND, "Which queue?")
    text = told(hall("export", HAND, "--format", format))
    assert "Which queue?" in text
    assert "None. " not in text


@pytest.mark.parametrize("plan", ["no plan", "{}", '{"v": 99}'])
def test_of_a_debate_whose_plan_this_version_cannot_read_all_is_told_for_which_no_plan_is_needed(
    plan: str, hall: Command
) -> None:
    with Hall.open() as opened:
        opened.open_run(HAND, "Which queue?", plan, "fixed", 3, 1, ["REHEARSAL"])
        opened.add_turn(HAND, "Wind", "None at all.")
        text = opened.export_debate(HAND, "octave")
    assert "None at all." in text
    assert "  MARKS::[REHEARSAL]" in text.splitlines()[:10]
    for format in ("octave", "json", "adr"):  # with the citations checked, for which the evidence is needed
        result = hall("export", HAND, "--format", format)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith("error: The pinned plan cannot be read by this version (")
        assert result.stderr.endswith(" Use the version that made it.\n")
    assert told(hall("verify", HAND)).startswith(f"{HAND}: verified, 2 entries")
    assert "None at all." in told(hall("show", HAND))


def test_an_export_goes_to_a_file_whole(hall: Command, by_hand: str, work: Path) -> None:
    assert told(hall("export", HAND, "--out", "debate.json")) == ""
    assert (work / "debate.json").read_text() == told(hall("export", HAND))
    assert [file.name for file in work.iterdir()] == ["debate.json"]


def test_an_export_that_cannot_be_written_is_refused(hall: Command, by_hand: str, work: Path) -> None:
    (work / "folder").mkdir()
    for out, sentence in (
        ("nowhere/x.json", "There is no folder nowhere. Make it first"),
        ("folder", "is a directory"),
    ):
        result = hall("export", HAND, "--out", out)
        assert (result.exit_code, result.stdout) == (2, "")
        assert sentence in result.stderr


# -------------------------------------------------------------------------------------------- tombstone and force-close


def test_a_tombstone_redacts_a_turn_everywhere_but_in_old_files(hall: Command, rehearsed: str, work: Path) -> None:
    old = work / "debates" / REHEARSED / "debate.json"
    words = json.loads(old.read_text())["transcript"][0]["content"]
    line = words.splitlines()[0]
    said = told(hall("tombstone", REHEARSED, "0", "--reason", "It named a customer.")).splitlines()
    assert said[0] == f"T1 of {REHEARSED} is redacted; the chain still verifies."
    assert said[-1] == "Files exported before still hold the text: export them again, or delete them."
    told(hall("verify", REHEARSED))
    assert line in old.read_text()
    for format in FORMATS:
        text = told(hall("export", REHEARSED, "--format", format))
        assert line not in text
        assert "It named a customer." in text
    assert line not in told(hall("show", REHEARSED))


def test_a_synthesis_that_says_the_same_is_redacted_with_its_turn(hall: Command, by_hand: str) -> None:
    said = as_json(hall("tombstone", HAND, "2", "--reason", "Wrong file.", "--json"))
    assert (said["seq"], said["turn_index"], said["also_redacted"], said["still_quoted"]) == (3, 2, [4], [])
    assert said["original_content_hash"].startswith("sha256:")
    page = told(hall("show", HAND))
    assert "An outbox table." not in page
    assert "Wrong file." in page


LONG = "Mrs Miller of accounting wants her name out of every record we keep"


@pytest.fixture
def spoken() -> dict[str, int]:
    """HAND with an entry of every kind that has a text, some of which quote each other, and where each stands."""
    with Hall.open() as opened:
        opened.init_debate(HAND, f"Which queue?\n{LONG}.")
        opened.add_turn(HAND, "Wind", "None at all.")
        opened.add_turn(HAND, "Wall", "The outbox has no owner, and nobody answers for what is in it.")
        opened.add_turn(HAND, "Door", "An outbox table.")
        opened.note(HAND, "A remark about the weather.", "remark", "the lead")
        opened.cast_vote(HAND, "Wall", "object", "As I said, **nobody answers**: for what is IN it, or was.")
        opened.refine(HAND, f"An outbox table, because {LONG}.", [5])
        opened.extend(HAND, 20, 8, "the lead", "One more round.")
    return {"topic": 0, "wall": 2, "note": 4, "vote": 5, "refined synthesis": 6, "reason": 7}


@pytest.mark.parametrize("what", ["note", "vote", "refined synthesis", "reason"])
def test_any_entry_that_has_a_text_can_be_redacted(what: str, hall: Command, spoken: dict[str, int]) -> None:
    seq = spoken[what]
    words = as_json(hall("show", HAND, "--entries", "--json"))[seq]["text"]
    said = told(hall("tombstone", HAND, "--seq", str(seq), "--reason", "It was rude."))
    assert said.startswith(f"Entry {seq} ({what}) of {HAND} is redacted; the chain still verifies.\n")
    told(hall("verify", HAND))
    for format in FORMATS:
        assert json.dumps(words)[1:-1] not in told(hall("export", HAND, "--format", format))
    again = hall("tombstone", HAND, "--seq", str(seq), "--reason", "It was rude.")
    assert f"Entry {seq} of {HAND} is redacted already" in again.stderr


def test_a_redacted_topic_takes_what_repeats_it_and_says_that_the_thread_id_stays(
    hall: Command, spoken: dict[str, int]
) -> None:
    with Hall.open() as opened:
        opened.note(HAND, f"To recall:\nWhich queue?\n{LONG}.", "remark", "the lead")
    assert told(hall("tombstone", HAND, "--seq", "0", "--reason", "She asked for it.")) == (
        f"Entry 0 (topic) of {HAND} is redacted; the chain still verifies.\n"
        "Redacted with it, because the same stands there: Entry 8 (note).\n"
        f"The thread id cannot be redacted, since every hash covers it: {HAND}.\n"
        "Words of it still stand elsewhere; to redact those too:\n"
        f'  Entry 6 (refined synthesis): debate-hall tombstone {HAND} --seq 6 --reason "…"\n'
        "Files exported before still hold the text: export them again, or delete them.\n"
    )
    assert "Which queue?" not in told(hall("list"))


def test_what_quotes_a_redacted_turn_is_named_and_the_command_redacts_it(hall: Command, spoken: dict[str, int]) -> None:
    said = as_json(hall("tombstone", HAND, "1", "--reason", "It was rude.", "--json"))
    (quoting,) = said["still_quoted"]
    command = f'debate-hall tombstone {HAND} --seq 5 --reason "…"'
    assert quoting == {"thread_id": HAND, "seq": 5, "command": command}
    name, *arguments = shlex.split(quoting["command"])
    assert name == "debate-hall"
    assert as_json(hall(*arguments, "--json"))["still_quoted"] == []


def test_a_reason_that_quotes_what_it_redacts_is_named_too(hall: Command, spoken: dict[str, int]) -> None:
    reason = "It says that nobody answers for what is in it."
    said = as_json(hall("tombstone", HAND, "1", "--reason", reason, "--json"))
    assert [quoting["seq"] for quoting in said["still_quoted"]] == [5, 8]


def test_the_entries_of_a_debate_are_listed_with_their_numbers(hall: Command, spoken: dict[str, int]) -> None:
    told(hall("tombstone", HAND, "0", "--reason", "It was rude."))
    lines = told(hall("show", HAND, "--entries")).splitlines()
    stamp = r"\d{4}-\d\d-\d\d \d\d:\d\d"
    for line, pattern in zip(
        lines,
        [
            rf"   0  opened        {stamp}  Which queue\?",
            rf"   1  turn          {stamp}  Wind: \[REDACTED: It was rude.\]",
            rf"   2  turn          {stamp}  Wall: The outbox has no owner, and nobody answers for what is in it\.",
            rf"   3  turn          {stamp}  Door: An outbox table\.",
            rf"   4  note          {stamp}  the lead: A remark about the weather\.",
            rf"   5  vote          {stamp}  Wall: object: As I said, .*",
            rf"   6  refined       {stamp}  An outbox table, because .*",
            rf"   7  extended      {stamp}  the lead: One more round\.",
            rf"   8  tombstoned    {stamp}  It was rude\.",
        ],
        strict=True,
    ):
        assert re.fullmatch(pattern, line)
    with Hall.open() as opened:
        opened.init_debate("2026-01-08-mediated", "Which queue?", "mediated")
        opened.pick_next_speaker("2026-01-08-mediated", "Wind")
    given = as_json(hall("show", "2026-01-08-mediated", "--entries", "--json"))[1]
    assert (given["seq"], given["kind"], given["by"], given["text"]) == (1, "floor_given", "Wind", None)


def test_the_entries_of_a_run_are_told_in_words_its_account_too(hall: Command) -> None:
    seat = SeatRecord(slot="R1.Door.account", agent="synthesizer", asked="m", answered="m")
    with Hall.open() as opened:
        opened.init_debate(HAND, "Which queue?")
        for role in ("Wind", "Wall", "Door"):
            opened.add_turn(HAND, role, f"I am {role}.")
        opened.cast_vote(HAND, "Wall", "approve", "It can be carried.", ["T1"], replace(seat, agent="validator"))
        opened.note(HAND, account_text(title="An outbox, step by step"), "account", "run-debate", seat=seat)
        opened.note(HAND, "{}", "account", "run-debate", seat=seat)
        opened.note(HAND, "Wall validator is missing.", "missing", "run-debate")
        opened.tombstone_turn(HAND, 0, "It was rude.")
    lines = told(hall("show", HAND, "--entries")).splitlines()
    assert [line[38:] for line in lines[4:8]] == [
        "Wall, validator: approve: It can be carried.",
        "synthesizer, run-debate: account: An outbox, step by step",
        "synthesizer, run-debate: account: {}",
        "run-debate: missing: Wall validator is missing.",
    ]
    listed = as_json(hall("show", HAND, "--entries", "--json"))
    assert [entry["says"] for entry in listed[3:8]] == [None, "approve", "account", "account", "missing"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((HAND, "3", "--reason", "x"), f"{HAND} has no turn 3. turn_index counts from 0; its last turn is 2."),
        ((HAND, "0", "--reason", " "), "The reason is blank."),
        ((HAND, "0"), "Missing option '--reason'"),
        ((HAND, "--reason", "x"), "Give TURN_INDEX or --seq N."),
        ((HAND, "0", "--seq", "1", "--reason", "x"), "Give TURN_INDEX or --seq N."),
        ((HAND, "--seq", "5", "--reason", "x"), f"{HAND} has no entry 5. seq counts from 0, the opening; its newest"),
        ((HAND, "0", "--reason", "None at all."), "The reason says the text again that is to be redacted."),
        ((HAND, "first", "--reason", "x"), "'first' is not a valid integer"),
    ],
)
def test_a_tombstone_that_cannot_be_is_refused(
    arguments: tuple[str, ...], sentence: str, hall: Command, by_hand: str
) -> None:
    before = told(hall("export", HAND))
    result = hall("tombstone", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr
    assert told(hall("export", HAND)) == before


def test_a_turn_is_redacted_once(hall: Command, by_hand: str) -> None:
    told(hall("tombstone", HAND, "0", "--reason", "x"))
    assert "Turn 0 of 2026-01-06-by-hand is redacted already" in hall("tombstone", HAND, "0", "--reason", "y").stderr


def test_force_close_ends_a_debate_once(hall: Command) -> None:
    with Hall.open() as opened:
        opened.init_debate(HAND, "Which queue?")
        opened.add_turn(HAND, "Wind", "None at all.")
    assert told(hall("force-close", HAND, "--reason", "Enough.")) == f"{HAND} is closed by force; turns kept: 1.\n"
    again = hall("force-close", HAND, "--reason", "Enough.")
    assert (again.exit_code, again.stdout) == (2, "")
    adr = told(hall("export", HAND, "--format", "adr"))
    assert "status: rejected" in adr
    assert "**CLOSED BY FORCE:** there is no decision." in adr


# ----------------------------------------------------------------------------------------- recipes, agents and settings


def test_recipes_lists_the_six_and_ones_own(hall: Command, work: Path) -> None:
    lines = told(hall("recipes")).splitlines()
    assert [line.split()[0] for line in lines] == ["council", "deep", "fortress", "laboratory", "speed", "standard"]
    assert "  9 turns  mediated  W LLL D · W LL D " in lines[2]
    (work / "recipes").mkdir()
    text = (folders("recipes")[-1] / "speed.yaml").read_text()
    (work / "recipes" / "own.yaml").write_text(text.replace("name: speed", "name: own"))
    found = {recipe["name"]: recipe for recipe in as_json(hall("recipes", "--json"))}
    assert found["own"]["source"] == "recipes/own.yaml"
    assert found["fortress"]["seats"]["Wall"] == ["critical-engineer"] * 3
    assert found["fortress"]["rounds"] == ["W LLL D", "W LL D"]


def test_agents_lists_the_ten(hall: Command) -> None:
    found = as_json(hall("agents", "--json"))
    assert len(found) == len({agent["section"] for agent in found}) == 10
    lines = told(hall("agents")).splitlines()
    assert [line.split()[0] for line in lines] == [agent["name"] for agent in found]


def test_a_broken_file_of_ones_own_is_named(hall: Command, work: Path) -> None:
    (work / "recipes").mkdir()
    (work / "recipes" / "own.yaml").write_text("name: own\nname: own\n")
    result = hall("recipes")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "error: recipes/own.yaml:2: name: " in result.stderr


def test_config_shows_what_was_taken_and_from_where(
    hall: Command, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-shown-0123456789")
    (work / "recipes").mkdir()
    (work / "recipes" / "Fortress.yaml").touch()
    own = tmp_path / "config" / "debate-hall" / "agents"
    own.mkdir(parents=True)
    (own / "mine.oct.md").touch()
    text = told(hall("config"))
    assert "sk-never-shown" not in text
    found = [(setting["name"], setting["value"], setting["source"]) for setting in as_json(hall("config", "--json"))]
    assert all(f"  {value}  ({source})\n" in text for _, value, source in found)
    bundled = folders("recipes")[-1]
    for setting in (
        ("hall", str(tmp_path / "state" / "hall.sqlite3"), "DEBATE_HALL_STATE_DIR"),
        ("recipes", "recipes", "working folder"),
        ("recipes", str(own.parent / "recipes"), "user's config folder"),
        ("recipes", str(bundled), "bundled"),
        ("recipe fortress", "recipes/Fortress.yaml", "working folder, in place of the bundled one"),
        ("agent mine", str(own / "mine.oct.md"), "user's config folder"),
        ("models file", str(bundled.parent / "configs" / "models.yaml"), "bundled"),
        ("ANTHROPIC_API_KEY", "not set", "environment"),
        ("OPENAI_API_KEY", "set", "environment"),
        ("keys beside the models", str(own.parent / "configs" / ".env"), "there is none"),
        ("max_output_tokens", "8000", str(bundled.parent / "configs" / "models.yaml")),
        ("context limit", "100,000 tokens", "built in"),
        ("DEBATE_HALL_STAND_INS", "none", "environment"),
        ("DEBATE_HALL_STORE", "not set", "environment"),
    ):
        assert setting in found
    routes = [value for name, value, _ in found if name.startswith("routes for ")]
    assert len(routes) == 3
    assert all(value.startswith("openai/") for value in routes)


def test_defaults_are_shown_as_a_models_file_has_them(
    hall: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    routes = "routes: {PATHOS: [openai/o], ETHOS: [openai/o], LOGOS: [openai/o]}\n"
    Path("own.yaml").write_text(f"{routes}defaults: {{max_output_tokens: 1234567, timeout_s: 90}}\n")
    found = {setting["name"]: setting["value"] for setting in as_json(hall("config", "--models", "own.yaml", "--json"))}
    assert (found["max_output_tokens"], found["timeout_s"], found["stream"]) == ("1234567", "90", "in a live view")


def test_a_role_that_borrows_from_the_others_speaks_by_the_models_file(
    hall: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").mkdir()
    file = Path("configs/models.yaml")
    file.write_text("routes: {PATHOS: [openai/o], ETHOS: [gemini/g], LOGOS: [openai/o]}\n")
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.setenv(name, "")
    found = {setting["name"]: setting for setting in as_json(hall("config", "--json"))}
    borrowed = found["routes for ETHOS"]
    assert (borrowed["value"], borrowed["source"]) == ("openai/o", str(file))


def test_in_a_checkout_of_the_program_its_folders_are_the_bundled_ones(
    hall: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folders("recipes")[-1].parent)
    found = {(setting["name"], setting["source"]) for setting in as_json(hall("config", "--json"))}
    assert {("recipes", "bundled"), ("agents", "bundled"), ("recipes", "user's config folder")} < found
    assert not [name for name, _ in found if name.startswith(("recipe ", "agent "))]


def test_config_says_where_the_hall_is_and_hides_a_password(hall: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEBATE_HALL_STATE_DIR")
    assert told(hall("config")).splitlines()[0].endswith("(the user's state folder)")
    for value, shown in (
        ("/srv/hall", "/srv/hall/hall.sqlite3"),
        ("postgresql://me:secret@db/hall", "postgresql://db/hall"),
    ):
        monkeypatch.setenv("DEBATE_HALL_STORE", value)
        assert told(hall("config")).splitlines()[0].split(maxsplit=1)[1] == f"{shown}  (DEBATE_HALL_STORE)"


def test_config_says_where_each_key_was_found_and_shows_none(
    hall: Command, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "config" / "debate-hall" / "configs" / ".env"
    own.parent.mkdir(parents=True)
    own.write_text("GEMINI_API_KEY=never-shown-1\n")
    (work / ".env").write_text("OPENAI_API_KEY=never-shown-2\n")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "never-shown-3")
    monkeypatch.setenv("GEMINI_API_KEY", "")  # so that it is taken back when the test is over
    monkeypatch.setenv("DEBATE_HALL_TOKEN", "never-shown-4")
    text = told(hall("config"))
    monkeypatch.setenv("GEMINI_API_KEY", "")
    found = [(setting["name"], setting["value"], setting["source"]) for setting in as_json(hall("config", "--json"))]
    assert "never-shown" not in text
    for setting in (
        ("ANTHROPIC_API_KEY", "set", "environment"),
        ("GEMINI_API_KEY", "set", str(own)),
        ("OPENAI_API_KEY", "not set", "environment"),
        ("keys beside the models", str(own), "read"),
        ("keys in this folder", ".env", "not read"),
        ("DEBATE_HALL_TOKEN", "set", "environment"),
    ):
        assert setting in found


def test_config_takes_another_models_file(hall: Command, work: Path) -> None:
    (work / "own.yaml").write_text("routes: {PATHOS: [ollama/a], ETHOS: [ollama/b], LOGOS: [ollama/c]}\n")
    found = as_json(hall("config", "--models", "own.yaml", "--json"))
    assert {"name": "models file", "value": "own.yaml", "source": "as named"} in found
    assert "There is no models file called 'nope'." in hall("config", "--models", "nope").stderr


@pytest.mark.slow
def test_a_reader_that_has_enough_is_no_failure(script: Script, by_hand: str, nobody_reads: int) -> None:
    result = script("debate-hall", "show", HAND, stdout=nobody_reads)
    assert (result.returncode, result.stderr) == (0, b"")


def test_what_fails_is_an_object_too_where_one_was_asked_for(hall: Command) -> None:
    result = hall("show", "nowhere", "--json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"]["code"] == "unknown_thread"
    assert result.stderr.startswith("error: There is no debate nowhere.")


def test_a_program_reads_what_people_noted(hall: Command) -> None:
    with Hall.open() as opened:
        opened.init_debate("2026-01-06-notes", "Kafka?")
        opened.remark("2026-01-06-notes", "Who is on call?", "maria")
    shown = json.loads(hall("show", "2026-01-06-notes", "--json").stdout)
    assert shown["remarks"] == [{"name": "N1", "by": "maria", "human": True, "content": "Who is on call?"}]
