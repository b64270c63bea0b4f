"""GST of the organisation's own supplies in a quarter, by what was paid in it (cash basis)."""

import csv
import datetime as dt
import io
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Q

from apps.base.money import ZERO
from apps.funding.choices import TaxChoice
from apps.payments.services.accounts_sources import (
    OWN_FEE,
    SupplyLine,
    load_supply_lines,
    moves_between,
    paid_supplies,
)

HEADERS = ("Tax", "Paid by", "Sales with GST", "G1 total sales", "1A GST on sales")
AGENCY, CLIENTS = "The agency", "Clients"


@dataclass(frozen=True, slots=True)
class Quarter:
    """Three months from January, April, July or October."""

    year: int
    number: int

    @classmethod
    def of(cls, text: str) -> "Quarter":
        """The quarter that is written ``2026-Q3``; ``ValueError`` with a sentence for another text."""
        found = re.fullmatch(r"(20[0-9]{2})-?Q([1-4])", text.strip().upper())
        if found is None:
            raise ValueError(f"“{text}” is no quarter: write July to September 2026 as 2026-Q3.")
        return cls(int(found[1]), int(found[2]))

    @classmethod
    def before(cls, day: dt.date) -> "Quarter":
        """The last one that was over on a day."""
        number = (day.month - 1) // 3
        return cls(day.year, number) if number else cls(day.year - 1, 4)

    @property
    def first(self) -> dt.date:
        return dt.date(self.year, 3 * self.number - 2, 1)

    @property
    def last(self) -> dt.date:
        following = Quarter(self.year, self.number + 1) if self.number < 4 else Quarter(self.year + 1, 1)
        return following.first - dt.timedelta(days=1)

    def __str__(self) -> str:
        return f"{self.year}-Q{self.number}"


@dataclass(frozen=True, slots=True)
class GstRow:
    """The amounts paid of own supplies with a tax choice; ``sales`` is in G1 unless it is outside of GST."""

    tax_choice: str | None
    paid_by: str
    sales: Decimal
    gst: Decimal

    @property
    def label(self) -> str:
        return str(TaxChoice(self.tax_choice).label) if self.tax_choice else "No tax (GST free)"

    @property
    def g1(self) -> Decimal:
        return ZERO if self.tax_choice == TaxChoice.BAS_EXCLUDED else self.sales


@dataclass(frozen=True, slots=True)
class GstReport:
    """The rows of a quarter, with their sums."""

    quarter: Quarter
    rows: Sequence[GstRow]

    @property
    def sales(self) -> Decimal:
        return sum((row.sales for row in self.rows), ZERO)

    @property
    def g1(self) -> Decimal:
        return sum((row.g1 for row in self.rows), ZERO)

    @property
    def gst(self) -> Decimal:
        return sum((row.gst for row in self.rows), ZERO)

    @property
    def table(self) -> list[tuple[object, ...]]:
        """Header, rows and sums."""
        rows = [(each.label, each.paid_by, each.sales, each.g1, each.gst) for each in self.rows]
        return [HEADERS, *rows, (f"Total {self.quarter}", "", self.sales, self.g1, self.gst)]

    def as_csv(self) -> bytes:
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\r\n").writerows(self.table)
        return text.getvalue().encode()


def load_gst_report(quarter: Quarter) -> GstReport:
    """The report of what was paid of own supplies, less what was taken back, on the days of a quarter.

    Own supplies are claims whose payment goes to the plan manager, and invoices to the agency and to clients.
    """
    own = OWN_FEE | Q(invoice__isnull=False)
    moves = moves_between(quarter.first, quarter.last).filter(own)
    of_agency = set(moves.filter(OWN_FEE).values_list("pk", flat=True))
    rows = [(key, paid_lines or {}) for key, paid_lines in moves.values_list("pk", "paid_lines")]
    lines = load_supply_lines(paid_lines for _, paid_lines in rows)
    found: dict[tuple[str | None, str], list[SupplyLine]] = defaultdict(list)
    for key, paid_lines in rows:
        for line in paid_supplies(paid_lines, lines):
            found[line.tax_choice, AGENCY if key in of_agency else CLIENTS].append(line)
    return GstReport(
        quarter,
        [
            GstRow(
                *key,
                sum((line.amount for line in own_lines), ZERO),
                sum((line.gst for line in own_lines), ZERO),
            )
            for key, own_lines in sorted(found.items(), key=lambda each: (each[0][0] or "", each[0][1]))
        ],
    )
