"""People and a run at once: their words are on the chain once, rest where they were said, and Door answers by name."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import pytest

from building import NO_WAITS, THREAD, hall_at, order, plan_of, speech, wordy
from building import hold as held
from orchestrator import saying
from orchestrator.commits import MOST_CONFLICTS
from orchestrator.decision.people import unanswered, words_of_people
from orchestrator.decision.record import make_record
from orchestrator.drafting import Drafting
from orchestrator.errors import LimitReached, NotActive, OutOfTurn
from orchestrator.events import (
    EndAskedFor,
    Event,
    PersonSpoke,
    RoundAskedFor,
    RoundStarted,
    SentBack,
    Settled,
    SynthesisRefined,
)
from orchestrator.export.markdown import render_adr
from orchestrator.hall.debate import Debate
from orchestrator.hall.entries import Extended, Refined
from orchestrator.hall.terms import Mode, Role, Status
from orchestrator.models.base import Request
from orchestrator.models.scripted import Scripted
from orchestrator.runner import hold_debate, open_debate
from orchestrator.saying import Words
from table import Table, Writer, require_laws, require_people_are_answered, signed, voted_on
from test_conflicts import FIXED, MEDIATED, one_round

pytestmark = [pytest.mark.anyio]

A_SAYING = Words("The ledger tables must not be touched by a migration.", "maria", None)


# ---------------------------------------------------------------------------------------------- a turn, at each moment


def cases() -> Iterator[Any]:
    for recipe, known in (FIXED | MEDIATED).items():
        for moment, role, expected in known:
            yield pytest.param(recipe, moment, role, expected, id=f"{recipe}, {role} at {moment}")


@pytest.mark.slow
@pytest.mark.parametrize(("recipe", "moment", "role", "expected"), list(cases()))
async def test_a_persons_turn_is_heard_wherever_it_comes_and_door_answers_it_by_name(
    tmp_path: Path, recipe: str, moment: str, role: Role, expected: str
) -> None:
    table = Table(tmp_path / "state", plan_of(recipe), {moment: lambda writer: writer.say_as_a_person(role)})
    run = await table.hold()
    debate = table.debate()
    assert signed(debate) == expected
    require_laws(table, run.unused)
    require_people_are_answered(debate)
    (said,) = [line for line in debate.turns if line.turn.human]
    assert (said.turn.role, said.turn.agent_role, said.turn.seat) == (role, "maria", None)
    name = f"T{said.turn.turn_index + 1}"
    assert [(event.name, event.role, event.by) for event in table.events if isinstance(event, PersonSpoke)] == [
        (name, role, "maria")
    ]
    assert debate.state.max_turns == table.plan.turns + max(0, len(debate.turns) - table.plan.turns)


NOTED = ["round 1", "asks R1 Wind turn", "committed R1.Wind.1", "asks R1 Wall apply", "asks R1 Door turn"]


@pytest.mark.parametrize("moment", NOTED)
async def test_a_note_to_door_is_read_by_all_who_speak_after_it_and_answered(tmp_path: Path, moment: str) -> None:
    table = Table(tmp_path / "state", one_round(), {moment: Writer.remark_as_a_person})
    run = await table.hold()
    require_laws(table, run.unused)
    require_people_are_answered(table.debate())
    assert signed(table.debate()) == "WLLLD"
    assert [word.name for word in words_of_people(table.debate())] == ["N1"]


@pytest.mark.parametrize("moment", ["committed R1.Door.1", "asks R1 Door account"])
async def test_to_a_note_after_its_last_turn_door_says_its_last_word_again(tmp_path: Path, moment: str) -> None:
    table = Table(tmp_path / "state", one_round(), {moment: Writer.remark_as_a_person})
    run = await table.hold()
    debate = table.debate()
    require_laws(table, run.unused)
    require_people_are_answered(debate)
    (refined,) = debate.of(Refined)
    assert debate.synthesis is not None
    assert debate.synthesis.text == refined.text
    told = [event for event in table.events if isinstance(event, SynthesisRefined)]
    assert [(event.slot, event.answers) for event in told] == [("R1.Door.last", ("N1",))]


async def test_a_person_who_speaks_as_door_while_the_process_is_dead_is_answered_with_the_objections(
    tmp_path: Path,
) -> None:
    table = Table(tmp_path / "state", voted_on(), {}, objections=1)
    table.deaths = {13}
    assert await table.hold_until_it_dies() is None
    assert await table.go_on(lambda writer: writer.say_as_a_person(Role.DOOR)) is not None
    require_people_are_answered(table.debate())


async def test_a_note_during_a_vote_costs_no_refinement_that_voters_have(tmp_path: Path) -> None:
    plan = plan_of("council", turns=7, consensus={"required": True, "refinements": 1})
    table = Table(tmp_path / "state", plan, {"asks R1 Wall vote": Writer.remark_as_a_person}, objections=99)
    await table.hold()
    slots = [line.entry.body.seat.slot for line in table.debate().of(Refined) if line.entry.body.seat]  # type: ignore[union-attr]
    assert [slot.rpartition(".")[2] for slot in slots] == ["last", "1"]


# ---------------------------------------------------------------------------------------------- rounds that people ask


@pytest.mark.parametrize("moment", ["round 1", "asks R1 Door turn", "committed R1.Door.1", "asks R1 Door account"])
async def test_another_round_has_the_seats_of_the_last_one_and_stays_on_the_record(tmp_path: Path, moment: str) -> None:
    table = Table(tmp_path / "state", one_round(), {moment: Writer.ask_for_round})
    await table.hold()
    debate = table.debate()
    assert signed(debate) == "WLLLD · WLLLD"
    assert [(body.by, body.human, body.max_turns, body.max_rounds) for body in extensions(debate)] == [
        ("maria", True, 10, 2)
    ]
    assert debate.synthesis is not None
    assert debate.synthesis.text == debate.turns[-1].text
    assert [event.rounds for event in table.events if isinstance(event, RoundStarted)][-1] == 2
    last = [request for request in table.model.requests if request.task.last]
    assert last[-1].task.round == 2


async def test_a_person_opens_another_round_in_a_fixed_debate_and_speaks_in_it(tmp_path: Path) -> None:
    def ask_and_say(writer: Writer) -> None:
        writer.ask_for_round()
        writer.say_as_a_person(Role.WIND)

    table = Table(tmp_path / "state", plan_of("speed"), {"committed R1.Door.1": ask_and_say})
    run = await table.hold()
    assert signed(table.debate()) == "WLD · wLD"
    require_laws(table, run.unused)
    require_people_are_answered(table.debate())


async def test_two_rounds_that_are_asked_for_are_two(tmp_path: Path) -> None:
    twice = {"round 1": Writer.ask_for_round, "asks R2 Door turn": Writer.ask_for_round}
    table = Table(tmp_path / "state", plan_of("speed"), twice)
    await table.hold()
    assert signed(table.debate()) == "WLD · WLD · WLD"


@pytest.mark.parametrize("recipe", ["standard", "fortress"])
async def test_a_person_ends_a_debate_and_door_decides_with_its_last_word(tmp_path: Path, recipe: str) -> None:
    table = Table(tmp_path / "state", plan_of(recipe), {"committed R1.Door.1": Writer.end})
    await table.hold()
    debate = table.debate()
    assert {line.turn.round for line in debate.turns} == {1}
    (refined,) = debate.of(Refined)
    assert debate.state.status is Status.SYNTHESIS
    assert debate.synthesis is not None
    assert debate.synthesis.text == refined.text
    record = make_record(debate, table.plan)
    assert record.turns_not_needed == table.plan.turns - len(debate.turns)
    assert (record.closed_early, record.incomplete) == (None, ())
    told = render_adr(record, debate)
    assert f"Closed early: {record.turns_not_needed} planned turns not needed" in told
    assert "nothing open" not in told  # a person ended it, whatever was open


async def test_what_people_ask_for_is_told_of_and_stands_in_the_record(tmp_path: Path) -> None:
    acts = {"asks R1 Door turn": Writer.ask_for_round, "committed R1.Door.1": Writer.end}
    table = Table(tmp_path / "state", plan_of("speed"), acts)
    await table.hold()
    told = [event for event in table.events if isinstance(event, RoundAskedFor | EndAskedFor)]
    assert told == [RoundAskedFor(by="maria", rounds=2), EndAskedFor(by="maria")]
    assert make_record(table.debate(), table.plan).changes == (
        "maria asks for another round.",
        "maria ended the debate after round 1.",
    )


async def test_a_person_who_has_much_to_say_at_the_end_does_not_pause_the_run(tmp_path: Path) -> None:
    def remark_again(writer: Writer) -> None:
        writer.remark_as_a_person()
        if len(writer.words) <= MOST_CONFLICTS + 1:
            table.acts["asks R1 Door account"] = remark_again

    table = Table(tmp_path / "state", plan_of("speed"), {"asks R1 Door account": remark_again})
    await table.hold()
    debate = table.debate()
    assert len(debate.remarks) > MOST_CONFLICTS
    assert debate.state.status is Status.SYNTHESIS
    require_people_are_answered(debate)


async def test_a_person_who_would_open_the_next_round_waits_for_every_door_of_this_one(tmp_path: Path) -> None:
    moments: list[bool] = []

    def look(writer: Writer) -> None:
        moments.append(saying.is_their_moment(writer.hall, THREAD, A_SAYING._replace(role=Role.WIND)))

    acts = {f"committed R1.Door.{number}": look for number in (1, 2, 3)}
    table = Table(tmp_path / "state", plan_of("council"), acts)
    await table.hold()
    assert moments == [False, False, True]


async def test_a_round_that_is_asked_for_after_the_end_was_is_held(tmp_path: Path) -> None:
    acts = {"committed R1.Door.1": Writer.end, "asks R1 Door account": Writer.ask_for_round}
    table = Table(tmp_path / "state", plan_of("fortress"), acts)
    await table.hold()
    assert signed(table.debate()) == "WLLLD · WLLD"


@pytest.mark.parametrize("recipe", ["standard", "fortress"])
async def test_a_round_that_others_opened_is_answered_before_the_one_that_a_person_asked_for(
    tmp_path: Path, recipe: str
) -> None:
    def speak_and_ask(writer: Writer) -> None:
        writer.say(Role.WIND)  # in round 2, which is planned no more
        writer.ask_for_round()

    acts = {"round 1": Writer.end, "committed R1.Door.1": speak_and_ask}
    table = Table(tmp_path / "state", plan_of(recipe), acts)
    run = await table.hold()
    assert signed(table.debate()).split(" · ")[1] == "wLD"
    assert {line.turn.round for line in table.debate().turns} == {1, 2, 3}
    require_laws(table, run.unused)


@pytest.mark.parametrize("moment", ["round 1", "asks R1 Door turn", "committed R1.Door.1", "asks R1 Door account"])
async def test_a_round_that_a_person_asked_for_is_held_where_nothing_planned_is_open_any_more(
    tmp_path: Path, moment: str
) -> None:
    plan = plan_of("standard", early_close=True)
    table = Table(tmp_path / "state", plan, {moment: Writer.ask_for_round}, leaves_nothing_open=True)
    run = await table.hold()
    assert signed(table.debate()) == "WLD · WLD"
    require_laws(table, run.unused)
    assert [event.turns for event in table.events if isinstance(event, Settled)] == [9]


# --------------------------------------------------------------------------------------------- when it is not answered


async def test_a_door_that_passes_people_over_is_sent_back_once_and_then_the_record_says_so(tmp_path: Path) -> None:
    def deaf(request: Request) -> str:
        number = len(model.requests)
        return wordy(f"Therefore {number}.") if request.task.role is Role.DOOR and request.task.due else speak(request)

    def speak(request: Request) -> str:
        return speech(request, len(model.requests))

    model, events = Scripted(deaf), list[Event]()
    with hall_at(tmp_path / "state") as hall, hall_at(tmp_path / "state") as other:

        def told(event: Event) -> None:
            events.append(event)
            if isinstance(event, RoundStarted):
                other.remark(THREAD, "Who is on call on Sundays?", "maria")

        with anyio.fail_after(20):
            await held(hall, plan_of("speed"), model, told)
        record = make_record(hall.debate(THREAD), plan_of("speed"))
    (sent_back,) = [event for event in events if isinstance(event, SentBack)]
    assert "does not answer N1" in sent_back.reason
    assert record.incomplete == ("N1 (maria, a person) has no answer of Door in a line of its own.",)


async def test_what_a_person_said_and_was_redacted_needs_no_answer(tmp_path: Path) -> None:
    def say_and_redact(writer: Writer) -> None:
        writer.say_as_a_person(Role.WIND)
        writer.tombstone(0)

    table = Table(tmp_path / "state", plan_of("speed"), {"round 1": say_and_redact})
    await table.hold()
    assert unanswered(table.debate()) == ()
    assert all(request.task.due == () for request in table.model.requests)


async def test_a_persons_words_cost_nothing_and_are_nobodys_model(tmp_path: Path) -> None:
    acts = {"asks R1 Wall apply": lambda writer: writer.say_as_a_person(Role.WALL)}
    table = Table(tmp_path / "state", plan_of("speed"), acts)
    await table.hold()
    record = make_record(table.debate(), table.plan)
    (maria,) = [seat for seat in record.seats if seat.agent == "maria"]
    assert (maria.role, maria.answered, maria.cost_usd) == (Role.WALL, ("a person",), 0)


# ----------------------------------------------------------------------------------------------------- words that wait


@pytest.mark.slow
@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("moment", ["R1 Wind turn", "R1 Wall checklist", "R1 Wall apply", "R1 Door turn"])
@pytest.mark.parametrize("recipe", ["standard", "fortress"])
async def test_words_wait_for_the_next_legal_moment_while_a_run_goes_on(
    tmp_path: Path, recipe: str, moment: str, role: Role
) -> None:
    """From a thread of its own, as from another terminal; a call of the run lasts until the person has spoken, if it is
    the person's moment."""
    spoken: list[saying.Spoken] = []
    words, waits = Words("Mind the audit in March.", "maria", role), threading.Event()

    def speak() -> None:
        with hall_at(tmp_path / "state") as own:
            spoken.append(saying.say(own, THREAD, words, lambda _: waits.set()))
        waits.set()

    person = threading.Thread(target=speak, daemon=True)

    class Patient(Scripted):
        async def complete(self, request: Request) -> Any:
            task = request.task
            if f"R{task.round} {task.role} {task.step}" == moment and person.ident is None:
                person.start()
                await anyio.to_thread.run_sync(waits.wait)
            if person.is_alive() and saying.is_their_moment(other, THREAD, words):
                await anyio.to_thread.run_sync(person.join)
            return await super().complete(request)

    model = Patient(lambda request: speech(request, len(model.requests)))
    with hall_at(tmp_path / "state") as hall, hall_at(tmp_path / "state") as other, anyio.fail_after(30):
        await held(hall, plan_of(recipe), model, lambda event: None)
    await anyio.to_thread.run_sync(person.join)
    with hall_at(tmp_path / "state") as hall:
        debate = hall.debate(THREAD)
    assert [(line.turn.role, line.text) for line in debate.turns if line.turn.human] == [
        (role, "Mind the audit in March.")
    ]
    require_people_are_answered(debate)
    assert spoken[0].name in {word.name for word in words_of_people(debate)}
    assert len(debate.turns) - plan_of(recipe).turns == len(extensions(debate))


