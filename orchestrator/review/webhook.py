"""A result is posted to a receiver, which can tell by the signature that it comes from here, whole and lately.

The signature is the HMAC-SHA256, with the secret that both sides have, of the timestamp, a full stop and the body, as
they stand in the request. Each attempt for a result has the same idempotency key.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from datetime import datetime

from orchestrator.review.receipts import NotDeliveredError, UnclearError
from orchestrator.review.results import Webhook

SIGNATURE, TIMESTAMP, KEY = "X-Debate-Hall-Signature", "X-Debate-Hall-Timestamp", "Idempotency-Key"
CONNECT_S, ANSWER_S = 10.0, 30.0

_MAY_PASS = (408, 425, 429)  # beside what is 500 and above: the same may be taken a little later


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """The value of the signature's header.

    Args:
        timestamp: seconds since 1970, UTC, as in the timestamp's header.
    """
    signed = hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256)
    return f"sha256={signed.hexdigest()}"


async def post(webhook: Webhook, secret: str, body: bytes, key: str, now: Callable[[], datetime]) -> None:
    """Posts a result, once. No redirect is followed: the address is the one that the reviews file names.

    Args:
        body: JSON.
        key: what the receiver can tell a repetition by.
        now: says what time it is.

    Raises:
        NotDeliveredError: the receiver did not take it.
        UnclearError: it may have.
    """
    import httpx  # here: it takes a while to load

    patience = httpx.Timeout(ANSWER_S, connect=CONNECT_S)
    try:  # proxies, certificates and the secret are whatever the environment holds
        client = httpx.AsyncClient(timeout=patience, follow_redirects=False)
        request = client.build_request("POST", webhook.url, content=body, headers=_headers(secret, body, key, now()))
    except Exception as error:
        raise NotDeliveredError(f"nothing can be posted to {webhook.host} from here ({_named(error)})") from error
    try:
        async with client:
            answer = await client.send(request, stream=True)
            status = answer.status_code
            await answer.aclose()
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
        raise NotDeliveredError(f"{webhook.host} cannot be reached ({_named(error)})", may_pass=True) from error
    except httpx.UnsupportedProtocol as error:
        raise NotDeliveredError(f"{webhook.host} cannot be reached: {error}") from error
    except Exception as error:  # of whatever library: it may have gone out before
        raise UnclearError(f"{webhook.host} did not answer ({_named(error)})") from error
    if not 200 <= status < 300:
        raise NotDeliveredError(f"{webhook.host} answered {status}", may_pass=status >= 500 or status in _MAY_PASS)


def _headers(secret: str, body: bytes, key: str, now: datetime) -> dict[str, str]:
    timestamp = str(int(now.timestamp()))
    return {
        "Content-Type": "application/json",
        "User-Agent": "run-debate",
        KEY: key,
        TIMESTAMP: timestamp,
        SIGNATURE: signature(secret, timestamp, body),
    }


def _named(error: Exception) -> str:
    return str(error) or type(error).__name__
