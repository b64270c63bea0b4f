"""Why uploads have a parser of their own (apps/documents/parsers.py): Django's loses or misreads files."""

import io

import pytest
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.http.multipartparser import MultiPartParser

from apps.base.errors import BadBody
from apps.documents.parsers import parse_upload
from apps.documents.storage import FileBatch
from tests.documents.builders import PDF, a_file, form


def read_by_django(body, media_type):
    """The names of the files and the names of the text fields."""
    meta = {"CONTENT_TYPE": media_type, "CONTENT_LENGTH": str(len(body))}
    fields, files = MultiPartParser(meta, io.BytesIO(body), [TemporaryFileUploadHandler()]).parse()
    return [file.name for file in files.getlist("Files")], list(fields)


def read_by_our_parser(body, media_type):
    upload = parse_upload(io.BytesIO(body).read, media_type, FileBatch())
    return [file.file_name for file in upload.stored_files]


def test_a_body_that_breaks_off_is_complete_for_django_and_refused_by_our_parser(folder):
    body, media_type = form(a_file(name="first.pdf"), a_file(PDF * 100, "second.pdf"))
    broken = body[: len(body) // 2]
    assert read_by_django(broken, media_type) == (["first.pdf"], [])
    with pytest.raises(BadBody):
        read_by_our_parser(broken, media_type)


def test_a_file_without_a_name_is_a_text_for_django_and_a_file_for_our_parser(folder):
    body, media_type = form(a_file(name=""))
    assert read_by_django(body, media_type) == ([], ["Files"])
    assert read_by_our_parser(body, media_type) == [""]


def test_a_name_by_rfc_2047_is_not_decoded_by_django_but_by_our_parser(folder):
    body, media_type = form(a_file(name="=?utf-8?B?w6kucGRm?="))
    assert read_by_django(body, media_type) == (["=?utf-8?B?w6kucGRm?="], [])
    assert read_by_our_parser(body, media_type) == ["é.pdf"]
