"""The DRF parser of uploads: multipart/form-data read as a stream, its files stored while they arrive.

Django's multipart parser with an upload handler breaks "all files or none": a body that breaks off is
complete for it (of two files, cut in the middle of the second, it gives the first and raises nothing), a file
without a name is a text field, and names by RFC 2047 are not decoded (tests/documents/test_upload_parser.py
shows it). The library ``multipart`` is strict.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from typing import IO, Any
from urllib.parse import unquote_to_bytes

import multipart
from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import FileUploadHandler
from django.http import UnreadablePostError
from rest_framework.parsers import BaseParser

from apps.base.declaration.values import guid_reader, text_reader
from apps.base.errors import BadBody, TooLarge, plural
from apps.documents.models import Document
from apps.documents.storage import CHUNK_SIZE, FileBatch, StoredFile
from apps.odata.http.formats import content_length
from apps.people.models import Contact

#: Bytes of one text field, and of one header of a part.
MAX_FIELD_BYTES = 64 * 1024
MAX_HEADER_BYTES = 8 * 1024
MAX_BOUNDARY_LENGTH = 200

_FIELD = re.compile(r"(\w{1,60})(?:\[(\d{0,4})\])?", re.ASCII)
_EXTENDED_NAME = re.compile(r"filename\*\s*=\s*([\w-]+)'[^']*'([^;\s]+)", re.ASCII | re.IGNORECASE)
_INVISIBLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

FILES = "Files"
read_guid = guid_reader(Document._meta.get_field("guid"))
read_name = text_reader(Document._meta.get_field("name"))


@dataclass(frozen=True, slots=True)
class ParallelList:
    """A field whose nth entry belongs to the nth file.

    ``attribute`` and ``member`` are its names in drafts and in responses; ``read`` reads an entry.
    """

    name: str
    attribute: str
    member: str
    noun: str
    required: bool = False
    read: Callable[[str], object] = read_guid
    separated_by_commas: bool = True


PARALLEL_LISTS = (
    ParallelList("CreatedByStaffGuidList", "created_by", "CreatedByStaffGuid", "staff member", required=True),
    ParallelList("DocumentCategoryGuidList", "category", "DocumentCategory", "category", required=True),
    ParallelList("ClientGuidList", "client", "ClientGuid", "client"),
    ParallelList("Names", "name", "DocumentName", "name", read=read_name, separated_by_commas=False),
)
_FIELD_NAMES = {name.lower(): name for name in (FILES, *(each.name for each in PARALLEL_LISTS))}


@dataclass(slots=True)
class FieldEntries:
    """The entries of one field, sent one after the other or each with its index, in any order."""

    name: str
    repeated: list[object] = field(default_factory=list)
    indexed: dict[int, object] = field(default_factory=dict)

    def add(self, index: str | None, value: object) -> None:
        if not index:
            self.repeated.append(value)
        elif self.indexed.setdefault(int(index), value) is not value:
            raise BadBody(f"{self.name}[{int(index)}] is there twice.", target=f"{self.name}[{int(index)}]")

    def values(self) -> list[Any]:
        """All entries in order; ``BadBody`` for both spellings at once, or a missing index."""
        if not self.indexed:
            return self.repeated
        if self.repeated:
            raise BadBody(f"{self.name} is sent with indexes and without.", target=self.name)
        for index in range(len(self.indexed)):
            if index not in self.indexed:
                raise BadBody(
                    f"{self.name}[{index}] is missing: indexes go from 0 on.",
                    target=f"{self.name}[{index}]",
                )
        return [self.indexed[index] for index in range(len(self.indexed))]


@dataclass(frozen=True, slots=True)
class Upload:
    """The files of a form, which are in the storage, and the texts of its lists.

    ``digest`` is the same for the same fields and bytes, whatever boundary separates them. ``contact`` is the
    participant of all files, which the back office asks for and the interface does not have.
    """

    stored_files: list[StoredFile]
    lists: Mapping[str, list[str]]
    digest: bytes = b""
    contact: Contact | None = None


class UploadParser(BaseParser):
    """Makes an ``Upload`` of a form; the files go into the ``file_batch`` of the parser's context."""

    media_type = "multipart/form-data"
    refusal = "Documents are sent as multipart/form-data."

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Upload:
        """Raises ``BadBody`` for an invalid form, ``TooLarge`` beyond a limit, and errors of the storage."""
        assert parser_context is not None
        most = settings.DOCUMENT_MAX_FILES * (settings.DOCUMENT_MAX_BYTES + MAX_FIELD_BYTES)
        if is_longer(parser_context, most):
            raise too_many_files()
        return parse_upload(stream.read, media_type or "", parser_context["file_batch"])


def is_longer(parser_context: Mapping[str, Any] | None, size: int) -> bool:
    """True for a form of more bytes, by its ``Content-Length``; the errors of a bad one are raised."""
    assert parser_context is not None
    return content_length(parser_context["request"]) > size


def parse_upload(read: Callable[[int], bytes], media_type: str, file_batch: FileBatch) -> Upload:
    entries = {name: FieldEntries(name) for name in _FIELD_NAMES.values()}
    digest = hashlib.sha256()
    events = read_events(read, media_type)
    parts = 0
    for event in events:
        if not isinstance(event, multipart.MultipartSegment):
            continue
        parts += 1
        if parts > 10 * settings.DOCUMENT_MAX_FILES + 10:
            raise TooLarge(
                f"A form of at most {plural(settings.DOCUMENT_MAX_FILES, 'file')} has fewer fields."
            )
        read_part(event, part_chunks(events), entries, digest, file_batch)
    files = entries.pop(FILES).values()
    return Upload(files, {name: texts.values() for name, texts in entries.items()}, digest.digest())


