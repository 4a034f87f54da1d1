"""What each cognition must show, read from the structure of a turn.

A marker without words, a keyword in a sentence ("not approved") and a list of all verdicts are no structure. Whether
what is said is true or good is not judged here.

The Wall content contract (`docs/wall-content-contract.oct.md`): a verdict first; constraints as `- [C1] …`, each a
CONSTRAINT or an OPPORTUNITY with its parts; a remediation request unless the verdict is APPROVED, in each constraint
or once as a section. A part is a label and words, on the constraint's own line or under it; `_LABELS` is the table of
labels.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import zip_longest

from orchestrator.hall import structure
from orchestrator.hall.structure import LEAD, Line, says
from orchestrator.hall.terms import Role
from orchestrator.hall.verdict import Verdict, read_verdict


class Nature(StrEnum):
    CONSTRAINT = "CONSTRAINT"  # immutable
    OPPORTUNITY = "OPPORTUNITY"  # something is missing and can be built


@dataclass(frozen=True, slots=True)
class Constraint:
    id: str  # C1, C2, …
    statement: str  # without id, nature and parts
    nature: Nature | None
    text: str  # all of its rows, as written
    parts: Mapping[str, str]  # what stands at each label, under the label to write: Reality, Instead, Build, …


@dataclass(frozen=True, slots=True)
class WallReading:
    """What stands in a Wall turn, and what the contract asks for that does not, one sentence each."""

    verdict: Verdict | None
    constraints: tuple[Constraint, ...]
    missing: tuple[str, ...]


_LABELS = {  # the first is the one to write
    "Nature": ("nature", "type", "kind"),  # where the word does not stand beside the id
    "Reality": ("reality", "what reality", "which reality", "fact"),
    "Violation": ("violation", "what violates it", "violated by", "violates", "broken by"),
    "Instead": ("instead", "where to go instead", "where to go", "go instead"),
    "Build": ("build", "what to build", "to build"),
    "Done when": ("done when", "how to tell it is done", "how to tell", "accepted when", "done"),
    "Remediation": ("remediation", "remediation request", "request", "to lift it"),
}
_NEEDS = {
    Nature.CONSTRAINT: {
        "Reality": "what reality makes it immutable",
        "Violation": "what violates it",
        "Instead": "where to go instead",
    },
    Nature.OPPORTUNITY: {"Build": "what to build", "Done when": "how to tell that it is done"},
}

_SEVERAL = 2  # a choice begins at two; an agent's own instruction may promise more

_NOUNS = "option|path|idea|possibility|alternative|approach|route|variant|vector|scenario|edge"
_OPTION = re.compile(
    rf"{LEAD}(?:what\sif\b|(?:{_NOUNS})\s(?:\d{{1,2}}|[a-z]|one|two|three|four|five)\b)[\W_]*(.*)", re.IGNORECASE
)
_OPTION_TITLE = re.compile(rf"\b(?:{_NOUNS})\b", re.IGNORECASE)
_SUPPOSITION = re.compile(
    rf"{LEAD}(?:what\sif|(?:how|what)\sabout|why\snot|suppose|imagine|(?:could|can|should)\swe)\b", re.IGNORECASE
)
_QUESTION = re.compile(r"[?](?=$|[\s\"'”’»)\]*_`|,.])|[？؟]")
_SENTENCE_END = re.compile(r"[.!?;:。！？]")
_CITATION = re.compile(r"\[E\d{1,4}(?::\d{1,7}(?:-\d{1,7})?)?\]")
_STEP = re.compile(rf"{LEAD}(?:(?:step|phase|stage)\s\d{{1,3}}\b|\d{{1,3}}[.)](?=[\s*_]))[\W_]*(.*)", re.IGNORECASE)
_THEREFORE = re.compile(r"(?:^|[.!?:—]\s)[\W_]{0,8}therefore\b(.*)", re.IGNORECASE)
_EVIDENCE = structure.section(r"(?:(?:key|supporting|the)\s)?evidence")
_SYNTHESIS = structure.section(r"(?:(?:final|the)\s)?(?:synthesis|decision|resolution|conclusion|therefore)")
_CONSTRAINTS = structure.section(r"(?:the\s)?constraints")
_REMEDIATION = structure.section(r"remediations?(?:\srequests?)?")

_STATED = re.compile(rf"{LEAD}(CONSTRAINT|OPPORTUNITY)?[^\w\[|~]{{0,8}}\[(C[0-9]{{1,4}})\](.*)")
_MENTIONED = re.compile(r"(?<![\w.])\[(C[0-9]{1,4})\]")
# (?a:…) keeps letters that only look like ASCII when case is ignored from passing for it.
_NATURE = re.compile(
    r"[^\w|~]*((?a:CONSTRAINT|OPPORTUNITY))\b(?:\s\([^()]{0,40}\))?[*_`\s]{0,4}([])]?[*_`\s]{0,4}[:.—–-]*)(.*)",
    re.IGNORECASE,
)
_NATURE_LAST = re.compile(r"[(\[](CONSTRAINT|OPPORTUNITY)[)\]][\W_]{0,4}$")
_EITHER = re.compile(r"[\W_]{0,4}(?:or\b)?[\W_]{0,4}(?:CONSTRAINT|OPPORTUNITY)\b", re.IGNORECASE)
_PART_OF = {label: part for part, labels in _LABELS.items() for label in labels}
_PART = re.compile(
    r"(?<![^\s(*_`])(" + "|".join(sorted(_PART_OF, key=len, reverse=True)) + r")[*_`\s]*(:+|=|—|–|$)",
    re.IGNORECASE | re.ASCII,
)


def findings(role: Role, content: str) -> tuple[str, ...]:
    """Returns what a turn of `role` does not show, one sentence each with how to write it; empty when it shows all."""
    return tuple(_CHECKS[role](structure.lines(content)))


@lru_cache(maxsize=64)  # every later seat of a debate reads the same Walls
def read_wall(content: str) -> WallReading:
    """Reads a Wall turn by the contract above. Any text can be read; what it lacks stands in `missing`."""
    lines = structure.lines(content)
    verdict, complaint = read_verdict(lines)
    blocks = _blocks(lines)
    claimed = {line.row for block in blocks for line in block}
    requested = structure.has_words(structure.under([x for x in lines if x.row not in claimed], _REMEDIATION))
    missing = [complaint] if complaint else []
    if verdict in (Verdict.BLOCKED, Verdict.CONDITIONAL) and not blocks:
        missing.append(f"{verdict} without a constraint: state at least one as a line `- [C1] CONSTRAINT: …`.")
    constraints = []
    all_rows = structure.rows(content)
    for block in blocks:
        constraint = _constraint(block, all_rows)
        needs_request = verdict is not Verdict.APPROVED and not requested
        missing.extend(_lacks(constraint, needs_request))
        constraints.append(constraint)
    missing.extend(_misnumbered(lines, [constraint.id for constraint in constraints]))
    return WallReading(verdict, tuple(constraints), tuple(missing))


def options_in(content: str) -> tuple[str, ...]:
    """The options of a Wind turn by title: its headings, else those that it names, else the items of its list."""
    lines = structure.lines(content)
    titles = (line.text for line in lines if line.level)
    headed = tuple(title for title in titles if _OPTION.match(title) or _OPTION_TITLE.search(title))
    return headed or tuple(_named(lines)) or tuple(_listed(lines))


def _pathos(lines: list[Line]) -> list[str]:
    missing = []
    if max(_distinct(_listed(lines)), _distinct(_named(lines))) < _SEVERAL:
        missing.append(
            "Several options are missing: give each its own heading or list item with words, "
            "`### Option 1: …`, `### Option 2: …`."
        )
    if not any(_asks(line.text) for line in lines):
        missing.append("A question is missing: ask at least one whole question that ends in a question mark.")
    return missing


def _ethos(lines: list[Line]) -> list[str]:
    _, complaint = read_verdict(lines)
    missing = [complaint] if complaint else []
    evidence = (line for line in structure.under(lines, _EVIDENCE) if not _STATED.match(line.text))
    if not (structure.has_words(evidence) or any(_CITATION.search(line.text) for line in lines)):
        missing.append("Evidence is missing: add a section `## EVIDENCE` with findings, or cite lines as [E1:12-18].")
    return missing


def _logos(lines: list[Line]) -> list[str]:
    missing = []
    if _distinct(_steps(lines)) < 2:
        missing.append("Numbered steps are missing: write at least two with words, `1. …` and `2. …`.")
    therefore = (match[1] for line in lines if (match := _THEREFORE.search(line.text)))
    if not (structure.has_words(structure.under(lines, _SYNTHESIS)) or any(map(says, therefore))):
        missing.append("A synthesis is missing: add a section `## SYNTHESIS` with words, or say `Therefore, …`.")
    return missing


_CHECKS: dict[Role, Callable[[list[Line]], list[str]]] = {Role.WIND: _pathos, Role.WALL: _ethos, Role.DOOR: _logos}


def _distinct(texts: Iterable[str]) -> int:
    return len({" ".join(text.split()).casefold() for text in texts})


def _listed(lines: list[Line]) -> Iterator[str]:
    """The outermost list items, less those that only ask; "What if we …?" is an option though it asks."""
    items = [line for line in lines if line.marker and not line.level]
    outermost = min((line.indent for line in items), default=0)
    for line in items:
        asks = line.text.rstrip(' *_`"”').endswith(("?", "？")) and not _SUPPOSITION.match(line.text)
        if line.indent == outermost and says(line.text) and not asks:
            yield line.text


def _named(lines: list[Line]) -> Iterator[str]:
    for line, after in zip_longest(lines, lines[1:]):
        option = _OPTION.match(line.text)
        if option:
            if says(option[1]) or (after and not after.level and says(after.text)):
                yield line.text
        elif line.level and _OPTION_TITLE.search(line.text):
            yield line.text


def _asks(text: str) -> bool:
    start = 0
    for mark in _QUESTION.finditer(text):
        if says(_SENTENCE_END.split(text[start : mark.start()])[-1]):
            return True
        start = mark.end()
    return False


def _steps(lines: list[Line]) -> Iterator[str]:
    for line in lines:
        step = _STEP.match(line.text)
        text = line.text if line.is_numbered else step[1] if step else ""
        if says(text):
            yield text


def _blocks(lines: list[Line]) -> list[list[Line]]:
    """Returns each stated constraint with the lines under it.

    Constraints are stated under a CONSTRAINTS heading, if there is one. An id that comes again under a later heading
    refers to its constraint; again under the same heading it is stated twice.
    """
    scope = structure.under(lines, _CONSTRAINTS)
    if not any(_STATED.match(line.text) for line in scope):
        scope = lines
    blocks: list[list[Line]] = []
    home: dict[str, int] = {}
    heading, is_open = 0, False
    for line in scope:
        stated = _STATED.match(line.text)
        if stated:
            is_open = home.setdefault(stated[2], heading) == heading
            blocks += [[line]] if is_open else []
        elif is_open and _belongs(line, blocks[-1][0]):
            blocks[-1].append(line)
        else:
            is_open = False
            heading += line.level > 0
    return blocks


def _belongs(line: Line, first: Line) -> bool:
    if line.level:
        return 0 < first.level < line.level
    outside_the_list = first.marker and not line.marker and line.indent <= first.indent
    return not (outside_the_list and _REMEDIATION.match(line.text))


def _constraint(block: list[Line], rows: list[str]) -> Constraint:
    stated = _STATED.match(block[0].text)
    assert stated, "a block begins with the line that states its constraint"
    nature, rest = _nature(stated[1], stated[3])
    parts = _parts([rest, *(line.text for line in block[1:])])
    if nature is None and (named := _NATURE.match(parts.get("Nature", ""))):
        nature = Nature(named[1].upper())
    statement = parts.pop("Statement")
    before = block[0].text[: max(block[0].text.find(statement), 0)]
    if before.count("**") % 2:  # bold began before the statement and ends in it
        statement = statement.replace("**", "", 1)
    text = "\n".join(rows[block[0].row : block[-1].row + 1])
    return Constraint(stated[2], statement, nature, text, parts)


def _nature(before: str | None, text: str) -> tuple[Nature | None, str]:
    """Returns the nature that stands before the id, after it or at the end of its line, and the text without it."""
    if before:
        return Nature(before), text
    word = _NATURE.match(text)
    if word and (word[1].isupper() or word[2].strip("*_` ")):
        return (None if _EITHER.match(word[3]) else Nature(word[1].upper())), word[3]
    last = _NATURE_LAST.search(text)
    return (Nature(last[1]), text[: last.start()]) if last else (None, text)


def _parts(texts: list[str]) -> dict[str, str]:
    """Returns what stands at each label; what stands before all of them is the Statement."""
    found: dict[str, list[str]] = {"Statement": []}
    part = "Statement"
    for text in texts:
        end = 0
        lead = re.match(r"[\W_]*", text)
        for label in _PART.finditer(text):
            at_start = lead is not None and label.start() <= lead.end()
            inside = label[2][:1] in (":", "=") and (label[1][0].isupper() or text[label.start() - 2] in ".;|")
            if at_start or inside:
                found[part].append(text[end : label.start()])
                part, end = _PART_OF[label[1].lower()], label.end()
                found.setdefault(part, [])
        found[part].append(text[end:])
    statement = next(filter(says, found.pop("Statement")), "").lstrip(" *_:—–-").rstrip(" *_")
    return {"Statement": statement} | {part: " ".join(pieces) for part, pieces in found.items()}


def _lacks(constraint: Constraint, needs_request: bool) -> Iterator[str]:
    name, parts = constraint.id, constraint.parts
    if not constraint.statement:
        yield f"{name} states nothing: say in one sentence what holds, `- [{name}] CONSTRAINT: …`."
    if constraint.nature is None:
        yield f"{name} does not say what it is: write `- [{name}] CONSTRAINT: …` or `- [{name}] OPPORTUNITY: …`."
    for label, what in _NEEDS.get(constraint.nature, {}).items() if constraint.nature else ():
        if not says(parts.get(label, "")):
            yield f"{name} does not say {what}: add `{label}: …` to it."
    if needs_request and not says(parts.get("Remediation", "")):
        yield f"{name} asks for no remediation: add `Remediation: …` to it."


def _misnumbered(lines: list[Line], ids: list[str]) -> Iterator[str]:
    times = Counter(ids)
    for name in (name for name in times if times[name] > 1):
        yield f"{name} is stated {times[name]} times: give each constraint an id of its own."
    mentioned = dict.fromkeys(match[1] for line in lines for match in _MENTIONED.finditer(line.text))
    for name in (name for name in mentioned if name not in times):
        yield f"{name} is mentioned but not stated: state it as `- [{name}] …`; an earlier turn's is written T3.{name}."
