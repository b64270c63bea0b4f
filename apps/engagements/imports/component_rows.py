"""Rows of components and their funding periods, one period to a row: of a file, or pasted as text.

Both are a ``Table`` of the same columns, so a row is read alike wherever it comes from.
"""

import csv
import datetime as dt
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from apps.base.declaration.values import WireValueError, parse_date
from apps.core.importing.cells import cleaned, decimal_number, letters_of
from apps.core.importing.columns import ImportColumn, day_columns
from apps.core.importing.days import month_number, share_order
from apps.core.importing.fixed_columns import FoundColumns, find_columns, read_row
from apps.core.importing.report import RowIssue
from apps.core.models import Subscriber
from apps.core.table_files.tables import ImportFileError, Row, Table
from apps.engagements.choices import CATEGORIES, LAST_CATEGORY, ManagementType
from apps.engagements.models import ZERO, CategoryBudget

#: The most characters that a name has, and all codes of stated supports together.
_FIELDS: Any = CategoryBudget._meta
COMPONENT_NAME: int = _FIELDS.get_field("component_name").max_length
STATED_SUPPORTS: int = _FIELDS.get_field("stated_items").max_length
#: The most that one amount can be: what the column holds.
MAX_AMOUNT = Decimal("999999999999.99")
#: Rows of a pasted text; a plan has some dozens.
MAX_PASTED = 1_000

# --- cells ----------------------------------------------------------------------------------------------


class Supports(NamedTuple):
    """What a component pays for: categories by their numbers, stated supports by their codes."""

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


def read_supports(text: str) -> Supports:
    """The categories and codes in a text: ``01 02 03``, ``15 Improved Daily Living Skills``, ``Transport``,
    ``15_056_0128_1_3``; several with blanks, commas, semicolons or + between.

    A stated support without a category is of that of its code. ``WireValueError`` for anything else.
    """
    categories: list[int] = []
    codes: list[str] = []
    parts = [part.strip() for part in re.split(r"[;,+|\n]", text) if part.strip()]
    while parts:
        words = parts[0].split()
        if all(_CODE.fullmatch(word) or _CATEGORY.fullmatch(word) for word in words):
            codes += [word.upper() for word in words if "_" in word]
            categories += [int(word) for word in words if "_" not in word]
            del parts[0]
            continue
        number, length = named_category(parts)
        categories.append(number)
        del parts[:length]
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
    amount = decimal_number(text.replace("$ ", "$").removesuffix(" AUD"))
    if amount < 0 or amount > MAX_AMOUNT:
        raise WireValueError("OutOfRange", "must be an amount from 0.")
    if amount != amount.quantize(Decimal("0.01")):
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

# --- a pasted text --------------------------------------------------------------------------------------

_DAY = re.compile(
    r"(?:\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}|\d{4}[-/.]\d{1,2}[-/.]\d{1,2}"
    r"|\d{1,2}(?:st|nd|rd|th)?[ -]?(?P<month>[A-Za-z]{3,9})[ ,.-]*\d{2,4})",
    re.ASCII,
)
_TWO_DAYS = re.compile(r"(.+?)(?: *[–—] *| +- +| +to +| +until +)(.+)")
_START_OF_AMOUNT = re.compile(r"\$? ?\d{1,3}")
_REST_OF_AMOUNT = re.compile(r"\d{3}(?:\.\d+)?")
NO_HEADER = ("component", "categories", "period_from", "period_to", "released", "amount")


def is_day(text: str) -> bool:
    """True for what is meant as a day, whether or not it exists."""
    found = _DAY.fullmatch(text)
    return found is not None and (found["month"] is None or month_number(found["month"]) > 0)


def holds_day(text: str) -> bool:
    """True for a day, or for two in one cell."""
    pair = _TWO_DAYS.fullmatch(text)
    return is_day(text) or (pair is not None and is_day(pair[1]) and is_day(pair[2]))


