"""The agent CLIs that are known by themselves, as the models file would describe them; and what a `cli/…` route means.

A route is `cli/NAME`, or `cli/NAME:MODEL` for a model other than the one the CLI takes by itself. What is switched off
here are tools: a voice in a debate speaks, and what it could run or read would neither be seen nor counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from orchestrator.models.base import Cli, CliAnswer, Endpoint

PREFIX = "cli/"

# Codex takes unknown names for a warning, so these do no harm to an older or newer one.
_CODEX_OFF = (
    *("shell_tool", "unified_exec", "code_mode_host", "multi_agent", "goals", "hooks", "sleep_tool"),
    *("apps", "plugins", "image_generation", "view_image", "skill_search"),
)

_GEMINI_NO_TOOLS = """\
[[rule]]
toolName = "*"
decision = "deny"
priority = 999
"""

CLIS: Mapping[str, Cli] = MappingProxyType(
    {
        "claude": Cli(  # by its documentation: https://code.claude.com/docs/en/cli-reference
            command="claude",
            args=(
                *("-p", "--output-format", "json", "--system-prompt-file", "{system_file}"),
                *("--tools", "", "--strict-mcp-config", "--no-session-persistence"),
            ),
            variables=(
                *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"),
                *("CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR"),
            ),
            settings=(("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),),
            answer=CliAnswer(
                format="json",
                text="result",
                failed="is_error",
                error=("result", "subtype"),
                # these are counted apart, and only together are what was read
                input=("usage.input_tokens", "usage.cache_read_input_tokens", "usage.cache_creation_input_tokens"),
                cached=("usage.cache_read_input_tokens",),
                output=("usage.output_tokens",),
                cost="total_cost_usd",
                model="modelUsage",
            ),
            own_tokens=30_000,
            login="claude auth login",
            login_args=("auth", "status"),
        ),
        "codex": Cli(
            command="codex",
            args=(
                *("exec", "--skip-git-repo-check", "--ephemeral", "--ignore-user-config", "--ignore-rules"),
                *("-s", "read-only", "--color", "never", "--json", "-C", "{folder}"),
                *("-c", 'model_instructions_file="{system_file}"', "-c", 'web_search="disabled"'),
                *("-c", "agents.enabled=false"),
                *(word for name in _CODEX_OFF for word in ("-c", f"features.{name}=false")),
            ),
            effort_args=("-c", 'model_reasoning_effort="{effort}"'),
            schema_args=("--output-schema", "{schema_file}"),
            variables=("CODEX_HOME", "CODEX_API_KEY"),
            answer=CliAnswer(
                format="json",
                text="item.text",
                only=(("type", "item.completed"), ("item.type", "agent_message")),
                error=("error.message", "message"),
                input=("usage.input_tokens",),
                cached=("usage.cached_input_tokens",),
                output=("usage.output_tokens",),
                thinking=("usage.reasoning_output_tokens",),
            ),
            own_tokens=30_000,  # bytes are what can be counted: 6,400 to 19,300 of 0.171, by model
            login="codex login",
            login_args=("login", "status"),
        ),
        "gemini": Cli(
            command="gemini",
            args=(
                *("-p", "", "--output-format", "json", "--approval-mode", "plan", "--skip-trust"),
                *("-e", "none", "--policy", "{files}/no-tools.toml"),
            ),
            variables=(
                *("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GEMINI_CLI_HOME"),
                *("GOOGLE_GENAI_USE_GCA", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_APPLICATION_CREDENTIALS"),
                *("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_VERTEX_BASE_URL"),
            ),
            settings=(
                ("GEMINI_SYSTEM_MD", "{system_file}"),
                ("GEMINI_CLI_NO_RELAUNCH", "true"),  # it would start itself a second time, for more memory
            ),
            files=(("no-tools.toml", _GEMINI_NO_TOOLS),),
            answer=CliAnswer(
                format="json",
                text="response",
                error=("error.message",),
                input=("stats.models.*.tokens.prompt",),
                cached=("stats.models.*.tokens.cached",),
                output=("stats.models.*.tokens.candidates", "stats.models.*.tokens.thoughts"),
                thinking=("stats.models.*.tokens.thoughts",),
                model="stats.models",
            ),
            exits=(("41", "authentication"), ("42", "bad_request"), ("53", "cut_off")),
            own_tokens=20_000,  # 800 bytes of 0.61, and the user's own GEMINI.md
            login="gemini",
        ),
    }
)


def is_cli(route: str) -> bool:
    return route.startswith(PREFIX)


def cli_name(route: str) -> str:
    """The NAME of `cli/NAME:MODEL`."""
    return route.removeprefix(PREFIX).partition(":")[0]


def cli_of(route: str, endpoint: Endpoint) -> Cli | None:
    """How a route's CLI is run, with the model that the route names; None where it is no CLI, or an unknown one."""
    if not is_cli(route):
        return None
    cli, model = endpoint.cli or CLIS.get(cli_name(route)), route.partition(":")[2]
    return replace(cli, model=model) if cli and model else cli
