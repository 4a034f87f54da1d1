"""Where a run's spans go when the standard variables say so: to a collector over HTTP, or to standard error."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from threading import Thread

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter, SpanExportResult

from orchestrator.wording import counted

FLUSH_S = 2.0
SERVICE = "run-debate"

_log = logging.getLogger(__name__)
# What retries say meanwhile is not for a terminal on which nobody set up logs; what was lost is told in the end.
logging.getLogger("opentelemetry").addHandler(logging.NullHandler())


class Sending:
    """Spans on their way, in a thread of their own.

    Args:
        kinds: of `otlp` and `console`.
    """

    def __init__(self, kinds: Sequence[str]) -> None:
        self.provider = TracerProvider(resource=_resource(), shutdown_on_exit=False)
        self._exporters = [_Counted(_exporter(kind)) for kind in kinds]
        for exporter in self._exporters:
            self.provider.add_span_processor(BatchSpanProcessor(exporter))

    def finish(self) -> None:
        """Sends what is left, for a moment at most; says what was lost."""
        last = Thread(target=self.provider.shutdown, name="last spans", daemon=True)
        last.start()
        last.join(FLUSH_S)
        if last.is_alive():
            for exporter in self._exporters:
                exporter.shutdown()
        lost = sum(exporter.lost for exporter in self._exporters)
        if lost or last.is_alive():
            what = counted(lost, "span") if lost else "some spans"
            _log.warning("note: the trace is not whole: %s could not be sent; the debate itself is.", what)


class _Counted(SpanExporter):
    """Counts what is lost, and is shut down once, whoever comes first."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter, self._open, self.lost = exporter, True, 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export(spans)
        if result is not SpanExportResult.SUCCESS:
            self.lost += len(spans)
        return result

    def shutdown(self) -> None:
        if self._open:
            self._open = False
            self._exporter.shutdown()


class _Console(SpanExporter):
    """Writes to standard error as it is at that moment: a live view shows above itself what comes there."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return ConsoleSpanExporter(out=sys.stderr).export(spans)


def _exporter(kind: str) -> SpanExporter:
    return _Console() if kind == "console" else OTLPSpanExporter()


def _resource() -> Resource:
    named = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return Resource.create({} if named else {"service.name": SERVICE})
