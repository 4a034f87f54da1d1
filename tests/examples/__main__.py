"""`python -m tests.examples`: holds the example debates again and writes docs/examples."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest does

from examples.shelf import WRITTEN
from examples.stage import EXAMPLES
from examples.writing import write

for name, make in WRITTEN.items():
    for file in write(make, EXAMPLES / name):
        print(file)
