"""How the server refuses: one line that begins with a stable code, `stale_head: what happened. What to do next.`

The SDK knows three doors and words each in its own way; here all three say the same of the same `DebateError`. What is
no `DebateError` is a fault of ours: the client gets the SDK's bare sentence, the log gets the rest.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from pathlib import Path
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar, get_type_hints

from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError, UnexpectedToolError
from mcp.server.mcpserver.prompts import Prompt
from mcp.server.mcpserver.tools import Tool
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, ToolAnnotations
from pydantic import Field, ValidationError

from orchestrator.errors import DebateError, InvalidInput, UnknownThread
from orchestrator.hall.folder import state_folder
from orchestrator.mcp_server.shapes import Metadata, strict
from orchestrator.secrets import scrub

P = ParamSpec("P")
R = TypeVar("R")

_MOST = 20  # of a client's own names in one refusal
_PROGRAM = Path(__file__).parents[2]


def harmless(text: str, places: Mapping[str, str] = MappingProxyType({})) -> str:
    """The text without keys, and with the host's folders by what they are and not by where.

    Args:
        places: more folders, each with what it is.
    """
    text = scrub(text)
    for folder, name in sorted((*places.items(), *_folders()), key=lambda known: -len(known[0])):
        text = text.replace(folder, name)
    return text


def _folders() -> Iterator[tuple[str, str]]:
    try:
        here = os.getcwd()
    except OSError:  # it is gone
        here = os.sep
    places = {
        os.path.join(here, os.path.expanduser(state_folder(os.environ))): "<state folder>",
        str(_PROGRAM): "<program>",
        here: "<working folder>",
        os.path.expanduser("~"): "~",
    }
    for place, name in places.items():
        for spelling in {place, os.path.realpath(place)}:
            if len(spelling) > 1:  # / is no secret, and every path's beginning
                yield spelling, name


def told(error: DebateError, places: Mapping[str, str] = MappingProxyType({})) -> str:
    """A refusal as clients read it: one line, whatever a name in it holds."""
    return " ".join(harmless(f"{error.code}: {error}", places).split())


_READ: dict[Callable[..., Any], Tool] = {}  # a method is read once, for any number of halls: it takes a while


class CodedTool(Tool):
    """A tool that takes its arguments as they were sent and refuses with a code."""

    places: Mapping[str, str] = Field(default_factory=dict, exclude=True)

    @classmethod
    def of(
        cls,
        function: Callable[..., Any],
        title: str,
        hints: ToolAnnotations,
        places: Mapping[str, str] = MappingProxyType({}),
    ) -> Tool:
        """The tool that a method is: its name, its docstring, its parameters, the TypedDict that it returns.

        Args:
            places: folders that its refusals name by what they are.
        """
        method = getattr(function, "__func__", function)
        if method not in _READ:
            _READ[method] = cls._read(function, title, hints)
        return _READ[method].model_copy(update={"fn": function, "places": dict(places)})

    @classmethod
    def _read(cls, function: Callable[..., Any], title: str, hints: ToolAnnotations) -> Tool:
        tool = cls.from_function(
            function,
            title=title,
            description=inspect.getdoc(function),
            annotations=hints,
            structured_output=False,
        )
        tool.fn_metadata = Metadata(
            arg_model=strict(tool.fn_metadata.arg_model),
            output_model=get_type_hints(function)["return"],
        )
        tool.parameters = tool.fn_metadata.arg_model.model_json_schema(by_alias=True)
        return tool

    async def run(self, arguments: dict[str, Any], context: Any, convert_result: bool = False) -> Any:
        """Runs the tool.

        Raises:
            ToolError: a refusal, as the client reads it.
        """
        try:
            return await super().run(arguments, context, convert_result)
        except ToolError as error:
            match error.__cause__:
                case DebateError() as cause:
                    raise ToolError(told(cause, self.places)) from cause
                case ValidationError() as cause if not isinstance(error, UnexpectedToolError):
                    raise ToolError(told(_misread(cause, list(self.parameters["properties"])))) from cause
            raise


def _misread(error: ValidationError, known: list[str]) -> InvalidInput:
    """What is wrong with a tool's arguments, by name and never by value, which is the client's own."""
    problems = []
    for detail in error.errors(include_url=False, include_input=False)[:_MOST]:
        name = ".".join(str(part) for part in detail["loc"])
        match detail["type"]:
            case "extra_forbidden":
                problems.append(f"There is no parameter {name!r:.80}.")
            case "missing":
                problems.append(f"The parameter {name!r} is missing.")
            case _:
                problems.append(f"{name}: {detail['msg']}.")
    return InvalidInput(" ".join(problems), f"The parameters are {', '.join(known)}.")


class CodedPrompt(Prompt):
    """A prompt that refuses with a code, unknown arguments included."""

    async def render(self, arguments: dict[str, Any] | None, context: Any) -> Any:
        """Renders the prompt.

        Raises:
            MCPError: a refusal, as the client reads it.
        """
        known = {argument.name: argument.required for argument in self.arguments or ()}
        unknown = sorted(set(arguments or ()) - set(known))
        missing = sorted(name for name, required in known.items() if required and name not in (arguments or {}))
        if unknown or missing:
            problem = f"There is no argument {unknown[0]!r:.80}." if unknown else f"Argument {missing[0]!r} is missing."
            raise _protocol_error(InvalidInput(problem, f"The arguments are {', '.join(known)}."))
        try:
            return await super().render(arguments, context)
        except ValueError as error:
            if isinstance(error.__cause__, DebateError):
                raise _protocol_error(error.__cause__) from error.__cause__
            raise


def _protocol_error(error: DebateError) -> MCPError:
    return MCPError(code=INVALID_PARAMS, message=told(error), data={"code": error.code})


def coded_resource(function: Callable[P, R]) -> Callable[P, R]:
    """A resource's function that refuses with a code: what is not there as not found, all else as an error."""

    @wraps(function)
    def read(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except UnknownThread as error:
            raise ResourceNotFoundError(told(error)) from error
        except DebateError as error:
            raise ResourceError(told(error)) from error

    return read
