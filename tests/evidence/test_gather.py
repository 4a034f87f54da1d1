from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import ConfigurationError
from orchestrator.evidence import Evidence, gather, numbered

Put = Callable[..., Path]


def shown(evidence: tuple[Evidence, ...]) -> list[tuple[str, str]]:
    return [(piece.id, piece.path) for piece in evidence]


def taken(sources: Sequence[str], base: Path) -> tuple[Evidence, ...]:
    gathered = gather(sources, base=base)
    assert gathered.left_out == gathered.notices == ()
    return gathered.evidence


def refusal(pattern: str, base: Path) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        gather([pattern], base=base)
    assert caught.value.cure
    return caught.value


def test_a_file_is_read_hashed_and_numbered(put: Put, tmp_path: Path) -> None:
    put("docs/adr.md", "# Billing\n\nWe use Kafka.\n")
    (piece,) = taken(["docs/adr.md"], tmp_path)
    digest = hashlib.sha256(b"# Billing\n\nWe use Kafka.\n").hexdigest()
    assert piece == Evidence("E1", "docs/adr.md", f"sha256:{digest}", "# Billing\n\nWe use Kafka.\n")
    assert numbered(piece) == "1| # Billing\n2| \n3| We use Kafka."


def test_files_stand_in_the_order_given_a_globs_matches_sorted_and_each_once(put: Put, tmp_path: Path) -> None:
    for name in ("docs/b.md", "docs/a/z.md", "docs/a.md", "docs/a/deep/y.md", "docs/c.txt", "z.md"):
        put(name)
    (tmp_path / "docs/link.md").symlink_to("a.md")
    evidence = taken(["z.md", "docs/**/*.md", "./docs/c.txt", "docs/../z.md", str(tmp_path / "docs/b.md")], tmp_path)
    assert shown(evidence) == [
        ("E1", "z.md"),
        ("E2", "docs/a/deep/y.md"),
        ("E3", "docs/a/z.md"),
        ("E4", "docs/a.md"),
        ("E5", "docs/b.md"),
        ("E6", "docs/c.txt"),
    ]


def test_a_file_outside_the_working_folder_is_shown_as_given(
    put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("notes/a.md", "a\n")
    put("notes/b.md", "b\n")
    put("work/c.md", "c\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    evidence = taken(["../notes/a.md", "~/notes/*.md", "~/work/c.md"], tmp_path / "work")
    assert shown(evidence) == [("E1", "../notes/a.md"), ("E2", "~/notes/b.md"), ("E3", "c.md")]
    absolute = str(tmp_path / "notes/a.md")
    assert shown(taken([absolute], tmp_path / "work")) == [("E1", absolute)]


def test_a_path_that_exists_is_never_read_as_a_glob(put: Put, tmp_path: Path) -> None:
    put("app/[id]/page.tsx")
    put("app/i/page.tsx")
    assert shown(taken(["app/[id]/page.tsx"], tmp_path)) == [("E1", "app/[id]/page.tsx")]
    assert shown(taken(["app/[i]/page.tsx"], tmp_path)) == [("E1", "app/i/page.tsx")]


def test_a_glob_passes_by_hidden_files_and_folders_unless_it_names_them(put: Put, tmp_path: Path) -> None:
    for name in (".git/config.md", ".hidden.md", "a.md", "docs/.cache/b.md", ".github/workflows/ci.yml"):
        put(name)
    put(".env", "A=1\n")
    assert shown(taken(["**/*.md"], tmp_path)) == [("E1", "a.md")]
    assert shown(taken(["**"], tmp_path)) == [("E1", "a.md")]
    assert shown(taken([".github/**/*.yml"], tmp_path)) == [("E1", ".github/workflows/ci.yml")]


def test_a_folder_that_leads_back_to_itself_gives_each_file_once(put: Put, tmp_path: Path) -> None:
    put("docs/a.md")
    (tmp_path / "docs/loop").symlink_to(tmp_path / "docs")
    assert shown(taken(["docs/**/*.md"], tmp_path)) == [("E1", "docs/a.md")]


def test_a_byte_order_mark_is_no_text_and_the_hash_is_the_files(put: Put, tmp_path: Path) -> None:
    data = "\ufeffeins\r\nzwei\rdrei".encode()
    put("a.md", data)
    (piece,) = taken(["a.md"], tmp_path)
    assert piece.text == "eins\nzwei\ndrei"
    assert piece.sha256 == f"sha256:{hashlib.sha256(data).hexdigest()}"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", ()),
        ("\n", ("",)),
        ("a", ("a",)),
        ("a\n", ("a",)),
        ("a\n\n", ("a", "")),
        ("a\u2028b\x0cc\x0bd\x85e\nf", ("a\u2028b\x0cc\x0bd\x85e", "f")),
    ],
)
def test_lines_are_numbered_as_an_editor_does(put: Put, tmp_path: Path, text: str, lines: tuple[str, ...]) -> None:
    put("a.md", text)
    (piece,) = taken(["a.md"], tmp_path)
    assert piece.lines == lines


