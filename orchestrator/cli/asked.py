"""What is asked of a debate on the command line, held here or by a fleet: the options, and what they come to."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

import click

from orchestrator.cli.amounts import DOLLARS, SECONDS, TOKENS
from orchestrator.cli.completing import files, on_shelf, threads, tiers

if TYPE_CHECKING:
    from orchestrator.wanted import Wanted

F = TypeVar("F", bound=Callable[..., Any])

GROUPS = {
    "What is debated, and how": ("recipe", "tier", "consensus", "early_close"),
    "Who speaks": ("models", "wind", "wall", "door", "rehearse"),
    "Evidence": ("context", "adr", "context_limit", "since"),
    "Limits": ("cost_limit", "token_limit", "time_limit", "assume_price", "on_failure"),
}

_OPTIONS = (
    click.option(
        "--recipe",
        "-r",
        default="standard",
        metavar="NAME|FILE",
        shell_complete=on_shelf("recipes"),
        help="How to debate. [default: standard]",
    ),
    click.option(
        "--tier",
        metavar="1|2|3:DOMAIN",
        shell_complete=tiers,
        help="Other agents: 1, 2, 3:security, 3:innovation, 3:architecture.",
    ),
    click.option(
        "--models",
        default="models",
        metavar="NAME|FILE",
        shell_complete=on_shelf("configs"),
        help="Which models speak. [default: models]",
    ),
    click.option(
        "--wind",
        multiple=True,
        metavar="MODEL",
        help="The model for Wind; a,b for its seats in turn; again for a fallback.",
    ),
    click.option(
        "--wall",
        multiple=True,
        metavar="MODEL",
        help="The model for Wall; a,b for its seats in turn; again for a fallback.",
    ),
    click.option(
        "--door",
        multiple=True,
        metavar="MODEL",
        help="The model for Door; a,b for its seats in turn; again for a fallback.",
    ),
    click.option("--rehearse", is_flag=True, help="Ask no model: write worksheets for a debate held by people."),
    click.option(
        "--context",
        "-c",
        multiple=True,
        metavar="PATH|GLOB|git:A..B|-",
        shell_complete=files,
        help="Evidence, numbered and cited: a file (text, PDF, DOCX), a folder, a glob, a diff, standard input.",
    ),
    click.option(
        "--adr",
        multiple=True,
        shell_complete=files,
        metavar="DIR",
        help="A folder of decision records (.md): evidence, and where this decision goes; of several, into the first.",
    ),
    click.option(
        "--context-limit",
        type=TOKENS,
        metavar="N",
        help="Take at most so many tokens of evidence, 4 bytes to each; what does not fit is named. [default: 100,000]",
    ),
    click.option(
        "--since",
        metavar="THREAD",
        shell_complete=threads,
        help="Start from that debate's decision, to supersede or confirm it; it and what has changed are evidence.",
    ),
    click.option("--cost-limit", type=DOLLARS, metavar="USD", help="Spend at most this, over all resumes."),
    click.option("--token-limit", type=TOKENS, metavar="N", help="Take at most so many tokens, in and out together."),
    click.option("--time-limit", type=SECONDS, metavar="SECONDS", help="Run for at most so long, over all resumes."),
    click.option(
        "--assume-price", metavar="IN/OUT", help="What a model of unknown price costs: USD per million tokens."
    ),
    click.option(
        "--on-failure",
        type=click.Choice(["pause", "degrade"]),
        help="When a seat fails for good: pause, or go on without it. [pause]",
    ),
    click.option(
        "--consensus/--no-consensus", default=None, help="Let Wind and Wall vote on the synthesis. [the recipe's]"
    ),
    click.option("--early-close/--no-early-close", default=None, help="End once nothing is open. [the recipe's]"),
)


def debate_options(function: F) -> F:
    """Adds the options to a command."""
    return reduce(lambda command, option: option(command), reversed(_OPTIONS), function)


def wanted_from(asked: dict[str, Any]) -> Wanted:
    """What the values of the options come to, without `since`, which the hall has to be asked for."""
    from orchestrator.hall.terms import Role
    from orchestrator.recipe import Limits
    from orchestrator.wanted import Wanted

    return Wanted(
        recipe=asked["recipe"],
        tier=asked["tier"],
        models=asked["models"],
        voices={Role.WIND: asked["wind"], Role.WALL: asked["wall"], Role.DOOR: asked["door"]},
        rehearse=asked["rehearse"],
        context=asked["context"],
        limits=Limits(cost_usd=asked["cost_limit"], tokens=asked["token_limit"], seconds=asked["time_limit"]),
        assumed=asked["assume_price"],
        on_failure=asked["on_failure"],
        consensus=asked["consensus"],
        early_close=asked["early_close"],
        adr=asked["adr"],
        context_limit=asked["context_limit"],
    )
