"""A run that is killed at any moment goes on with all that was paid for, and so does one that is killed again."""

from __future__ import annotations

import json
import os
import random
import signal
from collections import Counter

import pytest
from promises import assert_nothing_lost_nothing_twice, useless
from stage import BEGIN, RESUME, WALLS_INTENDED, Ended, Stage, ended

from endpoint import Answer, Call, server_error
from endpoint_voices import plausible

pytestmark = pytest.mark.slow

BATCHES = (4, 3, 1, 3, 2, 1)  # calls that a FORTRESS debate has in flight together
# Of such a debate: before and after each of its transactions and calls.
PLACES = {"create": 2, "begin_run": 2, "append": 2 * 19, "keep": 2 * 21, "call": 2 * 14, "release_run": 2}
PLACES_FROM_WALLS = 98  # that it passes when it goes on from WALLS_INTENDED
MOST_KILLS = 6
NO_TURN = "Do not write your turn."  # stands where a checklist is asked for, which may be of any length


def test_a_debate_passes_every_place_at_which_it_is_killed_below(stage: Stage) -> None:
    tally = stage.folder / "tally.json"
    whole = stage.run(*BEGIN, tally=str(tally))
    assert_nothing_lost_nothing_twice(stage, whole)
    assert whole.outcome["uncertain"] == []
    passed = json.loads(tally.read_text())
    assert Counter(place.split()[1] for place in passed) == PLACES


@pytest.mark.parametrize("place", range(1, sum(PLACES.values()) + 1))
def test_a_run_that_is_killed_at_a_write_or_beside_a_call_goes_on(place: int, stage: Stage) -> None:
    killed = stage.run(*BEGIN, at=place)
    assert killed.code == -signal.SIGKILL, killed.told
    assert_nothing_lost_nothing_twice(stage, stage.go_on())


@pytest.mark.parametrize("batch", range(len(BATCHES)))
def test_the_calls_in_flight_at_the_kill_are_told_and_are_the_only_ones_made_again(batch: int, stage: Stage) -> None:
    together = BATCHES[batch]
    before = sum(BATCHES[:batch])
    stage.server.hold_until(*BATCHES[:batch], together + 1)  # it waits for one more, which never comes
    process = stage.start(*BEGIN)
    stage.await_calls(before + together)
    os.kill(process.pid, signal.SIGKILL)
    assert ended(process).code == -signal.SIGKILL
    stage.await_callers_gone(together)
    assert stage.life() == "interrupted"
    resumed = stage.run(*RESUME)
    assert_nothing_lost_nothing_twice(stage, resumed)
    assert stage.life() == "done"
    asked = Counter(call.messages for call in stage.server.calls)
    assert [call.number for call in stage.server.calls if asked[call.messages] == 2 and call.answer is None] == [
        *range(before + 1, before + together + 1)
    ]
    assert len(resumed.outcome["uncertain"]) == together
    for call in resumed.outcome["uncertain"]:
        assert f"made again: {call['slot']} {call['step']}, attempt 1 through {call['model']}" in resumed.told


def test_a_resumed_run_passes_every_place_at_which_it_is_killed_below(stage: Stage) -> None:
    tally = stage.folder / "tally.json"
    stage.run(*BEGIN, at=WALLS_INTENDED)
    assert_nothing_lost_nothing_twice(stage, stage.run(*RESUME, tally=str(tally)))
    assert len(json.loads(tally.read_text())) == PLACES_FROM_WALLS


@pytest.mark.parametrize("place", range(1, PLACES_FROM_WALLS + 1, 4))
def test_a_run_that_is_killed_while_it_goes_on_goes_on(place: int, stage: Stage) -> None:
    stage.run(*BEGIN, at=WALLS_INTENDED)
    killed = stage.run(*RESUME, at=place)
    assert killed.code == -signal.SIGKILL, killed.told
    assert_nothing_lost_nothing_twice(stage, stage.run(*RESUME))


@pytest.mark.parametrize("sweep", range(6))
def test_a_run_that_is_killed_again_and_again_comes_to_its_end(sweep: int, stage: Stage) -> None:
    chance = chance_of(sweep)
    assert_nothing_lost_nothing_twice(stage, killed_again_and_again(stage, chance))


@pytest.mark.parametrize("sweep", range(6))
def test_a_run_that_is_killed_again_and_again_comes_to_its_end_with_a_provider_that_fails(
    sweep: int, stage: Stage
) -> None:
    chance = chance_of(sweep)

    def reply(call: Call) -> str | Answer:
        fault = chance.random()
        if fault < 0.15:
            return server_error()
        sent_back = call.messages[-2][0] == "assistant"  # and then it comes back good
        return useless(call) if fault < 0.3 and not sent_back and NO_TURN not in call.task else plausible(call)

    stage.server.reply = reply
    assert_nothing_lost_nothing_twice(stage, killed_again_and_again(stage, chance))


def chance_of(sweep: int) -> random.Random:
    seed = os.environ.get("CRASH_SEED") or f"{random.randrange(2**32)}-{sweep}"
    print(f"CRASH_SEED={seed}")  # shown when it fails; set it to see that again
    return random.Random(seed)


def killed_again_and_again(stage: Stage, chance: random.Random) -> Ended:
    last = stage.run(*BEGIN, at=chance.randint(1, 110), patient=False)
    for _ in range(MOST_KILLS):
        if last.code == 0:
            return last
        assert last.code == -signal.SIGKILL, last.told
        last = stage.go_on(at=chance.randint(1, 40), patient=False)
    return last if last.code == 0 else stage.go_on(patient=False)
