"""Speak: say something in a debate, ask about one."""

from __future__ import annotations

import sys
from decimal import Decimal

import click

from orchestrator.cli.amounts import DOLLARS
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


for function in (say, ask):
    command(function)
