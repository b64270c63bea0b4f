"""The verbs by which documents enter the records, whoever asks.

The interface, the back office and an import call the same ones, with files that lie in the storage already.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from apps.core import saving
from apps.documents import document_rules
from apps.documents.keeping import KeptFile, StorageFails, hold_off_sweeps
from apps.documents.models import Document
from apps.documents.storage import documents
from apps.odata.write.drafts import Draft


def describe(draft: Draft, file: KeptFile) -> None:
    """Let a draft speak of the file it is about; without a name it takes the file's own."""
    for name, value in asdict(file).items():
        draft.fill(name, value)
    if "name" not in draft.invalid and not draft.name:
        draft.fill("name", file.file_name)


def file_documents(drafts: Sequence[Draft]) -> list[Any]:
    """Store new documents (interface.md 4.5), in a transaction; the new guids in the order of the drafts.

    Raises ``Refused``, or ``StorageFails`` when a file is not in the storage any more.
    """
    saving.validate(Document, drafts, document_rules.FILE_RULES)
    hold_off_sweeps()
    check_files_are_there(draft.storage_key for draft in drafts)
    return saving.insert_records(Document, drafts)


def revise_documents(drafts: Sequence[Draft]) -> list[Any]:
    """Change what drafts of standing documents give; the keys of those that were not so already."""
    standing = saving.load_existing(Document, drafts)
    saving.validate(Document, drafts, document_rules.RULES)
    return saving.save_changes(Document, drafts, standing)


def check_files_are_there(keys: Iterable[str]) -> None:
    storage = documents()
    if not all(storage.exists(key) for key in keys):
        raise StorageFails("A file was swept away before it was filed. Send the request again.")
