"""What has changed since an earlier decision, as evidence of the debate that starts from it."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.earlier import Earlier, with_earlier
from orchestrator.evidence import Evidence
from orchestrator.evidence.gathering import Gathered
from orchestrator.evidence.reading import digest_of
from orchestrator.hall.entries import Link
from orchestrator.hall.terms import LinkKind

OLD = "2026-01-06-billing"
RECORD = "# Billing stays\n"
NOWHERE = Path("/nonexistent")

texts = st.dictionaries(
    st.sampled_from(["a.md", "b.md", "docs/c.md"]),
    st.text(st.sampled_from("ab \n\f\u2028"), max_size=12),
    min_size=1,
)


def pieces_of(files: dict[str, str]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(f"E{number}", path, digest_of(text.encode()), text)
        for number, (path, text) in enumerate(files.items(), start=1)
    )


def since(
    before: dict[str, str], now: dict[str, str], base: Path = NOWHERE, tokens: int = 1000
) -> tuple[Sequence[Evidence], Sequence[str]]:
    """What is added to the evidence, and the notices."""
    earlier = Earlier(Link(LinkKind.REVIEWS, OLD, "sha256:" + "0" * 64), RECORD, pieces_of(before))
    found = with_earlier(Gathered(pieces_of(now), ()), earlier, base, tokens)
    assert found.evidence[: len(now)] == pieces_of(now)
    assert [piece.id for piece in found.evidence] == [f"E{number + 1}" for number in range(len(found.evidence))]
    return found.evidence[len(now) :], found.notices


def test_a_diff_makes_of_what_the_earlier_decision_saw_what_stands_there_now(tmp_path: Path) -> None:
    before = {"a.md": "one\ntwo\n", "b.md": "no end", "c.md": "gone\n", "d.md": "the same\n", "e.md": ""}
    now = {"a.md": "one\nthree\n", "b.md": "an end\n", "d.md": "the same\n", "e.md": "words\fand\u2028words"}
    for path, text in before.items():
        (tmp_path / path).write_text(text)
    (tmp_path / "c.md").unlink()
    (record, diff), notices = since(before, now, tmp_path)
    assert (record.text, record.kind, record.path) == (RECORD, "adr", f"the decision of {OLD}")
    assert (diff.kind, diff.path, notices) == ("diff", f"what has changed since {OLD}", ())
    (tmp_path / "c.md").write_text(before["c.md"])
    subprocess.run(["git", "apply", "--whitespace=nowarn"], cwd=tmp_path, input=diff.text.encode(), check=True)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == now


@given(before=texts, now=texts)
def test_exactly_what_differs_is_told(before: dict[str, str], now: dict[str, str]) -> None:
    (_, *diffs), notices = since(before, now)
    if before.keys() & now.keys():
        told = diffs[0].text if diffs else ""
        for path in before.keys() | now.keys():
            changed = f"--- a/{path}\n" in told or f"new: {path}, which is E" in told
            emptied = before.get(path) == "" and path not in now  # it had no line that could be taken away
            assert changed == (before.get(path) != now.get(path) and not emptied)
        assert notices == ()
    else:
        assert diffs == []
        assert f"what has changed since {OLD} is unknown" in notices[0]


def test_what_the_earlier_decision_saw_is_compared_though_the_new_debate_does_not_name_it(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("two\n")
    (_, diff), notices = since({"a.md": "one\n", "b.md": "gone\n"}, {"new.md": "new\n"}, tmp_path)
    assert diff.text == (
        "--- a/a.md\n+++ b/a.md\n@@ -1 +1 @@\n-one\n+two\n"
        "--- a/b.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
        "new: new.md, which is E1\n"
    )
    assert notices == ()


def test_a_record_of_the_earlier_decision_in_a_folder_of_records_is_not_said_twice() -> None:
    accepted = Evidence("E1", "adr/0001-billing.md", digest_of(b"1"), "status: accepted\n# 1. Billing stays\n", "adr")
    other = Evidence("E2", "adr/0002-users.md", digest_of(b"2"), "# Users move\n\nNow.\n", "adr")
    new = Evidence("E3", "adr/0003-mail.md", digest_of(b"3"), "# Mail\n\nNever.\n", "adr")
    link = Link(LinkKind.REVIEWS, OLD, "sha256:" + "0" * 64)
    earlier = Earlier(link, "status: proposed\n# Billing stays\n", (), frozenset({other.sha256}))
    found = with_earlier(Gathered((accepted, other, new), ()), earlier, NOWHERE, 1000).evidence
    assert [(piece.id, piece.path, piece.text) for piece in found] == [
        ("E1", "adr/0002-users.md", other.text),
        ("E2", "adr/0003-mail.md", new.text),
        ("E3", f"the decision of {OLD}", accepted.text),
        ("E4", f"what has changed since {OLD}", "new: adr/0003-mail.md, which is E2\n"),
    ]


def test_what_does_not_fit_or_must_not_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "key.md").write_text("AKIA" + "IOSFODNN7EXAMPLQ\n")
    before = {"a.md": "a\n", "big.md": "b\n", "key.md": "none\n"}
    (_, diff), notices = since(before, {"a.md": "c\n", "big.md": "long\n" * 40}, tmp_path, tokens=80)
    assert "a/a.md" in diff.text
    assert "big.md" not in diff.text
    assert "AKIA" not in diff.text
    assert len(notices) == 2
    assert "key.md holds what looks like" in notices[0]
    assert "what has changed in big.md (71 tokens) does not fit into the rest of 80 tokens" in notices[1]
