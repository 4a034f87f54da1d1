"""Which characters make words that white space parts: the rules for words of every script that quotations need."""

from __future__ import annotations

import re
import unicodedata

# Scripts that write words, and their punctuation, without a blank between them; no digits, and not Hangul.
_UNSPACED = (
    r"\u2e80-\u2fdf\u3001-\u303f\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    r"\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff9f\U00020000-\U0003ffff"
    r"\u0e00-\u0e4f\u0e5a-\u0ecf\u0eda-\u0eff\u1000-\u103f\u104a-\u109f\u1780-\u17df"
)
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_BLANK_WITHIN = re.compile(rf"(?<=[{_UNSPACED}])\s+(?=[{_UNSPACED}])")


def is_spaced_word(character: str) -> bool:
    """Whether a character is part of a word of a script that puts blanks between words; none at all is not."""
    return (
        character != ""
        and (character.isalnum() or character == "_" or is_mark(character))
        and not _IS_UNSPACED.match(character)
    )


def is_mark(character: str) -> bool:
    """Whether it belongs to the character before it: an accent, a vowel sign."""
    return character != "" and unicodedata.category(character)[0] == "M"


def with_plain_blanks(text: str) -> str:
    """The text in Unicode's composed form, each run of white space one blank; none where the script needs none."""
    composed = unicodedata.normalize("NFC", text)
    return re.sub(r"\s+", " ", _BLANK_WITHIN.sub("", composed)).strip()