@given(st.lists(st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), min_size=1), min_size=1))
def test_numbered_lines_give_the_lines_back(lines: list[str]) -> None:
    piece = Evidence("E1", "a.md", "", "\n".join(lines))
    assert [line.split("| ", 1) for line in numbered(piece).split("\n")] == [
        [str(n), x] for n, x in enumerate(lines, 1)
    ]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("none.md", "none.md: cannot be read: No such file or directory."),
        ("none/*.md", "none/*.md: matches no file."),
        ("empty", "empty: leads to nothing that can be evidence, for it is empty or all in it is hidden."),
        ("*ocs", "*ocs: matches no file."),
        ("dangling.md", "dangling.md: cannot be read: No such file or directory."),
        ("*ling.md", "*ling.md: leads to nothing that can be evidence: dangling.md cannot be read: No such file"),
        ("circle.md", "circle.md: cannot be read: Too many levels of symbolic links."),
        ("logo.png", "logo.png: is a binary file"),
        ("lat*.md", "lat*.md: leads to nothing that can be evidence: latin.md is not UTF-8 text."),
        ("latin.md", "latin.md:2: is not UTF-8 text. Save it as UTF-8."),
        ("large.md", "large.md: is larger than 1,048,576 bytes."),
        ("  ", "'  ' is no path of a context file."),
        ("a\nb.md", "'a\\nb.md' has a name that cannot be shown. Rename it, or leave it out."),
        ("caf\udce9.md", "'caf\\udce9.md' has a name that cannot be shown. Rename it, or leave it out."),
        ("bad*.md", "'bad\\nE2.md' has a name that cannot be shown."),
        ("pipe", "pipe: is a device, pipe or socket, not a file."),
        ("socket", "socket: is a device, pipe or socket, not a file."),
        ("/dev/zero", "/dev/zero: is a device, pipe or socket, not a file."),
        ("docs/a.md/b.md", "docs/a.md/b.md: cannot be read: Not a directory."),
        ("x" * 300, "x: cannot be read: File name too long."),
    ],
)
def test_what_cannot_be_read_is_an_error_that_names_it(
    put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, message: str
) -> None:
    put("docs/a.md")
    put("empty/.hidden")
    put("logo.png", b"\x89PNG\0\0")
    put("latin.md", "Gr\u00fc\u00dfe\n".encode() + "Gr\u00fc\u00dfe".encode("latin-1"))
    put("large.md", b"a" * (1024 * 1024 + 1))
    put("bad\nE2.md")
    (tmp_path / "dangling.md").symlink_to("nowhere.md")
    (tmp_path / "circle.md").symlink_to("circle.md")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(tmp_path)  # a socket's path must be short
        listener.bind("socket")
        assert message in str(refusal(pattern, tmp_path))


def test_a_file_of_exactly_the_limit_is_read(put: Put, tmp_path: Path) -> None:
    put("a.md", "a" * (1024 * 1024))
    assert len(gather(["a.md"], base=tmp_path, budget_tokens=1 << 18).evidence) == 1


def test_a_search_that_leads_to_too_much_is_refused(put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.evidence.searching.MAX_FOUND", 3)
    for number in range(4):
        put(f"docs/{number}.md")
    for source in ("docs", "docs/*.md"):
        assert f"{source}: leads to too many files." in str(refusal(source, tmp_path))


@pytest.mark.parametrize("name", [".env", "deploy/server.pem", "innocent.md", "docs/../.env"])
def test_a_secret_by_name_is_refused_also_behind_a_link(put: Put, tmp_path: Path, name: str) -> None:
    put(".env", "A=1\n")
    put("deploy/server.pem", "no key\n")
    put("docs/a.md")
    (tmp_path / "innocent.md").symlink_to(".env")
    assert "looks like a secret (" in str(refusal(name, tmp_path))


SECRET = "gh" + "p_" + "Zk39dLq0Xv7TtB2mWc5RyN8sHj1FgUa4Pe6D"


def test_a_secret_by_content_is_refused_with_its_kind_and_line_and_never_shown(put: Put, tmp_path: Path) -> None:
    put("docs/setup.md", f"# Setup\r\n\r\nUse {SECRET}\r\n")
    error = refusal("docs/setup.md", tmp_path)
    assert (error.source, error.line) == ("docs/setup.md", 3)
    assert str(error).startswith("docs/setup.md:3: holds what looks like a GitHub token")
    assert SECRET not in str(error)
    assert SECRET not in str(refusal("docs", tmp_path))


def test_no_patterns_are_no_evidence(tmp_path: Path) -> None:
    assert taken([], tmp_path) == ()


def test_an_earlier_decision_is_named_as_one() -> None:
    pieces = [Evidence("E1", "docs/a.md", "", "", "file"), Evidence("E2", "docs/adr/1.md", "", "", "adr")]
    assert [piece.title for piece in pieces] == ["docs/a.md", "docs/adr/1.md, an earlier decision"]
