"""Components of a plan and their funding periods are entered in one table, or pasted, and saved together."""

import datetime as dt
import re
from decimal import Decimal
from itertools import pairwise

import pytest

from apps.core.models import Change
from apps.engagements.calendars import calendar_of, divide_evenly
from apps.engagements.models import CategoryBudget, ClientEngagement, FundingPeriod
from apps.engagements.services import create_support_categories
from tests.engagements.builders import END, START, a_category_budget, a_pace_plan, a_plan, with_periods
from tests.engagements.test_import_components import stored
from tests.people.records import a_role, a_staff_member, get_unrendered

pytestmark = pytest.mark.django_db
PLANS = "/admin/engagements/clientengagement/"
VIEW = ("engagements.view_clientengagement", "engagements.view_categorybudget")


@pytest.fixture(autouse=True)
def categories():
    create_support_categories()


@pytest.fixture
def plan():
    return a_pace_plan(total_budget_amount=40_000)


def address(plan):
    return f"{PLANS}{plan.pk}/components/"


def context_of(client, plan):
    return get_unrendered(client, address(plan)).context


def sent(grid, action="save", **changed):
    """What a browser sends of the grid, with some cells changed: ``new0_budget="5000"``."""
    data = {"action": action, "calendar": grid.calendar_text, "new_rows": str(grid.new_rows)}
    for row in grid.rows:
        data[row.opened_name] = row.opened_periods
        for field in row:
            data[field.html_name] = str(field.value() or "")
            if field.field.show_hidden_initial:
                data[field.html_initial_name] = str(field.initial or "")
    return data | {name.replace("_", "-", 1): value for name, value in changed.items()}


def send(client, plan, data):
    return client.post(address(plan), data)


def row_of(grid, name):
    return next(row.prefix for row in grid.rows if row.title == name)


CORE = {"new0_component_name": "Flexible core", "new0_pays_for": "01 02 03 04", "new0_budget": "$30,000.01"}
BED = {"new1_component_name": "Bed", "new1_pays_for": "05_220613911_0105_1_2", "new1_budget": "9,000"}
QUARTERS = ["2026-07-01", "2026-10-01", "2027-01-01", "2027-04-01"]


def test_components_that_come_back_after_signing_in_are_shown_and_not_saved(client, ada, plan):
    data = sent(context_of(client, plan)["grid"], **CORE)
    text = send(client, plan, {**data, "_restored": "signed-in-again"}).content.decode()
    assert not CategoryBudget.objects.exists()
    assert "Your entries are back, and not saved yet." in text
    assert "30,000.01" in text
    assert send(client, plan, data).status_code == 302
    assert CategoryBudget.objects.count() == 1


def test_what_is_wrong_with_a_cell_is_read_aloud_with_it(client, ada, plan):
    data = sent(context_of(client, plan)["grid"], **{**CORE, "new0_budget": "many", "new0_pays_for": "99"})
    text = send(client, plan, data).content.decode()
    described = set(re.findall(r'aria-describedby="([^"]+_error)"', text))
    assert described == {"id_new0-budget_error", "id_new0-pays_for_error"}
    assert described == set(re.findall(r'id="([^"]+_error)"', text))


