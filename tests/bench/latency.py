"""A FORTRESS debate against a provider that takes a second to answer: what the program adds to the models' time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

from bench.row import Row
from endpoint import Call, ModelServer
from endpoint_voices import plausible

LATENCY_S = 1.0
TOPIC = "Should we move billing to Kafka?"


def measure() -> Iterator[Row]:
    replies: list[float] = []

    def reply(call: Call) -> str:  # asked for when the second is over
        replies.append(monotonic())
        return plausible(call)

    with tempfile.TemporaryDirectory() as folder, ModelServer(reply, latency_s=LATENCY_S) as server:
        Path(folder, "here.yaml").write_text(server.models_file())
        chain = json.loads(_run(folder, "--dry-run", "--json"))["longest_chain"]["most"]
        _run(folder, "--quiet")
    took = replies[-1] - (replies[0] - LATENCY_S)
    detail = f"{took:.3f} s for {len(replies)} calls, {chain} of them one after another"
    yield Row(
        "FORTRESS, first request to last reply over longest chain × 1 s", took / (chain * LATENCY_S), 1.05, detail
    )


def _run(folder: str, *options: str) -> bytes:
    command = [sys.executable, "-c", "from orchestrator.cli.run_debate import main; main()"]
    return subprocess.run(
        [*command, "--models", "./here.yaml", "-r", "fortress", *options, TOPIC],
        cwd=folder,
        env={**os.environ, "DEBATE_HALL_STATE_DIR": f"{folder}/state", "PYTHONPATH": str(Path.cwd())},
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
