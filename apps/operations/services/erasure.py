"""The erasure of one person's records after their retention, with a certificate of what was removed.

The books keep their amounts: claims, invoices, their lines and provider invoices stay without anything
about the person, under a contact without a name. Everything else that belongs to the person is deleted.
"""

import datetime as dt
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from django.conf import settings
from django.db import connection, models, transaction
from django.db.models import ProtectedError

from apps.base import clock
from apps.core import history
from apps.core.bulk_insert import in_batches
from apps.core.models import Change, TimestampedModel
from apps.core.notices import delete_notices
from apps.documents.storage import delete_files, document_storage
from apps.funding.models import ProviderInvoice
from apps.operations.services.erasure_archives import erase_from_archives
from apps.operations.services.erasure_plans import (
    RETAINED_COLUMNS,
    ErasurePlan,
    RemovedFile,
    check_erasure,
    cleared_columns,
    model_label,
    plan_erasure,
)
from apps.operations.tables import OperationError
from apps.people.models import Client, Contact, Staff

#: Behind the name of a certificate until its erasure is committed.
UNFINISHED = ".unfinished"


@dataclass(frozen=True, slots=True)
class RemovedRows:
    """The rows of one model: what became of them, and the SHA-256 of what they were (``hash_rows``)."""

    label: str
    rows: int
    kept: bool
    sha256: str


@dataclass(frozen=True, slots=True)
class Certificate:
    """The proof of an erasure. It names nobody but the staff member who answers for it."""

    contact: str
    erased_at: str
    erased_by: str
    last_service: str | None
    retention_years: int
    records: dict[str, RemovedRows]
    changes_without_values: int
    files: list[RemovedFile]
    copies: dict[str, int]
    remains: list[str]
    archives: dict[str, int]


@dataclass(frozen=True, slots=True)
class Erasure:
    """The result of an erasure. ``remaining_files`` are left for ``sweep_documents`` to delete."""

    certificate: Certificate
    sha256: str
    remaining_files: list[str]


def erase_person(
    person: Contact,
    client: Client | None,
    by: Staff,
    certificate_file: Path,
    backups: Path | None = None,
    archives: Path | None = None,
) -> Erasure:
    """Erase the records of a person, all or nothing, and write the certificate into a new file.

    Raises ``OperationError`` with every rule that is broken, and when others rest on the client record. The
    file has its name once the erasure is committed: what a killed one leaves is no certificate.
    """
    unfinished = certificate_file.with_name(f"{certificate_file.name}{UNFINISHED}")
    refuse_known_certificate(person, certificate_file, unfinished)
    with transaction.atomic():
        overwrite_deleted_rows()
        # Nobody adds a record of the contact until it is done: their insert needs this row.
        person = Contact.objects.select_for_update().get(pk=person.pk)
        plan = plan_erasure(person, client, backups, archives)
        check_erasure(plan)
        certificate = make_certificate(plan, by)
        remove_records(plan)
        if archives is not None:
            # Last, as they are not rolled back: what is gone there was to go.
            certificate = replace(certificate, archives=erase_from_archives(archives, plan))
        text = json.dumps(asdict(certificate), indent=1)
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        record_erasure(plan, sha256)
        write_certificate(unfinished, text)
    unfinished.rename(certificate_file)
    # A file that a crash leaves here has no document any more: the sweep deletes it.
    storage_keys = [file.storage_key for file in plan.files]
    delete_files(storage_keys)
    storage = document_storage()
    return Erasure(certificate, sha256, [key for key in storage_keys if storage.exists(key)])


