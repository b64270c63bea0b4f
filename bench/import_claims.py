"""Claims of three lines by `./run import_records`: claims and rows a second, and the memory it takes.

    .venv/bin/python -m bench.import_claims [--claims N] [--engine sqlite]

Starts a PostgreSQL of its own, or makes an SQLite file, which are gone afterwards.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import datetime as dt
import os
import sys
import tempfile
import time
from pathlib import Path

from bench.import_contacts import ROOT, cpu_seconds, manage, peak_mib

PROVIDER_INVOICES = ("Invoice No", "Provider ABN", "NDIS Number")
CLAIMS = (
    "Claim No", "Invoice No", "Provider ABN", "NDIS Number", "Staff email", "Start date", "End date",
    "Support item", "Price book", "Qty", "Service date",
)  # fmt: skip
ABN = "51824753556"
PARTICIPANTS = 500
LINES = 3
#: A claim's day is not long ago, and not to come.
FIRST_DAY = dt.datetime.now(tz=dt.UTC).date() - dt.timedelta(days=80)

#: Nothing of what is claimed is to be warned of: participants with plans and budgets, products with prices.
OFFICE = f"""
import datetime as dt
from decimal import Decimal
from tests.engagements.builders import a_booking, a_plan
from tests.funding.builders import a_price, a_price_book, a_product, an_entry
from tests.people.builders import a_client, a_contact, a_role, a_staff_member
from apps.core import history

a_staff_member(role=a_role(all_permissions=True), PrimaryEmail="fay@example.org")
a_client(BusinessName="Harbour Care", BusinessNumber="{ABN}")
book = a_price_book(name="Guide")
for line in range({LINES}):
    product = a_product(code=f"01_01{{line}}_0107_1_1", name=f"Support {{line}}", type="Priced",
                        category_number=1, category_number_pace=16)
    a_price(an_entry(book, product), amount="70.00")
for number in range({PARTICIPANTS}):
    contact = a_contact(SchemeNumber=f"43{{number:07}}", Address={{"State": "NSW", "Country": "Australia"}})
    first = dt.date.fromisoformat("{FIRST_DAY}")
    last = first + dt.timedelta(days=360)
    plan = a_plan(participant=contact, plan_start_date=first, plan_end_date=last)
    a_booking(plan, category=1, budget=Decimal(1000000), booking_start_date=first, booking_end_date=last)
"""


def write_files(folder: Path, claims: int) -> tuple[Path, Path]:
    """The providers' invoices, and the claims on them."""
    provider_invoices, lines = folder / "provider_invoices.csv", folder / "claims.csv"
    with provider_invoices.open("w", newline="") as one, lines.open("w", newline="") as other:
        provider_invoice, claim = csv.writer(one), csv.writer(other)
        provider_invoice.writerow(PROVIDER_INVOICES)
        claim.writerow(CLAIMS)
        for number in range(claims):
            scheme_number = f"43{number % PARTICIPANTS:07}"
            day = FIRST_DAY + dt.timedelta(days=number // PARTICIPANTS)
            start = (f"C-{number}", f"INV-{number}", ABN, scheme_number, "fay@example.org", day, day)
            provider_invoice.writerow((f"INV-{number}", ABN, scheme_number))
            for line in range(LINES):
                claim.writerow((*start, f"01_01{line}_0107_1_1", "Guide", line + 1, day))
    return provider_invoices, lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claims", type=int, default=10_000)
    parser.add_argument("--engine", choices=("postgresql", "sqlite"), default="postgresql")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if options.engine == "sqlite":
            os.environ["DATABASE_URL"] = f"sqlite:///{folder / 'records.sqlite3'}"
        else:
            from tests.postgres import throwaway_server

            os.environ["DATABASE_URL"] = stack.enter_context(throwaway_server())
        manage("migrate", "--verbosity", "0")
        manage("shell", "--no-imports", "-c", OFFICE)
        provider_invoices, claims = write_files(folder, options.claims)
        for title, resource, path, rows in (
            ("provider invoices", "providerInvoice", provider_invoices, options.claims),
            ("claims", "claim", claims, options.claims * LINES),
            ("claims again", "claim", claims, options.claims * LINES),
        ):
            began, used = time.perf_counter(), cpu_seconds()
            manage("import_records", resource, str(path))
            took = time.perf_counter() - began
            print(
                f"{title}: {took:.1f} s, {options.claims / took:,.0f} records/s, {rows / took:,.0f} rows/s;"
                f" {cpu_seconds() - used:.1f} s of CPU, {peak_mib():.0f} MiB at most",
                flush=True,
            )


if __name__ == "__main__":
    main()
