"""How soon the first request of `run-debate` reaches a provider, against importing litellm alone."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter

from bench.pattern import ROOT
from bench.row import Row
from endpoint import ModelServer

PAIRS = 5
QUIET = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_OFFLINE_MODE": "true", "LITELLM_MODE": "PRODUCTION"}


def measure() -> Iterator[Row]:
    bare, ours = [], []
    for _ in range(PAIRS):
        began = perf_counter()
        subprocess.run([sys.executable, "-c", "import litellm"], env={**os.environ, **QUIET}, check=True)
        bare.append(perf_counter() - began)
        ours.append(_first_request())
    detail = f"{median(ours):.2f} s and {median(bare):.2f} s, {PAIRS} pairs"
    yield Row("first model request of run-debate over 'import litellm'", median(ours) / median(bare), 1.15, detail)


def _first_request() -> float:
    with tempfile.TemporaryDirectory() as folder, ModelServer() as server:
        Path(folder, "here.yaml").write_text(server.models_file())
        code = "from orchestrator.cli.run_debate import main; main()"
        began = perf_counter()
        with subprocess.Popen(
            [sys.executable, "-c", code, "--models", "./here.yaml", "-r", "speed", "--quiet", "Is it soon?"],
            cwd=folder,
            env={**os.environ, "DEBATE_HALL_STATE_DIR": f"{folder}/state", "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
        ):
            assert server.arrived.wait(60)
            return perf_counter() - began
