"""The texts that people write into cells, and what they mean."""

import contextlib
from decimal import Decimal

import pytest
from django.db import models
from hypothesis import given
from hypothesis import strategies as st

from apps.base.cell_texts import formula_restored, formula_safe
from apps.base.declaration import service
from apps.base.declaration.values import WireValueError
from apps.core.importing.cells import (
    boolean_cell,
    cell_reader,
    cleaned_and_restored,
    decimal_number,
    whole_number,
    without_mark,
)


def test_yes_and_no_are_read_in_many_words():
    assert [boolean_cell(word) for word in ("yes", "Y", "TRUE", "1", "no", "N", "false", "0")] == (
        [True] * 4 + [False] * 4
    )
    with pytest.raises(WireValueError, match="must be yes or no"):
        boolean_cell("perhaps")


def test_numbers_may_have_thousands_and_a_dollar_sign():
    assert whole_number("1,234") == 1234
    assert whole_number("7.0") == 7
    assert decimal_number("$1,234.50") == Decimal("1234.50")
    assert decimal_number("-0.05") == Decimal("-0.05")
    for text in ("1,23", "1.5", "one", "٣", "1e3"):
        with pytest.raises(WireValueError):
            whole_number(text)
    for text in ("1,23.4", "NaN", "1e3", "$"):
        with pytest.raises(WireValueError):
            decimal_number(text)
    with pytest.raises(WireValueError, match="too many digits"):
        whole_number("9" * 5_000)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("'1,234.50", "1234.50"), ("'$12.50", "12.50"), ("AUD 12.50", "12.50"), ("A$12.50", "12.50"),
        ("12.50 AUD", "12.50"), (".5", "0.5"), ("$ 12.50", "12.50"), ("(12.50)", "-12.50"),
        ("($1,012.50)", "-1012.50"),
        ("12.50-", "-12.50"), ("-$12.50", "-12.50"), ("$-12.50", "-12.50"), ("+12.50", "12.50"),
    ],
)  # fmt: skip
def test_numbers_have_the_forms_of_accounts(text, number):
    assert decimal_number(text) == Decimal(number)


@pytest.mark.parametrize(
    "text",
    [
        "12.50 CR",
        "12.50 DR",
        "(12.50",
        "12.50)",
        "-12.50-",
        "(-12.50)",
        "--1",
        "1.234,50",
        "12,50",
        ".",
        "()",
    ],
)
def test_what_may_be_another_number_is_refused(text):
    with pytest.raises(WireValueError, match="must be a number"):
        decimal_number(text)


@pytest.mark.parametrize("text", ["12.50 CR", "1,200.00dr", "$12 Cr."])
def test_a_credit_of_accounts_is_asked_for_a_minus(text):
    with pytest.raises(WireValueError) as refused:
        decimal_number(text)
    assert refused.value.sentence == (
        "must be a number: in place of CR and DR a minus, where it is taken off."
    )


@pytest.mark.parametrize(
    ("text", "left"),
    [("'0412", "0412"), ("’+61 4", "+61 4"), ("'(02) 9", "(02) 9"), ("'tis", "'tis"), ("'", "'")],
)
def test_an_apostrophe_before_a_number_is_none_of_its_signs(text, left):
    assert without_mark(text) == left


def test_a_choice_is_read_in_any_case_and_with_any_punctuation():
    title = cell_reader(service.get_service().by_path["contact"].type.properties["PersonalTitle"])
    assert [title(text) for text in ("Mr", "mr.", "MRS", " prof ".strip())] == ["Mr", "Mr", "Mrs", "Prof"]
    with pytest.raises(WireValueError, match="must be one of"):
        title("Sir")


def test_a_choice_is_read_in_the_words_of_the_back_office_and_yes_in_all_of_its_words():
    by_path = service.get_service().by_path
    line = by_path["claim"].type.navigations["LineItems"].type
    reason = cell_reader(line.properties["ClaimType"])
    assert reason("Report the agency asked for") == "AgencyRequiredReport"
    accepts = cell_reader(by_path["contact"].type.properties["AcceptsEmailContact"])
    assert [accepts(text) for text in ("TRUE", "y", "1", "no", "0", "unsubscribed")] == (
        ["Yes"] * 3 + ["No"] * 2 + ["Unsubscribed"]
    )
    with pytest.raises(WireValueError, match="must be one of"):
        accepts("x")


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("  Al\u00a0", "Al"),
        ("A\u00a0B", "A B"),
        ("\ufeffA\u200bl", "Al"),
        ("'+61 4", "+61 4"),
        ("'tis", "'tis"),
        ("\t=1", "=1"),
    ],
)
def test_what_nobody_sees_is_taken_off(text, clean):
    assert cleaned_and_restored(text) == clean


@pytest.mark.parametrize("text", ["=1+1", "+61", "-5", "@x", "\tx", "\rx", "'=x", "''-x"])
def test_a_text_that_looks_like_a_formula_survives_the_way_out_and_in(text):
    assert formula_safe(text) == f"'{text}"
    assert formula_restored(formula_safe(text)) == text


@pytest.mark.parametrize(
    ("value", "text"), [(None, ""), (True, "true"), (Decimal("-8.00"), "-8.00"), (-5, "-5")]
)
def test_numbers_are_no_formulas(value, text):
    assert formula_safe(value) == text


@pytest.mark.parametrize("text", ["it's", "'quoted'", "O'Brien", "'", ""])
def test_other_texts_stay_as_they_are(text):
    assert formula_safe(text) == formula_restored(text) == text


def test_every_type_of_the_service_has_a_reader():
    for found in service.get_service().entity_sets:
        for prop in found.type.properties.values():
            assert callable(cell_reader(prop)), prop.name
            assert isinstance(prop.field, models.Field)


#: Texts of cells: anything, and what looks like numbers, days and times.
texts = st.text(min_size=1) | st.text("0123456789.,-+/: $%()eETZ−\u00a0٣", min_size=1, max_size=30)


@given(text=texts)
def test_any_text_of_a_cell_is_a_value_or_refused(text):
    clean = cleaned_and_restored(text) or "-"
    for entity_set in service.get_service().entity_sets:
        for prop in entity_set.type.properties.values():
            with contextlib.suppress(WireValueError):
                assert cell_reader(prop)(clean) is not None


@given(value=st.decimals(-(10**11), 10**11, places=4))
def test_no_digit_of_a_number_is_lost_with_or_without_thousands(value):
    for text in (f"{value:f}", f"{value:,f}", f"{'-' if value < 0 else ''}${abs(value):,f}"):
        assert decimal_number(text) == value