@pytest.mark.parametrize("mode", list(Mode))
def test_words_that_nobody_can_take_any_more_are_refused_and_nothing_is_written(tmp_path: Path, mode: Mode) -> None:
    with hall_at(tmp_path / "state") as hall:
        hall.init_debate(THREAD, "Q?", mode, max_turns=3, max_rounds=1)
        for role in Role:
            hall.say(THREAD, role, f"Words of {role}.", "maria")
        head = hall.debate(THREAD).head
        with pytest.raises(LimitReached, match="no turn of Wall left"):
            saying.say_now(hall, THREAD, Words("No.", "maria", Role.WALL))
        assert hall.debate(THREAD).head == head
        saying.open_round(hall, THREAD, "maria")
        say = partial(saying.say_now, hall, THREAD, Words("No.", "maria", Role.WALL))
        assert (say() is None) == (mode is Mode.FIXED)
        assert hall.state(THREAD).max_turns == 6


def test_where_nobody_runs_it_words_do_not_wait_unless_they_are_told_to(tmp_path: Path) -> None:
    with hall_at(tmp_path / "state") as hall:
        hall.init_debate(THREAD, "Q?")
        with pytest.raises(OutOfTurn, match=r"waits for Wind .* Nobody runs it now"):
            saying.say(hall, THREAD, Words("No.", "maria", Role.WALL), lambda why: None)

        def somebody_speaks(why: str) -> None:
            hall.add_turn(THREAD, Role.WIND, "What if?")

        assert saying.say(hall, THREAD, Words("No.", "maria", Role.WALL), somebody_speaks, patient=True).name == "T2"


