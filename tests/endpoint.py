"""A model provider on loopback over real HTTP, with a barrier and faults; it speaks as OpenAI, Anthropic and Gemini do.

It runs in a thread with a loop of its own, so that coroutines, synchronous commands and other processes can call it.

    with ModelServer() as server:
        server.hold_until(4, 3, 1)              # 4 requests must be in flight together, then 3, then 1
        server.inject(rate_limited(2), model="wall-1", call=1)
        ...                                     # ask openai/wall-1 at server.base_url
        assert [call.model for call in server.calls] == [...]

Time is never read: `Call.started` and `Call.finished` are positions in one order of events.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, Self

from aiohttp import web

from endpoint_dialects import DIALECTS, OPENAI, OVERLOADED, Dialect, Said
from endpoint_voices import plausible

Reply = Callable[["Call"], "str | Answer"]


@dataclass(slots=True)
class Call:
    """One request, as it arrived."""

    number: int  # 1 is the first request the server got
    nth: int  # 1 is the first request for this model
    model: str
    messages: tuple[tuple[str, str], ...]  # (role, text)
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    started: int
    finished: int | None = None  # None while in flight, or when the caller went away
    answer: str | None = None  # the text that went back, as far as it was counted
    cached: int = 0  # tokens of its messages that are counted as cached
    charged: tuple[int, int, int] | None = None  # tokens in, of these cached, and out; None: no count went back whole
    gone: bool = False  # the caller went away before its answer
    dialect: Dialect = OPENAI
    query: Mapping[str, str] = field(default_factory=dict)

    @property
    def prompt(self) -> str:
        return "\n\n".join(text for _, text in self.messages)

    @property
    def task(self) -> str:
        """The last message: what is asked now."""
        return self.messages[-1][1]

    @property
    def schema(self) -> Any:
        """The JSON schema that the answer is held to, in whichever provider's words it came; None: to none."""
        return self.dialect.schema(self.body)


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back: a completion when `status` is 200 and `body` is None, else `body` as it stands.

    `finish_reason` is OpenAI's, whoever is asked.
    """

    text: str = ""
    thinking: str = ""  # what it thought before it answered
    finish_reason: str = "stop"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    content_type: str = "application/json"
    drop: bool = False  # close the connection without a reply
    torn: bool = False  # close it in the middle of the reply
    breaks: Literal["end", "garbage", "stall", "error"] | None = None  # what comes in the middle of a streamed reply
    stall: bool = False  # no reply: wait until the caller goes away
    counted: bool = True  # a completion says how many tokens it took


def error(status: int, message: str, *, kind: str = "server_error", code: str | None = None, **headers: str) -> Answer:
    """An error in OpenAI's format; headers are given as `retry_after="2"`."""
    body = json.dumps({"error": {"message": message, "type": kind, "param": None, "code": code}})
    return Answer(status=status, body=body, headers={name.replace("_", "-"): value for name, value in headers.items()})


def rate_limited(seconds: float) -> Answer:
    return error(429, "Rate limit reached for requests.", kind="requests", retry_after=str(seconds))


def out_of_quota() -> Answer:
    return error(429, "You exceeded your current quota.", kind="insufficient_quota", code="insufficient_quota")


def wrong_key(key: str = "sk-proj-1234567890abcdefghij") -> Answer:
    message = f"Incorrect API key provided: {key}."
    return error(401, message, kind="invalid_request_error", code="invalid_api_key")


def no_such_model(model: str) -> Answer:
    message = f"The model `{model}` does not exist or you do not have access to it."
    return error(404, message, kind="invalid_request_error", code="model_not_found")


def context_too_long() -> Answer:
    message = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
    return error(400, message, kind="invalid_request_error", code="context_length_exceeded")


def content_policy() -> Answer:
    message = "Your request was rejected as a result of our safety system."
    return error(400, message, kind="invalid_request_error", code="content_policy_violation")


def server_error() -> Answer:
    return error(500, "The server had an error while processing your request.")


def overloaded(status: int = 503) -> Answer:
    return error(status, "The engine is currently overloaded, please try again later.")


def web_page(status: int = 200) -> Answer:
    page = "<!DOCTYPE html><html><head><title>Welcome to nginx!</title></head><body><h1>It works</h1></body></html>"
    return Answer(status=status, body=page, content_type="text/html")


def broken_json() -> Answer:
    return Answer(body='{"id": "chatcmpl-1", "choices": [{"message": {"role": "assi')


def empty() -> Answer:
    return Answer(text="")


def cut_off(text: str = "The first option is to keep the two") -> Answer:
    return Answer(text=text, finish_reason="length")


def dropped() -> Answer:
    return Answer(drop=True)


def stalled() -> Answer:
    return Answer(stall=True)


