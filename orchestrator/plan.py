"""Recipe, agents, evidence and routes resolved into one plan: rounds of seats, pinned and hashed.

A plan holds the very texts that the seats will see, so that a process that comes later goes on with them though the
files have changed. The runner reads a plan and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Literal

from pydantic import Field, ValidationError

from orchestrator.errors import ConfigurationError
from orchestrator.evidence import Evidence
from orchestrator.hall.debate import REHEARSAL, Debate
from orchestrator.hall.ledger import plan_digest
from orchestrator.hall.terms import Mode, Role
from orchestrator.layout import spread
from orchestrator.models.base import Endpoint
from orchestrator.models.rehearsal import NAME as REHEARSAL_ROUTE
from orchestrator.models_file import route_names
from orchestrator.recipe import NO_LIMITS, Limits, Recipe
from orchestrator.strict_yaml import Shape

OnFailure = Literal["pause", "degrade"]


class PinnedAgent(Shape):
    """What a run needs of an agent, as it was when the run began."""

    text: str
    section: str
    questions: tuple[str, ...]


class PlannedSeat(Shape):
    """One turn to come: who speaks, from which angle, through which routes (the first answers, the rest fall back).

    `slot` names the place in the plan, `R1.Wall.2`; no two turns share one.
    """

    slot: str
    role: Role
    agent: str
    lens: str | None
    routes: tuple[str, ...]
    temperature: float | None
    max_output_tokens: int


class PlannedRound(Shape):
    """A round's seats in speaking order: all Winds, all Walls, all Doors.

    `closes` says that its last Door ends the debate before the plan does.
    """

    number: int
    winds: tuple[PlannedSeat, ...]
    walls: tuple[PlannedSeat, ...]
    doors: tuple[PlannedSeat, ...]
    closes: bool = False

    def of(self, role: Role) -> tuple[PlannedSeat, ...]:
        return {Role.WIND: self.winds, Role.WALL: self.walls, Role.DOOR: self.doors}[role]

    @property
    def seats(self) -> tuple[PlannedSeat, ...]:
        return self.winds + self.walls + self.doors


class Plan(Shape):
    """All that a runner reads.

    `fence` is the random marker around everything that is data in a prompt; `notices` are sentences a reader should
    know before the debate begins; `on_failure` says whether a round goes on without a seat that cannot be heard;
    `baseline` how many answer alone, beside the debate.
    """

    v: Literal[1] = 1
    recipe: Recipe
    protocol: str
    fence: str
    agents: dict[str, PinnedAgent]
    evidence: tuple[Evidence, ...]
    endpoints: dict[str, Endpoint]
    timeout_s: float
    rounds: tuple[PlannedRound, ...]
    notices: tuple[str, ...]
    limits: Limits = NO_LIMITS
    on_failure: OnFailure = "pause"
    baseline: int = 0

    def encode(self) -> str:
        """Returns the plan as the text that is pinned and hashed."""
        return self.model_dump_json()

    @classmethod
    def decode(cls, text: str) -> Plan:
        """Returns the plan that `encode` wrote.

        Raises:
            ConfigurationError: it is none that this version reads.
        """
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise ConfigurationError(
                f"The pinned plan cannot be read by this version ({error.error_count()} problems).",
                "Use the version that made it.",
            ) from error

    @classmethod
    def pinned_in(cls, debate: Debate) -> Plan | None:
        """Returns the plan that was pinned when a run opened a debate; None for one that is held by hand.

        Raises:
            ConfigurationError: this version cannot read it.
        """
        return cls.decode(debate.plan) if debate.plan is not None else None

    @property
    def hash(self) -> str:
        return plan_digest(self.encode())

    def with_changes(self, changes: Changes) -> Plan:
        """Returns the plan as somebody who took the run up wants it to go on."""

        def reseated(seat: PlannedSeat) -> PlannedSeat:
            asked = [route_names(text) for text in changes.routes.get(seat.role, ())]
            return seat.model_copy(update={"routes": spread(asked, self._place_of(seat)) or seat.routes})

        def redone(planned: PlannedRound) -> PlannedRound:
            seats = {name: tuple(map(reseated, getattr(planned, name))) for name in ("winds", "walls", "doors")}
            return planned.model_copy(update=seats)

        update = {
            "rounds": tuple(map(redone, self.rounds)),
            "endpoints": {**self.endpoints, **changes.endpoints},
            "limits": self.limits.model_copy(update=changes.limits.model_dump(exclude_none=True)),
            "on_failure": changes.on_failure or self.on_failure,
        }
        return self.model_copy(update=update)

    def _place_of(self, seat: PlannedSeat) -> int:
        """The place of a seat among the recipe's of its role, from 0."""
        seats = self.recipe.seats_of(seat.role)
        return next((n for n, each in enumerate(seats) if (each.agent, each.lens) == (seat.agent, seat.lens)), 0)

    def endpoint(self, route: str) -> Endpoint:
        return self.endpoints.get(route, Endpoint())

    def most_output(self, seat: PlannedSeat, route: str) -> int:
        """How many tokens a seat's answer may have through a route."""
        return self.endpoint(route).max_output_tokens or seat.max_output_tokens

    def timeout_of(self, route: str) -> float:
        """How many seconds a call to a route may take."""
        return self.endpoint(route).timeout_s or self.timeout_s

    @property
    def mode(self) -> Mode:
        return self.recipe.mode

    @property
    def turns(self) -> int:
        return sum(len(planned.seats) for planned in self.rounds)

    @property
    def routes(self) -> frozenset[str]:
        """Every route that a seat may ask."""
        return frozenset(route for planned in self.rounds for seat in planned.seats for route in seat.routes)

    @property
    def endpoints_in_use(self) -> dict[str, Endpoint]:
        """Every route that a seat may ask, in order of name, with its endpoint."""
        return {route: self.endpoint(route) for route in sorted(self.routes)}

    @property
    def is_rehearsal(self) -> bool:
        """Whether any seat's words come from the rehearsal instead of a model."""
        return any(seat.routes[0] == REHEARSAL_ROUTE for planned in self.rounds for seat in planned.seats)

    @property
    def marks(self) -> tuple[str, ...]:
        """Words that every output of a debate that follows this plan shows first."""
        return (REHEARSAL,) if self.is_rehearsal else ()

    @property
    def voters(self) -> tuple[PlannedSeat, ...]:
        """Every voice of Wind and Wall once, where they vote; a rehearsal decides nothing, so nobody votes on it."""
        if not self.recipe.consensus.required or self.is_rehearsal:
            return ()
        voices: dict[tuple[Role, str, str | None], PlannedSeat] = {}
        for role in (Role.WIND, Role.WALL):
            for seat in (seat for planned in self.rounds for seat in planned.of(role)):
                voices.setdefault((role, seat.agent, seat.lens), seat)
        return tuple(voices.values())

    @property
    def calls(self) -> int:
        """Calls to models if every planned turn is taken, none has to be repeated and no synthesis is refined."""
        return sum(map(self.calls_in, self.rounds)) + len(self.voters) + self.has_account + 2 * self.baseline

    def calls_in(self, planned: PlannedRound) -> int:
        """The calls of a round: its turns and checklists."""
        return len(planned.seats) + (len(planned.walls) if self.has_checklists(planned) else 0)

    @property
    def has_account(self) -> bool:
        """Whether Door accounts for its decision; a rehearsal makes none."""
        return not self.is_rehearsal

    def asks_again(self, route: str) -> bool:
        """Whether a route answers more than one call of a debate: what one begins with, its provider remembers.

        A route that is nobody's first stands in for one that is, and is taken to.
        """
        calls = sum(islice(self._calls_of(route), 2))
        return calls != 1

    def _calls_of(self, route: str) -> Iterator[int]:
        for planned in self.rounds:
            for seat in planned.seats:
                if seat.routes[0] == route:
                    yield 2 if seat.role is Role.WALL and self.has_checklists(planned) else 1
        if self.has_account and self.rounds[-1].doors[-1].routes[0] == route:
            yield 1
        yield from (1 for seat in self.voters if seat.routes[0] == route)

    def has_checklists(self, planned: PlannedRound) -> bool:
        """Whether Walls draft a checklist beside Wind; the first round of a Socratic debate has nothing to test."""
        return self.recipe.wall == "framework" and not self.only_asks(planned.number)

    def ends_with(self, planned: PlannedRound, seat: PlannedSeat) -> bool:
        """Whether a seat of a round has the debate's last turn, which becomes its decision."""
        return (planned.closes or planned.number >= self.rounds[-1].number) and seat.slot == planned.doors[-1].slot

    @property
    def first_position(self) -> int:
        """The first round in which positions are taken."""
        return 2 if self.recipe.socratic else 1

    def only_asks(self, number: int) -> bool:
        """Whether nobody takes a position in this round yet."""
        return number < self.first_position

    @property
    def longest_chain(self) -> int:
        """Those of `calls` that wait for one another; the rest run beside them."""
        return sum(map(self.chain_in, self.rounds)) + bool(self.voters) + self.has_account + bool(self.baseline)

    def chain_in(self, planned: PlannedRound) -> int:
        """The calls of a round that wait for one another: Wind beside the checklists, then Wall, then Door."""
        if self.recipe.doors == "sequential":
            return 2 + len(planned.doors)
        return 2 + (2 if planned is self.rounds[-1] and len(planned.doors) > 1 else 1)


