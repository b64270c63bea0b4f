"""The demo's records are plausible, reach nobody, keep the rules, and show something on every page."""

import csv
import datetime as dt
import email
import hashlib
import io
import re
import unicodedata
from contextlib import closing
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from django.core.validators import validate_email
from django.db import connection
from django.db.models import F
from stdnum.au import abn

from apps.core.caseload import visible_rows
from apps.core.models import Change
from apps.documents.models import Document, DocumentCategory
from apps.documents.storage import document_storage
from apps.engagements.choices import CATEGORIES
from apps.engagements.models import CategoryBudget, ClientEngagement, ServiceBooking, support_item
from apps.funding.choices import ApprovalStatus
from apps.funding.demo import price_books
from apps.funding.demo.loading import LATEST_DAYS, days_of_bills
from apps.funding.demo.price_books import PRICE_GUIDE, PRIVATE_RATES, read_guide_file
from apps.funding.demo.warnings import DISCONTINUED
from apps.funding.models import (
    AcknowledgedWarning,
    Claim,
    ClaimFile,
    ClaimResult,
    CostCentre,
    Invoice,
    InvoiceLine,
    Price,
    ProviderInvoice,
    Remittance,
    RemittanceLine,
    StatusMove,
)
from apps.funding.services.answer_faults import find_answer_faults
from apps.funding.services.effects import recount_budgets
from apps.funding.services.invariants import find_claim_file_faults
from apps.funding.statuses import ClaimStatus
from apps.funding.validation.warning_codes import WARNING_LABELS
from apps.payments.models import BankAccount, PaymentRun, PaymentRunItem, PaymentSettings, Statement
from apps.payments.services.invariants import find_payment_faults
from apps.payments.services.ready import load_ready
from apps.payments.services.statement_mail import Obstacle, find_recipients
from apps.people import demo as people_demo
from apps.people.choices import AnswerKind, AppliesTo
from apps.people.management.commands.prepare_demo import LIMITED_EMAIL
from apps.people.models import Client, Contact, CustomField, Location, Role, Staff, Team
from apps.sales import pipeline
from apps.sales.models import Opportunity, OpportunityStage
from tests.demo.loading import load_demo

pytestmark = [pytest.mark.django_db, pytest.mark.any_engine("test_load_demo loads it on both")]

#: A Wednesday; the tests look at the demo on its morning.
DAY = dt.date(2026, 9, 16)
MIDNIGHT = dt.datetime.combine(DAY, dt.time(), ZoneInfo("Australia/Sydney"))
SIZES = {
    **{"clients": 60, "staff": 25, "contacts": 160, "documents": 36, "opportunities": 120},
    **{"claims": 450, "invoices": 60, "inbox": 40},
}
POST_CODES = {
    "NSW": ((1000, 2599), (2619, 2899), (2921, 2999)),
    "ACT": ((200, 299), (2600, 2618), (2900, 2920)),
    "VIC": ((3000, 3999), (8000, 8999)),
    "QLD": ((4000, 4999), (9000, 9999)),
    "SA": ((5000, 5999),),
    "WA": ((6000, 6999),),
    "TAS": ((7000, 7999),),
    "NT": ((800, 999),),
}
PHONE = re.compile(r"\(0[2378]\) (5550|7010) \d{4}|0491 57\d \d{3}")
#: The warnings without an example in apps/funding/demo/warnings.py, each with its reason.
WITHOUT_EXAMPLE = {"OutsideBooking": "the demo's bookings run as long as their plans"}
SUPPORT_CATEGORIES = {(number, name) for number, name, _ in CATEGORIES}
REAL_PROVIDERS = "life without barriers|aruma|endeavour|scope|yooralla|mable|hireup|leap in"


@pytest.fixture(scope="module", autouse=True)
def loaded(module_transaction):
    load_demo(as_of=DAY, **SIZES)


@pytest.fixture(autouse=True)
def on_the_day(at):
    at(f"{DAY} 10:00")


# --- people ---------------------------------------------------------------------------------------------


def test_a_postcode_lies_in_its_state():
    addresses = [place.address for place in people_demo.PLACES]
    for address in addresses:
        assert re.fullmatch(r"\d{4}", address["post_code"]), address
        ranges = POST_CODES[address["state"]]
        assert any(low <= int(address["post_code"]) <= high for low, high in ranges), address
    assert {address["state"] for address in addresses} == set(POST_CODES)


