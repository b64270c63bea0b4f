"""A record on its way from the rows of a file to a service, with every issue found so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from apps.base.drafts import Draft
from apps.core.importing.columns import CellIssue, RecordColumn
from apps.core.importing.report import RowIssue
from apps.core.table_files.tables import Row


@dataclass(eq=False, slots=True)
class RecordRows:
    """The adjacent rows that are one record. Of one that is ``too_long`` there may be more.

    ``key`` is what they share: the number of the combination of members that identifies it, and their texts.
    """

    rows: list[Row]
    key: tuple[int, tuple[Any, ...]] | None = None
    too_long: bool = False


@dataclass(eq=False, slots=True)
class ExistingRecord:
    """The values that an existing record, or an item of its list, has in the columns of the file."""

    key: Any
    values: dict[str, Any]
    items: Sequence[ExistingRecord] = ()


@dataclass(eq=False, slots=True)
class ReadRecord:
    """A record, or an item of a record's list, as its rows give it; ``row`` is the first of them.

    ``values`` are by attribute, ``None`` for an empty cell; what could not be read is in ``invalid``. ``key``
    is its own key. ``existing`` is what it was found to be, ``draft`` is what the service gets.
    Most records have no issue: the empty collections are shared and replaced, never changed.
    """

    row: Row
    values: dict[str, Any]
    key: Any = None
    invalid: frozenset[str] = frozenset()
    errors: tuple[RowIssue, ...] = ()
    warnings: tuple[RowIssue, ...] = ()
    source: RecordRows | None = None
    items: Sequence[ReadRecord] = ()
    existing: ExistingRecord | None = None
    draft: Draft | None = None

    @property
    def rows(self) -> Sequence[Row]:
        return self.source.rows if self.source is not None else [self.row]

    @property
    def is_rejected(self) -> bool:
        return bool(self.errors) or (bool(self.items) and any(item.errors for item in self.items))

    def sorted_values(self) -> list[tuple[str, str]]:
        """The values as texts in one order: those of equal records are equal."""
        return sorted((name, repr(value)) for name, value in self.values.items())

    def reject(self, column: RecordColumn | None, code: str, message: str) -> None:
        """Add an error; what the column gives is invalid."""
        index = None if column is None else column.index
        self.errors += (RowIssue(self.row, index, code, message),)
        if column is not None:
            self.invalid |= {column.attribute}
            self.values.pop(column.attribute, None)

    def note(self, column: RecordColumn, issue: CellIssue) -> None:
        """Add the issue of a cell."""
        if issue.is_warning:
            self.warnings += (RowIssue(self.row, column.index, issue.code, issue.message, is_warning=True),)
        else:
            self.reject(column, issue.code, issue.message)

    def all_errors(self) -> list[RowIssue]:
        """The errors of all rows."""
        return [error for read in (self, *self.items) for error in read.errors]

    def all_warnings(self) -> list[RowIssue]:
        """The warnings of all rows, without those of cells that have an error."""
        if not self.warnings and not self.items:
            return []
        faulty = {(id(error.row), error.column) for error in self.all_errors()}
        warnings = [warning for read in (self, *self.items) for warning in read.warnings]
        return [warning for warning in warnings if (id(warning.row), warning.column) not in faulty]
