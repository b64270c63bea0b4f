"""Imports of provider invoices, claims and invoices: headers others use, what names a record, the verbs."""

from collections.abc import Iterator, Sequence

from apps.base.drafts import Draft, Issue
from apps.core.importing.columns import IMPORT_REFERENCE, ImportColumn
from apps.core.importing.definition import CleanedText, ImportDefinition
from apps.core.importing.file_declaration import RecordName
from apps.core.importing.records import CellIssue, ReadRecord
from apps.core.importing.references import compared_field, number_issue, records_by_text
from apps.core.models import normalised
from apps.funding.models import ProviderInvoice
from apps.funding.services.duplicates import find_duplicate_invoices
from apps.funding.services.effects import recount_amounts
from apps.funding.validation.duplicates import same_total_issue
from apps.people.entered_texts import whole_digits

# --- headers --------------------------------------------------------------------------------------------

CONTACT_HEADERS = {
    "ContactSchemeNumber": (
        "NDIS",
        "NDIS No",
        "NDIS Number",
        "Scheme No",
        "Scheme number",
        "Participant",
        "Participant No",
        "Participant number",
        "Participant NDIS number",
        "Contact",
    ),
    "ContactUniqueCode": ("Contact code", "Participant code"),
}

PROVIDER_HEADERS = {
    "ProviderBusinessNumber": ("ABN", "Provider ABN", "ABN of provider", "Supplier ABN", "Business number"),
    "ProviderUniqueCode": ("Provider code",),
    "ProviderBusinessName": ("Provider", "Provider name", "Supplier", "Supplier name"),
}

STAFF_HEADERS = {
    "StaffPrimaryEmail": ("Staff", "Staff email", "Staff member", "Assigned to", "In charge"),
    "StaffUniqueCode": ("Staff code",),
}

LINE_HEADERS = {
    "LineItems/Product/Code": (
        "Support item",
        "Support item number",
        "Support number",
        "Item",
        "Item code",
        "Item number",
        "Product",
        "Product code",
    ),
    "LineItems/PriceBook/Name": ("Price book", "Price list"),
    "LineItems/Quantity": ("Qty", "Hours", "Hrs", "Units"),
    "LineItems/Price": ("Unit price", "Rate"),
    "LineItems/FromDate": ("Service date", "Date of service", "Supports delivered from"),
    "LineItems/ToDate": ("Supports delivered to",),
    "LineItems/TaxChoice": ("Tax", "GST"),
    "LineItems/Notes": ("Description", "Comments"),
}

PERIOD_HEADERS = {
    "StartDate": ("From", "Period start"),
    "EndDate": ("To", "Period end"),
    "DueDate": ("Due", "Payment due"),
    IMPORT_REFERENCE: ("Group", "Batch"),
}

PROVIDER_REFERENCE_HEADERS = {
    "ProviderInvoiceReference": (
        "Invoice No",
        "Invoice number",
        "Inv No",
        "Invoice reference",
        "Provider invoice",
        "Provider invoice No",
        "Provider invoice number",
        "Reference",
    ),
    "SendPaymentTo": ("Pay", "Payee"),
}

CLAIM_HEADERS = {
    **CONTACT_HEADERS,
    **PROVIDER_HEADERS,
    **STAFF_HEADERS,
    **LINE_HEADERS,
    **PERIOD_HEADERS,
    **PROVIDER_REFERENCE_HEADERS,
    "ClaimNumber": ("Claim No", "Claim reference"),
}

INVOICE_HEADERS = {
    **CONTACT_HEADERS,
    **STAFF_HEADERS,
    **LINE_HEADERS,
    **PERIOD_HEADERS,
    "InvoiceNumber": ("Invoice No",),
    "InvoiceClaimType": ("Invoice to",),
    "IsRecurring": ("Recurring",),
    "RecurringFrequency": ("Frequency",),
    "LineItems/IsCreditItem": ("Credit", "Credit item"),
    "LineItems/CostCentre/Name": ("Cost centre", "Cost center"),
}

PROVIDER_INVOICE_HEADERS = {
    **CONTACT_HEADERS,
    **PROVIDER_HEADERS,
    **PROVIDER_REFERENCE_HEADERS,
    "ServiceStartDate": ("From", "Start date", "Period start", "Services from", "Service start"),
    "ServiceEndDate": ("To", "End date", "Period end", "Services to", "Service end"),
    "InvoiceTotal": ("Total", "Amount", "Invoice amount"),
    "IsReusable": ("Reusable",),
    "CreatedByStaffPrimaryEmail": ("Staff", "Staff email", "Staff member", "Entered by", "Created by"),
}

# --- texts that are corrected ---------------------------------------------------------------------------


def clean_reference(text: str) -> CleanedText:
    """A reference that a spreadsheet took for a number; ``WireValueError`` when digits of it are lost."""
    number = whole_digits(text) if "E+" in text else text
    if number == text:
        return CleanedText(text)
    return CleanedText(number, "NumberRestored", f"It is taken as {number}.")


# --- the resources --------------------------------------------------------------------------------------


class ProviderInvoiceImport(ImportDefinition):
    """Provider invoices are found by their reference and provider, else by being the same in everything."""

    header_synonyms = PROVIDER_INVOICE_HEADERS
    cleaners = {"reference": clean_reference}
    match_fields = ("ProviderInvoiceReference",)
    match_scopes = {"ProviderInvoiceReference": "ProviderGuid"}
    sets_archive_date = False
    service_defaults = ("CreatedByStaffGuid", "CreatedByStaffPrimaryEmail", "CreatedByStaffUniqueCode")

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

    header_synonyms = CLAIM_HEADERS
    cleaners = dict.fromkeys(("claim_number", "provider_invoice_reference"), clean_reference)
    match_fields = ("ClaimNumber",)
    group_fields = (
        ("ClaimGuid",),
        ("ClaimNumber",),
        (IMPORT_REFERENCE,),
        ("ProviderInvoiceGuid",),
        ("ProviderInvoiceReference", "ProviderGuid"),
    )
    found_references = {"ProviderInvoiceGuid": "ProviderInvoiceReference"}
    service_defaults = ("LineItems/Notes",)
    sets_archive_date = False

    def find_references(self, records: Sequence[ReadRecord], column: ImportColumn) -> None:
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

    header_synonyms = INVOICE_HEADERS
    cleaners = {"invoice_number": clean_reference}
    match_fields = ("InvoiceNumber",)
    group_fields = (("InvoiceGuid",), ("InvoiceNumber",), (IMPORT_REFERENCE,))
    service_defaults = ("LineItems/Notes",)
    sets_archive_date = False
