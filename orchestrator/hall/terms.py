"""The words of the protocol, as enums whose values are what is stored and shown."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    WIND = "Wind"
    WALL = "Wall"
    DOOR = "Door"

    @property
    def cognition(self) -> Cognition:
        return _COGNITION[self]


class Cognition(StrEnum):
    PATHOS = "PATHOS"
    ETHOS = "ETHOS"
    LOGOS = "LOGOS"


class Mode(StrEnum):
    FIXED = "fixed"
    MEDIATED = "mediated"


class Status(StrEnum):
    ACTIVE = "active"
    SYNTHESIS = "synthesis"
    STALEMATE = "stalemate"
    FORCE_CLOSED = "force_closed"


class Choice(StrEnum):
    """What a seat says of a synthesis when it votes."""

    APPROVE = "approve"
    OBJECT = "object"


_COGNITION = {
    Role.WIND: Cognition.PATHOS,
    Role.WALL: Cognition.ETHOS,
    Role.DOOR: Cognition.LOGOS,
}
