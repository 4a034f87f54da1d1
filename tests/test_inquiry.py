"""A question about a debate: what is asked, what of the answer is checked, and that the debate stays as it was."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import anyio
import pytest

from building import (
    NO_WAITS,
    THREAD,
    account_text,
    evidence_of,
    hall_at,
    hold,
    plan_of,
    speech,
    voices,
    vote_text,
    wordy,
)
from orchestrator.decision.record import record_of
from orchestrator.drafting import Drafting
from orchestrator.drafts import Paid
from orchestrator.errors import AuthenticationFailed, HoldsSecret, RunPaused, StoppedByLimit, UsageError
from orchestrator.events import Event, SentBack
from orchestrator.export.marks import marks_of
from orchestrator.hall.debate import Debate
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import About, Role
from orchestrator.inquiry import AnswerWanted, answer, answers_to, debate_to_ask, earlier_answer, prepare
from orchestrator.models.base import Request
from orchestrator.models.failures import failure
from orchestrator.models.rehearsal import NAME as REHEARSAL
from orchestrator.models.rehearsal import Rehearsal
from orchestrator.models.scripted import Line, Scripted
from orchestrator.plan import Plan
from orchestrator.question import Question, plan_of_answer
from orchestrator.recipe import Limits
from orchestrator.resuming import resumable
from orchestrator.runner import Run

QUESTION = "Why not Postgres?"
GOOD = "It was not raised; Door decided otherwise in [T3]."
CONSTRAINTS = (
    "## CONSTRAINTS\n- [C1] CONSTRAINT: No order may be lost. Reality: it is law. Violation: a gap. Instead: write "
    "both. Remediation: name the day.\n"
)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a hall in which a debate of three turns was held: with a constraint, a note and an objection."""
    folder = tmp_path_factory.mktemp("first")
    with hall_at(folder) as hall:
        held(hall, script=partial(said, hall))
    return folder


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hall]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with hall_at(tmp_path / "state") as hall:
        yield hall


@pytest.fixture
def hall(first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hall]:
    """A copy of that one."""
    shutil.copytree(first, tmp_path / "state")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with hall_at(tmp_path / "state") as hall:
        yield hall


def held(hall: Hall, plan: Plan | None = None, script: Callable[[Request], Line] | None = None) -> Scripted:
    """Holds a debate of three turns; returns the model that was asked."""
    model = Scripted(script) if script else voices()
    work(lambda: hold(hall, plan or plan_of(evidence=[evidence_of()], consensus={"required": True}), model))
    return model


def said(hall: Hall, request: Request) -> Line:
    task = request.task
    if task.step == "checklist":
        hall.note(THREAD, "Who pays?", "remark", "maria")
    if task.step == "vote" and task.role is Role.WALL and "O1" not in request.messages[-1].text:
        return vote_text("object", "It lacks a day.")
    if task.step == "account":
        return account_text(constraints=[{"id": "T2.C1", "outcome": "open", "sentence": None}])
    told = speech(request, len(request.messages))
    return f"{told}\n\n{CONSTRAINTS}" if task.step == "apply" else told


def work(task: Callable[[], object]) -> object:
    async def in_time() -> object:
        with anyio.fail_after(20):
            return await task()  # type: ignore[misc]

    return anyio.run(in_time)


def asked(
    hall: Hall,
    *lines: Line,
    wanted: AnswerWanted | None = None,
    thread_id: str = THREAD,
    reader: Callable[[Event], None] = lambda event: None,
    paid: Paid | None = None,
) -> tuple[Run, Scripted]:
    """Asks, and gets these lines as answers."""
    wanted = wanted or AnswerWanted(QUESTION)
    model = Scripted(lines or (GOOD,))
    inquiry = prepare(hall, debate_to_ask(hall, thread_id), wanted, {"OPENAI_API_KEY": "asked-of-nobody"})
    drafting = Drafting(lambda route: model, reader, NO_WAITS, paid or Paid())
    run = work(lambda: answer(hall, inquiry, drafting))
    assert isinstance(run, Run)
    return run, model


