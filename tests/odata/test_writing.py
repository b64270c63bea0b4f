"""Bodies are saved whole or not at all, and lost races are conflicts."""

import json
import threading

import pytest
from django.db import IntegrityError, OperationalError, connection

from apps.base.drafts import Issue, ValidationFailed, WarningsPresent
from apps.base.errors import Conflict, InvalidRecords, UnconfirmedWarnings
from apps.core import saving
from apps.core.saving import find_conflicts
from apps.odata.write import dispatch
from apps.people.models import Client, Contact
from tests.people.builders import a_client_body, as_body, entity_set


def clients_with(service, has_warnings=False):
    """The entity set of clients with another service ``create``."""
    found = entity_set("client")
    resource = type(
        "OtherResource", (type(found.resource),), {"create": service, "has_warnings": has_warnings}
    )
    return type(found)(resource(), found.type)


@pytest.mark.django_db
def test_a_bare_record_is_created_as_one():
    created = dispatch.create(entity_set("client"), json.dumps(a_client_body()).encode(), None)
    assert created.bare
    assert len(created.keys) == 1
    assert not dispatch.create(entity_set("client"), as_body(a_client_body()), None).bare


@pytest.mark.django_db
def test_issues_are_reported_with_targets_in_the_body():
    def create(drafts):
        raise ValidationFailed(
            [(1, Issue("Bad", "key_contact", "b")), (0, Issue("Bad", "postal_state", "a"))]
        )

    with pytest.raises(InvalidRecords) as refusal:
        dispatch.create(clients_with(create), as_body(a_client_body(), a_client_body()), None)
    assert [(fault.target, fault.message) for fault in refusal.value.details] == [
        ("value[0]/PostalAddress/PostalState", "a"),
        ("value[1]/KeyContact/ContactGuid", "b"),
    ]
    with pytest.raises(InvalidRecords) as refusal:
        dispatch.create(
            clients_with(
                lambda drafts: (_ for _ in ()).throw(ValidationFailed([(0, Issue("Bad", "elsewhere", "c"))]))
            ),
            json.dumps(a_client_body()).encode(),
            None,
        )
    assert [fault.target for fault in refusal.value.details] == [None]


@pytest.mark.django_db
def test_warnings_are_reported_as_warnings_unless_they_are_ignored():
    def create(drafts, ignore_warnings):
        if not ignore_warnings:
            raise WarningsPresent([(0, Issue("Odd", "business_name", "Odd name."))])
        return ["key"]

    body = as_body(a_client_body())
    with pytest.raises(UnconfirmedWarnings) as warned:
        dispatch.create(clients_with(create, has_warnings=True), body, None)
    (detail,) = warned.value.details
    assert (detail.code, detail.target, detail.severity) == ("Odd", "value[0]/BusinessName", "warning")
    created = dispatch.create(clients_with(create, has_warnings=True), body, None, ignore_warnings=True)
    assert created.keys == ["key"]


@pytest.mark.django_db
def test_errors_are_reported_before_warnings():
    def create(drafts, ignore_warnings):
        raise WarningsPresent([(0, Issue("Odd", "business_number", "Odd number."))])

    with pytest.raises(InvalidRecords) as refusal:
        dispatch.create(clients_with(create, has_warnings=True), as_body({"BusinessName": ""}), None)
    assert [fault.code for fault in refusal.value.details] == ["Required"]


@pytest.mark.django_db
def test_a_service_that_overlooks_faults_saves_nothing():
    def careless(drafts):
        Client(business_name="kept out").save()
        return [1]

    with pytest.raises(InvalidRecords):
        dispatch.create(clients_with(careless), as_body({"BusinessName": 5}), None)
    assert not Client.objects.exists()


# --- races ----------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_a_lost_race_for_a_unique_text_is_a_conflict_that_names_its_target(monkeypatch):
    bodies = a_client_body(), a_client_body(BusinessName="WANTED")
    dispatch.create(entity_set("client"), as_body(a_client_body(BusinessName="Wanted")), None)
    looks = []

    def look(model, drafts):
        # The first look is taken before the other writer has committed.
        looks.append(drafts)
        return find_conflicts(model, drafts if len(looks) > 1 else ())

    monkeypatch.setattr(saving, "find_conflicts", look)
    with pytest.raises(Conflict) as conflict:
        dispatch.create(entity_set("client"), as_body(*bodies), None)
    assert [(f.code, f.target) for f in conflict.value.details] == [("NotUnique", "value[1]/BusinessName")]
    assert Client.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_race_that_can_be_run_again_is_won_in_the_second_run():
    runs = []

    def deadlocked_once(drafts):
        runs.append(drafts)
        if len(runs) == 1:
            error = OperationalError("deadlock detected")
            error.__cause__ = Deadlock()
            raise error
        return ["key"]

    assert dispatch.create(clients_with(deadlocked_once), as_body(a_client_body()), None).keys == ["key"]


class Deadlock(Exception):
    sqlstate = "40P01"


@pytest.mark.django_db(transaction=True)
def test_a_race_that_is_never_won_is_a_conflict():
    def always(drafts):
        error = OperationalError("deadlock detected")
        error.__cause__ = Deadlock()
        raise error

    with pytest.raises(Conflict):
        dispatch.create(clients_with(always), as_body(a_client_body()), None)


@pytest.mark.django_db(transaction=True)
def test_a_mistake_of_the_service_is_no_lost_race():
    def broken(drafts):
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO people_position (guid, name) VALUES (NULL, NULL)")

    with pytest.raises(IntegrityError):
        dispatch.create(clients_with(broken), as_body(a_client_body()), None)


@pytest.mark.django_db(transaction=True)
def test_a_reference_to_a_deleted_record_is_a_conflict():
    def dangling(drafts):
        for draft in drafts:
            draft.key_contact = Contact(first_name="never", last_name="stored")
        return type(entity_set("client").resource).create(drafts)

    with pytest.raises(Conflict):
        dispatch.create(clients_with(dangling), as_body(a_client_body()), None)
    assert not Client.objects.exists()


@pytest.mark.postgres("SQLite checks foreign keys only when the outermost transaction ends")
@pytest.mark.django_db
def test_a_reference_to_a_deleted_record_is_a_conflict_in_the_callers_transaction_too():
    def dangling(drafts):
        drafts[0].key_contact = Contact(first_name="never", last_name="stored")
        return type(entity_set("client").resource).create(drafts)

    with pytest.raises(Conflict):
        dispatch.create(clients_with(dangling), as_body(a_client_body()), None)


@pytest.mark.postgres("SQLite lets one writer in at a time")
@pytest.mark.django_db(transaction=True)
def test_of_two_writers_of_one_business_name_exactly_one_wins():
    answers, ready = [], threading.Barrier(6)

    def write():
        ready.wait()
        try:
            dispatch.create(entity_set("client"), as_body(a_client_body(BusinessName="One")), None)
            answers.append("created")
        except (Conflict, InvalidRecords) as refusal:
            answers.append([(fault.code, fault.target) for fault in refusal.details])
        finally:
            connection.close()

    threads = [threading.Thread(target=write) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers.count("created") == 1
    assert answers.count([("NotUnique", "value[0]/BusinessName")]) == 5
    assert Client.objects.count() == 1