def test_a_length_of_periods_divides_the_amounts_and_all_is_saved_at_once(
    client, ada, plan, django_assert_max_num_queries
):
    grid = context_of(client, plan)["grid"]
    assert (grid.calendar, len(grid.rows)) == ([], 4)
    answer = send(client, plan, sent(grid, "months-3", **CORE, **BED))
    assert not CategoryBudget.objects.exists()
    grid = answer.context["grid"]
    assert [f"{first}" for first, _ in grid.calendar] == QUARTERS
    assert [field.value() for field in grid.rows[0].period_cells] == [
        "7500.00",
        "7500.00",
        "7500.00",
        "7500.01",
    ]
    # One amount is overwritten, the other component has days of its own.
    own = {"new1_own_periods": "1/7/2026 to 31/12/2026, 4,000\n1 Jan 2027   30 Jun 2027   $5,000.00"}
    emptied = {f"new1_p{day.replace('-', '')}": "" for day in QUARTERS}
    data = sent(grid, new0_p20260701="8000", **own, **emptied)
    with django_assert_max_num_queries(90):
        answer = send(client, plan, data)
    assert answer.status_code == 302, answer.context["grid"].errors or [
        row.errors for row in answer.context["grid"].rows
    ]
    assert stored() == {
        "Flexible core": (
            (1, 2, 3, 4),
            None,
            "Plan",
            Decimal("30000.01"),
            [
                ("2026-07-01", "2026-09-30", Decimal(8_000)),
                ("2026-10-01", "2026-12-31", Decimal(7_500)),
                ("2027-01-01", "2027-03-31", Decimal(7_500)),
                ("2027-04-01", "2027-06-30", Decimal("7500.01")),
            ],
        ),
        "Bed": (
            (5,),
            "05_220613911_0105_1_2",
            "Plan",
            Decimal(9_000),
            [("2026-07-01", "2026-12-31", Decimal(4_000)), ("2027-01-01", "2027-06-30", Decimal(5_000))],
        ),
    }
    text = client.get(answer.url).content.decode()
    assert "2 components saved." in text
    difference = "The periods release 30,500.01, which is 500.00 more than the component&#x27;s 30,000.01."
    assert text.count(difference) == 1
    assert (
        "The components come to 39,000.01, which is 999.99 less than the plan&#x27;s total of 40,000.00."
        in text
    )


def test_a_page_that_is_saved_as_it_was_opened_changes_nothing(client, ada, plan):
    budget = a_category_budget(
        plan, category=1, budget="90.00", further_categories="02", used_elsewhere="5.00"
    )
    with_periods(budget, ("2026-07-01", "2026-12-31", "50.00"), ("2027-01-01", "2027-06-30", "40.00"))
    other = a_category_budget(plan, category=15, component_name="Skills", budget="10.00")
    with_periods(other, ("2026-07-01", "2027-06-30", "10.00"))
    a_category_budget(plan, category=20, budget="7.00")
    entries = Change.objects.count()
    grid = context_of(client, plan)["grid"]
    assert [row["pays_for"].value() for row in grid.rows] == ["01 02", "15", "20", ""]
    assert [row.has_own_periods for row in grid.rows] == [False, True, False, False]
    answer = send(client, plan, sent(grid))
    assert answer.status_code == 302
    assert Change.objects.count() == entries
    assert "Nothing was changed." in client.get(answer.url).content.decode()


def test_cells_of_existing_components_are_changed(client, ada, plan):
    budget = a_category_budget(plan, category=1, budget="90.00", component_name="Core")
    with_periods(budget, ("2026-07-01", "2026-12-31", "50.00"), ("2027-01-01", "2027-06-30", "40.00"))
    grid = context_of(client, plan)["grid"]
    row = row_of(grid, "Core")
    cells = {f"{row}_pays_for": "01 03", f"{row}_p20270101": "60", f"{row}_budget": ""}
    data = sent(grid) | {name.replace("_", "-", 1): value for name, value in cells.items()}
    assert send(client, plan, data).status_code == 302
    budget.refresh_from_db()
    assert (budget.categories, budget.budget) == ((1, 3), 110)  # an empty amount is what periods release
    assert [each.released for each in budget.periods.all()] == [50, 60]
    said = client.get(f"{PLANS}{plan.pk}/plan/").content.decode()  # its timeline
    assert "Period from 01 Jan 2027" in said
    assert "60.00 until 30 Jun 2027" in said
    grid = context_of(client, plan)["grid"]
    answer = send(client, plan, sent(grid, "months-0"))
    assert answer.context["grid"].calendar == []
    assert send(client, plan, sent_again(answer)).status_code == 302
    assert not FundingPeriod.objects.exists()


