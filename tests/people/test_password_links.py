"""Links by which people choose their password, and the page of the first administrator."""

import re
import time
from contextlib import nullcontext
from io import StringIO
from unittest import mock

import pytest
import time_machine
from django.core import mail
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from apps.core.models import Change
from apps.people.authentication.first_administrator import VALIDITY, first_administrator_path
from apps.people.authentication.forms import MAILS
from apps.people.models import Staff
from apps.people.services import administrators
from tests.people.records import PASSWORD, a_role, a_staff_member, an_administrator
from tests.people.test_authentication import LOGIN, is_signed_in, sign_in
from tests.tasks import run_tasks

pytestmark = [pytest.mark.django_db, pytest.mark.any_engine("links are signed and checked in Python")]
ASK = "/admin/account/password/"
NEW = "quite another thing"
BOTH = {"new_password1": NEW, "new_password2": NEW}


def a_colleague(**fields):
    return a_staff_member(role=a_role("people.view_client"), **fields)


def ask(client, email, fails=False):
    """Ask for a mail, and let a worker send it."""
    client.post(ASK, {"email": email})
    with mock.patch("django.core.mail.EmailMessage.send", side_effect=OSError) if fails else nullcontext():
        run_tasks()


def link_in(text):
    return re.search(r"http://testserver(/admin/account/password/[^/\s]+/[^/\s]+/)", text)[1]


def choose(client, link, form=BOTH):
    return client.post(client.get(link)["Location"], form)


def test_somebody_who_has_forgotten_their_password_chooses_a_new_one_by_mail(client):
    person = a_colleague()
    assert ASK in client.get(LOGIN).content.decode()
    ask(client, person.primary_email.upper())
    assert mail.outbox[0].to == [person.primary_email]
    link = link_in(mail.outbox[0].body)
    assert choose(client, link)["Location"] == LOGIN
    change = Change.objects.get(record_key=str(person.pk), kind="Changed")
    assert (change.staff_id, list(change.differences)) == (person.pk, ["password"])
    assert NEW not in str(change.differences)
    sign_in(client, person.primary_email, NEW)
    assert is_signed_in(client)
    assert "no longer valid" in client.get(link).content.decode()


def test_every_email_gets_the_same_answer(client):
    a_colleague(primary_email="ada@example.org")
    client.post(ASK, {"email": "mo@example.org"}, follow=True)  # what is loaded once
    answers, statements = [], []
    for email in ("ada@example.org", "eve@example.org"):
        with CaptureQueriesContext(connection) as captured:
            answer = client.post(ASK, {"email": email})
        statements.append([re.sub(r"'[^']*'|[0-9]+", "", query["sql"]) for query in captured])
        answers.append(re.sub(r'value="[^"]{64}"', "", client.get(answer["Location"]).content.decode()))
    assert answers[0] == answers[1]
    assert statements[0] == statements[1] != []
    assert mail.outbox == []
    run_tasks()
    assert [message.to for message in mail.outbox] == [["ada@example.org"]]


@pytest.mark.parametrize(("hours", "said"), [(1, "for 1 hour"), (48, "for 48 hours")])
def test_the_page_and_the_mail_say_how_long_the_link_is_valid(client, settings, hours, said):
    settings.PASSWORD_LINK_HOURS = hours
    person = a_colleague()
    page = client.post(ASK, {"email": person.primary_email}, follow=True).content.decode()
    run_tasks()
    assert all(f"The link is valid {said}" in text for text in (page, mail.outbox[0].body))


def test_the_table_of_tasks_has_no_link_and_no_email_that_somebody_typed(client):
    person = a_colleague()
    for email in (person.primary_email, "stranger@example.org"):
        client.post(ASK, {"email": email})
    arguments = [task.args_kwargs["args"] for task in DBTaskResult.objects.order_by("enqueued_at")]
    assert arguments == [[key, "http://testserver", 0] for key in (str(person.pk), None)]


def test_a_server_of_mail_that_fails_is_asked_again(client):
    ask(client, a_colleague().primary_email, fails=True)
    assert mail.outbox == []
    assert DBTaskResult.objects.get(status="READY").args_kwargs["args"][-1] == 1


@pytest.mark.parametrize("closed", [{"archive_date": timezone.now()}, {"role": None}])
def test_whose_login_is_closed_gets_no_mail(client, closed):
    person = a_staff_member(**{**closed, "role": a_role()})
    ask(client, person.primary_email)
    assert mail.outbox == []