class Changes(Shape):
    """What a run does otherwise than its pinned plan, since somebody took it up again.

    `routes` wins over those of every seat of a role, `a,b` spread over them; of `limits` only those count that are
    given.
    """

    routes: dict[Role, tuple[str, ...]] = Field(default_factory=dict)
    endpoints: dict[str, Endpoint] = Field(default_factory=dict)
    limits: Limits = NO_LIMITS
    on_failure: OnFailure | None = None

    def __bool__(self) -> bool:
        return self != Changes()

    def __str__(self) -> str:
        told = [f"{role} is asked through {', '.join(routes)}" for role, routes in self.routes.items()]
        told += [f"it may take at most {self.limits}"] if self.limits != NO_LIMITS else []
        told += [f"the price of {route} is {price}" for route, price in self._prices()]
        told += [f"a seat that fails makes the run {self.on_failure}"] if self.on_failure else []
        return "; ".join(told)

    def _prices(self) -> Iterator[tuple[str, str]]:
        for route, endpoint in self.endpoints.items():
            each = (endpoint.input_cost_per_token, endpoint.output_cost_per_token)
            dollars = [format((cost * 1_000_000).normalize(), "f") for cost in each if cost is not None]
            if dollars:
                yield route, f"${'/'.join(dollars)} per million tokens in/out"


def slot_name(round: int, role: Role, place: int | str) -> str:
    return f"R{round}.{role}.{place}"
