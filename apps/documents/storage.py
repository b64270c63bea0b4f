"""Storage of documents: a folder (or a bucket, ``s3.py``), and the batches of files that uploads store in it.

Files are stored first and the rows that name them after, in one transaction. A file without a row, left by a
process that died in between, is deleted by ``services.sweep``.
"""

import datetime as dt
import errno
import hashlib
import io
import logging
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, ClassVar, Self

from django.conf import settings
from django.core.files.storage import FileSystemStorage, Storage, storages
from django.db import InterfaceError, OperationalError
from django.utils import timezone

from apps.base.errors import ServiceError, TooLarge, Unavailable
from apps.core.models import new_guid
from apps.core.virus_scanner import Scan
from apps.documents import file_types
from apps.documents.models import Document

logger = logging.getLogger("records.documents")

#: Bytes read or written at a time.
CHUNK_SIZE = 64 * 1024


class StorageUnavailable(Unavailable):
    """The storage of documents cannot be written or read now."""


class StorageFull(ServiceError):
    """The storage of documents has no space left."""

    status: ClassVar[int] = 507
    default_code: ClassVar[str] = "StorageFull"


def storage_error(action: str, error: Exception) -> ServiceError:
    """The response to an error of the storage; the reason goes to the log."""
    logger.error("a document could not be %s: %s: %s", action, type(error).__name__, error)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFull(f"The document could not be {action}: the storage is full.")
    return StorageUnavailable(f"The document cannot be {action} now.", headers={"Retry-After": "30"})


# --- the storage ----------------------------------------------------------------------------------------


class DocumentStorage(Storage):
    """A storage of documents: one of Django's, with three more methods."""

    def read_range(self, name: str, start: int, length: int) -> Iterator[bytes]:
        """``length`` bytes from ``start`` on, in chunks; raises at once when there is no such file."""
        raise NotImplementedError

    def list_files(self) -> Iterator[tuple[str, dt.datetime]]:
        """The key of every file, and when it was last written."""
        raise NotImplementedError

    def abort_uploads(self, before: dt.datetime) -> int:
        """Abort uploads that began before a moment and left no file; how many there were."""
        raise NotImplementedError


def document_storage() -> DocumentStorage:
    """The storage that the setting ``STORAGES["documents"]`` names."""
    storage: Any = storages["documents"]
    return storage


def read_file(key: str) -> Iterator[bytes]:
    """All bytes of a file, in chunks. Raises ``FileNotFoundError`` at once when there is none."""
    storage = document_storage()
    return storage.read_range(key, 0, storage.size(key))


class DocumentFolder(FileSystemStorage, DocumentStorage):
    """Files on a disk, writable for the service and readable for its group (the web server's)."""

    file_permissions_mode = 0o640

    def _save(self, name: str, content: object) -> str:
        path = Path(self.path(name))
        path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
        saved: str = super()._save(name, content)  # type: ignore[misc]  # documented, not in the stubs
        # The file and its name have reached the disk before a document names them.
        sync_to_disk(path)
        sync_to_disk(path.parent)
        return saved

    def read_range(self, name: str, start: int, length: int) -> Iterator[bytes]:
        file = self.open(name)
        file.seek(start)
        return read_chunks(file, length)

    def list_files(self) -> Iterator[tuple[str, dt.datetime]]:
        root = Path(self.location)
        for folder, _, names in os.walk(root):
            for name in names:
                path = Path(folder, name)
                try:
                    written = path.stat().st_mtime
                except FileNotFoundError:
                    continue  # deleted since the folder was read
                yield path.relative_to(root).as_posix(), dt.datetime.fromtimestamp(written, dt.UTC)

    def abort_uploads(self, before: dt.datetime) -> int:
        return 0  # incomplete files are listed


def sync_to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_chunks(file: IO[bytes], length: int) -> Iterator[bytes]:
    """So many bytes of an open file, which is closed at the end."""
    with file:
        while length > 0 and (chunk := file.read(min(CHUNK_SIZE, length))):
            length -= len(chunk)
            yield chunk


