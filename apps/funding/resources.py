"""The resources of funding, declared in the words of interface.md 2.3 to 2.5."""

from apps.base.declaration.resource import (
    DELETE,
    GET,
    PATCH,
    POST,
    PUT,
    V2_1,
    Contains,
    Key,
    NestedType,
    Optional,
    Property,
    ReadOnly,
    RefersTo,
    Required,
    UnrestrictedResource,
)
from apps.core.resources import RECORD_DATES, LookupResource
from apps.funding.drafts import (
    ClaimDraft,
    InvoiceDraft,
    LineDraft,
    PriceDraft,
    PriceListDraft,
    ProviderInvoiceDraft,
)
from apps.funding.imports import ClaimImport, InvoiceImport, ProviderInvoiceImport
from apps.funding.models import (
    CLAIM_SUMS,
    Claim,
    ClaimFile,
    ClaimFileLine,
    ClaimLine,
    ClaimResult,
    CostCentre,
    Invoice,
    InvoiceLine,
    Price,
    PriceBook,
    PriceBookEntry,
    Product,
    ProviderInvoice,
    Remittance,
    RemittanceLine,
)
from apps.funding.services.context import PROVIDER_RULE_COLUMNS
from apps.funding.services.create import create_claims, create_invoices
from apps.funding.services.price_guide import update_price_lists
from apps.funding.services.provider_invoices import (
    archive_provider_invoices,
    create_provider_invoices,
    update_provider_invoices,
)
from apps.funding.services.update import archive_claims, archive_invoices, update_claims, update_invoices

#: The columns that defaults, rules and warnings read of the records that bills refer to.
CONTACT_COLUMNS = ("first_name", "last_name", "scheme_price_guide_region", "state")
STAFF_COLUMNS = ("first_name", "last_name")
PRODUCT_COLUMNS = (
    *("type", "is_quote_required", "category_number", "category_number_pace"),
    *("non_face_to_face", "provider_travel", "short_notice_cancellation", "agency_requested_reports"),
    "irregular_sil",
)

# --- nested types ---------------------------------------------------------------------------------------


class PriceBookProductType(NestedType):
    """A product of a price book. Price is the national one valid today; null when there is none."""

    model = PriceBookEntry
    fields = (
        Key("ProductGuid", source="product"),
        ReadOnly("Code", source="product__code"),
        ReadOnly("Name", source="product__name"),
        ReadOnly("LongDescription", source="product__long_description"),
        ReadOnly("Price", description="The national price valid today; null when there is none."),
        ReadOnly("GstInclusive"),
    )


class PriceBookSummary(NestedType):
    type_name = "PriceBookBrief"
    model = PriceBook
    fields = (Key("PriceBookGuid"), ReadOnly("Name"))


class ProductSummary(NestedType):
    type_name = "ProductBrief"
    model = Product
    fields = (Key("ProductGuid"), ReadOnly("Code"), ReadOnly("Name"), ReadOnly("LongDescription"))


class CostCentreSummary(NestedType):
    type_name = "CostCentreBrief"
    model = CostCentre
    fields = (Key("CostCentreGuid"), ReadOnly("Name"))


#: When, how much, and at what price.
AMOUNTS = (
    Key("LineItemGuid"),
    Optional("Notes", description="The product's LongDescription when left out."),
    Optional("FromDate"),
    Optional("ToDate"),
    Required("Quantity"),
    Optional("Price", description="Required when the product has no price in the price book that day."),
    ReadOnly("Total"),
    ReadOnly("AmountPaid"),
)

#: How a line is taxed and claimed, and its dates of creation, change and archiving.
CLASSIFICATION = (
    Optional("TaxChoice"),
    Optional("ClaimType"),
    Optional("CancellationReason", description="Only when ClaimType is Cancellation."),
    *RECORD_DATES,
)

#: What was given, and whose price holds for it.
PRICED_BY = (
    RefersTo("PriceBook", PriceBookSummary, required=True),
    RefersTo("Product", ProductSummary, required=True, rule_columns=PRODUCT_COLUMNS),
)


