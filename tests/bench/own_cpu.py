"""What our own code takes of the CPU for a turn: whole debates whose calls litellm answers at once.

Everything counts, from the recipe's file to the record of the decision; of litellm's call nothing does.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.pattern import child
from bench.row import Row
from endpoint import ModelServer

RECIPES = ("speed", "fortress", "council", "deep")


def measure() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder, ModelServer() as server:
        models = Path(folder, "here.yaml")
        models.write_text(server.models_file())
        for recipe in RECIPES:
            took = child("own", recipe, str(models))
            detail = f"{took['turns']} turns, {took['calls']} calls"
            ms = took["cpu_s_per_turn"] * 1e3
            yield Row(f"{recipe.upper()}: CPU of our own code, ms a turn, litellm excluded", ms, 5, detail)
