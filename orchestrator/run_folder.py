"""The folder that a run leaves behind: the decision, the transcript, the ledger, the plan."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from orchestrator.decision.record import DecisionRecord
from orchestrator.drafts import Draft
from orchestrator.errors import UsageError
from orchestrator.evidence import Evidence
from orchestrator.export.data import render_json, render_octave
from orchestrator.files import prepare_folder, write_atomically
from orchestrator.forecast import calls_of, chain_of, first_close_of, refinements_of
from orchestrator.hall.debate import Debate
from orchestrator.plan import Plan, PlannedRound
from orchestrator.quote import Quote
from orchestrator.recipe import NO_LIMITS
from orchestrator.wording import counted

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

FORMATS = ("json", "octave", "adr", "html")
NAMES = {"json": "debate.json", "octave": "transcript.oct.md", "adr": "decision.md", "html": "report.html"}
PLAN = "plan.yaml"
UNUSED = "unused-drafts.json"
DIFFERENCE = "difference.txt"  # of a replay: from the debate that it replays


def require_unused(folder: Path) -> None:
    """Judges a folder that was named for a run's files.

    Raises:
        UsageError: it holds the files of another run, which would be overwritten.
    """
    taken = [name for name in (*NAMES.values(), PLAN, UNUSED, DIFFERENCE) if os.path.lexists(folder / name)]
    if taken:
        raise UsageError(
            f"{folder} holds the files of another run ({', '.join(taken)}).", "Choose another --out, or move them."
        )


def render(format: str, debate: Debate, record: DecisionRecord) -> str:
    """Returns a debate with its record in one of `FORMATS`."""
    match format:
        case "json":
            return render_json(record, debate)
        case "octave":
            return render_octave(record, debate)
        case "html":
            from orchestrator.export.html import render_html  # here: templates take a while to load

            return render_html(record, debate)
        case _:
            from orchestrator.export.markdown import render_adr  # here: so does a parser of Markdown

            return render_adr(record, debate)


def files_of(formats: Collection[str], debate: Debate, record: DecisionRecord) -> dict[str, str]:
    """Returns the texts of a run's files by their names."""
    return {NAMES[format]: render(format, debate, record) for format in FORMATS if format in formats}


def write_run(
    folder: Path,
    formats: Collection[str],
    debate: Debate,
    record: DecisionRecord,
    plan: Plan,
    key: Ed25519PrivateKey | None = None,
) -> tuple[Path, ...]:
    """Writes each file whole or not at all; a folder that was removed since it was prepared is made again.

    Args:
        key: signs the head in `debate.json`.

    Raises:
        UsageError: the folder cannot be written.
    """
    files = files_of(formats, debate, record)
    if key is not None:
        from orchestrator.signing import signed  # here: most runs sign nothing

        files[NAMES["json"]] = signed(files[NAMES["json"]], key)
    return write_atomically(prepare_folder(folder), {**files, PLAN: plan_yaml(plan, debate.opened.plan)})


def write_difference(folder: Path, text: str) -> tuple[Path, ...]:
    """Writes what differs between a replay and the debate that it replays.

    Raises:
        UsageError: the folder cannot be written.
    """
    return write_atomically(prepare_folder(folder), {DIFFERENCE: text})


def keep_drafts(folder: Path, drafts: Sequence[Draft], beside: str = "") -> tuple[Path, ...]:
    """Keeps answers that are not on the ledger: they are paid for.

    Args:
        beside: an ending of the file's name, where the folder's own file is another process's.

    Raises:
        UsageError: the folder cannot be written.
    """
    if not drafts:
        return ()
    kept = [
        {"slot": draft.seat.slot, "agent": draft.seat.agent, "step": draft.step, "model": draft.answered}
        | {"text": draft.text}
        for draft in drafts
    ]
    name = UNUSED.replace(".", f"{beside}.")
    return write_atomically(prepare_folder(folder), {name: json.dumps(kept, ensure_ascii=False, indent=2) + "\n"})


def forget_drafts(folder: Path) -> None:
    """Removes the file of a run that has gone on since: those of its drafts that were of use are turns by now."""
    with suppress(OSError):
        (folder / UNUSED).unlink()


def plan_yaml(plan: Plan, pinned: str | None = None) -> str:
    """Returns a plan for people: its rounds, seats and evidence, without the texts, whose digest stands at the top.

    Args:
        pinned: the digest of the plan that the debate was opened with, of which this one may be a later change.
    """
    return yaml.safe_dump(describe(plan, pinned), allow_unicode=True, sort_keys=False, width=120)


