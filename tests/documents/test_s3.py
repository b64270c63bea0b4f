"""Documents in a bucket, against a server that speaks S3."""

import datetime as dt
import hashlib
import tracemalloc

import boto3
import pytest
from django.core.files.base import ContentFile
from moto.server import ThreadedMotoServer

from apps.documents import storage
from apps.documents.models import Document
from apps.documents.services import sweep
from apps.documents.storage import document_storage, read_file
from apps.operations.backup_files import FileContent
from apps.operations.services.restores import restore_document
from tests.api.caller import ok, refused
from tests.documents.builders import PDF, a_document, a_file, fields

pytestmark = pytest.mark.any_engine("files, which lie in no database")

BUCKET = "records-test"
LARGE = PDF + b"x" * (9 * 1024 * 1024)


@pytest.fixture(scope="module")
def server():
    started = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    started.start()
    yield "http://{}:{}".format(*started.get_host_and_port())
    started.stop()


@pytest.fixture
def bucket(server, settings):
    """A bucket of its own for each test, which the settings name as the storage."""
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1"}
    created = boto3.resource("s3", endpoint_url=server, **keys).create_bucket(Bucket=BUCKET)
    settings.STORAGES = {
        **settings.STORAGES,
        "documents": {
            "BACKEND": "apps.documents.s3.DocumentBucket",
            "OPTIONS": {
                "bucket_name": BUCKET,
                "location": "stored",
                "endpoint_url": server,
                "region_name": "us-east-1",
                "access_key": "test",
                "secret_key": "test",
                "addressing_style": "path",
            },
        },
    }
    yield created
    created.objects.all().delete()
    for upload in created.multipart_uploads.all():
        upload.abort()
    created.delete()


@pytest.fixture
def lists(staff, category):
    return [*fields("CreatedByStaffGuidList", staff.pk), *fields("DocumentCategoryGuidList", category.pk)]


def objects(bucket):
    return [found.key for found in bucket.objects.all()]


@pytest.mark.django_db
@pytest.mark.parametrize("content", [PDF, LARGE], ids=["one part", "several parts"])
def test_a_file_is_stored_in_the_bucket_and_downloaded_from_it(api, post, lists, bucket, content):
    (shown,) = ok(post(a_file(content), *lists), 201)["value"]
    document = Document.objects.get()
    assert objects(bucket) == [f"stored/{document.storage_key}"]
    address = f"document/{shown['DocumentGuid']}/Download"
    assert b"".join(api.get(address)) == content
    part = api.get(address, Range=f"bytes={len(content) - 7}-")
    assert (part.status_code, b"".join(part)) == (206, content[-7:])


@pytest.mark.django_db
def test_a_refused_upload_leaves_nothing_in_the_bucket(post, lists, bucket):
    refused(post(a_file(LARGE, "a.png"), *lists), 400, "ValidationFailed")
    assert objects(bucket) == []


@pytest.mark.django_db
def test_a_bucket_that_cannot_be_reached_is_503_and_leaves_no_document(post, lists, bucket, settings):
    storage = settings.STORAGES["documents"]
    gone = {**storage["OPTIONS"], "endpoint_url": "http://127.0.0.1:9"}
    settings.STORAGES = {**settings.STORAGES, "documents": {**storage, "OPTIONS": gone}}
    refused(post(a_file(), *lists), 503, "Unavailable")
    assert Document.objects.count() == 0


@pytest.mark.django_db
def test_a_file_that_is_gone_from_the_bucket_is_503(api, bucket):
    document = a_document()
    bucket.objects.all().delete()
    refused(api.get(f"document/{document.pk}/Download"), 503, "Unavailable")


@pytest.mark.django_db
def test_an_upload_that_breaks_off_leaves_nothing_in_the_bucket(bucket):
    def pieces():
        yield LARGE
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError), storage.FileBatch() as file_batch:
        file_batch.store(pieces(), "a.pdf")
    assert objects(bucket) == []
    assert list(bucket.multipart_uploads.all()) == []


@pytest.mark.django_db
def test_a_sweep_finds_objects_without_a_document_and_unfinished_uploads(bucket):
    document = a_document()
    document_storage().save("2020/01/01/orphan", storage.UploadStream([b"x"], 9))
    bucket.put_object(Key="elsewhere/not ours", Body=b"x")
    bucket.Object("stored/half").initiate_multipart_upload()
    swept = sweep(dt.timedelta(seconds=-5))
    assert (swept.keys, swept.unfinished) == (["2020/01/01/orphan"], 1)
    assert objects(bucket) == ["elsewhere/not ours", f"stored/{document.storage_key}"]
    assert list(bucket.multipart_uploads.all()) == []


def test_an_upload_of_any_size_takes_the_memory_of_a_few_parts(bucket, settings, monkeypatch):
    settings.DOCUMENT_MAX_BYTES = 200 * 1024 * 1024
    client = document_storage().bucket.meta.client
    sent = []
    # The test's own server keeps what it is sent in this process, so nothing is sent.
    monkeypatch.setattr(
        client, "_make_api_call", lambda name, parameters: sent.append(name) or {"UploadId": "1", "ETag": "x"}
    )
    pieces = (bytes(64 * 1024) for _ in range(1600))  # 100 MiB
    tracemalloc.start()
    storage.FileBatch().store(pieces, "a.bin")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sent.count("UploadPart") == 13
    assert most < 40 * 1024 * 1024


def test_a_file_is_read_for_a_backup_and_restored(bucket):
    """No part of a table: tests/operations/ has those."""
    content = FileContent(len(LARGE), hashlib.sha256(LARGE).hexdigest())
    restore_document("2026/07/01/a", content, [LARGE])
    assert b"".join(read_file("2026/07/01/a")) == LARGE
    document_storage().save("2026/07/01/b", ContentFile(b"damaged"))
    for key in ("2026/07/01/a", "2026/07/01/b"):
        restore_document(key, content, [LARGE])
        assert b"".join(read_file(key)) == LARGE
    with pytest.raises(FileNotFoundError):
        read_file("2026/07/01/c")
