"""What a reader of a record should know of its debate: what its turns lack, who was missing, who said the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.contract import lacks, words_of_wind
from orchestrator.evidence import Evidence
from orchestrator.hall.cognition import findings
from orchestrator.hall.debate import Debate, Line
from orchestrator.hall.entries import Turn
from orchestrator.hall.terms import Role
from orchestrator.likeness import near_duplicates
from orchestrator.plan import Plan
from orchestrator.seating import Contribution


def of_turns(debate: Debate, plan: Plan) -> Iterator[str]:
    """What the turns of the run's seats do not show, each sentence once a turn."""
    for told, turn, text in _seated(debate):
        if turn.seat and turn.seat.summarised:
            yield f"{told}: its model could not read all turns; of T1 to T{turn.seat.summarised} it read a summary."
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
    """Turns of different seats of one role that barely differ.

    What a seat may quote is no likeness: the topic, the evidence, and the roles that speak before its own in a round.
    """
    said: dict[Role, dict[int, Line]] = {role: {} for role in Role}
    common = [debate.opening.words, *(piece.text for piece in evidence)]
    for line in debate.turns:
        said[line.turn.role][line.turn.turn_index + 1] = line
    for lines in said.values():
        texts = [(number, line.text) for number, line in lines.items() if line.text is not None]
        for pair in near_duplicates(texts, common):
            one, other = _seat_of(lines[pair.first].turn), _seat_of(lines[pair.second].turn)
            if one != other:
                alike = f"barely differ ({pair.share * 100:.0f} % of their words run alike)."
                yield f"T{pair.first} ({one}) and T{pair.second} ({other}) {alike}"
        common += [text for _, text in texts]


def _seat_of(turn: Turn) -> str:
    lens = f", lens {turn.seat.lens}" if turn.seat and turn.seat.lens else ""
    return f"{turn.role}, {turn.agent_role or 'unnamed'}{lens}"