def test_every_name_can_stand_in_an_email_address():
    for origin in people_demo.ORIGINS:
        for name in origin["women"] + origin["men"] + origin["last_names"]:
            assert name == unicodedata.normalize("NFC", name.strip()) != ""
            validate_email(people_demo.email_address(name, name, 1))
    assert people_demo.email_address("Siobhán", "O'Brien", 0) == "siobhan.obrien.0@example.com"
    assert len(people_demo.ORIGINS) == 100


def test_business_and_scheme_numbers_are_well_formed_and_differ():
    business, scheme = (
        {make(number) for number in range(20_000)}
        for make in (people_demo.business_number, people_demo.scheme_number)
    )
    assert len(business) == len(scheme) == 20_000
    assert all(map(abn.is_valid, list(business)[:2_000]))
    assert all(re.fullmatch(r"(31|43|44|45)\d{7}", number) for number in scheme)


def test_business_names_differ_even_when_there_are_more_than_the_words_can_make():
    count = people_demo.BUSINESS_NAMES + 10_000
    made = {people_demo.business_name(number, start=77).casefold() for number in range(count)}
    assert len(made) == count
    assert not [name for name in made if re.search(rf"\b({REAL_PROVIDERS})\b", name)]


def test_telephones_and_addresses_reach_nobody():
    for record in (*Client.objects.all(), *Staff.objects.all(), *Contact.objects.all()):
        phones = [getattr(record, name, None) for name in ("phone1", "business_phone", "business_phone2")]
        assert all(PHONE.fullmatch(phone) for phone in phones if phone)
        address = getattr(record, "primary_email", None)
        assert address is None or address.rpartition("@")[2] in people_demo.DOMAINS
    assert len(set(Contact.objects.exclude(scheme_number=None).values_list("scheme_number"))) > 80


def test_the_tour_finds_the_same_records_whatever_the_seed():
    matilda = Contact.objects.get(first_name="Matilda", last_name="Walsh", scheme_number="430000011")
    assert (matilda.representative.first_name, matilda.representative_relationship) == ("Erin", "Mother")
    assert not Client.objects.get(business_name__startswith="Aunty Bev").business_number
    assert not abn.is_valid(Client.objects.get(business_name__startswith="Old Mill").business_number)
    assert Staff.objects.get_by_natural_key("Administrator@Example.com").first_name == "Morgan"


def test_references_between_people():
    assert Client.objects.filter(key_contact__isnull=False).exists()
    assert Staff.objects.filter(account_manager__isnull=False).exists()
    assert Staff.objects.filter(teams=None).count() == 3  # one in seven
    assert not Contact.objects.filter(representative__archive_date__isnull=False).exists()


def test_roles_grant_what_their_names_say_and_there_is_staff_in_each():
    for name, may_administer, may_credit in (
        ("Administrator", True, True),
        ("Accounts officer", True, True),
        ("Plan manager", True, False),
        ("Support coordinator", False, False),
        ("Read only", False, False),
    ):
        person = Staff.objects.filter(role__name=name, archive_date=None, disable_login_date=None).first()
        assert person.has_perm("funding.administer_funding_invoices") is may_administer
        assert person.has_perm("funding.administer_credit_invoices") is may_credit
        assert person.has_perm("people.view_contact")
    assert all(code.partition(".")[2].startswith("view_") for code in person.granted)
    assert not Role.objects.get(name=people_demo.PARTICIPANT).permissions.exists()


def test_the_limited_login_sees_participants_of_its_own_with_all_that_belongs_to_them():
    person = Staff.objects.get_by_natural_key(LIMITED_EMAIL)
    assert person.role.name == "Support coordinator"
    for model in (Contact, ClientEngagement, ServiceBooking, Claim, ProviderInvoice, Opportunity):
        assert person.has_perm(f"{model._meta.app_label}.view_{model._meta.model_name}"), model
        seen = visible_rows(person, model.objects.all()).count()
        assert 0 < seen < model.objects.count() / 2, model


def test_nobody_can_sign_in_until_given_a_password():
    assert not any(person.has_usable_password() for person in Staff.objects.all())


def test_some_logins_are_closed_and_some_records_archived():
    assert Staff.objects.filter(disable_login_date__lt=MIDNIGHT, archive_date=None).exists()
    for model in (Client, Staff, Contact, Team, Location, Document, DocumentCategory, Opportunity, Claim):
        assert model.objects.filter(archive_date__isnull=False).exists(), model
        assert model.objects.filter(archive_date=None).exists(), model


@pytest.mark.parametrize("applies_to", AppliesTo.values)
def test_custom_fields_of_every_kind_are_answered(applies_to):
    fields = CustomField.objects.filter(applies_to=applies_to)
    assert {field.kind for field in fields} == set(AnswerKind.values)
    for field in fields:
        assert bool(field.options) == (field.kind in (AnswerKind.CHOICE, AnswerKind.CHOICES))
        assert field.answers.filter(**{f"{applies_to.lower()}__isnull": False}).exists()
        assert not field.answers.filter(responses=None).exists()


