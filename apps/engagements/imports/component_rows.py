"""Rows of components and their funding periods, one period to a row: of a file, or pasted as text.

Both are a ``Table`` of the same columns, so a row is read alike wherever it comes from.
"""

import datetime as dt
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

from apps.base.declaration.values import WireValueError, parse_date
from apps.base.money import CENT, ZERO
from apps.core.importing.cells import decimal_number, letters_of
from apps.core.importing.columns import ImportColumn
from apps.core.importing.fixed_columns import FixedRow, FoundColumns, find_columns, read_row
from apps.core.importing.report import RowIssue
from apps.core.table_files.tables import Row, Table
from apps.engagements.choices import CATEGORIES, LAST_CATEGORY, ManagementType
from apps.engagements.models import CategoryBudget

#: The most characters that a name has, and all codes of stated supports together.
_FIELDS: Any = CategoryBudget._meta
COMPONENT_NAME: int = _FIELDS.get_field("component_name").max_length
STATED_SUPPORTS: int = _FIELDS.get_field("stated_items").max_length
#: The most that one amount can be: what the column holds.
MAX_AMOUNT = Decimal("999999999999.99")

# --- cells ----------------------------------------------------------------------------------------------


class Supports(NamedTuple):
    """The supports of a component: categories by their numbers, stated supports by their codes."""

    categories: tuple[int, ...]
    codes: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join([*(f"{number:02}" for number in self.categories), *self.codes])

    @property
    def compared(self) -> tuple[frozenset[int], frozenset[str]]:
        """The same for all orders and spellings: of stated supports the codes alone."""
        codes = frozenset(code.casefold() for code in self.codes)
        return (frozenset() if codes else frozenset(self.categories)), codes


_CODE = re.compile(r"\d\d_[0-9A-Z]+(?:_[0-9A-Z]+)*", re.ASCII | re.IGNORECASE)
_CATEGORY = re.compile(r"0?\d|1\d|2[01]", re.ASCII)
_NUMBER_BEFORE_NAME = re.compile(r"(\d{1,2})[ .:–-]+(?=[A-Za-z])", re.ASCII)
_NAMES = {letters_of(name): number for number, name, _ in CATEGORIES}
#: Into which the longest name falls where its commas part it: more are not tried together.
MOST_PARTS = max(name.count(",") for _, name, _ in CATEGORIES) + 1


def read_supports(text: str) -> Supports:
    """The categories and codes in a text: ``01 02 03``, ``15 Improved Daily Living Skills``, ``Transport``,
    ``15_056_0128_1_3``; several with blanks, commas, semicolons or + between.

    A stated support without a category is of that of its code. ``WireValueError`` for anything else.
    """
    categories: list[int] = []
    codes: list[str] = []
    parts = [part.strip() for part in re.split(r"[;,+|\n]", text) if part.strip()]
    start = 0
    while start < len(parts):
        words = parts[start].split()
        if all(_CODE.fullmatch(word) or _CATEGORY.fullmatch(word) for word in words):
            codes += [word.upper() for word in words if "_" in word]
            categories += [int(word) for word in words if "_" not in word]
            start += 1
            continue
        number, length = named_category(parts[start : start + MOST_PARTS])
        categories.append(number)
        start += length
    for number in categories:
        if not 1 <= number <= LAST_CATEGORY:
            sentence = f"has {number}, which is no category: they are from 1 to {LAST_CATEGORY}."
            raise WireValueError("OutOfRange", sentence)
    if codes and not categories:
        categories = [int(codes[0][:2])]
        if not 1 <= categories[0] <= LAST_CATEGORY:
            sentence = f"has {codes[0]}; codes begin with the number of their category."
            raise WireValueError("OutOfRange", sentence)
    return checked_length(Supports(tuple(dict.fromkeys(categories)), tuple(dict.fromkeys(codes))))


def checked_length(supports: Supports) -> Supports:
    """The same; ``WireValueError`` where there are more codes than a component holds."""
    length = len(" ".join(supports.codes))
    if length > STATED_SUPPORTS:
        sentence = f"has codes of {length} characters; {STATED_SUPPORTS} are the most of one component."
        raise WireValueError("TooLong", sentence)
    return supports


def named_category(parts: Sequence[str]) -> tuple[int, int]:
    """The category that the first parts name, with or without its number, and how many: names have commas."""
    for length in range(len(parts), 0, -1):
        name = ",".join(parts[:length])
        before = _NUMBER_BEFORE_NAME.match(name)
        number = _NAMES.get(letters_of(name[before.end() if before else 0 :].replace("&", "and")))
        if number and before and int(before[1]) != number:
            sentence = f"has “{name[:60]}”, but that name is of category {number:02}."
            raise WireValueError("InvalidCategory", sentence)
        if number:
            return number, length
    if found := _NUMBER_BEFORE_NAME.match(parts[0]):
        return int(found[1]), 1
    raise WireValueError(
        "InvalidCategory",
        f"has “{parts[0][:60]}”, which is no number (1 to {LAST_CATEGORY}) or name of a support category and"
        " no code such as 15_056_0128_1_3.",
    )


