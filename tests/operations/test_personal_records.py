"""Each model says whether its records belong to a person."""

import pytest
from django.apps import apps

from apps.core.models import Lookup
from apps.funding.models import ProviderInvoice
from apps.operations.personal_records import (
    ATTACHMENTS,
    REFERENCES,
    find_history,
    find_mentions,
    find_own_client,
    find_person,
    find_records,
    ownerships,
    relation,
)
from apps.operations.services.erasure_plans import RECORD_COLUMNS, RETAINED_COLUMNS
from apps.operations.tables import OperationError
from apps.people.models import Client, Contact
from tests.engagements.builders import a_plan
from tests.funding.builders import a_claim, a_provider_invoice
from tests.operations.persons import a_participant
from tests.people.records import a_client, a_contact

#: Models whose records belong to no participant, besides short lists, each with the reason.
OF_NOBODY = {
    "access.AccessToken": "of an application",
    "access.ApiApplication": "a program",
    "access.ApiApplication_account_managers": "staff by whose participants a program is limited",
    "access.ApiApplication_locations": "places by whose participants a program is limited",
    "access.ApiApplication_teams": "teams by whose participants a program is limited",
    "access.IdempotencyKey": "an answer that is kept for a day: purge_expired deletes it",
    "access.Usage": "counts of requests",
    "access.Webhook": "of an application",
    "access.WebhookMessage": "what was sent about changes: purge_expired deletes it after a month",
    "auth.Group": "of Django, not used",
    "auth.Group_permissions": "of Django, not used",
    "auth.Permission": "what roles permit",
    "admin.LogEntry": "of Django, not written: the history is our own",
    "account.EmailAddress": "of staff",
    "account.EmailConfirmation": "of staff",
    "axes.AccessAttempt": "sign-ins of staff",
    "axes.AccessAttemptExpiration": "sign-ins of staff",
    "axes.AccessFailureLog": "sign-ins of staff",
    "axes.AccessLog": "sign-ins of staff",
    "contenttypes.ContentType": "the list of models",
    "core.ChosenColumns": "of staff",
    "core.SavedFilter": "of staff",
    "core.Change": "found by its record: find_history",
    "core.FileExport": "who exported which list",
    "core.FileExportPart": "a file of many people: purge_expired deletes it after EXPORT_FILE_DAYS",
    "core.FileImport": "a file of many people: purge_expired deletes it after IMPORT_FILE_DAYS",
    "core.FileImportPage": "rows of such a file, deleted with it",
    "core.ReadLogChain": "where the log of reads ends",
    "funding.EntryList": "which documents somebody enters claims from",
    "payments.AccountCode": "which accounts amounts go on",
    "payments.AccountsExport": "sums of the organisation's books",
    "payments.AccountsFile": "journals without names; bills with names, which an erasure blanks",
    "payments.AccountsEntry": "what of the organisation's money is booked",
    "funding.Remittance": "a file of many people: its sums; the rows are found by their lines",
    "core.ImportMapping": "what columns and values of files mean",
    "core.PersonalDataRead": "what staff and applications read: keys, and no value of a record",
    "core.Notice": "of staff",
    "core.NoticePreference": "of staff",
    "core.Subscriber": "the organisation",
    "django_tasks_database.DBTaskResult": "keys of what a task is about: purge_expired deletes it",
    "funding.ClaimFile": "a file of many people, kept: an erasure blanks the scheme number in its rows",
    "funding.ClaimSum": "numbers of claims by status and provider",
    "funding.ClaimWindow": "the organisation's settings",
    "funding.RejectionSentence": "the organisation's settings",
    "funding.NumberSequence": "the next numbers",
    "funding.Price": "of products",
    "funding.PriceBook": "of products",
    "funding.PriceBookEntry": "of products",
    "funding.Product": "of products",
    "payments.BankFile": "payments to many people: those of a person are found by erasure_copies",
    "payments.PaymentRun": "of the organisation",
    "payments.PaymentSettings": "the organisation's own account",
    "payments.StatementRun": "how far the work on a month is",
    "people.CustomField": "the question, not the answer",
    "people.Role_permissions": "what roles permit",
    "people.Staff": "who works for the subscriber, and signs their records",
    "people.Staff_teams": "of staff",
    "people.Team": "of staff",
    "sales.OpportunityTemplate": "first values of opportunities, of nobody",
    "mfa.Authenticator": "of staff",
    "sessions.Session": "of staff",
    "socialaccount.SocialAccount": "of staff",
    "socialaccount.SocialApp": "of staff",
    "socialaccount.SocialToken": "of staff",
    "usersessions.UserSession": "of staff",
}


