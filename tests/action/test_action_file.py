"""action.yml, read as GitHub reads it and as somebody reads it who wants to break in."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from action_steps import ACTION, ROOT, STEPS, Job, Runner, pull_request
from github_stand_in import GitHubStandIn

from orchestrator.yaml_tree import parse

ACTION_FILE = ROOT / "action.yml"
SCRIPTS = {path.name: path.read_text() for path in (ROOT / "action").iterdir() if path.suffix in (".py", ".sh")}
EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}")


def test_it_is_strict_yaml_with_what_a_composite_action_has() -> None:
    parse(ACTION_FILE.read_text(), source="action.yml", first_line=1)
    assert ACTION.keys() == {"name", "description", "branding", "inputs", "outputs", "runs"}
    assert ACTION["runs"].keys() == {"using", "steps"}
    assert ACTION["runs"]["using"] == "composite"
    assert len(ACTION["description"]) <= 125  # as the Marketplace has it


def test_every_input_has_a_default_and_a_use() -> None:
    used = re.findall(r"\$\{\{ inputs\.([\w-]+) \}\}|inputs\.([\w-]+) ==", ACTION_FILE.read_text())
    assert {name or compared for name, compared in used} == ACTION["inputs"].keys()
    for told in ACTION["inputs"].values():
        assert told.keys() == {"description", "default"}


def test_every_variable_that_a_step_is_given_is_read_and_the_other_way_round() -> None:
    given = {name.removeprefix("INPUT_") for step in STEPS for name in step.get("env", ())} - {"PYTHON", "CODE"}
    text = "".join(SCRIPTS.values())
    read = set(re.findall(r'(?:given|switch|variable)\("([A-Z_]+)"\)|environ\.get\("(ARTIFACT_URL)"', text))
    named = {first or second for first, second in read} | set(re.findall(r'"([A-Z_]+)"', _options(text)))
    assert given <= named
    assert {name for name in named - given if not name.startswith(("GITHUB_", "RUNNER_"))} == set()


def _options(text: str) -> str:
    found = re.search(r"^_OPTIONS = \((.*)\)$", text, re.MULTILINE)
    assert found
    return found[1]


def test_every_step_says_its_shell_and_where_it_works_and_holds_no_expression_in_its_script() -> None:
    for step in STEPS:
        if "run" in step:
            assert step["shell"] == "bash"
            assert EXPRESSION.findall(step["run"]) == []
            assert step.get("working-directory", "${{ runner.temp }}") == "${{ runner.temp }}"


def test_no_expression_holds_what_a_pull_request_may_choose() -> None:
    allowed = re.compile(
        r" (inputs\.[\w-]+|steps\.\w+\.outputs\.[\w-]+|runner\.temp|github\.token|!cancelled\(\) && .*) "
    )
    expressions = EXPRESSION.findall(re.sub(r"(?m)^#.*", "", ACTION_FILE.read_text()))
    assert [found for found in expressions if not allowed.fullmatch(found)] == []
    assert len(expressions) > 20


def test_what_it_uses_is_pinned_to_a_commit() -> None:
    assert [step["uses"].partition("@")[0] for step in STEPS if "uses" in step] == ["actions/upload-artifact"]
    for step in STEPS:
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"])


def test_python_never_imports_from_the_folder_that_it_is_started_in() -> None:
    for line in SCRIPTS["install.sh"].splitlines():
        if re.search(r'"\$(candidate|found|python)" -', line):
            assert re.search(r'"\$\w+" -I ', line)


NOT_ENOUGH = {
    "another event": ({"on": "push"}, {}, "This runs for 'push'. Give the workflow `on: pull_request`"),
    "no switch": ({}, {"rehearse": "yes"}, 'rehearse is \'yes\'. Give "true" or "false".'),
    "no exit code": ({}, {"fail-on": "1;2"}, "fail-on is '1;2'. Give exit codes such as 1,2,7, or nothing."),
    "success as a failure": ({}, {"fail-on": "0"}, "fail-on is '0'."),
}


@pytest.mark.parametrize("case", NOT_ENOUGH)
def test_what_cannot_be_done_is_said_and_nothing_is_asked(
    case: str, runner: Any, github: GitHubStandIn, tmp_path: Path
) -> None:
    how, inputs, words = NOT_ENOUGH[case]
    place: Runner = runner()
    job = place.run(pull_request(), inputs, only="debate", outputs=installed(), **how)
    assert job.codes == {"debate": 1}
    assert job.says("error")[0].startswith(words)
    assert github.asked == []


def installed() -> dict[str, dict[str, str]]:
    """What the step before puts out."""
    return {"install": {"python": sys.executable}}


def test_a_step_that_fails_ends_the_job_with_its_exit_code(runner: Any) -> None:
    place: Runner = runner()
    outputs = {"debate": {"fails": "true", "exit-code": "7"}}
    job: Job = place.run(pull_request(), only="Fail where it is to", outputs=outputs)
    assert job.codes == {"Fail where it is to": 7}
    assert place.run(pull_request(), only="Fail where it is to", outputs={"debate": {"fails": "false"}}).codes == {}
