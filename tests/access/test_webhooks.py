"""Webhooks: what is told of which change, signed; again after failures; never to addresses inside."""

import base64
import datetime as dt
import hashlib
import hmac
import json
import re
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from django.core.management import call_command
from django.db import transaction
from django.db.models import F
from django.urls import reverse

from apps.access import webhooks
from apps.access.callers import SecretDraft
from apps.access.models import ApiApplication, Webhook, WebhookMessage
from apps.access.outgoing import AddressRefused, check_address, is_allowed
from apps.access.services import purge_expired, revoke_applications
from apps.access.webhooks import (
    PAUSES,
    create_webhooks,
    reserve_next_message,
    save_result,
    send_changes,
)
from apps.base import clock
from apps.base.drafts import ValidationFailed
from apps.core import archive
from apps.core.models import Change, PersonalDataRead
from apps.people.models import Client
from tests.api.caller import an_application
from tests.caseloads import limit
from tests.funding.builders import a_claim
from tests.people.builders import a_client, a_contact, a_staff_member

pytestmark = pytest.mark.django_db


class Receiver(BaseHTTPRequestHandler):
    """Keeps what it receives, and answers with the status of its server."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append((self.path, dict(self.headers), body))
        self.send_response(self.server.status)
        self.send_header("Location", "/elsewhere")
        self.end_headers()

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def server():
    with HTTPServer(("127.0.0.1", 0), Receiver) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def receiver(server, settings):
    settings.WEBHOOK_HTTP, settings.WEBHOOK_NETWORKS = True, ["127.0.0.0/8"]
    settings.ODATA_CHANGE_LOG = "apps.core.change_log.SerialLog"  # a test is one transaction
    server.received, server.status = [], 200
    return server


@pytest.fixture
def application(db):
    an_application("read")
    return ApiApplication.objects.get()


@pytest.fixture
def a_webhook(receiver, application):
    def make(**columns):
        address = f"http://127.0.0.1:{receiver.server_port}/hook?tenant=1"
        values = {"application": application, "entity_set": "Client", "address": address, **columns}
        return Webhook.objects.get(pk=create_webhooks([SecretDraft(values, given=values)])[0])

    return make


def refused(**columns):
    with pytest.raises(ValidationFailed) as failed:
        create_webhooks([SecretDraft(dict(columns), given=columns)])
    return [(issue.field, issue.message) for _, issue in failed.value.issues]


def changes_in(body):
    return [(change["change"], change["key"]) for change in json.loads(body)["data"]["changes"]]


def is_signed(secret, message):
    """As a receiver sees it that has this secret."""
    _, headers, body = message
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    digest = hmac.new(key, signed, hashlib.sha256).digest()
    return headers["webhook-signature"] == "v1," + base64.b64encode(digest).decode()


def wait_for(pause):
    """As if the pause before the next attempt were over."""
    for record, column in ((WebhookMessage, "next_attempt"), (Webhook, "paused_until")):
        record.objects.update(**{column: F(column) - pause})


def test_a_message_tells_which_records_changed_and_no_more(receiver, a_webhook):
    old = a_client()
    a_webhook()
    new = a_client(BusinessName="Secret Pty Ltd")
    archive.archive(Client.objects.filter(pk=old.pk))
    a_contact()
    send_changes()
    send_changes()
    ((path, headers, body),) = receiver.received
    assert path == "/hook?tenant=1"
    assert headers["Content-Type"] == "application/json"
    assert sorted(changes_in(body)) == [("changed", str(old.pk)), ("created", str(new.pk))]
    assert json.loads(body)["type"] == "Client.changed"
    created = {"change": "created", "key": str(new.pk), "address": f"/api/Client({new.pk})"}
    assert created in json.loads(body)["data"]["changes"]
    assert b"Secret" not in body
    assert WebhookMessage.objects.get().state == "Delivered"


def test_a_message_is_signed_as_standard_webhooks_says(receiver, a_webhook):
    webhook = a_webhook()
    a_client()
    send_changes()
    ((_, headers, _),) = receiver.received
    timestamp = headers["webhook-timestamp"]
    assert is_signed(webhook.secret, receiver.received[0])
    assert abs(int(timestamp) - clock.now().timestamp()) < 60


def test_the_filter_decides_and_a_record_that_leaves_it_is_removed(receiver, a_webhook):
    client, other = a_client(BusinessName="Kept"), a_client(BusinessName="Other")
    a_webhook(filter="ArchiveDate eq null and BusinessName eq 'Kept'", includes_records=True)
    client.web_address = "https://kept.example"
    client.save()
    send_changes()
    archive.archive(Client.objects.filter(pk=client.pk))
    Client.objects.get(pk=other.pk).delete()
    send_changes()
    first, second = (body for _, _, body in receiver.received)
    (change,) = json.loads(first)["data"]["changes"]
    assert change["record"]["WebAddress"] == "https://kept.example"
    assert sorted(changes_in(second)) == sorted([("removed", str(client.pk)), ("deleted", str(other.pk))])


def test_records_that_are_sent_are_in_the_read_log_of_the_application(receiver, a_webhook):
    a_webhook(entity_set="Contact", includes_records=True)
    a_webhook(entity_set="Contact")
    contact = a_contact()
    send_changes()
    entry = PersonalDataRead.objects.get()
    assert (entry.application, bytes(entry.record_keys)) == ("Integration", contact.pk.bytes)


def test_nothing_is_told_of_what_was_rolled_back_and_nothing_is_lost_between_two_calls(receiver, a_webhook):
    a_webhook()
    with transaction.atomic():
        a_client()
        transaction.set_rollback(True)
    for _ in range(webhooks.MESSAGE_RECORDS + 5):
        Client(business_name=f"Client {_}").save()
    send_changes()
    told = [key for _, _, body in receiver.received for _, key in changes_in(body)]
    assert len(receiver.received) == 2
    assert sorted(told) == sorted(str(key) for key in Client.objects.values_list("pk", flat=True))


def test_what_is_not_accepted_is_sent_again_after_growing_pauses_and_fails_in_the_end(receiver, a_webhook):
    a_webhook()
    a_client()
    receiver.status = 307  # is not followed either
    seconds = (5, 60, 5 * 60, 30 * 60, 3600, 3600)  # as docs/sync.md says
    for number, pause in enumerate((dt.timedelta(seconds=each) for each in seconds), start=1):
        send_changes()
        send_changes()  # not before its time
        message, webhook = WebhookMessage.objects.get(), Webhook.objects.get()
        assert (message.attempts, message.result, webhook.failures) == (number, "Status 307", number)
        assert pause - dt.timedelta(minutes=1) < message.next_attempt - clock.now() <= pause
        assert webhook.paused_until == message.next_attempt
        wait_for(pause)
    WebhookMessage.objects.update(creation_date=clock.now() - dt.timedelta(days=3))
    send_changes()
    message = WebhookMessage.objects.get()
    assert (message.state, message.next_attempt) == ("Failed", None)
    assert len({headers["webhook-id"] for _, headers, _ in receiver.received}) == 1
    assert {path for path, _, _ in receiver.received} == {"/hook?tenant=1"}
    receiver.status = 204
    webhooks.send_again(WebhookMessage.objects.all())
    send_changes()
    assert WebhookMessage.objects.get().state == "Delivered"
    assert Webhook.objects.get().failures == 0


def test_a_message_whose_sender_was_killed_is_sent_again_and_by_nobody_else_before(a_webhook, at):
    message = a_webhook().messages.create(body=json.dumps({"data": {"entitySet": "Client", "changes": []}}))
    assert reserve_next_message(message.webhook) == message
    at(minutes=4)
    assert reserve_next_message(message.webhook) is None
    at(minutes=6)
    assert reserve_next_message(message.webhook) == message


def test_of_two_workers_one_sends_a_message(a_webhook, monkeypatch):
    """The second has read the message before the first has reserved it."""
    hook, first = a_webhook(), []
    message = hook.messages.create(body=json.dumps({"data": {"entitySet": "Client", "changes": []}}))

    def meanwhile(read):
        monkeypatch.undo()
        first.append(reserve_next_message(Webhook.objects.get(pk=hook.pk)))
        return read.body

    monkeypatch.setattr(webhooks, "without_unseen", meanwhile)
    assert reserve_next_message(hook) is None
    assert first == [message]


def test_of_two_workers_one_tells_of_a_change(a_webhook):
    first = a_webhook()
    second = Webhook.objects.get()
    body = webhooks.message_body(first, "changed", [])
    assert webhooks.store_position(first, "behind it", body)
    assert not webhooks.store_position(second, "further on", body)
    assert (WebhookMessage.objects.count(), Webhook.objects.get().position) == (1, "behind it")


def test_messages_wait_for_the_older_ones_of_their_webhook(receiver, a_webhook):
    a_webhook()
    receiver.status = 500
    clients = []
    for _ in range(3):
        clients.append(a_client())
        send_changes()
    assert len(receiver.received) == 1  # the others are not even tried
    receiver.status = 200
    wait_for(PAUSES[0])
    send_changes()
    told = [key for _, _, body in receiver.received[1:] for _, key in changes_in(body)]
    assert told == [str(client.pk) for client in clients]


def test_a_clock_that_is_put_back_changes_no_order_and_pauses_nothing_until_then(receiver, a_webhook):
    a_webhook()
    receiver.status = 500
    with clock.set_to(clock.now() + dt.timedelta(days=400)):
        clients = [a_client()]
        send_changes()
    assert len(receiver.received) == 1
    clients.append(a_client())
    receiver.status = 200
    send_changes()
    told = [key for _, _, body in receiver.received[1:] for _, key in changes_in(body)]
    assert told == [str(client.pk) for client in clients]
    # Once none waits, dates are those of the clock again.
    a_client()
    send_changes()
    newest = WebhookMessage.objects.order_by("guid").last()
    assert abs(newest.creation_date - clock.now()) < dt.timedelta(minutes=1)


def test_receivers_that_hang_delay_no_other(receiver, a_webhook, settings, monkeypatch):
    monkeypatch.setattr(webhooks, "ROUND_SECONDS", 1.5)
    settings.WEBHOOK_SECONDS = 60
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for _ in range(5):
            a_webhook(address=f"http://127.0.0.1:{silent.getsockname()[1]}/")
        a_webhook()
        a_client()
        send_changes()
        assert len(receiver.received) == 1
        a_client()
        send_changes()
        assert len(receiver.received) == 2  # while the others are still being asked, once each
    assert len(webhooks.SENDING.under_way) == 5
    time.sleep(0.1)
    send_changes()
    assert set(Webhook.objects.exclude(address__contains="/hook").values_list("failures", flat=True)) == {1}


def test_an_answer_of_unreadable_bytes_is_a_failure_and_stops_nobody(receiver, a_webhook):
    broken = type(
        "Broken",
        (Receiver,),
        {"do_POST": lambda self: self.wfile.write(b"HTTP\0\1\xff" + b"x" * 500 + b"\n\n")},
    )
    with HTTPServer(("127.0.0.1", 0), broken) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        failing = a_webhook(address=f"http://127.0.0.1:{server.server_port}/")
        a_webhook()
        a_client()
        send_changes()
        thread.join()
    assert len(receiver.received) == 1
    message = failing.messages.get()
    assert (message.state, len(message.result)) == ("Waiting", webhooks.RESULT_CHARACTERS)
    assert message.result.isprintable()


def test_a_webhook_that_cannot_be_followed_stops_nobody(receiver, a_webhook, monkeypatch):
    failing = a_webhook(entity_set="Contact")
    a_webhook()
    a_client()
    make = webhooks.make_message
    monkeypatch.setattr(
        webhooks, "make_message", lambda hook, *more: 1 / 0 if hook.pk == failing.pk else make(hook, *more)
    )
    send_changes()
    assert len(receiver.received) == 1


def test_a_receiver_that_hangs_or_is_away_is_given_up_within_the_time(receiver, a_webhook, settings):
    settings.WEBHOOK_SECONDS = 0.3
    webhook = a_webhook()
    a_client()
    hold = threading.Event()
    receiver.RequestHandlerClass = type(
        "Slow", (Receiver,), {"do_POST": lambda self: [self.wfile.write(b"H"), hold.wait(5)]}
    )
    try:
        send_changes()
    finally:
        hold.set()
        receiver.RequestHandlerClass = Receiver
    assert WebhookMessage.objects.get().state == "Waiting"
    Webhook.objects.filter(pk=webhook.pk).update(address="http://127.0.0.1:1/")
    wait_for(PAUSES[0])
    send_changes()
    assert "refused" in WebhookMessage.objects.get().result


@pytest.mark.parametrize("stop", ["webhook", "application", "scope"])
def test_nothing_is_sent_while_it_is_stopped_nor_later_of_that_time(receiver, a_webhook, application, stop):
    webhook = a_webhook()
    a_client()
    if stop == "webhook":
        archive.archive(Webhook.objects.all())
    elif stop == "application":
        revoke_applications(ApiApplication.objects.all())
    else:
        ApiApplication.objects.update(scope="contact.read")
    send_changes()
    assert receiver.received == []
    Webhook.objects.update(archive_date=None)
    ApiApplication.objects.update(archive_date=None, scope="read")
    send_changes()
    later = a_client()
    send_changes()
    (_, _, first), (_, _, second) = receiver.received
    assert (json.loads(first)["type"], changes_in(second)) == ("Client.reset", [("created", str(later.pk))])
    assert Webhook.objects.get().address == webhook.address


def test_a_limited_application_is_told_of_its_participants(receiver, a_webhook, application):
    """Of others nothing; of one who leaves its caseload that it is removed; a reset when that is another."""
    mine, other = a_staff_member(), a_staff_member()
    limit(application.name, staff=[mine])
    a_webhook(entity_set="Contact")
    own, foreign = (a_contact(AccountManager={"StaffGuid": str(each.pk)}) for each in (mine, other))
    send_changes()
    assert [changes_in(body) for _, _, body in receiver.received] == [[("created", str(own.pk))]]
    receiver.received.clear()
    for contact, manager in ((own, other), (foreign, other)):
        contact.account_manager, contact.phone1 = manager, "1"
        contact.save()
    send_changes()
    assert [changes_in(body) for _, _, body in receiver.received] == [[("removed", str(own.pk))]]
    receiver.received.clear()
    limit(application.name, staff=[mine, other])
    send_changes()
    ((_, _, body),) = receiver.received
    assert json.loads(body)["type"] == "Contact.reset"
    own.refresh_from_db()
    own.phone1 = "2"
    own.save()
    send_changes()
    assert changes_in(receiver.received[-1][2]) == [("changed", str(own.pk))]


def test_a_reset_replaces_messages_that_wait_when_the_caseload_changes(receiver, a_webhook, application):
    """They have records that the application may no longer see; one that is under way is not sent again."""
    mine, other = a_staff_member(), a_staff_member()
    limit(application.name, staff=[mine])
    webhook = a_webhook(entity_set="Contact", includes_records=True)
    a_contact(AccountManager={"StaffGuid": str(mine.pk)})
    receiver.status = 500
    send_changes()
    under_way = WebhookMessage.objects.select_related("webhook").get()
    limit(application.name, staff=[other])
    receiver.received.clear()
    receiver.status = 200
    wait_for(PAUSES[0])
    send_changes()
    save_result(under_way, False, "Status 500")
    wait_for(PAUSES[0])
    send_changes()
    assert [json.loads(body)["type"] for _, _, body in receiver.received] == ["Contact.reset"]
    assert webhook.messages.count() == 1


@pytest.mark.parametrize("stop", [{"archive_date": "2026-07-01T00:00Z"}, {"scope": "client.read"}])
def test_what_waited_when_it_was_stopped_is_not_sent_to_one_who_sees_others_then(
    receiver, a_webhook, application, stop
):
    mine, other = a_staff_member(), a_staff_member()
    limit(application.name, staff=[mine])
    a_webhook(entity_set="Contact", includes_records=True)
    a_contact(AccountManager={"StaffGuid": str(mine.pk)})
    receiver.status = 500
    send_changes()
    ApiApplication.objects.update(**stop)
    send_changes()
    limit(application.name, staff=[other])
    ApiApplication.objects.update(archive_date=None, scope="read")
    receiver.received.clear()
    receiver.status = 200
    wait_for(PAUSES[0])
    send_changes()
    assert [json.loads(body)["type"] for _, _, body in receiver.received] == ["Contact.reset"]


def test_no_reset_is_sent_to_one_who_sees_others_and_may_not_read_the_set(receiver, a_webhook, application):
    a_webhook(entity_set="Contact")
    limit(application.name, staff=[a_staff_member()])
    ApiApplication.objects.update(scope="client.read")
    send_changes()
    assert receiver.received == []


def test_a_message_that_waits_loses_the_records_that_are_no_longer_seen(receiver, a_webhook, application):
    """Of a participant who was handed to somebody else meanwhile; those of others are sent."""
    mine, other = a_staff_member(), a_staff_member()
    limit(application.name, staff=[mine])
    webhook = a_webhook(entity_set="Contact", includes_records=True)
    stays, leaves = (a_contact(AccountManager={"StaffGuid": str(mine.pk)}) for _ in range(2))
    receiver.status = 500
    send_changes()
    leaves.account_manager = other
    leaves.save()
    receiver.received.clear()
    receiver.status = 200
    wait_for(PAUSES[0])
    send_changes()
    first, second = (json.loads(body)["data"]["changes"] for _, _, body in receiver.received)
    assert [(each["key"], "record" in each) for each in first] == [
        (str(stays.pk), True),
        (str(leaves.pk), False),
    ]
    assert [each["change"] for each in second] == ["removed"]
    bodies = webhook.messages.order_by("creation_date").values_list("body", flat=True)
    assert [*bodies] == [body.decode() for _, _, body in receiver.received]  # as the office shows them


def test_a_condition_that_leads_to_what_is_no_longer_seen_stops_it(receiver, a_webhook, application, caplog):
    """As if it might not read the set; nothing is logged as a fault, nor told later of that time."""
    webhook = a_webhook(entity_set="Claim", filter="ProviderInvoice/RejectionReason eq null")
    limit(application.name)
    send_changes()
    for _ in range(3):
        a_claim()
        send_changes()
        webhook.refresh_from_db()
        assert webhook.position == ""
    assert (caplog.records, receiver.received) == ([], [])
    ApiApplication.objects.update(sees_everybody=True)
    send_changes()
    claim = a_claim()
    send_changes()
    types = [(json.loads(body)["type"], len(changes_in(body))) for _, _, body in receiver.received]
    assert types == [("Claim.reset", 0), ("Claim.changed", 1)]
    assert changes_in(receiver.received[-1][2]) == [("created", str(claim.pk))]


def test_a_webhook_with_much_to_tell_holds_up_no_other(receiver, a_webhook, monkeypatch):
    monkeypatch.setattr(webhooks, "MESSAGE_RECORDS", 1)
    monkeypatch.setattr(webhooks, "ROUND_SECONDS", 0)
    much, little = a_webhook(), a_webhook(entity_set="Contact")
    for _ in range(5):
        a_client()
    a_contact()
    numbers = []
    for _ in range(6):
        send_changes()
        numbers.append((much.messages.count(), little.messages.count()))
    assert numbers == [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (5, 1)]


def test_a_restored_database_is_told_as_a_reset(receiver, a_webhook):
    a_client()
    a_webhook()
    Change.objects.all().delete()
    send_changes()
    ((_, _, body),) = receiver.received
    assert json.loads(body)["type"] == "Client.reset"


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("http://hooks.example/x", "It must begin with https://."),
        ("ftp://hooks.example/x", "It must begin with https://."),
        ("https://", "It is no address."),
        ("https://me:secret@hooks.example/", "It must have neither a user nor a fragment."),
        ("https://hooks.example:99999/", "It is no address."),
        ("https://127.0.0.1/", "Its host is inside a network, not on the internet."),
        ("https://localhost:8000/", "Its host is inside a network, not on the internet."),
        ("https://[::1]/", "Its host is inside a network, not on the internet."),
        ("https://169.254.169.254/latest/", "Its host is inside a network, not on the internet."),
        ("https://0x7f000001/", "Its host is inside a network, not on the internet."),
        ("https://[::ffff:10.0.0.1]/", "Its host is inside a network, not on the internet."),
        ("https://168.63.129.16/", "Its host is inside a network, not on the internet."),
        ("https://[fec0::1]/", "Its host is inside a network, not on the internet."),
        ("https://[64:ff9b::a00:1]/", "Its host is inside a network, not on the internet."),
        ("https://hooks.invalid/", "The host hooks.invalid is not found."),
    ],
)
def test_addresses_inside_a_network_are_refused(application, address, reason):
    assert refused(application=application, entity_set="Client", address=address) == [("address", reason)]


def test_a_name_that_leads_inside_later_is_not_called(receiver, a_webhook, settings):
    a_webhook()
    a_client()
    settings.WEBHOOK_NETWORKS = []
    send_changes()
    assert receiver.received == []
    assert "inside a network" in WebhookMessage.objects.get().result
    assert is_allowed("8.8.8.8")
    with pytest.raises(AddressRefused):
        check_address("http://[fe80::1%25eth0]/")


@pytest.mark.parametrize(
    "address",
    [
        *(
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "100.100.100.200",
            "127.1.2.3",
            "168.63.129.16",
            "169.254.169.254",
        ),
        *("172.16.0.1", "192.0.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1"),
        *("198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"),
        *("::", "::1", "::10.0.0.1", "::ffff:10.0.0.1", "::ffff:168.63.129.16", "64:ff9b::a9fe:a9fe"),
        *("64:ff9b:1::1", "100::1", "2001::1", "2001:0:808:808::1", "2001:db8::1", "2002:a00:1::1"),
        *("2002:a83f:8110::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1%eth0", "fec0::1", "feff::1"),
        "ff02::1",
    ],
)
def test_no_inner_address_is_allowed(settings, address):
    assert not is_allowed(address)
    settings.WEBHOOK_NETWORKS = ["0.0.0.0/0", "::/0"]
    assert is_allowed(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "2002:808:808::1"])
def test_addresses_of_the_internet_are_allowed(address):
    assert is_allowed(address)


@pytest.mark.parametrize(
    ("columns", "field"),
    [
        ({"filter": "Nonsense eq 1"}, "filter"),
        ({"filter": "CreationDate lt now()"}, "filter"),
        ({"entity_set": "Nonsense"}, "entity_set"),
        ({"entity_set": "Client", "scope": "contact.read"}, "entity_set"),
    ],
    ids=["unknown member", "changes by itself", "unknown set", "no right"],
)
def test_what_cannot_be_followed_is_refused(receiver, application, columns, field):
    ApiApplication.objects.update(scope=columns.pop("scope", "read"))
    address = f"http://127.0.0.1:{receiver.server_port}/"
    usual = {"application": application, "entity_set": "Client", "address": address}
    ((found, _),) = refused(**{**usual, **columns})
    assert found == field


# --- the back office ------------------------------------------------------------------------------------


@pytest.mark.both_engines("stored by statements that no other test has")
def test_the_secret_is_shown_once_and_failed_messages_are_sent_again(receiver, application, office):
    address = f"http://127.0.0.1:{receiver.server_port}/"
    form = {"application": application.pk, "entity_set": "Client", "address": address, "filter": ""}
    page = office.post(reverse("admin:access_webhook_add"), form)
    assert page.status_code == 200
    secret = re.search(r'id="client-secret">([^<]+)<', page.content.decode())[1]
    webhook = Webhook.objects.get()
    assert webhook.secret == secret
    assert len(base64.b64decode(secret.removeprefix("whsec_"))) >= 24  # Standard Webhooks
    for name in ("change", "history"):
        content = office.get(reverse(f"admin:access_webhook_{name}", args=[webhook.pk])).content.decode()
        assert secret not in content
    assert secret not in str(list(Change.objects.values()))
    a_client()
    receiver.status = 500
    send_changes()
    WebhookMessage.objects.update(state="Failed", next_attempt=None)
    assert ">1<" in re.sub(r"\s", "", office.get(reverse("admin:access_webhook_changelist")).content.decode())
    messages = reverse("admin:access_webhookmessage_changelist")
    assert "Status 500" in office.get(messages).content.decode()
    chosen = {"action": "send_again_selected", "_selected_action": [WebhookMessage.objects.get().pk]}
    assert office.post(messages, chosen).status_code == 302
    receiver.status = 200
    send_changes()
    assert len(receiver.received) == 2


def test_a_new_secret_is_shown_once_and_signs_what_waits_and_what_comes(receiver, a_webhook, office):
    webhook = a_webhook()
    a_client()
    receiver.status = 401
    send_changes()
    change = reverse("admin:access_webhook_change", args=[webhook.pk])
    version = re.search(r'name="opened_version" value="([^"]*)"', office.get(change).content.decode())[1]
    form = {"application": webhook.application_id, "entity_set": "Client", "address": webhook.address}
    form |= {"filter": "", "opened_version": version}
    page = office.post(change, {**form, "access_webhook_new_secret": "on"})
    assert (page.status_code, office.get(change).status_code) == (200, 200)
    secret = re.search(r'id="client-secret">([^<]+)<', page.content.decode())[1]
    assert "is sent again" in page.content.decode()
    history = reverse("admin:access_webhook_history", args=[webhook.pk])
    shown = [office.get(address).content.decode() for address in (change, history)]
    for text in (*shown, str(list(Change.objects.values()))):
        assert secret not in text
        assert webhook.secret not in text
    assert "••• → •••" in re.sub(r"<[^>]*>", "", shown[1])
    a_client()
    receiver.status = 200
    wait_for(PAUSES[0])
    send_changes()
    refused_one, *accepted = receiver.received
    assert is_signed(webhook.secret, refused_one)
    assert [is_signed(secret, message) for message in accepted] == [True, True]
    assert accepted[0][2] == refused_one[2]


def test_messages_are_deleted_after_a_month(receiver, a_webhook):
    a_webhook()
    a_client()
    send_changes()
    assert purge_expired()["webhook messages"] == 0
    WebhookMessage.objects.update(creation_date=clock.now() - webhooks.MESSAGE_AGE)
    clock.reset_now()
    call_command("purge_expired")
    assert not WebhookMessage.objects.exists()
