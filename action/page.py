"""A debate's outcome as a comment: the decision in sight, the rest of the record folded away.

`decision.md` is harmless already as far as Markdown goes: what models wrote stands quoted, without links, images or
HTML of its own. On GitHub words can do more: `@name` calls a person, `#12` writes a line below another pull request.
Both are parted by a joiner without width, so that they are only words. And a line end in a comment is a line end to the
reader, so that lines which were only wrapped are joined again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

_JOINER = "\u2060"
_CALLING = re.compile(r"(?<=@)(?=\w)|(?<=#)(?=\d)|(?<=\bGH-)(?=\d)", re.IGNORECASE)
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n+", re.DOTALL)
_FOLD = ("<details>\n<summary>The whole record</summary>\n\n", "\n\n</details>\n\n")
_CUT = "\n\n**Cut here: the whole record is in the artefact.**"
_BEFORE_WORDS = re.compile(r"^[> ]*")
_JOINED = "\0"  # stands in no document
_MOST_NAMES = 20
_LONGEST_REASON = 2_000  # characters


def page_of(result: dict[str, Any], decision: Path, commit: str, kept_back: Sequence[str]) -> str | None:
    """Returns the outcome of a run as Markdown; None where nothing came of it that a pull request should be told.

    Args:
        result: what `run-debate --json` says.
        decision: `decision.md`, which is there when the debate was closed.
        commit: what was debated.
        kept_back: the changed files that were not.
    """
    if decision.exists():
        record = _FRONT_MATTER.sub("", decision.read_text(encoding="utf-8"))
        top, mark, rest = unwrapped(record).partition("\n## ")
        body = f"{top.strip()}\n\n{_FOLD[0]}{(mark + rest).strip()}{_FOLD[1]}"
    elif result.get("thread_id"):
        body = (
            f"# No decision yet\n\n{_verbatim(result['error']['message'][:_LONGEST_REASON])}\n\n{_how_far(result)}\n\n"
        )
    else:
        return None
    return harmless(f"{body}{_facts(result, commit, kept_back)}\n")


def harmless(text: str) -> str:
    """Text in which nobody is called and nothing is linked to."""
    return _CALLING.sub(_JOINER, text)


def fitting(page: str, most: int) -> str:
    """A page of at most so many characters; what is cut is the end of the folded record, and the page says so."""
    if len(page) <= most:
        return page
    record, fold, facts = page.rpartition(_FOLD[1])
    room = most - len(_CUT) - len(fold) - len(facts)
    kept = record[:room].rpartition("\n")[0]
    return f"{kept}{_CUT}{fold}{facts}"


def unwrapped(document: str) -> str:
    """A document of ours, in which no line that goes on begins with a sign, with each of its paragraphs on one line."""
    lines = document.split("\n")
    for token in MarkdownIt("commonmark").parse(document):
        if token.type == "inline" and token.map:
            first, end = token.map
            for at in range(first, end - 1):
                if not lines[at].endswith("\\"):  # a line end that was meant
                    lines[at + 1] = f"{lines[at]} {_BEFORE_WORDS.sub('', lines[at + 1])}"
                    lines[at] = _JOINED
    return "\n".join(line for line in lines if line != _JOINED)


def _facts(result: dict[str, Any], commit: str, kept_back: Sequence[str]) -> str:
    cost = "cost unknown" if result["cost_usd"] is None else f"${float(result['cost_usd']):.2f}"
    tokens = result["tokens"]
    lines = [
        f"[run-debate](https://pypi.org/project/run-debate/), commit {commit[:12]}: {len(result['turns'])} turns, "
        f"{tokens['input'] + tokens['output']:,} tokens, {cost}. Models wrote this; people decide.",
        f"Ledger of `{result['thread_id']}`, head `{result['head']}`: `debate-hall verify --file debate.json`.",
    ]
    if kept_back:
        names = ", ".join(_code(path) for path in kept_back[:_MOST_NAMES])
        more = f" and {len(kept_back) - _MOST_NAMES} more" if len(kept_back) > _MOST_NAMES else ""
        lines.append(f"Not debated, since GitHub shows no diff or the name is a secret's: {names}{more}.")
    return "\n".join(f"- {line}" for line in lines)


def _how_far(result: dict[str, Any]) -> str:
    turns = len(result["turns"])
    return f"{turns} {'turn is' if turns == 1 else 'turns are'} in the artefact. Run the job again for a new debate."


def _verbatim(text: str) -> str:
    """Words of anybody's as a block of code."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
    return f"{fence}text\n{text}\n{fence}"


def _code(words: str) -> str:
    """A path as code; a back quote in it is shown as another sign."""
    return f"`{' '.join(words.split()).replace('`', 'ˋ')[:200]}`"
