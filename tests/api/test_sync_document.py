"""The program in docs/sync.md is run as it stands there, against what may happen in the middle of a sync."""

import re
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote, urlencode, urlsplit

import pytest
from django.test import Client
from requests.exceptions import HTTPError

from apps.access.models import AccessToken
from apps.access.services import register_application
from apps.core import archive
from apps.core.models import Change
from apps.funding.models import Claim
from tests.api.caller import Caller, an_application
from tests.api.random_writes import changed
from tests.funding.builders import a_claim

HOST, FORM = "records.example", "application/x-www-form-urlencoded"
DOCUMENT = Path(__file__).parents[2] / "docs" / "sync.md"


class Answer:
    def __init__(self, answer):
        self.status_code, self.json = answer.status_code, answer.json

    def raise_for_status(self):
        if self.status_code >= 400:
            raise HTTPError(self.status_code)


class Requests:
    """The part of ``requests`` that the program calls, on Django's test client; ``before`` each GET."""

    def __init__(self):
        self.client, self.links, self.tokens = Client(), [], 0
        self.before = lambda number: None

    def Session(self):
        return SimpleNamespace(headers=(headers := {}), get=lambda link: self.get(link, headers))

    def get(self, link, headers):
        self.links.append(link)
        self.before(len(self.links))
        parts = urlsplit(link)
        query = quote(parts.query, safe="%$=&,()/:@'*+.-_")
        return Answer(self.client.get(f"{parts.path}?{query}", headers={"Host": parts.netloc, **headers}))

    def post(self, url, auth, data):
        self.tokens += 1
        body = urlencode({**data, "client_id": auth[0], "client_secret": auth[1]})
        return Answer(self.client.post(urlsplit(url).path, body, content_type=FORM, headers={"Host": HOST}))


@pytest.fixture
def requests(db, settings, monkeypatch):
    settings.ODATA_CHANGE_LOG = "apps.core.change_log.SerialLog"
    settings.ALLOWED_HOSTS = [HOST, "testserver"]
    return Requests()


@pytest.fixture
def program(requests):
    """The names of the program, with pages of two records."""
    (text,) = re.findall(r"```python\n(import requests\n.*?)```", DOCUMENT.read_text(), re.DOTALL)
    text = text.replace("import requests\n", "").replace("https://", "http://").replace("=1000", "=2")
    application, secret = register_application("Copy", ["claim.read"])
    names = {"requests": requests, "CLIENT_ID": str(application.client_id), "CLIENT_SECRET": secret}
    exec(compile(text, DOCUMENT.name, "exec"), names)
    return SimpleNamespace(**names)


@pytest.fixture
def claims(program):
    return [a_claim() for _ in range(5)]


def stored():
    return {str(claim.pk): claim.claim_number for claim in Claim.objects.filter(archive_date=None)}


def numbers(copy):
    return {guid: record["ClaimNumber"] for guid, record in copy.items()}


def test_a_copy_is_read_once_and_then_follows_the_changes(program, requests, claims):
    copy = {}
    link = program.sync(copy)
    assert (numbers(copy), requests.tokens) == (stored(), 1)
    changed(claims[0], claim_number="New")
    archive.archive(Claim.objects.filter(pk=claims[1].pk))
    a_claim()
    link = program.sync(copy, link)
    assert numbers(copy) == stored()
    assert len(copy) == 5
    assert program.sync(copy, link)


def test_an_access_token_that_ends_in_the_middle_is_replaced_and_the_same_link_goes_on(
    program, requests, claims
):
    requests.before = lambda number: AccessToken.objects.all().delete() if number in (3, 5) else None
    copy = {}
    program.sync(copy)
    assert numbers(copy) == stored()
    assert requests.tokens > 1
    refused = [
        link for link, following in zip(requests.links, requests.links[1:], strict=False) if link == following
    ]
    assert len(refused) == requests.tokens


def test_a_program_that_is_stopped_goes_on_with_the_page_or_begins_the_sync_again(program, requests, claims):
    copy = {}
    first = program.sync(copy)
    for claim in claims:
        changed(claim, claim_number=f"New {claim.pk}")

    def stop(number):
        if number == stopped:
            raise KeyboardInterrupt

    requests.before, stopped = stop, len(requests.links) + 2
    with pytest.raises(KeyboardInterrupt):
        program.sync(copy, first)
    assert numbers(copy) != stored()
    page = dict(copy)
    program.sync(page, requests.links[-1])  # the link of the page that was not read
    assert numbers(page) == stored()
    program.sync(copy, first)
    assert numbers(copy) == stored()


def test_a_link_is_of_no_token_and_another_application_with_the_rights_goes_on(program, requests, claims):
    link = program.sync({})
    parts = urlsplit(link)
    for scope, status in (("claim.read", 200), ("client.read", 403)):
        other = Caller(an_application(scope, name=scope), host=HOST)
        assert other.get(parts.path, parts.query).status_code == status


def test_after_a_restore_in_the_middle_the_copy_begins_again(program, requests, claims):
    copy = {}
    link = program.sync(copy)
    for claim in claims:
        changed(claim, claim_number=f"New {claim.pk}")
    copy["lost"] = {"ClaimNumber": "of a record that the restored database never had"}

    def restore(number):
        if number == restored:
            Change.objects.all().delete()

    requests.before, restored = restore, len(requests.links) + 2
    program.sync(copy, link)
    assert numbers(copy) == stored()
    assert program.FIRST_LINK in requests.links[restored - 1 :]
