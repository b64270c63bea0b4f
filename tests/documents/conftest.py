"""A storage of its own for each test, and a way to send forms."""

from pathlib import Path

import pytest

from apps.documents.models import Document
from tests.api.caller import Caller, an_application
from tests.documents.builders import a_category, form
from tests.people.builders import a_staff_member


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    """Where the files of this test lie."""
    where = tmp_path / "documents"
    settings.STORAGES = {
        **settings.STORAGES,
        "documents": {
            "BACKEND": "apps.documents.storage.DocumentFolder",
            "OPTIONS": {"location": where},
        },
    }
    return where


@pytest.fixture
def api(db):
    return Caller(an_application())


@pytest.fixture
def staff(db):
    return a_staff_member()


@pytest.fixture
def category(db):
    return a_category(name="Invoices")


@pytest.fixture
def post(api):
    """``post(part, …)``: the answer to a form of these parts."""

    def send(*parts, **headers):
        body, media = form(*parts)
        return api.call("POST", "document", body=body, content_type=media, **headers)

    return send


@pytest.fixture
def nothing_is_left(folder):
    """``nothing_is_left()``: no document and no file."""

    def look():
        assert Document.objects.count() == 0
        assert stored(folder) == []

    return look


def stored(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())
