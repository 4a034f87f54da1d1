"""The files that ship for a fleet, parsed, and their commands run as they stand.

Not run: systemd itself (where its analyser is there, `review/test_shipped.py` has it read the units), Docker, the image
of PostgreSQL, and the build of the workers' own.
"""

from __future__ import annotations

import configparser
import os
import shlex
import signal
import subprocess
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from building import TOPIC, plan_of
from orchestrator.fleet.queue import Queue
from orchestrator.hall.address import Address, read
from orchestrator.hall.hall import Hall
from orchestrator.hall.terms import Role
from orchestrator.models.rehearsal import NAME as REHEARSAL
from orchestrator.runner import open_debate
from orchestrator.yaml_tree import parse
from postgres import address_of, fresh_schema, needs_postgres

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
UNIT, COMPOSE = EXAMPLES / "systemd" / "debate-hall-worker@.service", EXAMPLES / "compose" / "fleet.yaml"
SCRIPTS = Path(sysconfig.get_path("scripts"))
THREAD = "2026-01-06-queue"
DEADLINE_S = 60


def service() -> configparser.SectionProxy:
    parser = configparser.ConfigParser(interpolation=None, strict=True, delimiters=("=",), comment_prefixes=("#",))
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(UNIT)
    assert parser["Unit"]["StartLimitIntervalSec"] == "0"  # it begins again for as long as it takes
    return parser["Service"]


def services() -> dict[str, Any]:
    parse(COMPOSE.read_text(), source=COMPOSE.name, first_line=1)
    told: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    assert told["volumes"].keys() == {"hall"}
    found: dict[str, Any] = told["services"]
    return found


def holds(command: Sequence[str], environment: Mapping[str, str], folder: Path, hall: Hall, queue: Queue) -> None:
    """A worker takes what waits, holds it and ends well when it is told to."""
    open_debate(hall, plan_of("speed", routes={role: [REHEARSAL] for role in Role}), THREAD, TOPIC)
    queue.put(THREAD)
    with subprocess.Popen(command, env=environment, cwd=folder, stderr=subprocess.PIPE, text=True) as worker:
        assert worker.stderr is not None
        told = [worker.stderr.readline() for _ in range(3)]
        worker.send_signal(signal.SIGTERM)
        told.append(worker.communicate(timeout=DEADLINE_S)[1])
    assert worker.returncode == 0, told
    assert told[0].endswith(", 20 debates at once\n")
    assert told[1:3] == [f"{THREAD}: taken\n", f"{THREAD}: synthesis\n"]


def test_a_worker_of_systemd_is_told_to_stop_politely_and_begins_again() -> None:
    told = service()
    assert (told["KillSignal"], told["KillMode"], told["Restart"]) == ("SIGTERM", "mixed", "on-failure")
    assert int(told["TimeoutStopSec"]) >= 60
    assert "RestartPreventExitStatus" not in told  # 2 is also that the server is away


@pytest.mark.slow
@needs_postgres
def test_the_command_of_the_unit_holds_debates(
    work: Path, address: Address, made: str, hall: Hall, queue: Queue
) -> None:
    (work / ".venv").mkdir()
    (work / ".venv" / "bin").symlink_to(SCRIPTS)
    keys = work / ".config" / "debate-hall" / "worker.env"
    keys.parent.mkdir(parents=True)
    keys.write_text(f"DEBATE_HALL_STORE={made}\n")

    def said(text: str) -> str:
        return text.replace("%h", str(work)).replace("%i", "1")

    told = service()
    read_keys = dict(line.split("=", 1) for line in Path(said(told["EnvironmentFile"])).read_text().splitlines())
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(work), "LANG": "C.UTF-8", **read_keys}
    holds(shlex.split(said(told["ExecStart"])), environment, Path(said(told["WorkingDirectory"])), hall, queue)


@pytest.mark.slow
@needs_postgres
def test_the_commands_of_the_containers_make_a_hall_and_hold_debates_in_it(work: Path) -> None:
    told = services()
    postgres, migrate, worker = told["postgres"], told["migrate"], told["worker"]
    assert migrate["image"] == worker["image"]
    assert "run-debate[fleet]" in migrate["build"]["dockerfile_inline"]
    assert migrate["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    assert worker["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}
    named = postgres["environment"]
    with fresh_schema() as schema:
        places = {f"postgresql://{named['POSTGRES_USER']}@postgres/{named['POSTGRES_DB']}": address_of(schema)}

        def environment(service: dict[str, Any]) -> dict[str, str]:
            assert service["environment"]["PGPASSWORD"] == named["POSTGRES_PASSWORD"]
            place = places[service["environment"]["DEBATE_HALL_STORE"]]
            return {"PATH": os.environ["PATH"], "HOME": str(work), "DEBATE_HALL_STORE": place}

        made = subprocess.run(
            [str(SCRIPTS / migrate["command"][0]), *migrate["command"][1:]],
            env=environment(migrate), cwd=work, capture_output=True, text=True, timeout=DEADLINE_S, check=True,
        )  # fmt: skip
        assert made.stdout.endswith("and made the queue of the fleet\n")
        place = read(address_of(schema))
        with Hall.open(address_of(schema)) as hall:
            queue = Queue(place)
            try:
                command = [str(SCRIPTS / worker["command"][0]), *worker["command"][1:]]
                holds(command, environment(worker), work, hall, queue)
            finally:
                queue.close()
