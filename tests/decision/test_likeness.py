"""Which turns barely differ, and which only say the same, quote each other or quote the same."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.decision.likeness import Alike, near_duplicates

WALL = """\
VERDICT: CONDITIONAL

Wind says "publish the invoice first and let the ledger catch up". The auditor reads the ledger and nothing else, so
between the two writes there is an invoice that does not exist. I would accept a delay of the event, never of the row.

- [C1] CONSTRAINT: An invoice must stand in the ledger before it leaves the house. Reality: the audit of 2024 counted
  rows, not messages. Violation: publishing from the request handler. Instead: write the row and an outbox entry in one
  transaction and publish from there. Remediation: name the team that owns the outbox.
- [C2] OPPORTUNITY: Nobody can replay a day of invoices. Build: a replay from the outbox, by day and tenant. Done when:
  yesterday can be sent again into an empty topic in under an hour.

Nobody on call has run a broker in production. Two people need training before a page at night may depend on it.
"""

PARAPHRASE = """\
VERDICT: CONDITIONAL

The order of writes that was proposed worries me: for some seconds a customer would hold a bill of which our books know
nothing, and our books are what an audit looks at. Lateness of notifications is fine; lateness of bookkeeping is not.

- [C1] CONSTRAINT: Bookkeeping comes before sending. Reality: auditors count ledger entries. Violation: emitting out of
  the web process. Instead: a transactional outbox, drained by a worker of its own. Remediation: somebody must own it.
- [C2] OPPORTUNITY: There is no way to send old bills again. Build: a tool which re-emits one date for one client.
  Done when: an hour is enough for a full date.

Our rota lacks experience with Kafka; train a pair of engineers first.
"""

CHINESE = (
    "审计员只读账本，不读主题。因此发票在离开之前必须先写入账本，否则在两次写入之间会出现一张不存在的发票。"
    "我可以接受事件的延迟，但不能接受账本的延迟。应当在同一个事务中写入账本和发件箱，然后由发件箱发布。值班人员没有运维经验。"
)
CHINESE_PARAPHRASE = (
    "提议的顺序有风险：客户手里已经有账单，而我们的账目里还没有任何记录，审计恰恰查的是账目。通知晚一点没有关系，记账不能晚。"
    "最好使用事务性发件箱，由单独的进程负责发送，并且指定一个团队来维护它，同时培训两名工程师。"
)


def shares(*texts: str, common: tuple[str, ...] = ()) -> list[Alike]:
    return list(near_duplicates(list(enumerate(texts, start=1)), common))


def changed(text: str, every: int) -> str:
    """The text with one word in so many replaced by another."""
    words = re.split(r"(\s+)", text)
    return "".join("otherwise" if at % (2 * every) == 2 * every - 2 else word for at, word in enumerate(words))


def test_a_copy_is_alike_in_every_word() -> None:
    assert shares(WALL, WALL) == [Alike(1, 2, 1.0)]


@pytest.mark.parametrize("every", [8, 10, 20, 40])
def test_a_copy_with_some_words_changed_barely_differs(every: int) -> None:
    (found,) = shares(WALL, changed(WALL, every))
    assert (found.first, found.second) == (1, 2)
    assert 0.6 <= found.share < 1


@pytest.mark.parametrize("edit", [str.upper, lambda text: re.sub(r"[*,.:\s]+", " ", text), lambda text: f"# X\n{text}"])
def test_case_punctuation_and_a_new_heading_make_no_difference(edit: Callable[[str], str]) -> None:
    assert [round(found.share, 1) for found in shares(WALL, edit(WALL))] == [1.0]


def test_a_copy_with_its_paragraphs_in_another_order_is_a_copy() -> None:
    moved = "\n\n".join(reversed(WALL.split("\n\n")))
    assert [found.share > 0.9 for found in shares(WALL, moved)] == [True]


@pytest.mark.parametrize(("one", "other"), [(WALL, PARAPHRASE), (CHINESE, CHINESE_PARAPHRASE)])
def test_the_same_idea_in_other_words_is_not_alike(one: str, other: str) -> None:
    assert shares(one, other) == []


def test_a_turn_that_quotes_half_of_another_or_all_of_it_and_goes_on_is_not_alike() -> None:
    half = WALL[: len(WALL) // 2]
    assert shares(WALL, f'T1 says: "{half}" I see it otherwise.\n{PARAPHRASE}') == []
    assert shares(WALL, f'T1 says: "{WALL}" I see it otherwise.\n{PARAPHRASE}') == []


def test_a_copy_in_a_script_without_spaces_is_found() -> None:
    copied = CHINESE.replace("审计员", "会计师").replace("经验", "知识")
    assert [found.share > 0.8 for found in shares(CHINESE, copied)] == [True]


def test_what_all_seats_had_before_them_is_not_their_likeness() -> None:
    evidence = WALL
    one = (
        f"The contract says:\n{evidence}\nI would sign it, since the outbox is a thing that we have built twice before."
    )
    other = (
        f"As it stands:\n{evidence}\nNobody should sign this while the price of the broker is an open question to us."
    )
    assert len(shares(one, other)) == 1
    assert shares(one, other, common=(evidence,)) == []
    copied = f"{PARAPHRASE}\n{evidence}"
    assert shares(copied, copied, common=(evidence,)) == [Alike(1, 2, 1.0)]


def test_pairs_come_in_order_and_each_once() -> None:
    found = shares(WALL, PARAPHRASE, WALL, changed(PARAPHRASE, 20), WALL)
    assert [(pair.first, pair.second) for pair in found] == [(1, 3), (1, 5), (2, 4), (3, 5)]


@pytest.mark.parametrize("texts", [(), ("",), ("", ""), ("Yes.", "Yes."), ("one two three four five", "1 2 3 4 5")])
def test_too_few_words_tell_nothing(texts: tuple[str, ...]) -> None:
    assert shares(*texts) == []


@given(st.lists(st.text(max_size=200), max_size=4), st.lists(st.text(max_size=40), max_size=2))
def test_the_share_is_one_and_the_same_from_either_side(texts: list[str], common: list[str]) -> None:
    forth = {(pair.first, pair.second): pair.share for pair in shares(*texts, WALL, common=tuple(common))}
    back = shares(*reversed([*texts, WALL]), common=tuple(common))
    size = len(texts) + 2
    assert {(size - pair.second, size - pair.first): pair.share for pair in back} == forth
    assert all(0 < share <= 1 for share in forth.values())
