"""Notices: what ran in the background, what was assigned, what is due; read and unread; by mail."""

import datetime as dt

import pytest
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import clear_script_prefix, set_script_prefix
from django.utils.module_loading import import_string

from apps.access.services import purge_expired
from apps.base import clock
from apps.base.drafts import Draft
from apps.core import history
from apps.core.models import FileImport, Notice, NoticePreference
from apps.core.notices import write_due_notices, write_notices
from apps.engagements.services import create_bookings
from apps.people.choices import Participants
from apps.people.drafts import StaffDraft
from apps.people.handover import TEAMS, hand_over
from apps.people.models import Team
from apps.people.services import update_contacts, update_staff
from apps.sales.models import Opportunity
from apps.sales.services import create_opportunities, update_opportunities
from tests.engagements.builders import a_booking, a_booking_draft, a_category, a_draft, a_plan
from tests.funding.builders import a_claim
from tests.people.records import a_contact, a_role, a_staff_member, get_unrendered
from tests.sales.builders import a_stage
from tests.tasks import run_tasks

pytestmark = pytest.mark.django_db
NOTICES = "/admin/core/notice/"


def texts(person):
    return list(Notice.objects.filter(staff=person).order_by("pk").values_list("text", flat=True))


def a_notice(person, text="Read me", url="/admin/", **columns):
    return Notice.objects.create(staff=person, kind="Due", text=text, url=url, **columns)


def an_opportunity(**columns):
    return Opportunity.objects.create(**{"name": "Plan review", "stage": a_stage(), **columns})


def test_one_sees_ones_own_notices_and_reading_one_marks_it(client, ada):
    mine, others = a_notice(ada, url="/admin/people/contact/"), a_notice(a_staff_member())
    assert 'class="rs-bell"' in client.get("/admin/").content.decode()
    assert "Notices, 1 unread" in client.get("/admin/").content.decode()
    listed = get_unrendered(client, NOTICES).context["cl"].result_list
    assert list(listed) == [mine]
    assert client.get(f"{NOTICES}{mine.pk}/visit/")["Location"] == "/admin/people/contact/"
    assert "unread" not in client.get("/admin/").content.decode()
    client.get(f"{NOTICES}{others.pk}/visit/")
    client.post(f"{NOTICES}read-all/")
    others.refresh_from_db()
    assert others.read_at is None


@pytest.mark.parametrize("written_at", ["/", "/records/", "/a/"])
@pytest.mark.parametrize("prefix", ["/records", "/a"])
def test_a_notice_leads_to_its_page_behind_a_prefix(client, ada, settings, written_at, prefix):
    settings.TRUST_PROXY = True
    set_script_prefix(written_at)
    write_notices([Notice(staff_id=ada.pk, kind="Due", text="Due", url=f"{written_at}admin/people/contact/")])
    clear_script_prefix()
    notice = Notice.objects.get()
    assert notice.url == "/admin/people/contact/"
    answer = client.get(f"{NOTICES}{notice.pk}/visit/", headers={"X-Forwarded-Prefix": prefix})
    assert answer["Location"] == f"{prefix}/admin/people/contact/"


def test_old_notices_are_deleted(ada, settings):
    a_notice(ada, at=clock.now() - dt.timedelta(days=settings.NOTICE_DAYS + 1))
    recent = a_notice(ada)
    assert purge_expired()["notices"] == 1
    assert list(Notice.objects.all()) == [recent]


def test_all_notices_are_marked_as_read_at_once(client, ada):
    a_notice(ada), a_notice(ada)
    client.post(f"{NOTICES}read-all/")
    assert not Notice.objects.filter(read_at=None).exists()


def test_notices_are_mailed_to_whoever_wants_it(client, ada, settings):
    settings.SITE_ADDRESS = "https://records.example.org/"
    client.post(f"{NOTICES}preference/", {"by_mail": "1"})
    write_notices([Notice(staff_id=ada.pk, kind="Due", text="Follow up\non Walsh", url="/admin/x/")])
    write_notices([Notice(staff_id=a_staff_member().pk, kind="Due", text="Not mailed", url="/admin/x/")])
    run_tasks()
    (sent,) = mail.outbox
    assert (sent.to, sent.subject) == ([ada.primary_email], "My organisation: Follow up on Walsh")
    assert sent.body == "Follow up\non Walsh\n\nhttps://records.example.org/admin/x/"
    client.post(f"{NOTICES}preference/", {"by_mail": "0"})
    assert not NoticePreference.objects.get(staff=ada).by_mail


def test_the_end_of_an_import_is_told_and_its_check_is_not(client, ada):
    file = SimpleUploadedFile("people.csv", b"First name,Surname\nIda,Quill\nNed,\n")
    client.post("/admin/core/fileimport/add/", {"kind": "contact", "file": file})
    run_tasks()
    assert texts(ada) == []
    record = FileImport.objects.get()
    client.post(f"/admin/core/fileimport/{record.pk}/file/", {"action": "import"})
    run_tasks()
    assert texts(ada) == ["people.csv: imported. 1 new, 1 rejected"]
    assert client.get(Notice.objects.get().url).status_code == 200


