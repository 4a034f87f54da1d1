"""Agents: ways of speaking in a role, one file each.

A file is YAML front matter between two `---` lines, then an OCTAVE body from `===NAME===` to `===END===`. The body is
the agent's instruction and goes to the model as it stands. Two of its fields are read here as well: `SECTION`, the
heading only this agent's answers have, and `QUESTIONS`, its own questions, which the rehearsal asks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, field_validator

from orchestrator.errors import ConfigurationError
from orchestrator.hall.terms import Role
from orchestrator.shelves import ENDINGS, standing
from orchestrator.strict_yaml import Shape, did_you_mean, fault, load, read

(SUFFIX,) = ENDINGS["agents"]
MAX_BYTES = 65_536

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_SHAPE = "Write front matter between two --- lines, then the body from ===NAME=== to ===END===; see agents/README.md."
_OPENING = re.compile(r"===[A-Za-z_][A-Za-z0-9_]*===")
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_FIELD = re.compile(r"^[ ]*(SECTION|QUESTIONS)::", re.MULTILINE)
_VALUES = {
    "SECTION": re.compile(_STRING),
    "QUESTIONS": re.compile(rf"\[\s*(?:{_STRING}\s*(?:,\s*{_STRING}\s*)*,?\s*)?\]"),
}
_FIELD_CURES = {
    "SECTION": 'Write it once, as one quoted string: SECTION::"NAME".',
    "QUESTIONS": 'Write it once, as a list of quoted strings: QUESTIONS::["…?", "…?"].',
}


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent, as its file says.

    Attributes:
        tier: 1 balanced, 2 specialist, 3 the whole system.
        temperature: what the agent asks for; None leaves it to the provider.
        max_output_tokens: the longest answer; None leaves it to the routes' defaults.
        text: the OCTAVE body, which is the agent's instruction.
        section: the heading only this agent's answers have; empty if the body names none.
        questions: the agent's own questions; empty if the body has none.
        source: the file it came from.
    """

    name: str
    role: Role
    tier: int
    summary: str
    temperature: float | None
    max_output_tokens: int | None
    text: str
    section: str
    questions: tuple[str, ...]
    source: str


class _FrontMatter(Shape):
    name: str
    role: Role
    tier: Annotated[int, Field(ge=1, le=3)]
    summary: str
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_output_tokens: Annotated[int, Field(ge=1)] | None = None

    @field_validator("name")
    @classmethod
    def _is_a_file_name(cls, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise fault(f"{name!r:.80} cannot be an agent's name.", "Use at most 64 lower-case letters, digits and -.")
        return name

    @field_validator("role", mode="before")
    @classmethod
    def _in_any_case(cls, value: Any) -> Role:
        for role in Role:
            if isinstance(value, str) and value.lower() == role.lower():
                return role
        raise fault("must be Wind, Wall or Door.")

    @field_validator("summary")
    @classmethod
    def _is_one_line(cls, summary: str) -> str:
        line = " ".join(summary.split())
        if not line or not line.isprintable():
            raise fault("must say in one printable line how the agent works.")
        return line


def load_agent(name: str, folders: Sequence[Path]) -> Agent:
    """Loads the agent called `name`, in any case, from the first of `folders` that has it.

    Raises:
        ConfigurationError: no folder has it, or its file says something wrong.
    """
    known = standing(folders, (SUFFIX,))
    if path := known.get(name.lower()):
        return _read(path)
    cure = f"{did_you_mean(name, known)} The agents are {', '.join(known) or 'none'}."
    raise ConfigurationError(f"There is no agent called {name!r:.80}.", cure.strip())


def list_agents(folders: Sequence[Path]) -> tuple[Agent, ...]:
    """Every agent of `folders`, by role, tier and name; of agents that share a name, the first folder's.

    Raises:
        ConfigurationError: a file says something wrong.
    """
    order = list(Role)
    agents = (_read(path) for path in standing(folders, (SUFFIX,)).values())
    return tuple(sorted(agents, key=lambda agent: (order.index(agent.role), agent.tier, agent.name)))


def parse_agent(text: str, source: str) -> Agent:
    """Reads one agent from the text of its file.

    Args:
        source: the file's name as errors should show it.

    Raises:
        ConfigurationError: names the file and, where there is one, the line and the key.
    """
    text = text.replace("\r\n", "\n")
    if len(text.encode()) > MAX_BYTES:
        raise ConfigurationError("The agent is larger than 64 KiB.", "About 600 tokens work best.", source=source)
    front, body, body_line = _split(text, source)
    if "\0" in body:
        line = body_line + body.count("\n", 0, body.index("\0"))
        raise ConfigurationError("The body holds a NUL character.", "Remove it.", source=source, line=line)
    head = load(front, source=source, shape=_FrontMatter, first_line=2)
    fields = _fields(body, source, body_line)
    return Agent(
        **head.model_dump(),
        text=body,
        section=" ".join(fields.get("SECTION", ())),
        questions=fields.get("QUESTIONS", ()),
        source=source,
    )


def _read(path: Path) -> Agent:
    text = read(path)
    agent = parse_agent(text, str(path))
    if path.name != f"{agent.name}{SUFFIX}":
        raise ConfigurationError(
            f"The agent calls itself {agent.name}, its file {path.name}.",
            f"Rename the file to {agent.name}{SUFFIX}, or change the name.",
            source=str(path),
            line=next((n for n, line in enumerate(text.split("\n"), 1) if line.startswith("name:")), None),
            key="name",
        )
    return agent


def _split(text: str, source: str) -> tuple[str, str, int]:
    """The front matter, the body, and the file's line at which the body begins."""
    lines = text.rstrip().split("\n")
    if lines[0].rstrip() != "---":
        raise ConfigurationError("The front matter is missing.", _SHAPE, source=source, line=1)
    close = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if close is None:
        raise ConfigurationError("The front matter never ends.", _SHAPE, source=source, line=1)
    start = next((n for n, line in enumerate(lines[close + 1 :], close + 1) if line.strip()), len(lines))
    if start == len(lines) or not _OPENING.fullmatch(lines[start].rstrip()) or lines[start].startswith("===END==="):
        raise ConfigurationError("The body does not begin with ===NAME===.", _SHAPE, source=source, line=start + 1)
    if lines[-1].rstrip() != "===END===":
        raise ConfigurationError("The body does not end with ===END===.", _SHAPE, source=source, line=len(lines))
    return "\n".join(lines[1:close]) + "\n", "\n".join(lines[start:]) + "\n", start + 1


def _fields(body: str, source: str, first_line: int) -> dict[str, tuple[str, ...]]:
    """The strings that SECTION and QUESTIONS hold, for as many of the two as the body has."""
    fields: dict[str, tuple[str, ...]] = {}
    for match in _FIELD.finditer(body):
        key = match[1]
        value = _VALUES[key].match(body, match.end())
        try:
            if value is None or key in fields:
                raise ValueError
            fields[key] = tuple(_strings(value[0]))
        except ValueError:
            line = first_line + body.count("\n", 0, match.start())
            problem = "It stands here a second time." if key in fields else "It cannot be read."
            raise ConfigurationError(problem, _FIELD_CURES[key], source=source, line=line, key=key) from None
    return fields


def _strings(value: str) -> Iterator[str]:
    for quoted in re.findall(_STRING, value):
        if line := " ".join(json.loads(quoted, strict=False).split()):  # OCTAVE's escapes are among JSON's
            line.encode()  # half a surrogate pair is no text
            yield line
