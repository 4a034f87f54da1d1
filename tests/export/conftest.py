from __future__ import annotations

from octave_oracle import oracle

__all__ = ["oracle"]