def problems(debate: Debate) -> Sequence[str]:
    return [line.words for line in debate.notes(About.UNGROUNDED)]


# ------------------------------------------------------------------------------------------------------ the two threads


def test_the_debate_stays_as_it_was_to_the_last_byte(hall: Hall) -> None:
    before = hall.export_debate(THREAD), hall.journal(THREAD), hall.runs.row(THREAD), hall.runs.reports(THREAD)
    asked(hall)
    assert (
        hall.export_debate(THREAD),
        hall.journal(THREAD),
        hall.runs.row(THREAD),
        hall.runs.reports(THREAD),
    ) == before


def test_an_answer_is_a_debate_of_one_turn_that_is_linked_to_the_other_at_its_head(hall: Hall) -> None:
    run, _ = asked(hall)
    told = hall.get_debate(run.debate.state.thread_id)
    assert told["thread_id"] == f"{THREAD}-answer-1"
    assert told["link"] == {"kind": "answers", "thread_id": THREAD, "head": hall.debate(THREAD).head}
    assert (told["topic"], told["synthesis"], told["status"]) == (QUESTION, GOOD, "synthesis")
    assert [(turn["role"], turn["content"]) for turn in told["transcript"]] == [("Door", GOOD)]
    assert hall.verify_debate(told["thread_id"])["verified"]
    assert "link" not in hall.get_debate(THREAD)


def test_an_answer_claims_no_decision_and_misses_nobody(hall: Hall) -> None:
    debate = asked(hall)[0].debate
    record = record_of(debate)
    about = f"to a question about {THREAD} as it stood at {hall.debate(THREAD).head}; it decides nothing."
    assert (record.decision, record.starved_roles, record.warnings, record.incomplete) == (None, (), (), ())
    assert list(map(str, marks_of(record, "below"))) == [f"ANSWER: {about}"] == list(debate.first_words)
    assert record.tokens.output > 0


def test_each_question_has_a_thread_of_its_own(hall: Hall) -> None:
    for question in ("Why?", "Who?"):
        asked(hall, wanted=AnswerWanted(question))
    threads = [(found.state.thread_id, found.opening.text) for found in answers_to(hall, hall.debate(THREAD))]
    assert threads == [(f"{THREAD}-answer-1", "Why?"), (f"{THREAD}-answer-2", "Who?")]


def test_a_thread_that_has_the_name_of_an_answer_and_is_none_is_passed_over(hall: Hall) -> None:
    hall.init_debate(f"{THREAD}-answer-1", QUESTION)
    assert asked(hall)[0].debate.state.thread_id == f"{THREAD}-answer-2"


def test_the_longest_thread_id_leaves_room_for_an_answer(empty: Hall) -> None:
    name = "2026-01-06-" + "b" * 117
    empty.init_debate(name, "Kafka?")
    empty.add_turn(name, "Wind", "What if it stays?")
    run, _ = asked(empty, "It was asked in [T1].", wanted=AnswerWanted(QUESTION, ("openai/any",)), thread_id=name)
    assert len(run.debate.state.thread_id) == 128
    assert run.debate.answers is not None
    assert run.debate.answers.thread_id == name


# ------------------------------------------------------------------------------------------------------ what is asked


def test_the_request_begins_with_the_bytes_of_the_debates_own(empty: Hall) -> None:
    account = next(request for request in held(empty, plan_of()).requests if request.task.step == "account")
    _, model = asked(empty)
    (request,) = model.requests
    assert request.model == account.model == "test/door"
    assert request.messages[:-1] == account.messages[:-1]


def test_what_the_ledger_holds_beside_turns_is_told_too(hall: Hall) -> None:
    _, model = asked(hall, "Wall wanted a day [O1].")
    told = model.requests[0].messages[-1].text
    assert "- Wall wall-agent, object, O1: It lacks a day. (T1)" in told
    assert "- Step by step (T1), taken: It works. (T1)" in told
    assert "It closed as synthesis with these words:\n\nTherefore draft" in told


