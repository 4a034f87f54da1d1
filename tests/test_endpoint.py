"""The loopback provider itself: what other tests rely on."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from endpoint import Answer, ModelServer, rate_limited, stalled


def ask(server: ModelServer, model: str, *texts: str, timeout: float = 20) -> httpx.Response:
    body = {"model": model, "messages": [{"role": "user", "content": text} for text in texts or ("hello",)]}
    return httpx.post(f"{server.base_url}/chat/completions", json=body, timeout=timeout)


def test_requests_are_held_until_enough_are_in_flight_together(model_server: ModelServer) -> None:
    model_server.hold_until(3, 1)
    with ThreadPoolExecutor(3) as pool:
        assert [r.status_code for r in pool.map(lambda name: ask(model_server, name), "abc")] == [200] * 3
    assert ask(model_server, "d").status_code == 200
    assert [what for what, _ in model_server.order()] == ["started"] * 3 + ["finished"] * 3 + ["started", "finished"]


def test_a_request_that_comes_alone_where_company_is_needed_fails() -> None:
    with ModelServer(deadline_s=0.05) as server:
        server.hold_until(2)
        assert [ask(server, "a").status_code, ask(server, "b").status_code] == [500, 500]


def test_a_fault_hits_the_nth_call_of_its_model_only(model_server: ModelServer) -> None:
    model_server.inject(rate_limited(2), model="b", call=2)
    assert [ask(model_server, name).status_code for name in "abab"] == [200, 200, 200, 429]


def test_the_beginning_that_repeats_counts_as_cached(model_server: ModelServer) -> None:
    for texts in (["12345678"], ["12345678", "more"], ["other", "more"]):
        ask(model_server, "a", *texts)
    cached = [
        ask(model_server, "a", *texts).json()["usage"]["prompt_tokens_details"]["cached_tokens"]
        for texts in (["12345678", "new"], ["new"])
    ]
    assert cached == [3, 0]


def test_only_a_count_that_went_back_whole_is_charged(model_server: ModelServer) -> None:
    model_server.inject(Answer("hello", torn=True), model="torn")
    model_server.inject(Answer("hello", drop=True), model="drop")
    model_server.inject(Answer("hello", counted=False), model="none")
    for model in ("torn", "drop"):
        with pytest.raises(httpx.RemoteProtocolError):
            ask(model_server, model)
    assert "usage" not in ask(model_server, "none").json()
    assert ask(model_server, "whole", "12345678").json()["usage"]["prompt_tokens"] == 3
    assert [call.charged is not None for call in model_server.calls] == [False, False, False, True]


def test_a_caller_that_goes_away_is_noticed(model_server: ModelServer) -> None:
    model_server.inject(stalled())
    with pytest.raises(httpx.ReadTimeout):
        ask(model_server, "a", timeout=0.05)
    assert model_server.left.acquire(timeout=10)
    assert (model_server.calls[0].gone, model_server.calls[0].finished) == (True, None)


def test_a_server_that_refuses_takes_connections_again_at_its_address(model_server: ModelServer) -> None:
    with httpx.Client(base_url=model_server.base_url) as client:
        body = {"model": "a", "messages": [{"role": "user", "content": "hello"}]}
        assert client.post("/chat/completions", json=body).status_code == 200
        model_server.refuse()
        with pytest.raises(httpx.ConnectError):
            client.post("/chat/completions", json=body)
        model_server.accept()
        assert client.post("/chat/completions", json=body).status_code == 200


def test_calls_record_what_was_asked(model_server: ModelServer) -> None:
    ask(model_server, "wall-1", "one", "two")
    (call,) = model_server.calls
    assert (call.number, call.nth, call.model, call.task) == (1, 1, "wall-1", "two")
    assert (call.started, call.finished) == (1, 2)


def test_the_wall_quotes_the_newest_wind(model_server: ModelServer) -> None:
    wind = ask(model_server, "wind-1").json()["choices"][0]["message"]["content"]
    wall = ask(model_server, "any", wind, "It is round 1. You are Wall.").json()["choices"][0]["message"]["content"]
    assert wall.startswith("VERDICT: CONDITIONAL")
    assert "Option 1 of call 1 keeps what runs today and adds one small step at a time" in wall


def test_its_thread_ends_with_it() -> None:
    with ModelServer():
        assert "model-server" in [thread.name for thread in threading.enumerate()]
    assert "model-server" not in [thread.name for thread in threading.enumerate()]
