"""Remittances: the agency's list of what it paid, from its file or its notification.

Source: docs/money.md, "Remittances". The 19 columns by name (``PayReqNum``, ``ProvClaimRef`` …) as CSV, or in
small letters as the rows of the JSON notification REMIT_ADV_GENERATED. ``PayReqDocDate`` is ``YYYYMMDD`` or
``DDMMYYYY``, one of them in a whole file.
"""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from apps.base.clock import years_after
from apps.core.importing.columns import ImportColumn
from apps.core.importing.fixed_columns import InvalidRows
from apps.core.table_files.tables import ImportFileError, Row, Table
from apps.funding.file_formats.answer_files import (
    find_answer_columns,
    open_answers,
    parse_amount,
    read_name,
    read_rows,
)
from apps.funding.validation.paid import MOST_YEARS_PAID_AGO

COLUMNS = (
    ImportColumn("payment_number", ("PayReqNum",), read=read_name, in_every_file=True, in_every_row=True),
    ImportColumn("day", ("PayReqDocDate",), in_every_file=True, in_every_row=True),
    ImportColumn("reference", ("ProvClaimRef",), in_every_file=True),
    ImportColumn("amount", ("AmountPaid",), read=parse_amount, in_every_file=True, in_every_row=True),
    ImportColumn("claimed", ("AmountClaimed",), read=parse_amount),
)
#: Columns by which results are told from a remittance.
OF_RESULTS = (
    ImportColumn("reference", ("Claim Reference", "invoice_number"), in_every_file=True),
    ImportColumn("status", ("Payment Request Status", "claim_status"), in_every_file=True),
)

#: How far the days of a remittance whose form of days is stated may lie ahead.
MOST_DAYS_AHEAD = 31

#: The forms of days, and where year, month and day stand in their eight digits.
DAY_FORMS: Mapping[str, tuple[slice, slice, slice]] = {
    "YYYYMMDD": (slice(0, 4), slice(4, 6), slice(6, 8)),
    "DDMMYYYY": (slice(4, 8), slice(2, 4), slice(0, 2)),
}
_SEPARATORS = str.maketrans("", "", "-/.")


@dataclass(frozen=True, slots=True)
class RemittanceRow:
    """A payment of the line of that reference; ``claimed`` is what the agency says that was claimed."""

    row: Row
    reference: str | None
    payment_number: str
    day: dt.date
    amount: Decimal
    claimed: Decimal | None
    extra: Mapping[str, str]


def read_remittance(
    path: Path, today: dt.date, day_form: str | None = None
) -> tuple[Table, list[RemittanceRow]]:
    """The rows of a file; ``ImportFileError`` or ``InvalidRows`` say why there are none.

    ``day_form`` is one of ``DAY_FORMS``; else the one by which every row is a day of the last two years. With
    it days may be older, and lie a little ahead.
    """
    table = open_answers(path)
    found = find_answer_columns(table, COLUMNS, "a remittance", OF_RESULTS, "results")
    rows = list(read_rows(table, found))
    days = days_of([each.values["day"] for each in rows], today, day_form)
    if wrong := [each for each in rows if days(each.values["day"]) is None]:
        raise InvalidRows(
            [
                f"{table.row_word} {each.row.number:,}: PayReqDocDate is no day of the last"
                f" {MOST_YEARS_PAID_AGO} years written as {day_form}. It is “{each.values['day']}”."
                for each in wrong
            ]
        )
    return table, [
        RemittanceRow(
            each.row,
            each.values["reference"],
            each.values["payment_number"],
            day,
            each.values["amount"],
            each.values.get("claimed"),
            each.extra,
        )
        for each in rows
        if (day := days(each.values["day"])) is not None
    ]


def days_of(texts: Sequence[str], today: dt.date, day_form: str | None) -> Callable[[str], dt.date | None]:
    """How the days of a file are read; ``ImportFileError`` where the file does not show it."""
    forms = DAY_FORMS if day_form is None else [day_form]
    read = {form: {text: parse_day(text, form) for text in texts} for form in forms}
    if day_form is not None:
        first, last = years_after(today, -MOST_YEARS_PAID_AGO), today + dt.timedelta(days=MOST_DAYS_AHEAD)
        return {text: day for text, day in read[day_form].items() if day and first <= day <= last}.get
    first = years_after(today, -2)
    fitting = [
        form for form, days in read.items() if all(day and first <= day <= today for day in days.values())
    ]
    # In this century no text is a day both ways: its month would be 20.
    if len(fitting) == 1:
        return read[fitting[0]].get
    raise ImportFileError(
        f"PayReqDocDate, such as “{texts[0]}”, is not in every row a day of the last two years, written one"
        " way: say how it is written (--day-form)."
    )


def parse_day(text: str, form: str) -> dt.date | None:
    """The day of eight digits; of seven, where a spreadsheet left the first zero out."""
    digits = text.translate(_SEPARATORS).zfill(8)
    if len(digits) != 8 or not (digits.isascii() and digits.isdigit()):
        return None
    try:
        return dt.date(*(int(digits[place]) for place in DAY_FORMS[form]))
    except ValueError:
        return None
