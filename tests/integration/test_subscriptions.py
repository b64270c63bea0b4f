"""Subscriptions: an application manages its own webhooks by the interface."""

import json
from decimal import Decimal
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.access import webhooks
from apps.access.models import ApiApplication, IdempotencyKey, Webhook, WebhookMessage
from apps.access.webhooks import send_changes
from apps.base.declaration.resource import V2_1
from apps.base.declaration.service import get_service
from apps.core.change_log import SnapshotLog, split_snapshot
from apps.core.models import Change
from apps.people.models import Client
from tests.access.test_webhooks import changes_in, receiver, server  # noqa: F401  (fixtures)
from tests.api.caller import Caller, LaterCaller, an_application, faults, ok, refused
from tests.engagements.builders import a_booking
from tests.people.builders import a_client, a_contact
from tests.people.records import an_administrator
from tests.races import call_during

pytestmark = pytest.mark.django_db
TRACKED = {"Prefer": "odata.track-changes"}


@pytest.fixture
def address(receiver):  # noqa: F811
    return f"http://127.0.0.1:{receiver.server_port}/hook"


@pytest.fixture
def subscribe(application, address):
    """``subscribe()``: the answer to a new subscription to clients."""

    def post(caller=application, **members):
        return caller.post("subscription", {"EntitySet": "Client", "Address": address, **members})

    return post


def path_of(answer):
    return f"subscription({ok(answer, 201)['SubscriptionGuid']})"


def bodies(receiver):  # noqa: F811
    return [json.loads(body) for _, _, body in receiver.received]


def test_a_subscription_is_stored_read_changed_and_archived(application, subscribe, address):
    answer = subscribe(Condition="ArchiveDate eq null")
    made = ok(answer, 201)
    webhook = Webhook.objects.get()
    assert made["@Records.Secret"] == webhook.secret
    assert webhook.application == ApiApplication.objects.get()
    assert webhook.position
    shown = ok(application.get(path_of(answer)))
    assert webhook.secret not in json.dumps(shown)
    expected = {"EntitySet": "Client", "Condition": "ArchiveDate eq null", "Address": address, "Failures": 0}
    assert expected.items() <= shown.items()
    assert (shown["IncludesRecords"], shown["WaitingCount"], shown["FailedCount"]) == (False, 0, 0)
    changed = ok(application.patch(path_of(answer), {"IncludesRecords": True}, If_Match=answer["ETag"]))
    assert (changed["IncludesRecords"], changed["Condition"]) == (True, "ArchiveDate eq null")
    assert webhook.secret not in json.dumps(changed)
    refused(application.patch(path_of(answer), {}, If_Match=answer["ETag"]), 412)
    assert application.delete(path_of(answer)).status_code == 204
    assert ok(application.get(path_of(answer)))["ArchiveDate"] is not None
    webhook.refresh_from_db()
    assert webhook.is_archived
    entries = Change.objects.filter(record_type="access.webhook").values_list("application", "kind")
    name = ApiApplication.objects.get().name
    assert {*entries} == {(name, "Created"), (name, "Changed"), (name, "Archived")}


def test_secrets_of_several_are_their_own_and_stand_in_no_full_or_minimal_answer_later(
    application, subscribe, address
):
    body = {"value": [{"EntitySet": name, "Address": address} for name in ("Client", "Contact")]}
    made = ok(application.post("subscription", body, Accept="application/json;odata.metadata=full"), 201)[
        "value"
    ]
    for each in made:
        webhook = Webhook.objects.get(pk=each["SubscriptionGuid"])
        assert (each["@Records.Secret"], each["EntitySet"]) == (webhook.secret, webhook.entity_set)
    listed = application.get("subscription", Accept="application/json;odata.metadata=full").content.decode()
    assert "whsec_" not in listed
    assert "whsec_" not in json.dumps(list(Change.objects.values("differences")))


def test_messages_are_sent_to_it(subscribe, receiver):  # noqa: F811
    subscribe()
    made = a_client()
    send_changes()
    ((_, _, body),) = receiver.received
    assert changes_in(body) == [("created", str(made.pk))]


def test_an_idempotency_key_stores_one(application, address):
    body = {"EntitySet": "Client", "Address": address}
    first, again = (application.post("subscription", body, Idempotency_Key="s-1") for _ in range(2))
    assert (first.content, again["Idempotency-Replayed"]) == (again.content, "true")
    assert (Webhook.objects.count(), IdempotencyKey.objects.count()) == (1, 1)


