"""Record identifiers and the folded form in which unique texts are compared."""

from __future__ import annotations

import os
import time
import unicodedata
import uuid


def new_guid() -> uuid.UUID:
    """A version 7 UUID (RFC 9562): 48 bits of milliseconds, then 74 random bits.

    Rows written together lie together in the key's index, which random keys would scatter.
    """
    value = (time.time_ns() // 1_000_000 & (1 << 48) - 1) << 80 | int.from_bytes(os.urandom(10))
    value = value & ~(0xF << 76) | 0x7 << 76
    return uuid.UUID(int=value & ~(0x3 << 62) | 0x2 << 62)


def normalised(text: str | None) -> str | None:
    """The form in which unique texts are compared: composed, trimmed, without regard to case.

    ``"  Café Pty Ltd"`` and ``"CAFE\\u0301 pty ltd"`` are one name. Empty texts are no text.
    """
    if text is None:
        return None
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).strip().casefold()) or None
