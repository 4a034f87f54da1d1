"""What it costs to be seen: a FORTRESS debate in a terminal with the live view, over the same one with --quiet.

Both ask for whole answers, or both for streams: what streaming costs is not the view's.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import monotonic

from bench.latency import LATENCY_S, TOPIC
from bench.row import Row
from endpoint import Call, ModelServer
from endpoint_voices import plausible
from terminal.window import RUN_DEBATE, terminal

PAIRS = 3


def measure() -> Iterator[Row]:
    for stream, answers in (("false", "whole"), ("true", "streamed")):
        unseen, seen = [], []
        for _ in range(PAIRS):
            unseen.append(_took(stream, "--quiet"))
            seen.append(_took(stream))
        detail = f"{median(unseen):.3f} s and {median(seen):.3f} s, {PAIRS} pairs"
        what = f"FORTRESS at 1 s latency, {answers} answers, seen in a terminal over unseen"
        yield Row(what, median(seen) / median(unseen), 1.02, detail)


def _took(stream: str, *options: str) -> float:
    """The seconds from the first request to the last reply."""
    replies: list[float] = []

    def reply(call: Call) -> str:
        replies.append(monotonic())
        return plausible(call)

    with tempfile.TemporaryDirectory() as folder, ModelServer(reply, latency_s=LATENCY_S) as server:
        Path(folder, "here.yaml").write_text(f"{server.models_file()}defaults: {{stream: {stream}}}\n")
        command = (*RUN_DEBATE, "--models", "./here.yaml", "-r", "fortress", *options, TOPIC)
        with terminal(*command, folder=Path(folder), columns=120, lines=40) as seen:
            code = seen.end()
        assert code == 0
    return replies[-1] - (replies[0] - LATENCY_S)
