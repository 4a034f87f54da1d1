"""Keys and signatures: made once, kept for their owner alone, and good for one head of one thread."""

from __future__ import annotations

import base64
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hall.halls import hall_in
from orchestrator import signing
from orchestrator.errors import LedgerBroken, UsageError
from orchestrator.signing import PublicKey

THREAD, HEAD = "2026-01-06-billing", "sha256:" + "a1" * 32
# RFC 8032, section 7.1, test 1
SECRET = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
PUBLIC = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")


@pytest.fixture(autouse=True)
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of keys in a config folder that is not there yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path / "config" / "debate-hall" / "keys"


@pytest.fixture
def key() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(SECRET)


def pem(key: Any) -> bytes:
    return bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )


def public_pem(key: Any) -> bytes:
    return bytes(
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )


# ----------------------------------------------------------------------------------------------------------------- keys


def test_a_new_key_is_kept_for_its_owner_alone_and_loads_again(keys: Path) -> None:
    made = signing.new_key("lead")
    file = keys / "lead.pem"
    assert signing.key_file("lead") == file
    assert [stat.S_IMODE(path.stat().st_mode) for path in (keys, file)] == [0o700, 0o600]
    assert file.read_bytes() == pem(made)
    assert file.read_bytes().startswith(b"-----BEGIN PRIVATE KEY-----\n")
    assert signing.load_key("lead").private_bytes_raw() == made.private_bytes_raw()
    assert signing.new_key().private_bytes_raw() != made.private_bytes_raw()


def test_no_key_is_ever_overwritten(keys: Path) -> None:
    signing.new_key()
    before = (keys / "default.pem").read_bytes()
    with pytest.raises(UsageError, match="There is a key default already") as refused:
        signing.new_key()
    assert "debate-hall key show --name default" in refused.value.cure
    (keys / "dangling.pem").symlink_to(keys / "elsewhere.pem")
    with pytest.raises(UsageError, match="There is a key dangling already"):
        signing.new_key("dangling")
    assert (keys / "default.pem").read_bytes() == before
    assert not (keys / "elsewhere.pem").exists()


def test_a_folder_that_others_could_read_is_closed_before_a_key_is_put_there(keys: Path) -> None:
    keys.mkdir(parents=True, mode=0o755)
    signing.new_key()
    assert stat.S_IMODE(keys.stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "a\0b", "ä", "a" * 65, "-rf", "a b"])
def test_a_name_that_is_no_plain_word_names_no_key(name: str, keys: Path) -> None:
    for act in (signing.new_key, signing.load_key):
        with pytest.raises(UsageError, match="cannot be the name of a key"):
            act(name)
    assert not keys.exists()


def test_a_key_that_is_not_there_is_refused_with_how_to_make_it(keys: Path) -> None:
    with pytest.raises(UsageError, match=f"There is no key lead in {keys}") as refused:
        signing.load_key("lead")
    assert refused.value.cure == "Make it with `debate-hall key new --name lead`."


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601])
def test_a_key_that_others_can_use_is_refused(mode: int, keys: Path) -> None:
    signing.new_key()
    (keys / "default.pem").chmod(mode)
    with pytest.raises(UsageError, match=f"Others can use the key .* \\(mode 0{mode:o}\\)"):
        signing.load_key()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"-----BEGIN PRIVATE KEY-----\nnot base64\n-----END PRIVATE KEY-----\n",
        pem(generate_private_key(SECP256R1())),
        public_pem(Ed25519PrivateKey.from_private_bytes(SECRET)),
        Ed25519PrivateKey.from_private_bytes(SECRET).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"pw")
        ),
    ],
    ids=["empty", "garbled", "another kind", "public", "encrypted"],
)
def test_a_file_that_holds_no_usable_key_is_refused(content: bytes, keys: Path) -> None:
    keys.mkdir(parents=True)
    (keys / "default.pem").write_bytes(content)
    (keys / "default.pem").chmod(0o600)
    with pytest.raises(UsageError, match="holds no Ed25519 key that can be used"):
        signing.load_key()


def test_a_place_that_cannot_be_written_or_read_is_named(keys: Path) -> None:
    keys.parent.mkdir(parents=True)
    keys.touch()
    with pytest.raises(UsageError, match=f"The key default cannot be kept in {keys}: "):
        signing.new_key()
    with pytest.raises(UsageError, match="The key default cannot be read from "):
        signing.load_key()


# ----------------------------------------------------------------------------------------------------------- signatures


def test_a_signature_is_the_standard_one_over_domain_thread_and_head(key: Ed25519PrivateKey) -> None:
    signature = signing.sign(THREAD, HEAD, key)
    assert signature == {
        "algorithm": "Ed25519",
        "public_key": base64.b64encode(PUBLIC).decode(),
        "fingerprint": "sha256:21fe31dfa154a261626bf854046fd2271b7bed4b6abe45aa58877ef47f9721b9",
        "thread_id": THREAD,
        "head": HEAD,
        "signature": base64.b64encode(key.sign(f"debate-hall/head/v1\n{THREAD}\n{HEAD}".encode())).decode(),
    }
    assert signing.sign(THREAD, HEAD, key) == signature  # the same each time: nothing in it is left to chance
    assert signing.require_signature(signature, THREAD, HEAD) == PublicKey(PUBLIC)


