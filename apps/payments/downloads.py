"""Downloads of bank files, in the back office and by the interface; who has one stands in the read log."""

from django.http import HttpResponse

from apps.core.read_log import log_shown
from apps.documents.downloads import bytes_response
from apps.payments.models import BankAccount, BankFile, PaymentRun, PaymentRunItem


def bank_file_response(file: BankFile) -> HttpResponse:
    """The bytes as they are kept, the same every time; whose accounts stand in them was read then."""
    items = PaymentRunItem.objects.filter(run=file.run_id, account__isnull=False)
    accounts = list(items.values_list("account", flat=True))
    log_shown("Download", {PaymentRun: [file.run_id]}, file.file_name)
    log_shown("Export", {BankAccount: accounts}, file.file_name)
    return bytes_response(bytes(file.content), file.file_name, "application/octet-stream")
