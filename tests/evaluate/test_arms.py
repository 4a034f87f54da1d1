"""Arms: who answers, how several answers become one, and what an arm may take."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest
from answering import ROUTES, Voices, answer, brief, held, prepared

from orchestrator.errors import UsageError
from orchestrator.evaluate.answer import Answer
from orchestrator.evaluate.arm import Arm, arms_named
from orchestrator.evaluate.arms import Allowed, counted
from orchestrator.evaluate.results import Result, Spent, Votes
from orchestrator.hall.terms import Role
from orchestrator.models.base import Request

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("text", "arm"),
    [
        ("single", Arm("single", "single")),
        (" Majority:Wall ", Arm("majority:wall", "majority", Role.WALL)),
        ("refine:wind", Arm("refine:wind", "refine", Role.WIND)),
        ("recipe:Fortress", Arm("recipe:fortress", "recipe", recipe="fortress")),
        ("recipe:./My.yaml", Arm("recipe:./My.yaml", "recipe", recipe="./My.yaml")),
    ],
)
def test_arms_go_by_their_names(text: str, arm: Arm) -> None:
    assert Arm.named(text) == arm


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("majorty", "Did you mean majority?"),
        ("recipe", "and recipe:NAME"),
        ("single:judge", "each also with :wind, :wall or :door"),
        ("", "There is no arm ''"),
        ("single,single", "named twice"),
    ],
)
def test_what_is_no_arm_is_told_with_those_that_are(text: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        arms_named([text])
    assert says in str(caught.value)


# ------------------------------------------------------------------------------------------------------------ counting


def answers(options: str) -> list[Answer]:
    return [Answer.model_validate_json(answer(each, statement=f"Answer {n}.")) for n, each in enumerate(options)]


@pytest.mark.parametrize(
    ("options", "votes", "tied", "speaks"),
    [
        ("B", {"B": 1}, (), 0),
        ("ABB", {"B": 2, "A": 1}, (), 1),
        ("ABBA", {"A": 2, "B": 2}, ("A", "B"), 0),
        ("CBBCA", {"C": 2, "B": 2, "A": 1}, ("C", "B"), 0),
        ("bB", {"B": 2}, (), 0),
        ("ADCB", {"A": 1, "D": 1, "C": 1, "B": 1}, ("A", "D", "C", "B"), 0),
    ],
)
def test_the_option_that_most_chose_speaks_in_the_words_of_the_first_that_chose_it(
    options: str, votes: dict[str, int], tied: tuple[str, ...], speaks: int
) -> None:
    reached = counted(brief(), answers(options))
    assert reached.votes == tuple(Votes(option=option, count=count) for option, count in votes.items())
    assert reached.tied == tied
    assert reached.answer is not None
    assert reached.answer.statement == f"Answer {speaks}."


def test_what_is_none_of_the_options_is_counted_together_and_where_it_wins_set_aside() -> None:
    said = [Answer.model_validate_json(answer(option)) for option in ("other", "B", "Pulsar")]
    reached = counted(brief(), said)
    assert reached.votes == (Votes(option="other", count=2), Votes(option="B", count=1))
    assert reached.answer == said[0]


# ---------------------------------------------------------------------------------------------------------------- ways


async def one(folder: Path, arm: str, voices: Voices, **members: object) -> Result:
    evaluated = await held(prepared(arms=(arm,), **members), folder, voices)
    (result,) = evaluated.results.results
    return result


@pytest.mark.parametrize(
    ("arm", "role"), [("single", Role.DOOR), ("single:wall", Role.WALL), ("refine:wind", Role.WIND)]
)
async def test_an_arm_of_one_voice_asks_one_route(arm: str, role: Role, tmp_path: Path) -> None:
    voices = Voices()
    await one(tmp_path, arm, voices)
    assert {request.model for request in voices.requests} == {ROUTES[role]}


async def test_a_majority_asks_the_routes_of_all_seats_in_turn_with_the_same_request(tmp_path: Path) -> None:
    voices = Voices()
    result = await one(tmp_path, "majority", voices, equal_to="speed")
    asked = Counter(request.model for request in voices.requests)
    assert set(asked) == set(ROUTES.values())
    assert max(asked.values()) - min(asked.values()) <= 1
    assert len({request.messages for request in voices.requests}) == 1
    assert sum(vote.count for vote in result.votes) == len(voices.requests)


async def test_a_majority_does_without_answers_that_cannot_be_had(tmp_path: Path) -> None:
    voices = Voices(lambda request: "No." if request.task.round == 2 else answer("B"))
    result = await one(tmp_path, "majority", voices, equal_to="speed")
    assert result.outcome == "answered"
    assert sum(vote.count for vote in result.votes) == len(voices.requests) - 2


async def test_a_majority_does_without_its_first_answer_too(tmp_path: Path) -> None:
    first = ROUTES[Role.DOOR]
    voices = Voices(lambda request: "No." if request.model == first else answer("B"))
    result = await one(tmp_path, "majority", voices, equal_to="speed")
    heard = sum(request.model != first for request in voices.requests)
    assert (result.outcome, result.votes) == ("answered", (Votes(option="B", count=heard),))
    assert heard > 1


async def test_a_majority_that_nobody_answers_has_failed_once_each_route_was_asked(tmp_path: Path) -> None:
    voices = Voices(lambda request: "No.")
    result = await one(tmp_path, "majority", voices, equal_to="speed")
    assert (result.outcome, result.votes) == ("failed", ())
    assert ROUTES[Role.DOOR] in (result.failure or "")
    assert Counter(request.model for request in voices.requests) == dict.fromkeys(ROUTES.values(), 2)


async def test_refining_criticises_and_rewrites_and_the_last_answer_counts(tmp_path: Path) -> None:
    def says(request: Request) -> str:
        number = request.task.round
        return (
            f"Criticism {number}."
            if request.task.step == "refine"
            else answer("AB"[number > 1], reasons=(f"R{number}",))
        )

    voices = Voices(says)
    result = await one(tmp_path, "refine", voices, equal_to="speed")
    steps = [request.task.step for request in voices.requests]
    rounds = len(steps) // 2
    assert rounds >= 1
    assert steps == ["answer", *["refine", "answer"] * rounds]
    last = voices.requests[-1].messages
    assert [message.speaker for message in last] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert (f"R{rounds}" in last[2].text, last[4].text) == (True, f"Criticism {rounds}.")
    assert result.answer is not None
    assert (result.answer.option, result.answer.reasons) == ("B", (f"R{rounds + 1}",))


async def test_one_that_cannot_be_heard_has_failed_and_the_others_answer(tmp_path: Path) -> None:
    voices = Voices(lambda request: "No." if request.task.step == "checklist" or request.task.role == "Wall" else None)
    evaluated = await held(prepared(arms=("single", "recipe:speed", "majority:door")), tmp_path, voices)
    assert [(result.arm, result.outcome) for result in evaluated.results.results] == [
        ("single", "answered"),
        ("recipe:speed", "failed"),
        ("majority:door", "answered"),
    ]
    assert evaluated.results.results[1].spent.calls > 0
    assert evaluated.results.results[2].allowed_usd is not None  # quoted, since nothing was measured


# ----------------------------------------------------------------------------------------------------------- equal cost


@pytest.mark.parametrize("briefs", [5, pytest.param(20, marks=pytest.mark.slow)])
async def test_over_all_briefs_each_arm_takes_what_the_recipe_takes_within_a_twentieth(
    briefs: int, tmp_path: Path
) -> None:
    arms = ("recipe:speed", "majority", "refine")
    ids = [f"{number:03}" for number in range(1, briefs + 1)]
    results = (await held(prepared(*ids, arms=arms), tmp_path, Voices())).results
    spent = {arm: sum(result.spent.cost_usd or Decimal(0) for result in results.of(arm)) for arm in arms}
    for arm in arms[1:]:
        assert sum(result.allowed_usd or Decimal(0) for result in results.of(arm)) == spent["recipe:speed"]
        assert abs(spent[arm] / spent["recipe:speed"] - 1) < Decimal("0.05"), arm


async def test_where_the_recipe_is_no_arm_its_quote_is_what_others_may_take(tmp_path: Path) -> None:
    evaluation = prepared(arms=("majority",), equal_to="speed")
    (result,) = (await held(evaluation, tmp_path, Voices())).results.results
    assert result.allowed_usd == evaluation.quoted(evaluation.briefs[0]).cost_usd


async def test_where_all_is_free_tokens_are_made_equal() -> None:
    spent = Spent(cost_usd=Decimal(0), input=300, cached=0, output=100, calls=1, seconds=0.0)
    assert Allowed(Decimal(0), 800).part_of(spent) == 0.5
    assert Allowed(Decimal("0.5"), 800).part_of(spent.model_copy(update={"cost_usd": Decimal("0.1")})) == 0.2
