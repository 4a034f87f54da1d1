"""What `debate-hall eval report` and `compare` do."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path

import anyio

from orchestrator.budget import Budget
from orchestrator.cli.ending import Exit
from orchestrator.cli.outcome import politely
from orchestrator.cli.plain import print_failure, tell
from orchestrator.cli.showing import put
from orchestrator.errors import DebateError, LimitMet, StoppedByLimit
from orchestrator.evaluate import comparing
from orchestrator.evaluate.asking_judge import FOLDER, Judge, judged, plan_for
from orchestrator.evaluate.brief import Brief, folder_of, load_briefs
from orchestrator.evaluate.cassette import Cassette
from orchestrator.evaluate.judging import Judged
from orchestrator.evaluate.recording import Live, Purse
from orchestrator.evaluate.report import report_of
from orchestrator.evaluate.report_files import MARKDOWN, files_of
from orchestrator.evaluate.results import Results, load_results
from orchestrator.evaluate.scores import scored
from orchestrator.files import prepare_folder, write_atomically
from orchestrator.models.switchboard import Switchboard, load_for
from orchestrator.own_task import in_own_task
from orchestrator.recipe import Limits


@dataclass(frozen=True, slots=True)
class Judging:
    """What was said about a judge: its route, the models file and the price it goes by, its limit, how many at once."""

    route: str
    models: str
    assumed: str | None
    limit_usd: Decimal
    parallel: int


def report(folder: Path, briefs: str | None, against: str | None, judging: Judging | None, as_json: bool) -> int:
    """Writes the report of an evaluation into its folder and shows it; returns the exit code."""
    return politely(partial(_report, folder, briefs, against, judging, as_json), partial(_failed, as_json))


def compare(
    folders: tuple[Path, Path],
    briefs: str | None,
    arms: tuple[str | None, str | None],
    measure: str,
    margin: float,
    as_json: bool,
) -> int:
    """Shows whether the second of two evaluations is as good as the first; returns the exit code.

    Raises:
        UsageError: one of them is none, or it is not clear which arm is meant.
    """
    first, second = (_side(folder, briefs, arm) for folder, arm in zip(folders, arms, strict=True))
    found = comparing.compare(first, second, comparing.SHARES[measure], margin)
    put(found.model_dump(mode="json"), as_json, f"{found.finding.replace('_', ' ')}: {found.why}\n")
    return found.exit_code


def _side(folder: Path, briefs: str | None, arm: str | None) -> comparing.Side:
    results = load_results(folder)
    return comparing.side(str(folder), results, _briefs(results, briefs), arm)


def _report(folder: Path, named: str | None, against: str | None, judging: Judging | None, as_json: bool) -> int:
    results = load_results(folder)
    briefs = _briefs(results, named)
    opinions = _judged(folder, results, briefs, judging) if judging else None
    found = report_of(results, briefs, against, opinions)
    files = files_of(found, scored(results, briefs))
    write_atomically(folder, files)
    put(found.model_dump(mode="json"), as_json, files[MARKDOWN])
    for name in files:
        tell(f"wrote {folder / name}")
    return Exit.DECIDED


def _briefs(results: Results, named: str | None) -> Mapping[str, Brief]:
    return {brief.id: brief for brief in load_briefs(folder_of(named or results.briefs), results.ids)}


def _judged(folder: Path, results: Results, briefs: Mapping[str, Brief], judging: Judging) -> Judged:
    plan = plan_for(judging.route, judging.models, judging.limit_usd, judging.assumed, os.environ, Path())

    async def ask(cassette: Cassette) -> Judged:
        async with aclosing(Switchboard()) as models:
            live = Live(models.of, Purse(Budget(Limits(cost_usd=judging.limit_usd), cassette.spent)), load_for)
            return await judged(results, briefs, Judge(judging.route, plan, cassette, live, judging.parallel))

    with Cassette.recording(prepare_folder(folder / FOLDER)) as cassette:
        try:
            return anyio.run(in_own_task, partial(ask, cassette))
        except LimitMet as met:
            raise StoppedByLimit(met) from met


def _failed(as_json: bool, error: DebateError, code: Exit) -> int:
    tell(f"error: {error}")
    if as_json:
        print_failure(error)
    return code