# --- what is refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"Address": "https://10.0.0.1/"}, [("NotAllowed", "Address")]),
        ({"Address": "https://[::1]/x"}, [("NotAllowed", "Address")]),
        ({"Address": "https://169.254.169.254/latest"}, [("NotAllowed", "Address")]),
        ({"Address": "ftp://example.org/"}, [("NotAllowed", "Address")]),
        ({"Address": "https://me:pw@example.org/"}, [("NotAllowed", "Address")]),
        ({"Address": None}, [("Required", "Address")]),
        ({"Address": "https://" + "a" * 600}, [("TooLong", "Address")]),
        ({"EntitySet": None}, [("Required", "EntitySet")]),
        ({"EntitySet": "Elephant"}, [("Unknown", "EntitySet")]),
        ({"EntitySet": "ImportJob"}, [("Unknown", "EntitySet")]),
        ({"Condition": "Nonsense eq 1"}, [("InvalidFilter", "Condition")]),
        ({"Condition": "CreationDate lt now()"}, [("InvalidFilter", "Condition")]),
        ({"IncludesRecords": "yes"}, [("WrongType", "IncludesRecords")]),
        (
            {"EntitySet": "Elephant", "Address": "https://10.0.0.1/"},
            [("NotAllowed", "Address"), ("Unknown", "EntitySet")],
        ),
    ],
    ids=str,
)
def test_bad_subscriptions_are_refused_with_every_fault(subscribe, members, expected):
    assert sorted(faults(subscribe(**members))) == expected
    assert not Webhook.objects.exists()


def test_a_change_is_held_to_the_same_rules(application, subscribe):
    path = path_of(subscribe())
    for members, expected in (
        ({"Address": "https://10.0.0.1/"}, [("NotAllowed", "Address")]),
        ({"Address": None}, [("Required", "Address")]),
        ({"EntitySet": "Elephant"}, [("Unknown", "EntitySet")]),
        ({"Condition": "Nonsense eq 1"}, [("InvalidFilter", "Condition")]),
    ):
        assert faults(application.patch(path, members)) == expected
    ok(application.patch(path, {"Condition": "BusinessName eq 'x'"}))
    assert ok(application.patch(path, {"Condition": None}))["Condition"] in (None, "")
    assert Webhook.objects.get().filter == ""
    refused(application.patch(path, {"value": []}), 400)
    assert Caller.patch(application, path, {}, If_Match="").status_code == 428


def test_an_application_has_so_many_at_most(application, subscribe, monkeypatch):
    monkeypatch.setattr(webhooks, "MOST_WEBHOOKS", 2)
    subscribe()
    path = path_of(subscribe())
    assert faults(subscribe()) == [("TooMany", None)]
    application.delete(path)
    path_of(subscribe())
    other = LaterCaller(an_application(name="Other"))
    assert subscribe(other).status_code == 201


# --- rights ---------------------------------------------------------------------------------------------


def test_others_do_not_see_it(application, subscribe, client):
    path = path_of(subscribe())
    other = LaterCaller(an_application(name="Other"))
    client.force_login(an_administrator())
    assert ok(LaterCaller(session=client).get("subscription"))["value"] == []
    assert ok(other.get("subscription"))["value"] == []
    for call in (
        lambda: other.get(path),
        lambda: other.patch(path, {"IncludesRecords": True}),
        lambda: other.delete(path),
        lambda: other.post(f"{path}/Test", None),
        lambda: other.post(f"{path}/Replay", {"DeltaLink": "x"}),
        lambda: Caller(application.authorization).get(path),
    ):
        refused(call(), 404, "NotFound")
    assert not WebhookMessage.objects.exists()
    webhook = Webhook.objects.get()
    assert (webhook.includes_records, webhook.is_archived) == (False, False)


def test_it_has_scopes_of_its_own_and_needs_that_of_the_set(subscribe):
    reader = LaterCaller(an_application("subscription.read", "client.read", name="Reader"))
    refused(subscribe(reader), 403)
    writer = LaterCaller(an_application("subscription.write", "client.read", name="Writer"))
    assert subscribe(writer).status_code == 201
    assert refused(subscribe(writer, EntitySet="Contact"), 400)["details"][0]["code"] == "NotAllowed"
    refused(writer.get("subscription"), 403)


