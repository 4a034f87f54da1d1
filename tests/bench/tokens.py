"""What DEEP reads, and what of it the providers' prompt caches serve, with three providers and 800-token turns.

The debate is held as it is: through litellm, over loopback, in each provider's own words. Only the answers and the
caches are made up; how these work stands in `prefix_cache`. Nothing is timed, so a run says the same as the last.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.prefix_cache import CachingServer, tokens_of
from bench.row import Row
from endpoint import Call
from endpoint_voices import plausible, task_of
from orchestrator.api import run_debate_sync
from orchestrator.hall.hall import Hall
from orchestrator.hall.store_place import open_store
from orchestrator.recipe import Recipe, load_recipe

TOPIC = "Should we move billing from the nightly batch to Kafka, and if so in which order, with which way back?"
ROUTES = ("anthropic/claude-opus-5-5", "openai/gpt-6.1-sol", "gemini/gemini-4-argon")
TURN, CHECKLIST = 3200, 1200  # bytes
CACHED = 0.1  # of the price of what is read anew

_CHECKLIST = re.compile(r"<<< (\w+) your own checklist.*?>>> \1", re.DOTALL)
_PROSE = (
    "The nightly batch holds every order until two in the morning, so a refund that is asked for at noon waits half a "
    "day, and the two people who can read its logs are the two who wrote it. "
)


class Read(NamedTuple):
    """What a debate read, in tokens: all of it, what a cache served, what was written into one at a price."""

    all: int
    cached: int
    written: int
    calls: int

    @property
    def cost(self) -> float:
        """In tokens at the price of those that are read anew."""
        return self.all - self.cached + CACHED * self.cached


def measure() -> Iterator[Row]:
    full, resent = _held(load_recipe("deep"))
    whole = _sum(full)
    yield Row(
        "DEEP, three providers: share of input tokens served from the prefix cache",
        whole.cached / whole.all,
        0.82,
        _by_step(full),
        at_least=True,
    )
    yield Row(
        "DEEP: input cost over three calls a round that resend all uncached",
        whole.cost / resent,
        0.35,
        f"{whole.cost:,.0f} of {resent:,} tokens' worth; {whole.written:,} were written into a cache at 1.25",
    )
    yield from _shorter(whole)
    yield from _grown()


def _grown() -> Iterator[Row]:
    """Shorter debates, and one with votes."""
    for name in ("speed", "standard", "fortress", "council"):
        found, resent = _held(load_recipe(name))
        read = _sum(found)
        yield Row(f"{name.upper()}: share served from the prefix cache", read.cached / read.all, None, _by_step(found))
        yield Row(f"{name.upper()}: input cost over resending all", read.cost / resent, None, "")


def _shorter(whole: Read) -> Iterator[Row]:
    found, _ = _held(load_recipe("deep").model_copy(update={"context": "synthesis"}))
    short = _sum(found)
    yield Row(
        "DEEP with context: synthesis, input tokens over context: full", short.all / whole.all, 1, _by_step(found)
    )
    detail = f"{short.cost:,.0f} and {whole.cost:,.0f} tokens' worth"
    yield Row("the same, input cost", short.cost / whole.cost, 1, detail)


def _held(recipe: Recipe) -> tuple[Mapping[str, Read], int]:
    """Holds a debate. Returns what its calls read, by step, and what three calls a round would that resend all."""
    with tempfile.TemporaryDirectory() as folder, CachingServer(_answer) as server, _asked_at(server.base_url):
        models = Path(folder, "three.yaml")
        models.write_text("routes:\n" + "".join(f"  {cognition}: [{route}]\n" for cognition, route in _spread()))
        with Hall(open_store(f"{folder}/state")) as hall:
            run_debate_sync(TOPIC, recipe=recipe, models=models, hall=hall)
        calls = list(server.calls)
        resent = sum(
            tokens_of([_CHECKLIST.sub("", call.prompt)]) for call in calls if step_of(call) in ("turn", "apply")
        )
        return {step: _read(server, calls, step) for step in dict.fromkeys(map(step_of, calls))}, resent


def _spread() -> Iterator[tuple[str, str]]:
    return zip(("PATHOS", "ETHOS", "LOGOS"), ROUTES, strict=True)


def _read(server: CachingServer, calls: Sequence[Call], step: str) -> Read:
    own = [call for call in calls if step_of(call) == step]
    served = [server.served[call.number] for call in own]
    return Read(
        all=sum(call.charged[0] for call in own if call.charged),
        cached=sum(each.cached for each in served),
        written=sum(each.written for each in served),
        calls=len(own),
    )


def _sum(reads: Mapping[str, Read]) -> Read:
    return Read(*(sum(column) for column in zip(*reads.values(), strict=True)))


def _by_step(reads: Mapping[str, Read]) -> str:
    told = [f"{step} {read.cached / read.all:.2f} of {read.all:,}" for step, read in reads.items()]
    return f"{', '.join(told)}; {_sum(reads).calls} calls"


def step_of(call: Call) -> str:
    """What a call asks for, in the words of `Step`."""
    task = task_of(call)
    words = {
        "account": "account for it.",
        "vote": "you vote on it",
        "checklist": "Write the checklist",
        "apply": "your own checklist, written before",
    }
    return next((step for step, asked in words.items() if asked in task), "turn")


def _answer(call: Call) -> str:
    step = step_of(call)
    if step in ("account", "vote"):
        return plausible(call)
    if step == "checklist":
        return _long("", CHECKLIST)
    told = plausible(call)
    for part in ("Reality: ", "Build: "):  # a Wall's constraints are half of what it says
        told = told.replace(part, f"{part}{_long('', TURN // 5).strip()} ")
    return _long(told, TURN)


def _long(text: str, size: int) -> str:
    return (text + "\n## NOTES\n" + _PROSE * (size // len(_PROSE) + 1))[: max(size, len(text))]


@contextmanager
def _asked_at(base_url: str) -> Iterator[None]:
    """The three providers are at an address of this machine, as litellm takes it from the environment."""
    variables = {
        "OPENAI_BASE_URL": base_url,
        "ANTHROPIC_BASE_URL": base_url.removesuffix("/v1"),
        "GEMINI_API_BASE": base_url,
        **{f"{name}_API_KEY": "sk-bench-0000000000000000" for name in ("OPENAI", "ANTHROPIC", "GEMINI")},
    }
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
