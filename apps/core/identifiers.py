"""Identifiers of records, and the normalised form in which unique texts are compared."""

import os
import time
import unicodedata
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from random import Random

from apps.odata import clock

_REPEATABLE: ContextVar[Random | None] = ContextVar("repeatable_guids", default=None)


def new_guid() -> uuid.UUID:
    """A version 7 UUID (RFC 9562): 48 bits of milliseconds, then 74 random bits.

    Rows of one time are neighbours in the key's index, which random keys would scatter.
    """
    chance = _REPEATABLE.get()
    if chance is None:
        milliseconds, bits = time.time_ns() // 1_000_000, int.from_bytes(os.urandom(10))
    else:
        milliseconds, bits = int(clock.now().timestamp() * 1000), chance.getrandbits(80)
    value = (milliseconds & (1 << 48) - 1) << 80 | bits
    value = value & ~(0xF << 76) | 0x7 << 76
    return uuid.UUID(int=value & ~(0x3 << 62) | 0x2 << 62)


@contextmanager
def repeatable_guids(chance: Random | None) -> Iterator[None]:
    """Within the block, new guids are made of ``clock.now()`` and this chance: demo data repeats its own.

    Without a chance they are random within the block.
    """
    token = _REPEATABLE.set(chance)
    try:
        yield
    finally:
        _REPEATABLE.reset(token)


def normalised(text: str | None) -> str | None:
    """The form in which unique texts are compared: composed, trimmed, without regard to case.

    ``"  Café Pty Ltd"`` and ``"CAFE\\u0301 pty ltd"`` are one name. Empty texts are no text.
    """
    if text is None:
        return None
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).strip().casefold()) or None
