"""The kinds of files that are imported: the records of each resource, and files of other forms."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db.models import Model

from apps.base.declaration.schema import EntitySet
from apps.base.declaration.service import declared_sets
from apps.core.caseload import caseload_of
from apps.core.importing.cells import letters_of
from apps.core.importing.columns import RecordColumn
from apps.core.importing.definition import ImportOptions, SavedMapping
from apps.core.importing.file_declaration import definition_of, file_entity_set
from apps.core.importing.headers import columns_of_headers, possible_columns, saved_columns, spellings_of
from apps.core.importing.mappings import find_mapping
from apps.core.importing.report import IssueKind
from apps.core.importing.runs import ImportDisplay, definition_for, import_file, open_records
from apps.core.table_files.formats import FORMATS
from apps.core.table_files.opening import open_table
from apps.core.table_files.tables import ImportFileError

#: Values of each column, and characters of a cell, that are shown.
SAMPLES, CELL_LENGTH = 3, 60
#: Rows among which those values are found.
FIRST_ROWS = 20

_FLAG = re.compile(r"--([a-z]+(?:-[a-z]+)*)")
#: Of a row; no file has ten million.
_ROW_NUMBER = re.compile(r"0*[1-9][0-9]{0,6}")
_FLAG_IN_BRACKETS = re.compile(r"\s*\(--[^)]*\)")


@dataclass(frozen=True, slots=True)
class ImportQuestion:
    """A question about the file: yes or no, or with a text as ``default`` a text.

    ``choices`` are the texts to choose from, with their labels; the default is the first.
    """

    name: str
    label: str
    default: bool | str = False
    choices: Sequence[tuple[str, str]] = ()

    @property
    def is_text(self) -> bool:
        return isinstance(self.default, str)

    def answer(self, given: str) -> bool | str:
        """The text of a form's field."""
        if self.choices and given not in dict(self.choices):
            return self.default
        return given if self.is_text else bool(given)


SHEET = ImportQuestion("sheet", "Sheet", "")
DAY_ORDER = ImportQuestion(
    "day_order",
    "Days",
    "",
    (("", "as each column shows"), ("day", "day first: 31/12/2026"), ("month", "month first: 12/31/2026")),
)
#: Six words may be of Windows and of a Macintosh alike: a person sees which of the two makes names of them.
ENCODING = ImportQuestion(
    "encoding",
    "Letters of a text file",
    "",
    (
        ("", "as recognised"),
        ("utf-8", "Unicode (UTF-8)"),
        ("cp1252", "Windows (older Excel)"),
        ("mac_roman", "Macintosh (older Excel)"),
    ),
)
#: The options that decide which columns a file has.
TABLE_OPTIONS = (SHEET, ImportQuestion("header_row", "Row with the headers", ""))
RECORD_OPTIONS = (
    ImportQuestion("updates", "Update existing records", True),
    ImportQuestion("ignore_warnings", "Import records with warnings as well"),
    ImportQuestion("by_name", "From another database: find records by name"),
    ImportQuestion("all_or_nothing", "Import nothing if a row has a fault"),
    *TABLE_OPTIONS,
    DAY_ORDER,
    ENCODING,
)


