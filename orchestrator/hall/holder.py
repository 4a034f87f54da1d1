"""Who holds something that others want too, and since when: the run of a thread, or a review."""

from __future__ import annotations

from typing import NamedTuple


class Holder(NamedTuple):
    """A process that runs a thread: its number, and the place in which that number is one process and no other."""

    place: str  # host, and behind a blank what tells its processes apart
    pid: int

    def __str__(self) -> str:
        return f"process {self.pid} on {self.place.partition(' ')[0]}"


class RunRow(NamedTuple):
    """The newest run of a thread. Epochs count its runs from 1: each that takes over has a higher one."""

    epoch: int
    holder: Holder
    began_at: str  # ISO 8601, UTC
    beat_at: str  # when it was last heard of
    released: bool  # it has ended by itself
