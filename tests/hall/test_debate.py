"""Laws of every debate, whatever order its operations come in; the oracles are DESIGN's words, not the code's."""

from __future__ import annotations

from collections import Counter
from itertools import count

from halls import THREAD, salt_number
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.errors import HallError
from orchestrator.hall import ledger, rules
from orchestrator.hall.canonical import SaltedText
from orchestrator.hall.debate import Debate, Remark, State, fold
from orchestrator.hall.entries import (
    Body,
    Closed,
    Extended,
    FloorGiven,
    ForceClosed,
    Note,
    Opened,
    Refined,
    Tombstoned,
    Turn,
    Vote,
)
from orchestrator.hall.ledger import Standing, StoredLine, StoredThread
from orchestrator.hall.rules import Command
from orchestrator.hall.terms import Choice, Mode, Role, Status

WIND, WALL, DOOR = Role


class Paper:
    """A thread kept on paper: what a store would hold, without one."""

    def __init__(self, mode: Mode, barrier: bool, max_turns: int, max_rounds: int) -> None:
        self.standing: Standing | None = None
        self.lines: list[StoredLine] = []
        self.turns: list[Turn] = []
        self._salts = count()
        self.do(
            lambda state, digest: Opened(
                digest=digest,
                mode=mode,
                max_turns=max_turns,
                max_rounds=max_rounds,
                strict_cognition=False,
                barrier=barrier,
            )
        )

    @property
    def state(self) -> State:
        assert self.standing is not None
        return self.standing.state

    def do(self, make: object, words: str | None = "some words") -> Body:
        salted = SaltedText(words, salt_number(next(self._salts))) if words else None
        return self._write(Command(make, salted))  # type: ignore[arg-type]

    def pick(self, role: Role) -> Body:
        return self.do(lambda state, _: FloorGiven(role=role), None)

    def speak(self, role: Role) -> Body:
        words = SaltedText(f"Turn of {role}.", salt_number(next(self._salts)))
        body = self._write(rules.add_turn(role, None, words, {}))
        assert isinstance(body, Turn)
        self.turns.append(body)
        return body

    def redact(self, turn: int) -> Body:
        target = next((line for line in self.lines if line.turn_index == turn and line.text), None)
        if target is None:
            raise HallError("no such turn, or redacted")
        digest = self.turns[turn].digest
        body = self.do(
            lambda state, own: Tombstoned(digest=own, target=target.seq, original=digest, turn_index=turn), "a reason"
        )
        gone = target._replace(text=None, salt=None, erased_by=self.state.seq, erased_why="a reason")
        self.lines[target.seq] = gone
        return body

    def _write(self, command: Command) -> Body:
        body = rules.decide(self.standing.state if self.standing else None, command)
        sealed = ledger.seal(THREAD, self.standing, body, command.words, f"2026-01-06T{len(self.lines):06}")
        text, salt = (command.words.text, command.words.salt) if command.words else (None, None)
        self.lines.append(StoredLine(sealed.entry.seq, sealed.turn_index, sealed.hash, sealed.stored, text, salt))
        self.standing = ledger.standing(sealed, self.standing)
        return body

    def verified(self) -> Debate:
        assert self.standing is not None
        state = self.standing.state.encode()
        return ledger.verify(StoredThread(THREAD, self.standing.head, state, tuple(self.lines), None))


ROLES = st.sampled_from(Role)
OPERATIONS = st.one_of(
    st.tuples(st.just("pick and speak"), ROLES),
    st.tuples(st.just("speak"), ROLES),
    st.tuples(st.just("speak next"), st.none()),
    st.tuples(st.just("pick"), ROLES),
    st.tuples(st.just("vote"), ROLES),
    st.tuples(st.sampled_from(["refine", "note", "extend", "close", "force"]), st.none()),
    st.tuples(st.just("redact"), st.integers(0, 4)),
)
SPEECHES = st.tuples(st.sampled_from(["pick and speak", "speak next"]), ROLES)


def perform(paper: Paper, operation: str, argument: object) -> None:  # noqa: C901 - one case an operation
    state = paper.state
    match operation, argument:
        case "pick and speak", Role() as role:
            if state.mode is Mode.MEDIATED:
                paper.pick(role)
            paper.speak(role)
        case "speak", Role() as role:
            paper.speak(role)
        case "speak next", _:
            paper.speak(rules.next_role(state) or WIND)
        case "pick", Role() as role:
            paper.pick(role)
        case "vote", Role() as role:
            on = state.synthesis_seq or 0
            paper.do(lambda _, digest: Vote(digest=digest, on=on, role=role, choice=Choice.OBJECT))
        case "refine", _:
            paper.do(lambda _, digest: Refined(digest=digest, number=state.refinements + 1))
        case "note", _:
            paper.do(lambda _, digest: Note(digest=digest, about="remark", by="somebody"))
        case "extend", _:
            limits = {"max_turns": state.max_turns + 1, "max_rounds": state.max_rounds + 1}
            paper.do(lambda _, digest: Extended(digest=digest, by="somebody", **limits))
        case "close", _:
            paper.do(lambda _, digest: Closed(digest=digest, status=Status.SYNTHESIS))
        case "force", _:
            paper.do(lambda _, digest: ForceClosed(digest=digest))
        case "redact", int() as turn:
            paper.redact(turn)


