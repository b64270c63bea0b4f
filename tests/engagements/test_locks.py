"""Budgets and plans that somebody claims on meanwhile: each test fails without the lock of its service."""

import pytest

from apps.base.drafts import ValidationFailed, WarningsPresent
from apps.engagements.models import ClientEngagement
from apps.engagements.services import archive_engagements, delete_budget
from tests.engagements.builders import a_booking, add_amounts, amounts
from tests.races import call_during

pytestmark = [
    pytest.mark.postgres("SQLite has one writer and its test database one connection"),
    pytest.mark.django_db(transaction=True),
]


def claim_on(booking):
    """What entering a claim writes to plan and booking."""
    ClientEngagement.objects.select_for_update(no_key=True).get(pk=booking.engagement_id)
    add_amounts({booking.pk: amounts(waiting="1.00")})


def test_a_budget_that_is_claimed_on_meanwhile_is_not_deleted():
    booking = a_booking()
    with pytest.raises(ValidationFailed, match="Money was claimed on"):
        call_during(lambda: claim_on(booking), lambda: delete_budget(booking))


def test_a_plan_that_is_claimed_on_meanwhile_is_not_archived_without_a_warning():
    booking = a_booking()
    plans = ClientEngagement.objects.filter(pk=booking.engagement_id)
    with pytest.raises(WarningsPresent):
        call_during(lambda: claim_on(booking), lambda: archive_engagements(plans))
