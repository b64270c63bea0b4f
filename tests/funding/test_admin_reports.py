"""The pages that show all queues at once, and what months came to."""

import datetime as dt
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils.html import escape

from apps.base import clock
from apps.core.models import Subscriber
from apps.funding.models import Claim
from tests.engagements.builders import a_booking, a_category_budget, a_plan
from tests.funding.admin_forms import CLAIMS, INVOICES, PROVIDER_INVOICES
from tests.funding.builders import a_claim, a_provider_invoice, an_invoice
from tests.people.records import a_client, a_contact, a_role, a_staff_member, get_unrendered

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("on_a_thursday", "ada"),
    pytest.mark.both_engines("figures are statements of their own"),
]
QUEUES, MONTH_END = f"{CLAIMS}queues/", f"{CLAIMS}month-end/"


def an_unclaimed_invoice(**columns):
    return a_provider_invoice(contact=a_contact(), provider=a_client(), **columns)


def queues_of(client):
    page = get_unrendered(client, QUEUES)
    return {
        title: {each["queue"].label: (each["queue"].count_label, each["queue"].days) for each in queues}
        for title, queues in page.context["groups"]
    }


def set_entry_date(claim, moment, **columns):
    at = dt.datetime.fromisoformat(moment)
    Claim.objects.filter(pk=claim.pk).update(creation_date=at, status_date=at, **columns)


def sums_by_month(row, months):
    """The sums of a row that has any, by month."""
    return {month: cell.total for month, cell in zip(months, row.cells, strict=True) if cell.count}


def test_queues_say_how_many_wait_and_for_how_long_and_leave_out_what_is_settled(client):
    now = clock.now()
    a_claim(status_date=now - dt.timedelta(days=9)), a_claim(status_date=now - dt.timedelta(days=2))
    a_claim(funding_status="OnHold", status_date=now)
    for settled in ("AgencyFullyPaid", "Cancelled"):
        a_claim(funding_status=settled, status_date=now)
    an_invoice(funding_status="Sent", status_date=now - dt.timedelta(days=30))
    an_unclaimed_invoice(creation_date=now - dt.timedelta(days=4))
    found = queues_of(client)
    assert found["Claims"] == {"Awaiting staff approval": ("2", 9), "On hold": ("1", 0)}
    assert found["Invoices"] == {"Sent": ("1", 30)}
    assert found["Provider invoices"]["To be claimed"] == ("1", 4)
    assert found["Provider invoices"]["To review"][0] == "4"  # those of the three claims before approval, too


def test_the_next_claim_is_of_the_provider_invoice_that_waits_longest(client):
    assert client.get(f"{CLAIMS}next/").url == f"{PROVIDER_INVOICES}?status=waiting"
    assert get_unrendered(client, QUEUES).context["next_link"] is None
    now = clock.now()
    an_unclaimed_invoice(creation_date=now)
    oldest = an_unclaimed_invoice(creation_date=now - dt.timedelta(days=1))
    address = f"{CLAIMS}add/?provider_invoice={oldest.pk}"
    assert client.get(f"{CLAIMS}next/").url == address
    assert address in client.get(QUEUES).content.decode()


def test_months_are_the_subscriber_s_and_archived_claims_are_not_counted(client):
    june, july, archived, old = a_claim(), a_claim(), a_claim(), a_claim()
    set_entry_date(
        june, "2026-06-30T13:59:59+00:00", funding_status="AgencyFullyPaid", total=Decimal("10.00")
    )
    set_entry_date(july, "2026-06-30T14:00:00+00:00", total=Decimal("20.50"))  # already July in Sydney
    set_entry_date(archived, "2026-07-01T00:00:00+00:00", archive_date=clock.now())
    set_entry_date(old, "2025-08-01T00:00:00+00:00")
    page = get_unrendered(client, MONTH_END)
    months = [f"{month:%Y-%m}" for month, _ in page.context["months"]]
    assert (months[0], months[-1], len(months)) == ("2026-08", "2025-09", 12)
    sums = {row.label: sums_by_month(row, months) for row in page.context["rows"]}
    assert sums == {
        "Awaiting staff approval": {"2026-07": Decimal("20.50")},
        "Fully paid by the agency": {"2026-06": Decimal("10.00")},
    }
    assert page.context["totals"][-1].total == Decimal("30.50")


def test_open_claims_are_aged_and_settled_ones_are_not(client):
    for days, status in ((1, "Approved"), (31, "Approved"), (200, "OnHold"), (200, "AgencyFullyPaid")):
        a_claim(funding_status=status, status_date=clock.now() - dt.timedelta(days=days))
    old = a_claim(funding_status="PaymentProviderRejected")
    a_claim(resubmission_of=old, status_date=clock.now() - dt.timedelta(days=70))
    page = get_unrendered(client, MONTH_END)
    aged = {row.label: [cell.count for cell in row.cells] for row in page.context["open"]}
    assert aged == {
        "Awaiting staff approval": [0, 0, 1, 0],
        "Approved": [1, 1, 0, 0],
        "On hold": [0, 0, 0, 1],
    }
    assert page.context["open_totals"][-1].count == 4