def test_nobody_is_flooded_with_mails(client):
    person = a_colleague()
    for email in (person.primary_email, "nobody@example.org"):
        answers = [client.post(ASK, {"email": email}) for _ in range(MAILS.per_minute + 1)]
        assert [answer.status_code for answer in answers] == [302] * MAILS.per_minute + [429]
        assert 0 < int(answers[-1]["Retry-After"]) <= 60
    run_tasks()
    assert len(mail.outbox) == MAILS.per_minute


def test_a_link_ends_with_its_time_and_with_the_login(client, settings):
    person = a_colleague()
    ask(client, person.primary_email)
    link = link_in(mail.outbox[0].body)
    Staff.objects.filter(pk=person.pk).update(disable_login_date=timezone.now())
    assert "no longer valid" in client.get(link).content.decode()
    Staff.objects.filter(pk=person.pk).update(disable_login_date=None)
    # An hour more: Django counts by the local clock, which goes back by one once a year.
    with time_machine.travel(time.time() + settings.PASSWORD_RESET_TIMEOUT + 3601):
        assert "no longer valid" in client.get(link).content.decode()
    assert client.get(link).status_code == 302


def test_a_password_by_link_obeys_the_rules_of_passwords(client):
    person = a_colleague()
    ask(client, person.primary_email)
    link = link_in(mail.outbox[0].body)
    answer = choose(client, link, {"new_password1": "password", "new_password2": "password"})
    assert "too short" in answer.content.decode()
    sign_in(client, person.primary_email, PASSWORD)
    assert is_signed_in(client)


def test_an_administrator_hands_over_a_link_or_mails_it(client, settings):
    boss, person = an_administrator(), a_colleague()
    client.force_login(boss)
    page = f"/admin/people/staff/{person.pk}/password/"
    assert 'name="mail"' not in client.get(page).content.decode()
    settings.EMAIL_HOST = "mail.example.org"
    assert 'name="mail"' in client.get(page).content.decode()
    link = link_in(client.post(page, {"link": "1"}).content.decode())
    change = Change.objects.get(record_key=str(person.pk), kind="Changed")
    assert (change.staff_id, list(change.differences)) == (boss.pk, ["password link"])
    client.post(page, {"mail": "1"})
    run_tasks()
    assert mail.outbox[0].to == [person.primary_email]
    assert choose(client.__class__(), link)["Location"] == LOGIN


def test_nobody_makes_a_link_for_those_who_may_do_more(client):
    boss, clerk = an_administrator(), a_staff_member(role=a_role("people.change_staff", "people.view_staff"))
    client.force_login(clerk)
    for name in ("link", "mail"):
        assert client.post(f"/admin/people/staff/{boss.pk}/password/", {name: "1"}).status_code == 403
    run_tasks()
    assert mail.outbox == []


# --- the first administrator ----------------------------------------------------------------------------

ADA = {"email": "ada@example.org", "first_name": "Ada", "last_name": "Byron", "password": PASSWORD}


def printed(verbosity=1):
    text = StringIO()
    call_command("first_administrator", url="http://testserver/", stdout=text, verbosity=verbosity)
    return text.getvalue()


def test_the_first_administrator_is_made_by_the_printed_address(client):
    assert "has no administrator" in client.get(LOGIN).content.decode()
    address = re.search(r"http://testserver(\S+)", printed())[1]
    assert client.post(address, {**ADA, "password": "short"}).context["form"].errors.keys() == {"password"}
    assert client.post(address, ADA)["Location"] == LOGIN
    assert administrators().get().full_name == "Ada Byron"
    sign_in(client, "ada@example.org")
    assert is_signed_in(client)


def test_the_address_is_that_of_the_site_where_none_is_given(settings):
    settings.SITE_ADDRESS = "https://records.example/"
    text = StringIO()
    call_command("first_administrator", stdout=text)
    assert "  https://records.example/admin/account/first/" in text.getvalue()


def test_the_address_ends_with_the_first_administrator(client):
    address = first_administrator_path()
    an_administrator()
    assert printed().startswith("There is an administrator already.")
    assert printed(verbosity=0) == ""
    assert client.get(address).status_code == client.post(address, ADA).status_code == 404
    assert "has no administrator" not in client.get(LOGIN).content.decode()


def test_the_address_cannot_be_guessed_and_ends_after_a_day(client):
    address = first_administrator_path()
    assert client.get("/admin/account/first/x/").status_code == 404
    with time_machine.travel(time.time() + VALIDITY.total_seconds() + 1):
        assert client.post(address, ADA).status_code == 404
    assert client.get(address).status_code == 200
    assert not Staff.objects.exists()
