"""Traces of runs, where somebody asks for them: an application with its own provider, or the standard variables.

Nothing of OpenTelemetry is loaded otherwise. Spans leave in the background; a collector that is slow or not there costs
a run no more than a moment at its end.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from orchestrator.events import Reader, Told
from orchestrator.worker import in_thread

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

    from orchestrator.sending import Sending

KINDS = ("otlp", "console")
ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
SPOKEN = "http/protobuf"
WORDS = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

_log = logging.getLogger(__name__)


@asynccontextmanager
async def traced() -> AsyncIterator[tuple[Reader, ...]]:
    """Gives who reads a run's events for its trace, if anybody does; in the end all of it is ended and sent."""
    sending = None
    provider = _of_the_application()
    if provider is None and (kinds := wanted(os.environ)):
        sending = _sending(kinds)
        provider = sending.provider if sending else None
    if provider is None:
        yield ()
        return
    from orchestrator.spans import Spans

    spans = Spans(provider.get_tracer("run-debate"), wants_words(os.environ))
    try:
        yield (_harmless(spans),)
    finally:
        spans.end("failed")  # what a run that told its end has left open: nothing
        if sending is not None:
            with anyio.CancelScope(shield=True):
                await in_thread(sending.finish)


def wanted(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The exporters that the variables ask for; none where they ask for no traces."""
    if _is_true(environment.get("OTEL_SDK_DISABLED", "")):
        return ()
    named = environment.get("OTEL_TRACES_EXPORTER", "").strip()
    if not named:
        return ("otlp",) if any(environment.get(name, "").strip() for name in ENDPOINTS) else ()
    return tuple(kind for kind in dict.fromkeys(map(str.strip, named.split(","))) if kind not in ("", "none"))


def wants_words(environment: Mapping[str, str]) -> bool:
    """Whether turns and the sentences of errors are to be told too."""
    return environment.get(WORDS, "").strip().lower() in ("true", "span_only", "event_only", "span_and_event")


def _of_the_application() -> TracerProvider | None:
    """The provider of the program that this one is a part of, if it has set one."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None or _is_true(os.environ.get("OTEL_SDK_DISABLED", "")):
        return None
    provider: TracerProvider = trace.get_tracer_provider()
    return None if isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider) else provider


def _sending(kinds: tuple[str, ...]) -> Sending | None:
    """Where the spans go; None, and a sentence that says why, where they cannot go there."""
    why = _unspoken(kinds)
    try:
        if not why:
            from orchestrator.sending import Sending

            return Sending(kinds)
    except ImportError:
        why = "the extra is missing: pip install 'run-debate[otel]'"
    except Exception as error:  # noqa: BLE001  one of the exporter's variables says something wrong
        why = str(error)
    _log.warning("note: a trace is asked for, and there is none: %s.", why)
    return None


def _unspoken(kinds: tuple[str, ...]) -> str:
    """What the variables ask for and nobody here speaks, as a sentence; or nothing."""
    unknown = ", ".join(kind for kind in kinds if kind not in KINDS)
    named = (os.environ.get(name, "").strip() for name in PROTOCOLS if "otlp" in kinds)
    others = ", ".join(sorted({protocol for protocol in named if protocol not in ("", SPOKEN)}))
    if unknown:
        return f"OTEL_TRACES_EXPORTER takes {' and '.join(KINDS)}, not {unknown}"
    return f"{PROTOCOLS[-1]} takes {SPOKEN}, not {others}" if others else ""


def _harmless(spans: Reader) -> Reader:
    """A reader that fails no run: at the first error it says so and reads no more."""
    failed: list[Exception] = []

    def read(told: Told) -> None:
        if failed:
            return
        try:
            spans(told)
        except Exception as error:  # noqa: BLE001  it is told, and the debate goes on
            failed.append(error)
            _log.warning("note: the trace ends here: %r.", error)

    return read


def _is_true(value: str) -> bool:
    return value.strip().lower() == "true"
