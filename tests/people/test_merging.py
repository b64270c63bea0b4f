"""Two records of one person or organisation become one, and two again within a day."""

import datetime as dt

import pytest
from django.apps import apps
from django.db import models

from apps.base import clock
from apps.base.drafts import ValidationFailed
from apps.core.models import Change, TimestampedModel
from apps.funding.models import Claim
from apps.payments.models import BankAccount, PaymentRunItem
from apps.people.merging import merge, referring_columns, undo_merge
from apps.people.models import Client, Contact, CustomFieldAnswer
from tests.documents.builders import a_document
from tests.engagements.builders import a_plan
from tests.funding.builders import a_claim, a_provider_invoice
from tests.payments.builders import an_account
from tests.people.import_files import a_csv, imported
from tests.people.records import a_client, a_contact, a_role, a_staff_member, an_administrator, form_data

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.both_engines("references are moved by statements of their own"),
]


@pytest.fixture(autouse=True)
def on_a_morning(at):
    at("2026-08-20 10:00")


def merge_page(record):
    return f"/admin/people/{record._meta.model_name}/{record.pk}/merge/"


def last_differences(record):
    label = record._meta.label_lower
    return Change.objects.filter(record_type=label, record_key=str(record.pk)).first().differences


def refused(kept, duplicate):
    with pytest.raises(ValidationFailed) as failed:
        merge(kept, duplicate)
    return [issue.message for _, issue in failed.value.issues]


@pytest.mark.parametrize("model", [Contact, Client])
def test_every_reference_to_a_record_is_moved_but_for_what_belongs_to_it(model):
    """A reference that somebody declares tomorrow is moved as well, or named here."""
    references = {
        field
        for other in apps.get_models()
        for field in other._meta.get_fields(include_hidden=True)
        if isinstance(field, models.ForeignKey | models.ManyToManyField) and field.related_model is model
    }
    answers = {CustomFieldAnswer._meta.get_field(model._meta.model_name)}
    paid = {PaymentRunItem._meta.get_field(model._meta.model_name)}  # to whom, as it was then
    assert references - set(referring_columns(model)) == answers | paid
    assert all(issubclass(column.model, TimestampedModel) for column in referring_columns(model))


def test_all_that_refers_to_a_contact_moves_with_its_history_and_back(at):
    kept, duplicate = a_contact(), a_contact()
    claim, plan = a_claim(contact=duplicate), a_plan(participant=duplicate)
    child, office = a_contact(representative=duplicate), a_client(key_contact=duplicate)
    other = a_claim(contact=kept)
    assert merge(kept, duplicate) == 5  # the claim's provider invoice is the fifth
    for record, column in ((claim, "contact"), (plan, "participant"), (child, "representative")):
        record.refresh_from_db()
        assert getattr(record, column) == kept
        assert last_differences(record) == {f"{column}_id": [str(duplicate.pk), str(kept.pk)]}
    office.refresh_from_db(), duplicate.refresh_from_db()
    assert (office.key_contact, duplicate.merged_into, duplicate.is_archived) == (kept, kept, True)
    assert last_differences(kept) == {"Merged record": [None, str(duplicate)]}
    at("2026-08-21 09:59")
    Contact.objects.filter(pk=child.pk).update(representative=other.contact)  # somebody else meanwhile
    Claim.objects.filter(pk=claim.pk).update(contact=a_contact())
    assert undo_merge(duplicate) == 4
    plan.refresh_from_db(), duplicate.refresh_from_db(), other.refresh_from_db(), claim.refresh_from_db()
    assert (plan.participant, duplicate.merged_into, duplicate.is_archived) == (duplicate, None, False)
    assert other.contact == kept
    assert claim.contact not in (kept, duplicate)


def test_organisations_are_merged_with_their_claims_and_documents():
    kept, duplicate = a_client(), a_client()
    claim, document = a_claim(provider=duplicate), a_document(client=duplicate)
    merge(kept, duplicate)
    claim.refresh_from_db(), document.refresh_from_db()
    assert (claim.provider, document.client) == (kept, kept)


def test_a_merge_cannot_be_undone_after_a_day(at):
    kept, duplicate = a_contact(), a_contact()
    merge(kept, duplicate)
    at("2026-08-21 10:00")
    with pytest.raises(ValidationFailed, match="within a day"):
        undo_merge(duplicate)
    assert Contact.objects.get(pk=duplicate.pk).merged_into == kept


def test_a_duplicate_that_was_archived_before_the_merge_stays_so_when_it_is_undone():
    archived = clock.now() - dt.timedelta(days=1)
    kept, duplicate = a_contact(), a_contact(archive_date=archived)
    merge(kept, duplicate)
    undo_merge(duplicate)
    duplicate.refresh_from_db()
    assert (duplicate.merged_into, duplicate.archive_date) == (None, archived)


def test_merges_one_after_the_other_are_undone_from_the_last(at):
    first, second, third = a_client(), a_client(), a_client()
    claim = a_claim(provider=first)
    merge(second, first)
    at("2026-08-20 11:00")
    merge(third, second)
    with pytest.raises(ValidationFailed, match=f"{second} was merged into {third} since: undo that first."):
        undo_merge(first)
    at("2026-08-20 12:00")
    undo_merge(second)
    first.refresh_from_db()
    assert first.merged_into == second
    at("2026-08-20 13:00")
    assert undo_merge(first) == 2
    claim.refresh_from_db(), first.refresh_from_db()
    assert (claim.provider, first.merged_into, first.is_archived) == (first, None, False)


