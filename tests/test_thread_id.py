from __future__ import annotations

import datetime
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.thread_id import thread_id_for

DAY = datetime.date(2026, 11, 30)
# DESIGN.md, section 5
VALID = re.compile(r"(?=.{1,128}\Z)[A-Za-z0-9][A-Za-z0-9._-]*(?<!\.)", re.ASCII)


@pytest.mark.parametrize(
    ("topic", "words"),
    [
        ("Should we move billing to Kafka?", "should-we-move-billing-to-kafka"),
        ("  Let's\nsplit the monolith — now?!  ", "lets-split-the-monolith-now"),
        ("Müssen wir größere Übergänge für Łódź prüfen?", "mussen-wir-grossere-ubergange-fur-lodz-prufen"),
        ("Dónde está el búfer: ¿Redis™ o Ωmega?", "donde-esta-el-bufer-redis-o-mega"),
        ("ＦＵＬＬ ｗｉｄｔｈ, 𝐁𝐨𝐥𝐝", "full-width-bold"),
        ("C++ or Rust?", "c-or-rust"),
    ],
)
def test_an_id_is_the_date_and_the_topics_words(topic: str, words: str) -> None:
    assert thread_id_for(topic, DAY) == f"2026-11-30-{words}"


@pytest.mark.parametrize("topic", ["我们应该把计费系统迁移吗？", "🚀🔥", "?!…", "", "\ud800", "Стоит ли переходить?"])
def test_a_topic_without_ascii_is_named_by_a_digest(topic: str) -> None:
    assert re.fullmatch(r"2026-11-30-topic-[0-9a-f]{8}", thread_id_for(topic, DAY))


def test_topics_that_share_their_few_ascii_words_are_told_apart() -> None:
    one, other = thread_id_for("是否迁移到 Kafka？", DAY), thread_id_for("是否放弃使用 Kafka？", DAY)
    assert re.fullmatch(r"2026-11-30-kafka-[0-9a-f]{8}", one)
    assert one != other


def test_a_long_topic_is_cut_between_words() -> None:
    topic = "Should we move the billing ledger to an event log before the audit in spring? " * 160
    assert thread_id_for(topic, DAY) == "2026-11-30-should-we-move-the-billing-ledger-to-an-event-log-before-the"


@pytest.mark.parametrize("letter", ["字", "🙂", "ﷺ", "é", "-", "\u0301"])
def test_twelve_thousand_of_anything_give_a_valid_id(letter: str) -> None:
    made = thread_id_for(letter * 12_000, DAY, attempt=1000)
    assert VALID.fullmatch(made)
    assert made.startswith("2026-11-30-")


def test_a_word_that_ends_at_the_limit_is_kept() -> None:
    assert thread_id_for(f"{'a' * 29} {'b' * 30} c", DAY) == f"2026-11-30-{'a' * 29}-{'b' * 30}"


def test_one_endless_word_is_cut_within() -> None:
    assert thread_id_for("a" * 12_000, DAY) == f"2026-11-30-{'a' * 60}"


def test_a_later_attempt_has_its_number() -> None:
    assert [thread_id_for("Kafka?", DAY, attempt) for attempt in (1, 2, 11)] == [
        "2026-11-30-kafka",
        "2026-11-30-kafka-2",
        "2026-11-30-kafka-11",
    ]


def test_a_time_of_day_does_not_show() -> None:
    assert thread_id_for("Kafka?", datetime.datetime(2026, 11, 30, 23, 59)) == "2026-11-30-kafka"


@given(st.text(max_size=300), st.dates(), st.integers(1, 10**6))
def test_every_topic_gives_a_valid_date_first_id(topic: str, on: datetime.date, attempt: int) -> None:
    made = thread_id_for(topic, on, attempt)
    assert VALID.fullmatch(made)
    assert made.startswith(f"{on.isoformat()}-")
    assert set(made) <= set(string.ascii_lowercase + string.digits + "-")
    assert made == thread_id_for(f" {topic}\n", on, attempt)


@given(st.text(max_size=60))
def test_attempts_never_give_an_id_twice(topic: str) -> None:
    assert len({thread_id_for(topic, DAY, attempt) for attempt in range(1, 20)}) == 19
