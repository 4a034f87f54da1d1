"""Somebody whom the permissions of files bind; root may read everything."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def as_nobody() -> Iterator[None]:
    """Runs as a user without rights, if root runs the tests."""
    user = os.geteuid()
    os.seteuid(user or 65534)
    try:
        yield
    finally:
        os.seteuid(user)