def sent_again(answer, action="save"):
    """What a browser sends of a page that came back."""
    grid = answer.context["grid"]
    data = {name: value for name, value in grid.data.items() if name.startswith("initial-")}
    for row in grid.rows:
        data |= {field.html_name: str(field.value() or "") for field in row}
        data[row.opened_name] = row.opened_periods
    return data | {"action": action, "calendar": grid.calendar_text, "new_rows": str(grid.new_rows)}


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ({"new0_budget": "x"}, "Give a number"),
        ({"new0_pays_for": ""}, "Say what it pays for"),
        ({"new0_pays_for": "Gardening"}, "is no number (1 to 21) or name of a support category"),
        ({"new0_pays_for": "01 01_011_0107_1_1 02"}, "It pays for its stated supports alone."),
        ({"new0_budget": "-5"}, "A budget is not negative."),
        ({"new0_own_periods": "1/7/2026, 5"}, "Line 1: It has one day, 1/7/2026"),
        (
            {"new0_own_periods": "1/7/2026, 1/9/2026, 5\n3/9/2026, 30/6/2027, 5"},
            "does not begin on the day after",
        ),
        ({"new1_pays_for": "03", "new1_budget": "5"}, "Flexible core"),
    ],
)
def test_a_fault_in_one_row_stores_nothing_and_keeps_what_was_entered(client, ada, plan, cells, sentence):
    good = {"new2_pays_for": "20", "new2_budget": "77"}
    answer = send(client, plan, sent(context_of(client, plan)["grid"], **CORE | good | cells))
    text = answer.content.decode()
    assert "Not saved. Please fix" in text
    assert sentence in text
    assert 'value="77"' in text
    assert not CategoryBudget.objects.exists()


@pytest.mark.both_engines("somebody else writes meanwhile")
def test_what_somebody_saved_meanwhile_is_shown_before_it_is_overwritten(client, ada, plan):
    budget = a_category_budget(plan, category=1, budget="90.00", component_name="Core")
    with_periods(budget, ("2026-07-01", "2027-06-30", "90.00"))
    opened = context_of(client, plan)["grid"]
    row = row_of(opened, "Core").replace("_", "-")
    assert (
        send(client, plan, sent(opened) | {f"{row}-budget": "100", f"{row}-p20260701": "100"}).status_code
        == 302
    )
    assert send(client, plan, sent(opened) | {f"{row}-component_name": "Flexible core"}).status_code == 302
    budget.refresh_from_db()
    assert (budget.component_name, budget.budget) == ("Flexible core", 100)
    answer = send(client, plan, sent(opened) | {f"{row}-budget": "80", f"{row}-p20260701": "80"})
    text = answer.content.decode()
    assert "Meanwhile 100.00 was saved here." in text
    assert "Meanwhile its periods were saved as: 01 Jul 2026 – 30 Jun 2027  100.00." in text
    assert send(client, plan, sent_again(answer)).status_code == 302
    budget.refresh_from_db()
    assert (budget.budget, budget.periods.get().released) == (80, 80)
    opened = context_of(client, plan)["grid"]
    data = sent(opened) | {f"{row}-budget": "70"}
    budget.delete()
    assert "Meanwhile 1 of these components were deleted" in send(client, plan, data).content.decode()


def test_more_rows_can_be_had_and_keep_what_was_entered(client, ada, plan):
    answer = send(client, plan, sent(context_of(client, plan)["grid"], "more", **CORE))
    grid = answer.context["grid"]
    assert len(grid.rows) == 8
    assert grid.rows[0]["pays_for"].value() == "01 02 03 04"


def test_the_grid_is_for_those_who_may_enter_budgets(client, plan):
    a_category_budget(plan, category=15, component_name="Skills")
    for permissions, rows, is_readable_only in (((), 1, True), (("add",), 2, False), (("change",), 1, False)):
        names = [f"engagements.{each}_categorybudget" for each in permissions]
        client.force_login(a_staff_member(role=a_role(*VIEW, *names)))
        grid = context_of(client, plan)["grid"]
        assert (len(grid.rows), grid.is_readable_only) == (rows, is_readable_only)
        page_of_plan = client.get(f"{PLANS}{plan.pk}/plan/").content
        assert (b"Enter components" in page_of_plan) != is_readable_only
        assert (b'value="save"' in client.get(address(plan)).content) != is_readable_only
    new = {"new0_pays_for": "20", "new0_budget": "5"}
    client.force_login(a_staff_member(role=a_role(*VIEW, "engagements.add_categorybudget")))
    data = sent(context_of(client, plan)["grid"], **new)
    client.force_login(a_staff_member(role=a_role(*VIEW)))
    pasted = {"action": "store", "pasted": "Core\t01\t1/7/2026\t30/6/2027\t5"}
    assert [send(client, plan, each).status_code for each in (data, pasted)] == [403, 403]
    assert CategoryBudget.objects.count() == 1


