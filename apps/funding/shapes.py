"""The objects that funding's records are made of and referred to by (interface.md 2.5, decisions.md 7)."""

from apps.funding.models import ClaimLine, CostCentre, InvoiceLine, PriceBook, PriceBookEntry, Product
from apps.odata.declaration.resource import (
    Key,
    Navigation,
    NestedType,
    Optional,
    Property,
    ReadOnly,
    RefersTo,
    Required,
)


class PriceBookProductShape(NestedType):
    """A product of a price book. Price is the national one valid today; null when there is none."""

    model = PriceBookEntry
    fields = (
        ReadOnly("ProductGuid", source="product"),
        ReadOnly("Code", source="product__code"),
        ReadOnly("Name", source="product__name"),
        ReadOnly("LongDescription", source="product__long_description"),
        ReadOnly("Price", description="The national price valid today; null when there is none."),
        ReadOnly("GstInclusive"),
    )


class PriceBookBrief(NestedType):
    model = PriceBook
    fields = (Key("PriceBookGuid"), ReadOnly("Name"))


class ProductBrief(NestedType):
    model = Product
    fields = (Key("ProductGuid"), ReadOnly("Code"), ReadOnly("Name"), ReadOnly("LongDescription"))


class CostCentreBrief(NestedType):
    model = CostCentre
    fields = (Key("CostCentreGuid"), ReadOnly("Name"))


def amounts() -> tuple[Property, ...]:
    """When, how much, and at what price."""
    return (
        Key("LineItemGuid"),
        Optional("Notes", description="The product's LongDescription when left out."),
        Optional("FromDate"),
        Optional("ToDate"),
        Required("Quantity"),
        Optional("Price", description="Required when the product has no price in the price book that day."),
        ReadOnly("Total"),
        ReadOnly("AmountPaid"),
    )


def classification() -> tuple[Property, ...]:
    """How a line is taxed and claimed, and its stamps."""
    return (
        Optional("TaxChoice"),
        Optional("ClaimType"),
        Optional("CancellationReason", description="Only when ClaimType is Cancellation."),
        ReadOnly("CreationDate"),
        ReadOnly("ModifyDate"),
        ReadOnly("ArchiveDate"),
    )


def priced_by() -> tuple[Navigation, ...]:
    """What was given, and whose price holds for it."""
    return (
        RefersTo("PriceBook", PriceBookBrief, required=True),
        RefersTo("Product", ProductBrief, required=True),
    )


class ClaimLineShape(NestedType):
    """One support that is claimed."""

    model = ClaimLine
    fields = (*amounts(), *classification(), *priced_by())


class InvoiceLineShape(NestedType):
    """One support that is invoiced; a credit item counts negative."""

    model = InvoiceLine
    fields = (
        *amounts(),
        Optional("IsCreditItem", description="True needs a StaffGuid that may administer credit invoices."),
        *classification(),
        *priced_by(),
        RefersTo("CostCentre", CostCentreBrief),
    )
