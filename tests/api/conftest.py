"""A caller with credentials, records of every kind, and a minute that does not end within a test."""

import time
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.access.throttling import RateLimiter
from apps.base import clock
from apps.base.declaration.service import declared_sets
from apps.core.resources import LookupResource
from apps.people.models import CustomField, CustomFieldAnswer, CustomFieldResponse
from tests.api.caller import Caller, LaterCaller, an_application, ok
from tests.documents.records import documents_records
from tests.engagements.records import engagements_records
from tests.funding.records import funding_records
from tests.people.builders import (
    a_client_body,
    a_contact_body,
    a_location,
    a_lookup,
    a_position,
    a_role,
    a_staff_body,
    a_team,
)
from tests.sales.records import sales_records


@pytest.fixture(autouse=True)
def fresh_state(monkeypatch):
    """No limits left over from another test."""
    half_past = time.time() // 60 * 60 + 30
    meter = RateLimiter(lambda: half_past)
    monkeypatch.setattr("apps.access.throttling.RATE_LIMITER", meter)


@pytest.fixture
def api(db):
    """A caller that may read and write everything."""
    return Caller(an_application())


@pytest.fixture
def later(api):
    """A caller of version 2.1 that may read and write everything."""
    return LaterCaller(api.authorization)


@pytest.fixture
def nobody(db):
    """A caller without credentials."""
    return Caller()


@pytest.fixture
def statements():
    """``statements(call)``: the SQL of a call, without the counting of requests, which is not always due."""

    def of(call):
        with CaptureQueriesContext(connection) as captured:
            call()
        told = [query["sql"] for query in captured.captured_queries]
        return [sql for sql in told if "access_usage" not in sql and "last_used_at" not in sql]

    return of


@dataclass
class Records:
    """A whole record of each kind beside a bare one; ``whole`` and ``bare`` are keys by entity set."""

    whole: dict[str, Any]
    bare: dict[str, Any]


WHOLE_PERSON = {
    "PersonalTitle": "Other",
    "PersonalTitleOther": "Sir",
    "AcceptsEmailContact": "No",
    "AcceptsSmsContact": "Unsubscribed",
    "SchemeNumber": "430000001",
    "Gender": "Female",
    "SendBirthdayReminder": True,
    "Birthday": "1906-12-09",
    "SendPartnerBirthdayReminder": True,
    "PartnerBirthday": "1904-02-29",
    "PartnerFirstName": "Vincent",
    "PartnerLastName": "Hopper",
    "NumberOfChildren": 0,
    "HobbiesInterests": 'Clocks, "bugs"',
    "AdditionalInformation": "O'Hara's 50% – 🚀",
    "UsePrimaryEmail": True,
    "UseSecondaryEmail": True,
    "SecondaryEmail": "home@example.org",
    "Phone1": "02 9000 0001",
    "Phone2": "02 9000 0002",
    "Fax": "02 9000 0003",
    "HomePhone": "02 9000 0004",
    "SocialNetworkAUrl": "https://a.example/grace",
    "SocialNetworkBUrl": "https://b.example/grace",
    "VideoChannelUrl": "https://v.example/grace",
    "ProfessionalNetworkUrl": "https://p.example/grace",
    "OtherSocialMediaUrl": "https://o.example/grace",
}
WHOLE_ADDRESSES = {
    "Address": {
        "StreetAddress": "1 High Street",
        "StreetAddress2": "Level 2",
        "Suburb": "St Kilda",
        "City": "Melbourne",
        "State": "VIC",
        "Country": "Australia",
        "PostCode": "3182",
    },
    "PostalAddress": {
        "PostalAddress": "PO Box 1",
        "PostalAddress2": "Care of",
        "PostalSuburb": "Carlton",
        "PostalCity": "Melbourne",
        "PostalState": "VIC",
        "PostalPostCode": "3053",
    },
}


def a_whole_staff_body(**members):
    """A staff body in which every member of the record itself is given."""
    return a_staff_body(
        **{
            "Abbreviation": "GH",
            "UniqueCode": "S-1",
            "WorkingHoursPerWeek": 38,
            "EmploymentType": "Full time",
            "CommencementDate": "2020-02-29",
            "DisableLoginDate": "2040-07-01T09:30:00+10:00",
            **WHOLE_PERSON,
            **WHOLE_ADDRESSES,
            **members,
        }
    )


