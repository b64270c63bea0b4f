"""Callers who come at the same moment: exactly one wins, the others are told, nobody gets a 500."""

import pytest

from apps.access.models import IdempotencyKey
from apps.core.models import Change
from apps.people.models import Client, Contact, Staff
from tests.api.caller import Caller, ok
from tests.funding.bodies import a_claim_body, submitted
from tests.people.builders import a_client_body, a_contact_body, a_role, a_staff_body, a_staff_member
from tests.races import ROUNDS, call_at_once

pytestmark = [
    pytest.mark.postgres("SQLite has one writer and its test database one connection"),
    pytest.mark.django_db(transaction=True),
]


def callers(api, number):
    return [Caller(api.authorization) for _ in range(number)]


def statuses(answers):
    return sorted(answer.status_code for answer in answers)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("client", lambda n: {"BusinessName": f"Same {n}"}),
        ("client", lambda n: a_client_body(UniqueCode=f"same {n}")),
        ("contact", lambda n: a_contact_body(UniqueCode=f"same {n}")),
    ],
    ids=["business name", "code of a client", "code of a contact"],
)
def test_one_of_eight_who_want_the_same_name_gets_it(api, path, body):
    for number in range(ROUNDS):
        bodies = [body(number) for _ in range(8)]
        answers = call_at_once(
            *(
                lambda caller=caller, sent=sent: caller.post(path, {"value": [sent]})
                for caller, sent in zip(callers(api, 8), bodies, strict=True)
            )
        )
        assert statuses(answers).count(201) == 1
        assert set(statuses(answers)) <= {201, 400, 409}
        for answer in answers:
            if answer.status_code != 201:
                (fault,) = answer.json()["error"]["details"]
                assert fault["code"] == "NotUnique"
    stored = (Client if path == "client" else Contact).objects.count()
    assert stored == ROUNDS
    assert Change.objects.filter(channel="API", kind="Created").count() == ROUNDS


def test_one_of_two_who_want_the_same_login_gets_it(api):
    role = a_role()
    for number in range(ROUNDS):
        bodies = [a_staff_body(role, PrimaryEmail=f"{name}{number}@example.org") for name in ("Ada", "ADA")]
        one, two = callers(api, 2)
        answers = call_at_once(lambda: one.post("staff", bodies[0]), lambda: two.post("staff", bodies[1]))  # noqa: B023  run at once
        assert statuses(answers)[0] == 201
        assert statuses(answers)[1] in (400, 409)
    assert Staff.objects.count() == ROUNDS


def test_one_of_two_puts_with_the_same_tag_is_412(api):
    member = a_staff_member()
    for _ in range(ROUNDS):
        record = api.get(f"staff/{member.pk}")
        tag, calls = record["ETag"], []
        for name, caller in zip(("One", "Two", "Three"), callers(api, 3), strict=True):
            body = a_staff_body(member.role, FirstName=name + record.json()["FirstName"][-3:])
            calls.append(
                lambda caller=caller, body=body, tag=tag: caller.put(f"staff/{member.pk}", body, If_Match=tag)
            )
        answers = call_at_once(*calls)
        assert statuses(answers) == [200, 412, 412]
        (won,) = [answer.json()["FirstName"] for answer in answers if answer.status_code == 200]
        assert ok(api.get(f"staff/{member.pk}"))["FirstName"] == won


def test_of_two_patches_and_a_delete_with_the_same_tag_one_wins(api):
    """Not even by the locks of its provider invoice, which every change of a claim waits for first."""
    version = {"api_version": "2.1"}
    for _ in range(ROUNDS):
        (key,) = submitted("claim", a_claim_body())
        tag, address = api.get(f"claim/{key}")["ETag"], f"claim/{key}"
        one, two, three = callers(api, 3)
        day, ignored = {"DueDate": "2025-08-01"}, {"ignoreWarnings": "true"}
        answers = call_at_once(
            lambda: one.patch(address, day, ignored, If_Match=tag, **version),  # noqa: B023  run at once
            lambda: two.patch(address, day, ignored, If_Match=tag, **version),  # noqa: B023
            lambda: three.delete(address, If_Match=tag, **version),  # noqa: B023
        )
        assert statuses(answers) in ([200, 412, 412], [204, 412, 412])


def test_puts_without_a_tag_all_succeed_one_after_the_other(api):
    member = a_staff_member()
    calls = [
        lambda caller=caller, n=n: caller.put(
            f"staff/{member.pk}", a_staff_body(member.role, FirstName=f"N{n}")
        )
        for n, caller in enumerate(callers(api, 4))
    ]
    assert statuses(call_at_once(*calls)) == [200] * 4


