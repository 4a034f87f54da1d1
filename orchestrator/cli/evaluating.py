"""What `debate-hall eval check` and `run` do."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from orchestrator.budget import Budget
from orchestrator.cli.ending import Exit
from orchestrator.cli.outcome import politely
from orchestrator.cli.plain import answer, json_text, print_failure, tell
from orchestrator.cli.showing import put
from orchestrator.errors import DebateError, RunPaused
from orchestrator.evaluate.brief import brief_folders, folder_of
from orchestrator.evaluate.cassette import Cassette
from orchestrator.evaluate.evaluation import Evaluated, evaluate
from orchestrator.evaluate.planted import check_folder
from orchestrator.evaluate.preparing import Evaluation, Sought, as_recorded, keys_in, prepare
from orchestrator.evaluate.recording import Live, Purse
from orchestrator.evaluate.results import FILE, Result
from orchestrator.files import prepare_folder, write_atomically
from orchestrator.models.switchboard import Switchboard, load_for
from orchestrator.own_task import in_own_task
from orchestrator.usage import amount
from orchestrator.wording import counted, visible

_SHOWN = 10  # calls that differ; --json names them all


def check(briefs: str, as_json: bool) -> bool:
    """Shows what is found in a folder of briefs; returns whether nothing is wrong.

    Raises:
        ConfigurationError: there is no brief in it.
    """
    folders = brief_folders(folder_of(briefs))
    findings = [finding for each in folders for finding in check_folder(each)]
    errors = [finding.text for finding in findings if finding.is_error]
    warnings = [finding.text for finding in findings if not finding.is_error]
    lines = [*(f"error: {text}" for text in errors), *(f"worth a look: {text}" for text in warnings)]
    lines.append(f"{counted(len(folders), 'brief')}, {counted(len(errors), 'error')}")
    value = {"briefs": [each.name for each in folders], "errors": errors, "warnings": warnings}
    put(value, as_json, "".join(f"{line}\n" for line in lines))
    return not errors


@dataclass(frozen=True, slots=True)
class Call:
    """How an evaluation is held and told.

    Args:
        out: the folder of its cassette and its results.
        parallel: how many arms are at work at once.
    """

    sought: Sought
    out: Path
    parallel: int
    replay: bool
    quiet: bool
    as_json: bool

    def tell(self, line: str) -> None:
        """Says what is not the summary, unless that is not wanted."""
        if not self.quiet:
            tell(line)


def run(call: Call) -> int:
    """Holds an evaluation, and returns the exit code."""
    return politely(partial(_run, call), partial(_report, call))


def quote(call: Call) -> int:
    """Shows what each arm may be expected to take; returns the exit code. Nothing is asked."""
    return politely(partial(_quote, call), partial(_report, call))


def _quote(call: Call) -> int:
    evaluation = prepare(call.sought, os.environ, Path())
    expected = {arm.name: evaluation.expected(arm) for arm in evaluation.arms}
    costs = [cost for cost in expected.values() if cost is not None]
    known = sum(costs, Decimal(0)) if len(costs) == len(expected) else None
    value = {
        "briefs": len(evaluation.briefs),
        "repeats": evaluation.repeats,
        "arms": {arm: amount(cost) for arm, cost in expected.items()},
        "expected_usd": amount(known),
    }
    width = max(map(len, ("together", *expected)))
    rows = [*expected.items(), ("together", known)]
    put(value, call.as_json, "".join(f"{name:<{width}}  {_dollars(cost)}\n" for name, cost in rows))
    return Exit.DECIDED


def _run(call: Call) -> int:
    evaluated = _replayed(call) if call.replay else _asked(call)
    if not evaluated.unrecorded:  # what a replay lacks is no reason to lose the results that are there
        write_atomically(call.out, {FILE: evaluated.results.text})
    told = _described(call, evaluated)
    answer(json_text(told) if call.as_json else visible(_table(told["arms"])))
    for line in _last_words(call, evaluated):
        call.tell(line)
    return _exit_code(evaluated)


def _asked(call: Call) -> Evaluated:
    evaluation = prepare(call.sought, os.environ, Path())
    folder = prepare_folder(call.out)
    for notice in dict.fromkeys(notice for plan in evaluation.plans.values() for notice in plan.notices):
        call.tell(f"note: {notice}")
    with Cassette.recording(folder) as cassette:
        cassette.begin(keys_in(evaluation, os.environ))
        return anyio.run(in_own_task, partial(_live, call, evaluation, cassette))


async def _live(call: Call, evaluation: Evaluation, cassette: Cassette) -> Evaluated:
    purse = Purse(Budget(evaluation.limits, cassette.spent))
    async with aclosing(Switchboard()) as models:
        live = Live(models.of, purse, load_for)
        return await evaluate(evaluation, cassette, live, call.parallel, lambda result: call.tell(_line(result)))


def _replayed(call: Call) -> Evaluated:
    cassette = Cassette.to_replay(call.out)
    environment = as_recorded(os.environ, cassette.begun.variables if cassette.begun else ())
    evaluation = prepare(call.sought, environment, Path())
    return anyio.run(in_own_task, partial(evaluate, evaluation, cassette, None, call.parallel))


def _line(result: Result) -> str:
    reached = result.answer.option if result.answer else f"failed: {result.failure}"
    tied = f", tied among {', '.join(result.tied)}" if result.tied else ""
    spent = result.spent
    took = f"{counted(spent.calls, 'call')}, {_dollars(spent.cost_usd)}, {spent.seconds:.1f} s"
    return f"{result.brief} {result.arm} {result.repeat}: {reached}{tied} ({took})"


def _described(call: Call, evaluated: Evaluated) -> dict[str, Any]:
    results = evaluated.results
    return {
        "folder": str(call.out),
        "briefs": len(results.ids),
        "arms": [_summary(arm, results.of(arm)) for arm in results.arms],
        "missing": results.missing,
        "changed": [str(place) for place in evaluated.changed],
        "unrecorded": list(evaluated.unrecorded),
        "stopped": str(evaluated.met) if evaluated.met else None,
        "exit_code": _exit_code(evaluated),
    }


def _summary(arm: str, results: Sequence[Result]) -> dict[str, Any]:
    outcomes = [result.outcome for result in results]
    costs = [result.spent.cost_usd for result in results]
    allowed = [result.allowed_usd for result in results if result.allowed_usd is not None]
    return {
        "arm": arm,
        "answered": outcomes.count("answered"),
        "aside": outcomes.count("aside"),
        "failed": outcomes.count("failed"),
        "calls": sum(result.spent.calls for result in results),
        "tokens": sum(result.spent.tokens for result in results),
        "cost_usd": None if None in costs else amount(sum((cost for cost in costs if cost is not None), Decimal(0))),
        "allowed_usd": amount(sum(allowed, Decimal(0))) if allowed else None,
        "seconds": round(sum(result.spent.seconds for result in results), 3),
    }


def _table(arms: Sequence[dict[str, Any]]) -> str:
    heads = ("arm", "answered", "aside", "failed", "calls", "cost", "may take", "seconds")
    rows = [
        (
            arm["arm"],
            *(f"{arm[name]:,}" for name in ("answered", "aside", "failed", "calls")),
            _dollars(arm["cost_usd"]),
            _dollars(arm["allowed_usd"]) if arm["allowed_usd"] else "",
            f"{arm['seconds']:,.1f}",
        )
        for arm in arms
    ]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = (f"{row[0]:<{widths[0]}}  {_right(row[1:], widths[1:])}" for row in (heads, *rows))
    return "".join(f"{line}\n" for line in lines)


def _right(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))


def _dollars(cost: Decimal | str | None) -> str:
    return "unknown" if cost is None else f"${Decimal(cost):.4f}"


def _last_words(call: Call, evaluated: Evaluated) -> Iterator[str]:
    changed = [str(place) for place in evaluated.changed]
    if changed:
        what = "not as recorded" if call.replay else "asked anew, since what is asked has changed"
        yield f"{counted(len(changed), 'call')} {what}:"
        yield from (f"  {place}" for place in changed[:_SHOWN])
        if len(changed) > _SHOWN:
            yield f"  and {len(changed) - _SHOWN} more; --json names them all"
    missing = [line for line in evaluated.unrecorded if not line.startswith(tuple(changed))]
    yield from (f"not recorded: {line}" for line in missing[:_SHOWN])
    if evaluated.met:
        yield f"stopped: {evaluated.met}"
    if evaluated.results.missing:
        yield f"{counted(evaluated.results.missing, 'answer is', 'answers are')} missing."
    if evaluated.unrecorded:
        yield f"{call.out / FILE} is left as it was. Without --replay, what is not recorded is asked."
    else:
        yield f"wrote {call.out / FILE}"


def _exit_code(evaluated: Evaluated) -> Exit:
    if evaluated.unrecorded:
        return Exit.USAGE
    if evaluated.met:
        return Exit.LIMIT
    failed = any(result.outcome == "failed" for result in evaluated.results.results)
    return Exit.PAUSED if failed else Exit.DECIDED


def _report(call: Call, error: DebateError, code: Exit) -> int:
    tell(f"error: {error}")
    if call.as_json:
        print_failure(error)
    if isinstance(error, RunPaused):
        tell("Go on with it: the same command. What was answered is kept.")
    return code
