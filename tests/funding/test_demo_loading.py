"""How the demo's bills are loaded: the same for the same seed and day, in the volume asked for."""

import datetime as dt

import pytest
from django.db import transaction

from apps.core.demo import Size, sizes_of
from apps.engagements.models import CategoryBudget, ServiceBooking
from apps.funding.choices import ClaimStatus
from apps.funding.demo import lives
from apps.funding.demo.loading import FUNDING
from apps.funding.demo.planted import PLANTED
from apps.funding.models import (
    AcknowledgedWarning,
    Claim,
    ClaimLine,
    Invoice,
    InvoiceLine,
    ProviderInvoice,
    StatusMove,
)
from apps.funding.services import budgets
from apps.funding.statuses import TRANSITIONS, Target
from tests.funding.demo_loads import DAY, SIZE, load_demo

pytestmark = pytest.mark.django_db

MODELS = (ProviderInvoice, Claim, ClaimLine, Invoice, InvoiceLine, ServiceBooking, CategoryBudget)
PAID = ClaimStatus.AGENCY_FULLY_PAID


@pytest.fixture(autouse=True)
def on_the_day(at):
    at(f"{DAY} 10:00")


def everything_loaded(**words):
    with transaction.atomic():
        load_demo(**words)
        found = {model: list(model.objects.order_by("pk").values()) for model in MODELS}
        for model in (StatusMove, AcknowledgedWarning):
            found[model] = [{**row, "id": None} for row in model.objects.order_by("id").values()]
        transaction.set_rollback(True)
    return found


def test_the_same_seed_and_day_give_the_same_and_another_seed_others():
    first = everything_loaded(claims=120)
    assert first == everything_loaded(claims=120)
    other = everything_loaded(claims=120, seed=2)
    assert not {row["guid"] for row in first[Claim]} & {row["guid"] for row in other[Claim]}


def test_where_nobody_can_be_billed_there_are_no_bills():
    load_demo(clients=1, staff=1, contacts=0, documents=0)
    assert not Claim.objects.exists()
    assert not Invoice.objects.exists()
    assert ProviderInvoice.objects.count() == SIZE["inbox"]


def test_there_are_as_many_as_asked_for_on_a_day_when_not_everything_can_be_planted():
    load_demo(as_of=dt.date(2026, 7, 1), claims=90)
    assert Claim.objects.count() == 90
    assert not AcknowledgedWarning.objects.filter(code="ItemNotCurrent").exists()
    assert AcknowledgedWarning.objects.filter(code="PriceOverCap").exists()


def test_more_claims_bring_more_people_where_those_were_not_told():
    brought = sizes_of([Size("people", 10, 0, ""), Size("claims", 5, 0, "", brings={"people": 4})], {})
    assert brought == {"people": 10, "claims": 5}
    known = [Size("people", 10, 0, ""), *FUNDING.sizes]
    assert sizes_of(known, {"claims": 200_000})["invoices"] == 25_000
    assert sizes_of(known, {"claims": 200_000, "invoices": 7})["invoices"] == 7


def test_claims_stand_everywhere_and_the_older_the_more_are_paid():
    load_demo(claims=1500)
    assert set(Claim.objects.values_list("funding_status", flat=True)) >= set(ClaimStatus.values) - {
        "PaymentProviderCancellationRequested",
        "SubmittedToPaymentProvider",
    }
    old = Claim.objects.filter(creation_date__date__lt=DAY - dt.timedelta(days=90))
    new = Claim.objects.filter(creation_date__date__gt=DAY - dt.timedelta(days=7))
    assert old.filter(funding_status=PAID).count() > 0.85 * old.count()
    assert new.filter(funding_status="AwaitingStaffApproval").count() > 0.3 * new.count()
    held = Claim.objects.filter(funding_status="OnHold")
    assert not held.filter(status_reason=None).exists()
    assert len({claim.status_date.date() for claim in held}) > 5
    for status in ("PaymentProviderRejected", "AgencyPartiallyPaid"):
        assert Claim.objects.filter(resubmission_of__funding_status=status, resubmitted=True).exists()
    assert Claim.objects.filter(archive_date__isnull=False).exists()
    assert budgets.recount_budgets() == (0, 0)
    over = [booking for booking in ServiceBooking.objects.all() if booking.left < 0]
    assert len(over) == 1  # the planted one
    standing = ProviderInvoice.objects.filter(is_reusable=True)
    assert any(paper.claims.count() > 2 for paper in standing)


def test_every_step_is_one_of_the_table():
    ways = [("claim", lives.OF_CLAIMS), ("claim", lives.OF_RESUBMITTED)]
    ways += [("invoice", lives.OF_INVOICES_TO_AGENCY), ("invoice", lives.OF_INVOICES_TO_CLIENTS)]
    for kind, found in ways:
        assert sum(life.weight for life in found) == 1000
        for life in found:
            status = lives.AWAITING
            for step in life.steps:
                verb = lives.verb(status, step.to, bool(step.reasons))
                row = next(row for row in TRANSITIONS if row.name == verb and status in row.sources)
                assert kind in {model._meta.model_name for model in row.models}
                assert step.to == lives.ARCHIVED or row.target in (step.to, Target.PREVIOUS)
                assert bool(step.reasons) or not row.needs_reason
                status = status if step.to == lives.ARCHIVED else step.to


def test_every_warning_was_planted_that_a_claim_can_have():
    told = set(PLANTED)
    # Bookings last as long as their plan in the demo, so nothing lies beside them only.
    assert told == {
        *("PriceOverCap", "ItemNotCurrent", "QuoteRequired", "ClaimTypeNotAllowed", "DayMismatch"),
        *("NoEngagement", "OutsidePlan", "NoBooking", "WrongManagement", "OverBudget", "AfterBooking"),
        *("DuplicateInvoice", "DuplicateLine", "TooOld", "AbnMissing", "AbnInvalid", "GivenDiffers"),
        "FutureService",
    }
