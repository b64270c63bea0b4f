"""Plans through import_records (apps/engagements/importing.py)."""

import contextlib
import io
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command

from apps.engagements.models import ClientEngagement
from tests.engagements.builders import a_pace_plan, a_plan, day
from tests.people.records import a_client, a_contact

pytestmark = pytest.mark.django_db


@pytest.fixture
def bring(tmp_path):
    path = tmp_path / "plans.csv"

    def run(*lines):
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        out, err = io.StringIO(), io.StringIO()
        with contextlib.suppress(SystemExit), contextlib.chdir(tmp_path):
            call_command("import_records", "clientengagement", str(path), stdout=out, stderr=err)
        return out.getvalue().partition(".")[0].partition(";")[0], err.getvalue()

    return run


def test_plans_are_imported_by_the_interfaces_names_and_the_fields_own(bring):
    person, manager = a_contact(unique_code="P-1"), a_client()
    header = "Participant/UniqueCode,Plan start,Plan end,Plan managed,Total budget,Plan manager"
    line = f'P-1,1/7/2026,30/6/2027,yes,"$12,000.50",{manager.pk}'
    assert bring(header, line)[0] == "1 row: 1 new, 0 changed, 0 unchanged, 0 rejected"
    plan = ClientEngagement.objects.get()
    assert (plan.participant, plan.plan_manager, plan.is_plan_managed) == (person, manager, True)
    assert (plan.plan_start_date, plan.total_budget_amount) == (day("2026-07-01"), Decimal("12000.50"))
    assert plan.participant_type == "Agency"
    assert bring(header, line)[0] == "1 row: 0 new, 0 changed, 1 unchanged, 0 rejected"


@pytest.mark.parametrize(
    ("header", "line"),
    [
        ("NDIS Number,Start date,End date", "430 000 001,1/7/2026,30/6/2027"),
        ("Participant NDIS number,Plan start,Plan end", "430000001,1/7/2026,30/6/2027"),
    ],
)
def test_the_participant_is_named_by_scheme_number_as_lists_call_it(bring, header, line):
    person = a_contact(scheme_number="430000001")
    assert bring(header, line)[0] == "1 row: 1 new, 0 changed, 0 unchanged, 0 rejected"
    assert ClientEngagement.objects.get().participant == person
    # Beside the number it is a name.
    with pytest.raises(CommandError, match="Not understood: column A “Participant”"):
        bring(f"Participant,{header}", f"Mia Nguyen,{line}")
    assert bring("Participant,Plan start", f"{person.pk},1/7/2026")[0].startswith("1 row: 0 new")


def test_a_plan_is_changed_by_its_guid(bring):
    plan = a_plan()
    header = "ClientEngagementGuid,TotalBudgetAmount"
    assert bring(header, f"{plan.pk},5.00")[0] == "1 row: 0 new, 1 changed, 0 unchanged, 0 rejected"
    plan.refresh_from_db()
    assert plan.total_budget_amount == Decimal("5.00")


def test_a_file_has_the_columns_that_records_take_in_the_later_version_alone(bring):
    pace, plan = a_pace_plan(), a_plan()
    header = "ClientEngagementGuid,EndorsementDate"
    counts, reported = bring(header, f"{pace.pk},2026-08-03", f"{plan.pk},2026-08-03")
    assert counts == "2 rows: 0 new, 1 changed, 0 unchanged, 1 rejected"
    assert "row 3, B3 (EndorsementDate): NotAllowed" in reported
    pace.refresh_from_db(), plan.refresh_from_db()
    assert (pace.endorsement_date, plan.endorsement_date) == (day("2026-08-03"), None)


def test_issues_and_warnings_are_reported_at_their_cells(bring):
    plan = a_plan()
    person = f"{plan.participant_id}"
    header = "Participant,PlanStartDate,PlanEndDate,IsPlanManaged,BookingEndDate"
    sums, reported = bring(
        header,
        f"{person},2026-07-01,2027-06-29,yes,",
        f"{person},2028-07-01,2027-06-30,yes,",
        f"{a_contact().pk},2026-07-01,2027-06-30,yes,2027-07-01",
    )
    assert sums == "3 rows: 1 new, 0 changed, 0 unchanged, 2 rejected"
    assert "row 2, B2 (PlanStartDate): NotUnique: Another plan has it already." in reported
    assert "row 3, C3 (PlanEndDate): OutOfOrder: The plan ends before it starts." in reported
    assert "row 4, E4 (BookingEndDate): warning OutsidePlan: It lies outside the plan's dates." in reported


def test_what_two_rows_share_is_named_by_its_row(bring):
    person = a_contact().pk
    sums, reported = bring(
        "Participant,PlanStartDate,PlanEndDate,IsPlanManaged",
        f"{a_contact().pk},2026-07-01,2027-06-30,yes",
        f"{person},2026-07-01,2027-06-30,yes",
        f"{person},2026-07-01,2027-06-29,yes",
    )
    assert sums == "3 rows: 2 new, 0 changed, 0 unchanged, 1 rejected"
    assert "row 4, B4 (PlanStartDate): NotUnique: The record in row 3 of the file has it as well." in reported
