"""One service for every entry point: the same input by API, form and import gives the same record."""

import json
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from django.contrib import admin
from django.db import transaction
from django.urls import reverse

from apps.base import clock
from apps.base.declaration.resource import POST
from apps.base.declaration.service import declared_sets
from apps.base.drafts import wire_target
from apps.base.errors import InvalidRecords
from apps.core.history_display import changes_of
from apps.core.importing.definition import ImportOptions
from apps.core.importing.file_declaration import definition_of, file_entity_set
from apps.core.importing.runs import ImportDisplay, import_file
from apps.core.models import Lookup, Subscriber
from apps.odata.write.bodies import read_records
from apps.odata.write.dispatch import create
from tests.engagements.builders import END, START
from tests.people.builders import a_client, a_contact, a_role, a_staff_member, a_team
from tests.people.records import form_data, get_unrendered, sent, unrendered
from tests.sales.builders import a_stage

pytestmark = [pytest.mark.django_db, pytest.mark.both_engines("each entry point stores alike on both")]

#: Resources that are not compared here, with the reason and the test that covers them.
NOT_COMPARED = {
    "claim": "a grid of lines: tests/funding/test_admin_bills.py",
    "invoice": "a grid of lines: tests/funding/test_admin_bills.py",
    "document": "an upload: tests/documents/test_admin_documents.py",
    "importJob": "a form with a file: tests/integration/test_import_jobs.py",
    "supportCategory": "the scheme's categories exist from the first migration: there is no new number",
}
#: Resources without a rule that every entry point could break, with the reason.
WITHOUT_RULES = {
    "opportunityTemplate": "the form clears what its rules refuse, the import updates the template of a name",
}
#: Resources that neither the API nor an import creates: there is one entry point.
ONE_ENTRY_POINT = {
    each.path for each in declared_sets().values() if not each.supports(POST) and definition_of(each) is None
}


@dataclass
class Sample:
    """Input of one resource by the names of the wire; ``invalid`` has faults that rules find."""

    valid: dict
    invalid: dict
    #: Columns that differ by who asks: whoever is signed in.
    by_author: set = field(default_factory=set)


def staff_sample():
    valid = {
        "FirstName": "Grace",
        "LastName": "Hopper",
        "PrimaryEmail": "grace@example.com",
        "UsePrimaryEmail": True,
        "PersonalTitle": "Dr",
        "Birthday": "1956-12-09",
        "WorkingHoursPerWeek": 38,
        "Phone1": "0400 000 001",
        "Address": {"City": "Sydney", "State": "NSW", "Country": "Australia"},
        "PrimaryRole": {"RoleGuid": str(a_role(name="Coordinator").pk)},
        "AccountManager": {"StaffGuid": str(a_staff_member().pk)},
        "Teams": [{"TeamId": a_team().pk}],
    }
    faults = {"UsePrimaryEmail": False, "SchemeNumber": "99", "PersonalTitleOther": "Sir"}
    return Sample(valid, {**valid, **faults})


def client_sample():
    a_client(BusinessName="Blue Gum")
    valid = {
        "BusinessName": "Acme Pty Ltd",
        "BusinessNumber": "51 824 753 556",
        "UniqueCode": "ACME",
        "PostalAddress": {"PostalCity": "Perth"},
        "KeyContact": {"ContactGuid": str(a_contact().pk)},
    }
    faults = {"BusinessName": "BLUE GUM ", "PostalAddress": {"PostalState": "Otago"}}
    return Sample(valid, {**valid, **faults})


def contact_sample():
    valid = {
        "FirstName": "Mia",
        "LastName": "Nguyen",
        "SchemeNumber": "430123456",
        "PrimaryEmail": "mia@example.com",
        "Gender": "Female",
        "NumberOfChildren": 0,
        "SchemePriceGuideRegion": "Remote",
        "Client": {"ClientGuid": str(a_client().pk)},
        "Representative": {"ContactGuid": str(a_contact().pk), "RepresentativeRelationship": "Mother"},
    }
    faults = {"SendBirthdayReminder": True, "UseSecondaryEmail": True, "Address": {"State": "Otago"}}
    return Sample(valid, {**valid, **faults})


