"""The objects that funding's records are made of and referred to by (interface.md 2.5, decisions.md 7)."""

from apps.funding.models import PriceBookEntry
from apps.odata.declaration import ReadOnly, Shape


class PriceBookProductShape(Shape):
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
