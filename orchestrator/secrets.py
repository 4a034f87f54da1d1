"""What must never leave: secrets, known by a file's name and by what a text holds.

Two sides pull here: a key that reaches a model provider cannot be called back, and a refusal of an ordinary document
stops a debate for nothing. So a token is known by its issuer's own prefix, a password only inside a URL, and a value
behind `api_key =` only when it looks drawn at random; what documents write in a secret's place (`<password>`,
`${TOKEN}`, `changeme`, AWS's own `…EXAMPLE`) is none. What the environment holds as a key is one, whatever it looks
like.

Every pattern is linear: a run is taken possessively or is bounded, so no text makes a search slow.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import chain, pairwise
from operator import itemgetter
from pathlib import PurePath

REMOVED = "[secret removed]"
# How the names of variables end that hold a key; a number may follow.
KEY_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "_PASS")
SERVER_TOKEN = "DEBATE_HALL_TOKEN"  # what clients show a server of the hall; nobody else has a use for it
SHORTEST_KEY = 8  # a shorter "key" (`none`, `ollama`) is a local server's formality, and a word that texts need

_FILES = {
    "environment files hold keys and passwords": (".env", ".env.*", "*.env", ".envrc"),
    "it is the name of a private key": (
        *("id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk"),
        *("*.pem", "*.key", "*.ppk", "*.p8", "secring.*"),
    ),
    "it is the name of a key store": ("*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx"),
    "it is the name of a password file": (".netrc", "_netrc", ".pgpass", "pgpass.conf", ".my.cnf", ".htpasswd"),
    "it holds the keys of a registry or repository": (
        *(".npmrc", ".pypirc", ".git-credentials", ".dockercfg", ".docker/config.json", "gem/credentials"),
    ),
    "it holds the keys of a cloud or cluster": (
        *(".aws/credentials", "credentials.json", "client_secret*.json", "application_default_credentials.json"),
        *("service-account*.json", "service_account*.json", "serviceaccount*.json", ".azure/accesstokens.json"),
        *("kubeconfig", "*.kubeconfig", ".kube/config", ".vault-token", "*.tfstate", "*.tfstate.backup"),
    ),
    "it is the name of a list of secrets": ("secrets.yaml", "secrets.yml", "secrets.json", "secrets.toml"),
    "a shell's history holds what was typed": (".*_history",),
}
_HARMLESS = {"example", "sample", "template", "tmpl", "dist", "pub"}  # a dotted part: `.env.example`, `id_rsa.pub`


def is_secret_name(name: str) -> str | None:
    """Why a file of this name is not read, or None.

    Args:
        name: a file's name or path; its case does not matter. Folders count where they give a plain name its meaning
            (`.aws/credentials`).
    """
    parts = PurePath(name.lower()).parts
    if not parts or _HARMLESS.intersection(parts[-1].split(".")):
        return None
    for reason, patterns in _FILES.items():
        for pattern in patterns:
            if fnmatchcase("/".join(parts[-1 - pattern.count("/") :]), pattern):
                return reason
    return None


@dataclass(frozen=True, slots=True)
class Found:
    """Where a text holds a secret; never the secret itself."""

    kind: str  # with its article: "a GitHub token"
    line: int  # 1-based


def find_secret(text: str, keys: Mapping[str, str] | None = None) -> Found | None:
    """The first secret in a text, or None.

    Args:
        text: lines end in a line feed, which is what is counted.
        keys: what `keys_in` gives; this process's own environment where it is left out.
    """
    known = keys_in(os.environ) if keys is None else keys
    starts = [(text.index(key), f"the value of {name}") for key, name in known.items() if key in text]
    starts += [(match.start("secret"), kind) for kind, match in _matches(text)]
    first = min(starts, key=itemgetter(0), default=None)  # of two kinds at one place the first rule's, the plainer
    return None if first is None else Found(first[1], text.count("\n", 0, first[0]) + 1)


def scrub(text: str, keys: Iterable[str] | None = None) -> str:
    """The text with every secret replaced by `[secret removed]`; a text without one is returned as it is.

    Args:
        text: a prompt, a model's words, a provider's message, a log line: anything on its way out.
        keys: what `keys_in` gives; this process's own environment where it is left out.
    """
    known = keys_in(os.environ) if keys is None else keys
    for key in sorted(known, key=len, reverse=True):  # a key may begin with another
        text = text.replace(key, REMOVED)
    spans = sorted(match.span("secret") for _, match in _matches(text))
    if not spans:
        return text
    kept, at = [], 0
    for start, end in spans:
        if start >= at:
            kept += [text[at:start], REMOVED]
        at = max(at, end)
    return "".join([*kept, text[at:]])


def keys_in(environment: Mapping[str, str], *named: str) -> dict[str, str]:
    """The keys that an environment holds, each with the name of its variable, by which they are known.

    Values under 8 characters are no keys, nor are those that everybody uses (`postgres`, `changeme`): they are words
    that texts need.

    Args:
        named: further variables that hold keys.
    """
    names = (name for name in environment if _is_key_name(name))
    return {key: name for name in (*named, *names) if _is_key(key := environment.get(name, "").strip())}


@lru_cache(maxsize=1024)  # the same names again with every text that goes out
def _is_key_name(name: str) -> bool:
    return name.upper().rstrip("_0123456789").endswith(KEY_NAMES)


def _is_key(value: str) -> bool:
    return len(value) >= SHORTEST_KEY and value not in REMOVED and not _EVERYBODYS_PASSWORD.fullmatch(value)


@dataclass(frozen=True, slots=True)
class _Rule:
    kind: str
    pattern: re.Pattern[str]  # with a group named `secret`
    is_real: Callable[[re.Match[str]], bool]
    prefixes: tuple[str, ...] = ()  # every match begins with one of these
    is_word: bool = False  # every match is part of one long word


def _matches(text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """Every secret that is known by its looks, with its kind.

    Prefixes are searched for, first among the long words: that is many times faster than the patterns by themselves.
    """
    long_words = " ".join(word for word in text.split() if len(word) >= _LONG)
    for rule in _RULES:
        within = long_words if rule.is_word else text
        found = [_behind(prefix, rule.pattern, text) for prefix in rule.prefixes if prefix in within]
        for match in chain.from_iterable(found) if rule.prefixes else rule.pattern.finditer(text):
            if rule.is_real(match):
                yield rule.kind, match


def _behind(prefix: str, pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    at = text.find(prefix)
    while at >= 0:
        match = pattern.match(text, at)
        if match:
            yield match
        at = text.find(prefix, match.end() if match else at + 1)


_LONG = 20  # characters of the shortest token, an AWS access key id
_PLACEHOLDER = re.compile(
    r"example|sample|dummy|placeholder|redacted|removed|change.?(?:me|it|this)|your|insert|replace|fake|not.?real"
    r"|x{4}|\*{3}|\.{3}|…|[<>{}\[\]]|^\$[a-z_]|\$\(|%(?![0-9a-f]{2})|123456|abcdef|(.)\1{5}",
    re.IGNORECASE,
)
_EVERYBODYS_PASSWORD = re.compile(
    r"(?:my|the|some|super|db|user|test|admin|root|app|default)*[-_]?"
    r"(?:p[a4@][s5$]{2}(?:w[o0]?r?d|phrase)?|pwd?|s[e3]cr[e3]t|token|api[-_]?key|key|test|testing|user|admin|root|guest"
    r"|postgres|postgresql|mysql|mariadb|mongo|mongodb|redis|rabbitmq|kafka|letmein|qwerty|hunter"
    r"|change[-_]?(?:me|it|this))?[-_]?\d{0,4}[!.]?",
    re.IGNORECASE,
)


def _is_token(match: re.Match[str]) -> bool:
    return not _PLACEHOLDER.search(match["secret"])


def _is_password(match: re.Match[str]) -> bool:
    value = match["secret"]
    return not (
        len(value) < 6
        or value == match["user"]
        or "example" in match["host"].lower()  # RFC 2606 keeps example.com and .example for documents
        or _PLACEHOLDER.search(value)
        or _EVERYBODYS_PASSWORD.fullmatch(value)
    )


def _is_random(match: re.Match[str]) -> bool:
    """Whether a value looks drawn at random rather than named by a person.

    Names keep to one kind of character for several letters (`billing-service-v2`, `getTokenFor`); random text changes
    between small letters, capitals and digits at about every second character, and repeats itself little.
    """
    value = match["secret"]
    goes_on = match.string.startswith(("(", "["), match.end("secret"))
    if _PLACEHOLDER.search(value) or _NAME.fullmatch(value) or goes_on:
        return False  # what goes on with a bracket is a call or an item, in code
    kinds = ["digit" if c.isdigit() else "capital" if c.isupper() else "small" for c in value if c.isalnum()]
    changes = sum(a != b for a, b in pairwise(kinds)) / len(value)
    return changes >= (0.25 if kinds.count("digit") > 1 else 0.35) and "digit" in kinds and _entropy(value) >= 3.0


def _entropy(value: str) -> float:
    """Shannon's entropy of the value's own characters, in bits a character."""
    shares = [count / len(value) for count in Counter(value).values()]
    return -sum(share * math.log2(share) for share in shares)


def _is_assigned(match: re.Match[str]) -> bool:
    """Whether a name of a secret stands before the sign, and behind it what looks drawn at random."""
    return bool(_SECRET_NAME.search(match.string, max(0, match.start() - 40), match.start())) and _is_random(match)


_SECRET_NAME = re.compile(
    r"(?:(?:api|access|account|secret|signing|encryption|private|auth|master)[_-]?key"
    r"|secret|token|passw(?:or)?d|passphrase)"
    r"\\?[\"'`]?\s{0,3}(?::\s{0,3}str\s{0,3})?\Z",
    re.IGNORECASE,
)
# An id, or the name of a kind of key (`Ed25519PrivateKey`), is no key.
_NAME = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|.*(?:key|token|secret|password)", re.IGNORECASE)


# A token begins where no word goes on; an escaped line end (`\n`) or URL escape (`%3D`) before it is no word.
_BEGIN = r"(?:(?<![0-9A-Za-z])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"


def _token(kind: str, prefixes: str, rest: str) -> _Rule:
    words = tuple(prefixes.split())
    start = "|".join(map(re.escape, words))
    return _Rule(kind, re.compile(rf"{_BEGIN}(?P<secret>(?:{start}){rest})"), _is_token, words, is_word=True)


_RULES: tuple[_Rule, ...] = (
    _Rule(
        "a private key",
        # The header alone is what a program looks for; key material after it is what makes it a key. The body ends
        # at the next five dashes, so that a header without an end costs no second reading.
        re.compile(
            r"(?P<secret>-----BEGIN (?:[0-9A-Z]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
            r"(?=(?:[^-]|-(?!----)){0,400}?[0-9A-Za-z+/]{40})"
            r"(?:[^-]|-(?!----))*+(?:-----END [0-9A-Z ]{1,60}-----)?)"
        ),
        lambda match: True,
        ("-----BEGIN ",),
    ),
    _token("an age private key", "AGE-SECRET-KEY-1", r"[0-9A-Z]{50,}+"),
    _token("an AWS access key id", "AKIA ASIA ABIA ACCA", r"[2-7A-Z]{16}(?![0-9A-Za-z])"),
    _token("a GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"[0-9A-Za-z_]{36,}+"),
    _token("a GitLab token", "glpat- gldt- glrt- glcbt- glptt- glagent- glsoat-", r"[0-9A-Za-z_-]{20,}+"),
    _token("a Slack token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", r"[0-9][0-9A-Za-z-]{19,}+"),
    _token("a Slack webhook", "hooks.slack.com/services/", r"T[0-9A-Z]{6,20}/B[0-9A-Z]{6,20}/[0-9A-Za-z]{16,}+"),
    _token("a Stripe key", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_", r"[0-9A-Za-z]{16,}+"),
    _token("a Google API key", "AIza", r"[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])"),
    _token("a Google OAuth secret", "GOCSPX- ya29.", r"[0-9A-Za-z_-]{28,}+"),
    _token("an Anthropic key", "sk-ant-", r"[0-9A-Za-z_-]{20,}+"),
    _token("an OpenRouter key", "sk-or-", r"[0-9A-Za-z_-]{20,}+"),
    _token("an OpenAI key", "sk-proj- sk-svcacct- sk-admin-", r"[0-9A-Za-z_-]{20,}+"),
    _token("an API key", "sk-", r"[0-9A-Za-z]{32,}+"),  # OpenAI's older form, which DeepSeek and others share
    _token("an API key", "gsk_ xai- pplx- hf_ r8_ nvapi- tvly-", r"[0-9A-Za-z]{30,}+"),
    _token("an npm token", "npm_", r"[0-9A-Za-z]{36,}+"),
    _token("a PyPI token", "pypi-AgE", r"[0-9A-Za-z_-]{50,}+"),
    _token("a Docker token", "dckr_pat_ dckr_oat_", r"[0-9A-Za-z_-]{20,}+"),
    _token("a Vault token", "hvs. hvb.", r"[0-9A-Za-z_-]{24,}+"),
    _token("a DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", r"[0-9a-f]{64}"),
    _token("a SendGrid key", "SG.", r"[0-9A-Za-z_-]{22}\.[0-9A-Za-z_-]{43}"),
    _token("an Azure storage key", "AccountKey=", r"[0-9A-Za-z+/]{80,}+={0,2}"),
    # The payload of the token that jwt.io shows and documents repeat begins `{"sub":"1234567890"`.
    _token(
        "a JSON web token",
        "eyJ",
        r"[0-9A-Za-z_-]{10,1000}+\.eyJ(?!zdWIiOiIxMjM0NTY3ODkwI)[0-9A-Za-z_-]{10,}+\.[0-9A-Za-z_-]{16,}+",
    ),
    _Rule(
        "a password in a URL",
        re.compile(r"://(?P<user>[^\s/?#@:\"'`]{0,100}):(?P<secret>[^\s/?#@\"'`]{1,200})@(?P<host>[\w.-]{0,253})"),
        _is_password,
        ("://",),
    ),
    _Rule(
        "a bearer token",
        re.compile(r"(?<=[Bb])(?:earer|EARER)\s{1,3}(?P<secret>[0-9A-Za-z+/_.~-]{20,}+={0,2})"),
        _is_random,
        ("earer ", "EARER "),
    ),
    _Rule(
        "a key or password",
        # It begins at the sign, which is rarer than a letter. The value is only looked at: it may be a name itself.
        re.compile(r"[=:>](?:(?<==)>|(?<=:)=)?\s{0,3}\\?[\"'`]?(?=(?P<secret>[0-9A-Za-z+/_.~-]{16,}+={0,2}))"),
        _is_assigned,
    ),
)