def test_what_was_redacted_is_asked_as_redacted(hall: Hall) -> None:
    gone = hall.debate(THREAD).turns[0].words
    hall.tombstone_turn(THREAD, 0, "It named a customer.")
    _, model = asked(hall)
    told = "".join(message.text for message in model.requests[0].messages)
    assert "[REDACTED: It named a customer.]" in told
    assert gone not in told


def test_a_redaction_takes_its_words_from_what_answers_were_asked_and_said_too(hall: Hall, tmp_path: Path) -> None:
    gone = hall.debate(THREAD).turns[0].words[:60]
    run, _ = asked(hall, f"[T99] says it: {gone}", GOOD)  # the first is sent back, and stands in the journal alone
    assert times(tmp_path / "state", gone) > 0
    assert hall.tombstone_turn(THREAD, 0, "It named a customer.")["erased"] == "done"
    assert times(tmp_path / "state", gone) == 0
    assert hall.verify_debate(run.debate.state.thread_id)["verified"]


def test_an_answer_from_words_that_are_redacted_meanwhile_is_told_and_not_kept(hall: Hall, tmp_path: Path) -> None:
    gone = hall.debate(THREAD).turns[0].words[:60]

    def redacting(request: Request) -> Line:
        hall.tombstone_turn(THREAD, 0, "It named a customer.")
        return f"{gone} was said in [T1]."

    model, paid = Scripted(redacting), Paid()
    inquiry = prepare(hall, debate_to_ask(hall, THREAD), AnswerWanted(QUESTION), {"OPENAI_API_KEY": "asked-of-nobody"})
    with pytest.raises(RunPaused, match="redacted while the question was answered"):
        work(lambda: answer(hall, inquiry, Drafting(lambda route: model, lambda event: None, NO_WAITS, paid)))
    assert [draft.text for draft in paid.unused] == [f"{gone} was said in [T1]."]
    assert times(tmp_path / "state", gone) == 0
    assert asked(hall)[0].debate.state.thread_id == f"{THREAD}-answer-2"


def times(folder: Path, words: str) -> int:
    """How often words stand in the files of a hall."""
    return sum(path.read_bytes().count(words.encode()) for path in folder.iterdir())


def test_an_open_debate_is_asked_as_it_stands(empty: Hall) -> None:
    empty.init_debate(THREAD, "Kafka?")
    empty.add_turn(THREAD, "Wind", "What if it stays?")
    wanted = AnswerWanted(QUESTION, ("openai/any",))
    first, model = asked(empty, "It was asked in [T1].", wanted=wanted)
    assert "It is not closed yet." in model.requests[0].messages[-1].text
    empty.add_turn(THREAD, "Wall", "Yes, but who pays?")
    second, _ = asked(empty, "It was asked in [T2].", wanted=wanted)
    assert [run.debate.state.thread_id for run in (first, second)] == [f"{THREAD}-answer-1", f"{THREAD}-answer-2"]
    assert (problems(first.debate), problems(second.debate)) == ([], [])


# ----------------------------------------------------------------------------------------------------- what is checked


@pytest.mark.parametrize(
    "text",
    [
        "Door decided so [T3].",
        "It may lose nothing [T2.C1].",
        'The notes say "second line" [E1:2].',
        "Nobody spoke of it: NOT IN THE RECORD.",
        "Maria asked it [N1].",
        "Wall objected once [O1].",
    ],
)
def test_what_an_answer_names_and_what_exists_is_no_defect(hall: Hall, text: str) -> None:
    assert question(hall).problems_of(text) == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Door decided so [T9].", "It names T9, but there is no T9 in the debate."),
        ("It may lose nothing [T2.C7].", "It names T2.C7, but there is no T2.C7 in the debate."),
        ("See [E1:7] and [T3].", "It names E1:7, but notes.md has 2 lines."),
        ("Wall objected [O7].", "It names O7, but there is no O7 in the debate."),
        ("Maria asked it [N2].", "It names N2, but there is no N2 in the debate."),
        ("Door simply decided so.", "It names nothing that it rests on."),
    ],
)
def test_what_an_answer_names_and_what_does_not_exist_is_told(hall: Hall, text: str, problem: str) -> None:
    assert question(hall).problems_of(text) == (problem,)


