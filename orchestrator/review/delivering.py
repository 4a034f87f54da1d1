"""What becomes of a result: files in a folder, a command that gets it, a webhook.

Files are the same however often they are written. A command and a webhook get a result once: see `deliveries`. What
cannot be delivered fails nothing else: the debate stands in the hall, and what went wrong is told with the result.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from orchestrator import run_folder
from orchestrator.decision.record import record_of
from orchestrator.errors import UsageError
from orchestrator.review.deliveries import Deliveries, KeptDeliveries, State
from orchestrator.review.office import Debated, Ended, Office
from orchestrator.review.receipts import NotDeliveredError, UnclearError
from orchestrator.review.receiving_command import hand_over
from orchestrator.review.result import result_of
from orchestrator.review.results import NO_RESULTS, Webhook
from orchestrator.review.reviews_file import Review
from orchestrator.review.times import Taken
from orchestrator.review.webhook import post
from orchestrator.worker import in_thread


@dataclass(frozen=True, slots=True)
class Pace:
    """How often a receiver is tried that may take a result a little later.

    Args:
        attempts: so often at most.
        first_s: seconds between the first two, about; they double.
        longest_s: seconds between two at most.
    """

    attempts: int = 6
    first_s: float = 1.0
    longest_s: float = 30.0


PACE = Pace()


async def deliver(office: Office, review: Review, taken: Taken, ended: Ended, pace: Pace = PACE) -> Ended:
    """Delivers the result of a debate as its review asks for; where nothing was debated there is none.

    Returns:
        The end, with the files that were written, and with what could not be delivered among its problems.

    Raises:
        StoreError: it cannot be noted what was sent.
    """
    if ended.debated is None or review.results == NO_RESULTS:
        return ended
    with _folder(office, review, ended.debated) as folder:
        ended = await in_thread(_with_files, ended, ended.debated, folder, told=review.results.folder is not None)
        body = json.dumps(result_of(review, taken, ended), ensure_ascii=False).encode()
        sending = _Sending(KeptDeliveries(office.desk), taken.result, pace)
        problems = [
            problem
            for target, send in _receivers(office, review, ended, body, folder)
            if (problem := await sending.once(target, send))
        ]
    return replace(ended, problems=(*ended.problems, *problems))


@contextmanager
def _folder(office: Office, review: Review, debated: Debated) -> Iterator[Path]:
    """Where the run's files stand, for good where the review names a folder."""
    if review.results.folder is not None:
        yield office.file.folder / os.path.expanduser(review.results.folder) / debated.run.debate.state.thread_id
        return
    with TemporaryDirectory(prefix="debate-hall-") as place:
        yield Path(place)


def _with_files(ended: Ended, debated: Debated, folder: Path, *, told: bool) -> Ended:
    """Writes the run's files; those that stay are told."""
    debate = debated.run.debate
    try:
        files = run_folder.write_run(folder, run_folder.FORMATS, debate, record_of(debate), debated.plan)
    except UsageError as error:
        return replace(ended, problems=(*ended.problems, str(error)))
    return replace(ended, debated=replace(debated, files=(*debated.files, *files))) if told else ended


Send = Callable[[], Awaitable[None]]


def _receivers(office: Office, review: Review, ended: Ended, body: bytes, folder: Path) -> Iterator[tuple[str, Send]]:
    results = review.results
    if results.command:
        yield "command", partial(hand_over, results.command, body, folder, office.file.folder)
    if results.webhook is not None:
        assert ended.debated is not None
        key = _key(review.name, ended.debated)
        yield "webhook", partial(_post, results.webhook, body, key, office.now)


async def _post(webhook: Webhook, body: bytes, key: str, now: Callable[[], datetime]) -> None:
    """
    Raises:
        NotDeliveredError, UnclearError
    """
    try:
        secret = webhook.secret(os.environ)
    except UsageError as error:
        raise NotDeliveredError(str(error).rstrip(".")) from error
    await post(webhook, secret, body, key, now)


def _key(name: str, debated: Debated) -> str:
    """What no other result has, of whatever hall, and each attempt for this one."""
    return hashlib.sha256(f"{name}\n{debated.run.debate.head}".encode()).hexdigest()[:32]


class _Sending:
    """Sends a result to its receivers, to each of them once."""

    def __init__(self, deliveries: Deliveries, result: str, pace: Pace) -> None:
        self._deliveries, self._result, self._pace = deliveries, result, pace

    async def once(self, target: str, send: Send) -> str | None:
        """Sends it, unless it was sent; returns what is to be told of it where it did not arrive, or may not have."""
        retrying = AsyncRetrying(
            retry=retry_if_exception(lambda error: isinstance(error, NotDeliveredError) and error.may_pass),
            stop=stop_after_attempt(self._pace.attempts),
            wait=wait_random_exponential(multiplier=self._pace.first_s, max=self._pace.longest_s),
            sleep=anyio.sleep,
            reraise=True,
        )
        try:
            return await retrying(self._attempt, target, send)
        except NotDeliveredError as error:
            times = retrying.statistics.get("attempt_number", 1)
            after = f", after {times} attempts" if times > 1 else ""
            return f"The result was not delivered to the {target}: {error}{after}."
        except UnclearError as error:
            return f"It is not known whether the result reached the {target}: {error}. It is not sent again."

    async def _attempt(self, target: str, send: Send) -> str | None:
        if not await in_thread(self._deliveries.begin, self._result, target):
            if await in_thread(self._deliveries.state, self._result, target) is State.SENT:
                return None
            raise UnclearError("it was sent before, and nobody noted that it arrived")
        try:
            await send()
        except NotDeliveredError:
            await self._end(target, State.FAILED)
            raise
        except UnclearError:
            await self._end(target, State.UNCERTAIN)
            raise
        await self._end(target, State.SENT)
        return None

    async def _end(self, target: str, state: State) -> None:
        with anyio.CancelScope(shield=True):  # else what arrived would be uncertain
            await in_thread(self._deliveries.end, self._result, target, state)
