"""The page of a claim says what payment runs have of it: a provider who rings asks when they were paid."""

import datetime as dt
import re

import pytest

from apps.base import clock
from apps.core.read_log import READ_LOG
from apps.funding.models import Claim
from apps.payments.services.returns import mark_returned
from apps.payments.services.runs import create_run, release_run, withdraw_run
from apps.people.models import Contact
from tests.payments.builders import a_paid_claim, a_releaser, agency_takes_back, an_account, payment_settings
from tests.people.records import a_client, a_contact, a_role, a_staff_member

pytestmark = [pytest.mark.django_db, pytest.mark.both_engines("sums of runs are kept by statements")]


@pytest.fixture
def claim(at):
    at("2026-11-20 10:00")
    payment_settings()
    provider = a_client(business_name="Harbour Physio")
    an_account(provider)
    return a_paid_claim("20.00", provider=provider)


def shown(client, claim):
    """The texts of the panel, line by line; none where it has nothing to say."""
    page = client.get(f"/admin/funding/claim/{claim.pk}/change/").content.decode()
    found = re.search(r"<h2>Paid out</h2>\s*<ul[^>]*>(.*?)</ul>", page, re.DOTALL)
    items = re.findall(r"<li>(.*?)</li>", found.group(1), re.DOTALL) if found else []
    return [" ".join(re.sub("<[^>]*>", "", item).split()) for item in items]


def test_it_says_how_far_the_money_has_come(client, ada, claim):
    assert shown(client, claim) == ["20.00 waits for a payment run: Ready to pay"]
    withdraw_run(create_run(None, clock.today(), None).pk)
    assert shown(client, claim) == ["20.00 waits for a payment run: Ready to pay"]
    run = create_run(None, clock.today(), None)
    assert shown(client, claim) == [f"20.00 to be released to Harbour Physio · {run}"]
    release_run(run.pk, a_releaser())
    assert shown(client, claim) == [f"20.00 paid on 20 Nov 2026 to Harbour Physio · {run}"]
    mark_returned(run.items.get().pk, "Account closed", None)
    assert shown(client, claim) == [
        f"20.00 came back on 20 Nov 2026: Account closed to Harbour Physio · {run}",
        "20.00 waits for a payment run: Ready to pay",
    ]


def test_what_was_taken_back_is_owed_until_it_is_set_off(client, ada, claim):
    run = create_run(None, clock.today(), None)
    release_run(run.pk, a_releaser())
    agency_takes_back(claim, "5.00")
    paid = f"20.00 paid on 20 Nov 2026 to Harbour Physio · {run}"
    owed = "5.00 was paid out and taken back since: set it off against the payee’s next payment"
    assert shown(client, claim) == [paid, owed]
    a_paid_claim("40.00", provider=claim.provider)
    later = create_run(None, clock.today() + dt.timedelta(days=3), None, set_off=[claim.pk])
    assert shown(client, claim) == [f"-5.00 to be released to Harbour Physio · {later}", paid]
    release_run(later.pk, a_releaser())
    assert shown(client, claim) == [f"-5.00 set off on 23 Nov 2026 to Harbour Physio · {later}", paid]


def test_the_log_of_reads_has_the_person_whom_it_was_paid_to(client, ada, claim, monkeypatch):
    representative = a_contact()
    an_account(representative)
    Contact.objects.filter(pk=claim.contact_id).update(representative=representative)
    Claim.objects.filter(pk=claim.pk).update(send_payment_to="ClientRepresentative")
    create_run(None, clock.today(), None)
    noted = []
    monkeypatch.setattr(READ_LOG, "add", lambda *entry: noted.append(entry))
    assert str(representative) in shown(client, claim)[0]
    assert [entry[2:4] for entry in noted if entry[0] is Contact] == [(1, representative.pk.bytes)]


def test_it_is_for_those_who_may_view_payment_runs_and_of_what_others_are_paid(client, ada, claim):
    own_fee = a_paid_claim(send_payment_to="PlanManager")
    assert shown(client, own_fee) == []
    client.force_login(a_staff_member(role=a_role("funding.view_claim")))
    assert shown(client, claim) == []
