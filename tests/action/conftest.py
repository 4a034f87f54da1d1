"""A runner and GitHub's API, both played on loopback."""

from __future__ import annotations

import sys
import venv
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from action_steps import Runner
from github_stand_in import GitHubStandIn


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == Path(__file__).parent and "runner" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)  # each runs steps in processes of their own


@pytest.fixture
def github() -> Iterator[GitHubStandIn]:
    with GitHubStandIn() as stand_in:
        yield stand_in


@pytest.fixture(scope="session")
def interpreter(tmp_path_factory: pytest.TempPathFactory, ready_commands: Path) -> Path:
    """A python with run-debate, beside which the commands start at once."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "here.pth").write_text("\n".join(path for path in sys.path if Path(path).is_dir()))
    for command in ready_commands.iterdir():
        (folder / "bin" / command.name).symlink_to(command)
    return folder / "bin" / "python"


@pytest.fixture
def runner(tmp_path: Path, github: GitHubStandIn, interpreter: Path) -> Callable[..., Runner]:
    """Makes a runner; keywords are what the workflow sets in the environment. No server of this machine is asked."""
    usual = {"DEBATE_HALL_STAND_INS": "none", "RUN_DEBATE_PYTHON": str(interpreter)}
    return lambda **environment: Runner(tmp_path, github, {**usual, **environment})
