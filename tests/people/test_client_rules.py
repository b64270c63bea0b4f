"""Rules of clients (interface.md 4.2)."""

import pytest

from apps.base.drafts import apply_rules
from apps.people.models import Client
from apps.people.validation import CLIENT_WARNINGS
from tests.people.builders import a_client, a_client_body

pytestmark = pytest.mark.django_db


def test_clients_need_a_business_name(refused):
    assert refused("client", {"UniqueCode": "a"}) == [("Required", "BusinessName")]


@pytest.mark.parametrize("name", ["Café Pty Ltd", "CAFE\u0301 pty ltd", " Café Pty Ltd  "])
def test_two_clients_cannot_share_a_business_name(refused, name):
    a_client(BusinessName="Café Pty Ltd")
    assert refused("client", a_client_body(BusinessName=name)) == [("NotUnique", "BusinessName")]


def test_a_state_needs_a_country(refused):
    body = a_client_body(PostalAddress={"PostalState": "VIC"})
    assert refused("client", body) == [("Required", "Address/Country")]


def test_a_client_is_never_the_subscriber_by_its_own_word():
    assert a_client(IsSelf=True).is_self is False


@pytest.mark.parametrize("number", ["51 824 753 556", "51824753556", None])
def test_a_business_number_that_checks_is_not_warned_about(number):
    assert list(apply_rules([Client(business_number=number)], CLIENT_WARNINGS)) == []


@pytest.mark.parametrize("number", ["51824753557", "1", "GB123456789"])
def test_another_business_number_is_stored_as_given_and_warned_about(number):
    assert a_client(BusinessNumber=number).business_number == number
    ((_, finding),) = apply_rules([Client(business_number=number)], CLIENT_WARNINGS)
    assert (finding.code, finding.field) == ("UnusualBusinessNumber", "business_number")


def test_the_longest_names_fit_however_they_fold(refused):
    longest = "ﬃ" * 255
    assert a_client(BusinessName=longest, UniqueCode="ﬃ" * 90).business_name == longest
    assert refused("client", a_client_body(BusinessName="ffi" * 85)) == []
    assert refused("client", a_client_body(BusinessName=longest)) == [("NotUnique", "BusinessName")]
