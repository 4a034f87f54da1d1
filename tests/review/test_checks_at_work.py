"""Checks evaluated: real files, real commands, and commands that hang, flood and look for keys."""

from __future__ import annotations

import errno
import hashlib
import os
import socket
from collections.abc import Callable
from datetime import date
from pathlib import Path
from tempfile import gettempdir

import anyio
import pytest
from offices import git

from orchestrator.models.cli_process import marked
from orchestrator.review import checking
from orchestrator.review.checking import Finding, State, evaluate
from orchestrator.review.checks import parse
from orchestrator.review.work_copy import NoCopyError, copy_folder

pytestmark = pytest.mark.anyio

TODAY = date(2027, 3, 1)
DEADLINE_S = 30


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "source"
    (place / "docs").mkdir(parents=True)
    (place / "docs" / "billing.md").write_text("# Billing\n\nInvoices leave\nfrom the ledger.\n")
    (place / "db.conf").write_text("max_connections = 200\n")
    (place / ".env").write_text("API_KEY=none of your business\n")
    (tmp_path / "outside.md").write_text("Invoices\n")
    (place / "out.md").symlink_to(tmp_path / "outside.md")
    return place


async def found(text: str, folder: Path, *, commands: bool = True, seconds: float = 20) -> Finding:
    check = parse(text)
    assert check is not None, text
    with anyio.fail_after(DEADLINE_S):
        return await evaluate(check, folder, today=TODAY, commands=commands, seconds=seconds)


CONF = hashlib.sha256(b"max_connections = 200\n").hexdigest()


@pytest.mark.parametrize(
    ("text", "state", "why"),
    [
        ("until 2027-03-01", "holds", "today is 2027-03-01"),
        ("until 2027-02-28", "broken", "today is 2027-03-01"),
        (f"file db.conf sha256 {CONF}", "holds", f"db.conf has sha256 {CONF}"),
        (f"file db.conf sha256 {'0' * 64}", "broken", f"db.conf has sha256 {CONF}"),
        (f"file gone.conf sha256 {CONF}", "broken", "there is no gone.conf"),
        (f"file docs sha256 {CONF}", "unknown", "docs is a link to a folder, which is not followed"),
        ('text "leave from the   ledger" in docs/billing.md', "holds", "docs/billing.md holds the text"),
        ('text "leave by mail" in docs/billing.md', "broken", "docs/billing.md does not hold the text"),
        ('text "leave" in gone.md', "broken", "there is no gone.md"),
        ('no text "by mail" in docs/billing.md', "holds", "docs/billing.md does not hold the text"),
        ('no text "from the ledger" in docs/billing.md', "broken", "docs/billing.md holds the text"),
        ('no text "from the ledger" in gone.md', "unknown", "there is no gone.md"),
    ],
)
async def test_files_and_days_are_checked_without_a_command(folder: Path, text: str, state: str, why: str) -> None:
    assert await found(text, folder, commands=False) == (state, why)


@pytest.mark.parametrize("path", ["../outside.md", "out.md", "/etc/hostname", "~/x.md", "docs/../../outside.md"])
async def test_no_path_leads_out_of_the_folder(folder: Path, path: str) -> None:
    for text in (f'text "Invoices" in {path}', f"file {path} sha256 {CONF}"):
        assert await found(text, folder) == ("unknown", f"{path} leads out of the folder that is checked")


@pytest.mark.parametrize("check", ["file {} sha256 " + CONF, 'text "a" in {}', 'no text "a" in {}'])
async def test_a_file_that_cannot_be_looked_at_is_not_taken_for_gone(folder: Path, check: str) -> None:
    (folder / "loop").symlink_to("loop")
    long = "a" * 300
    for path, error in (("loop", errno.ELOOP), (long, errno.ENAMETOOLONG), (f"{long}/b.md", errno.ENAMETOOLONG)):
        finding = await found(check.format(path), folder)
        assert finding == ("unknown", f"{path} cannot be read: {os.strerror(error)}")


@pytest.mark.parametrize("path", ["db.conf/b.md", "dangling"])
async def test_a_file_below_a_file_or_at_the_end_of_a_dead_link_is_gone(folder: Path, path: str) -> None:
    (folder / "dangling").symlink_to("gone.md")
    assert await found(f"file {path} sha256 {CONF}", folder) == ("broken", f"there is no {path}")


