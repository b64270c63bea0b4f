"""In which row of a file each value stood first, for files longer than the memory."""

from __future__ import annotations

import hashlib
import sqlite3


class FirstRows:
    """A memory on disk, gone when closed."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None)
        self._db.execute("PRAGMA journal_mode = OFF")
        self._db.execute("CREATE TABLE seen (value BLOB PRIMARY KEY, line INTEGER) WITHOUT ROWID")
        self._db.execute("BEGIN")

    def first(self, kind: str, value: object, line: int) -> int:
        """The row in which this value of this kind stood first; ``line`` when it is the first."""
        digest = hashlib.blake2b(f"{kind}\0{value}".encode(errors="surrogatepass"), digest_size=16).digest()
        added = self._db.execute("INSERT OR IGNORE INTO seen VALUES (?, ?)", (digest, line)).rowcount
        if added:
            return line
        found = self._db.execute("SELECT line FROM seen WHERE value = ?", (digest,)).fetchone()
        return int(found[0])

    def close(self) -> None:
        self._db.close()
