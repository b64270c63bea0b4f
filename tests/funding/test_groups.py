"""Claims and invoices of a list by month or status: each group opens the list of exactly its bills."""

import datetime as dt
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from apps.funding.models import Claim
from apps.funding.statuses import ClaimStatus
from tests.funding.builders import a_claim
from tests.people.records import a_role, a_staff_member, an_administrator, get_unrendered

pytestmark = pytest.mark.both_engines("groups are sums of the database")

LIST = "/admin/funding/claim/"
SYDNEY = ZoneInfo("Australia/Sydney")
MONTHS = [(2026, 2), (2026, 3), (2026, 3)]


@pytest.fixture
def claims(client, db):
    client.force_login(an_administrator())
    for number, (year, month) in enumerate(MONTHS):
        claim = a_claim()
        entered = dt.datetime(year, month, 1, 0, 30, tzinfo=SYDNEY)
        status = ClaimStatus.ON_HOLD if number == 0 else ClaimStatus("PaymentProviderRejected")
        Claim.objects.filter(pk=claim.pk).update(
            creation_date=entered, total=Decimal(10 + number), funding_status=status
        )
    older = Claim.objects.order_by("creation_date").last()
    Claim.objects.filter(funding_status=ClaimStatus("PaymentProviderRejected")).exclude(pk=older.pk).update(
        resubmission_of=older
    )


@pytest.mark.parametrize(
    ("by", "filters", "groups"),
    [
        ("month", "", [("March 2026", 2, 23), ("February 2026", 1, 10)]),
        ("status", "", [("Refused", 2, 23), ("On hold", 1, 10)]),
        ("status", "?creation_date_to=2026-02-28", [("On hold", 1, 10)]),
        ("month", "?creation_date_from=2026-03-01&phase=rejected", [("March 2026", 2, 23)]),
    ],
)
def test_groups_have_the_numbers_and_sums_of_the_lists_that_they_open(client, claims, by, filters, groups):
    page = client.get(f"{LIST}groups/{by}/{filters}")
    rows = page.context["rows"]
    assert sorted((row.label, row.cell.count, row.cell.total) for row in rows) == sorted(groups)
    assert page.context["total"].count == sum(count for _, count, _ in groups)
    for row in rows:
        cl = get_unrendered(client, row.link).context["cl"]
        assert (cl.sum_count, cl.sum) == (row.cell.count, row.cell.total)


@pytest.mark.parametrize(("address", "status"), [("groups/colour/", 404), ("groups/month/?nothing=1", 404)])
def test_unknown_groupings_and_filters_are_not_found(client, claims, address, status):
    assert client.get(LIST + address).status_code == status


@pytest.mark.django_db
def test_groups_are_for_those_who_may_view_the_list(client):
    client.force_login(a_staff_member(role=a_role("people.view_contact")))
    assert client.get(f"{LIST}groups/month/").status_code == 403
