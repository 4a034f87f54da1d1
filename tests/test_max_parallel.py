"""A server is asked no more calls at once, and in a minute, than the models file says; who waits is asked in order, or
never."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from building import THREAD, TOPIC, hall_at, hold, order, plan_of, speech
from orchestrator import lanes
from orchestrator.budget import Budget
from orchestrator.calls import NO_TIME_LIMIT, Calls, Ticket, TimeLimit
from orchestrator.errors import ConfigurationError, LimitMet
from orchestrator.hall.hall import Hall
from orchestrator.hall.journal import Outcome
from orchestrator.hall.terms import Role
from orchestrator.journal import Ask, Journal
from orchestrator.models.base import Cli, Endpoint, Message, Reply, Request, Task, Usage
from orchestrator.models_file import load_models_file, parse_models
from orchestrator.recipe import Limits
from orchestrator.run_folder import outline

pytestmark = pytest.mark.anyio

CONFIGS = (Path(__file__).parent.parent / "configs",)
TASK = Task("turn", Role.WIND, "wind-agent", None, round=1, rounds=1, last=False, topic=TOPIC)
HERE, THERE = "http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    with hall_at(tmp_path / "state") as hall:
        yield hall


def ask(slot: str, route: str = "test/wind", endpoint: Endpoint | None = None) -> Ask:
    messages = (Message("user", slot),)
    request = Request(route, messages, TASK, 10, 60, endpoint=endpoint or Endpoint(max_parallel=1))
    return Ask(slot, "turn", request)


BOUND = Budget().bound_of(ask("R1.Wind.1").request)


class Server:
    """A model that answers when it is let; it knows who is being answered and how many were so at the most."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.under_way: list[str] = []
        self.most = 0
        self.timeouts: list[float] = []

    async def complete(self, request: Request) -> Reply:
        text = request.messages[0].text if request.task is TASK else speech(request, len(self.begun))
        self.begun.append(text)
        self.timeouts.append(request.timeout_s)
        self.under_way.append(text)
        self.most = max(self.most, len(self.under_way))
        try:
            await self._answers(request)
        finally:
            self.under_way.remove(text)
        return Reply(text, "test/answered", Usage(10, 0, 5, None))

    async def _answers(self, request: Request) -> None:
        for _ in range(20):  # whoever else may be asked is asked meanwhile
            await anyio.lowlevel.checkpoint()


