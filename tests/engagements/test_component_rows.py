"""Rows of components and funding periods are read as people copy them."""

import time
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.base.declaration.values import WireValueError
from apps.core.models import Subscriber
from apps.core.table_files.tables import ImportFileError
from apps.engagements.imports.component_rows import read_amount, read_supports
from apps.engagements.imports.pasted_components import read_pasted, read_periods

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def subscriber():
    Subscriber.current()


def read(*lines):
    """(name, supports, amount, periods) of each component, and the sentences about rows that are not read."""
    _, components = read_pasted("\n".join(lines))
    faults = [
        f"{row.row.number}: {issue.message}"
        for each in components
        for row in each.rows
        for issue in row.errors
    ]
    found = [
        (
            each.name,
            str(each.supports),
            each.amount,
            [(str(first), str(last), str(released)) for first, last, released in each.periods],
        )
        for each in components
    ]
    return found, faults


CORE = (
    "Flexible core",
    "01 02 03 04",
    Decimal(25_000),
    [("2026-07-01", "2026-09-30", "12500.00"), ("2026-10-01", "2026-12-31", "12500.00")],
)


@pytest.mark.parametrize(
    "lines",
    [
        (
            "Component\tCategories\tFrom\tTo\tReleased",
            "Flexible core\t01 02 03 04\t1/07/2026\t30/09/2026\t$12,500.00",
            "Flexible core\t01 02 03 04\t1/10/2026\t31/12/2026\t$12,500.00",
        ),
        (  # columns in another order, and cells that a table has joined
            "Start date\tEnd date\tAmount\tComponent name\tSupport categories",
            "1 Jul 2026\t30 Sep 2026\t12500.00\tFlexible core\t01; 02; 03; 04",
            "1 Oct 2026\t31 Dec 2026\t12500.00\t\t",
        ),
        (
            "Flexible core,01 02 03 04,2026-07-01,2026-09-30,$12,500.00",
            "Flexible core,01,02,03,04,2026-10-01,2026-12-31,12,500.00",
        ),
        (
            "Flexible core    01, 02, 03, 04    1 Jul 2026 – 30 Sep 2026    $ 12,500.00",
            "                 1 October 2026 to 31 December 2026    $12500.00",
        ),
        (
            "Budget   What for   Period   Funding",
            "Flexible core   01 + 02 + 03 + 04   1 Jul 2026   30 Sep 2026   $12,500.00",
            "Flexible core   1 Oct 2026   31 Dec 2026   $12,500.00",
        ),
    ],
)
def test_rows_are_read_with_tabs_commas_or_blanks_between_and_with_or_without_a_header(lines):
    assert read(*lines) == ([CORE], [])


def test_rows_need_no_name_where_they_say_what_is_paid_for_and_no_days_where_all_is_released_at_once():
    found, faults = read(
        "15 Improved Daily Living Skills\t1/7/2026\t30/6/2027\t$9,000",
        "Transport\t$1,000.00",
        "Bed,05,$70.00",
    )
    assert faults == []
    assert found == [
        (None, "15", Decimal(9_000), [("2026-07-01", "2027-06-30", "9000")]),
        (None, "02", Decimal(1_000), []),
        ("Bed", "05", Decimal(70), []),
    ]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("Core\t01\t1/7/2026\t$5", "has one day, 1/7/2026, where a period has its first and its last."),
        ("Core\t01\tsoon\t5", "has no days"),
        ("Core\t01\t1/7/2026\t30/9/2026\t5\t6\t7", "has 3 cells after its days"),
        ("Core\t01\t31/6/2026\t30/9/2026\t5", "must be a date that exists"),
        ("Core\t01\t1/7/2026\t9/30/2026\t5", "It has no month 30."),
        ("Core\t01\t1/7/2026\t30/9/2026\tfive", "must be a number"),
        ("Core\t01\t1/7/2026\t30/9/2026\t-5", "must be an amount from 0"),
        ("Core\t01\t1/7/2026\t30/9/2026\t0.005", "no parts of a cent"),
        ("Core\t01\t1/7/2026\t30/9/2026\t", "Released is missing"),
        ("Core\t01\t1/7/2026\t30/6/2026\t5", "ends on 30 Jun 2026, before it starts"),
        ("Core\tGardening\t1/7/2026\t30/9/2026\t5", "has “Gardening”, which is no number (1 to 21)"),
        ("\t\t1/7/2026\t30/9/2026\t5", "Say which component it is"),
    ],
)
def test_a_row_that_cannot_be_read_is_named_with_what_to_do(line, sentence):
    _, faults = read("Transport,02,1/7/2026,30/6/2027,100.00" if line[0] != "\t" else "", line)
    (fault,) = faults
    assert fault.startswith("2: ")
    assert sentence in fault
    assert "--" not in fault


