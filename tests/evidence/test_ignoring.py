"""What git ignores is what git itself says it ignores."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.evidence.ignoring import Ignoring

NAMES = ("a", "b", "ab", "a.md", "b.md", "c d")


def git(folder: Path, *arguments: str) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


def left_by_git(top: Path) -> set[str]:
    return set(git(top, "ls-files", "-z", "--others", "--exclude-standard").split("\0")) - {""}


def left_by_us(top: Path) -> set[str]:
    ignoring = Ignoring(top)

    def left(folder: Path) -> Iterator[Path]:
        for path in folder.iterdir():
            is_folder = path.is_dir() and not path.is_symlink()
            if path.name != ".git" and not ignoring.ignores(path, is_folder=is_folder):
                yield from left(path) if is_folder else [path]

    return {path.relative_to(top).as_posix() for path in left(top)}


def lay(top: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(text.encode())


TREE = [
    "a.md",
    "b.md",
    "a/a.md",
    "a/b.md",
    "a/b/a.md",
    "a/b/c d",
    "ab/a",
    "ab/b/a.md",
    "b/a/b/a/b.md",
    "build/x.o",
    "#",
]
CASES = [
    ["a.md"],
    ["/a.md"],
    ["a/"],
    ["a/", "!a/b.md"],
    ["a/*", "!a/b.md"],
    ["a/*", "!a/b/"],
    ["a/*", "!a/b", "a/b/*", "!a/b/a.md"],
    ["*", "!*/", "!*.md"],
    ["*", "!a.md"],
    ["/*", "!/a"],
    ["a/**"],
    ["a/**", "!a/b.md"],
    ["a/**/", "!a/b/"],
    ["**/b"],
    ["**/a/b"],
    ["a/**/a.md"],
    ["**/"],
    ["**"],
    ["*/"],
    ["/"],
    ["//"],
    ["!"],
    ["a?"],
    ["[ab].md"],
    ["[!a].md"],
    ["[a"],
    ["[z-a]"],
    ["\\"],
    ["a\\"],
    ["\\#"],
    ["#"],
    ["\\a.md"],
    ["c d"],
    ["c\\ d"],
    ["a.md   "],
    ["a.md\\ "],
    ["a/ "],
    ["a.md\r"],
    ["\ufeffa.md"],
    ["b/a"],
    ["/b/a/"],
    ["*.md", "!b/**/b.md"],
    ["build"],
]


@pytest.mark.parametrize("rules", CASES, ids=str)
def test_the_rules_of_one_file_mean_what_they_mean_to_git(tmp_path: Path, rules: list[str]) -> None:
    git(tmp_path, "init", "-q")
    lay(tmp_path, {**dict.fromkeys(TREE, ""), ".gitignore": "\n".join(rules)})
    assert left_by_us(tmp_path) == left_by_git(tmp_path)


SEGMENTS = st.sampled_from(["a", "b", "ab", "*", "**", "?", "a*", "*.md", "[ab]", "[!a]*", "a.md", "c d", "c\\ d"])
RULES = st.builds(
    lambda negates, anchored, parts, folder: "!" * negates + "/" * anchored + "/".join(parts) + "/" * folder,
    st.booleans(),
    st.booleans(),
    st.lists(SEGMENTS, min_size=1, max_size=3),
    st.booleans(),
)
FOLDERS = st.sampled_from(["", "a/", "b/", "ab/", "a/b/", "b/a/"])
FILES = st.lists(st.lists(st.sampled_from(NAMES[:3]), max_size=3).map("/".join), min_size=4, max_size=12)


@given(st.dictionaries(FOLDERS, st.lists(RULES, min_size=1, max_size=4), min_size=1, max_size=4), FILES)
def test_nested_rules_mean_what_they_mean_to_git(rules: dict[str, list[str]], folders: list[str]) -> None:
    with TemporaryDirectory() as place:
        top = Path(place)
        git(top, "init", "-q")
        lay(top, {os.path.join(folder, name): "" for folder in ["", *folders] for name in ("a.md", "x", "c d")})
        lay(top, {f"{folder}.gitignore": "\n".join(lines) for folder, lines in rules.items()})
        assert left_by_us(top) == left_by_git(top)


def test_the_rules_above_the_folder_where_a_search_begins_hold_up_to_the_repositorys_top(tmp_path: Path) -> None:
    lay(tmp_path, {".gitignore": "*.md", "repo/.gitignore": "*.log", "repo/docs/.gitignore": "!keep.log"})
    git(tmp_path / "repo", "init", "-q")
    lay(tmp_path, dict.fromkeys(["repo/docs/x.md", "repo/docs/x.log", "repo/docs/keep.log"], ""))
    docs = tmp_path / "repo/docs"
    ignoring = Ignoring(docs)
    assert [name for name in ("x.md", "x.log", "keep.log") if ignoring.ignores(docs / name, is_folder=False)] == [
        "x.log"
    ]


def test_the_exclude_file_counts_also_in_a_work_tree_and_loses_to_a_gitignore(tmp_path: Path) -> None:
    main, tree = tmp_path / "main", tmp_path / "tree"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "--allow-empty", "-m", "first")
    git(main, "worktree", "add", "-q", str(tree))
    for top in (main, tree):
        lay(top, {".gitignore": "!kept.md", "kept.md": "", "local.md": "", "other.md": ""})
    lay(main, {".git/info/exclude": "kept.md\nlocal.md\n"})
    for top in (main, tree):
        assert left_by_us(top) == left_by_git(top) == {".gitignore", "kept.md", "other.md"}


def test_a_repository_within_another_has_its_own_rules(tmp_path: Path) -> None:
    lay(tmp_path, {".gitignore": "*.md", "inner/a.md": "", "inner/b.log": "", "inner/.gitignore": "*.log"})
    git(tmp_path, "init", "-q")
    git(tmp_path / "inner", "init", "-q")
    assert left_by_us(tmp_path / "inner") == left_by_git(tmp_path / "inner") == {".gitignore", "a.md"}
    assert "inner/a.md" in left_by_us(tmp_path)


def test_a_link_is_a_file_and_no_link_is_followed_for_rules(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    lay(tmp_path, {"real/x.md": "", "rules": "x.md\n", ".gitignore": "link/\n"})
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real/.gitignore").symlink_to("../rules")
    assert (
        left_by_us(tmp_path) == left_by_git(tmp_path) == {"real/x.md", "real/.gitignore", "rules", ".gitignore", "link"}
    )


def test_without_a_repository_the_rules_from_the_start_of_the_search_count(tmp_path: Path) -> None:
    lay(tmp_path, {".gitignore": "*.md", "docs/.gitignore": "*.log", "docs/a.md": "", "docs/a.log": ""})
    assert left_by_us(tmp_path / "docs") == {".gitignore", "a.md"}
