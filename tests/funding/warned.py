"""A participant with a plan, a booking and a provider, and drafts of what is claimed for them."""

import datetime as dt
from decimal import Decimal

from apps.base.drafts import apply_rules
from apps.funding.drafts import ClaimDraft, InvoiceDraft, LineDraft
from apps.funding.services.claim_windows import create_usual_claim_windows
from apps.funding.services.context import load_bill_contexts, load_records
from apps.funding.services.create import apply_defaults
from apps.funding.validation.bills import CLAIMS, INVOICES
from tests.engagements.builders import a_booking, a_plan
from tests.funding.builders import a_claim, a_price, a_product, a_provider_invoice, an_entry, an_invoice
from tests.people.records import a_client, a_contact

#: A Thursday; the plan of a scene began on the 1st of July and the supports were given on a Wednesday.
TODAY = "2026-08-20 10:00"
WEDNESDAY = dt.date(2026, 8, 12)
ABN = "51 824 753 556"


def day(text):
    return dt.date.fromisoformat(text)


def a_guide_item(**columns):
    """A priced support item of the price guide, in a price book without prices."""
    return an_entry(
        product=a_product(
            **{
                "code": "01_011_0107_1_1",
                "name": "Assistance With Self-Care Activities",
                "type": "Priced",
                "category_number": 1,
                "category_number_pace": 16,
                **columns,
            }
        )
    )


def period_of(lines):
    """The days that the lines cover; of those without days, and without lines, the Wednesday."""
    days = [line.get(name) for line in lines for name in ("from_date", "to_date")]
    known = [each for each in days if isinstance(each, dt.date)] or [WEDNESDAY]
    return {"start_date": min(known), "end_date": max(known)}


class Scene:
    """All that a claim needs to be warned of nothing; tests change one thing at a time."""

    def __init__(
        self,
        budget="1000.00",
        booking=None,
        plan=None,
        contact=None,
        provider=None,
        item=None,
        entry=None,
    ):
        create_usual_claim_windows()  # a test that commits has emptied their table
        self.participant = a_contact(**{"state": "NSW", **(contact or {})})
        self.provider = a_client(**{"business_number": ABN, **(provider or {})})
        self.entry = entry or a_guide_item(**(item or {}))
        self.price = None if entry else a_price(self.entry, "70.00")
        self.plan = a_plan(participant=self.participant, **(plan or {}))
        self.booking = a_booking(self.plan, category=1, budget=Decimal(budget), **(booking or {}))

    @property
    def product(self):
        return self.entry.product

    def line(self, on=WEDNESDAY, to=None, quantity="2", price=None, entry=None, key=None, **members):
        entry = entry or self.entry
        members = {
            "price_book": entry.price_book,
            "product": entry.product,
            "from_date": on,
            "to_date": to,
            "quantity": Decimal(quantity),
            "price": None if price is None else Decimal(price),
            **dict.fromkeys(("tax_choice", "claim_type", "cancellation_reason", "notes")),
            **members,
        }
        return LineDraft(members, members, key=key)

    def provider_invoice(self, **columns):
        """A provider invoice of this participant and provider."""
        return a_provider_invoice(**{"contact": self.participant, "provider": self.provider, **columns})

    def claim(self, *lines, key=None, provider_invoice=None, **members):
        """A claim as a face would hand it in, of one plain line unless others are given; of their days."""
        given = {
            "provider_invoice": provider_invoice or self.provider_invoice(),
            **period_of(lines),
            "line_items": list(lines) or [self.line()],
            **members,
        }
        taken = ("contact", "provider", "provider_invoice_reference", "send_payment_to")
        left_out = dict.fromkeys((*taken, "claim_number", "external_invoice_number", "due_date"))
        drafted = ClaimDraft({**left_out, **given}, given, key=key)
        if key is not None:
            drafted.fill("previous_provider_invoice_id", given["provider_invoice"].pk)
        return drafted

    def invoice(self, *lines, key=None, **members):
        given = {
            "contact": self.participant,
            "invoice_claim_type": "InvoiceToAgency",
            **period_of(lines),
            "line_items": list(lines) or [self.line()],
            **members,
        }
        return InvoiceDraft(given, given, key=key)

    def stored_claim(self, *lines, **columns):
        """A claim of this participant and provider that stands."""
        return a_claim([self.columns(line) for line in lines or [{}]], **self.of(columns, provider=True))

    def stored_invoice(self, *lines, **columns):
        return an_invoice([self.columns(line) for line in lines or [{}]], **self.of(columns))

    def of(self, columns, provider=False):
        days = {"start_date": WEDNESDAY, "end_date": WEDNESDAY, "contact": self.participant}
        return {**days, **({"provider": self.provider} if provider else {}), **columns}

    def columns(self, line):
        return {"entry": self.entry, "quantity": "2", "price": "70.00", **line}


def warnings_about(*drafts):
    """The warnings about drafts of claims, or of invoices, as (number of the draft, issue) pairs."""
    bills = INVOICES if "invoice_claim_type" in drafts[0].given else CLAIMS
    records = load_records(bills, drafts)
    apply_defaults(bills, drafts, records)
    return list(apply_rules(drafts, bills.warnings, load_bill_contexts(bills, drafts, records)))


def codes(*drafts):
    return [finding.code for _, finding in warnings_about(*drafts)]


def places(*drafts):
    return [(finding.code, finding.field) for _, finding in warnings_about(*drafts)]


def only_message(*drafts):
    ((_, finding),) = warnings_about(*drafts)
    return finding.message
