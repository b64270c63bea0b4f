"""The resources of funding, declared in the words of decisions.md 7."""

from typing import Any

from django.db.models import QuerySet

from apps.funding.models import CostCentre, PriceBook
from apps.funding.shapes import PriceBookProductShape
from apps.odata.declaration import Contains, Key, ReadOnly, Resource

STAMPS = (ReadOnly("CreationDate"), ReadOnly("ModifyDate"), ReadOnly("ArchiveDate"))


class PriceBookResource(Resource):
    """A list of products with their prices; every line of a claim or an invoice names one."""

    model = PriceBook
    path = "priceBook"
    order = ("name",)
    fields = (
        Key("PriceBookGuid"),
        ReadOnly("Name"),
        *STAMPS,
        Contains(
            "Products", PriceBookProductShape, source="entries", order=("product__code",), read_only=True
        ),
    )

    def visible_to(self, caller: Any) -> QuerySet[PriceBook]:
        return PriceBook.objects.all()


class CostCentreResource(Resource):
    """Where an invoice line is booked."""

    model = CostCentre
    path = "costCentre"
    order = ("name",)
    fields = (Key("CostCentreGuid"), ReadOnly("Name"), *STAMPS)

    def visible_to(self, caller: Any) -> QuerySet[CostCentre]:
        return CostCentre.objects.all()
