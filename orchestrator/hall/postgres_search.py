"""The index of words on PostgreSQL: rows beside the entries, written with them and taken with them.

The server is given the words that `search` cuts, never a text or a query to cut by itself: how it would, depends on the
locale of the database. An index of single words finds the entries; words in a row are looked for in their folded text,
since a tsvector keeps no more than 256 places of a word, and none behind the 16,383rd.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from math import log
from typing import Any

from orchestrator.errors import HallError
from orchestrator.hall import ledger
from orchestrator.hall.ledger import StoredLine
from orchestrator.hall.postgres_schema import Connection
from orchestrator.hall.search import Query, Term, folded_text, is_weighty, place_of
from orchestrator.hall.store import Place

_WEIGHT = 3.0  # of what is found in a topic or a decision, against the same in a turn
_LONGEST = 255  # characters of a word that are told apart: 2,046 bytes are the most that an index takes
_MOST_PLACES, _LAST_PLACE = 255, 16_383
_MOST_BYTES = 500_000  # of the words of one text; no index takes a million

_NEWEST_FIRST = "at DESC, no DESC, seq DESC"


def put_words(db: Connection, no: int, thread_id: str, lines: Iterable[StoredLine]) -> None:
    """Adds the words of entries that are looked through to the index."""
    rows = [(no, *said) for line in lines for said in _said(thread_id, line)]
    if rows:
        with db.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO said (no, seq, at, weight, folded, words) VALUES (%s, %s, %s, %s, %s, %s::tsvector)", rows
            )


def _said(thread_id: str, line: StoredLine) -> Iterator[tuple[int, str, float, str, str]]:
    with suppress(HallError):  # what is wrong with it, verify says
        read = ledger.read_alone(thread_id, line)
        if read.text is not None and place_of(read.entry.body) is not None:
            folded = folded_text(read.text)
            weight = _WEIGHT if is_weighty(read.entry.body) else 1.0
            yield line.seq, read.entry.at, weight, f" {folded} ", _vector(folded.split())


def _vector(words: Sequence[str]) -> str:
    """Words with their places, as PostgreSQL reads them."""
    places: dict[str, list[int]] = {}
    room = _MOST_BYTES
    for place, word in enumerate(words, 1):
        cut = word[:_LONGEST]
        if cut not in places:
            room -= len(cut.encode())
            if room < 0:
                break
            places[cut] = []
        if len(places[cut]) < _MOST_PLACES:
            places[cut].append(min(place, _LAST_PLACE))
    return " ".join(f"{_quoted(word)}:{','.join(map(str, at))}" for word, at in places.items())


def find(db: Connection, query: Query, apart: bool) -> Sequence[Place]:
    """Returns what a store's `search` does."""
    rarities = [_rarity(db, term) for term in query.terms] if len(query.terms) > 1 else [1.0]
    rank, ranked_by = _rank(query, rarities)
    conditions, values = zip(*map(_condition, query.terms), strict=True)
    if not apart:
        found, given = " AND ".join(conditions), _flat(values)
    else:
        threads = " INTERSECT ".join(f"SELECT no FROM said WHERE {condition}" for condition in conditions)
        found, given = f"({' OR '.join(conditions)}) AND no IN ({threads})", _flat(values) * 2
    rows = db.execute(
        f"SELECT thread_id, seq, no FROM said JOIN threads USING (no) WHERE {found}"
        f" ORDER BY ({rank}) * weight DESC, {_NEWEST_FIRST}",
        (*given, *ranked_by),
    ).fetchall()
    best = {no: Place(thread_id, seq) for thread_id, seq, no in reversed(rows)} if apart else {}
    if apart:
        return list(dict.fromkeys(best[no] for _, _, no in rows))
    return [Place(thread_id, seq) for thread_id, seq, _ in rows]


def _condition(term: Term) -> tuple[str, list[str]]:
    if len(term.words) == 1:
        return "words @@ %s::tsquery", [_tsquery(term)]
    in_a_row = " ".join(term.words)
    return "(words @@ %s::tsquery AND strpos(folded, %s) > 0)", [
        _tsquery(term),
        f" {in_a_row}" if term.begun else f" {in_a_row} ",
    ]


def _tsquery(term: Term) -> str:
    *whole, last = (_quoted(word[:_LONGEST]) for word in term.words)
    return " & ".join([*whole, f"{last}:*" if term.begun else last])


def _quoted(word: str) -> str:
    doubled = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{doubled}'"


def _rarity(db: Connection, term: Term) -> float:
    """What a term counts for among others: the less, the more entries hold it."""
    asked = db.execute("SELECT count(*) FROM said WHERE words @@ %s::tsquery", (_tsquery(term),)).fetchone()
    return 1 / (1 + log(1 + asked[0])) if asked else 1.0


def _rank(query: Query, rarities: Sequence[float]) -> tuple[str, list[Any]]:
    """The sum of what each term counts for, as often as it stands in a text, the less the longer that is."""
    each = " + ".join(["%s::float8 * ts_rank(words, %s::tsquery, 1)"] * len(query.terms))
    return each, _flat([rarity, _tsquery(term)] for rarity, term in zip(rarities, query.terms, strict=True))


def _flat(values: Iterable[Sequence[Any]]) -> list[Any]:
    return [value for several in values for value in several]
