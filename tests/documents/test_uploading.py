"""POST /document: files with parallel lists, all of them or none (interface.md 4.5)."""

import hashlib
import json
import uuid

import pytest

from apps.base import clock
from apps.core.models import Change
from apps.documents.models import Document
from tests.api.caller import Caller, an_application, faults, ok, refused
from tests.documents.builders import (
    PDF,
    a_category,
    a_file,
    docx,
    fields,
    files,
    form,
    indexed,
    part,
    png,
    zipped,
)
from tests.documents.conftest import stored
from tests.people.builders import a_client

pytestmark = pytest.mark.django_db

STAFF, CATEGORY, CLIENT, NAMES = (
    "CreatedByStaffGuidList",
    "DocumentCategoryGuidList",
    "ClientGuidList",
    "Names",
)
NOBODY = "00000000-0000-7000-8000-000000000000"


def test_a_file_becomes_a_document_with_all_the_form_says(post, folder, staff, category):
    client = a_client()
    answer = post(
        a_file(PDF, "März plan.pdf"),
        *fields(STAFF, staff.pk),
        *fields(CATEGORY, category.pk),
        *fields(CLIENT, client.pk),
        *fields(NAMES, "Plan 2026"),
    )
    body = ok(answer, 201)
    (shown,) = body["value"]
    document = Document.objects.get()
    assert body["@odata.context"].endswith("#Document(DocumentCategory())")
    assert answer["Location"] == f"http://testserver/api/Document({document.pk})"
    assert list(shown) == [
        "DocumentGuid", "DocumentName", "ClientGuid", "CreationDate", "ArchiveDate", "DocumentCategory",
    ]  # fmt: skip
    assert shown["DocumentName"] == "Plan 2026"
    assert shown["ClientGuid"] == str(client.pk)
    assert shown["DocumentCategory"] == {
        "DocumentCategoryGuid": str(category.pk), "Name": "Invoices", "ArchiveDate": None,
    }  # fmt: skip
    assert document.created_by == staff
    assert (document.file_name, document.media_type, document.size) == (
        "März plan.pdf", "application/pdf", len(PDF),
    )  # fmt: skip
    assert document.sha256 == hashlib.sha256(PDF).hexdigest()
    (path,) = stored(folder)
    assert path.read_bytes() == PDF
    assert "plan" not in str(path.relative_to(folder))
    line = Change.objects.get(record_type="documents.document")
    assert (line.kind, line.application, line.record_key) == ("Created", "Integration", str(document.pk))


@pytest.mark.parametrize("spell", [fields, indexed])
def test_the_nth_entry_of_each_list_belongs_to_the_nth_file(post, staff, category, spell):
    one, two, other = a_client(), a_client(), a_category()
    answer = post(
        *spell(NAMES, "first", "", "third"),
        *spell(CLIENT, one.pk, "null", two.pk),
        *files(("a.pdf", PDF), ("b.png", png()), ("c.csv", b"a,b\r\n1,2\r\n")),
        *spell(STAFF, staff.pk, staff.pk, str(staff.pk).upper()),
        *spell(CATEGORY, category.pk, other.pk, category.pk),
    )
    rows = ok(answer, 201)["value"]
    assert [row["DocumentName"] for row in rows] == ["first", "b.png", "third"]
    assert [row["ClientGuid"] for row in rows] == [str(one.pk), None, str(two.pk)]
    assert [row["DocumentCategory"]["Name"] for row in rows] == ["Invoices", other.name, "Invoices"]
    assert "Location" not in answer


def test_lists_of_guids_may_be_separated_by_commas(post, staff, category):
    client = a_client()
    answer = post(
        *files(("a.pdf", PDF), ("b.pdf", PDF), ("c.pdf", PDF)),
        part(STAFF, f"{staff.pk},{staff.pk}, {staff.pk}"),
        part(CATEGORY, ",".join([str(category.pk)] * 3)),
        part(CLIENT, f",{client.pk},NULL"),
        *fields(NAMES, "one, with a comma", "two", "null"),
    )
    rows = ok(answer, 201)["value"]
    assert [row["ClientGuid"] for row in rows] == [None, str(client.pk), None]
    assert [row["DocumentName"] for row in rows] == ["one, with a comma", "two", "c.pdf"]