class ClaimLineType(NestedType):
    """One support that is claimed."""

    model = ClaimLine
    draft_class = LineDraft
    fields = (*AMOUNTS, *CLASSIFICATION, *PRICED_BY)


class InvoiceLineType(NestedType):
    """One support that is invoiced; a credit item counts negative."""

    model = InvoiceLine
    draft_class = LineDraft
    fields = (
        *AMOUNTS,
        Optional("IsCreditItem", description="True needs a StaffGuid that may administer credit invoices."),
        *CLASSIFICATION,
        *PRICED_BY,
        RefersTo("CostCentre", CostCentreSummary),
    )


# --- resources ------------------------------------------------------------------------------------------

#: When the supports of a bill were given, and when it is to be paid.
SERVICE_DATES = Required("StartDate"), Required("EndDate"), Optional("DueDate")


def client_of_the_contact(partner: str) -> Property:
    return ReadOnly(
        "ClientGuid", source="contact__client", partner=partner, description="The client of the contact."
    )


def responsible_staff(partner: str) -> Property:
    return Required(
        "StaffGuid",
        source="staff",
        rule_columns=STAFF_COLUMNS,
        partner=partner,
        description="Needs the permission to view/administer funding invoices.",
    )


class ClaimResource(UnrestrictedResource):
    """A plan-managed claim to the funding agency, linked to a provider's invoice."""

    model = Claim
    draft_class = ClaimDraft
    path = "claim"
    search = Claim.searched.interface
    methods = GET, POST
    methods_of_2_1 = PUT, PATCH, DELETE
    has_warnings = True
    fields = (
        Key("ClaimGuid"),
        Optional("ClaimNumber", description="Assigned when left out."),
        Optional(
            "ProviderInvoiceReference",
            description="The provider invoice's when left out; required when that has none.",
        ),
        ReadOnly("ExternalInvoiceNumber"),
        *SERVICE_DATES,
        ReadOnly("PaymentDate"),
        ReadOnly("Total"),
        ReadOnly("Resubmitted"),
        ReadOnly("FundingStatus"),
        Optional("SendPaymentTo", description="As the provider invoice says when left out."),
        ReadOnly("MissingAbnReasonCode"),
        ReadOnly("CreationDate"),
        ReadOnly("ArchiveDate"),
        ReadOnly("ApprovedDate"),
        client_of_the_contact("Claims"),
        Optional(
            "ContactGuid",
            source="contact",
            rule_columns=CONTACT_COLUMNS,
            partner="Claims",
            description="The provider invoice's when left out; required when that has none.",
        ),
        Optional(
            "ProviderGuid",
            source="provider",
            rule_columns=PROVIDER_RULE_COLUMNS,
            partner="ProviderClaims",
            description="The provider invoice's when left out; required when that has none.",
        ),
        responsible_staff("Claims"),
        Required(
            "ProviderInvoiceGuid",
            source="provider_invoice",
            partner="Claims",
            description="One that is unused or reusable.",
        ),
        Contains("LineItems", ClaimLineType, required=True, order=("position",)),
    )
    fields_of_2_1 = (ReadOnly("ModifyDate"),)
    stored_sums = CLAIM_SUMS
    create, update, archive = create_claims, update_claims, archive_claims
    loads_references = True
    importing = ClaimImport


