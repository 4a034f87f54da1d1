"""One log, on standard error, in which no key and no path of the host stands."""

from __future__ import annotations

import logging
import re
import sys

from orchestrator.mcp_server.refusals import harmless

_SOURCE_FILE = re.compile(r'File "(?:[^"\n]*/)?([^"/\n]+/[^"/\n]+)"')


class HarmlessFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return harmless(_SOURCE_FILE.sub(r'File "…/\1"', super().format(record)))


def log_to_standard_error() -> None:
    """Warnings and errors of every library go to standard error, for people."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(HarmlessFormatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
