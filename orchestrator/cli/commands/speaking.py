"""Speak: ask."""

from __future__ import annotations

import sys
from decimal import Decimal

import click

from orchestrator.cli.group import AS_JSON, THREAD, command
from orchestrator.cli.amounts import DOLLARS


@AS_JSON
@click.option("--model", multiple=True, metavar="MODEL", help="Who answers; again for a fallback. [the debate's Door]")
@click.option("--models", default="models", metavar="NAME|FILE", help="The models file. [default: models]")
@click.option("--cost-limit", type=DOLLARS, metavar="USD", help="Spend at most this on the answer.")
@click.option("--assume-price", metavar="IN/OUT", help="What a model of unknown price costs: USD per million tokens.")
@click.option("--again", is_flag=True, help="Ask even if the same was answered before.")
@click.option("--quiet", "-q", is_flag=True, help="Print the answer and nothing else.")
@THREAD
@click.argument("question", metavar="QUESTION")
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


for function in (ask,):
    command(function)