def describe(plan: Plan, pinned: str | None = None) -> dict[str, Any]:
    """Returns what `plan_yaml` says, as plain values."""
    recipe = plan.recipe
    return {
        "recipe": recipe.name,
        "summary": recipe.summary,
        "plan_hash": pinned or plan.hash,
        "rehearsal": plan.is_rehearsal,
        "mode": str(recipe.mode),
        "wall": recipe.wall,
        "doors": recipe.doors,
        "socratic": recipe.socratic,
        "consensus": _consensus(plan),
        "early_close": recipe.early_close,
        "baseline": plan.baseline,
        "turns": plan.turns,
        "calls": calls_of(plan)._asdict(),
        "longest_chain": chain_of(plan)._asdict(),
        "rounds": [_round(planned) for planned in plan.rounds],
        "evidence": [
            {
                "id": piece.id,
                "kind": piece.kind,
                "path": piece.path,
                "lines": len(piece.lines),
                "sha256": piece.sha256,
            }
            for piece in plan.evidence
        ],
        "endpoints": {
            route: {name: str(value) for name, value in asdict(endpoint).items() if value is not None}
            for route, endpoint in plan.endpoints.items()
        },
        "timeout_s": plan.timeout_s,
        "limits": plan.limits.model_dump(mode="json", exclude_none=True),
        "on_limit": recipe.on_limit,
        "on_failure": plan.on_failure,
        "notices": list(plan.notices),
    }


def outline(plan: Plan, quote: Quote | None = None) -> str:
    """Returns a plan as a screen of text: its rounds, a seat a line, and what they will take."""
    recipe = plan.recipe
    lines = [
        f"{recipe.name}: {recipe.summary}",
        f"{recipe.mode}, {counted(plan.turns, 'turn')} in {counted(len(plan.rounds), 'round')}, "
        f"Walls {recipe.wall}, Doors {recipe.doors}",
    ]
    for planned in plan.rounds:
        lines += ["", f"Round {planned.number}"]
        lines += [
            f"  {seat.role:<5}{seat.agent:<22} {', '.join(seat.routes)}{f'  ({seat.lens})' if seat.lens else ''}"
            for seat in planned.seats
        ]
    lines += ["", *map(_piece, plan.evidence)]
    lines += [*_ending(plan), _calls(plan), *_one_by_one(plan), *(quote.lines() if quote else ())]
    lines += [f"limits: {plan.limits}; at a limit: {recipe.on_limit}"] if plan.limits != NO_LIMITS else []
    lines += [f"note: {notice}" for notice in plan.notices]
    return "\n".join(lines) + "\n"


def _piece(piece: Evidence) -> str:
    return f"{piece.id} {piece.title}, {counted(len(piece.lines), 'line')}, {piece.sha256}"


def _ending(plan: Plan) -> Iterator[str]:
    """What ends the debate, beside its last turn."""
    if plan.voters:
        refined = counted(refinements_of(plan), "refinement")
        yield f"votes: {counted(len(plan.voters), 'voice')} on the synthesis, which has up to {refined}"
    if plan.baseline:
        answers = counted(plan.baseline, "single answer")
        yield f"baseline: {answers} beside the debate, for about its cost; what is quoted holds both"
    first = first_close_of(plan)
    if first is not None:
        yield f"early close: after any round from round {first} on that leaves nothing open"


def _calls(plan: Plan) -> str:
    calls, chain = calls_of(plan), chain_of(plan)
    waiting = f"at least {chain.least} and up to {chain.most}" if chain.least < chain.most else f"{chain.least}"
    again = "" if plan.is_rehearsal else "; an answer that fails or is sent back takes one more"
    return f"{calls} calls, {waiting} of them one after another{again}"


def _one_by_one(plan: Plan) -> Iterator[str]:
    """The servers that take only so many calls at once: with them more calls wait for one another."""
    used = plan.endpoints_in_use.items()
    bounded = ((end.server(route), end.max_parallel, end.max_per_minute) for route, end in used)
    for server, most, per_minute in dict.fromkeys(bounded):
        bounds = [f"{counted(most, 'call')} at once"] if most is not None else []
        bounds += [f"{counted(per_minute, 'call')} in a minute"] if per_minute is not None else []
        if bounds:
            yield f"{server} is asked at most {' and '.join(bounds)}; the others wait"


def _consensus(plan: Plan) -> dict[str, Any]:
    seats = [{"role": str(seat.role), "agent": seat.agent, "lens": seat.lens} for seat in plan.voters]
    voters = [{name: value for name, value in seat.items() if value is not None} for seat in seats]
    return {"required": bool(voters), "voters": voters, "refinements": refinements_of(plan)}


def _round(planned: PlannedRound) -> dict[str, Any]:
    return {
        "round": planned.number,
        "seats": [
            {"slot": seat.slot, "role": str(seat.role), "agent": seat.agent}
            | ({"lens": seat.lens} if seat.lens else {})
            | {"models": list(seat.routes), "max_output_tokens": seat.max_output_tokens}
            for seat in planned.seats
        ],
    }
