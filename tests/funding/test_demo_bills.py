"""The demo's bills obey the rules, agree with the budgets, and warn of little but what was planted."""

import datetime as dt
from collections import Counter, defaultdict
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from apps.core.models import Change
from apps.engagements.models import CategoryBudget, ServiceBooking
from apps.funding.choices import ApprovalStatus, ClaimStatus
from apps.funding.demo.planted import PLANTED, name_of
from apps.funding.models import (
    AcknowledgedWarning,
    Claim,
    ClaimLine,
    CostCentre,
    Invoice,
    InvoiceLine,
    NumberSequence,
    ProviderInvoice,
    StatusMove,
)
from apps.funding.services import budgets
from apps.funding.services.check import CLAIMS, INVOICES, judged
from apps.funding.services.claim_effects import update_claim_flags
from apps.funding.services.create import create_claims
from apps.funding.services.recurring import create_recurring_invoices
from apps.funding.statuses import ENDED
from apps.odata import clock
from apps.odata.write.drafts import Draft
from apps.people.demo import lists
from apps.people.models import Role, Staff
from tests.funding.demo_loads import DAY, load_demo

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module", autouse=True)
def loaded(django_db_setup, django_db_blocker):
    """The demo, loaded once for all these tests: each takes back what it changes."""
    moment = dt.datetime.combine(DAY, dt.time(10), ZoneInfo("Australia/Sydney"))
    with pytest.MonkeyPatch.context() as patch, django_db_blocker.unblock(), transaction.atomic():
        patch.setattr(timezone, "now", lambda: moment)
        clock.reset_now()
        load_demo()
        yield
        transaction.set_rollback(True)
    clock.reset_now()


@pytest.fixture(autouse=True)
def on_the_day(at):
    at(f"{DAY} 10:00")


BESIDE = {"claim": ("provider_invoice", "provider"), "invoice": ()}


def as_drafts(model, line_model):
    """Drafts of the bills that stand, as though somebody revised all of them at once."""
    name = model._meta.model_name
    lines = defaultdict(list)
    for line in line_model.objects.select_related("product", "price_book").order_by("position"):
        lines[getattr(line, f"{name}_id")].append(
            draft_of(line, but={"total", "first_day", "last_day", "booking", "category_budget"})
        )
    bills = model.objects.filter(archive_date=None).exclude(funding_status__in=ENDED)
    for bill in bills.select_related("contact", "staff", *BESIDE[name]).order_by(f"{name}_number"):
        draft = draft_of(bill, but={"total"})
        draft.fill("line_items", lines[bill.pk])
        draft.fill("stands_on", getattr(bill, "provider_invoice_id", None))
        yield draft


def draft_of(record, but):
    values = {f.name: getattr(record, f.name) for f in record._meta.concrete_fields if f.name not in but}
    return Draft(values, values, key=record.pk)


def codes_by_bill(kind, drafts):
    """What each bill would be warned of; raises what the rules refuse."""
    found = defaultdict(set)
    for number, finding in judged(kind, drafts):
        found[drafts[number].key].add(finding.code)
    return found


# --- rules and warnings ---------------------------------------------------------------------------------


def test_no_rule_speaks_against_any_claim_and_only_the_planted_warn():
    drafts = list(as_drafts(Claim, ClaimLine))
    assert len(drafts) > 150
    found = codes_by_bill(CLAIMS, drafts)
    planted = Claim.objects.filter(provider_invoice__reference__startswith="DEMO ")
    keys = set(planted.values_list("pk", flat=True))
    usual = Counter(code for key, codes in found.items() if key not in keys for code in codes)
    assert set(usual) <= {"AbnMissing", "AbnInvalid", "DuplicateInvoice", "TooOld", "AfterBooking"}
    warned = defaultdict(set)
    for claim in planted.select_related("provider_invoice"):
        warned[claim.provider_invoice.reference.split()[1]] |= found[claim.pk]
    assert warned.keys() == set(PLANTED)
    for code, codes in warned.items():
        assert code in codes


