"""Which files git would ignore, told without asking git, which need not be there.

What counts are the `.gitignore` files from a repository's top down to the file, and the repository's `info/exclude`;
where there is no repository, the `.gitignore` files from the place where the search begins. A user's own
`core.excludesFile` is not read, and whether git tracks a file in spite of its rules is not asked.

As in git, a folder that is ignored is ignored with all that is in it: no rule below takes anything back. Each rule is
asked about one file or folder at a time, never about the path that leads there: so a rule that takes a folder back
says nothing of what is in it.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

_MAX_BYTES = 1 << 20  # of one file of rules


class Ignoring:
    """The rules that hold in and below a folder, and beside it.

    Args:
        start: where a search begins; an absolute path.
    """

    def __init__(self, start: Path) -> None:
        self._top = next((folder for folder in (start, *start.parents) if _is_top(folder)), start)
        self._folders: dict[Path, _Folder] = {}

    def ignores(self, path: Path, *, is_folder: bool) -> bool:
        """Whether git would ignore a file or folder; a link is a file.

        Raises:
            OSError: a file of rules that counts here cannot be read; it names the file.
        """
        folder = self._folder(path.parent)
        return folder.is_ignored or folder.names(path, is_folder)

    def _folder(self, path: Path) -> _Folder:
        if path not in self._folders:
            self._folders[path] = self._read(path)
        return self._folders[path]

    def _read(self, path: Path) -> _Folder:
        own = _rules(path, _lines(path / ".gitignore"))
        if _is_top(path):  # also that of a repository within another
            return _Folder((own, _rules(path, _lines(_exclude_file(path), follow=True))), is_ignored=False)
        if path in (self._top, path.parent):
            return _Folder((own,), is_ignored=False)
        above = self._folder(path.parent)
        return _Folder((own, *above.rules), above.is_ignored or above.names(path, True))


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: GitIgnoreSpecPattern
    only_folders: bool

    def matches(self, path: str) -> bool:
        """Whether the rule names this very path; pathspec's patterns also match what is in a folder they name."""
        found = self.pattern.match_file(path)
        return found is not None and found.match.lastgroup is None  # its one group is the folder that was named


@dataclass(frozen=True, slots=True)
class _Rules:
    """Those of one file, the last first, for the last that matches decides."""

    start: int  # where a path that is relative to their folder begins
    rules: tuple[_Rule, ...]

    def verdict(self, path: str, is_folder: bool) -> bool | None:
        """Whether they ignore it; None when they say nothing."""
        inside = path[self.start :]
        for rule in self.rules:
            if (is_folder or not rule.only_folders) and rule.matches(inside):
                return rule.pattern.include
        return None


@dataclass(frozen=True, slots=True)
class _Folder:
    rules: tuple[_Rules, ...]  # those that win first
    is_ignored: bool

    def names(self, path: Path, is_folder: bool) -> bool:
        verdicts = (rules.verdict(str(path), is_folder) for rules in self.rules if rules.rules)
        return next((verdict for verdict in verdicts if verdict is not None), False)


def _is_top(folder: Path) -> bool:
    return os.path.lexists(folder / ".git")


def _exclude_file(top: Path) -> Path:
    """A repository's own list; a work tree of it, or a submodule, has a file that says where the repository is."""
    git = _pointed_to(top / ".git", "gitdir: ") or top / ".git"
    return (_pointed_to(git / "commondir") or git) / "info/exclude"


def _pointed_to(file: Path, mark: str = "") -> Path | None:
    """The folder that a file of git's names in its first line, from the folder it stands in."""
    line = next(iter(_lines(file)), "")
    return file.parent / line.removeprefix(mark) if line else None


def _lines(path: Path, *, follow: bool = False) -> list[str]:
    """A file's lines; none where there is no file. Git follows no link called `.gitignore`, and neither does this."""
    try:
        if stat.S_ISREG(path.stat(follow_symlinks=follow).st_mode):
            with path.open("rb") as stream:
                return os.fsdecode(stream.read(_MAX_BYTES).removeprefix(b"\xef\xbb\xbf")).split("\n")
    except (FileNotFoundError, NotADirectoryError, ValueError):  # a pointer's own line may be no path
        pass
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    return []


def _rules(folder: Path, lines: list[str]) -> _Rules:
    rules = tuple(rule for line in reversed(lines) if (rule := _rule(line)) is not None)
    return _Rules(len(os.path.join(folder, "")), rules)


_END = re.compile(r"(?<!\\) +\Z|(?<=\\ ) +\Z")  # an escaped space belongs to the name


def _rule(line: str) -> _Rule | None:
    """A line as a rule; None for a comment, an empty line, and what git takes for a rule that names nothing."""
    from pathspec.patterns.gitignore.base import GitIgnorePatternError  # here: most commands search no folder
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    text = _END.sub("", line.removesuffix("\r"))
    with suppress(GitIgnorePatternError, re.error):
        pattern = GitIgnoreSpecPattern(text.removesuffix("/"))
        return _Rule(pattern, text.endswith("/")) if pattern.include is not None else None
    return None
