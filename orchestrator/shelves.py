"""The shelves on which recipes, agents and configs stand: the user's own before the bundled ones."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from orchestrator.errors import ConfigurationError

Kind = Literal["recipes", "agents", "configs"]

ENDINGS: Mapping[Kind, tuple[str, ...]] = {  # how the names of their files end
    "recipes": (".yaml", ".yml"),
    "agents": (".oct.md",),
    "configs": (".yaml", ".yml"),
}


def folders(kind: Kind) -> tuple[Path, ...]:
    """The folders to look in, first match wins: `./<kind>`, the user's config folder, the bundled ones.

    A folder may be missing. One that is reached in two ways (the current folder is a source checkout) is given once.
    """
    places = (Path(kind), config_folder() / kind, bundled(kind))
    once: dict[Path, Path] = {}
    for place in places:
        once.setdefault(place.resolve(), place)
    return tuple(once.values())


def config_folder() -> Path:
    """The user's config folder of this program; it may be missing."""
    from platformdirs import user_config_path  # here, because `--help` imports this module and asks for no folder

    return user_config_path("debate-hall", appauthor=False)


def standing(shelves: Sequence[Path], suffixes: Sequence[str]) -> dict[str, Path]:
    """What stands on the shelves: name in lower case -> file, sorted by name; the first shelf that has a name wins.

    Args:
        shelves: folders in lookup order; missing ones are passed over.
        suffixes: how the files' names end (`.yaml`, `.oct.md`); the rest is the name, in any case.

    Raises:
        ConfigurationError: a folder is there but cannot be listed.
    """
    found: dict[str, Path] = {}
    for shelf in shelves:
        for path in _files(shelf):
            for suffix in suffixes:
                if path.name.endswith(suffix):
                    found.setdefault(path.name.removesuffix(suffix).lower(), path)
    return dict(sorted(found.items()))


def is_path(word: str, suffixes: tuple[str, ...]) -> bool:
    """Whether a user means a file and not a name on a shelf: it holds a separator or ends as such files end."""
    return word.lower().endswith(suffixes) or "/" in word or os.sep in word


def _files(shelf: Path) -> list[Path]:
    try:
        return sorted(path for path in shelf.iterdir() if not path.name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise ConfigurationError(f"This folder cannot be listed: {error.strerror}.", source=str(shelf)) from error


def bundled(kind: Kind | Literal["evals"]) -> Path:
    """The folder that comes with the program.

    In a wheel it is inside the package; in a source checkout, which an editable install points to, beside it.
    """
    package = Path(__file__).parent
    packed = package / "bundled" / kind
    return packed if packed.is_dir() else package.parent / kind
