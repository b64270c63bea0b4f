"""Whoever enters what another record has already is told which: a link, its day, its status."""

import datetime as dt

import pytest
from django.test import Client

from apps.base.errors import ServiceError
from apps.funding.models import Claim, ProviderInvoice
from apps.people.models import Contact
from tests.funding.admin_forms import CLAIMS, INVOICES, PROVIDER_INVOICES, bill_form_data, errors_of, line
from tests.funding.bodies import a_claim_body, a_full_provider_invoice, a_funder, a_priced_entry, submitted
from tests.funding.builders import a_claim, a_provider_invoice, an_invoice
from tests.people.caseload_office import a_limited_role
from tests.people.records import (
    a_contact,
    a_role,
    a_staff_member,
    form_data,
    get_unrendered,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("on_a_thursday", "ada")]
JULY_3 = dt.datetime(2026, 7, 3, 2, tzinfo=dt.UTC)


def of_the_provider(scene, **columns):
    invoice = a_provider_invoice(
        contact=scene.participant, provider=scene.provider, reference="INV-9", creation_date=JULY_3
    )
    claim = a_claim(
        provider_invoice=invoice,
        contact=scene.participant,
        provider=scene.provider,
        creation_date=JULY_3,
        **columns,
    )
    return invoice, claim


def entered(client, scene, query="", **fields):
    given = {
        "contact": str(scene.participant.pk),
        "provider": str(scene.provider.pk),
        "provider_invoice_reference": "inv-9",
        "start_date": "12/08/2026",
        "end_date": "12/08/2026",
        **fields,
    }
    address = f"{CLAIMS}add/{query}"
    return client.post(address, bill_form_data(get_unrendered(client, address), line(scene.entry), **given))


def text_of(errors):
    return " ".join(" ".join(each) for each in errors.values())


def test_a_reference_of_another_provider_invoice_is_named_with_its_claim(client, scene):
    invoice, claim = of_the_provider(scene, funding_status="AgencyFullyPaid")
    head, _ = errors_of(entered(client, scene))
    text = text_of({"field": head["provider_invoice_reference"]})
    assert "Another provider invoice has it already." in text
    assert f'<a class="rs-link" href="{PROVIDER_INVOICES}{invoice.pk}/change/">' in text
    assert "entered 3 Jul 2026, to review" in text
    assert f'href="{CLAIMS}{claim.pk}/change/">{claim}</a>, fully paid by the agency' in text


def test_a_reference_of_a_claim_is_named_with_its_day_and_status(client, scene):
    """The provider invoice of the other claim had no reference."""
    other = a_provider_invoice(contact=scene.participant, provider=scene.provider, reference=None)
    claim = a_claim(
        provider_invoice=other,
        contact=scene.participant,
        provider=scene.provider,
        provider_invoice_reference="INV-9",
        funding_status="Approved",
        creation_date=JULY_3,
    )
    free = a_provider_invoice(contact=scene.participant, provider=scene.provider, reference=None)
    head, _ = errors_of(entered(client, scene, f"?provider_invoice={free.pk}"))
    text = text_of(head)
    assert f"is the reference of claim {claim} already." in text
    assert f'href="{CLAIMS}{claim.pk}/change/">{claim}</a>, entered 3 Jul 2026, approved.' in text


def test_a_claim_of_somebody_whom_the_person_does_not_see_is_not_named(scene):
    me, hidden = a_staff_member(role=a_limited_role()), a_contact(last_name="Unseenperson")
    Contact.objects.filter(pk=scene.participant.pk).update(account_manager=me)
    claim = a_claim(contact=hidden, provider=scene.provider, provider_invoice_reference="INV-9")
    free = a_provider_invoice(contact=scene.participant, provider=scene.provider, reference=None)
    browser = Client()
    browser.force_login(me)
    text = text_of(errors_of(entered(browser, scene, f"?provider_invoice={free.pk}"))[0])
    assert "inv-9 is the reference of another record already." in text
    assert (f"{claim}" in text, "Unseenperson" in text) == (False, False)


@pytest.mark.both_engines("somebody else writes meanwhile")
def test_a_provider_invoice_that_was_claimed_meanwhile_is_named_with_its_claim(client, scene):
    invoice = a_provider_invoice(contact=scene.participant, provider=scene.provider, reference="INV-9")
    query = f"?provider_invoice={invoice.pk}"
    page = get_unrendered(client, f"{CLAIMS}add/{query}")
    data = bill_form_data(page, line(scene.entry), start_date="12/08/2026", end_date="12/08/2026")
    claim = a_claim(provider_invoice=invoice, contact=scene.participant, provider=scene.provider)
    head, _ = errors_of(client.post(f"{CLAIMS}add/{query}", data))
    assert f'href="{CLAIMS}{claim.pk}/change/">{claim}</a>, entered' in text_of(head)


def test_the_number_of_another_invoice_is_named_in_its_form(client, scene):
    other = an_invoice(invoice_number="I-77", funding_status="Sent", creation_date=JULY_3)
    page = get_unrendered(client, f"{INVOICES}add/")
    data = bill_form_data(page, line(scene.entry), contact=str(scene.participant.pk), invoice_number="I-77")
    head, _ = errors_of(client.post(f"{INVOICES}add/", data))
    link = f'<a class="rs-link" href="{INVOICES}{other.pk}/change/">I-77</a>'
    assert f"See {link}, entered 3 Jul 2026, sent." in text_of({"field": head["invoice_number"]})


def test_the_form_of_a_provider_invoice_names_the_other(client, scene):
    invoice, _ = of_the_provider(scene)
    address = f"{PROVIDER_INVOICES}add/"
    fields = {"provider": str(scene.provider.pk), "reference": "inv-9"}
    answer = client.post(address, form_data(get_unrendered(client, address), **fields))
    text = text_of(answer.context["adminform"].form.errors)
    assert f"{PROVIDER_INVOICES}{invoice.pk}/change/" in text
    assert ProviderInvoice.objects.count() == 1


def test_who_may_not_view_the_other_is_told_nothing_of_it(client, scene):
    invoice, claim = of_the_provider(scene)
    address = f"{PROVIDER_INVOICES}add/"
    fields = {"provider": str(scene.provider.pk), "reference": "inv-9"}
    page = get_unrendered(client, address)
    client.force_login(a_staff_member(role=a_role("funding.add_providerinvoice")))
    answer = client.post(address, form_data(page, **fields))
    assert text_of(answer.context["adminform"].form.errors) == "Another provider invoice has it already."
    assert str(invoice.pk) not in answer.content.decode()
    assert Claim.objects.get() == claim


def test_the_interface_names_the_other_without_what_the_caller_may_not_read(scene):
    first = a_full_provider_invoice(reference="INV-9", provider=scene.provider)
    second = a_full_provider_invoice(reference=None, provider=scene.provider)
    body = a_claim_body(second, a_funder(), a_priced_entry(), ProviderInvoiceReference="INV-9")
    with pytest.raises(ServiceError) as refused:
        submitted("claim", body)
    (detail,) = refused.value.details
    assert detail.message == f"INV-9 is the reference of provider invoice {first.pk} already."