async def test_a_path_that_may_not_be_looked_at_is_not_taken_for_gone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, **_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "stat", refuse)  # the superuser, as whom tests may run, may look at everything
    finding = await found(f"file db.conf sha256 {CONF}", folder)
    assert finding == ("unknown", f"db.conf cannot be read: {os.strerror(errno.EACCES)}")


async def test_a_file_of_secrets_is_not_looked_into(folder: Path) -> None:
    finding = await found('text "API_KEY" in .env', folder)
    assert finding.state is State.UNKNOWN
    assert "looks like a secret" in finding.why


@pytest.mark.parametrize(
    ("text", "state", "why"),
    [
        ("exit 0: grep -q 'max_connections = 200' db.conf", "holds", "the command ended with exit code 0"),
        ("exit 0: grep -q 'max_connections = 9' db.conf", "broken", "the command ended with exit code 1"),
        ("exit 1: grep -rq kafka .", "holds", "the command ended with exit code 1"),
        ("exit 127: no-such-program", "holds", "the command ended with exit code 127"),
        ("exit 0: kill -9 $$", "unknown", "the command ended by signal 9"),
        ("exit 0: sh -c 'kill -9 $$' 2>&1; exit $?", "unknown", "the command ended with exit code 137"),
        ("exit 0: exit 129", "unknown", "the command ended with exit code 129"),
        ("exit 0: exit 192", "unknown", "the command ended with exit code 192"),
        ("exit 0: exit 193", "broken", "the command ended with exit code 193"),
        ("exit 0: exit 125", "broken", "the command ended with exit code 125"),
        ("exit 137: sh -c 'kill -9 $$'; exit $?", "holds", "the command ended with exit code 137"),
        ("number < 201: sed 's/.*= //' db.conf", "holds", "the command printed 200"),
        ("number < 200: sed 's/.*= //' db.conf", "broken", "the command printed 200"),
        ("number <= 0.25: echo 'p50=12ms p95=2.5e-1s.'", "holds", "the command printed 2.5e-1"),
        ("number == -3: echo 5 files, -3 degrees", "holds", "the command printed -3"),
        ("number == 0: grep -c kafka db.conf", "holds", "the command printed 0"),
        ("number < 9: echo none", "unknown", "the command printed no number"),
        ("number < 9: echo 12; echo gone >&2; exit 3", "unknown", "the command ended with exit code 3: gone"),
        ("number > 9: echo 1e9999", "holds", "the command printed 1e9999"),
        (
            "number < 1000: echo 1e9999999",
            "unknown",
            "the command printed 1e9999999, whose exponent has more than four digits",
        ),
        ("number < 9: echo 1e9999999 7", "holds", "the command printed 7"),
        ("number < 9: echo 1,234", "unknown", "the command printed 1,234, which can be read in more than one way"),
    ],
)
async def test_a_command_is_judged_by_how_it_ends_or_what_it_prints(
    folder: Path, text: str, state: str, why: str
) -> None:
    assert await found(text, folder) == (state, why)


async def test_a_program_that_is_not_there_breaks_no_assumption(folder: Path) -> None:
    finding = await found("exit 0: no-such-program", folder)
    assert finding.state is State.UNKNOWN
    assert "exit code 127" in finding.why
    assert "no-such-program" in finding.why


