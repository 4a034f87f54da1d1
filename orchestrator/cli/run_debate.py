"""`run-debate`: one command holds a debate and leaves a decision.

Nothing but click is loaded until there is something to do, so that `--help` is there at once.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("topic")
@click.option("--recipe", "-r", default="standard", metavar="NAME|FILE", help="How to debate. [default: standard]")
@click.option("--tier", metavar="1|2|3:DOMAIN", help="Other agents: 1, 2, 3:security, 3:innovation, 3:architecture.")
@click.option("--models", default="models", metavar="NAME|FILE", help="Which models speak. [default: models]")
@click.option("--wind", multiple=True, metavar="MODEL", help="The model for Wind; again for a fallback.")
@click.option("--wall", multiple=True, metavar="MODEL", help="The model for Wall; again for a fallback.")
@click.option("--door", multiple=True, metavar="MODEL", help="The model for Door; again for a fallback.")
@click.option("--rehearse", is_flag=True, help="Ask no model: write worksheets for a debate held by people.")
@click.option("--context", "-c", multiple=True, metavar="PATH|GLOB", help="Evidence: text files, numbered and cited.")
@click.option("--thread-id", metavar="ID", help="[default: the date and the topic's words]")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="[default: ./debates/<thread id>]")
@click.option(
    "--format", "formats", multiple=True, type=click.Choice(["json", "octave", "adr"]), help="Files to write. [all]"
)
@click.option("--dry-run", is_flag=True, help="Show the rounds and seats; ask no model, write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, on failure too.")
@click.option("--quiet", "-q", is_flag=True, help="Print the decision and nothing else.")
@click.version_option(package_name="run-debate")
def run_debate(
    topic: str,
    recipe: str,
    tier: str | None,
    models: str,
    wind: tuple[str, ...],
    wall: tuple[str, ...],
    door: tuple[str, ...],
    rehearse: bool,
    context: tuple[str, ...],
    thread_id: str | None,
    out: Path | None,
    formats: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Hold a structured debate on TOPIC between language models and leave a decision.

    Wind opens possibilities, Wall holds them against reality, Door decides. TOPIC may be - to read it from standard
    input.

    \b
    run-debate --rehearse --recipe fortress "Should we move billing to Kafka?"
    run-debate -r fortress -c 'docs/**/*.md' "Should we move billing to Kafka?"

    Exit codes: 0 decided, 1 internal error, 2 usage or configuration, 3 paused with its turns kept, 4 closed without
    consensus or by force, 7 the ledger does not verify, 130 interrupted.
    """
    from orchestrator.cli.running import Call, run
    from orchestrator.hall.terms import Role
    from orchestrator.wanted import Wanted

    voices = {Role.WIND: wind, Role.WALL: wall, Role.DOOR: door}
    wanted = Wanted(recipe, tier, models, voices, rehearse, context)
    sys.exit(run(Call(topic, thread_id, out, formats, dry_run, as_json, quiet), wanted))


def main() -> None:
    """The console script. Click's own complaints about the command line become JSON too, where that was asked for."""
    try:
        run_debate.main(standalone_mode=False)
    except click.UsageError as error:
        if "--json" in sys.argv:
            from orchestrator.cli.running import print_usage_failure

            print_usage_failure(error.format_message())
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)
