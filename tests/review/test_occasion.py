"""Whether a review has anything to debate, with planted changes."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from offices import Speaker, commit, office_of, repository, reviews_of

from building import account_text, hall_at
from orchestrator.hall.hall import Hall
from orchestrator.models.base import Request
from orchestrator.review.office import Ended, Office
from orchestrator.review.running import hold_review
from orchestrator.review.times import Taken, take_by_hand

pytestmark = pytest.mark.anyio

TOPIC = 'topic: "Is billing still right?"'
ONE_TABLE = {"what": "Billing is one table.", "check": 'text "one table" in docs/billing.md'}
FAST = {"what": "It is fast.", "check": "exit 0: test -e fast"}
HAPPY = {"what": "Everybody is happy.", "check": "Ask them."}


async def held(office: Office) -> Ended:
    taken = take_by_hand(office.desk, office.file.reviews[0], office.file.path, office.now())
    assert isinstance(taken, Taken)
    with anyio.fail_after(60):
        return await hold_review(office, office.file.reviews[0], taken)


def assuming(*assumptions: dict[str, str]) -> Speaker:
    def hears(request: Request) -> str | None:
        return account_text(assumptions=list(assumptions)) if request.task.step == "account" else None

    return Speaker(hears)


def topic_of(hall: Hall, ended: Ended) -> str:
    assert ended.debated is not None
    return ended.debated.run.debate.opening.words


async def test_only_a_broken_assumption_opens_a_debate_whose_topic_names_it(tmp_path: Path) -> None:
    place, speaker = repository(tmp_path / "repo"), assuming(ONE_TABLE, FAST, HAPPY)
    with hall_at(tmp_path / "state") as hall:
        office = office_of(hall, reviews_of(place, TOPIC, "context: docs", "when: broken"), speaker)
        first = await held(office)
        assert (first.outcome, first.why) == (
            "decided",
            "There is no decision yet whose assumptions could be checked.",
        )
        asked = len(speaker.asked)
        second = await held(office)
        assert second.outcome == "holding"
        assert second.why.endswith(" is known to be broken (holding: 1, not known: 1, for people to check: 1).")
        commit(place, billing="# Billing\n\nBilling is two services.\n")
        third = await held(office)
        assert third.outcome == "decided"
        assert third.why.startswith("Broken since ")
        assert third.why.endswith(": assumption 1.")
        topic = topic_of(hall, third)
        assert topic.startswith("Is billing still right?\n\nWhat the last decision assumed does not hold any more:\n")
        assert "- Billing is one table. (" in topic
        assert len(speaker.asked) == 2 * asked
        assert len(hall.list_debates()) == 2


async def test_commands_of_checks_run_only_where_the_file_lets_them(tmp_path: Path) -> None:
    place, speaker = repository(tmp_path / "repo"), assuming(FAST)
    with hall_at(tmp_path / "state") as hall:
        quiet = office_of(hall, reviews_of(place, TOPIC, "when: broken"), speaker)
        await held(quiet)
        assert (await held(quiet)).outcome == "holding"
        allowed = office_of(hall, reviews_of(place, TOPIC, "when: broken", "commands: true"), speaker)
        broken = await held(allowed)
        assert broken.outcome == "decided"
        assert "- It is fast. (" in topic_of(hall, broken)
        (place / "fast").touch()
        assert (await held(allowed)).outcome == "holding"


async def test_a_review_can_begin_with_a_decision_that_was_made_elsewhere(tmp_path: Path) -> None:
    place, speaker = repository(tmp_path / "repo"), assuming(ONE_TABLE)
    with hall_at(tmp_path / "state") as hall:
        made = await held(office_of(hall, reviews_of(place, TOPIC, "context: docs"), speaker))
        assert made.debated is not None
        thread_id = made.debated.run.debate.state.thread_id
        keys = (TOPIC, "when: broken", f"decision: {thread_id}")
        office = office_of(hall, reviews_of(place, *keys, name="watch-billing"), speaker)
        assert (await held(office)).outcome == "holding"
        commit(place, billing="# Billing\n\nBilling is two services.\n")
        assert (await held(office)).outcome == "decided"