def test_a_narrow_token_reaches_nothing_that_it_does_not_read(application, subscribe, address):
    contacts = path_of(subscribe(EntitySet="Contact"))
    clients = path_of(subscribe())
    wide = ApiApplication.objects.get()
    wide.tokens.update(scope="subscription.read subscription.write client.read")
    before = list(Webhook.objects.order_by("pk").values())
    refused(subscribe(EntitySet="Contact"), 403, "Forbidden")
    refused(application.patch(contacts, {"Address": f"{address}/2"}), 403, "Forbidden")
    refused(application.patch(clients, {"EntitySet": "Contact"}), 403, "Forbidden")
    refused(application.post(f"{contacts}/Test", None), 403, "Forbidden")
    refused(application.post(f"{contacts}/Replay", {"DeltaLink": "x"}), 403, "Forbidden")
    assert list(Webhook.objects.order_by("pk").values()) == before
    assert ok(application.get(contacts))["EntitySet"] == "Contact"
    assert application.delete(contacts).status_code == 204


def test_a_narrow_token_finds_nothing_by_a_condition_through_what_it_does_not_read(application, subscribe):
    condition = "ProviderInvoice/RejectionReason eq 'x'"
    wide = path_of(subscribe(EntitySet="Claim", Condition=condition))
    plain = path_of(subscribe(EntitySet="Claim"))
    ApiApplication.objects.get().tokens.update(scope="subscription.read subscription.write claim.read")
    before = list(Webhook.objects.order_by("pk").values())
    refused(subscribe(EntitySet="Claim", Condition=condition), 403, "Forbidden")
    refused(application.patch(plain, {"Condition": condition}), 403, "Forbidden")
    refused(application.patch(wide, {"IncludesRecords": True}), 403, "Forbidden")
    refused(application.post(f"{wide}/Test", None), 403, "Forbidden")
    assert list(Webhook.objects.order_by("pk").values()) == before
    ok(application.patch(plain, {"Condition": "FundingStatus eq 'OnHold'"}))


def test_messages_that_wait_are_not_sent_of_another_set(application, subscribe, receiver):  # noqa: F811
    """A subscription that is turned to another set does not bring what its application may read no more."""
    path = path_of(subscribe(EntitySet="Contact", IncludesRecords=True))
    receiver.status = 500
    a_contact()
    send_changes()
    assert ok(application.patch(path, {"Address": Webhook.objects.get().address}))["WaitingCount"] == 1
    ApiApplication.objects.update(scope="subscription.read subscription.write client.read")
    refused(application.patch(path, {"IncludesRecords": False}), 400)
    assert ok(application.patch(path, {"EntitySet": "Client"}))["WaitingCount"] == 0
    receiver.status = 200
    Webhook.objects.update(paused_until=None)
    receiver.received.clear()
    made = a_client()
    send_changes()
    assert told_keys(receiver) == {str(made.pk)}


# --- tests and replays ----------------------------------------------------------------------------------


def test_a_test_message_is_sent_without_waiting_for_a_pause(application, subscribe, receiver):  # noqa: F811
    path = path_of(subscribe())
    receiver.status = 500
    a_client()
    send_changes()
    assert Webhook.objects.get().paused_until is not None
    assert ok(application.get(path))["WaitingCount"] == 1
    receiver.status = 200
    name = ok(application.post(f"{path}/Test", None))["value"]
    WebhookMessage.objects.update(next_attempt="2020-01-01T00:00Z")
    send_changes()
    (_, headers, body) = receiver.received[-1]
    assert (headers["webhook-id"], json.loads(body)["type"]) == (name, "Client.test")
    assert json.loads(body)["data"] == {"entitySet": "Client", "changes": []}
    assert ok(application.get(path))["WaitingCount"] == 0


def delta_link(caller, path="client", query=None):
    answer = ok(caller.get(path, query, **TRACKED))
    return answer["@odata.deltaLink"]


def told_keys(receiver):  # noqa: F811
    return {key for _, _, body in receiver.received for _, key in changes_in(body)}


