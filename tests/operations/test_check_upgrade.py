"""Migrations are judged by what they do to the version that still runs, and the judgement is true."""

import subprocess
import sys

import pytest
from django.contrib.postgres.operations import AddIndexConcurrently
from django.core.management import CommandError, call_command
from django.db import Error, connection, migrations, models, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ModelState, ProjectState

from apps.core.computed import ComputedDecimal
from apps.core.database.migrations import code_migrations
from apps.operations.migration_rules import Impact, check_migration
from apps.operations.services import upgrades
from tests.operations.databases import default_database

#: The last migration of each app that was made before there were rules.
BEFORE_THE_RULES = {
    **{"access": "0001", "core": "0006", "documents": "0002", "engagements": "0003"},
    **{"funding": "0007", "people": "0006", "sales": "0001"},
}

BREAKS, LOCKS, REWRITES, OPAQUE = (impact.name for impact in Impact)


def text(length=20, **options):
    return models.CharField(max_length=length, **options)


def add(name, column):
    return migrations.AddField("Item", name, column)


def alter(name, column):
    return migrations.AlterField("Item", name, column)


INDEX = models.Index(fields=["name"], name="item_name")
NOT_OLD = models.CheckConstraint(condition=~models.Q(name="old"), name="item_not_old")
#: An operation on the table below; its impacts; whether the running version still reads and writes it.
CASES = {
    "an optional column": (add("note", models.TextField(null=True)), [], True),
    "a column with a database default": (add("kind", text(db_default="new")), [], True),
    "a required column": (add("kind", text(default="x")), [BREAKS], False),
    "a column that goes": (migrations.RemoveField("Item", "count"), [BREAKS], False),
    "a column of another name": (migrations.RenameField("Item", "name", "title"), [BREAKS], False),
    "a table of another name": (migrations.RenameModel("Item", "Thing"), [BREAKS], False),
    "a table that goes": (migrations.DeleteModel("Item"), [BREAKS], False),
    "a longer text": (alter("name", text(99)), [], True),
    "a shorter text": (alter("name", text(10)), [BREAKS], True),
    "other choices": (alter("name", text(choices=[("a", "A")])), [], True),
    "another type": (alter("count", models.BigIntegerField(null=True)), [REWRITES], True),
    "a required value": (alter("count", models.IntegerField(default=0)), [BREAKS], False),
    "a unique value": (alter("name", text(unique=True)), [BREAKS, LOCKS], True),
    "an index": (migrations.AddIndex("Item", INDEX), [LOCKS], True),
    "an index that goes": (migrations.RemoveIndex("Item", "item_id"), [], True),
    "a constraint": (migrations.AddConstraint("Item", NOT_OLD), [BREAKS, LOCKS], False),
    "code": (migrations.RunPython(migrations.RunPython.noop), [OPAQUE], True),
    "SQL": (migrations.RunSQL("SELECT 1"), [OPAQUE], True),
    "names only": (migrations.AlterModelOptions("Item", {"verbose_name": "thing"}), [], True),
}


def a_state():
    """The state before: one model with an index."""
    state = ProjectState()
    columns = [("id", models.AutoField(primary_key=True)), ("name", text())]
    columns.append(("count", models.IntegerField(null=True)))
    index = models.Index(fields=["id"], name="item_id")
    state.add_model(ModelState("shop", "Item", columns, {"indexes": [index]}))
    return state


def a_migration(*operations, **attributes):
    made = migrations.Migration("0002_change", "shop")
    made.operations = list(operations)
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def impacts(*operations):
    return [each.impact.name for each in check_migration(a_migration(*operations), a_state())]


@pytest.mark.parametrize("name", CASES)
def test_each_operation_is_judged(name):
    operation, expected, _ = CASES[name]
    assert impacts(operation) == expected


def test_what_has_no_column_no_row_or_no_lock_is_harmless():
    computed = migrations.AddField(
        "Item", "twice", ComputedDecimal("{row}.count * 2", max_digits=9, decimal_places=0)
    )
    new = migrations.CreateModel("New", [("id", models.AutoField(primary_key=True))])
    required = migrations.AddField("New", "kind", models.CharField(max_length=5, default="x", unique=True))
    concurrently = AddIndexConcurrently("Item", INDEX)
    assert impacts(computed) == impacts(new, required) == impacts(concurrently) == []


def test_what_the_database_does_counts_and_not_what_the_models_say():
    gone = migrations.RemoveField("Item", "count")
    assert impacts(migrations.SeparateDatabaseAndState(state_operations=[gone])) == []
    assert impacts(migrations.SeparateDatabaseAndState(database_operations=[gone])) == [BREAKS]


