"""The Action's steps from the first to the last, as bash runs them on a runner, against stand-ins on loopback."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from action_steps import ARTEFACT, FORK, HEAD, ROOT, TOKEN, Runner, pull_request
from github_stand_in import GitHubStandIn

from endpoint import Call, ModelServer
from endpoint_voices import plausible

MakeRunner = Callable[..., Runner]

HOSTILE = '$(touch "$RUNNER_TEMP/touched"); `touch touched`; ${{ github.token }} "; exit 1 #'
PUSHED = "b2c3d4e5f60718293a4b5c6d7e8f9012345678a1"
KEY = "not-like-any-key-0815"


PLANTED = "\n::error::planted\n![x](https://track.example/x.png) <img src=x> @mara fixes #7\n</details># Approved\n"


def with_a_key(server: ModelServer) -> dict[str, str]:
    """One key of a provider, whose server is on loopback."""
    return {"OPENAI_API_KEY": KEY, "OPENAI_API_BASE": server.base_url, "DEBATE_HALL_STAND_INS": ""}


# Models of unknown price are asked here, so that no limit can be kept.
UNPRICED = {"cost-limit": ""}


def test_a_pull_request_is_debated_and_the_next_push_changes_the_comment(
    runner: MakeRunner, github: GitHubStandIn, model_server: ModelServer
) -> None:
    place = runner(**with_a_key(model_server))
    job = place.run(pull_request(), UNPRICED)
    assert not job.failed, job.log
    told = job.outputs["debate"]
    assert (told["exit-code"], told["status"], told["fails"]) == ("0", "synthesis", "false")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d-pr-12-run-debate-speed-1001-1", told["thread-id"])
    assert job.used == {"upload": {"name": "run-debate-speed", "path": told["folder"], "overwrite": "True"}}
    assert job.outputs["comment"] == {"comment-url": "https://github.example/comment/1"}
    (comment,) = github.comments
    assert comment["body"].startswith("<!-- run-debate: run-debate-speed -->\n# What call ")
    assert f"commit {HEAD[:12]}: 3 turns, " in comment["body"]
    assert f"- [The whole record]({ARTEFACT}), with `report.html`.\n" in comment["body"]
    assert job.summary.startswith("# What call ")
    assert_kept(told)

    prompts = [call.prompt for call in model_server.calls]
    assert all("evidence E1: pull-request/0000-description.md" in prompt for prompt in prompts)
    assert all("Three were too few." in prompt for prompt in prompts)
    assert all("evidence E3: pull-request/0002-github-workflows-ci.yml.diff" in prompt for prompt in prompts)
    assert all("+RETRIES = 30" in prompt for prompt in prompts)
    assert not any(TOKEN in prompt or KEY in prompt for prompt in prompts)

    model_server.reply = hostile
    head = {**pull_request()["pull_request"]["head"], "sha": PUSHED}
    again = place.run(pull_request(head=head), UNPRICED, GITHUB_RUN_ID="1002")
    assert not again.failed, again.log
    assert commands_in(again.log) == []
    (comment,) = github.comments
    assert f"commit {PUSHED[:12]}: 3 turns, " in comment["body"]
    for page in (comment["body"], again.summary):
        assert "fixes #" in page
        assert re.search(r"@mara|#7|(?<!\\)<img|(?<!\\)!\[", page) is None
        assert page.count("\n</details>\n") == 1


def hostile(call: Call) -> str:
    """A turn that would call somebody, load an image and speak to the runner."""
    said = plausible(call)
    return said if said.startswith("{") else f"{said}{PLANTED}"


def assert_kept(told: dict[str, str]) -> None:
    """The artefact holds what can be verified and read."""
    folder = Path(told["folder"])
    assert {"debate.json", "decision.md", "report.html", "transcript.oct.md"} <= {
        path.name for path in folder.iterdir()
    }
    assert (told["decision"], told["report"]) == (str(folder / "decision.md"), str(folder / "report.html"))
    verify = [str(Path(sys.executable).with_name("debate-hall")), "verify", "--file", str(folder / "debate.json")]
    assert subprocess.run(verify, check=False, stdout=subprocess.DEVNULL).returncode == 0


def test_a_fork_without_keys_is_told_so_and_nothing_else_is_done(runner: MakeRunner, github: GitHubStandIn) -> None:
    job = runner().run(pull_request(**FORK))
    assert not job.failed, job.log
    (notice,) = job.says("notice")
    assert notice.startswith("No debate was held: this pull request is from a fork, GitHub gives its workflow no secr")
    assert job.summary.startswith("No debate was held")
    assert job.outputs["debate"] == {"name": "run-debate-speed"}
    assert (job.used, github.asked) == ({}, [])


def test_a_missing_key_of_ones_own_is_an_error(runner: MakeRunner, github: GitHubStandIn) -> None:
    job = runner().run(pull_request())
    assert job.codes == {"install": 0, "debate": 0, "Fail where it is to": 2}
    assert job.outputs["debate"]["exit-code"] == "2"
    assert "No model can be used for Wind" in job.says("error")[0]
    assert github.comments == []


def test_what_a_fork_wrote_is_only_words(runner: MakeRunner, github: GitHubStandIn, tmp_path: Path) -> None:
    """Its title, its branch, its files' names and what stands in them: none of it is run, and none is a command."""
    planted = f"::set-output name=status::approved\n::add-mask::a\n::error::{HOSTILE}\n"
    github.diff = (
        f"diff --git a/x b/$(touch touched)\n--- a/x\n+++ b/$(touch touched)\n@@ -0,0 +1 @@\n+{HOSTILE}\n"
        f"diff --git a/../../../escaped b/../../../escaped\n@@ -0,0 +1 @@\n+::error::x\n"
    )
    fork = {"sha": HEAD, "ref": HOSTILE, "repo": {"full_name": "stranger/billing"}}
    event = pull_request(title=HOSTILE, body=planted, head=fork, user={"login": "mara"})
    place = runner(RUN_DEBATE_PYTHON=sys.executable)  # here in processes as they are started on a runner
    (place.workspace / "orchestrator.py").write_text("raise SystemExit('imported from the checkout')\n")
    (place.workspace / "recipes").mkdir()
    (place.workspace / "recipes" / "speed.yaml").write_text("name: speed\nsummary: The fork's own.\n")
    github.refuse("POST", "/comments", 403)
    job = place.run(event, {"rehearse": "true"})
    assert not job.failed, job.log
    assert [path for path in tmp_path.rglob("*") if path.name in ("touched", "escaped")] == []
    assert commands_in(job.log) == ["warning"]
    assert job.says("warning")[0].startswith("There is no comment, since the token may not write one (POST ")
    assert "REHEARSAL" in job.summary
    assert job.used["upload"]["path"] == job.outputs["debate"]["folder"]
    assert job.outputs["debate"]["status"] == "synthesis"
    names = sorted(path.name for path in (place.temp / "run-debate/run-debate-speed/pull-request").iterdir())
    assert names == ["0000-description.md", "0001-touch-touched.diff", "0002-escaped.diff"]


