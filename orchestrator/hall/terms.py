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


class SettledBy(StrEnum):
    """What would end an objection."""

    FACT = "fact"
    MEASUREMENT = "measurement"
    CHANGE = "change"


class LinkKind(StrEnum):
    """What a thread is to the one that it is linked to."""

    ANSWERS = "answers"  # its topic is a question about that debate, asked after the fact
    REVIEWS = "reviews"  # it starts from that debate's decision, and supersedes or confirms it
    REPLAYS = "replays"  # it is that debate held again with something changed; what does not hang on it is reused


class About(StrEnum):
    """What a note says. Only a remark is words to the table; the rest is what a run had to do, for the record."""

    REMARK = "remark"
    RESUMED = "resumed"  # a later process took the run up
    UNCERTAIN = "uncertain"  # a call whose answer never came, and which was made again
    CHANGED = "changed"  # routes or limits are others than the pinned ones
    MISSING = "missing"  # a seat that could not be heard; the round went on without it
    CLOSED_EARLY = "closed_early"  # a limit was met, and Door closed with what was there
    SETTLED = "settled"  # nothing is open any more, or a person ended it: the rounds still planned are not needed
    ACCOUNT = "account"  # Door's structured account of the decision, in JSON; a claim, checked by the record
    NO_ACCOUNT = "no_account"  # why there is none
    BASELINE = "baseline"  # a single answer that was given beside the debate, in JSON, and which decision it is
    UNGROUNDED = "ungrounded"  # what an answer names, of the debate it is about, and what does not exist there


_COGNITION = {
    Role.WIND: Cognition.PATHOS,
    Role.WALL: Cognition.ETHOS,
    Role.DOOR: Cognition.LOGOS,
}
