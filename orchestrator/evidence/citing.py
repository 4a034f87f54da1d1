"""Citations of the evidence in a turn's text: found with the words they quote, and checked.

A citation names a piece by its id or its path, and lines of it: `[E1:12-18]`, `[docs/billing.md:12]`. The words it
quotes stand in its brackets, `[E1:12: "…"]`, or directly before or behind it: `"…" [E1:12]`, `[E1:12] "…"`.

What names no piece is a citation all the same, and a broken one, where it can only be meant as one: an id; a path with
a slash and an ending; where there is evidence, also a bare name that ends as sources and documents do
(`[README.md:12]`). So `[example.com:443]`, `[db.internal:5432]` and `[12:30]` are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from orchestrator.evidence.pieces import Evidence
from orchestrator.evidence.prose import Prose, prose_of
from orchestrator.evidence.quotations import end_of_quotation, is_tight, quotation_after, quotation_before
from orchestrator.evidence.standing import misquoted
from orchestrator.wording import counted

LONGEST_CLAIM = 300


@dataclass(frozen=True, slots=True)
class Citation:
    """`[E1:12-18]`, or `[E1:12]` where first and last are one line, and the words quoted with it, without their marks.

    `id` is what the citation names: a piece's id, or its path.
    """

    id: str
    first: int
    last: int
    quote: str | None = None

    def __str__(self) -> str:
        return f"[{self.id}:{self.first}]" if self.first == self.last else f"[{self.id}:{self.first}-{self.last}]"


@dataclass(frozen=True, slots=True)
class Cited:
    """A citation where it stands in a text, from `at` to before `end`, the words it quotes included.

    `claim` is the sentence it stands in, on one line; `problem` says why the citation does not hold.
    """

    citation: Citation
    at: int
    end: int
    claim: str
    problem: str | None


def cited(text: str, evidence: Sequence[Evidence]) -> tuple[Cited, ...]:
    """Every citation of a text in order, checked; those in fenced code are somebody else's text."""
    prose = prose_of(text)
    places = list(_found(prose, evidence))
    problems = {citation: check(citation, evidence) for citation in {found.citation for found in places}}
    return tuple(
        Cited(
            citation=found.citation,
            at=found.at,
            end=found.end,
            claim=prose.sentence(found.at, found.end, LONGEST_CLAIM),
            problem=problems[found.citation],
        )
        for found in places
    )


def citations(text: str, evidence: Sequence[Evidence] = ()) -> tuple[Citation, ...]:
    """The citations of a text, each once, in order of appearance."""
    return tuple(dict.fromkeys(found.citation for found in _found(prose_of(text), evidence)))


def check(citation: Citation, evidence: Sequence[Evidence]) -> str | None:
    """Why a citation does not hold; None when its piece and lines exist and the quoted words stand in them."""
    source = piece_of(citation, evidence)
    if source is None:
        known = f"the evidence is {', '.join(piece.id for piece in evidence)}" if evidence else "no evidence was given"
        return f"there is no {citation.id}; {known}"
    if citation.first < 1:
        return "lines are counted from 1"
    if citation.last < citation.first:
        return f"line {citation.last} stands before line {citation.first}"
    if citation.last > len(source.lines):
        return f"{source.path} has {counted(len(source.lines), 'line')}"
    if citation.quote is not None:
        return misquoted(citation.quote, citation.first, citation.last, source)
    return None


def piece_of(citation: Citation, evidence: Sequence[Evidence]) -> Evidence | None:
    """The piece that a citation names; None where there is none such."""
    return next((piece for piece in evidence if citation.id in (piece.id, *_names(piece))), None)


def with_broken_marked(text: str, evidence: Sequence[Evidence]) -> str:
    """The text with ` (broken: why)` behind each citation that does not hold, and otherwise as it is."""
    parts, done = [], 0
    for found in cited(text, evidence):
        if found.problem is not None:
            parts += [text[done : found.end], f" (broken: {found.problem})"]
            done = found.end
    return "".join([*parts, text[done:]])


@dataclass(frozen=True, slots=True)
class _Place:
    citation: Citation
    at: int
    end: int


