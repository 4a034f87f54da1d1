"""YAML read safely and strictly into a pydantic shape, with errors that name file, line and key.

`yaml_tree` says what is strict. Where the shape wants text, a number or boolean without quotes keeps its own spelling:
`1.10` stays `1.10`. Everything else is validated as JSON of the same content would be, without coercion.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from orchestrator.errors import ConfigurationError
from orchestrator.wording import did_you_mean as did_you_mean
from orchestrator.yaml_tree import Node, Place, dotted, parse

MAX_BYTES = 1 << 20

M = TypeVar("M", bound=BaseModel)


class Shape(BaseModel):
    """What a configuration file, or a part of one, may hold: unknown keys, other types and infinities are errors.

    While `load` validates, `info.context["source"]` is the file's name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def read(path: Path) -> str:
    """Reads a text file; a byte order mark is dropped.

    Raises:
        ConfigurationError: it is missing, unreadable, not UTF-8 or larger than 1 MiB.
    """
    source = str(path)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise ConfigurationError("There is no such file.", source=source) from None
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL in it
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigurationError(f"This file cannot be read: {reason}.", source=source) from error
    if len(data) > MAX_BYTES:
        raise ConfigurationError("This file is larger than 1 MiB.", source=source)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigurationError("This file is not UTF-8.", "Save it as UTF-8.", source=source, line=line) from error


def load(text: str, *, source: str, shape: type[M], first_line: int = 1) -> M:
    """Reads one YAML mapping as `shape`.

    Args:
        text: the YAML.
        source: the file's name, for errors.
        shape: what it must be; validated strictly, as JSON of the same content would be.
        first_line: the number in `source` of the text's first line, 1-based.

    Raises:
        ConfigurationError: the text is not strict YAML or not of that shape.
    """
    loaded: M = _load(text, source, shape, first_line)
    return loaded


@lru_cache(maxsize=64)  # what a text says does not change: a process that holds many debates reads each file's bytes
def _load(text: str, source: str, shape: type[Any], first_line: int) -> Any:
    tree = parse(text, source=source, first_line=first_line)
    spelled: frozenset[int] = frozenset()
    while True:
        try:
            return shape.model_validate_json(tree.as_json(spelled), strict=True, context={"source": source})
        except ValidationError as error:
            details = error.errors(include_url=False)
        wanted = frozenset(id(node) for d in details if (node := tree.at(d["loc"])[1]).can_be_spelled(d["type"]))
        if wanted <= spelled:
            raise _first_error(details, tree, source, shape)
        spelled |= wanted


def fault(message: str, cure: str = "", *, at: Place = ()) -> PydanticCustomError:
    """What a shape's own validator raises: a sentence, its cure, and where below the validated value it applies."""
    return PydanticCustomError("fault", "{message}", {"message": message, "cure": cure, "at": at})


_WANTED = {
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "decimal_type": "must be a number",
    "decimal_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "string_type": "must be a text",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping of keys to values",
    "model_type": "must be a mapping of keys to values",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
}


def _first_error(details: list[ErrorDetails], tree: Node, source: str, shape: type[BaseModel]) -> ConfigurationError:
    """The first error in the file, unknown keys before all others: a misspelt key is often also a missing one."""
    detail = min(details, key=lambda d: (d["type"] != "extra_forbidden", tree.at(d["loc"])[1].line))
    path, node = tree.at((*detail["loc"], *detail.get("ctx", {}).get("at", ())))
    if detail["type"] == "missing":
        path = (*path, detail["loc"][-1])
    message, cure = _worded(detail, node, shape)
    return ConfigurationError(message, cure, source=source, line=node.line, key=dotted(path))


def _worded(detail: ErrorDetails, node: Node, shape: type[BaseModel]) -> tuple[str, str]:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "fault":
        return context["message"], context["cure"]
    if kind == "extra_forbidden":
        known = _known_keys(shape, detail["loc"][:-1])
        return "unknown key.", did_you_mean(str(detail["loc"][-1]), known) or f"The keys here are {', '.join(known)}."
    if kind == "missing":
        return "this key is missing.", ""
    if kind in _WANTED:
        bounds = {name: f"{bound:.15g}" if isinstance(bound, float) else bound for name, bound in context.items()}
        return f"{_WANTED[kind].format(**bounds)}, not {node.shown()}.", ""
    return f"{detail['msg'].removeprefix('Value error, ').rstrip('.')}.", ""


def _known_keys(shape: type[BaseModel], place: Place) -> list[str]:
    """The keys a mapping at `place` may have; the keys of a dict and places in a list lead to the same shapes."""
    shapes = [shape]
    for part in place:
        fields = [found.model_fields[str(part)] for found in shapes if part in found.model_fields]
        shapes = [inner for field in fields for inner in _shapes_in(field.annotation)] or shapes
    return [key for found in shapes for key in found.model_fields]


def _shapes_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [shape for argument in get_args(annotation) for shape in _shapes_in(argument)]