@pytest.mark.parametrize(
    "query", [None, {"$filter": "BusinessName ne 'x'", "$select": "BusinessName", "$count": "true"}]
)
def test_a_replay_tells_what_changed_since_the_link(application, subscribe, receiver, query):  # noqa: F811
    path, old = path_of(subscribe()), a_client()
    link = delta_link(application, query=query)
    made = [a_client() for _ in range(3)]
    send_changes()
    assert told_keys(receiver) == {str(each.pk) for each in (old, *made)}
    receiver.received.clear()
    send_changes()
    assert receiver.received == []
    shown = ok(application.post(f"{path}/Replay", {"DeltaLink": link}))
    assert shown["EntitySet"] == "Client"
    later = a_client()
    send_changes()
    assert told_keys(receiver) == {str(each.pk) for each in (*made, later)}


def test_a_link_from_after_the_position_leaves_nothing_out(application, subscribe, receiver):  # noqa: F811
    path = path_of(subscribe())
    made = a_client()
    link = delta_link(application)
    ok(application.post(f"{path}/Replay", {"DeltaLink": link}))
    send_changes()
    assert told_keys(receiver) == {str(made.pk)}


def test_links_that_are_none_are_refused_and_move_nothing(application, subscribe):
    path = path_of(subscribe())
    link = delta_link(application)
    position = Webhook.objects.get().position
    a_contact()
    of_contacts = delta_link(application, "contact")
    for each in (
        "", None, 5, ["x"], "x", "http://[", "https://example.org/api/Client", of_contacts,
        link + "x", link.replace("/Client?", "/Contact?"),
        link.replace("Client?", "Client?$top=1&$filter=true&"),
        link + "&$filter=BusinessName eq 'x'", f"{link}&%zz",
    ):  # fmt: skip
        error = refused(application.post(f"{path}/Replay", {"DeltaLink": each}), 400)
        assert error["target"] == "DeltaLink", each
    refused(application.post(f"{path}/Replay", {}), 400)
    refused(application.post(f"{path}/Replay", b"{"), 400)
    assert application.call("POST", f"{path}/Replay", body=b"x", content_type="text/plain").status_code == 415
    assert Webhook.objects.get().position == position


def test_a_first_page_is_no_delta_link(application, subscribe):
    path = path_of(subscribe())
    a_client(), a_client()
    first = ok(application.get("client", Prefer="odata.track-changes, maxpagesize=1"))["@odata.nextLink"]
    refused(application.post(f"{path}/Replay", {"DeltaLink": first}), 400)


def test_a_link_of_a_restored_database_is_gone(application, subscribe):
    path = path_of(subscribe())
    a_client()
    link = delta_link(application)
    Change.objects.all().delete()
    refused(application.post(f"{path}/Replay", {"DeltaLink": link}), 410, "Gone")


def test_nothing_is_asked_of_an_archived_subscription(application, subscribe):
    path, link = path_of(subscribe()), delta_link(application)
    application.delete(path)
    refused(application.post(f"{path}/Test", None), 409, "Conflict")
    refused(application.post(f"{path}/Replay", {"DeltaLink": link}), 409, "Conflict")
    assert not WebhookMessage.objects.exists()


@pytest.mark.parametrize("seed", range(6))
def test_whatever_is_replayed_in_whatever_order_nothing_is_left_out(application, subscribe, receiver, seed):  # noqa: F811
    """Changes, messages and replays at random: what is due is told, and nothing that did not change."""
    chance, path = Random(seed), path_of(subscribe())
    changed, due = [], set()
    links = [(0, delta_link(application))]
    for _ in range(60):
        step = chance.choice(["change", "change", "link", "replay", "send"])
        if step == "change":
            record = (
                chance.choice([*Client.objects.all()]) if changed and chance.random() < 0.5 else a_client()
            )
            record.business_name = f"Name {len(changed)}"
            record.save()
            changed.append(str(record.pk))
            due.add(str(record.pk))
        elif step == "link":
            links.append((len(changed), delta_link(application)))
        elif step == "replay":
            at, link = chance.choice(links)
            ok(application.post(f"{path}/Replay", {"DeltaLink": link}))
            due.update(changed[at:])
        else:
            receiver.received.clear()
            send_changes()
            assert due <= told_keys(receiver) <= set(changed)
            due.clear()


