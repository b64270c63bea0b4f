"""Files, forms and documents with the fewest members."""

import io
import itertools
import struct
import zipfile
import zlib

from apps.base.drafts import Draft
from apps.documents.models import Document, DocumentCategory
from apps.documents.services import attach_file, create_documents
from apps.documents.storage import FileBatch
from tests.people.builders import a_lookup, a_staff_member

PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
BOUNDARY = "----WebKitFormBoundary7MA4YWxkTrZu0gW"
_number = itertools.count(1)


def png(width=2, height=2):
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    rows = b"".join(b"\0" + bytes(3 * width) for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def zipped(*names, first=b"x"):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, first)
    return buffer.getvalue()


def docx():
    return zipped("[Content_Types].xml", "_rels/.rels", "word/document.xml")


def a_category(**columns):
    return a_lookup(DocumentCategory, **columns)


def part(name, value, file_name=None, headers=""):
    file_name_parameter = f'; filename="{file_name}"' if file_name is not None else ""
    head = f'Content-Disposition: form-data; name="{name}"{file_name_parameter}\r\n{headers}\r\n'.encode()
    return head + (value.encode() if isinstance(value, str) else value)


def form(*parts, boundary=BOUNDARY):
    """The body of a form and its media type."""
    lines = b"".join(b"--" + boundary.encode() + b"\r\n" + each + b"\r\n" for each in parts)
    return lines + b"--" + boundary.encode() + b"--\r\n", f"multipart/form-data; boundary={boundary}"


def a_file(content=PDF, name="plan.pdf"):
    return part("Files", content, name, "Content-Type: application/octet-stream\r\n")


def files(*contents):
    """Each a pair of name and content."""
    return [a_file(content, name) for name, content in contents]


def fields(name, *values):
    """A list as one field for each entry."""
    return [part(name, str(value)) for value in values]


def indexed(name, *values):
    """A list as fields with indexes, the last one first."""
    return [part(f"{name}[{at}]", str(value)) for at, value in reversed(list(enumerate(values)))]


def a_document(content=PDF, file_name="plan.pdf", **values):
    """A document created by the service."""
    given = {"name": None, "client": None, "category": None, "created_by": None, **values}
    given["category"] = given["category"] or a_category()
    given["created_by"] = given["created_by"] or a_staff_member()
    with FileBatch() as file_batch:
        draft = Draft(given, given=given)
        attach_file(draft, file_batch.store(iter([content]), file_name))
        (guid,) = create_documents([draft])
    return Document.objects.get(pk=guid)