def test_each_figure_and_month_of_month_end_leads_to_the_claims_it_counts(client):
    for entered, since in (
        ("2026-07-31T13:59:59", 30),
        ("2026-07-31T14:00:00", 31),
        ("2026-06-30T14:00", 91),
    ):
        claim = a_claim(funding_status="Approved")
        set_entry_date(claim, f"{entered}+00:00")
        # The first and the last moment of a day in Sydney belong to one group.
        at = dt.datetime.combine(clock.today() - dt.timedelta(days=since), dt.time.min, dt.UTC)
        Claim.objects.filter(pk=claim.pk).update(status_date=at - dt.timedelta(hours=10))
    rejected = a_claim(funding_status="PaymentProviderRejected")
    a_claim(resubmission_of=rejected)
    page = get_unrendered(client, MONTH_END)
    cells = [
        cell for name in ("rows", "open") for row in page.context[name] for cell in row.cells if cell.count
    ]
    assert len(cells) == 8
    assert [len(listed(client, cell.link)) for cell in cells] == [cell.count for cell in cells]
    totals = page.context["totals"]
    links = [link for _, link in page.context["months"]]
    assert [len(listed(client, link)) for link in links] == [cell.count for cell in totals[:-1]]
    shown = client.get(MONTH_END).content.decode()
    assert all(escape(link) in shown for link in [*links, *(cell.link for cell in cells)])


@pytest.mark.parametrize("address", [QUEUES, MONTH_END])
def test_pages_of_sums_take_the_same_statements_for_any_number_of_claims(
    client, address, django_assert_max_num_queries
):
    Subscriber.current()  # read once in a few seconds
    client.get(address)  # the first request of a session writes it
    counts = []
    for number in (1, 5):
        for _ in range(number):
            a_claim()
        with django_assert_max_num_queries(15) as counted:
            assert client.get(address).status_code == 200
        counts.append(len(counted))
    assert counts[0] == counts[1]


def test_without_the_permission_there_are_no_queues(client):
    a_claim(), an_invoice()
    client.force_login(a_staff_member(role=a_role("funding.view_product")))
    for address in (QUEUES, MONTH_END, f"{CLAIMS}next/"):
        assert client.get(address).status_code == 403
    client.force_login(a_staff_member(role=a_role("funding.view_claim")))
    groups = get_unrendered(client, QUEUES).context_data["groups"]
    assert [title for title, _ in groups] == ["Claims"]


# --- what draws on a budget -----------------------------------------------------------------------------


def listed(client, address):
    return {str(bill) for bill in get_unrendered(client, address).context["cl"].result_list}


def test_a_plans_page_leads_to_the_claims_and_invoices_that_draw_on_each_booking(client):
    plan = a_plan(participant=a_contact())
    booking, other = a_booking(plan), a_booking(plan, category=3)
    drawing, _ = a_claim([{"booking": booking}] * 2), a_claim([{"booking": other}])
    invoice, _ = an_invoice([{"booking": booking}]), an_invoice()
    page = client.get(f"/admin/engagements/clientengagement/{plan.pk}/plan/").content.decode()
    to_claims, to_invoices = (f"{where}?draws_on={booking.pk}" for where in (CLAIMS, INVOICES))
    assert f'href="{to_claims}"' in page
    assert f'href="{to_invoices}"' in page
    assert listed(client, to_claims) == {str(drawing)}
    assert listed(client, to_invoices) == {str(invoice)}
    answer = client.get(to_claims)
    assert f"{booking}</a> of {plan.participant}" in answer.content.decode()
    assert not any(tab["on"] for tab in answer.context["tabs"])


def test_claims_are_listed_by_the_budget_of_a_category_that_they_draw_on(client):
    budget = a_category_budget()
    drawing, _ = a_claim([{"category_budget": budget}]), a_claim()
    assert listed(client, f"{CLAIMS}?draws_on={budget.pk}") == {str(drawing)}


def test_the_page_of_a_claim_names_the_plan_of_a_line_without_a_booking(client):
    budget = a_category_budget()
    claim = a_claim([{"category_budget": budget}], funding_status="AgencyClaimed")
    page = client.get(f"{CLAIMS}{claim.pk}/change/").content.decode()
    address = reverse("admin:engagements_clientengagement_plan", args=[budget.engagement_id])
    assert f'{address}">Plan</a>' in page


def test_a_key_that_no_budget_has_leaves_the_list_as_it_is(client):
    claim = a_claim()
    for key in ("", "soon", "018c23ca-7500-7023-a36b-777918c2d0af"):
        assert listed(client, f"{CLAIMS}?draws_on={key}") == {str(claim)}


def test_a_plans_page_leads_only_those_to_claims_who_may_see_them(client):
    booking = a_booking()
    client.force_login(a_staff_member(role=a_role("engagements.view_clientengagement")))
    page = client.get(f"/admin/engagements/clientengagement/{booking.engagement_id}/plan/")
    assert page.status_code == 200
    assert "draws_on" not in page.content.decode()
