"""Traces of runs: a span for the run, each round and each draft, ended whatever happens, without anybody's words."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from itertools import count
from pathlib import Path

import anyio
import pytest
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, Span, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as conventions
from opentelemetry.trace import StatusCode

from building import BUNDLED, THREAD, TOPIC, hall_at, hold, plan_of, priced, speech
from orchestrator import Hall, Reply, Request, Role, RunPaused, StoppedByLimit, run_debate
from orchestrator.errors import AuthenticationFailed, DebateError, Overloaded
from orchestrator.events import Stream, Told
from orchestrator.hall.hall import Hall as AnyHall
from orchestrator.models.scripted import Line, Scripted
from orchestrator.plan import Plan
from orchestrator.recipe import Limits
from orchestrator.sending import Sending
from orchestrator.spans import PROVIDERS, Spans, provider_of
from orchestrator.telemetry import PROTOCOLS, WORDS, wanted, wants_words

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hall of its own, and nobody who asks for traces."""
    monkeypatch.setenv("DEBATE_HALL_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    for name in ("OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", WORDS):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[AnyHall]:
    with hall_at(tmp_path / "hall") as hall:
        yield hall


class Traced:
    """A provider whose spans are kept, and those counted that have begun."""

    def __init__(self) -> None:
        self.begun, self._kept = list[Span](), InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self._kept))
        begun = self.begun

        class Counting(SimpleSpanProcessor):
            def on_start(self, span: Span, parent_context: object = None) -> None:
                begun.append(span)

        self.provider.add_span_processor(Counting(InMemorySpanExporter()))

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        """All of them: none is open."""
        ended = self._kept.get_finished_spans()
        assert len(ended) == len(self.begun)
        return tuple(sorted(ended, key=lambda span: span.start_time or 0))

    def named(self, name: str) -> ReadableSpan:
        (found,) = [span for span in self.spans if span.name == name]
        return found

    @property
    def tree(self) -> dict[str, list[str]]:
        """For each span that has any, the children: their names, or of a draft its slot and step."""
        labels = {span.context.span_id: _label(span) for span in self.spans if span.context}
        found: dict[str, list[str]] = {}
        for span in self.spans:
            above = labels[span.parent.span_id] if span.parent else ""
            found.setdefault(above, []).append(_label(span))
        return found


def _label(span: ReadableSpan) -> str:
    members = span.attributes or {}
    return f"{members['run_debate.slot']} {members['run_debate.step']}" if "run_debate.slot" in members else span.name


@pytest.fixture
def traced() -> Traced:
    return Traced()


async def debate(
    hall: AnyHall, traced: Traced, plan: Plan, line: Callable[[Request], Line], words: bool = False
) -> None:
    """Holds a debate of which `traced` keeps the spans."""
    spans = Spans(traced.provider.get_tracer("test"), words)
    with anyio.fail_after(30):
        await hold(hall, plan, Scripted(line), Stream(THREAD, lambda: datetime.now(UTC), spans))


def speaking(fails: Callable[[Request], DebateError | None] = lambda request: None) -> Callable[[Request], Line]:
    numbers = count(1)
    return lambda request: fails(request) or priced(speech(request, next(numbers)))  # type: ignore[return-value]


async def test_a_run_holds_its_rounds_and_these_each_draft(hall: AnyHall, traced: Traced) -> None:
    await debate(hall, traced, plan_of("speed", consensus={"required": True}), speaking())
    assert traced.tree == {
        "": ["invoke_workflow speed"],
        "invoke_workflow speed": ["round 1", *traced.tree["invoke_workflow speed"][1:]],
        "round 1": ["R1.Wind.1 turn", "R1.Wall.1 checklist", "R1.Wall.1 apply", "R1.Door.1 turn"],
    }
    steps = [label.split()[-1] for label in traced.tree["invoke_workflow speed"][1:]]
    assert steps == ["vote", "vote", "account"]
    assert {span.status.status_code for span in traced.spans} == {StatusCode.OK}
    events = [event.name for event in traced.named("round 1").events]
    assert events == ["turn_committed"] * 3
    assert "ballot_counted" in [event.name for event in traced.named("invoke_workflow speed").events]


