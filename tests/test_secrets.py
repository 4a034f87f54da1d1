from __future__ import annotations

import base64
import random
import string
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from orchestrator.secrets import REMOVED, Found, find_secret, is_secret_name, keys_in, scrub

ALNUM = string.ascii_letters + string.digits


def drawn(length: int, letters: str = ALNUM, seed: int = 7) -> str:
    """Text drawn at random, the same every time; secrets are put together here so that no file holds a whole one."""
    return "".join(random.Random(seed).choices(letters, k=length))


def block(label: str, body: str) -> str:
    return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----"


BODY = "\n".join(base64.b64encode(random.Random(n).randbytes(48)).decode() for n in range(6))
SECRETS = {
    "pkcs8": ("a private key", block("PRIVATE KEY", BODY)),
    "rsa": ("a private key", block("RSA PRIVATE KEY", f"Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0\n\n{BODY}")),
    "openssh": ("a private key", block("OPENSSH PRIVATE KEY", BODY)),
    "pgp": ("a private key", block("PGP PRIVATE KEY BLOCK", f"Version: GnuPG v2\n\n{BODY}")),
    "in JSON": ("a private key", block("PRIVATE KEY", BODY).replace("\n", "\\n")),
    "in YAML": ("a private key", block("PRIVATE KEY", BODY).replace("\n", "\n    ")),
    "age": ("an age private key", "AGE-SECRET-" + "KEY-1" + drawn(58, string.ascii_uppercase + string.digits)),
    "aws id": ("an AWS access key id", "AK" + "IA" + drawn(16, string.ascii_uppercase + "234567")),
    "aws secret": ("a key or password", "aws_secret_access_key = " + drawn(40, ALNUM + "+/")),
    "github": ("a GitHub token", "gh" + "p_" + drawn(36)),
    "github fine": ("a GitHub token", "github" + "_pat_" + drawn(22) + "_" + drawn(59)),
    "gitlab": ("a GitLab token", "gl" + "pat-" + drawn(20)),
    "slack": ("a Slack token", "xo" + "xb-" + drawn(12, string.digits) + "-" + drawn(24)),
    "slack hook": ("a Slack webhook", "https://hooks.slack" + ".com/services/T0AB12CD3/B0AB12CD3/" + drawn(24)),
    "stripe": ("a Stripe key", "sk_" + "live_" + drawn(24)),
    "google": ("a Google API key", "AI" + "za" + drawn(35)),
    "anthropic": ("an Anthropic key", "sk-" + "ant-api03-" + drawn(93, ALNUM + "-_")),
    "openrouter": ("an OpenRouter key", "sk-" + "or-v1-" + drawn(64, "0123456789abcdef")),
    "openai": ("an OpenAI key", "sk-" + "proj-" + drawn(120, ALNUM + "-_")),
    "openai old": ("an API key", "sk-" + drawn(48)),
    "groq": ("an API key", "gsk" + "_" + drawn(52)),
    "npm": ("an npm token", "np" + "m_" + drawn(36)),
    "pypi": ("a PyPI token", "pypi-" + "AgEIcHlwaS5vcmc" + drawn(140, ALNUM + "-_")),
    "sendgrid": ("a SendGrid key", "S" + "G." + drawn(22) + "." + drawn(43)),
    "azure": ("an Azure storage key", "Account" + "Key=" + drawn(86) + "=="),
    "jwt": ("a JSON web token", "ey" + "J" + drawn(33) + "." + "ey" + "J" + drawn(60) + "." + drawn(43)),
    "postgres": ("a password in a URL", "postgres://billing:" + drawn(14) + "@db.internal:5432/billing"),
    "redis": ("a password in a URL", "redis://:" + "kT7%2Fq9-zP" + "@cache:6379/0"),
    "bearer": ("a bearer token", "Authorization: Bearer " + drawn(40)),
    "shell": ("a key or password", "export PAYMENTS_API_KEY=" + drawn(32)),
    "json": ("a key or password", '"client_secret": "' + drawn(32) + '"'),
    "escaped json": ("a key or password", '{\\"apiKey\\": \\"' + drawn(32) + '\\"}'),
    "typed": ("a key or password", 'TOKEN: str = "' + drawn(40, "0123456789abcdef") + '"'),
    "xml": ("a key or password", "<password>" + drawn(20) + "</password>"),
}

