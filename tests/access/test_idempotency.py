"""A POST repeated with the same Idempotency-Key."""

import json
import threading

import pytest
from django.db import IntegrityError, connections, transaction
from django.http import HttpResponse

from apps.access.idempotency import respond_once
from apps.access.models import IdempotencyKey
from apps.access.services import purge_expired
from apps.base.errors import Conflict, InvalidRecords
from apps.core import history
from apps.people.models import Team
from tests.access.conftest import ClientView
from tests.caseloads import limit
from tests.people.builders import a_location

pytestmark = pytest.mark.django_db


def stored(request):
    """What a resource's POST does: store, then answer."""
    team = Team.objects.create(name=json.loads(request.body)["Name"])
    headers = {"Location": f"/api/team({team.pk})", "OData-Version": "4.0", "X-Request-ID": "own"}
    return HttpResponse(json.dumps({"TeamId": team.pk}), "application/json", status=201, headers=headers)


class Storing(ClientView):
    answers = staticmethod(stored)


@pytest.fixture
def post(call, token):
    """post("key", {...}) -> the answer to a POST by one application; the same one each time."""
    token_header = token("write")

    def posting(key, body=None, *, authorization=None, view=Storing, **extra):
        if key is not None:
            extra["HTTP_IDEMPOTENCY_KEY"] = key
        return call(
            "POST", authorization or token_header, data=json.dumps(body or {"Name": "A"}), view=view, **extra
        )

    return posting


def test_the_same_request_gets_the_first_answer_and_stores_nothing_twice(post):
    first, second = post("k1"), post("k1")
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.content == second.content
    for name in ("Content-Type", "Location", "OData-Version"):
        assert first[name] == second[name]
    assert "Idempotency-Replayed" not in first
    assert second["Idempotency-Replayed"] == "true"
    assert "X-Request-ID" not in second
    assert Team.objects.count() == 1


def test_an_answer_without_body_is_replayed_without_one(post):
    class Minimal(ClientView):
        answers = staticmethod(lambda request: HttpResponse(status=204, headers={"Location": "/api/x"}))

    post("k1", view=Minimal)
    again = post("k1", view=Minimal)
    assert (again.status_code, again.content, again["Location"]) == (204, b"", "/api/x")


def test_the_same_key_with_another_request_is_refused(post):
    post("k1")
    for other in (
        post("k1", {"Name": "B"}),
        post("k1", path="/api/contact"),
        post("k1", path="/api/client?ignoreWarnings=true"),
    ):
        assert other.status_code == 422
        assert b'"code": "IdempotencyKeyReused"' in other.content
    assert Team.objects.count() == 1


def test_two_applications_may_use_the_same_key(post, token):
    post("k1")
    other = post("k1", {"Name": "B"}, authorization=token("write", name="Other"))
    assert other.status_code == 201
    assert "Idempotency-Replayed" not in other


def test_without_a_key_every_request_is_its_own(post):
    assert [post(None, {"Name": name}).status_code for name in "AB"] == [201, 201]
    assert not IdempotencyKey.objects.exists()


@pytest.mark.parametrize("key", ["", "x" * 256, "ünique", "a\nb", "a\0b", "\x7f"])
def test_a_key_is_1_to_255_printable_ascii_characters(post, key):
    answer = post(key)
    assert answer.status_code == 400
    assert b'"code": "InvalidIdempotencyKey"' in answer.content


@pytest.mark.parametrize("key", ["x" * 255, "a b", "~!", '"8e03978e-40d5-43dd-bc93-6894a57f9324"'])
def test_other_keys_are_used_as_they_are(post, key):
    assert post(key).status_code == 201
    assert post(key)["Idempotency-Replayed"] == "true"


@pytest.mark.parametrize("refusal", [InvalidRecords("no"), IntegrityError("twice"), HttpResponse(status=400)])
def test_a_failed_first_attempt_frees_the_key_and_leaves_nothing(post, refusal):
    def failing(request):
        stored(request)
        if isinstance(refusal, HttpResponse):
            return refusal
        raise refusal

    class Failing(ClientView):
        answers = staticmethod(failing)

    assert post("k1", view=Failing).status_code in (400, 409)
    assert not Team.objects.exists()
    assert not IdempotencyKey.objects.exists()
    assert post("k1", {"Name": "Other"}).status_code == 201