def opportunity_sample():
    valid = {
        "Name": "New participant",
        "OpportunityOwner": {"StaffGuid": str(a_staff_member().pk)},
        "Stage": {"StageId": a_stage().pk},
        "Source": "Referral",
        "ReferrerLastName": "De Luca",
        "UpfrontValueOfSale": 1200.5,
        "FollowUpDate": (clock.today() + timedelta(days=7)).isoformat(),
        "FollowUpStaff": {"StaffGuid": str(a_staff_member().pk)},
    }
    return Sample(valid, {**valid, "FollowUpDate": (clock.today() - timedelta(days=7)).isoformat()})


def template_sample():
    valid = {"TemplateName": "Expo", "OpportunityName": "Expo visitor", "ExpiryDateInterval": 30}
    return Sample(valid, {})


def plan_sample():
    valid = {
        "Participant": {"ContactGuid": str(a_contact().pk)},
        "PlanStartDate": START.isoformat(),
        "PlanEndDate": END.isoformat(),
        "TotalBudgetAmount": 1000,
        "IsPlanManaged": True,
    }
    return Sample(valid, {**valid, "PlanEndDate": (START - timedelta(days=1)).isoformat()})


def provider_invoice_sample():
    valid = {
        "ProviderInvoiceReference": "PI-1",
        "ServiceStartDate": "2025-07-07",
        "ServiceEndDate": "2025-07-13",
        "InvoiceTotal": 140.0,
        "ContactGuid": str(a_contact().pk),
        "ProviderGuid": str(a_client().pk),
    }
    return Sample(valid, {**valid, "ServiceEndDate": "2025-07-06"}, by_author={"created_by_id"})


#: What short lists need beside a name.
LOOKUP_MEMBERS = {
    "customField": {"AppliesTo": "Contact", "Kind": "Number"},
    "opportunityOutcomeReason": {"Outcome": "SaleUnsuccessful"},
}


def sample_of(entity_set):
    if entity_set.path in SAMPLES:
        return SAMPLES[entity_set.path]()
    assert issubclass(entity_set.model, Lookup), f"SAMPLES needs a function for {entity_set.path}."
    return Sample({"Name": "North", **LOOKUP_MEMBERS.get(entity_set.path, {})}, {})


SAMPLES = {
    "staff": staff_sample,
    "client": client_sample,
    "contact": contact_sample,
    "opportunity": opportunity_sample,
    "opportunityTemplate": template_sample,
    "clientengagement": plan_sample,
    "providerInvoice": provider_invoice_sample,
}


@pytest.fixture(autouse=True)
def settings_and_clock():
    Subscriber.clear_cache()
    clock.reset_now()
    yield
    Subscriber.clear_cache()


@contextmanager
def rolled_back():
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


# --- entry points: each stores the body and returns (code, target) pairs of its issues ------------------


def by_api(entity_set, body, client, folder):
    try:
        create(entity_set, json.dumps(body).encode(), None)
    except InvalidRecords as refused:
        return {(each.code, each.target.removeprefix("value[0]/")) for each in refused.details}
    return set()


def by_form(entity_set, body, client, folder):
    (draft,) = read_records(file_entity_set(entity_set), json.dumps(body).encode()).drafts
    model = entity_set.model._meta
    address = reverse(f"admin:{model.app_label}_{model.model_name}_add")
    page = client.get(address)
    data = form_data(page)
    form = page.context["adminform"].form
    for name in draft.given & form.fields.keys():
        value = draft.get(name)
        values = (
            [getattr(each, "pk", each) for each in value]
            if isinstance(value, list)
            else getattr(value, "pk", value)
        )
        data.pop(name, None)
        data |= sent(form[name], values)
    with unrendered():
        answer = client.post(address, data)
    if answer.status_code == 302:
        return set()
    errors = answer.context["adminform"].form.errors.as_data().items()
    return {
        (error.code, wire_target(entity_set.type, name, error.code))
        for name, all_ in errors
        for error in all_
    }


ISSUE = re.compile(r"record 1(?:, (?P<column>[^:]+))?: (?P<code>\w+): (?:(?P<target>[\w/]+): )?")


