"""Everything that can go wrong, drawn as one tree.

    DebateError
    ├── UsageError               what was asked for cannot be: a flag, a name, a folder
    │   └── ConfigurationError   a recipe, agent, models or context file says something wrong (file, line, key)
    ├── HallError                the hall refused an operation; nothing was written
    │   ├── InvalidInput         a value no debate accepts (thread id, topic, limits, content, role)
    │   │   └── HoldsSecret      a text with a key, token or password in it
    │   ├── UnknownThread
    │   ├── ThreadExists
    │   ├── NotActive            the debate is closed
    │   ├── OutOfTurn            fixed mode: another role is next
    │   ├── WrongMode            pick_next_speaker in fixed mode
    │   ├── FloorNotGiven        mediated mode: no pick, or another role was picked
    │   ├── BarrierUp            Door, or the close, before Wind and Wall have spoken
    │   ├── LimitReached         max_turns or max_rounds
    │   ├── CognitionMissing     strict cognition: the turn does not show what its role must show
    │   ├── AlreadyRedacted
    │   ├── RunHeld              another process runs the debate
    │   └── StaleHead            another writer was faster; holds the current head
    ├── LedgerBroken             a ledger does not verify; names the first bad entry
    ├── StoreError               the place where ledgers are kept cannot be used
    │   ├── StoreUnsafe          others may write there, or it is on a network file system
    │   ├── StoreUnavailable     missing, read-only, full, locked for too long
    │   └── StoreTooNew          written by a newer version
    ├── ModelError               one call to a language model failed
    │   ├── AuthenticationFailed  ├── NoSuchModel      ├── BadRequest
    │   ├── RateLimited           ├── Overloaded       ├── TimedOut
    │   ├── ConnectionFailed      ├── ServerFailed     ├── ContextTooLong
    │   ├── ContentRefused        ├── CutOff           ├── EmptyReply
    │   ├── GarbledReply         └── DegenerateReply
    ├── ScriptExhausted          a scripted model was asked more often than it has replies
    ├── NotRecorded              an evaluation was to be replayed, and holds no reply to this call
    ├── LimitMet                 the next calls could pass a limit of the run; none of them was made
    └── RunPaused                a run stopped with its committed turns intact, and what it paid for
        ├── StopAsked            somebody asked it to
        ├── LeaseLost            another process has taken it over; nothing more may be written
        └── StoppedByLimit       what comes next does not fit its limits

Every error has a `code` that stays the same from version to version, a sentence that says what happened and where, and
where there is one, a `cure`: what to do next.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from orchestrator.usage import Usage


class DebateError(Exception):
    """The root. `str(error)` is the message followed by the cure."""

    code: ClassVar[str] = "error"

    def __init__(self, message: str, cure: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.cure = cure

    def __str__(self) -> str:
        return f"{self.message} {self.cure}" if self.cure else self.message


class UsageError(DebateError):
    code = "usage"


class ConfigurationError(UsageError):
    """A file is wrong; the message begins with `source:line: key:` as far as they are known.

    Args:
        message: what is wrong.
        cure: what to write instead.
        source: the file.
        line: 1-based.
        key: the key, dotted (`seats.wall[1].agent`).
    """

    code = "configuration"

    def __init__(
        self,
        message: str,
        cure: str = "",
        *,
        source: str = "",
        line: int | None = None,
        key: str = "",
    ) -> None:
        place = source if line is None else f"{source}:{line}"
        super().__init__(": ".join(part for part in (place, key, message) if part), cure)
        self.source, self.line, self.key = source, line, key


class HallError(DebateError):
    code = "refused"


class InvalidInput(HallError):
    code = "invalid_input"


class HoldsSecret(InvalidInput):
    """Says what kind of secret it is and in which line, never the secret."""

    code = "holds_secret"


class UnknownThread(HallError):
    code = "unknown_thread"


class ThreadExists(HallError):
    code = "thread_exists"


class NotActive(HallError):
    code = "not_active"


class OutOfTurn(HallError):
    code = "out_of_turn"


class WrongMode(HallError):
    code = "wrong_mode"


class FloorNotGiven(HallError):
    code = "floor_not_given"


class BarrierUp(HallError):
    code = "barrier"


class LimitReached(HallError):
    code = "limit_reached"


class CognitionMissing(HallError):
    """Holds `findings`, one sentence for each thing that is missing."""

    code = "cognition"

    def __init__(self, message: str, cure: str, findings: tuple[str, ...]) -> None:
        super().__init__(message, cure)
        self.findings = findings


class AlreadyRedacted(HallError):
    code = "already_redacted"


class RunHeld(HallError):
    code = "run_held"


class StaleHead(HallError):
    """Another writer moved the head. `current` is the head now; the loser's entry was not written."""

    code = "stale_head"

    def __init__(self, thread_id: str, expected: str, current: str) -> None:
        super().__init__(
            f"The head of {thread_id} is {current}, not {expected}: another writer was faster; nothing was written.",
            "Read the debate again (get_debate), write the turn again from what it says now, then add it.",
        )
        self.thread_id, self.expected, self.current = thread_id, expected, current