class ModelServer:
    """The server; a context manager. Settings may be changed between runs, not while requests are in flight.

    Args:
        reply: what a model says to a call; by default a plausible turn of the role that is asked.
        latency_s: seconds before each reply, for benchmarks.
        deadline_s: seconds a held request waits for its company before it is answered with HTTP 500.

    Attributes:
        count: how many tokens messages are, each a role and a text.
        dialects: how it can be asked.
        listed: the models that it says it has; none: it does not say.
        hear: is told of each call as it arrives.
        most_at_once: how many calls were in flight together, at the most.
    """

    dialects: Sequence[Dialect] = DIALECTS
    listed: Sequence[str] = ()

    def __init__(self, reply: Reply | None = None, *, latency_s: float = 0, deadline_s: float = 10) -> None:
        self.reply: Reply = reply or plausible
        self.count: Callable[[Sequence[tuple[str, str]]], int] = tokens
        self.latency_s, self.deadline_s = latency_s, deadline_s
        self.calls: list[Call] = []
        self.hear: Callable[[Call], None] = lambda call: None
        self.most_at_once = self._at_once = 0
        self.base_url = ""
        self.arrived = threading.Event()  # set by the first request
        self.left = threading.Semaphore(0)  # released by each caller that goes away before its answer
        self._events = itertools.count(1)
        self._asked = Counter[str]()  # by model
        self._begun = set[tuple[str, tuple[tuple[str, str], ...]]]()  # the beginnings of requests to a model
        self._faults: list[tuple[str | None, int | None, Answer]] = []
        self._gates: deque[int] = deque()
        self._held: list[asyncio.Event] = []
        self._flows = asyncio.Event()
        self._flows.set()
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="model-server", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    def hold_until(self, *sizes: int) -> None:
        """Holds requests until `sizes[0]` of them are in flight together, lets those go on, then the next size.

        Callers that ask one after the other would wait for ever; after `deadline_s` they get HTTP 500. Requests after
        the last size are not held.
        """
        self._gates = deque(sizes)

    def dam(self) -> None:
        """Sends streamed answers up to their middle and no further, until `flow`."""
        self._loop.call_soon_threadsafe(self._flows.clear)

    def flow(self) -> None:
        """Sends the rest of every answer."""
        self._loop.call_soon_threadsafe(self._flows.set)

    def inject(self, answer: Answer, *, model: str | None = None, call: int | None = None) -> None:
        """Answers so instead: `model` None is every model, `call` None every call of the model, else its n-th (from 1).

        Of several that fit, the first injected wins.
        """
        self._faults.append((model, call, answer))

    def order(self) -> list[tuple[str, str]]:
        """What happened in which order: ("started" | "finished", model)."""
        events = [(call.started, "started", call.model) for call in self.calls]
        events += [(call.finished, "finished", call.model) for call in self.calls if call.finished]
        return [(what, model) for _, what, model in sorted(events)]

    def models_file(self, *, pathos: str = "wind-1", ethos: str = "wall-1", logos: str = "door-1") -> str:
        """The text of a models file whose cognitions are answered here, at 1, 0.5 and 3 US dollars a million tokens."""
        entry = (
            "  openai/{}:\n"
            f"    api_base: {self.base_url}\n"
            "    input_cost_per_token: 0.000001\n"
            "    cached_cost_per_token: 0.0000005\n"
            "    output_cost_per_token: 0.000003\n"
            "    context_tokens: 200000\n"
        )
        return (
            f"routes:\n  PATHOS: [openai/{pathos}]\n  ETHOS: [openai/{ethos}]\n  LOGOS: [openai/{logos}]\nmodels:\n"
            + "".join(entry.format(model) for model in dict.fromkeys((pathos, ethos, logos)))
        )

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._run())
        finally:
            self._loop.close()

    def refuse(self) -> None:
        """Takes no connection any more, and closes those that are open, until `accept`."""
        asyncio.run_coroutine_threadsafe(self._close_door(), self._loop).result()

    def accept(self) -> None:
        """Takes connections again, at the same address."""
        asyncio.run_coroutine_threadsafe(self._open_door(), self._loop).result()

    async def _run(self) -> None:
        self._stopping = asyncio.Event()
        app = web.Application(client_max_size=64 * 1024 * 1024)
        for dialect in self.dialects:
            for path in dialect.paths:
                app.router.add_post(path, partial(self._completions, dialect))
        app.router.add_get("/v1/models", self._models)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0)
        self._port = 0
        await self._runner.setup()
        await self._open_door()
        host, self._port = self._runner.addresses[0][:2]
        self.base_url = f"http://{host}:{self._port}/v1"
        self._started.set()
        await self._stopping.wait()
        await self._runner.cleanup()

    async def _open_door(self) -> None:
        if not self._runner.sites:
            await web.TCPSite(self._runner, "127.0.0.1", self._port).start()

    async def _close_door(self) -> None:
        assert self._runner.server is not None
        for site in tuple(self._runner.sites):
            await site.stop()
        self._runner.server.pre_shutdown()  # those that wait for a next request
        await self._runner.server.shutdown(1)

    async def _models(self, http: web.Request) -> web.Response:
        if not self.listed:
            return web.Response(status=404)
        return web.json_response({"object": "list", "data": [{"id": name, "object": "model"} for name in self.listed]})

    async def _completions(self, dialect: Dialect, http: web.Request) -> web.StreamResponse:
        call = self._record(dialect, {**http.match_info, **await http.json()}, http.headers)
        call.query = dict(http.query)
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            return await self._answered(call, http)
        except (asyncio.CancelledError, ConnectionResetError):  # the latter where something was still to be sent
            call.gone = True
            self.left.release()
            raise
        finally:
            self._at_once -= 1

    async def _answered(self, call: Call, http: web.Request) -> web.StreamResponse:
        in_company = await self._gate()
        if self.latency_s:
            await asyncio.sleep(self.latency_s)
        answer = self._answer(call) if in_company else error(500, "held too long: the calls did not come together")
        if answer.stall:
            await asyncio.Event().wait()
        call.finished = next(self._events)
        assert http.transport is not None
        if answer.drop:
            http.transport.abort()
            return web.Response()
        if answer.body is None and answer.status == 200 and call.dialect.streams(call.body, http.path):
            return await self._streamed(call, answer, http)
        body = answer.body if answer.body is not None else json.dumps(self._completion(call, answer))
        if answer.torn:
            half = web.StreamResponse(headers={"Content-Length": str(len(body))})
            await half.prepare(http)
            await half.write(body[: len(body) // 2].encode())
            http.transport.abort()
            return half
        return web.Response(
            text=body, status=answer.status, headers=dict(answer.headers), content_type=answer.content_type
        )

    async def _streamed(self, call: Call, answer: Answer, http: web.Request) -> web.StreamResponse:
        """The answer in pieces; one that breaks does so when half of them are sent."""
        events = [*call.dialect.events(self._told(call, answer), call.body)]
        breaks = answer.torn or answer.breaks is not None
        stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await stream.prepare(http)
        middle = len(events) // 2
        for number, (name, data) in enumerate(events[:middle] if breaks else events):
            if number == middle:
                await self._flows.wait()
            await stream.write(_server_sent(name, data))
        if answer.torn:
            http.transport.abort()
        if answer.breaks == "error":
            await stream.write(_server_sent(*OVERLOADED[call.dialect]))
        if answer.breaks == "garbage":
            await stream.write(b'data: {"choices": [{"del\n\n')
        if answer.breaks == "stall":
            await asyncio.Event().wait()
        return stream

    def _record(self, dialect: Dialect, body: Mapping[str, Any], headers: Mapping[str, str]) -> Call:
        model, messages = body["model"], tuple(dialect.messages(body))
        if not self.calls:  # a test that clears them begins anew
            self._asked.clear()
            self._begun.clear()
        self._asked[model] += 1
        call = Call(
            number=len(self.calls) + 1,
            nth=self._asked[model],
            model=model,
            messages=messages,
            body=body,
            headers=dict(headers),
            started=next(self._events),
            dialect=dialect,
            cached=self._cached(model, messages),
        )
        self.calls.append(call)
        self.hear(call)
        self.arrived.set()
        return call

    async def _gate(self) -> bool:
        """Waits for company where a gate says so; False when it did not come in time."""
        if not self._gates:
            return True
        go = asyncio.Event()
        self._held.append(go)
        if len(self._held) == self._gates[0]:
            self._gates.popleft()
            for held in self._held:
                held.set()
            self._held = []
        try:
            await asyncio.wait_for(go.wait(), self.deadline_s)
        except TimeoutError:
            return False
        finally:
            if go in self._held:  # it gave up, or its caller went away
                self._held.remove(go)
        return True

    def _answer(self, call: Call) -> Answer:
        for model, number, answer in self._faults:
            if model in (None, call.model) and number in (None, call.nth):
                return answer
        said = self.reply(call)
        return said if isinstance(said, Answer) else Answer(said)

    def _completion(self, call: Call, answer: Answer) -> dict[str, Any]:
        return call.dialect.reply(self._told(call, answer), call.body)

    def _told(self, call: Call, answer: Answer) -> Said:
        thought = self.count((("assistant", answer.thinking),)) if answer.thinking else 0
        prompt, completion = self.count(call.messages), self.count((("assistant", answer.text),)) + thought
        call.answer = answer.text
        if answer.counted and not answer.drop and not answer.torn and not answer.breaks:
            call.charged = prompt, call.cached, completion
        counts = (prompt, call.cached, completion) if answer.counted else None
        return Said(call.number, call.model, answer.text, answer.finish_reason, counts, answer.thinking, thought)

    def _cached(self, model: str, messages: tuple[tuple[str, str], ...]) -> int:
        """Tokens of the longest beginning, in whole messages, that an earlier request to the same model had too."""
        beginnings = [messages[:length] for length in range(1, len(messages) + 1)]
        known = [begun for begun in beginnings if (model, begun) in self._begun]
        self._begun.update((model, begun) for begun in beginnings)
        return self.count(known[-1]) if known else 0


def _server_sent(name: str, data: Any) -> bytes:
    event = f"event: {name}\n" if name else ""
    return f"{event}data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()


def tokens(messages: Sequence[tuple[str, str]]) -> int:
    """How this provider counts: four bytes a token, one token for each message."""
    return sum(1 + len(text.encode()) // 4 for _, text in messages)
