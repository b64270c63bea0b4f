"""Imports of provider invoices, claims and invoices: headers others use, what names a record, the verbs."""

from apps.core.importing.columns import IMPORT_REFERENCE
from apps.core.importing.definition import DerivedReference, ImportDefinition
from apps.funding.services.effects import recount_amounts

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
    "LineItems/Quantity": ("Qty", "Hours", "Units"),
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

# --- the resources --------------------------------------------------------------------------------------


class ProviderInvoiceImport(ImportDefinition):
    """Provider invoices are found by their reference and provider, else by being the same in everything."""

    header_synonyms = PROVIDER_INVOICE_HEADERS
    match_fields = ("ProviderInvoiceReference",)
    match_scopes = {"ProviderInvoiceReference": "ProviderGuid"}
    sets_archive_date = False
    service_defaults = ("CreatedByStaffGuid", "CreatedByStaffPrimaryEmail", "CreatedByStaffUniqueCode")


class ClaimImport(ImportDefinition):
    """Claims are found by their number, else by being the same as one on the same provider invoice.

    Provider invoices are named by their guid, or by reference and provider.
    """

    after_undo = staticmethod(recount_amounts)

    header_synonyms = CLAIM_HEADERS
    match_fields = ("ClaimNumber",)
    group_fields = (
        ("ClaimGuid",),
        ("ClaimNumber",),
        (IMPORT_REFERENCE,),
        ("ProviderInvoiceGuid",),
        ("ProviderInvoiceReference", "ProviderGuid"),
    )
    derived_references = (
        DerivedReference(
            "ProviderInvoiceGuid",
            name="ProviderInvoiceReference",
            source="reference",
            scope="ProviderGuid",
            scope_source="provider",
        ),
    )
    service_defaults = ("LineItems/Notes",)
    sets_archive_date = False


class InvoiceImport(ImportDefinition):
    """Invoices are found by their number, else by being the same in everything."""

    after_undo = staticmethod(recount_amounts)

    header_synonyms = INVOICE_HEADERS
    match_fields = ("InvoiceNumber",)
    group_fields = (("InvoiceGuid",), ("InvoiceNumber",), (IMPORT_REFERENCE,))
    service_defaults = ("LineItems/Notes",)
    sets_archive_date = False
