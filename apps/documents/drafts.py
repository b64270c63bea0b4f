"""Drafts of documents: the members that rules and services read, and the columns of the file."""

from apps.base.drafts import Draft, Extra
from apps.documents.models import DocumentCategory


class DocumentDraft(Draft):
    """A draft of a document; ``services.attach_file`` sets what is known of its file.

    ``content`` are the extensions that the bytes may rightly have, ``virus`` what the scanner found in them.
    ``import_source`` is the file's path where it is imported from a folder.
    """

    name: str | None
    category: DocumentCategory
    file_name: Extra[str]
    size: Extra[int]
    content: Extra[frozenset[str]]
    virus: Extra[str]
    storage_key: Extra[str]
    import_source: Extra[str | None] = None