def question(hall: Hall) -> Question:
    debate = hall.debate(THREAD)
    return Question.about(debate, QUESTION, plan_of_answer(Plan.decode(debate.plan or "")))


def test_an_answer_that_does_not_hold_is_sent_back_once_and_then_kept_with_the_defect(hall: Hall) -> None:
    text, problem = "Door decided so [T9].", "It names T9, but there is no T9 in the debate."
    events: list[Event] = []
    run, model = asked(hall, text, text, reader=events.append)
    (sent_back,) = (event for event in events if isinstance(event, SentBack))
    assert problem in sent_back.reason
    assert problem in model.requests[1].messages[-1].text
    assert run.debate.synthesis is not None
    assert (run.debate.synthesis.text, problems(run.debate)) == (text, [problem])
    assert record_of(run.debate).incomplete == (problem,)
    assert [mark.word for mark in marks_of(record_of(run.debate), "below")] == ["ANSWER", "INCOMPLETE"]


def test_an_answer_that_is_mended_has_no_defect(hall: Hall) -> None:
    run, model = asked(hall, "Door decided so [T9].", GOOD)
    assert (len(model.requests), run.debate.synthesis and run.debate.synthesis.text) == (2, GOOD)
    assert problems(run.debate) == []


# ------------------------------------------------------------------------------------------------- nothing bought twice


def test_what_was_answered_is_found_again_until_the_head_moves(hall: Hall) -> None:
    run, _ = asked(hall)
    debate = hall.debate(THREAD)
    found = earlier_answer(hall, debate, QUESTION)
    assert found is not None
    assert found.head == run.debate.head
    assert earlier_answer(hall, debate, "Why not SQLite?") is None
    hall.tombstone_turn(THREAD, 0, "It named a customer.")
    assert earlier_answer(hall, hall.debate(THREAD), QUESTION) is None


def test_an_answer_that_was_closed_by_force_is_none(hall: Hall) -> None:
    with pytest.raises(RunPaused):
        asked(hall, failure(AuthenticationFailed, "no key", model="test/door"))
    hall.force_close_debate(f"{THREAD}-answer-1", "Not now.")
    assert earlier_answer(hall, hall.debate(THREAD), QUESTION) is None
    assert asked(hall)[0].debate.state.thread_id == f"{THREAD}-answer-2"


def test_a_failure_leaves_the_question_open_and_the_next_one_goes_on(hall: Hall) -> None:
    with pytest.raises(RunPaused, match="Door door-agent"):
        asked(hall, failure(AuthenticationFailed, "no key", model="test/door"))
    run, _ = asked(hall)
    assert run.debate.state.thread_id == f"{THREAD}-answer-1"
    assert len(run.debate.notes(About.RESUMED)) == 1


def test_a_question_that_met_a_limit_goes_on_once_it_is_raised(hall: Hall) -> None:
    with pytest.raises(StoppedByLimit):
        asked(hall, wanted=AnswerWanted(QUESTION, limits=Limits(tokens=10)))
    run, model = asked(hall, wanted=AnswerWanted(QUESTION, limits=Limits(tokens=1_000_000)))
    assert len(model.requests) == 1
    assert run.debate.state.thread_id == f"{THREAD}-answer-1"
    assert run.debate.notes(About.CHANGED)[0].words == "From here on it may take at most 1,000,000 tokens."


