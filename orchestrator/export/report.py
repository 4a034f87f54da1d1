"""What the HTML page shows, laid out: rounds with their lanes, options beside constraints, quotes beside claims."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from string import ascii_uppercase
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from orchestrator.decision.account import Option
from orchestrator.decision.decided import ConstraintAnswered
from orchestrator.decision.evidence_used import Citation as Cite
from orchestrator.decision.grounds import Grounds
from orchestrator.decision.record import DecisionRecord, Verdict
from orchestrator.evidence import Evidence, cited
from orchestrator.evidence.citing import citations, piece_of
from orchestrator.export.marks import INCOMPLETE, Mark, marks_of, objections_of, source_of
from orchestrator.hall.debate import Debate, Line
from orchestrator.hall.entries import Closed, FloorGiven, ForceClosed, Opened, Refined, Turn, Vote, text_of
from orchestrator.hall.terms import Role
from orchestrator.plan import Plan
from orchestrator.wording import shortened, visible

_VERDICT = re.compile(r"\s*VERDICT: [A-Z]+[\s.,;:–—-]*")  # with what ends its sentence
_SIGNS = re.compile(r"^[#>*`\s-]+|[#*`]+(?=\s|\b)|(?<=\S)\*+", re.MULTILINE)  # of Markdown
_STANDS_OUT = re.compile(r"^ {0,3}#{1,6} .+$|\*\*(?!\s)[^*\n]+\*\*", re.MULTILINE)
_GLIMPSE = 150  # characters
_LONG = 400  # characters of a question
_AROUND = 2  # lines of evidence shown before and behind those that are cited
_MOST_LINES = 40  # of one place; the rest is left to the file


class Words(NamedTuple):
    """An entry as the page shows it; `facts` are its members as they are stored, and its hash."""

    line: Line
    facts: Mapping[str, Any]
    said: Markup

    @property
    def seq(self) -> int:
        return self.line.entry.seq

    @property
    def glimpse(self) -> str:
        """What they begin with, on one line; a Wall's verdict is told apart."""
        return shortened(" ".join(_SIGNS.sub("", _VERDICT.sub("", self.line.words[:600])).split()), _GLIMPSE)

    def fact(self, path: str) -> Any:
        """A member by its path, `seat.cost`; None where there is none."""
        value: Any = self.facts
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        return value


def form(value: Any, how: str) -> str:
    """A stored value as it is shown; `check.js` knows the same forms."""
    match how:
        case "count":
            return f"{value:,}"
        case "dollars":
            return f"${value}"
        case "time":
            return f"{value[:19].replace('T', ' ')} UTC"
        case "turn":
            return f"T{value + 1}"
        case _:
            return str(value)


class Name(NamedTuple):
    """A turn, a constraint or lines of evidence that something rests on; without an anchor there is none such."""

    name: str
    anchor: str | None


class Lettered(NamedTuple):
    """An option, with the letter that stands for it beside the constraints."""

    letter: str
    option: Option
    turns: tuple[Name, ...]
    because: tuple[Name, ...]


class Row(NamedTuple):
    """A constraint, with the options that rest on it."""

    anchor: str
    constraint: ConstraintAnswered
    turn: Name
    options: tuple[Lettered, ...]


class Round(NamedTuple):
    number: int
    lanes: tuple[tuple[Role, tuple[Words, ...]], ...]
    settling: tuple[Words, ...]  # votes and refinements before the next round


class NumberedLine(NamedTuple):
    number: int
    text: str
    cited: bool


class Excerpt(NamedTuple):
    """A cited place of a piece, whose place in the plan is `at`, with all that rests on it."""

    anchor: str
    citation: str
    quote: str | None
    problem: str | None
    claims: tuple[Cite, ...]
    at: int
    lines: tuple[NumberedLine, ...]
    more: int  # cited lines that are not shown


class Piece(NamedTuple):
    """A piece with what is cited of it, broken places first."""

    anchor: str
    evidence: Evidence
    excerpts: tuple[Excerpt, ...]

    @property
    def broken(self) -> int:
        return sum(each.problem is not None for each in self.excerpts)


