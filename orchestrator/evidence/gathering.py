"""What `--context` and `--adr` name becomes evidence, in the user's order, as far as it fits.

Whatever is named by itself and cannot be read is an error that names it. Of what a folder or a glob leads to, that is
left out with its reason: nothing is left out in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from orchestrator.errors import ConfigurationError
from orchestrator.evidence import revisions
from orchestrator.evidence.account import LeftOut, Unfit, sentences
from orchestrator.evidence.finding import Found, find, find_records
from orchestrator.evidence.pieces import Evidence, Kind
from orchestrator.evidence.reading import (
    MAX_BYTES,
    decode,
    digest_of,
    is_showable,
    left_out,
    look,
    read,
    read_bytes,
    require_no_secret,
    shown_as,
)
from orchestrator.wording import counted

DEFAULT_TOKENS = 100_000
BYTES_PER_TOKEN = 4  # of UTF-8; the usual estimate
MAX_PIECES = 500
MAX_TOTAL_BYTES = 64 << 20
AFTER_ALL_BYTES = f"comes after {MAX_TOTAL_BYTES >> 20} MiB that were read"
STANDARD_INPUT = "-"


@dataclass(frozen=True, slots=True)
class Gathered:
    """The evidence, and what was named and is none."""

    evidence: tuple[Evidence, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def notices(self) -> tuple[str, ...]:
        """A sentence for each reason why something was left out."""
        return tuple(f"Left out of the evidence: {sentence}." for sentence in sentences(self.left_out))


def gather(
    sources: Sequence[str],
    *,
    base: Path,
    within: Sequence[Path] | None = None,
    standard_input: Callable[[], bytes] | None = None,
    adr: Sequence[str] = (),
    budget_tokens: int = DEFAULT_TOKENS,
    max_pieces: int = MAX_PIECES,
) -> Gathered:
    """Reads what sources name.

    Args:
        sources: each is one of these, a leading `~` standing for the home folder:
            - a file, text in UTF-8, PDF or DOCX;
            - a folder, for every such file below it, sorted, without hidden files, what git ignores, and what links to
              folders lead to;
            - a glob (`*`, `?`, `[…]`, `**` for any folders), for the files that it matches, sorted, without hidden ones
              unless it names them, and what git ignores;
            - `git:A..B` or `git:A...B`, for a diff (a file of such a name is `./git:…`);
            - `-`, for standard input.
            A path that exists is never read as a glob (`app/[id]/page.tsx`).
        base: the folder that relative paths start from, and whose repository a diff is of.
        within: real folders; what is in none of them, links followed, is refused or passed by. None is everywhere.
        standard_input: reads it to its end, or a little more than `MAX_BYTES` of it; None where there is none.
        adr: folders of decision records; they stand after the rest, also those that a source names too.
        budget_tokens: how much may be taken, a token being four bytes of UTF-8. What does not fit whole is left out,
            and what comes after it may fit.
        max_pieces: how many pieces may be taken; what comes after them is left out.

    Returns:
        One piece of evidence for each real file, diff and input, in the order given.

    Raises:
        ConfigurationError: a source names nothing; what it names by itself cannot be evidence; of what a folder or glob
            leads to, nothing can; nothing of it all fits.
    """
    for source in (*sources, *adr):
        if not source.strip():
            raise ConfigurationError(f"{source!r} is no path of a context file.", "Give a file, a folder or a glob.")
        if not is_showable(source):
            raise ConfigurationError(f"{source!r:.80} has a name that cannot be shown.", "Rename it, or leave it out.")
    if sources.count(STANDARD_INPUT) > 1:
        raise ConfigurationError("Standard input can be read once only.", "Name - once.")
    records = [find_records(folder, base, within) for folder in adr]
    table = _Table(base, budget_tokens, max_pieces)
    later = table.identities(records)
    for source in sources:
        if source == STANDARD_INPUT:
            table.offer_data("standard input", _input(standard_input), "input", "Send text in UTF-8, without secrets.")
        elif source.startswith(revisions.PREFIX):
            diff = revisions.difference(source, base, within)
            table.offer_data(source, diff, "diff", revisions.WITHOUT_IT)
        else:
            table.offer_files(find(source, base, within), "file", later)
    for found in records:
        table.offer_files(found, "adr")
    if table.left_out and not table.pieces:
        raise ConfigurationError(
            f"Nothing is left of the evidence: {'; '.join(sentences(table.left_out))}.",
            "Raise the context limit, or give the part that the question rests on.",
        )
    return Gathered(tuple(table.pieces), tuple(table.left_out))


def file_digest(path: str, base: Path) -> str:
    """What the sha256 of a file that became evidence is now.

    Args:
        path: that of the evidence.
        base: the folder it was gathered from.

    Raises:
        ConfigurationError: it cannot be read any more.
    """
    try:
        return digest_of(read_bytes(look(path, base)))
    except Unfit as unfit:
        raise unfit.refusal(path) from unfit


def tokens_in(text: str) -> int:
    """What a text takes of the budget."""
    return -(-len(text.encode()) // BYTES_PER_TOKEN)


def too_many(shown: str, text: str, budget_tokens: int) -> LeftOut:
    """What is told of a text that does not fit any more."""
    budget = counted(budget_tokens, "token")
    why = f"does not fit into the rest of {budget} ({BYTES_PER_TOKEN} bytes are taken for one)"
    return LeftOut(shown, why, counted(tokens_in(text), "token"))


class _Table:
    """What was taken so far, and what was not."""

    def __init__(self, base: Path, budget_tokens: int, max_pieces: int) -> None:
        self.pieces: list[Evidence] = []
        self.left_out: list[LeftOut] = []
        self._base, self._budget, self._left = base, budget_tokens, budget_tokens
        self._bytes, self._max_pieces = 0, max_pieces
        self._seen: set[tuple[int, int]] = set()

    def identities(self, found: Iterable[Found]) -> frozenset[tuple[int, int]]:
        """Those of the files that can be opened."""
        identities = set()
        for name in chain.from_iterable(one.names for one in found):
            with suppress(Unfit):
                identities.add(look(name, self._base).identity)
        return frozenset(identities)

    def offer_files(self, found: Found, kind: Kind, later: Set[tuple[int, int]] = frozenset()) -> None:
        """Takes what fits; the files in `later` have their turn then."""
        unfit = list(found.left_out)
        for name in found.names:
            shown = shown_as(name, self._base)
            try:
                self._offer(name, shown, kind, later)
            except Unfit as reason:
                if not found.is_search:
                    raise reason.refusal(shown) from reason
                unfit.append(left_out(name, self._base, reason))
        if len(unfit) - len(found.left_out) == len(found.names):
            raise _nothing_in(found.source, unfit)
        self.left_out += unfit

    def offer_data(self, shown: str, data: bytes, kind: Kind, cure: str) -> None:
        """Takes what was read elsewhere, if it fits; `cure` says what to do about what it must not hold."""
        if len(data) > MAX_BYTES:
            raise ConfigurationError(
                f"is larger than {MAX_BYTES:,} bytes.", "Give the part that the question rests on.", source=shown
            )
        try:
            self._take(shown, data, decode(data), kind)
        except Unfit as reason:
            raise reason.refusal(shown, cure) from reason

    def _offer(self, name: str, shown: str, kind: Kind, later: Set[tuple[int, int]]) -> None:
        file = look(name, self._base)
        if file.identity in self._seen or file.identity in later:
            return
        self._seen.add(file.identity)
        if len(self.pieces) >= self._max_pieces:
            self.left_out.append(LeftOut(shown, f"comes after the first {self._max_pieces} pieces of evidence"))
        elif self._bytes + file.size > MAX_TOTAL_BYTES:
            self.left_out.append(LeftOut(shown, AFTER_ALL_BYTES))
        else:
            self._bytes += file.size
            data, text = read(file)
            self._take(shown, data, text, kind)

    def _take(self, shown: str, data: bytes, text: str, kind: Kind) -> None:
        if tokens_in(text) > self._left:
            self.left_out.append(too_many(shown, text, self._budget))
            return
        require_no_secret(text)
        self._left -= tokens_in(text)
        self.pieces.append(Evidence(f"E{len(self.pieces) + 1}", shown, digest_of(data), text, kind))


def _nothing_in(source: str, unfit: Sequence[LeftOut]) -> ConfigurationError:
    why = f": {'; '.join(sentences(unfit))}" if unfit else ", for it is empty or all in it is hidden"
    cures = dict.fromkeys(item.cure for item in unfit) if unfit else ["Name what you want of it."]
    return ConfigurationError(f"leads to nothing that can be evidence{why}.", " ".join(cures), source=source)


def _input(read: Callable[[], bytes] | None) -> bytes:
    if read is None:
        raise ConfigurationError("There is no standard input to read evidence from.", "Name files in place of -.")
    data = read()
    if not data.strip():
        raise ConfigurationError(
            "Standard input is empty, so that it holds no evidence.", "Send it some text, or leave out -."
        )
    return data