def test_the_number_that_both_have_is_no_question_after_a_merge(client, tmp_path):
    """Neither a duplicate that is warned of once more, nor two records for the row of a file."""
    client.force_login(an_administrator())
    kept, duplicate = (a_contact(scheme_number="430000001", birthday="1980-01-31") for _ in range(2))
    address = f"/admin/people/contact/{kept.pk}/change/"

    def asked(**values):
        answer = client.post(address, form_data(client.get(address), **values), follow=True)
        return "has the same scheme number" in answer.content.decode()

    path = a_csv(tmp_path, "430000001,0400000009", header="NDIS No,Mobile")
    assert asked(phone1="0400 000 001")
    assert "Ambiguous" in imported("contact", path).err
    merge(kept, duplicate)
    assert not asked(phone1="0400 000 002")
    assert imported("contact", path).status == 0
    kept.refresh_from_db(), duplicate.refresh_from_db()
    assert (kept.phone1, duplicate.phone1) == ("0400000009", None)
    Contact.objects.filter(pk=duplicate.pk).update(archive_date=None)  # restored: of its own again
    assert asked(phone1="0400 000 003")
    assert "Ambiguous" in imported("contact", a_csv(tmp_path, "430000001,1", header="NDIS No,Mobile")).err


def test_what_cannot_be_one_is_refused_and_nothing_moves():
    kept, duplicate = a_client(), a_client()
    for provider in (kept, duplicate):
        a_provider_invoice(reference="INV-7", provider=provider)
    assert refused(kept, duplicate) == [
        f"Both have provider invoices of which only one can stay: INV-7 ({duplicate}). Change those first."
    ]
    assert duplicate.provider_invoices.count() == 1
    mother = a_contact()
    child = a_contact(representative=mother)
    assert refused(child, mother) == [f"{mother} is the representative of {child}; change that first."]
    assert refused(mother, mother) == ["It is the same record."]
    merge(mother, child)
    assert refused(a_contact(), Contact.objects.get(pk=child.pk)) == [f"{child} was merged already."]
    own = a_client(is_self=True)
    assert refused(kept, own) == [f"{own} is the subscriber itself; merge the other one into it."]
    assert f"{child} is archived; restore it first." in refused(Contact.objects.get(pk=child.pk), a_contact())


def test_an_archived_account_of_the_duplicate_stands_in_no_merges_way():
    kept, duplicate = a_client(), a_client()
    an_account(kept), an_account(duplicate, archive_date=clock.now())
    merge(kept, duplicate)
    assert BankAccount.objects.filter(client=kept).count() == 2


def test_the_page_compares_both_merges_them_and_offers_to_undo_it(client):
    client.force_login(an_administrator())
    kept = a_contact(first_name="Mia", last_name="Silva", phone1="0400 000 001")
    duplicate = a_contact(first_name="Mia", last_name="Sylva")
    claim = a_claim(contact=duplicate)
    assert "Choose the record that is the same one" in client.get(merge_page(kept)).content.decode()
    page = client.get(merge_page(kept), {"duplicate": str(duplicate.pk)})
    assert ("Last name", "Silva", "Sylva") in page.context["differences"]
    assert (1, "claim (participant)") in page.context["moves"]
    answer = client.post(merge_page(kept), {"duplicate": str(duplicate.pk)}, follow=True)
    assert "Mia Sylva is merged into Mia Silva; 2 records moved." in answer.content.decode()
    assert f'href="{merge_page(duplicate)}">Undo</a>' in answer.content.decode()
    assert "Undo the merge" in client.get(merge_page(duplicate)).content.decode()
    client.post(merge_page(duplicate))
    claim.refresh_from_db()
    assert claim.contact == duplicate


def test_fields_find_the_record_in_use_by_the_name_of_its_duplicate(client):
    client.force_login(an_administrator())
    kept, duplicate = a_client(business_name="Harbour Lights"), a_client(business_name="Misty Dotterel Care")
    field = {"app_label": "funding", "model_name": "claim", "field_name": "provider"}

    def found(term):
        results = client.get("/admin/autocomplete/", {**field, "term": term}).json()["results"]
        return [each["id"] for each in results]

    assert found("misty dotterel") == [str(duplicate.pk)]
    merge(kept, duplicate)
    assert found("misty dotterel") == found("harbour") == [str(kept.pk)]
    assert found("nobody of this name") == []


@pytest.mark.parametrize("make", [a_client, a_contact])
def test_the_pages_of_a_duplicate_lead_to_the_record_that_is_in_use(client, make):
    client.force_login(an_administrator())
    kept, duplicate = make(), make()
    pages = f"/admin/people/{duplicate._meta.model_name}/{{}}/{{}}/"
    sentence = f"{duplicate} was merged into"

    def tells(record):
        opened = [client.get(pages.format(record.pk, name)) for name in ("overview", "change")]
        return [sentence in page.content.decode() for page in opened]

    assert tells(duplicate) == [False, False]
    merge(kept, duplicate)
    assert tells(duplicate) == [True, True]
    assert tells(kept) == [False, False]
    page = client.get(pages.format(duplicate.pk, "change"))
    overview = pages.format(kept.pk, "overview")
    assert f'{sentence} <a class="rs-link" href="{overview}">{kept}</a>' in page.content.decode()
    refusal = client.post(pages.format(duplicate.pk, "change"), form_data(page, unique_code="X-1"))
    assert f"It was merged into {kept.pk}: change that one." in refusal.content.decode()
    undo_merge(duplicate)
    assert tells(duplicate) == [False, False]


def test_merging_needs_the_permission_to_change(client):
    client.force_login(a_staff_member(role=a_role("people.view_contact")))
    kept, duplicate = a_contact(), a_contact()
    assert client.post(merge_page(kept), {"duplicate": str(duplicate.pk)}).status_code == 403
    assert not Contact.objects.exclude(merged_into=None).exists()
