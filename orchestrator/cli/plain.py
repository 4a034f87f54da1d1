"""Text from models on a terminal: what could steer the terminal is shown, not obeyed."""

from __future__ import annotations

_STEERING = {
    code: 0x2400 + code if code < 0x20 else 0x2421 if code == 0x7F else 0xFFFD
    for code in (*range(0x20), *range(0x7F, 0xA0))
    if chr(code) not in "\n\t"
}


def visible(text: str) -> str:
    """Returns text whose control characters (escape sequences, carriage returns) have become visible signs."""
    return text.replace("\r\n", "\n").translate(_STEERING)
