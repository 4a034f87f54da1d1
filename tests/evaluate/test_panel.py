"""The panel obeys the laws that its traits imply, and the statistics find in it what is there and nothing else."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from itertools import pairwise
from math import comb, sqrt
from statistics import fmean, stdev

import anyio
import pytest

from orchestrator.errors import BadRequest, Overloaded
from orchestrator.evaluate.answer import Answer
from orchestrator.evaluate.asked import SHAPE
from orchestrator.evaluate.panel import Panel, Puzzle, Traits, position_in
from orchestrator.evaluate.statistics import paired, power_of
from orchestrator.hall.terms import Role
from orchestrator.models.base import Message, Reply, Request, Shape, Task
from orchestrator.structured import read

pytestmark = pytest.mark.anyio

MANY = 400  # puzzles, in which a law shows
EVALUATIONS = 80


def puzzles(number: int = MANY, wrong: str = "B") -> list[Puzzle]:
    return [Puzzle(f"What of puzzle {n:04}?", ("A",), tuple(wrong)) for n in range(number)]


def asking(puzzle: Puzzle, seat: int = 0, seen: str = "", *, shape: Shape | None = None, model: str = "sim") -> Request:
    task = Task("turn", Role.WIND, f"seat-{seat}", None, 1, 1, False, puzzle.question)
    messages = (Message("user", puzzle.question), *([Message("user", seen)] if seen else []))
    return Request(model, messages, task, max_output_tokens=500, timeout_s=10, shape=shape)


async def held(panel: Panel, request: Request) -> str:
    position = position_in((await panel.complete(request)).text)
    assert position is not None
    return position


async def rounds(traits: Traits, seats: int, number: int, asked: list[Puzzle]) -> list[float]:
    """How often a seat is right in each round, in which it sees what all held in the round before."""
    panel = Panel(asked, traits)
    right = [0.0] * number
    for puzzle in asked:
        seen = ""
        for n in range(number):
            replies = [(await panel.complete(asking(puzzle, seat, seen))).text for seat in range(seats)]
            right[n] += sum(position_in(text) == "A" for text in replies) / seats
            seen = "\n".join(replies)
    return [each / len(asked) for each in right]


async def majorities(traits: Traits, voices: int, asked: list[Puzzle]) -> float:
    panel = Panel(asked, traits)
    right = 0
    for puzzle in asked:
        votes = Counter([await held(panel, asking(puzzle)) for _ in range(voices)])
        right += votes.most_common(1)[0][0] == "A"
    return right / len(asked)


def binomial(voices: int, rate: float) -> float:
    """How often more than half of so many are right."""
    return sum(exactly(voices, rate, k) for k in range(voices // 2 + 1, voices + 1))


def conforming(accuracy: float, conformity: float, seats: int, number: int) -> list[float]:
    """How many of some seats are right in each round: a chain over the number of those who are.

    Where not all hold the same, each gives in with the conformity: the right ones to a wrong one, the wrong to a right.
    """
    chances = [exactly(seats, accuracy, k) for k in range(seats + 1)]
    expected = []
    for _ in range(number):
        expected.append(sum(k * chance for k, chance in enumerate(chances)) / seats)
        after = [0.0] * (seats + 1)
        for k, chance in enumerate(chances):
            gives_in = conformity if 0 < k < seats else 0.0
            for stay in range(k + 1):
                for come in range(seats - k + 1):
                    moved = exactly(k, 1 - gives_in, stay) * exactly(seats - k, gives_in, come)
                    after[stay + come] += chance * moved
        chances = after
    return expected


def exactly(voices: int, rate: float, number: int) -> float:
    """How often exactly so many of some voices are right."""
    return comb(voices, number) * rate**number * (1 - rate) ** (voices - number)


def near(rate: float, drawn: int = MANY) -> object:
    """Within four standard errors: a law that holds fails so once in 16,000."""
    return pytest.approx(rate, abs=4 * sqrt(max(rate * (1 - rate), 0.01) / drawn))


# ------------------------------------------------------------------------------------------------------ the laws


@pytest.mark.parametrize("accuracy", [0.3, 0.6, 0.9])
async def test_a_model_is_as_often_right_as_it_is_said_to_be(accuracy: float) -> None:
    assert await rounds(Traits(accuracy), 1, 1, puzzles()) == [near(accuracy)]


async def test_without_correction_and_conformity_rounds_change_nothing() -> None:
    assert await rounds(Traits(0.7), 3, 4, puzzles(200)) == [near(0.7, 600)] * 4
    first, *later = await rounds(Traits(0.7), 3, 4, puzzles(200))
    assert later == [first] * 3


async def test_with_conformity_a_panel_that_is_mostly_right_gets_worse_with_each_round() -> None:
    expected = conforming(0.8, 0.1, 7, 6)
    assert all(later < earlier - 0.01 for earlier, later in pairwise(expected))
    right = await rounds(Traits(0.8, conformity=0.1), 7, 6, puzzles(200))
    assert right == [near(rate) for rate in expected]
    assert right[-1] < right[0] - 0.06


async def test_with_correction_it_gets_better() -> None:
    right = await rounds(Traits(0.5, correction=0.4), 3, 3, puzzles(200))
    assert right == [near(rate, 600) for rate in (0.5, 0.7, 0.82)]


@pytest.mark.parametrize("voices", [1, 3, 5, 9])
async def test_a_majority_of_independent_voices_rises_as_the_binomial_says(voices: int) -> None:
    assert await majorities(Traits(0.65), voices, puzzles()) == near(binomial(voices, 0.65))


@pytest.mark.parametrize(("correlation", "voices"), [(0.25, 5), (0.64, 5), (1.0, 9)])
async def test_a_majority_of_voices_that_err_together_rises_less_or_not_at_all(correlation: float, voices: int) -> None:
    """Each follows the one reading with the root of the correlation: the binomial holds on either side of it."""
    accuracy, together = 0.65, sqrt(correlation)
    if_right = binomial(voices, together + (1 - together) * accuracy)
    if_wrong = binomial(voices, (1 - together) * accuracy)
    expected = accuracy * if_right + (1 - accuracy) * if_wrong
    found = await majorities(Traits(accuracy, correlation), voices, puzzles())
    assert found == near(expected)
    assert expected < binomial(voices, accuracy)


async def test_errors_of_two_answers_go_together_as_the_correlation_says() -> None:
    panel, asked = Panel(puzzles(1200), Traits(0.5, 0.36)), puzzles(1200)
    pairs = [[float(await held(panel, asking(puzzle)) == "A") for _ in range(2)] for puzzle in asked]
    left, right = ([pair[side] for pair in pairs] for side in (0, 1))
    covariance = fmean(a * b for a, b in pairs) - fmean(left) * fmean(right)
    assert covariance / (stdev(left) * stdev(right)) == pytest.approx(0.36, abs=4 / sqrt(1200))


# -------------------------------------------------------------------------------------------------- the instrument


async def experiments(ours: float, theirs: float, briefs: int, number: int) -> tuple[float, float]:
    """How often of so many evaluations the first arm is called better, and how often worse."""
    better = worse = 0
    for seed in range(number):
        panel = Panel(puzzles(briefs), {"ours": Traits(ours), "theirs": Traits(theirs)}, seed)
        reached = {
            model: {
                puzzle.question: float(await held(panel, asking(puzzle, model=model)) == "A")
                for puzzle in puzzles(briefs)
            }
            for model in ("ours", "theirs")
        }
        found = paired(reached["ours"], reached["theirs"], seed)
        better, worse = better + found.is_better, worse + found.is_worse
    return better / number, worse / number


async def test_a_planted_advantage_is_found_with_the_stated_power() -> None:
    spread = sqrt(0.9 * 0.1 + 0.5 * 0.5)
    stated = power_of(20, 0.4, spread)
    better, worse = await experiments(0.9, 0.5, 20, EVALUATIONS)
    assert 0.75 < stated < 0.95
    assert better == pytest.approx(stated, abs=4 * sqrt(stated * (1 - stated) / EVALUATIONS))
    assert worse == 0


async def test_none_is_found_where_there_is_none() -> None:
    better, worse = await experiments(0.7, 0.7, 20, EVALUATIONS)
    assert better + worse <= 0.05 + 4 * sqrt(0.05 * 0.95 / EVALUATIONS)


# ---------------------------------------------------------------------------------------------------- the protocol


async def test_the_same_seed_answers_the_same_and_another_one_does_not() -> None:
    asked = puzzles(40)

    async def answers(seed: int) -> list[str]:
        panel = Panel(asked, Traits(0.5), seed)
        return [await held(panel, asking(puzzle)) for puzzle in asked for _ in range(2)]

    assert await answers(1) == await answers(1)
    assert await answers(1) != await answers(2)


async def test_it_answers_in_the_shape_that_is_asked_for_and_counts_what_that_takes() -> None:
    puzzle = Puzzle("Move?", ("A", "C"), ("B",), ("Seven days must be kept [E1:3].",), ("Five is enough.",))
    traits = Traits(1.0, price_per_token=Decimal("0.001"))
    reply = await Panel([puzzle], traits).complete(asking(puzzle, shape=SHAPE))
    answer = read(reply.text, Answer)
    assert answer.option in ("A", "C")
    assert [each.constraint for each in answer.constraints] == ["Seven days must be kept [E1:3]."]
    assert "Five is enough." not in answer.text
    assert "SIMULATED" in answer.statement
    tokens = reply.usage.input + reply.usage.output
    assert tokens > 0
    assert reply.usage.cost_usd == tokens * Decimal("0.001")
    wrong = read((await Panel([puzzle], Traits(0.0)).complete(asking(puzzle, shape=SHAPE))).text, Answer)
    assert (wrong.option, wrong.constraints, "Five is enough." in wrong.text) == ("B", (), True)


async def test_it_fails_as_often_as_it_should_and_on_what_it_does_not_know() -> None:
    panel = Panel(puzzles(), Traits(0.5, failure_rate=0.2))
    failed = 0
    for puzzle in puzzles():
        try:
            await panel.complete(asking(puzzle))
        except Overloaded as error:
            failed += error.model == "sim"
    assert failed / MANY == near(0.2)
    assert panel.asked == MANY
    with pytest.raises(BadRequest, match="knows no puzzle"):
        await panel.complete(asking(Puzzle("Never heard of?", ("A",), ("B",))))


async def test_its_latency_is_waited_for_beside_others() -> None:
    """Two calls that each wait for the other to have begun would hang, were they made one after the other."""
    puzzle = puzzles(1)[0]
    panel, came = Panel([puzzle], Traits(0.5, latency_s=0.05)), list[Reply]()

    async def ask() -> None:
        came.append(await panel.complete(asking(puzzle)))

    with anyio.fail_after(10):
        began = anyio.current_time()
        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(ask)
        assert anyio.current_time() - began >= 0.05
    assert len(came) == panel.asked == 20
