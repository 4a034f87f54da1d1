"""Debates the pull request that a workflow runs for, and leaves behind what the later steps need.

The debate runs in a folder of its own, so that no recipe, agent or models file is found by chance in what is checked
out; `checkout` in it leads there, for what the workflow names. It is shown first what the debate would read and who
would speak: a debate without the diff, or without a model, is not held.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from github import GitHub
from page import fitting, page_of
from pull_request import DIFF, PullRequest, write_down
from workflow import ActionError, Kind, annotate, as_step, given, muted, put, summarise, switch, variable

MATERIAL, CHECKOUT = "pull-request", "checkout"
_OPTIONS = ("TIER", "CONTEXT_LIMIT", "COST_LIMIT", "TIME_LIMIT", "ON_FAILURE")
_WITHHELD = re.compile(r"ACTIONS_.*|INPUT_.*|GITHUB_(TOKEN|OUTPUT|ENV|PATH|STATE|STEP_SUMMARY)")
_MOST_SUMMARY = 250_000  # characters; GitHub takes a MiB of a step
_STOPPED = (3, 5)  # there is no decision, and the turns stand


@dataclass(frozen=True, slots=True)
class Desk:
    """Where a debate is held, and what for."""

    folder: Path
    pull: PullRequest
    recipe: str
    name: str

    @classmethod
    def cleared(cls, pull: PullRequest) -> Desk:
        """An empty folder for one debate of this job."""
        recipe = given("RECIPE")
        name = _as_name(given("NAME") or f"run-debate-{Path(recipe).stem}")
        folder = Path(variable("RUNNER_TEMP")) / "run-debate" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        checkout = Path(variable("GITHUB_WORKSPACE"))
        (folder / CHECKOUT).symlink_to(checkout)
        desk = cls(folder, pull, _below_checkout(recipe), name)
        if desk.named_files:
            pull.require_trusted(checkout)
        return desk

    @property
    def named_files(self) -> tuple[str, ...]:
        """What the workflow wants read from the checkout."""
        files = [name for name in (self.recipe, self.models) if name.startswith(f"{CHECKOUT}/")]
        return (*files, *self.context)

    @property
    def models(self) -> str:
        return _below_checkout(given("MODELS"))

    @property
    def context(self) -> tuple[str, ...]:
        lines = (line.strip() for line in given("CONTEXT").splitlines())
        return tuple(f"{CHECKOUT}/{line}" for line in lines if line)

    @property
    def results(self) -> Path:
        """The folder that becomes the artefact."""
        return self.folder / "results"

    @property
    def thread_id(self) -> str:
        run = f"{variable('GITHUB_RUN_ID')}-{os.environ.get('GITHUB_RUN_ATTEMPT', '1')}"
        return f"{datetime.now(UTC):%Y-%m-%d}-pr-{self.pull.number}-{self.name[-60:].strip('.-')}-{run}"

    def arguments(self) -> list[str]:
        """The command line of run-debate, without how its answer is to look; the topic comes last, as no option."""
        sources = [MATERIAL, *self.context]
        options = [(f"--{name.lower().replace('_', '-')}", given(name)) for name in _OPTIONS]
        options += [("--models", self.models), ("--thread-id", self.thread_id), ("--out", str(self.results))]
        return [
            f"--recipe={self.recipe}",
            *(f"--context={source}" for source in sources),
            *(f"{option}={value}" for option, value in options if value),
            *(["--rehearse"] if switch("REHEARSE") else []),
            "--",
            given("TOPIC") or self.pull.topic,
        ]

    def run(self, command: str, arguments: Sequence[str]) -> tuple[int, str]:
        """Runs a command of run-debate; its progress goes to the log, its answer comes back."""
        program = Path(sys.executable).with_name(command)
        inherited = {name: value for name, value in os.environ.items() if not _WITHHELD.fullmatch(name)}
        hall = str(self.folder.parent / "hall")
        with muted():
            ended = subprocess.run(
                [str(program), *arguments],
                cwd=self.folder,
                env={"DEBATE_HALL_STATE_DIR": hall} | inherited,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                encoding="utf-8",
                check=False,
            )
        return ended.returncode, ended.stdout


def main() -> None:
    failing = _failing()
    pull = PullRequest.of_event()
    desk = Desk.cleared(pull)
    put(name=desk.name)
    if not switch("REHEARSE") and pull.has_no_secrets and not _can_speak(desk):
        _say_that_nobody_speaks(pull)
        return
    kept_back = write_down(GitHub.of_environment(), pull, desk.folder / MATERIAL)
    if kept_back:
        annotate(
            "warning", f"Not debated, since GitHub shows no diff or the name is a secret's: {', '.join(kept_back)}"
        )
    code, result = _held(desk)
    put(
        exit_code=str(code),
        status=str(result.get("status") or ""),
        thread_id=str(result.get("thread_id") or ""),
        fails=str(code in failing).lower(),
    )
    if code in _STOPPED and result.get("thread_id"):
        desk.run("debate-hall", ["export", result["thread_id"], "--out", str(desk.results / "debate.json")])
    if desk.results.is_dir() and any(desk.results.iterdir()):
        put(folder=str(desk.results))
    for output, file in (("decision", "decision.md"), ("report", "report.html")):
        if (desk.results / file).exists():
            put(**{output: str(desk.results / file)})
    page = page_of(result, desk.results / "decision.md", desk.pull.head, kept_back)
    if page is not None:
        (desk.folder / "page.md").write_text(page, encoding="utf-8")
        put(page=str(desk.folder / "page.md"))
        summarise(fitting(page, _MOST_SUMMARY))
    if result.get("error"):
        kind: Kind = "error" if code in failing else "warning"
        annotate(kind, f"run-debate ended with exit code {code}: {result['error']['message']}")


def _failing() -> frozenset[int]:
    """The exit codes that fail the job."""
    codes = given("FAIL_ON").replace(",", " ").split()
    if not all(code.isascii() and code.isdecimal() and 0 < int(code) < 256 for code in codes):
        raise ActionError(f"fail-on is {given('FAIL_ON')[:80]!r}. Give exit codes such as 1,2,7, or nothing.")
    return frozenset(map(int, codes))


def _can_speak(desk: Desk) -> bool:
    models = [f"--models={desk.models}"] if desk.models else []
    return desk.run("debate-hall", ["doctor", "--json", *models])[0] == 0


def _say_that_nobody_speaks(pull: PullRequest) -> None:
    whose = "from a fork" if pull.is_fork else "by Dependabot"
    words = (
        f"No debate was held: this pull request is {whose}, GitHub gives its workflow no secrets, and so no model can "
        "be asked. See docs/ci.md of run-debate, “Pull requests from forks”."
    )
    annotate("notice", words)
    summarise(words)


def _held(desk: Desk) -> tuple[int, dict[str, Any]]:
    """Holds the debate; returns its exit code and what `run-debate --json` says."""
    arguments = desk.arguments()
    code, answer = desk.run("run-debate", ["--dry-run", "--json", "--quiet", *arguments])
    if code == 0:
        plan = json.loads(answer)
        if not any(piece["path"].endswith(DIFF) for piece in plan["evidence"]):
            raise ActionError(
                f"No changed file fits into the evidence, so there is nothing to debate: {' '.join(plan['notices'])} "
                "Raise context-limit."
            )
        code, answer = desk.run("run-debate", ["--json", *arguments])
    try:
        return code, json.loads(answer)
    except ValueError:
        raise ActionError(f"run-debate ended with exit code {code} and no answer; the log says why.") from None


def _below_checkout(name: str) -> str:
    """A file of the checkout as it is seen from the desk; a name stays a name."""
    is_file = "/" in name or name.lower().endswith((".yaml", ".yml"))
    return f"{CHECKOUT}/{name}" if is_file else name


def _as_name(words: str) -> str:
    """A name for comment and artefact that nothing in it can break."""
    return re.sub(r"[^A-Za-z0-9._]+", "-", words).strip(".-")[:80] or "run-debate"


if __name__ == "__main__":
    as_step(main)
