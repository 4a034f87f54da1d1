from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from orchestrator.errors import StoreUnavailable, StoreUnsafe
from orchestrator.hall.folder import file_system, prepare, state_folder
from orchestrator.hall.hall import Hall
from orchestrator.hall.store_place import open_store

MOUNTS = (
    r"""overlay / overlay rw,relatime 0 0
proc /proc proc rw 0 0
server:/home /home nfs4 rw,vers=4.2 0 0
/dev/sda1 /home/ann/local ext4 rw 0 0
//files/share /mnt/two\040words cifs rw 0 0
ann@host:/ /mnt/back\134slash fuse.sshfs rw 0 0
host:/straße /mnt/straße nfs rw 0 0
tmpfs /mnt/covered tmpfs rw 0 0
server:/x /mnt/covered nfs rw 0 0
none /mnt/line\012break 9p rw 0 0
host:/f /mnt/formfeed"""
    + "\x0c\u2028"
    + """ nfs rw 0 0
"""
)


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/", "overlay"),
        ("/var/state", "overlay"),
        ("/homes", "overlay"),
        ("/home/ann", "nfs4"),
        ("/home/ann/local/state", "ext4"),
        ("/home/ann/locals", "nfs4"),
        ("/mnt/two words/hall", "cifs"),
        ("/mnt/back\\slash/hall", "fuse.sshfs"),
        ("/mnt/straße/hall", "nfs"),
        ("/mnt/covered", "nfs"),
        ("/mnt/line\nbreak", "9p"),
        ("/mnt/formfeed\x0c\u2028/hall", "nfs"),
    ],
)
def test_the_file_system_is_that_of_the_nearest_and_newest_mount(folder: str, kind: str) -> None:
    assert file_system(Path(folder), MOUNTS) == kind


def test_a_system_that_lists_no_mounts_says_nothing_of_its_file_systems() -> None:
    assert file_system(Path("/home"), "") is None


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p", "lustre", "ceph"])
def test_a_folder_on_a_network_file_system_is_refused_with_the_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr("orchestrator.hall.folder._mounts", lambda: f"server:/x {tmp_path} {kind} rw 0 0\n")
    with pytest.raises(StoreUnsafe, match=rf"network file system \({kind}\).*DEBATE_HALL_STATE_DIR"):
        Hall.open(tmp_path / "state")
    assert not list((tmp_path / "state").iterdir())


def test_mounts_whose_names_are_no_utf8_are_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    strange = os.fsdecode(b"/mnt/\xff\xfe")
    monkeypatch.setattr("orchestrator.hall.folder._mounts", lambda: f"x {strange} nfs rw 0 0\nroot / ext4 rw 0 0\n")
    assert prepare(tmp_path / "state") == tmp_path / "state"
    assert file_system(Path(strange), f"x {strange} nfs rw 0 0\n") == "nfs"


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o720, 0o702])
def test_a_folder_that_others_may_write_is_refused_with_the_cure(tmp_path: Path, mode: int) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(mode)
    with pytest.raises(StoreUnsafe, match=r"chmod go-w .*state"):
        Hall.open(tmp_path / "state")
    assert not list((tmp_path / "state").iterdir())


def test_a_link_to_a_folder_that_others_may_write_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "state").symlink_to(tmp_path / "open")
    with pytest.raises(StoreUnsafe):
        Hall.open(tmp_path / "state")


def test_a_file_in_the_place_of_the_folder_is_refused_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("not a folder")
    for place in ("state", "state/below"):
        with pytest.raises(StoreUnavailable, match="DEBATE_HALL_STATE_DIR"):
            Hall.open(tmp_path / place)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(StoreUnavailable):
        Hall.open(tmp_path / "loop")


def test_a_home_that_nobody_has_is_refused() -> None:
    with pytest.raises(StoreUnavailable, match="DEBATE_HALL_STATE_DIR"):
        Hall.open("~no-such-user-anywhere/state")


READ_ONLY = """
import os, sys
from orchestrator.errors import StoreUnavailable
from orchestrator.hall.hall import Hall
from orchestrator.hall.sqlite import SQLiteStore  # now, since nobody may not read every Python
if os.geteuid() == 0:
    os.setgroups([])
    os.setuid(65534)
for place in sys.argv[1:]:
    try:
        Hall.open(place).close()
    except StoreUnavailable as error:
        print(error.code, "DEBATE_HALL_STATE_DIR" in str(error))
"""


def test_a_folder_that_may_not_be_written_is_said_in_plain_words() -> None:
    """In a process of its own, since root may write anywhere."""
    with tempfile.TemporaryDirectory() as place:
        for folder in (Path(place), Path(place) / "state"):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o555)
        places = [f"{place}/state", f"{place}/state/new"]
        result = subprocess.run([sys.executable, "-c", READ_ONLY, *places], capture_output=True, text=True, check=True)
        assert result.stdout.splitlines() == ["store_unavailable True"] * 2, result.stderr
        Path(place).chmod(0o755)


# ------------------------------------------------------------------------------------------------- where the hall is


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEBATE_HALL_STORE", raising=False)
    monkeypatch.delenv("DEBATE_HALL_STATE_DIR", raising=False)


def test_the_hall_is_the_same_from_every_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        with Hall.open() as hall:
            if name == "one":
                hall.init_debate("2026-01-06-shared", "Which?")
            assert [listed["thread_id"] for listed in hall.list_debates()] == ["2026-01-06-shared"]
        assert list((tmp_path / name).iterdir()) == []


def test_the_state_folder_of_the_environment_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(tmp_path / "chosen" / "deep"))
    Hall.open().close()
    assert (tmp_path / "chosen" / "deep" / "hall.sqlite3").exists()
    monkeypatch.setenv("DEBATE_HALL_STORE", str(tmp_path / "store"))
    Hall.open().close()
    assert (tmp_path / "store" / "hall.sqlite3").exists()
    Hall.open(tmp_path / "named").close()
    assert (tmp_path / "named" / "hall.sqlite3").exists()


def test_a_home_is_expanded_and_blanks_are_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", " ~/hall ")
    Hall.open().close()
    assert (tmp_path / "hall" / "hall.sqlite3").exists()
    assert state_folder({"DEBATE_HALL_STATE_DIR": "  "}) == state_folder({})


@pytest.mark.parametrize("location", ["mysql://user:secret@host/hall", "http://host"])
def test_a_store_of_another_kind_is_refused_with_a_sentence_that_keeps_the_password(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEBATE_HALL_STORE", location)
    for opening in (Hall.open, lambda: open_store(location)):
        with pytest.raises(StoreUnavailable, match="kept in SQLite or PostgreSQL, not at") as refusal:
            opening()
        assert "secret" not in str(refusal.value)