def test_who_waits_reads_the_debate_when_it_has_moved_and_not_at_every_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hall_at(tmp_path / "state") as hall, hall_at(tmp_path / "state") as other:
        open_debate(other, one_round(), THREAD, "Q?")
        lease = other.runs.begin(THREAD)
        for role in (Role.WIND, Role.WALL):
            other.pick_next_speaker(THREAD, role)
            other.add_turn(THREAD, role, f"Words of {role}.")
        reads, looks = list[str](), count(1)

        def look(seconds: float) -> None:
            if next(looks) == 10:
                other.runs.release(lease)  # Walls are still to come, but nobody brings them any more

        debate = hall.debate
        monkeypatch.setattr(hall, "debate", lambda thread_id: reads.append(thread_id) or debate(thread_id))
        monkeypatch.setattr(saying.time, "sleep", look)
        assert saying.say(hall, THREAD, Words("So be it.", "maria", Role.DOOR), lambda why: None).name == "T3"
        assert len(reads) == 1


def test_a_closed_debate_takes_no_words(tmp_path: Path) -> None:
    with hall_at(tmp_path / "state") as hall:
        hall.init_debate(THREAD, "Q?")
        hall.force_close_debate(THREAD, "Enough.")
        for words in (A_SAYING, A_SAYING._replace(role=Role.WIND)):
            with pytest.raises(NotActive):
                saying.say_now(hall, THREAD, words)


