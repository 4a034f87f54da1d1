"""Whether a review has anything to debate, with planted changes."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from offices import Speaker, account_of, commit, git, office_of, repository, reviews_of

from building import hall_at
from orchestrator.errors import UsageError
from orchestrator.evidence import gathering
from orchestrator.evidence.gathering import MAX_PIECES
from orchestrator.hall.hall import Hall
from orchestrator.hall.review_desk import ReviewDesk
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
    return Speaker(lambda request: account_of(request, assumptions=list(assumptions)))


def topic_of(hall: Hall, ended: Ended) -> str:
    assert ended.debated is not None
    return ended.debated.run.debate.opening.words


def outcomes(hall: Hall) -> list[str | None]:
    return [row.notes.outcome for row in hall.reviews.rows("weekly")]


async def test_only_what_reads_otherwise_than_at_the_last_debate_is_debated(tmp_path: Path) -> None:
    place, speaker = repository(tmp_path / "repo"), Speaker()
    with hall_at(tmp_path / "state") as hall:
        keys = (TOPIC, "context: docs/*.md", "adr: adr", "when: changed")
        office = office_of(hall, reviews_of(place, *keys), speaker)
        assert (await held(office)).why == "It is reviewed for the first time."
        unchanged = await held(office)  # though its own record is new in the folder
        assert (unchanged.outcome, unchanged.why) == (
            "unchanged",
            "Nothing that it looks at has changed since 2026-03-16.",
        )
        commit(place, billing="# Billing\n\nBilling is two tables.\n", orders="# Orders\n")
        changed = await held(office)
        assert changed.why == "Since 2026-03-16 changed: docs/billing.md; new: docs/orders.md."
        assert topic_of(hall, changed) == (
            f"Is billing still right?\n\nWhat it rests on reads otherwise now. {changed.why}"
        )
        (record, _) = sorted((place / "adr").iterdir())
        record.write_text(record.read_text().replace("proposed", "accepted"))  # by a person
        assert (await held(office)).why == f"Since 2026-03-16 changed: adr/{record.name}."
        commit(place, aside="")
        (place / "docs" / "orders.md").unlink()
        (place / "docs" / "aside.md").unlink()
        assert (await held(office)).why == "Since 2026-03-16 gone: docs/orders.md."
        assert outcomes(hall) == ["decided", "unchanged", "decided", "decided", "decided"]


async def test_every_file_is_looked_at_however_many_there_are_and_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = repository(tmp_path / "repo")
    commit(place, **{f"n{number:03}": f"# {number}\n" for number in range(MAX_PIECES + 5)}, zebra="# Zebra\n")
    with hall_at(tmp_path / "state") as hall:
        office = office_of(hall, reviews_of(place, TOPIC, "context: docs", "when: changed"), Speaker())
        await held(office)
        (place / "docs" / "zebra.md").write_text("# Horse\n")
        assert (await held(office)).why == "Since 2026-03-16 changed: docs/zebra.md."
        (place / "docs" / "n000.md").write_bytes(b"\0")
        (place / "docs" / "aaa.md").write_text("# First\n")
        assert (await held(office)).why == "Since 2026-03-16 changed: docs/n000.md; new: docs/aaa.md."
        monkeypatch.setattr(gathering, "MAX_TOTAL_BYTES", 100)
        with pytest.raises(UsageError, match=r"more than 64 MiB: docs/.* could not be read"):
            await held(office)


async def test_a_quiet_time_keeps_nothing_of_what_it_looked_at_and_reads_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = repository(tmp_path / "repo")
    with hall_at(tmp_path / "state") as hall:
        office = office_of(hall, reviews_of(place, TOPIC, "context: docs", "when: changed"), Speaker())
        with monkeypatch.context() as patched:
            patched.setattr(ReviewDesk, "rows", None)
            await held(office)
            for _ in range(2):
                assert (await held(office)).outcome == "unchanged"
            (place / "docs" / "billing.md").unlink()
            with pytest.raises(UsageError):
                await held(office)
        assert outcomes(hall) == ["decided", "unchanged", "unchanged", "failed"]
        assert [row.notes.seen is not None for row in hall.reviews.rows("weekly")] == [True, False, False, False]


async def test_what_a_debate_did_not_end_on_counts_as_not_reviewed(tmp_path: Path) -> None:
    place = repository(tmp_path / "repo")
    with hall_at(tmp_path / "state") as hall:
        keys = (TOPIC, "context: docs/*.md", "when: changed")
        await held(office_of(hall, reviews_of(place, *keys), Speaker()))
        commit(place, billing="# Billing\n\nBilling is two tables.\n")
        failing = office_of(hall, reviews_of(place, *keys, "adr: none"), Speaker())
        with pytest.raises(UsageError):
            await held(failing)
        assert (await held(office_of(hall, reviews_of(place, *keys), Speaker()))).outcome == "decided"
        assert outcomes(hall) == ["decided", "failed", "decided"]


async def test_what_was_committed_since_the_last_time_is_evidence_where_that_is_wanted(tmp_path: Path) -> None:
    place = repository(tmp_path / "repo")
    with hall_at(tmp_path / "state") as hall:
        office = office_of(hall, reviews_of(place, TOPIC, 'context: [docs, "git:{range}"]'), Speaker())

        async def evidence() -> list[str]:
            debated = (await held(office)).debated
            assert debated is not None
            return [piece.path for piece in debated.plan.evidence if piece.path.startswith("git:")]

        first = git(place, "rev-parse", "HEAD")
        assert await evidence() == []
        assert await evidence() == []  # nothing was committed
        second = commit(place, orders="# Orders\n")
        assert await evidence() == [f"git:{first[:12]}..{second[:12]}"]


async def test_without_the_commit_of_the_last_time_there_is_no_range_and_the_reason_says_so(tmp_path: Path) -> None:
    """History was rewritten since, or a shallow clone does not reach back so far."""
    place = repository(tmp_path / "repo")
    first = git(place, "rev-parse", "HEAD")
    with hall_at(tmp_path / "state") as hall:
        keys = (TOPIC, 'context: [docs, "git:{range}"]')
        await held(office_of(hall, reviews_of(place, *keys), Speaker()))
        second = commit(place, orders="# Orders\n")
        git(tmp_path, "clone", "-q", "--depth=1", f"file://{place}", "shallow")
        (place / "reviews.yaml").unlink()
        office = office_of(hall, reviews_of(tmp_path / "shallow", *keys), Speaker())
        ended = await held(office)
        assert ended.outcome == "decided"
        assert ended.why == (
            "It is always debated. "
            f"There is no range: {first[:12]}, the commit of its last time, is not in the repository any more."
        )
        assert [row.notes.revision for row in hall.reviews.rows("weekly")] == [first, second]
        assert (await held(office)).why == "It is always debated."


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
