"""Drafts: what their classes declare, and what reading and setting an attribute does."""

from decimal import Decimal

import pytest

from apps.base.drafts import Draft, Extra, InvalidValue, Issue, ValidationFailed, WarningsPresent


class OrderDraft(Draft):
    name: str
    total: Extra[Decimal] = Decimal(0)


def test_what_a_service_works_out_has_the_default_of_its_class():
    order, other = OrderDraft({"name": "a"}), OrderDraft({"name": "b"})
    order.total += 5
    assert (order.total, order.get("total"), other.total, other.get("total")) == (5, 5, 0, None)


def test_an_attribute_that_the_class_does_not_declare_cannot_be_set():
    with pytest.raises(AttributeError, match="OrderDraft declares no extra attribute 'sum'"):
        OrderDraft({"name": "a"}).sum = 5


def test_a_member_is_no_extra_attribute():
    """Forms and bodies give it: a rule that sets one that is not there has mistaken its name."""
    with pytest.raises(AttributeError, match="OrderDraft declares no extra attribute 'name'"):
        OrderDraft({}).name = "a"


def test_a_subclass_has_the_extra_attributes_of_its_bases():
    class UrgentOrderDraft(OrderDraft):
        until: Extra[str | None] = None

    assert UrgentOrderDraft.extra_attributes == {"total", "until"}


def test_an_invalid_member_cannot_be_read():
    draft = Draft({"name": "a"}, given=["name"])
    draft.mark_invalid("name")
    with pytest.raises(InvalidValue):
        _ = draft.name
    assert draft.get("name") is None


def test_a_member_that_no_draft_has_is_a_mistake_of_the_rule():
    with pytest.raises(AttributeError, match="no member 'nmae'"):
        _ = Draft({"name": "a"}).nmae


def test_only_warnings_have_the_severity_of_one():
    issues = [(1, Issue("Odd", "name", "Odd.")), (0, Issue("Odd", "name", "Odd."))]
    assert [issue.severity for _, issue in ValidationFailed(issues).issues] == ["error", "error"]
    assert [(n, issue.severity) for n, issue in WarningsPresent(issues).issues] == [
        (0, "warning"),
        (1, "warning"),
    ]
