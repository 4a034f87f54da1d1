"""A range of git revisions as evidence, in real repositories with hostile settings."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.errors import ConfigurationError
from orchestrator.evidence import Evidence, gather

Put = Callable[..., Path]
SECRET = "gh" + "p_" + "Zk39dLq0Xv7TtB2mWc5RyN8sHj1FgUa4Pe6D"


@pytest.fixture
def repository(put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """main, and a branch `change` that parted from it; the branch `change` is checked out."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    put("gitconfig", "[user]\nname = A\nemail = a@example.com\n[init]\ndefaultBranch = main\n")
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    put("repository/docs/a.md", "one\ntwo\n")
    commit(folder, "first")
    git(folder, "checkout", "-q", "-b", "change")
    put("repository/docs/a.md", "one\nzwei\n")
    commit(folder, "second")
    git(folder, "checkout", "-q", "main")
    put("repository/other.md", "other\n")
    commit(folder, "third")
    git(folder, "checkout", "-q", "change")
    return folder


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True, text=True).stdout


def commit(folder: Path, message: str) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)


def diff(source: str, base: Path) -> Evidence:
    (piece,) = gather([source], base=base).evidence
    return piece


def refused(source: str, base: Path, within: list[Path] | None = None) -> str:
    with pytest.raises(ConfigurationError) as caught:
        gather([source], base=base, within=within)
    assert caught.value.cure
    return str(caught.value)


def test_a_range_is_one_piece_of_evidence(repository: Path) -> None:
    piece = diff("git:main...HEAD", repository / "docs")
    expected = git(repository, "diff", "main...HEAD")
    assert (piece.id, piece.path, piece.kind, piece.text) == ("E1", "git:main...HEAD", "diff", expected)
    assert piece.sha256 == f"sha256:{hashlib.sha256(expected.encode()).hexdigest()}"
    assert "-two\n+zwei\n" in piece.text
    assert "other.md" not in piece.text


def test_two_dots_compare_the_two_sides_and_a_missing_side_is_head(repository: Path) -> None:
    assert diff("git:main..change", repository).text == git(repository, "diff", "main..change")
    assert diff("git:main..", repository).text == diff("git:main..HEAD", repository).text
    assert diff("git:..main", repository).text == git(repository, "diff", "HEAD..main")
    assert diff("git:HEAD~1..HEAD", repository).text == git(repository, "diff", "HEAD~1", "HEAD")


def test_binary_files_and_moves_stand_as_gits_own_lines(put: Put, repository: Path) -> None:
    put("repository/logo.png", b"\x89PNG\0\0")
    git(repository, "mv", "docs/a.md", "docs/b.md")
    commit(repository, "fourth")
    text = diff("git:HEAD~1..HEAD", repository).text
    assert "Binary files /dev/null and b/logo.png differ\n" in text
    assert "rename from docs/a.md\nrename to docs/b.md\n" in text


def test_nothing_in_a_repository_makes_git_run_another_program(
    put: Put, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = diff("git:main...HEAD", repository).text
    trap = put("trap", f'#!/bin/sh\ntouch {tmp_path}/sprung\ncat "$@"\n')
    trap.chmod(0o700)
    for name in (
        "core.pager",
        "core.fsmonitor",
        "diff.external",
        "diff.trap.command",
        "diff.trap.textconv",
        "pager.diff",
    ):
        git(repository, "config", name, str(trap))
    for name, value in {
        "color.ui": "always",
        "diff.noprefix": "true",
        "diff.context": "0",
        "diff.relative": "true",
    }.items():
        git(repository, "config", name, value)
    put("repository/.git/info/attributes", "*.md diff=trap\n")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(trap))
    monkeypatch.setenv("GIT_PAGER", str(trap))
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert diff("git:main...HEAD", repository / "docs").text == plain
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("source", ["git:", "git:main", "git:..", "git:...", "git: "])
def test_what_is_no_range_shows_the_form(repository: Path, source: str) -> None:
    assert refused(source, repository).startswith(f"{source!r} is no range of revisions. Write it as git:main..HEAD")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("git:none..HEAD", "git:none..HEAD: there is no revision 'none' in the repository."),
        ("git:HEAD..none", "there is no revision 'none'"),
        ("git:--output=x..HEAD", "there is no revision '--output=x'"),
        ("git:HEAD..-O/etc/passwd", "there is no revision '-O/etc/passwd'"),
        ("git:HEAD:docs/a.md..HEAD", "there is no revision 'HEAD:docs/a.md'"),
        ("git:^main..HEAD", "there is no revision '^main'"),
        ("git:HEAD..main HEAD", "there is no revision 'main HEAD'"),
        ("git:HEAD..HEAD", "git:HEAD..HEAD: shows no difference. Name revisions that differ"),
        ("git:main...main~1", "shows no difference."),
    ],
)
def test_revisions_that_are_not_there_or_do_not_differ_are_an_error(
    repository: Path, source: str, message: str
) -> None:
    assert message in refused(source, repository)
    assert not (repository / "x").exists()