@dataclass(frozen=True)
class Report:
    """All that the page's template reads beside the record itself."""

    record: DecisionRecord
    debate: Debate
    evidence: tuple[Evidence, ...]
    grounds: Grounds

    @classmethod
    def of(cls, record: DecisionRecord, debate: Debate) -> Report:
        """Raises:
        ConfigurationError: this version cannot read the plan that is pinned in the debate.
        """
        plan = Plan.pinned_in(debate)
        evidence = plan.evidence if plan else ()
        return cls(record, debate, evidence, Grounds.of(debate, evidence))

    # ------------------------------------------------------------------------------------------------------- the words

    @cached_property
    def words(self) -> tuple[Words, ...]:
        """Every entry."""
        return tuple(
            Words(line, {**json.loads(text_of(line.entry)), "hash": line.hash}, self.said(line.text or ""))
            for line in self.debate.lines
        )

    def said(self, text: str) -> Markup:
        """Words of a seat: citations in them lead to their lines, and behind a broken one stands why it is.

        What is added stands in elements of its own, which the comparison with the ledger leaves out (`data-added`).
        """
        parts, done = [], 0
        for found in cited(text, self.evidence):
            anchor = self._anchor_of(str(found.citation), found.citation.quote)
            words = escape(visible(text[found.at : found.end]))
            parts += [_emphasised(text[done : found.at]), _cited(words, anchor, found.problem)]
            done = found.end
        return Markup("").join([*parts, _emphasised(text[done:])])

    @property
    def opening(self) -> Words:
        return self.words[0]

    @property
    def closing(self) -> Words | None:
        closing = self.debate.closing
        return self.words[closing.entry.seq] if closing else None

    @property
    def source(self) -> str | None:
        return source_of(self.debate)

    @property
    def is_titled_by_its_question(self) -> bool:
        return self.opening.line.text is not None and self.record.title == self.opening.line.text

    @property
    def has_long_question(self) -> bool:
        return len(self.opening.line.text or "") > _LONG

    @cached_property
    def marks(self) -> tuple[Mark, ...]:
        return tuple(marks_of(self.record, f"“{INCOMPLETE}” below"))

    @cached_property
    def objections(self) -> tuple[Markup, ...]:
        return tuple(map(self.said, objections_of(self.record, self.debate)))

    # ------------------------------------------------------------------------------------------------------ the debate

    @cached_property
    def rounds(self) -> tuple[Round, ...]:
        spoken = [words for words in self.words if isinstance(words.line.entry.body, Turn | Vote | Refined)]
        rounds: list[Round] = []
        for number, found in groupby(spoken, _Rounds()):
            within = list(found)
            lanes = tuple((role, tuple(each for each in within if _lane(each) is role)) for role in Role)
            rounds.append(Round(number, lanes, tuple(each for each in within if _lane(each) is None)))
        return tuple(rounds)

    @cached_property
    def verdicts(self) -> Mapping[int, Verdict]:
        """By their turns' numbers."""
        return {verdict.turn: verdict for verdict in self.record.verdicts}

    @cached_property
    def votes(self) -> Mapping[int, Any]:
        """What the record says of each vote, by its entry."""
        cast = (words.seq for words in self.words if isinstance(words.line.entry.body, Vote))
        return dict(zip(cast, self.record.votes, strict=False))

    @cached_property
    def rest(self) -> tuple[Words, ...]:
        """Entries whose words stand nowhere else on the page: notes, higher limits, why something was redacted."""
        elsewhere = Opened | FloorGiven | Turn | Vote | Refined | Closed | ForceClosed
        return tuple(words for words in self.words if not isinstance(words.line.entry.body, elsewhere))

    # ------------------------------------------------------------------------------------------ options and constraints

    @cached_property
    def options(self) -> tuple[Lettered, ...]:
        return tuple(
            Lettered(
                _letter(at),
                option,
                tuple(self.named(f"T{turn}") for turn in option.turns),
                tuple(map(self.named, option.because)),
            )
            for at, option in enumerate(self.record.options)
        )

    @cached_property
    def constraints(self) -> tuple[Row, ...]:
        return tuple(
            Row(
                self._constraint_anchors[constraint.id],
                constraint,
                self.named(f"T{constraint.turn}"),
                tuple(each for each in self.options if constraint.id in each.option.because),
            )
            for constraint in self.record.constraints
        )

    @property
    def unanswered(self) -> int:
        return sum(row.constraint.outcome == "open" for row in self.constraints)

    def named(self, name: str) -> Name:
        """A name, with where the page shows what it stands for."""
        if not self.grounds.hold(name):
            return Name(name, None)
        found = citations(f"[{name}]", self.evidence)
        if found:
            piece = piece_of(found[0], self.evidence)
            return Name(name, self._anchor_of(str(found[0]), None) or (f"evidence-{piece.id}" if piece else None))
        return Name(name, self._constraint_anchors.get(name) if "." in name else f"turn-{name[1:]}")

    @cached_property
    def _constraint_anchors(self) -> Mapping[str, str]:
        return {each.id: f"constraint-{number}" for number, each in enumerate(self.record.constraints, 1)}

    # ---------------------------------------------------------------------------------------------------- the evidence

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        excerpts = sorted(self._excerpts(), key=lambda each: each.problem is None)
        return tuple(
            Piece(f"evidence-{piece.id}", piece, tuple(each for each in excerpts if each.at == at))
            for at, piece in enumerate(self.evidence)
        )

    @cached_property
    def unplaced(self) -> tuple[Excerpt, ...]:
        """Citations of pieces that there are not."""
        return tuple(each for each in self._excerpts() if each.at < 0)

    @cached_property
    def _anchors(self) -> Mapping[tuple[str, str | None], str]:
        places = dict.fromkeys((each.citation, each.quote) for each in self.record.citations)
        return {place: f"cited-{number}" for number, place in enumerate(places, 1)}

    def _anchor_of(self, citation: str, quote: str | None) -> str | None:
        """Where a citation is shown; the same lines where nothing quotes these words."""
        same_lines = (anchor for (other, _), anchor in self._anchors.items() if other == citation)
        return self._anchors.get((citation, quote)) or next(same_lines, None)

    def _excerpts(self) -> Iterator[Excerpt]:
        claims: dict[tuple[str, str | None], list[Cite]] = {}
        for each in self.record.citations:
            claims.setdefault((each.citation, each.quote), []).append(each)
        for place, resting in claims.items():
            citation = citations(place[0], self.evidence)[0]
            piece = piece_of(citation, self.evidence)
            at = self.evidence.index(piece) if piece else -1
            lines = tuple(_around(piece, citation.first, citation.last)) if piece else ()
            more = max(0, citation.last - citation.first + 1 - _MOST_LINES) if lines else 0
            yield Excerpt(self._anchors[place], *place, resting[0].problem, tuple(resting), at, lines, more)