@pytest.mark.django_db(transaction=True)
def test_a_replay_goes_by_snapshots_of_committed_transactions(application, subscribe, receiver, settings):  # noqa: F811
    settings.ODATA_CHANGE_LOG = "apps.core.change_log.change_log"
    path, old = path_of(subscribe()), a_client()
    link = delta_link(application)
    made = {str(a_client().pk) for _ in range(3)}
    send_changes()
    assert told_keys(receiver) == {str(old.pk), *made}
    receiver.received.clear()
    ok(application.post(f"{path}/Replay", {"DeltaLink": link}))
    send_changes()
    assert made <= told_keys(receiver) <= {str(old.pk), *made}
    receiver.received.clear()
    send_changes()
    assert receiver.received == []


@pytest.mark.postgres("SQLite has one writer and its test database one connection")
@pytest.mark.django_db(transaction=True)
def test_of_two_replays_at_once_the_earlier_link_counts(application, subscribe, receiver):  # noqa: F811
    path, links, made = path_of(subscribe()), [], []
    for _ in range(2):
        links.append(delta_link(application))
        made.append(str(a_client().pk))
    send_changes()
    receiver.received.clear()
    call_during(
        *(lambda link=link: ok(application.post(f"{path}/Replay", {"DeltaLink": link})) for link in links)
    )
    send_changes()
    assert set(made) <= told_keys(receiver)


@pytest.mark.any_engine("texts of snapshots alone")
@given(st.data())
def test_the_earlier_of_two_snapshots_sees_nothing_that_not_both_see(data):
    def snapshot():
        following = data.draw(st.integers(1, 12))
        open_ones = sorted(data.draw(st.sets(st.integers(1, following), max_size=4)) - {following})
        return f"{min([*open_ones, following])}:{following}:{','.join(map(str, open_ones))}"

    def seen(moment):
        _, following, open_ones = split_snapshot(moment[1])
        return {number for number in range(1, 13) if number < following and number not in open_ones}

    one, other = ("db", snapshot(), 3, "a"), ("db", snapshot(), 2, "b")
    found = SnapshotLog().earlier(one, other)
    assert seen(found) <= seen(one) & seen(other)
    assert (found[0], *found[2:]) == ("db", 2, "b")
    before = min(split_snapshot(each[1])[0] for each in (one, other))
    assert seen(found) == set(range(1, before))


# --- sets that only version 2.1 has -----------------------------------------------------------------------

LATER_SETS = [
    each.name
    for each in get_service(V2_1).entity_sets
    if each.resource.is_tracked and each.name not in {old.name for old in get_service().entity_sets}
]


@pytest.mark.parametrize("name", LATER_SETS)
def test_every_set_whose_changes_are_tracked_can_be_subscribed_to(application, subscribe, client, name):
    path = path_of(subscribe(EntitySet=name))
    assert ok(application.get(path))["EntitySet"] == name
    send_changes()
    assert Webhook.objects.get().position
    client.force_login(an_administrator())
    assert f'value="{name}"' in client.get("/admin/access/webhook/add/").content.decode()
    narrow = LaterCaller(an_application("client.read subscription.write", name="Narrow"))
    assert faults(subscribe(narrow, EntitySet=name)) == [("NotAllowed", "EntitySet")]


def test_a_message_about_a_later_set_has_the_members_of_that_version(application, subscribe, receiver):  # noqa: F811
    few, many = a_booking(budget=Decimal("100.00")), a_booking(budget=Decimal("200.00"))
    path = path_of(subscribe(EntitySet="Booking", Condition="Budget gt 500", IncludesRecords=True))
    link = ok(application.get("booking", **TRACKED))["@odata.deltaLink"]
    for booking, budget in ((few, 300), (many, 900)):
        ok(application.patch(f"booking({booking.pk})?ignoreWarnings=true", {"Budget": budget}, If_Match="*"))
    send_changes()
    told = bodies(receiver)[0]["data"]["changes"]
    assert bodies(receiver)[0]["type"] == "Booking.changed"
    (change,) = [each for each in told if each["change"] == "changed"]
    assert change["key"] == change["record"]["ServiceBookingGuid"] == str(many.pk)
    assert ok(application.get(change["address"].removeprefix("/api/")))["Budget"] == 900
    assert application.post(f"{path}/Replay", {"DeltaLink": link}).status_code in (200, 204)
    send_changes()
    assert str(many.pk) in [each["key"] for each in bodies(receiver)[-1]["data"]["changes"]]
