"""The folder of one backup: its files, compressed and encrypted, their checksums, and the manifest.

    manifest.json            what the backup holds (``Manifest``)
    tables/NAME.copy.gz      the rows of a table, in the text form of ``tables``
    documents/KEY            the files of documents
    secret_key               where this installation made its own
    SHA256SUMS               of the files above as they are stored, for ``sha256sum -c`` too

Encrypted files end on .age; all but SHA256SUMS are.
"""

import contextlib
import datetime as dt
import fcntl
import hashlib
import os
import re
import shutil
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from django.conf import settings

from apps.core.database.migrations import Migrations
from apps.documents.storage import CHUNK_SIZE, sync_to_disk
from apps.operations.encryption import FileEncryption
from apps.operations.tables import OperationError

MANIFEST = "manifest.json"
KEY_FILE = "secret_key"
CHECKSUMS = "SHA256SUMS"
ENCRYPTED = ".age"
FORMAT = 1

_STAMP = re.compile(r"\d{8}T\d{6}Z")
_GZIP = zlib.MAX_WBITS | 16
#: Little slower than writing without compression, and a tenth of the size.
_COMPRESSION = 3


@dataclass(frozen=True, slots=True)
class TableContent:
    """A table in a backup; ``last_number`` is what the database gave last."""

    columns: tuple[str, ...]
    rows: int
    sha256: str
    last_number: int | None = None


@dataclass(frozen=True, slots=True)
class FileContent:
    """A document's file in a backup."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of a backup. ``faults`` are documents whose file could not be copied."""

    created: dt.datetime
    engine: str
    migrations: Migrations
    tables: dict[str, TableContent]
    documents: dict[str, FileContent]
    has_secret_key: bool
    faults: list[str] = field(default_factory=list)
    format: int = FORMAT


def file_encryption() -> FileEncryption | None:
    """The encryption by the passphrase in the settings; ``None`` without one."""
    passphrase = settings.BACKUP_PASSPHRASE
    if settings.BACKUP_PASSPHRASE_FILE:
        try:
            passphrase = Path(settings.BACKUP_PASSPHRASE_FILE).read_text().strip()
        except OSError as error:
            raise OperationError(f"BACKUP_PASSPHRASE_FILE cannot be read: {error}.") from None
        if not passphrase:
            raise OperationError(f"{settings.BACKUP_PASSPHRASE_FILE} holds no passphrase.")
    return FileEncryption(passphrase) if passphrase else None


def table_file(name: str) -> str:
    return f"tables/{name}.copy.gz"


def document_file(key: str) -> str:
    return f"documents/{key}"


def compress(chunks: Iterable[bytes]) -> Iterator[bytes]:
    compressor = zlib.compressobj(_COMPRESSION, wbits=_GZIP)
    for chunk in chunks:
        yield compressor.compress(chunk)
    yield compressor.flush()


