"""Imports of provider invoices, claims and invoices: their columns, and what names a record."""

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from apps.base.drafts import Draft, Issue
from apps.core.importing.cells import CleanedText, Cleaner, letters_of, without_mark
from apps.core.importing.columns import IMPORT_REFERENCE, CellIssue, RecordColumn
from apps.core.importing.definition import ImportDefinition
from apps.core.importing.record_names import RecordName, compared_field, records_by_text
from apps.core.importing.records import ReadRecord
from apps.core.importing.references import number_issue
from apps.core.models import normalised
from apps.funding.choices import ClaimType, InvoiceClaimType, TaxChoice
from apps.funding.file_formats.claim_file import CANCELLATION_REASONS, CLAIM_TYPES
from apps.funding.models import ProviderInvoice
from apps.funding.services.duplicates import find_duplicate_invoices
from apps.funding.services.effects import recount_amounts
from apps.funding.validation.duplicates import same_total_issue
from apps.people.entered_texts import whole_digits

# --- columns --------------------------------------------------------------------------------------------

CONTACT_COLUMNS = (
    RecordColumn(
        "ContactSchemeNumber",
        (
            *("NDIS", "NDIS No", "NDIS Number", "Scheme No", "Scheme number"),
            *("Participant No", "Participant number", "Participant NDIS number"),
        ),
        # Beside a number it is a name.
        second_headers=("Contact", "Participant"),
    ),
    RecordColumn("ContactUniqueCode", ("Contact code", "Participant code")),
)

PROVIDER_COLUMNS = (
    RecordColumn(
        "ProviderBusinessNumber",
        (
            *("ABN", "Provider ABN", "ABN of provider", "Supplier ABN", "Business number"),
            "ABN of Support Provider",
        ),
    ),
    RecordColumn("ProviderUniqueCode", ("Provider code",)),
    RecordColumn("ProviderBusinessName", ("Provider", "Provider name", "Supplier", "Supplier name")),
)

STAFF_COLUMNS = (
    RecordColumn("StaffPrimaryEmail", ("Staff", "Staff email", "Staff member", "Assigned to", "In charge")),
    RecordColumn("StaffUniqueCode", ("Staff code",)),
)

LINE_COLUMNS = (
    RecordColumn(
        "LineItems/Product/Code",
        (
            *("Support item", "Support item number", "Support number", "Product", "Product code"),
            *("Item", "Item code", "Item number", "Line item", "Line item number", "Inventory item code"),
        ),
    ),
    RecordColumn("LineItems/PriceBook/Name", ("Price book", "Price list")),
    RecordColumn("LineItems/Quantity", ("Qty", "Hours", "Hrs", "Units")),
    RecordColumn("LineItems/Price", ("Unit price", "Unit amount", "Unit cost", "Rate")),
    RecordColumn("LineItems/FromDate", ("Service date", "Date of service", "Supports delivered from")),
    RecordColumn("LineItems/ToDate", ("Supports delivered to",)),
    RecordColumn("LineItems/TaxChoice", ("Tax", "GST", "GST code", "Tax type", "Tax code")),
    RecordColumn("LineItems/Notes", ("Description", "Comments"), keeps_when_empty=True),
)

PERIOD_COLUMNS = (
    RecordColumn("StartDate", ("From", "Period start")),
    RecordColumn("EndDate", ("To", "Period end")),
    RecordColumn("DueDate", ("Due", "Payment due")),
    RecordColumn(IMPORT_REFERENCE, ("Group", "Batch")),
)

PROVIDER_REFERENCE_COLUMNS = (
    RecordColumn(
        "ProviderInvoiceReference",
        (
            *("Invoice No", "Invoice number", "Inv No", "Invoice reference", "Reference"),
            *("Provider invoice", "Provider invoice No", "Provider invoice number"),
        ),
        scope="provider",
    ),
    RecordColumn("SendPaymentTo", ("Pay", "Payee")),
)

CLAIM_COLUMNS = (
    *CONTACT_COLUMNS,
    *PROVIDER_COLUMNS,
    *STAFF_COLUMNS,
    *LINE_COLUMNS,
    *PERIOD_COLUMNS,
    *PROVIDER_REFERENCE_COLUMNS,
    RecordColumn("ClaimNumber", ("Claim No", "Claim reference")),
)

