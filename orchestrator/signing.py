"""Signatures over a debate's head: Ed25519 keys kept by name, and what they signed checked offline.

One head stands for a whole ledger, so that whoever signs it signs every entry up to it. What is signed are three lines:
the domain `debate-hall/head/v1`, the thread id, the head. A key's fingerprint is the SHA-256 of its 32 public bytes.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from orchestrator.errors import LedgerBroken, UsageError
from orchestrator.shelves import config_folder

ALGORITHM = "Ed25519"
DOMAIN = "debate-hall/head/v1"
DEFAULT_NAME = "default"

_KEY_BYTES = 32
_KEY_TEXT = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{43}=(?!=)")  # 32 bytes in base64
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class PublicKey:
    """The half of a key that everybody may have; as text it is the base64 of its 32 bytes."""

    raw: bytes

    def __str__(self) -> str:
        return _base64(self.raw)

    @property
    def fingerprint(self) -> str:
        return "sha256:" + hashlib.sha256(self.raw).hexdigest()


def public_half(key: Ed25519PrivateKey) -> PublicKey:
    return PublicKey(key.public_key().public_bytes_raw())


# ------------------------------------------------------------------------------------------------- keys kept by name


def key_file(name: str) -> Path:
    """Returns where a key is kept: in `keys/` of the user's config folder.

    Raises:
        UsageError: no key can have that name.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name[:80]!r} cannot be the name of a key.",
            "Take letters, digits, '.', '_' and '-', first a letter or digit, at most 64.",
        )
    return config_folder() / "keys" / f"{name}.pem"


def new_key(name: str = DEFAULT_NAME) -> Ed25519PrivateKey:
    """Makes a key and keeps it (PEM, PKCS #8, readable by its owner alone).

    Raises:
        UsageError: there is one of that name, or it cannot be kept.
    """
    file, key = key_file(name), Ed25519PrivateKey.generate()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    with _plain_errors(f"The key {name} cannot be kept in {file.parent}"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.parent.chmod(0o700)
        try:
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError as error:
            raise UsageError(
                f"There is a key {name} already: {file}.",
                f"Show it with `debate-hall key show --name {name}`, or choose another --name.",
            ) from error
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(pem)
                stream.flush()
                os.fsync(stream.fileno())
        except OSError:
            file.unlink()
            raise
    return key


def load_key(name: str = DEFAULT_NAME) -> Ed25519PrivateKey:
    """Returns the key that `new_key` made.

    Raises:
        UsageError: there is none, others can read it, or it is no Ed25519 key.
    """
    file = key_file(name)
    with _plain_errors(f"The key {name} cannot be read from {file}"):
        try:
            mode, pem = file.stat().st_mode, file.read_bytes()
        except FileNotFoundError as error:
            raise UsageError(
                f"There is no key {name} in {file.parent}.", f"Make it with `debate-hall key new --name {name}`."
            ) from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UsageError(
            f"Others can use the key {file} (mode {stat.S_IMODE(mode):04o}).",
            f"Take that away with `chmod 600 {file}`; if somebody may have read it, make a new one.",
        )
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:  # TypeError: it is encrypted
        raise _no_key(file) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise _no_key(file)
    return key


def _no_key(file: Path) -> UsageError:
    return UsageError(f"{file} holds no {ALGORITHM} key that can be used.", "Make one with `debate-hall key new`.")


# --------------------------------------------------------------------------------------------- signatures over a head


def sign(thread_id: str, head: str, key: Ed25519PrivateKey) -> dict[str, str]:
    """Returns the signature over a thread's head as the object that stands in an export."""
    return _stated(public_half(key), thread_id, head, key.sign(_signed_bytes(thread_id, head)))


def signed(export: str, key: Ed25519PrivateKey) -> str:
    """Returns a debate that was exported as JSON with the signature over its head as one more member."""
    members = json.loads(export)
    signature = sign(members["thread_id"], members["head"], key)
    return json.dumps({**members, "signature": signature}, ensure_ascii=False, indent=2) + "\n"


def require_signature(stated: object, thread_id: str, head: str) -> PublicKey:
    """Returns the key that signed a head.

    Args:
        stated: what stands in an export as its signature; nothing of it is believed.

    Raises:
        LedgerBroken: it is no signature over this head of this thread.
    """

    def refuse(why: str) -> LedgerBroken:
        return LedgerBroken(thread_id, None, f"its signature {why}")

    if not isinstance(stated, dict) or not all(isinstance(member, str) for member in stated.values()):
        raise refuse("is none that this version reads")
    if (stated.get("thread_id"), stated.get("head")) != (thread_id, head):
        raise refuse("is over another head than the one of its ledger")
    public, signature = _bytes(stated.get("public_key", "")), _bytes(stated.get("signature", ""))
    if len(public) != _KEY_BYTES or stated != _stated(PublicKey(public), thread_id, head, signature):
        raise refuse("is none that this version reads")
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, _signed_bytes(thread_id, head))
    except InvalidSignature as error:
        raise refuse("was not made with the key it names") from error
    return PublicKey(public)


def _stated(public: PublicKey, thread_id: str, head: str, signature: bytes) -> dict[str, str]:
    return {
        "algorithm": ALGORITHM,
        "public_key": str(public),
        "fingerprint": public.fingerprint,
        "thread_id": thread_id,
        "head": head,
        "signature": _base64(signature),
    }


def _signed_bytes(thread_id: str, head: str) -> bytes:
    return "\n".join((DOMAIN, thread_id, head)).encode()


def read_public_key(words: str) -> PublicKey:
    """Returns the public key that a person named.

    Args:
        words: base64 of its 32 bytes, or a file that holds that (what `debate-hall key show` prints, say) or PEM.

    Raises:
        UsageError: it is neither.
    """
    if len(raw := _bytes(words)) == _KEY_BYTES:
        return PublicKey(raw)
    with _plain_errors(f"{words[:120]} is no public key, nor a file that can be read"):
        content = Path(words).read_bytes()
    try:
        loaded: Any = serialization.load_pem_public_key(content)
    except (ValueError, UnsupportedAlgorithm):
        found = {raw for word in _KEY_TEXT.findall(content.decode(errors="replace")) if (raw := _bytes(word))}
    else:
        found = {loaded.public_bytes_raw()} if isinstance(loaded, Ed25519PublicKey) else set()
    if len(found) != 1:
        raise UsageError(
            f"{words} holds {len(found) or 'no'} {ALGORITHM} public keys; it is to hold one.",
            "Give what `debate-hall key show` prints, or the PEM of the public key.",
        )
    return PublicKey(found.pop())


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _bytes(text: str) -> bytes:
    """Returns the bytes that this is the one base64 text of; none for anything else."""
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
    return raw if _base64(raw) == text else b""


@contextmanager
def _plain_errors(what: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        raise UsageError(f"{what}: {getattr(error, 'strerror', None) or error}.") from error
