"""An upload on its way in: multipart/form-data read as it comes, files going straight into the storage.

Nothing is held whole in memory, and every limit is minded while reading (interface.md 4.5).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from typing import Any
from urllib.parse import unquote_to_bytes

import multipart
from django.conf import settings
from django.http import UnreadablePostError

from apps.documents.filing import describe
from apps.documents.keeping import Keeping, KeptFile
from apps.documents.models import Document
from apps.documents.storage import PIECE
from apps.odata.declaration.schema import EntitySet, StructuralProperty
from apps.odata.errors import BadBody, Conflict, ErrorDetail, InvalidRecords, TooLarge, plural
from apps.odata.write.bodies import Body
from apps.odata.write.dispatch import Created, create_of
from apps.odata.write.drafts import Draft
from apps.odata.write.json_values import JsonValueError, reader_of

FILES = "Files"

#: Bytes of one text field, and of one header of a part.
LONGEST_FIELD = 64 * 1024
LONGEST_HEADER = 8 * 1024
LONGEST_BOUNDARY = 200

_FIELD = re.compile(r"(\w{1,60})(?:\[(\d{0,4})\])?", re.ASCII)
_EXTENDED_NAME = re.compile(r"filename\*\s*=\s*([\w-]+)'[^']*'([^;\s]+)", re.ASCII | re.IGNORECASE)
_UNNAMEABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
LONGEST_FILE_NAME = Document._meta.get_field("file_name").max_length or 255


@dataclass(frozen=True, slots=True)
class ParallelList:
    """A form field whose nth entry belongs to the nth file."""

    name: str
    attribute: str
    noun: str
    required: bool = False
    between_commas: bool = True


LISTS = (
    ParallelList("CreatedByStaffGuidList", "created_by", "staff member", required=True),
    ParallelList("DocumentCategoryGuidList", "category", "category", required=True),
    ParallelList("ClientGuidList", "client", "client"),
    ParallelList("Names", "name", "name", between_commas=False),
)
_SPELLED = {each.name.lower(): each.name for each in LISTS} | {FILES.lower(): FILES}


@dataclass(slots=True)
class Entries:
    """The entries of one field, sent one after the other or each with its index, in any order."""

    name: str
    repeated: list[Any] = field(default_factory=list)
    indexed: dict[int, Any] = field(default_factory=dict)

    def add(self, index: str | None, value: Any) -> None:
        if not index:
            self.repeated.append(value)
        elif self.indexed.setdefault(int(index), value) is not value:
            raise BadBody(f"{self.name}[{int(index)}] is there twice.", target=f"{self.name}[{int(index)}]")

    def values(self) -> list[Any]:
        """All of them in order; ``BadBody`` for both ways at once, or an index that is left out."""
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


@dataclass(slots=True)
class Upload:
    """What a form held: its files, which are in the storage, and the texts of its lists.

    ``digest`` is the same for the same fields and bytes, whatever boundary stands between them.
    """

    files: list[KeptFile]
    lists: Mapping[str, list[str]]
    digest: bytes


def receive(read: Callable[[int], bytes], content_type: str, told: int, keeping: Keeping) -> Upload:
    """Read a form from its bytes; ``told`` is its Content-Length.

    Raises ``BadBody`` for what is no such form, ``TooLarge`` where a limit is passed, and what ``keep`` does.
    """
    most = settings.DOCUMENT_MAX_FILES * (settings.DOCUMENT_MAX_BYTES + LONGEST_FIELD)
    if told > most:
        raise too_many_files()
    fields = {name: Entries(name) for name in _SPELLED.values()}
    digest = hashlib.sha256()
    events = events_of(read, content_type)
    parts = 0
    for event in events:
        if not isinstance(event, multipart.MultipartSegment):
            continue
        parts += 1
        if parts > 10 * settings.DOCUMENT_MAX_FILES + 10:
            raise TooLarge(
                f"A form of at most {plural(settings.DOCUMENT_MAX_FILES, 'file')} has fewer fields."
            )
        take(event, pieces_of(events), fields, digest, keeping)
    files = fields.pop(FILES).values()
    return Upload(files, {name: entries.values() for name, entries in fields.items()}, digest.digest())


def take(
    part: Any, pieces: Iterator[bytes], fields: Mapping[str, Entries], digest: Any, keeping: Keeping
) -> None:
    """One part of the form: a file goes into the storage, a text to its list, other texts nowhere."""
    found = _FIELD.fullmatch(part.name or "")
    name = _SPELLED.get(found[1].lower()) if found else None
    file_name = name_of_file(part)
    if file_name is None:
        text = text_of(part.name, pieces)
        if name == FILES:
            raise BadBody(f"A file is sent with a file name; this {FILES} is text.", target=FILES)
        if name is not None and found is not None:
            note(digest, part.name, text)
            fields[name].add(found[2], text)
        return
    if name != FILES or found is None:
        raise BadBody(f"Files are sent as {FILES}; this one is {str(part.name)[:60]!r}.", target=FILES)
    if len(keeping.keys) >= settings.DOCUMENT_MAX_FILES:
        raise too_many_files()
    kept = keeping.keep(pieces, file_name)
    note(digest, part.name, file_name, kept.sha256)
    fields[name].add(found[2], kept)


def note(digest: Any, *texts: str) -> None:
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big") + raw)


def too_many_files() -> TooLarge:
    files, size = settings.DOCUMENT_MAX_FILES, settings.DOCUMENT_MAX_BYTES
    return TooLarge(f"An upload holds at most {plural(files, 'file')} of {size:,} bytes each.")


# --- the form's parts -----------------------------------------------------------------------------------


def events_of(read: Callable[[int], bytes], content_type: str) -> Iterator[Any]:
    """The parts of a form: each a segment, its bytes in pieces, then ``None``."""
    try:
        parser = multipart.PushMultipartParser(
            boundary_of(content_type), max_header_size=LONGEST_HEADER, max_header_count=8
        )
        while piece := read(PIECE):
            yield from parser.parse(piece)
        parser.close()
    except multipart.ParserLimitReached as reason:
        raise TooLarge(f"The form goes beyond a limit: {reason}.") from None
    except (multipart.MultipartError, UnicodeDecodeError) as reason:
        raise BadBody(f"The body is no whole multipart/form-data: {reason}.") from None
    except UnreadablePostError:
        raise BadBody("The body broke off.") from None


def boundary_of(content_type: str) -> str:
    _, options = multipart.parse_options_header(content_type)
    boundary: str = options.get("boundary", "")
    if not boundary or len(boundary) > LONGEST_BOUNDARY or not boundary.isascii():
        raise BadBody("The Content-Type names no boundary between the parts of the form.")
    return boundary


def pieces_of(events: Iterator[Any]) -> Iterator[bytes]:
    """The bytes of the part that just began."""
    for event in events:
        if event is None:
            return
        yield event


def text_of(name: str, pieces: Iterable[bytes]) -> str:
    text = b""
    for piece in pieces:
        text += piece
        if len(text) > LONGEST_FIELD:
            raise TooLarge(f"The field {name[:60]} holds at most {LONGEST_FIELD:,} bytes.")
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise BadBody(f"The field {name[:60]} is not UTF-8.", target=name[:60]) from None


def name_of_file(part: Any) -> str | None:
    """What the file is called where it comes from; None when the part is no file.

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
        name = percent_decoded(extended[1], extended[2]) or name
    elif name.startswith("=?"):
        name = word_decoded(name)
    return own_name(name)