def test_a_reason_accepts_an_impact_and_no_other():
    migration = a_migration(CASES["a constraint"][0], accepted={"LOCKS": "a small table"})
    found = check_migration(migration, a_state())
    assert [(each.impact, each.accepted) for each in found] == [
        (Impact.BREAKS, None),
        (Impact.LOCKS, "a small table"),
    ]


def test_every_new_migration_can_run_beside_the_running_version():
    """Or says why not: ``accepted`` on its class, by impact."""
    loader, wrong = MigrationLoader(None), []
    for key in sorted(loader.disk_migrations):
        app, name = key
        migration = loader.disk_migrations[key]
        is_ours = migration.__module__.startswith("apps.")
        if not is_ours or name[:4] <= BEFORE_THE_RULES.get(app, "0000"):
            continue
        found = check_migration(migration, loader.project_state(key, at_end=False))
        wrong += [f"{app}.{name}: {each.text} {each.remedy}" for each in found if each.accepted is None]
    assert not wrong, "\n".join(wrong)


# --- the running version on the new schema ----------------------------------------------------------------


def works(model):
    """Whether the running version, which knows this model, reads and writes."""
    try:
        with transaction.atomic():
            model.objects.create(name="old", count=None)
            model.objects.filter(name="old").update(name="older")
            return [each.name for each in model.objects.all()] == ["older"]
    except Error:
        return False


def test_the_running_version_works_or_breaks_on_the_new_schema_as_judged(databases):
    wrong = []
    with default_database(databases.create()):
        for name, (operation, _, expected) in CASES.items():
            before, after = a_state(), a_state()
            running = before.apps.get_model("shop", "Item")
            with connection.schema_editor() as editor:
                editor.create_model(running)
            operation.state_forwards("shop", after)
            with connection.schema_editor() as editor:
                operation.database_forwards("shop", editor, before, after)
            if works(running) is not expected:
                wrong.append(name)
            with connection.cursor() as cursor:
                cursor.execute("DROP TABLE IF EXISTS shop_item")
                cursor.execute("DROP TABLE IF EXISTS shop_thing")
    assert wrong == []


def test_the_running_version_serves_while_the_database_is_newer(db, client):
    MigrationRecorder(connection).record_applied("core", "9999_of_a_newer_version")
    assert client.get("/readyz").status_code == 200
    call_command("migrate", check_unapplied=True, verbosity=0)


def test_a_new_version_is_not_ready_while_the_database_is_older(db, client):
    (latest,) = code_migrations().graph.leaf_nodes("sales")
    MigrationRecorder(connection).record_unapplied(*latest)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert "lacks 1 migration" in answer.text
    with pytest.raises(SystemExit):
        call_command("migrate", check_unapplied=True, verbosity=0)


# --- the command ----------------------------------------------------------------------------------------


def test_a_database_that_has_every_migration_is_up_to_date(db, capsys):
    call_command("check_upgrade")
    assert capsys.readouterr().out == "The database is up to date.\n"


@pytest.fixture
def pending_index(db, monkeypatch):
    """A database that lacks an index of contacts."""
    migration = migrations.Migration("0999_fax", "people")
    migration.operations = [migrations.AddIndex("Contact", models.Index(fields=["fax"], name="people_fax"))]
    monkeypatch.setattr(MigrationExecutor, "migration_plan", lambda *_: [(migration, False)])


def test_an_index_of_a_small_table_can_be_built_beside_the_service(pending_index, capsys):
    call_command("check_upgrade")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "people.0999_fax: can run now"
    assert "    people_contact is small enough." in lines
    assert lines[-1] == "./run migrate can run beside the service; then SIGHUP starts the new version."


def test_an_index_of_a_large_table_stops_the_service(pending_index, capsys, monkeypatch):
    monkeypatch.setattr(upgrades, "LARGE_TABLE", 0)
    with pytest.raises(CommandError, match="1 migration of 1 cannot run beside"):
        call_command("check_upgrade")
    assert "CONCURRENTLY" in capsys.readouterr().out


def test_a_database_without_tables_is_named(databases, capsys):
    with default_database(databases.create(has_schema=False)), pytest.raises(CommandError, match="no tables"):
        call_command("check_upgrade")


def test_a_migration_waits_for_a_lock_as_briefly_as_a_request():
    code = (
        "import os, sys; sys.argv = ['manage.py', sys.argv[1]];"
        "from records_site import settings; print(settings.DATABASE_LOCK_SECONDS)"
    )
    seconds = [
        float(subprocess.run([sys.executable, "-c", code, word], capture_output=True, check=True).stdout)
        for word in ("migrate", "import_records")
    ]
    assert seconds == [3, 60]