def test_what_is_planted_was_acknowledged_and_awaits_approval():
    planted = Claim.objects.filter(provider_invoice__reference__startswith="DEMO ")
    assert planted.count() == len(PLANTED)
    assert set(planted.values_list("funding_status", flat=True)) == {ClaimStatus.AWAITING_STAFF_APPROVAL}
    acknowledged = AcknowledgedWarning.objects.filter(claim__in=planted)
    assert sorted(acknowledged.values_list("code", flat=True)) == sorted(set(PLANTED))
    for code in set(PLANTED):
        assert planted.filter(provider_invoice__reference__startswith=name_of(code)).exists()


def test_no_rule_speaks_against_any_invoice():
    drafts = list(as_drafts(Invoice, InvoiceLine))
    assert len(drafts) > 40
    found = Counter(code for codes in codes_by_bill(INVOICES, drafts).values() for code in codes)
    # What is sold beside the scheme is no part of a plan.
    assert set(found) <= {"NoBooking", "TooOld", "AfterBooking"}


@pytest.mark.parametrize(
    ("kind", "model", "line"), [(CLAIMS, Claim, ClaimLine), (INVOICES, Invoice, InvoiceLine)]
)
def test_lines_come_to_what_the_rules_make_of_them_and_draw_on_what_covers_them(kind, model, line):
    drafts = list(as_drafts(model, line))
    judged(kind, drafts)
    stored = line.objects.in_bulk()
    for draft in drafts:
        assert draft.total == sum(made.total for made in draft.line_items)
        for made in draft.line_items:
            held = stored[made.key]
            assert (made.total, made.first_day, made.last_day) == (held.total, held.first_day, held.last_day)
            assert (made.booking and made.booking.pk) == held.booking_id
            assert (made.category_budget and made.category_budget.pk) == held.category_budget_id
    for bill in model.objects.filter(archive_date=None):
        lines = bill.line_items.all()
        assert bill.total == sum(each.total for each in lines)
        assert bill.amount_paid == sum(each.amount_paid for each in lines)


def test_claims_of_the_demo_can_be_entered_again_by_the_verb():
    """On fresh provider invoices; what they warn of is that they are claimed already."""
    drafts = [draft for draft in as_drafts(Claim, ClaimLine) if not draft.archive_date][:20]
    for number, draft in enumerate(drafts):
        paper = ProviderInvoice(reference=f"again {number}", contact=draft.contact, provider=draft.provider)
        paper.save()
        again = {"provider_invoice": paper, "claim_number": None, "provider_invoice_reference": None}
        draft.__dict__.update(again | {"key": None, "resubmission_of": None, "resubmitted": False})
        for line in draft.line_items:
            line.key = None
    keys = create_claims(drafts, ignore_warnings=True)
    assert AcknowledgedWarning.objects.filter(claim__in=keys, code="DuplicateLine").exists()
    numbers = Claim.objects.filter(pk__in=keys).values_list("claim_number", flat=True)
    assert sorted(numbers) == [f"CLM-{number:07}" for number in range(181, 201)]


# --- sums -----------------------------------------------------------------------------------------------


def test_a_recount_of_the_budgets_finds_nothing_to_mend():
    assert budgets.recount_budgets() == (0, 0)
    for model in (ServiceBooking, CategoryBudget):
        assert model.objects.filter(claimed__gt=0, paid__gt=0).exists()
    assert ServiceBooking.objects.filter(waiting__gt=0).exists()


def test_one_budget_is_drawn_too_far_and_most_by_others_as_well():
    bookings = list(ServiceBooking.objects.all())
    assert len([booking for booking in bookings if booking.remaining < 0]) == 1  # the planted one
    assert min(booking.used_elsewhere for booking in bookings) >= 0
    drawn = [booking for booking in bookings if booking.claimed]
    assert len([booking for booking in drawn if booking.used_elsewhere]) > len(drawn) / 2


def test_what_holds_claims_up_is_told_on_provider_invoices():
    assert update_claim_flags(ProviderInvoice.objects.values_list("pk", flat=True)) == 0


def test_invoices_that_recur_have_come_up_to_the_day():
    heads = Invoice.objects.filter(is_recurring=True)
    assert heads.exists()
    assert Invoice.objects.filter(recurrence_of__in=heads).count() >= heads.count()
    due = list(create_recurring_invoices(DAY - dt.timedelta(days=1), dry_run=True))
    assert due == []