def by_import(entity_set, body, client, folder):
    path = folder / "records.json"
    path.write_text(json.dumps([body]))
    lines = []
    options = ImportOptions(errors=folder / "errors.json")
    import_file(entity_set, path, options, ImportDisplay(show_issue=lambda issue, line: lines.append(line)))
    issues = [ISSUE.match(line) for line in lines]
    return {(each["code"], each["column"] or each["target"]) for each in issues}


def entry_points(entity_set):
    if entity_set.supports(POST):
        yield by_api
    if admin.site.is_registered(entity_set.model):
        yield by_form
    if definition_of(entity_set) is not None:
        yield by_import


def keys_of(model):
    return set(model._base_manager.values_list("pk", flat=True))


def new_record(entity_set, before):
    """The record that was not there before; several of one test have the same creation date."""
    return entity_set.model._base_manager.get(pk__in=keys_of(entity_set.model) - before)


def stored(record, sample):
    """The columns of a record, its lists, and the lines of its history."""
    model = type(record)
    left_out = {"creation_date", "modify_date", model._meta.pk.attname, "password", *sample.by_author}
    columns = {
        column.attname: getattr(record, column.attname)
        for column in model._meta.concrete_fields
        if column.attname not in left_out
    }
    lists = {each.name: set(getattr(record, each.name).all()) for each in model._meta.many_to_many}
    return columns, lists, list(changes_of(record).values_list("kind", "differences"))


COMPARED = [
    each
    for each in declared_sets().values()
    if each.path not in NOT_COMPARED and each.path not in ONE_ENTRY_POINT and not each.resource.is_own
]


@pytest.mark.parametrize("entity_set", COMPARED, ids=lambda each: each.path)
def test_every_entry_point_stores_the_same_record_with_the_same_history(entity_set, client, ada, tmp_path):
    sample = sample_of(entity_set)
    results = {}
    for entry_point in entry_points(entity_set):
        with rolled_back():
            before = keys_of(entity_set.model)
            assert not entry_point(entity_set, sample.valid, client, tmp_path)
            results[entry_point.__name__] = stored(new_record(entity_set, before), sample)
    first, *others = results
    assert others
    for other in others:
        assert results[other] == results[first], other


@pytest.mark.parametrize(
    "entity_set",
    [each for each in COMPARED if each.path in SAMPLES and each.path not in WITHOUT_RULES],
    ids=lambda each: each.path,
)
def test_every_entry_point_finds_the_same_issues(entity_set, client, ada, tmp_path):
    sample = sample_of(entity_set)
    results = {}
    for entry_point in entry_points(entity_set):
        with rolled_back():
            before = entity_set.model._base_manager.count()
            results[entry_point.__name__] = entry_point(entity_set, sample.invalid, client, tmp_path)
            assert entity_set.model._base_manager.count() == before
    first, *others = results
    assert results[first]
    for other in others:
        assert results[other] == results[first], other


def test_every_exemption_is_of_a_resource():
    paths = {each.path for each in declared_sets().values()}
    assert {*NOT_COMPARED, *WITHOUT_RULES, *SAMPLES, *LOOKUP_MEMBERS} <= paths


@pytest.mark.parametrize("path", ["staff", "client", "contact"])
def test_a_change_by_form_or_import_has_the_same_record_and_history(path, client, ada, tmp_path):
    entity_set = declared_sets()[path]
    sample = SAMPLES[path]()
    code = {**sample.valid, "UniqueCode": "A-1"}
    phone = "BusinessPhone" if path == "client" else "Phone1"
    change = {"UniqueCode": "A-1", phone: "02 9000 0002", "Address": {"Suburb": "Newtown"}}
    create(entity_set, json.dumps(code).encode(), None)
    record = entity_set.model._base_manager.get(unique_code="A-1")
    address = reverse(f"admin:people_{path}_change", args=[record.pk])
    attributes = {"BusinessPhone": "business_phone", "Phone1": "phone1"}
    with rolled_back():
        data = form_data(
            get_unrendered(client, address), **{attributes[phone]: "02 9000 0002", "suburb": "Newtown"}
        )
        assert client.post(address, data).status_code == 302
        record.refresh_from_db()
        by_form_result = stored(record, sample)
    with rolled_back():
        assert not by_import(entity_set, change, client, tmp_path)
        record.refresh_from_db()
        assert stored(record, sample) == by_form_result
