"""The records that a body refers to are loaded by one query for each model."""

import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.base import clock
from apps.base.batched_queries import SqlStatement, fetch_all
from apps.base.drafts import Draft, References, attach_references, wire_target
from apps.odata.write.bodies import read_records
from apps.people.models import Contact
from tests.funding.bodies import a_claim_body, a_full_provider_invoice
from tests.odata.sample import JOBS
from tests.people.builders import (
    a_contact,
    a_contact_body,
    a_location,
    a_role,
    a_staff_body,
    a_staff_member,
    a_team,
    as_body,
    entity_set,
)

pytestmark = pytest.mark.django_db


def resolved(path, *bodies):
    """The drafts of a body, and its issues with references as (record, code, field in wire names)."""
    type_ = entity_set(path).type
    drafts = read_records(entity_set(path), as_body(*bodies)).drafts
    issues = attach_references(type_, drafts)
    return drafts, [
        (number, issue.code, wire_target(type_, issue.field, issue.code)) for number, issue in issues
    ]


def archived(record):
    record.archive_date = clock.now()
    record.save()
    return record


def test_references_become_records_with_the_columns_that_are_shown():
    team, role, manager = a_team(), a_role(), a_staff_member()
    body = a_staff_body(
        role, Teams=[{"TeamId": team.pk}], AccountManager={"StaffGuid": str(manager.pk).upper()}
    )
    (draft,), faults = resolved("staff", body)
    assert faults == []
    with CaptureQueriesContext(connection) as queries:
        assert (draft.role, draft.teams, draft.account_manager) == (role, [team], manager)
        assert (draft.role.name, draft.account_manager.first_name) == (role.name, "Grace")
        assert (draft.teams[0].archive_date, draft.position, draft.location) == (None, None, None)
    assert len(queries) == 0


def test_a_plain_guid_brings_the_columns_that_its_declaration_says_are_needed():
    provider_invoice = a_full_provider_invoice(contact=a_contact(SchemePriceGuideRegion="Remote"))
    body = a_claim_body(
        provider_invoice,
        ContactGuid=str(provider_invoice.contact_id),
        ProviderGuid=str(provider_invoice.provider_id),
    )
    (draft,), faults = resolved("claim", body)
    assert faults == []
    with CaptureQueriesContext(connection) as queries:
        assert draft.contact.scheme_price_guide_region == "Remote"
        assert draft.provider.business_number == "51 824 753 556"
        assert str(draft.staff).startswith("Ada Byron")
    assert len(queries) == 0


def test_a_reference_by_a_plain_guid_becomes_the_record_too():
    mother = a_contact()
    (draft,), _ = resolved("contact", a_contact_body(Representative={"ContactGuid": str(mother.pk)}))
    assert draft.representative == mother


def test_there_is_one_query_for_each_kind_however_many_records():
    contacts = [str(a_contact().pk) for _ in range(10)]
    manager = {"StaffGuid": str(a_staff_member().pk)}
    bodies = [
        a_contact_body(Representative={"ContactGuid": guid}, AccountManager=manager) for guid in contacts * 5
    ]
    with CaptureQueriesContext(connection) as queries:
        resolved("contact", *bodies)
    # PostgreSQL gets both in one trip.
    assert len(queries) == (1 if connection.vendor == "postgresql" else 2)


def test_a_body_without_references_asks_nothing():
    with CaptureQueriesContext(connection) as queries:
        resolved("contact", a_contact_body())
    assert len(queries) == 0


def test_unknown_records_are_reported_on_their_keys_and_cannot_be_read():
    unknown, team = str(uuid.uuid4()), a_team()
    drafts, faults = resolved(
        "staff",
        a_staff_body(Teams=[{"TeamId": team.pk}, {"TeamId": 2**31 - 1}]),
        {**a_staff_body(), "PrimaryRole": {"RoleGuid": unknown}},
    )
    assert faults == [
        (0, "NotFound", "Teams[1]/TeamId"),
        (1, "NotFound", "PrimaryRole/RoleGuid"),
    ]
    assert "teams" in drafts[0].invalid
    assert "role" in drafts[1].invalid