def test_a_new_owner_is_told_of_an_opportunity_unless_they_did_it_themselves(ada):
    owner = a_staff_member()
    NoticePreference.objects.create(staff=owner, by_mail=True)
    opportunity = an_opportunity(owner=ada, name="Walsh")

    def give_to(person):
        with history.as_author(history.Author("Back office", ada.pk)):
            update_opportunities([Draft({"owner": person}, given=["owner"], key=opportunity.pk)])

    give_to(owner)
    give_to(owner)
    give_to(ada)
    assert texts(owner) == ["Assigned to you: opportunity Walsh"]
    assert texts(ada) == []
    assert Notice.objects.get().url == f"/admin/sales/opportunity/{opportunity.pk}/change/"
    run_tasks()
    assert [sent.to for sent in mail.outbox] == [[owner.primary_email]]


def test_many_opportunities_assigned_at_once_are_one_notice(ada):
    owner, stage = a_staff_member(), an_opportunity(owner=ada).stage
    for channel in ("Import", "Command"):
        with history.as_author(history.Author(channel)):
            create_opportunities(
                [
                    a_draft(Opportunity, name="Plan review", owner=owner, stage=stage, outcome_reasons=[])
                    for _ in range(4)
                ]
            )
    assert texts(owner) == ["An import assigned opportunities to you."]


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (0, []),
        (1, ["Assigned to you: opportunity Plan review"]),
        (5, ["5 opportunities were assigned to you."]),
    ],
)
def test_whoever_is_limited_is_told_of_the_number_that_they_see(ada, seen, expected):
    limited, stage = a_staff_member(role=a_role(participants=Participants.OWN)), a_stage()
    own, other = a_contact(account_manager=limited), a_contact(account_manager=ada)
    given = {"name": "Plan review", "owner": limited, "stage": stage, "outcome_reasons": []}
    contacts = [own if number < seen else other for number in range(7)]
    with history.as_author(history.Author("Back office", ada.pk)):
        create_opportunities([a_draft(Opportunity, primary_contact=contact, **given) for contact in contacts])
    assert texts(limited) == expected


def test_whoever_gets_something_to_look_after_is_told(ada):
    staff = a_staff_member()
    team, contact = Team.objects.create(name="Intake"), a_contact(first_name="Matilda", last_name="Walsh")
    with history.as_author(history.Author("Back office", ada.pk)):
        update_contacts([Draft({"account_manager": staff}, given=["account_manager"], key=contact.pk)])
        update_staff([StaffDraft({"teams": [team]}, given=["teams"], key=staff.pk)])
        create_bookings(
            [a_booking_draft(engagement=a_plan(), category=a_category(), budget_manager=staff)],
            True,
        )
        key = an_opportunity(owner=ada, name="Plan review").pk
        update_opportunities([Draft({"follow_up_staff": staff}, given=["follow_up_staff"], key=key)])
        a_claim(staff=staff)
    assert texts(staff) == [
        "Assigned to you: contact Matilda Walsh",
        "You are now a member of the team Intake",
        "Assigned to you: service booking 01 Assistance with Daily Life",
        "Assigned to you: opportunity Plan review",
    ]


def test_a_successor_is_told_what_was_handed_over(ada):
    leaver, successor = a_staff_member(first_name="Lee", last_name="Leaver"), a_staff_member()
    a_contact(account_manager=leaver), a_contact(account_manager=leaver)
    leaver.teams.add(Team.objects.create(name="Intake"))
    with history.as_author(history.Author("Back office", ada.pk)):
        hand_over(leaver, {"people.contact.account_manager": successor, TEAMS: successor})
    assert texts(successor) == [
        "Handed over to you from Lee Leaver: Contacts (account manager), 2",
        "Handed over to you from Lee Leaver: Teams (member), 1",
    ]


def test_what_is_due_is_told_once(ada, at):
    at("2026-03-02 06:00")
    today = dt.date(2026, 3, 2)
    for days in (-8, -1, 0, 1):
        date = today + dt.timedelta(days=days)
        an_opportunity(owner=ada, name=f"Due {days}", follow_up_staff=ada, follow_up_date=date)
    person = a_contact(first_name="Matilda", last_name="Walsh", account_manager=ada)
    a_plan(participant=person, plan_start_date=dt.date(2025, 4, 1), plan_end_date=dt.date(2026, 3, 31))
    leaving, replaced = (a_contact(first_name=name, account_manager=ada) for name in ("Lea", "Rey"))
    year = {"plan_start_date": dt.date(2025, 4, 1), "plan_end_date": dt.date(2026, 3, 31)}
    for contact, end in ((leaving, dt.date(2026, 3, 3)), (replaced, dt.date(2026, 3, 2))):
        a_plan(participant=contact, no_active_plan_from_date=end, **year)
    a_booking(a_plan(participant=person), budget=100, claimed=95, budget_manager=ada)
    write_due_notices()
    assert sorted(texts(ada)) == [
        "Follow up on Due -1, due 01/03/2026",
        "Follow up on Due 0, due 02/03/2026",
        f"The plan of {leaving} ends on 02/03/2026",
        "The plan of Matilda Walsh ends on 31/03/2026",
    ]
    write_due_notices()
    assert Notice.objects.count() == 4
    at("2026-03-03 00:10")
    write_due_notices()
    assert texts(ada)[4:] == ["Follow up on Due 1, due 03/03/2026"]


def test_a_worker_writes_what_is_due_by_itself(settings):
    seconds = {import_string(path): seconds for path, seconds in settings.PERIODIC_SERVICES.items()}
    assert seconds[write_due_notices] <= 24 * 3600
