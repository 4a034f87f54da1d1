"""One byte form for every value that is hashed, and the digests over it.

Canonical JSON here is: ASCII keys in sorted order, no white space, text as UTF-8, whole numbers only (amounts are
decimal strings), no null. What is hashed is what is stored, so that a reader with any JSON library, a page in a browser
say, can check a chain without encoding anything again.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.errors import InvalidInput

ENTRY_DOMAIN = "debate-hall/entry/v1"
TEXT_DOMAIN = "debate-hall/text/v1"
PLAN_DOMAIN = "debate-hall/plan/v1"

_SALT = re.compile("[0-9a-f]{64}")
_DIGEST = re.compile("sha256:[0-9a-f]{64}")
_LISTS = (list, tuple)
_TYPE_NAMES = {float: "A float", type(None): "Null"}


def encode(value: Mapping[str, object]) -> str:
    """Returns the canonical JSON of `value`.

    Raises:
        InvalidInput: a float, a null, a key that is not ASCII text, or a lone surrogate.
    """
    _require_canonical(value)
    return encoded(value)


def encoded(value: Mapping[str, object]) -> str:
    """Returns the JSON of a value that may have none in canonical form; `encode` makes sure of it."""
    return _JSON.encode(value)


_JSON = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, allow_nan=False, sort_keys=True, separators=(",", ":")
)


def _require_canonical(value: object) -> None:
    if isinstance(value, str):
        if not value.isascii():
            require_text(value)
    elif isinstance(value, _LISTS):
        for member in value:
            _require_canonical(member)
    elif isinstance(value, int):
        pass
    elif isinstance(value, Mapping):
        for key, member in value.items():
            if not (isinstance(key, str) and key.isascii()):
                raise InvalidInput(f"The key {key!r} is not ASCII text.")
            if not (type(member) is str and member.isascii()):  # as most are
                _require_canonical(member)
    else:
        raise InvalidInput(f"{_TYPE_NAMES.get(type(value), type(value).__name__)} has no canonical form.")


def is_digest(text: str) -> bool:
    """Whether a text is a whole digest: what a run's progress shows is cut."""
    return _DIGEST.fullmatch(text) is not None


def require_text(text: str) -> bytes:
    """Returns `text` as UTF-8.

    Raises:
        InvalidInput: it holds half of a surrogate pair, which no UTF-8 can say.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"The text holds a lone surrogate at character {error.start}.", "Send it as valid Unicode."
        ) from error


def digest(domain: str, *parts: bytes) -> str:
    """Returns `sha256:` and the hex digest over the domain and the parts, each on lines of its own."""
    return "sha256:" + hashlib.sha256(b"\n".join((domain.encode(), *parts))).hexdigest()


@dataclass(frozen=True, slots=True)
class SaltedText:
    """Free text with the salt (64 hex digits) that keeps its digest from being guessed once the text is gone.

    Raises:
        InvalidInput: the salt is something else; were it free text, the text's first lines could be moved into it
            unseen.
    """

    text: str
    salt: str

    def __post_init__(self) -> None:
        if not _SALT.fullmatch(self.salt):
            raise InvalidInput("A salt is 64 hex digits.")

    @property
    def digest(self) -> str:
        return digest(TEXT_DOMAIN, self.salt.encode(), require_text(self.text))
