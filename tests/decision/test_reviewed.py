"""What an account has to say of the decision that its debate starts from."""

from __future__ import annotations

import pytest

from building import account_text
from orchestrator.decision.account import Account, Ledger, problems_of
from orchestrator.decision.grounds import Grounds
from orchestrator.evidence import Evidence

SILENT = "It does not say whether it supersedes or confirms E1, the decision that it reviews."
RECORDS = tuple(Evidence(f"E{number}", f"{number}.md", "sha256:0", "It is kept.", "adr") for number in (1, 2))


def problems(reviewed: str | None, *said: tuple[str, str]) -> tuple[str, ...]:
    told = [{"id": id, "relation": relation, "theirs": "It is kept.", "ours": "It goes."} for id, relation in said]
    account = Account.model_validate_json(account_text(earlier_decisions=told), strict=True)
    return problems_of(account, Ledger("It goes.", (), Grounds(1, frozenset(), RECORDS), reviewed))


@pytest.mark.parametrize("relation", ["supersedes", "confirms"])
def test_it_says_one_of_two_words_of_it_and_may_touch_others(relation: str) -> None:
    assert problems("E1", ("E1", relation)) == ()
    assert problems("E1", ("E1", relation), ("E1", "builds_on"), ("E2", "contradicts"), ("E2", "confirms")) == ()


@pytest.mark.parametrize(
    "said",
    [
        (),
        (("E2", "supersedes"),),
        (("E1", "builds_on"),),
        (("E1", "supersedes"), ("E1", "confirms")),
    ],
)
def test_silence_and_both_words_are_told(said: tuple[tuple[str, str], ...]) -> None:
    assert problems("E1", *said) == (SILENT,)
    assert problems(None, *said) == ()
