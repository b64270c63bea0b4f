"""What is exported can be imported again: into the same database without a change, into another by names."""

import contextlib
import datetime as dt
import io

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection

from apps.base.declaration import service
from apps.core.models import Change
from apps.engagements.models import SupportCategory
from apps.funding.models import Price, PriceBook, PriceBookEntry, Product
from apps.people.models import Client, CustomFieldResponse, Location, Staff
from apps.sales.models import Opportunity
from tests.people.import_files import imported

pytestmark = pytest.mark.django_db

#: What files refer to is imported first; clients a second time, since their key contacts follow them.
ORDER = (
    "role", "position", "location", "team", "customField", "documentCategory", "supportCategory",
    "opportunityType", "opportunityStage", "opportunityOutcomeReason", "priceBook", "costCentre", "staff",
    "client", "contact", "client", "clientengagement", "opportunityTemplate", "opportunity",
    "providerInvoice", "claim", "invoice",
)  # fmt: skip
#: What a new database has: permissions, the scheme's categories, and prices once the price guide is imported.
KEPT = {SupportCategory, PriceBook, PriceBookEntry, Price, Product}
#: Claims on PACE plans, which are in no export, and second claims on a provider invoice whose first one
#: was rejected or archived: statuses are not imported.
NOT_BROUGHT = ("NoEngagement", "AlreadyUsed", "Duplicate")


@pytest.fixture(scope="module", autouse=True)
def demo(module_transaction):
    # Documents are imported with their files, and provider invoices may be known by nothing but a document.
    counts = {
        "clients": 12, "staff": 6, "contacts": 24, "documents": 0, "opportunities": 12, "claims": 14,
        "invoices": 6, "inbox": 0,
    }  # fmt: skip
    call_command("load_demo", **counts, as_of=dt.date(2026, 9, 15), stdout=io.StringIO())


def exported(resource, path):
    with contextlib.chdir(path.parent):
        call_command("export_records", resource, str(path), stdout=io.StringIO(), skip_checks=True)
    return path


@pytest.mark.parametrize("ending", ["csv", "xlsx", "json", "ndjson"])
def test_an_export_of_any_resource_imported_again_changes_nothing(tmp_path, ending):
    changes = Change.objects.count()
    for entity_set in service.get_service().entity_sets:
        if not entity_set.model._base_manager.exists():
            continue
        result = imported(
            entity_set.path, exported(entity_set.path, tmp_path / f"{entity_set.path}.{ending}")
        )
        assert result.status == 0, (entity_set.path, result.out, result.err)
        assert ": 0 new, 0 changed, " in result.out, (entity_set.path, result.out)
    assert Change.objects.count() == changes


def delete_records():
    """Make the database a new one, with nothing but its prices."""
    models = [
        model
        for app in ("people", "documents", "sales", "engagements", "funding", "payments")
        for model in apps.get_app_config(app).get_models(include_auto_created=True)
        if model._meta.managed and model not in KEPT
    ]
    with connection.cursor() as cursor:
        for model in models:
            cursor.execute(f"DELETE FROM {connection.ops.quote_name(model._meta.db_table)}")


def named_links():
    """What records refer to, by names that mean the same in every database."""
    return (
        {staff.primary_email: {team.name for team in staff.teams.all()} for staff in Staff.objects.all()},
        sorted(Client.objects.values_list("business_name", "key_contact__last_name"), key=str),
        sorted(Opportunity.objects.values_list("name", "outcome_moment", "follow_up_date"), key=str),
        sorted(CustomFieldResponse.objects.values_list("answer__custom_field__name", "response")),
    )


def test_exports_of_one_database_go_into_another_by_name(tmp_path):
    files = {name: exported(name, tmp_path / f"{name}.csv") for name in ORDER}
    before = named_links()
    assert all(before)
    delete_records()

    for name in ORDER:
        result = imported(name, files[name], "--by-name", "--ignore-warnings")
        errors = [line for line in result.lines if line.startswith("row") and ": warning " not in line]
        assert [line for line in errors if not any(code in line for code in NOT_BROUGHT)] == [], result.out

    assert named_links() == before
    for name in ORDER:
        again = imported(name, files[name], "--by-name", "--ignore-warnings")
        assert ": 0 new, 0 changed, " in again.out, (name, again.out)


def test_archive_dates_come_along_and_restore(tmp_path):
    Location.objects.update(archive_date="2026-01-31T12:00:00+00:00")
    path = exported("location", tmp_path / "location.csv")
    number = Location.objects.count()
    delete_records()

    assert f": {number} new" in imported("location", path, "--by-name").out
    assert Location.objects.exclude(archive_date=None).count() == number
    assert Change.objects.filter(kind="Archived", channel="Import").count() == number

    lines = path.read_text(encoding="utf-8-sig").replace("2026-01-31", "").splitlines()
    header, row = lines[0].split(","), lines[1].split(",")
    row[header.index("ArchiveDate")] = ""
    path.write_text("\n".join([lines[0], ",".join(row)]) + "\n", encoding="utf-8")
    assert ": 0 new, 1 changed" in imported("location", path, "--by-name").out
    assert Location.objects.filter(archive_date=None).count() == 1
    assert Change.objects.filter(kind="Restored", channel="Import").count() == 1