_MANAGEMENT = {name.casefold(): name for name in ManagementType.values}
_MANAGEMENT |= {"planmanager": "Plan", "ndia": "Agency", "participant": "Self"}


def read_management(text: str) -> str:
    """``Plan managed`` and ``plan-managed`` are Plan, ``NDIA managed`` is Agency."""
    word = letters_of(text)
    word = word if word in _MANAGEMENT else word.removesuffix("managed")
    if word not in _MANAGEMENT:
        raise WireValueError("NotAChoice", "must be Plan, Agency or Self.")
    return _MANAGEMENT[word]


def read_amount(text: str) -> Decimal:
    """An amount of whole cents that is not negative: ``$1,616.26``."""
    amount = decimal_number(text)
    if amount < 0 or amount > MAX_AMOUNT:
        raise WireValueError("OutOfRange", "must be an amount from 0.")
    if amount != amount.quantize(CENT):
        raise WireValueError("OutOfRange", "must have no parts of a cent.")
    return amount


def text_of(length: int) -> Any:
    """The function that reads a text of at most so many characters."""

    def read(text: str) -> str:
        text = " ".join(text.replace("\0", " ").split())
        if len(text) > length:
            raise WireValueError("TooLong", f"has {len(text)} characters; {length} are the most.")
        return text

    return read


def component_columns() -> list[ImportColumn]:
    """The columns that a file may have, in any order."""
    return [
        ImportColumn(
            "participant",
            ("NDIS number", "Scheme number", "Participant number", "Participant code", "Unique code"),
        ),
        ImportColumn("plan_start", ("Plan start date", "Plan from"), read=parse_date, is_day=True),
        ImportColumn(
            "component",
            ("Component name", "Funding component", "Budget name", "Name"),
            read=text_of(COMPONENT_NAME),
        ),
        ImportColumn(
            "categories",
            (
                *("Category", "Support category", "Support categories", "Pays for", "Categories covered"),
                *("Categories or stated items", "Categories or stated supports", "Supports"),
            ),
            read=read_supports,
        ),
        ImportColumn(
            "stated_supports",
            ("Stated support", "Stated items", "Stated item", "Support item", "Support items"),
            read=read_supports,
        ),
        ImportColumn("managed_by", ("Management type", "Management", "Managed"), read=read_management),
        ImportColumn(
            "amount", ("Component amount", "Budget", "Component budget", "Total", "Funding"), read=read_amount
        ),
        ImportColumn("spent_elsewhere", ("Used elsewhere",), read=read_amount),
        ImportColumn(
            "period_from",
            ("From", "Period start", "Start date", "Start", "First day", "Period start date"),
            read=parse_date,
            is_day=True,
        ),
        ImportColumn(
            "period_to",
            ("To", "Period end", "End date", "End", "Last day", "Until", "Period end date"),
            read=parse_date,
            is_day=True,
        ),
        ImportColumn(
            "released", ("Amount released", "Release", "Period amount", "Period funding"), read=read_amount
        ),
    ]


#: What a person calls the columns, for messages about what lacks.
LABELS = {"period_from": "From", "period_to": "To", "released": "Released", "categories": "Categories"}

# --- rows -----------------------------------------------------------------------------------------------


@dataclass(eq=False)
class ComponentRow(FixedRow):
    """A row: the values of its columns, by name, and what is wrong with it."""

    values: dict[str, Any] = field(default_factory=dict)

    @property
    def supports(self) -> Supports | None:
        """The supports that the categories and the stated supports of the row say together."""
        categories, stated = self.values.get("categories"), self.values.get("stated_supports")
        if categories and stated:
            return Supports(categories.categories, (*categories.codes, *stated.codes))
        return categories or stated

    @property
    def name_and_supports(self) -> tuple[str, object]:
        """The key that rows of one component share: the name, of one without a name what it pays for."""
        name = letters_of(self.values.get("component") or "")
        return name, None if name or self.supports is None else self.supports.compared

    @property
    def period(self) -> tuple[dt.date, dt.date, Decimal] | None:
        values = (self.values.get("period_from"), self.values.get("period_to"), self.values.get("released"))
        return None if None in values else values  # type: ignore[return-value]


