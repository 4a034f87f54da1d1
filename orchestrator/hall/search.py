"""What people look for: a query as it was typed, the words it stands for, and where in a text these stand.

Texts and queries are cut into words by one function, here. Whatever index a store keeps, it is given and asked for
these words and nothing else, so that no sign of a query reaches the syntax of any. In scripts that leave no blanks
between words each character is a word, and what was typed in a row is a phrase: so words inside such a run are found.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from orchestrator.errors import InvalidInput
from orchestrator.hall.debate import Line
from orchestrator.hall.entries import Body, Closed, Note, Opened, Refined, Turn, Vote
from orchestrator.hall.terms import About

MAX_WORDS = 64
SNIPPET = 200  # characters: about thirty words
_LEAD = SNIPPET // 3  # of them before the first match, at most
_SHORTEST_BEGINNING = 3  # letters from which the last word of a query is also the beginning of one

_ACCENTS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f"  # above and below letters; no word is told by them alone
_UNSPACED = (
    "\u0e01-\u0edf\u1000-\u109f\u1780-\u17dd"  # Thai and Lao, Burmese, Khmer
    "\u1100-\u11ff\uac00-\ud7a3"  # Hangul, whose words carry their particles
    "\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # kana
    "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
_SIGNS = "\u2600-\u27bf\U0001f300-\U0001faff"  # emoji and their kin
_WORD = re.compile(rf"(?:[^\W_{_UNSPACED}][{_ACCENTS}]*)+|[{_UNSPACED}{_SIGNS}]")
_ASCII_WORD = re.compile("[0-9a-z]+")
_PUNCTUATION = re.compile("[\u2010-\u2027\u2030-\u2043]+")  # dashes, quotation marks, bullets, ellipses
_NO_LETTER = re.compile(rf"[\x00-/:-`{{-\x7f{_ACCENTS}]")  # of ASCII only digits and small letters are left
_QUOTES = str.maketrans("“”„‟«»＂", '"' * 7)
_TYPED = re.compile(r'"([^"]*)"|(\S+)')


class Word(NamedTuple):
    """A word as it is compared, and from where to where it stands in its text."""

    folded: str
    start: int
    end: int


class Term(NamedTuple):
    """Words in a row; where it is `begun`, the last of them may go on."""

    words: tuple[str, ...]
    begun: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for: every term must stand in a text, in any order."""

    terms: tuple[Term, ...]


class Snippet(NamedTuple):
    """A part of a text on one line, and from where to where in it something stands that was looked for."""

    text: str
    matches: tuple[tuple[int, int], ...]


def read(typed: str) -> Query:
    """Returns the query that a person typed: words, and "phrases" in quotation marks.

    The last word is also the beginning of one, unless it stands in quotation marks. A word with signs in it, `T3.C1`
    say, is a phrase. All other signs mean nothing.

    Raises:
        InvalidInput: it has no words, or more than `MAX_WORDS`.
    """
    if not isinstance(typed, str):
        raise InvalidInput(f"A query is text, not {type(typed).__name__}.")
    typed = composed(typed).translate(_QUOTES)
    terms = [term for found in _TYPED.finditer(typed) if (term := _term(found)).words]
    if not terms:
        raise InvalidInput("There is no word in what is looked for.", "Send words; letters and digits make one.")
    *before, last = terms
    unique = tuple(dict.fromkeys([*(term._replace(begun=False) for term in before), last]))
    count = sum(len(term.words) for term in unique)
    if count > MAX_WORDS:
        raise InvalidInput(f"{count:,} words are looked for; at most {MAX_WORDS} can be.", "Send the rarest of them.")
    return Query(unique)


def _term(typed: re.Match[str]) -> Term:
    quoted, bare = typed.groups()
    folded = tuple(word.folded for word in words(bare if quoted is None else quoted))
    return Term(folded, quoted is None and bool(folded) and len(folded[-1]) >= _SHORTEST_BEGINNING)


def composed(text: str) -> str:
    """Returns a text with one character for a letter and what stands on it, where Unicode has one."""
    return unicodedata.normalize("NFC", text)


def words(text: str) -> Iterator[Word]:
    """Returns the words of a composed text, without regard to case and accents."""
    for found in _WORD.finditer(text):
        folded = _folded(found[0])
        if folded:
            yield Word(folded, found.start(), found.end())


def folded_text(text: str) -> str:
    """Returns the words of a text with blanks between them, as an index keeps them.

    They are letters, digits and what is not ASCII, so that to part them at blanks is all that an index has to do.
    """
    plain = _PUNCTUATION.sub(" ", text)
    if plain.isascii():  # most texts are, and this takes a third of the time
        return " ".join(_ASCII_WORD.findall(plain.lower()))
    return " ".join(word.folded for word in words(composed(text)))


@lru_cache(maxsize=1 << 15)
def _folded(word: str) -> str:
    if word.isascii():
        return word.lower()
    apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", word).casefold())
    return unicodedata.normalize("NFC", _NO_LETTER.sub("", apart))


