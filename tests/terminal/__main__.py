"""`python -m tests.terminal`: writes the screens again that are kept of a run."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest does

from terminal.scenes import SCREENS, SIZES, fortress, moments, screen_of
from terminal.window import normal

SCREENS.mkdir(exist_ok=True)
for size in SIZES:
    with tempfile.TemporaryDirectory() as folder, fortress(Path(folder), *size) as scene:
        for name, screen in moments(scene):
            screen_of(name, *size).write_text(normal(screen), encoding="utf-8")
            print(screen_of(name, *size))
