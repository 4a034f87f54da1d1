"""What a run asks and what came of it, written down before and after every call, so that nothing is bought twice.

A reply that was paid for is found again by its seat's slot, its step and what was asked, whatever route gave it. A call
whose outcome nobody knows, because its process died before, is uncertain: it is listed, counted at its bound, and made
again.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple, cast

import anyio

from orchestrator.budget import Bound, taken, total_bound
from orchestrator.errors import ModelError
from orchestrator.hall.canonical import SaltedText
from orchestrator.hall.hall import Hall
from orchestrator.hall.journal import Begun, Intent, JournalLine, Outcome, Record, Reused
from orchestrator.hall.store import Lease
from orchestrator.iso_time import iso_utc
from orchestrator.models.base import Message, Reply, Request, Usage
from orchestrator.usage import amount, total
from orchestrator.worker import in_thread


class Ask(NamedTuple):
    """A call that a seat needs: for which step, and what is asked."""

    slot: str
    step: str
    request: Request


class Past(NamedTuple):
    """What came of a call that was made already: a reply, or a failure's code, with its answer of no use.

    `number` is the record's; `thread` names the debate that this one replays, where it was a call of that one.
    """

    number: int
    route: str
    reply: Reply | None
    failed: str | None
    text: str
    usage: Usage | None
    thread: str | None = None


class Heard(NamedTuple):
    """A reply and the route that gave it; `known` is the call that paid for it, where that was an earlier one."""

    reply: Reply
    route: str
    known: Past | None = None


@dataclass(frozen=True, slots=True)
class Uncertain:
    """A call whose outcome nobody knows; `at` is when it was to be made, `bound` the most it can have taken."""

    slot: str
    step: str
    attempt: int
    route: str
    at: str
    bound: Bound

    def __str__(self) -> str:
        return f"{self.slot} {self.step}, attempt {self.attempt} through {self.route} at {self.at}"


class Journal:
    """One thread's journal, for the process that holds its lease.

    Args:
        hall: where the thread is.
        lease: what is written is refused (LeaseLost) once it is good no more.
        lines: the journal so far.
        clock: says what time it is, in UTC.
    """

    def __init__(
        self,
        hall: Hall,
        lease: Lease,
        lines: Iterable[JournalLine] = (),
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._hall, self._lease, self._clock = hall, lease, clock
        self._lines: list[JournalLine] = []
        self._intents: dict[int, JournalLine] = {}  # by number
        self._attempts = Counter[tuple[str, str]]()  # by slot and step
        self._ended = defaultdict[tuple[str, str], list[JournalLine]](list)  # outcomes, by slot and step
        self._writing = anyio.Lock()
        self._add(lines)

    @classmethod
    async def opened(cls, hall: Hall, lease: Lease) -> Journal:
        """Reads a thread's journal.

        Raises:
            LedgerBroken, StoreError
        """
        return cls(hall, lease, await in_thread(hall.journal, lease.thread_id))

    @classmethod
    def to_read(cls, hall: Hall, thread_id: str) -> Journal:
        """A thread's journal for one who writes nothing.

        Raises:
            LedgerBroken, StoreError
        """
        return cls(hall, Lease(thread_id, 0), hall.journal(thread_id))

    async def begin(self, folder: str | None, changes: str | None, adr: str | None = None) -> None:
        """Notes that this process takes the run up."""
        begun = Begun(epoch=self._lease.epoch, at=self._now(), folder=folder, changes=changes, adr=adr)
        await self._write([(begun, None, None)])

    async def intend(self, asks: Sequence[Ask], bounds: Sequence[Bound]) -> list[int]:
        """Notes calls that are about to be made, all at once; returns the numbers of their records."""
        records = []
        for ask, bound in zip(asks, bounds, strict=True):
            words = SaltedText(_asked(ask.request.messages), secrets.token_hex(32))
            intent = Intent(
                epoch=self._lease.epoch,
                at=self._now(),
                slot=ask.slot,
                step=ask.step,
                attempt=self._attempts[_seat(ask)] + 1,
                route=ask.request.model,
                request=words.digest,
                tokens=bound.tokens,
                cost=amount(bound.cost_usd),
            )
            records.append((intent, words.text, words.salt))
        return await self._write(records)

    async def heard(self, number: int, reply: Reply) -> None:
        """Notes a reply; it is written even while the call is being cancelled, for it is paid for."""
        words = SaltedText(reply.text, secrets.token_hex(32))
        outcome = Outcome(
            at=self._now(),
            intent=number,
            answered=reply.model,
            digest=words.digest,
            charged=True,
            **_counts(reply.usage),
        )
        await self._write([(outcome, words.text, words.salt)])

    async def failed(self, number: int, error: ModelError) -> None:
        """Notes that a call brought nothing, or an answer of no use."""
        words = SaltedText(error.text, secrets.token_hex(32)) if error.text else None
        outcome = Outcome(
            at=self._now(),
            intent=number,
            failed=error.code,
            digest=words.digest if words else None,
            charged=error.maybe_billed,
            **_counts(error.usage),
        )
        await self._write([(outcome, words.text if words else None, words.salt if words else None)])

    async def never_made(self, number: int) -> None:
        """Notes that a call was not made after all: the run was over while it waited for its turn."""
        await self._write([(Outcome(at=self._now(), intent=number, failed=_NEVER_MADE), None, None)])

    async def reused(self, ask: Ask, past: Past) -> None:
        """Notes that the debate which this one replays had paid for a reply; once, however often it is read."""
        assert past.thread is not None, "what this one paid for itself is no news"
        where = (ask.slot, ask.step, past.thread, past.number)
        told = (line.record for line in self._lines if isinstance(line.record, Reused))
        if where in ((one.slot, one.step, one.thread, one.record) for one in told):
            return
        reused = Reused(
            epoch=self._lease.epoch,
            at=self._now(),
            slot=ask.slot,
            step=ask.step,
            route=past.route,
            thread=past.thread,
            record=past.number,
        )
        await self._write([(reused, None, None)])

    def past(self, ask: Ask) -> tuple[Past, ...]:
        """Returns what came when the same seat asked the same before, in order."""
        ended = self._ended.get(_seat(ask))
        if not ended:
            return ()  # mostly so, and before a whole prompt is hashed
        asked = _asked(ask.request.messages)
        return tuple(filter(None, (self._past(line, asked) for line in ended)))

    def _past(self, line: JournalLine, asked: str) -> Past | None:
        """What came of a call, if it asked the same; what was asked before a redaction is gone."""
        outcome = cast(Outcome, line.record)
        intent = self._intents[outcome.intent]
        return _past(line, outcome, cast(Intent, intent.record)) if intent.text == asked else None

    @property
    def written(self) -> int:
        """How many records there are."""
        return len(self._lines)

    @property
    def begun(self) -> tuple[Begun, ...]:
        """Every time a process took the run up."""
        return tuple(line.record for line in self._lines if isinstance(line.record, Begun))

    @property
    def uncertain(self) -> tuple[Uncertain, ...]:
        """The calls whose outcome nobody knows; while none is under way."""
        return tuple(_uncertain(intent) for intent in _without_outcome(self._lines))

    @property
    def newly_uncertain(self) -> tuple[Uncertain, ...]:
        """Those of the process that held the run last."""
        last = max((line.number for line in self._lines if isinstance(line.record, Begun)), default=-1)
        return tuple(_uncertain(intent) for intent in _without_outcome(self._lines, after=last))

    @property
    def spent(self) -> Usage:
        """What the providers counted, of every call of every process."""
        return total(
            usage for line in self._lines if isinstance(line.record, Outcome) and (usage := _usage(line.record))
        )

    @property
    def spent_at_most(self) -> Bound:
        """What every call took, those without a count at their bound, unless they certainly cost nothing."""
        lines = self._lines
        intents = {line.number: _bound(line.record) for line in lines if isinstance(line.record, Intent)}
        outcomes = [line.record for line in lines if isinstance(line.record, Outcome)]
        ended = [taken(intents[outcome.intent], _usage(outcome), charged=outcome.charged) for outcome in outcomes]
        return total_bound([*ended, *(_bound(intent) for intent in _without_outcome(lines))])

    def _add(self, lines: Iterable[JournalLine]) -> None:
        for line in lines:
            self._lines.append(line)
            match line.record:
                case Intent() as intent:
                    self._intents[line.number] = line
                    self._attempts[_seat(intent)] += 1
                case Outcome() as outcome if outcome.intent in self._intents and outcome.failed != _NEVER_MADE:
                    self._ended[_seat(cast(Intent, self._intents[outcome.intent].record))].append(line)

    async def _write(self, records: Sequence[tuple[Record, str | None, str | None]]) -> list[int]:
        with anyio.CancelScope(shield=True):
            async with self._writing:  # numbers follow one another without a gap
                first = len(self._lines)
                lines = [JournalLine(first + n, *record) for n, record in enumerate(records)]
                await in_thread(self._hall.runs.keep, self._lease, lines)
                self._add(lines)
        return [line.number for line in lines]

    def _now(self) -> str:
        return iso_utc(self._clock(), "milliseconds")


_NEVER_MADE = "never_made"
_UNCOUNTED = Usage(input=0, cached=0, output=0, cost_usd=None)


def _past(line: JournalLine, outcome: Outcome, intent: Intent) -> Past:
    usage, text = _usage(outcome), line.text or ""
    heard = outcome.failed is None and line.text is not None  # a redaction takes texts
    reply = Reply(text, outcome.answered or intent.route, usage or _UNCOUNTED) if heard else None
    return Past(line.number, intent.route, reply, outcome.failed, text, usage)


def _seat(asked: Intent | Ask) -> tuple[str, str]:
    return asked.slot, asked.step


def _asked(messages: Sequence[Message]) -> str:
    """The hash of what is asked: routes, limits and waits are not part of it."""
    told = json.dumps([(message.speaker, message.text) for message in messages], ensure_ascii=False)
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()


def _counts(usage: Usage | None) -> dict[str, Any]:
    if usage is None:
        return {}
    tokens = {"input": usage.input, "cached": usage.cached, "output": usage.output, "thinking": usage.thinking or None}
    return {**tokens, "cost": amount(usage.cost_usd)}


def _usage(outcome: Outcome) -> Usage | None:
    if outcome.input is None:
        return None
    cost = None if outcome.cost is None else Decimal(outcome.cost)
    return Usage(outcome.input, outcome.cached or 0, outcome.output or 0, cost, outcome.thinking or 0)


def _bound(intent: Intent) -> Bound:
    return Bound(intent.tokens, None if intent.cost is None else Decimal(intent.cost))


def _without_outcome(lines: Sequence[JournalLine], after: int = -1) -> Iterator[Intent]:
    ended = {line.record.intent for line in lines if isinstance(line.record, Outcome)}
    for line in lines:
        if isinstance(line.record, Intent) and line.number > after and line.number not in ended:
            yield line.record


def _uncertain(intent: Intent) -> Uncertain:
    return Uncertain(intent.slot, intent.step, intent.attempt, intent.route, intent.at, _bound(intent))
