"""Somebody leaves: what they look after is shown and handed over, their login ends; and they may return."""

import pytest
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.apps import apps
from django.contrib.sessions.models import Session

from apps.base import clock
from apps.base.drafts import ValidationFailed
from apps.core import history_display
from apps.core.models import TimestampedModel
from apps.funding.models import Claim
from apps.people.handover import TEAMS, find_assignments, hand_over, leave, restore_staff
from apps.people.models import Contact, Staff, Team
from apps.sales.choices import Outcome
from apps.sales.models import Opportunity
from tests.engagements.builders import a_booking
from tests.funding.builders import a_claim, an_invoice
from tests.people.records import a_contact, a_role, a_staff_member, an_administrator, get_unrendered
from tests.races import call_at_once
from tests.sales.builders import a_template, an_opportunity

pytestmark = [pytest.mark.django_db, pytest.mark.both_engines("work is handed over by statements of its own")]

#: References to staff that say who did something, each of which stays.
FACTS = {
    "documents.Document.created_by": "who uploaded it",
    "funding.ProviderInvoice.created_by": "who entered it",
    "funding.ProviderInvoice.actioned_by": "who decided",
    "funding.Claim.entered_by": "who entered it",
    "funding.Invoice.entered_by": "who entered it",
    "funding.ClaimFile.created_by": "who made it",
    "funding.ClaimFile.sent_by": "who sent it",
    "funding.ClaimFile.withdrawn_by": "who withdrew it",
    "funding.ClaimResult.staff": "who imported it",
    "funding.Remittance.received_by": "who imported it",
    "funding.StatusMove.staff": "who did it",
    "funding.AcknowledgedWarning.staff": "who acknowledged it",
    "core.FileImport.staff": "who imported it",
    "payments.BankAccount.entered_by": "who entered it",
    "payments.BankAccount.confirmed_by": "who confirmed it",
    "payments.PaymentRun.made_by": "who made it",
    "payments.AccountsExport.made_by": "who made it",
    "payments.PaymentRun.released_by": "who released it",
    "payments.PaymentRunItem.returned_by": "who marked it as come back",
    "payments.Statement.made_by": "who made it",
    "payments.StatementConsent.recorded_by": "who recorded it",
    "payments.StatementRun.staff": "who began it",
}


@pytest.fixture
def leaver(db):
    """Somebody with open work of every kind, and some that is done."""
    person = a_staff_member(first_name="Lee", last_name="Leaver", role=a_role(all_permissions=True))
    a_contact(account_manager=person)
    a_contact(account_manager=person, archive_date=clock.now())
    a_staff_member(account_manager=person)
    a_booking(budget_manager=person)
    opportunities = Opportunity.objects.filter(pk__in=[an_opportunity().pk, an_opportunity().pk])
    opportunities.update(owner=person, follow_up_staff=person)
    opportunities.filter(pk=opportunities.first().pk).update(
        outcome=Outcome.SALE_UNSUCCESSFUL, outcome_moment=clock.now(), outcome_date=clock.today()
    )
    a_template(owner=person, follow_up_staff=person)
    a_claim(staff=person)
    a_claim(staff=person, funding_status="Paid")
    an_invoice(staff=person)
    person.teams.add(Team.objects.create(name="North"))
    return person


def page_of(person):
    return f"/admin/people/staff/{person.pk}/archiving/"


def codes(call):
    with pytest.raises(ValidationFailed) as failed:
        call()
    return [issue.code for _, issue in failed.value.issues]


def everything_to(successor, leaver):
    return {each.name: successor for each in find_assignments(leaver)}


def counts(person):
    return {each.name: each.records.count() for each in find_assignments(person)}


def test_every_reference_to_staff_is_a_responsibility_or_a_fact():
    references = {
        f"{model._meta.label}.{column.name}"
        for model in apps.get_models()
        for column in model._meta.concrete_fields
        if column.many_to_one
        and column.related_model is Staff
        and model._meta.app_config.name.startswith("apps.")
    }
    responsibilities = {
        f"{model._meta.label}.{each.column}"
        for model in apps.get_models()
        if issubclass(model, TimestampedModel)
        for each in model.responsibilities
    }
    of_logs = {name for name in references if name.startswith("core.")} | {"people.CustomFieldAnswer.staff"}
    assert references - of_logs - responsibilities == set(FACTS) - of_logs
    assert responsibilities <= references


def test_all_open_work_goes_to_one_person_and_the_login_ends(leaver, client):
    successor = an_administrator()
    client.force_login(leaver)
    session = client.session.session_key
    UserSession.objects.create(user=leaver, session_key=session, ip="127.0.0.1")
    Authenticator.objects.create(user=leaver, type="totp", data={})
    before = counts(leaver)
    assert set(before.values()) == {1}
    assert leave(leaver, everything_to(successor, leaver)) == len(before)
    assert set(counts(leaver).values()) == {0}
    assert counts(successor) == before
    leaver.refresh_from_db()
    assert leaver.is_archived
    assert not leaver.is_active
    assert not leaver.authenticator_set.exists()
    assert not Session.objects.filter(session_key=session).exists()
    assert client.get("/admin/").status_code == 302
    assert Claim.objects.get(funding_status="Paid").staff == leaver
    (line,) = history_display.history_lines(
        history_display.changes_of(Claim.objects.get(staff=successor))[:1]
    )
    assert [(each.before, each.after) for each in line.differences] == [("Lee Leaver", str(successor))]