HARMLESS = [
    "Rotate the API key every 90 days; keep the secret in Vault under secret/data/billing/payments-v2-2026.",
    'api_key = os.environ["PAYMENTS_API_KEY"]',
    "token = self.provider.get_access_token_v2(scope)",
    "token = oauth2Client1.accessTokens2[0]",
    "private_key: Ed25519PrivateKey | None = None",
    'password = "correct horse battery staple"',
    "API_KEY=your-api-key-goes-here-1a2B3c4D",
    "OPENAI_API_KEY=sk-...",
    "OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "ANTHROPIC_API_KEY=<sk-ant-your-key>",
    "DATABASE_URL=postgres://user:password@localhost:5432/app",
    "postgresql://postgres:postgres@db/app",
    "postgres://app:${DB_PASSWORD}@db.internal/app",
    "postgres://app:$DB_PASSWORD@db.internal/app",
    "postgres://app:<password>@db.internal/app and amqp://app:********@mq",
    'f"postgres://{user}:{password}@{host}/{name}"',
    '"mysql://%s:%s@%s/%s" % parts',
    "https://alice:Tr0ub4dor@example.com/path",
    "http://proxy.internal:8080/path@v2 and docker://registry:5000/app@sha256:1234",
    'if text.startswith("-----BEGIN PRIVATE KEY-----"): raise ValueError(text)',
    "-----BEGIN PRIVATE KEY-----\n…\n-----END PRIVATE KEY-----",
    block("CERTIFICATE", BODY),
    block("PUBLIC KEY", BODY),
    "AK" + "IAIOSFODNN7EXAMPLE / wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "commit 07b034e5c1d2f3a4b5c6d7e8f90a1b2c3d4e5f60",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "token_hash: 9f86d081884c7d659a2feaa0c55ad015",
    "ClientRequestToken: a8ca07e4-61ec-4399-99f4-19853801bcd5",
    "risk-assessment-of-the-desk-booking-system, task-0123456789, sk-loading-indicator",
    "secretName: billing-tls-2026-cert",
    # the token that jwt.io shows
    "ey" + "JhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIn0." + drawn(43),
]


@pytest.mark.parametrize("case", SECRETS)
def test_a_secret_is_found_with_its_kind_and_line(case: str) -> None:
    kind, secret = SECRETS[case]
    assert find_secret(f"# Notes\n\nWe use this:\n{secret}\nand nothing else.\n") == Found(kind, 4)


@pytest.mark.parametrize("case", SECRETS)
def test_what_is_scrubbed_holds_no_secret_and_keeps_the_rest(case: str) -> None:
    _, secret = SECRETS[case]
    scrubbed = scrub(f"before {secret} after", ())
    assert scrubbed.startswith("before ")
    assert scrubbed.endswith(" after")
    assert REMOVED in scrubbed
    assert find_secret(scrubbed) is None
    assert not any(run in scrubbed for run in (drawn(14), BODY[:40]))


@pytest.mark.parametrize("text", HARMLESS)
def test_what_documents_and_programs_say_of_secrets_is_none(text: str) -> None:
    assert find_secret(text) is None
    assert scrub(text) == text


def test_the_project_itself_could_be_evidence() -> None:
    root = Path(__file__).parent.parent
    files = [*root.glob("orchestrator/**/*.py"), *root.glob("agents/*.md"), *root.glob("docs/*.md"), *root.glob("*.md")]
    found = {file.name: found for file in files if (found := find_secret(file.read_text(encoding="utf-8")))}
    assert len(files) > 10
    assert found == {}


def test_the_first_of_several_secrets_is_reported() -> None:
    assert find_secret(f"{SECRETS['jwt'][1]}\n{SECRETS['github'][1]}\n") == Found("a JSON web token", 1)


def test_a_known_token_behind_a_name_is_called_what_it_is() -> None:
    assert find_secret(f"API_KEY={SECRETS['openrouter'][1]}") == Found("an OpenRouter key", 1)


@pytest.mark.parametrize("before", ["\\n", "%3D", '"', "=", "key-", "密钥"])
def test_a_token_is_found_behind_an_escape_or_a_sign(before: str) -> None:
    assert find_secret(before + SECRETS["github"][1]) == Found("a GitHub token", 1)


def test_a_finding_never_shows_the_secret() -> None:
    _, secret = SECRETS["github"]
    assert secret not in repr(find_secret(secret))


@given(st.lists(st.one_of(st.sampled_from([s for _, s in SECRETS.values()]), st.text(max_size=20)), max_size=6))
def test_scrubbed_text_is_clean_and_stays_as_it_is(parts: list[str]) -> None:
    once = scrub("\n\n".join(parts))
    assert find_secret(once) is None
    assert scrub(once) == once


@given(st.text(max_size=40), st.sets(st.text(alphabet=ALNUM + "-_", min_size=8, max_size=20), max_size=4))
@example("x", {"aaaaaaaa", "aaaaaaaabbbb"})
def test_no_given_key_is_left(text: str, keys: set[str]) -> None:
    scrubbed = scrub(" ".join([text, *sorted(keys), text]), keys)
    assert not any(key in scrubbed.replace(REMOVED, " ") for key in keys)


def test_a_secret_within_a_secret_goes_with_it() -> None:
    inner = SECRETS["aws id"][1]
    assert scrub(f"a {block('PRIVATE KEY', f'{BODY} {inner} {BODY}')} b") == f"a {REMOVED} b"