async def test_a_command_that_is_not_allowed_is_not_run(folder: Path, tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    finding = await found(f"exit 0: touch {proof}", folder, commands=False)
    assert finding == ("unknown", "it runs a command, and none may run here")
    assert not proof.exists()


@pytest.mark.slow
async def test_a_command_that_hangs_is_ended_with_all_that_it_started(folder: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    hangs = f"exit 0: printenv DEBATE_HALL_CALL > {mark}; trap '' TERM; (setsid sleep 600 &) ; sleep 600"
    finding = await found(hangs, folder, seconds=0.3)
    assert finding == ("unknown", "the command took longer than 0.3 seconds, and was ended")
    assert list(marked(mark.read_text().strip())) == []


@pytest.mark.slow
async def test_a_command_may_print_a_megabyte_and_what_it_prints_is_bounded(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    megabyte = "head -c 1048576 /dev/zero | tr '\\0' x"
    assert await found(f"number == 7: {megabyte}; echo; echo 7", folder) == ("holds", "the command printed 7")
    monkeypatch.setattr("orchestrator.models.cli_process.MOST_OUTPUT", 1 << 20)
    flood = await found("exit 0: while :; do echo y; done", folder)
    assert flood.state is State.UNKNOWN
    assert "printed more than" in flood.why


async def test_a_command_sees_no_key_of_its_caller_and_no_home_of_the_user(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-proj-1234567890abcdefghij")
    assert await found("exit 1: printenv OPENAI_API_KEY", folder) == ("holds", "the command ended with exit code 1")
    known = "PATH|HOME|TMPDIR|LANG|GIT_CEILING_DIRECTORIES|DEBATE_HALL_CALL|PWD|OLDPWD|SHLVL|_"
    assert await found(f"number == 0: env | sed 's/=.*//' | grep -cvxE '{known}'", folder) == (
        "holds",
        "the command printed 0",
    )
    own_home = f'exit 0: test "$HOME" != "{Path.home()}" && test -z "$(ls -A "$HOME")"'
    assert (await found(own_home, folder)).state is State.HOLDS


def all_in(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


async def test_a_command_works_in_a_copy_and_nothing_of_it_is_left(folder: Path, tmp_path: Path) -> None:
    before = all_in(folder)
    place = tmp_path / "place"
    ruins = f"exit 0: pwd > {place}; rm -r docs; echo changed > db.conf; mkdir locked; chmod 0 locked"
    assert (await found(ruins, folder)).state is State.HOLDS
    assert all_in(folder) == before
    assert (folder / "db.conf").read_text() == "max_connections = 200\n"
    assert place.read_text().split("/")[-2] not in os.listdir(gettempdir())


@pytest.fixture
def repository(folder: Path) -> Path:
    git(folder, "init", "-q")
    git(folder, "add", "db.conf")
    git(folder, "commit", "-q", "-m", "one")
    return folder


async def test_a_command_may_ask_git(repository: Path) -> None:
    assert await found("number == 1: git rev-list --count HEAD", repository) == ("holds", "the command printed 1")


async def test_no_command_changes_the_repository_that_a_work_tree_or_a_link_leads_to(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, linked = tmp_path / "tree", tmp_path / "linked"
    git(repository, "worktree", "add", "-q", str(tree))
    linked.mkdir()
    (linked / ".git").symlink_to(repository / ".git")
    before = git(repository, "for-each-ref")
    for folder in (tree, linked):
        finding = await found("exit 0: git branch made-by-check", folder)
        assert finding.state is State.UNKNOWN
        assert "not a git repository" in finding.why
        assert (await found("exit 0: test ! -e .git", folder)).state is State.HOLDS
    monkeypatch.setattr("tempfile.tempdir", str(repository))  # the copy stands in a repository
    assert (await found("exit 0: git branch made-by-check", tree)).state is State.UNKNOWN
    assert git(repository, "for-each-ref") == before


async def test_a_cancelled_check_leaves_nothing_behind(folder: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    with anyio.fail_after(DEADLINE_S):
        async with anyio.create_task_group() as group:
            group.start_soon(found, f"exit 0: printenv DEBATE_HALL_CALL > {mark}; sleep 600", folder)
            while not mark.exists() or not mark.read_text().strip():  # noqa: ASYNC110 - nobody tells when a file grows
                await anyio.sleep(0.01)
            group.cancel_scope.cancel()
    assert list(marked(mark.read_text().strip())) == []


def _a_pipe(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(folder / "socket"))
    (folder / "dangling").symlink_to("nowhere")


@pytest.mark.parametrize("extra", [_a_pipe, lambda folder: None])
def test_a_copy_holds_what_the_folder_holds_but_no_pipes_and_not_itself(
    folder: Path, extra: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    extra(folder)
    copy_folder(folder, folder / "docs" / "copy")
    copied = {str(path.relative_to(folder / "docs" / "copy")) for path in (folder / "docs" / "copy").rglob("*")}
    there = {str(path.relative_to(folder)) for path in folder.rglob("*") if "copy" not in path.parts}
    assert copied == there - {"pipe", "socket"}
    assert (folder / "docs" / "copy" / "out.md").is_symlink()


async def test_a_folder_that_is_too_large_is_not_copied_and_that_is_told(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for room in ({"most_bytes": 50}, {"most_files": 3}):
        with pytest.raises(NoCopyError, match="too large"):
            copy_folder(folder, tmp_path / f"copy of {room}", **room)
    monkeypatch.setattr(checking, "copy_folder", lambda folder, to: copy_folder(folder, to, most_files=1))
    assert await found("exit 0: true", folder) == (
        "unknown",
        "the command was not run: the folder is too large to be copied for a command",
    )
