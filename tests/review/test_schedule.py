"""When a review is due, every clock injected: time zones, both changes of the clocks, missed and overlapped times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise, takewhile
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.review.reviews_file import Review
from orchestrator.review.schedule import Due, Last, due, upcoming

BERLIN = "Europe/Berlin"
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def review(cron: str = "0 9 * * 1", timezone: str = BERLIN, **more: Any) -> Review:
    told = {"name": "weekly", "cron": cron, "timezone": timezone, "topic": "Right?", "recipe": "speed", **more}
    return Review.model_validate(told, context={"source": "reviews.yaml"})


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def last(text: str, over: str | None = None) -> Last:
    return Last(at(text), at(over or text))


def times(reviewed: Review, after: str, number: int) -> list[str]:
    return [f"{time.astimezone(UTC):%d %H:%M}" for time in islice(upcoming(reviewed, at(after)), number)]


def test_nine_o_clock_is_nine_o_clock_of_its_time_zone_summer_and_winter() -> None:
    assert times(review(), "2026-03-17", 3) == ["23 08:00", "30 07:00", "06 07:00"]
    assert times(review(timezone="America/New_York"), "2026-03-02", 2) == ["02 14:00", "09 13:00"]
    assert times(review(timezone="Asia/Kolkata"), "2026-03-02T03:29", 1) == ["02 03:30"]
    assert next(upcoming(review(), at("2026-03-17"))).tzinfo == ZoneInfo(BERLIN)


def test_a_time_of_day_that_the_clocks_skip_comes_once_at_the_moment_they_skip_to() -> None:
    """On 29 March 2026 Berlin's clocks went from 2:00 to 3:00, which was 1:00 UTC."""
    assert times(review("30 2 * * *"), "2026-03-28T00:00", 3) == ["28 01:30", "29 01:00", "30 00:30"]
    found = due(review("30 2 * * *"), last("2026-03-28T01:30"), at("2026-03-29T01:00"))
    assert found == Due(at("2026-03-29T01:00"), None, 0)


def test_a_time_of_day_that_the_clocks_show_twice_comes_once_the_first_time() -> None:
    """On 25 October 2026 Berlin's clocks went from 3:00 back to 2:00, which was 1:00 UTC."""
    half_past = review("30 2 * * *")
    assert times(half_past, "2026-10-24T12:00", 2) == ["25 00:30", "26 01:30"]
    taken = last("2026-10-24T00:30")
    for minute in range(0, 24 * 60, 7):
        now = at("2026-10-25") + minute * MINUTE
        found = due(half_past, taken, now)
        if found:
            assert found.at == at("2026-10-25T00:30")
            assert now - found.at < 7 * MINUTE
            taken = Last(found.at, now)
    assert taken.due_at == at("2026-10-25T00:30")


def test_every_half_hour_is_every_half_hour_whatever_the_clocks_show() -> None:
    for night in ("2026-03-29", "2026-10-25"):
        found = list(islice(upcoming(review("*/30 * * * *"), at(night) - MINUTE), 20))
        gaps = {later.astimezone(UTC) - time.astimezone(UTC) for time, later in pairwise(found)}
        assert gaps == {timedelta(minutes=30)}


def test_nothing_is_due_before_its_time_and_not_twice() -> None:
    taken = last("2026-11-30T08:00")
    assert due(review(), taken, at("2026-12-07T07:59:59")) is None
    found = due(review(), taken, at("2026-12-07T08:00"))
    assert found == Due(at("2026-12-07T08:00"), None, 0)
    assert due(review(), Last(found.at, found.at), at("2026-12-07T08:00")) is None
    assert due(review(), Last(found.at, found.at), at("2026-12-14T07:59")) is None


def test_of_the_times_that_were_missed_the_newest_is_made_up_for() -> None:
    taken, back = last("2026-11-30T08:00"), at("2026-12-23T12:00")
    found = due(review(), taken, back)
    assert found == Due(at("2026-12-21T08:00"), None, before=2)
    assert str(found) == "2026-12-21 08:00 UTC, after 2 times that went by"
    skipping = due(review(missed="skip"), taken, back)
    assert skipping == Due(at("2026-12-21T08:00"), "nobody was there to hold it", before=2)
    assert due(review(missed="skip"), taken, at("2026-12-07T08:04")) == Due(at("2026-12-07T08:00"), None, 0)


def test_a_time_that_comes_while_the_one_before_is_under_way_is_skipped_or_held_after_it() -> None:
    taken, now = last("2026-12-07T08:00", over="2026-12-07T11:30"), at("2026-12-07T11:30")
    hourly = review("0 * * * *")
    assert due(hourly, taken, now) == Due(at("2026-12-07T11:00"), "the one before was still under way", before=2)
    for missed in ("once", "skip"):  # it waited; it was not missed
        found = due(review("0 * * * *", overlap="after", missed=missed), taken, now)
        assert found == Due(at("2026-12-07T11:00"), None, before=2)


