"""The ZIP files of ``archive_money``: rows as lines of JSON, kept files byte for byte, and SHA256SUMS.

Their names have the year and a part of the SHA-256 of SHA256SUMS, so that the same content has the same name
whenever it is written. They are encrypted when backups are.
"""

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from apps.documents.storage import CHUNK_SIZE, sync_to_disk
from apps.operations.backup_files import CHECKSUMS, ENCRYPTED, BackupWriter, file_encryption
from apps.operations.tables import OperationError

#: The time of all entries, so that the same rows make the same bytes.
NO_TIME = (1980, 1, 1, 0, 0, 0)
#: Of the SHA-256 of SHA256SUMS in the name.
DIGITS = 12
_NAME = re.compile(rf"money-(\d+)-([0-9a-f]{{{DIGITS}}})\.zip(?:{re.escape(ENCRYPTED)})?")


def money_files(parent: Path) -> list[Path]:
    """The archives in a folder."""
    return sorted(path for path in parent.glob("money-*") if _NAME.fullmatch(path.name))


def year_of(path: Path) -> int:
    found = _NAME.fullmatch(path.name)
    assert found is not None
    return int(found[1])


# --- writing --------------------------------------------------------------------------------------------


def write_money_file(parent: Path, year: int, entries: Iterable[tuple[str, Iterable[bytes]]]) -> Path:
    """A file of these entries, which has reached the disk and was read again; one that is there stays.

    Raises ``OperationError`` when what was read is not what was written.
    """
    sums: dict[str, str] = {}
    with tempfile.TemporaryFile(dir=parent) as file:
        with ZipFile(file, "w", ZIP_DEFLATED) as archive:
            for name, chunks in entries:
                sums[name] = write_entry(archive, name, chunks)
            text = "".join(f"{sha256}  {name}\n" for name, sha256 in sums.items()).encode()
            write_entry(archive, CHECKSUMS, [text])
        stored = store(parent, f"money-{year}-{name_digits(text)}.zip", file)
    try:
        found, _ = read_sums(stored)
    except OperationError as error:
        raise OperationError(f"{error} Nothing was deleted.") from error
    if found != sums:
        raise OperationError(f"{stored} does not hold the rows: nothing was deleted.")
    return stored


def name_digits(checksums: bytes) -> str:
    return hashlib.sha256(checksums).hexdigest()[:DIGITS]


def write_entry(archive: ZipFile, name: str, chunks: Iterable[bytes]) -> str:
    """The SHA-256 of an entry of the archive."""
    checksum = hashlib.sha256()
    info = ZipInfo(name, NO_TIME)
    info.compress_type = ZIP_DEFLATED
    with archive.open(info, "w", force_zip64=True) as entry:
        for chunk in chunks:
            checksum.update(chunk)
            entry.write(chunk)
    return checksum.hexdigest()


def store(parent: Path, name: str, file: IO[bytes]) -> Path:
    """Store the archive under its name, encrypted when backups are; one that is there already stays."""
    encryption = file_encryption()
    path = parent / (name + ENCRYPTED if encryption else name)
    if path.exists():
        return path
    incomplete = f".{path.name}.incomplete"
    (parent / incomplete).unlink(missing_ok=True)  # of a process that was killed: no other is at work
    file.seek(0)
    chunks = iter(lambda: file.read(CHUNK_SIZE), b"")
    BackupWriter(parent).store(incomplete, encryption.encrypt(chunks) if encryption else chunks)
    os.rename(parent / incomplete, path)
    sync_to_disk(parent)
    return path


# --- reading --------------------------------------------------------------------------------------------


@contextmanager
def opened(path: Path) -> Iterator[ZipFile]:
    """The archive, decrypted. Raises ``OperationError`` without its passphrase, and others where damaged."""
    if not path.name.endswith(ENCRYPTED):
        with ZipFile(path) as archive:
            yield archive
        return
    encryption = file_encryption()
    if encryption is None:
        raise OperationError("It is encrypted: set BACKUP_PASSPHRASE or BACKUP_PASSPHRASE_FILE.")
    with path.open("rb") as stored, tempfile.TemporaryFile(dir=path.parent) as file:
        for chunk in encryption.decrypt(iter(lambda: stored.read(CHUNK_SIZE), b"")):
            file.write(chunk)
        with ZipFile(file) as archive:
            yield archive


def read_sums(path: Path) -> tuple[dict[str, str], bytes]:
    """The SHA-256 of each entry of an archive, by its name, and its SHA256SUMS.

    Raises ``OperationError`` for an archive that cannot be read.
    """
    try:
        with opened(path) as archive:
            names = [name for name in archive.namelist() if name != CHECKSUMS]
            return {name: sha256_of(archive, name) for name in names}, archive.read(CHECKSUMS)
    except Exception as error:  # whatever zipfile and zlib raise for a damaged file
        raise OperationError(f"{path} cannot be read: {str(error).rstrip('.')}.") from error


def sha256_of(archive: ZipFile, name: str) -> str:
    checksum = hashlib.sha256()
    with archive.open(name) as entry:
        while chunk := entry.read(CHUNK_SIZE):
            checksum.update(chunk)
    return checksum.hexdigest()


def find_faults(path: Path) -> list[str]:
    """The faults of an archive, a line for each: entries that are missing, changed, or not of it."""
    try:
        found, text = read_sums(path)
    except OperationError as error:
        return [str(error)]
    lines = [line.partition("  ") for line in text.decode(errors="replace").splitlines()]
    wanted = {name: sha256 for sha256, _, name in lines}
    faults = [f"{name}: the entry is missing" for name in wanted.keys() - found]
    faults += [f"{name}: the entry is no part of the archive" for name in found.keys() - wanted]
    faults += [
        f"{name}: the entry was changed: its SHA-256 differs"
        for name in wanted.keys() & found
        if wanted[name] != found[name]
    ]
    named = _NAME.fullmatch(path.name)
    if named and named[2] != name_digits(text):
        faults.append(f"{CHECKSUMS}: it is not that of the archive's name")
    return sorted(faults)
