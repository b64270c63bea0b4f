"""What the history says of a change, whichever way the record is written."""

import datetime as dt
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from django.apps import apps

from apps.access.models import ApiApplication, Webhook
from apps.base import clock
from apps.base.drafts import Draft
from apps.core import history
from apps.core.archive import archive
from apps.core.import_undo import delete_created
from apps.core.models import Change, TimestampedModel
from apps.core.saving import save_changes, save_records
from tests.people.records import a_contact

SECRET, NEW_SECRET = "first-secret", "second-secret"
EARLIER = dt.datetime(2026, 1, 5, 9, 0, tzinfo=dt.UTC)


def test_a_moment_in_the_hour_of_a_clock_change_is_no_change_in_another_zone():
    first = dt.datetime(2025, 4, 6, 2, 30, tzinfo=ZoneInfo("Australia/Sydney"))
    assert history.values_are_equal(first, first.astimezone(dt.UTC))
    assert not history.values_are_equal(first, first.replace(fold=1))


def test_a_list_in_another_order_is_no_change(db):
    contact = a_contact()
    before = Change.objects.count()
    history.record_list(contact, "teams", ["North", "South"], ["South", "North"])
    assert Change.objects.count() == before
    history.record_list(contact, "teams", ["North", "South"], ["South"])
    assert Change.objects.latest("pk").differences == {"teams": [["North", "South"], ["South"]]}


# --- every way of writing -------------------------------------------------------------------------------


@pytest.fixture
def webhook(db):
    """A record with a secret and unrecorded columns, as it is loaded; last changed some time ago."""
    made = Webhook.objects.create(
        application=ApiApplication.objects.create(name="Payroll", client_id="payroll"),
        entity_set="Claim",
        address="https://example.org/hook",
        secret=SECRET,
        position="a token",
    )
    Webhook.objects.update(modify_date=EARLIER)
    return Webhook.objects.get(pk=made.pk)


def by_save(record, **values):
    for name, value in values.items():
        setattr(record, name, value)
    record.save()


def by_save_of_some_columns(record, **values):
    for name, value in values.items():
        setattr(record, name, value)
    record.save(update_fields=list(values))


def by_save_records(record, **values):
    for name, value in values.items():
        setattr(record, name, value)
    save_records(type(record), [record])


def by_drafts(record, **values):
    save_changes(type(record), [Draft(values, values, key=record.pk)], {record.pk: record})


WAYS = [by_save, by_save_of_some_columns, by_save_records, by_drafts]


def entries(record):
    changes = Change.objects.filter(record_key=str(record.pk)).exclude(kind="Created")
    return list(changes.order_by("pk").values_list("kind", "differences"))


@pytest.mark.parametrize("write", WAYS)
def test_a_change_says_from_what_to_what_and_keeps_secrets(webhook, write):
    write(webhook, secret=NEW_SECRET, includes_records=True, position="the next token")
    assert entries(webhook) == [("Changed", {"secret": ["•••", "•••"], "includes_records": [False, True]})]
    assert Webhook.objects.get().secret == NEW_SECRET


@pytest.mark.parametrize("write", WAYS)
def test_an_unrecorded_column_alone_is_no_change(webhook, write):
    write(webhook, position="the next token", failures=2)
    assert entries(webhook) == []
    assert Webhook.objects.get().modify_date == EARLIER


@pytest.mark.parametrize("write", [by_save, by_save_records])
def test_an_archive_date_is_more_than_a_change(webhook, write):
    write(webhook, archive_date=EARLIER)
    write(Webhook.objects.get(), archive_date=None)
    assert [kind for kind, _ in entries(webhook)] == ["Archived", "Restored"]


def test_archiving_says_when(webhook):
    archive(Webhook.objects.all())
    [(kind, differences)] = entries(webhook)
    assert (kind, differences["archive_date"][0]) == ("Archived", None)
    assert dt.datetime.fromisoformat(differences["archive_date"][1]) <= clock.now()


@pytest.mark.parametrize(
    "delete",
    [Webhook.delete, lambda webhook: delete_created(Webhook, {str(webhook.pk)})],
    ids=["one", "undo"],
)
def test_a_deleted_record_leaves_its_values_but_no_secret(webhook, delete):
    key = webhook.pk
    delete(webhook)
    change = Change.objects.exclude(kind="Created").get(record_key=str(key))
    assert change.kind == "Deleted"
    assert change.differences["secret"] == ["•••", None]
    assert change.differences["address"] == ["https://example.org/hook", None]
    assert change.differences.keys().isdisjoint(Webhook.unrecorded_columns)
    assert SECRET not in str(change.differences)


# --- every record ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [model for model in apps.get_models() if issubclass(model, TimestampedModel)],
    ids=lambda model: model._meta.label,
)
def test_no_record_shows_its_secrets_or_its_unrecorded_columns(model):
    columns = {field.attname for field in model._meta.concrete_fields}
    assert model.secret_columns | model.unrecorded_columns <= columns
    before, after = dict.fromkeys(columns, "before"), dict.fromkeys(columns, "after")
    changed = history.describe(model, before, after)
    assert changed.keys() == columns - model.unrecorded_columns - {"modify_date"}
    for name, values in changed.items():
        assert values == (["•••", "•••"] if name in model.secret_columns else ["before", "after"])


def test_only_the_history_writes_entries_one_by_one():
    """Whoever made entries of columns by itself would have to mask secrets again."""
    writers = {
        str(path)
        for path in Path("apps").rglob("*.py")
        if "write_changes(" in path.read_text(encoding="utf-8")
    }
    assert writers == {"apps/core/history.py"}
