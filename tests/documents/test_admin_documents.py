"""Documents in the back office."""

import json
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from apps.core import archive
from apps.core.models import Change
from apps.documents.models import Document
from tests.documents.builders import PDF, a_category, a_document, png
from tests.documents.conftest import stored
from tests.people.records import a_client, a_role, a_staff_member, form_data

pytestmark = pytest.mark.django_db
LIST, ADD = "/admin/documents/document/", "/admin/documents/document/add/"


def files(*contents):
    return [SimpleUploadedFile(name, content) for name, content in contents]


def page_of(document, name="change"):
    return f"/admin/documents/document/{document.pk}/{name}/"


def body_of(answer):
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


# --- uploading


def test_many_files_are_uploaded_at_once_each_with_its_own_row(client, ada, folder):
    whose, one, two = a_client(), a_category(), a_category()
    answer = client.post(
        ADD,
        {
            "Files": files(("a.pdf", PDF), ("b.png", png())),
            "Names": ["Plan 2026", ""],
            "DocumentCategoryGuidList": [str(one.pk), str(two.pk)],
            "ClientGuidList": ["", str(whose.pk)],
        },
        headers={"Accept": "application/json"},
    )
    assert json.loads(answer.content) == {"url": LIST}
    first, second = Document.objects.order_by("file_name")
    assert (first.name, first.category, first.client) == ("Plan 2026", one, None)
    assert (second.name, second.category, second.client) == ("b.png", two, whose)
    assert first.created_by == second.created_by == ada
    assert len(stored(folder)) == 2
    assert set(Change.objects.filter(record_type="documents.document").values_list("staff", "channel")) == {
        (ada.pk, "Back office")
    }
    assert "2 documents added." in client.get(LIST).content.decode()


def test_without_a_script_all_files_get_the_same(client, ada):
    whose, category = a_client(), a_category()
    answer = client.post(
        ADD, {"Files": files(("a.pdf", PDF), ("b.pdf", PDF)), "category": category.pk, "client": whose.pk}
    )
    assert (answer.status_code, answer["Location"]) == (302, LIST)
    assert set(Document.objects.values_list("name", "category", "client")) == {
        ("a.pdf", category.pk, whose.pk),
        ("b.pdf", category.pk, whose.pk),
    }


def test_refused_files_are_reported_by_file_and_column_and_nothing_is_stored(
    client, ada, folder, nothing_is_left
):
    archived = a_category(archive_date="2020-01-01T00:00:00Z")
    sent = {
        "Files": files(("a.pdf", png()), ("b.png", png())),
        "Names": ["", "x" * 257],
        "DocumentCategoryGuidList": [str(a_category().pk), str(archived.pk)],
        "ClientGuidList": ["", ""],
    }
    answer = client.post(ADD, sent, headers={"Accept": "application/json"})
    assert answer.status_code == 400
    issues = json.loads(answer.content)["issues"]
    assert sorted((issue["row"], issue["column"]) for issue in issues) == [
        (0, "file"),
        (1, "category"),
        (1, "name"),
    ]
    sent["Files"] = files(("a.pdf", png()), ("b.png", png()))
    page = client.post(ADD, sent).content.decode()
    assert "File 1, file: a.pdf is pdf by its name, and not by its content." in page
    nothing_is_left()


def test_a_missing_file_and_a_missing_category_are_reported(client, ada, nothing_is_left):
    page = client.post(ADD, {}).content.decode()
    assert "One file or more is required." in page
    answer = client.post(ADD, {"Files": files(("a.pdf", PDF))})
    assert "A category is required for each file." in answer.content.decode()
    nothing_is_left()


def test_a_file_beyond_the_limit_is_refused_while_it_is_read(client, ada, settings, nothing_is_left):
    settings.DOCUMENT_MAX_BYTES = 1000
    answer = client.post(ADD, {"Files": files(("a.pdf", PDF + bytes(1000))), "category": a_category().pk})
    assert answer.status_code == 413
    assert "A file holds at most 1,000 bytes." in answer.content.decode()
    nothing_is_left()


def test_only_who_may_add_documents_uploads(client, nothing_is_left):
    client.force_login(a_staff_member(role=a_role("documents.view_document")))
    assert client.get(ADD).status_code == 403
    assert client.post(ADD, {"Files": files(("a.pdf", PDF)), "category": a_category().pk}).status_code == 403
    nothing_is_left()


