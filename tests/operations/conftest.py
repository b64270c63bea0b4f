"""One installation with demo data and its backup for all tests; what a test changes is a copy."""

import copy
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.test.utils import override_settings

from apps.operations.services.backups import create_backup
from tests.demo.loading import load_demo
from tests.operations.databases import all_rows, default_database, enter_support_categories
from tests.operations.persons import a_participant

SIZES = {
    **{"clients": 2, "staff": 2, "contacts": 6, "documents": 3},
    **{"opportunities": 3, "claims": 6, "invoices": 2, "inbox": 1},
}


def document_settings(folder):
    """The setting ``STORAGES`` with documents in this folder."""
    storage = {"BACKEND": "apps.documents.storage.DocumentFolder", "OPTIONS": {"location": folder}}
    return {**django_settings.STORAGES, "documents": storage}


@dataclass
class Installation:
    """A database with demo data, its documents, what was in it, and its backup."""

    url: str
    documents: Path
    rows: dict
    backup: Path


@pytest.fixture(scope="session")
def installation(databases, tmp_path_factory, django_db_blocker):
    folder = tmp_path_factory.mktemp("installation")
    url = databases.create()
    documents = folder / "documents"
    with (
        django_db_blocker.unblock(),
        default_database(url),
        override_settings(STORAGES=document_settings(documents), VAR_DIR=folder),
    ):
        (folder / "secret_key").write_text(django_settings.SECRET_KEY)
        enter_support_categories()
        load_demo(**SIZES)
        return Installation(url, documents, all_rows(), create_backup(folder / "backups").folder)


@pytest.fixture
def on_installation(installation, settings):
    """The service on the installation with demo data, which the test does not change."""
    settings.STORAGES = document_settings(installation.documents)
    settings.VAR_DIR = installation.documents.parent
    with default_database(installation.url):
        yield installation


@pytest.fixture
def backup(installation, tmp_path):
    """A copy of the installation's backup that a test may damage."""
    return Path(shutil.copytree(installation.backup, tmp_path / "backup"))


@pytest.fixture
def empty_installation(databases, tmp_path, settings):
    """The service on an empty database with no documents: the folder of the documents."""
    settings.STORAGES = document_settings(tmp_path / "documents")
    settings.VAR_DIR = tmp_path
    with default_database(databases.create()):
        yield tmp_path / "documents"


@pytest.fixture(autouse=True)
def cheap_passphrases(monkeypatch):
    """A guess costs half a second on purpose; not here."""
    monkeypatch.setattr("apps.operations.encryption.WORK_FACTOR", 2)


@pytest.fixture(scope="module")
def module_participant(module_transaction, tmp_path_factory):
    """A participant and the folder of their documents, made once for a file of tests."""
    folder = tmp_path_factory.mktemp("participant")
    with override_settings(STORAGES=document_settings(folder)):
        return a_participant(), folder


@pytest.fixture
def participant(db, module_participant, settings, tmp_path):
    """A participant with a record of every model; their documents lie in a folder of this test."""
    made, folder = module_participant
    settings.STORAGES = document_settings(shutil.copytree(folder, tmp_path / "files"))
    return copy.deepcopy(made)
