"""What `debate-hall key` does, and `export --sign`."""

from __future__ import annotations

from orchestrator import signing
from orchestrator.cli.showing import put


def make(name: str, as_json: bool) -> None:
    """Makes a key and prints its public half."""
    signing.new_key(name)
    show(name, as_json)


def show(name: str, as_json: bool) -> None:
    """Prints the public half of a key."""
    public = signing.public_half(signing.load_key(name))
    shown = {
        "name": name,
        "public_key": str(public),
        "fingerprint": public.fingerprint,
        "file": str(signing.key_file(name)),
    }
    put(shown, as_json, "".join(f"{what.replace('_', ' '):<11}  {value}\n" for what, value in shown.items()))


def signed(export: str, name: str | None) -> str:
    """Returns a debate that was exported as JSON with its head signed."""
    return signing.signed(export, signing.load_key(name or signing.DEFAULT_NAME))
