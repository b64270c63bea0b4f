"""GET /document/{guid}/Download: the bytes as stored (interface.md 4.6)."""

import hashlib

import pytest

from apps.core import archive
from apps.core.downloads import content_disposition
from apps.core.read_log import READ_LOG
from apps.documents.models import Document
from tests.api.caller import Caller, an_application, refused
from tests.documents.builders import PDF, a_document

pytestmark = pytest.mark.django_db
NOBODY = "00000000-0000-7000-8000-000000000000"


@pytest.fixture
def document(db):
    return a_document()


@pytest.fixture
def get(api, document):
    def asking(method="GET", **headers):
        answer = api.call(method, f"document/{document.pk}/Download", **headers)
        answer.body = bytes_of(answer)
        return answer

    return asking


def bytes_of(answer):
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


def test_the_file_comes_as_it_was_stored_and_runs_nowhere(get):
    answer = get()
    assert answer.status_code == 200
    assert answer.body == PDF
    assert answer["Content-Type"] == "application/pdf"
    assert answer["Content-Length"] == str(len(PDF))
    assert answer["Content-Disposition"] == 'attachment; filename="plan.pdf"'
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert (
        answer["Content-Security-Policy"]
        == "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; sandbox"
    )
    assert answer["ETag"] == f'"{hashlib.sha256(PDF).hexdigest()}"'
    assert answer["Accept-Ranges"] == "bytes"


def test_a_download_is_in_the_read_log_and_an_unchanged_file_is_not(get, document):
    READ_LOG.waiting.clear()
    tag = get()["ETag"]
    get("HEAD")
    get(If_None_Match=tag)
    assert [(entry.kind, entry.record_keys) for entry in READ_LOG.waiting] == [
        ("Download", document.pk.bytes)
    ]


@pytest.mark.parametrize(
    "spelled", ["document/{}/download", "Document({})/DOWNLOAD/", "DOCUMENT('{}')/Download"]
)
def test_every_spelling_of_the_address_is_served(api, document, spelled):
    assert bytes_of(api.get(spelled.format(document.pk))) == PDF


def test_unknown_documents_are_404_and_no_keys_400(api):
    refused(api.get(f"document/{NOBODY}/Download"), 404, "NotFound")
    refused(api.get("document/nonsense/Download"), 400, "InvalidGuid")
    refused(api.get(f"document/{NOBODY}/Download", {"x": "y"}), 400, "InvalidQuery")


def test_an_archived_document_still_downloads(get):
    archive.archive(Document.objects.all())
    assert get().body == PDF


def test_head_has_every_header_and_no_bytes(get):
    answer = get("HEAD")
    assert (answer.status_code, answer.body) == (200, b"")
    assert answer["Content-Length"] == str(len(PDF))


def test_only_get_is_offered(get):
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        refused(get(method), 405, "MethodNotAllowed")


def test_a_caller_who_has_it_already_gets_304(get):
    tag = get()["ETag"]
    for sent in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        answer = get(If_None_Match=sent)
        assert (answer.status_code, answer.content) == (304, b"")
        assert answer["ETag"] == tag
    assert get(If_None_Match='"other"').status_code == 200


SIZE = len(PDF)
PARTS = [
    ("bytes=0-3", 0, 4),
    ("bytes=5-5", 5, 6),
    ("bytes=10-", 10, SIZE),
    ("bytes=-4", SIZE - 4, SIZE),
    (f"bytes=-{SIZE + 5}", 0, SIZE),
    (f"bytes=0-{SIZE + 500}", 0, SIZE),
    ("bytes= 1 - 2 ", 1, 3),
]


@pytest.mark.parametrize(("asked", "start", "stop"), PARTS)
def test_one_range_is_sent_alone(get, asked, start, stop):
    answer = get(Range=asked)
    assert answer.status_code == 206
    assert answer.body == PDF[start:stop]
    assert answer["Content-Range"] == f"bytes {start}-{stop - 1}/{SIZE}"
    assert answer["Content-Length"] == str(stop - start)