@pytest.mark.parametrize(("kept", "lost"), [("add", "change"), ("change", "add")])
def test_what_may_no_longer_be_entered_is_refused_and_not_left_out_without_a_word(
    client, ada, plan, kept, lost
):
    a_category_budget(plan, category=15, component_name="Skills")
    grid = context_of(client, plan)["grid"]
    data = sent(grid, **CORE) | {f"{row_of(grid, 'Skills')}-budget": "70"}
    client.force_login(a_staff_member(role=a_role(*VIEW, f"engagements.{kept}_categorybudget")))
    answer = send(client, plan, data)
    assert answer.status_code == 403
    assert f"lacks the permission to {lost} " in answer.content.decode()
    assert CategoryBudget.objects.get().budget != 70


def test_the_page_is_that_of_pace_plans(client, ada, plan):
    other = a_plan()
    assert client.get(address(other)).url == f"{PLANS}{other.pk}/plan/"
    assert b"Components and periods" not in client.get(f"{PLANS}{other.pk}/change/").content
    assert b"Components and periods" in client.get(f"{PLANS}{plan.pk}/change/").content
    page = f"{PLANS}{plan.pk}/plan/"
    assert b"data-budget-grid" in client.get(page).content
    a_category_budget(plan, category=15, component_name="Skills")
    text = client.get(page).content
    assert b"data-budget-grid" not in text
    assert address(plan).encode() in text


# --- pasted ---------------------------------------------------------------------------------------------

TEXT = (
    "Component\tSupports\tFrom\tTo\tReleased\n"
    "Flexible core\t01 02 03 04\t1/7/2026\t31/12/2026\t$15,000.00\n"
    "\t\t1/1/2027\t30/6/2027\t$16,000.00\n"
    "Skills\t15\t1/7/2026\t30/6/2027\t$9,000.00\n"
)


def read(client, plan, text, action="read", **more):
    return send(client, plan, {"action": action, "pasted": text, **more})


def test_pasted_rows_are_shown_before_they_are_stored(client, ada, plan):
    answer = read(client, plan, TEXT)
    pasted = answer.context["pasted"]
    assert [(row["label"], row["supports"], row["amount"], row["outcome"]) for row in pasted.rows] == [
        ("Flexible core", "01 02 03 04", 31_000, "new"),
        ("Skills", "15", 9_000, "new"),
    ]
    assert not CategoryBudget.objects.exists()
    assert b"Store 2 components" in answer.content
    answer = read(client, plan, TEXT, "store", state=pasted.state)
    assert answer.status_code == 302
    assert {name: len(each[-1]) for name, each in stored().items()} == {"Flexible core": 2, "Skills": 1}
    answer = read(client, plan, TEXT)
    assert [row["outcome"] for row in answer.context["pasted"].rows] == ["unchanged", "unchanged"]
    assert b"The plan has all of it already." in answer.content


def test_pasted_rows_that_cannot_be_read_are_named_and_nothing_is_stored(client, ada, plan):
    text = f"{TEXT}Skills\t15\tsoon\t30/6/2027\t1\nBed\tFurniture\t1/7/2026\t30/6/2027\t2\n"
    answer = read(client, plan, text, "store", state="")
    faults = answer.context["pasted"].faults
    assert [fault.partition(":")[0] for fault in faults] == ["Row 5 (From)", "Row 6 (Supports)"]
    assert b"Nothing is stored. Correct these rows" in answer.content
    assert b"Store 2" not in answer.content
    assert not CategoryBudget.objects.exists()
    for nothing in ("", "\n \n"):
        assert b"Nothing was pasted" in read(client, plan, nothing).content


