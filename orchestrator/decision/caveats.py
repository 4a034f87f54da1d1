"""What a reader of a record should know of its debate: what its turns lack, who was missing, who said the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.contract import lacks, words_of_wind
from orchestrator.decision.likeness import Alike, near_duplicates
from orchestrator.decision.seating import Contribution
from orchestrator.evidence import Evidence
from orchestrator.hall.cognition import findings
from orchestrator.hall.debate import Debate, Line
from orchestrator.hall.entries import Turn
from orchestrator.hall.terms import Role
from orchestrator.plan import Plan


def of_turns(debate: Debate, plan: Plan) -> Iterator[str]:
    """What the turns of the run's seats do not show, each sentence once a turn."""
    for told, turn, text in _seated(debate):
        if _takes_position(plan, turn):
            yield from (f"{told}: {found}" for found in findings(turn.role, text))


def of_walls(debate: Debate, plan: Plan) -> Iterator[str]:
    """What Walls' turns lack of what the Wall content contract asks for, though they were asked twice."""
    for told, turn, text in _seated(debate):
        if turn.role is Role.WALL:
            found = lacks(words_of_wind(debate, turn.round), _takes_position(plan, turn), text)
            yield from (f"{told}: {sentence}" for sentence in dict.fromkeys(found))


def _seated(debate: Debate) -> Iterator[tuple[str, Turn, str]]:
    for line in debate.turns:
        if line.turn.seat is not None and line.text is not None:
            yield f"T{line.turn.turn_index + 1} ({line.turn.role}, {line.turn.seat.agent})", line.turn, line.text


def _takes_position(plan: Plan, turn: Turn) -> bool:
    return not plan.is_rehearsal and not plan.only_asks(turn.round)


def of_summaries(written: Sequence[Contribution]) -> Iterator[str]:
    """Seats whose models could not read all turns: of turns, votes, refinements and the account."""
    for one in written:
        if one.seat and one.seat.summarised:
            summarised = f"of T1 to T{one.seat.summarised} it read a summary"
            yield f"{one.name} ({one.role}, {one.agent}): its model could not read all turns; {summarised}."


def of_balance(debate: Debate, written: Sequence[Contribution]) -> Iterator[str]:
    """Roles that were starved, and seats that were substituted."""
    for role in debate.state.starved_roles:
        yield f"{role} was starved: a round went by without it."
    for one in written:
        if one.seat and one.seat.route:
            why = f" ({'; '.join(one.seat.tried)})" if one.seat.tried else ""
            asked, route = one.seat.asked, one.seat.route
            yield f"{one.name} ({one.role}, {one.agent}) was asked through {asked} and answered by {route}{why}."


def of_likeness(debate: Debate, evidence: Sequence[Evidence]) -> Iterator[str]:
    """Turns of different seats of one role that barely differ, a sentence for all that hang together.

    What a seat may quote is no likeness: the topic, the evidence, and the roles that speak before its own in a round.
    """
    said: dict[Role, dict[int, Line]] = {role: {} for role in Role}
    common = [debate.opening.words, *(piece.text for piece in evidence)]
    for line in debate.turns:
        said[line.turn.role][line.turn.turn_index + 1] = line
    for role, lines in said.items():
        texts = [(number, line.text) for number, line in lines.items() if line.text is not None]
        found = near_duplicates(texts, common)
        pairs = [pair for pair in found if _seat_of(lines[pair.first].turn) != _seat_of(lines[pair.second].turn)]
        for group in _hanging_together(pairs):
            numbers = sorted({number for pair in group for number in (pair.first, pair.second)})
            yield _barely_differ(role, [lines[number].turn for number in numbers], group)
        common += [text for _, text in texts]


def _hanging_together(pairs: Sequence[Alike]) -> list[list[Alike]]:
    """The pairs in groups: whatever is alike with one turn of a group belongs to it."""
    groups: list[list[Alike]] = []
    for pair in pairs:
        touched = [group for group in groups if any({pair.first, pair.second} & {it.first, it.second} for it in group)]
        groups = [group for group in groups if group not in touched]
        groups.append([*(it for group in touched for it in group), pair])
    return sorted(groups, key=lambda group: min(pair.first for pair in group))


def _barely_differ(role: Role, turns: Sequence[Turn], pairs: Sequence[Alike]) -> str:
    names = _and([f"T{turn.turn_index + 1}" for turn in turns])
    agents = _and(list(dict.fromkeys(turn.agent_role or "unnamed" for turn in turns)))
    least, most = (f"{share(pair.share for pair in pairs) * 100:.0f}" for share in (min, max))
    shares = most if least == most else f"{least} to {most}"
    return f"{names} ({role}, {agents}) barely differ ({shares} % of their words run alike)."


def _and(names: Sequence[str]) -> str:
    *before, last = names
    return f"{', '.join(before)} and {last}" if before else last


def _seat_of(turn: Turn) -> tuple[str | None, str | None]:
    return turn.agent_role, turn.seat.lens if turn.seat else None