def test_each_kind_of_work_may_go_to_another_person(leaver):
    first, second = an_administrator(), an_administrator()
    hand_over(leaver, {"funding.claim.staff": first, "people.contact.account_manager": second})
    assert counts(first)["funding.claim.staff"] == 1
    assert counts(second)["people.contact.account_manager"] == 1
    assert counts(leaver)["funding.invoice.staff"] == 1
    assert Contact.objects.get(archive_date__isnull=False).account_manager == leaver


def test_a_successor_whose_account_manager_left_has_none(leaver):
    successor = Staff.objects.get(account_manager=leaver)
    hand_over(leaver, {"people.staff.account_manager": successor})
    successor.refresh_from_db()
    assert successor.account_manager is None


def test_an_archived_team_is_nobodys_to_join(leaver):
    leaver.teams.add(Team.objects.create(name="South", archive_date=clock.now()))
    successor = an_administrator()
    assert hand_over(leaver, {TEAMS: successor}) == 1
    assert [team.name for team in successor.teams.all()] == ["North"]


def test_work_that_there_is_none_of_needs_no_permission(db):
    lesser = a_staff_member(role=a_role("people.view_contact"))
    assert hand_over(a_staff_member(), {"funding.claim.staff": lesser}) == 0


def test_who_cannot_take_over_is_refused_and_nothing_moves(leaver):
    gone, closed = (
        an_administrator(archive_date=clock.now()),
        an_administrator(disable_login_date=clock.now()),
    )
    name, before = "funding.claim.staff", counts(leaver)
    an_administrator()
    for successor in (gone, closed, leaver):
        assert codes(lambda who=successor: leave(leaver, {TEAMS: who})) == ["NotAllowed"]
    lesser = a_staff_member(role=a_role("people.view_contact"))
    assert codes(lambda: leave(leaver, {name: lesser, TEAMS: lesser})) == ["PermissionNeeded"]
    leaver.refresh_from_db()
    assert (counts(leaver), leaver.is_archived) == (before, False)


def test_the_last_administrator_does_not_leave(leaver):
    Staff.objects.exclude(pk=leaver.pk).update(role=a_role())
    successor = a_staff_member(role=a_role("people.view_contact"))
    assert set(codes(lambda: leave(leaver, {TEAMS: successor}))) == {"NotAllowed"}
    assert counts(leaver)[TEAMS] == 1


def test_who_returns_can_sign_in_again_and_gets_nothing_back(leaver):
    successor = an_administrator()
    leave(leaver, everything_to(successor, leaver))
    assert restore_staff(Staff.objects.all()) == 1
    leaver.refresh_from_db()
    assert leaver.is_active
    assert leaver.disable_login_date is None
    assert set(counts(leaver).values()) == {0}


def test_the_page_shows_the_work_hands_it_over_and_takes_somebody_back(leaver, client, ada):
    assert "Leaves" in client.get(f"/admin/people/staff/{leaver.pk}/overview/").content.decode()
    page = client.get(page_of(leaver)).content.decode()
    for text in (
        "Claims (assigned to)",
        "Contacts (account manager)",
        "Teams (member)",
        "Opportunities (owner)",
    ):
        assert text in page
    assert f"/admin/funding/claim/?staff__guid__exact={leaver.pk}" in page
    form = get_unrendered(client, page_of(leaver)).context["form"]
    number = next(n for n, (each, _) in enumerate(form.assignments) if each.name == "funding.claim.staff")
    cora = an_administrator()
    answer = client.post(page_of(leaver), {"successor": ada.pk, f"successor_{number}": cora.pk}, follow=True)
    assert "Lee Leaver is archived and can no longer sign in" in answer.content.decode()
    assert (counts(cora)["funding.claim.staff"], counts(ada)["funding.invoice.staff"]) == (1, 1)
    a_contact(account_manager=leaver)  # of a request that came in between
    page = client.get(page_of(leaver)).content.decode()
    assert "two-factor authentication has to be set up again" in page
    client.post(page_of(leaver), {"successor": ada.pk, "_hand_over": ""})
    assert set(counts(leaver).values()) == {0}
    client.post(page_of(leaver), {"_restore": ""})
    leaver.refresh_from_db()
    assert leaver.is_active


def test_the_page_says_why_somebody_cannot_take_over(leaver, client, ada):
    lesser = a_staff_member(first_name="Les", role=a_role("people.view_contact"))
    page = client.post(page_of(leaver), {"successor": lesser.pk}).content.decode()
    assert "Claims (assigned to): the role of Les" in page
    leaver.refresh_from_db()
    assert not leaver.is_archived


def test_whoever_may_not_change_somebody_does_not_let_them_leave(leaver, client):
    client.force_login(a_staff_member(role=a_role("people.view_staff", "people.change_staff")))
    assert client.get(page_of(leaver)).status_code == 403
    assert client.post(page_of(leaver), {}).status_code == 403


@pytest.mark.postgres("SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_two_who_hand_over_to_each_other_do_not_both_leave():
    an_administrator()
    first, second = an_administrator(), an_administrator()

    def leaving(leaver, successor):
        try:
            return leave(leaver, {TEAMS: successor})
        except ValidationFailed:
            return "refused"

    results = call_at_once(lambda: leaving(first, second), lambda: leaving(second, first))
    assert sorted(map(str, results)) == ["0", "refused"]