def test_every_model_belongs_to_a_person_or_says_why_not():
    models = {each._meta.label for each in apps.get_models(include_auto_created=True)}
    personal = {row.model._meta.label for row in ownerships()}
    lists = {each._meta.label for each in apps.get_models() if issubclass(each, Lookup)}
    assert personal.isdisjoint({*OF_NOBODY, *lists})
    assert personal | lists | set(OF_NOBODY) == models


def test_every_relation_that_is_excused_is_still_there():
    assert all(relation(label).related_model for label in [*REFERENCES, *ATTACHMENTS])


def test_owners_stand_before_what_belongs_to_them():
    order = [row.model for row in ownerships()]
    for place, row in enumerate(ownerships()):
        assert {each.related_model for each in row.owners} <= set(order[:place])


def test_a_column_of_the_books_is_kept_by_name_or_can_be_cleared():
    """A new column loses its value unless somebody keeps it; one that cannot lose it must be kept."""
    for model, kept in RETAINED_COLUMNS.items():
        columns = {column.name: column for column in model._meta.concrete_fields}
        assert kept <= set(columns)
        for name in set(columns) - kept - RECORD_COLUMNS:
            column = columns[name]
            assert column.null or column.has_default() or column.get_internal_type() == "CharField", name


# --- of one person --------------------------------------------------------------------------------------


def test_records_of_every_model_are_found_and_those_of_others_are_not(participant):
    other = a_participant(provider=participant.provider)
    personal = [row.model for row in ownerships() if row.model is not Client]
    missing = [model._meta.label for model in personal if not participant.keys[model]]
    assert missing == [], "a_participant of tests/operations/persons.py makes one of each"
    for model, keys in participant.keys.items():
        assert set(keys).isdisjoint(other.keys[model])


def test_a_provider_invoice_of_several_participants_is_of_none_of_them(db):
    shared = a_provider_invoice(is_reusable=True)
    first, second = a_claim(provider_invoice=shared), a_claim(provider_invoice=shared)
    for claim in (first, second):
        assert not find_records(claim.contact)[ProviderInvoice].exists()


def test_the_history_of_a_deleted_record_is_found(participant):
    deleted = [change for change in find_history(participant.keys) if change.kind == "Deleted"]
    assert [change.record_type for change in deleted] == ["engagements.servicebooking"]
    assert find_history({Contact: []}) == []


def test_records_of_others_are_counted_by_what_they_say(db):
    contact = a_contact()
    a_plan(support_coordinator=contact)
    a_client(key_contact=contact)
    found = find_mentions({Contact: [contact.pk]})
    assert {each.name: count for each, count in found.items()} == {"support_coordinator": 1, "key_contact": 1}


@pytest.mark.parametrize("number", ["guid", "scheme_number", "unique_code"])
def test_a_person_is_named_by_each_of_their_numbers(db, number):
    contact = a_contact(scheme_number="430000001", unique_code="P-1")
    assert find_person(str(getattr(contact, number))) == contact


def test_a_number_of_nobody_or_of_several_is_refused(db):
    a_contact(scheme_number="430000001")
    a_contact(scheme_number="430000001")
    for number, reason in (
        ("430000001", "Several contacts"),
        ("430000002", "No contact"),
        ("x", "No contact"),
    ):
        with pytest.raises(OperationError, match=reason):
            find_person(number)


def test_a_merged_record_belongs_to_the_one_that_was_kept(db):
    contact = a_contact()
    duplicate = a_contact(merged_into=contact)
    second = a_contact(merged_into=duplicate)
    assert set(find_records(contact)[Contact]) == {contact, duplicate, second}
    with pytest.raises(OperationError, match=f"merged into {contact.pk}: name that one"):
        find_person(str(duplicate.pk))


def test_a_client_record_stands_for_one_person_only(db):
    client = a_client()
    contact = a_contact(client=client)
    assert find_own_client(contact) == client
    a_contact(client=client)
    with pytest.raises(OperationError, match="with other contacts"):
        find_own_client(contact)
    with pytest.raises(OperationError, match="no client record"):
        find_own_client(a_contact())
