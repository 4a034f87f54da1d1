"""Where a store is that is no folder: an address, `postgresql://…`, which may hold a password and is never shown whole.

All of it is libpq's but `schema`, in which the hall's tables stand, apart from those of others in the same database.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from orchestrator.errors import StoreUnavailable

SCHEMA = "debate_hall"  # where an address names none
_SCHEMES = ("postgresql", "postgres")
_NAMED = re.compile(r"([?&])schema=([^&]*)(&?)")
_SCHEMA_NAME = re.compile("[a-z_][a-z0-9_]{0,62}")
# What stands before the @ and behind the ? may be secret. Of an address that is not of this form nothing is certain.
_HOST = r"(?:[\w.%-]+|\[[\da-fA-F:.]+\])?(?::\d{1,5})?"
_WITHOUT_SECRETS = re.compile(rf"(?:[^@/?#]*@)?(?P<place>{_HOST}(?:,{_HOST})*(?:/[\w.-]*)?)(?:\?[^@]*)?", re.ASCII)


class Address(NamedTuple):
    """`conninfo` is libpq's part, to be kept to oneself."""

    conninfo: str
    schema: str
    shown: str


def is_address(location: str | Path) -> bool:
    return isinstance(location, str) and "://" in location


def read(location: str) -> Address:
    """
    Raises:
        StoreUnavailable: it is of another kind, or names no schema that can be; says nothing of what it holds.
    """
    scheme = location.partition("://")[0]
    if scheme not in _SCHEMES:
        raise StoreUnavailable(
            f"Ledgers are kept in SQLite or PostgreSQL, not at {shown(location)}.",
            "Set DEBATE_HALL_STORE to a folder or to postgresql://HOST/DATABASE.",
        )
    named = _NAMED.search(location)
    schema = named[2] if named else SCHEMA
    if not _SCHEMA_NAME.fullmatch(schema):
        raise StoreUnavailable(
            f"The schema that {shown(location)} names cannot be one.",
            "A schema's name is of small letters, digits and _, 63 at most: ?schema=debate_hall",
        )
    conninfo = _NAMED.sub(lambda found: found[1] if found[3] else "", location, count=1)
    return Address(conninfo, schema, shown(location))


def shown(location: str) -> str:
    """Returns an address without user, password and settings; where these cannot be told apart, only its kind."""
    scheme, _, rest = location.partition("://")
    place = _WITHOUT_SECRETS.fullmatch(rest)
    schema = _NAMED.search(rest)
    beside = f"?schema={schema[2]}" if schema and _SCHEMA_NAME.fullmatch(schema[2]) else ""
    kind = scheme if re.fullmatch("[a-z]{1,20}", scheme) else "…"
    return f"{kind}://{place['place']}{beside}" if place else f"{kind}://…"