def test_rows_of_a_component_that_contradict_one_another_are_named():
    _, faults = read(
        "Component,Categories,Amount,From,To,Released",
        "Core,01 02,100.00,1/7/2026,30/9/2026,50",
        "Core,01 03,90.00,1/7/2026,31/12/2026,50",
    )
    assert faults == [
        "3: Another row of Core has 100.00, this one 90.00.",
        "3: Another row of Core pays for 01 02, this for 01 03.",
        "3: A period of Core begins on this day in row 2 already.",
    ]


@pytest.mark.parametrize(
    ("text", "supports"),
    [
        ("01 02 3", "01 02 03"),
        ("1;2;2", "01 02"),
        ("15_056_0128_1_3", "15 15_056_0128_1_3"),
        ("05: Assistive Technology, 05_220613911_0105_1_2", "05 05_220613911_0105_1_2"),
        ("Transport, Assistance with Social, Economic & Community Participation, 21", "02 04 21"),
    ],
)
def test_supports_are_numbers_names_and_codes(text, supports):
    assert str(read_supports(text)) == supports


@pytest.mark.parametrize("text", ["0", "22", "Core", "99_056_0128_1_3", "15 Transport"])
def test_other_texts_are_no_supports(text):
    with pytest.raises(WireValueError):
        read_supports(text)


def test_endless_parts_cost_no_time():
    """Each part was tried together with all that follow it: 4,000 took three seconds."""
    began = time.process_time()
    assert str(read_supports("Transport, 1, " * 20_000)) == "02 01"
    with pytest.raises(WireValueError):
        read_supports("Core, " * 20_000)
    assert time.process_time() - began < 2


def test_endless_blanks_cost_no_time():
    """Each was tried as the end of the first day: 20,000 took twenty seconds."""
    began = time.process_time()
    periods, sentences = read_periods(f"1 Jul 2026 \ta{' ' * 20_000}b")
    assert (periods, len(sentences)) == ([], 1)
    periods, sentences = read_periods(f"1 Jul{', --' * 10_000} 2026\t5")
    assert (periods, len(sentences)) == ([], 1)
    assert time.process_time() - began < 2


def test_an_amount_has_cents():
    assert read_amount("$1,234.50") == Decimal("1234.50")


def test_what_is_longer_or_greater_than_a_component_holds_is_named():
    codes = " ".join(f"15_{number:03}_0128_1_3" for number in range(40))
    _, faults = read(f"Bed\t{codes}\t1/7/2026\t30/6/2027\t1", f"{'x' * 91}\t01\t1/7/2026\t30/6/2027\t1")
    assert "has codes of 639 characters; 600 are the most" in faults[0]
    assert "has 91 characters; 90 are the most" in faults[1]
    _, faults = read(*(f"Core,01,1/{month}/2026,28/{month}/2026,999999999999" for month in (7, 8)))
    assert faults == ["1: The periods release more than an amount can be."]


def test_a_line_of_periods_without_a_period_is_named():
    periods, sentences = read_periods("1/7/2026\t31/12/2026\t10.00\nA support\nTotal\t\t10.00")
    assert [released for _, _, released in periods] == [Decimal("10.00")]
    assert sentences


@given(st.text(alphabet="Core01 2/7-26,.$\t\n\0;–_JulyTransport()'\"#=", max_size=200))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_read_or_named(text):
    try:
        table, components = read_pasted(text)
    except ImportFileError:
        return
    for each in components:
        assert each.has_errors or (each.amount is not None or each.name or each.supports)
        for row in each.rows:
            assert all(issue.message for issue in row.errors)
            assert all(issue.column is None or issue.column < len(table.header) for issue in row.errors)
    read_periods(text)
