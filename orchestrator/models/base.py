"""The one seam to language models: a request goes in, a reply comes out or a `ModelError` is raised.

No provider's type crosses this line. A model makes one attempt a call: retries, fallbacks and budgets belong to the
caller, who sees every attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal, Protocol

from orchestrator.hall.debate import Said
from orchestrator.hall.terms import Role
from orchestrator.usage import Usage

__all__ = [
    "CLIENT", "Cli", "CliAnswer", "Effort", "Endpoint", "Message", "Model", "Reply", "Request", "Said", "Shape",
    "Source", "Step", "Task", "Usage",
]  # fmt: skip

CLIENT = "client"  # the route to the model of the MCP client that asks for the debate

Step = Literal["turn", "checklist", "apply", "summary", "vote", "refine", "account", "answer", "place"]
Effort = Literal["none", "minimal", "low", "medium", "high"]


@dataclass(frozen=True, slots=True)
class Message:
    speaker: Literal["system", "user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Source:
    """A piece of evidence, as a task refers to it."""

    id: str  # E1, E2, …
    path: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """What a seat is asked, as data; the messages say the same in prose.

    For models that are no language model (the rehearsal) and for telemetry. `questions` are the agent's own,
    `section` the heading only this agent's answers have.
    """

    step: Step
    role: Role
    agent: str
    lens: str | None
    round: int
    rounds: int
    last: bool  # the debate's last turn, whose text becomes the synthesis
    topic: str
    questions: tuple[str, ...] = ()
    section: str = ""
    said: tuple[Said, ...] = ()
    evidence: tuple[Source, ...] = ()
    socratic: bool = False  # this round only asks
    due: tuple[str, ...] = ()  # what people said and Door has not answered: names of turns and notes


@dataclass(frozen=True, slots=True)
class CliAnswer:
    """Where an agent CLI's standard output holds what counts.

    Paths are keys with dots between them, `*` for every one; of the objects in which a path is found the last counts.
    Several paths of one count are added up.
    """

    format: Literal["json", "text"] = "text"  # json: one object or several, each beginning on a line of its own
    text: str = ""
    only: tuple[tuple[str, str], ...] = ()  # the text stands only in objects that hold these values at these paths
    failed: str = ""  # true there: what looks like the text says what went wrong
    error: tuple[str, ...] = ()  # what went wrong, in words
    input: tuple[str, ...] = ()
    cached: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    thinking: tuple[str, ...] = ()
    cost: str = ""  # in US dollars
    model: str = ""  # the model that answered: a name, or an object whose only key it is


@dataclass(frozen=True, slots=True)
class Cli:
    """How an agent CLI is run.

    In `args`, `settings` and `files` these stand for what a call is about: {model}, {effort}, {system} (the system
    prompt), {system_file}, {schema_file}, {folder} (the empty one it runs in) and {files} (the one `files` are in).
    A system prompt that none of them takes stands in front of the prompt, which goes through standard input.
    """

    command: str
    args: tuple[str, ...] = ()
    model: str | None = None
    model_args: tuple[str, ...] = ("--model", "{model}")  # added where a model is named; the others likewise
    effort_args: tuple[str, ...] = ()
    schema_args: tuple[str, ...] = ()
    extra_args: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()  # of the environment, which it sees beside the harmless ones
    settings: tuple[tuple[str, str], ...] = ()  # variables that are set for it
    files: tuple[tuple[str, str], ...] = ()  # name and text
    answer: CliAnswer = field(default_factory=CliAnswer)
    exits: tuple[tuple[str, str], ...] = ()  # exit code and the code of the `ModelError` it means
    own_tokens: int = 60_000  # at most so many of its own instructions come on top of a prompt
    login: str = ""  # what to run to sign in
    login_args: tuple[str, ...] = ()  # tells by its exit code, at no cost, whether somebody is signed in
    version_args: tuple[str, ...] = ("--version",)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """How a route is asked and what it costs, where the models file says so; None leaves it to litellm.

    Prices are in US dollars per token; `json_schema` says whether the model can be held to a JSON schema, `effort` how
    hard it thinks, `max_parallel` how many calls its server takes at once, `max_per_minute` how many may begin in a
    minute. `headers` are sent with each call, those of `header_env` with the value of an environment variable.
    `api_version`, `region` and `project` are for Azure, Bedrock and Vertex. `cli` says how an agent CLI is run.
    """

    api_base: str | None = None
    api_key_env: str | None = None
    input_cost_per_token: Decimal | None = None
    cached_cost_per_token: Decimal | None = None
    output_cost_per_token: Decimal | None = None
    context_tokens: int | None = None
    json_schema: bool | None = None
    temperature: float | None = None
    effort: Effort | None = None
    max_output_tokens: int | None = None
    timeout_s: float | None = None
    max_parallel: int | None = None
    max_per_minute: int | None = None
    stream: bool | None = None
    headers: tuple[tuple[str, str], ...] = ()
    header_env: tuple[tuple[str, str], ...] = ()
    api_version: str | None = None
    region: str | None = None
    project: str | None = None
    cli: Cli | None = None

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables whose values are secrets that calls are made with."""
        return (*([self.api_key_env] if self.api_key_env else []), *(variable for _, variable in self.header_env))

    def server(self, route: str) -> str:
        """What answers a route: the address, else the command of an agent CLI, else the route itself."""
        command = f"cli/{self.cli.command}" if self.cli else route.partition(":")[0]
        return self.api_base or (command if route.startswith("cli/") else route)


@dataclass(frozen=True, slots=True)
class Shape:
    """What an answer must look like: a JSON schema, and a name for it of letters, digits, `_` and `-`."""

    name: str
    schema: Mapping[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Request:
    """One call.

    `shape` is for models that can be held to one; the others read it in the messages, which always ask for it too.
    `hear` is told each piece of the answer as it comes; it is no part of what is asked. Where the models file does not
    say whether the model streams, it does when somebody hears it. Other requests of the debate begin with the first
    `shared` messages; 0 where no other asks the same route.
    """

    model: str
    messages: tuple[Message, ...]
    task: Task
    max_output_tokens: int
    timeout_s: float
    temperature: float | None = None
    endpoint: Endpoint = field(default_factory=Endpoint)
    shape: Shape | None = None
    hear: Callable[[str], None] | None = field(default=None, compare=False)
    shared: int = 0

    @property
    def streams(self) -> bool:
        return self.hear is not None if self.endpoint.stream is None else self.endpoint.stream


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer. `left_out` are the parameters that the model was asked without, since it does not take them."""

    text: str
    model: str  # the model that answered, in the provider's words
    usage: Usage
    left_out: tuple[str, ...] = ()


class Model(Protocol):
    async def complete(self, request: Request) -> Reply:
        """Makes one attempt.

        Raises:
            ModelError: the attempt failed; its class says how, `faults` what happens then.
        """
        ...
