"""Rows go into a table in one statement and come out as Django would have stored them."""

import datetime as dt
import itertools
import uuid
from decimal import Decimal

import pytest
from django.db import IntegrityError, connection, models, transaction
from django.test.utils import CaptureQueriesContext, isolate_apps

from apps.base import clock
from apps.core.bulk_insert import FEW, WriteBatch, bulk_insert
from apps.core.models import Change, Consent
from apps.people.models import Client, Role

AT = dt.datetime(2026, 7, 1, 9, 30, 0, 250000, dt.timezone(dt.timedelta(hours=10)))


@pytest.mark.django_db
@pytest.mark.parametrize("number", [0, 1, FEW, FEW + 1, 50])
def test_any_number_of_rows_is_one_statement(number):
    rows = ((f"Role {n}",) for n in range(number))
    with CaptureQueriesContext(connection) as queries:
        bulk_insert(Role, ("name",), rows)
    assert len(queries) <= 1
    assert set(Role.objects.values_list("name", "name_key")) == {
        (f"Role {n}", f"role {n}") for n in range(number)
    }


@pytest.mark.django_db
def test_what_the_rows_lack_is_filled_with_defaults_and_normalised_columns():
    bulk_insert(
        Client,
        ("unique_code", "business_name"),
        [("A", f"Client {n}") for n in range(1)] + [(None, "B  ")] * 1,
    )
    one, other = Client.objects.order_by("business_name_key")[::-1]
    assert (one.business_name_key, one.unique_code_key, other.business_name_key) == ("client 0", "a", "b")
    assert (other.unique_code_key, other.is_self, other.suburb, other.archive_date) == (
        None,
        False,
        None,
        None,
    )
    assert one.pk != other.pk
    assert one.creation_date == clock.now()


@isolate_apps("apps.core")
def test_every_kind_of_value_comes_out_as_it_went_in(transactional_db):
    class Mixed(models.Model):
        guid = models.UUIDField(primary_key=True)
        amount = models.DecimalField(max_digits=14, decimal_places=4, null=True)
        day = models.DateField(null=True)
        moment = models.DateTimeField(null=True)
        flag = models.BooleanField(null=True)
        number = models.BigIntegerField(null=True)
        text = models.TextField(null=True)
        consent = models.CharField(max_length=12, choices=Consent, default=Consent.NO)
        data = models.JSONField(null=True)
        other = models.ForeignKey("self", models.PROTECT, null=True)

        class Meta:
            app_label = "core"

        def __str__(self):
            return str(self.guid)

    columns = ("guid", "amount", "day", "moment", "flag", "number", "text", "data", "other_id")
    first = uuid.uuid4()
    full = (Decimal("8.5000"), AT.date(), AT, True, 2**63 - 1, 'a\tb\\N"\n😀', {"a": [None, "ä"]}, first)
    rows = [(first, *full), *((uuid.uuid4(), *full) for _ in range(FEW)), (uuid.uuid4(), *[None] * 8)]
    with connection.schema_editor() as editor:
        editor.create_model(Mixed)
    try:
        for some in (rows[:1], rows[1:]):
            bulk_insert(Mixed, columns, some)
        stored = {row[0]: row for row in Mixed.objects.values_list(*columns)}
        assert stored == {row[0]: row for row in rows}
        Mixed(guid=uuid.uuid4(), amount=Decimal("8.5")).save()
        assert Mixed.objects.filter(amount=Decimal("8.5"), consent="No").count() == len(rows)
        assert Mixed.objects.filter(moment=AT, day=AT.date(), other_id=first).count() == len(rows) - 1
    finally:
        with connection.schema_editor() as editor:
            editor.delete_model(Mixed)


@pytest.mark.django_db
def test_rows_may_come_from_an_endless_source_cut_short():
    bulk_insert(Role, ("name",), ((f"Role {n}",) for n in itertools.islice(itertools.count(), 5000)))
    assert Role.objects.count() == 5000


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("number", [1, 50])
def test_a_reference_to_nothing_is_refused_when_the_transaction_ends(number):
    rows = [(f"Client {n}", uuid.uuid4()) for n in range(number)]
    with pytest.raises(IntegrityError), transaction.atomic():
        bulk_insert(Client, ("business_name", "key_contact_id"), rows)
    assert not Client.objects.exists()


@pytest.mark.django_db
def test_keys_that_the_database_numbers_are_numbered():
    columns = ("at", "record_type", "record_key", "kind", "channel")
    bulk_insert(Change, columns, [(AT, "people.client", str(n), "Created", "API") for n in range(10)])
    assert len(set(Change.objects.values_list("id", flat=True))) == 10


@pytest.mark.django_db
def test_a_batch_goes_in_one_trip_where_it_is_sent_with_its_values_as_they_are():
    odd = "50% of 'O\"Hara; DROP'"
    batch = WriteBatch()
    batch.insert(Role, ("name",), [(odd,), ("%s",)])
    batch.insert(Client, ("business_name",), [("Café 🚀",)])
    assert not Role.objects.exists()
    with CaptureQueriesContext(connection) as captured:
        batch.send()
    assert set(Role.objects.values_list("name", flat=True)) == {odd, "%s"}
    assert Client.objects.get().business_name == "Café 🚀"
    if connection.vendor == "postgresql":
        assert len(captured) == 1


@pytest.mark.django_db
@pytest.mark.parametrize("number", [1, FEW + 1])
def test_a_batch_keeps_the_order_in_which_its_writes_were_added(number):
    guids = [uuid.uuid4() for _ in range(number)]
    batch = WriteBatch()
    batch.insert(Client, ("guid", "business_name"), [(guid, str(guid)) for guid in guids])
    batch.set_flag(Client, "is_self", guids[:1])
    batch.execute("UPDATE people_client SET suburb = %s", ["Perth"])
    batch.insert(Client, ("guid", "business_name"), [(uuid.uuid4(), "last")])
    batch.send()
    stored = Client.objects.values_list("business_name", "is_self", "suburb")
    assert set(stored) == {
        ("last", False, None),
        *((str(guid), guid == guids[0], "Perth") for guid in guids),
    }


@pytest.mark.django_db
def test_a_batch_is_sent_once():
    batch = WriteBatch()
    batch.insert(Role, ("name",), [("A",)])
    batch.send()
    batch.send()
    assert Role.objects.count() == 1