class InvoiceResource(UnrestrictedResource):
    """A funding invoice to the agency or to a client."""

    model = Invoice
    draft_class = InvoiceDraft
    path = "invoice"
    search = Invoice.searched.interface
    methods = GET, POST
    methods_of_2_1 = PUT, PATCH, DELETE
    has_warnings = True
    fields = (
        Key("InvoiceGuid"),
        Optional("InvoiceNumber", description="Assigned when left out."),
        ReadOnly("ExternalInvoiceNumber"),
        Required("InvoiceClaimType", body_name="InvoiceClaimTypeId"),
        *SERVICE_DATES,
        ReadOnly("PaymentDate"),
        ReadOnly("Total"),
        Required("IsRecurring"),
        Optional("RecurringStartDate", description="Required when IsRecurring is true, and only then."),
        Optional("RecurringEndDate", description="Only when IsRecurring is true."),
        Optional(
            "RecurringFrequency",
            body_name="RecurringFrequencyId",
            description="Required when IsRecurring is true, and only then.",
        ),
        ReadOnly("Resubmitted"),
        ReadOnly("FundingStatus"),
        ReadOnly("CreationDate"),
        ReadOnly("ApprovedDate"),
        ReadOnly("ArchiveDate"),
        client_of_the_contact("Invoices"),
        Required("ContactGuid", source="contact", rule_columns=CONTACT_COLUMNS, partner="Invoices"),
        responsible_staff("Invoices"),
        Contains("LineItems", InvoiceLineType, required=True, order=("position",)),
    )
    fields_of_2_1 = (ReadOnly("ModifyDate"),)
    create, update, archive = create_invoices, update_invoices, archive_invoices
    loads_references = True
    importing = InvoiceImport


class ProviderInvoiceResource(UnrestrictedResource):
    """What a provider billed, for claims to be built on."""

    model = ProviderInvoice
    draft_class = ProviderInvoiceDraft
    path = "providerInvoice"
    search = ProviderInvoice.searched.interface
    methods = GET, POST
    methods_of_2_1 = PATCH, DELETE
    fields = (
        Key("ProviderInvoiceGuid"),
        Optional("ProviderInvoiceReference", source="reference"),
        Optional("ServiceStartDate"),
        Optional("ServiceEndDate"),
        Optional("InvoiceTotal"),
        Optional("IsReusable"),
        Optional("SendPaymentTo"),
        ReadOnly("ApprovalStatus"),
        ReadOnly("AutoApproved"),
        ReadOnly("ClaimOnHold"),
        ReadOnly("RejectionReason"),
        Optional("ContactGuid", source="contact", partner="ProviderInvoices"),
        Optional("ProviderGuid", source="provider", partner="ProviderInvoices"),
        Optional("DocumentGuid", source="document", partner="ProviderInvoices"),
        Optional("CreatedByStaffGuid", source="created_by"),
        ReadOnly("ActionedByStaffGuid", source="actioned_by"),
        *RECORD_DATES,
    )
    create, update, archive = create_provider_invoices, update_provider_invoices, archive_provider_invoices
    importing = ProviderInvoiceImport


class ClaimResultType(NestedType):
    """The agency's answer to a line of a claim file."""

    model = ClaimResult
    fields = (
        ReadOnly("IsAccepted"),
        ReadOnly("Code", description="The agency's own."),
        ReadOnly("Text", description="The agency's own."),
        ReadOnly("Amount", description="What it will pay of the line; null when it does not say."),
        ReadOnly("IsCapped", description="True: no more than that."),
        ReadOnly("AnsweredDate", source="at"),
    )


class ClaimFileLineType(NestedType):
    """A line of a claim or an invoice in a claim file; Results has the agency's answer, once there is one."""

    model = ClaimFileLine
    fields = (
        ReadOnly("Position"),
        ReadOnly("Reference", description="By which the agency's answers name the line."),
        ReadOnly("ClaimGuid", source="claim"),
        ReadOnly("InvoiceGuid", source="invoice"),
        ReadOnly("Amount"),
        ReadOnly("IsWithdrawn"),
        Contains("Results", ClaimResultType, source="result", read_only=True, order=("id",)),
    )


