"""The demo's documents: they open, and come out the same again."""

import csv
import datetime as dt
import email
import hashlib
import io
import zlib
from contextlib import closing
from random import Random

import pytest
from django.core.management import call_command

from apps.documents.demo import papers
from apps.documents.demo.loading import CATEGORIES, paper
from apps.documents.models import Document, DocumentCategory
from apps.documents.storage import document_storage

MOMENT = dt.datetime(2026, 7, 1, tzinfo=dt.UTC)
pytestmark = pytest.mark.django_db
FEW = ["--clients", "5", "--staff", "3", "--contacts", "4", "--documents", "30", "--as-of", "2026-07-01"]


@pytest.fixture
def loaded(db):
    call_command("load_demo", *FEW, stdout=io.StringIO())


def content(document):
    with closing(document_storage().read_range(document.storage_key, 0, document.size)) as pieces:
        return b"".join(pieces)


def test_every_document_has_its_file_as_its_row_says(loaded):
    assert Document.objects.count() == 30
    for document in Document.objects.all():
        held = content(document)
        assert (len(held), hashlib.sha256(held).hexdigest()) == (document.size, document.sha256)


def test_there_are_documents_of_every_kind_archived_ones_and_some_of_no_client(loaded):
    kinds = set(Document.objects.values_list("media_type", flat=True))
    assert kinds == {"application/pdf", "image/png", "text/csv", "text/plain", "message/rfc822"}
    assert Document.objects.filter(client=None).exists()
    assert Document.objects.exclude(archive_date=None).exists()
    assert DocumentCategory.objects.exclude(archive_date=None).exists()


def test_the_files_open(loaded):
    for document in Document.objects.filter(media_type="text/csv"):
        rows = list(csv.reader(io.StringIO(content(document).decode())))
        assert rows[0] == ["Date", "Support", "Amount"]
    for document in Document.objects.filter(media_type="message/rfc822"):
        assert email.message_from_bytes(content(document))["Subject"] == "Please call back"


@pytest.mark.parametrize("category", CATEGORIES)
def test_the_same_chance_makes_the_same_paper(category):
    first, second = (paper(Random(1), category, "Acme (demo)", MOMENT) for _ in range(2))
    assert first == second


def test_a_pdf_tells_where_each_of_its_objects_begins():
    made = papers.pdf("A (title)", ["one \\ two", "£5"])
    table = made[int(made.rsplit(b"startxref\n", 1)[1].split()[0]) :]
    assert table.startswith(b"xref\n0 7\n")
    for number, line in enumerate(table.split(b"\n")[3:9], 1):
        assert made[int(line[:10]) :].startswith(b"%d 0 obj" % number)


def test_a_picture_has_as_many_rows_as_it_says():
    made = papers.picture((10, 20, 30), 16, 10)
    start = made.index(b"IDAT") + 4
    assert len(zlib.decompress(made[start : made.index(b"IEND") - 8])) == 10 * (1 + 16 * 3)
