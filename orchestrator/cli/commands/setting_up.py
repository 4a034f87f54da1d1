"""Set up: what is there, who would speak, and the server."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli.completing import SHELLS, commands
from orchestrator.cli.group import AS_JSON, MODELS, command, debate_hall


@AS_JSON
def recipes(as_json: bool) -> None:
    """List the recipes, your own beside the bundled ones.

    Examples:
        debate-hall recipes
    """
    from orchestrator.cli import shelf

    found = shelf.recipes()
    shelf.put(found, as_json, shelf.recipe_lines(found))


@AS_JSON
def agents(as_json: bool) -> None:
    """List the agents, your own beside the bundled ones.

    Examples:
        debate-hall agents
    """
    from orchestrator.cli import shelf

    found = shelf.agents()
    shelf.put(found, as_json, shelf.agent_lines(found))


@AS_JSON
@MODELS
def config(models: str, as_json: bool) -> None:
    """Show every setting, its value and where it came from; never the value of a key.

    Examples:
        debate-hall config
        debate-hall config --models local
    """
    from orchestrator.cli import shelf

    found = shelf.settings(models)
    shelf.put(found, as_json, shelf.setting_lines(found))


@AS_JSON
@MODELS
@click.option("--deep", is_flag=True, help="Also make a tiny real call to every model that can be asked.")
def doctor(models: str, deep: bool, as_json: bool) -> None:
    """Show who would speak, what each model needs and whether it is there; exit 2 when a role has no model.

    Examples:
        debate-hall doctor
        debate-hall doctor --deep
    """
    from orchestrator.cli import doctoring

    doctoring.doctor(models, deep, as_json)


@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="[your config folder]")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def init(out: Path | None, force: bool) -> None:
    """Write a commented models file for the keys, local servers and agent CLIs that are found here.

    Examples:
        debate-hall init
        debate-hall init --out models.yaml
    """
    from orchestrator.cli import initialising

    initialising.init(out, force)


@click.option("--host", metavar="ADDRESS", help="Serve HTTP here; beyond this machine with a token. [127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65535), help="Serve HTTP here; 0 takes a free one. [8000]")
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The bearer token that HTTP requires. [DEBATE_HALL_TOKEN]",
)
@click.option(
    "--root",
    "roots",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Evidence may be read from here; repeat. [the working folder; over HTTP none]",
)
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Runs write here. [./debates]")
def serve(
    host: str | None, port: int | None, token_file: Path | None, roots: tuple[Path, ...], out: Path | None
) -> None:
    """Serve the hall to MCP clients: over standard input and output, or over HTTP where --host or --port say.

    Examples:
        debate-hall serve
        debate-hall serve --port 8765 --token-file token --root docs
    """
    from orchestrator.cli import serving

    serving.serve(host, port, token_file, roots, out)


@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print what lets your shell complete run-debate and debate-hall: commands, options, threads, recipes, files.

    For bash (4.4 or newer) and zsh put the line below into ~/.bashrc or ~/.zshrc, in the latter behind compinit; fish
    reads the file. The next shell completes.

    Examples:
        eval "$(debate-hall completion bash)"
        eval "$(debate-hall completion zsh)"
        debate-hall completion fish > ~/.config/fish/conf.d/debate-hall.fish
    """
    from orchestrator.cli import completing, plain

    plain.answer(completing.script(shell))


@click.argument("words", nargs=-1, metavar="[COMMAND]…", shell_complete=commands)
@click.pass_context
def _help(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of a command, or this list.

    Examples:
        debate-hall help
        debate-hall help key new
    """
    asked: click.Command = debate_hall
    place = ctx.find_root()
    for word in words:
        if not isinstance(asked, click.Group):
            raise click.UsageError(f"{place.command_path} has no commands of its own.", ctx)
        _, found, _ = asked.resolve_command(place, [word])  # which says what else there is
        assert found is not None
        asked, place = found, click.Context(found, place, word, help_option_names=ctx.help_option_names)
    click.echo(asked.get_help(place))


for function in (recipes, agents, config, doctor, init, serve, completion, _help):
    command(function)
