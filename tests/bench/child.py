"""Processes of their own for measurements: `python -m bench.child WHAT …`; what was measured is printed as JSON.

debates RECIPE COUNT MODELS   so many debates at once in one process, through litellm
own RECIPE MODELS             one debate, then the same again, with litellm's call answered at once: our code alone
bare PATTERN                  the calls of a pattern, through litellm, with nothing around them
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestrator.api import run_debate
from orchestrator.hall.hall import Hall
from orchestrator.models.litellm import LiteLLM, load

REPEATS = 8
TOPIC = "Should we move billing to Kafka?"


def debates(recipe: str, count: str, models: str) -> dict[str, Any]:
    """Holds the debates twice: once alone, which warms everything up, then so many at once."""

    async def hold(hall: Hall, name: str) -> int:
        outcome = await run_debate(TOPIC, recipe=recipe, models=models, hall=hall, thread_id=name)
        return len(outcome.debate.turns)

    async def main(hall: Hall) -> dict[str, Any]:
        await hold(hall, "first")
        before, began, cpu = _rss(), time.perf_counter(), time.process_time()
        turns = await asyncio.gather(*(hold(hall, f"debate-{number}") for number in range(int(count))))
        took = {"wall_s": time.perf_counter() - began, "cpu_s": time.process_time() - cpu}
        return {**took, "turns": sum(turns), "mb_beyond_one": (_rss() - before) / 1024}

    with tempfile.TemporaryDirectory() as folder, Hall.open(folder) as hall:
        return asyncio.run(main(hall))


def bare(pattern: str) -> dict[str, Any]:
    """Makes the batches of a pattern one after the other, once in full and once more warm."""
    calls = json.loads(Path(pattern).read_text())

    async def batches(litellm: Any) -> None:
        for batch in calls["batches"]:
            await asyncio.gather(*(litellm.acompletion(**call) for call in batch))

    async def main() -> dict[str, Any]:
        litellm = load()
        for _ in range(calls["warm"]):
            await batches(litellm)
        began, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(batches(litellm) for _ in range(calls["times"])))
        took = {"wall_s": time.perf_counter() - began, "cpu_s": time.process_time() - cpu}
        await LiteLLM().aclose()
        return took

    return asyncio.run(main())


def own(recipe: str, models: str) -> dict[str, Any]:
    """CPU of a debate whose calls litellm answers at once, from answers that were made before."""
    litellm = load()
    from endpoint import Call
    from endpoint_voices import plausible

    def answered(number: int, model: str, messages: Sequence[Mapping[str, str]]) -> Any:
        told = tuple((message["role"], message["content"]) for message in messages)
        call = Call(number, 1, model.partition("/")[2], told, {}, {}, 0)
        answer = {"role": "assistant", "content": plausible(call)}
        usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
        choices = [{"index": 0, "message": answer, "finish_reason": "stop"}]
        return litellm.ModelResponse(model=call.model, choices=choices, usage=usage)

    spent = Stopwatch()

    async def acompletion(*, model: str, messages: Any, **_: Any) -> Any:
        with spent:  # what the stand-in takes is not counted
            spent.calls += 1
            return answered(spent.calls, model, messages)

    litellm.acompletion = acompletion

    async def main() -> dict[str, Any]:
        took = []
        for number in range(REPEATS):
            spent.seconds, cpu = 0.0, time.process_time()
            outcome = await run_debate(TOPIC, recipe=recipe, models=models, hall=hall, thread_id=f"debate-{number}")
            took.append((time.process_time() - cpu - spent.seconds) / len(outcome.debate.turns))
        # The first warms up; of the others the least: what else the machine does only adds.
        return {"cpu_s_per_turn": min(took[1:]), "turns": len(outcome.debate.turns), "calls": spent.calls // REPEATS}

    with tempfile.TemporaryDirectory() as folder, Hall.open(folder) as hall:
        return asyncio.run(main())


class Stopwatch:
    """CPU seconds within it; no two hands hold it at once."""

    def __init__(self) -> None:
        self.seconds, self.calls = 0.0, 0

    def __enter__(self) -> None:
        self._began = time.process_time()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.process_time() - self._began


def _rss() -> int:
    """Kilobytes, the most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


WHAT: Mapping[str, Callable[..., dict[str, Any]]] = {"debates": debates, "bare": bare, "own": own}

if __name__ == "__main__":
    print(json.dumps(WHAT[sys.argv[1]](*sys.argv[2:])))
