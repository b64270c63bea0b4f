"""What must be true of documents and of the files they are made of (interface.md 4.5, decisions.md 6)."""

from __future__ import annotations

from collections.abc import Iterator

from apps.documents.file_types import allowed, extension_of, is_known
from apps.odata.write.drafts import Draft, Issue


def a_document_has_a_name(draft: Draft) -> Iterator[Issue]:
    if not draft.name or not draft.name.strip():
        yield Issue("Required", "name", "A document has a name.")


def a_file_has_a_name(draft: Draft) -> Iterator[Issue]:
    if not draft.file_name:
        yield Issue("Required", "file_name", "The file has no name.")


def a_file_is_not_empty(draft: Draft) -> Iterator[Issue]:
    if not draft.size:
        yield Issue("Empty", "file_name", f"{called(draft)} is empty: it has no bytes.")


def a_file_is_of_a_type_that_is_allowed(draft: Draft) -> Iterator[Issue]:
    extension = extension_of(draft.file_name)
    told = {extension} if extension else draft.content
    if draft.size and not told & allowed():
        what = f"{extension} files are" if extension else "Files of this type are"
        yield Issue(
            "TypeNotAllowed", "file_name", f"{what} not kept here; kept are {', '.join(sorted(allowed()))}."
        )


def a_file_is_what_its_name_says(draft: Draft) -> Iterator[Issue]:
    extension = extension_of(draft.file_name)
    if not draft.size or extension not in allowed() or not is_known(extension):
        return
    if extension not in draft.content:
        yield Issue(
            "TypeMismatch",
            "file_name",
            f"{called(draft)} is {extension} by its name, and not by its content.",
        )


def called(draft: Draft) -> str:
    return draft.file_name or "The file"


#: Of a document, whoever changes it.
RULES = (a_document_has_a_name,)

#: Of a file that comes in, besides.
FILE_RULES = (
    *RULES,
    a_file_has_a_name,
    a_file_is_not_empty,
    a_file_is_of_a_type_that_is_allowed,
    a_file_is_what_its_name_says,
)
