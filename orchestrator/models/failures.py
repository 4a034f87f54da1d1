"""What a provider's exception means: one table from foreign exception classes to our `ModelError` tree.

litellm's own classes are not enough: a missing key, a refused connection and a web page all arrive as its
`InternalServerError`, a safety refusal as its `BadRequestError`. So where its class is vague, the evidence beneath is
asked first: the words, then the HTTP status that really came, or where none came, the exceptions that caused it.

Classes are known by name, so that nothing here imports litellm.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

from orchestrator.errors import (
    AuthenticationFailed,
    BadRequest,
    ConnectionFailed,
    ContentRefused,
    ContextTooLong,
    CutOff,
    DebateError,
    GarbledReply,
    ModelError,
    NoSuchModel,
    Overloaded,
    RateLimited,
    ServerFailed,
    TimedOut,
)
from orchestrator.secrets import scrub
from orchestrator.usage import Usage

MAX_WORDS = 300

# By class name, looked up along the method resolution order: a subclass not named here means what its parent means.
KINDS: dict[str, type[ModelError]] = {
    # litellm.exceptions
    "AuthenticationError": AuthenticationFailed,
    "PermissionDeniedError": AuthenticationFailed,
    "PaymentRequiredError": AuthenticationFailed,
    "BudgetExceededError": AuthenticationFailed,
    "NotFoundError": NoSuchModel,
    "LiteLLMUnknownProvider": NoSuchModel,
    "ModelNotMappedError": NoSuchModel,
    "EndpointNotSupportedByModelError": NoSuchModel,
    "BadRequestError": BadRequest,
    "InvalidRequestError": BadRequest,
    "UnprocessableEntityError": BadRequest,
    "RateLimitError": RateLimited,
    "ServiceUnavailableError": Overloaded,
    "Timeout": TimedOut,
    "APIConnectionError": ServerFailed,  # litellm's name for all that surprised it; a true one shows a cause beneath
    "InternalServerError": ServerFailed,
    "BadGatewayError": ServerFailed,
    "APIError": ServerFailed,
    "OpenAIError": ServerFailed,
    "ContextWindowExceededError": ContextTooLong,
    "ContentPolicyViolationError": ContentRefused,
    "RejectedRequestError": ContentRefused,
    "GuardrailRaisedException": ContentRefused,
    "BlockedPiiEntityError": ContentRefused,
    "ModifyResponseException": ContentRefused,
    "SensitiveDataRouteException": ContentRefused,
    "APIResponseValidationError": GarbledReply,
    "MidStreamFallbackError": ConnectionFailed,  # where it does not say what broke the stream
    # what lies beneath them: httpx, the standard library
    "TimeoutException": TimedOut,
    "TimeoutError": TimedOut,
    "TransportError": ConnectionFailed,
    "ConnectionError": ConnectionFailed,
    "JSONDecodeError": GarbledReply,
}

_STATUS: dict[int, type[ModelError]] = {
    401: AuthenticationFailed,
    402: AuthenticationFailed,
    403: AuthenticationFailed,
    404: NoSuchModel,
    408: TimedOut,
    409: ServerFailed,
    410: NoSuchModel,
    413: ContextTooLong,
    429: RateLimited,
    503: Overloaded,
    504: TimedOut,
    529: Overloaded,
}

# A model that is gone, in prose. The order counts: "`temperature` is deprecated for this model" says something else.
_GONE = (
    r"\bmodel(?: version)?(?: \S{1,200})?(?: associated with the deployment)? (?:does not exist|"
    r"(?:has|is|was) (?:been |now )?(?:decommissioned|deprecated|retired|discontinued|removed|sunset|shut ?down)|"
    r"is no longer (?:available|supported)|has reached (?:the|its) end of (?:its )?life)"
)

# The request never left: no connection to carry it.
_UNSENT = (
    *("ClientConnectorError", "ConnectionTimeoutError"),  # aiohttp
    *("ConnectError", "ConnectTimeout", "PoolTimeout"),  # httpx
    *("ConnectionRefusedError", "gaierror"),
)

# Kinds under which litellm files what it did not recognise; only these are refined.
_VAGUE = (BadRequest, ServerFailed, RateLimited, NoSuchModel)

_WORDS: tuple[tuple[re.Pattern[str], type[ModelError]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), kind)
    for pattern, kind in (
        (r"invalid response (?:from LLM endpoint|object)|returned (?:a response with no )?'choices'", GarbledReply),
        (r"insufficient_quota|credit balance is too low|insufficient credits", AuthenticationFailed),
        (r"missing credentials|missing \w+ api.key|api_key client option must be set", AuthenticationFailed),
        (r"stream ended before a finish_reason", ConnectionFailed),
        (r"LLM Provider NOT provided", NoSuchModel),
        (_GONE, NoSuchModel),
        (r"\bmodel[ _]not[ _](?:found|available|supported|exist)|\bmodel_?(?:decommissioned|deprecated)", NoSuchModel),
        (r"\b(?:invalid|unknown)_model\b|not a valid model ID|model identifier is invalid", NoSuchModel),
        (r"non-serverless model|DeploymentNotFound|marked by provider as Legacy", NoSuchModel),
        (r"request too large|context_length_exceeded|context (?:length|window) (?:was |is )?exceeded", ContextTooLong),
        (r"content_policy|content_filter|content management policy|usage polic", ContentRefused),
        (r"safety system|violat\w+ our|prohibited_content|input was flagged|flagged for", ContentRefused),
    )
)

_CURES: dict[type[ModelError], str] = {
    AuthenticationFailed: (
        "Check the key (debate-hall doctor says where it stands), its credit, and its right to the model."
    ),
    NoSuchModel: "Check the model's name, and api_base if the models file gives one.",
    ContextTooLong: "Attach less context, take a recipe with fewer turns, or give the role a model that reads more.",
    ContentRefused: "Put the question in other words, or give the role another model.",
    TimedOut: "Raise timeout_s in the models file if the model needs longer.",
    ConnectionFailed: "Check the network, and that the server at api_base is running if the models file gives one.",
    GarbledReply: "Check the address (api_base, or a proxy): an API must answer there, such as at http://host/v1.",
    CutOff: "Raise max_output_tokens in the models file.",
}

_NO_PROVIDER = re.compile(r"LLM Provider NOT provided", re.IGNORECASE)
_PAGE = re.compile(r"<!doctype html|<html", re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_PREFIXES = re.compile(r"^(?:(?:litellm\.)?\w*(?:Error|Exception|Timeout)(?: Error)?(?: \w+Error)?(?: -|:) )+")
_NOISE = re.compile(
    r" ssl:(?:<[^>]*>|default)|\.? Handle with `litellm\.\w+`\.|\s*Traceback \(most recent.*", re.DOTALL
)
_NUMBER = re.compile(r"-?\d{1,9}(?:\.\d+)?")
_RETRY_DELAY = re.compile(r'"retryDelay":\s*"([\d.]+)s"')  # Google's google.rpc.RetryInfo


def model_error(
    error: Exception,
    *,
    model: str,
    secrets: Iterable[str] = (),
    clock: Callable[[], float],
    text: str = "",
    begun: bool = False,
) -> ModelError:
    """The `ModelError` that says what `error` means; raise it `from error`.

    Args:
        error: whatever the call to the provider raised.
        model: the route that was asked.
        secrets: texts that must not appear in the message, such as the key that was used.
        clock: seconds since 1970, for a provider that says at what time to come back.
        text: what was heard of the answer.
        begun: the answer had begun to come. It may be charged for, and what then cannot be read is a broken connection.
    """
    chain = tuple(_chain(_what_broke(error)))
    response = next((e.response for e in reversed(chain) if type(e).__name__ == "HTTPStatusError"), None)  # type: ignore[attr-defined]
    status = None if response is None else int(response.status_code)
    body = "" if response is None else str(response.text)
    kind = _kind(chain, status, f"{error} {body}")
    kind = ConnectionFailed if begun and kind is GarbledReply else kind
    return failure(
        kind,
        _told(kind, chain, body),
        model=model,
        status=status,
        retry_after=_retry_after(response, body, clock),
        text=text,
        maybe_billed=False if any(map(_unsent, chain)) else begun or None,
        secrets=secrets,
    )


def failure(
    kind: type[ModelError],
    words: str,
    *,
    model: str,
    status: int | None = None,
    retry_after: float | None = None,
    usage: Usage | None = None,
    text: str = "",
    maybe_billed: bool | None = None,
    secrets: Iterable[str] = (),
) -> ModelError:
    """A `ModelError` with its cure, its words on one line and without keys; the rest as `ModelError` has it."""
    asked = f"{model} answered HTTP {status}" if status else model
    told = f"{asked}: {one_line(words, secrets)}"
    return kind(
        told,
        _CURES.get(kind, ""),
        model=model,
        status=status,
        retry_after=retry_after,
        usage=usage,
        text=text,
        maybe_billed=maybe_billed,
    )


def kind_of(error_class: type[BaseException]) -> type[ModelError] | None:
    """What the table says of a class; None when it names neither the class nor one above it."""
    return next((KINDS[base.__name__] for base in error_class.__mro__ if base.__name__ in KINDS), None)


def one_line(text: str, secrets: Iterable[str] = ()) -> str:
    """At most `MAX_WORDS` characters of `text`, on one line, without secrets."""
    line = " ".join(scrub(text, secrets).split())
    return line if len(line) <= MAX_WORDS else f"{line[: MAX_WORDS - 1]}…"


def _what_broke(error: BaseException) -> BaseException:
    """What litellm's own exception is about, where it was raised because something broke a stream."""
    inner = getattr(error, "original_exception", None)
    return inner if type(error).__name__ == "MidStreamFallbackError" and inner is not None else error


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and what caused it, the outermost first.

    It ends at an error of our own: that is an earlier attempt's, which the caller was handling when it tried again.
    """
    step: BaseException | None = error
    while step is not None and not isinstance(step, DebateError):
        yield step
        step = step.__cause__ or step.__context__


def _kind(chain: tuple[BaseException, ...], status: int | None, words: str) -> type[ModelError]:
    named = kind_of(type(chain[0])) or ServerFailed
    if named not in _VAGUE:
        return named
    if _PAGE.search(words) and status in (None, 404, 405):
        return GarbledReply
    by_words = next((kind for pattern, kind in _WORDS if pattern.search(words)), None)
    if by_words or status:
        return by_words or _by_status(status or 0, named)
    beneath = (kind_of(type(cause)) for cause in reversed(chain[1:]))
    return next((kind for kind in beneath if kind in (TimedOut, ConnectionFailed, GarbledReply)), named)


def _by_status(status: int, named: type[ModelError]) -> type[ModelError]:
    """What a status says; one of 400 to 499 that is not in the table: the same request would be refused again."""
    refused = named is ServerFailed and 400 <= status < 500
    return _STATUS.get(status) or (BadRequest if refused else named)


def _told(kind: type[ModelError], chain: tuple[BaseException, ...], body: str) -> str:
    """The provider's own words, or the network's where no provider was reached."""
    text = _words_in(body) or str(chain[0])
    if kind is TimedOut and not body:
        return "no answer in time"
    if kind is ConnectionFailed:
        text = next((str(cause) for cause in reversed(chain) if kind_of(type(cause)) is kind and str(cause)), text)
    if _NO_PROVIDER.search(text):
        return "its provider is not known; a model is named provider/model"
    if page := _PAGE.search(text):
        title = _TITLE.search(text, page.start())
        return f"a web page instead of an answer ({' '.join(title[1].split())})" if title else "a web page, no answer"
    return _PREFIXES.sub("", _NOISE.sub("", text)) or type(chain[-1]).__name__


def _words_in(body: str) -> str:
    """The sentence in an error's body: most providers say `error.message`."""
    try:
        found: Any = json.loads(body)
    except ValueError:
        return body
    for key in ("error", "message", "detail"):
        found = found.get(key, found) if isinstance(found, dict) else found
    return found if isinstance(found, str) else body


def _unsent(error: BaseException) -> bool:
    """Whether no connection was there to carry the request, so that nothing can have been charged for it."""
    return any(base.__name__ in _UNSENT for base in type(error).__mro__)


def _retry_after(response: Any, body: str, clock: Callable[[], float]) -> float | None:
    """Seconds the provider asked to wait, at least 0: a number or a date in the header, or Google's own detail."""
    header = "" if response is None else response.headers.get("retry-after", "")
    delay = _RETRY_DELAY.search(body)
    told = header or (delay[1] if delay else "")
    try:
        seconds = float(told) if _NUMBER.fullmatch(told) else _time_of(told) - clock()
    except ValueError:
        return None
    return max(0.0, seconds)


def _time_of(date: str) -> float:
    """Seconds since 1970; HTTP's dates are in GMT, whether they say so or not.

    Raises:
        ValueError: it is no date.
    """
    when = parsedate_to_datetime(date)
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
