"""The files that ship for reviews, parsed, and their commands run as they stand.

Not run: systemd itself (where its analyser is there, it reads the units), GitHub's runner and what its workflow `uses`
or installs, and the build of the container.
"""

from __future__ import annotations

import configparser
import os
import re
import shlex
import shutil
import signal
import subprocess
import sysconfig
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from offices import repository

from orchestrator.hall.hall import Hall
from orchestrator.review.reviews_file import load_reviews
from orchestrator.review.times import enrol
from orchestrator.yaml_tree import parse

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "configs" / "reviews.yaml"
SYSTEMD = ROOT / "docs" / "examples" / "systemd"
WORKFLOW = ROOT / "docs" / "examples" / "workflows" / "weekly-review.yml"
COMPOSE = ROOT / "docs" / "examples" / "compose" / "compose.yaml"
DEADLINE_S = 60

REVIEWS = """
reviews:
  - name: weekly
    cron: '0 9 * * 1'
    recipe: speed
    models: rehearsal
    topic: Right on {date}?
    context: docs
    results: {folder: debates}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home as the units have it in mind: the command in a virtual environment, keys in a file, a repository."""
    home = tmp_path / "home"
    (home / ".venv").mkdir(parents=True)
    (home / ".venv" / "bin").symlink_to(sysconfig.get_path("scripts"))
    keys = home / ".config" / "debate-hall" / "reviews.env"
    keys.parent.mkdir(parents=True)
    keys.write_text(f"DEBATE_HALL_STATE_DIR={tmp_path / 'state'}\nDEBATE_HALL_STAND_INS=none\n")
    repository(home / "billing")
    (home / "billing" / "reviews.yaml").write_text(REVIEWS)
    monkeypatch.setenv("HOME", str(home))
    return home


def outcomes() -> list[str | None]:
    with Hall.open() as hall:
        return [row.notes.outcome for row in hall.reviews.rows("weekly")]


# --------------------------------------------------------------------------------------------------------- the example


def test_the_example_loads_and_so_does_what_it_shows_behind_marks(tmp_path: Path) -> None:
    text = EXAMPLE.read_text()
    shown = re.sub(r"(?m)^    # (?=  |results:|commands: |decision: )", "    ", text)
    assert shown.count("\n    # ") == 1  # the sentence that says what is shown
    for number, told in enumerate((text, shown)):
        file = tmp_path / f"{number}.yaml"
        file.write_text(told)
        weekly, assumptions = load_reviews(file).reviews
        assert (weekly.name, weekly.when, weekly.results.folder) == ("weekly", "changed", "debates")
        assert (assumptions.when, assumptions.commands) == ("broken", bool(number))
    assert assumptions.results.webhook is not None
    assert assumptions.results.pull_request
    assert assumptions.results.command[0] == "./ops/tell-the-team"


def test_the_example_decides_nothing_risky_as_it_stands() -> None:
    assert [review.risks for review in load_reviews(EXAMPLE).reviews] == [(), ()]


# ------------------------------------------------------------------------------------------------------------- systemd


def unit(name: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=True, delimiters=("=",), comment_prefixes=("#",))
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(SYSTEMD / name)
    return parser


def started_by(name: str, home: Path, instance: str = "weekly") -> tuple[list[str], dict[str, str], Path]:
    """The command, environment and folder of a service, as systemd's manual says that it reads them."""
    service = unit(name)["Service"]

    def said(text: str) -> str:
        return text.replace("%h", str(home)).replace("%i", instance)

    keys = dict(line.split("=", 1) for line in Path(said(service["EnvironmentFile"])).read_text().splitlines())
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8", **keys}
    return shlex.split(said(service["ExecStart"])), environment, Path(said(service["WorkingDirectory"]))


