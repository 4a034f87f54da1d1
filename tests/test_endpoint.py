"""The loopback provider itself: what other tests rely on."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import httpx

from endpoint import ModelServer, rate_limited


def ask(server: ModelServer, model: str, *texts: str) -> httpx.Response:
    body = {"model": model, "messages": [{"role": "user", "content": text} for text in texts or ("hello",)]}
    return httpx.post(f"{server.base_url}/chat/completions", json=body, timeout=20)


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