def read_part(
    part: multipart.MultipartSegment,
    chunks: Iterator[bytes],
    entries: Mapping[str, FieldEntries],
    digest: object,
    file_batch: FileBatch,
) -> None:
    """Store a file, or add a text to its list; other texts are ignored."""
    match = _FIELD.fullmatch(part.name or "")
    name = _FIELD_NAMES.get(match[1].lower()) if match else None
    file_name = file_name_of(part)
    if file_name is None:
        text = read_text(part.name, chunks)
        if name == FILES:
            raise BadBody(f"A file is sent with a file name; this {FILES} is text.", target=FILES)
        if name is not None and match is not None:
            update_digest(digest, part.name, text)
            entries[name].add(match[2], text)
        return
    if name != FILES or match is None:
        raise BadBody(f"Files are sent as {FILES}; this one is {str(part.name)[:60]!r}.", target=FILES)
    if len(file_batch.keys) >= settings.DOCUMENT_MAX_FILES:
        raise too_many_files()
    stored_file = file_batch.store(chunks, file_name)
    update_digest(digest, part.name, file_name, stored_file.sha256)
    entries[name].add(match[2], stored_file)


def update_digest(digest: Any, *texts: str) -> None:
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big") + raw)


def too_many_files() -> TooLarge:
    files, size = settings.DOCUMENT_MAX_FILES, settings.DOCUMENT_MAX_BYTES
    return TooLarge(f"An upload holds at most {plural(files, 'file')} of {size:,} bytes each.")


# --- multipart ------------------------------------------------------------------------------------------


def read_events(read: Callable[[int], bytes], media_type: str) -> Iterator[object]:
    """The parts of a form: each a segment, its bytes in chunks, then ``None``."""
    try:
        parser = multipart.PushMultipartParser(
            read_boundary(media_type), max_header_size=MAX_HEADER_BYTES, max_header_count=8
        )
        while chunk := read(CHUNK_SIZE):
            yield from parser.parse(chunk)
        parser.close()
    except multipart.ParserLimitReached as error:
        raise TooLarge(f"The form goes beyond a limit: {error}.") from None
    except (multipart.MultipartError, UnicodeDecodeError) as error:
        raise BadBody(f"The body is no whole multipart/form-data: {error}.") from None
    except UnreadablePostError:
        raise BadBody("The body broke off.") from None


def read_boundary(media_type: str) -> str:
    _, options = multipart.parse_options_header(media_type)
    boundary: str = options.get("boundary", "")
    if not boundary or len(boundary) > MAX_BOUNDARY_LENGTH or not boundary.isascii():
        raise BadBody("The Content-Type names no boundary between the parts of the form.")
    return boundary


def part_chunks(events: Iterator[Any]) -> Iterator[bytes]:
    """The bytes of the current part."""
    for event in events:
        if event is None:
            return
        yield event


def read_text(name: str, chunks: Iterable[bytes]) -> str:
    text = b""
    for chunk in chunks:
        text += chunk
        if len(text) > MAX_FIELD_BYTES:
            raise TooLarge(f"The field {name[:60]} holds at most {MAX_FIELD_BYTES:,} bytes.")
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise BadBody(f"The field {name[:60]} is not UTF-8.", target=name[:60]) from None


# --- file names -----------------------------------------------------------------------------------------


def file_name_of(part: multipart.MultipartSegment) -> str | None:
    """The name of a part's file without folders and invisible characters; ``None`` when the part is no file.

    Clients spell names beyond ASCII in three ways: as UTF-8, by RFC 5987 (``filename*``), by RFC 2047.
    """
    disposition = next(
        (value for name, value in part.headerlist if name.lower() == "content-disposition"), ""
    )
    extended = _EXTENDED_NAME.search(disposition)
    if extended is None and part.filename is None:
        return None
    name: str = part.filename or ""
    if extended is not None:
        name = decode_rfc_5987(extended[1], extended[2]) or name
    elif name.startswith("=?"):
        name = decode_rfc_2047(name)
    return _INVISIBLE.sub("", re.split(r"[/\\]", name)[-1]).strip()


def decode_rfc_5987(charset: str, text: str) -> str:
    try:
        return unquote_to_bytes(text).decode(charset)
    except (LookupError, UnicodeDecodeError):
        return ""


def decode_rfc_2047(text: str) -> str:
    try:
        return str(make_header(decode_header(text)))
    except (HeaderParseError, LookupError, UnicodeDecodeError, ValueError):
        return text


# --- forms of the back office ---------------------------------------------------------------------------


class FileSizeLimit(FileUploadHandler):
    """Ends a form of the back office as soon as one of its files exceeds the limit of documents.

    ``FILE_UPLOAD_HANDLERS`` names it before Django's own handlers, so that no file fills the disk.
    """

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        if start + len(raw_data) > settings.DOCUMENT_MAX_BYTES:
            raise RequestDataTooBig(f"A file holds at most {settings.DOCUMENT_MAX_BYTES:,} bytes.")
        return raw_data

    def file_complete(self, file_size: int) -> None:
        return None
