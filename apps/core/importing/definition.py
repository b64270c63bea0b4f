"""The parts of an import beyond the declaration of the interface: as an app defines it, as the user asks."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from apps.base.declaration.resource import Navigation, Property
from apps.base.drafts import Draft, Issue, Rule
from apps.core.importing.cells import Cleaner
from apps.core.importing.columns import CellIssue, RecordColumn


class ImportDefinition:
    """How a resource is imported.

    ``columns`` are those of which the app says more than the declaration of the resource does, which every
    other column follows from. ``match_fields`` name the columns by which rows find the records they change,
    the first that a row gives; the record's own key comes before them. A row that gives none of them is the
    record that equals it in every column. ``fields`` are members that files have and the interface does not,
    or only shows. ``folder`` is where the file is, for rows that name other files.

    Of a resource with a list (the lines of a claim) a row is one item, and adjacent rows that share what
    ``group_fields`` names are one record: the first of its combinations that the first row gives.
    """

    columns: ClassVar[Sequence[RecordColumn]] = ()
    #: Words that may stand before the headers of its own values: ``Participant first name``.
    record_words: ClassVar[Sequence[str]] = ()
    match_fields: ClassVar[Sequence[str]] = ()
    #: Columns by whose digits files may name a record, although they need not be unique.
    number_fields: ClassVar[Sequence[str]] = ()
    #: Columns by which, taken together, files name a record that has no code or number.
    descriptive_fields: ClassVar[Sequence[str]] = ()
    #: References that ``find_references`` finds, and the column that is at fault when it does not.
    found_references: ClassVar[Mapping[str, str]] = {}
    group_fields: ClassVar[Sequence[tuple[str, ...]]] = ()
    fields: ClassVar[Sequence[Property | Navigation]] = ()
    #: Attributes of references to records that are imported later: a name that is not found is a warning.
    later_references: ClassVar[Sequence[str]] = ()
    #: What corrects texts before they are read, by the attribute they give, and the attributes of birthdays:
    #: a year of two digits is not one to come. Forms have the same.
    cleaners: Mapping[str, Cleaner] = {}
    birthdays: ClassVar[Sequence[str]] = ()
    #: The values of new records whose rows do not give them, by the attribute: lists of others have no such
    #: column.
    assumed: ClassVar[Mapping[str, object]] = {}
    #: Whether files set the archive date: not where archiving has effects that a service must handle.
    sets_archive_date: ClassVar[bool] = True
    #: Rules whose findings are shown and keep nothing out, of services that check no warnings.
    warnings: ClassVar[Sequence[Rule]] = ()

    #: In place of the services that the resource declares.
    create: Callable[..., Any] | None = None
    update: Callable[..., Any] | None = None
    #: Sums that are restated when an import was undone.
    after_undo: Callable[[], object] | None = None
    folder: Path

    #: ``complete_values(values)``: fill in what a row leaves empty or spoilt, before its record is looked
    #: for; what was put right, by the attribute, as a warning about its cell.
    complete_values: Callable[[dict[str, Any]], Iterable[tuple[str, CellIssue]]] | None = None

    def explain_missing(self, attribute: str, cells: Mapping[str, str]) -> str:
        """A sentence on where a required value without a column may be, from a row's cells by header."""
        return ""

    def complete_drafts(self, drafts: Sequence[Draft]) -> None:
        """Fill in what follows from what a batch of drafts gives, before they are saved."""

    def find_warnings(self, drafts: Sequence[Draft]) -> Iterable[tuple[int, Issue]]:
        """Further warnings, found for a whole batch before it is saved: they keep nothing out either."""
        return ()

    def find_references(self, records: Sequence[Any], column: RecordColumn) -> None:
        """Give each ``ReadRecord`` the ``found_references`` that it does not name, by other values of it.

        Called when existing records are known; ``column`` is the one at fault.
        """

    def close(self) -> None:
        """Called when the import has ended, however it ended."""


@dataclass(frozen=True, slots=True)
class SavedMapping:
    """The mapping saved of earlier files, by the letters of a header; files need not have all of them.

    ``columns`` are ``{header: field}``, empty for a column that is left out; ``values`` are
    ``{header: {text: other text}}``.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """The user's choices for an import. ``column_map`` is that of ``--map``: ``{header: field}``.

    A column may be named by its index as well. ``value_map`` is what ``--value`` says, which texts a column's
    cells say in place of theirs: ``{header: {text: other text}}``.
    """

    column_map: Mapping[str | int, str] = field(default_factory=dict)
    value_map: Mapping[str | int, Mapping[str, str]] = field(default_factory=dict)
    saved_mapping: SavedMapping = SavedMapping()
    match: str | None = None
    errors: Path | None = None
    issues: Path | None = None
    encoding: str | None = None
    sheet: str | None = None
    header_row: int | None = None
    #: Whether days have the day before the month; ``None``: as each column shows, else as the settings say.
    day_first: bool | None = None
    updates: bool = True
    ignore_unknown: bool = False
    ignore_warnings: bool = False
    by_name: bool = False
    all_or_nothing: bool = False
    dry_run: bool = False