def _found(prose: Prose, evidence: Sequence[Evidence]) -> Iterator[_Place]:
    """The citations with their quotations.

    A quotation between two citations belongs to the one behind it if it stands nearer to that and that one has no
    other, else to the one before it.
    """
    text, taken = prose.text, 0
    brackets = list(_brackets(prose, tuple(name for piece in evidence for name in _names(piece))))
    for number, own in enumerate(brackets):
        following = brackets[number + 1] if number + 1 < len(brackets) else None
        start, end = prose.block(own.at)
        found = own
        if own.citation.quote is None:
            limit = min(end, following.at if following else end)
            before = quotation_before(text, own.at, max(start, taken))
            after = None if before else quotation_after(text, own.end, limit)
            if after and following and _is_nearer(prose, own, after, following, brackets[number + 2 : number + 3]):
                after = None
            if quotation := before or after:
                quote = text[quotation[0] + 1 : quotation[1] - 1]
                places = min(own.at, quotation[0]), max(own.end, quotation[1])
                found = _Place(replace(own.citation, quote=quote), *places)
        taken = found.end
        yield found


def _is_nearer(
    prose: Prose, own: _Place, quotation: tuple[int, int], following: _Place, then: Sequence[_Place]
) -> bool:
    text = prose.text
    if following.citation.quote is not None or is_tight(text, own.end, quotation[0]):
        return False
    limit = min([prose.block(following.at)[1], *(place.at for place in then)])
    return is_tight(text, quotation[1], following.at) and quotation_after(text, following.end, limit) is None


def _brackets(prose: Prose, paths: tuple[str, ...]) -> Iterator[_Place]:
    text = prose.text
    for match in _opening(paths).finditer(text):
        id, first, last = match.groups()
        citation = Citation(id, int(first), int(last or first))
        if text.startswith("]", match.end()):
            yield _Place(citation, match.start(), match.end() + 1)
            continue
        start = _BEFORE_WORDS.match(text, match.end())
        end = end_of_quotation(text, start.end(), prose.block(match.start())[1]) if start else None
        if start and end and (closes := _CLOSES.match(text, end)):
            yield _Place(replace(citation, quote=text[start.end() + 1 : end - 1]), match.start(), closes.end())


_BEFORE_WORDS = re.compile(r"[ \t]*[:,;]?[ \t]*\n?[ \t]*")
_CLOSES = re.compile(r"[ \t]*\]")
_PATH = r"(?:\.{0,2}/)?(?:[\w.~@+-]{1,100}/)+[\w.~@+-]{0,100}\.[A-Za-z]\w{0,9}"  # also of a file that is not there
_ENDINGS = (  # of sources and documents; com, app, net, info and the like are rather those of hosts
    "adoc|csv|docx|ipynb|log|markdown|md|mdx|pdf|rst|tex|tsv|txt|"
    "cfg|conf|env|gradle|hcl|ini|json|jsonl|lock|properties|proto|tf|toml|"
    "css|diff|graphql|htm|html|patch|sass|scss|svelte|svg|vue|xml|yaml|yml|"
    "bash|c|cc|cjs|clj|cpp|cs|cxx|dart|erl|ex|exs|go|groovy|h|hpp|hs|java|jl|js|jsx|kt|kts|lua|m|mjs|ml|mm|"
    "php|pl|ps1|py|pyi|r|rb|rs|scala|sh|sol|sql|swift|ts|tsx|zig|zsh"
)
_NAME = rf"[\w.~@+-]{{1,100}}\.(?i:{_ENDINGS})"


@lru_cache(maxsize=16)
def _opening(paths: tuple[str, ...]) -> re.Pattern[str]:
    """A citation up to its lines. What looks like no path is one all the same when the evidence has it."""
    known = "".join(f"|{re.escape(path)}" for path in sorted(paths, key=len, reverse=True))
    known += f"|{_NAME}" if paths else ""
    return re.compile(rf"\[(E[1-9][0-9]{{0,8}}|{_PATH}{known}):([0-9]{{1,9}})(?:[-–]([0-9]{{1,9}}))?")


def _names(piece: Evidence) -> tuple[str, ...]:
    """The ways to write its path."""
    return piece.path, f"./{piece.path}"
