"""Services of documents and their files: the only writers of both.

Files are in the storage before a service is called (``storage.FileBatch``).
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from apps.base.texts import composed
from apps.core import saving
from apps.core.bulk_insert import in_batches
from apps.core.services import Checks, update_records
from apps.documents.drafts import DocumentDraft
from apps.documents.models import Document
from apps.documents.storage import StorageUnavailable, StoredFile, document_storage, find_used_keys
from apps.documents.validation import DOCUMENT_RULES, FILE_RULES

#: The PostgreSQL advisory lock that sweeps hold exclusively and uploads share.
SWEEP_LOCK = 0x646F63756D656E74

#: Files checked and deleted under one lock, which uploads wait for.
SWEEP_BATCH = 100


def attach_file(draft: DocumentDraft, file: StoredFile) -> None:
    """Fill in the columns of the file; a document without a name gets the file's."""
    vars(draft).update(asdict(file), file_name=composed(file.file_name))
    if "name" not in draft.invalid and not draft.name:
        draft.fill("name", draft.file_name)


def create_documents(drafts: Sequence[DocumentDraft]) -> list[UUID]:
    """Store new documents (interface.md 4.5), in a transaction; their keys in the order of the drafts.

    Raises ``ValidationFailed``, or ``StorageUnavailable`` when a file is not in the storage any more.
    """
    saving.validate(Document, drafts, (*DOCUMENT_RULES, *FILE_RULES))
    # Until the transaction ends no sweep deletes a file. SQLite has one writer anyway.
    lock_sweeps(shared=True)
    storage = document_storage()
    if not all(storage.exists(draft.storage_key) for draft in drafts):
        raise StorageUnavailable("A file was deleted before its document was stored. Send the request again.")
    return saving.insert_records(Document, drafts)


update_documents = partial(update_records, Document, checks=Checks(DOCUMENT_RULES))


def lock_sweeps(shared: bool = False) -> None:
    """Take the lock of the sweeps until the transaction ends, exclusive or shared."""
    if connection.vendor == "postgresql":
        function = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {function}(%s)", [SWEEP_LOCK])


# --- files without a document ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The keys of files without a document, and the number of uploads that were never finished."""

    keys: list[str]
    unfinished: int


def sweep(older_than: dt.timedelta, dry_run: bool = False) -> SweepResult:
    """Delete files without a document that were written longer ago than that.

    No upload loses its file, even when ``older_than`` is shorter than the upload takes: ``create_documents``
    looks, under a lock that sweeps respect, whether its files are still there.
    """
    before = timezone.now() - older_than
    deleted: list[str] = []
    old = (key for key, written in document_storage().list_files() if written <= before)
    for keys in in_batches(old, SWEEP_BATCH):
        unused = set(keys) - find_used_keys(keys)
        if unused:
            deleted += sorted(unused) if dry_run else delete_unused(unused)
    return SweepResult(deleted, 0 if dry_run else document_storage().abort_uploads(before))


@transaction.atomic
def delete_unused(keys: set[str]) -> list[str]:
    """Delete the files that still have no document under the lock."""
    lock_sweeps()
    unused = sorted(keys - find_used_keys(keys))
    for key in unused:
        document_storage().delete(key)
    return unused
