"""Briefs: a folder each, with a question, its documents, and what is planted in them at exact lines.

    NNN-short-name/
      brief.yaml      the shapes below, key for key
      docs/*.md       two to four documents

Verdicts, constraints, false claims and keys are for scoring: no model is ever shown them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, PrivateAttr, ValidationInfo, field_validator, model_validator

from orchestrator.errors import ConfigurationError
from orchestrator.evaluate.answer import OTHER
from orchestrator.evidence import Evidence, gather
from orchestrator.recipe import Line
from orchestrator.shelves import bundled
from orchestrator.strict_yaml import Shape, fault, load, read

BUNDLED = "bundled"
FILE, DOCS = "brief.yaml", "docs"
RECORD = "adr-"  # so begin the names of documents that record an earlier decision

Verdict = Literal["sound", "sound_with", "violates"]
Nature = Literal["CONSTRAINT", "OPPORTUNITY"]

_ID = re.compile(r"[0-9]{3}-[a-z0-9]+(?:-[a-z0-9]+)*")
_PLACE = re.compile(r"(docs/[^:\s]+):([1-9][0-9]{0,5})(?:-([1-9][0-9]{0,5}))?")


class Option(Shape):
    """An answer that a sensible person could give; `because` are the constraints that decide its verdict."""

    id: Line
    name: Line
    verdict: Verdict
    because: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _says_why(self) -> Self:
        if self.id.lower() == OTHER:
            raise fault(f"is {OTHER}, which stands for none of the options.", "Give it a letter.", at=("id",))
        if (self.verdict == "sound") == bool(self.because):
            needs = "needs no because" if self.because else "needs a because"
            raise fault(f"is {self.verdict}, which {needs}.", at=("verdict",))
        return self


class Constraint(Shape):
    """What decides, where a document says so; `hidden` where only two places together show it."""

    id: Line
    statement: Line
    where: str
    nature: Nature
    hidden: bool
    mentioned_by: Annotated[tuple[Line, ...], Field(min_length=1)]


class FalseClaim(Shape):
    """What one document says and another, or plain arithmetic, refutes."""

    id: Line
    claim: Line
    where: str
    refuted_by: str
    accepted_by: Annotated[tuple[Line, ...], Field(min_length=1)]


class Conflict(Shape):
    """An accepted decision record, and the option that contradicts it."""

    id: Line
    adr: str
    line: Annotated[int, Field(ge=1)]
    contradicted_by: str


class Brief(Shape):
    """One brief as its file says it, with its documents."""

    id: str
    title: Line
    domain: Line
    question: Line
    difficulty: Annotated[int, Field(ge=1, le=3)]
    options: Annotated[tuple[Option, ...], Field(min_length=2)]
    constraints: Annotated[tuple[Constraint, ...], Field(min_length=4, max_length=6)]
    false_claims: Annotated[tuple[FalseClaim, ...], Field(min_length=1, max_length=2)]
    conflicts: Annotated[tuple[Conflict, ...], Field(max_length=1)] = ()
    trap: str
    key: str

    _documents: tuple[Evidence, ...] = PrivateAttr(())

    @property
    def documents(self) -> tuple[Evidence, ...]:
        """Its documents by name, as every arm is shown them: E1, E2, …; paths are those of the brief."""
        return self._documents

    def option(self, id: str) -> Option | None:
        """The option of that id, in any case; None where there is none."""
        return next((option for option in self.options if option.id.lower() == id.strip().lower()), None)

    def choice(self, id: str) -> str:
        """What an option named so counts as: its id, or `other` where there is none, since nobody has placed it."""
        option = self.option(id)
        return option.id if option else OTHER

    @field_validator("id")
    @classmethod
    def _is_the_folders_name(cls, id: str, info: ValidationInfo) -> str:
        if not _ID.fullmatch(id):
            raise fault("must be three digits and a short name in small letters.", "As in 007-event-bus.")
        folder = Path((info.context or {})["source"]).parent.name
        if id != folder:
            raise fault(f"is {id}, but the folder's name is {folder}.", "Make them the same.")
        return id

    @model_validator(mode="after")
    def _hangs_together(self) -> Self:
        for key, listed in self._lists.items():
            ids = [item.id.lower() for item in listed]
            for number, id in enumerate(ids):
                if id in ids[:number]:
                    raise fault(f"{listed[number].id} stands here twice.", at=(key, number, "id"))
        known = {constraint.id for constraint in self.constraints}
        for number, option in enumerate(self.options):
            for place, name in enumerate(option.because):
                if name not in known:
                    raise fault(f"there is no constraint {name}.", at=("options", number, "because", place))
        for number, conflict in enumerate(self.conflicts):
            if conflict.contradicted_by not in {option.id for option in self.options}:
                at = ("conflicts", number, "contradicted_by")
                raise fault(f"there is no option {conflict.contradicted_by}.", at=at)
        if all(option.verdict == "violates" for option in self.options):
            raise fault("none of them is sound, so that nothing could be found.", at=("options",))
        return self

    @property
    def _lists(self) -> dict[str, Sequence[Option | Constraint | FalseClaim | Conflict]]:
        return {
            "options": self.options,
            "constraints": self.constraints,
            "false_claims": self.false_claims,
            "conflicts": self.conflicts,
        }


class Planted(Shape):
    """A place in a document: the lines `first` to `last` of the piece of evidence `document`."""

    document: str
    first: int
    last: int

    @classmethod
    def at(cls, place: str, documents: Sequence[Evidence]) -> Planted:
        """Reads `docs/name.md:12` or `docs/name.md:12-15`.

        Raises:
            ValueError: it is none, or no such lines are there; the message says which, as the rest of a sentence.
        """
        match = _PLACE.fullmatch(place)
        if match is None:
            raise ValueError(f"{place!r:.80} is no place; write docs/name.md:12 or docs/name.md:12-15.")
        path, first, last = match[1], int(match[2]), int(match[3] or match[2])
        piece = next((piece for piece in documents if piece.path == path), None)
        if piece is None:
            raise ValueError(f"there is no {path}; the documents are {', '.join(each.path for each in documents)}.")
        if not first <= last <= len(piece.lines):
            raise ValueError(f"{place} is outside the document, which has {len(piece.lines)} lines.")
        return cls(document=piece.id, first=first, last=last)

    def lines(self, documents: Sequence[Evidence]) -> tuple[str, ...]:
        """What stands there."""
        piece = next(piece for piece in documents if piece.id == self.document)
        return piece.lines[self.first - 1 : self.last]


def load_brief(folder: Path) -> Brief:
    """Loads a brief with its documents; whether what is planted stands where it says is `planted`'s to check.

    Raises:
        ConfigurationError: its file is missing or says something wrong, or its documents cannot be read.
    """
    path = folder / FILE
    loaded = load(read(path), source=str(path), shape=Brief)
    if not (folder / DOCS).is_dir():
        raise ConfigurationError("There is no docs folder beside it.", "Put its documents there.", source=str(path))
    found = gather([DOCS], base=folder)
    if found.notices:
        raise ConfigurationError(found.notices[0], "An arm is shown all of them.", source=str(folder / DOCS))
    brief = loaded.model_copy()
    brief._documents = tuple(
        replace(piece, kind="adr") if Path(piece.path).name.startswith(RECORD) else piece for piece in found.evidence
    )
    return brief


def folder_of(briefs: str) -> Path:
    """The folder of a set of briefs: a path, or `bundled` for those that come with the program."""
    return bundled("evals") / "briefs" if briefs == BUNDLED else Path(briefs)


def brief_folders(folder: Path) -> tuple[Path, ...]:
    """The folders of a set, one for each brief, by name.

    Raises:
        ConfigurationError: there is none.
    """
    if not folder.is_dir():
        raise ConfigurationError("There is no such folder.", "Name a folder of briefs.", source=str(folder))
    found = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    if not found:
        raise ConfigurationError("There is no brief in it.", f"Each is a folder with a {FILE}.", source=str(folder))
    return tuple(found)


def load_briefs(folder: Path, ids: Sequence[str] = ()) -> tuple[Brief, ...]:
    """Loads the briefs of a folder by name, or those of them that are named.

    Args:
        ids: whole ids, or the numbers they begin with.

    Raises:
        ConfigurationError: there is none, or none of that name, or one says something wrong.
    """
    folders = brief_folders(folder)
    for id in ids:
        if not any(_goes_by(each.name, id) for each in folders):
            cure = f"There are {', '.join(each.name for each in folders)}."
            raise ConfigurationError(f"There is no brief {id!r:.80}.", cure, source=str(folder))
    return tuple(load_brief(each) for each in folders if not ids or any(_goes_by(each.name, id) for id in ids))


def _goes_by(name: str, id: str) -> bool:
    return id in (name, name.partition("-")[0])