def test_the_floor_and_the_turn_of_a_person_are_one_step(tmp_path: Path) -> None:
    with hall_at(tmp_path / "state") as hall:
        hall.init_debate(THREAD, "Q?", Mode.MEDIATED, max_turns=1)
        hall.say(THREAD, Role.WALL, "No.", "maria")
        before = hall.debate(THREAD)
        with pytest.raises(LimitReached):
            hall.say(THREAD, Role.WIND, "Yes.", "maria")
        assert hall.debate(THREAD) == before


def extensions(debate: Debate) -> list[Extended]:
    return [line.entry.body for line in debate.of(Extended) if isinstance(line.entry.body, Extended)]


class Listening:
    """A person at the table who hears of every round and has nothing to say."""

    def __init__(self) -> None:
        self.rounds: list[int] = []

    async def before(self, role: Role) -> bool:
        return False

    async def after_round(self, number: int) -> bool:
        self.rounds.append(number)
        return True


async def test_whoever_sits_at_the_table_hears_of_the_rounds_that_come_late_too(tmp_path: Path) -> None:
    """Another round is asked for while Door accounts for its decision: the planned ones are over by then."""
    person = Listening()
    with hall_at(tmp_path / "state") as hall:
        plan, asked = plan_of("speed"), count()

        def answer(request: Request) -> str:
            if request.task.step == "account" and next(asked) == 0:
                saying.open_round(hall, THREAD, "maria")
            return speech(request, len(model.requests))

        model = Scripted(answer)
        open_debate(hall, plan, THREAD, "Kafka?")
        with anyio.fail_after(20):
            drafting = Drafting(lambda route: model, lambda event: None, NO_WAITS)
            run = await hold_debate(hall, plan, THREAD, drafting, people=person)
    assert order(run.debate) == "WLD · WLD"
    assert person.rounds == [1, 2]
