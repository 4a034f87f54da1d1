"""Every command of the pages that tell how to do something is run, and prints what the page says it prints."""

from __future__ import annotations

import re
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from cronsim import CronSim
from page_shell import DOCS, ROOT, blocks, commands, run, unsaid

from endpoint import ModelServer
from orchestrator.cli.commands.reviewing import review

INDEX = DOCS / "README.md"
TASKS = [DOCS / name for name in re.findall(r"^\|.*\]\(([\w-]+\.md)\) \| \d+ \|$", INDEX.read_text(), re.MULTILINE)]
WORKFLOWS = sorted((DOCS / "examples" / "workflows").glob("debate*.yml"))
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("page", TASKS, ids=lambda page: page.stem)
def test_a_page_runs_from_its_first_command_to_its_last(
    page: Path, repository: Path, environment: dict[str, str], model_server: ModelServer
) -> None:
    if any(line.endswith(" &") for line in commands(page).splitlines()):
        model_server.latency_s = 0.5  # somebody speaks while the models think
    ended = run(page, repository, environment)
    assert ended.returncode == 0, ended.stdout[-3000:]
    assert list(unsaid(page, ended.stdout)) == []


def test_there_is_a_page_for_each_task() -> None:
    assert [page.stem for page in TASKS] == [
        "first-decision",
        "security-review",
        "weekly-review",
        "agents-and-skills",
        "people",
        "replay",
        "baseline",
        "evaluation",
        "own-recipes-and-agents",
        "ci",
        "operations",
        "how-it-works",
    ]
    assert all(commands(page) for page in TASKS)


def test_every_page_stands_in_the_index() -> None:
    assert {page.name for page in DOCS.glob("*.md")} - {"README.md"} == set(
        re.findall(r"\]\(([\w.-]+\.md)\)", INDEX.read_text())
    )


def test_nothing_is_left_unrun_but_what_says_so() -> None:
    tags = {page.stem: set(re.findall(r"^```(\w+)$", page.read_text(), re.MULTILINE)) for page in TASKS}
    assert set().union(*tags.values()) == {"sh", "text", "console", "cron", "yaml", "diagram"}
    assert {stem for stem, used in tags.items() if "console" in used} == {"weekly-review"}


def test_the_crontab_calls_a_command_at_a_time_that_cron_understands() -> None:
    (crontab,) = blocks(DOCS / "weekly-review.md", "cron")
    *settings, line = crontab.splitlines()
    assert all(re.fullmatch(r"[A-Z]+=\S+", setting) for setting in settings)
    told = re.fullmatch(r"((?:(?:\d+|\*(?:/\d+)?) ){5}) +\. \S+ && debate-hall (.*)", line)
    assert told
    CronSim(told[1], datetime(2026, 1, 1, tzinfo=UTC))
    group, *arguments = told[2].split()
    review.commands[arguments[0]].make_context(arguments[0], arguments[1:])
    assert group == review.name


def test_how_it_works_names_files_that_there_are() -> None:
    named = re.findall(r"`(?:orchestrator/)?(?:[\w/]+/)?(\w+\.py)`", (DOCS / "how-it-works.md").read_text())
    there = {path.name for path in (ROOT / "orchestrator").rglob("*.py")}
    assert len(named) > 10
    assert set(named) - there == set()


# ---------------------------------------------------------------- the Action in workflows


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_an_example_workflow_gives_the_action_what_it_takes_and_no_more_rights_than_it_needs(workflow: Path) -> None:
    told = yaml.safe_load(workflow.read_text())
    (job,) = told["jobs"].values()
    *_, step = job["steps"]
    assert step["uses"].partition("@")[0].endswith("/run-debate")
    assert step["with"].keys() <= ACTION["inputs"].keys()
    assert told["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert "timeout-minutes" in job
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", each["uses"]) for each in job["steps"])


def test_where_the_workflow_has_secrets_nothing_of_a_pull_request_is_checked_out() -> None:
    for workflow in WORKFLOWS:
        told = yaml.safe_load(workflow.read_text())
        (on,) = told[True]  # YAML takes `on` for a switch
        (job,) = told["jobs"].values()
        refs = [
            step["with"].get("ref") for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@")
        ]
        assert refs == ([] if on == "pull_request_target" else ["${{ github.event.pull_request.base.sha }}"])
        assert not any("run" in step for step in job["steps"])
        if on == "pull_request_target":
            assert told[True][on] == {"types": ["labeled"]}


def test_the_page_lists_every_input_and_output_of_the_action() -> None:
    page = (DOCS / "ci.md").read_text()
    listed = dict(re.findall(r"^\| `([\w-]+)` \| (.*?) \|", page, re.MULTILINE))
    assert listed.keys() == ACTION["inputs"].keys()
    for name in ("recipe", "cost-limit", "on-failure", "rehearse", "comment", "fail-on"):
        assert listed[name] == f"`{ACTION['inputs'][name]['default']}`"
    outputs = page.partition("Outputs: ")[2].partition(".")[0]
    assert set(re.findall(r"`([\w-]+)`", outputs)) == ACTION["outputs"].keys()


# ---------------------------------------------------------------- pre-commit


def hook() -> dict[str, str]:
    (told,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert told.keys() == {"id", "name", "description", "entry", "language", "files"}
    return dict(told)


def test_the_page_names_the_hook_that_there_is() -> None:
    (config,) = (yaml.safe_load(block) for block in blocks(DOCS / "ci.md", "yaml"))
    ((repo,),) = config.values()
    assert [each["id"] for each in repo["hooks"]] == [hook()["id"]]


def test_the_hook_looks_at_records_and_nothing_else() -> None:
    looks = re.compile(hook()["files"]).search
    assert looks("debates/2026-01-06-x/debate.json")
    assert looks("transcript.oct.md")
    assert not any(map(looks, ("src/nodebate.json", "debate.json.txt", "agents/pager.oct.md", "package.json")))


@pytest.mark.slow
def test_the_hook_tells_the_record_that_was_changed(tmp_path: Path, environment: dict[str, str]) -> None:
    whole, changed = tmp_path / "debate.json", tmp_path / "b c" / "debate.json"
    changed.parent.mkdir()
    shutil.copy(DOCS / "examples/everything/debate.json", whole)
    changed.write_text(whole.read_text().replace("Billing stays in PostgreSQL", "Billing moves to Kafka"))
    assert entry([whole], environment).returncode == 0
    told = entry([changed, whole], environment)
    assert told.returncode == 7
    assert "BROKEN" in told.stdout
    assert "verified, " in told.stdout


def entry(files: list[Path], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """The hook's entry, as pre-commit calls it: split as a shell would, the files behind it."""
    import shlex

    command = [*shlex.split(hook()["entry"]), *map(str, files)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