def commands_in(log: str) -> list[str]:
    """The commands that a runner would heed."""
    found: list[str] = []
    stopped = ""
    for line in log.splitlines():
        command = re.match(r"::([\w-]+)(?: [^:]*)?::(.*)", line)
        if stopped and line == f"::{stopped}::":
            stopped = ""
        elif command and not stopped:
            if command[1] == "stop-commands":
                stopped = command[2]
            else:
                found.append(command[1])
    return found


def test_a_run_that_stops_at_its_limit_says_so_and_keeps_its_ledger(
    runner: MakeRunner, github: GitHubStandIn, model_server: ModelServer
) -> None:
    place = runner(**with_a_key(model_server))
    (place.workspace / "priced.yaml").write_text(model_server.models_file())
    inputs = {"models": "priced.yaml", "cost-limit": "0.0001", "fail-on": "1,2,5,7"}
    job = place.run(pull_request(), inputs)
    assert job.codes == {"install": 0, "debate": 0, "comment": 0, "Fail where it is to": 5}
    assert job.outputs["debate"]["status"] == "active"
    assert job.says("error")[0].startswith("run-debate ended with exit code 5: ")
    assert github.comments[0]["body"].startswith(
        "<!-- run-debate: run-debate-speed -->\n# No decision yet\n\n```text\n"
    )
    kept = json.loads(Path(job.used["upload"]["path"], "debate.json").read_text())
    assert kept["thread_id"] == job.outputs["debate"]["thread-id"]
    assert model_server.calls == []


