"""Bytes into the storage: as a stream, hashed, measured and looked at on the way.

Files go in first, and the rows that speak of them after, in one transaction. What is left of a file
without a row, because somebody's process died in between, the sweep finds (``apps.documents.sweeping``).
"""

from __future__ import annotations

import errno
import hashlib
import io
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone

from apps.core.identifiers import new_guid
from apps.documents import file_types
from apps.documents.models import Document
from apps.documents.storage import documents
from apps.odata.errors import ODataError, TooLarge, Unavailable

logger = logging.getLogger("records.documents")

#: The lock that sweeps hold alone, and filing documents holds together (PostgreSQL's advisory locks).
SWEEPS = 0x646F63756D656E74


class StorageFails(Unavailable):
    """The storage of documents cannot be written or read now."""


class StorageFull(ODataError):
    """The storage of documents has no room left."""

    status: ClassVar[int] = 507
    default_code: ClassVar[str] = "StorageFull"


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file in the storage, and what was seen of it: ``content`` are the extensions it may rightly have."""

    storage_key: str
    file_name: str
    media_type: str
    size: int
    sha256: str
    content: frozenset[str]


class Incoming(io.IOBase):
    """A stream of pieces, as a file that a storage can read once.

    Raises ``TooLarge`` as soon as there are more than ``limit`` bytes. ``trouble`` is what ended the stream,
    when that was not the storage.
    """

    def __init__(self, pieces: Iterable[bytes], limit: int) -> None:
        super().__init__()
        self.pieces = iter(pieces)
        self.limit = limit
        self.hash = hashlib.sha256()
        self.size = 0
        self.head = b""
        self.tail = b""
        self.trouble: Exception | None = None
        self._rest = b""

    def chunks(self, chunk_size: int | None = None) -> Iterator[bytes]:
        while piece := self._next():
            yield piece

    def read(self, size: int = -1) -> bytes:
        """What S3's client asks for; ``size`` bytes unless the stream ends before."""
        gathered = [self._rest]
        number = len(self._rest)
        while (size < 0 or number < size) and (piece := self._next()):
            gathered.append(piece)
            number += len(piece)
        whole = b"".join(gathered)
        self._rest = b"" if size < 0 else whole[size:]
        return whole if size < 0 else whole[:size]

    def _next(self) -> bytes:
        try:
            piece = next(self.pieces, b"")
            self._see(piece)
        except Exception as trouble:
            self.trouble = trouble
            raise
        return piece

    def _see(self, piece: bytes) -> None:
        self.size += len(piece)
        if self.size > self.limit:
            raise TooLarge(f"A file holds at most {self.limit:,} bytes.")
        self.hash.update(piece)
        if len(self.head) < file_types.HEAD:
            self.head += piece[: file_types.HEAD - len(self.head)]
        self.tail = (self.tail + piece)[-file_types.TAIL :]


class Keeping:
    """The files of one upload or import, kept or dropped together."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def keep(self, pieces: Iterable[bytes], file_name: str) -> KeptFile:
        """Store a stream of pieces. ``TooLarge``, ``StorageFails``, ``StorageFull``, or what ended it."""
        incoming = Incoming(pieces, settings.DOCUMENT_MAX_BYTES)
        key = new_key()
        self.keys.append(key)
        try:
            # The key is new, so that the storage has nothing to add to it.
            documents().save(key, incoming)
        except Exception as trouble:
            if incoming.trouble is not None:
                raise incoming.trouble from None
            raise storage_failure("kept", trouble) from trouble
        content = file_types.found_in(incoming.head, incoming.tail)
        return KeptFile(
            storage_key=key,
            file_name=file_name,
            media_type=file_types.media_type(file_name, content),
            size=incoming.size,
            sha256=incoming.hash.hexdigest(),
            content=content,
        )

    def drop(self) -> None:
        """Delete all of them; what cannot be deleted now is left to the sweep."""
        discard(self.keys)
        self.keys = []

    def drop_unfiled(self) -> None:
        """Delete those that no document was made of."""
        discard(set(self.keys) - filed(self.keys))
        self.keys = []


@contextmanager
def kept_together() -> Iterator[Keeping]:
    """Files that are kept within the block stay only when they are filed by its end."""
    keeping = Keeping()
    try:
        yield keeping
    except (OperationalError, InterfaceError):
        # Whether the rows were committed nobody can say now. If not, the sweep finds the files.
        raise
    except BaseException:
        keeping.drop()
        raise
    keeping.drop_unfiled()


def new_key() -> str:
    """Where a new file lies: ``2026/07/23/0198…``, a folder for each day."""
    return f"{timezone.now():%Y/%m/%d}/{new_guid().hex}"


def filed(keys: Iterable[str]) -> set[str]:
    """Those of the keys that documents have."""
    return set(Document.objects.filter(storage_key__in=list(keys)).values_list("storage_key", flat=True))


def discard(keys: Iterable[str]) -> None:
    storage = documents()
    for key in keys:
        try:
            storage.delete(key)
        except Exception:
            logger.exception("the file %s could not be deleted; a sweep will", key)


def hold_off_sweeps() -> None:
    """Until the transaction ends, no sweep deletes a file. On SQLite, whoever writes is alone anyway."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock_shared(%s)", [SWEEPS])


def storage_failure(done: str, trouble: Exception) -> ODataError:
    """What a caller is told when the storage fails; the reason goes to the log."""
    logger.error("a document could not be %s: %s: %s", done, type(trouble).__name__, trouble)
    if isinstance(trouble, OSError) and trouble.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFull(f"The document could not be {done}: the storage is full.")
    return StorageFails(f"The document cannot be {done} now.", headers={"Retry-After": "30"})
