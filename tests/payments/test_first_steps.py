"""The page of what the first steps of an office lack, and the same rows on the pages that make files."""

import pytest

from apps.base import clock
from apps.core.models import Subscriber
from apps.documents.models import DocumentCategory
from apps.engagements.models import ClientEngagement
from apps.funding.admin.first_steps import FIRST_STEPS, lacking_rows
from apps.funding.models import PriceBook
from apps.payments.models import PaymentRun
from apps.payments.services.opening import record_paid_before
from apps.payments.services.runs import create_run, release_run
from apps.people.models import Client, Contact, Role, Staff
from tests.documents.builders import a_category
from tests.engagements.builders import a_plan
from tests.funding.builders import a_claim, a_claim_file, an_entry
from tests.funding.claimable import save_settings
from tests.payments.builders import a_paid_claim, a_releaser, an_account, payment_settings
from tests.people.records import a_client, a_contact, a_role, a_staff_member, an_administrator

pytestmark = pytest.mark.django_db

PAGE = "/admin/funding/claimfile/first-steps/"
NEW, READY = "/admin/funding/claimfile/add/", "/admin/payments/paymentrun/ready/"
CLAIMS = ("administer_funding_invoices", "send_claim_files", "claim_funding_invoices")
ANSWERS = (
    "pay_funding_invoices",
    *(f"{verb}_{model}" for verb in ("add", "change") for model in ("claimresult", "remittance")),
)


def staff_with(*permissions):
    return a_staff_member(role=a_role(*permissions))


def two_people(app, view, first, second):
    for permission in (first, second):
        staff_with(f"{app}.{view}", f"{app}.{permission}")


#: What mends each row, by its label: a row that is added needs its own.
MENDS = {
    "Name of the organisation": lambda: save_settings(
        name="Southern Light", business_number="", registration_number=""
    ),
    "Colleagues": lambda: a_staff_member(),
    "Price guide": lambda: an_entry(),
    "A document category": lambda: a_category(),
    "A provider": lambda: a_client(),
    "A participant": lambda: a_contact(scheme_number="430000001"),
    "A plan": lambda: a_plan(participant=a_contact()),
    "Registration number": lambda: save_settings(business_number=""),
    "Business number (ABN)": lambda: save_settings(registration_number=""),
    "Somebody who makes claim files": lambda: staff_with(*(f"funding.{each}" for each in CLAIMS)),
    "Somebody who imports the answers": lambda: staff_with(*(f"funding.{each}" for each in ANSWERS)),
    "Own bank account, bank and user id": payment_settings,
    "Somebody who enters bank accounts, and another who confirms them": lambda: two_people(
        "payments", "view_bankaccount", "add_bankaccount", "confirm_bankaccount"
    ),
    "Confirmed bank accounts of payees": lambda: an_account(a_client()),
    "Somebody who makes payment runs, and another who releases them": lambda: two_people(
        "payments", "view_paymentrun", "add_paymentrun", "release_paymentrun"
    ),
    "What was paid out before": lambda: record_paid_before(None),
}


@pytest.fixture
def nothing(client):
    """An installation in which all is missing but a role, and a browser of somebody who only looks."""
    Subscriber.objects.all().delete()
    Subscriber.clear_cache()
    a_paid_claim("20.00")
    for model in (Client, Contact, Staff, PriceBook, ClientEngagement, DocumentCategory):
        model.objects.update(archive_date=clock.now())
    client.force_login(staff_with("funding.view_claim", "funding.view_claimfile", "payments.view_paymentrun"))


def rows_on(client):
    return {row.label: row for _, rows, _ in client.get(PAGE).context["steps"] for row in rows}


def test_every_row_says_what_is_missing_until_it_is_mended(client, nothing):
    rows = rows_on(client)
    assert list(rows) == [each.label for file in FIRST_STEPS for each in file.requirements]
    assert [row.label for row in rows.values() if not row.lacking] == ["Roles"]  # that of whoever looks
    assert rows.keys() - {"Roles"} == MENDS.keys()
    for label, mend in MENDS.items():
        before = {row.label for row in rows_on(client).values() if row.lacking}
        assert label in before
        mend()
        after = {row.label for row in rows_on(client).values() if row.lacking}
        # Settings that a later row mends are entered as a whole.
        assert before - after == {label} or label.startswith("Business"), label
        save_settings() if label.startswith("Business") else None
    assert client.get(PAGE).content.decode().count("nothing is missing") == len(FIRST_STEPS)


