"""Turns laid out as rounds, and seats as turns: pure arithmetic, by the rules of DESIGN section 4."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from orchestrator.errors import UsageError
from orchestrator.hall.terms import Mode, Role

T = TypeVar("T")


class RoundShape(NamedTuple):
    """How many turns each role has in one round; all Winds speak first, then all Walls, then all Doors."""

    wind: int
    wall: int
    door: int

    @property
    def letters(self) -> str:
        """The round as tables write it: W LLL D."""
        return " ".join(letter * count for letter, count in zip("WLD", self, strict=True))


class Slot(NamedTuple):
    """One turn to come: the role that speaks, and which of the role's seats, 0-based."""

    role: Role
    seat: int


def lay_out(turns: int, ratio: tuple[int, int, int], mode: Mode) -> tuple[RoundShape, ...]:
    """The rounds of a debate, in order.

    Fixed: rounds of one Wind, one Wall, one Door. Mediated: as many rounds as the ratio, not reduced, asks for, each
    with at least one turn of every role; totals as close to the ratio as that allows; larger rounds first.

    Args:
        turns: of the whole debate, Door's last included.
        ratio: turns of Wind to Wall to Door.
        mode: fixed or mediated.

    Raises:
        UsageError: the turns cannot be laid out so.
    """
    check_ratio(ratio, mode)
    if turns < 3:
        raise UsageError(f"{turns} turns cannot hold a Wind, a Wall and a Door.", "Use at least 3 turns.")
    if mode is Mode.FIXED:
        if turns % 3:
            below = turns - turns % 3
            raise UsageError(
                f"{turns} turns are no whole number of Wind, Wall, Door rounds, as a fixed debate needs.",
                f"Use {below} or {below + 3} turns, or mode: mediated.",
            )
        return (RoundShape(1, 1, 1),) * (turns // 3)
    rounds = min(-(-turns // sum(ratio)), turns // 3)
    wind, wall, door = (_spread(total, rounds) for total in _totals(turns, ratio, rounds))
    return tuple(RoundShape(*shares) for shares in zip(wind, wall, door, strict=True))


def check_ratio(ratio: tuple[int, int, int], mode: Mode) -> None:
    """Refuses a ratio that no number of turns can be laid out in.

    Raises:
        UsageError: a role would have no turn, or a fixed debate would need unequal parts.
    """
    spelled = ":".join(map(str, ratio))
    if silent := [role for role, part in zip(Role, ratio, strict=True) if part < 1]:
        raise UsageError(f"The ratio {spelled} leaves {silent[0]} without a turn.", "Give every role at least 1.")
    if mode is Mode.FIXED and len(set(ratio)) > 1:
        raise UsageError(
            f"A fixed debate gives every role the same number of turns; the ratio {spelled} does not.",
            "Make the parts equal (1:1:1), or use mode: mediated.",
        )


def seat_order(shapes: tuple[RoundShape, ...], seats: tuple[int, int, int]) -> tuple[tuple[Slot, ...], ...]:
    """For each round its slots in speaking order; a role's seats rotate over the whole debate.

    Args:
        shapes: the rounds.
        seats: how many seats Wind, Wall and Door have, each at least one.
    """
    spoken = [0, 0, 0]
    rounds = []
    for shape in shapes:
        slots: list[Slot] = []
        for index, role in enumerate(Role):
            numbers = range(spoken[index], spoken[index] + shape[index])
            slots += (Slot(role, number % seats[index]) for number in numbers)
            spoken[index] += shape[index]
        rounds.append(tuple(slots))
    return tuple(rounds)


def spread(lists: Sequence[Sequence[T]], seat: int) -> tuple[T, ...]:
    """What a role's lists come to for its seat of that number, 0-based: each list begins one further with every seat,
    goes round, and is followed by the next."""
    begun = (name for each in lists for name in (*each[seat % len(each) :], *each[: seat % len(each)]))
    return tuple(dict.fromkeys(begun))


def _totals(turns: int, ratio: tuple[int, int, int], rounds: int) -> list[int]:
    """Each role's turns in the whole debate: largest remainder, lifted to one a round, the surplus taken back.

    A role's distance above its share is kept in parts of `sum(ratio)`, so that all of it is whole numbers.
    """
    parts = sum(ratio)
    totals = [turns * part // parts for part in ratio]
    by_remainder = sorted(range(3), key=lambda role: -(turns * ratio[role] % parts))  # stable: Wind, Wall, Door
    for role in by_remainder[: turns - sum(totals)]:
        totals[role] += 1
    totals = [max(total, rounds) for total in totals]
    while sum(totals) > turns:
        givers = [role for role in (2, 1, 0) if totals[role] > rounds]  # of equals Door gives, so that Wind wins ties
        totals[max(givers, key=lambda role: totals[role] * parts - turns * ratio[role])] -= 1
    return totals


def _spread(total: int, rounds: int) -> list[int]:
    """`total` over `rounds` as evenly as whole numbers allow, larger shares first."""
    share, larger = divmod(total, rounds)
    return [share + 1] * larger + [share] * (rounds - larger)
