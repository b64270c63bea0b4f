"""What tests of imports of bills share: an office with provider invoices and prices, files of their lines."""

from tests.funding.bodies import a_full_provider_invoice, a_funder
from tests.funding.builders import a_cost_centre, a_price, a_price_book, a_product, an_entry
from tests.people.builders import a_client, a_contact

HEADER = (
    "Claim No,Invoice No,Provider ABN,NDIS Number,Staff email,Start date,End date,Support item,Price book,"
    "Qty,Unit price,Service date"
)
FIRST = "C-1,INV-1,51 824 753 556,430000001,fay@example.org,07/07/2025,13/07/2025"
SECOND = "C-2,INV-2,51824753556,43 000 0001,fay@example.org,2025-07-14,2025-07-20"
GOOD = (
    f"{FIRST},01_011_0107_1_1,guide,2,,07/07/2025",
    f"{FIRST},01_799_0107_1_1,Guide,1.5,65.50,08/07/2025",
    f"{SECOND},01_011_0107_1_1,Guide,3,,14/07/2025",
)


def an_office():
    """A provider's invoices for a participant, a funder, and two priced products in a price book."""
    a_funder(primary_email="fay@example.org")
    provider = a_client(BusinessName="Harbour Care", BusinessNumber="51824753556", UniqueCode="HC")
    contact = a_contact(SchemeNumber="430000001")
    book = a_price_book(name="Guide")
    for code in ("01_011_0107_1_1", "01_799_0107_1_1"):
        product = a_product(code=code, long_description=f"What {code} is.")
        a_price(an_entry(book, product), amount="70.00")
    for number in range(1, 10):
        a_full_provider_invoice(reference=f"INV-{number}", contact=contact, provider=provider)
    a_cost_centre(name="North")


def a_file(folder, *rows, header=HEADER, name="claims.csv"):
    path = folder / name
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path