def test_a_signature_is_good_for_one_head_of_one_thread(key: Ed25519PrivateKey) -> None:
    signature = signing.sign(THREAD, HEAD, key)
    for thread_id, head in ((THREAD, HEAD[:-1] + "0"), ("2026-01-06-other", HEAD)):
        with pytest.raises(LedgerBroken, match="is over another head than the one of its ledger"):
            signing.require_signature(signature, thread_id, head)
        renamed = signature | {"thread_id": thread_id, "head": head}
        with pytest.raises(LedgerBroken, match="was not made with the key it names"):
            signing.require_signature(renamed, thread_id, head)


@pytest.mark.parametrize("signature", [None, [], "", 7, {}, {"signature": None}, {"thread_id": THREAD, "head": HEAD}])
def test_what_is_no_signature_is_refused(signature: object) -> None:
    with pytest.raises(LedgerBroken, match="its signature is"):
        signing.require_signature(signature, THREAD, HEAD)


OTHERS: dict[str, Callable[[dict[str, str]], dict[str, Any]]] = {
    "another algorithm": lambda told: told | {"algorithm": "ed25519"},
    "another fingerprint": lambda told: told | {"fingerprint": told["fingerprint"].upper()},
    "another key": lambda told: told | {"public_key": base64.b64encode(bytes(32)).decode()},
    "a key that is no text": lambda told: told | {"public_key": 7},
    "a key of another length": lambda told: told | {"public_key": base64.b64encode(PUBLIC[:-1]).decode()},
    "a key written otherwise": lambda told: told | {"public_key": told["public_key"].replace("o=", "p=")},
    "a signature cut off": lambda told: told | {"signature": told["signature"][:-4]},
    "no signature": lambda told: {name: member for name, member in told.items() if name != "signature"},
    "one member more": lambda told: told | {"by": "the lead"},
}


@pytest.mark.parametrize("case", OTHERS)
def test_a_signature_that_is_written_otherwise_is_refused(case: str, key: Ed25519PrivateKey) -> None:
    signature = signing.sign(THREAD, HEAD, key)
    other = OTHERS[case](signature)
    assert other != signature
    with pytest.raises(LedgerBroken, match="its signature "):
        signing.require_signature(other, THREAD, HEAD)


def test_every_other_character_of_a_signature_is_refused(key: Ed25519PrivateKey) -> None:
    signature = signing.sign(THREAD, HEAD, key)
    for name, member in signature.items():
        for at in range(len(member)):
            other = member[:at] + chr(ord(member[at]) ^ 1) + member[at + 1 :]
            with pytest.raises(LedgerBroken):
                signing.require_signature(signature | {name: other}, THREAD, HEAD)


def test_an_export_is_signed_as_one_more_member(tmp_path: Path, key: Ed25519PrivateKey) -> None:
    with hall_in(tmp_path / "state") as hall:
        hall.init_debate(THREAD, "Sollen wir zu Kafka — ja oder nein?")
        export = hall.export_debate(THREAD)
        head = hall.debate(THREAD).head
    signed = signing.signed(export, key)
    members = json.loads(signed)
    assert signing.require_signature(members.pop("signature"), THREAD, head) == PublicKey(PUBLIC)
    assert json.dumps(members, ensure_ascii=False, indent=2) + "\n" == export
    assert signed.startswith(export.removesuffix("\n}\n"))


# ------------------------------------------------------------------------------------------------- public keys by name


def test_a_public_key_is_named_by_its_text_or_by_a_file_that_holds_it(tmp_path: Path, key: Ed25519PrivateKey) -> None:
    text = str(signing.public_half(key))
    assert signing.read_public_key(text) == PublicKey(PUBLIC)
    for content in (
        text.encode(),
        f"{text}\n".encode(),
        f"name         lead\npublic key   {text}\nfingerprint  {PublicKey(PUBLIC).fingerprint}\n".encode(),
        json.dumps({"name": "lead", "public_key": text}).encode(),
        public_pem(key),
    ):
        (tmp_path / "lead.pub").write_bytes(content)
        assert signing.read_public_key(str(tmp_path / "lead.pub")) == PublicKey(PUBLIC)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "holds no Ed25519 public keys"),
        (b"\xff\xfe", "holds no Ed25519 public keys"),
        (base64.b64encode(bytes(33)) + base64.b64encode(bytes(64)), "holds no Ed25519 public keys"),
        (base64.b64encode(bytes(32)) + b"\n" + base64.b64encode(PUBLIC), "holds 2 Ed25519 public keys"),
        (public_pem(generate_private_key(SECP256R1())), "holds no Ed25519 public keys"),
    ],
    ids=["empty", "no text", "too long", "two", "of another kind"],
)
def test_a_file_without_one_public_key_is_refused(content: bytes, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "lead.pub").write_bytes(content)
    with pytest.raises(UsageError, match=sentence):
        signing.read_public_key(str(tmp_path / "lead.pub"))


@pytest.mark.parametrize("words", ["", "nowhere.pub", os.curdir, "a\0b", "x" * 5_000])
def test_what_is_neither_a_public_key_nor_a_file_is_refused(words: str) -> None:
    with pytest.raises(UsageError, match="is no public key, nor a file that can be read"):
        signing.read_public_key(words)
