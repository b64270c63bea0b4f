"""The chain of the read log is proved by ``verify``, and kept by backups, restores and moves."""

import pytest
from django.core.management import CommandError, call_command

from apps.core import read_log_chain
from apps.core.models import PersonalDataRead
from apps.core.read_log_chain import find_break
from apps.operations.services.backups import create_backup
from apps.operations.services.moves import move_database
from apps.operations.services.restores import restore_backup
from tests.core.test_read_log_chain import entry, read
from tests.operations.databases import default_database


def test_verify_proves_the_log_and_says_how_it_ends(databases, capsys):
    with default_database(databases.create()):
        read(3)
        call_command("verify")
        assert f"The read log ends with {entry(2).hash}." in capsys.readouterr().out
        PersonalDataRead.objects.filter(pk=entry(1).pk).update(query="")
        with pytest.raises(CommandError, match=f"read log: entry {entry(1).pk} of "):
            call_command("verify")


def test_a_backup_and_a_move_keep_the_chain(databases, tmp_path):
    moved, restored = databases.create(), databases.create()
    with default_database(databases.create()):
        read(3)
        head = read_log_chain.head_of_chain()
        folder = create_backup(tmp_path).folder
        move_database(moved)
    with default_database(restored):
        restore_backup(folder)
    for url in (moved, restored):
        with default_database(url):
            assert read_log_chain.head_of_chain() == head
            read(1)
            assert find_break() is None
