"""Imports of provider invoices, claims and invoices: headers others use, what names a record, the verbs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from apps.core.importing.additions import Finder, Importing, NamedBy
from apps.core.importing.headers import REFERENCE
from apps.funding.services.create import create_claims, create_invoices
from apps.funding.services.provider_invoices import create_provider_invoices, update_provider_invoices
from apps.funding.services.update import update_claims, update_invoices
from apps.funding.validation.claims import CLAIM_RULES
from apps.funding.validation.invoices import INVOICE_RULES
from apps.funding.validation.provider_invoices import PROVIDER_INVOICE_RULES
from apps.funding.validation.warnings import CLAIM_WARNINGS, INVOICE_WARNINGS

# --- what names the records that bills refer to ---------------------------------------------------------

_NO_DIGITS = re.compile(r"[^0-9]+")
_BUSINESS_NUMBER = re.compile(r"(\d\d)(\d{3})(\d{3})(\d{3})")


def digits(text: str) -> str | None:
    """A number without the blanks and hyphens people write into it."""
    return _NO_DIGITS.sub("", text) or None


def written_numbers(text: str) -> Sequence[str]:
    """How a record may hold a number: as the file has it, without signs, or grouped as a business number."""
    plain = digits(text) or text
    return text, plain, _BUSINESS_NUMBER.sub(r"\1 \2 \3 \4", plain)


CONTACTS = (
    Finder("ContactSchemeNumber", "ContactGuid", "scheme_number", digits, written_numbers),
    Finder("ContactUniqueCode", "ContactGuid", "unique_code"),
)
PROVIDERS = (
    Finder("ProviderBusinessNumber", "ProviderGuid", "business_number", digits, written_numbers),
    Finder("ProviderUniqueCode", "ProviderGuid", "unique_code"),
    Finder("ProviderBusinessName", "ProviderGuid", "business_name"),
)
STAFF_IN_CHARGE = (
    Finder("StaffPrimaryEmail", "StaffGuid", "primary_email"),
    Finder("StaffUniqueCode", "StaffGuid", "unique_code"),
)

# --- headers --------------------------------------------------------------------------------------------

CONTACT_HEADERS = {
    "NDIS": "ContactSchemeNumber",
    "NDIS No": "ContactSchemeNumber",
    "NDIS Number": "ContactSchemeNumber",
    "Scheme No": "ContactSchemeNumber",
    "Scheme number": "ContactSchemeNumber",
    "Participant": "ContactSchemeNumber",
    "Participant No": "ContactSchemeNumber",
    "Participant number": "ContactSchemeNumber",
    "Participant NDIS number": "ContactSchemeNumber",
    "Contact": "ContactSchemeNumber",
    "Contact code": "ContactUniqueCode",
    "Participant code": "ContactUniqueCode",
}

PROVIDER_HEADERS = {
    "ABN": "ProviderBusinessNumber",
    "Provider ABN": "ProviderBusinessNumber",
    "ABN of provider": "ProviderBusinessNumber",
    "Supplier ABN": "ProviderBusinessNumber",
    "Business number": "ProviderBusinessNumber",
    "Provider code": "ProviderUniqueCode",
    "Provider": "ProviderBusinessName",
    "Provider name": "ProviderBusinessName",
    "Supplier": "ProviderBusinessName",
    "Supplier name": "ProviderBusinessName",
}

STAFF_HEADERS = {
    "Staff": "StaffPrimaryEmail",
    "Staff email": "StaffPrimaryEmail",
    "Staff member": "StaffPrimaryEmail",
    "In charge": "StaffPrimaryEmail",
    "Staff code": "StaffUniqueCode",
}

LINE_HEADERS = {
    "Support item": "LineItems/Product/Code",
    "Support item number": "LineItems/Product/Code",
    "Support number": "LineItems/Product/Code",
    "Item": "LineItems/Product/Code",
    "Item code": "LineItems/Product/Code",
    "Item number": "LineItems/Product/Code",
    "Product": "LineItems/Product/Code",
    "Product code": "LineItems/Product/Code",
    "Price book": "LineItems/PriceBook/Name",
    "Price list": "LineItems/PriceBook/Name",
    "Qty": "LineItems/Quantity",
    "Hours": "LineItems/Quantity",
    "Units": "LineItems/Quantity",
    "Unit price": "LineItems/Price",
    "Rate": "LineItems/Price",
    "Service date": "LineItems/FromDate",
    "Date of service": "LineItems/FromDate",
    "Supports delivered from": "LineItems/FromDate",
    "Supports delivered to": "LineItems/ToDate",
    "Tax": "LineItems/TaxChoice",
    "GST": "LineItems/TaxChoice",
    "Description": "LineItems/Notes",
    "Comments": "LineItems/Notes",
}

PERIOD_HEADERS = {
    "From": "StartDate",
    "To": "EndDate",
    "Period start": "StartDate",
    "Period end": "EndDate",
    "Due": "DueDate",
    "Payment due": "DueDate",
    "Group": REFERENCE,
    "Batch": REFERENCE,
}

PAPER_HEADERS = {
    "Invoice No": "ProviderInvoiceReference",
    "Invoice number": "ProviderInvoiceReference",
    "Invoice reference": "ProviderInvoiceReference",
    "Provider invoice": "ProviderInvoiceReference",
    "Provider invoice No": "ProviderInvoiceReference",
    "Provider invoice number": "ProviderInvoiceReference",
    "Reference": "ProviderInvoiceReference",
    "Pay": "SendPaymentTo",
    "Payee": "SendPaymentTo",
}

CLAIM_HEADERS = {
    **CONTACT_HEADERS,
    **PROVIDER_HEADERS,
    **STAFF_HEADERS,
    **LINE_HEADERS,
    **PERIOD_HEADERS,
    **PAPER_HEADERS,
    "Claim No": "ClaimNumber",
    "Claim reference": "ClaimNumber",
}

INVOICE_HEADERS = {
    **CONTACT_HEADERS,
    **STAFF_HEADERS,
    **LINE_HEADERS,
    **PERIOD_HEADERS,
    "Invoice No": "InvoiceNumber",
    "Invoice to": "InvoiceClaimType",
    "Recurring": "IsRecurring",
    "Frequency": "RecurringFrequency",
    "Credit": "LineItems/IsCreditItem",
    "Credit item": "LineItems/IsCreditItem",
    "Cost centre": "LineItems/CostCentre/Name",
    "Cost center": "LineItems/CostCentre/Name",
}

PROVIDER_INVOICE_HEADERS = {
    **CONTACT_HEADERS,
    **PROVIDER_HEADERS,
    **PAPER_HEADERS,
    "From": "ServiceStartDate",
    "To": "ServiceEndDate",
    "Start date": "ServiceStartDate",
    "End date": "ServiceEndDate",
    "Period start": "ServiceStartDate",
    "Period end": "ServiceEndDate",
    "Services from": "ServiceStartDate",
    "Services to": "ServiceEndDate",
    "Service start": "ServiceStartDate",
    "Service end": "ServiceEndDate",
    "Total": "InvoiceTotal",
    "Amount": "InvoiceTotal",
    "Invoice amount": "InvoiceTotal",
    "Reusable": "IsReusable",
    "Staff": "CreatedByStaffPrimaryEmail",
    "Staff email": "CreatedByStaffPrimaryEmail",
    "Staff member": "CreatedByStaffPrimaryEmail",
    "Entered by": "CreatedByStaffPrimaryEmail",
    "Created by": "CreatedByStaffPrimaryEmail",
}

# --- the resources --------------------------------------------------------------------------------------


class ProviderInvoiceImport(Importing):
    """Provider invoices are found by their reference and provider, else by being the same in everything."""

    synonyms = PROVIDER_INVOICE_HEADERS
    match = ("ProviderInvoiceReference",)
    apart_by = {"ProviderInvoiceReference": "ProviderGuid"}
    finders = (
        *CONTACTS,
        *PROVIDERS,
        Finder("CreatedByStaffPrimaryEmail", "CreatedByStaffGuid", "primary_email"),
    )
    alike = ("provider", "contact")
    filled_in = ("CreatedByStaffGuid", "CreatedByStaffPrimaryEmail")
    rules = PROVIDER_INVOICE_RULES
    create = staticmethod(create_provider_invoices)
    revise = staticmethod(update_provider_invoices)


class ClaimImport(Importing):
    """Claims are found by their number, else by being the same as one on the same provider invoice.

    Provider invoices are named by their guid, or by reference and provider.
    """

    synonyms = CLAIM_HEADERS
    match = ("ClaimNumber",)
    together = (
        ("ClaimGuid",),
        ("ClaimNumber",),
        (REFERENCE,),
        ("ProviderInvoiceGuid",),
        ("ProviderInvoiceReference", "ProviderGuid"),
    )
    finders = (*CONTACTS, *PROVIDERS, *STAFF_IN_CHARGE)
    named_by = (
        NamedBy("ProviderInvoiceGuid", {"reference": "ProviderInvoiceReference", "provider": "ProviderGuid"}),
    )
    alike = ("provider_invoice",)
    filled_in = ("LineItems/Notes",)
    rules = CLAIM_RULES
    warnings = CLAIM_WARNINGS
    create = staticmethod(create_claims)
    revise = staticmethod(update_claims)


class InvoiceImport(Importing):
    """Invoices are found by their number, else by being the same in everything."""

    synonyms = INVOICE_HEADERS
    match = ("InvoiceNumber",)
    together = (("InvoiceGuid",), ("InvoiceNumber",), (REFERENCE,))
    finders = (*CONTACTS, *STAFF_IN_CHARGE)
    alike = ("contact", "start_date")
    filled_in = ("LineItems/Notes",)
    rules = INVOICE_RULES
    warnings = INVOICE_WARNINGS
    create = staticmethod(create_invoices)
    revise = staticmethod(update_invoices)
