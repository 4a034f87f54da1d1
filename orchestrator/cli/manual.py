"""What the commands' help says about files, variables and exit codes: the same wherever it is asked for."""

from __future__ import annotations

from orchestrator.cli.ending import Exit
from orchestrator.cli.help import Rows

FILES: Rows = (
    ("./debates/THREAD/", "What a run leaves: decision.md, report.html, transcript.oct.md, debate.json, plan.yaml."),
    ("./recipes, ./agents, ./configs", "Your own, before those of your config folder and the bundled ones."),
    ("~/.config/debate-hall/", "Your config folder: recipes, agents, configs, keys in configs/.env, keys that sign."),
    ("~/.local/state/debate-hall/", "Your state folder: hall.sqlite3, every debate on this machine."),
    ("~/.cache/debate-hall/reports/", "Reports that `debate-hall show --open` opened."),
    (
        "~/Library/Application Support/debate-hall/",
        "On macOS: your config and your state folder; the cache is in ~/Library/Caches.",
    ),
)
ENVIRONMENT: Rows = (
    ("ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, …", "Keys of providers; see `debate-hall doctor`."),
    ("DEBATE_HALL_STATE_DIR", "The folder of the hall, in place of your state folder."),
    ("DEBATE_HALL_STORE", "Where the hall is, before all else: a folder, or postgresql://HOST/DATABASE."),
    ("DEBATE_HALL_TOKEN", "The bearer token of `debate-hall serve` over HTTP."),
    ("DEBATE_HALL_STAND_INS", "none: where a key is missing, no local server and no agent CLI speaks instead."),
    (
        "DEBATE_HALL_LOCAL_SERVERS",
        "Addresses of local model servers (a,b), in place of the usual ports.",
    ),
    ("OLLAMA_HOST", "Where Ollama listens."),
    ("XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_CACHE_HOME", "In place of ~/.config, ~/.local/state and ~/.cache."),
    ("PAGER, LESS", "What `debate-hall show` and `search` show long answers with; else less."),
    ("BROWSER", "What `debate-hall show --open` opens reports with."),
    ("NO_COLOR", "Any value: no colour."),
    ("OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_EXPORTER", "Traces of runs, with `pip install 'run-debate[otel]'`."),
)
EXIT_STATUS: Rows = tuple((str(int(code)), f"{code.meaning[0].upper()}{code.meaning[1:]}.") for code in Exit)
