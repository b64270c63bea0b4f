"""Components and funding periods from a file (apps/engagements/imports/components.py)."""

import contextlib
import csv
import io
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command

from apps.core.models import Change
from apps.engagements.models import CategoryBudget, FundingPeriod
from apps.engagements.services import create_support_categories
from apps.people.merging import merge
from tests.core.test_file_imports import an_import, page, press
from tests.engagements.builders import a_category_budget, a_pace_plan, a_plan, with_periods
from tests.people.records import a_contact
from tests.tasks import run_tasks

pytestmark = pytest.mark.django_db

HEADER = (
    "participant,plan start,component,categories,stated supports,managed by,amount"
    ",period from,period to,released"
)
CORE_1 = "430 000 001,01/07/2026,Flexible core,01 02 03 04,,Plan,25000,01/07/2026,31/12/2026,12500"
CORE_2 = 'NDIS 430000001,2026-07-01,Flexible core,01 02 03 04,,,,01/01/2027,30/06/2027,"$12,500.00"'
BED = "430000001,1 Jul 2026,Bed,,05_220613911_0105_1_2,Agency managed,900,01/07/2026,30/06/2027,900"
TRANSPORT = "430000001,01/07/2026,,21,,,1000,,,"
ROWS = (CORE_1, CORE_2, BED, TRANSPORT)


@pytest.fixture(autouse=True)
def plan():
    create_support_categories()
    mia = a_contact(first_name="Mia", last_name="Nguyen", scheme_number="430000001", unique_code="P-1")
    return a_pace_plan(participant=mia, total_budget_amount=26_900, is_agency_managed=True)


@pytest.fixture
def import_rows(tmp_path):
    """``import_rows(row, row, …)``: what the command says of a file of these rows."""
    path = tmp_path / "components.csv"

    def run(*rows, header=HEADER, options=()):
        path.write_text("\n".join([header, *rows]))
        out, err, status = io.StringIO(), io.StringIO(), 0
        try:
            with contextlib.chdir(tmp_path):
                call_command("import_components", str(path), *options, stdout=out, stderr=err)
        except SystemExit as stop:
            status = stop.code
        lines = [line for line in err.getvalue().splitlines() if line.startswith("row ")]
        return out.getvalue().splitlines()[0], lines, status

    return run


def stored():
    """The components: what each pays for, its columns, and its periods."""
    return {
        str(each): (
            each.categories,
            each.stated_items,
            each.management_type,
            each.budget,
            [(f"{period.first_day}", f"{period.last_day}", period.released) for period in each.periods.all()],
        )
        for each in CategoryBudget.objects.select_related("category").prefetch_related("periods")
    }


@pytest.mark.parametrize("text", ["430000009", "P-9"])
def test_the_number_and_code_of_a_merged_participant_mean_the_one_in_use(import_rows, plan, text):
    """The agency's lists have the number under which somebody was entered twice."""
    merge(plan.participant, a_contact(scheme_number="430000009", unique_code="P-9"))
    said, _, status = import_rows(f"{text},01/07/2026,,21,,,1000,,,")
    assert ("1 new, 0 changed, 0 unchanged, 0 rejected" in said, status) == (True, 0)
    assert CategoryBudget.objects.get().engagement == plan


def test_components_and_their_periods_are_imported_a_period_to_a_row(import_rows, plan):
    said, lines, status = import_rows(*ROWS)
    assert (said, lines, status) == (
        "3 records in 4 rows: 3 new, 0 changed, 0 unchanged, 0 rejected.",
        [],
        0,
    )
    assert stored() == {
        "Flexible core": (
            (1, 2, 3, 4),
            None,
            "Plan",
            25_000,
            [("2026-07-01", "2026-12-31", 12_500), ("2027-01-01", "2027-06-30", 12_500)],
        ),
        "Bed": (
            (5,),
            "05_220613911_0105_1_2",
            "Agency",
            900,
            [("2026-07-01", "2027-06-30", 900)],
        ),
        "21 Recurring Transport": ((21,), None, "Plan", 1_000, []),
    }
    assert {each.engagement for each in CategoryBudget.objects.all()} == {plan}
    entries = Change.objects.filter(record_type="engagements.categorybudget")
    assert set(entries.values_list("channel", flat=True)) == {"Import"}


