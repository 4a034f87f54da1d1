"""Evaluate: what debates are good for, measured."""

from __future__ import annotations

import sys
from decimal import Decimal
from pathlib import Path

import click

from orchestrator.cli.amounts import DOLLARS
from orchestrator.cli.completing import files
from orchestrator.cli.group import AS_JSON, MODELS, command, debate_hall
from orchestrator.cli.help import Contents

FOLDER = click.Path(file_okay=False, path_type=Path)


@click.group("eval", cls=Contents)
def evaluation() -> None:
    """Measure whether debates help: briefs with planted facts, answered by debates and by others at the same cost."""


@AS_JSON
@click.argument("folder", metavar="[FOLDER]", default="bundled", shell_complete=files)
def eval_check(folder: str, as_json: bool) -> None:
    """Check a folder of briefs: that each can be read, and that what is planted stands where it says.

    Without FOLDER, those that come along. The exit code is 2 where something is wrong; what is only worth a look is
    told and changes nothing.

    Examples:
        debate-hall eval check
        debate-hall eval check evals/briefs --json
    """
    from orchestrator.cli import evaluating

    if not evaluating.check(folder, as_json):
        sys.exit(2)


@click.option(
    "--briefs",
    default="bundled",
    metavar="FOLDER",
    shell_complete=files,
    help="A folder of briefs. [default: those that come along]",
)
@click.option("--brief", "ids", multiple=True, metavar="ID", help="Only this brief of it; its number is enough.")
@click.option(
    "--arms",
    multiple=True,
    default=("single,refine,majority,recipe:standard",),
    show_default=True,
    metavar="ARM,…",
    help="Who answers: single, refine, majority (each also :wind, :wall, :door), recipe:NAME.",
)
@click.option(
    "--equal-to",
    metavar="RECIPE",
    help="Whose cost refine and majority may take, quoted where it is no arm. [default: the first among the arms]",
)
@MODELS
@click.option("--wind", multiple=True, metavar="MODEL", help="The model for Wind, as in run-debate.")
@click.option("--wall", multiple=True, metavar="MODEL", help="The model for Wall, as in run-debate.")
@click.option("--door", multiple=True, metavar="MODEL", help="The model for Door, as in run-debate.")
@click.option("--limit-usd", type=DOLLARS, metavar="USD", help="What all calls together may take, earlier ones too.")
@click.option("--assume-price", metavar="IN/OUT", help="Of models of unknown price, in USD per million tokens (3/15).")
@click.option(
    "--repeat",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    metavar="K",
    help="How often each arm answers each brief.",
)
@click.option(
    "--parallel",
    type=click.IntRange(1, 100),
    default=4,
    show_default=True,
    metavar="N",
    help="How many arms are at work at once.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="Where replies and results are kept, and gone on with.",
)
@click.option("--dry-run", is_flag=True, help="Ask nothing: what each arm may be expected to take.")
@click.option("--replay", is_flag=True, help="Ask nothing: the same again from what is kept, or what differs from it.")
@click.option("--quiet", "-q", is_flag=True, help="Print the summary and nothing else.")
@AS_JSON
def eval_run(
    briefs: str,
    ids: tuple[str, ...],
    arms: tuple[str, ...],
    equal_to: str | None,
    models: str,
    wind: tuple[str, ...],
    wall: tuple[str, ...],
    door: tuple[str, ...],
    assume_price: str | None,
    limit_usd: Decimal | None,
    repeat: int,
    parallel: int,
    out: Path,
    dry_run: bool,
    replay: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Have briefs answered by several arms at equal cost, and keep what each reached in DIR/results.json.

    What a recipe takes on a brief is measured first, and is what refine and majority may take. Every reply is kept in
    DIR/cassette.jsonl before it counts: whatever stops it, the same command goes on, and nothing is bought twice. A
    limit that is met is exit code 5; answers that could not be had, 3; a replay that lacks replies, 2.

    Examples:
        debate-hall eval run --arms single,majority,recipe:speed --out evaluation --dry-run
        debate-hall eval run --arms single,majority,recipe:speed --brief 001 --limit-usd 2 --out evaluation
        debate-hall eval run --arms recipe:speed --brief 001 --out evaluation --replay
    """
    if limit_usd is None and not (replay or dry_run):
        raise click.UsageError("--limit-usd is missing: the most that all calls together may take. See --dry-run.")
    from orchestrator.cli import evaluating
    from orchestrator.evaluate.preparing import Sought
    from orchestrator.hall.terms import Role

    sought = Sought(
        briefs=briefs,
        ids=ids,
        arms=arms,
        equal_to=equal_to,
        models=models,
        voices={Role.WIND: wind, Role.WALL: wall, Role.DOOR: door},
        assumed=assume_price,
        limit_usd=None if replay else limit_usd,
        repeats=repeat,
    )
    call = evaluating.Call(sought, out, parallel, replay=replay, quiet=quiet, as_json=as_json)
    sys.exit(evaluating.quote(call) if dry_run else evaluating.run(call))


_OF_BRIEFS = click.option(
    "--briefs", metavar="FOLDER", shell_complete=files, help="Where the briefs are now. [where they were]"
)


@AS_JSON
@click.option(
    "--parallel", type=click.IntRange(1, 100), default=4, show_default=True, metavar="N", help="Judged at once."
)
@click.option("--limit-usd", type=DOLLARS, metavar="USD", help="What all calls to the judge may take. Needed with it.")
@click.option("--assume-price", metavar="IN/OUT", help="Of a judge of unknown price, in USD per million tokens (3/15).")
@MODELS
@click.option("--judge", metavar="MODEL", help="Have a model judge, too, and show how far it agrees with the scores.")
@click.option("--against", metavar="ARM", help="What the others are compared with. [majority, else the first arm]")
@_OF_BRIEFS
@click.argument("folder", metavar="DIR", type=FOLDER)
def eval_report(
    folder: Path,
    briefs: str | None,
    against: str | None,
    judge: str | None,
    models: str,
    assume_price: str | None,
    limit_usd: Decimal | None,
    parallel: int,
    as_json: bool,
) -> None:
    """Score what arms answered, and say what that shows and what it does not, in DIR/report.md, .json and .html.

    Scores are made by rule; no model judges, unless one is named, and then it changes none of them. What it says is
    kept in DIR/judge: nothing is bought twice.

    Examples:
        debate-hall eval report evaluation
        debate-hall eval report evaluation --against single --json
        debate-hall eval report evaluation --judge openai/gpt-5.2 --limit-usd 2
    """
    if judge is not None and limit_usd is None:
        raise click.UsageError("--limit-usd is missing: what may all calls to the judge take?")
    from orchestrator.cli import evaluated

    judging = None
    if judge is not None and limit_usd is not None:
        judging = evaluated.Judging(judge, models, assume_price, limit_usd, parallel)
    sys.exit(evaluated.report(folder, briefs, against, judging, as_json))


@AS_JSON
@click.option(
    "--margin",
    type=click.IntRange(0, 100),
    default=15,
    show_default=True,
    metavar="POINTS",
    help="How much worse still counts as equal.",
)
@click.option(
    "--measure",
    type=click.Choice(["soundness", "constraint_recall", "false_claims"]),
    default="soundness",
    show_default=True,
    help="What is compared.",
)
@click.option("--arm-b", metavar="ARM", help="The arm of B, where it is another.")
@click.option("--arm", metavar="ARM", help="The arm, where there are several.")
@_OF_BRIEFS
@click.argument("a", metavar="A", type=FOLDER)
@click.argument("b", metavar="B", type=FOLDER)
def eval_compare(
    a: Path,
    b: Path,
    briefs: str | None,
    arm: str | None,
    arm_b: str | None,
    measure: str,
    margin: int,
    as_json: bool,
) -> None:
    """Say whether evaluation B is as good as evaluation A: a gate for your own recipes, agents and models.

    The exit code is 0 where B is better or equal, 1 where it is worse, 2 where so many briefs cannot tell. Equal is
    what is worse by no more than the margin with 95 % certainty; with fewer than twenty briefs that rarely shows.

    Examples:
        debate-hall eval compare before after --arm recipe:mine
        debate-hall eval compare evaluation evaluation --arm majority --arm-b recipe:standard
    """
    from orchestrator.cli import evaluated

    arms = (arm, arm_b or arm)
    sys.exit(evaluated.compare((a, b), briefs, arms, measure, margin / 100, as_json))


debate_hall.add_command(evaluation)
for function in (eval_check, eval_run, eval_report, eval_compare):
    command(function, evaluation)
