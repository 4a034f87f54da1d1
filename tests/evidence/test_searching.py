"""A glob finds what the standard library's does; a search ends, whatever it comes upon."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from glob import has_magic, iglob
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from nobody import as_nobody

from orchestrator.errors import ConfigurationError
from orchestrator.evidence import gather
from orchestrator.evidence.account import LeftOut
from orchestrator.evidence.searching import Search

Put = Callable[..., Path]


def refused(sources: Sequence[str], base: Path, adr: Sequence[str] = ()) -> str:
    with pytest.raises(ConfigurationError) as caught:
        gather(sources, base=base, adr=adr)
    return str(caught.value)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("tree")
    for name in ("a", "b.md", "ab/a", "ab/b.md", "ab/a b/[a]", "ab/a b/.b.md", ".a/b.md", ".a/ab/a", "ba/ab/ba/b.md"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(name)
    (top / "bb").symlink_to("ba/ab")
    (top / "ba/b.md").symlink_to("../b.md")
    (top / "ba/gone").symlink_to("nowhere")
    return top


parts = st.sampled_from(
    ["*", "**", "a", "b.md", "ab", "ba", ".a", ".*", "*.md", "?", "[ab]", "[!a]*", "a*", "a**", ".", "", "gone"]
)
patterns = st.lists(parts, min_size=1, max_size=5).map(lambda parts: "/".join(parts).lstrip("/"))  # none is absolute


@given(patterns.filter(has_magic))
@example("**/*")
@example("b.md/*/")
@example("*/b.md/")
@example("./ab//*/.b*")
@example("*/../b.md")
def test_a_glob_matches_the_files_that_the_standard_library_says(tree: Path, pattern: str) -> None:
    for source in (pattern, os.path.join(tree, pattern)):
        search = Search(source, tree, None)
        search.glob()
        matched = iglob(source, root_dir=tree, recursive=True)
        expected = {name for name in matched if not name.endswith("/") and not (tree / name).is_dir()}
        assert set(map(os.path.normpath, search.names)) == set(map(os.path.normpath, expected))
        assert search.left_out == ()


def test_links_that_lead_back_end_a_glob_no_later_than_any_other(put: Put, tmp_path: Path) -> None:
    put("docs/a/b.md")
    for number in range(20):  # every way through them: 20 ** 40
        (tmp_path / f"docs/{number}").symlink_to("..")
        (tmp_path / f"docs/a/{number}").symlink_to("../../docs")
    assert [piece.path for piece in gather(["**/*.md"], base=tmp_path).evidence] == ["docs/a/b.md"]


@pytest.mark.parametrize("source", [".", "**/*.none", "*/*.none", "**"])
def test_a_search_that_looks_at_too_much_is_refused_also_if_it_finds_nothing(
    put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    for number in range(6):
        put(f"docs/{number}.md")
        put(f"docs/.{number}")
    monkeypatch.setattr("orchestrator.evidence.searching.MAX_SEEN", 12)
    with pytest.raises(ConfigurationError, match=r": leads to too many files\. Give a narrower glob, or a folder"):
        gather([source], base=tmp_path)
    monkeypatch.setattr("orchestrator.evidence.searching.MAX_SEEN", 13)
    if source.endswith("none"):
        with pytest.raises(ConfigurationError, match="matches no file"):
            gather([source], base=tmp_path)
    else:
        assert len(gather([source], base=tmp_path).evidence) == 6


# -------------------------------------------------------------------------------------------- what may not be looked at


def test_a_link_to_what_may_not_be_looked_at_is_left_out_and_below_the_roots_it_is_not_there() -> None:
    with as_nobody(), TemporaryDirectory() as place:
        folder = Path(os.path.realpath(place))
        (folder / "a.md").write_text("a")
        (folder / "cwd").symlink_to("/proc/1/cwd")
        (folder / "b.md").symlink_to("/proc/1/cwd/b.md")
        for source in (".", "*"):
            gathered = gather([source], base=folder)
            assert [piece.path for piece in gathered.evidence] == ["a.md"]
            assert {(left.path, left.why) for left in gathered.left_out} == {
                ("b.md", "cannot be read: Permission denied"),
                ("cwd", "cannot be read: Permission denied"),
            }
            assert gather([source], base=folder, within=[folder]).left_out == ()
        with pytest.raises(ConfigurationError, match=r"^b\.md: cannot be read: Permission denied\. Check the path"):
            gather(["b.md"], base=folder)
        with pytest.raises(ConfigurationError, match=r"^b\.md: is outside the folders that may be read here\."):
            gather(["b.md"], base=folder, within=[folder])


@pytest.fixture
def closed() -> Iterator[Path]:
    """A folder of nobody's with `docs/a.md`, and `docs/x`, into which nobody may look."""
    with as_nobody(), TemporaryDirectory() as place:
        base = Path(place)
        (base / "docs/x/y").mkdir(parents=True)
        (base / "docs/a.md").write_text("a")
        (base / "docs/x").chmod(0)
        yield base
        (base / "docs/x").chmod(0o700)


@pytest.mark.parametrize(
    ("source", "named"),
    [("docs/x/*.md", "docs/x"), ("docs/x/y/*.md", "docs/x/y"), ("docs/*/b.md", "docs/x/b.md"), ("d*/x/*", "docs/x")],
)
def test_a_glob_tells_of_a_folder_that_may_not_be_read(source: str, named: str, closed: Path) -> None:
    gathered = gather(["docs/**/*.md"], base=closed)
    assert [piece.path for piece in gathered.evidence] == ["docs/a.md"]
    assert gathered.left_out == (LeftOut("docs/x", "cannot be read: Permission denied"),)
    assert refused([source], closed) == (
        f"{source}: leads to nothing that can be evidence: {named} cannot be read: Permission denied. "
        "Check the path, and who may read it."
    )


@pytest.mark.parametrize("sources", [["docs"], ["docs/*"], ["docs/**/*.md"]])
@pytest.mark.parametrize("rules", [".gitignore", "docs/.gitignore", ".git/info/exclude"])
def test_what_rules_might_keep_out_that_cannot_be_read_is_kept_out(
    rules: str, sources: list[str], closed: Path
) -> None:
    (closed / ".git/info").mkdir(parents=True)
    (closed / rules).write_text("a.md\n")
    (closed / rules).chmod(0)
    told = refused(sources, closed)
    assert f"may be ignored by git: '{rules}' cannot be read: Permission denied" in told
    assert "A file that is named by itself is read although git ignores it." in told
    assert [piece.path for piece in gather(["docs/a.md"], base=closed).evidence] == ["docs/a.md"]


def test_a_folder_of_decision_records_that_may_not_be_read_is_not_called_empty_or_missing(closed: Path) -> None:
    denied = "cannot be read: Permission denied. Check the path, and who may read it."
    assert refused([], closed, ["docs/x"]) == f"docs/x: leads to nothing that can be evidence: docs/x {denied}"
    assert refused([], closed, ["docs/x/y"]) == f"docs/x/y: {denied}"