#: What files of records count.
RECORD_COUNTS = ("new", "changed", "unchanged", "rejected")


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A column of a file: its header, the first values, and the member that it gives, if any.

    ``values`` are the texts that its cells say in place of theirs.
    """

    header: str
    samples: Sequence[str]
    member: str
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImportOrder:
    """One call of an import: the file, what the person chose, and where rejected rows are written.

    ``columns`` are what the columns give, in their order: the name of a member, or nothing; ``values`` what
    cells of each say in place of their text. ``issues`` is where all issues are written.
    ``brought_by`` is who brought the file; who lets it be imported may be another, and is the author.
    """

    path: Path
    errors: Path
    issues: Path
    options: Mapping[str, Any]
    columns: Sequence[str]
    values: Sequence[Mapping[str, str]]
    dry_run: bool
    display: ImportDisplay
    brought_by: UUID | None = None


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """The result of an import: numbers by the kind's words for them, and the kinds of its issues.

    One that was cancelled has those of the rows before.
    """

    counts: Mapping[str, int]
    kinds: Sequence[IssueKind] = ()
    is_cancelled: bool = False


@dataclass(frozen=True, slots=True)
class ImportKind:
    """Files that are imported alike, by those who may add and change records of all its models.

    ``permissions`` are what they need besides.

    ``run`` checks or applies a file: it reads rows of its own form, shows issues and notices, and calls the
    services; a task calls it, again where the first attempt was killed. ``count_words`` are the numbers that
    the page shows, ``good_words`` those of them that are applied, each a ``good_noun``. ``suffixes`` are
    the ends of its files' names. ``columns`` are those
    that a person chooses from, by name; of other files they are fixed. ``after_undo`` restates sums; what is
    not ``undoable`` by the history of its records is not undone.

    ``takes_many_files``: several are read in one go. Nothing is asked of such files, and the first notice of
    each sums up what would become of it. ``blocking_warnings`` are codes: files that have one are not
    imported together, before somebody has looked at them.
    """

    name: str
    title: str
    model: type[Model]
    run: Callable[[ImportOrder], ImportOutcome]
    options: Sequence[ImportQuestion] = RECORD_OPTIONS
    other_models: Sequence[type[Model]] = ()
    permissions: Sequence[str] = ()
    columns: Callable[[], Mapping[str, RecordColumn]] = dict
    after_undo: Callable[[], object] | None = None
    read_columns: Callable[[Path, Mapping[str, Any]], list[FileColumn]] = lambda path, options: []
    count_words: Sequence[str] = RECORD_COUNTS
    good_words: Sequence[str] = ("new", "changed")
    good_noun: str = "good record"
    undoable: bool = True
    suffixes: Sequence[str] = tuple(FORMATS)
    takes_many_files: bool = False
    blocking_warnings: Collection[str] = ()

    def good_count(self, counts: Mapping[str, int]) -> int:
        """How many rows of a file an import applies."""
        return sum(counts.get(name, 0) for name in self.good_words)

    def plain(self, text: str) -> str:
        """A sentence of the importer without the options of commands: by their labels here."""
        labels = {option.name.replace("_", "-"): option.label for option in self.options}
        text = _FLAG_IN_BRACKETS.sub("", text)
        return _FLAG.sub(lambda found: f"“{labels.get(found[1], found[1].replace('-', ' '))}”", text)


def wire_sentence(text: str) -> str:
    """A sentence of the importer with the options of commands as fields of an import job: ``HeaderRow``."""
    text = text.replace("--month-first", "DayFirst=false")
    return _FLAG.sub(lambda found: found[1].title().replace("-", ""), text)


#: Files of other forms than those of a resource, by the app that imports them.
FILE_KINDS: list[ImportKind] = []
#: Resources that are imported by command only: rows of documents name files on the server, rows of staff and
#: roles say what people may do.
COMMAND_ONLY = frozenset({"document", "staff", "role"})


def import_kinds() -> Iterator[ImportKind]:
    """Everything that can be imported in the back office."""
    yield from FILE_KINDS
    for entity_set in declared_sets().values():
        definition = definition_of(entity_set)
        if entity_set.path not in COMMAND_ONLY and definition is not None:
            title = str(entity_set.model._meta.verbose_name_plural)
            yield ImportKind(
                entity_set.path,
                title[:1].upper() + title[1:],
                entity_set.model,
                partial(import_records, entity_set),
                columns=partial(choosable_columns, entity_set),
                after_undo=definition.after_undo,
                read_columns=partial(read_columns, entity_set),
            )


def find_kind(name: str) -> ImportKind | None:
    """The kind of this name; none where this version imports no such files."""
    return next((kind for kind in import_kinds() if kind.name == name), None)


def permitted_kinds(person: Any) -> list[ImportKind]:
    """The kinds that a person may import: records that they may add and change, of all participants.

    A file names records by their codes, so somebody who is limited to a caseload imports nothing.
    """
    if caseload_of(person) is not None:
        return []

    def may_write(model: type[Model]) -> bool:
        label, name = model._meta.app_label, model._meta.model_name
        return bool(person.has_perms([f"{label}.add_{name}", f"{label}.change_{name}"]))

    return [
        kind
        for kind in import_kinds()
        if person.has_perms(kind.permissions) and all(map(may_write, (kind.model, *kind.other_models)))
    ]


def choosable_columns(entity_set: EntitySet) -> dict[str, RecordColumn]:
    """The columns that a file of the resource can have and give, by name."""
    known = possible_columns(file_entity_set(entity_set), definition_for(entity_set))
    return {name: column for name, column in known.items() if not column.is_read_only}


def fixed_columns(path: Path, chosen: Mapping[str, object]) -> list[FileColumn]:
    """The headers of a file whose columns nobody chooses."""
    return [FileColumn(header, [], "") for header in open_table(path, max_rows=0).header]


def read_columns(entity_set: EntitySet, path: Path, chosen: Mapping[str, Any]) -> list[FileColumn]:
    """The columns of the file, by their headers; one that is not known, or given already, gives nothing."""
    definition, in_files = definition_for(entity_set), file_entity_set(entity_set)
    options = ImportOptions(**table_options(chosen), encoding=chosen.get("encoding") or None)
    table = open_records(path, in_files, definition, options, max_rows=FIRST_ROWS)
    name = chosen.get("mapping")
    saved = find_mapping(entity_set.path, name) if name else SavedMapping()
    rows = [row.cells for row in table.rows() if row.defect is None][:SAMPLES]
    by_spelling = spellings_of(in_files, definition)
    by_index = columns_of_headers(
        table.header, by_spelling, definition, saved_columns(saved, table, by_spelling)
    )
    columns: list[FileColumn] = []
    for index, header in enumerate(table.header):
        text = letters_of(header)
        found = by_index[index]
        is_new = found is not None and not any(column.member == found.name for column in columns)
        name = found.name if found is not None and is_new and not found.is_read_only else ""
        samples = list(dict.fromkeys(short(cells[index]) for cells in rows))
        columns.append(FileColumn(header.strip(), samples, name, dict(saved.values.get(text, {}))))
    return columns


def short(text: str) -> str:
    """A cell on a page, without what PostgreSQL stores in no text."""
    text = text.replace("\0", "")
    return text if len(text) <= CELL_LENGTH else f"{text[: CELL_LENGTH - 1]}…"


def table_options(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The options that decide which columns a file has; ``ImportFileError`` for a row that is none."""
    header_row = chosen.get("header_row") or None
    if header_row is not None and not _ROW_NUMBER.fullmatch(header_row):
        raise ImportFileError("The row with the headers is a number: 1 is the first row.")
    return {
        "sheet": chosen.get("sheet") or None,
        "header_row": header_row and int(header_row),
    }