class PastedTable(Table):
    """Rows of a pasted text, with the header that it has, or that of ``NO_HEADER``.

    Cells are apart by tabs, by several blanks, or by commas. Without a header the days show which cell is
    which: the name and the supports stand before them, the amount after. A row without a name is of the
    component before it, as in tables whose cells are joined.
    """

    row_word = "line"
    has_cell_addresses = False

    def __init__(self, text: str) -> None:
        super().__init__(Path("pasted"))
        lines = [(number, split_line(line)) for number, line in enumerate(text.splitlines(), start=1)]
        self.lines = [(number, cells) for number, cells in lines if any(cells)]
        first = self.lines[0][1] if self.lines else []
        has_names = len(first) > 1 and not any(re.search(r"\d", cell) for cell in first)
        found = self.names_of(first) if has_names else frozenset()
        has_days = any(map(holds_day, (cell for _, cells in self.lines for cell in cells)))
        #: Whether the first line names the columns. Where it does not name those of days, the days show them.
        self.has_header = {"period_from", "period_to"} <= found or ("amount" in found and not has_days)
        self.header = first if self.has_header else list(NO_HEADER)
        self.lines = self.lines[1:] if has_names and (self.has_header or len(self.lines) > 1) else self.lines

    def names_of(self, header: Sequence[str]) -> frozenset[str]:
        """The columns that a line names; none where two have one name."""
        table = Table(self.path)
        table.header = header
        try:
            return frozenset(find_columns(table, component_columns()).by_name)
        except ImportFileError:
            return frozenset()

    def rows(self) -> Iterator[Row]:
        previous: Sequence[str] = ()
        identity = [at for at, header in enumerate(self.header) if letters_of(header) in IDENTITY]
        for number, cells in self.lines:
            row = Row(number, *self.cells_of(cells))
            if row.defect is None:
                if previous and not any(row.cells[index] for index in identity):
                    given = dict(zip(identity, (previous[index] for index in identity), strict=True))
                    row = row._replace(cells=[given.get(at, cell) for at, cell in enumerate(row.cells)])
                previous = row.cells
            yield row

    def cells_of(self, cells: list[str]) -> tuple[list[str], str | None]:
        """The cells of the header's columns, and what is wrong with the line."""
        if not self.has_header:
            return cells_by_days(cells)
        width = len(self.header)
        cells = cells if len(cells) <= width else joined_amounts(cells)
        while len(cells) > width and not cells[-1]:
            cells.pop()
        if len(cells) > width:
            return (
                cells,
                f"has {len(cells)} cells where the header has {width}: copy it again, or put tabs between.",
            )
        return [*cells, *[""] * (width - len(cells))], None


def identity_headers() -> frozenset[str]:
    """The headers of the columns that name a component."""
    names = ("component", "categories", "stated_supports")
    columns = [each for each in component_columns() if each.name in names]
    return frozenset(letters_of(text) for each in columns for text in (each.name, *each.headers))


IDENTITY = identity_headers()


def split_line(line: str) -> list[str]:
    """The cells of a line: by tabs where it has one, else by several blanks, else by commas."""
    if "\t" in line:
        cells = line.split("\t")
    else:
        cells = re.split(r"\s{2,}", line.strip())
        by_commas = next(csv.reader([line.strip()], skipinitialspace=True), [])
        if len(cells) < 2 or (len(cells) == 2 and len(by_commas) > 2):
            cells = by_commas
    return [cleaned(cell).strip('"') for cell in cells]


def joined_amounts(cells: Sequence[str]) -> list[str]:
    """Cells in which ``$12`` and ``500.00``, which a comma of thousands has parted, are one again."""
    found: list[str] = []
    for cell in cells:
        before = found[-1].replace(",", "") if found else ""
        is_amount = _START_OF_AMOUNT.fullmatch(found[-1].partition(",")[0]) if found else None
        if is_amount and "." not in before and _REST_OF_AMOUNT.fullmatch(cell):
            found[-1] += f",{cell}"
        else:
            found.append(cell)
    return found


def cells_by_days(cells: Sequence[str]) -> tuple[list[str], str | None]:
    """The cells of a line without a header, in the order of ``NO_HEADER``, and what is wrong with it."""
    split: list[str] = []
    for cell in cells:
        pair = _TWO_DAYS.fullmatch(cell) if holds_day(cell) and not is_day(cell) else None
        split += [pair[1], pair[2]] if pair else [cell]
    at = [index for index, cell in enumerate(split) if is_day(cell)]
    if not at:
        before, days, after = split, ["", ""], list[str]()
        for index, cell in enumerate(split[1:], start=1):
            if "$" in cell or re.fullmatch(r"[\d, ]+\.\d\d", cell):
                before, after = split[:index], joined_amounts(split[index:])
                break
        amounts = [cell for cell in after if cell]
        if len(amounts) != 1:
            return split, (
                "has no days: a row is a component, its categories or stated supports, from, to and released."
            )
        released, amount = "", amounts[0]
    elif len(at) == 1:
        return split, f"has one day, {split[at[0]]}, where a period has its first and its last."
    elif len(at) > 2:
        return split, f"has {len(at)} days where a period has two: write each period in a row of its own."
    else:
        before, days = split[: at[0]], [split[at[0]], split[at[1]]]
        amounts = [cell for cell in joined_amounts(split[at[1] + 1 :]) if cell]
        if len(amounts) > 1:
            return split, f"has {len(amounts)} cells after its days where it has one: what is released."
        released, amount = amounts[0] if amounts else "", ""
    before = [cell for cell in before if cell]
    name, supports = (before[0], before[1:]) if before else ("", [])
    if len(before) == 1 and reads_as_supports(name):
        name, supports = "", [name]
    return [name, ", ".join(supports), *days, released, amount], None