def test_without_a_common_past_gits_own_words_say_so(put: Put, repository: Path) -> None:
    git(repository, "checkout", "-q", "--orphan", "apart")
    commit(repository, "elsewhere")
    assert "git cannot tell: " in refused("git:main...HEAD", repository)
    assert "no merge base" in refused("git:main...HEAD", repository)


def test_without_a_repository_or_without_git_the_error_says_so(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "is in no git repository." in refused("git:main..HEAD", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "git cannot be started: No such file or directory. Install it" in refused("git:main..HEAD", repository)


def test_a_diff_that_changes_a_secret_or_holds_one_is_refused(put: Put, repository: Path) -> None:
    put("repository/deploy/.env", "A=1\n")
    commit(repository, "settings")
    assert "the diff changes 'deploy/.env', which looks like a secret (" in refused("git:main..HEAD", repository)
    put("repository/setup.md", f"token {SECRET}\n")
    commit(repository, "setup")
    message = refused("git:HEAD~1..HEAD", repository)
    assert message == (
        "git:HEAD~1..HEAD:7: holds what looks like a GitHub token; nothing was sent. "
        "Give a range without it, or name the files themselves."
    )
    git(repository, "rm", "-q", "setup.md")
    commit(repository, "no setup")
    assert "GitHub token" in refused("git:HEAD~1..HEAD", repository)


def test_a_diff_that_is_too_large_is_refused_and_one_over_the_budget_is_left_out(put: Put, repository: Path) -> None:
    put("repository/large.txt", "a line of text\n" * 80_000)
    commit(repository, "large")
    assert "the diff is larger than 1,048,576 bytes." in refused("git:HEAD~1..HEAD", repository)
    gathered = gather(["git:main...HEAD~1", "docs/a.md"], base=repository, budget_tokens=5)
    assert [piece.path for piece in gathered.evidence] == ["docs/a.md"]
    assert [left.path for left in gathered.left_out] == ["git:main...HEAD~1"]


def test_text_that_is_not_utf8_is_refused(put: Put, repository: Path) -> None:
    put("repository/latin.txt", "Gr\u00fc\u00dfe\n".encode("latin-1"))
    commit(repository, "latin")
    assert "is not UTF-8 text. Give a range without it, or" in refused("git:HEAD~1..HEAD", repository)


def test_below_the_roots_a_repository_that_keeps_anything_elsewhere_is_refused(
    put: Put, repository: Path, tmp_path: Path
) -> None:
    outside = "belongs to a repository outside the folders that may be read here."
    inside = gather(["git:main..HEAD"], base=repository, within=[repository]).evidence
    assert [piece.path for piece in inside] == ["git:main..HEAD"]
    assert outside in refused("git:main..HEAD", repository / "docs", [repository / "docs"])
    put("root/linked/.git", f"gitdir: {repository}/.git\n")
    assert outside in refused("git:main..HEAD", tmp_path / "root/linked", [tmp_path / "root"])
    (tmp_path / "root/objects").mkdir()
    git(tmp_path / "root/objects", "init", "-q")
    git(tmp_path / "root/objects", "fetch", "-q", str(repository), "main:base", "change:change")
    assert gather(["git:base..change"], base=tmp_path / "root/objects", within=[tmp_path / "root"]).evidence
    put("root/objects/.git/objects/info/alternates", f"{repository}/.git/objects\n")
    assert outside in refused("git:base..change", tmp_path / "root/objects", [tmp_path / "root"])
    (tmp_path / "root/objects/.git/objects/info/alternates").unlink()
    (tmp_path / "root/objects/.git/objects").rename(tmp_path / "elsewhere")
    (tmp_path / "root/objects/.git/objects").symlink_to(tmp_path / "elsewhere")
    assert outside in refused("git:base..change", tmp_path / "root/objects", [tmp_path / "root"])


def test_a_file_whose_name_begins_like_a_range_is_named_from_its_folder(put: Put, tmp_path: Path) -> None:
    put("git:a..b", "a file\n")
    assert [(piece.path, piece.kind) for piece in gather(["./git:a..b"], base=tmp_path).evidence] == [
        ("git:a..b", "file")
    ]
    assert os.listdir(tmp_path) == ["git:a..b"]