def test_a_turn_that_stands_already_is_only_closed(hall: Hall) -> None:
    """As after a death between the commit and the close."""
    inquiry = prepare(hall, hall.debate(THREAD), AnswerWanted(QUESTION), {})
    hall.pick_next_speaker(inquiry.thread_id, "Door")
    hall.add_turn(inquiry.thread_id, "Door", "So it is [T9].")
    run, model = asked(hall)
    assert model.requests == []
    assert run.debate.synthesis is not None
    assert run.debate.synthesis.text == "So it is [T9]."
    assert problems(run.debate) == ["It names T9, but there is no T9 in the debate."]


# ---------------------------------------------------------------------------------------------------------- who answers


def test_the_debates_fallbacks_are_asked_too(empty: Hall) -> None:
    held(empty, plan_of(routes={Role.DOOR: ("test/door", "test/spare")}))
    gone = failure(AuthenticationFailed, "no key", model="test/door")
    run, model = asked(empty, gone, GOOD)
    assert [request.model for request in model.requests] == ["test/door", "test/spare"]
    assert run.debate.turns[0].turn.seat is not None
    assert run.debate.turns[0].turn.seat.route == "test/spare"


def test_another_model_is_asked_where_one_is_named(hall: Hall) -> None:
    _, model = asked(hall, wanted=AnswerWanted(QUESTION, ("openai/other",)))
    assert [request.model for request in model.requests] == ["openai/other"]


def test_the_built_in_voice_of_a_rehearsal_cannot_answer(empty: Hall) -> None:
    plan = plan_of(routes={role: (REHEARSAL,) for role in Role})
    work(lambda: hold(empty, plan, Rehearsal()))
    with pytest.raises(UsageError, match="asks questions and answers none") as refused:
        prepare(empty, empty.debate(THREAD), AnswerWanted(QUESTION), {})
    assert refused.value.cure == f'Name a model: debate-hall ask {THREAD} --model MODEL "…"'
    assert [debate["thread_id"] for debate in empty.list_debates()] == [THREAD]
    run, _ = asked(empty, wanted=AnswerWanted(QUESTION, ("openai/any",)))
    assert run.debate.state.marks == ("ANSWER",)


def test_a_debate_by_hand_is_answered_by_the_door_of_the_models_file(empty: Hall, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "routes: {PATHOS: [openai/wind], ETHOS: [openai/wall], LOGOS: [openai/door, openai/spare]}\n"
    )
    empty.init_debate(THREAD, "Kafka?")
    empty.add_turn(THREAD, "Wind", wordy("What if it stays?"))
    run, model = asked(empty, "It was asked in [T1].", wanted=AnswerWanted(QUESTION, models="./own.yaml"))
    assert [request.model for request in model.requests] == ["openai/door"]
    assert run.debate.turns[0].turn.agent_role == "door-agent"


# ---------------------------------------------------------------------------------------------------------- what is not


def test_an_answer_is_not_asked_and_not_resumed(hall: Hall) -> None:
    run, _ = asked(hall)
    name = run.debate.state.thread_id
    with pytest.raises(UsageError, match="is itself an answer"):
        debate_to_ask(hall, name)
    with pytest.raises(UsageError, match=f"answers a question about {THREAD}") as refused:
        resumable(hall, name)
    assert refused.value.cure.endswith(f'debate-hall ask {THREAD} "…"')


def test_a_debate_in_which_nobody_has_spoken_is_not_asked(empty: Hall) -> None:
    empty.init_debate(THREAD, "Kafka?")
    with pytest.raises(UsageError, match="Nobody has spoken"):
        debate_to_ask(empty, THREAD)


def test_a_question_that_holds_a_secret_opens_nothing(hall: Hall) -> None:
    with pytest.raises(HoldsSecret, match="The question holds"):
        prepare(hall, hall.debate(THREAD), AnswerWanted("Is sk-proj-" + "a1B2" * 12 + " ours?"), {})
    assert len(hall.list_debates()) == 1
