"""`python -m tests.evaluate`: evaluates the simulated panel again and writes docs/examples/evaluation."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]  # as pytest does

from simulated import EXAMPLE, write  # noqa: E402

write()
print(EXAMPLE)
