"""What an answer makes of something that is stated: whether it dismisses a constraint, or believes a false claim.

By rule, sentence by sentence; the rules stand in the order in which they are asked. To quote a claim is not to believe
it, unless something is built on it; to deny it is not, either: "the vendor says under 5 ms; the load test shows 40".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from orchestrator.evaluate.phrases import Unit, Use, numbers_in

Reading = Literal["unmentioned", "denied", "doubted", "quoted", "accepted"]

_STRENGTH: tuple[Reading, ...] = ("unmentioned", "denied", "doubted", "quoted", "accepted")


def _any(*words: str) -> re.Pattern[str]:
    """One of these, which may be patterns themselves, as whole words."""
    return re.compile(rf"\b(?:{'|'.join(words)})\b")


_NOT = r"(?:not|never|cannot|can't|no longer|hardly|neither|nor|without|nobody|nothing|\w+n't|no)"
_CLAUSES = re.compile(
    r"[;:,(—–]|\s-\s|\b(?:but|because|since|so|therefore|hence|and|while|whereas|although|though|however|yet|which)\b"
)
_NEGATED_BEFORE = re.compile(rf"\b{_NOT}\b(?:\W+\w+){{0,7}}\W*$|\b(?:instead of|rather than)\b.*$")
_CONTRARY = _any("contrary to", "unlike what")
_DENIAL = _any(
    r"false|wrong\w*|untrue|incorrect|mistaken|misleading|misread\w*|outdated|out of date|optimistic|a myth|no longer",
    r"refut\w+|contradict\w*|disprov\w+|debunk\w*|overstat\w+|unsupported|unfounded|belie[ds]|rejected|fails? to hold",
    r"(?:is|are|was|were|does|do|did|will|would|can|could)(?: not|n't)"
    r" (?:true|so|right|correct|the case|hold|stand|supported|borne out|appl\w+|match\w*|agree|fit)",
    r"cannot be (?:relied|trusted|right|true)",
)
_DOUBT = _any("if", "whether", "unless", "until", "would", "might", "unverified", "unproven", "unclear", "verify that")
_SAYS = _any(
    r"says?|said|saying|claim(?:s|ed|ing)?|stat(?:es|ed|ing)|assert\w*|promis\w+|advertis\w+|alleged\w*|quot\w+",
    r"wr(?:ites|ote) that|report(?:s|ed) that|argues?|argued|tells?|told|heard|puts? it|according to",
    r"believes?|believed|supposed\w*|assumes?|estimates?|estimated",
)
_WE_SAY = _any("(?:we|i) (?:say|claim|state|assert|argue|believe|assume|estimate|conclude)")
_CONTRAST = re.compile(r"^\W*(?:but|however|yet|in fact|actually|in truth|in reality|whereas|while|though)\b")
_BUILT_ON = _any(
    "so|therefore|thus|hence|consequently|accordingly|as a result|because|given that|since",
    "(?:which|that|this) (?:means|is enough|suffices)|confirms?|confirmed|we rely on|relying on|we can",
)
_REFERS_BACK = re.compile(r"^\W*(?:that|this|it|these|those|they|the claim|the figure|the statement|both|neither)\b")
_CLOSES_QUOTE = '"”»'
_OPENS_QUOTE = '"“„«'

_DISMISSED = _any(
    "(?:is|are|was|were)(?: not|n't) (?:relevant|a constraint|a requirement|binding|in force|decisive|applicable)",
    "(?:do|does|did|need)(?: not|n't) (?:apply|matter|bind|count|concern us)",
    r"(?:contract|agreement|policy|rule|adr|document|auditor|nobody)s?(?: \w+){0,3} (?:do|does|did)(?: not|n't)"
    " (?:need|require|ask|demand|call|forbid|prohibit)",
    "need not (?:be (?:met|kept|honou?red)|hold|care|worry)",
    "irrelevant|immaterial|no longer (?:applies|apply|holds|matters|binding|in force|required)",
    "can be (?:ignored|waived|disregarded|set aside)",
    "(?:we|i|let us) (?:ignore|disregard)|ignoring|disregarding|regardless of|never mind",
    r"there (?:is|are) no (?:\w+ ){0,4}(?:rule|limit|requirement|obligation|constraint|ban|freeze|deadline|such)s?",
)
_NEGATED_DISMISSAL = re.compile(rf"\b(?:{_NOT}|do not|must not|may not|should not)(?:\s+\w+)?\s*$")


@dataclass(frozen=True, slots=True)
class Read:
    """How a false claim is used, and the sentence that shows it."""

    reading: Reading
    sentence: str = ""


def dismissed(unit: Unit, use: Use) -> bool:
    """Whether the sentence of a use, or one behind it that refers back to it, says that the fact does not count."""
    return any(_dismisses(sentence) for sentence in _with_what_refers_back(unit.sentences, use.number))


def dismisses(unit: Unit) -> bool:
    """Whether a unit that is about one fact alone says that this does not count."""
    return any(map(_dismisses, unit.sentences))


@dataclass(frozen=True, slots=True)
class Refutation:
    """What refutes a false claim: the numbers that stand there alone, and who cites its lines."""

    numbers: frozenset[str]
    is_cited_in: Callable[[str], bool]


def reading_of(units: Sequence[Unit], phrases: Sequence[str], claim: str, refutation: Refutation) -> Read:
    """Returns the strongest use that an answer makes of a false claim.

    Args:
        units: the parts of the answer.
        phrases: those whose approving use shows that the claim was believed.
        claim: its sentence.
        refutation: what, in the same sentence or the next, turns a use into a denial.
    """
    found = [
        Read(_read(unit, use, refutation), unit.said[use.number]) for unit in units for use in unit.uses(phrases, claim)
    ]
    return max(found, key=lambda each: _STRENGTH.index(each.reading), default=Read("unmentioned"))


def _read(unit: Unit, use: Use, refutation: Refutation) -> Reading:
    sentence = unit.sentences[use.number]
    before, after = sentence[: use.at], sentence[use.end :]
    clause = _CLAUSES.split(before)[-1]
    following = unit.sentences[use.number + 1] if use.number + 1 < len(unit.sentences) else ""
    if _CONTRARY.search(before) or _is_denied(clause, after, following):
        return "denied"
    here = " ".join(unit.said[use.number : use.number + 2])
    if refutation.is_cited_in(here) or refutation.numbers & numbers_in(here):
        return "denied"
    if _DOUBT.search(clause) or sentence.endswith("?"):
        return "doubted"
    if _is_attributed(sentence, use):
        contrasted = any(_CONTRAST.search(part) for part in (*_tails(after), following))
        built_on = _BUILT_ON.search(before) or _BUILT_ON.search(after) or _BUILT_ON.match(following)
        return "accepted" if built_on and not contrasted else "quoted"
    return "accepted"


def _is_denied(clause: str, after: str, following: str) -> bool:
    if _NEGATED_BEFORE.search(clause) or _DENIAL.search(clause):
        return True
    for part in _tails(after):
        if re.match(r"\W*(?:so|therefore|hence|thus|and)\b", part):
            break
        if _DENIAL.search(part):
            return True
    return bool((_REFERS_BACK.search(following) or _CONTRAST.search(following)) and _DENIAL.search(following))


def _tails(after: str) -> list[str]:
    """What follows a phrase, clause by clause, each with the word that opens it."""
    starts = [0, *(match.start() for match in _CLAUSES.finditer(after))]
    return [after[at:end].lstrip(" ,;:(") for at, end in zip(starts, [*starts[1:], len(after)], strict=True)]


def _is_attributed(sentence: str, use: Use) -> bool:
    """Whether somebody else says it: by a verb of saying, or in quotation marks."""
    beside = sentence[: use.at] + " " + sentence[use.end :]
    if _SAYS.search(beside) and not _WE_SAY.search(beside):
        return True
    opened = max(sentence.rfind(mark, 0, use.at) for mark in _OPENS_QUOTE)
    return opened >= 0 and any(sentence.find(mark, use.end) >= 0 for mark in _CLOSES_QUOTE)


def _dismisses(sentence: str) -> bool:
    return any(not _NEGATED_DISMISSAL.search(sentence[: match.start()]) for match in _DISMISSED.finditer(sentence))


def _with_what_refers_back(sentences: Sequence[str], number: int) -> list[str]:
    behind = sentences[number + 1 : number + 2]
    return [sentences[number], *(sentence for sentence in behind if _REFERS_BACK.search(sentence))]
