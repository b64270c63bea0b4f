"""Downloads of claim files, in the back office and by the interface; who has one stands in the read log."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import Model
from django.http import HttpResponse

from apps.core.downloads import bytes_response
from apps.core.read_log import log_shown
from apps.funding.models import Claim, ClaimFile, ClaimFileLine, Invoice


def claim_file_response(file: ClaimFile) -> HttpResponse:
    """The bytes as they are kept; who they are about was read then."""
    log_shown("Download", {ClaimFile: [file.pk], **bills_of(file.lines.all())})
    return bytes_response(bytes(file.content), file.file_name, "text/csv")


def bills_of(lines: Iterable[ClaimFileLine]) -> dict[type[Model], list[UUID]]:
    """The bills that lines of files are of, by model."""
    found: dict[type[Model], dict[UUID, None]] = {Claim: {}, Invoice: {}}
    for line in lines:
        if line.claim_id is not None:
            found[Claim][line.claim_id] = None
        elif line.invoice_id is not None:
            found[Invoice][line.invoice_id] = None
    return {model: list(keys) for model, keys in found.items()}
