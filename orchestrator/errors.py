"""Everything that can go wrong, drawn as one tree.

    DebateError
    ├── UsageError               what was asked for cannot be: a flag, a name, a folder
    │   └── ConfigurationError   a recipe, agent, models or context file says something wrong (file, line, key)
    ├── HallError                the hall refused an operation; nothing was written
    │   ├── InvalidInput         a value no debate accepts (thread id, topic, limits, content, role)
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
    │   └── GarbledReply
    ├── ScriptExhausted          a scripted model was asked more often than it has replies
    └── RunPaused                a run stopped with its committed turns intact

Every error has a `code` that stays the same from version to version, a sentence that says what happened and where, and
where there is one, a `cure`: what to do next.
"""

from __future__ import annotations

from typing import ClassVar

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


class ModelError(DebateError):
    """One call failed.

    Args:
        message: the provider's words in one line, without keys.
        model: the route that was asked.
        status: the HTTP status, if there was one.
        retry_after: seconds the provider asked to wait, if it did.
        usage: what the attempt took all the same, where an answer came back and was of no use.
        text: that answer.

    `retryable` says whether the same call may succeed if it is repeated.
    """

    code = "model"
    retryable: ClassVar[bool] = False

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
    ) -> None:
        super().__init__(message, cure)
        self.model, self.status, self.retry_after = model, status, retry_after
        self.usage, self.text = usage, text


class AuthenticationFailed(ModelError):
    code = "authentication"


class NoSuchModel(ModelError):
    code = "no_such_model"


class BadRequest(ModelError):
    code = "bad_request"


class RateLimited(ModelError):
    code = "rate_limited"
    retryable = True


class Overloaded(ModelError):
    code = "overloaded"
    retryable = True


class TimedOut(ModelError):
    code = "timed_out"
    retryable = True


class ConnectionFailed(ModelError):
    code = "connection"
    retryable = True


class ServerFailed(ModelError):
    code = "server"
    retryable = True


class ContextTooLong(ModelError):
    code = "context_too_long"


class ContentRefused(ModelError):
    code = "content_refused"


class CutOff(ModelError):
    """The reply stopped before its end. The same request would be paid for again and stop there again."""

    code = "cut_off"


class EmptyReply(ModelError):
    code = "empty"
    retryable = True


class GarbledReply(ModelError):
    """Something answered that is not the provider's API (an HTML page, broken JSON)."""

    code = "garbled"


class ScriptExhausted(DebateError):
    code = "script_exhausted"


class RunPaused(DebateError):
    """A run stopped before its end; every committed turn is intact."""

    code = "paused"
