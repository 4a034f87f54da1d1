"""A debate with its record as one HTML page that needs no network and checks itself.

The page embeds the ledger (each entry's stored bytes, its hash, its text and salt), the pinned plan and the head. Its
script derives the chain again, and compares what the page shows with it. What each kind of change comes to:

- A changed byte of the embedded data breaks the chain, a digest, or the one spelling that JSON has here.
- Words of the debate, who said them, at what cost, and the cited lines of evidence are compared with the ledger and the
  plan, one by one; no text of the ledger may be missing from the page.
- What is derived (outcomes, options, counts) stands in no entry. A checksum over title, style, scripts and the whole
  report, its elements and their attributes included, shows that they are as they were written; who changes them by
  intent can make a new checksum.
- A changed byte of the check itself meets the hash in the page's policy: it does not run, and nothing is green.
- Nothing in a page can show that it was rewritten as a whole, script and all, or made from another ledger. That shows
  against a head that was kept elsewhere: `debate-hall verify THREAD --head HEAD`.
- Not noticed are bytes that say the same (the spelling of a tag or an entity, space between attributes), and those of
  the page's frame around the report, of which none is shown: its doctype, language, policy.

Words of models are text: shown as they were written, white space kept. They are not formatted, since a reader of a
record wants the very words, and the comparison needs them.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from functools import cache
from html.parser import HTMLParser
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from orchestrator.decision.record import DecisionRecord
from orchestrator.export.report import Report, form
from orchestrator.hall.debate import Debate
from orchestrator.hall.export import debate_json
from orchestrator.wording import counted, visible

_EMBEDDED = ("schema", "thread_id", "head", "plan", "ledger")
_UNSAFE_IN_SCRIPT = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def render_html(record: DecisionRecord, debate: Debate) -> str:
    """Returns `report.html`.

    Raises:
        ConfigurationError: this version cannot read the plan that is pinned in the debate.
    """
    report = Report.of(record, debate)
    templates = _templates()
    style, scripts = _part("page.css"), (_part("check.js"), _part("page.js"))
    body = templates.get_template("report.html.j2").render(report=report, record=record, debate=debate)
    return templates.get_template("page.html.j2").render(
        policy=_policy(style, scripts),
        title=record.title,
        style=Markup(style),
        scripts=[Markup(script) for script in scripts],
        body=Markup(body),
        checksum=checksum([visible(record.title), style, *scripts], body),
        ledger=Markup(_embedded(debate)),
    )


@cache
def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("orchestrator.export", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    templates.filters |= {"form": form, "counted": counted}
    return templates


def _shown(value: Any) -> Any:
    """Whatever is no markup of ours is shown with its control characters as signs."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _part(name: str) -> str:
    loader = _templates().loader
    assert loader is not None, "it was made with one"
    return loader.get_source(_templates(), name)[0]


def _policy(style: str, scripts: tuple[str, ...]) -> str:
    allowed = " ".join(f"'{_source_hash(script)}'" for script in scripts)
    return (
        f"default-src 'none'; style-src '{_source_hash(style)}'; script-src {allowed}; "
        "base-uri 'none'; form-action 'none'"
    )


def _source_hash(source: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(source.encode()).digest()).decode()}"


def _embedded(debate: Debate) -> str:
    """What the check reads, in the one spelling that it accepts."""
    view = debate_json(debate)
    data = {name: view[name] for name in _EMBEDDED}
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).translate(_UNSAFE_IN_SCRIPT)


def checksum(before: list[str], body: str) -> str:
    """Returns what `check.js` computes again from the page as the browser read it.

    Args:
        before: the words of the title, the style and the scripts.
    """
    outline = _Outline()
    outline.feed(body.strip())
    outline.close()
    return "sha256:" + hashlib.sha256("".join([*before, *outline.parts]).encode()).hexdigest()


class _Outline(HTMLParser):
    """The elements, attributes and words of a report, but for what the script itself fills in (`data-live`), and for
    what is folded out (`open`), which the reader's browser says.

    Control characters set them apart: no word that is shown holds one.
    """

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._live = 0  # how deep inside an element that is left out

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if self._live or any(name == "data-live" for name, _ in attributes):
            self._live += 1
            return
        self.parts.append(f"\x01{tag}")
        self.parts += sorted(f"\x02{name}={value or ''}" for name, value in attributes if name != "open")
        self.parts.append("\x03")

    def handle_endtag(self, tag: str) -> None:
        if self._live:
            self._live -= 1
        else:
            self.parts.append("\x04")

    def handle_data(self, data: str) -> None:
        if not self._live:
            self.parts.append(data)