def place_of(body: Body) -> str | None:
    """Returns what an entry is in a debate, where its text is among those that are looked through: T3, decision."""
    match body:
        case Opened():
            return "topic"
        case Turn():
            return f"T{body.turn_index + 1}"
        case Vote():
            return "vote"
        case Refined():
            return f"refinement {body.number}"
        case Note(about=About.REMARK):
            return "remark"
        case Closed():
            return "decision"
        case _:
            return None


def is_weighty(body: Body) -> bool:
    """Whether what is found in an entry counts for more: in what was asked, and in what was decided."""
    return isinstance(body, Opened | Closed)


def is_told(line: Line, better: Iterable[Line]) -> bool:
    """Whether a better hit of the same debate says this again: the decision, a turn of which it is a part."""
    said = (line.text or "").strip()
    return any(
        other.text is not None
        and (other.text.strip() == said or (isinstance(other.entry.body, Closed) and other.text.strip() in said))
        for other in better
    )


def snippet(text: str, query: Query) -> Snippet:
    """Returns the part of a text in which most of a query stands; its beginning where nothing of it does."""
    text = composed(text)
    found = list(words(text))
    spans = sorted(_spans(found, query))
    first, last = _densest(spans)
    starts = [word.start for word in found]
    lead = min(_LEAD, max(0, SNIPPET - (last - first)))
    begin = starts[bisect_left(starts, first - lead)] if spans else 0
    end = _end(text, found, begin)
    whole = (begin if text[:begin].strip() else 0, end if text[end:].strip() else len(text))
    return _on_one_line(text, whole, _merged((start, stop) for start, stop, _ in spans if start >= begin))


class _Span(NamedTuple):
    start: int
    end: int
    term: int  # its place in the query


def _spans(found: Sequence[Word], query: Query) -> Iterator[_Span]:
    """Where each term stands in a text, given its words."""
    places: dict[str, list[int]] = {}
    for at, word in enumerate(found):
        places.setdefault(word.folded, []).append(at)
    for number, (parts, begun) in enumerate(query.terms):
        if begun and len(parts) == 1:
            begins = [at for folded, several in places.items() if folded.startswith(parts[0]) for at in several]
        else:
            begins = places.get(parts[0], [])
        for at in begins:
            if _stands(found[at : at + len(parts)], parts, begun):
                yield _Span(found[at].start, found[at + len(parts) - 1].end, number)


def _stands(found: Sequence[Word], parts: Sequence[str], begun: bool) -> bool:
    if len(found) < len(parts):
        return False
    *whole, last = (word.folded for word in found)
    return whole == list(parts[:-1]) and (last.startswith(parts[-1]) if begun else last == parts[-1])


def _densest(spans: Sequence[_Span]) -> tuple[int, int]:
    """From where to where the first part of a snippet's size goes in which most terms stand."""
    best, window = (0, 0), (0, 0)
    ahead = 0
    inside: dict[int, int] = {}  # how often each term stands in the window
    for at, span in enumerate(spans):
        if at:
            inside[spans[at - 1].term] -= 1
        while ahead < len(spans) and (ahead <= at or spans[ahead].end <= span.start + SNIPPET):
            inside[spans[ahead].term] = inside.get(spans[ahead].term, 0) + 1
            ahead += 1
        worth = (sum(map(bool, inside.values())), sum(inside.values()))
        if worth > best:
            best, window = worth, (span.start, spans[ahead - 1].end)
    return window


def _end(text: str, found: Sequence[Word], begin: int) -> int:
    """Where a snippet ends that begins there: behind the last word that fits, and the signs that follow it."""
    fitting = [word.end for word in found if begin < word.end <= begin + SNIPPET]
    if not fitting:
        return min(len(text), begin + SNIPPET)
    signs = re.compile(r"[^\w\s]{0,3}").match(text, fitting[-1])
    return signs.end() if signs else fitting[-1]


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _on_one_line(text: str, whole: tuple[int, int], spans: Iterable[tuple[int, int]]) -> Snippet:
    begin, end = whole
    line = "… " if text[:begin].strip() else ""
    matches: list[tuple[int, int]] = []
    at = begin
    for start, stop in spans:
        if start >= end:
            break
        line += _blanks(text[at:start], line)
        matched = _blanks(text[start : min(stop, end)], line)
        matches.append((len(line), len(line) + len(matched)))
        line += matched
        at = min(stop, end)
    line = (line + _blanks(text[at:end], line)).rstrip()
    return Snippet(f"{line} …" if text[end:].strip() else line, tuple(matches))


def _blanks(part: str, before: str) -> str:
    """A part of a text with a blank for each run of white space; none where one stands before it, or nothing does."""
    line = re.sub(r"\s+", " ", part)
    return line.lstrip() if not before or before.endswith(" ") else line
