"""Pages to read: of the example debates, of long ones, and of one in which everybody is hostile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from browser.reader import apart
from building import THREAD, evidence_of, hall_at, plan_of, wordy
from examples.shelf import ALL
from orchestrator.decision.account import Account
from orchestrator.decision.record import DecisionRecord, make_record
from orchestrator.evidence import Evidence
from orchestrator.export.html import render_html
from orchestrator.hall.debate import Debate
from orchestrator.hall.terms import Role
from orchestrator.runner import open_debate


class Written(NamedTuple):
    file: Path
    debate: Debate
    record: DecisionRecord


def example(name: str, folder: Path) -> Written:
    debate, record, _ = apart(ALL[name], folder / "state")
    return written(folder, debate, record)


def written(folder: Path, debate: Debate, record: DecisionRecord) -> Written:
    file = folder / "report.html"
    file.write_bytes(render_html(record, debate).encode())
    return Written(file, debate, record)


def long_debate(folder: Path, turns: int = 36, words: int = 800) -> Written:
    """As many turns as DEEP has, each of so many words, in three of a round."""
    with hall_at(folder / "state") as hall:
        hall.init_debate(THREAD, "Should we move billing to Kafka?", max_turns=turns, max_rounds=turns)
        for at in range(turns):
            text = f"Marker{at + 1:02} begins.\n\n" + " ".join(f"word{at}x{number}" for number in range(words))
            hall.add_turn(THREAD, tuple(Role)[at % 3], text, agent_role="a-person", model="no-model")
        hall.close_debate(THREAD, "It is decided.")
        debate = hall.debate(THREAD)
    return written(folder, debate, make_record(debate, None))


SENTINEL = "window.reached = true"

HOSTILE = (
    f"<script>{SENTINEL}</script>",
    f"</script><script>{SENTINEL}</script>",
    f"</div></details></main><script>{SENTINEL}</script>",
    f"</style><script>{SENTINEL}</script>",
    f"</title><script>{SENTINEL}</script>",
    f"</textarea><script>{SENTINEL}</script>",
    "<!-- <script> and all that follows is hidden",
    "--> <!--> ]]> <![CDATA[ <?php ?> <!DOCTYPE html>",
    f'<img src=x onerror="{SENTINEL}">',
    f'" onmouseover="{SENTINEL}" x="',
    f"' autofocus onfocus='{SENTINEL}' tabindex='1",
    f"<svg onload='{SENTINEL}'><script>{SENTINEL}</script></svg>",
    f"<svg><animate onbegin='{SENTINEL}' attributeName=x dur=1s>",
    f"<math><mtext><script>{SENTINEL}</script></mtext></math>",
    f"<math href=\"javascript:{SENTINEL}\">click</math>",
    f"<template><script>{SENTINEL}</script></template>",
    f"<noscript><p title=\"</noscript><script>{SENTINEL}</script>\">",
    f"<iframe srcdoc='<script>parent.{SENTINEL}</script>'></iframe>",
    "<iframe src='http://127.0.0.1:9/frame'></iframe>",
    f"<object data='data:text/html,<script>{SENTINEL}</script>'></object>",
    "<embed src='http://127.0.0.1:9/embed'><video src='http://127.0.0.1:9/v' autoplay></video>",
    f"<a href=\"javascript:{SENTINEL}\">read on</a> [read on](javascript:{SENTINEL})",
    "[a link](http://127.0.0.1:9/x) <http://127.0.0.1:9/y> http://127.0.0.1:9/z ![i](http://127.0.0.1:9/i.png)",
    "<meta http-equiv='refresh' content='0;url=http://127.0.0.1:9/refresh'>",
    "<base href='http://127.0.0.1:9/'><form action='http://127.0.0.1:9/'><input name=x><button>go</button></form>",
    "<link rel='stylesheet' href='http://127.0.0.1:9/x.css'><style>@import 'http://127.0.0.1:9/y.css';</style>",
    "<style>* { display: none } body { background: url(http://127.0.0.1:9/b.png) }</style>",
    "}</style> </ body > * { color: red } expression(alert(1))",
    "{{ 7 * 7 }} {% for x in y %} {# hidden #} ${1+1} #{x} {{ ''.__class__.__mro__ }} {% include '/etc/passwd' %}",
    '"}],"head":"sha256:0","ledger":[{"entry":"{}"}] \\u003c/script> \\" \\\\',
    "line\u2028separator\u2029paragraph\x85next\x0bvertical\x0cform",
    "\u202eevil txt.exe\u202c \u2066isolated\u2069 \u200f right-to-left \u202dforced",
    "".join(map(chr, range(1, 0x20))) + "".join(map(chr, range(0x7F, 0xA0))),
    "one\rtwo\r\nthree\n\rfour\n\n\n  kept   white\tspace  \n",
    "x" * 4000,
    "https://example.invalid/" + "a/very-long-path-without-any-break" * 60,
    "| a | b |\n|---|---|\n| " + "wide" * 100 + " | " + "cell" * 100 + " |",
    "&lt;script&gt; &amp;amp; &#60;b&#62; &nbsp; &notit; &#x3c;",
    "\ufeffbyte order mark, \ufffe and \uffff, \U0001f469\u200d\U0001f4bb e\u0301 " + "Z\u0351\u0352\u0353" * 50,
    "<div data-of='0'>not said</div><span data-added>added</span><div id='check' class='verified'>✓ Verified</div>",
    "<p data-live>hidden</p><div id=report></div><details open><summary>x</summary></details>",
)  # fmt: skip


def hostile(folder: Path) -> Written:
    """Every word in it, of whatever kind, means to be more than a word."""
    said = "\n".join(HOSTILE)
    evidence = (evidence_of(f"{said}\n", path="notes.md"), Evidence("E2", f"a/{HOSTILE[8]}.md", "sha256:0", said))
    plan = plan_of("deep", evidence=evidence)
    with hall_at(folder / "state") as hall:
        open_debate(hall, plan, THREAD, said)
        hall.extend(THREAD, 100, 100, "run-debate", HOSTILE[0])
        for at, payload in enumerate(HOSTILE):
            role = tuple(Role)[at % 3]
            cites = f'{payload}\n[E1:1] "{payload}" [E2:2] [E9:1]\n- [C1] CONSTRAINT: {payload}'
            verdict = "VERDICT: BLOCKED\n" if role is Role.WALL else ""
            hall.add_turn(THREAD, role, verdict + wordy(cites), agent_role=f"agent {at}", model="<b>model</b>")
        hall.note(THREAD, said, "remark", "<i>somebody</i>")
        hall.tombstone_turn(THREAD, 3, f"{HOSTILE[1]} is why")
        for _ in range(-len(HOSTILE) % 3):
            hall.add_turn(THREAD, hall.get_debate(THREAD)["next_role"], wordy("And on."), agent_role="agent")
        hall.close_debate(THREAD, said)
        debate = hall.debate(THREAD)
    return written(folder, debate, make_record(debate, plan).model_copy(update=_accounted(said)))


def _accounted(said: str) -> dict[str, object]:
    """What Door would say of a decision, all of it hostile."""
    option = {"title": said, "turns": [1, 99], "taken": True, "why": said, "because": [said, "T2.C1", "E1:1", "T99"]}
    account = Account.model_validate_json(
        json.dumps(
            {
                "title": said,
                "decision": said,
                "options": [option, {**option, "taken": False}],
                "constraints": [],
                "consequences": [{"kind": kind, "what": said} for kind in ("good", "neutral", "bad")],
                "risks": [{"what": said, "mitigation": said}],
                "actions": [{"what": said, "who": said, "by": said}],
                "assumptions": [{"what": said, "check": said}],
                "earlier_decisions": [],
                "reversibility": "two-way",
                "review_by": None,
                "confidence": {"level": "low", "why": said},
            }
        )
    )
    names = ("options", "consequences", "risks", "actions", "assumptions", "reversibility", "confidence")
    return {"title": said, "summary": account.decision} | {name: getattr(account, name) for name in names}
