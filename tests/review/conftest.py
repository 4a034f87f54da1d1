from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _a_new_users_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting and no key of this machine; git asks no file of the user's."""
    for name in os.environ:
        if name.startswith(("DEBATE_HALL_", "GIT_")) or name.endswith(("_API_KEY", "_TOKEN")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DEBATE_HALL_STAND_INS", "none")