# --- lives ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "model"), [("claim", Claim), ("invoice", Invoice), ("provider_invoice", ProviderInvoice)]
)
def test_moves_lead_from_the_beginning_to_where_a_record_stands(name, model):
    begin = "Unactioned" if name == "provider_invoice" else "AwaitingStaffApproval"
    field = "approval_status" if name == "provider_invoice" else "funding_status"
    moves = defaultdict(list)
    for move in StatusMove.objects.filter(**{f"{name}__isnull": False}).order_by("at"):
        moves[getattr(move, f"{name}_id")].append(move)
    for record in model.objects.all():
        way = moves[record.pk]
        statuses = [begin, *(move.to_status for move in way)]
        assert statuses[-1] == getattr(record, field)
        assert [move.from_status for move in way] == statuses[:-1]
        assert all(one.at <= other.at for one, other in pairwise(way))
        assert not way or record.creation_date <= way[0].at


# --- what there is --------------------------------------------------------------------------------------


def test_there_are_as_many_as_asked_for_and_their_numbers_are_taken():
    assert (Claim.objects.count(), Invoice.objects.count()) == (180, 60)
    unclaimed = ~Exists(Claim.objects.filter(provider_invoice=OuterRef("pk")))
    assert ProviderInvoice.objects.filter(unclaimed).count() == 40
    assert dict(NumberSequence.objects.values_list("name", "next_number")) == {"claim": 181, "invoice": 61}
    assert set(Claim.objects.values_list("claim_number", flat=True)) == {f"CLM-{n:07}" for n in range(1, 181)}
    connection.check_constraints()


def test_the_inbox_holds_papers_at_every_stage():
    inbox = ProviderInvoice.objects.filter(claims=None)
    assert set(inbox.values_list("approval_status", flat=True)) >= {"Unactioned", "Approved", "Rejected"}
    assert not inbox.filter(approval_status=ApprovalStatus.REJECTED, rejection_reason=None).exists()
    papers = inbox.filter(document__isnull=False)
    assert papers.exists()
    assert not papers.filter(document__archive_date__isnull=False).exists()


def test_invoices_go_to_the_agency_and_to_clients_with_credits_and_cost_centres():
    assert set(Invoice.objects.values_list("invoice_claim_type", flat=True)) == {
        "InvoiceToAgency",
        "InvoiceToClient",
    }
    credited = InvoiceLine.objects.filter(is_credit_item=True)
    assert credited.exists()
    assert all(line.total < 0 < line.invoice.total for line in credited)
    told = InvoiceLine.objects.filter(cost_centre__isnull=False).values("cost_centre").distinct().count()
    assert 1 < told <= CostCentre.objects.filter(archive_date=None).count()


def test_some_roles_may_administer_funding_and_some_not_and_there_is_staff_in_each():
    for name, may, credit in (
        (lists.ADMINISTRATOR, True, True),
        (lists.ACCOUNTS_OFFICER, True, True),
        (lists.PLAN_MANAGER, True, False),
        (lists.SUPPORT_COORDINATOR, False, False),
        (lists.READ_ONLY, False, False),
    ):
        person = Staff.objects.filter(role__name=name, archive_date=None).first()
        assert person.has_perm("funding.administer_funding_invoices") is may
        assert person.has_perm("funding.administer_credit_invoices") is credit
    reader = Role.objects.get(name=lists.READ_ONLY)
    codenames = set(
        reader.permissions.filter(content_type__app_label="funding").values_list("codename", flat=True)
    )
    assert "view_claim" in codenames
    assert all(codename.startswith("view_") for codename in codenames)


def test_bills_and_provider_invoices_have_their_line_in_the_history_and_none_is_of_the_future():
    midnight = dt.datetime.combine(DAY, dt.time(), ZoneInfo("Australia/Sydney"))
    for model in (ProviderInvoice, Claim, Invoice):
        written = Change.objects.filter(record_type=model._meta.label_lower, kind="Created")
        keys = set(map(str, model.objects.values_list("pk", flat=True)))
        assert set(written.values_list("record_key", flat=True)) == keys
        assert not model.objects.filter(modify_date__gte=midnight).exists()
        assert not model.objects.filter(modify_date__lt=F("creation_date")).exists()
    assert not StatusMove.objects.filter(at__gte=midnight).exists()
    recent = Q(creation_date__lt=midnight - dt.timedelta(days=366 * 2 + 6))
    assert not Claim.objects.filter(recent).exists()
