"""Staff, clients and contacts enter the records, are replaced and revised: apps/people/enrolling.py."""

import datetime as dt
import json
import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.base import clock
from apps.base.drafts import Draft, ValidationFailed
from apps.base.errors import InvalidRecords, NotFound, PreconditionFailed
from apps.core import history
from apps.core.bulk_insert import FEW
from apps.core.models import Change
from apps.people.drafts import StaffDraft
from apps.people.models import Client, Contact, CustomField, Staff
from apps.people.services import create_clients, update_contacts, update_staff
from tests.people.builders import (
    a_client,
    a_client_body,
    a_contact,
    a_contact_body,
    a_location,
    a_position,
    a_role,
    a_staff_body,
    a_staff_member,
    a_team,
    posted,
    put_staff,
)
from tests.people.import_files import imported

pytestmark = pytest.mark.django_db


def put(record, check=None, **members):
    put_staff(record.pk, members, check)
    return Staff.objects.get(pk=record.pk)


def changes_of(record):
    return list(Change.objects.filter(record_key=str(record.pk)).order_by("id"))


# --- POST -----------------------------------------------------------------------------------------------


def test_every_member_of_a_staff_body_is_stored():
    role, position, location, team, manager = a_role(), a_position(), a_location(), a_team(), a_staff_member()
    member = a_staff_member(
        role=role,
        Abbreviation="GH",
        PersonalTitle="Dr",
        SchemeNumber="430000001",
        Birthday="1906-12-09 00:00:00",
        NumberOfChildren=0,
        WorkingHoursPerWeek=38,
        DisableLoginDate="2030-07-01T00:00:00+10:00",
        Address={"StreetAddress": "1 High St", "State": "NSW", "Country": "Australia"},
        PostalAddress={"PostalStreetAddress": "PO Box 1", "PostalAddress2": "Level 2"},
        Teams=[{"TeamId": team.pk}, {"TeamId": team.pk}],
        AccountManager={"StaffGuid": str(manager.pk)},
        PositionTitle={"PositionGuid": str(position.pk)},
        Location={"LocationGuid": str(location.pk)},
    )
    assert (member.abbreviation, member.personal_title, member.scheme_number) == ("GH", "Dr", "430000001")
    assert (member.birthday, member.number_of_children) == (dt.date(1906, 12, 9), 0)
    assert member.disable_login_date == dt.datetime(2030, 6, 30, 14, tzinfo=dt.UTC)
    assert (member.street_address, member.state, member.country) == ("1 High St", "NSW", "Australia")
    assert (member.postal_street_address, member.postal_street_address2) == ("PO Box 1", "Level 2")
    assert (member.role, member.position, member.location) == (role, position, location)
    assert member.account_manager == manager
    assert list(member.teams.all()) == [team]
    assert member.use_primary_email is True
    assert member.use_secondary_email is False
    assert (member.phone1, member.archive_date) == (None, None)
    assert member.creation_date == member.modify_date


def test_nobody_can_sign_in_as_new_staff():
    member = a_staff_member()
    assert not member.has_usable_password()
    assert not member.check_password("")
    assert a_staff_member().password != member.password


def test_read_only_members_of_a_body_are_not_stored():
    guid = str(uuid.uuid4())
    member = a_staff_member(
        StaffGuid=guid, CreationDate="2001-01-01", ArchiveDate="2001-01-01", password="x", Password="x"
    )
    assert str(member.pk) != guid
    assert member.creation_date.year > 2001
    assert member.archive_date is None
    assert member.password.startswith("!")


def test_keys_come_in_the_order_of_the_body():
    keys = posted("client", *[a_client_body(ExternalReference=str(n)) for n in range(20)])
    assert [Client.objects.get(pk=key).external_reference for key in keys] == [str(n) for n in range(20)]