async def test_a_draft_has_the_attributes_of_the_conventions(hall: AnyHall, traced: Traced) -> None:
    await debate(hall, traced, plan_of("speed"), speaking())
    (wind,) = [span for span in traced.spans if _label(span) == "R1.Wind.1 turn"]
    assert (wind.name, wind.kind) == ("chat test/wind", trace.SpanKind.CLIENT)
    assert dict(wind.attributes or {}) == {
        conventions.GEN_AI_OPERATION_NAME: conventions.GenAiOperationNameValues.CHAT.value,
        conventions.GEN_AI_PROVIDER_NAME: "test",
        conventions.GEN_AI_CONVERSATION_ID: THREAD,
        conventions.GEN_AI_AGENT_NAME: "wind-agent",
        conventions.GEN_AI_REQUEST_MODEL: "test/wind",
        conventions.GEN_AI_RESPONSE_MODEL: "test/answered",
        conventions.GEN_AI_USAGE_INPUT_TOKENS: 100,
        conventions.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: 40,
        conventions.GEN_AI_USAGE_OUTPUT_TOKENS: 10,
        conventions.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS: 0,
        "run_debate.slot": "R1.Wind.1",
        "run_debate.role": "Wind",
        "run_debate.step": "turn",
        "run_debate.known": False,
        "run_debate.cost_usd": 0.01,
    }
    run = dict(traced.named("invoke_workflow speed").attributes or {})
    assert run[conventions.GEN_AI_OPERATION_NAME] == conventions.GenAiOperationNameValues.INVOKE_WORKFLOW.value
    assert (run[conventions.GEN_AI_WORKFLOW_NAME], run["run_debate.status"]) == ("speed", "synthesis")
    assert run["run_debate.head"] == hall.debate(THREAD).head


async def test_an_unknown_price_is_no_attribute(hall: AnyHall, traced: Traced) -> None:
    await debate(hall, traced, plan_of("speed"), lambda request: priced(speech(request, 1), None))
    assert not any("run_debate.cost_usd" in (span.attributes or {}) for span in traced.spans)


async def test_retries_and_fallbacks_are_events_of_the_draft(hall: AnyHall, traced: Traced) -> None:
    busy = iter([Overloaded("busy: try later", model="test/wind"), AuthenticationFailed("no key", model="test/wind")])

    def fails(request: Request) -> DebateError | None:
        return next(busy) if request.model == "test/wind" else None

    plan = plan_of("speed", routes={Role.WIND: ("test/wind", "other/wind")})
    await debate(hall, traced, plan, speaking(fails))
    (wind,) = [span for span in traced.spans if _label(span) == "R1.Wind.1 turn"]
    told = [(event.name, dict(event.attributes or {}).get("error.type")) for event in wind.events]
    assert told == [("retried", "overloaded"), ("fell_back", "authentication")]
    members = wind.attributes or {}
    assert (wind.name, members["gen_ai.provider.name"]) == ("chat other/wind", "other")
    assert wind.status.status_code is StatusCode.OK


async def test_a_seat_that_is_missing_fails_its_draft_and_degrades_the_run(hall: AnyHall, traced: Traced) -> None:
    def fails(request: Request) -> DebateError | None:
        gone = request.task.role == "Wall" and request.task.lens and "cost" in request.task.lens
        return Overloaded("busy", model=request.model) if gone else None

    await debate(hall, traced, plan_of("fortress", on_failure="degrade"), speaking(fails))
    failed = [span for span in traced.spans if span.status.status_code is StatusCode.ERROR]
    assert {(span.attributes or {})["run_debate.step"] for span in failed} == {"checklist"}
    assert {(span.attributes or {})["error.type"] for span in failed} == {"overloaded"}
    run = traced.named("invoke_workflow fortress")
    assert (run.attributes or {})["run_debate.degraded"] is True
    assert run.status.status_code is StatusCode.OK


