"""The parts of an import beyond the declaration of the interface: as an app defines it, as the user asks."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from apps.base.declaration.resource import Navigation, Property
from apps.base.drafts import Draft, Issue, Rule


@dataclass(frozen=True, slots=True)
class CleanedText:
    """A text corrected before it is read, and the warning that tells the user so."""

    text: str
    code: str = ""
    message: str = ""


Cleaner = Callable[[str], CleanedText]


class RelatedColumn:
    """A column of what is stored beside a record, and given to its service with the draft as ``attribute``.

    A cell has it as JSON, as the interface shows it; an empty cell leaves it as it is.
    """

    name: ClassVar[str]
    attribute: ClassVar[str]

    def __init__(self, model: Any) -> None:
        self.model = model

    #: The value of a cell; raises ``WireValueError`` when it has none.
    convert: Callable[[str], Any]
    #: The values of existing records, by key.
    load: Callable[[Sequence[Any]], Mapping[Any, Any]]
    #: Whether an existing record has what a cell gives.
    is_same: Callable[[Any, Any], bool]


class ImportDefinition:
    """How a resource is imported.

    ``header_synonyms`` are other headers of a member (``{"LastName": ("Surname",)}``), compared without case,
    blanks and punctuation. ``match_fields`` name the members by which rows find the records they change, the
    first that a row gives; the record's own key comes before them. A row that gives none of them is the
    record that equals it in every column. ``fields`` are members that files have and the interface does not,
    or only shows. ``folder`` is where the file is, for rows that name other files.

    Of a resource with a list (the lines of a claim) a row is one item, and adjacent rows that share what
    ``group_fields`` names are one record: the first of its combinations that the first row gives.
    """

    header_synonyms: ClassVar[Mapping[str, Sequence[str]]] = {}
    match_fields: ClassVar[Sequence[str]] = ()
    #: Match fields that identify a record only together with another member: a reference with its provider.
    match_scopes: ClassVar[Mapping[str, str]] = {}
    #: Members by whose digits files may name a record, although they need not be unique.
    number_fields: ClassVar[Sequence[str]] = ()
    #: Members by which, taken together, files name a record that has no code or number.
    descriptive_fields: ClassVar[Sequence[str]] = ()
    #: References that ``find_references`` finds, and the member whose column is at fault when it does not.
    found_references: ClassVar[Mapping[str, str]] = {}
    group_fields: ClassVar[Sequence[tuple[str, ...]]] = ()
    #: Members that the service fills in: an empty cell leaves an existing record's value as it is.
    service_defaults: ClassVar[Sequence[str]] = ()
    fields: ClassVar[Sequence[Property | Navigation]] = ()
    related_columns: ClassVar[Sequence[type[RelatedColumn]]] = ()
    #: Attributes of references to records that are imported later: a name that is not found is a warning.
    later_references: ClassVar[Sequence[str]] = ()
    #: Attributes whose rules about days to come do not hold for a file of another database: it has past days.
    future_dates: ClassVar[Sequence[str]] = ()
    #: Attributes of birthdays: a year of two digits is not one to come.
    birthdays: ClassVar[Sequence[str]] = ()
    #: Whether files set the archive date: not where archiving has effects that a service must handle.
    sets_archive_date: ClassVar[bool] = True
    #: What corrects the texts of a column before they are read, by the attribute that it gives.
    cleaners: Mapping[str, Cleaner] = {}
    #: Rules whose findings are shown and keep nothing out, of services that check no warnings.
    warnings: ClassVar[Sequence[Rule]] = ()

    #: In place of the services that the resource declares.
    create: Callable[..., Any] | None = None
    update: Callable[..., Any] | None = None
    #: Sums that are restated when an import was undone.
    after_undo: Callable[[], object] | None = None
    folder: Path

    #: ``complete_values(values)``: fill in what a row leaves empty, before its record is looked for.
    complete_values: Callable[[dict[str, Any]], None] | None = None

    def complete_drafts(self, drafts: Sequence[Draft]) -> None:
        """Fill in what follows from what a batch of drafts gives, before they are saved."""

    def find_warnings(self, drafts: Sequence[Draft]) -> Iterable[tuple[int, Issue]]:
        """Further warnings, found for a whole batch before it is saved: they keep nothing out either."""
        return ()

    def find_references(self, records: Sequence[Any], column: Any) -> None:
        """Give each ``ReadRecord`` the ``found_references`` that it does not name, by other values of it.

        Called when existing records are known; ``column`` is the ``ImportColumn`` of the member at fault.
        """

    def close(self) -> None:
        """Called when the import has ended, however it ended."""


@dataclass(frozen=True, slots=True)
class KeptMapping:
    """The mapping kept of earlier files, by the letters of a header; files need not have all of them.

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
    kept: KeptMapping = KeptMapping()
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
