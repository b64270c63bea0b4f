"""Drafts become records, with keys of either kind."""

import datetime as dt

import pytest
from django.apps import apps
from django.db import models

from apps.base import clock
from apps.base.drafts import Draft, Issue, ValidationFailed, WarningsPresent
from apps.core.bulk_insert import WriteBatch
from apps.core.models import Change, Subscriber, TimestampedModel
from apps.core.saving import (
    apply_model_defaults,
    insert_records,
    insert_rows,
    load_existing,
    new_keys,
    save_changes,
    try_out,
    validate,
)
from apps.core.services import save_settings
from apps.people.models import Client, Team

pytestmark = pytest.mark.django_db


def teams(*names):
    return [Draft({"name": name}) for name in names]


def test_numbered_records_get_the_next_numbers_and_leave_the_counter_right():
    Team(name="first").save()
    keys = insert_records(Team, teams("a", "b"))
    assert keys == sorted(keys)
    assert list(Team.objects.in_bulk(keys)) == keys
    after = Team(name="last")
    after.save()
    assert after.pk not in keys


def test_guids_of_new_records_come_in_order():
    keys = new_keys(Client, 100)
    assert keys == sorted(keys)
    assert len(set(keys)) == 100


def test_records_are_read_as_django_reads_them():
    """Django does not promise what an instance holds: ``from_db`` makes it without ``__init__``."""
    for model in apps.get_models():
        if not issubclass(model, TimestampedModel):
            continue
        columns = [field.attname for field in model._meta.concrete_fields]
        for names in (columns, columns[:2]):
            values = [f"value of {name}" for name in names]
            ours = model.from_db("default", names, values)
            djangos = models.Model.from_db.__func__(model, "default", names, values)
            states = [vars(record).pop("_state") for record in (ours, djangos)]
            assert {(state.adding, state.db, *state.fields_cache) for state in states} == {(False, "default")}
            assert vars(ours).pop("_stored") == dict(zip(names, values, strict=True))
            assert vars(ours) == vars(djangos), model


def test_the_settings_that_a_draft_leaves_out_stay():
    for values in ({"name": "Blue Gum"}, {"currency": "NZD"}):
        save_settings([Draft(values, given=values)])
    assert list(Subscriber.objects.values_list("name", "currency")) == [("Blue Gum", "NZD")]


def test_a_number_is_never_given_twice():
    (gone,) = insert_records(Team, teams("gone"))
    Team.objects.get(pk=gone).delete()
    assert gone not in insert_records(Team, teams("a", "b"))


def test_records_and_their_history_go_with_the_batch_of_the_service():
    batch = WriteBatch()
    (key,) = insert_records(Team, teams("a"), batch=batch)
    assert not Team.objects.exists()
    batch.send()
    assert Team.objects.get().pk == key
    assert Change.objects.get().record_key == str(key)


def test_guids_are_made_in_order():
    keys = new_keys(Client, 3)
    assert len(set(keys)) == 3
    assert all(key.version == 7 for key in keys)


def test_nothing_is_stored_of_no_drafts():
    assert insert_records(Client, []) == []


def test_each_stored_record_has_one_line_of_history():
    keys = insert_records(Team, teams("a", "b"))
    lines = Change.objects.filter(record_type="people.team", kind="Created")
    assert sorted(lines.values_list("record_key", flat=True)) == sorted(map(str, keys))


def test_columns_that_no_draft_holds_can_be_filled():
    (key,) = insert_records(Team, [Draft({})], {"name": ["filled"]})
    assert Team.objects.get(pk=key).name == "filled"


def test_time_stamps_are_set_by_the_system_whatever_a_draft_has():
    long_ago = clock.now() - dt.timedelta(days=999)
    claimed = {"creation_date": long_ago, "modify_date": long_ago, "archive_date": long_ago}
    (key,) = insert_records(Team, [Draft({"name": "a", **claimed})])
    team = Team.objects.get(pk=key)
    assert (team.creation_date, team.modify_date, team.archive_date) == (clock.now(), clock.now(), None)
    changed = Draft({"name": "b", **claimed}, given=["name", *claimed], key=key)
    save_changes(Team, [changed], load_existing(Team, [changed]))
    team.refresh_from_db()
    assert (team.name, team.creation_date, team.archive_date) == ("b", clock.now(), None)


def test_drafts_of_new_records_can_be_given_the_defaults_of_what_they_do_not_know():
    draft = Draft({"business_name": "Acme", "suburb": "Perth"}, invalid=["city"])
    apply_model_defaults(Client, [draft])
    assert (draft.business_name, draft.suburb, draft.is_self, draft.key_contact) == (
        "Acme",
        "Perth",
        False,
        None,
    )
    assert not {"city", "guid", "creation_date", "business_name_key"} & set(draft.__dict__)


def says(code):
    def rule(draft):
        yield Issue(code, "name", code)

    return rule


def refused(rules):
    with pytest.raises(ValidationFailed) as refusal:
        validate(Team, teams("a"), rules)
    return [finding.code for _, finding in refusal.value.issues]


def test_conflicts_are_reported_with_the_issues_of_the_rules():
    Team(name="A").save()
    assert refused([says("Rule")]) == ["NotUnique", "Rule"]


def test_rows_of_contained_lists_have_no_history_entries():
    batch = WriteBatch()
    keys = insert_rows(Team, teams("a", "b"), None, batch)
    batch.send()
    assert [Team.objects.get(pk=key).name for key in keys] == ["a", "b"]
    assert not Change.objects.exists()
    assert insert_rows(Team, [], None, batch) == []


def test_changes_of_rows_are_in_the_history_entry_of_their_record():
    team, other = Team(name="a"), Team(name="b")
    team.save()
    other.save()
    drafts = [Draft({}, key=team.pk), Draft({"name": "c"}, given=["name"], key=other.pk)]
    existing = load_existing(Team, drafts)
    row_changes = {team.pk: {"Line 1": ["one", None]}, other.pk: {"Line 2": [None, "two"]}}
    assert save_changes(Team, drafts, existing, row_changes) == [team.pk, other.pk]
    lines = Change.objects.filter(kind="Changed").order_by("id")
    assert [line.differences for line in lines] == [
        {"Line 1": ["one", None]},
        {"name": ["b", "c"], "Line 2": [None, "two"]},
    ]


def test_a_service_that_is_tried_out_saves_nothing():
    assert try_out(lambda drafts: insert_records(Team, drafts), teams("a")) == []
    assert not Team.objects.exists()
    assert not Change.objects.exists()


def test_a_service_that_is_tried_out_gives_its_issues_and_its_warnings():
    def create_nothing(drafts, ignore_warnings=False):
        insert_records(Team, drafts)
        if not ignore_warnings:
            raise WarningsPresent([(0, Issue("Odd", "name", "Odd."))])
        raise ValidationFailed([(0, Issue("Bad", "name", "Bad."))])

    ((_, warning),) = try_out(create_nothing, teams("a"))
    ((_, error),) = try_out(create_nothing, teams("a"), ignore_warnings=True)
    assert (warning.code, warning.severity) == ("Odd", "warning")
    assert (error.code, error.severity) == ("Bad", "error")
    assert not Team.objects.exists()
