"""The page of reads of personal data: whose records somebody read, and who read somebody's."""

import csv
import datetime as dt
from urllib.parse import urlencode

import pytest
from django.utils import timezone

from apps.core import history, read_log
from apps.core.history import Author
from apps.core.models import PersonalDataRead
from apps.core.read_log import READ_LOG, join_keys
from apps.funding.models import Claim
from apps.people.models import Contact
from apps.sales.models import Opportunity
from tests.api.caller import Caller, an_application
from tests.funding.builders import a_claim
from tests.people.records import a_contact, a_role, a_staff_member
from tests.sales.builders import an_opportunity_body, by_key

pytestmark = [pytest.mark.django_db, pytest.mark.both_engines("reads are found by statements of their own")]
PAGE = "/admin/core/personaldataread/"


def read(who, records, kind="List", count=None, keys=None):
    """An entry as the log makes it."""
    with history.as_author(who):
        found = join_keys([each.pk for each in records]) if keys is None else keys
        READ_LOG.add(type(records[0]), kind, count or len(records), found, "")
    READ_LOG.write()


@pytest.fixture
def reads(ada, at):
    """Cora lists two participants, a program one claim of the first, on two days."""
    matilda, joe = a_contact(first_name="Matilda", last_name="Walsh"), a_contact(first_name="Joe")
    claim = a_claim(contact=matilda)
    cora = a_staff_member(first_name="Cora", last_name="Smith")
    at("2026-11-19 23:30")
    read(Author("Back office", staff_id=cora.pk), [matilda, joe])
    at("2026-11-20 00:30")
    read(Author("API", application="Reports"), [claim], "Record")
    return cora, matilda, joe, claim


def shown(client, **query):
    answer = client.get(PAGE, query)
    assert answer.status_code == 200
    lines = [entry.display_line for entry in answer.context["cl"].result_list]
    return [(line.who, [each.name for each in line.records]) for line in lines]


def exported(client, **query):
    answer = client.get(f"{PAGE}export/?{urlencode(query)}")
    return list(csv.DictReader(b"".join(answer.streaming_content).decode("utf-8-sig").splitlines()))


def test_a_record_with_a_number_is_shown_beside_the_people_who_were_read_with_it(client, ada):
    contact = a_contact()
    body = an_opportunity_body(PrimaryContact=by_key("ContactGuid", contact))
    assert Caller(an_application()).post("/api/opportunity", {"value": [body]}).status_code == 201
    READ_LOG.write()
    opportunity = Opportunity.objects.get()
    assert str(opportunity) in [names[0] for _, names in shown(client) if names]
    people = {row["Identifier"]: row["Participant"] for row in exported(client)}
    assert people[str(opportunity.pk)] == str(contact)
    assert str(contact.pk) in people


def test_whose_records_somebody_read_in_some_days(client, reads):
    cora, matilda, joe, claim = reads
    assert shown(client, staff__guid__exact=cora.pk) == [("Cora Smith", [str(matilda), str(joe)])]
    assert shown(client, staff__guid__exact=cora.pk, at_from="2026-11-20") == []
    read_at = timezone.localtime(PersonalDataRead.objects.get(staff=cora).at)
    minute, minute_before = (f"{read_at - dt.timedelta(minutes=n):%d/%m/%Y %H:%M}" for n in (0, 1))
    assert len(shown(client, staff__guid__exact=cora.pk, at_from=minute, at_to=minute)) == 1
    assert shown(client, staff__guid__exact=cora.pk, at_to=minute_before) == []
    assert shown(client, application__icontains="report") == [("Reports", [str(claim)])]
    page = client.get(PAGE).content.decode()
    assert f'<a class="rs-link" href="/admin/people/contact/{matilda.pk}/overview/"' in page
    rows = exported(client, staff__guid__exact=cora.pk)
    assert [(row["Person"], row["Record"], row["Identifier"]) for row in rows] == [
        ("Cora Smith", "Matilda Walsh", str(matilda.pk)),
        ("Cora Smith", str(joe), str(joe.pk)),
    ]
    (row,) = exported(client, record_kind="funding.claim")
    assert (row["Application"], row["Participant"], row["Record"]) == ("Reports", "Matilda Walsh", str(claim))
    assert row["Time"] == "2026-11-20T00:30:00+11:00"


def test_who_read_a_participants_records(client, reads):
    cora, matilda, joe, claim = reads
    both = [("Reports", [str(claim)]), ("Cora Smith", [str(matilda), str(joe)])]
    for text in ("Walsh, Matilda", str(matilda.pk)):
        assert shown(client, q=text) == both
    assert shown(client, q=joe.full_name) == both[1:]
    assert shown(client, q="xylophone") == []
    page = client.get(f"/admin/people/contact/{matilda.pk}/overview/").content.decode()
    assert f"{PAGE}?q={matilda.pk}" in page
    page = client.get(f"/admin/people/staff/{cora.pk}/overview/").content.decode()
    assert f"{PAGE}?staff__guid__exact={cora.pk}" in page


def test_a_read_without_keys_may_have_been_of_anybody_with_such_records(client, reads):
    _, matilda, _, claim = reads
    read(Author("API", application="Copy"), [claim], "Export", count=90_000, keys=b"")
    assert shown(client, q=str(matilda.pk))[0] == ("Copy", [])
    assert "90,000 more" in client.get(PAGE).content.decode()
    assert exported(client, application__icontains="copy")[0]["Records"] == "90000"
    assert ("Copy", []) not in shown(client, q=reads[2].full_name)  # without claims


def test_a_read_of_no_records_was_of_nobody_but_a_refusal_may_quote_somebody(client, reads):
    _, matilda, *_ = reads
    for kind in PersonalDataRead.Kind.values:
        with history.as_author(Author("API", application=f"Copy, {kind}")):
            READ_LOG.add(Claim, kind, 0, b"", "")
    READ_LOG.write()
    found = [who for who, _ in shown(client, q=str(matilda.pk)) if who.startswith("Copy")]
    assert found == ["Copy, Refusal"]


def test_it_needs_a_permission_of_its_own_and_shows_kinds_that_somebody_may_view(client, reads):
    client.force_login(a_staff_member(role=a_role("core.view_change", "people.view_contact")))
    assert client.get(PAGE).status_code == 403
    assert client.get(f"{PAGE}export/").status_code == 403
    auditor = a_staff_member(role=a_role("core.view_personaldataread", "people.view_contact"))
    client.force_login(auditor)
    assert [who for who, _ in shown(client)] == ["Cora Smith"]
    for address in (f"{PAGE}add/", f"{PAGE}{PersonalDataRead.objects.first().pk}/delete/"):
        assert client.post(address, {"post": "yes"}).status_code == 403


def test_the_page_takes_few_queries(client, reads, django_assert_max_num_queries):
    cora, matilda, joe, claim = reads
    for _ in range(20):
        read(Author("Back office", staff_id=cora.pk), [matilda, joe])
        read(Author("Back office", staff_id=cora.pk), [claim])
    with django_assert_max_num_queries(15):
        client.get(PAGE)


def test_records_that_are_gone_keep_their_identifier(client, ada, monkeypatch):
    key = read_log.key_bytes(a_contact().pk)
    Contact.objects.all().delete()
    Claim.objects.all().delete()
    with history.as_author(Author()):
        READ_LOG.add(Contact, "Record", 1, key)
    READ_LOG.write()
    (row,) = exported(client)
    assert (row["Record"], row["Identifier"] != "") == ("", True)
    assert shown(client) == [("System", [""])]
