"""A column of a file: the headers it may have, how its cells are read, and what they give a record."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Self

from apps.base.cell_texts import LIST_SEPARATOR
from apps.base.declaration.resource import Behaviour
from apps.base.declaration.schema import NavigationProperty, StructuralProperty
from apps.base.declaration.values import WireValueError
from apps.core.importing.cells import (
    CellReader,
    CleanedText,
    Cleaner,
    check_no_error_value,
    cleaned,
    cleaned_and_restored,
    is_same,
)
from apps.core.importing.days import DayColumn
from apps.core.importing.record_names import RecordName, normalised_column
from apps.core.models import NormalisedField, Subscriber, normalised
from apps.core.table_files.tables import Table

#: A column of the file of rejected rows; it is not read when they are imported again.
REASON = "Reason"
#: A column that only says which rows are one record; it is not stored.
IMPORT_REFERENCE = "ImportReference"
#: Texts of a column whose values are remembered; columns of names, states and days have few.
MEMO_SIZE = 10_000
#: That of a column which is in no file yet.
NO_TABLE = Table(Path())


@dataclass(frozen=True, slots=True)
class CellIssue:
    """A fault of a cell; a warning tells what was corrected, and ``value`` is what the cell gives.

    The message of a fault that ``ImportColumn.value`` finds lacks its subject: ``must be yes or no.``
    """

    code: str
    message: str
    value: Any = None
    is_warning: bool = False

    def about(self, subject: str) -> "CellIssue":
        """The same with its subject, if it lacks one."""
        return self if self.is_warning else CellIssue(self.code, f"{subject} {self.message}")


@dataclass(eq=False)
class ImportColumn:
    """A column that files of a kind may have; ``in_file`` is the same at its place in a file.

    ``headers`` are what it may be called besides its name. ``read`` makes the value of a cleaned text, or
    raises ``WireValueError``; ``clean`` corrects the text before. Days are read one way in the whole column,
    and a year of two digits of a birthday is not one to come. A file of one form (``fixed_columns``) lacks
    nothing that is ``in_every_file``, a row of it nothing that is ``in_every_row``.
    """

    name: str
    headers: Sequence[str] = ()
    _: KW_ONLY
    read: CellReader = str
    clean: Cleaner | None = None
    is_day: bool = False
    is_birthday: bool = False
    in_every_file: bool = False
    in_every_row: bool = False

    # --- what the file says
    index: int = -1
    table: Table = NO_TABLE
    day_first: bool | None = None
    #: What texts of cells, in small letters, stand for.
    meanings: Mapping[str, str] = field(default_factory=dict)
    #: Whether a cell that was read has an issue.
    has_issues: bool = False

    def in_file(
        self, table: Table, index: int, day_first: bool | None, meanings: Mapping[str, str] | None = None
    ) -> Self:
        """The column at its place in a file. ``day_first`` is what the person says of the order of days."""
        return replace(self, table=table, index=index, day_first=day_first, meanings=meanings or {})

    @property
    def header(self) -> str:
        """The header in the file."""
        return self.table.header[self.index]

    @cached_property
    def days(self) -> DayColumn | None:
        """The order of its days, if they are days; every cell is observed before one is read."""
        if not self.is_day:
            return None
        return DayColumn(self.day_first, Subscriber.current().day_first, self.is_birthday)

    @cached_property
    def corrections(self) -> Sequence[Cleaner]:
        """The functions that make a text one that ``read`` knows, one after the other."""
        given = (self.clean, None if self.days is None else self.days.read)
        return [clean for clean in given if clean is not None]

    @property
    def empty(self) -> Any:
        """The value of an empty cell."""
        return None

    @cached_property
    def values(self) -> Callable[[str], Any]:
        """The function that reads a cell: a value, or a ``CellIssue``. Equal cells are read once."""
        return lru_cache(MEMO_SIZE)(lambda cell: self.value(self.text(cell)))

    @cached_property
    def cleaned(self) -> Callable[[str], str]:
        """The function that makes the text of a cell."""
        return cleaned_and_restored if self.table.has_formula_guards else cleaned

    def text(self, cell: str) -> str:
        """The text of the cell, or the one that the user says in its place."""
        text = self.cleaned(cell)
        return self.meanings.get(text.casefold(), text) if self.meanings else text

    def value(self, text: str) -> Any:
        if not text:
            return self.empty
        code = message = ""
        try:
            if self.table.has_cell_addresses and text[0] == "#":
                check_no_error_value(text)
            for clean in self.corrections:
                if text:
                    text, code, message = clean(text)
            value = self.convert(text) if text else self.empty
        except WireValueError as error:
            self.has_issues = True
            return CellIssue(error.code, error.sentence)
        if not code:
            return value
        self.has_issues = True
        return CellIssue(code, message, value, is_warning=True)

    def convert(self, text: str) -> Any:
        """The value of a text that is cleaned and not empty; ``WireValueError`` when it has none."""
        return self.read(text)


def day_columns(columns: Iterable[ImportColumn]) -> dict[int, DayColumn]:
    """The columns of days, by their index, to be shown every cell before one is read."""
    return {column.index: column.days for column in columns if column.days is not None}


@dataclass(eq=False)
class RecordColumn(ImportColumn):
    """A column that gives a record a value, or a record that it refers to.

    An app declares what the resource's declaration does not say of it; from the declaration
    ``headers.possible_columns`` knows the rest.

    ``name`` is the interface's (``Address/Suburb``, ``Client/BusinessName``). Among records with one value of
    a match field the attribute ``scope`` decides: a reference is unique beside its provider.
    ``second_headers`` are its own where nothing else of the file gives it, and where they would be those of a
    column that a better header gives: beside *Mobile* the header *Phone* is that of the second telephone.
    ``keeps_when_empty``: an empty cell leaves an existing record's value, since the service fills it in.
    ``is_future``: in a file of another database its days may be past, whatever the rules say.
    """

    second_headers: Sequence[str] = ()
    scope: str = ""
    keeps_when_empty: bool = False
    is_future: bool = False

    # --- what the declaration says
    #: The name in drafts of what it gives; empty for a column that only says which rows are one record.
    attribute: str = ""
    prop: StructuralProperty | None = None
    #: The part whose record ``prop`` finds, and the name by which it finds one.
    part: NavigationProperty | None = None
    record_name: RecordName | None = None
    #: The list whose items have it.
    list_name: str = ""
    is_key: bool = False
    is_read_only: bool = False

    @property
    def target(self) -> tuple[str, str]:
        """The value of a record, or of an item of its list, that it gives; several may give one reference."""
        return self.list_name, self.attribute

    @property
    def only_groups(self) -> bool:
        """True when it only says which rows are one record."""
        return not self.attribute

    @property
    def refers(self) -> bool:
        """True when it gives a record that this one refers to."""
        is_named = self.part is not None or self.record_name is not None
        return is_named or (self.prop is not None and self.prop.related_model is not None)

    @property
    def is_guid(self) -> bool:
        """True when it is a key, its own record's or that of one it refers to."""
        if self.prop is None or self.record_name is not None:
            return False
        if self.part is not None:
            return self.prop.behaviour is Behaviour.KEY
        return self.is_key or self.prop.related_model is not None

    @cached_property
    def is_list(self) -> bool:
        """True when a cell of it names several records."""
        return self.part is not None and self.part.many

    @property
    def choices(self) -> Sequence[str]:
        """The values it may have, where they are a choice."""
        return self.prop.choices if self.prop is not None else ()

    @cached_property
    def normalised_field(self) -> NormalisedField | None:
        """The model's field by which its texts are compared; ``None`` where they are compared as they are."""
        return None if self.refers or self.prop is None else normalised_column(self.prop.source_field)

    @property
    def empty(self) -> Any:
        return () if self.is_list else None

    def convert(self, text: str) -> Any:
        """A value, a key, or a tuple of keys or names."""
        if self.is_list:
            texts = (part.strip() for part in text.split(LIST_SEPARATOR.strip()))
            return tuple(self.read(each) for each in texts if each)
        return (text,) if self.record_name is not None else self.read(text)

    @cached_property
    def comparable(self) -> Callable[[str], Any]:
        """The same for all spellings of a value, ``None`` for an empty cell."""
        return lru_cache(MEMO_SIZE)(lambda cell: self.comparable_value(self.text(cell)))

    def comparable_value(self, text: str) -> Any:
        if not text:
            return None
        if self.record_name is not None:
            return self.record_name.compare(text) or text
        if self.only_groups or self.normalised_field is not None:
            return normalised(text)
        value = self.value(text)
        if not isinstance(value, CellIssue):
            return value
        return value.value if value.is_warning else text

    def is_same(self, existing: Any, given: Any) -> bool:
        """True when an existing record has the value that a row gives."""
        return bool(existing == set(given)) if self.is_list else is_same(existing, given)


@dataclass(eq=False)
class SplitColumn(RecordColumn):
    """A column that gives several values: a first and a last name.

    ``parts`` are the columns of these, by name, each with the function that takes its text out of a cell's.
    """

    parts: Mapping[str, Cleaner] = field(default_factory=dict)

    def split(self, known: Callable[[str], RecordColumn]) -> list[RecordColumn]:
        """The columns of its parts, each of which reads the whole cell."""
        return [
            replace(known(name), clean=in_turn(cut, known(name).clean)) for name, cut in self.parts.items()
        ]


def in_turn(first: Cleaner, second: Cleaner | None) -> Cleaner:
    """A cleaner that does what two do, one after the other; what the second corrects is told."""

    def clean(text: str) -> CleanedText:
        return first(text) if second is None else second(first(text).text)

    return clean


@dataclass(eq=False)
class RelatedColumn(RecordColumn):
    """A column of what is stored beside a record, and given to its service with the draft.

    A cell has it as JSON, as the interface shows it; an empty cell leaves it as it is. ``convert`` and
    ``is_same`` are its own.
    """

    model: Any = None

    def load(self, keys: Sequence[object]) -> Mapping[Any, Any]:
        """The values of existing records, by key."""
        raise NotImplementedError
