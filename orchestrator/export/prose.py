"""What models wrote, as a block quote that keeps its form, fits its columns and cannot leave its place.

Their Markdown is read by a parser and its parts are written again: paragraphs, lists, quotes, emphasis and code as they
were, headings as bold lines, tables as lists. Whatever a parser would drop, the cells that are too many in a row say,
is noticed: the text then stands as it was typed. Line ends of all kinds end a line; any other control character is
shown as a sign, as it is on standard output.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from orchestrator.export.lines import BREAK, WIDTH, columns, filled, fits, hung
from orchestrator.export.words import READER, code, plain, rendered, shown, without_comments, without_emphasis

_DEEPEST = 12  # a list takes two levels; below it lines become too narrow to fill
_SET_APART = ("fence", "code_block", "blockquote", "heading", "table", "hr")
_BLANK = re.compile(r"\n(?:[ \t]*\n)+")
_LANGUAGE = re.compile(r"[\w+#.-]{1,30}", re.ASCII)
_GOES_ON = "↪ "  # before what was parted from the line of code above
_ONLY_COMMANDS = re.compile(r"(?:\s*(?:\$\s.*)?(?:\n|$))*")
_COMMAND = re.compile(r"\s*\$\s", re.MULTILINE)


def quote(text: str) -> str:
    """Returns a text as a block quote."""
    typed = "\n".join(map(shown, text.splitlines()))
    lines = _read(typed, WIDTH - 2)
    return "\n".join(hung(lines or [""], "> ", "> "))


def parsed(text: str) -> list[Token] | None:
    """Returns a text as Markdown; None where a part of it would be dropped, or stands too deep to be read."""
    tokens = READER.parse(text)
    whole = _letters(text) == _letters("".join(_said(tokens)))
    return tokens if whole and all(token.level <= _DEEPEST for token in tokens) else None


def _read(text: str, width: int) -> list[str]:
    tokens = parsed(text)
    if tokens is None:
        return _as_typed(text, width)
    lines = _blocks(SyntaxTreeNode(tokens).children, width)
    return lines if all(fits(line, width) for line in lines) else _as_typed(text, width)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def _said(tokens: Iterable[Token]) -> Iterator[str]:
    """All that a parser made of a text, in its order."""
    for token in tokens:
        if token.type == "inline":
            yield from (child.content for child in token.children or ())
        elif token.type in ("list_item_open", "fence", "code_block"):
            yield from (token.info, token.content)


def _as_typed(text: str, width: int) -> list[str]:
    parts = (filter(str.strip, part.split("\n")) for part in _BLANK.split(text))
    return _parted(filled(BREAK.join(map(plain, lines)), width) for lines in parts)


def _parted(parts: Iterable[Sequence[str]]) -> list[str]:
    """Blocks with an empty line between two of them."""
    lines: list[str] = []
    for part in parts:
        lines += ["", *part] if lines and part else part
    return lines


def _blocks(nodes: Iterable[SyntaxTreeNode], width: int, tight: bool = False) -> list[str]:
    lines: list[str] = []
    for kind, group in groupby(nodes, lambda node: node.type):
        for block in _in_a_row(kind, group, width):
            apart = bool(lines and block) and not (tight and _follows_at_once(kind, block))
            lines += ["", *block] if apart else block
    return lines


def _in_a_row(kind: str, nodes: Iterable[SyntaxTreeNode], width: int) -> Iterator[list[str]]:
    """Blocks of one kind; quotes become one, since two would be read as one with a gap."""
    if kind == "blockquote":
        yield hung(_blocks([child for node in nodes for child in node.children], width - 2), "> ", "> ")
    else:
        yield from (_block(node, width) for node in nodes)


def _follows_at_once(kind: str, block: Sequence[str]) -> bool:
    """Whether a list in a tight item needs no empty line before it; only such a list can end a paragraph."""
    return kind.endswith("_list") and block[0].startswith(("- ", "1"))


def _block(node: SyntaxTreeNode, width: int) -> list[str]:
    match node.type:
        case "paragraph":
            return filled(_words(node), width)
        case "heading":
            return _bold(node, width)
        case "bullet_list" | "ordered_list":
            return _list(node, width)
        case "fence" | "code_block":
            return _code(node, width)
        case "table":
            return _table(node, width)
        case _:  # a rule
            return filled("---", width)


def _words(node: SyntaxTreeNode) -> str:
    return rendered(_inline(node))


def _inline(node: SyntaxTreeNode) -> Sequence[Token]:
    """The tokens of a block that holds words and nothing else."""
    token = node.children[0].token if node.children else None
    return (token.children or ()) if token else ()


def _bold(node: SyntaxTreeNode, width: int) -> list[str]:
    words = without_emphasis(_inline(node)).replace(BREAK, " ").strip()
    return filled(f"**{words}**", width) if words else []


def _list(node: SyntaxTreeNode, width: int) -> list[str]:
    """A list; numbers that do not count up from 1 stand in its items, where nobody counts them again."""
    items = [item for item in node.children if item.info or not _is_empty(item)]
    counts = node.type == "ordered_list" and _counts_up(items)
    is_tight = all(map(_is_tight, items))
    lines: list[str] = []
    for item in items:
        marker = f"{item.info}{item.markup} " if counts else "- "
        number = "" if counts or not item.info else f"{item.info}\\{item.markup}"
        block = hung(_item(item, number, width - len(marker), is_tight), marker, " " * len(marker))
        lines += block if is_tight or not lines else ["", *block]
    return lines


def _is_tight(item: SyntaxTreeNode) -> bool:
    """Whether items may follow it without an empty line; code in it wants one."""
    paragraphs = (child for child in item.children if child.type == "paragraph")
    return all(child.hidden for child in paragraphs) and not any(node.type in _SET_APART for node in item.walk())


def _is_empty(item: SyntaxTreeNode) -> bool:
    within = (node for child in item.children for node in child.walk())
    return not any(node.type in ("fence", "code_block", "hr") or node.info or node.content.strip() for node in within)


def _counts_up(items: Sequence[SyntaxTreeNode]) -> bool:
    return all(item.info == str(at) and not _is_empty(item) for at, item in enumerate(items, 1))


def _item(item: SyntaxTreeNode, number: str, width: int, is_tight: bool) -> list[str]:
    nodes = item.children
    if not number:
        return _blocks(nodes, width, is_tight)
    if nodes and nodes[0].type == "paragraph":
        first, rest = filled(f"{number} {_words(nodes[0])}", width), _blocks(nodes[1:], width, is_tight)
    else:
        first, rest = [number], _blocks(nodes, width, is_tight)
    return _parted([first, rest])


def _table(node: SyntaxTreeNode, width: int) -> list[str]:
    """A row is an item, the head a bold line."""
    head, *body = [[_inline(cell) for cell in row.children] for part in node.children for row in part.children]
    title = " · ".join(filter(None, map(without_emphasis, head)))
    rows = [filled(" · ".join(rendered(cell) or "–" for cell in row), width - 2) for row in body]
    items = [line for row in rows for line in hung(row, "- ", "  ")]
    return _parted([filled(f"**{title}**", width) if title else [], items])


def _code(node: SyntaxTreeNode, width: int) -> list[str]:
    rows = [row.expandtabs(4).rstrip() for row in node.content.splitlines()]
    info = node.info.strip()
    language = info.partition(" ")[0]
    told = "" if _LANGUAGE.fullmatch(info) else info
    if _COMMAND.search(node.content) and _ONLY_COMMANDS.fullmatch(node.content):
        # a block of nothing but commands with their prompts is no good style: each is code of its own
        block = filled(BREAK.join(map(code, filter(None, rows))), width)
    else:
        rows = [without_comments(part) for row in rows for part in _broken(row, width - 1)]
        fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", "\n".join(rows))), 3)
        block = [f"{fence}{language if _LANGUAGE.fullmatch(language) else 'text'}", *rows, fence]
    return _parted([filled(plain(told), width), block])


def _broken(row: str, width: int) -> Iterator[str]:
    """A line of code as lines that fit, the others marked as what goes on."""
    if columns(row) <= width:
        yield row
        return
    indent = row[: len(row) - len(row.lstrip())]
    line = indent if columns(indent) <= width // 2 else ""
    for piece in re.findall(r"\s*\S+", row.lstrip()):
        if line.strip() and columns(line + piece) > width:
            yield line
            line = _GOES_ON
            piece = piece.lstrip()
        line += piece
    yield line