async def test_a_run_that_pauses_ends_every_span_and_says_why(hall: AnyHall, traced: Traced) -> None:
    def fails(request: Request) -> DebateError | None:
        return AuthenticationFailed("no key", model=request.model) if request.task.role == "Door" else None

    with pytest.raises(RunPaused):
        await debate(hall, traced, plan_of("speed"), speaking(fails))
    ended = {
        _label(span): (span.status.status_code.name, (span.attributes or {}).get("error.type")) for span in traced.spans
    }
    assert ended["R1.Door.1 turn"] == ("ERROR", "authentication")
    assert ended["round 1"] == ended["invoke_workflow speed"] == ("ERROR", "paused")
    assert ended["R1.Wind.1 turn"] == ("OK", None)


async def test_a_limit_stops_the_run_with_its_name(hall: AnyHall, traced: Traced) -> None:
    with pytest.raises(StoppedByLimit):
        await debate(hall, traced, plan_of("speed", limits=Limits(tokens=20)), speaking())
    run = traced.named("invoke_workflow speed")
    (reached,) = [event for span in traced.spans for event in span.events if event.name == "limit_reached"]
    assert (reached.attributes or {})["run_debate.limit"] == "tokens"
    assert (run.attributes or {})["error.type"] == "limit"


async def test_what_is_under_way_when_a_run_is_cancelled_is_ended_as_interrupted(traced: Traced) -> None:
    class Silent:
        async def complete(self, request: Request) -> Reply:
            scope.cancel()
            await anyio.sleep_forever()
            raise AssertionError

    with anyio.fail_after(30), anyio.CancelScope() as scope:
        await run_debate(TOPIC, recipe="speed", model=Silent(), on_event=Spans(traced.provider.get_tracer("test")))
    assert scope.cancelled_caught
    assert {(span.attributes or {}).get("error.type") for span in traced.spans} == {"interrupted"}
    assert len(traced.spans) == 4, "the run, its round, Wind and Wall"


SECRET = "tungsten"


@pytest.mark.parametrize("words", [False, True])
async def test_nobodys_words_are_told_unless_they_are_wanted(hall: AnyHall, traced: Traced, words: bool) -> None:
    def line(request: Request) -> Line:
        if request.task.role == "Wind" and not request.model.startswith("other/"):
            return AuthenticationFailed(f"no key for {SECRET}", model=request.model)
        return priced(speech(request, 1).replace("the", SECRET))

    plan = plan_of("speed", routes={Role.WIND: ("test/wind", "other/wind")})
    await debate(hall, traced, plan, line, words)
    told = json.dumps([json.loads(span.to_json()) for span in traced.spans], ensure_ascii=False)
    assert (SECRET in told) is words
    assert TOPIC not in told
    committed = [event for event in traced.named("round 1").events if event.name == "turn_committed"]
    messages = [(event.attributes or {}).get(conventions.GEN_AI_OUTPUT_MESSAGES) for event in committed]
    turns = [line.words for line in hall.debate(THREAD).turns]
    if words:
        assert [json.loads(str(message))[0]["parts"][0]["content"] for message in messages] == turns
    else:
        assert messages == [None] * 3


@pytest.mark.parametrize("words", [False, True])
async def test_a_failure_has_its_code_and_its_sentence_only_where_that_is_wanted(
    hall: AnyHall, traced: Traced, words: bool
) -> None:
    refused = speaking(lambda request: AuthenticationFailed(f"no key for {SECRET}", model=request.model))
    with pytest.raises(RunPaused):
        await debate(hall, traced, plan_of("speed"), refused, words)
    failed = [span for span in traced.spans if span.name.startswith("chat")]
    assert {(span.attributes or {})["error.type"] for span in failed} == {"authentication"}
    assert {SECRET in str(span.status.description) for span in failed} == {words}


