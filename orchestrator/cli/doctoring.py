"""What `debate-hall doctor` says: who speaks for each role, every route with what it needs, and what to set."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

from orchestrator.cli.ending import Exit
from orchestrator.cli.showing import put
from orchestrator.cli.storing import status_line
from orchestrator.doctor import Examination, Examined, examine
from orchestrator.hall.store_place import StoreStatus, status_of
from orchestrator.hall.terms import Role
from orchestrator.models.cli_agent import Probe
from orchestrator.models.prices import Price
from orchestrator.secrets import scrub

_MILLION = 1_000_000


def doctor(models: str, deep: bool, as_json: bool) -> None:
    """Prints what was found, and exits 2 where a role has no model, or the hall cannot be used."""
    found, store = examine(models, os.environ, date.today(), deep=deep), status_of()
    put(_members(found, store), as_json, scrub(_page(found, store, models)))
    if store.problem or not all(map(found.is_well, Role)):
        sys.exit(Exit.USAGE)


# ---------------------------------------------------------------------------------------------------- for people


def _page(found: Examination, store: StoreStatus, models: str) -> str:
    doubts = {doubt for each in found.routes.values() for doubt in each.doubts}  # they stand with their routes
    parts = [
        [*_voices(found)],
        [f"Routes of {models}:", *(line for each in found.routes.values() for line in _route(each))],
        [*_around(found)],
        [f"Hall: {status_line(store)}"],
        [f"note: {notice}" for notice in found.notices if notice not in doubts],
        [*_verdict(found)],
    ]
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def _voices(found: Examination) -> Iterator[str]:
    for role in Role:
        first = next((name for name in found.asked[role] if found.routes[name].answers), "nobody")
        after = [name for name in found.asked[role] if found.routes[name].answers and name != first]
        yield ", then ".join([f"{role} ({role.cognition}): {first}", *after])


def _route(each: Examined) -> Iterator[str]:
    yield f"  {_standing(each):<8} {each.route.model}"
    known = [*each.has, each.lacking, _price(each.price), _context(each.context_tokens)]
    yield f"           {'; '.join(filter(None, known))}"
    yield from (f"           {doubt}" for doubt in each.doubts)
    yield from (f"           {line}" for line in _trial(each))


def _standing(each: Examined) -> str:
    if each.lacking:
        return "missing"
    return "usable" if each.trial is None else "answers" if each.answers else "fails"


def _trial(each: Examined) -> Iterator[str]:
    trial = each.trial
    if trial is None:
        return
    yield trial.problem or f"answered in {trial.seconds:.1f} s"
    if trial.structured is not None:
        yield f"JSON for the decision record: {trial.structured or 'as it must be'}"


def _price(price: Price | None) -> str:
    if price is None:
        return "price unknown"
    rate = price.rates[0]
    return f"${_dollars(rate.input)} in, ${_dollars(rate.output)} out per million tokens"


def _dollars(per_token: Decimal) -> str:
    return f"{(per_token * _MILLION).normalize():f}"


def _context(tokens: int | None) -> str:
    return f"reads {tokens:,} tokens" if tokens else "how much it reads is unknown"


def _around(found: Examination) -> Iterator[str]:
    for server in found.servers:
        models = ", ".join(model.id for model in server.models) or "no model that can chat"
        yield f"Local server: {server.name} at {server.address}: {models}"
    for name, probe in found.clis:
        yield f"Agent CLI: {name}: {_probe(probe)}"


def _probe(probe: Probe) -> str:
    if probe.path is None:
        return f"there is no command {probe.command} on the PATH"
    signed_in = {True: "signed in", False: "not signed in", None: "does not say whether it is signed in"}
    return f"{probe.path}, {probe.version or 'version unknown'}, {signed_in[probe.signed_in]}"


def _verdict(found: Examination) -> Iterator[str]:
    problems = list(found.problems())
    yield from problems
    if problems:
        yield from filter(None, [found.hint])
        yield "Set what is missing, or name other models: debate-hall init writes a models file for what is found here."
    else:
        yield "Every role has a model."


# -------------------------------------------------------------------------------------------------- for programs


def _members(found: Examination, store: StoreStatus) -> dict[str, Any]:
    return {
        "well": not store.problem and all(map(found.is_well, Role)),
        "problems": list(found.problems()),
        "roles": {
            role.value: {"cognition": role.cognition, "asks": list(found.asked[role]), "well": found.is_well(role)}
            for role in Role
        },
        "routes": [_route_members(each) for each in found.routes.values()],
        "servers": [
            {"name": server.name, "address": server.address, "models": [model.id for model in server.models]}
            for server in found.servers
        ],
        "clis": [
            {"command": name, "path": probe.path, "version": probe.version, "signed_in": probe.signed_in}
            for name, probe in found.clis
        ],
        "store": store._asdict(),
        "notices": list(found.notices),
    }


def _route_members(each: Examined) -> dict[str, Any]:
    rate, trial = each.price.rates[0] if each.price else None, each.trial
    return {
        "route": each.route.model,
        "usable": not each.lacking,
        "has": list(each.has),
        "lacking": each.lacking or None,
        "usd_per_token": {"input": str(rate.input), "output": str(rate.output)} if rate else None,
        "context_tokens": each.context_tokens,
        "doubts": list(each.doubts),
        "trial": {
            "answered": not trial.problem,
            "seconds": round(trial.seconds, 3),
            "problem": scrub(trial.problem) or None,
            "structured": None if trial.structured is None else scrub(trial.structured) or "read",
        }
        if trial
        else None,
    }
