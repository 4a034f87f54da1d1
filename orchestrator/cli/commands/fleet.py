"""Fleet: debates that workers on many machines hold."""

from __future__ import annotations

import sys
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import click

from orchestrator.cli.amounts import DOLLARS, SECONDS
from orchestrator.cli.asked import GROUPS, debate_options, wanted_from
from orchestrator.cli.group import A_FILE, AS_JSON, THREAD, command, debate_hall
from orchestrator.cli.help import Contents
from orchestrator.fleet import names

_PRIORITIES = click.IntRange(names.LEAST, names.MOST)
OPTIONS = {
    "What is submitted": ("batch", "thread_id", "priority", "after", "assume_keys", "dry_run", "as_json"),
    **GROUPS,
}


class _Time(click.ParamType[datetime]):
    """A moment, with a time zone or in this machine's."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        try:
            return datetime.fromisoformat(value).astimezone()
        except (ValueError, OverflowError):  # the latter of the year 1
            self.fail(f"{value!r} is no time such as 2026-01-06T18:00.", param, ctx)


class _Budget(click.ParamType[Decimal | None]):
    name = "budget"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Decimal | None:
        return None if value == "none" else DOLLARS.convert(value, param, ctx)


@click.argument("topic", required=False, metavar="[TOPIC]")
@click.option("--batch", type=A_FILE, metavar="FILE", help="Submit each row of a .csv or .jsonl file.")
@click.option("--thread-id", metavar="ID", help="[default: the date and the topic's words]")
@click.option(
    "--priority", type=_PRIORITIES, default=0, show_default=True, metavar="N", help="Higher ones are held first."
)
@click.option("--after", type=_Time(), metavar="TIME", help="Not before then: 2026-01-06T18:00.")
@click.option("--assume-keys", is_flag=True, help="Take every provider's key for granted: the workers have them.")
@click.option("--dry-run", is_flag=True, help="Check it and quote it; submit nothing.")
@AS_JSON
@debate_options
def submit(
    topic: str | None,
    batch: Path | None,
    thread_id: str | None,
    priority: int,
    after: datetime | None,
    assume_keys: bool,
    dry_run: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Submit a debate, or a file of them, to the fleet; print their ids.

    Each is opened in the hall with all that it needs, and waits for a worker. A row of a batch names a topic and
    whatever is to be otherwise than on the command line, in columns called id, recipe, tier, models, wind, wall, door,
    context, adr, since, cost_limit, token_limit, time_limit, on_failure, consensus, early_close, priority, after; of
    several values in a cell, ; stands between. Nothing is submitted where one of them cannot be. What was submitted
    before, the same row on the same day, is not submitted again.

    Examples:
        debate-hall submit --recipe speed "Which queue?"
        debate-hall submit --batch topics.csv --recipe deep --dry-run
    """
    from orchestrator.fleet.place import libraries

    with libraries():
        from orchestrator.cli.submitting import Manner, submit, submit_batch
        from orchestrator.fleet.submitting import Submission
    if (topic is None) == (batch is None):
        raise click.UsageError("Give a TOPIC, or a file with --batch.")
    if batch is not None and thread_id is not None:
        raise click.UsageError("--thread-id is for one debate; the rows of a batch have a column called id.")
    wanted = Submission(topic or "", wanted_from(asked), thread_id, priority, after)
    manner = Manner(asked["since"], assume_keys, dry_run, as_json)
    if batch is not None:
        submit_batch(batch, wanted, manner)
    else:
        submit(wanted, manner)


@click.option(
    "--concurrency",
    type=click.IntRange(1, 1000),
    default=10,
    show_default=True,
    metavar="N",
    help="So many debates at once.",
)
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Write the files of each debate, too.")
@click.option(
    "--dead-after",
    type=SECONDS,
    default="30",
    metavar="SECONDS",
    help="Take a worker that is not heard of for so long for dead; the same for all. [default: 30]",
)
@click.option("--reviews", type=A_FILE, metavar="FILE", help="Hold the reviews of this file, too, as their times come.")
def worker(concurrency: int, out: Path | None, dead_after: float, reviews: Path | None) -> None:
    """Take debates from the queue and hold them, until Ctrl-C or SIGTERM, which pauses what is under way.

    Any number may run, on any machine that reaches the hall. A worker that dies is missed after a while, and another
    goes on with its debates from where they stand.

    Examples:
        debate-hall worker --concurrency 50
    """
    from orchestrator.fleet.place import libraries

    with libraries():
        from orchestrator.cli.working import Manner, work
    sys.exit(work(Manner(concurrency, out, dead_after, reviews)))


@click.group(cls=Contents, invoke_without_command=True)
@AS_JSON
@click.pass_context
def fleet(ctx: click.Context, as_json: bool) -> None:
    """Show what the fleet is doing: the queue, the workers, the debates that they hold, what today took.

    Examples:
        debate-hall fleet
        debate-hall fleet --json
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(fleet.commands["status"], as_json=as_json)


@AS_JSON
def fleet_status(as_json: bool) -> None:
    """Show what the fleet is doing, as `debate-hall fleet` does.

    Examples:
        debate-hall fleet status --json
    """
    from orchestrator.fleet.place import libraries

    with libraries():
        from orchestrator.cli.fleet_shown import show
    show(as_json)


@AS_JSON
@click.argument("usd", type=_Budget(), metavar="USD|none")
def fleet_budget(usd: Decimal | None, as_json: bool) -> None:
    """Set how many US dollars all workers together may spend in a day, in UTC.

    A call that could cost more than is left is not made; its debate goes on the next day. Where a price is not known,
    a budget lets no call be made.

    Examples:
        debate-hall fleet budget 50
        debate-hall fleet budget none
    """
    from orchestrator.fleet.place import libraries

    with libraries():
        from orchestrator.cli.fleet_shown import set_budget
    set_budget(usd, as_json)


@AS_JSON
@THREAD
def fleet_cancel(thread_id: str, as_json: bool) -> None:
    """Take a debate out of the queue, or stop it where a worker holds it. It stays open, with all its turns.

    Examples:
        debate-hall fleet cancel THREAD
    """
    from orchestrator.fleet.place import libraries

    with libraries():
        from orchestrator.cli.fleet_shown import cancel
    cancel(thread_id, as_json)


@AS_JSON
@click.option("--priority", type=_PRIORITIES, metavar="N", help="Higher ones are held first. [default: as before]")
@THREAD
def fleet_retry(thread_id: str, priority: int | None, as_json: bool) -> None:
    """Let a debate be tried again now: one that was given up, that waits for its next try, or that has no job at all.

    Examples:
        debate-hall fleet retry THREAD
    """
    from orchestrator.fleet.place import libraries

    with libraries():
        from orchestrator.cli.fleet_shown import retry
    retry(thread_id, priority, as_json)


command(submit, options=OPTIONS)
command(worker)
debate_hall.add_command(fleet)
for function in (fleet_status, fleet_budget, fleet_cancel, fleet_retry):
    command(function, fleet)