# --- looking


def test_a_document_is_downloaded_and_never_shown_as_a_page(client, ada):
    document = a_document()
    answer = client.get(page_of(document, "download"))
    assert body_of(answer) == PDF
    assert answer["Content-Disposition"] == 'attachment; filename="plan.pdf"'
    assert (
        answer["Content-Security-Policy"]
        == "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; sandbox"
    )
    assert "no-store" in answer["Cache-Control"]
    assert page_of(document, "download") in client.get(page_of(document)).content.decode()


@pytest.mark.parametrize(
    ("name", "content", "sandboxed"), [("a.png", png(), True), ("a.pdf", PDF, False), ("a.txt", b"hi", None)]
)
def test_images_and_pdfs_are_shown_in_a_frame_that_lets_nothing_run(client, ada, name, content, sandboxed):
    document = a_document(content, name)
    frames = re.findall(r"<iframe [^>]*>", client.get(page_of(document)).content.decode())
    answer = client.get(page_of(document, "preview"))
    assert body_of(answer) == content
    if sandboxed is None:
        assert frames == []
        assert answer["Content-Disposition"].startswith("attachment")
        assert answer["X-Frame-Options"] == "DENY"
        return
    (frame,) = frames
    assert page_of(document, "preview") in frame
    assert (" sandbox" in frame) is sandboxed
    assert answer["Content-Disposition"].startswith("inline")
    assert answer["X-Frame-Options"] == "SAMEORIGIN"
    assert "script-src" not in answer["Content-Security-Policy"]
    assert answer["Content-Security-Policy"].startswith("default-src 'none'; ")


def test_only_who_may_see_documents_sees_their_files(client):
    document = a_document()
    for permissions, status in (
        ((), 302),
        (("people.view_staff",), 403),
        (("documents.view_document",), 200),
    ):
        client.force_login(a_staff_member(role=a_role(*permissions)))
        for name in ("download", "preview"):
            answer = client.get(page_of(document, name))
            assert answer.status_code == status
            body_of(answer)
    client.logout()
    assert client.get(page_of(document, "download")).status_code == 302


def test_a_file_that_cannot_be_read_is_reported_plainly(client, ada, folder):
    document = a_document()
    (folder / document.storage_key).unlink()
    answer = client.get(page_of(document, "download"))
    assert (answer.status_code, answer.content) == (503, b"The document cannot be read now.")


# --- the list and the form


@pytest.mark.both_engines("found or summed by the database")
def test_documents_are_found_by_client_category_uploader_day_and_hash(client, ada):
    mine = a_document(name="Mine", client=a_client(), created_by=ada)
    a_document(name="Another", content=png(), file_name="a.png")
    for query in (
        f"client__guid__exact={mine.client_id}",
        f"category__guid__exact={mine.category_id}",
        f"created_by__guid__exact={ada.pk}",
        f"q={mine.sha256}",
        "q=Mine",
    ):
        page = client.get(f"{LIST}?{query}").content.decode()
        assert "Mine" in page, query
        assert "Another" not in page, query
    today = str(timezone.localdate(mine.creation_date))
    for days, shown in (({"from": today, "to": today}, True), ({"to": "2000-01-02"}, False)):
        query = {f"creation_date_{end}": day for end, day in days.items()}
        assert ("Mine" in client.get(LIST, query).content.decode()) is shown


def test_a_document_gets_another_name_and_client_and_its_file_stays(client, ada):
    document, whose = a_document(name="Old"), a_client()
    page = client.get(page_of(document))
    assert document.sha256 in page.content.decode()
    client.post(
        page_of(document), form_data(page, name="New", client=str(whose.pk), sha256="x" * 64, storage_key="x")
    )
    changed = Document.objects.get()
    assert (changed.name, changed.client) == ("New", whose)
    assert (changed.sha256, changed.storage_key) == (document.sha256, document.storage_key)
    assert "New" in client.get(page_of(document, "history")).content.decode()


def test_a_document_is_archived_and_not_deleted(client, ada, folder):
    document = a_document(name="Old letter")
    client.post(page_of(document, "archiving"))
    assert Document.objects.get().is_archived
    assert "Old letter" not in client.get(LIST).content.decode()
    assert client.get(page_of(document, "delete")).status_code == 403
    archive.restore(Document.objects.all())
    assert len(stored(folder)) == 1
