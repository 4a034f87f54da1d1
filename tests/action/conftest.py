"""A runner and GitHub's API, both played on loopback."""

from __future__ import annotations

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


@pytest.fixture
def runner(tmp_path: Path, github: GitHubStandIn) -> Callable[..., Runner]:
    """Makes a runner; keywords are what the workflow sets in the environment. No server of this machine is asked."""
    nobody = {"DEBATE_HALL_STAND_INS": "none"}
    return lambda **environment: Runner(tmp_path, github, {**nobody, **environment})
