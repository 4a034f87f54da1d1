"""How soon `--help` is there, against what importing click alone takes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from statistics import median
from time import perf_counter

from bench.row import Row

PAIRS = 25


def measure() -> Iterator[Row]:
    click, help_ = [], []
    for _ in range(PAIRS):
        click.append(_timed("import click"))
        help_.append(
            _timed(
                "import sys; sys.argv = ['run-debate', '--help']\nfrom orchestrator.cli.run_debate import main; main()"
            )
        )
    detail = f"{median(click) * 1e3:.0f} ms and {median(help_) * 1e3:.0f} ms, {PAIRS} pairs"
    yield Row("run-debate --help over python -c 'import click'", median(help_) / median(click), 2.0, detail)


def _timed(code: str) -> float:
    began = perf_counter()
    subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=True)
    return perf_counter() - began