class Held(Server):
    """One that answers nobody until `let` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.let = anyio.Event()
        self.asked = anyio.Event()

    async def _answers(self, request: Request) -> None:
        self.asked.set()
        await self.let.wait()


def calls_of(server: Server, journal: Journal | None = None, time: TimeLimit = NO_TIME_LIMIT) -> Calls:
    return Calls(lambda route: server, journal, Budget(Limits(tokens=10 * BOUND.tokens)), time)


async def make(calls: Calls, tickets: list[Ticket]) -> None:
    async with anyio.create_task_group() as group:
        for ticket in tickets:
            group.start_soon(calls.make, ticket)


# ------------------------------------------------------------------------------------------------------------- a server


@pytest.mark.parametrize("most", [1, 2, 3])
async def test_a_server_is_asked_as_many_calls_at_once_as_it_takes_and_no_more(most: int) -> None:
    server, slots = Server(), [f"R1.Wall.{number}" for number in range(1, 7)]
    calls = calls_of(server)
    with anyio.fail_after(10):
        await make(calls, await calls.prepare([ask(slot, endpoint=Endpoint(max_parallel=most)) for slot in slots]))
    assert server.most == most
    assert server.begun == slots  # who waits longest is next


async def test_of_a_server_of_which_nothing_is_said_all_is_asked_at_once() -> None:
    server = Server()
    calls = calls_of(server)
    with anyio.fail_after(10):
        await make(calls, await calls.prepare([ask(f"R1.Wall.{n}", endpoint=Endpoint()) for n in range(6)]))
    assert server.most == 6


@pytest.mark.parametrize(
    ("routes", "endpoints", "most"),
    [
        pytest.param(("a/x", "a/y"), (Endpoint(HERE, max_parallel=1),) * 2, 1, id="one address"),
        pytest.param(("a/x", "a/x"), (Endpoint(HERE, max_parallel=1), Endpoint(THERE, max_parallel=1)), 2, id="two"),
        pytest.param(("a/x", "a/x"), (Endpoint(max_parallel=1),) * 2, 1, id="one route"),
        pytest.param(("a/x", "a/y"), (Endpoint(max_parallel=1),) * 2, 2, id="two routes"),
        pytest.param(("cli/codex:a", "cli/codex:b"), (Endpoint(max_parallel=1),) * 2, 1, id="one agent CLI"),
        pytest.param(
            ("cli/codex", "cli/mine"),
            (Endpoint(max_parallel=1), Endpoint(max_parallel=1, cli=Cli("codex"))),
            1,
            id="one command",
        ),
        pytest.param(("cli/codex", "cli/gemini"), (Endpoint(max_parallel=1),) * 2, 2, id="two agent CLIs"),
    ],
)
async def test_what_is_bounded_is_the_server_whatever_models_it_has(
    routes: tuple[str, str], endpoints: tuple[Endpoint, Endpoint], most: int
) -> None:
    server = Server()
    calls = Calls(lambda route: server)
    asks = [ask(f"R1.Wall.{n}", *each) for n, each in enumerate(zip(routes, endpoints, strict=True))]
    with anyio.fail_after(10):
        await make(calls, await calls.prepare(asks))
    assert server.most == most


# -------------------------------------------------------------------------------------------------------- who waits


async def test_a_wait_is_none_of_the_calls_own_time() -> None:
    """The second call begins when the run has less time left than when the first one did, and has all of its own."""
    server = Held()
    calls = calls_of(server, time=TimeLimit(anyio.current_time() + 3600, 3600))
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(make, calls, await calls.prepare([ask("R1.Wall.1"), ask("R1.Wall.2")]))
            await server.asked.wait()
            assert server.begun == ["R1.Wall.1"]
            server.let.set()
    assert server.timeouts == [60, 60]


async def test_a_call_that_is_cancelled_while_it_waits_was_never_made_and_takes_nothing(hall: Hall) -> None:
    hall.init_debate(THREAD, TOPIC)
    journal, server = await Journal.opened(hall, hall.runs.begin(THREAD)), Held()
    calls = calls_of(server, journal)
    first, second = await calls.prepare([ask("R1.Wall.1"), ask("R1.Wall.2")])
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(calls.make, first)
            await server.asked.wait()
            with anyio.CancelScope() as scope:
                scope.cancel()
                await calls.make(second)
            assert scope.cancelled_caught
            assert calls.budget.left().tokens == 9 * BOUND.tokens  # what the first one can take is still set aside
            server.let.set()
    assert server.begun == ["R1.Wall.1"]
    assert calls.budget.spent.tokens == 15
    assert [call.slot for call in journal.uncertain] == ["R1.Wall.1"]  # its reply was not kept here
    assert journal.spent_at_most.tokens == BOUND.tokens
    (outcome,) = (line.record for line in hall.journal(THREAD) if isinstance(line.record, Outcome))
    assert (outcome.failed, outcome.charged) == ("never_made", False)
    assert calls.past(ask("R1.Wall.2")) == ()  # nothing came of it, and nothing failed


async def test_the_lane_of_a_call_that_was_cancelled_or_failed_is_free_again() -> None:
    server = Held()
    calls = calls_of(server)
    first, second = await calls.prepare([ask("R1.Wall.1"), ask("R1.Wall.2")])
    with anyio.fail_after(10):
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(calls.make, first)
                await server.asked.wait()
                scope.cancel()
        server.let.set()
        assert (await calls.make(second)).text == "R1.Wall.2"
    assert calls.budget.spent.tokens == BOUND.tokens + 15  # what became of the first one nobody knows


async def test_the_runs_time_limit_holds_for_those_that_wait(hall: Hall) -> None:
    hall.init_debate(THREAD, TOPIC)
    journal, server = await Journal.opened(hall, hall.runs.begin(THREAD)), Held()
    calls = calls_of(server, journal, TimeLimit(anyio.current_time() + 0.2, 60))
    first, second = await calls.prepare([ask("R1.Wall.1"), ask("R1.Wall.2")])

    async def expect_limit(ticket: Ticket) -> None:
        with pytest.raises(LimitMet, match="of 60 s are left"):
            await calls.make(ticket)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(expect_limit, first)
            await server.asked.wait()
            group.start_soon(expect_limit, second)
    assert server.begun == ["R1.Wall.1"]
    assert calls.budget.spent == BOUND  # of the one that was made
    assert [call.slot for call in journal.uncertain] == ["R1.Wall.1"]


# ---------------------------------------------------------------------------------------------------------- in a minute


class Timed(Server):
    """One that knows when each call began."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []

    async def _answers(self, request: Request) -> None:
        self.times.append(anyio.current_time())


