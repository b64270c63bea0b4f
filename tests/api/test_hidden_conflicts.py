"""What stands against a change is not named to callers who do not see it; that a value is taken is."""

import pytest
from django.db import models

from apps.base.declaration.resource import PATCH, POST
from apps.base.declaration.service import get_service
from apps.core.caseload import caseload_path
from apps.core.models import normalised
from apps.core.saving import uniques_of
from apps.people.merging import merge
from apps.people.models import Contact
from tests.api.caller import LaterCaller, faults, refused
from tests.caseloads import a_limited_application
from tests.engagements.builders import a_booking, a_plan
from tests.funding.bodies import a_claim_body, a_full_provider_invoice, an_invoice_body
from tests.funding.builders import a_claim, a_provider_invoice, an_invoice
from tests.people.builders import a_client, a_contact_body, a_staff_member
from tests.people.records import a_contact

pytestmark = pytest.mark.django_db

#: Of each set of a caseload, the unique member whose value records of two participants could share.
SHARED = {
    "Contact": "UniqueCode",
    "Booking": "BookingNumber",
    "Claim": "ClaimNumber",
    "Invoice": "InvoiceNumber",
}
SHARED |= {"ProviderInvoice": "ProviderInvoiceReference"}
#: Unique members that only one participant's records can share, or that nobody gives.
OF_ONE = {("ClientEngagement", "plan_start_date"), ("Document", "storage_key"), ("Statement", "version")}


SETS = {each.name: each for each in get_service("2.1").entity_sets}


@pytest.fixture
def mine():
    return a_staff_member()


@pytest.fixture
def limited(mine):
    return LaterCaller(a_limited_application(staff=[mine]).authorization)


def records_of(name, participant, provider):
    """A record of a set that belongs to a participant, with a value that no other record has."""
    unique = f"HID-{participant.last_name}"
    match name:
        case "Contact":
            Contact.objects.filter(pk=participant.pk).update(
                unique_code=unique, unique_code_key=normalised(unique)
            )
            return Contact.objects.get(pk=participant.pk)
        case "Booking":
            return a_booking(a_plan(participant=participant), booking_number=unique)
        case "Claim":
            return a_claim(contact=participant, claim_number=unique)
        case "Invoice":
            return an_invoice(contact=participant, invoice_number=unique)
        case "ProviderInvoice":
            return a_provider_invoice(contact=participant, provider=provider, reference=unique)


def body_of(name, contact):
    match name:
        case "Contact":
            return a_contact_body(AccountManager={"StaffGuid": str(contact.account_manager_id)})
        case "Claim":
            return a_claim_body(a_full_provider_invoice(contact=contact))
        case "Invoice":
            return an_invoice_body(contact)


def texts_of(*records):
    """Whatever records have that could be recognised: keys, names, codes, numbers."""
    for record in records:
        for column in record._meta.concrete_fields:
            value = getattr(record, column.attname)
            is_text = isinstance(column, models.CharField | models.TextField) and not column.choices
            if (column.primary_key or column.is_relation or is_text) and len(f"{value}") > 5:
                yield f"{value}".casefold()


def two_participants(mine):
    hidden = a_contact(first_name="Withheld", last_name="Unseenperson", account_manager=a_staff_member())
    return hidden, a_contact(first_name="Known", last_name="Seenperson", account_manager=mine)


def test_every_unique_member_of_a_caseload_is_among_them():
    limited = [each for each in SETS.values() if caseload_path(each.model)]
    found = {(each.name, unique.field) for each in limited for unique in uniques_of(each.model)}
    by_member = {(name, SETS[name].type.members[member].path) for name, member in SHARED.items()}
    assert found == by_member | OF_ONE


@pytest.mark.parametrize("name", SHARED)
def test_that_a_value_is_taken_is_all_that_is_said_of_a_hidden_record(limited, mine, name):
    hidden, own = two_participants(mine)
    provider = a_client()
    other, changed = (records_of(name, each, provider) for each in (hidden, own))
    other.refresh_from_db()
    entity_set, member = SETS[name], SHARED[name]
    value = getattr(other, entity_set.type.members[member].path)
    answers = []
    if entity_set.supports(PATCH):
        answers.append(limited.patch(f"{entity_set.path}({changed.pk})", {member: value}, If_Match="*"))
    if entity_set.supports(POST) and (body := body_of(name, own)):
        answers.append(limited.post(entity_set.path, {**body, member: value}, {"ignoreWarnings": "true"}))
    assert answers
    for answer in answers:
        assert ("NotUnique", member) in faults(answer), answer.content
        said = answer.content.decode().casefold()
        known = {value.casefold(), *texts_of(changed, own, mine, provider)}
        assert [text for text in texts_of(other, hidden) if text in said and text not in known] == []


