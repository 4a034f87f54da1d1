"""The calls of a debate as bare litellm calls: in the same batches, with the same messages, and nothing around them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from endpoint import Call

ROOT = Path(__file__).parents[2]
Batches = list[list[dict[str, Any]]]


def batches_of(calls: Iterable[Call], base_url: str) -> Batches:
    """What was in flight together, in order, as litellm's arguments.

    A call that arrives before any of a batch has ended belongs to that batch.
    """
    batches: Batches = []
    ends = 0  # when the first of the batch ended
    for call in sorted(calls, key=lambda each: each.started):
        if not batches or call.started > ends:
            batches.append([])
            ends = call.finished or 0
        ends = min(ends, call.finished or ends)
        batches[-1].append(_arguments(call, base_url))
    return batches


def _arguments(call: Call, base_url: str) -> dict[str, Any]:
    asked = ("messages", "max_tokens", "max_completion_tokens", "temperature", "response_format")
    place = {"model": f"openai/{call.model}", "api_base": base_url, "api_key": "no-key"}
    return {
        **place,
        "num_retries": 0,
        "max_retries": 0,
        **{name: call.body[name] for name in asked if name in call.body},
    }


def run_bare(folder: str, batches: Batches, *, warm: int = 0, times: int = 1) -> dict[str, Any]:
    """Makes the calls in a process of its own.

    Args:
        warm: how often before it is measured.
        times: how often at once.
    """
    path = Path(folder, "pattern.json")
    path.write_text(json.dumps({"batches": batches, "warm": warm, "times": times}))
    return child("bare", str(path))


def child(*arguments: str) -> dict[str, Any]:
    """Runs `bench.child` and returns what it measured."""
    told = subprocess.run(
        [sys.executable, "-m", "bench.child", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])},
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    measured: dict[str, Any] = json.loads(told)
    return measured