# --- documents ------------------------------------------------------------------------------------------


def content(document):
    with closing(document_storage().read_range(document.storage_key, 0, document.size)) as pieces:
        return b"".join(pieces)


def test_every_document_has_its_file_and_the_files_open():
    types = set()
    for document in Document.objects.all():
        stored = content(document)
        assert (len(stored), hashlib.sha256(stored).hexdigest()) == (document.size, document.sha256)
        types.add(document.media_type)
        if document.media_type == "text/csv":
            assert next(csv.reader(io.StringIO(stored.decode()))) == ["Date", "Support", "Amount"]
        elif document.media_type == "message/rfc822":
            assert email.message_from_bytes(stored)["Subject"] == "Please call back"
        elif document.media_type == "application/pdf":
            table = stored[int(stored.rsplit(b"startxref\n", 1)[1].split()[0]) :]
            for number, line in enumerate(table.split(b"\n")[3:9], 1):
                assert stored[int(line[:10]) :].startswith(b"%d 0 obj" % number)
    assert types == {"application/pdf", "image/png", "text/csv", "text/plain", "message/rfc822"}
    assert Document.objects.count() == SIZES["documents"]
    assert Document.objects.filter(client=None).exists()


# --- sales ----------------------------------------------------------------------------------------------


def test_the_board_and_the_funnel_show_an_office_at_work():
    assert all(column.count for column in pipeline.stage_columns(pipeline.current_opportunities()))
    total = pipeline.load_funnel(Opportunity.objects.all(), None).total
    assert total.won > total.lost > 0
    assert total.deferred > 0
    assert OpportunityStage.objects.filter(is_result=True).count() == 1
    made = Opportunity.objects.all()
    assert made.filter(template=None).exists()
    assert made.exclude(template=None).exists()
    assert made.filter(team__isnull=False).exists()
    assert made.exclude(outcome_reasons=None).exists()


# --- plans ----------------------------------------------------------------------------------------------


def test_current_participants_have_plans_and_nobody_else():
    participants = Contact.objects.exclude(scheme_number=None).filter(archive_date=None)
    planned = ClientEngagement.objects.values_list("participant", flat=True)
    assert set(planned) == set(participants.values_list("pk", flat=True))


def test_plans_are_at_every_stage_of_every_kind_and_management():
    plans = list(ClientEngagement.objects.prefetch_related("bookings"))
    left = [(plan.plan_end_date - DAY).days for plan in plans]
    for first, last in ((-999, -1), (0, 30), (31, 60), (61, 90), (91, 999)):
        assert any(first <= days <= last for days in left), (first, last)
    assert any(plan.plan_start_date > DAY for plan in plans)
    assert any(plan.un_allocate_amount < 0 for plan in plans)
    for name in ("is_plan_managed", "is_self_managed", "is_agency_managed"):
        assert any(getattr(plan, name) for plan in plans)
    assert {plan.participant_type for plan in plans} == {"Agency", "PACE"}
    assert any(plan.support_coordinator_id for plan in plans)
    shares = [1 - booking.remaining / booking.budget for booking in ServiceBooking.objects.all()]
    assert min(shares) < 0.05
    assert max(shares) > 0.85
    assert CategoryBudget.objects.filter(claimed__gt=0).exists()


# --- price books ----------------------------------------------------------------------------------------


def test_items_have_numbers_of_the_schemes_form():
    guide = read_guide_file("price_guide.csv")
    assert 55 <= guide.rows <= 80
    assert not guide.warnings
    for [row] in guide.items.values():
        assert support_item(row.code).purpose
        assert (row.item["category_number"], row.item["category_name"]) in SUPPORT_CATEGORIES


@pytest.mark.parametrize(
    ("as_of", "first"),
    [(dt.date(2026, 6, 30), 2023), (dt.date(2026, 7, 1), 2024), (dt.date(2027, 1, 1), 2024)],
)
def test_years_of_the_price_guide_begin_in_july(as_of, first):
    assert price_books.first_days(as_of) == [dt.date(first + later, 7, 1) for later in range(3)]