def decompress(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Raises ``OperationError`` when the stream is damaged or ends early."""
    decompressor = zlib.decompressobj(_GZIP)
    try:
        for chunk in chunks:
            pending = chunk
            # A small file may become large: so many bytes at a time.
            while pending:
                yield decompressor.decompress(pending, CHUNK_SIZE * 4)
                pending = decompressor.unconsumed_tail
        yield decompressor.flush()
    except zlib.error as error:
        raise OperationError(f"It is damaged: {error}.") from None
    if not decompressor.eof:
        raise OperationError("It is cut off.")


# --- writing --------------------------------------------------------------------------------------------


class BackupWriter:
    """Writes the files of a backup into a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.encryption = file_encryption()
        self.checksums: list[str] = []

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        """Store a stream under this name."""
        if self.encryption:
            name += ENCRYPTED
            chunks = self.encryption.encrypt(chunks)
        self.checksums.append(f"{self.store(name, chunks)}  {name}\n")

    def store(self, name: str, chunks: Iterable[bytes]) -> str:
        """The SHA-256 of the file, which has reached the disk."""
        path = self.folder / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        checksum = hashlib.sha256()
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            for chunk in chunks:
                checksum.update(chunk)
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        return checksum.hexdigest()

    def finish(self, manifest: Manifest) -> None:
        self.write(MANIFEST, [msgspec.json.format(msgspec.json.encode(manifest))])
        self.store(CHECKSUMS, ["".join(self.checksums).encode()])
        for folder, _, _ in os.walk(self.folder):
            sync_to_disk(Path(folder))


@contextlib.contextmanager
def new_backup(parent: Path, name: str = "") -> Iterator[tuple[BackupWriter, Path]]:
    """A writer, and the folder that appears under ``parent`` when the block is left without an error.

    It is called after the moment, unless another name is given. Until then it has a hidden name, and nothing
    of it stays after an error. Raises ``OperationError`` for a folder that cannot be written, is full, or
    takes another backup now.
    """
    try:
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with backup_lock(parent):
            # Left by a backup or a deletion that was killed: no other is at work.
            for abandoned in parent.glob(".*.incomplete"):
                if abandoned.is_dir():
                    shutil.rmtree(abandoned)
                else:
                    abandoned.unlink()
            folder = parent / (name or f"{dt.datetime.now(dt.UTC):%Y%m%dT%H%M%SZ}")
            incomplete = parent / f".{folder.name}.incomplete"
            if folder.exists():
                raise OperationError(f"{folder} exists already.")
            incomplete.mkdir(mode=0o700)
            try:
                yield BackupWriter(incomplete), folder
                incomplete.rename(folder)
            finally:
                shutil.rmtree(incomplete, ignore_errors=True)
            sync_to_disk(parent)
    except OSError as error:
        raise OperationError(
            f"The backup cannot be written to {parent}: {error.strerror or error}."
        ) from error


@contextlib.contextmanager
def backup_lock(parent: Path) -> Iterator[None]:
    """The right to write below this folder; a dying process loses it."""
    with open(parent / ".lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OperationError(f"Another backup is being written to {parent}.") from None
        yield


def delete_old_backups(parent: Path, keep: int) -> list[Path]:
    """Delete all complete backups but the newest ``keep``; those deleted."""
    old = complete_backups(parent)[:-keep]
    with backup_lock(parent):
        for folder in old:
            # Under this name the next backup deletes the rest, should this end half way.
            shutil.rmtree(folder.rename(folder.with_name(f".{folder.name}.incomplete")))
    return old


def complete_backups(parent: Path) -> list[Path]:
    """The complete backups in a folder, the newest last."""
    found = [path for path in parent.iterdir() if _STAMP.fullmatch(path.name)]
    return sorted(path for path in found if (path / CHECKSUMS).exists())


# --- reading --------------------------------------------------------------------------------------------


class BackupReader:
    """Reads the files of a backup: of this folder, or of the newest one in it."""

    def __init__(self, folder: Path) -> None:
        if not (folder / CHECKSUMS).exists():
            if not folder.is_dir() or not complete_backups(folder):
                raise OperationError(f"{folder} is no complete backup, and holds none.")
            folder = complete_backups(folder)[-1]
        self.folder = folder
        self.encryption = file_encryption()
        lines = (folder / CHECKSUMS).read_text().splitlines()
        self.checksums = {name: checksum for checksum, _, name in (line.partition("  ") for line in lines)}

    def find_damaged_files(self) -> list[str]:
        """The faults of the stored files, a line for each: missing, changed, or not of the backup."""
        stored = {
            path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*") if path.is_file()
        }
        faults = [f"{name}: the file is missing" for name in self.checksums.keys() - stored]
        faults += [
            f"{name}: the file is no part of the backup" for name in stored - {*self.checksums, CHECKSUMS}
        ]
        for name in self.checksums.keys() & stored:
            try:
                with open(self.folder / name, "rb") as file:
                    is_unchanged = hashlib.file_digest(file, "sha256").hexdigest() == self.checksums[name]
            except OSError as error:
                faults.append(f"{name}: the file cannot be read: {error.strerror}")
            else:
                if not is_unchanged:
                    faults.append(f"{name}: the file was changed: its SHA-256 differs")
        return sorted(faults)

    def read_manifest(self) -> Manifest:
        """Raises ``OperationError`` for another passphrase, and for a form that this version has not."""
        text = b"".join(self.read(MANIFEST))
        try:
            manifest = msgspec.json.decode(text, type=Manifest)
        except msgspec.MsgspecError as error:
            raise OperationError(f"The manifest cannot be read: {error}") from None
        if manifest.format != FORMAT:
            raise OperationError(f"The backup has format {manifest.format}; this version reads {FORMAT}.")
        return manifest

    def read(self, name: str) -> Iterator[bytes]:
        """The content of a file, decrypted."""
        if name in self.checksums:
            return self.read_stored(name)
        if name + ENCRYPTED not in self.checksums:
            raise OperationError(f"The backup has no file {name}.")
        if self.encryption is None:
            raise OperationError("The backup is encrypted: set BACKUP_PASSPHRASE or BACKUP_PASSPHRASE_FILE.")
        return self.encryption.decrypt(self.read_stored(name + ENCRYPTED))

    def read_stored(self, name: str) -> Iterator[bytes]:
        with open(self.folder / name, "rb") as file:
            while chunk := file.read(CHUNK_SIZE):
                yield chunk

    def read_table(self, name: str) -> Iterator[bytes]:
        """The rows of a table in the text form of ``tables``."""
        return decompress(self.read(table_file(name)))
