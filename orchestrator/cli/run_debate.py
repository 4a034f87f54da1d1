"""`run-debate`: one command holds a debate and leaves a decision.

Nothing but click is loaded until there is something to do, so that `--help` is there at once.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from orchestrator.cli.asked import GROUPS, debate_options, wanted_from
from orchestrator.cli.completing import files, threads
from orchestrator.cli.help import Page
from orchestrator.cli.manual import ENVIRONMENT, EXIT_STATUS, FILES

OPTIONS = {
    **GROUPS,
    "What is debated, and how": (*GROUPS["What is debated, and how"], "baseline", "thread_id"),
    "Who speaks": (*GROUPS["Who speaks"], "interactive", "name"),
    "What comes of it": ("out", "formats", "sign", "dry_run", "as_json", "events", "quiet", "no_color"),
    "Going on": ("resume",),
}


@click.command(
    cls=Page,
    options=OPTIONS,
    more={"Files": FILES, "Environment": ENVIRONMENT, "Exit status": EXIT_STATUS},
)
@click.argument("topic", required=False, metavar="TOPIC")
@debate_options
@click.option("--thread-id", metavar="ID", help="[default: the date and the topic's words]")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="[default: ./debates/<thread id>]")
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(["json", "octave", "adr", "html"]),
    help="Files to write. [all]",
)
@click.option(
    "--baseline",
    is_flag=True,
    help="Ask beside it for as many single answers as its cost buys, and tell what they chose; doubles the cost.",
)
@click.option(
    "--resume", metavar="THREAD", shell_complete=threads, help="Go on with a run that stopped; nothing is bought twice."
)
@click.option("--sign", is_flag=True, help="Sign debate.json with your key (debate-hall key new).")
@click.option("--dry-run", is_flag=True, help="Show the rounds and seats; ask no model, write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, on failure too.")
@click.option(
    "--events",
    metavar="FILE|-",
    shell_complete=files,
    help="Append what happens to FILE, one JSON object a line; - is standard output, in place of the decision.",
)
@click.option("--interactive", "-i", is_flag=True, help="After each round, ask you what you have to say.")
@click.option("--as", "name", metavar="NAME", help="Of --interactive: your name on the ledger. [your login]")
@click.option("--quiet", "-q", is_flag=True, help="Print the decision and nothing else.")
@click.option("--no-color", is_flag=True, help="Tell of the run in plain lines, on a terminal too.")
@click.version_option(package_name="run-debate")
@click.pass_context
def run_debate(
    ctx: click.Context,
    /,
    topic: str | None,
    thread_id: str | None,
    out: Path | None,
    formats: tuple[str, ...],
    baseline: bool,
    resume: str | None,
    sign: bool,
    dry_run: bool,
    as_json: bool,
    events: str | None,
    interactive: bool,
    name: str | None,
    quiet: bool,
    no_color: bool,
    **asked: Any,
) -> None:
    """Hold a structured debate on TOPIC between language models and leave a decision.

    Wind opens possibilities, Wall holds them against reality, Door decides. TOPIC may be - to read it from standard
    input.

    What was paused, stopped by a limit or interrupted can be resumed; nothing that was paid for is lost.

    Examples:
        run-debate --rehearse --recipe fortress "Should we move billing to Kafka?"
        run-debate -c docs -c git:main..HEAD --adr docs/adr "Should we move billing to Kafka?"
        run-debate --cost-limit 2.50 --on-failure degrade "Should we move billing to Kafka?"
        run-debate --resume 2026-01-06-should-we-move-billing-to-kafka
    """
    from orchestrator.cli.outcome import Call

    if events == "-" and as_json:
        raise click.UsageError(
            "--json and --events - cannot both have standard output; name a file for the events.", ctx
        )
    folder = Path(os.path.expanduser(out)) if out is not None else None
    call = Call(
        thread_id,
        folder,
        formats,
        sign,
        dry_run,
        as_json,
        quiet,
        not no_color,
        events,
        interactive,
        name,
        asked["since"],
        baseline,
    )
    wanted = wanted_from(asked)
    if resume is None:
        from orchestrator.cli.running import run

        if topic is None:
            raise click.UsageError("Missing argument 'TOPIC'.", ctx)
        if topic == "help":  # as people type it; it is no question, and would be paid for
            raise click.UsageError("run-debate --help says what there is to say; a topic is a question.", ctx)
        if topic == "-" and "-" in asked["context"]:
            raise click.UsageError("TOPIC and --context cannot both be standard input (-).", ctx)
        sys.exit(run(call, topic, wanted))
    else:
        from orchestrator.cli.resuming import resume as go_on

        _require_only_what_can_change(ctx)
        sys.exit(go_on(call, resume, wanted))


_OF_A_NEW_DEBATE = (
    "topic",
    "recipe",
    "tier",
    "rehearse",
    "context",
    "adr",
    "context_limit",
    "since",
    "consensus",
    "early_close",
    "baseline",
    "thread_id",
    "dry_run",
)


def _require_only_what_can_change(ctx: click.Context) -> None:
    """A run that is resumed keeps its plan: what would be another debate is refused, not overlooked."""
    for name in _OF_A_NEW_DEBATE:
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            shown = "TOPIC" if name == "topic" else f"--{name.replace('_', '-')}"
            raise click.UsageError(
                f"--resume goes on with the plan that was pinned at the start; {shown} belongs to a new debate.", ctx
            )


def main() -> None:
    """The console script. Click's own complaints about the command line become JSON too, where that was asked for."""
    try:
        run_debate.main(standalone_mode=False)
    except click.UsageError as error:
        if "--json" in sys.argv:
            from orchestrator.cli.outcome import print_usage_failure

            print_usage_failure(error.format_message())
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)