def test_every_item_has_a_price_in_three_years_but_for_the_discontinued():
    prices = Price.objects.filter(entry__price_book__name=PRICE_GUIDE, zone="National")
    assert prices.count() == 3 * read_guide_file("price_guide.csv").rows - 1
    discontinued = prices.filter(entry__product__code=DISCONTINUED).order_by("start_date")
    assert list(discontinued.values_list("end_date", flat=True)) == [
        dt.date(2025, 6, 30),
        dt.date(2026, 6, 30),
    ]
    assert set(Price.objects.values_list("entry__price_book__name", "entry__gst_inclusive")) == {
        (PRICE_GUIDE, False),
        (PRIVATE_RATES, True),
    }


# --- bills ----------------------------------------------------------------------------------------------


def test_there_are_about_as_many_bills_as_requested():
    resubmitted = Claim.objects.exclude(resubmission_of=None).count()
    assert Claim.objects.count() - resubmitted == SIZES["claims"]
    assert Invoice.objects.count() == SIZES["invoices"]
    assert ProviderInvoice.objects.filter(claims=None).count() == SIZES["inbox"]
    connection.check_constraints()


def test_the_claims_of_the_last_month_are_about_as_many_as_those_of_the_one_before():
    shares = [share for _, share in days_of_bills(261, 783, 1_500)]
    parts = [after - before for before, after in pairwise([0, *shares])]
    older, latest = parts[:-LATEST_DAYS], parts[-LATEST_DAYS:]
    assert (len(older), shares[-1]) == (24, 1)
    assert older == sorted(older)
    assert older[-1] < sum(latest) < older[-1] * 3 / 2


def test_there_is_a_claim_for_every_warning_which_awaits_approval():
    for code in sorted(WARNING_LABELS.keys() - WITHOUT_EXAMPLE.keys()):
        claims = Claim.objects.filter(provider_invoice__reference__startswith=f"DEMO {code}")
        number = 2 if code.startswith("Duplicate") else 1
        assert claims.count() == number, f"add an example of {code} to apps/funding/demo/warnings.py"
        assert set(claims.values_list("funding_status", flat=True)) == {ClaimStatus.AWAITING_STAFF_APPROVAL}
        assert AcknowledgedWarning.objects.filter(claim__in=claims, code=code).exists(), code


def test_few_other_claims_have_warnings():
    others = AcknowledgedWarning.objects.exclude(claim__provider_invoice__reference__startswith="DEMO ")
    assert set(others.filter(invoice=None).values_list("code", flat=True)) <= {
        *("AbnMissing", "AbnInvalid", "DuplicateInvoice", "DuplicateLine")
    }


def test_budgets_agree_with_the_bills_and_only_the_example_is_overdrawn():
    assert recount_budgets() == (0, 0, 0)
    assert ServiceBooking.objects.filter(claimed__gt=0, paid__gt=0).exists()
    assert ServiceBooking.objects.filter(waiting__gt=0).exists()
    assert len([booking for booking in ServiceBooking.objects.all() if booking.remaining < 0]) == 1


def test_claims_are_in_many_statuses_and_the_older_the_more_are_paid():
    statuses = set(Claim.objects.values_list("funding_status", flat=True))
    assert len(statuses) >= 6
    old = Claim.objects.filter(creation_date__lt=MIDNIGHT - dt.timedelta(days=90))
    assert old.filter(funding_status=ClaimStatus.AGENCY_FULLY_PAID).count() > 0.7 * old.count()
    new = Claim.objects.filter(creation_date__gt=MIDNIGHT - dt.timedelta(days=7))
    assert new.filter(funding_status=ClaimStatus.AWAITING_STAFF_APPROVAL).exists()
    on_hold = Claim.objects.filter(funding_status=ClaimStatus.ON_HOLD)
    assert on_hold.exists()
    assert not on_hold.filter(status_reason=None).exists()
    assert Claim.objects.filter(resubmitted=True).exists()
    assert any(each.claims.count() > 2 for each in ProviderInvoice.objects.filter(is_reusable=True))


def test_the_inbox_has_provider_invoices_at_every_stage():
    inbox = ProviderInvoice.objects.filter(claims=None)
    assert set(inbox.values_list("approval_status", flat=True)) == set(ApprovalStatus.values)
    assert not inbox.filter(approval_status=ApprovalStatus.REJECTED, rejection_reason=None).exists()
    assert inbox.filter(document__isnull=False).exists()
    assert not inbox.filter(document__archive_date__isnull=False).exists()


