"""Which of a review's paths leave the folder of its file: one that was not named reads and writes nowhere else.

Links are followed, also those that stand in a folder or are matched by a glob. Ranges of git revisions are no paths:
they are of the repository that the folder is in.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePath

from orchestrator.errors import ConfigurationError
from orchestrator.evidence.finding import find
from orchestrator.evidence.reading import is_within, place_of
from orchestrator.evidence.revisions import PREFIX
from orchestrator.evidence.searching import before_wildcards
from orchestrator.review.reviews_file import Review
from orchestrator.shelves import ENDINGS, is_path


def leaving(review: Review, folder: Path) -> Iterator[str]:
    """The keys whose paths lead out of a folder, each once, as in `results.folder`.

    Args:
        folder: a real one, that of the reviews file.
    """
    if is_path(review.recipe, ENDINGS["recipes"]) and _leaves(review.recipe, folder):
        yield "recipe"
    if any(_source_leaves(source, folder) for source in review.context if not source.startswith(PREFIX)):
        yield "context"
    if any(_folder_leaves(records, folder) for records in review.adr):
        yield "adr"
    if review.results.folder is not None and _folder_leaves(review.results.folder, folder):
        yield "results.folder"


def _leaves(name: str, folder: Path) -> bool:
    return ".." in PurePath(name).parts or not is_within(place_of(name, folder), [folder])


def _source_leaves(source: str, folder: Path) -> bool:
    if ".." in PurePath(source).parts or _leaves(before_wildcards(source), folder):
        return True
    with suppress(ConfigurationError):  # what cannot be found is not read either, and told when it is to be
        return any(_leaves(name, folder) for name in find(source, folder, None).names)
    return False


def _folder_leaves(name: str, folder: Path) -> bool:
    if _leaves(name, folder):
        return True
    place = place_of(name, folder)
    with suppress(OSError):  # it is not there yet
        return any(not is_within(place / entry, [folder]) for entry in os.listdir(place))
    return False