def test_each_new_record_has_a_line_in_the_history_by_whoever_wrote_it():
    with history.as_author(history.Author("API", application="Payroll", request_id="r1")):
        keys = posted("contact", *[a_contact_body() for _ in range(9)])
    lines = Change.objects.filter(application="Payroll", request_id="r1", channel="API", kind="Created")
    assert {line.record_key for line in lines} == {str(key) for key in keys}
    assert {line.record_type for line in lines} == {"people.contact"}


def test_one_bad_record_keeps_all_others_out(refused):
    bodies = [a_client_body() for _ in range(99)]
    assert refused("client", *bodies, {"BusinessName": ""}) == [("Required", "value[99]/BusinessName")]
    assert not Client.objects.exists()
    assert not Change.objects.filter(record_type="people.client").exists()


def test_all_kinds_of_fault_are_reported_at_once_in_the_order_of_the_records():
    a_client(UniqueCode="taken")
    nobody = {"ContactGuid": str(uuid.uuid4())}
    with pytest.raises(InvalidRecords) as refusal:
        posted(
            "client",
            {"BusinessName": "One", "UniqueCode": "TAKEN ", "KeyContact": nobody},
            a_client_body(),
            {"BusinessName": 5, "Address": {"State": "NSW"}},
            {"BusinessName": "one", "BusinessPhone": "9" * 91},
        )
    assert [(fault.code, fault.target) for fault in refusal.value.details] == [
        ("NotFound", "value[0]/KeyContact/ContactGuid"),
        ("NotUnique", "value[0]/UniqueCode"),
        ("WrongType", "value[2]/BusinessName"),
        ("Required", "value[2]/Address/Country"),
        ("TooLong", "value[3]/BusinessPhone"),
        ("NotUnique", "value[3]/BusinessName"),
    ]
    assert refusal.value.message == "Nothing was stored: 6 faults in 3 records."


@pytest.mark.parametrize(
    ("path", "body"), [("client", a_client_body), ("contact", a_contact_body), ("staff", a_staff_body)]
)
def test_the_number_of_statements_does_not_depend_on_the_number_of_records(path, body):
    role, team, contact = a_role(), a_team(), a_contact()
    more = {
        "staff": {"Teams": [{"TeamId": team.pk}]},
        "client": {"KeyContact": {"ContactGuid": str(contact.pk)}},
    }

    def statements(number):
        words = {"role": role} if path == "staff" else {}
        bodies = [body(**words, UniqueCode=f"{number}/{n}", **more.get(path, {})) for n in range(number)]
        with CaptureQueriesContext(connection) as queries:
            assert len(posted(path, *bodies)) == number
        return len(queries)

    assert statements(FEW + 1) == statements(50)


def test_faulty_drafts_are_never_stored_by_a_verb_called_directly():
    with pytest.raises(ValidationFailed):
        create_clients([Draft({"state": None, "postal_state": None}, invalid={"business_name"})])


def test_the_kind_of_a_custom_field_stays_once_it_is_answered(tmp_path):
    field = CustomField.objects.create(name="Diet", applies_to="Contact", kind="Text")
    path = tmp_path / "fields.json"
    path.write_text(json.dumps([{"CustomFieldGuid": str(field.pk), "Name": "Diet", "Kind": "Number"}]))
    a_contact().custom_field_answers.create(custom_field=field)
    assert "It cannot be changed: other records depend on it." in imported("customField", path).err
    field.answers.all().delete()
    imported("customField", path)
    field.refresh_from_db()
    assert field.kind == "Number"


# --- PUT ------------------------------------------------------------------------------------------------


def test_replacing_makes_omitted_members_null_or_their_default():
    member = a_staff_member(Phone1="1", AcceptsSmsContact="No", Address={"City": "Sydney"}, SchemeNumber="43")
    replaced = put(member, **a_staff_body(Phone2="2", Phome1="misspelt"))
    assert (replaced.phone1, replaced.phone2, replaced.city, replaced.scheme_number) == (
        None,
        "2",
        None,
        None,
    )
    assert replaced.accepts_sms_contact == "Yes"


