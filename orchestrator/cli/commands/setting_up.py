"""Set up: what is there, who would speak, and the server."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli.group import AS_JSON, command


@AS_JSON
def recipes(as_json: bool) -> None:
    """List the recipes, your own beside the bundled ones."""
    from orchestrator.cli import shelf

    found = shelf.recipes()
    shelf.put(found, as_json, shelf.recipe_lines(found))


@AS_JSON
def agents(as_json: bool) -> None:
    """List the agents, your own beside the bundled ones."""
    from orchestrator.cli import shelf

    found = shelf.agents()
    shelf.put(found, as_json, shelf.agent_lines(found))


@AS_JSON
@click.option("--models", default="models", metavar="NAME|FILE", help="The models file. [default: models]")
def config(models: str, as_json: bool) -> None:
    """Show every setting, its value and where it came from; never the value of a key."""
    from orchestrator.cli import shelf

    found = shelf.settings(models)
    shelf.put(found, as_json, shelf.setting_lines(found))


@AS_JSON
@click.option("--models", default="models", metavar="NAME|FILE", help="The models file. [default: models]")
@click.option("--deep", is_flag=True, help="Also make a tiny real call to every model that can be asked.")
def doctor(models: str, deep: bool, as_json: bool) -> None:
    """Show who would speak, what each model needs and whether it is there; exit 2 when a role has no model."""
    from orchestrator.cli import doctoring

    doctoring.doctor(models, deep, as_json)


@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="[your config folder]")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def init(out: Path | None, force: bool) -> None:
    """Write a commented models file for the keys, local servers and agent CLIs that are found here."""
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
    """Serve the hall to MCP clients: over standard input and output, or over HTTP where --host or --port say."""
    from orchestrator.cli import serving

    serving.serve(host, port, token_file, roots, out)


for function in (recipes, agents, config, doctor, init, serve):
    command(function)
