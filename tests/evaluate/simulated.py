"""The example evaluation: the shipped briefs, the real arms and the real debates, answered by the simulated panel.

Nobody waits for anything and no clock is read: each call is taken to last three seconds, one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from answering import BRIEFS, prepared

from building import account_text, speech
from orchestrator.budget import Budget
from orchestrator.evaluate import report_files
from orchestrator.evaluate.brief import BUNDLED, Brief, load_briefs
from orchestrator.evaluate.cassette import Cassette
from orchestrator.evaluate.evaluation import evaluate
from orchestrator.evaluate.panel import MODELS, Panel, Puzzle, Traits
from orchestrator.evaluate.preparing import Evaluation
from orchestrator.evaluate.recording import Live, Purse
from orchestrator.evaluate.report import report_of
from orchestrator.evaluate.results import FILE, Result, Results
from orchestrator.evaluate.scores import Score, scored
from orchestrator.files import write_atomically
from orchestrator.models.base import Request

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "evaluation"
COMMAND = "python -m tests.evaluate"
ARMS = ("single", "refine", "majority", "recipe:speed")
TRAITS = Traits(accuracy=0.6, correlation=0.4, conformity=0.3, correction=0.1, price_per_token=Decimal("0.000002"))

_CALL_S = 3.0
_DEADLINE_S = 300


@dataclass(frozen=True)
class Voices:
    """The one panel behind every route."""

    panel: Panel

    def of(self, route: str) -> Panel:
        return self.panel


def shipped() -> tuple[Brief, ...]:
    return load_briefs(BRIEFS)


def simulated(*ids: str, traits: Traits = TRAITS, seed: int = 0) -> Results:
    """An evaluation whose models are simulated, of all shipped briefs or of those named."""
    asked = ids or tuple(brief.id for brief in shipped())
    panel = Panel([Puzzle.of(brief) for brief in shipped()], traits, seed, _spoken)
    with TemporaryDirectory() as folder:
        results = anyio.run(_held, prepared(*asked, arms=ARMS), Path(folder), Voices(panel))
    timed = tuple(map(_timed, results.results))
    return results.model_copy(update={"briefs": BUNDLED, "models": MODELS, "results": timed})


def files_of(results: Results) -> dict[str, str]:
    """What the example's folder holds."""
    briefs = {brief.id: brief for brief in shipped()}
    return {FILE: results.text, **report_files.files_of(report_of(results, briefs), scores_of(results))}


def scores_of(results: Results) -> tuple[Score, ...]:
    return scored(results, {brief.id: brief for brief in shipped()})


def write() -> None:
    """Evaluates again, and writes the example."""
    EXAMPLE.mkdir(exist_ok=True)
    write_atomically(EXAMPLE, files_of(simulated()))


async def _held(evaluation: Evaluation, folder: Path, voices: Voices) -> Results:
    """One arm after the other, so that it does not hang on which call is faster."""
    with Cassette.recording(folder) as cassette, anyio.fail_after(_DEADLINE_S):
        live = Live(voices.of, Purse(Budget(evaluation.limits, cassette.spent)))
        return (await evaluate(evaluation, cassette, live, 1)).results


def _timed(result: Result) -> Result:
    return result.model_copy(
        update={"spent": result.spent.model_copy(update={"seconds": _CALL_S * result.spent.calls})}
    )


def _spoken(request: Request, sentence: str) -> str:
    """A turn of the role that holds the contract, with the position in it; an account whose decision it is."""
    if request.task.step == "account":
        return account_text(decision=sentence)
    said = speech(request, 1)
    return said if request.shape else f"{said}\n\n{sentence}"