class LedgerBroken(DebateError):
    """A ledger does not verify. `seq` is the first bad entry's number, None when no one entry is to blame."""

    code = "ledger_broken"

    def __init__(self, thread_id: str, seq: int | None, reason: str) -> None:
        where = thread_id if seq is None else f"{thread_id}, entry {seq}"
        super().__init__(f"The ledger does not verify at {where}: {reason}")
        self.thread_id, self.seq, self.reason = thread_id, seq, reason


class StoreError(DebateError):
    code = "store"


class StoreUnsafe(StoreError):
    code = "store_unsafe"


class StoreUnavailable(StoreError):
    code = "store_unavailable"


class StoreTooNew(StoreError):
    code = "store_too_new"


_GATEWAY_GAVE_UP = (502, 504, 520, 524)  # the last two are Cloudflare's; behind it the provider may have gone on


class ModelError(DebateError):
    """One call failed.

    Args:
        message: the provider's words in one line, without keys.
        model: the route that was asked.
        status: the HTTP status, if there was one.
        retry_after: seconds the provider asked to wait, if it did.
        usage: what the attempt took all the same, where an answer came back and was of no use.
        text: that answer.
        maybe_billed: whether the provider may charge for a call that brought no usage. None: no where it answered with
            an HTTP error, unless a gateway gave up waiting for it; else as the class says.

    What happens after each kind stands in `faults`.
    """

    code = "model"
    maybe_billed: bool = True

    def __init__(
        self,
        message: str,
        cure: str = "",
        *,
        model: str,
        status: int | None = None,
        retry_after: float | None = None,
        usage: Usage | None = None,
        text: str = "",
        maybe_billed: bool | None = None,
    ) -> None:
        super().__init__(message, cure)
        self.model, self.status, self.retry_after = model, status, retry_after
        self.usage, self.text = usage, text
        if maybe_billed is None and status is not None:
            maybe_billed = status in _GATEWAY_GAVE_UP
        if maybe_billed is not None:
            self.maybe_billed = maybe_billed


class AuthenticationFailed(ModelError):
    code = "authentication"
    maybe_billed = False


class NoSuchModel(ModelError):
    code = "no_such_model"
    maybe_billed = False


class BadRequest(ModelError):
    code = "bad_request"
    maybe_billed = False


class RateLimited(ModelError):
    code = "rate_limited"
    maybe_billed = False


class Overloaded(ModelError):
    code = "overloaded"
    maybe_billed = False


class TimedOut(ModelError):
    code = "timed_out"


class ConnectionFailed(ModelError):
    code = "connection"


class ServerFailed(ModelError):
    code = "server"


class ContextTooLong(ModelError):
    code = "context_too_long"
    maybe_billed = False


class ContentRefused(ModelError):
    code = "content_refused"


class CutOff(ModelError):
    """The reply stopped before its end. The same request would be paid for again and stop there again."""

    code = "cut_off"


class EmptyReply(ModelError):
    code = "empty"


class GarbledReply(ModelError):
    """Something answered that is not the provider's API (an HTML page, broken JSON)."""

    code = "garbled"


class DegenerateReply(ModelError):
    """The reply is whole and cannot be used: a refusal, a line or two, the prompt back again, no vote or account."""

    code = "degenerate"


class ScriptExhausted(DebateError):
    code = "script_exhausted"


class NotRecorded(DebateError):
    """Says which call it is, and whether another one was recorded in its place."""

    code = "not_recorded"


class LimitMet(DebateError):
    """The next calls could pass a limit of the run, so none of them was made.

    Args:
        message: what they could take, and what is left.
        cure: which limit to raise.
        limit: the member of a recipe's `limits` that is met; or it is the fleet's, of a day.
    """

    code = "limit_met"

    def __init__(
        self, message: str, cure: str, *, limit: Literal["cost_usd", "tokens", "seconds", "fleet_budget"]
    ) -> None:
        super().__init__(message, cure)
        self.limit = limit

    @property
    def passes(self) -> bool:
        """Whether it is met no more after a while, so that nothing is given up for it."""
        return self.limit == "fleet_budget"


class RunPaused(DebateError):
    """A run stopped before its end; every committed turn is intact, and what was paid for is kept.

    `thread_id` says to a program which debate to go on with, where `run_debate` or `resume_debate` raises it.
    """

    code = "paused"
    thread_id: str = ""


class StopAsked(RunPaused):
    """Somebody asked the run to stop."""


class LeaseLost(RunPaused):
    code = "lease_lost"


class StoppedByLimit(RunPaused):
    """Holds the `limit` that is met, as `LimitMet` names it."""

    code = "limit"

    def __init__(self, met: LimitMet) -> None:
        super().__init__(met.message, met.cure)
        self.limit = met.limit
