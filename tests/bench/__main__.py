"""`python -m tests.bench [NAME…]`: every benchmark, as a table of ratios on standard output and as JSON beside it.

Ratios, not times: a shared machine is noisy, and two measurements that alternate are noisy alike. Run it on a machine
that does nothing else.
"""

from __future__ import annotations

import json
import platform
import sys
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the provider on loopback, which the tests use too

from bench import commit, latency, mcp_startup, search, startup, watching

BENCHMARKS = {
    "commit": commit.measure,
    "latency": latency.measure,
    "watching": watching.measure,
    "startup": startup.measure,
    "search": search.measure,
    "mcp": mcp_startup.measure,
}


def main(names: list[str]) -> None:
    rows = [row for name in names or BENCHMARKS for row in BENCHMARKS[name]()]
    for row in rows:
        verdict = "ok" if row.ratio <= row.target else "MISSED"
        print(f"{row.what:<78} {row.ratio:6.3f}  target ≤ {row.target:<5} {verdict}   {row.detail}")
    found = [
        {"what": row.what, "ratio": round(row.ratio, 4), "target": row.target, "detail": row.detail} for row in rows
    ]
    machine = f"{platform.machine()}, Python {platform.python_version()}"
    Path("benchmarks.json").write_text(
        json.dumps({"date": str(date.today()), "machine": machine, "rows": found}, indent=2)
    )


main(sys.argv[1:])
