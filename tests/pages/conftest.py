"""What a reader of the documentation has: a repository with documents and a branch, a hall, a provider with its key."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from page_shell import ROOT

from endpoint import ModelServer

OLD = {"GIT_AUTHOR_DATE": "2025-12-01T09:00:00Z", "GIT_COMMITTER_DATE": "2025-12-01T09:00:00Z"}
WHO = {name: "mara" for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME")}
MAIL = {name: "mara@example.org" for name in ("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL")}
FILES = {
    "docs/architecture.md": "# Billing\n\nBilling writes invoices to one PostgreSQL database.\nFour teams poll it.\n",
    "docs/on-call.md": "# On call\n\nTwo people carry the pager. Nobody has run a broker.\n",
    "src/queue.py": "RETRIES = 3\n",
}
RECORD = ROOT / "docs/examples/evidence/adr/0007-invoices-leave-from-the-ledger.md"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with documents and decisions; a change of today stands on the branch that is checked out."""
    folder = tmp_path / "billing"
    for name, text in {**FILES, f"docs/adr/{RECORD.name}": RECORD.read_text()}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    _git(folder, OLD, "init", "--quiet", "--initial-branch=main")
    _git(folder, OLD, "add", ".")
    _git(folder, OLD, "commit", "--quiet", "-m", "Billing as it stands")
    _git(folder, {}, "checkout", "--quiet", "-b", "retries")
    (folder / "src/queue.py").write_text("RETRIES = 30\n")
    _git(folder, {}, "commit", "--quiet", "-am", "Retry thirty times")
    return folder


def _git(folder: Path, more: dict[str, str], *arguments: str) -> None:
    environment = {"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(folder.parent), **WHO, **MAIL, **more}
    subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True)


@pytest.fixture
def environment(tmp_path: Path, ready_commands: Path, model_server: ModelServer) -> dict[str, str]:
    """A home in which the models file names a provider on loopback; run-debate's own checkout is in ~/run-debate."""
    home = tmp_path / "home"
    configs = home / ".config" / "debate-hall" / "configs"
    configs.mkdir(parents=True)
    (configs / "models.yaml").write_text(model_server.models_file())
    (home / "run-debate").symlink_to(ROOT)
    return {
        "HOME": str(home),
        "PATH": f"{ready_commands}:{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "OPENAI_API_KEY": "not-like-any-key-0815",
        "DEBATE_HALL_STAND_INS": "none",
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        **WHO,
        **MAIL,
    }


@pytest.fixture
def nothing_installed(tmp_path: Path) -> Path:
    """A folder with a pip that does nothing, for the front of the PATH: the libraries are there."""
    pip = tmp_path / "instead" / "pip"
    pip.parent.mkdir()
    pip.write_text("#!/bin/sh\n")
    pip.chmod(0o755)
    return pip.parent