class _Rounds:
    """Tells the round of turns, votes and refinements in their order: a vote belongs to the turns before it."""

    def __init__(self) -> None:
        self._number = 0

    def __call__(self, words: Words) -> int:
        body = words.line.entry.body
        self._number = body.round if isinstance(body, Turn) else self._number
        return self._number


def _lane(words: Words) -> Role | None:
    body = words.line.entry.body
    return body.role if isinstance(body, Turn) else None


def _letter(at: int) -> str:
    """A … Z, then A2 …"""
    again, place = divmod(at, len(ascii_uppercase))
    return f"{ascii_uppercase[place]}{again + 1 if again else ''}"


def _emphasised(text: str) -> Markup:
    """Text in which headings and what is meant to stand out are bold, each of its characters still there."""
    return Markup(_STANDS_OUT.sub(r"<b>\g<0></b>", str(escape(visible(text)))))


def _cited(words: Markup, anchor: str | None, problem: str | None) -> Markup:
    kind = "cite broken" if problem else "cite"
    shown = Markup('<a class="{}" href="#{}">{}</a>').format(kind, anchor, words) if anchor else words
    why = Markup('<span class="added" data-added> (broken: {})</span>').format(visible(problem)) if problem else ""
    return shown + why


def _around(piece: Evidence, first: int, last: int) -> Iterator[NumberedLine]:
    """The cited lines with a few around them; none where there are no such lines."""
    if not 1 <= first <= last:
        return
    shown = range(max(1, first - _AROUND), min(last, first + _MOST_LINES - 1, len(piece.lines)) + _AROUND + 1)
    for number in shown:
        if number <= len(piece.lines):
            yield NumberedLine(number, piece.lines[number - 1], first <= number <= last)