def stated_day_first(chosen: Mapping[str, object]) -> bool | None:
    """True when the person says that days have the day first; ``None`` where the columns are to show it."""
    day_order = chosen.get("day_order")
    return day_order == "day" if day_order else None


def column_options(entity_set: EntitySet, order: ImportOrder) -> dict[str, Any]:
    """The options that say what the columns give: what was chosen for each, or with ``by_headers`` none.

    Then headers decide, as they do for the command: one that is not understood stops the import.
    """
    chosen = order.options
    if not chosen.get("by_headers"):
        return {
            "column_map": dict(enumerate(order.columns)),
            "value_map": dict(enumerate(order.values)),
        }
    name = chosen.get("mapping")
    return {
        "column_map": chosen.get("column_map", {}),
        "saved_mapping": find_mapping(entity_set.path, name) if name else SavedMapping(),
        "match": chosen.get("match"),
        "ignore_unknown": bool(chosen.get("ignore_unknown")),
    }


def import_records(entity_set: EntitySet, order: ImportOrder) -> ImportOutcome:
    switches = ("updates", "ignore_warnings", "by_name", "all_or_nothing")
    options = ImportOptions(
        **{name: order.options[name] for name in switches},
        **table_options(order.options),
        **column_options(entity_set, order),
        day_first=stated_day_first(order.options),
        encoding=order.options.get("encoding") or None,
        errors=order.errors,
        issues=order.issues,
        dry_run=order.dry_run,
    )
    report = import_file(entity_set, order.path, options, order.display)
    return ImportOutcome(asdict(report.counts), report.kinds, report.is_cancelled)