def test_each_provider_has_the_conventions_name() -> None:
    known = {value.value for value in conventions.GenAiProviderNameValues}
    assert set(PROVIDERS.values()) <= known
    routes = {
        "anthropic/claude-opus-5-5": "anthropic",
        "gemini/gemini-4-argon": "gcp.gemini",
        "openai/gpt-6.1-sol": "openai",
        "cli/codex:gpt-6.1-sol": "openai",
        "cli/own": "cli/own",
        "openrouter/openai/gpt-6.1-sol": "openrouter",
        "rehearsal": "rehearsal",
    }
    assert {route: provider_of(route) for route in routes} == routes


def test_the_standard_variables_ask_for_traces() -> None:
    endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}
    assert wanted({}) == ()
    assert wanted(endpoint) == wanted({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"}) == ("otlp",)
    assert wanted({"OTEL_TRACES_EXPORTER": "console, otlp"}) == ("console", "otlp")
    assert wanted({**endpoint, "OTEL_TRACES_EXPORTER": "none"}) == ()
    assert wanted({**endpoint, "OTEL_SDK_DISABLED": "True"}) == ()
    assert [wants_words({WORDS: value}) for value in ("", "false", "NO_CONTENT", "true", "SPAN_ONLY")] == [
        *(False, False, False),
        *(True, True),
    ]


async def test_an_application_with_a_provider_of_its_own_sees_the_run_in_its_own_trace(
    traced: Traced, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", traced.provider)
    with anyio.fail_after(30), trace.get_tracer("application").start_as_current_span("nightly"):
        await run_debate(TOPIC, recipe="speed", rehearse=True)
    assert traced.tree["nightly"] == ["invoke_workflow speed"]
    assert len({span.context.trace_id for span in traced.spans if span.context}) == 1


async def test_a_run_that_was_asked_for_no_trace_has_none(traced: Traced, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", traced.provider)
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    with anyio.fail_after(30):
        await run_debate(TOPIC, recipe="speed", rehearse=True)
    assert traced.spans == ()


REFUSED = [
    ({"OTEL_TRACES_EXPORTER": "zipkin"}, "OTEL_TRACES_EXPORTER takes otlp and console, not zipkin."),
    (
        {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
        "OTEL_EXPORTER_OTLP_PROTOCOL takes http/protobuf, not grpc.",
    ),
    ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_BSP_MAX_QUEUE_SIZE": "-1"}, "max_queue_size must be"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("variables", "said"), REFUSED, ids=lambda value: str(value)[-12:])
async def test_what_cannot_be_traced_as_asked_is_said_once_and_the_debate_is_held(
    variables: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with anyio.fail_after(30):
        assert (await run_debate(TOPIC, recipe="speed", rehearse=True)).status == "synthesis"
    (record,) = [record for record in caplog.records if record.name == "orchestrator.telemetry"]
    assert said in record.getMessage()
    assert record.getMessage().startswith("note: a trace is asked for, and there is none: ")


@pytest.mark.slow
async def test_a_missing_extra_is_said_with_the_cure(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    monkeypatch.setitem(sys.modules, "orchestrator.sending", None)
    with anyio.fail_after(30):
        assert (await run_debate(TOPIC, recipe="speed", rehearse=True)).status == "synthesis"
    assert [record.getMessage() for record in caplog.records] == [
        "note: a trace is asked for, and there is none: the extra is missing: pip install 'run-debate[otel]'."
    ]


@pytest.mark.slow
async def test_a_reader_that_fails_ends_the_trace_and_not_the_run(
    traced: Traced, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(spans: Spans, told: Told) -> None:
        raise RuntimeError("no more spans")

    monkeypatch.setattr(trace, "_TRACER_PROVIDER", traced.provider)
    monkeypatch.setattr(Spans, "__call__", fail)
    with anyio.fail_after(30):
        assert (await run_debate(TOPIC, recipe="speed", rehearse=True)).status == "synthesis"
    assert [record.getMessage() for record in caplog.records] == [
        "note: the trace ends here: RuntimeError('no more spans')."
    ]


class Collector(ThreadingHTTPServer):
    """Takes traces over HTTP, on loopback; one that is `silent` takes them and never answers."""

    daemon_threads = True

    def __init__(self, silent: bool = False) -> None:
        self.taken: list[ExportTraceServiceRequest] = []
        self.released = threading.Event()
        if not silent:
            self.released.set()
        super().__init__(("127.0.0.1", 0), _Taking)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def __exit__(self, *exception: object) -> None:
        self.released.set()
        self.shutdown()
        super().__exit__(*exception)


class _Taking(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert self.path == "/v1/traces"
        self.server.taken.append(ExportTraceServiceRequest.FromString(body))
        self.server.released.wait(60)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


async def test_a_collector_receives_the_whole_trace_before_the_run_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    with Collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address)
        with anyio.fail_after(30):
            decided = await run_debate(TOPIC, recipe="speed", rehearse=True)
        taken = [resource for request in collector.taken for resource in request.resource_spans]
    spans = [span for resource in taken for scope in resource.scope_spans for span in scope.spans]
    assert {span.name for span in spans} == {"invoke_workflow speed", "round 1", "chat rehearsal"}
    (run,) = [span for span in spans if not span.parent_span_id]
    members = {member.key: member.value for member in run.attributes}
    assert members["gen_ai.conversation.id"].string_value == decided.thread_id
    services = {member.value.string_value for member in taken[0].resource.attributes if member.key == "service.name"}
    assert services == {"run-debate"}


@pytest.mark.slow
@pytest.mark.parametrize("silent", [False, True], ids=["nobody is there", "it never answers"])
def test_a_collector_that_takes_nothing_harms_no_run(silent: bool, tmp_path: Path) -> None:
    """The decision is there, with one sentence about the trace."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        nobody = f"http://127.0.0.1:{probe.getsockname()[1]}"
    with Collector(silent=True) as collector:
        result = _rehearsed(OTEL_EXPORTER_OTLP_ENDPOINT=collector.address if silent else nobody)
    assert (result.returncode, result.stdout.splitlines()[0].startswith("REHEARSAL")) == (0, True)
    notes = [line for line in result.stderr.splitlines() if "trace" in line.lower()]
    assert len(notes) == 1
    assert notes[0].startswith("note: the trace is not whole: ")


@pytest.mark.slow
def test_a_debate_in_a_process_of_its_own_is_traced_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from orchestrator import background
    from orchestrator.runner import open_debate
    from orchestrator.wanted import Wanted, prepare

    with Collector() as collector, Hall.open() as hall:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address)
        open_debate(hall, prepare(Wanted("speed", rehearse=True), {}, tmp_path), THREAD, TOPIC)
        assert background.start(hall.runs.begin(THREAD), tmp_path / "out").wait(60) == 0
        assert collector.taken
    assert (tmp_path / "out" / "run.log").read_text() == ""


def test_the_console_exporter_writes_where_standard_error_leads_at_the_time() -> None:
    sending = Sending(["console"])  # before a live view takes what comes there
    with redirect_stderr(StringIO()) as shown:
        sending.provider.get_tracer("test").start_span("chat").end()
        sending.finish()
    assert '"name": "chat"' in shown.getvalue()


@pytest.mark.slow
def test_the_console_exporter_leaves_standard_output_to_the_decision() -> None:
    result = _rehearsed(OTEL_TRACES_EXPORTER="console")
    assert result.stdout.startswith("REHEARSAL")
    assert "gen_ai.conversation.id" in result.stderr
    assert "gen_ai.conversation.id" not in result.stdout


def _rehearsed(**variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "orchestrator", "--rehearse", "-r", "speed", "--quiet", "Kafka?"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, **variables})


def test_the_page_names_every_attribute_and_variable() -> None:
    text = (BUNDLED / "docs" / "telemetry.md").read_text()
    sources = "".join(
        (BUNDLED / "orchestrator" / name).read_text() for name in ("spans.py", "telemetry.py", "sending.py")
    )
    variables = set(re.findall(r"\bOTEL_[A-Z_]+\b", sources)) - set(PROTOCOLS)
    attributes = set(re.findall(r'"(gen_ai\.[a-z_.]+)"', sources)) - {"gen_ai.workflow.name"}
    assert {name for name in variables | attributes if name not in text} == set()