def test_a_key_that_begins_with_another_goes_whole() -> None:
    assert scrub("key abcdefgh-123!", ["abcdefgh", "abcdefgh-123"]) == f"key {REMOVED}!"


def test_a_text_without_a_secret_comes_back_as_it_is() -> None:
    text = "\n".join(HARMLESS)
    assert scrub(text) is text


# -------------------------------------------------------------------------------------------- what an environment holds


def test_keys_are_known_by_the_names_of_their_variables() -> None:
    environment = {
        "OPENAI_API_KEY": "blue-heron-12",
        "my_token": "walks at dusk ",
        "CLIENT_SECRET": "past-the-mill",
        "DB_PASSWORD": "and/never+back",
        "SMTP_PASS": "without-a-word",
        "BACKUP_KEY_2": "to-anybody-else",
        "PATH": "/usr/bin:/bin",
        "TOKENIZERS_PARALLELISM": "falsehood",
        "EDITOR": "somebody-s-editor",
    }
    assert keys_in(environment) == {
        "blue-heron-12": "OPENAI_API_KEY",
        "walks at dusk": "my_token",
        "past-the-mill": "CLIENT_SECRET",
        "and/never+back": "DB_PASSWORD",
        "without-a-word": "SMTP_PASS",
        "to-anybody-else": "BACKUP_KEY_2",
    }


@pytest.mark.parametrize("word", ["ollama", "none", "", "  ", "postgres", "password", "changeme", "Password123!"])
def test_what_everybody_uses_as_a_key_stays_a_word(word: str) -> None:
    assert keys_in({"DB_PASSWORD": word}) == {}


def test_the_own_environments_keys_are_secrets_whatever_they_look_like(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "We meet\nwhere the blue heron walks."
    assert (find_secret(text), scrub(text)) == (None, text)
    monkeypatch.setenv("SHED_PASSWORD", "blue heron")
    assert find_secret(text) == Found("the value of SHED_PASSWORD", 2)
    assert scrub(text) == f"We meet\nwhere the {REMOVED} walks."


def test_the_first_of_a_key_and_a_token_is_reported() -> None:
    token, keys = SECRETS["github"][1], {"blue heron": "SHED_PASSWORD"}
    assert find_secret(f"{token}\nblue heron", keys) == Found("a GitHub token", 1)
    assert find_secret(f"blue heron\n{token}", keys) == Found("the value of SHED_PASSWORD", 1)


@pytest.mark.parametrize("sign", ["=", ":", ">", "=>", ":=", " = ", ": str = ", '": "', '= "'])
def test_a_value_behind_any_sign_is_found_though_it_could_be_a_name_itself(sign: str) -> None:
    assert find_secret(f"set my_very_long_access_token{sign}{drawn(32)}") == Found("a key or password", 1)
    assert find_secret(f"x=my_very_long_access_token{sign}{drawn(32)}") == Found("a key or password", 1)


# ------------------------------------------------------------------------------------------------------------- its cost


@pytest.mark.parametrize(
    "piece",
    [
        "ey" + "Jaaaaaaaaaaaa-",
        "ey" + "Jaaaaaaaaaaaa.",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----" + "a" * 50 + "\n",
        "token=",
        "=" + "a1" * 10,
        "token",
        "secret:str",
        "://",
        "://a:",
        "sk-" + "proj-",
        "S" + "G.aaaaaaaaaaaaaaaaaaaaaa.",
        "bearer ",
        "-",
        "a" * 64,
    ],
)
@pytest.mark.slow
def test_no_text_makes_the_search_slow(piece: str) -> None:
    """A search that reads the rest again at every piece would take hours here, not a moment."""
    text = piece * (400_000 // len(piece))
    find_secret(text)
    scrub(text)


@pytest.mark.parametrize(
    "name",
    [
        *(
            ".env",
            ".ENV",
            ".env.production",
            "deploy/prod.env",
            ".envrc",
            "id_rsa",
            "id_ed25519",
            "server.pem",
            "tls.key",
        ),
        *("a/b/cert.p12", "cert.pfx", "store.jks", "debug.keystore", "vault.kdbx", ".netrc", ".pgpass", ".npmrc"),
        *(".pypirc", ".git-credentials", ".htpasswd", "credentials.json", "service-account-prod.json"),
        *("/home/me/.aws/credentials", ".kube/config", "kubeconfig", ".docker/config.json", "secrets.yaml"),
        *("client_secret_1.apps.json", "terraform.tfstate", ".bash_history"),
    ],
)
def test_a_secrets_name_is_known(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *(
            ".env.example",
            ".env.sample",
            ".env.template",
            ".env.production.example",
            "id_rsa.pub",
            "docs/environment.md",
        ),
        *("secrets.py", "secrets.md", "config", "nginx/config", "credentials", "docs/credentials", "keys.md", "env"),
        *("package.json", "credentials.example.json", "key.py", "history.md", "", ".", "/"),
    ],
)
def test_other_names_are_free(name: str) -> None:
    assert is_secret_name(name) is None