def test_bodies_in_opposite_order_never_end_in_a_deadlock(api):
    for number in range(ROUNDS):
        names = [f"Client {number} {n}" for n in range(60)]
        orders = [names, names[::-1], names[30:] + names[:30], names]
        calls = [
            lambda caller=caller, order=order: caller.post(
                "client", {"value": [{"BusinessName": name} for name in order]}
            )
            for caller, order in zip(callers(api, 4), orders, strict=True)
        ]
        answers = call_at_once(*calls)
        assert statuses(answers).count(201) == 1
        assert set(statuses(answers)) <= {201, 400, 409}
    assert Client.objects.count() == 60 * ROUNDS


def test_puts_that_swap_what_is_unique_never_end_in_500(api):
    role = a_role()
    for number in range(ROUNDS):
        first = a_staff_member(role=role, UniqueCode=f"a{number}")
        second = a_staff_member(role=role, UniqueCode=f"b{number}")
        one, two = callers(api, 2)
        answers = call_at_once(
            lambda: one.put(f"staff/{first.pk}", a_staff_body(role, UniqueCode=f"b{number}")),  # noqa: B023
            lambda: two.put(f"staff/{second.pk}", a_staff_body(role, UniqueCode=f"a{number}")),  # noqa: B023
        )
        assert set(statuses(answers)) <= {200, 400, 409}
    codes = list(Staff.objects.values_list("unique_code_key", flat=True))
    assert len(set(codes)) == len(codes)


def test_the_same_request_sent_twice_at_once_is_stored_once(api):
    for number in range(ROUNDS):
        body = {"value": [{"BusinessName": f"Once {number}"}]}
        calls = [
            lambda caller=caller: caller.post("client", body, Idempotency_Key=f"key {number}")  # noqa: B023
            for caller in callers(api, 4)
        ]
        answers = call_at_once(*calls)
        assert statuses(answers) == [201] * 4
        assert len({answer.content for answer in answers}) == 1
        assert sum("Idempotency-Replayed" in answer for answer in answers) == 3
    assert Client.objects.count() == IdempotencyKey.objects.count() == ROUNDS


def test_a_reference_deleted_at_the_same_moment_leaves_nothing_half_done(api):
    for _ in range(ROUNDS):
        contact = Contact.objects.get(pk=ok(api.post("contact", a_contact_body()), 201)["ContactGuid"])
        body = {"value": [a_client_body(KeyContact={"ContactGuid": str(contact.pk)}) for _ in range(20)]}

        def delete(contact=contact):
            try:
                contact.delete()
            except Exception as refused:  # protected, or the constraint said so: the clients won
                return refused
            return True

        (answer, deleted) = call_at_once(lambda body=body: api.post("client", body), delete)
        assert answer.status_code in (201, 400, 409)
        assert (answer.status_code == 201) is (deleted is not True)
    assert not Client.objects.filter(key_contact__isnull=True).exists()


def test_of_those_who_upsert_one_code_at_once_one_creates_it(api):
    """By address and by delta payloads, which name records that others lock in another order."""
    version = {"api_version": "2.1"}
    for number in range(ROUNDS):
        code = f"race {number}"
        ok(api.post("contact", {"value": [a_contact_body(UniqueCode=f"{code} {at}") for at in "ab"]}), 201)
        items = [a_contact_body(UniqueCode=each) for each in (code, f"{code} a", f"{code} b")]
        calls = []
        for at, caller in enumerate(callers(api, 8)):
            ordered = items if at % 4 else items[::-1]
            payload = {"@context": "#$delta", "value": [{**each, "Phone1": str(at)} for each in ordered]}
            if at % 2:
                calls.append(lambda caller=caller, sent=payload: caller.patch("contact", sent, **version))
            else:
                address, sent = f"contact(UniqueCode='{code}')", {**items[0], "Phone1": str(at)}
                calls.append(lambda caller=caller, to=address, sent=sent: caller.patch(to, sent, **version))
        answers = call_at_once(*calls)
        # 428: it came when the record was there, and named no state of it.
        assert {answer.status_code for answer in answers} <= {200, 201, 409, 428}, statuses(answers)
        assert all(answer.status_code == 200 for answer in answers[1::2]), statuses(answers)
        made = Contact.objects.get(unique_code=code)
        assert Change.objects.filter(record_key=str(made.pk), kind="Created").count() == 1
