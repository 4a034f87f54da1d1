"""debate-hall-mcp from PyPI, in an environment of its own: it needs another mcp than we do."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "run-debate-bench" / "debate-hall-mcp"


@cache
def rival_python() -> str:
    """The interpreter of RIVAL_PYTHON, else of an environment that is made once."""
    if named := os.environ.get("RIVAL_PYTHON"):
        return named
    python = CACHE / "bin" / "python"
    if not (CACHE / "done").exists():
        subprocess.run([sys.executable, "-m", "venv", str(CACHE)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "debate-hall-mcp==0.5.0"], check=True)
        (CACHE / "done").touch()
    return str(python)