class ClaimFileResource(UnrestrictedResource):
    """A file of claims and invoices for the agency, line by line."""

    model = ClaimFile
    path = "claimFile"
    since = V2_1
    order = ("-number",)
    further_rights = {"files": "Download claim files, in which scheme numbers stand."}
    fields = (
        Key("ClaimFileGuid"),
        ReadOnly("Number"),
        ReadOnly("FileName"),
        ReadOnly("Status"),
        ReadOnly("UntilDate", source="until", description="The last day of the supports in it."),
        ReadOnly("LineCount"),
        ReadOnly("Total"),
        ReadOnly("Sha256", description="Of the file as it was made."),
        ReadOnly("CreatedByStaffGuid", source="created_by"),
        ReadOnly("SentDate", source="sent_at"),
        ReadOnly("SentByStaffGuid", source="sent_by"),
        ReadOnly("WithdrawnDate", source="withdrawn_at"),
        ReadOnly("WithdrawnByStaffGuid", source="withdrawn_by"),
        *RECORD_DATES,
        Contains("Lines", ClaimFileLineType, read_only=True, order=("position",)),
    )


class RemittanceLineType(NestedType):
    """A payment of the agency for a line of a claim file, under its payment number."""

    model = RemittanceLine
    fields = (
        ReadOnly("Row", source="position"),
        ReadOnly("Reference", source="file_line__reference"),
        ReadOnly("ClaimGuid", source="file_line__claim"),
        ReadOnly("InvoiceGuid", source="file_line__invoice"),
        ReadOnly("PaymentNumber"),
        ReadOnly("PaidOn", source="day"),
        ReadOnly("Amount"),
        ReadOnly("AmountClaimed", source="claimed", description="As the agency has it."),
        ReadOnly("IsApplied"),
        ReadOnly("Reason", description="Why it changed nothing; empty when it is applied."),
    )


class RemittanceResource(UnrestrictedResource):
    """A list of what the agency paid, row by row; the list itself is not kept."""

    model = Remittance
    path = "remittance"
    since = V2_1
    fields = (
        Key("RemittanceGuid"),
        ReadOnly("FileName"),
        ReadOnly("PaidOn", source="day", description="The last day on which it paid."),
        ReadOnly("RowCount"),
        ReadOnly("Total"),
        ReadOnly("RowsOfOthers", source="unmatched_count", description="With references of nobody here."),
        ReadOnly("TotalOfOthers", source="unmatched_total"),
        ReadOnly("Sha256"),
        ReadOnly("ReceivedByStaffGuid", source="received_by"),
        *RECORD_DATES,
        Contains("Lines", RemittanceLineType, read_only=True, order=("position",)),
    )


class PriceBookResource(LookupResource):
    """A list of products with their prices; every line of a claim or an invoice names one."""

    model = PriceBook
    path = "priceBook"
    fields = (
        Key("PriceBookGuid"),
        ReadOnly("Name"),
        *RECORD_DATES,
        Contains(
            "Products", PriceBookProductType, source="entries", order=("product__code",), read_only=True
        ),
    )


class PriceRangeType(NestedType):
    """A price in a zone from one day to another; known by its zone and its first day, so it has no key."""

    type_name = "PriceRange"
    model = Price
    fields = (
        Required("Zone"),
        Required("FromDate", source="start_date"),
        Optional("ToDate", source="end_date", description="The last day; null: until further."),
        Optional("Amount", description="Null: the product must be quoted."),
    )
    draft_class = PriceDraft


class PriceBookEntryResource(UnrestrictedResource):
    """A product in a price book with its prices, by zone and day."""

    model = PriceBookEntry
    path = "priceBookEntry"
    since = V2_1
    methods_of_2_1 = (PATCH,)
    fields = (
        Key("PriceBookEntryGuid"),
        ReadOnly("PriceBookGuid", source="price_book"),
        ReadOnly("ProductGuid", source="product"),
        ReadOnly("ProductCode", source="product__code"),
        ReadOnly("ProductName", source="product__name"),
        Optional("GstInclusive"),
        *RECORD_DATES,
        Contains("Prices", PriceRangeType, order=("zone", "start_date")),
    )
    draft_class = PriceListDraft
    update = update_price_lists


class CostCentreResource(LookupResource):
    """Where an invoice line is booked."""

    model = CostCentre
    path = "costCentre"
    fields = (Key("CostCentreGuid"), ReadOnly("Name"), *RECORD_DATES)