INVOICE_COLUMNS = (
    *CONTACT_COLUMNS,
    *STAFF_COLUMNS,
    *LINE_COLUMNS,
    *PERIOD_COLUMNS,
    RecordColumn("InvoiceNumber", ("Invoice No",)),
    RecordColumn("InvoiceClaimType", ("Invoice to", "Bill to")),
    RecordColumn("IsRecurring", ("Recurring",)),
    RecordColumn("RecurringFrequency", ("Frequency",)),
    RecordColumn("LineItems/IsCreditItem", ("Credit", "Credit item")),
    RecordColumn("LineItems/CostCentre/Name", ("Cost centre", "Cost center")),
)

PROVIDER_INVOICE_COLUMNS = (
    *CONTACT_COLUMNS,
    *PROVIDER_COLUMNS,
    *PROVIDER_REFERENCE_COLUMNS,
    RecordColumn(
        "ServiceStartDate",
        ("From", "Start date", "Period start", "Services from", "Service from", "Service start"),
    ),
    RecordColumn(
        "ServiceEndDate", ("To", "End date", "Period end", "Services to", "Service to", "Service end")
    ),
    RecordColumn("InvoiceTotal", ("Total", "Amount", "Invoice amount")),
    RecordColumn("IsReusable", ("Reusable",)),
    RecordColumn("CreatedByStaffGuid", keeps_when_empty=True),
    RecordColumn(
        "CreatedByStaffPrimaryEmail",
        ("Staff", "Staff email", "Staff member", "Entered by", "Created by"),
        keeps_when_empty=True,
    ),
    RecordColumn("CreatedByStaffUniqueCode", keeps_when_empty=True),
)

# --- texts that are corrected ---------------------------------------------------------------------------


def clean_reference(text: str) -> CleanedText:
    """A reference that a spreadsheet took for a number; ``WireValueError`` when digits of it are lost."""
    text = without_mark(text)
    number = whole_digits(text) if "E+" in text else text
    if number == text:
        return CleanedText(text)
    return CleanedText(number, "NumberRestored", f"It is taken as {number}.")


_HOURS = re.compile(r"([0-9]{1,3}):([0-5][0-9])(?::00)?")
_UNIT = re.compile(r"([0-9][0-9.,]*) ?(?:h|hrs?|hours?)\.?", re.IGNORECASE)


def hours_and_minutes(text: str) -> Decimal | None:
    """The hours in ``1:20``, ``001:20``, ``1:20:00`` of a spreadsheet: 1.3333; ``None`` for another text."""
    found = _HOURS.fullmatch(text)
    if found is None:
        return None
    return (Decimal(int(found[1]) * 60 + int(found[2])) / 60).quantize(Decimal("0.0001"))


def clean_quantity(text: str) -> CleanedText:
    """Hours and minutes, as invoices and the agency's claim files have them; ``1.5 hrs`` without its unit."""
    hours, unit = hours_and_minutes(text), _UNIT.fullmatch(text)
    if hours is not None:
        return CleanedText(str(hours))
    return CleanedText(unit[1] if unit else text)


#: Words of other programs, and codes of the agency's claim file, for choices of lines.
CLAIM_TYPE_WORDS = {
    **{letters_of(code): str(choice) for choice, code in CLAIM_TYPES.items() if code},
    **dict.fromkeys(("standard", "standardservice"), ClaimType.NONE),
    **dict.fromkeys(("shortnoticecancellation", "cancelled"), ClaimType.CANCELLATION),
    **dict.fromkeys(("ndiarequestedreport", "ndiarequestedreports"), ClaimType.AGENCY_REQUIRED_REPORT),
    "travel": ClaimType.PROVIDER_TRAVEL,
    **dict.fromkeys(
        ("nonfacetoface", "nonfacetofacesupport", "nonfacetofacesupportprovision"),
        ClaimType.NON_FACE_TO_FACE_SERVICES,
    ),
    "irregularsilsupport": ClaimType.IRREGULAR_SIL_SUPPORTS,
}
CANCELLATION_WORDS = {letters_of(code): str(choice) for choice, code in CANCELLATION_REASONS.items()}
INVOICE_TO_WORDS = {
    **dict.fromkeys(("ndia", "ndis", "agency"), InvoiceClaimType.INVOICE_TO_AGENCY),
    **dict.fromkeys(("client", "participant"), InvoiceClaimType.INVOICE_TO_CLIENT),
}
#: Xero's words end on Expenses where the bill is one's own cost; ``FRE`` and ``N-T`` are MYOB's.
TAX_WORDS = {
    **dict.fromkeys(("p1", "gst", "gstonexpenses"), TaxChoice.GST_ON_INCOME),
    **dict.fromkeys(("p2", "fre", "gstfree", "gstfreeexpenses"), TaxChoice.GST_FREE_INCOME),
    **dict.fromkeys(("p5", "nt"), TaxChoice.BAS_EXCLUDED),
    "exp": TaxChoice.GST_FREE_EXPORTS,
}


