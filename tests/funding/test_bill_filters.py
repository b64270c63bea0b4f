"""What auditors ask of the lists of claims and invoices: which have an item, which one person saw alone."""

from importlib import import_module

import pytest
from django.apps import apps
from django.core.management import call_command

from apps.core.models import Subscriber
from apps.funding.models import StatusMove
from apps.funding.services.transitions import apply_transition
from tests.funding.admin_forms import CLAIMS, INVOICES
from tests.funding.builders import a_claim, an_entry, an_invoice
from tests.people.records import an_administrator, get_unrendered

pytestmark = [pytest.mark.django_db, pytest.mark.both_engines("bills are found by statements of their own")]


def listed(client, address, **query):
    changes = get_unrendered(client, address, query).context["cl"]
    return [each.pk for each in changes.result_list], changes.sum


def test_bills_with_a_line_of_a_product_are_listed_once(client, ada):
    entry = an_entry()
    mine = a_claim(lines=[{"entry": entry}, {"entry": entry}, {"entry": an_entry()}])
    invoice = an_invoice(lines=[{"entry": entry}])
    a_claim(lines=[{"entry": an_entry()}])
    query = {"line_items__product__guid__exact": str(entry.product_id)}
    assert listed(client, CLAIMS, **query) == ([mine.pk], mine.total)
    assert listed(client, INVOICES, **query) == ([invoice.pk], invoice.total)


def test_bills_that_one_person_entered_and_approved_are_listed(client, ada):
    Subscriber.objects.update_or_create(pk=1, defaults={"four_eyes": False})
    other = an_administrator()
    bills = {
        (make, approver): make(entered_by=ada, funding_status="AwaitingStaffApproval")
        for make in (a_claim, an_invoice)
        for approver in (ada, other, None)
    }
    for (_, approver), bill in bills.items():
        if approver is not None:
            assert apply_transition(type(bill), [bill.pk], "hold", approver, "A question").done
            assert apply_transition(type(bill), [bill.pk], "approve", approver).done
    for address, make in ((CLAIMS, a_claim), (INVOICES, an_invoice)):
        assert listed(client, address, approval="own")[0] == [bills[make, ada].pk]
    # Those of before the column was there are found as well, and those of workers that did not know it yet.
    marked = list(StatusMove.objects.filter(is_own_approval=True).order_by("pk"))
    migration = import_module("apps.funding.migrations.0029_own_approvals")
    for mark in (lambda: migration.mark_own_approvals(apps, None), lambda: call_command("recount_budgets")):
        StatusMove.objects.update(is_own_approval=False)
        mark()
        assert list(StatusMove.objects.filter(is_own_approval=True).order_by("pk")) == marked
    assert [move.verb for move in marked] == ["approve", "approve"]