@st.composite
def papers(draw: st.DrawFn) -> Paper:
    """Debates of any shape, most of them mostly of turns."""
    paper = Paper(draw(st.sampled_from(Mode)), draw(st.booleans()), draw(st.integers(1, 12)), draw(st.integers(1, 4)))
    for operation, argument in draw(st.lists(SPEECHES, max_size=9)) + draw(st.lists(OPERATIONS, max_size=9)):
        before = (paper.standing, list(paper.lines))
        try:
            perform(paper, operation, argument)
        except HallError:
            if operation != "pick and speak":  # two operations; the pick may stand
                assert (paper.standing, paper.lines) == before
    return paper


def rounds_by_definition(roles: list[Role]) -> list[list[Role]]:
    """From the first Wind or Wall after a Door up to the last Door in a row."""
    rounds: list[list[Role]] = []
    for index, role in enumerate(roles):
        if index == 0 or (role is not DOOR and roles[index - 1] is DOOR):
            rounds.append([])
        rounds[-1].append(role)
    return rounds


@settings(deadline=None)
@given(papers())
def test_a_debate_of_legal_operations_verifies_and_its_running_state_is_the_fold_of_its_entries(paper: Paper) -> None:
    debate = paper.verified()
    assert debate.state == paper.state == fold(debate.lines).state == State.decode(paper.state.encode())
    assert debate == fold(debate.lines)
    assert [line.entry.body for line in debate.turns] == paper.turns
    assert len(paper.state.encode()) < 600


@settings(deadline=None)
@given(papers())
def test_turns_are_numbered_by_the_definition_of_a_round_and_no_limit_is_ever_passed(paper: Paper) -> None:
    roles = [turn.role for turn in paper.turns]
    rounds = rounds_by_definition(roles)
    numbers = [number for number, members in enumerate(rounds, 1) for _ in members]
    assert [(turn.turn_index, turn.round) for turn in paper.turns] == list(enumerate(numbers))
    state = paper.state
    assert (state.turn_count, state.round) == (len(roles), len(rounds))
    assert state.turn_count <= state.max_turns
    assert state.round <= state.max_rounds
    assert [state.spoken.of(role) for role in Role] == [Counter(roles)[role] for role in Role]


def a_turn_was_left(paper: Paper) -> bool:
    """Whether somebody could have spoken when it was closed: else a round may end without its Wall."""
    return rules.legal_roles(paper.state._replace(status=Status.ACTIVE)) != ()


@settings(deadline=None)
@given(papers())
def test_behind_a_barrier_door_never_speaks_in_a_round_before_wind_and_wall(paper: Paper) -> None:
    if not paper.state.barrier:
        return
    for members in rounds_by_definition([turn.role for turn in paper.turns]):
        if DOOR in members:
            assert {WIND, WALL} <= set(members[: members.index(DOOR)])
    if paper.state.status is Status.SYNTHESIS:
        roles = [turn.role for turn in paper.turns]
        assert {WIND, WALL} <= set(rounds_by_definition(roles)[-1] if a_turn_was_left(paper) else roles)


@settings(deadline=None)
@given(papers())
def test_fixed_debates_go_round_wind_wall_door(paper: Paper) -> None:
    if paper.state.mode is Mode.FIXED:
        assert [turn.role for turn in paper.turns] == [tuple(Role)[index % 3] for index in range(len(paper.turns))]


@settings(deadline=None)
@given(papers())
def test_the_roles_called_legal_are_exactly_those_that_are_accepted(paper: Paper) -> None:
    state = paper.state

    def accepts(role: Role, kind: str) -> bool:
        try:
            if kind == "pick":
                rules.check(state, FloorGiven(role=role))
            else:
                rules.decide(state, rules.add_turn(role, None, SaltedText("words", salt_number(0)), {}))
        except HallError:
            return False
        return True

    spoken = [role for role in Role if accepts(role, "turn")]
    following = rules.next_role(state)
    assert spoken == ([following] if following else [])
    if state.mode is Mode.MEDIATED:
        assert tuple(role for role in Role if accepts(role, "pick")) == rules.legal_roles(state)
    else:
        assert not any(accepts(role, "pick") for role in Role)
        assert tuple(spoken) == rules.legal_roles(state)


@settings(deadline=None)
@given(papers())
def test_starved_roles_are_those_that_a_finished_round_did_without(paper: Paper) -> None:
    rounds = rounds_by_definition([turn.role for turn in paper.turns])
    closed_by_word = paper.state.status in (Status.SYNTHESIS, Status.STALEMATE)
    if closed_by_word:
        rounds = [*rounds[:-1], [*(rounds[-1] if rounds else []), DOOR]]
    elif paper.state.status is Status.FORCE_CLOSED:
        rounds = rounds or [[]]
    elif rounds and DOOR not in rounds[-1]:
        rounds = rounds[:-1]
    starved = tuple(role for role in Role if any(role not in members for members in rounds))
    assert paper.state.starved_roles == starved
    if paper.state.barrier and paper.state.status is not Status.FORCE_CLOSED and a_turn_was_left(paper):
        assert starved == ()


def test_a_snapshot_shows_turns_and_notes_and_stays_as_it_was() -> None:
    paper = Paper(Mode.FIXED, True, 12, 4)
    paper.speak(WIND)
    perform(paper, "note", None)
    snapshot = paper.verified().snapshot()
    paper.speak(WALL)
    assert snapshot.head == paper.lines[2].hash
    assert [(said.number, said.round, said.role, said.text) for said in snapshot.turns] == [
        (1, 1, WIND, "Turn of Wind.")
    ]
    assert snapshot.notes == (Remark(1, "somebody", "some words"),)
    assert len(paper.verified().snapshot().turns) == 2