# --- files of an upload ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file in the storage; ``content`` are the extensions that its bytes may rightly have.

    ``virus`` is what the scanner found in it.
    """

    storage_key: str
    file_name: str
    media_type: str
    size: int
    sha256: str
    content: frozenset[str]
    virus: str = ""


class UploadStream(io.IOBase):
    """A stream of chunks as a file that a storage reads once; hashed and measured on the way.

    Raises ``TooLarge`` as soon as there are more than ``limit`` bytes. ``error`` is what ended the stream
    when that was not the storage.
    """

    def __init__(self, chunks: Iterable[bytes], limit: int) -> None:
        super().__init__()
        self.source = iter(chunks)
        self.limit = limit
        self.hash = hashlib.sha256()
        self.size = 0
        self.head = b""
        self.tail = b""
        self.error: Exception | None = None
        self._unread = b""

    def chunks(self, chunk_size: int | None = None) -> Iterator[bytes]:
        while chunk := self._next():
            yield chunk

    def read(self, size: int = -1) -> bytes:
        """For the S3 client; ``size`` bytes unless the stream ends before."""
        chunks = [self._unread]
        length = len(self._unread)
        while (size < 0 or length < size) and (chunk := self._next()):
            chunks.append(chunk)
            length += len(chunk)
        joined = b"".join(chunks)
        self._unread = b"" if size < 0 else joined[size:]
        return joined if size < 0 else joined[:size]

    def _next(self) -> bytes:
        try:
            chunk = next(self.source, b"")
            self.size += len(chunk)
            if self.size > self.limit:
                raise TooLarge(f"A file holds at most {self.limit:,} bytes.")
        except Exception as error:
            self.error = error
            raise
        self.hash.update(chunk)
        if len(self.head) < file_types.HEAD:
            self.head += chunk[: file_types.HEAD - len(self.head)]
        self.tail = (self.tail + chunk)[-file_types.TAIL :]
        return chunk


class FileBatch:
    """The files of one upload or import; a context manager that deletes those without a document."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error_class: type[BaseException] | None, *_: object) -> None:
        if error_class is None:
            self.delete_unused()
        elif not issubclass(error_class, OperationalError | InterfaceError):
            self.delete_all()
        # Else nobody knows whether the rows were committed. If they were not, the sweep finds the files.

    def store(self, chunks: Iterable[bytes], file_name: str) -> StoredFile:
        """Store a stream, which is scanned meanwhile.

        Raises its error, what the scanner raises, ``TooLarge``, ``StorageUnavailable`` or ``StorageFull``.
        """
        scan = Scan(chunks)
        stream: Any = UploadStream(scan.chunks(), settings.DOCUMENT_MAX_BYTES)
        key = f"{timezone.now():%Y/%m/%d}/{new_guid().hex}"
        self.keys.append(key)
        try:
            # The key is new: the storage has no reason to change it.
            document_storage().save(key, stream)
        except Exception as error:
            if stream.error is not None:
                raise stream.error from None
            raise storage_error("stored", error) from error
        content = file_types.detect_extensions(stream.head, stream.tail)
        return StoredFile(
            storage_key=key,
            file_name=file_name,
            media_type=file_types.media_type(file_name, content),
            size=stream.size,
            sha256=stream.hash.hexdigest(),
            content=content,
            virus=scan.virus,
        )

    def delete_all(self) -> None:
        """Delete all files; those that cannot be deleted now are left to the sweep."""
        delete_files(self.keys)
        self.keys = []

    def delete_unused(self) -> None:
        """Delete the files that no document has."""
        delete_files(set(self.keys) - find_used_keys(self.keys))
        self.keys = []


def find_used_keys(keys: Iterable[str]) -> set[str]:
    """The keys among these that documents have."""
    return set(Document.objects.filter(storage_key__in=list(keys)).values_list("storage_key", flat=True))


def delete_files(keys: Iterable[str]) -> None:
    storage = document_storage()
    for key in keys:
        try:
            storage.delete(key)
        except Exception:
            logger.exception("the file %s could not be deleted; a sweep will", key)
