"""Imports of provider invoices, claims and invoices: headers others use, what names a record, the verbs."""

from __future__ import annotations

from apps.core.importing.columns import IMPORT_REFERENCE
from apps.core.importing.definition import DerivedReference, ImportDefinition

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
    "Assigned to": "StaffPrimaryEmail",
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
    "Group": IMPORT_REFERENCE,
    "Batch": IMPORT_REFERENCE,
}

PROVIDER_REFERENCE_HEADERS = {
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
    **PROVIDER_REFERENCE_HEADERS,
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
    **PROVIDER_REFERENCE_HEADERS,
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

    header_synonyms = INVOICE_HEADERS
    match_fields = ("InvoiceNumber",)
    group_fields = (("InvoiceGuid",), ("InvoiceNumber",), (IMPORT_REFERENCE,))
    service_defaults = ("LineItems/Notes",)
    sets_archive_date = False
