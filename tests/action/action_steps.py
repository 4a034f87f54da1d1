"""Runs the steps of action.yml as they stand there, with bash as GitHub calls it.

What is GitHub's own is played: expressions, the files that steps write to, and `uses`, which is noted and not run.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from github_stand_in import REPOSITORY, GitHubStandIn

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
TOKEN = "token-of-the-job"
HEAD = "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678"
ARTEFACT = "https://github.example/artifact/7"
_EXPRESSION = re.compile(r"\$\{\{ (.+?) \}\}")
_BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail")


def pull_request(**changes: Any) -> dict[str, Any]:
    """The event of a pull request: by a colleague, from a branch of the same repository."""
    pull = {
        "number": 12,
        "title": "Retry thirty times",
        "body": "Three were too few.",
        "user": {"login": "mara"},
        "head": {"sha": HEAD, "ref": "retries", "repo": {"full_name": REPOSITORY}},
        "base": {"sha": "0" * 40, "ref": "main", "repo": {"full_name": REPOSITORY}},
    }
    return {"action": "synchronize", "sender": {"login": "mara"}, "pull_request": {**pull, **changes}}


FORK = {"head": {"sha": HEAD, "ref": "retries", "repo": {"full_name": "stranger/billing"}}}


@dataclass
class Job:
    """What came of the steps that were run."""

    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    used: dict[str, dict[str, str]] = field(default_factory=dict)
    codes: dict[str, int] = field(default_factory=dict)
    log: str = ""
    summary: str = ""

    @property
    def failed(self) -> bool:
        return any(self.codes.values())

    def says(self, kind: str) -> list[str]:
        """The annotations of a kind."""
        return re.findall(rf"^::{kind}::(.*)$", self.log, re.MULTILINE)


class Runner:
    """A runner of GitHub's, as far as a composite action sees it.

    Args:
        folder: an empty one.
        environment: what the workflow sets beside what a runner does.
    """

    def __init__(self, folder: Path, github: GitHubStandIn, environment: Mapping[str, str]) -> None:
        self.temp, self.workspace = folder / "temp", folder / "workspace"
        for place in (self.temp, self.workspace):
            place.mkdir()
        self._event = folder / "event.json"
        self._environment = {
            "HOME": str(folder),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "NO_PROXY": "127.0.0.1",
            "GITHUB_API_URL": github.url,
            "GITHUB_GRAPHQL_URL": f"{github.url}/graphql",
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_WORKSPACE": str(self.workspace),
            "GITHUB_EVENT_PATH": str(self._event),
            "GITHUB_RUN_ID": "1001",
            "GITHUB_RUN_ATTEMPT": "1",
            "RUNNER_TEMP": str(self.temp),
            **environment,
        }

    def run(
        self,
        event: dict[str, Any],
        inputs: Mapping[str, str] | None = None,
        *,
        on: str = "pull_request",
        only: str | None = None,
        outputs: dict[str, dict[str, str]] | None = None,
        **environment: str,
    ) -> Job:
        """Runs the steps in their order, or one of them alone with what earlier ones put out."""
        self._event.write_text(json.dumps(event))
        chosen = {name: str(told["default"]) for name, told in ACTION["inputs"].items()} | dict(inputs or {})
        assert chosen.keys() == ACTION["inputs"].keys()
        job = Job(outputs=dict(outputs or {}))
        for step in STEPS:
            name = step.get("id", step["name"])
            if only not in (None, name) or not self._is_due(step, job, chosen):
                continue
            if "uses" in step:
                job.used[name] = {key: self._said(str(value), job, chosen) for key, value in step["with"].items()}
                job.outputs[name] = {"artifact-url": ARTEFACT}
            else:
                self._run(step, name, job, chosen, {**environment, "GITHUB_EVENT_NAME": on})
        return job

    def _run(
        self, step: dict[str, Any], name: str, job: Job, inputs: Mapping[str, str], more: Mapping[str, str]
    ) -> None:
        script, output, summary = (self.temp / f"{name}.{kind}" for kind in ("sh", "output", "summary"))
        script.write_text(step["run"])
        output.touch()
        summary.write_text("")
        told = {key: self._said(str(value), job, inputs) for key, value in step.get("env", {}).items()}
        assert step["shell"] == "bash"
        ended = subprocess.run(
            [*_BASH, str(script)],
            cwd=self._said(step.get("working-directory", "${{ github.workspace }}"), job, inputs),
            env=self._environment | more | told | {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        job.codes[name] = ended.returncode
        job.log += ended.stdout
        job.summary += summary.read_text()
        job.outputs[name] = dict(line.split("=", 1) for line in output.read_text().splitlines())
        output.unlink()

    def _is_due(self, step: dict[str, Any], job: Job, inputs: Mapping[str, str]) -> bool:
        """GitHub's `if`: conditions with `&&` between them; without a status function, only after success."""
        conditions = str(step.get("if", "success()")).removeprefix("${{ ").removesuffix(" }}").split(" && ")
        if "!cancelled()" not in conditions and any(job.codes.values()):
            return False
        return all(self._holds(condition, job, inputs) for condition in conditions)

    def _holds(self, condition: str, job: Job, inputs: Mapping[str, str]) -> bool:
        if condition in ("!cancelled()", "success()"):
            return True
        compared = re.fullmatch(r"(\S+) (==|!=) '(.*)'", condition)
        assert compared, condition
        return (self._value(compared[1], job, inputs) == compared[3]) == (compared[2] == "==")

    def _said(self, text: str, job: Job, inputs: Mapping[str, str]) -> str:
        return _EXPRESSION.sub(lambda found: self._value(found[1], job, inputs), text)

    def _value(self, name: str, job: Job, inputs: Mapping[str, str]) -> str:
        match name.split("."):
            case ["inputs", key]:
                return self._said(inputs[key], job, {}) if "${{" in inputs[key] else inputs[key]
            case ["steps", step, "outputs", key]:
                return job.outputs.get(step, {}).get(key, "")
            case ["runner", "temp"]:
                return str(self.temp)
            case ["github", "workspace"]:
                return str(self.workspace)
            case ["github", "token"]:
                return TOKEN
        raise AssertionError(f"nobody knows {name}")
