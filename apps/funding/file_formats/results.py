"""Results: the agency's answer to each line of a claim file, from its file or its notification.

Source: docs/money.md, "Results". CSV by name (``Claim Reference``, ``Payment Request Status`` …), or the rows
of the JSON notification BULK_PROCESS_FINISH (``invoice_number``, ``claim_status`` …).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from apps.core.importing.cells import letters_of
from apps.core.importing.columns import ImportColumn
from apps.core.table_files.tables import Row, Table
from apps.funding.file_formats.answer_files import find_answer_columns, open_answers, parse_amount, read_rows

COLUMNS = (
    ImportColumn("reference", ("Claim Reference", "invoice_number"), in_every_file=True),
    ImportColumn("status", ("Payment Request Status", "claim_status"), in_every_file=True, in_every_row=True),
    ImportColumn("text", ("Error Message", "reject_reason")),
    ImportColumn("code", ("reject_reason_code", "Error Code")),
    ImportColumn("amount", ("Paid Total Amount", "amount"), read=parse_amount),
    ImportColumn("capped", ("Capped Price",)),
)
#: Columns by which a remittance is told from results.
OF_REMITTANCES = tuple(
    ImportColumn(name, (name,), in_every_file=True) for name in ("PayReqNum", "ProvClaimRef", "AmountPaid")
)

#: The words of both forms; SUCCESSFUL and PAID are no money yet: that comes with a remittance.
ACCEPTED_WORDS = frozenset({"successful", "success", "accepted", "approved", "paid"})
REFUSED_WORDS = frozenset({"error", "rejected", "refused", "declined", "cancelled"})

#: The code at the beginning of a text: ``C04`` of ``C04 Quantity over approved``.
_CODE = re.compile(r"\s*([A-Z]{1,2}\d{2,4})\b")


@dataclass(frozen=True, slots=True)
class ResultRow:
    """An answer to the line of that reference; ``is_accepted`` is ``None`` of a status that is not known.

    ``amount`` is what will be paid of it; ``is_capped``: no more than that.
    """

    row: Row
    reference: str | None
    status: str
    is_accepted: bool | None
    code: str
    text: str
    amount: Decimal | None
    is_capped: bool
    extra: Mapping[str, str]


def read_results(path: Path) -> tuple[Table, list[ResultRow]]:
    """The rows of a file; ``ImportFileError`` or ``InvalidRows`` say why there are none."""
    table = open_answers(path)
    found = find_answer_columns(table, COLUMNS, "results", OF_REMITTANCES, "a remittance")
    rows = []
    for row, values, extra in read_rows(table, found):
        word, text = letters_of(values["status"] or ""), values.get("text") or ""
        is_accepted, code_of_text = word in ACCEPTED_WORDS, _CODE.match(text)
        rows.append(
            ResultRow(
                row,
                values["reference"],
                values["status"] or "",
                is_accepted if is_accepted or word in REFUSED_WORDS else None,
                values.get("code") or (code_of_text[1] if code_of_text else ""),
                text or ("" if is_accepted else values["status"] or ""),
                values.get("amount"),
                (values.get("capped") or "").strip().casefold() in ("y", "yes", "true"),
                extra,
            )
        )
    return table, rows
