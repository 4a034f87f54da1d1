"""`python -m tests.reference`: writes docs/commands.md and the README's table of commands."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest does

from reference.page import PAGE, README, page, with_table

PAGE.write_text(page())
README.write_text(with_table(README.read_text()))