def test_files_may_have_indexes_and_fields_any_case(post, staff, category):
    answer = post(
        part("files[1]", PDF, "second.pdf"),
        part("FILES[0]", PDF, "first.pdf"),
        part("createdbystaffguidlist", f"{staff.pk},{staff.pk}"),
        part("documentCategoryGuidList[1]", str(category.pk)),
        part("documentCategoryGuidList[0]", str(category.pk)),
        part("Remark", "others are ignored"),
    )
    assert [row["DocumentName"] for row in ok(answer, 201)["value"]] == ["first.pdf", "second.pdf"]


def test_an_empty_optional_list_is_no_list(post, staff, category):
    answer = post(
        *files(("a.pdf", PDF), ("b.pdf", PDF)),
        *fields(STAFF, staff.pk, staff.pk),
        *fields(CATEGORY, category.pk, category.pk),
        part(CLIENT, ""),
        part(NAMES, ""),
    )
    assert ok(answer, 201)["value"][1]["DocumentName"] == "b.pdf"


def test_return_minimal_has_no_body(post, staff, category):
    answer = post(a_file(), *fields(STAFF, staff.pk), *fields(CATEGORY, category.pk), Prefer="return=minimal")
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer["Location"].endswith(f"Document({Document.objects.get().pk})")


# --- counts and faults ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "entries"), [(STAFF, 1), (CATEGORY, 3), (CLIENT, 1), (NAMES, 4), (CLIENT, 3)]
)
def test_counts_that_differ_are_reported_with_both_and_nothing_is_stored(
    post, staff, category, nothing_is_left, name, entries
):
    lists = {STAFF: [staff.pk] * 2, CATEGORY: [category.pk] * 2}
    lists[name] = [{STAFF: staff.pk, CATEGORY: category.pk, CLIENT: "null", NAMES: "x"}[name]] * entries
    answer = post(
        *files(("a.pdf", PDF), ("b.pdf", PDF)),
        *(each for field, values in lists.items() for each in fields(field, *values)),
    )
    assert faults(answer) == [("CountMismatch", name)]
    message = json.loads(answer.content)["error"]["details"][0]["message"]
    assert message.startswith(f"{name} has {entries} entr")
    assert "2 files" in message
    nothing_is_left()


def test_every_fault_of_every_file_is_reported_at_once(post, staff, category, nothing_is_left):
    archived = a_category(archive_date=clock.now())
    answer = post(
        *files(("a.pdf", PDF), ("b.pdf", b""), ("c.html", b"<html>"), ("d.pdf", b"MZ\0\0")),
        *fields(STAFF, "nonsense", NOBODY, staff.pk, ""),
        *fields(CATEGORY, NOBODY, archived.pk, category.pk, category.pk),
        *fields(CLIENT, "", NOBODY, "", ""),
        *fields(NAMES, "x" * 257, "", "", ""),
    )
    assert sorted(faults(answer)) == sorted(
        [
            ("InvalidGuid", f"{STAFF}[0]"),
            ("NotFound", f"{CATEGORY}[0]"),
            ("TooLong", "Names[0]"),
            ("NotFound", f"{STAFF}[1]"),
            ("Archived", f"{CATEGORY}[1]"),
            ("NotFound", f"{CLIENT}[1]"),
            ("Empty", "Files[1]"),
            ("TypeNotAllowed", "Files[2]"),
            ("Required", f"{STAFF}[3]"),
            ("TypeMismatch", "Files[3]"),
        ]
    )
    nothing_is_left()


def test_required_fields_are_reported_when_nothing_is_sent(post, nothing_is_left):
    assert faults(post(part("x", "y"))) == [
        ("Required", "Files"),
        ("Required", STAFF),
        ("Required", CATEGORY),
    ]
    nothing_is_left()


def test_a_list_without_files_is_reported_as_well(post, staff, category):
    answer = post(*fields(STAFF, staff.pk), *fields(CATEGORY, category.pk))
    assert faults(answer) == [("Required", "Files"), ("CountMismatch", STAFF), ("CountMismatch", CATEGORY)]


