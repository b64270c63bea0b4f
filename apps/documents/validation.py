"""Rules of documents and their files (interface.md 4.5)."""

from collections.abc import Iterator

from apps.base.drafts import Issue, Rule, is_required
from apps.core.virus_scanner import virus_sentence
from apps.documents.drafts import DocumentDraft
from apps.documents.file_types import allowed_extensions, extension_of, is_detectable


def file_has_a_name_and_content(draft: DocumentDraft) -> Iterator[Issue]:
    if not draft.file_name:
        yield Issue("Required", "file_name", "The file has no name.")
    if not draft.size:
        yield Issue("Empty", "file_name", f"{draft.file_name or 'The file'} is empty: it has no bytes.")


def file_is_of_an_allowed_type(draft: DocumentDraft) -> Iterator[Issue]:
    extension = extension_of(draft.file_name)
    types = {extension} if extension else draft.content
    if draft.size and not types & allowed_extensions():
        subject = f"{extension} files are" if extension else "Files of this type are"
        yield Issue(
            "TypeNotAllowed",
            "file_name",
            f"{subject} not allowed; allowed are {', '.join(sorted(allowed_extensions()))}.",
        )


def file_content_matches_its_name(draft: DocumentDraft) -> Iterator[Issue]:
    extension = extension_of(draft.file_name)
    if not draft.size or extension not in allowed_extensions() or not is_detectable(extension):
        return
    if extension not in draft.content:
        yield Issue(
            "TypeMismatch",
            "file_name",
            f"{draft.file_name} is {extension} by its name, and not by its content.",
        )


def file_has_no_virus(draft: DocumentDraft) -> Iterator[Issue]:
    if draft.virus:
        yield Issue("VirusFound", "file_name", virus_sentence(draft.file_name or "The file", draft.virus))


DOCUMENT_RULES: tuple[Rule[DocumentDraft], ...] = (
    is_required("name", "A document has a name.", lambda draft: not (draft.name or "").strip()),
    is_required("category", "A document has a category.", lambda draft: draft.category is None),
)

#: Of the files of new documents.
FILE_RULES: tuple[Rule[DocumentDraft], ...] = (
    file_has_a_name_and_content,
    file_is_of_an_allowed_type,
    file_content_matches_its_name,
    file_has_no_virus,
)