def test_invoices_go_to_the_agency_and_to_clients_with_credits_cost_centres_and_recurrences():
    kinds = {"InvoiceToAgency", "InvoiceToClient"}
    assert set(Invoice.objects.values_list("invoice_claim_type", flat=True)) == kinds
    credited = InvoiceLine.objects.filter(is_credit_item=True)
    assert credited.exists()
    assert all(line.total < 0 < line.invoice.total for line in credited)
    centres = InvoiceLine.objects.filter(cost_centre__isnull=False).values("cost_centre").distinct().count()
    assert 1 < centres <= CostCentre.objects.filter(archive_date=None).count()
    recurring = Invoice.objects.filter(is_recurring=True)
    assert recurring.exists()
    assert Invoice.objects.filter(recurrence_of__in=recurring).count() >= recurring.count()


def test_no_record_is_of_the_future():
    for model in (
        Client,
        Staff,
        Contact,
        Document,
        Opportunity,
        ClientEngagement,
        ProviderInvoice,
        Claim,
        Invoice,
    ):
        assert not model.objects.filter(modify_date__gte=MIDNIGHT).exists(), model
        assert not model.objects.filter(modify_date__lt=F("creation_date")).exists(), model
    assert not StatusMove.objects.filter(at__gte=MIDNIGHT).exists()
    assert not Change.objects.filter(at__gte=MIDNIGHT).exists()


# --- payments -------------------------------------------------------------------------------------------


def test_payment_runs_of_every_state_stand_beside_what_is_ready():
    statuses = set(PaymentRun.objects.values_list("status", flat=True))
    assert statuses == {"Opening", "Released", "Withdrawn", "Draft"}
    assert list(find_payment_faults()) == []
    assert load_ready()
    assert PaymentRunItem.objects.exclude(returned_at=None).count() == 1
    assert PaymentSettings.current().missing == []


def test_two_years_have_claim_files_answers_and_runs():
    files, remittances = ClaimFile.objects.all(), Remittance.objects.all()
    runs = PaymentRun.objects.exclude(status__in=("Draft", "Withdrawn"))
    for found, column in ((files, "creation_date"), (remittances, "creation_date"), (runs, "day")):
        months = {(day.year, day.month) for day in found.values_list(column, flat=True)}
        missing = [month for month in last_months(DAY, 18) if month not in months]
        # So few claims come in about every second month.
        assert len(missing) <= 8, (found.model, missing)
    assert not files.filter(status="NotSent").exists()
    assert set(ClaimResult.objects.values_list("is_accepted", flat=True)) == {True, False}
    assert RemittanceLine.objects.filter(is_applied=True).exists()
    assert not RemittanceLine.objects.filter(is_applied=False).exists()
    assert remittances.filter(unmatched_count=1).exists()
    # Some of the last file waits for its money, some was paid of it already.
    last = files.first().lines
    assert last.filter(payments=None, result__is_accepted=True).exists()
    assert [*find_answer_faults(), *find_claim_file_faults()] == []


def last_months(day, count):
    """The whole months before the day's, as (year, month)."""
    numbers = [day.year * 12 + day.month - 1 - ago for ago in range(1, count + 1)]
    return [(number // 12, number % 12 + 1) for number in numbers]


def test_most_claims_of_past_months_are_paid_out():
    paid = Claim.objects.filter(payment_date__lt=MIDNIGHT - dt.timedelta(days=60), amount_paid__gt=0)
    owed = {claim.pk for payee in load_ready() for claim in (each.claim for each in payee.claims)}
    left = [claim for claim in paid.exclude(send_payment_to="PlanManager") if claim.pk in owed]
    # Of payees without a confirmed account.
    assert len(left) < 0.2 * paid.count()


def test_half_of_the_plans_are_pace():
    pace = ClientEngagement.objects.filter(participant_type="PACE").count()
    assert 0.45 < pace / ClientEngagement.objects.count() < 0.6


def test_statements_of_every_state_stand_there_and_verify_finds_nothing_wrong():
    statements = Statement.objects.all()
    assert statements.order_by().values("month").distinct().count() == 3
    assert statements.filter(sent_at__isnull=False).exists()
    assert statements.filter(is_replaced=True).count() == 1
    assert statements.exclude(changes="").count() == 1
    assert statements.filter(mail_error__isnull=False).count() == 1
    assert Obstacle.NO_CONSENT in {
        each.obstacle
        for each in find_recipients(statements.select_related("contact__representative")).values()
    }


def test_most_providers_have_an_account_that_another_person_confirmed():
    accounts = BankAccount.objects.filter(archive_date=None)
    confirmed = accounts.exclude(confirmed_at=None)
    assert accounts.filter(client__isnull=False).count() > 0.75 * Client.objects.count()
    assert 0.8 * accounts.count() < confirmed.count() < accounts.count()
    assert not confirmed.filter(confirmed_by=F("entered_by")).exists()
    assert BankAccount.objects.exclude(archive_date=None).count() == 1
