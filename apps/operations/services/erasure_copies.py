"""Copies of a person's values outside of their records: answers, files, messages, notices, filters.

They are found by the guids of the records, and by what is known of the person alone: numbers, addresses of
mail, phones, and the first name beside the last.
"""

import datetime as dt
import hashlib
import html
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path
from urllib.parse import unquote_plus

from django.conf import settings
from django.db import models
from django.db.models import Count, Q
from django_tasks_db.models import DBTaskResult

from apps.access.models import IdempotencyKey, Webhook, WebhookMessage
from apps.base import clock
from apps.core.bulk_insert import in_batches
from apps.core.models import (
    Change,
    FileExport,
    FileImport,
    FileImportPage,
    ImportMapping,
    Notice,
    SavedFilter,
)
from apps.funding.models import Claim, ClaimFileLine
from apps.funding.services.claim_files import erase_scheme_numbers
from apps.operations.backup_files import complete_backups
from apps.operations.personal_records import RecordKeys
from apps.payments.file_formats.bank_file import erase_payments
from apps.payments.models import BankFile, PaymentRunClaim, PaymentRunItem, Statement
from apps.payments.services.accounts_exports import bills_files_of, erase_bills
from apps.people.duplicates import EMAILS, PHONES
from apps.people.models import Client, Contact

#: The columns of a contact whose texts are nobody else's.
IDENTIFYING = ("scheme_number", "unique_code", *EMAILS, *PHONES)
#: Shorter ones are in any file.
SHORTEST_TEXT = 5
#: The text of a column that lost its value.
ERASED = "Erased"
#: Characters of a file that are searched at a time, and those that are searched again with the next.
CHUNK, OVERLAP = 1_000_000, 2_000