def test_replacing_keeps_stamps_password_and_login_times():
    member = a_staff_member()
    before = clock.now() - dt.timedelta(days=9)
    member.set_password("correct horse battery")
    member.save()
    Staff.objects.filter(pk=member.pk).update(
        creation_date=before, modify_date=before, archive_date=before, last_login=before
    )
    replaced = put(member, **a_staff_body())
    assert (replaced.creation_date, replaced.archive_date, replaced.last_login) == (before, before, before)
    assert replaced.modify_date > before
    assert replaced.check_password("correct horse battery")


def test_a_replaced_record_has_old_and_new_values_in_the_history():
    red, blue = a_team(name="Red"), a_team(name="Blue")
    body = a_staff_body(Phone1="1", Teams=[{"TeamId": red.pk}])
    member = Staff.objects.get(pk=posted("staff", body)[0])
    replaced = put(member, **{**body, "Phone1": "2", "Teams": [{"TeamId": blue.pk}]})
    assert list(replaced.teams.all()) == [blue]
    differences = [line.differences for line in changes_of(member) if line.kind == "Changed"]
    assert {"teams": [["Red"], ["Blue"]]} in differences
    assert {"phone1": ["1", "2"]} in differences
    assert len(differences) == 2


def test_replacing_with_the_same_changes_nothing():
    body = a_staff_body(Teams=[{"TeamId": a_team().pk}], Birthday="1980-01-01", UniqueCode="x")
    key = posted("staff", body)[0]
    Staff.objects.filter(pk=key).update(modify_date=clock.now() - dt.timedelta(days=1))
    member = Staff.objects.get(pk=key)
    replaced = put(member, **body)
    assert replaced.modify_date == member.modify_date
    assert [line.kind for line in changes_of(member)] == ["Created"]


def test_a_change_of_the_teams_alone_is_a_change_of_the_record():
    body = a_staff_body(Teams=[{"TeamId": a_team().pk}])
    member = Staff.objects.get(pk=posted("staff", body)[0])
    Staff.objects.filter(pk=member.pk).update(modify_date=clock.now() - dt.timedelta(days=1))
    replaced = put(member, **{**body, "Teams": []})
    assert replaced.modify_date == clock.now()
    assert not replaced.teams.exists()


def test_a_replaced_record_may_keep_its_own_unique_texts_and_not_take_anothers():
    member, other = a_staff_member(UniqueCode="mine"), a_staff_member(UniqueCode="other")
    body = a_staff_body(PrimaryEmail=member.primary_email, UniqueCode="Mine")
    assert put(member, **body).unique_code == "Mine"
    with pytest.raises(InvalidRecords) as refusal:
        put(member, **{**body, "UniqueCode": "other", "PrimaryEmail": other.primary_email.upper()})
    assert {(f.code, f.target) for f in refusal.value.details} == {
        ("NotUnique", "UniqueCode"),
        ("NotUnique", "PrimaryEmail"),
    }


def test_nobody_becomes_their_own_account_manager():
    member = a_staff_member()
    with pytest.raises(InvalidRecords) as refusal:
        put(member, **a_staff_body(AccountManager={"StaffGuid": str(member.pk)}))
    assert [(f.code, f.target) for f in refusal.value.details] == [("NotAllowed", "AccountManager/StaffGuid")]


def test_archived_choices_stay_with_those_who_have_them_and_are_closed_to_others():
    role, team = a_role(), a_team()
    body = a_staff_body(role=role, Teams=[{"TeamId": team.pk}])
    member = Staff.objects.get(pk=posted("staff", body)[0])
    for record in (role, team):
        record.archive_date = clock.now()
        record.save()
    assert put(member, **{**body, "Phone1": "1"}).phone1 == "1"
    other = a_staff_member()
    with pytest.raises(InvalidRecords) as refusal:
        put(other, **{**body, "PrimaryEmail": other.primary_email})
    assert [(f.code, f.target) for f in refusal.value.details] == [
        ("Archived", "Teams[0]/TeamId"),
        ("Archived", "PrimaryRole/RoleGuid"),
    ]