def test_one_person_alone_is_not_two(client, nothing):
    label = "Somebody who makes payment runs, and another who releases them"
    permissions = [f"payments.{each}_paymentrun" for each in ("view", "add", "release")]
    person = staff_with(*permissions)
    assert rows_on(client)[label].lacking
    other = staff_with("payments.view_paymentrun", "payments.release_paymentrun")
    assert not rows_on(client)[label].lacking
    other.archive_date = clock.now()
    other.save()
    assert rows_on(client)[label].lacking
    person.role.all_permissions = True
    person.role.save()
    a_staff_member(role=person.role, disable_login_date=clock.now())
    assert rows_on(client)[label].lacking
    a_staff_member(role=person.role)
    assert not rows_on(client)[label].lacking


def test_each_role_sees_the_files_of_its_pages(client, nothing):
    for permissions, titles in (
        (("funding.view_claim",), ["A first claim"]),
        (("funding.view_claimfile",), ["A first claim file"]),
        (("payments.view_paymentrun",), ["A first payment run"]),
    ):
        client.force_login(staff_with(*permissions))
        assert [title for title, _, _ in client.get(PAGE).context["steps"]] == titles
    client.force_login(staff_with("people.view_contact"))
    assert client.get(PAGE).status_code == 403


def test_a_row_leads_to_where_it_is_mended_for_those_who_may(client, nothing):
    assert not any(row.link for row in rows_on(client).values())
    client.force_login(an_administrator())
    for row in rows_on(client).values():
        assert client.get(row.link).status_code == 200, row.label


def test_the_pages_that_make_the_files_show_the_same_rows_on_top(client, nothing, ada):
    client.force_login(ada)
    for address, file in zip((NEW, READY), FIRST_STEPS[1:], strict=True):
        answer = client.get(address)
        shown = answer.context["lacking"]
        assert shown == lacking_rows(file.requirements, answer.wsgi_request)
        assert shown
        assert PAGE in answer.content.decode()
        assert all(row.lacking in answer.content.decode().replace("&#x27;", "'") for row in shown)
    client.force_login(staff_with("payments.view_paymentrun"))
    text = client.get(READY).content.decode()
    assert "Whoever makes payment runs says it." in text
    assert "Whoever administers the payment settings enters it." in text


def test_home_leads_there_until_the_first_of_both_were_made(client, ada):
    client.force_login(ada)
    assert PAGE in client.get("/admin/").content.decode()
    a_claim_file([a_claim()])
    payment_settings()
    provider = a_client()
    an_account(provider)
    a_paid_claim("20.00", provider=provider)
    run = create_run(None, clock.today(), a_staff_member())
    assert PAGE in client.get("/admin/").content.decode()
    release_run(run.pk, a_releaser())
    assert PAGE not in client.get("/admin/").content.decode()
    PaymentRun.objects.update(status="Opening")
    assert PAGE in client.get("/admin/").content.decode()


def test_the_home_page_of_a_new_office_says_how_much_is_missing(client):
    client.force_login(an_administrator())
    counts = {f"{title}: missing": lacking for title, _, lacking in client.get(PAGE).context["steps"]}
    assert list(counts) == [f"{step.title}: missing" for step in FIRST_STEPS]
    assert all(counts.values())
    panels = {panel.title: content.rows for panel, content in client.get("/admin/").context["panels"]}
    assert list(panels) == ["Getting started"]
    assert {row.label: row.count for row in panels["Getting started"]} == counts
    assert {row.link for row in panels["Getting started"]} == {PAGE}
    a_claim()
    assert "Getting started" not in [panel.title for panel, _ in client.get("/admin/").context["panels"]]


def test_roles_are_missing_while_only_administrators_may_do_anything(client):
    client.force_login(an_administrator())
    assert rows_on(client)["Roles"].lacking
    a_role()
    assert rows_on(client)["Roles"].lacking
    client.post(rows_on(client)["Roles"].link, {"role": ["Plan manager", "Accounts officer"]})
    assert not rows_on(client)["Roles"].lacking
    for role in Role.objects.filter(name__in=("Plan manager", "Accounts officer")):
        a_staff_member(role=role)
    # Between them they may take every step.
    assert not [row.label for row in rows_on(client).values() if row.lacking and row.place == "Roles"]


def test_a_single_person_is_enough_without_four_eyes(client):
    client.force_login(an_administrator())
    assert "switch four eyes off" in rows_on(client)["Colleagues"].lacking
    save_settings(four_eyes=False)
    assert not rows_on(client)["Colleagues"].lacking
