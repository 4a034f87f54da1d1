"""Debates against a provider of fixed latency: what the program adds to the models' time.

Measured at the provider, from the first request that arrives to the last reply that leaves: against bare litellm calls
made in the same pattern, each in a fresh process, and against the longest chain of calls × latency, below which nothing
can be.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import monotonic
from typing import NamedTuple

from bench.pattern import ROOT, Batches, batches_of, run_bare
from bench.row import Row
from endpoint import Call, ModelServer
from endpoint_voices import plausible

TOPIC = "Should we move billing to Kafka?"
RECIPES = {"fortress": 3, "council": 3, "deep": 1}  # how many pairs


class Times(NamedTuple):
    ours: list[float]
    bare: list[float]
    steps: int
    chain: int


def measure() -> Iterator[Row]:
    for recipe, pairs in RECIPES.items():
        name = recipe.upper()
        times = _pairs(recipe, 1.0, pairs)
        ours, bare = median(times.ours), median(times.bare)
        detail = f"{ours:.3f} s and {bare:.3f} s, {times.steps} steps, {pairs} pairs"
        yield Row(f"{name} at 1 s latency over bare litellm calls in the same pattern", ours / bare, 1.01, detail)
        detail = f"{ours:.3f} s, a chain of {times.chain}; bare litellm calls come to {bare / times.chain:.3f}"
        yield Row(f"{name} at 1 s latency over the longest chain of calls × latency", ours / times.chain, 1.05, detail)
        times = _pairs(recipe, 0.1, pairs)
        ours, bare = median(times.ours), median(times.bare)
        detail = f"{ours:.3f} s and {bare:.3f} s, {times.steps} steps, {pairs} pairs"
        each = (ours - bare) / times.steps * 1e3
        yield Row(f"{name} at 0.1 s latency, ms more than the bare pattern, per step", each, 10, detail)


def _pairs(recipe: str, latency_s: float, pairs: int) -> Times:
    times = Times([], [], 0, 0)
    for _ in range(pairs):
        with tempfile.TemporaryDirectory() as folder:
            took, batches, chain = _ours(folder, recipe, latency_s)
            times.ours.append(took)
            times.bare.append(_bare(folder, batches, latency_s))
            times = times._replace(steps=len(batches), chain=chain)
    return times


def _ours(folder: str, recipe: str, latency_s: float) -> tuple[float, Batches, int]:
    replied: list[float] = []
    with ModelServer(_noting(replied), latency_s=latency_s) as server:
        Path(folder, "here.yaml").write_text(server.models_file())
        chain = json.loads(_run(folder, recipe, "--dry-run", "--json"))["longest_chain"]["most"]
        _run(folder, recipe, "--quiet")
        batches = batches_of(server.calls, server.base_url)
    return replied[-1] - (replied[0] - latency_s), batches, min(chain, len(batches))


def _bare(folder: str, batches: Batches, latency_s: float) -> float:
    replied: list[float] = []
    with ModelServer(_noting(replied), latency_s=latency_s) as server:
        elsewhere = [[{**call, "api_base": server.base_url} for call in batch] for batch in batches]
        run_bare(folder, elsewhere)
    return replied[-1] - (replied[0] - latency_s)


def _noting(replied: list[float]) -> Callable[[Call], str]:
    def reply(call: Call) -> str:  # asked for when the latency is over
        said = plausible(call)
        replied.append(monotonic())
        return said

    return reply


def _run(folder: str, recipe: str, *options: str) -> bytes:
    command = [sys.executable, "-c", "from orchestrator.cli.run_debate import main; main()"]
    return subprocess.run(
        [*command, "--models", "./here.yaml", "-r", recipe, *options, TOPIC],
        cwd=folder,
        env={**os.environ, "DEBATE_HALL_STATE_DIR": f"{folder}/state", "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