def test_a_record_of_another_kind_is_unknown():
    location = a_location()
    _, faults = resolved("staff", a_staff_body(PositionTitle={"PositionGuid": str(location.pk)}))
    assert faults == [(0, "NotFound", "PositionTitle/PositionGuid")]


def test_archived_entries_of_short_lists_cannot_be_chosen():
    role, location = archived(a_role()), archived(a_location())
    _, faults = resolved("staff", a_staff_body(role, Location={"LocationGuid": str(location.pk)}))
    assert faults == [
        (0, "Archived", "PrimaryRole/RoleGuid"),
        (0, "Archived", "Location/LocationGuid"),
    ]


def test_people_may_be_referred_to_after_they_were_archived():
    contact = archived(a_contact())
    (draft,), faults = resolved(
        "client", {"BusinessName": "a", "KeyContact": {"ContactGuid": str(contact.pk)}}
    )
    assert faults == []
    assert draft.key_contact.is_archived


def test_a_list_that_names_a_record_twice_holds_it_once_in_the_order_given():
    first, second = a_team(), a_team()
    teams = [{"TeamId": key} for key in (second.pk, first.pk, second.pk)]
    (draft,), faults = resolved("staff", a_staff_body(Teams=teams))
    assert faults == []
    assert draft.teams == [second, first]


def test_an_invalid_reference_is_not_looked_up():
    (draft,), faults = resolved("contact", a_contact_body(Client={"ClientGuid": "x"}))
    assert faults == []
    assert "client" in draft.invalid


def test_more_references_than_a_statement_may_have_parameters_are_found():
    contact = a_contact()
    guids = [str(uuid.uuid4()) for _ in range(999)] + [str(contact.pk)]
    bodies = [a_contact_body(Representative={"ContactGuid": guid}) for guid in guids]
    drafts, faults = resolved("contact", *bodies)
    assert len(faults) == 999
    assert drafts[-1].representative == Contact.objects.get()


def test_references_of_contained_rows_are_reported_in_their_row(stored_jobs):
    unknown = {"OwnerGuid": str(uuid.uuid4())}
    body = read_records(JOBS, as_body({"Code": "a", "Lines": [{"Note": "x"}, {"Owner": unknown}]}))
    ((_, issue),) = attach_references(JOBS.type, body.drafts)
    assert issue.field == ("lines", 1, "owner")
    assert wire_target(JOBS.type, issue.field, issue.code).endswith("[1]/Owner/OwnerGuid")
    assert "owner" in body.drafts[0].lines[1].invalid
    assert "lines[1]" in body.drafts[0].invalid


def test_a_service_may_send_the_queries_of_references_with_its_own():
    role, team = a_role(), a_team()
    (draft,) = read_records(
        entity_set("staff"), as_body(a_staff_body(role, Teams=[{"TeamId": team.pk}]))
    ).drafts
    references = References(entity_set("staff").type, [draft])
    with CaptureQueriesContext(connection) as queries:
        _, *reference_rows = fetch_all([SqlStatement("SELECT 1", ()), *references.queries])
    assert references.attach(reference_rows) == []
    assert (draft.role, draft.teams) == (role, [team])
    if connection.vendor == "postgresql":
        assert len(queries) == 1


def test_members_that_hold_records_already_stay_as_they_are():
    role = a_role()
    draft = Draft({"role": role, "teams": [a_team()]})
    assert References(entity_set("staff").type, [draft]).queries == []


def test_records_that_a_service_has_loaded_are_not_loaded_again():
    role, team, missing = a_role(), a_team(), a_team()
    drafts = [Draft({"role": role.pk, "teams": [team.pk, missing.pk]}), Draft({"role": role.pk, "teams": []})]
    references = References(entity_set("staff").type, drafts, apart=type(team))
    assert len(references.queries) == 1  # of roles
    ((number, issue),) = references.attach(fetch_all(references.queries), {team.pk: team})
    assert (number, issue.code, issue.field) == (0, "NotFound", ("teams", 1))
    assert (drafts[0].role, drafts[1].teams) == (role, [])
    assert drafts[0].invalid == {"teams"}