def test_a_payload_says_no_more(limited, mine):
    hidden, own = two_participants(mine)
    records_of("Contact", hidden, None)
    item = {"ContactGuid": str(own.pk), "UniqueCode": f"HID-{hidden.last_name}"}
    answer = limited.patch("contact", {"@context": "#$delta", "value": [item]})
    assert faults(answer) == [("NotUnique", "value[0]/UniqueCode")]
    assert str(hidden.pk) not in answer.content.decode()


def test_the_record_that_a_duplicate_was_merged_into_is_named_to_those_who_see_it(api, limited, mine):
    hidden, own = two_participants(mine)
    merge(hidden, own)
    body, payload = {"Phone1": "1"}, {"ContactGuid": str(own.pk), "Phone1": "1"}
    for caller, is_named in ((limited, False), (LaterCaller(api.authorization), True)):
        answers = [
            caller.patch(f"contact({own.pk})", body, If_Match="*"),
            caller.patch("contact", {"@context": "#$delta", "value": [payload]}),
        ]
        for answer in answers:
            said = refused(answer, 409)["details"][0]["message"]
            assert said.startswith("It was merged into ")
            assert (str(hidden.pk) in answer.content.decode()) is is_named
    Contact.objects.filter(pk=hidden.pk).update(account_manager=mine)
    assert str(hidden.pk) in limited.patch(f"contact({own.pk})", body, If_Match="*").content.decode()


def test_a_claim_of_a_hidden_participant_is_not_named_by_its_reference_of_the_provider(api, limited, mine):
    hidden, own = two_participants(mine)
    provider = a_client()
    other = a_claim(
        contact=hidden, provider=provider, provider_invoice_reference="INV-77", claim_number="HID-9"
    )
    invoice = a_full_provider_invoice(contact=own, provider=provider)
    body = a_claim_body(invoice, ProviderInvoiceReference="INV-77")
    for caller, named in ((limited, "another record"), (api, f"claim {other}")):
        (fault,) = refused(caller.post("claim", body, {"ignoreWarnings": "true"}), 400)["details"]
        assert (fault["code"], fault["message"]) == (
            "NotUnique",
            f"INV-77 is the reference of {named} already.",
        )


def test_a_claim_of_a_hidden_participant_is_not_named_by_its_provider_invoice(limited, mine):
    """A claim for another participant than the invoice's: the invoice is seen, the claim is not."""
    hidden, own = two_participants(mine)
    invoice = a_full_provider_invoice(contact=own)
    a_claim(contact=hidden, provider_invoice=invoice, claim_number="HID-9", takes_provider_invoice=True)
    answer = limited.post("claim", a_claim_body(invoice), {"ignoreWarnings": "true"})
    (fault,) = refused(answer, 400)["details"]
    assert (fault["code"], "another claim is built on it" in fault["message"]) == ("AlreadyUsed", True)
    assert "HID-9" not in answer.content.decode()


def test_a_duplicate_of_a_hidden_record_in_a_body_does_not_tell_of_it(limited, mine):
    """A duplicate means the record that it was merged into: who does not see that one cannot refer to it."""
    hidden, own = two_participants(mine)
    _, duplicate = two_participants(mine)
    merge(hidden, duplicate)
    manager = {"StaffGuid": str(mine.pk)}
    representative = {"ContactGuid": str(duplicate.pk)}
    contact = a_contact_body(AccountManager=manager, Representative=representative)
    claim = limited.post(
        "claim", a_claim_body(a_full_provider_invoice(contact=own)), {"ignoreWarnings": "true"}
    )
    address = f"claim({claim.json()['ClaimGuid']})"
    answers = {
        "Representative/ContactGuid": limited.post("contact", contact),
        "ContactGuid": limited.patch(
            address, {"ContactGuid": str(duplicate.pk)}, {"ignoreWarnings": "true"}, If_Match="*"
        ),
    }
    for target, answer in answers.items():
        assert faults(answer) == [("NotFound", target)], answer.content
        assert str(hidden.pk) not in answer.content.decode()
