"""Folders, globs, decision records and the budget: what is taken, in which order, and what is left out and why."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nobody import as_nobody

from orchestrator.errors import ConfigurationError
from orchestrator.evidence import Gathered, gather
from orchestrator.evidence.account import LeftOut, sentences

Put = Callable[..., Path]
SECRET = "gh" + "p_" + "Zk39dLq0Xv7TtB2mWc5RyN8sHj1FgUa4Pe6D"


def paths(gathered: Gathered) -> list[str]:
    assert [piece.id for piece in gathered.evidence] == [f"E{n + 1}" for n in range(len(gathered.evidence))]
    return [piece.path for piece in gathered.evidence]


def refused(sources: Sequence[str], base: Path, **options: Any) -> str:
    with pytest.raises(ConfigurationError) as caught:
        gather(sources, base=base, **options)
    assert caught.value.cure
    return str(caught.value)


# ------------------------------------------------------------------------------------------------------------ folders


def test_a_folder_is_every_file_below_it_sorted_without_hidden_ones(put: Put, tmp_path: Path) -> None:
    for name in ("docs/b.md", "docs/a/z.txt", "docs/a/.x/y.md", "docs/.hidden.md", "docs/c", "docs/B.md", "other.md"):
        put(name)
    for folder in ("docs", "docs/", "./docs", str(tmp_path / "docs")):
        gathered = gather([folder], base=tmp_path)
        assert paths(gathered) == ["docs/B.md", "docs/a/z.txt", "docs/b.md", "docs/c"]
        assert gathered.left_out == ()
    assert paths(gather(["."], base=tmp_path / "docs/a")) == ["z.txt"]
    assert paths(gather(["docs/.hidden.md", "docs/a/.x"], base=tmp_path)) == ["docs/.hidden.md", "docs/a/.x/y.md"]


def test_what_git_ignores_is_counted_not_taken_and_taken_when_it_is_named(put: Put, tmp_path: Path) -> None:
    put(".git/info/exclude", "local/\n")
    put(".gitignore", "*.log\nbuild/\n")
    put("docs/.gitignore", "!keep.log\n")
    for name in ("docs/a.md", "docs/b.log", "docs/keep.log", "docs/build/c.md", "docs/build/d.md", "docs/local/e.md"):
        put(name)
    folder = gather(["docs"], base=tmp_path)
    assert paths(folder) == ["docs/a.md", "docs/keep.log"]
    assert folder.notices == ("Left out of the evidence: 3 below docs: each is ignored by git.",)
    glob = gather(["docs/**/*.md", "docs/**/*.log"], base=tmp_path)
    assert paths(glob) == ["docs/a.md", "docs/keep.log"]
    assert [(left.path, left.count) for left in glob.left_out] == [
        ("docs/**/*.md", 2),  # the two folders; what is in them is not searched
        ("docs/**/*.log", 3),
    ]
    assert "3 below docs/*/?.md: each is ignored by git." in refused(["docs/*/?.md"], tmp_path)
    assert paths(gather(["docs/b.log", "docs/build/c.md"], base=tmp_path)) == ["docs/b.log", "docs/build/c.md"]
    assert refused(["docs/build"], tmp_path) == (
        "docs/build: leads to nothing that can be evidence: 2 below docs/build: each is ignored by git. "
        "A file that is named by itself is read although git ignores it."
    )


def test_three_hundred_ignored_files_are_one_sentence(put: Put, tmp_path: Path) -> None:
    put(".git/HEAD")
    put(".gitignore", "*.log")
    put("a.md")
    for number in range(300):
        put(f"{number}.log")
    assert gather(["."], base=tmp_path).notices == ("Left out of the evidence: 300 below .: each is ignored by git.",)


def test_what_a_folder_or_glob_leads_to_and_cannot_be_read_is_left_out_with_the_reason(
    put: Put, tmp_path: Path
) -> None:
    put("docs/a.md")
    put("docs/logo.png", b"\x89PNG\0\0")
    put("docs/icon.png", b"\x89PNG\0\0")
    put("docs/latin.md", "Gr\u00fc\u00dfe".encode("latin-1"))
    put("docs/large.md", b"a" * (1024 * 1024 + 1))
    put("docs/server.pem", "no key")
    put("docs/setup.md", f"token {SECRET}")
    put("docs/bad\nname.md")
    (tmp_path / "docs/dangling.md").symlink_to("nowhere.md")
    (tmp_path / "docs/up").symlink_to("..")
    os.mkfifo(tmp_path / "docs/pipe")
    gathered = gather(["docs"], base=tmp_path)
    assert paths(gathered) == ["docs/a.md"]
    assert {left.path: left.why for left in gathered.left_out} == {
        "'docs/bad\\nname.md'": "has a name that cannot be shown",
        "docs/dangling.md": "cannot be read: No such file or directory",
        "docs/icon.png": "is a binary file (it holds NUL bytes)",
        "docs/large.md": "is larger than 1,048,576 bytes",
        "docs/latin.md": "is not UTF-8 text",
        "docs/logo.png": "is a binary file (it holds NUL bytes)",
        "docs/pipe": "is a device, pipe or socket, not a file",
        "docs/server.pem": "looks like a secret (it is the name of a private key); it was not read",
        "docs/setup.md": "holds what looks like a GitHub token; nothing was sent",
        "docs/up": "is a link to a folder, which is not followed",
    }
    assert (
        "Left out of the evidence: docs/icon.png and docs/logo.png: each is a binary file (it holds NUL bytes)."
        in gathered.notices
    )
    assert not any(SECRET in notice or "\n" in notice for notice in gathered.notices)
    glob = gather(["docs/*"], base=tmp_path)
    assert paths(glob) == ["docs/a.md"]
    assert set(glob.left_out) == {
        left for left in gathered.left_out if left.path != "docs/up"
    }  # a glob passes folders by
    assert "logo.png is a binary file" in refused(["docs/logo.*"], tmp_path)


def test_a_folder_that_may_not_be_read_is_left_out() -> None:
    with as_nobody(), TemporaryDirectory() as place:
        docs = Path(place) / "docs"
        (docs / "closed").mkdir(parents=True)
        (docs / "a.md").write_text("a")
        (docs / "closed").chmod(0)
        gathered = gather(["docs"], base=Path(place))
        (docs / "closed").chmod(0o700)
    assert paths(gathered) == ["docs/a.md"]
    assert gathered.left_out == (LeftOut("docs/closed", "cannot be read: Permission denied"),)


def test_a_refusal_says_what_to_do_about_each_reason_and_nothing_else(put: Put, tmp_path: Path) -> None:
    put("docs/a.png", b"\0")
    put("docs/b.png", b"\0")
    put("docs/c.md", b"\xff")
    put("hidden/.a.md")
    binary = "docs/a.png and docs/b.png: each is a binary file (it holds NUL bytes)"
    assert refused(["docs"], tmp_path) == (
        f"docs: leads to nothing that can be evidence: {binary}; docs/c.md is not UTF-8 text. "
        "Give a text file in UTF-8. Save it as UTF-8."
    )
    assert refused(["hidden"], tmp_path) == (
        "hidden: leads to nothing that can be evidence, for it is empty or all in it is hidden. "
        "Name what you want of it."
    )


def test_below_the_roots_a_folder_leads_nowhere_else(put: Put, tmp_path: Path) -> None:
    put("outside/plan.md")
    put("root/docs/a.md")
    (tmp_path / "root/docs/link.md").symlink_to("../../outside/plan.md")
    (tmp_path / "root/away").symlink_to("../outside")
    root = tmp_path / "root"
    gathered = gather(["docs", "docs/*.md"], base=root, within=[root])
    assert (paths(gathered), gathered.left_out) == (["docs/a.md"], ())
    for source in ("away", "../outside", "away/*.md", "docs/../../outside", str(tmp_path / "outside"), "docs/link.md"):
        assert "is outside the folders that may be read here." in refused([source], root, within=[root])
        assert "is outside the folders that may be read here." in refused([], root, within=[root], adr=[source])


# --------------------------------------------------------------------------------------------------- decision records


def test_decision_records_are_a_kind_of_their_own_in_order_of_file_name_after_the_context(
    put: Put, tmp_path: Path
) -> None:
    for name in ("0010-kafka.md", "0002-use-templates.md", "B.MD", "index.md", "README.md", "template.md", "notes.txt"):
        put(f"docs/adr/{name}")
    for name in ("0000-template.md", "adr-template-bare-minimal.md", ".draft.md", "old/0001-first.md"):
        put(f"docs/adr/{name}")
    put("docs/z.md")
    gathered = gather(["docs/z.md"], base=tmp_path, adr=["docs/adr"])
    assert [(piece.path, piece.kind) for piece in gathered.evidence] == [
        ("docs/z.md", "file"),
        ("docs/adr/0002-use-templates.md", "adr"),
        ("docs/adr/0010-kafka.md", "adr"),
        ("docs/adr/B.MD", "adr"),
    ]


def test_a_decision_record_that_the_context_names_too_is_one_piece_and_a_decision_record(
    put: Put, tmp_path: Path
) -> None:
    for name in ("docs/a.md", "docs/adr/1.md", "docs/adr/README.md", "docs/z.md"):
        put(name)
    gathered = gather(["docs", "docs/adr/1.md"], base=tmp_path, adr=["docs/adr"])
    assert [(piece.path, piece.kind) for piece in gathered.evidence] == [
        ("docs/a.md", "file"),
        ("docs/adr/README.md", "file"),
        ("docs/z.md", "file"),
        ("docs/adr/1.md", "adr"),
    ]
    only = gather(["docs/adr/1.md"], base=tmp_path, adr=["docs/adr"])
    assert [(piece.id, piece.kind) for piece in only.evidence] == [("E1", "adr")]


def test_a_decision_record_that_cannot_be_read_is_left_out(put: Put, tmp_path: Path) -> None:
    put("adr/1.md")
    put("adr/2.md", b"\0")
    gathered = gather([], base=tmp_path, adr=["adr"])
    assert (paths(gathered), [left.path for left in gathered.left_out]) == (["adr/1.md"], ["adr/2.md"])


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("none", "none: is no folder of decision records."),
        ("adr/README.md", "adr/README.md: is no folder of decision records."),
        ("adr", "adr: holds no decision record"),
        ("binary", "binary: leads to nothing that can be evidence: binary/1.md is a binary file"),
        ("", "'' is no path of a context file."),
        ("*", "*: is no folder of decision records."),
    ],
)
def test_a_folder_without_decision_records_is_an_error(put: Put, tmp_path: Path, folder: str, message: str) -> None:
    put("adr/README.md")
    put("adr/below/0001-a.md")
    put("binary/1.md", b"\0")
    assert message in refused([], tmp_path, adr=[folder])


# ----------------------------------------------------------------------------------------------------------- the budget


def test_the_budget_takes_in_the_users_order_what_fits_whole(put: Put, tmp_path: Path) -> None:
    put("b.md", "x" * 40)  # 10 tokens
    put("a.md", "x" * 41)  # 11
    put("adr/1.md", "ß" * 20)  # 10
    put("adr/2.md", "x")  # 1
    put("empty.md", "")  # 0
    sources = ["b.md", "a.md", "empty.md"]

    def fitting(tokens: int) -> list[str]:
        return paths(gather(sources, base=tmp_path, adr=["adr"], budget_tokens=tokens))

    assert fitting(32) == ["b.md", "a.md", "empty.md", "adr/1.md", "adr/2.md"]
    assert fitting(31) == ["b.md", "a.md", "empty.md", "adr/1.md"]
    assert fitting(20) == ["b.md", "empty.md", "adr/1.md"]
    assert fitting(12) == ["b.md", "empty.md", "adr/2.md"]
    assert fitting(1) == ["empty.md", "adr/2.md"]
    assert gather(sources, base=tmp_path, adr=["adr"], budget_tokens=12).notices == (
        "Left out of the evidence: a.md (11 tokens) and adr/1.md (10 tokens): each does not fit into the rest of 12 "
        "tokens (4 bytes are taken for one).",
    )


@given(st.lists(st.integers(0, 60), max_size=8), st.integers(0, 40))
def test_what_is_taken_fits_and_what_was_left_out_did_not_fit_behind_it(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], budget: int
) -> None:
    folder = tmp_path_factory.mktemp("budget")
    names = [f"{place}.md" for place in range(len(sizes))]
    for name, size in zip(names, sizes, strict=True):
        (folder / name).write_text("x" * size)
    (folder / "empty.md").touch()  # it always fits
    gathered = gather(["empty.md", *names], base=folder, budget_tokens=budget)
    left, expected = budget, ["empty.md"]
    for name, size in zip(names, sizes, strict=True):
        tokens = (size + 3) // 4
        if tokens <= left:
            left -= tokens
            expected.append(name)
    assert paths(gathered) == expected
    assert {*expected, *(item.path for item in gathered.left_out)} == {"empty.md", *names}


def test_a_secret_in_a_file_that_is_named_is_an_error_and_one_that_does_not_fit_is_never_sent(
    put: Put, tmp_path: Path
) -> None:
    put("setup.md", f"token {SECRET}")
    put("a.md", "text\n")
    assert "holds what looks like a GitHub token" in refused(["setup.md"], tmp_path)
    gathered = gather(["setup.md", "a.md"], base=tmp_path, budget_tokens=5)
    assert (paths(gathered), [left.size for left in gathered.left_out]) == (["a.md"], ["12 tokens"])


def test_evidence_of_which_nothing_fits_is_refused_with_what_to_do(put: Put, tmp_path: Path) -> None:
    put("a.md", "x" * 41)
    put("docs/b.md", "x" * 44)
    put("docs/c.png", b"\0")
    put("adr/d.md", "x" * 45)
    listed = "a.md (11 tokens), docs/b.md (11 tokens), standard input (12 tokens) and adr/d.md (12 tokens)"
    assert refused(
        ["a.md", "docs", "-"], tmp_path, budget_tokens=10, adr=["adr"], standard_input=lambda: b"x" * 48
    ) == (
        f"Nothing is left of the evidence: {listed}: each does not fit into the rest of 10 tokens (4 bytes are taken "
        "for one); docs/c.png is a binary file (it holds NUL bytes). "
        "Raise the context limit, or give the part that the question rests on."
    )
    assert gather([], base=tmp_path, budget_tokens=10) == Gathered((), ())


def test_past_the_number_of_pieces_and_the_bytes_read_the_rest_is_left_out(
    put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abcde":
        put(f"{name}.md", "12345678")
    gathered = gather(["."], base=tmp_path, max_pieces=3)
    assert (paths(gathered), gathered.notices) == (
        ["a.md", "b.md", "c.md"],
        ("Left out of the evidence: d.md and e.md: each comes after the first 3 pieces of evidence.",),
    )
    monkeypatch.setattr("orchestrator.evidence.gathering.MAX_TOTAL_BYTES", 16)
    assert paths(gather(["."], base=tmp_path)) == ["a.md", "b.md"]


# ------------------------------------------------------------------------------------------------------- standard input


def test_standard_input_is_a_piece_in_its_place(put: Put, tmp_path: Path) -> None:
    put("a.md")
    put("b.md")
    gathered = gather(["a.md", "-", "b.md"], base=tmp_path, standard_input=lambda: b"\xef\xbb\xbfone\r\ntwo\r\n")
    piece = gathered.evidence[1]
    assert (piece.id, piece.path, piece.kind, piece.text) == ("E2", "standard input", "input", "one\ntwo\n")


@pytest.mark.parametrize(
    ("sources", "data", "message"),
    [
        (["-"], None, "There is no standard input to read evidence from."),
        (["-"], b" \n", "Standard input is empty"),
        (["-", "a.md", "-"], b"x", "Standard input can be read once only."),
        (["-"], b"\xff", "standard input:1: is not UTF-8 text."),
        (["-"], b"a\0", "standard input: is a binary file"),
        (["-"], b"a" * (1024 * 1024 + 1), "standard input: is larger than 1,048,576 bytes."),
        (["-"], f"\n{SECRET}".encode(), "standard input:2: holds what looks like a GitHub token"),
    ],
)
def test_standard_input_that_cannot_be_evidence_is_an_error(
    put: Put, tmp_path: Path, sources: list[str], data: bytes | None, message: str
) -> None:
    put("a.md")
    assert message in refused(sources, tmp_path, standard_input=None if data is None else lambda: data)


def test_the_cure_for_what_standard_input_must_not_hold_is_not_that_for_files(tmp_path: Path) -> None:
    told = refused(["-"], tmp_path, standard_input=SECRET.encode)
    assert told.endswith("; nothing was sent. Send text in UTF-8, without secrets.")
    told = refused(["-"], tmp_path, standard_input=lambda: b"\xff")
    assert told.endswith("is not UTF-8 text. Send text in UTF-8, without secrets.")


# -------------------------------------------------------------------------------------------------------- the sentences


def test_a_reason_is_one_sentence_that_names_twenty_files_and_counts_the_rest() -> None:
    many = [LeftOut(f"{number}.png", "is a binary file") for number in range(25)]
    odd = LeftOut("a.md", "is not UTF-8 text")
    first, second = sentences([*many[:3], odd, *many[3:]])
    assert first.startswith("0.png, 1.png, 2.png, 3.png, ")
    assert first.endswith(", 18.png, 19.png and 5 more: each is a binary file")
    assert second == "a.md is not UTF-8 text"
    assert list(sentences([LeftOut("docs", "is ignored by git", count=1)])) == ["1 below docs is ignored by git"]
