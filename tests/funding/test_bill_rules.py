"""Rules of the lines of claims and invoices, where an entry point has let an amount through."""

from decimal import Decimal

import pytest

from apps.base.drafts import apply_rules
from apps.funding.drafts import BillDraft, LineDraft
from apps.funding.validation.bills import LINE_RULES

PRICE = ("OutOfRange", ("line_items", 0, "price"))


@pytest.mark.parametrize(
    ("quantity", "expected"),
    [
        ({"quantity": Decimal(0)}, [("OutOfRange", ("line_items", 0, "quantity")), PRICE]),
        ({}, [PRICE]),
    ],
)
def test_an_invalid_quantity_does_not_hide_a_negative_price(quantity, expected):
    others = ("first_day", "last_day", "cancellation_reason", "total")
    invalid = others if quantity else (*others, "quantity")
    line = LineDraft({"price": Decimal("-0.01"), **quantity}, invalid=invalid)
    found = apply_rules([BillDraft({"line_items": [line]})], [LINE_RULES], [None])
    assert [(issue.code, issue.field) for _, issue in found] == expected