def test_a_second_import_changes_nothing(import_rows):
    import_rows(*ROWS)
    entries = Change.objects.count()
    assert import_rows(*ROWS)[0] == "3 records in 4 rows: 0 new, 0 changed, 3 unchanged, 0 rejected."
    assert Change.objects.count() == entries


@pytest.mark.parametrize(
    ("header", "lacking"),
    [
        ("participant,plan start,component,categories", "released or amount"),
        ("participant,plan start,amount", "component or categories"),
        ("component,categories,amount", "participant, plan_start"),
    ],
)
def test_a_file_that_cannot_be_read_says_what_it_lacks(import_rows, header, lacking):
    with pytest.raises(CommandError, match=f"The file lacks {lacking};"):
        import_rows("", header=header)


def test_a_dry_run_stores_nothing(import_rows):
    assert "Nothing was stored" in import_rows(*ROWS, options=["--dry-run"])[0]
    assert not CategoryBudget.objects.exists()


def test_other_periods_replace_those_of_the_component_and_leave_the_other_components(import_rows):
    import_rows(*ROWS)
    kept = FundingPeriod.objects.get(first_day="2026-07-01", category_budget__component_name="Flexible core")
    said, lines, _ = import_rows(
        CORE_1.replace("31/12/2026,12500", "30/09/2026,5000").replace("25000", "24000"),
        CORE_2.replace("01/01/2027", "01/10/2026").replace("12,500", "19,000"),
    )
    assert said.startswith("1 record in 2 rows: 0 new, 1 changed, 0 unchanged")
    assert lines == [
        "row 2, G2 (amount): warning TotalDiffers: The components come to 25,900.00, which is 1,000.00 less"
        " than the plan's total of 26,900.00. It is “24000”."
    ]
    assert stored()["Flexible core"][4] == [
        ("2026-07-01", "2026-09-30", 5_000),
        ("2026-10-01", "2027-06-30", 19_000),
    ]
    assert FundingPeriod.objects.get(pk=kept.pk).released == 5_000
    assert len(stored()) == 3


def test_a_component_is_known_by_what_it_pays_for_and_a_participant_by_code(import_rows, plan):
    budget = a_category_budget(plan, category=15, budget="100.00")
    said, _, _ = import_rows(
        "p-1,01/07/2026,Improved daily living,15,,,,01/07/2026,30/06/2027,150.00",
    )
    assert "1 changed" in said
    budget.refresh_from_db()
    assert (budget.component_name, budget.budget) == ("Improved daily living", 150)


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ("430000009,01/07/2026,Core,01,,,1,,,", "No participant has this scheme number or code."),
        (",01/07/2026,Core,01,,,1,,,", "Required: It is required."),
        ("430000001,02/07/2026,Core,01,,,1,,,", "their PACE plans start on 01 Jul 2026."),
        ("430000001,01/07/2026,Core,,,,1,,,", "Say what a new one pays for"),
        ("430000001,01/07/2026,Core,01,,,,,,", "A new component has an amount"),
        ("430000001,01/07/2026,Core,01,,Boss,1,,,", "must be Plan, Agency or Self"),
        ("430000001,01/07/2026,Core,01 02,15_056_0128_1_3,,1,,,", "It pays for its stated supports alone"),
        (
            "430000001,01/07/2026,Core,01,,,1,01/07/2026,30/06/2026,1",
            "The period ends on 30 Jun 2026, before it starts.",
        ),
    ],
)
def test_a_row_that_cannot_be_stored_is_named_and_keeps_its_plan_out(import_rows, tmp_path, row, sentence):
    said, lines, status = import_rows(row)
    assert "1 rejected" in said
    assert status == 1
    assert sentence in "\n".join(lines)
    assert not CategoryBudget.objects.exists()
    assert sentence in (tmp_path / "components.errors.csv").read_text()


