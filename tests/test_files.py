from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.errors import UsageError
from orchestrator.files import prepare_folder, write_atomically

LIMITED = """
import resource, sys
from pathlib import Path
from orchestrator.errors import UsageError
from orchestrator.files import prepare_folder, write_atomically
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
folder = Path(sys.argv[1])
try:
    prepare_folder(folder)
    write_atomically(folder, {"small.md": "new", "large.md": "x" * 100_000})
except UsageError as error:
    sys.exit(str(error))
"""


def run_limited(folder: Path, limit: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LIMITED, str(folder), str(limit)], capture_output=True, text=True, check=False
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_files_are_written_in_order_as_utf_8(tmp_path: Path) -> None:
    paths = write_atomically(tmp_path, {"b.md": "Überblick 🙂\r\n", "a.bin": b"\0\xff"})
    assert paths == (tmp_path / "b.md", tmp_path / "a.bin")
    assert contents(tmp_path) == {"b.md": "Überblick 🙂\r\n".encode(), "a.bin": b"\0\xff"}


def test_a_file_is_replaced_whole_while_a_reader_keeps_the_old_one(tmp_path: Path) -> None:
    write_atomically(tmp_path, {"a.md": "old"})
    with (tmp_path / "a.md").open() as reader:
        write_atomically(tmp_path, {"a.md": "new, and longer"})
        assert reader.read() == "old"
    assert contents(tmp_path) == {"a.md": b"new, and longer"}


def test_files_have_the_rights_that_the_user_gives_new_files(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    (path,) = write_atomically(tmp_path, {"a.md": "text"})
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_full_disk_leaves_every_file_as_it_was(tmp_path: Path) -> None:
    write_atomically(tmp_path, {"small.md": "old"})
    done = run_limited(tmp_path, 50_000)
    assert done.returncode == 1
    assert f"Cannot write to {tmp_path}: a file may not grow that large here." in done.stderr
    assert "--out" in done.stderr
    assert contents(tmp_path) == {"small.md": b"old"}


def test_a_full_disk_is_seen_when_the_folder_is_prepared(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    done = run_limited(folder, 1000)
    assert done.returncode == 1
    assert f"Cannot write to {folder}: a file may not grow" in done.stderr
    assert contents(folder) == {}


def test_text_that_is_no_unicode_leaves_no_file_behind(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        write_atomically(tmp_path, {"a.md": "text", "b.md": "\ud800"})
    assert contents(tmp_path) == {}


def test_a_folder_in_a_files_place_is_refused_and_nothing_stays_behind(tmp_path: Path) -> None:
    (tmp_path / "a.md").mkdir()
    with pytest.raises(UsageError, match="a folder has the name of a file"):
        write_atomically(tmp_path, {"a.md": "text"})
    assert [file.name for file in tmp_path.iterdir()] == ["a.md"]


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file or directory"):
        write_atomically(tmp_path / "none", {"a.md": "text"})


def test_a_folder_is_made_with_its_parents_and_left_empty(tmp_path: Path) -> None:
    folder = prepare_folder(tmp_path / "debates" / "2026-11-30-kafka")
    assert folder == tmp_path / "debates" / "2026-11-30-kafka"
    assert contents(folder) == {}
    assert prepare_folder(folder) == folder


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert prepare_folder(Path("~/debates")) == tmp_path / "debates"
    assert (tmp_path / "debates").is_dir()


def test_a_file_in_the_folders_place_is_refused_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "debates").write_text("")
    with pytest.raises(UsageError, match=r"there is a file of that name, not a folder.*--out"):
        prepare_folder(tmp_path / "debates")
    with pytest.raises(UsageError, match="a part of that path is a file, not a folder"):
        prepare_folder(tmp_path / "debates" / "2026-11-30-kafka")


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a file system where nobody may write")
def test_a_folder_where_nobody_may_write_is_refused() -> None:
    with pytest.raises(UsageError, match="Cannot write to /proc/self"):
        prepare_folder(Path("/proc/self"))
    with pytest.raises(UsageError, match="Cannot write to /proc/self/debates"):
        prepare_folder(Path("/proc/self/debates"))
