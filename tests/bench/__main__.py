"""`python -m tests.bench [NAME…] [--json FILE]`: every benchmark, as a table on standard output and as JSON beside it.

Ratios, not times: a shared machine is noisy, and two measurements that alternate are noisy alike. Run it on a machine
that does nothing else. What debate-hall-mcp takes is measured in the same run, in an environment of its own, which is
made once in a cache folder (or is that of RIVAL_PYTHON).
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from datetime import date
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the provider on loopback, which the tests use too

BENCHMARKS = (
    *("commit", "rival", "servers", "window", "verify", "latency", "watching", "own_cpu", "many"),
    *("startup", "first_request", "mcp_startup", "search", "growth", "tokens"),
)
BY_HAND = ("postgres", "fleet")  # what needs a server, which DEBATE_HALL_TEST_POSTGRES names


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join((*BENCHMARKS, *BY_HAND)))
    parser.add_argument("--json", default="benchmarks.json", metavar="FILE")
    asked = parser.parse_args()
    if unknown := sorted(set(asked.names) - {*BENCHMARKS, *BY_HAND}):
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join((*BENCHMARKS, *BY_HAND))}")
    rows = []
    for name in asked.names or BENCHMARKS:
        for row in import_module(f"bench.{name}").measure():
            print(f"{row.what:<96} {row.ratio:8.4g}  {row.verdict:<24} {row.detail}", flush=True)
            rows.append({**row._asdict(), "bench": name})
    machine = f"{platform.machine()}, Python {platform.python_version()}"
    found = {"date": str(date.today()), "machine": machine, "rows": rows}
    Path(asked.json).write_text(json.dumps(found, indent=2, ensure_ascii=False))


main()