_GUID = re.compile(r"[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks that a copy is known by: guids, and casefolded texts; of a name the first and the last part.

    In a long list the two may be of two people: a copy too many is erased rather than one too few.
    """

    guids: frozenset[str]
    texts: frozenset[str]
    names: frozenset[tuple[re.Pattern[str], re.Pattern[str]]]

    def name_records(self, text: str) -> bool:
        """True when a text has the guid of a record."""
        return any(found.lower() in self.guids for found in _GUID.findall(text))

    def are_in(self, text: str) -> bool:
        folded = text.casefold()
        return (
            any(each in folded for each in self.texts)
            or any(first.search(folded) and last.search(folded) for first, last in self.names)
            or self.name_records(folded)
        )

    def may_be_in(self, text: str) -> bool:
        """True when a short text, which is no loss, has as much as one of the names."""
        folded = text.casefold()
        return self.are_in(text) or any(part.search(folded) for name in self.names for part in name)


@dataclass(frozen=True, slots=True)
class Copies:
    """The copies of one kind, and what becomes of them; ``erase`` does it."""

    label: str
    outcome: str
    count: int
    erase: Callable[[], object]


def marks_of(keys: RecordKeys) -> Marks:
    """The marks of the person whose records have these keys."""
    columns = ("first_name", "last_name", *IDENTIFYING)
    rows = list(Contact.objects.filter(pk__in=keys[Contact]).values_list(*columns))
    return Marks(
        guids=frozenset(str(key) for own in keys.values() for key in own),
        texts=frozenset(
            text.casefold()
            for row in rows
            for text in row[2:]
            if text and text != ERASED and len(text) >= SHORTEST_TEXT
        ),
        names=frozenset((word(row[0]), word(row[1])) for row in rows if row[0] != ERASED),
    )


def word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name.casefold())}(?!\w)")


def find_copies(keys: RecordKeys, history: Iterable[Change]) -> list[Copies]:
    """The copies of each kind that there are; ``history`` is that of the records."""
    marks = marks_of(keys)
    requests = {change.request_id for change in history}
    found = (
        find_answers(marks),
        find_imports(marks, requests),
        find_mappings(marks),
        find_exports(keys),
        find_messages(marks),
        find_notices(marks),
        find_saved_filters(marks),
        find_failed_tasks(marks),
        find_claim_files(keys),
        find_bank_files(keys),
        find_accounts_files(keys),
        find_statement_addresses(marks),
    )
    return [copies for copies in found if copies.count]


def running_copies() -> str | None:
    """The work that copies records now, and may do so again after the erasure."""
    for model in (FileImport, FileExport):
        running = model._default_manager.filter(status__in=model.running_statuses).first()
        if running is not None:
            return f"The {model._meta.verbose_name} {running} is not finished: wait until it is."
    return None


def remaining_copies(backups: Path | None, archives: Path | None) -> list[str]:
    """The copies that an erasure does not reach, and until when they stay: a line each."""
    today = clock.today()

    def in_days(days: int) -> str:
        return f"{today + dt.timedelta(days=days):%d %b %Y}"

    folders = [folder.name for folder in complete_backups(backups)] if backups else []
    made = "Those made until now"
    if folders:
        made = f"The {len(folders):,} in {backups}, the newest of {folders[-1]},"
    log_end = f"until {in_days(settings.READ_LOG_DAYS)}" if settings.READ_LOG_DAYS else "for ever"
    session_days = settings.SESSION_SECONDS // 86_400 + 1
    old_archives = (
        "Archives of old history, claim files and payment runs: those that --archives does not name, until"
        " you delete them."
    )
    receivers = Webhook.objects.filter(includes_records=True).select_related("application")
    return [
        f"Backups: {made} hold the records, until {in_days(settings.BACKUP_DAYS)} (BACKUP_DAYS).",
        f"The log of reads: identifiers of records and no value of them, {log_end}.",
        *([] if archives else [old_archives]),
        f"Messages that somebody signed in has not seen yet: until {in_days(session_days)}.",
        *(
            f"{each.application} was sent records at {each.address}: it must act on the erasure."
            for each in receivers
        ),
        "Files that commands have written (exports, rejected rows, export_person): wherever they are.",
    ]


# --- each kind ------------------------------------------------------------------------------------------


def find_answers(marks: Marks) -> Copies:
    """The answers that an Idempotency-Key repeats: the key stays, so that nothing is stored again by it."""
    answers = IdempotencyKey.objects.order_by("pk").values_list("pk", "body")
    keys = [
        key
        for key, body in answers.iterator(chunk_size=20)
        if marks.name_records(bytes(body).decode(errors="replace"))
    ]
    emptied = {"status": HTTPStatus.GONE, "headers": {}, "body": b"", "fingerprint": ""}
    found = IdempotencyKey.objects.filter(pk__in=keys)
    return Copies("Answers kept for Idempotency-Key", "emptied", len(keys), lambda: found.update(**emptied))


def find_imports(marks: Marks, requests: set[str | None]) -> Copies:
    """Files of imports that have written the records or name the person, with what was shown of them."""
    found = [
        file_import
        for file_import in FileImport.objects.order_by("pk").iterator(chunk_size=1)
        if str(file_import.pk) in requests or any(map(marks.are_in, texts_of(file_import)))
    ]

    def erase() -> None:
        FileImportPage.objects.filter(file_import__in=found).delete()
        for file_import in found:
            FileImport.objects.filter(pk=file_import.pk).update(**emptied_columns(file_import, marks))

    return Copies("Files of imports", "deleted, with their rejected rows", len(found), erase)


def find_mappings(marks: Marks) -> Copies:
    """The meanings of imported columns' values of which one names the person."""
    naming = [each.pk for each in ImportMapping.objects.all() if any(map(marks.are_in, texts_of(each)))]
    mappings = ImportMapping.objects.filter(pk__in=naming)
    return Copies("Values that imports are told the meaning of", "deleted", len(naming), mappings.delete)


def emptied_columns(record: models.Model, marks: Marks) -> dict[str, object]:
    """Files and lists without their content, and texts that name the person."""
    emptied: dict[str, object] = {}
    for column in record._meta.concrete_fields:
        value = getattr(record, column.attname)
        if isinstance(column, models.BinaryField):
            emptied[column.name] = None
        elif isinstance(column, models.JSONField) and column.name != "counts":
            emptied[column.name] = column.get_default()
        elif isinstance(column, models.CharField | models.TextField) and marks.may_be_in(str(value)):
            emptied[column.name] = ERASED
    return emptied


def find_exports(keys: RecordKeys) -> Copies:
    """Exported files of such records, which may be those of anybody: they are soon made again.

    A program's may have whatever leads from its records: all of them go.
    """
    models_of_person = {model for model, own in keys.items() if own} | {Client}
    labels = [model._meta.label_lower for model in models_of_person]
    found = FileExport.objects.filter(Q(record_type__in=labels) | Q(application__isnull=False))
    return Copies("Exported files", "deleted", found.count(), found.delete)


def find_messages(marks: Marks) -> Copies:
    """Messages of webhooks with records in them; what changed stays, without the record."""
    messages = WebhookMessage.objects.order_by("pk").filter(body__contains='"record": ')
    bodies = {}
    for message in messages.iterator(chunk_size=50):
        body = json.loads(message.body)
        named = [
            change
            for change in body["data"]["changes"]
            if marks.name_records(json.dumps(change.get("record")))
        ]
        for change in named:
            change["record"] = None
        if named:
            bodies[message.pk] = json.dumps(body, ensure_ascii=False)

    def erase() -> None:
        for key, text in bodies.items():
            WebhookMessage.objects.filter(pk=key).update(body=text)

    return Copies("Messages of webhooks", "without the records", len(bodies), erase)


def find_notices(marks: Marks) -> Copies:
    """Notices that name the person; those that lead to the records go with them."""
    texts = Notice.objects.order_by("pk").values_list("pk", "text")
    found = Notice.objects.filter(pk__in=[key for key, text in texts.iterator() if marks.are_in(text)])
    return Copies("Notices that name the person", "deleted", found.count(), found.delete)


def find_saved_filters(marks: Marks) -> Copies:
    texts = SavedFilter.objects.values_list("pk", "name", "query")
    keys = [key for key, name, query in texts if marks.are_in(f"{name} {unquote_plus(query)}")]
    found = SavedFilter.objects.filter(pk__in=keys)
    return Copies("Saved filters", "deleted", len(keys), found.delete)


def find_failed_tasks(marks: Marks) -> Copies:
    """Errors of background tasks, which may quote a row."""
    texts = DBTaskResult.objects.exclude(traceback="").values_list("pk", "traceback")
    found = DBTaskResult.objects.filter(pk__in=[key for key, text in texts if marks.are_in(text)])
    erase = lambda: found.update(traceback="")  # noqa: E731
    return Copies("Errors of background tasks", "without their text", found.count(), erase)


def find_claim_files(keys: RecordKeys) -> Copies:
    """The rows of claim files: what was claimed, and for which amount, stays."""
    lines = keys.get(ClaimFileLine, [])
    erase = partial(erase_scheme_numbers, lines)
    return Copies("Scheme numbers in claim files", "blanked", len(lines), erase)


def find_statement_addresses(marks: Marks) -> Copies:
    """The addresses that statements of others were sent to, because the person represents them."""
    sent = Statement.objects.filter(Q(sent_to__isnull=False) | Q(mail_error__isnull=False))
    rows = sent.values_list("pk", "sent_to", "mail_error")
    found = Statement.objects.filter(pk__in=[key for key, *texts in rows if marks.are_in(f"{texts}")])
    erase = partial(found.update, sent_to=None, mail_error=None)
    return Copies("Addresses that statements were sent to", "deleted", found.count(), erase)


def find_bank_files(keys: RecordKeys) -> Copies:
    """Files for the bank with payments to the person, or to others for their claims; amounts stay."""
    to_person = set(keys.get(PaymentRunItem, []))
    for_claims = set[int]()
    for batch in in_batches(keys.get(Claim, [])):
        parts = PaymentRunClaim.objects.filter(claim__in=batch)
        for_claims.update(parts.values_list("item", flat=True))
    # The reference of a payment for one claim is what its provider calls that.
    single = PaymentRunItem.objects.annotate(count=Count("claims")).filter(pk__in=for_claims, count=1)
    references = set(single.values_list("pk", flat=True))
    runs = PaymentRunItem.objects.filter(pk__in=to_person | references).values("run")
    files = BankFile.objects.filter(run__in=runs)

    def erase() -> None:
        for run in {each.run_id for each in files}:
            items = list(
                PaymentRunItem.objects.filter(run=run).order_by("position").values_list("pk", flat=True)
            )
            for file in BankFile.objects.filter(run=run).order_by("position"):
                part, items = items[: file.payment_count], items[file.payment_count :]
                erase_from_bank_file(file, part, to_person, references)
        PaymentRunItem.objects.filter(pk__in=references - to_person).update(reference=ERASED)

    return Copies("Files for the bank", "without name and account", files.count(), erase)


def erase_from_bank_file(
    file: BankFile, items: Sequence[int], payees: set[int], references: set[int]
) -> None:
    of_payees = [place for place, key in enumerate(items) if key in payees]
    of_references = [place for place, key in enumerate(items) if key in references]
    if not of_payees and not of_references:
        return
    file.content = erase_payments(bytes(file.content), of_payees, of_references)
    file.sha256 = hashlib.sha256(file.content).hexdigest()
    file.erased_at = clock.now()
    file.save(update_fields=["content", "sha256", "erased_at"])


def find_accounts_files(keys: RecordKeys) -> Copies:
    """Bills for the accounts to the person, or to others for their claims; amounts stay."""
    payees = [
        key
        for batch in in_batches(keys.get(PaymentRunItem, []))
        for key in PaymentRunClaim.objects.filter(item__in=batch).values_list("pk", flat=True)
    ]
    references = keys.get(PaymentRunClaim, [])
    files = bills_files_of({*payees, *references})
    erase = partial(erase_bills, payees, references)
    return Copies("Bills for the accounts", "without name and reference", len(files), erase)


# --- the texts of a file --------------------------------------------------------------------------------


def texts_of(record: models.Model) -> Iterator[str]:
    """The texts in the columns of a record, those of files in pieces."""
    for column in record._meta.concrete_fields:
        value = getattr(record, column.attname)
        if isinstance(column, models.BinaryField):
            yield from file_texts(bytes(value or b""))
        elif isinstance(column, models.JSONField):
            yield json.dumps(value, ensure_ascii=False)
        elif isinstance(value, str):
            yield value


def file_texts(content: bytes) -> Iterator[str]:
    """The text of a file in pieces; of a workbook, that of its parts."""
    if not zipfile.is_zipfile(io.BytesIO(content)):
        # As imports read them: in UTF-8 or 16, or as older programs write.
        codecs = ("utf-16",) if content[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8", "cp1252")
        for codec in codecs:
            yield content.decode(codec, "replace")
        return
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            with archive.open(name) as part:
                before = ""
                while piece := part.read(CHUNK):
                    text = before + html.unescape(piece.decode(errors="replace"))
                    yield text
                    before = text[-OVERLAP:]
