"""A real browser for the page: offline, and every request it makes is seen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from browser.reader import launched

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for a module: while it is there, its thread runs an event loop, and no other can."""
    with launched() as browser:
        yield browser