@pytest.mark.both_engines("somebody else writes meanwhile")
def test_what_was_read_is_shown_again_where_the_plan_changed_meanwhile(client, ada, plan):
    state = read(client, plan, TEXT).context["pasted"].state
    a_category_budget(plan, category=15, component_name="Skills", budget="5.00")
    answer = read(client, plan, TEXT, "store", state=state)
    pasted = answer.context["pasted"]
    assert "Meanwhile the plan's components were changed." in pasted.warnings[0].text
    assert [row["outcome"] for row in pasted.rows] == ["new", "changed"]
    assert CategoryBudget.objects.count() == 1
    assert read(client, plan, TEXT, "store", state=pasted.state).status_code == 302
    assert CategoryBudget.objects.count() == 2


def test_pasted_rows_are_checked_by_the_services(client, ada, plan):
    a_category_budget(plan, category=3, component_name="Consumables")
    pasted = read(client, plan, TEXT).context["pasted"]
    assert pasted.faults == ["Row 2 (Supports): Consumables of the plan pays for category 03 already."]
    warned = read(client, plan, "Skills\t15\t1/7/2026\t30/6/2028\t9").context["pasted"]
    assert any("The periods run from 01 Jul 2026 to 30 Jun 2028" in each.text for each in warned.warnings)
    assert any("than the plan's total of 40,000.00" in each.text for each in warned.warnings)


# --- calendars ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "last", "months", "starts"),
    [
        (START, END, 3, QUARTERS),
        (START, END, 6, ["2026-07-01", "2027-01-01"]),
        (START, END, 12, ["2026-07-01"]),
        (
            dt.date(2026, 1, 31),
            dt.date(2026, 4, 30),
            1,
            ["2026-01-31", "2026-02-28", "2026-03-31", "2026-04-30"],
        ),
        (dt.date(2026, 7, 15), dt.date(2026, 12, 1), 3, ["2026-07-15", "2026-10-15"]),
    ],
)
def test_a_calendar_has_periods_of_so_many_months_and_ends_with_the_plan(first, last, months, starts):
    found = calendar_of(first, last, months)
    assert [f"{start}" for start, _ in found] == starts
    assert found[-1][1] == last
    for (_, end), (start, _) in pairwise(found):
        assert start == end + dt.timedelta(days=1)


@pytest.mark.parametrize(("amount", "number"), [("100.00", 3), ("0.02", 12), ("30000.01", 4), ("0", 1)])
def test_an_amount_divides_into_equal_cents_with_the_rest_in_the_last(amount, number):
    *parts, last = divide_evenly(Decimal(amount), number)
    assert sum(parts, last) == Decimal(amount)
    assert len(set(parts)) <= 1
    assert last >= max(parts, default=0)


def test_a_plan_without_an_end_has_components(client, ada, plan):
    ClientEngagement.objects.filter(pk=plan.pk).update(plan_end_date=dt.date.max)
    assert context_of(client, plan)["grid"].calendar == []
    year = calendar_of(START, dt.date.max, 12)
    assert year[-1] == (dt.date(9999, START.month, START.day), dt.date.max)


def test_plans_have_components_of_their_own(client, ada, plan):
    a_category_budget(a_pace_plan(), category=1, component_name="Of another plan")
    assert b"Of another plan" not in client.get(address(plan)).content
    assert ClientEngagement.objects.count() == 2


def test_a_component_takes_a_category_that_another_one_gives_up_at_once(client, ada, plan):
    a_category_budget(plan, category=1, further_categories="02", component_name="Core")
    a_category_budget(plan, category=3, component_name="Consumables")
    grid = context_of(client, plan)["grid"]
    core, consumables = row_of(grid, "Core"), row_of(grid, "Consumables")
    data = sent(grid) | {f"{core}-pays_for": "01 02 03", f"{consumables}-pays_for": "04"}
    assert send(client, plan, data).status_code == 302
    assert {name: each[0] for name, each in stored().items()} == {"Core": (1, 2, 3), "Consumables": (4,)}
    grid = context_of(client, plan)["grid"]
    answer = send(client, plan, sent(grid) | {f"{consumables}-pays_for": "03"})
    assert "Core of the plan pays for category 03 already." in answer.content.decode()
