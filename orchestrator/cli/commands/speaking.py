"""Speak: say something in a debate."""

from __future__ import annotations

import click

from orchestrator.cli.group import AS_JSON, THREAD, command


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


command(say)
