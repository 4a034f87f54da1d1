"""What the hall tells: debates whole or in a window, lists, checks, exports. Nothing here writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Literal

from orchestrator.errors import HallError, InvalidInput, LedgerBroken
from orchestrator.hall import filters, journal, ledger, listings, results, search
from orchestrator.hall.debate import Debate, Line, State
from orchestrator.hall.entries import Tombstoned
from orchestrator.hall.export import export_json, export_octave, require_format
from orchestrator.hall.inputs import MAX_LIMIT
from orchestrator.hall.journal import JournalLine
from orchestrator.hall.ledger import StoredLine
from orchestrator.hall.runs import Life, RunDesk
from orchestrator.hall.search import Query
from orchestrator.hall.store import Listed, Store
from orchestrator.hall.terms import LinkKind, Status


class Reader:
    """The reading half of a hall. `runs` is the desk at which runs report.

    Args:
        store: where the ledgers are.
        runs: the desk over that store.
    """

    def __init__(self, store: Store, runs: RunDesk) -> None:
        self._store, self.runs = store, runs

    def get_debate(
        self,
        thread_id: str,
        include_transcript: bool = True,
        context_turns: int | Literal["all"] | None = None,
        context_lines: int | Literal["all"] | None = None,
        include_metadata: bool = False,
    ) -> results.DebateResult:
        """Returns a debate, with all turns ("all") or the newest `context_turns`; `context_lines` is the same.

        Raises:
            UnknownThread, InvalidInput: a window below 1.
        """
        window = context_turns if context_turns is not None else context_lines
        if window is None or window == "all":
            window = MAX_LIMIT
        if type(window) is not int or window < 1:
            raise InvalidInput(f"context_turns is {window!r}; it is at least 1.", "Leave it out for all turns.")
        debate = self._windowed(thread_id, window if include_transcript else 0)
        return results.debate_result(debate, include_transcript=include_transcript, include_metadata=include_metadata)

    def reviews_of(self, thread_id: str) -> list[Debate]:
        """Returns the debates that start from a debate's decision, the oldest first; a damaged one hides no other.

        Raises:
            UnknownThread
        """
        return self._linked_to(thread_id, LinkKind.REVIEWS)

    def replays_of(self, thread_id: str) -> list[Debate]:
        """Returns the debates that hold a debate again, the oldest first; a damaged one hides no other.

        Raises:
            UnknownThread
        """
        return self._linked_to(thread_id, LinkKind.REPLAYS)

    def list_debates(
        self,
        status: str | Sequence[str] | None = None,
        text: str | None = None,
        recipe: str | None = None,
        since: str | None = None,
        until: str | None = None,
        limit: int | None = None,
    ) -> list[listings.Listing]:
        """Returns every debate, the one that moved last first.

        Args:
            status: only those with this status, or with one of these.
            text: only those whose thread id or topic holds this, in any case.
            recipe: only those that a run of this recipe opened.
            since, until: only those that moved last on or after, on or before this day, 2026-01-06.
            limit: only so many.

        Raises:
            InvalidInput
        """
        wanted = filters.read(status, text, recipe, since, until)
        most = filters.require_limit(limit) if limit is not None else None
        every = self._store.listed()
        reviews = _reviews_in(every)
        found = islice(filter(wanted.admit, every), most)
        return [
            listings.listing(listed, self._life(listed), reviews.get(listed.thread_id.lower(), ())) for listed in found
        ]

    def search_debates(
        self,
        query: str,
        limit: int = 20,
        status: str | Sequence[str] | None = None,
        recipe: str | None = None,
        since: str | None = None,
        until: str | None = None,
    ) -> listings.SearchResult:
        """Looks through topics, turns, votes, refinements, remarks and decisions; the best comes first.

        Args:
            query: words, which must all occur in one text, and "phrases" in quotation marks, as `search.read` reads it.
            limit: so many hits at most.
            status, recipe, since, until: only in such debates, as in `list_debates`.

        Raises:
            InvalidInput
        """
        asked, most = search.read(query), filters.require_limit(limit)
        wanted = filters.read(status, None, recipe, since, until)
        debates = {listed.thread_id: listed for listed in self._store.listed() if wanted.admit(listed)}
        hits = list(islice(self._hits(asked, debates), most + 1))
        apart = not hits and len(asked.terms) > 1
        if apart:
            hits = list(islice(self._hits(asked, debates, apart=True), most + 1))
        return {"hits": hits[:most], "more": len(hits) > most, "apart": apart and bool(hits)}

    def verify_debate(self, thread_id: str, head: str | None = None) -> results.VerifyResult:
        """Derives a ledger again from its first entry, and checks the journal of its runs.

        Args:
            head: a head that was kept elsewhere; it must stand in the chain.

        Raises:
            LedgerBroken: names the first bad entry.
            UnknownThread
        """
        debate, _ = self._with_journal(thread_id)
        return {
            "thread_id": debate.state.thread_id,
            "verified": True,
            "entries": len(debate.lines),
            "head": debate.head,
            "newer": ledger.require_head(debate, head) if head is not None else None,
        }

    def export_debate(self, thread_id: str, format: str = "json") -> str:
        """Returns a verified debate as JSON (all that is needed to verify it again) or as OCTAVE text.

        Raises:
            LedgerBroken, InvalidInput, UnknownThread
        """
        require_format(format)
        return (export_json if format == "json" else export_octave)(self.debate(thread_id))

    def debate(self, thread_id: str, known: Debate | None = None) -> Debate:
        """Returns a whole debate, verified.

        Args:
            known: the same debate, as this method returned it before. Only what stands behind it is read and verified,
                unless a redaction among that reaches back.

        Raises:
            LedgerBroken, UnknownThread
        """
        if known is not None:
            now, newer = self._store.newer(thread_id, known.state.seq)
            followed = ledger.follow(known, now, newer)
            if followed is not None:
                return followed
        return ledger.verify(self._store.thread(thread_id))

    def state(self, thread_id: str) -> State:
        """Returns where a debate stands, as its store keeps it beside the head.

        Raises:
            UnknownThread
        """
        return self._store.standing(thread_id).state

    def journal(self, thread_id: str) -> tuple[JournalLine, ...]:
        """Returns what the runs of a thread asked and what came of it, checked.

        Raises:
            LedgerBroken, UnknownThread
        """
        return self._with_journal(thread_id)[1]

    def _linked_to(self, thread_id: str, kind: LinkKind) -> list[Debate]:
        found = []
        for linked in self._store.linked_to(thread_id):
            with suppress(HallError):
                debate = self.debate(linked)
                if debate.opened.link is not None and debate.opened.link.kind is kind:
                    found.append(debate)
        return found

    def _with_journal(self, thread_id: str) -> tuple[Debate, tuple[JournalLine, ...]]:
        rows = self._store.journal(thread_id)  # first: of texts that a redaction takes meanwhile, the debate says why
        debate = self.debate(thread_id)
        return debate, journal.read(debate.state.thread_id, rows, redacted=self._is_redacted(debate))

    def _is_redacted(self, debate: Debate) -> bool:
        """Whether a text was deleted, of this debate or of the one it is about: its journal held that one's too."""
        link = debate.opened.link
        if link is None or debate.of(Tombstoned):
            return bool(debate.of(Tombstoned))
        with suppress(HallError):  # it is not here, or does not verify
            return bool(self.debate(link.thread_id).of(Tombstoned))
        return False

    def _hits(self, query: Query, debates: Mapping[str, Listed], apart: bool = False) -> Iterator[listings.SearchHit]:
        """What is found in these debates, read again from their ledgers; what says a better hit again is left out."""
        told: dict[str, list[Line]] = {}
        for place in self._store.search(query, apart):
            line = self._line(*place) if place.thread_id in debates else None
            if line is not None and line.text is not None and not search.is_told(line, told.get(place.thread_id, ())):
                told.setdefault(place.thread_id, []).append(line)
                yield listings.search_hit(debates[place.thread_id], line, search.snippet(line.text, query))

    def _line(self, thread_id: str, seq: int) -> Line | None:
        """An entry, checked by itself; None where it is not what was written, which verify tells, or gone."""
        with suppress(HallError):
            stored = self._store.line(thread_id, seq)
            return ledger.read_alone(thread_id, stored) if stored else None
        return None

    def _life(self, listed: Listed) -> Life:
        active = listed.state is None or listed.state.status is Status.ACTIVE
        return self.runs.life(listed.run, active)

    def _windowed(self, thread_id: str, turns: int) -> Debate:
        window = self._store.window(thread_id, turns)
        lines = tuple(_read(window.standing.state.thread_id, line) for line in window.lines)
        if not lines or lines[0].entry.seq != 0:
            raise LedgerBroken(window.standing.state.thread_id, 0, "the opening is missing")
        debate = Debate(window.standing.state, window.standing.head, lines)
        first = max(0, debate.state.turn_count - turns)
        if [line.turn.turn_index for line in debate.turns] != list(range(first, debate.state.turn_count)):
            raise LedgerBroken(debate.state.thread_id, None, "its turns are not those that its state counts")
        return debate


def _reviews_in(every: Sequence[Listed]) -> Mapping[str, Sequence[str]]:
    """For each thread the ones that start from its decision, the oldest first."""
    found: dict[str, list[str]] = {}
    for listed in sorted(every, key=lambda listed: listed.state.opened_at if listed.state else ""):
        if listed.reviews is not None:
            found.setdefault(listed.reviews.lower(), []).append(listed.thread_id)
    return found


def _read(thread_id: str, stored: StoredLine) -> Line:
    """An entry by itself: that its neighbours are there, only the whole chain shows."""
    try:
        return ledger.read_alone(thread_id, stored)
    except HallError as error:
        raise LedgerBroken(thread_id, stored.seq, error.message) from error
