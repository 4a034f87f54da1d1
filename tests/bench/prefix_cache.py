"""A provider on loopback with the prompt caches that providers have, as their documentation of autumn 2026 tells.

A cache holds the beginning of a rendered request: the JSON schema or the tools first, then the messages. Nobody
documents where Gemini puts a schema; here it stands first too, which is the dearer case. Tokens are four bytes.

- Claude keeps what ends at a mark (`cache_control`), and from each mark looks back over twenty blocks for that.
- GPT since 5.6 keeps what ends at one of the newest four marks, its own at the end of the newest message among them
  unless it is told otherwise, and finds only what a mark of the new request ends at. It needs a `prompt_cache_key`.
- Older GPTs and Gemini find the longest beginning that an earlier request had too; GPT in steps of 128 tokens.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from endpoint import Call, ModelServer

STEP_S = 30  # that a call takes, by which it is told what is forgotten
_BYTES = 4  # of a token


class Rules(NamedTuple):
    """How a cache works: the fewest tokens that it keeps, in which steps, for how long, and whether only at marks."""

    least: int
    step: int
    ttl_s: int
    marked: bool
    lookback: int = 0  # blocks


CLAUDE = Rules(least=512, step=1, ttl_s=300, marked=True, lookback=20)
GPT = Rules(least=1024, step=1, ttl_s=1800, marked=True)
OLDER_GPT = Rules(least=1024, step=128, ttl_s=300, marked=False)
GEMINI = Rules(least=4096, step=1, ttl_s=300, marked=False)


class Rendered(NamedTuple):
    """A request as its provider reads it, and the ends of the blocks that are marked: numbers of blocks."""

    blocks: tuple[str, ...]
    marks: tuple[int, ...]


class Served(NamedTuple):
    """Tokens that a cache served, and those that were written into it at a price."""

    cached: int
    written: int


class CachingServer(ModelServer):
    """A `ModelServer` whose caches are these; `served` says for each call what they did."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.served: dict[int, Served] = {}
        self.cache = _Cache()
        self.count = lambda messages: sum(len(text.encode()) for _, text in messages) // _BYTES

    def _cached(self, call: Call) -> int:
        self.served[call.number] = self.cache.ask(call)
        return self.served[call.number].cached


class _Kept(NamedTuple):
    """When it was left behind, in the order of events, and when it was last asked for, in seconds."""

    finished: int
    at_s: float


@dataclass
class _Cache:
    """What all providers keep: beginnings, each block by block behind the model and the key they belong to."""

    _kept: dict[tuple[str, ...], _Kept] = field(default_factory=dict)
    _asked: int = 0

    def ask(self, call: Call) -> Served:
        """What a call is served, when it is answered; what it leaves behind is there for those that start later."""
        self._asked += 1
        now_s, rules, rendered = self._asked * STEP_S, rules_of(call.model), render(call)
        key = call.body.get("prompt_cache_key")
        whose = (call.model, str(key))
        served = 0
        for end in _looked_up(rules, rendered) if key or rules is not GPT else ():
            kept = self._kept.get((*whose, *rendered.blocks[:end]))
            if kept and kept.finished < call.started and now_s - kept.at_s <= rules.ttl_s:
                self._kept[(*whose, *rendered.blocks[:end])] = kept._replace(at_s=now_s)
                served = tokens_of(rendered.blocks[:end]) // rules.step * rules.step
                break
        left = [end for end in _left_behind(rules, rendered) if tokens_of(rendered.blocks[:end]) >= rules.least]
        for end in left:
            known = self._kept.get((*whose, *rendered.blocks[:end]))
            finished = known.finished if known and now_s - known.at_s <= rules.ttl_s else call.finished or 0
            self._kept[(*whose, *rendered.blocks[:end])] = _Kept(finished, now_s)
        longest = max((tokens_of(rendered.blocks[:end]) for end in left), default=0)
        return Served(served, max(longest - served, 0) if rules.marked else 0)


def rules_of(model: str) -> Rules:
    if "claude" in model:
        return CLAUDE
    if model.startswith("gpt-4"):
        return OLDER_GPT
    return GEMINI if "gemini" in model else GPT


def render(call: Call) -> Rendered:
    parts = list(_parts(call))
    marks = tuple(number for number, (_, marked) in enumerate(parts, 1) if marked)
    explicit = call.body.get("prompt_cache_options", {}).get("mode") == "explicit"
    if rules_of(call.model) is GPT and not explicit:
        marks = (*marks[-3:], len(parts))
    return Rendered(tuple(text for text, _ in parts), marks)


def tokens_of(blocks: Sequence[str]) -> int:
    return sum(len(block.encode()) for block in blocks) // _BYTES


def _parts(call: Call) -> Iterator[tuple[str, bool]]:
    """The blocks of a request in the order in which they are read, each with whether its end is marked."""
    body = call.body
    if call.schema is not None:
        yield json.dumps(call.schema), False
    system = body.get("system") or body.get("system_instruction", {}).get("parts") or ()
    said = [message.get("content") or message.get("parts") for message in body.get("messages") or body["contents"]]
    for content in (system, *said):
        for part in [{"text": content}] if isinstance(content, str) else content:
            yield part["text"], "cache_control" in part or "prompt_cache_breakpoint" in part


def _looked_up(rules: Rules, rendered: Rendered) -> Iterator[int]:
    """Ends of beginnings, the longest first, that are looked for."""
    if rules.marked:
        seen = {end - back for end in rendered.marks for back in range(rules.lookback + 1) if end > back}
        yield from sorted(seen, reverse=True)
    else:
        yield from range(len(rendered.blocks), 0, -1)


def _left_behind(rules: Rules, rendered: Rendered) -> Sequence[int]:
    return rendered.marks[-4:] if rules.marked else range(1, len(rendered.blocks) + 1)