@contextmanager
def begun(command: list[str], environment: Mapping[str, str], folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that is told to stop, as it would be by systemd and by Docker, and ends well."""
    with subprocess.Popen(command, env=environment, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            told = process.communicate(timeout=DEADLINE_S)[1]
    assert process.returncode == 0, told
    assert "holding the reviews of" in told


def until(condition: Callable[[], bool]) -> None:
    for _ in range(DEADLINE_S * 20):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it never came to that")


def test_the_timer_starts_the_service_of_its_name_and_both_services_stop_politely() -> None:
    timer = unit("debate-hall-review@.timer")
    assert timer.sections() == ["Unit", "Timer", "Install"]
    assert "Unit" not in timer["Timer"]  # so it is the service of the same name
    for name, kind in (("debate-hall-review@.service", "oneshot"), ("debate-hall-reviews.service", "simple")):
        service = unit(name)["Service"]
        assert service.get("Type", "simple") == kind
        assert service["KillSignal"] == "SIGTERM"
        assert int(service["TimeoutStopSec"]) >= 60


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
@pytest.mark.slow
def test_systemd_understands_the_units(home: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    environment = {**os.environ, "HOME": str(home), "XDG_RUNTIME_DIR": str(tmp_path / "run")}
    files = sorted(SYSTEMD.iterdir())
    assert len(files) == 4
    verified = subprocess.run(
        ["systemd-analyze", "--user", "--man=no", "verify", *files],
        env=environment, capture_output=True, text=True, timeout=DEADLINE_S, check=False,
    )  # fmt: skip
    assert (verified.returncode, verified.stdout + verified.stderr) == (0, "")
    calendar = ["systemd-analyze", "calendar", unit("debate-hall-review@.timer")["Timer"]["OnCalendar"]]
    assert subprocess.run(calendar, capture_output=True, timeout=DEADLINE_S, check=False).returncode == 0


@pytest.mark.slow
def test_the_command_of_the_timers_service_holds_a_due_review_once(home: Path) -> None:
    command, environment, folder = started_by("debate-hall-review@.service", home)
    file = home / "billing" / "reviews.yaml"
    file.write_text(re.sub(r"( +)(- )?name: weekly", r"\g<0>\n    overlap: after", file.read_text()))
    with Hall.open() as hall:  # it has been there for long
        review = load_reviews(file).named("weekly")
        enrol(hall.reviews, review, file, datetime.now(UTC) - timedelta(days=40))
    for _ in range(2):
        ended = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, timeout=DEADLINE_S, check=False
        )
        assert ended.returncode == 0, ended.stderr
    assert outcomes() == ["enrolled", "rehearsed"]
    (debate,) = (home / "billing" / "debates").iterdir()
    assert (debate / "report.html").exists()


@pytest.mark.slow
def test_the_daemon_of_the_service_begins_and_ends_well(home: Path) -> None:
    with begun(*started_by("debate-hall-reviews.service", home)):
        until(lambda: outcomes() != [])
    assert outcomes() == ["enrolled"]


# ------------------------------------------------------------------------------------------------------------ workflow


def strictly(path: Path) -> Any:
    parse(path.read_text(), source=path.name, first_line=1)
    return yaml.safe_load(path.read_text())


def test_the_workflow_has_no_more_rights_than_it_needs_and_uses_what_is_pinned() -> None:
    told = strictly(WORKFLOW)
    assert told["permissions"] == {"contents": "read"}
    (job,) = told["jobs"].values()
    used = [step["uses"] for step in job["steps"] if "uses" in step]
    assert all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", use) for use in used)
    assert "timeout-minutes" in job
    for step in job["steps"]:
        assert "${{" not in step.get("run", "")
    kept, restored = job["env"]["DEBATE_HALL_STATE_DIR"], next(step for step in job["steps"] if "cache" in str(step))
    assert kept.endswith(f"/{restored['with']['path']}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reviews", "code", "summary"),
    [(REVIEWS, 0, "REHEARSAL"), (REVIEWS.replace("docs", "gone"), 2, "")],
    ids=["held", "refused"],
)
def test_the_step_that_reviews_fails_the_job_only_where_nothing_was_held(
    home: Path, tmp_path: Path, reviews: str, code: int, summary: str
) -> None:
    (job,) = strictly(WORKFLOW)["jobs"].values()
    (step,) = (step for step in job["steps"] if step.get("name") == "Review")
    (home / "billing" / "reviews.yaml").write_text(reviews)
    script, told = tmp_path / "step.sh", tmp_path / "summary"
    script.write_text(step["run"])
    environment = {
        "HOME": str(home),
        "PATH": f"{home / '.venv' / 'bin'}:/usr/local/bin:/usr/bin:/bin",
        "DEBATE_HALL_STATE_DIR": str(tmp_path / "state"),
        "DEBATE_HALL_STAND_INS": "none",
        "GITHUB_STEP_SUMMARY": str(told),
        **dict.fromkeys(step["env"], ""),  # secrets that are not set
    }
    ended = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
        env=environment, cwd=home / "billing", capture_output=True, text=True, timeout=DEADLINE_S, check=False,
    )  # fmt: skip
    assert ended.returncode == code, ended.stderr
    assert summary in told.read_text()


# ------------------------------------------------------------------------------------------------------------- compose


@pytest.mark.slow
def test_the_command_of_the_container_holds_the_reviews_of_what_is_mounted(home: Path, tmp_path: Path) -> None:
    told = strictly(COMPOSE)
    service = told["services"]["reviews"]
    assert told["volumes"].keys() == {"state"}
    mounted = dict(volume.split(":")[::-1] for volume in service["volumes"])
    assert mounted == {"/repository": ".", "/state": "state"}
    assert service["environment"]["DEBATE_HALL_STATE_DIR"] in mounted
    assert f"install -d -o {service['user'].replace(':', ' -g ')} /state" in service["build"]["dockerfile_inline"]
    places = {"/repository": str(home / "billing"), "/state": str(tmp_path / "state")}

    def said(text: str) -> str:
        return re.sub(r"^(/\w+)", lambda found: places.get(found[1], found[1]), text)

    program, *arguments = map(said, service["command"])
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
    environment |= {name: said(value) for name, value in service["environment"].items()}
    with begun([str(home / ".venv" / "bin" / program), *arguments], environment, tmp_path):
        until(lambda: outcomes() != [])
    assert outcomes() == ["enrolled"]