def test_an_expired_key_can_be_used_again(post):
    post("k1")
    IdempotencyKey.objects.update(creation_date="2020-01-01T00:00:00Z")
    again = post("k1", {"Name": "B"})
    assert again.status_code == 201
    assert "Idempotency-Replayed" not in again


def test_expired_keys_are_purged_and_others_stay(post):
    post("old"), post("fresh", {"Name": "B"})
    IdempotencyKey.objects.filter(key="old").update(creation_date="2020-01-01T00:00:00Z")
    assert purge_expired()["idempotency keys"] == 1
    assert IdempotencyKey.objects.get().key == "fresh"


def test_a_body_that_is_too_large_is_left_to_the_view(post, settings):
    settings.API_MAX_BODY_BYTES = 5
    assert post("k1").status_code == 201  # this test's view does not mind
    assert not IdempotencyKey.objects.exists()


def test_a_body_that_was_read_already_is_recognised_by_its_content(call, token, settings):
    settings.API_MAX_BODY_BYTES = 5

    class Reading(ClientView):
        asked = b"the same"

        def post(self, request):
            return respond_once(request, lambda: HttpResponse(b"first", status=201), self.asked)

    class Other(Reading):
        asked = b"another"

    header = token("write")

    def post(view, data):
        return call("POST", header, data=data, view=view, HTTP_IDEMPOTENCY_KEY="k1")

    assert "Idempotency-Replayed" not in post(Reading, b"--boundary 1--")
    assert post(Reading, b"--boundary 2--")["Idempotency-Replayed"] == "true"
    assert post(Other, b"--boundary 1--").status_code == 422


def test_what_is_stored_names_the_application_as_author(post):
    seen = []

    class Asking(ClientView):
        answers = staticmethod(lambda request: (seen.append(history.author()), HttpResponse(status=201))[1])

    post("k1", view=Asking)
    assert seen[0].application == "Payroll"


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres("on SQLite the whole request waits for its turn to write")
@pytest.mark.parametrize("first_succeeds", [True, False])
def test_a_second_request_waits_for_the_first_one_with_its_key(post, first_succeeds):
    at_work, may_end, answers = threading.Event(), threading.Event(), {}

    class Slow(ClientView):
        @staticmethod
        def answers(request):
            at_work.set()
            assert may_end.wait(20)
            if not first_succeeds:
                raise Conflict("no")
            return stored(request)

    def send(name, view):
        answers[name] = post("k1", view=view)
        connections.close_all()

    first = threading.Thread(target=send, args=("first", Slow))
    second = threading.Thread(target=send, args=("second", Storing))
    first.start()
    assert at_work.wait(20)
    second.start()
    second.join(0.5)
    assert second.is_alive()  # it waits
    may_end.set()
    first.join(20), second.join(20)
    assert answers["second"].status_code == 201
    assert Team.objects.count() == 1
    if first_succeeds:
        assert answers["second"].content == answers["first"].content
        assert answers["second"]["Idempotency-Replayed"] == "true"
    else:
        assert answers["first"].status_code == 409
        assert "Idempotency-Replayed" not in answers["second"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres("the tests' SQLite lies in memory, where connections refuse instead of waiting")
def test_many_at_once_with_one_key_store_once(post):
    answers = []

    def send():
        answers.append(post("k1"))
        connections.close_all()

    threads = [threading.Thread(target=send) for _ in range(6)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert {answer.status_code for answer in answers} == {201}
    assert sum("Idempotency-Replayed" in answer for answer in answers) == 5
    assert Team.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_key_and_records_are_one_transaction(post):
    seen = []

    class Looking(ClientView):
        answers = staticmethod(
            lambda request: (
                seen.append(transaction.get_connection().in_atomic_block),
                HttpResponse(status=201),
            )[1]
        )

    post("k1", view=Looking)
    assert seen == [True]


def test_an_answer_is_repeated_to_whoever_sees_what_it_was_given_under(post, token):
    """The kept answer shows records that the application may not see any more."""
    mine = token("write", name="Limited")
    limit("Limited", locations=[a_location()])
    assert post("k1", authorization=mine).status_code == 201
    assert post("k1", authorization=mine)["Idempotency-Replayed"] == "true"
    limit("Limited", locations=[a_location()])
    refused = post("k1", authorization=mine)
    assert refused.status_code == 422
    assert b"you saw other participants then" in refused.content
    assert Team.objects.count() == 1