def test_run_debate_is_given_the_keys_and_nothing_by_which_the_workflow_could_be_written_to(
    runner: MakeRunner, tmp_path: Path, interpreter: Path
) -> None:
    played = tmp_path / "played"
    shutil.copytree(interpreter.parents[1], played, symlinks=True)
    (played / "bin" / "run-debate").unlink()
    (played / "bin" / "run-debate").write_text(f"#!/bin/sh\nenv >{tmp_path}/seen\nexit 1\n")
    (played / "bin" / "run-debate").chmod(0o755)
    place = runner(RUN_DEBATE_PYTHON=str(played / "bin" / "python"), OPENAI_API_KEY=KEY, ACTIONS_RUNTIME_TOKEN="x")
    job = place.run(pull_request())
    assert job.says("error") == ["run-debate ended with exit code 1 and no answer; the log says why."]
    seen = dict(line.partition("=")[::2] for line in (tmp_path / "seen").read_text().splitlines())
    assert seen["OPENAI_API_KEY"] == KEY
    assert seen["DEBATE_HALL_STATE_DIR"] == f"{place.temp}/run-debate/hall"
    withheld = ("ACTIONS_", "INPUT_", "GITHUB_TOKEN", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")
    assert [name for name in seen if name.startswith(withheld)] == []


def test_a_diff_that_github_does_not_show_is_taken_file_by_file(runner: MakeRunner, github: GitHubStandIn) -> None:
    github.refuse("GET", "/pulls/12", 406)
    github.files = [{"filename": f"src/{number}.py", "patch": f"@@ -0,0 +1 @@\n+{number}"} for number in range(120)]
    github.files += [{"filename": "logo.png"}, {"filename": "deploy/.env", "patch": "@@ -0,0 +1 @@\n+PASSWORD=x"}]
    job = runner().run(pull_request(), {"rehearse": "true"})
    assert not job.failed, job.log
    plan = Path(job.outputs["debate"]["folder"], "plan.yaml").read_text()
    assert plan.count(".diff\n") == 120
    (warning,) = job.says("warning")
    assert warning.endswith(": logo.png, deploy/.env")
    assert "`deploy/.env`" in github.comments[0]["body"]


def test_a_diff_of_which_nothing_fits_is_not_debated(runner: MakeRunner, github: GitHubStandIn) -> None:
    github.diff = "diff --git a/x b/x\n@@ -0,0 +1 @@\n+" + "x" * 9_000 + "\n"
    job = runner().run(pull_request(), {"rehearse": "true", "context-limit": "2000"})
    assert job.codes == {"install": 0, "debate": 1}
    assert job.says("error")[0].startswith(
        "No changed file fits into the evidence, so there is nothing to debate: Left"
    )
    assert job.says("error")[0].endswith(" Raise context-limit.")


@pytest.mark.parametrize("diff", ["", "diff --git a/.env b/.env\n@@ -0,0 +1 @@\n+PASSWORD=x\n"])
def test_without_a_diff_there_is_nothing_to_debate(diff: str, runner: MakeRunner, github: GitHubStandIn) -> None:
    github.diff = diff
    job = runner().run(pull_request(), {"rehearse": "true"})
    assert job.codes == {"install": 0, "debate": 1}
    assert job.says("error")[0].startswith("There is no diff to debate: ")


def test_what_the_workflow_names_is_read_from_the_checkout(runner: MakeRunner, github: GitHubStandIn) -> None:
    place = runner()
    recipe = (ROOT / "recipes" / "speed.yaml").read_text().replace("name: speed", "name: review")
    (place.workspace / "review.yaml").write_text(recipe)
    (place.workspace / "docs").mkdir()
    (place.workspace / "docs" / "queue.md").write_text("The queue holds an hour.\n")
    inputs = {"rehearse": "true", "recipe": "review.yaml", "context": "docs/**/*.md\n\n", "topic": "Are 30 too many?"}
    job = place.run(pull_request(), inputs)
    assert not job.failed, job.log
    plan = Path(job.outputs["debate"]["folder"], "plan.yaml").read_text()
    assert "recipe: review\n" in plan
    assert "path: checkout/docs/queue.md\n" in plan
    assert github.comments[0]["body"].startswith("<!-- run-debate: run-debate-review -->\n# Are 30 too many?\n")


@pytest.mark.parametrize("checked_out", ["base", "head", "merge", "nothing"])
def test_beside_secrets_the_checkout_of_a_pull_request_is_not_read(
    checked_out: str, runner: MakeRunner, github: GitHubStandIn
) -> None:
    place = runner()
    (place.workspace / "notes.md").write_text("The queue holds an hour.\n")
    head = commits(place.workspace, checked_out)
    event = pull_request(head={"sha": head, "ref": "x", "repo": {"full_name": "stranger/billing"}})
    job = place.run(event, {"rehearse": "true", "context": "notes.md"}, on="pull_request_target")
    if checked_out == "base":
        assert not job.failed, job.log
        return
    assert job.codes == {"install": 0, "debate": 1}
    wanted = "It cannot be told what is" if checked_out == "nothing" else "On pull_request_target the pull request's"
    assert job.says("error")[0].startswith(wanted)
    assert github.asked == []


def commits(folder: Path, checked_out: str) -> str:
    """Makes a repository in which that is checked out; returns the commit of the pull request."""
    if checked_out == "nothing":
        return HEAD

    def git(*arguments: str) -> str:
        who = ("-c", "user.name=mara", "-c", "user.email=mara@example.org", "-c", "init.defaultBranch=main")
        asked = subprocess.run(["git", *who, *arguments], cwd=folder, capture_output=True, text=True, check=True)
        return asked.stdout.strip()

    git("init")
    git("add", ".")
    git("commit", "-m", "base")
    git("checkout", "-b", "head")
    git("commit", "--allow-empty", "-m", "head")
    head = git("rev-parse", "HEAD")
    if checked_out != "head":
        git("checkout", "main")
    if checked_out == "merge":
        git("merge", "--no-ff", "head")
    return head


def test_an_installation_is_made_where_none_is_named(tmp_path: Path) -> None:
    """The script up to pip, which is a stand-in that notes what it is asked; .ci/run installs the wheel for real."""
    bin, temp, output = tmp_path / "bin", tmp_path / "temp", tmp_path / "output"
    for folder in (bin, temp):
        folder.mkdir()
    python = bin / "python3"
    python.write_text(f'#!/bin/sh\necho "$@" >>"{tmp_path}/asked"\n{PLAYED}')
    python.chmod(0o755)
    ended = subprocess.run(
        ["bash", str(ROOT / "action" / "install.sh")],
        env={"PATH": f"{bin}:/usr/bin:/bin", "RUNNER_TEMP": str(temp), "GITHUB_OUTPUT": str(output)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    venv = f"{temp}/run-debate/venv"
    assert output.read_text() == f"python={venv}/bin/python\n"
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked[1:] == [
        f"-I -m venv --clear {venv}",
        f"-I -m pip install --quiet --disable-pip-version-check -c {ROOT}/constraints.txt {ROOT}",
    ]


PLAYED = """\
if [ "$3" = venv ]; then
  mkdir -p "$5/bin"
  cp "$0" "$5/bin/python"
fi
"""


def test_an_old_python_is_told_what_is_needed(tmp_path: Path) -> None:
    for name in ("python", *(f"python3{minor}" for minor in ("", ".11", ".12", ".13", ".14"))):
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    ended = subprocess.run(
        ["bash", str(ROOT / "action" / "install.sh")],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "RUNNER_TEMP": str(tmp_path), "GITHUB_OUTPUT": "/dev/null"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith(
        "::error::run-debate needs Python 3.11 or newer, and none is on the PATH. Put action"
    )