def test_a_review_that_was_never_taken_up_is_due_at_its_newest_time() -> None:
    assert due(review(), None, at("2026-12-09T12:00")) == Due(at("2026-12-07T08:00"), None, 0)


def test_years_of_missed_minutes_are_not_counted_one_by_one() -> None:
    found = due(review("* * * * *"), last("2020-01-01"), at("2026-12-07T08:00:30"))
    assert found == Due(at("2026-12-07T08:00"), None, before=1000)


MOMENTS = st.datetimes(datetime(2026, 1, 1), datetime(2027, 12, 31), timezones=st.just(UTC))
CRONS = st.sampled_from(
    ["0 9 * * 1", "30 2 * * *", "15,45 2 * * *", "*/20 * * * *", "0 */5 * * *", "0 0 1 * *", "0 3 * * 0", "5 1-3 L * *"]
)
ZONES = st.sampled_from([BERLIN, "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "UTC"])


@given(CRONS, ZONES, MOMENTS, st.timedeltas(timedelta(0), timedelta(days=40)))
def test_looking_back_finds_what_looking_ahead_announced(
    cron: str, timezone: str, start: datetime, span: timedelta
) -> None:
    reviewed, now = review(cron, timezone), start + span
    announced = []
    for time in upcoming(reviewed, start):
        if time > now:
            break
        announced.append(time.astimezone(UTC))
    found = due(reviewed, Last(start, start), now)
    if not announced:
        assert found is None
    else:
        assert found is not None
        assert found.at == max(announced)
        assert found.before == min(len(set(announced)) - 1, 1000)


@given(CRONS, ZONES, MOMENTS, st.lists(st.timedeltas(MINUTE, DAY), min_size=1, max_size=30))
def test_whoever_looks_now_and_then_takes_each_time_up_at_most_once_and_none_early(
    cron: str, timezone: str, start: datetime, steps: list[timedelta]
) -> None:
    reviewed, taken, now, got = review(cron, timezone), Last(start, start), start, []
    for step in steps:
        now += step
        if found := due(reviewed, taken, now):
            assert taken.due_at < found.at <= now
            got.append(found.at)
            taken = Last(found.at, now)
    assert got == sorted(set(got))


@pytest.mark.parametrize(
    ("cron", "day"), [("0 9 L * *", 31), ("0 9 * * 5L", 30), ("0 9 * * 1#2", 12), ("0 9 * * mon", 5), ("@weekly", None)]
)
def test_the_words_of_cron_that_the_documentation_names_are_read(cron: str, day: int | None) -> None:
    told = {"name": "weekly", "cron": cron, "topic": "Right?"}
    if day is None:
        with pytest.raises(ValueError, match="five fields"):
            Review.model_validate(told, context={"source": "reviews.yaml"})
        return
    review = Review.model_validate(told, context={"source": "reviews.yaml"})
    assert next(upcoming(review, datetime(2026, 1, 1, tzinfo=UTC))).day == day


@pytest.mark.parametrize("night", ["2026-04-04T10:00", "2026-10-03T10:00"])
@pytest.mark.parametrize("cron", ["0 */5 * * *", "*/20 2 * * *", "*/30 * * * *", "15 * * * *"])
def test_where_clocks_are_moved_by_half_an_hour_each_time_comes_from_whenever_it_is_looked_for(
    cron: str, night: str
) -> None:
    """Lord Howe's clocks went from 2:00 back to 1:30 on 5 April 2026, and from 2:00 to 2:30 on 4 October."""
    howe = ZoneInfo("Australia/Lord_Howe")
    reviewed, start = review(cron, "Australia/Lord_Howe"), at(night)
    minutes = [start + number * MINUTE for number in range(1, 24 * 60 + 1)]
    shown = [(minute, minute.astimezone(howe)) for minute in minutes]
    fields = {"0 */5": (5, {0}), "*/20 2": (None, {0, 20, 40}), "*/30 *": (1, {0, 30}), "15 *": (1, {15})}
    step, at_minutes = fields[cron.removesuffix(" * * *")]
    truth = [
        minute
        for minute, clock in shown
        if clock.minute in at_minutes and (clock.hour == 2 if step is None else clock.hour % step == 0)
    ]
    for after in [start, *minutes[:-1:30]]:
        come = takewhile(lambda time: time <= minutes[-1], upcoming(reviewed, after))
        found = [time.astimezone(UTC) for time in come]
        assert found == [time for time in truth if time > after]
        newest = max((time for time in truth if time <= after), default=None)
        back = due(reviewed, Last(start, start), after)
        assert (back.at if back else None) == newest
