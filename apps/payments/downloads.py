"""Downloads of bank files and statements, by the back office and the interface; the read log says by whom."""

from django.http import HttpResponse

from apps.core.downloads import bytes_response
from apps.core.read_log import log_shown
from apps.documents.downloads import PDF
from apps.payments.models import BankAccount, BankFile, PaymentRun, PaymentRunItem, Statement
from apps.people.models import Contact


def bank_file_response(file: BankFile) -> HttpResponse:
    """The bytes as they are kept, the same every time; whose accounts stand in them was read then."""
    items = PaymentRunItem.objects.filter(run=file.run_id, account__isnull=False)
    accounts = list(items.values_list("account", flat=True))
    log_shown("Download", {PaymentRun: [file.run_id]}, file.file_name)
    log_shown("Export", {BankAccount: accounts}, file.file_name)
    return bytes_response(bytes(file.content), file.file_name, "application/octet-stream")


def statement_response(statement: Statement) -> HttpResponse | None:
    """The document as it was made; ``None`` where an erasure has removed it."""
    if statement.content is None:
        return None
    log_shown("Download", {Statement: [statement.pk], Contact: [statement.contact_id]})
    return bytes_response(bytes(statement.content), f"statement-{statement.month:%Y-%m}.pdf", PDF)
