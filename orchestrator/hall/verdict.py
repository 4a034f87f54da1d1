"""The verdict a Wall turn opens with, read from its place and form, never from a word in a sentence."""

from __future__ import annotations

import re
from enum import StrEnum
from itertools import zip_longest

from orchestrator.hall.structure import Line


class Verdict(StrEnum):
    APPROVED = "APPROVED"
    CONDITIONAL = "CONDITIONAL"
    BLOCKED = "BLOCKED"


_OPENING = 3  # lines in which the verdict must stand: a title or a lead-in may come before it

# (?a:…) keeps letters that only look like ASCII when case is ignored (ı, the Kelvin sign) from passing for it.
_LABEL = re.compile(
    r"(?:[^\w\[|~]|_)*\[?(?:(?:my|the|final|overall|wall)\s){0,3}(?a:verdict)(?![^\W_])(.*)", re.IGNORECASE
)
_WORD = re.compile(
    r"(?:[^\w|~!≠¬]|_)*((?a:APPROVED|BLOCKED|CONDITIONAL))(?:LY\sAPPROVED|\sAPPROVAL)?(?![^\W_]|[~?])(.*)",
    re.IGNORECASE,
)
# A word right after the verdict may begin a reason; any other makes it a sentence ("APPROVED would be wrong").
_SENTENCE = re.compile(
    r"[\s*_`]*(?!(?:because|since|as|on|for|until|pending|by|due|if|unless|with)\b)[^\W_]", re.IGNORECASE
)
_ANOTHER = re.compile(r"(?:[\W_]|or\b|and\b)*(?:APPROVED|BLOCKED|CONDITIONAL)", re.IGNORECASE)
_CONDITION = re.compile(
    r"[\W_]*(?:but|if|with|once|when|unless|provided|subject|after|pending|until|except|only|condition\w*|however|not"
    r"|in\sprinciple)\b",
    re.IGNORECASE,
)


def read_verdict(lines: list[Line]) -> tuple[Verdict | None, str]:
    """Returns the verdict and "", or None and the sentence that says what is wrong and how to write it."""
    how = "write `VERDICT: APPROVED`, `VERDICT: CONDITIONAL` or `VERDICT: BLOCKED` as the first line"
    for line, after in zip_longest(lines[:_OPENING], lines[1 : _OPENING + 1]):
        label = _LABEL.match(line.text)
        if not label:
            continue
        beside = label[1] if any(map(str.isalnum, label[1])) or not after else after.text
        word = _WORD.match(beside)
        if not word or _SENTENCE.match(word[2]):
            return None, f"The verdict is not one of the three words: {how}, reasons after it."
        if _ANOTHER.match(word[2]):
            return None, f"The verdict names more than one word: choose one and {how}."
        verdict = Verdict(word[1].upper())
        if verdict is Verdict.APPROVED and _CONDITION.match(word[2]):
            return None, "An approval with a condition is CONDITIONAL: write that word and state the condition."
        return verdict, ""
    return None, f"The verdict does not stand first: {how}."
