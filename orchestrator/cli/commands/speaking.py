"""Speak: say something in a debate, ask about one, hold one again."""

from __future__ import annotations

import os
import sys
from decimal import Decimal
from pathlib import Path
from typing import Literal

import click

from orchestrator.cli.amounts import DOLLARS, SECONDS, TOKENS
from orchestrator.cli.completing import files
from orchestrator.cli.group import AS_JSON, MODELS, THREAD, command


@AS_JSON
@click.option(
    "--role",
    "-r",
    type=click.Choice(["wind", "wall", "door"], case_sensitive=False),
    help="Speak as this role; else it is a note to Door.",
)
@click.option("--as", "name", metavar="NAME", help="Your name, which stands on the ledger. [your login]")
@click.option("--another-round", is_flag=True, help="Where no turn is left, raise the limits by a round for it.")
@click.option("--wait", "patient", is_flag=True, help="Wait for your turn also where no run goes on.")
@THREAD
@click.argument("words", nargs=-1, required=True, metavar="WORDS|-")
def say(
    thread_id: str,
    words: tuple[str, ...],
    role: str | None,
    name: str | None,
    another_round: bool,
    patient: bool,
    as_json: bool,
) -> None:
    """Say something in a debate, also while a run goes on: as a role, or as a note that Door has to answer.

    It is taken at the next moment at which that role may speak, marked as a person's. The run hears it: what was
    drafted on older words is drafted again, and Door answers it by its name, T5 or N1. A turn takes the place of the
    next one planned for its role in its round, where one is still to come.

    Examples:
        debate-hall say 2026-01-06-billing "Who is on call on Sundays?"
        debate-hall say 2026-01-06-billing --role wall --as maria "The migration must not touch the ledger tables."
        debate-hall say 2026-01-06-billing --role wind --another-round - < idea.md
    """
    from orchestrator.cli import saying

    saying.say(thread_id, words, role, name, another_round, patient, as_json)


@AS_JSON
@click.option("--model", multiple=True, metavar="MODEL", help="Who answers; again for a fallback. [the debate's Door]")
@MODELS
@click.option("--cost-limit", type=DOLLARS, metavar="USD", help="Spend at most this on the answer.")
@click.option("--assume-price", metavar="IN/OUT", help="What a model of unknown price costs: USD per million tokens.")
@click.option("--again", is_flag=True, help="Ask even if the same was answered before.")
@click.option("--quiet", "-q", is_flag=True, help="Print the answer and nothing else.")
@THREAD
@click.argument("question", metavar="QUESTION|-")
def ask(
    thread_id: str,
    question: str,
    model: tuple[str, ...],
    models: str,
    cost_limit: Decimal | None,
    assume_price: str | None,
    again: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Ask about a debate after the fact: Door answers from its ledger, and names the turns it rests on.

    Nothing of the debate changes: question and answer stand in a thread of their own, linked to it. What the answer
    names is checked: turns, constraints and lines of the evidence must exist. The same question is not paid for twice.

    Exit codes: 0 answered, 1 internal error, 2 usage or configuration, 3 paused, 4 closed by force, 5 stopped by a
    limit, 7 the ledger does not verify, 130 interrupted. After 3, 5 and 130 the same command goes on.

    Examples:
        debate-hall ask 2026-01-06-billing "Why not Postgres?"
        debate-hall ask 2026-01-06-billing "Who said that it can be undone?" --json
    """
    from orchestrator.cli.inquiring import Inquirer
    from orchestrator.cli.inquiring import ask as inquire
    from orchestrator.inquiry import AnswerWanted
    from orchestrator.recipe import Limits

    wanted = AnswerWanted(question, model, models, Limits(cost_usd=cost_limit), assume_price, again)
    sys.exit(inquire(Inquirer(thread_id, wanted, as_json, quiet)))


@click.option("--no-color", is_flag=True, help="Tell of the run in plain lines, on a terminal too.")
@click.option("--quiet", "-q", is_flag=True, help="Print the decision and what differs, and nothing else.")
@click.option(
    "--events", metavar="FILE|-", shell_complete=files, help="Append what happens to FILE, one JSON object a line."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, on failure too.")
@click.option("--dry-run", is_flag=True, help="Show which calls would be new, and what they take; ask no model.")
@click.option(
    "--on-failure",
    type=click.Choice(["pause", "degrade"]),
    help="When a seat fails for good: pause, or go on without it. [the debate's]",
)
@click.option("--assume-price", metavar="IN/OUT", help="What a model of unknown price costs: USD per million tokens.")
@click.option("--time-limit", type=SECONDS, metavar="SECONDS", help="Run for at most so long. [the debate's]")
@click.option("--token-limit", type=TOKENS, metavar="N", help="Take at most so many new tokens. [the debate's]")
@click.option("--cost-limit", type=DOLLARS, metavar="USD", help="Spend at most this on what is new. [the debate's]")
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(["json", "octave", "adr", "html"]),
    help="Files to write. [all]",
)
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="[default: ./debates/<thread id>]")
@click.option("--thread-id", "new_id", metavar="ID", help="[default: THREAD-replay-1]")
@MODELS
@click.option("--without", multiple=True, metavar="E2", help="Take this evidence off the table.")
@click.option("--agent", "agents", multiple=True, metavar="SEAT=AGENT", help="Seat another agent: door=synthesizer.")
@click.option(
    "--swap",
    "swaps",
    multiple=True,
    metavar="SEAT=MODEL",
    help="Ask another model for a seat, wall[1]=MODEL, or for all of a role, wall=MODEL; again for a fallback.",
)
@THREAD
def replay(
    thread_id: str,
    swaps: tuple[str, ...],
    agents: tuple[str, ...],
    without: tuple[str, ...],
    models: str,
    new_id: str | None,
    out: Path | None,
    formats: tuple[str, ...],
    cost_limit: Decimal | None,
    token_limit: int | None,
    time_limit: float | None,
    assume_price: str | None,
    on_failure: Literal["pause", "degrade"] | None,
    dry_run: bool,
    as_json: bool,
    events: str | None,
    quiet: bool,
    no_color: bool,
) -> None:
    """Hold a debate again with something changed, and show what that changes in the decision, and at whose turn first.

    A new thread, linked to THREAD, reuses every reply that does not hang on the change; only the others are paid for.
    It stops and is resumed as any run (run-debate --resume). Exit codes are those of run-debate.

    Examples:
        debate-hall replay 2026-01-06-billing --swap "wall[1]=openai/gpt-4.1" --dry-run
        debate-hall replay 2026-01-06-billing --agent door=synthesizer --cost-limit 0.50
        debate-hall replay 2026-01-06-billing --without E2
    """
    from orchestrator.cli.outcome import Call
    from orchestrator.cli.replaying import replay as hold_again
    from orchestrator.recipe import Limits
    from orchestrator.replaying import ReplayWanted

    if events == "-" and as_json:
        raise click.UsageError("--json and --events - cannot both have standard output; name a file for the events.")
    folder = Path(os.path.expanduser(out)) if out is not None else None
    call = Call(new_id, folder, formats, False, dry_run, as_json, quiet, not no_color, events)
    limits = Limits(cost_usd=cost_limit, tokens=token_limit, seconds=time_limit)
    wanted = ReplayWanted(swaps, agents, without, models, limits, assume_price, on_failure)
    sys.exit(hold_again(call, thread_id, wanted))


for function in (say, ask, replay):
    command(function)
