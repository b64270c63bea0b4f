"""A whole and a bare record of every kind of funding, for the tests over all resources."""

from apps.odata import clock
from tests.funding.builders import a_cost_centre, a_price, a_price_book, a_product, an_entry


def funding_records():
    """({entity set: key of a whole record}, {entity set: key of a bare one})."""
    book = a_price_book(name="O'Hara's 50% – 🚀")
    a_price(an_entry(book, a_product(name="Café & co", long_description="Two\nlines"), gst_inclusive=True))
    a_price(an_entry(book), amount="1616.2612")
    an_entry(book)
    return (
        {"PriceBook": str(book.pk), "CostCentre": str(a_cost_centre().pk)},
        {
            "PriceBook": str(a_price_book(archive_date=clock.now()).pk),
            "CostCentre": str(a_cost_centre(archive_date=clock.now()).pk),
        },
    )