def percent_decoded(charset: str, text: str) -> str:
    try:
        return unquote_to_bytes(text).decode(charset)
    except (LookupError, UnicodeDecodeError):
        return ""


def word_decoded(text: str) -> str:
    try:
        return str(make_header(decode_header(text)))
    except (HeaderParseError, LookupError, UnicodeDecodeError, ValueError):
        return text


def own_name(name: str) -> str:
    """A file's name without the folders it stood in and without characters that cannot be seen."""
    last = re.split(r"[/\\]", name)[-1]
    return _UNNAMEABLE.sub("", last).strip()


# --- from a form to documents -------------------------------------------------------------------------


_PLACE = re.compile(r"value\[(\d+)\](?:/(\w+).*)?")

#: The fields of the form, by the members of a document that they give.
FIELD_OF = dict(
    zip(("CreatedByStaffGuid", "DocumentCategory", "ClientGuid", "DocumentName"), LISTS, strict=True)
)


def store_upload(entity_set: EntitySet, upload: Upload) -> Created:
    """File the documents of an upload, all or none; raises as ``create_of`` does, in the form's places."""
    try:
        return create_of(entity_set, lambda: read_upload(entity_set, upload))
    except (InvalidRecords, Conflict) as refused:
        raise replace(refused, details=tuple(map(by_field, refused.details))) from refused.__cause__