def test_an_unknown_record_is_not_made_by_replacing():
    with pytest.raises(NotFound):
        put_staff(uuid.uuid4(), a_staff_body())
    assert not Staff.objects.exists()


def test_a_record_that_fails_the_check_is_left_alone():
    member = a_staff_member()

    def is_stale(record):
        assert record == member
        raise PreconditionFailed("Somebody changed it.")

    with pytest.raises(PreconditionFailed):
        put(member, is_stale, **a_staff_body(FirstName="New"))
    member.refresh_from_db()
    assert member.first_name == "Grace"


def test_only_records_the_caller_may_see_are_replaced():
    member = a_staff_member()
    with pytest.raises(NotFound):
        put_staff(member.pk, a_staff_body(), records=Staff.objects.none())


# --- revising -------------------------------------------------------------------------------------------


def test_an_update_changes_only_given_members_and_returns_the_keys_of_changed_records():
    one = a_contact(UniqueCode="a", Phone1="1", Address={"State": "NSW", "Country": "Australia"})
    other = a_contact(UniqueCode="b", Phone1="2")
    changed = update_contacts(
        [
            Draft({"phone1": "9", "unique_code": "A"}, given=["phone1", "unique_code"], key=one.pk),
            Draft({"phone1": "2"}, given=["phone1"], key=other.pk),
        ]
    )
    assert changed == [one.pk]
    revised = Contact.objects.get(pk=one.pk)
    assert (revised.phone1, revised.unique_code, revised.state) == ("9", "A", "NSW")
    assert [line.differences for line in changes_of(one) if line.kind == "Changed"] == [
        {"phone1": ["1", "9"], "unique_code": ["a", "A"]}
    ]
    assert [line.kind for line in changes_of(other)] == ["Created"]
    assert update_contacts([Draft({"phone1": "9"}, given=["phone1"], key=one.pk)]) == []


def test_an_updated_unique_text_is_unique_at_once(refused):
    one = a_contact(UniqueCode="a")
    update_contacts([Draft({"unique_code": "Later"}, given=["unique_code"], key=one.pk)])
    assert refused("contact", a_contact_body(UniqueCode="LATER")) == [("NotUnique", "UniqueCode")]
    assert refused("contact", a_contact_body(UniqueCode="a")) == []


def test_an_update_is_validated_together_with_the_stored_values():
    one = a_contact(Address={"State": "NSW", "Country": "Australia"})
    with pytest.raises(ValidationFailed) as refusal:
        update_contacts([Draft({"country": None}, given=["country"], key=one.pk)])
    assert [(n, f.code, f.field) for n, f in refusal.value.issues] == [(0, "Required", "country")]


def test_an_update_of_staff_changes_references_and_teams():
    old, new, team = a_role(), a_role(), a_team()
    member = a_staff_member(role=old)
    draft = StaffDraft({"role": new, "teams": [team]}, given=["role", "teams"], key=member.pk)
    assert update_staff([draft]) == [member.pk]
    member = Staff.objects.get(pk=member.pk)
    assert (member.role, list(member.teams.all())) == (new, [team])


def test_an_update_takes_the_same_statements_for_few_and_many():
    contacts = [a_contact(Phone1="1") for _ in range(20)]

    def statements(some, phone):
        drafts = [Draft({"phone1": phone}, given=["phone1"], key=one.pk) for one in some]
        with CaptureQueriesContext(connection) as queries:
            assert len(update_contacts(drafts)) == len(some)
        return len(queries)

    assert statements(contacts[:1], "2") == statements(contacts, "3")
