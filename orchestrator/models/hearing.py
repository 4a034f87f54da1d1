"""What is heard of an answer while it comes, without secrets: a key that comes in two pieces is still a key.

It is passed on line by line, since no key is known before it has ended, and what spans lines is held until it has. So
all that was passed on, put together, is the answer as it is kept in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from orchestrator.secrets import scrub

_SEEN_AGAIN = 200  # characters of what was passed on that are looked at with the next line: `token:` may stand there
_BLOCK = "-----BEGIN "  # a private key, which ends with its own last line
_BLOCK_ENDS = "-----END "


class Hearing:
    """Hears pieces and passes on lines; `end` passes on the rest.

    Args:
        hear: is told each line.
        keys: texts that are secrets, whatever they look like.
    """

    def __init__(self, hear: Callable[[str], None], keys: Iterable[str]) -> None:
        self._hear, self._keys = hear, tuple(keys)
        self._over_lines = tuple(key for key in self._keys if "\n" in key)
        self._before = ""  # the end of what was passed on, as it came
        self._held = ""

    def add(self, piece: str) -> None:
        """Takes what came."""
        self._held += piece
        if "\n" in piece:
            self._pass_on(self._held[: self._safe()])

    def end(self) -> None:
        """The answer came whole."""
        if self._held and not self._pass_on(self._held):
            self._hear(scrub(self._held, self._keys))

    def _pass_on(self, text: str) -> bool:
        """Passes on what was held, unless a secret reaches into it from what was passed on before."""
        before, all_of_it = scrub(self._before, self._keys), scrub(self._before + text, self._keys)
        if not text or not all_of_it.startswith(before):
            return False
        self._held = self._held[len(text) :]
        self._before = _last_lines(self._before + text)
        self._hear(all_of_it[len(before) :])
        return True

    def _safe(self) -> int:
        """How much of what is held holds no beginning of a secret that has not ended."""
        end = self._held.rfind("\n") + 1
        begun = self._held.rfind(_BLOCK, 0, end)
        if begun >= 0 and _BLOCK_ENDS not in self._held[begun:end]:
            end = begun
        for key in self._over_lines:
            begun = next((n for n in range(len(key) - 1, 0, -1) if self._held.endswith(key[:n], 0, end)), 0)
            end -= begun
        return end


def _last_lines(text: str) -> str:
    """The last lines of a text, as many as are looked at again; of one that is longer, its end."""
    tail = text[-_SEEN_AGAIN:]
    return tail if len(text) <= _SEEN_AGAIN else tail[tail.find("\n", 0, -1) + 1 :]
