"""What can be concluded from so many briefs, and what cannot, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from orchestrator.evaluate.measuring import SOUNDNESS, Difference
from orchestrator.evaluate.scores import Score
from orchestrator.evaluate.statistics import POWER
from orchestrator.wording import counted

_FEW = 10  # briefs, with fewer of which only very large differences show


def concluded(
    differences: Sequence[Difference], briefs: int, repeats: int, arms: Mapping[str, Sequence[Score]], base: str
) -> tuple[str, ...]:
    """Returns the sentences, those about soundness first.

    Args:
        differences: of all measures, each against `base`.
        briefs, repeats: how many were asked, and how often.
        arms: the scores of each arm that is there.
        base: the arm that the others are compared with.
    """
    return tuple(_sentences(differences, briefs, repeats, arms, base))


def of_soundness(found: Difference) -> str:
    """What the briefs say of which of two arms decides soundly more often."""
    if found.value is None or found.briefs < 2:
        return (
            f"Nothing can be concluded about {found.arm} and {found.against}: {counted(found.briefs, 'brief')} of both."
        )
    between = f"{points(found.value)} ({_between(found)}) on {counted(found.briefs, 'brief')}"
    match found.shows:
        case "more":
            return f"{found.arm} decides soundly more often than {found.against}: {between}."
        case "less":
            return f"{found.arm} decides soundly less often than {found.against}: {between}."
        case _:
            return f"Whether {found.arm} or {found.against} decides soundly more often cannot be told: {between}."


def in_reach(found: Difference) -> str:
    """The smallest difference that so many briefs can show."""
    if found.smallest is None:
        return f"{counted(found.briefs, 'brief').capitalize()} can show no difference at all, however large."
    return (
        f"{counted(found.briefs, 'brief').capitalize()} that differ as these do show a difference of "
        f"{round(100 * found.smallest)} points or more in {100 * POWER:.0f} % of all cases; smaller ones mostly stay "
        "unseen, and that none is seen does not mean that there is none."
    )


def points(share: float) -> str:
    """A difference of shares: `+12 points`, `0 points`."""
    number = round(100 * share)
    signed = f"{number:+d}".replace("-", "−") if number else "0"
    return f"{signed} point{'' if abs(number) == 1 else 's'}"


def _between(found: Difference) -> str:
    low, high = ("without end" if end is None else points(end).rpartition(" ")[0] for end in (found.low, found.high))
    return f"{low} to {high}"


def _sentences(
    differences: Sequence[Difference], briefs: int, repeats: int, arms: Mapping[str, Sequence[Score]], base: str
) -> Iterator[str]:
    sound = [each for each in differences if each.measure == SOUNDNESS.name]
    if not sound:
        yield f"There is one arm, {base}, so nothing is compared."
    for each in sound:
        yield f"{of_soundness(each)} {in_reach(each)}" if each.value is not None else of_soundness(each)
    if briefs < _FEW:
        yield f"With {counted(briefs, 'brief')} only very large differences could show; this is a look, no measurement."
    if repeats == 1:
        yield "Each arm answered each brief once, so how much its answers vary from one time to the next is not known."
    aside = sum(score.outcome == "aside" for scores in arms.values() for score in scores)
    if aside:
        yield (
            f"{counted(aside, 'answer')} outside the options {'waits' if aside == 1 else 'wait'} for a person and "
            "count neither way: with them every figure about soundness may change."
        )
    yield (
        "All of it is about these briefs, these models and these prompts. What was planted is read by rule: a "
        "constraint in words that no rule expects is missed, in every arm alike."
    )