def by_field(fault: ErrorDetail) -> ErrorDetail:
    """``ClientGuidList[1]`` for ``value[1]/ClientGuid``."""
    found = _PLACE.fullmatch(fault.target or "")
    if found is None:
        return fault
    each = FIELD_OF.get(found[2] or "")
    return replace(fault, target=f"{each.name if each else FILES}[{found[1]}]")


#: What a draft holds of a list: a value, and whether it has a fault of its own.
Held = tuple[Any, bool]
Faults = list[tuple[int, ErrorDetail]]


def read_upload(entity_set: EntitySet, upload: Upload) -> Body:
    """The drafts of an upload's documents and the faults of its lists, in the form's own places."""
    faults: Faults = []
    number = len(upload.files)
    if not number:
        faults.append((0, ErrorDetail("Required", FILES, "One file or more is required.")))
    columns = {each.attribute: column_of(entity_set, each, upload, faults) for each in LISTS}
    drafts = [draft_of(file, place, columns) for place, file in enumerate(upload.files)]
    for place, draft in enumerate(drafts):
        if len(draft.file_name) > LONGEST_FILE_NAME:
            message = f"A file's name may have {LONGEST_FILE_NAME} characters at most."
            faults.append((place, ErrorDetail("TooLong", f"{FILES}[{place}]", message)))
            draft.mark_invalid("file_name")
            draft.mark_invalid("name")
    return Body(drafts, faults=faults)


def column_of(entity_set: EntitySet, each: ParallelList, upload: Upload, faults: Faults) -> list[Held]:
    """What a list holds for each file; what is wrong with it joins the faults."""
    number = len(upload.files)
    texts = entries_of(each, upload.lists[each.name])
    held = list(read_entries(each, texts, reader_of(property_of(entity_set, each)), faults))
    if not texts:
        if each.required:
            faults.append(
                (0, ErrorDetail("Required", each.name, f"A {each.noun} is required for each file."))
            )
        return [(None, each.required)] * number
    if len(texts) == number:
        return held
    entries = "entry" if len(texts) == 1 else "entries"
    message = f"{each.name} has {len(texts):,} {entries} for {plural(number, 'file')}."
    faults.append((0, ErrorDetail("CountMismatch", each.name, message)))
    return [(None, True)] * number


def property_of(entity_set: EntitySet, each: ParallelList) -> StructuralProperty:
    """The declared property whose values the list holds."""
    for prop in entity_set.type.properties.values():
        if prop.attribute == each.attribute:
            return prop
    part = next(part for part in entity_set.type.navigations.values() if part.attribute == each.attribute)
    assert part.type.key is not None
    return part.type.key


def entries_of(each: ParallelList, texts: list[str]) -> list[str | None]:
    """The list's entries: empty ones and the word null are none. One empty field alone is no list."""
    if each.between_commas:
        texts = [entry for text in texts for entry in text.split(",")]
    entries = [None if text.strip().lower() in ("", "null") else text for text in texts]
    return [] if entries == [None] and texts[0].strip() == "" else entries


def read_entries(
    each: ParallelList, texts: list[str | None], read: Callable[[Any], Any], faults: Faults
) -> Iterator[Held]:
    for place, text in enumerate(texts):
        target = f"{each.name}[{place}]"
        if text is None:
            if each.required:
                faults.append((place, ErrorDetail("Required", target, f"A {each.noun} is required.")))
            yield None, each.required
            continue
        try:
            yield read(text.strip() if each.between_commas else text), False
        except JsonValueError as fault:
            faults.append((place, ErrorDetail(fault.code, target, f"The {each.noun} {fault.sentence}")))
            yield None, True


def draft_of(file: KeptFile, place: int, columns: Mapping[str, list[Held]]) -> Draft:
    values = {name: entries[place][0] for name, entries in columns.items()}
    invalid = {name for name, entries in columns.items() if entries[place][1]}
    draft = Draft(
        {name: value for name, value in values.items() if name not in invalid},
        given=[name for name, value in values.items() if value is not None],
        invalid=invalid,
    )
    describe(draft, file)
    return draft