# --- forms that are none --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "media",
    [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=" + "x" * 500,
        "multipart/form-data; boundary=\u00fc".encode().decode("latin-1"),
        "multipart/form-data; boundary=other",
    ],
)
def test_a_form_without_its_boundary_is_refused(api, media, nothing_is_left):
    body, _ = form(a_file())
    refused(api.call("POST", "document", body=body, content_type=media), 400, "InvalidBody")
    nothing_is_left()


@pytest.mark.parametrize("cut", [0, 5, 60, 150, 220, -6, -2])
def test_a_form_that_breaks_off_leaves_nothing(api, staff, category, nothing_is_left, cut):
    body, media = form(*fields(STAFF, staff.pk), *fields(CATEGORY, category.pk), a_file(PDF * 10))
    body = body[: cut if cut >= 0 else len(body) + cut]
    answer = api.call("POST", "document", body=body, content_type=media)
    if cut == -2:
        ok(answer, 201)  # only the line's end is missing
        return
    refused(answer, 400, "InvalidBody")
    nothing_is_left()


@pytest.mark.parametrize("media", ["application/json", "text/plain", "application/x-www-form-urlencoded", ""])
def test_other_bodies_are_not_read(api, media):
    refused(api.call("POST", "document", body=b"{}", content_type=media), 415, "UnsupportedMediaType")


@pytest.mark.parametrize(
    "parts",
    [
        [part("Files", "text")],
        [a_file(), part("attachment", PDF, "a.pdf")],
        [a_file(), part(NAMES, "a"), part(f"{NAMES}[0]", "b")],
        [a_file(), part(f"{NAMES}[0]", "a"), part(f"{NAMES}[0]", "b")],
        [a_file(), part(f"{NAMES}[1]", "a")],
        [a_file(), part(NAMES, b"\xff\xfe\x80")],
        [b"Content-Disposition: form-data; name=\xff\xfe\r\n\r\nx"],
        [b"\r\nno disposition"],
    ],
)
def test_forms_that_cannot_be_understood_are_refused(post, nothing_is_left, parts):
    refused(post(*parts), 400, "InvalidBody")
    nothing_is_left()


def test_names_are_text_without_nul(post, staff, category, nothing_is_left):
    answer = post(a_file(), *fields(STAFF, staff.pk), *fields(CATEGORY, category.pk), part(NAMES, "a\0b"))
    assert faults(answer) == [("InvalidText", "Names[0]")]
    nothing_is_left()


# --- limits ---------------------------------------------------------------------------------------------


def test_a_file_beyond_the_limit_is_413_with_the_limit(post, settings, nothing_is_left):
    settings.DOCUMENT_MAX_BYTES = 1000
    error = refused(post(a_file(b"%PDF-" + b"x" * 996)), 413, "TooLarge")
    assert "1,000 bytes" in error["message"]
    nothing_is_left()


def test_a_file_at_the_limit_is_stored(post, settings, staff, category):
    settings.DOCUMENT_MAX_BYTES = 1000
    ok(post(a_file(b"%PDF-" + b"x" * 995), *fields(STAFF, staff.pk), *fields(CATEGORY, category.pk)), 201)


def test_more_files_than_allowed_are_413_with_the_limit(post, settings, nothing_is_left):
    error = refused(post(*[a_file()] * 51), 413, "TooLarge")
    assert "50 files" in error["message"]
    nothing_is_left()


def test_a_body_that_says_it_is_too_long_is_not_read(api, settings):
    body, media = form(a_file())
    settings.DOCUMENT_MAX_FILES, settings.DOCUMENT_MAX_BYTES = 1, 10
    settings.DOCUMENT_MAX_BYTES = -64 * 1024
    refused(api.call("POST", "document", body=body, content_type=media), 413, "TooLarge")


