"""The text of a cell as a member's value: the forms people write beyond those of the interface."""

import datetime as dt
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

from apps.base.cell_texts import formula_restored
from apps.base.declaration.schema import StructuralProperty
from apps.base.declaration.values import WireValueError, reader_of
from apps.core.table_files.tables import UNCALCULATED

CellReader = Callable[[str], Any]


class CleanedText(NamedTuple):
    """A text corrected before it is read, and the warning that tells the user so."""

    text: str
    code: str = ""
    message: str = ""


Cleaner = Callable[[str], CleanedText]

# Unusual spaces and invisible characters: web pages and spreadsheets leave them.
_SPACES = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]")

#: What spreadsheets show where a formula has no value.
ERROR_VALUES = {
    "#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NUM!", "#NULL!", "#SPILL!", "#CALC!", "#FIELD!",
    "#BLOCKED!", "#GETTING_DATA",
}  # fmt: skip

YES = {"yes", "y", "true", "t", "1"}
NO = {"no", "n", "false", "f", "0"}
_WHOLE = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.0+)?", re.ASCII)
#: With the signs of accounts: ``(12.00)`` and ``12.00-`` are below zero. ``12.00 CR`` is not read: whether
#: that is below zero depends on whose account it is.
_MONEY = re.compile(
    r"(?P<before>[+-]?|\()(?:AUD|AU?\$|\$)? ?(?P<inside>-?)"
    r"(?P<number>(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)(?: ?AUD)?(?P<after> ?-|\)|)",
    re.ASCII | re.IGNORECASE,
)
_SIGNS = {"", "+", "-", "()"}
_CREDIT = re.compile(r"\d ?[CD]R\.?$", re.ASCII | re.IGNORECASE)
#: The apostrophe, often one of a word processor, that lists keep before a number so that it stays a text.
_TEXT_MARK = re.compile(r"['’‘](?=[+(]?\$?\.?\d)", re.ASCII)
_PUNCTUATION = re.compile(r"[\W_]+")


def letters_of(text: str) -> str:
    """A text without case, blanks and punctuation: ``Date of birth`` is ``dateofbirth``."""
    return _PUNCTUATION.sub("", text).casefold()


def cleaned(text: str) -> str:
    """The text without surrounding white space and invisible characters."""
    if not text.isascii():
        text = _INVISIBLE.sub("", _SPACES.sub(" ", text))
    return text.strip()


def cleaned_and_restored(text: str) -> str:
    """The cleaned text, without the apostrophe that keeps spreadsheets from taking it for a formula."""
    text = cleaned(text)
    return formula_restored(text) if text[:1] == "'" else text


def without_mark(text: str) -> str:
    """A number, or a day, without the apostrophe before it: ``'0412 345 678``."""
    found = _TEXT_MARK.match(text)
    return text[found.end() :] if found else text


def is_same(existing: object, value: object) -> bool:
    """True when a record has what a cell says; white space around a text does not count: no cell has it."""
    if existing == value:
        return True
    if isinstance(existing, dt.datetime):
        # Python never calls the times of two zones equal that a clock change makes ambiguous.
        return isinstance(value, dt.datetime) and existing.astimezone(dt.UTC) == value
    if not isinstance(existing, str):
        return False
    return cleaned(existing) == (cleaned(value) if isinstance(value, str) else value or "")


def cell_reader(prop: StructuralProperty) -> CellReader:
    """The function that reads the property from a cleaned, non-empty text; raises ``WireValueError``.

    Days have the interface's spelling: ``DayColumn`` reads others.
    """
    read = reader_of(prop)
    if prop.choices:
        # In any case and with any punctuation, ``mr.`` is ``Mr``; also by the words of the back office.
        loose = {letters_of(str(label)): name for name, label in prop.field.flatchoices}
        loose |= {letters_of(name): name for name in prop.choices}
        if {"Yes", "No"} <= {*prop.choices}:
            loose = {**dict.fromkeys(YES, "Yes"), **dict.fromkeys(NO, "No"), **loose}
        return lambda text: read(loose.get(letters_of(text), text))
    kind = prop.edm.name
    if kind == "Edm.Boolean":
        return boolean_cell
    if kind in ("Edm.Int16", "Edm.Int32", "Edm.Int64"):
        return lambda text: read(whole_number(text))
    if kind == "Edm.Decimal":
        return lambda text: read(decimal_number(text))
    return read


def check_no_error_value(text: str) -> None:
    """``WireValueError`` for a cell that shows a formula's error, or lost its formula's value."""
    if text == UNCALCULATED:
        sentence = (
            "is a formula without a stored value; open the file in a spreadsheet, save it, and import that."
        )
        raise WireValueError("FormulaError", sentence)
    if text in ERROR_VALUES:
        raise WireValueError("FormulaError", "is the error of a formula; correct it, or empty the cell.")


def boolean_cell(text: str) -> bool:
    word = text.casefold()
    if word in YES:
        return True
    if word in NO:
        return False
    raise WireValueError("WrongType", "must be yes or no.")


def whole_number(text: str) -> Any:
    text = without_mark(text)
    if not _WHOLE.fullmatch(text):
        raise WireValueError("InvalidNumber", "must be a whole number.")
    digits = text.replace(",", "").partition(".")[0]
    if len(digits) > 20:
        raise WireValueError("OutOfRange", "has too many digits.")
    return int(digits)


def decimal_number(text: str) -> Decimal:
    """A decimal, with or without thousands, a dollar sign and the signs of accounts."""
    found = _MONEY.fullmatch(without_mark(text))
    sign = "" if found is None else "".join(found.group("before", "inside", "after")).replace(" ", "")
    if found is None or sign not in _SIGNS:
        # Of an invoice a credit is taken off; of a statement of the supplier's it is what was paid.
        how = ": in place of CR and DR a minus, where it is taken off" if _CREDIT.search(text) else ""
        raise WireValueError("InvalidNumber", f"must be a number{how}.")
    number = Decimal(found["number"].replace(",", ""))
    return -number if sign in ("-", "()") else number
