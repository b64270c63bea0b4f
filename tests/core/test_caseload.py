"""How the records of a caseload are found; whose they are is tested with the interface and the office."""

import datetime as dt

import pytest

from apps.base import clock
from apps.core import caseload
from apps.core.caseload import Caseload
from apps.funding.models import Claim
from tests.people.builders import a_contact, a_staff_member

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("own", "others", "is_few"), [(5, 0, True), (6, 0, False), (6, 1, False), (6, 2, True)]
)
def test_the_records_of_few_participants_are_found_by_these(
    monkeypatch, django_assert_num_queries, own, others, is_few
):
    """Where it is five times, few are five of five, and six of eight."""
    monkeypatch.setattr(caseload, "FEW", 5)
    manager, other = a_staff_member(), a_staff_member()
    for number in range(own + others):
        a_contact(AccountManager={"StaffGuid": str((manager if number < own else other).pk)})
    sees = Caseload((manager.pk,), lambda: ([], [], [manager.pk]))
    with django_assert_num_queries(2):
        found = sees.visible(Claim.objects.all())
    assert ("EXISTS" not in str(found.query)) is is_few
    with django_assert_num_queries(0):  # it is counted once a day
        sees.visible(Claim.objects.all())
    with clock.set_to(clock.now() + dt.timedelta(days=1)), django_assert_num_queries(2):
        sees.visible(Claim.objects.all())
