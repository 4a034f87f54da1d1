"""How a debate is asked for from a step, and what it leaves to the later ones."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from page import fitting, page_of
from workflow import ActionError, Kind, annotate, given, muted, put, summarise

STOPPED = (3, 5)  # there is no decision, and the turns stand

_WITHHELD = re.compile(r"ACTIONS_.*|INPUT_.*|GITHUB_(TOKEN|OUTPUT|ENV|PATH|STATE|STEP_SUMMARY)")
_MOST_SUMMARY = 250_000  # characters; GitHub takes a MiB of a step


def failing() -> frozenset[int]:
    """The exit codes that fail the job.

    Raises:
        ActionError: they are none.
    """
    codes = given("FAIL_ON").replace(",", " ").split()
    if not all(code.isascii() and code.isdecimal() and 0 < int(code) < 256 for code in codes):
        raise ActionError(f"fail-on is {given('FAIL_ON')[:80]!r}. Give exit codes such as 1,2,7, or nothing.")
    return frozenset(map(int, codes))


def as_name(words: str) -> str:
    """A name for comment and artefact that nothing in it can break."""
    return re.sub(r"[^A-Za-z0-9._]+", "-", words).strip(".-")[:80] or "run-debate"


def ask(folder: Path, command: str, arguments: Sequence[str]) -> tuple[int, str]:
    """Runs a command of run-debate in a folder; its progress goes to the log, its answer comes back."""
    program = Path(sys.executable).with_name(command)
    inherited = {name: value for name, value in os.environ.items() if not _WITHHELD.fullmatch(name)}
    hall = str(folder.parent / "hall")
    with muted():
        ended = subprocess.run(
            [str(program), *arguments],
            cwd=folder,
            env={"DEBATE_HALL_STATE_DIR": hall} | inherited,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            check=False,
        )
    return ended.returncode, ended.stdout


def put_outcome(code: int, result: Mapping[str, Any], fails: bool, results: Path) -> None:
    """Puts out how a debate ended, and the files that it left.

    Args:
        result: what `run-debate --json` says.
        results: the folder that becomes the artefact.
    """
    put(
        exit_code=str(code),
        status=str(result.get("status") or ""),
        thread_id=str(result.get("thread_id") or ""),
        fails=str(fails).lower(),
    )
    if results.is_dir() and any(results.iterdir()):
        put(folder=str(results))
    for output, file in (("decision", "decision.md"), ("report", "report.html")):
        if (results / file).exists():
            put(**{output: str(results / file)})


def write_page(
    folder: Path, result: dict[str, Any], results: Path, commit: str, kept_back: Sequence[str]
) -> Path | None:
    """Writes what people are told into a folder and the job's summary; None where there is nothing to tell."""
    page = page_of(result, results / "decision.md", commit, kept_back)
    if page is None:
        return None
    (folder / "page.md").write_text(page, encoding="utf-8")
    summarise(fitting(page, _MOST_SUMMARY))
    return folder / "page.md"


def tell_failure(command: str, code: int, error: Mapping[str, Any] | None, fails: bool) -> None:
    """Says beside the job what went wrong, if anything did."""
    if error:
        kind: Kind = "error" if fails else "warning"
        annotate(kind, f"{command} ended with exit code {code}: {error['message']}")
