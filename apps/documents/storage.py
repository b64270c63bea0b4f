"""Where the bytes of documents lie: a folder, unless the settings name something else.

A storage of documents is a Django storage with two words more: ``reading``, a part of a file in pieces,
and ``listing``, every file it holds. ``apps.documents.s3`` has the one for buckets.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from django.core.files.storage import FileSystemStorage, storages
from django.utils.deconstruct import deconstructible

#: Bytes read or written at a time.
PIECE = 64 * 1024

#: Behind the name of a file that is not whole yet.
PARTIAL = ".part"


class Pieces(Protocol):
    """A part of a file, piece by piece."""

    def __iter__(self) -> Iterator[bytes]: ...

    def close(self) -> None: ...


class DocumentStorage(Protocol):
    """What is asked of a storage of documents."""

    def save(self, name: str, content: Any) -> str: ...

    def delete(self, name: str) -> None: ...

    def exists(self, name: str) -> bool: ...

    def open(self, name: str) -> Any: ...

    def reading(self, name: str, start: int, length: int) -> Pieces:
        """``length`` bytes from ``start`` on; raises at once when there is no such file."""
        ...

    def listing(self) -> Iterator[tuple[str, dt.datetime]]:
        """The key of every file, and when it was last written."""
        ...

    def drop_unfinished(self, before: dt.datetime) -> int:
        """Give up uploads that began before a moment and left no file behind; how many there were."""
        ...


def documents() -> DocumentStorage:
    """The storage that the setting ``STORAGES["documents"]`` names."""
    storage: Any = storages["documents"]
    return storage


class FilePieces:
    """A part of an open file."""

    def __init__(self, file: Any, length: int) -> None:
        self.file = file
        self.left = length

    def __iter__(self) -> Iterator[bytes]:
        while self.left > 0 and (piece := self.file.read(min(PIECE, self.left))):
            self.left -= len(piece)
            yield piece

    def close(self) -> None:
        self.file.close()


@deconstructible
class DocumentFolder(FileSystemStorage):
    """Files on a disk. Each is there whole, and has reached the disk, before its name is."""

    def _save(self, name: str, content: Any) -> str:
        path = Path(self.path(name))
        path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
        partial = path.with_name(path.name + PARTIAL)
        with open(partial, "xb", opener=owner_and_group) as file:
            for piece in content.chunks():
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        partial.rename(path)
        reach_the_disk(path.parent)
        return name

    def delete(self, name: str) -> None:
        super().delete(name)
        Path(self.path(name) + PARTIAL).unlink(missing_ok=True)

    def reading(self, name: str, start: int, length: int) -> FilePieces:
        file = Path(self.path(name)).open("rb")  # noqa: SIM115  closed by whoever reads the pieces
        file.seek(start)
        return FilePieces(file, length)

    def listing(self) -> Iterator[tuple[str, dt.datetime]]:
        root = Path(self.location)
        for folder, _, names in os.walk(root):
            for name in names:
                path = Path(folder, name)
                try:
                    written = path.stat().st_mtime
                except FileNotFoundError:
                    continue  # finished or deleted since the folder was read
                yield path.relative_to(root).as_posix(), dt.datetime.fromtimestamp(written, dt.UTC)

    def drop_unfinished(self, before: dt.datetime) -> int:
        return 0  # they are listed, under a name of their own


def owner_and_group(path: str, flags: int) -> int:
    """Open a new file for us to write and our group (the web server's) to read."""
    return os.open(path, flags, 0o640)


def reach_the_disk(folder: Path) -> None:
    """A name is only safe when the folder it stands in has been written."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
