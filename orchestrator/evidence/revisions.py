"""The difference between two revisions of a git repository, as evidence: `git:main..HEAD`.

`A..B` is what differs between A and B, `A...B` what B changed since it parted from A; a side that is left out is HEAD.
git is asked by its own program, so that no configuration of a repository makes it run another: no pager, hook, external
diff, text conversion or fetch. What it is asked to compare are ids that it gave itself.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from threading import Timer

from orchestrator.errors import ConfigurationError
from orchestrator.evidence.reading import MAX_BYTES, is_within
from orchestrator.secrets import is_secret_name

PREFIX = "git:"
WITHOUT_IT = "Give a range without it, or name the files themselves."
_SECONDS = 60  # for one answer of git's
_RANGE = re.compile(r"(?P<old>.*?)(?P<dots>\.{2,3})(?P<new>[^.].*|)")
_LEADS_AWAY = re.compile(r"GIT_(?!CONFIG_)")  # to another repository, program or file
_SAFELY = (
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "protocol.allow=never"),
    *("-c", "core.quotePath=false", "-c", "diff.orderFile=/dev/null"),
    "--no-pager",
)
_PLAINLY = (
    *("--no-color", "--no-ext-diff", "--no-textconv", "--no-relative", "--submodule=short", "--src-prefix=a/"),
    *("--dst-prefix=b/", "--unified=3", "--inter-hunk-context=0", "--diff-algorithm=myers"),
)


def difference(source: str, base: Path, within: Sequence[Path] | None) -> bytes:
    """The diff of a range of revisions.

    Args:
        source: `git:A..B` or `git:A...B`, as the user gave it.
        base: a folder of the repository's work tree.
        within: real folders; a repository that is in none of them is refused. None is everywhere.

    Raises:
        ConfigurationError: it is no range; git, the repository or a revision is not there; nothing differs; the diff is
            too large; a file in it looks like a secret by its name.
    """
    found = _RANGE.fullmatch(source.removeprefix(PREFIX))
    if not found or not (found["old"] or found["new"]):
        raise ConfigurationError(
            f"{source!r:.80} is no range of revisions.", "Write it as git:main..HEAD; a file of that name is ./git:…"
        )
    repository = _Repository(source, base)
    repository.require_there(within)
    span = repository.commit(found["old"] or "HEAD") + found["dots"] + repository.commit(found["new"] or "HEAD")
    repository.require_no_secret(span)
    diff = repository.asked("diff", "--find-renames", *_PLAINLY, span, "--")
    if not diff:
        raise ConfigurationError(
            "shows no difference.", "Name revisions that differ; what is not committed is in none.", source=source
        )
    return diff


def known_commit(base: Path, revision: str = "HEAD") -> str | None:
    """The id of a revision's commit in a folder's repository; None where there is no repository, or none such in it."""
    try:
        return _Repository(f"{PREFIX}{revision}", base).commit(revision)
    except ConfigurationError:
        return None


@dataclass(frozen=True, slots=True)
class _Repository:
    source: str  # for what goes wrong
    folder: Path

    def require_there(self, within: Sequence[Path] | None) -> None:
        """Refuses a folder of no repository, and one whose repository keeps anything where nothing may be read."""
        git, common = map(self._place, ("--git-dir", "--git-common-dir"))
        kept = (git, common, common / "objects", common / "objects/pack")
        borrows = os.path.lexists(common / "objects/info/alternates")
        if within is not None and (borrows or not all(is_within(place, within) for place in kept)):
            raise self._error(
                "belongs to a repository outside the folders that may be read here.",
                "Name files below one of them; who runs the server sets them (--root).",
            )

    def _place(self, which: str) -> Path:
        return Path(os.fsdecode(self.asked("rev-parse", "--path-format=absolute", which)).removesuffix("\n"))

    def commit(self, revision: str) -> str:
        """The id of a revision's commit."""
        wanted = "" if revision.startswith("-") else f"{revision}^{{commit}}"
        code, said, _ = self._run("rev-parse", "--verify", "--quiet", wanted)
        id = os.fsdecode(said).strip()
        if code != 0 or not re.fullmatch(r"[0-9a-f]{40,64}", id):
            raise self._error(
                f"there is no revision {revision!r:.80} in the repository.", "See `git log` and `git branch --all`."
            )
        return id

    def require_no_secret(self, span: str) -> None:
        names = self.asked("diff", "--name-only", "-z", "--no-renames", *_PLAINLY, span, "--")
        for name in os.fsdecode(names).split("\0"):
            if reason := is_secret_name(name):
                raise self._error(
                    f"the diff changes {name!r:.200}, which looks like a secret ({reason}); nothing was sent.",
                    WITHOUT_IT,
                )

    def asked(self, *arguments: str) -> bytes:
        """What git answers.

        Raises:
            ConfigurationError: it fails, or answers more than a piece of evidence may hold.
        """
        code, said, complaint = self._run(*arguments)
        if len(said) > MAX_BYTES:
            raise self._error(
                f"the diff is larger than {MAX_BYTES:,} bytes.", "Give a narrower range, or name the files themselves."
            )
        if "not a git repository" in complaint:
            raise self._error(f"{self.folder} is in no git repository.", "Start in a folder of the repository.")
        if code != 0:
            raise self._error(f"git cannot tell: {complaint[:500] or 'it took too long'}.", "Try it: git diff A..B.")
        return said

    def _run(self, *arguments: str) -> tuple[int, bytes, str]:
        """Git's exit code, the beginning of its answer, and the first line of its complaint."""
        environment = {name: value for name, value in os.environ.items() if not _LEADS_AWAY.match(name)}
        environment |= {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}
        command = ["git", "-C", str(self.folder), *_SAFELY, *arguments]
        quiet, pipe = subprocess.DEVNULL, subprocess.PIPE
        try:
            with (
                TemporaryFile() as errors,
                subprocess.Popen(command, stdin=quiet, stdout=pipe, stderr=errors, env=environment) as git,
            ):
                said = _beginning(git)
                errors.seek(0)
                return git.returncode, said, errors.readline().decode(errors="replace").strip().removeprefix("fatal: ")
        except OSError as error:
            raise self._error(
                f"git cannot be started: {error.strerror}.", "Install it, or name the files themselves."
            ) from error

    def _error(self, message: str, cure: str) -> ConfigurationError:
        return ConfigurationError(message, cure, source=self.source)


def _beginning(git: subprocess.Popen[bytes]) -> bytes:
    """What git says, a little more than is allowed at most; it is ended when it has more to say, or takes too long."""
    assert git.stdout is not None
    timer = Timer(_SECONDS, git.kill)
    timer.start()
    try:
        said = git.stdout.read(MAX_BYTES + 1)
        git.stdout.close()
        git.wait()
        return said
    finally:
        timer.cancel()