@pytest.mark.parametrize(
    "parts",
    [
        [part("x", "y")] * 10_000,
        [a_file()] * 500,
        [b"X-Long: " + b"a" * 1_000_000 + b"\r\n" + part("x", "y")],
        [b"".join(b"X-%d: a\r\n" % at for at in range(1000)) + part("x", "y")],
        [part(NAMES, "x" * 70_000)],
        [part("x" * 9_000, "y")],
    ],
    ids=["fields", "files", "long header", "many headers", "long field", "long name"],
)
def test_forms_that_are_all_too_much_are_refused_quickly(post, nothing_is_left, parts):
    answer = post(*parts)
    assert answer.status_code in (400, 413)
    assert answer.seconds < 2
    nothing_is_left()


# --- types ----------------------------------------------------------------------------------------------

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)

ALLOWED_FILES = {
    "a.pdf": (PDF, "application/pdf"),
    "A.PDF": (PDF, "application/pdf"),
    "a.docx": (docx(), "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    "a.xlsx": (
        zipped("docProps/app.xml", "xl/workbook.xml", "[Content_Types].xml"),
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ),
    "a.odt": (
        zipped("mimetype", "content.xml", first=b"application/vnd.oasis.opendocument.text"),
        "application/vnd.oasis.opendocument.text",
    ),
    "a.zip": (zipped("a.txt"), "application/zip"),
    "a.doc": (OLE, "application/msword"),
    "a.msg": (OLE, "application/vnd.ms-outlook"),
    "a.png": (png(), "image/png"),
    "a.jpeg": (b"\xff\xd8\xff\xe0\0\x10JFIF\0" + bytes(50), "image/jpeg"),
    "a.gif": (b"GIF89a" + bytes(20), "image/gif"),
    "a.txt": ("Grüße – £5".encode(), "text/plain"),
    "latin.txt": ("Grüße".encode("cp1252"), "text/plain"),
    "utf16.csv": ("a,b".encode("utf-16"), "text/csv"),
    "a.csv": (b"=1+1,2\n", "text/csv"),
    "a.eml": (b"From: a@example.org\r\nSubject: Hi\r\n\r\n<html>", "message/rfc822"),
    "a.rtf": (rb"{\rtf1\ansi hello}", "application/rtf"),
    "no extension": (PDF, "application/pdf"),
    "LETTER": (b"Dear Ada", "text/plain"),
}


@pytest.mark.parametrize("name", ALLOWED_FILES)
def test_usual_files_are_stored_with_the_type_of_their_content(post, staff, category, name):
    content, media = ALLOWED_FILES[name]
    ok(post(a_file(content, name), *fields(STAFF, staff.pk), *fields(CATEGORY, category.pk)), 201)
    assert Document.objects.get().media_type == media


