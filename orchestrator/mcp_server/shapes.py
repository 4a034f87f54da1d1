"""The shapes of a tool's arguments and of its result, as pydantic reads them.

Arguments are taken as they were sent: no unknown names, no numbers made from text, no text read as JSON. Results are
the hall's own TypedDicts, key for key; they are written out again only because pydantic reads no `typing.TypedDict`
before Python 3.12, and mcp 2.3 rebuilds only the outermost.
"""

from __future__ import annotations

from typing import Any, NotRequired, cast, get_args, get_origin, get_type_hints

import typing_extensions
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from pydantic import ConfigDict, create_model


class Metadata(FuncMetadata):
    """What mcp knows of a tool's function, but a text stays a text: mcp would make None of "null", a list of "[]"."""

    def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
        return data


class _Strict(ArgModelBase):
    model_config = ConfigDict(extra="forbid", strict=True)


def strict(arguments: type[ArgModelBase]) -> type[ArgModelBase]:
    """The same arguments, refusing what is unknown or of another type."""
    return create_model(arguments.__name__, __base__=(_Strict, arguments))


def readable(kind: Any) -> Any:
    """The same type with every TypedDict in it as one that pydantic reads on any Python."""
    if get_origin(kind) is NotRequired:
        return NotRequired[readable(get_args(kind)[0])]
    if get_origin(kind) is list:
        return list[readable(get_args(kind)[0])]  # type: ignore[misc]  # a type made at run time
    if not typing_extensions.is_typeddict(kind):
        return kind
    keys = {key: readable(hint) for key, hint in get_type_hints(kind, include_extras=True).items()}
    rebuilt = cast(Any, typing_extensions.TypedDict)(kind.__name__, keys)
    rebuilt.__doc__ = kind.__doc__
    return rebuilt