def overwrite_deleted_rows() -> None:
    """SQLite leaves the bytes of deleted rows in its file otherwise; PostgreSQL's vacuum reuses theirs."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA secure_delete = ON")


def make_certificate(plan: ErasurePlan, by: Staff) -> Certificate:
    return Certificate(
        contact=str(plan.person.pk),
        erased_at=clock.now().astimezone(dt.UTC).isoformat(timespec="seconds"),
        erased_by=by.primary_email,
        last_service=plan.last_service.isoformat() if plan.last_service else None,
        retention_years=settings.RETENTION_YEARS,
        records={
            model._meta.label: RemovedRows(
                model_label(model), len(keys), model in RETAINED_COLUMNS, hash_rows(model, keys)
            )
            for model, keys in plan.keys.items()
            if keys
        },
        changes_without_values=len(plan.changes),
        files=plan.files,
        copies={each.label: each.count for each in plan.copies},
        remains=plan.remains,
        archives={},
    )


def hash_rows(model: type[models.Model], keys: list[object]) -> str:
    """SHA-256 of the rows in the order of their keys: each a JSON list of texts and a line feed."""
    total = hashlib.sha256()
    for batch in in_batches(keys):
        for row in model._base_manager.filter(pk__in=batch).order_by("pk").values_list():
            texts = [None if value is None else str(history.json_value(value)) for value in row]
            total.update((json.dumps(texts, ensure_ascii=False) + "\n").encode())
    return total.hexdigest()


def remove_records(plan: ErasurePlan) -> None:
    """Clear the columns of what stays first: it refers to what is deleted then, owners last."""
    for model, keys in plan.keys.items():
        delete_notices(model, keys)
        if model in RETAINED_COLUMNS:
            # A provider invoice that named no participant names the contact now: it must name something.
            owner = {"contact": plan.person} if model is ProviderInvoice else {}
            if values := cleared_columns(model) | owner:
                update_all(model, keys, values)
    try:
        for model, keys in reversed(plan.keys.items()):
            if model not in RETAINED_COLUMNS:
                for batch in in_batches(keys):
                    model._base_manager.filter(pk__in=batch).delete()
    except ProtectedError as error:
        names = ", ".join(sorted({str(each._meta.verbose_name) for each in error.protected_objects}))
        raise OperationError(f"Records of others rest on these: {names}. Nothing was erased.") from None
    update_all(Change, plan.changes, {"differences": None})
    for copies in plan.copies:
        copies.erase()


def update_all(model: type[models.Model], keys: Iterable[object], values: dict[str, object]) -> None:
    for batch in in_batches(keys):
        model._base_manager.filter(pk__in=batch).update(**values)


def record_erasure(plan: ErasurePlan, sha256: str) -> None:
    """The history keeps who erased what, by counts: ``{records: [before, after]}``.

    Each record has an entry without values too, from which copies elsewhere learn of it.
    """
    for model, keys in plan.keys.items():
        if issubclass(model, TimestampedModel):
            kind = Change.Kind.ERASED if model in RETAINED_COLUMNS else Change.Kind.DELETED
            history.write_entries(model, [key for key in keys if key != plan.person.pk], kind)
    counts = {
        model_label(model): [len(keys), len(keys) if model in RETAINED_COLUMNS else 0]
        for model, keys in plan.keys.items()
        if keys and not model._meta.auto_created
    }
    counts["Files"] = [len(plan.files), 0]
    history.write_entries(
        Contact,
        [plan.person.pk],
        Change.Kind.ERASED,
        {**counts, "SHA-256 of the certificate": [None, sha256]},
    )


def refuse_known_certificate(person: Contact, certificate_file: Path, unfinished: Path) -> None:
    """``OperationError`` when there is a certificate, or that of an erasure which was killed at its end.

    The history tells whether that was committed: it has the SHA-256. Else the next one takes its place.
    """
    if certificate_file.exists():
        raise OperationError(f"{certificate_file} is there already: name a new file.")
    if not unfinished.exists():
        return
    sha256 = hashlib.sha256(unfinished.read_bytes()).hexdigest()
    erased = Change.objects.filter(record_key=str(person.pk), kind=Change.Kind.ERASED)
    if any([None, sha256] in (change.differences or {}).values() for change in erased):
        unfinished.rename(certificate_file)
        message = f"It was erased before its run was killed. {certificate_file}: SHA-256 {sha256}"
        raise OperationError(message)
    unfinished.unlink()


def find_unfinished_certificates() -> Iterator[str]:
    """A line for each certificate of a killed ``erase_person``, in this folder and in ``VAR_DIR``."""
    for folder in {Path.cwd(), settings.VAR_DIR.absolute()}:
        for path in sorted(folder.glob(f"*{UNFINISHED}")):
            certificate = path.with_name(path.name.removesuffix(UNFINISHED))
            yield (
                f"{path}: its erase_person was killed: ./run erase_person with --certificate {certificate}"
                " completes what was done, and erases what was not"
            )


def write_certificate(path: Path, text: str) -> None:
    """A new file, readable by its owner only."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