REFUSED = {
    "a.html": (b"<!DOCTYPE html><p>", "TypeNotAllowed"),
    "a.svg": (b"<svg onload=alert(1)>", "TypeNotAllowed"),
    "a.exe": (b"MZ" + bytes(100), "TypeNotAllowed"),
    "a.js": (b"alert(1)", "TypeNotAllowed"),
    "a.docm": (docx(), "TypeNotAllowed"),
    "page": (b"<html><script>", "TypeNotAllowed"),
    "binary": (bytes(range(256)), "TypeNotAllowed"),
    "a.txt": (b"\xef\xbb\xbf <HTML><script>alert(1)</script>", "TypeMismatch"),
    "b.txt": (bytes(100), "TypeMismatch"),
    "a.pdf": (png(), "TypeMismatch"),
    "a.png": (b"<svg xmlns='http://www.w3.org/2000/svg'>", "TypeMismatch"),
    "a.docx": (zipped("evil.exe"), "TypeMismatch"),
    "a.xlsx": (docx(), "TypeMismatch"),
    "a.doc": (docx(), "TypeMismatch"),
    "a.eml": (b"hello", "TypeMismatch"),
    "a.jpg": (b"GIF89a" + bytes(20), "TypeMismatch"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_files_of_other_types_or_under_a_false_name_are_refused(post, staff, category, nothing_is_left, name):
    content, code = REFUSED[name]
    answer = post(a_file(content, name), *fields(STAFF, staff.pk), *fields(CATEGORY, category.pk))
    assert faults(answer) == [(code, "Files[0]")]
    nothing_is_left()


def test_the_types_are_a_setting(post, staff, category, settings):
    settings.DOCUMENT_TYPES = ["html"]
    lists = (*fields(STAFF, staff.pk), *fields(CATEGORY, category.pk))
    ok(post(a_file(b"<html><p>", "a.HTM"), *lists), 201)
    assert Document.objects.get().media_type == "text/html"
    assert faults(post(a_file(PDF, "a.pdf"), *lists)) == [("TypeNotAllowed", "Files[0]")]


# --- names ----------------------------------------------------------------------------------------------


def file_part(parameters):
    return b"Content-Disposition: form-data; name=Files; " + parameters + b"\r\n\r\n" + PDF


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ('filename="Größe – ✓.pdf"'.encode(), "Größe – ✓.pdf"),
        (b"filename=x.pdf; filename*=utf-8''Gr%C3%B6%C3%9Fe.pdf", "Größe.pdf"),
        (b"filename*=UTF-8''only%20this.pdf", "only this.pdf"),
        (b"filename*=iso-8859-1'en'Gr%F6.pdf", "Grö.pdf"),
        (b'filename="=?utf-8?B?R3LDtnNzZS5wZGY=?="', "Grösse.pdf"),
        (b'filename="C:\\Users\\me\\plan.pdf"', "plan.pdf"),
        (b'filename="../../etc/passwd.pdf"', "passwd.pdf"),
        (b'filename="a%22b.pdf"', 'a"b.pdf'),
        (b'filename="tab\there\x1b.pdf"', "tabhere.pdf"),
        ('filename="\u202efdp.exe.pdf"'.encode(), "fdp.exe.pdf"),
    ],
)
def test_file_names_are_read_in_every_spelling_without_their_folders(post, staff, category, parameters, name):
    ok(post(file_part(parameters), *fields(STAFF, staff.pk), *fields(CATEGORY, category.pk)), 201)
    document = Document.objects.get()
    assert (document.file_name, document.name) == (name, name)


def test_a_file_name_has_255_characters_at_most(post, staff, category, nothing_is_left):
    lists = (*fields(STAFF, staff.pk), *fields(CATEGORY, category.pk))
    assert faults(post(a_file(PDF, "x" * 252 + ".pdf"), *lists)) == [("TooLong", "Files[0]")]
    nothing_is_left()
    ok(post(a_file(PDF, "x" * 251 + ".pdf"), *lists), 201)


# --- once, and by whom ----------------------------------------------------------------------------------


def test_a_repeated_upload_is_known_by_its_key_whatever_its_boundary_and_size(
    api, staff, category, folder, settings
):
    settings.API_MAX_BODY_BYTES = 10
    parts = (a_file(PDF * 100), *fields(STAFF, staff.pk), *fields(CATEGORY, category.pk))

    def send(boundary, *sent):
        body, media = form(*sent, boundary=boundary)
        return api.call("POST", "document", body=body, content_type=media, Idempotency_Key="k1")

    first, second = send("one", *parts), send("two", *parts)
    assert ok(first, 201) == ok(second, 201)
    assert second["Idempotency-Replayed"] == "true"
    assert Document.objects.count() == len(stored(folder)) == 1
    refused(send("one", a_file(PDF * 101), *parts[1:]), 422, "IdempotencyKeyReused")
    assert Document.objects.count() == len(stored(folder)) == 1


def test_only_callers_with_the_scope_upload(staff, category, nothing_is_left):
    body, media = form(a_file(), *fields(STAFF, staff.pk), *fields(CATEGORY, category.pk))
    for scopes, status in ((("read",), 403), (("client.write",), 403), (("document.write",), 201)):
        caller = Caller(an_application(*scopes, name=scopes[0]))
        answer = caller.call("POST", "document", body=body, content_type=media)
        assert answer.status_code == status
        if status == 403:
            nothing_is_left()


def test_a_document_of_a_client_that_is_not_there_is_refused(post, staff, category, nothing_is_left):
    answer = post(
        a_file(), *fields(STAFF, staff.pk), *fields(CATEGORY, category.pk), *fields(CLIENT, uuid.uuid4())
    )
    assert faults(answer) == [("NotFound", f"{CLIENT}[0]")]
    nothing_is_left()