async def test_no_more_calls_begin_in_a_minute_than_may_and_those_that_wait_begin_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lanes, "MINUTE_S", 0.1)
    server, slots = Timed(), [f"R1.Wall.{number}" for number in range(1, 8)]
    calls = calls_of(server)
    with anyio.fail_after(10):
        await make(calls, await calls.prepare([ask(slot, endpoint=Endpoint(max_per_minute=3)) for slot in slots]))
    assert server.begun == slots
    waits = [later - earlier for earlier, later in zip(server.times, server.times[3:], strict=False)]
    assert min(waits) > 0.099  # a timer of the loop may be early by its resolution
    assert server.most == 1  # none of them took any time


async def test_who_waits_for_the_next_minute_and_is_cancelled_was_never_made(hall: Hall) -> None:
    hall.init_debate(THREAD, TOPIC)
    journal, server = await Journal.opened(hall, hall.runs.begin(THREAD)), Server()
    calls = calls_of(server, journal)
    asks = [ask(f"R1.Wall.{number}", endpoint=Endpoint(max_per_minute=2)) for number in range(1, 4)]
    with anyio.fail_after(10):
        first, second, third = await calls.prepare(asks)
        await make(calls, [first, second])
        with anyio.move_on_after(0.05) as scope:
            await calls.make(third)
    assert scope.cancelled_caught
    assert server.begun == ["R1.Wall.1", "R1.Wall.2"]
    assert calls.budget.spent.tokens == 2 * 15
    (outcome,) = (line.record for line in hall.journal(THREAD) if isinstance(line.record, Outcome))
    assert (outcome.failed, outcome.charged) == ("never_made", False)


@pytest.mark.parametrize(
    ("endpoints", "begun"),
    [
        ((Endpoint(HERE, max_per_minute=1),) * 2, 1),
        ((Endpoint(HERE, max_per_minute=1), Endpoint(THERE, max_per_minute=1)), 2),
    ],
    ids=["one server", "two servers"],
)
async def test_a_minute_is_that_of_a_server(endpoints: tuple[Endpoint, Endpoint], begun: int) -> None:
    server = Server()
    calls = Calls(lambda route: server)
    asks = [ask(f"R1.Wall.{number}", f"a/{number}", endpoint) for number, endpoint in enumerate(endpoints)]
    with anyio.move_on_after(0.1):
        await make(calls, await calls.prepare(asks))
    assert len(server.begun) == begun


