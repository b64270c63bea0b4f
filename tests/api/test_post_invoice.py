"""POST /invoice (interface.md 4.4)."""

from tests.api.caller import ok
from tests.funding.bodies import an_invoice_body


def test_an_invoice_is_answered_as_get_shows_it(api):
    made = ok(api.post("invoice", an_invoice_body(), {"ignoreWarnings": "true"}), 201)
    assert made == ok(api.get(f"invoice/{made['InvoiceGuid']}", {"$expand": "*"}))
    assert (made["InvoiceNumber"], made["Total"]) == ("INV-0000001", 140.0)
