"""`debate-hall replay`: a debate held again with something changed, of which only what hangs on that is paid for."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from building import priced, speech, wordy
from cli.in_process import Table
from orchestrator.decision.record import record_of
from orchestrator.errors import AuthenticationFailed
from orchestrator.hall.hall import Hall
from orchestrator.hall.journal import Intent, Outcome, Reused
from orchestrator.hall.terms import LinkKind
from orchestrator.models.base import Reply, Request
from replay.stage import AGAIN, FORTRESS, NEW, OTHER, THREAD, TOPIC, Command, debate_of, told

VOICES = ("--wind", "openai/w", "--wall", "openai/l", "--door", "openai/d")
DOOR = ("--swap", f"door={OTHER}")
QUICK = ("--swap", f"wall[3]={OTHER}")  # others: slow
Debate = Callable[..., dict[str, Any]]


class Parrots(Table):
    """Each says the same whenever it is asked for the same step in the same round, whoever speaks for it."""

    async def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        return priced(speech(request, 0), self.cost)


@pytest.fixture
def debate(run: Command, table: Table) -> Debate:
    """Holds the debate that is replayed; returns its outcome."""

    def held(*arguments: str, recipe: str = "fortress") -> dict[str, Any]:
        evidence = ("-c", "facts.md", "-c", "load.md")
        return told(run("-r", recipe, *evidence, *VOICES, "--thread-id", THREAD, "--json", *arguments, TOPIC))

    return held


class Kept(NamedTuple):
    """A debate that was held: the working folder that it left, and what was asked."""

    folder: Path
    asked: tuple[Request, ...]


@pytest.fixture(scope="module")
def kept() -> list[Kept]:
    """The one debate of most tests, as soon as it was held."""
    return []


@pytest.fixture
def fortress(debate: Debate, stage: Path, table: Table, kept: list[Kept], tmp_path: Path) -> None:
    """What `debate` leaves where nothing is said otherwise: it is held once, and laid out anew for each test."""
    if not kept:
        debate()
        kept.append(Kept(shutil.copytree(stage, tmp_path / "kept"), tuple(table.asked)))
    shutil.copytree(kept[0].folder, stage, dirs_exist_ok=True)
    table.asked[:] = kept[0].asked


@pytest.mark.usefixtures("fortress")
def test_as_many_calls_are_made_as_hang_on_the_change(hall: Command, table: Table) -> None:
    new = NEW[QUICK]
    foreseen = told(hall("replay", THREAD, *QUICK, "--dry-run", "--json"))
    assert len(table.asked) == FORTRESS
    outcome = told(hall("replay", THREAD, *QUICK, "--json"))
    asked = table.asked[FORTRESS:]
    assert len(asked) == new
    assert sorted(call["route"] for call in foreseen["new_calls"]) == sorted(request.model for request in asked)
    assert foreseen["reused"] == outcome["replay"]["reused"] == outcome["record"]["reused"] == FORTRESS - new
    assert (outcome["status"], len(outcome["turns"]), outcome["record"]["incomplete"]) == ("synthesis", 9, [])


@pytest.mark.usefixtures("fortress")
def test_the_debate_is_left_as_it_was_and_the_replay_says_what_it_is(hall: Command) -> None:
    before, (folder, *_) = debate_of(THREAD), Path("debates").iterdir()
    files = {path: path.read_bytes() for path in folder.iterdir()}
    told(hall("replay", THREAD, "--swap", f"wall[2]={OTHER}", "--json"))
    again = debate_of(AGAIN)
    assert debate_of(THREAD).lines == before.lines
    assert {path: path.read_bytes() for path in folder.iterdir()} == files
    assert again.replays is not None
    assert (again.replays.kind, again.replays.thread_id, again.replays.head) == (LinkKind.REPLAYS, THREAD, before.head)
    for name in ("decision.md", "report.html", "transcript.oct.md", "debate.json", "difference.txt"):
        text = (Path("debates") / AGAIN / name).read_text()
        assert before.head in text, name
        assert THREAD in text, name
    assert f"replays {THREAD} as it stood at {before.head}" in hall("show", AGAIN).stdout
    warnings = " ".join(record_of(again).warnings)
    assert "wall[2] (critical-engineer, failure, recovery and on-call load) is asked through openai/other" in warnings
    assert hall("verify", AGAIN).exit_code == 0
    assert [each["reviewed_by"] for each in json.loads(hall("list", "--json").stdout)] == [[], []]


@pytest.mark.usefixtures("fortress")
def test_what_is_reused_costs_nothing_and_is_marked_so(hall: Command, table: Table) -> None:
    told(hall("replay", THREAD, *DOOR, "--json"))
    again = debate_of(AGAIN)
    seats = {line.turn.seat.slot: line.turn.seat for line in again.turns if line.turn.seat}
    wind, wall, door = (seats[f"R1.{name}.1"] for name in ("Wind", "Wall", "Door"))
    assert (wind.input, wind.output, wind.cost, wind.reused) == (0, 0, "0", 1)
    assert (wall.input, wall.cost, wall.reused) == (0, "0", 2)  # its checklist, too
    assert (door.input, door.cost, door.reused, door.asked) == (100, "0.01", None, OTHER)
    record = record_of(again)
    assert (record.cost_usd, record.tokens.input, record.reused) == (Decimal("0.08"), 800, 7)
    with Hall.open() as opened:
        paid = {line.number: line for line in opened.journal(THREAD)}
        journal = opened.journal(AGAIN)
    reused = [line.record for line in journal if isinstance(line.record, Reused)]
    assert [one.thread for one in reused] == [THREAD] * 7
    assert len({one.record for one in reused}) == 7
    for one in reused:
        outcome = paid[one.record].record
        assert isinstance(outcome, Outcome)
        intent = paid[outcome.intent].record
        assert isinstance(intent, Intent)
        assert (intent.slot, intent.step, intent.route) == (one.slot, one.step, one.route)
    assert sum(isinstance(line.record, Intent) for line in journal) == 8


@pytest.mark.usefixtures("fortress")
def test_what_differs_is_told_and_at_whose_turn_it_began(hall: Command) -> None:
    result = hall("replay", THREAD, "--agent", "wall[3]=validator")
    assert result.exit_code == 0, result.output
    decision, _, against = result.stdout.partition(f"Against {THREAD}\n")
    assert decision.startswith("REPLAY: ")
    assert debate_of(AGAIN).turns[-1].words in decision
    assert against.startswith(
        "  5 replies of it are reused, at no cost\n"
        "  first differs at T4\n"
        "    A  critical-engineer, test/answered (R1.Wall.3)\n"
        "    B  validator, test/answered (R1.Wall.3)\n"
    )
    assert f"A  {THREAD}, synthesis" in against
    assert "US dollars" in against
    assert (Path("debates") / AGAIN / "difference.txt").read_text() == f"Against {THREAD}\n{against}"
    written = told(hall("diff", THREAD, AGAIN, "--json"))
    shown = told(hall("replay", AGAIN, "--agent", "wall[3]=critical-engineer", "--json"))
    assert shown["replay"]["replays"]["thread_id"] == AGAIN
    assert written["decision"]


def test_who_says_the_same_changes_nothing_after_it(
    run: Command, hall: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Parrots()
    monkeypatch.setattr("orchestrator.models.switchboard.Switchboard.of", lambda self, route: table)
    told(run("-r", "fortress", *VOICES, "--thread-id", THREAD, "--json", TOPIC))
    asked = len(table.asked)
    outcome = told(hall("replay", THREAD, "--swap", f"wall[1]={OTHER}", "--json"))
    assert [(each.model, each.task.step, each.task.round) for each in table.asked[asked:]] == [
        (OTHER, "checklist", 1),
        (OTHER, "apply", 1),
        (OTHER, "checklist", 2),
        (OTHER, "apply", 2),
    ]
    assert outcome["replay"]["parting"] is None
    assert "nothing that was said differs" in (Path("debates") / AGAIN / "difference.txt").read_text()


@pytest.mark.usefixtures("fortress")
def test_a_replay_that_stops_goes_on_and_nothing_is_bought_twice(hall: Command, run: Command, table: Table) -> None:

    def refuses(request: Request) -> None:
        if request.task.role == "Door" and request.task.round == 2:
            raise AuthenticationFailed("the key is wrong", model=request.model)

    table.hears = refuses
    stopped = hall("replay", THREAD, "--swap", f"wall[1]={OTHER}")
    assert stopped.exit_code == 3, stopped.output
    assert stopped.stderr.endswith(f"Go on with: run-debate --resume {AGAIN}\n")
    table.hears = lambda request: None
    before = len(table.asked)
    resumed = run("--resume", AGAIN, "--json")
    outcome = told(resumed)
    assert [(each.task.step, each.task.round) for each in table.asked[before:]] == [("turn", 2), ("account", 2)]
    assert (outcome["record"]["reused"], outcome["record"]["cost_usd"]) == (5, "0.10")
    assert outcome["replay"]["parting"]["where"] == "T2"
    with Hall.open() as opened:
        records = [line.record for line in opened.journal(AGAIN)]
    assert sum(isinstance(record, Reused) for record in records) == 5
    assert told(run("--resume", AGAIN, "--json"))["replay"] == outcome["replay"]


@pytest.mark.slow
@pytest.mark.usefixtures("fortress")
def test_checklists_that_were_reused_before_a_stop_are_found_again(hall: Command, run: Command, table: Table) -> None:

    def refuses(request: Request) -> None:
        if request.model == OTHER:
            raise AuthenticationFailed("the key is wrong", model=request.model)

    table.hears = refuses
    assert hall("replay", THREAD, "--swap", f"wall[1]={OTHER}").exit_code == 3
    table.hears = lambda request: None
    before = len(table.asked)
    told(run("--resume", AGAIN, "--json"))
    assert len(table.asked[before:]) == 10
    with Hall.open() as opened:
        reused = [line.record for line in opened.journal(AGAIN) if isinstance(line.record, Reused)]
    assert len(reused) == 5


@pytest.mark.usefixtures("fortress")
def test_a_replay_of_a_replay_reads_on_in_the_debate_behind_it(hall: Command, table: Table) -> None:
    told(hall("replay", THREAD, *DOOR, "--json"))
    before = len(table.asked)
    further = told(hall("replay", AGAIN, "--swap", f"wall[3]={OTHER}", "--json"))
    assert further["thread_id"] == f"{AGAIN}-replay-1"
    assert len(table.asked) - before == 10
    assert further["record"]["reused"] == 5
    before = len(table.asked)
    back = told(hall("replay", AGAIN, "--swap", "door=openai/d", "--json"))
    assert len(table.asked) == before
    assert back["record"]["reused"] == FORTRESS
    assert [turn["content"] for turn in back["turns"]] == [line.text for line in debate_of(THREAD).turns]


def test_a_model_that_was_a_fallback_then_is_taken_at_its_word(debate: Debate, hall: Command, table: Table) -> None:
    def refuses(request: Request) -> None:
        if request.model == "openai/l":
            raise AuthenticationFailed("the key is wrong", model=request.model)

    table.hears = refuses
    debate("--wall", OTHER)
    before = len(table.asked)
    outcome = told(hall("replay", THREAD, "--swap", f"wall={OTHER}", "--json"))
    assert len(table.asked) == before
    assert outcome["replay"]["parting"] is None
    assert outcome["record"]["attempts"] == outcome["substitutions"] == []


def test_what_was_sent_back_is_reused_with_its_second_try(debate: Debate, hall: Command, table: Table) -> None:
    class Forgetful(Table):
        async def complete(self, request: Request) -> Reply:
            reply = await super().complete(request)
            is_second = any(message.speaker == "assistant" for message in request.messages)
            quotes_nobody = priced(wordy("VERDICT: APPROVED\nIt quotes nobody.", of="less"), self.cost)
            return quotes_nobody if request.task.step == "apply" and not is_second else reply

    forgetful = Forgetful()
    table.complete = forgetful.complete  # type: ignore[method-assign]
    debate()
    made = len(forgetful.asked)
    assert made == FORTRESS + 5  # each Wall is told once
    outcome = told(hall("replay", THREAD, *DOOR, "--json"))
    assert len(forgetful.asked) - made == 8 + 2
    assert outcome["record"]["reused"] == 7 + 3


@pytest.mark.slow
def test_what_a_resumed_debate_was_asked_through_other_models_is_reused_too(
    debate: Debate, run: Command, hall: Command, table: Table
) -> None:
    def refuses(request: Request) -> None:
        if request.model == "openai/l" and request.task.round == 2:
            raise AuthenticationFailed("the key is wrong", model=request.model)

    table.hears = refuses
    evidence = ("-c", "facts.md", "-c", "load.md")
    assert run("-r", "fortress", *evidence, *VOICES, "--thread-id", THREAD, TOPIC).exit_code == 3
    told(run("--resume", THREAD, "--wall", "openai/k", "--json"))
    before = len(table.asked)
    outcome = told(hall("replay", THREAD, *DOOR, "--json"))
    assert outcome["record"]["reused"] == 7
    assert len(table.asked) - before == 8
    assert {each.model for each in table.asked[before:]} == {"openai/w", "openai/k", OTHER}


def test_votes_are_reused_or_cast_anew(debate: Debate, hall: Command, table: Table) -> None:
    debate("--consensus", recipe="speed")
    assert len(table.asked) == 7  # W, checklist, L, D, two votes, the account
    told(hall("replay", THREAD, "--swap", f"wind={OTHER}", "--json"))
    assert len(table.asked) == 7 + 6
    told(hall("replay", THREAD, *DOOR, "--json"))
    assert len(table.asked) == 7 + 6 + 4


def test_the_replay_of_a_review_is_asked_as_it_was_and_supersedes_nothing(
    debate: Debate, run: Command, hall: Command, table: Table
) -> None:
    debate(recipe="speed")
    later = "2026-06-01-billing"
    told(run("-r", "speed", "--since", THREAD, *VOICES, "--thread-id", later, "--json", TOPIC))
    before = len(table.asked)
    outcome = told(hall("replay", later, "--swap", f"wind={OTHER}", "--json"))
    account = next(each for each in table.asked[before:] if each.task.step == "account")
    assert "This debate reviews E1" in account.messages[-1].text
    assert len(table.asked) - before == 5  # its account was sent back then, and is now
    assert debate_of(outcome["thread_id"]).reviews is None


@pytest.mark.usefixtures("fortress")
def test_a_dry_run_shows_the_new_calls_and_writes_nothing(hall: Command, table: Table) -> None:
    result = hall("replay", THREAD, "--swap", f"door={OTHER}", "--assume-price", "1/3", "--dry-run")
    assert result.exit_code == 0, result.output
    first, *lines = result.stdout.splitlines()
    assert first == "8 calls are new, 7 replies are reused"
    assert [line.split()[:2] for line in lines[:8]] == [
        ["R1.Door.1", "turn"],
        ["R2.Wind.1", "turn"],
        ["R2.Wall.1", "checklist"],
        ["R2.Wall.2", "checklist"],
        ["R2.Wall.1", "apply"],
        ["R2.Wall.2", "apply"],
        ["R2.Door.1", "turn"],
        ["R2.Door.account", "account"],
    ]
    assert lines[8].startswith("quote: ")
    assert "$" in lines[8]
    assert len(table.asked) == FORTRESS
    assert [each["thread_id"] for each in json.loads(hall("list", "--json").stdout)] == [THREAD]
    assert [path.name for path in Path("debates").iterdir()] == [THREAD]


@pytest.mark.usefixtures("fortress")
def test_a_limit_counts_what_the_replay_takes_itself(hall: Command, run: Command, table: Table) -> None:
    stopped = hall("replay", THREAD, *DOOR, "--token-limit", "20000")
    assert stopped.exit_code == 5, stopped.output
    assert debate_of(AGAIN).state.turn_count >= 4  # what was paid for already takes nothing
    assert told(run("--resume", AGAIN, "--token-limit", "2000000", "--json"))["record"]["reused"] == 7


@pytest.mark.usefixtures("fortress")
def test_what_was_redacted_is_neither_reused_nor_forgotten(hall: Command, table: Table) -> None:
    told(hall("replay", THREAD, *DOOR, "--json"))
    redacted = told(hall("tombstone", THREAD, "0", "--reason", "it names a customer", "--json"))
    quoted = {(each["thread_id"], each["seq"]) for each in redacted["still_quoted"]}
    spoken = [line.entry.seq for line in debate_of(AGAIN).turns]
    assert (AGAIN, spoken[0]) in quoted
    foreseen = told(hall("replay", THREAD, "--swap", f"wall={OTHER}", "--dry-run", "--json"))
    assert (len(foreseen["new_calls"]), foreseen["reused"]) == (FORTRESS, 0)


def test_what_people_said_is_not_said_again_and_that_is_told(debate: Debate, hall: Command, table: Table) -> None:
    def speaks(request: Request) -> None:
        if request.task.step == "checklist" and not said:
            said.append(hall("say", THREAD, "--as", "maria", "Who is on call?"))

    said: list[Any] = []
    table.hears = speaks
    debate(recipe="speed")
    before = len(table.asked)
    warnings = told(hall("replay", THREAD, *DOOR, "--json"))["warnings"]
    assert f"What people said in {THREAD} is not said again; what was drafted after it is drafted anew." in warnings
    assert "maria" not in " ".join(message.text for each in table.asked[before:] for message in each.messages)


REFUSED = {
    (): "Nothing would be otherwise.",
    ("--swap", "wall[1]=openai/l"): "Nothing would be otherwise.",
    ("--swap", "wall[4]=openai/x"): "fortress has no wall[4].",
    ("--swap", "wall[0]=openai/x"): "names no seat",
    ("--swap", "judge=openai/x"): "names no seat",
    ("--swap", "wall[1]=openai/x,openai/y"): "names several models",
    ("--swap", "wall[1]=rehearsal"): "A rehearsal is no model",
    ("--swap", f"wall[1]={OTHER}", "--cost-limit", "1"): "no price",
    ("--agent", "door=nobody"): "There is no agent called 'nobody'",
    ("--agent", "door=validator"): "speaks as Wall",
    ("--agent", "door=synthesizer", "--agent", "door=holistic-orchestrator"): "at once",
    ("--without", "E3"): "There is no E3 in its evidence.",
    ("--models", "./none.yaml", "--without", "E1"): "changes nothing by itself",
}


@pytest.mark.usefixtures("fortress")
def test_what_cannot_be_is_refused_before_anything_is_opened(hall: Command, table: Table) -> None:
    for arguments, why in REFUSED.items():
        refused = hall("replay", THREAD, *arguments)
        assert (refused.exit_code, why in refused.stderr) == (2, True), (arguments, refused.output)
    assert len(table.asked) == FORTRESS
    assert [each["thread_id"] for each in json.loads(hall("list", "--json").stdout)] == [THREAD]


def test_only_a_debate_that_models_brought_to_a_decision_is_replayed(hall: Command, run: Command, table: Table) -> None:
    assert hall("replay", "nowhere", *DOOR).exit_code == 2
    run("--rehearse", "-r", "speed", "--thread-id", "rehearsed", TOPIC)
    with Hall.open() as opened:
        opened.init_debate("by-hand", TOPIC)
    run("-r", "speed", *VOICES, "--thread-id", "asked", TOPIC)
    hall("ask", "asked", "Why?")
    table.hears = lambda request: (_ for _ in ()).throw(AuthenticationFailed("no", model=request.model))
    run("-r", "speed", *VOICES, "--thread-id", "stopped", TOPIC)
    for thread_id, why in {
        "rehearsed": "is a rehearsal",
        "by-hand": "was held by hand",
        "asked-answer-1": "answers a question about asked",
        "stopped": "run-debate --resume stopped",
    }.items():
        refused = hall("replay", thread_id, *DOOR)
        assert (refused.exit_code, why in refused.stderr) == (2, True), refused.output