@dataclass(eq=False)
class ReadComponent:
    """The rows of one component, and what they give it."""

    rows: list[ComponentRow]
    name: str | None = None
    supports: Supports | None = None
    managed_by: str | None = None
    amount: Decimal | None = None
    spent_elsewhere: Decimal | None = None
    periods: list[tuple[dt.date, dt.date, Decimal]] = field(default_factory=list)

    @property
    def has_errors(self) -> bool:
        return any(row.errors for row in self.rows)

    @property
    def label(self) -> str:
        return self.name or str(self.supports or "")

    @property
    def released(self) -> Decimal:
        return sum((released for _, _, released in self.periods), ZERO)

    def add_error(self, column: str, code: str, message: str, at: int = 0) -> None:
        self.rows[at].add_error(column, code, message)


def find_component_columns(table: Table, day_first: bool | None = None) -> FoundColumns:
    """The columns of a file or a text. An ``amount`` beside days alone is what is released."""
    found = find_columns(table, component_columns(), day_first)
    columns = dict(found.by_name)
    if "period_from" in columns and "released" not in columns and "amount" in columns:
        columns["released"] = columns.pop("amount")
    return FoundColumns(columns, found.unknown, found.missing)


def read_component_rows(rows: Iterable[Row], columns: Mapping[str, ImportColumn]) -> list[ComponentRow]:
    """Every row with its values; what cannot be read is named. Columns of days were observed before."""
    return [read_component_row(row, columns) for row in rows]


def read_component_row(row: Row, columns: Mapping[str, ImportColumn]) -> ComponentRow:
    if row.defect is not None:
        line = ComponentRow(row, columns)
        line.errors.append(RowIssue(row, None, "InvalidRow", f"It {row.defect}"))
        return line
    values, issues = read_row(row, columns)
    line = ComponentRow(row, columns, values=values)
    line.add_cell_issues(issues, line.warnings)
    failed = {column.name for column, found in issues if not found.is_warning}
    given = {name for name in ("period_from", "period_to", "released") if values.get(name) is not None}
    for name in ("period_from", "period_to", "released"):
        if given and name not in given and name not in failed:
            line.add_error(
                name, "Required", f"{LABELS[name]} is missing: a period has from, to and released."
            )
    first, last = values.get("period_from"), values.get("period_to")
    if first and last and last < first:
        line.add_error("period_to", "OutOfOrder", f"The period ends on {last:%d %b %Y}, before it starts.")
    try:
        checked_length(line.supports or Supports((), ()))
    except WireValueError as error:
        line.add_error("stated_supports", error.code, f"It {error.sentence}")
    is_named = (
        values.get("component") or line.supports or failed & {"component", "categories", "stated_supports"}
    )
    if not is_named:
        line.add_error(
            "component", "Required", "Say which component it is: by its name, or by what it pays for."
        )
    return line


def group_rows(rows: Iterable[ComponentRow]) -> list[ReadComponent]:
    """Components of one plan with the rows of each, in the order of the first."""
    groups: dict[object, list[ComponentRow]] = {}
    for row in rows:
        groups.setdefault(row.name_and_supports, []).append(row)
    return [component_of(group) for group in groups.values()]


def component_of(rows: list[ComponentRow]) -> ReadComponent:
    """The values that rows give their component; a row that says another than one before it is named."""
    component = ReadComponent(rows)
    names = {
        "component": "name",
        "managed_by": "managed_by",
        "amount": "amount",
        "spent_elsewhere": "spent_elsewhere",
    }
    for row in rows:
        for column, attribute in names.items():
            value, known = row.values.get(column), getattr(component, attribute)
            if value is not None and known is None:
                setattr(component, attribute, value)
            elif value not in (None, known) and column != "component":
                row.add_error(
                    column, "Differs", f"Another row of {component.label} has {known}, this one {value}."
                )
        if row.supports is None:
            continue
        if component.supports is None:
            component.supports = row.supports
        elif component.supports.compared != row.supports.compared:
            row.add_error(
                "categories",
                "Differs",
                f"Another row of {component.label} pays for {component.supports}, this for {row.supports}.",
            )
    first_days: dict[dt.date, int] = {}
    for row in rows:
        if row.period is None:
            continue
        number = first_days.setdefault(row.period[0], row.row.number)
        if number != row.row.number:
            row.add_error(
                "period_from",
                "NotUnique",
                f"A period of {component.label} begins on this day in row {number:,} already.",
            )
        component.periods.append(row.period)
    component.periods.sort()
    if component.amount is None and component.periods:
        component.amount = component.released
        if component.released > MAX_AMOUNT:
            component.add_error("released", "OutOfRange", "The periods release more than an amount can be.")
    return component