def cleaner_of_words(words: Mapping[str, str]) -> Cleaner:
    """The function that makes words of others those of a choice."""
    return lambda text: CleanedText(words.get(letters_of(text), text))


LINE_CLEANERS: dict[str, Cleaner] = {
    "quantity": clean_quantity,
    "claim_type": cleaner_of_words(CLAIM_TYPE_WORDS),
    "cancellation_reason": cleaner_of_words(CANCELLATION_WORDS),
    "tax_choice": cleaner_of_words(TAX_WORDS),
}


# --- the resources --------------------------------------------------------------------------------------


class ProviderInvoiceImport(ImportDefinition):
    """Provider invoices are found by their reference and provider, else by being the same in everything."""

    columns = PROVIDER_INVOICE_COLUMNS
    cleaners = {"reference": clean_reference}
    match_fields = ("ProviderInvoiceReference",)
    sets_archive_date = False

    def find_warnings(self, drafts: Sequence[Draft]) -> Iterator[tuple[int, Issue]]:
        """Warn of drafts that have the participant, provider, period and total of another."""
        for number, mark, other in find_duplicate_invoices(drafts):
            yield number, same_total_issue("invoice_total", other or "An earlier record", mark)


#: How files name a provider invoice: by its reference, which several providers may use.
PROVIDER_INVOICE = RecordName(
    "ProviderInvoiceReference",
    "reference",
    compared_field(ProviderInvoice, "reference"),
    scope="provider",
)


class ClaimImport(ImportDefinition):
    """Claims are found by their number, else by being the same as one on the same provider invoice.

    Provider invoices are named by their guid, or by reference and provider.
    """

    after_undo = staticmethod(recount_amounts)

    columns = CLAIM_COLUMNS
    cleaners = LINE_CLEANERS | dict.fromkeys(("claim_number", "provider_invoice_reference"), clean_reference)
    match_fields = ("ClaimNumber",)
    group_fields = (
        ("ClaimGuid",),
        ("ClaimNumber",),
        (IMPORT_REFERENCE,),
        ("ProviderInvoiceGuid",),
        ("ProviderInvoiceReference", "ProviderGuid"),
    )
    found_references = {"ProviderInvoiceGuid": "ProviderInvoiceReference"}
    sets_archive_date = False

    def find_references(self, records: Sequence[ReadRecord], column: RecordColumn) -> None:
        """Find the provider invoice by its reference, among several of one reference by the provider."""
        wanted = list(claims_without_provider_invoice(records))
        texts = {record.values["provider_invoice_reference"] for record in wanted}
        found = records_by_text(ProviderInvoice, PROVIDER_INVOICE, texts) if texts else {}
        for record in wanted:
            provider = record.values.get("provider")
            named = found.get(normalised(record.values["provider_invoice_reference"]), ())
            keys = [key for key, of in named if provider is None or of == provider]
            keys = keys or [key for key, of in named if of is None]
            if len(keys) == 1:
                record.values["provider_invoice"] = keys[0]
                continue
            issue = number_issue(ProviderInvoice._meta, len(keys))
            if not keys:
                message = "There is no provider invoice like this; import it first, or name another."
                issue = CellIssue("NotFound", message)
            record.note(column, issue)
            record.invalid |= {"provider_invoice"}


def claims_without_provider_invoice(records: Sequence[ReadRecord]) -> Iterator[ReadRecord]:
    """The claims to find one for: an existing one keeps its own, unless its reference or provider differs."""
    identifying = {"provider_invoice_reference", "provider"}
    for record in records:
        given = {name: value for name in identifying if (value := record.values.get(name)) is not None}
        if record.values.get("provider_invoice") is not None or "provider_invoice" in record.invalid:
            continue
        if identifying & record.invalid:
            # The row is rejected already for what would identify it.
            record.invalid |= {"provider_invoice"}
        elif "provider_invoice_reference" in given and (
            record.existing is None or not given.items() <= record.existing.values.items()
        ):
            yield record


class InvoiceImport(ImportDefinition):
    """Invoices are found by their number, else by being the same in everything."""

    after_undo = staticmethod(recount_amounts)

    columns = INVOICE_COLUMNS
    cleaners = LINE_CLEANERS | {
        "invoice_number": clean_reference,
        "invoice_claim_type": cleaner_of_words(INVOICE_TO_WORDS),
    }
    assumed = {"is_recurring": False}
    match_fields = ("InvoiceNumber",)
    group_fields = (("InvoiceGuid",), ("InvoiceNumber",), (IMPORT_REFERENCE,))
    sets_archive_date = False
