"""The file of a SQLite database."""

import os
import sqlite3
from contextlib import closing

from apps.core.database.sqlite.base import make_private_file


def test_a_new_sqlite_file_is_for_its_owner_alone(tmp_path):
    """It holds the secrets of second factors and webhooks, and its journals what is written."""
    path = tmp_path / "records.sqlite3"
    before = os.umask(0o022)
    try:
        make_private_file(path)
        with closing(sqlite3.connect(path)) as connected:
            connected.execute("PRAGMA journal_mode=WAL")
            connected.execute("CREATE TABLE secret (text)")
            modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(("records.sqlite3", "records.sqlite3-wal", "records.sqlite3-shm"), 0o600)


def test_a_database_in_memory_makes_no_file_and_one_that_there_is_stays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (":memory:", "file:x?mode=memory&cache=shared", tmp_path / "no folder" / "x.sqlite3"):
        make_private_file(name)
    assert not list(tmp_path.iterdir())
    path = tmp_path / "records.sqlite3"
    path.write_bytes(b"x")
    path.chmod(0o640)
    make_private_file(str(path))
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"x", 0o640)
