"""Telephone numbers and email addresses are links in lists and on pages."""

import pytest

from tests.people.records import a_client, a_contact

pytestmark = pytest.mark.django_db


def test_numbers_call_and_addresses_write(client, ada):
    provider = a_client(business_name="Acme", business_phone="(02) 9000 0000")
    person = a_contact(
        first_name="Mia", phone1="+61 400 123 456", primary_email="mia+a?b@example.org", client=provider
    )
    overview = client.get(f"/admin/people/contact/{person.pk}/overview/").content.decode()
    assert 'href="tel:+61400123456">+61 400 123 456</a>' in overview
    assert 'href="mailto:mia%2Ba%3Fb@example.org">mia+a?b@example.org</a>' in overview
    assert 'href="tel:+61400123456"' in client.get("/admin/people/contact/").content.decode()
    organisation = client.get(f"/admin/people/client/{provider.pk}/overview/").content.decode()
    assert 'href="tel:0290000000">(02) 9000 0000</a>' in organisation
    assert 'href="tel:+61400123456"' in organisation  # of the person in its panel


@pytest.mark.parametrize("text", ["ask reception", "", None, "javascript:alert(1)"])
def test_what_has_no_number_is_no_link(client, ada, text):
    person = a_contact(phone1=text)
    page = client.get(f"/admin/people/contact/{person.pk}/overview/").content.decode()
    assert "tel:a" not in page
    assert 'href="javascript' not in page
    assert 'href="tel:"' not in page