@pytest.mark.parametrize("asked", [f"bytes={SIZE}-", f"bytes={SIZE + 9}-{SIZE + 10}", "bytes=-0"])
def test_a_range_beyond_the_end_is_416_with_the_size(get, asked):
    answer = get(Range=asked)
    refused(answer, 416, "RangeNotSatisfiable")
    assert answer["Content-Range"] == f"bytes */{SIZE}"


@pytest.mark.parametrize(
    "asked",
    ["bytes=0-1,3-4", "bytes=", "bytes=-", "bytes=5-2", "lines=0-1", "x", "bytes=a-b", "bytes=" + "9" * 40],
)
def test_several_or_invalid_ranges_are_answered_with_the_whole_file(get, asked):
    answer = get(Range=asked)
    assert answer.status_code == 200
    assert answer.body == PDF


def test_who_read_a_part_of_a_file_is_in_the_read_log(get):
    READ_LOG.waiting.clear()
    get(Range="bytes=0-3")
    assert [entry.kind for entry in READ_LOG.waiting] == ["Download"]


def test_a_range_of_another_version_is_answered_with_the_whole(get):
    tag = get()["ETag"]
    assert get(Range="bytes=0-3", If_Range=tag).status_code == 206
    assert get(Range="bytes=0-3", If_Range='"other"').status_code == 200
    assert get(Range="bytes=0-3", If_Range=f"W/{tag}").status_code == 200


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("plan.pdf", 'attachment; filename="plan.pdf"'),
        ("Größe.pdf", "attachment; filename=\"Gr__e.pdf\"; filename*=UTF-8''Gr%C3%B6%C3%9Fe.pdf"),
        ('a"b\\c.pdf', "attachment; filename=\"a_b_c.pdf\"; filename*=UTF-8''a%22b%5Cc.pdf"),
        ("100%.pdf", "attachment; filename=\"100_.pdf\"; filename*=UTF-8''100%25.pdf"),
        ("x\r\nSet-Cookie: a=b.pdf", "attachment; filename=\"x__Set-Cookie: a=b.pdf\"; "
         "filename*=UTF-8''x%0D%0ASet-Cookie%3A%20a%3Db.pdf"),
    ],
)  # fmt: skip
def test_any_name_is_sent_as_rfc_6266_says(name, header):
    assert content_disposition(name, "attachment") == header


def test_only_callers_who_may_read_documents_download(document):
    for scope, status in (
        ("document.read", 200),
        ("read", 200),
        ("client.read", 403),
        ("document.write", 403),
    ):
        caller = Caller(an_application(scope, name=scope))
        answer = caller.get(f"document/{document.pk}/Download")
        bytes_of(answer)
        assert answer.status_code == status
    assert Caller().get(f"document/{document.pk}/Download").status_code == 401


def test_the_web_server_sends_the_bytes_when_a_prefix_is_set(get, document, settings):
    settings.DOCUMENT_ACCEL_PREFIX = "/files/"
    answer = get()
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer["X-Accel-Redirect"] == f"/files/{document.storage_key}"
    assert answer["Content-Type"] == "application/pdf"
    assert answer["Content-Disposition"] == 'attachment; filename="plan.pdf"'
    assert get(If_None_Match=answer["ETag"]).status_code == 304


def test_a_file_that_cannot_be_read_is_503_and_says_nothing_of_the_inside(get, folder, document):
    (folder / document.storage_key).unlink()
    error = refused(get(), 503, "Unavailable")
    assert str(folder) not in error["message"]


def test_no_address_leads_to_the_folder(client, document):
    for path in (
        f"/media/{document.storage_key}",
        f"/documents/{document.storage_key}",
        f"/{document.storage_key}",
    ):
        assert client.get(path).status_code == 404