def test_periods_with_a_gap_and_a_category_of_two_components_are_refused_on_their_rows(import_rows):
    gap = CORE_2.replace("01/01/2027", "02/01/2027")
    _, lines, _ = import_rows(CORE_1, gap)
    assert (
        "row 3, H3 (period from): OutOfOrder: 02 Jan 2027 – 30 Jun 2027 does not begin on the day after"
        in lines[0]
    )
    other = "430000001,01/07/2026,Other,03,,,5,,,"
    said, lines, _ = import_rows(CORE_1, CORE_2, other)
    assert said.startswith("2 records in 3 rows: 0 new, 0 changed, 0 unchanged, 2 rejected.")
    assert any("Flexible core of the plan pays for category 03 already." in line for line in lines)
    assert any("Row 4 keeps it out: the components of a plan go in together." in line for line in lines)
    assert not CategoryBudget.objects.exists()


def test_one_faulty_plan_leaves_the_others_alone_and_its_rows_come_back(import_rows, tmp_path):
    other = a_pace_plan(participant=a_contact(scheme_number="430000002"))
    said, _, _ = import_rows(
        CORE_1, "430000002,01/07/2026,Core,01,,,70,,,", CORE_2.replace("30/06/2027", "30/06/2O27")
    )
    assert "1 new" in said
    assert other.category_budgets.get().budget == 70
    with (tmp_path / "components.errors.csv").open(newline="") as file:
        rejected = list(csv.reader(file))
    assert [row[2] for row in rejected] == ["component", "Flexible core", "Flexible core"]


def test_plans_with_service_bookings_are_not_meant(import_rows):
    a_plan(participant=a_contact(scheme_number="430000003"))
    _, lines, _ = import_rows("430000003,01/07/2026,Core,01,,,1,,,")
    assert "That plan is no PACE plan: its budgets are service bookings." in lines[0]


def test_periods_that_do_not_come_to_the_amount_are_stored_with_a_warning(import_rows):
    said, lines, status = import_rows(CORE_1)
    assert (status, "1 record with warnings" in said) == (0, True)
    assert "The periods release 12,500.00, which is 12,500.00 less than the component's 25,000.00." in lines[
        -1
    ] + lines[0] + "".join(lines)
    assert CategoryBudget.objects.get().budget == 25_000


def test_a_file_of_something_else_is_refused(import_rows):
    with pytest.raises(CommandError, match="lacks participant, plan_start, component or categories"):
        import_rows("Mia,Perth", header="Name of pet,Town")


def test_the_browser_previews_imports_and_undoes_it(client, ada, plan):
    a_category_budget(plan, category=20, budget="5.00")
    text = "\n".join([HEADER, *ROWS, "430000009,01/07/2026,Core,01,,,1,,,"])
    record = an_import(client, text=text, kind="components", name="components.csv")
    assert (record.status, record.counts["new"], record.counts["rejected"]) == ("Checked", 3, 1)
    assert [row["number"] for row in page(client, record)["rows"]] == [2, 6]  # a warning, a fault
    assert CategoryBudget.objects.count() == 1
    press(client, record, "import")
    run_tasks()
    assert (CategoryBudget.objects.count(), FundingPeriod.objects.count()) == (4, 3)
    press(client, record, "undo")
    run_tasks()
    record.refresh_from_db()
    assert record.status == "Undone"
    assert (CategoryBudget.objects.count(), FundingPeriod.objects.count()) == (1, 0)


def test_the_undoing_of_changed_periods_is_refused_with_its_reason(client, ada, plan):
    budget = a_category_budget(plan, category=1, component_name="Flexible core", budget=Decimal(25_000))
    with_periods(budget, ("2026-07-01", "2027-06-30", "25000.00"))
    record = an_import(
        client, text="\n".join([HEADER, CORE_1, CORE_2]), kind="components", name="components.csv"
    )
    press(client, record, "import")
    run_tasks()
    assert FundingPeriod.objects.count() == 2
    press(client, record, "undo")
    run_tasks()
    record.refresh_from_db()
    assert record.status == "Imported"
    assert FundingPeriod.objects.count() == 2