def a_whole_contact_body(**members):
    return a_contact_body(
        **{
            "UniqueCode": "P-1",
            "PrimaryEmail": "ada@example.org",
            "PositionTitle": "Countess",
            "SchemePriceGuideRegion": "Very Remote",
            **WHOLE_PERSON,
            **WHOLE_ADDRESSES,
            **members,
        }
    )


def a_whole_client_body(**members):
    return a_client_body(
        **{
            "BusinessNumber": "51 824 753 556",
            "UniqueCode": "C-1",
            "ExternalReference": "X-1",
            "BusinessPhone": "03 9000 0001",
            "BusinessPhone2": "03 9000 0002",
            "BusinessFax": "03 9000 0003",
            "WebAddress": "https://client.example",
            **WHOLE_ADDRESSES,
            **members,
        }
    )


def an_answer(applies_to, name, *responses, **owner):
    custom_field = CustomField(name=name, applies_to=applies_to)
    custom_field.save()
    answer = CustomFieldAnswer.objects.create(custom_field=custom_field, **owner)
    for response in responses:
        CustomFieldResponse.objects.create(answer=answer, response=response)
    return custom_field


#: What makes the records of the apps that stand on people.
OTHER_APPS = (
    documents_records,
    engagements_records,
    sales_records,
    funding_records,
)


@pytest.fixture(scope="module")
def module_records(module_transaction):
    """The records, made once for a file of tests."""
    return some_records(Caller(an_application(name="Who made the records")))


@pytest.fixture
def records(db, module_records):
    """One whole and one bare record of every kind."""
    return module_records


def some_records(api):
    """One whole and one bare record of every kind, made through the interface where it makes them."""
    role, position, location, team = a_role(), a_position(), a_location(), a_team()

    def posted(path, body):
        record = ok(api.post(path, body), 201)
        return record[next(name for name in record if name.endswith("Guid"))]

    bare_staff = posted("staff", a_staff_body(role=role))
    bare_contact = posted("contact", a_contact_body())
    bare_client = posted("client", a_client_body())
    staff = posted(
        "staff",
        a_whole_staff_body(
            role=role,
            Teams=[{"TeamId": team.pk}],
            AccountManager={"StaffGuid": bare_staff},
            PositionTitle={"PositionGuid": str(position.pk)},
            Location={"LocationGuid": str(location.pk)},
        ),
    )
    client = posted("client", a_whole_client_body(KeyContact={"ContactGuid": bare_contact}))
    contact = posted(
        "contact",
        a_whole_contact_body(
            Client={"ClientGuid": client},
            Role={"RoleGuid": str(role.pk)},
            Representative={"ContactGuid": bare_contact, "RepresentativeRelationship": "Mother"},
            AccountManager={"StaffGuid": staff},
        ),
    )
    asked = an_answer("Staff", "Shirt size", "M", "L", staff_id=staff)
    an_answer("Client", "Industry", "Steel", client_id=client)
    an_answer("Contact", "Language", "Auslan", contact_id=contact)
    whole = {"Staff": staff, "Client": client, "Contact": contact}
    whole |= {"Role": str(role.pk), "Position": str(position.pk), "Location": str(location.pk)}
    whole |= {"Team": team.pk, "CustomField": str(asked.pk)}
    bare = {"Staff": bare_staff, "Client": bare_client, "Contact": bare_contact}
    archived_question = a_lookup(CustomField, applies_to="Client", archive_date=clock.now())
    bare["CustomField"] = str(archived_question.pk)
    for records_of in OTHER_APPS:
        more_whole, more_bare = records_of()
        whole |= more_whole
        bare |= more_bare
    for entity_set in declared_sets().values():
        for keys, archive_date in ((whole, None), (bare, clock.now())):
            if isinstance(entity_set.resource, LookupResource) and entity_set.name not in keys:
                keys[entity_set.name] = str(a_lookup(entity_set.model, archive_date=archive_date).pk)
    return Records(whole, bare)
