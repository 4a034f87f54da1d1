"""The shape of a tool's arguments: they are taken as they were sent, no unknown names, no numbers made from text, no
text read as JSON."""

from __future__ import annotations

from typing import Any

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