async def test_the_runs_time_limit_holds_for_those_that_wait_for_the_next_minute() -> None:
    server = Server()
    calls = calls_of(server, time=TimeLimit(anyio.current_time() + 0.1, 60))
    first, second = await calls.prepare([ask(f"R1.Wall.{n}", endpoint=Endpoint(max_per_minute=1)) for n in (1, 2)])
    with anyio.fail_after(10):
        await calls.make(first)
        with pytest.raises(LimitMet, match="of 60 s are left"):
            await calls.make(second)
    assert server.begun == ["R1.Wall.1"]


# ------------------------------------------------------------------------------------------------------ a whole run


@pytest.mark.parametrize("most", [1, 2])
async def test_a_run_on_one_server_takes_its_turns_in_seat_order(hall: Hall, most: int) -> None:
    server = Server()
    plan = plan_of("fortress", endpoint=Endpoint(HERE, max_parallel=most))
    with anyio.fail_after(30):
        run = await hold(hall, plan, server)
    assert server.most == most
    assert order(run.debate) == "WLLLD · WLLD"
    slots = [line.turn.seat.slot for line in run.debate.turns if line.turn.seat]
    assert slots == [seat.slot for planned in plan.rounds for seat in planned.seats]


# ------------------------------------------------------------------------------------------------- the models file

ROUTES = "routes: {PATHOS: [a/x], ETHOS: [a/y], LOGOS: [a/z]}\nmodels:\n"


def test_models_of_one_server_take_the_least_that_is_given_for_any_of_them() -> None:
    models = parse_models(
        f"{ROUTES}  a/x: {{api_base: '{HERE}', max_parallel: 4}}\n  a/y: {{api_base: '{HERE}', max_parallel: 2}}\n"
        f"  a/z: {{api_base: '{HERE}'}}\n  a/v: {{api_base: '{THERE}', max_parallel: 1}}\n  a/w: {{max_parallel: 3}}\n",
        "models.yaml",
    )
    most = {name: models.endpoint(name).max_parallel for name in (*models.models, "a/u")}
    assert most == {"a/x": 2, "a/y": 2, "a/z": 2, "a/v": 1, "a/w": 3, "a/u": None}


def test_models_of_one_server_may_begin_the_least_in_a_minute_that_is_given_for_any_of_them() -> None:
    models = parse_models(
        f"{ROUTES}  a/x: {{api_base: '{HERE}', max_per_minute: 40}}\n"
        f"  a/y: {{api_base: '{HERE}', max_per_minute: 20}}\n  a/z: {{api_base: '{THERE}'}}\n",
        "models.yaml",
    )
    assert {name: models.endpoint(name).max_per_minute for name in models.models} == {"a/x": 20, "a/y": 20, "a/z": None}
    with pytest.raises(ConfigurationError, match=r"models\.a/x\.max_per_minute: must be at least 1"):
        parse_models(f"{ROUTES}  a/x: {{max_per_minute: 0}}\n", "models.yaml")


def test_a_dry_run_says_how_many_calls_begin_in_a_minute() -> None:
    one = outline(plan_of("fortress", endpoint=Endpoint(HERE, max_per_minute=20)))
    assert one.count(f"\n{HERE} is asked at most 20 calls in a minute; the others wait\n") == 1
    both = outline(plan_of("fortress", endpoint=Endpoint(HERE, max_parallel=2, max_per_minute=1)))
    assert f"\n{HERE} is asked at most 2 calls at once and 1 call in a minute; the others wait\n" in both


def test_a_dry_run_says_who_is_asked_one_call_at_a_time() -> None:
    told = outline(plan_of("fortress", endpoint=Endpoint(HERE, max_parallel=1)))
    assert told.count(f"\n{HERE} is asked at most 1 call at once; the others wait\n") == 1
    assert "at once" not in outline(plan_of("fortress"))


def test_the_local_file_asks_its_server_one_call_at_a_time() -> None:
    models = load_models_file("local", CONFIGS)
    assert {models.endpoint(name).max_parallel for name in models.routes.PATHOS} == {1}
