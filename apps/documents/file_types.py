"""File types: detected from the content, to be compared with the extension of the name."""

import codecs
import mimetypes
import re
from collections.abc import Iterator

import puremagic
from django.conf import settings

#: Bytes at both ends of a file that are examined, whatever its size.
HEAD = TAIL = 64 * 1024

#: The media types of the usual extensions. Others, when allowed, are looked up in Python's own table.
MEDIA_TYPES = {
    "pdf": "application/pdf",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "ppt": "application/vnd.ms-powerpoint",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "odt": "application/vnd.oasis.opendocument.text",
    "ods": "application/vnd.oasis.opendocument.spreadsheet",
    "odp": "application/vnd.oasis.opendocument.presentation",
    "rtf": "application/rtf",
    "txt": "text/plain",
    "csv": "text/csv",
    "eml": "message/rfc822",
    "msg": "application/vnd.ms-outlook",
    "png": "image/png",
    "jpg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "tif": "image/tiff",
    "bmp": "image/bmp",
    "heic": "image/heic",
    "zip": "application/zip",
}
UNKNOWN = "application/octet-stream"

#: Other extensions of the same type.
ALIASES = {"jpeg": "jpg", "jfif": "jpg", "jpe": "jpg", "tiff": "tif", "htm": "html", "heif": "heic"}

# Containers: their content decides.
ZIP = b"PK\x03\x04"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
OLE_TYPES = frozenset({"doc", "xls", "ppt", "msg"})
OFFICE_FOLDERS = {b"word/": "docx", b"xl/": "xlsx", b"ppt/": "pptx"}
OPEN_DOCUMENTS = {MEDIA_TYPES[name].encode(): name for name in ("odt", "ods", "odp")}

# Text has no signature; these are the kinds of text that are distinguished.
TEXTS = frozenset({"txt", "csv", "md", "log", "json", "ics", "vcf"})
MARKUP = (b"<!doctype html", b"<html", b"<head", b"<body", b"<script", b"<svg", b"<iframe", b"<?xml", b"<!--")
MAIL_HEADER = re.compile(rb"(?:From [^\r\n]*\r?\n)?[!-9;-~]+:[ \t]")
CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def extension_of(file_name: str) -> str:
    """``pdf`` for ``Plan.PDF``, ``jpg`` for ``me.jpeg``; empty when the name has none."""
    stem, _, extension = file_name.rpartition(".")
    lower = extension.lower() if stem else ""
    return ALIASES.get(lower, lower)


def allowed_extensions() -> frozenset[str]:
    """The extensions that the setting ``DOCUMENT_TYPES`` allows."""
    return frozenset(ALIASES.get(name, name) for name in map(str.lower, settings.DOCUMENT_TYPES))


def detect_extensions(head: bytes, tail: bytes) -> frozenset[str]:
    """The extensions that a file with these ends may rightly have. Nothing is unpacked or parsed."""
    if head.startswith(ZIP):
        return frozenset({"zip", *office_types(head, tail)})
    if head.startswith(OLE):
        return OLE_TYPES
    if b"%PDF-" in head[:1024]:
        return frozenset({"pdf"})
    return frozenset({*signature_types(head, tail), *text_types(head)})


def office_types(head: bytes, tail: bytes) -> Iterator[str]:
    """The office types by the names of a ZIP's first and last entries."""
    if head[30:38] == b"mimetype":
        yield from (name for media, name in OPEN_DOCUMENTS.items() if head[38:].startswith(media))
    # A name follows the fixed part of its entry: 30 bytes at the entry, 46 in the directory at the end.
    for signature, before, ends in ((ZIP, 30, head), (b"PK\x01\x02", 46, tail)):
        starts = (match.end() - 4 + before for match in re.finditer(re.escape(signature), ends))
        names = {ends[start : start + 5] for start in starts}
        for folder, name in OFFICE_FOLDERS.items():
            if any(each.startswith(folder) for each in names):
                yield name


def signature_types(head: bytes, tail: bytes) -> Iterator[str]:
    """The extensions of all known signatures that the file has."""
    try:
        matches = puremagic.magic_string(head + tail)
    except (puremagic.PureError, ValueError):
        return
    for match in matches:
        name = match.extension.removeprefix(".").lower()
        yield ALIASES.get(name, name)


def text_types(head: bytes) -> frozenset[str]:
    """The kinds of text that it may be; none when it is no text, or markup that a browser would run."""
    if not is_text(head):
        return frozenset()
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if start[:20].lower().startswith(MARKUP):
        return frozenset({"html", "xml", "svg"})
    return TEXTS | ({"eml"} if MAIL_HEADER.match(start) else set())


def is_text(head: bytes) -> bool:
    """UTF-8, UTF-16 with its mark, or single bytes without control characters."""
    if not head:
        return False
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return True
    return CONTROLS.search(head) is None


def media_type(file_name: str, content: frozenset[str]) -> str:
    """The media type of a file by its name, of one without extension by its content."""
    extension = extension_of(file_name) or likeliest_extension(content)
    return MEDIA_TYPES.get(extension) or mimetypes.guess_type(f"file.{extension}")[0] or UNKNOWN


def likeliest_extension(content: frozenset[str]) -> str:
    """The extension a file would have: an office document rather than a ZIP, plain text rather than CSV."""
    for likely in (content - TEXTS - {"zip"}, content & {"txt"}, content):
        if likely & allowed_extensions():
            return min(likely & allowed_extensions())
    return ""


def is_detectable(extension: str) -> bool:
    """True when content of this type can be distinguished from other content."""
    return extension in MEDIA_TYPES or extension in TEXTS or extension in _WITH_SIGNATURE


_WITH_SIGNATURE = {
    ALIASES.get(name, name)
    for row in (*puremagic.magic_header_array, *puremagic.magic_footer_array)
    for name in (row.extension.removeprefix(".").lower(),)
}
