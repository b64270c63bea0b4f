"""Uploads: from the files and lists of a form to documents, all of them or none (interface.md 4.5)."""

import re
from dataclasses import replace

from apps.base.declaration.resource import Caller
from apps.base.declaration.schema import EntitySet
from apps.base.declaration.values import WireValueError
from apps.base.errors import Conflict, ErrorDetail, InvalidRecords, plural
from apps.documents.drafts import DocumentDraft
from apps.documents.models import Document
from apps.documents.parsers import FILES, PARALLEL_LISTS, ParallelList, Upload
from apps.documents.services import attach_file
from apps.odata.write.bodies import Body
from apps.odata.write.dispatch import Created, create

MAX_FILE_NAME_LENGTH = Document._meta.get_field("file_name").max_length or 255

_PLACE = re.compile(r"value\[(\d+)\](?:/(\w+).*)?")
_FIELD_OF_MEMBER = {each.member: each.name for each in PARALLEL_LISTS}


def create_documents_of_upload(entity_set: EntitySet, upload: Upload, caller: Caller | None) -> Created:
    """Store the documents of an upload; raises as ``create`` does, with the places of the form."""
    try:
        return create(entity_set, upload, caller, read=read_upload)
    except (InvalidRecords, Conflict) as error:
        details = tuple(replace(detail, target=form_place(detail.target)) for detail in error.details)
        raise replace(error, details=details) from error.__cause__


def form_place(target: str | None) -> str | None:
    """``ClientGuidList[1]`` for ``value[1]/ClientGuid``."""
    match = _PLACE.fullmatch(target or "")
    if match is None:
        return target
    return f"{_FIELD_OF_MEMBER.get(match[2] or '', FILES)}[{match[1]}]"


def read_upload(entity_set: EntitySet, upload: Upload) -> Body:
    """The drafts of an upload's documents and the faults of its lists, with the places of the form."""
    drafts = [DocumentDraft({each.attribute: None for each in PARALLEL_LISTS}) for _ in upload.stored_files]
    body = Body([*drafts])
    if not drafts:
        body.faults.append((0, ErrorDetail("Required", FILES, "One file or more is required.")))
    for each in PARALLEL_LISTS:
        read_list(each, upload.lists[each.name], body)
    for number, (draft, file) in enumerate(zip(drafts, upload.stored_files, strict=True)):
        attach_file(draft, file)
        if upload.contact is not None:
            draft.fill("contact", upload.contact)
        if len(draft.file_name) > MAX_FILE_NAME_LENGTH:
            message = f"A file's name may have {MAX_FILE_NAME_LENGTH} characters at most."
            body.faults.append((number, ErrorDetail("TooLong", f"{FILES}[{number}]", message)))
            draft.mark_invalid("file_name")
            draft.mark_invalid("name")
    return body


def read_list(each: ParallelList, texts: list[str], body: Body) -> None:
    """Give each draft its entry of a list, or the list a fault when it has not one for each."""
    entries, count = split_entries(each, texts), len(body.drafts)
    if entries and len(entries) == count:
        for number, entry in enumerate(entries):
            read_entry(each, entry, number, body)
        return
    if entries:
        noun = "entry" if len(entries) == 1 else "entries"
        message = f"{each.name} has {len(entries):,} {noun} for {plural(count, 'file')}."
        body.faults.append((0, ErrorDetail("CountMismatch", each.name, message)))
    elif each.required:
        message = f"A {each.noun} is required for each file."
        body.faults.append((0, ErrorDetail("Required", each.name, message)))
    else:
        return
    for draft in body.drafts:
        draft.mark_invalid(each.attribute)


def split_entries(each: ParallelList, texts: list[str]) -> list[str | None]:
    """The list's entries: empty ones and the word null are ``None``. A single empty field is no list."""
    if each.separated_by_commas:
        texts = [entry for text in texts for entry in text.split(",")]
    entries = [None if text.strip().lower() in ("", "null") else text for text in texts]
    return [] if entries == [None] and texts[0].strip() == "" else entries


def read_entry(each: ParallelList, text: str | None, number: int, body: Body) -> None:
    draft, target = body.drafts[number], f"{each.name}[{number}]"
    if text is None:
        if each.required:
            body.faults.append((number, ErrorDetail("Required", target, f"A {each.noun} is required.")))
            draft.mark_invalid(each.attribute)
        return
    try:
        value = each.read(text.strip() if each.separated_by_commas else text)
    except WireValueError as error:
        fault = ErrorDetail(error.code, target, f"The {each.noun} {error.sentence}")
        body.faults.append((number, fault))
        draft.mark_invalid(each.attribute)
        return
    draft.fill(each.attribute, value)
    draft.given |= {each.attribute}