def reads_as_supports(text: str) -> bool:
    try:
        read_supports(text)
    except WireValueError:
        return False
    return True


# --- rows -----------------------------------------------------------------------------------------------


@dataclass(eq=False)
class ComponentRow:
    """A row: the values of its columns, by name, and what is wrong with it."""

    row: Row
    columns: Mapping[str, ImportColumn]
    values: dict[str, Any] = field(default_factory=dict)
    errors: list[RowIssue] = field(default_factory=list)
    warnings: list[RowIssue] = field(default_factory=list)

    def add_error(self, column: str, code: str, message: str) -> None:
        self.errors.append(self.issue(column, code, message))

    def issue(self, column: str, code: str, message: str, is_warning: bool = False) -> RowIssue:
        found = self.columns.get(column)
        return RowIssue(self.row, None if found is None else found.index, code, message, is_warning)

    @property
    def supports(self) -> Supports | None:
        """What the categories and the stated supports of the row say together."""
        categories, stated = self.values.get("categories"), self.values.get("stated_supports")
        if categories and stated:
            return Supports(categories.categories, (*categories.codes, *stated.codes))
        return categories or stated

    @property
    def name_and_supports(self) -> tuple[str, object]:
        """What rows of one component share: the name, of one without a name what it pays for."""
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
    line = ComponentRow(row, columns, values)
    for column, found in issues:
        issue = line.issue(column.name, found.code, found.about("It").message, found.is_warning)
        issue = RowIssue(row, column.index, *(issue.code, issue.message, issue.is_warning))
        (line.warnings if found.is_warning else line.errors).append(issue)
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


def group_rows(rows: Iterable[ComponentRow], key: Any = lambda row: None) -> list[ReadComponent]:
    """Components with the rows of each, in the order of the first; rows of one ``key`` are of one plan."""
    groups: dict[object, list[ComponentRow]] = {}
    for row in rows:
        groups.setdefault((key(row), row.name_and_supports), []).append(row)
    return [component_of(group) for group in groups.values()]


def component_of(rows: list[ComponentRow]) -> ReadComponent:
    """What the rows give their component; a row that says another value than one before it is named."""
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


# --- text -----------------------------------------------------------------------------------------------

_ADVICE_FOR_FILES = re.compile(r"[;:,] [^;:]*--[a-z-]+[^.]*(?=\.)")


def read_pasted(text: str) -> tuple[PastedTable, list[ReadComponent]]:
    """The components in a pasted text; days are read in the organisation's order."""
    table = PastedTable(text)
    columns = find_component_columns(table, Subscriber.current().day_first).by_name
    rows = list(table.rows())
    if len(rows) > MAX_PASTED:
        raise ImportFileError(
            f"There are {len(rows):,} rows, and {MAX_PASTED:,} are the most that are read: import them."
        )
    days = day_columns(columns.values())
    for row in rows:
        for index, column in days.items() if row.defect is None else ():
            column.observe(row.cells[index])
    share_order(days.values())
    found = read_component_rows(rows, columns)
    for line in found:
        line.errors = [each if "--" not in each.message else without_advice(each) for each in line.errors]
    return table, group_rows(found)


def read_periods(text: str) -> tuple[list[tuple[dt.date, dt.date, Decimal]], list[str]]:
    """The periods of one component in a text, a line each, and a sentence about each line that is none."""
    table = PastedTable(text)
    columns = find_component_columns(table, Subscriber.current().day_first).by_name
    periods, sentences = [], []
    for row in table.rows():
        named = row if row.defect is not None else row._replace(cells=["-", *row.cells[1:]])
        line = read_component_row(named, columns)
        sentences += [f"Line {row.number}: {without_advice(issue).message}" for issue in line.errors]
        if line.period is not None:
            periods.append(line.period)
        elif not line.errors:
            sentences.append(f"Line {row.number}: A period has from, to and released.")
    return sorted(periods), sentences


def without_advice(issue: RowIssue) -> RowIssue:
    """The issue without the options of a command, which a page has not."""
    return RowIssue(issue.row, issue.column, issue.code, _ADVICE_FOR_FILES.sub("", issue.message))
