"""The member of the record that each column of a file gives, however its header is spelt."""

import difflib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from apps.base.declaration.resource import Behaviour, Nesting
from apps.base.declaration.schema import EntitySet, NavigationProperty, StructuralProperty, StructuredType
from apps.core.importing.cells import cleaned, letters_of
from apps.core.importing.definition import ImportDefinition, ImportOptions, KeptMapping, RelatedColumn
from apps.core.importing.file_declaration import NameProperty, RecordName
from apps.core.table_files.tables import ImportFileError, Table, column_letters

#: A column of the file of rejected rows; it is not read when they are imported again.
REASON = "Reason"
#: A column that only says which rows are one record; it is not stored.
IMPORT_REFERENCE = "ImportReference"


@dataclass(frozen=True, eq=False)
class Member:
    """Something that a column can give: a value of the record, or one that finds a record it refers to.

    ``name`` is the interface's (``Address/Suburb``, ``Client/BusinessName``); ``attribute`` is its name in
    drafts. ``navigation`` is the part whose record ``prop`` finds, ``record_name`` says how a text finds it.
    ``is_key``: it is the record's own key. ``is_read_only``: a body cannot set it. ``item_list`` is the list
    whose items have it. ``related`` reads what is stored beside the record.
    """

    name: str
    attribute: str
    prop: StructuralProperty
    navigation: NavigationProperty | None = None
    record_name: RecordName | None = None
    is_key: bool = False
    is_read_only: bool = False
    item_list: NavigationProperty | None = None
    related: RelatedColumn | None = None

    @property
    def target(self) -> tuple[str, str]:
        """The value of a record, or of an item of its list, that it gives; several may give one reference."""
        return (self.item_list.name if self.item_list is not None else "", self.attribute)

    @property
    def is_import_reference(self) -> bool:
        return self.name == IMPORT_REFERENCE

    @property
    def is_reference(self) -> bool:
        """True when it gives a record that this one refers to."""
        is_named = self.navigation is not None or self.record_name is not None
        return is_named or self.prop.related_model is not None

    @property
    def is_guid(self) -> bool:
        """True when it is a key, its own record's or that of one it refers to."""
        if self.navigation is not None:
            return self.prop.behaviour is Behaviour.KEY
        return self.record_name is None and (self.is_key or self.prop.related_model is not None)

    @property
    def is_list(self) -> bool:
        """True when a cell of it names several records."""
        return self.navigation is not None and self.navigation.many


@dataclass(frozen=True, eq=False)
class ImportColumn:
    """A column of the file and the member it gives.

    ``mapped`` are the texts that cells say in place of theirs, by the text in small letters.
    """

    index: int
    header: str
    member: Member
    mapped: Mapping[str, str] = field(default_factory=dict)


def item_list_of(type_: StructuredType) -> NavigationProperty | None:
    """The one list whose items are rows of a file; ``None`` when there is none, or several."""
    lists = [
        p
        for p in type_.navigations.values()
        if p.nesting is Nesting.CONTAINED and p.writable and not p.item_only
    ]
    return lists[0] if len(lists) == 1 else None


def members_of(entity_set: EntitySet, definition: ImportDefinition) -> dict[str, Member]:
    """Everything a column can give, by its name; ``entity_set`` is declared as files have it."""
    items = item_list_of(entity_set.type)
    found = {member.name: member for member in _members(entity_set.type, "", items, None)}
    if items is not None:
        found[IMPORT_REFERENCE] = Member(IMPORT_REFERENCE, "", entity_set.key)
    for related in (related_column(entity_set.model) for related_column in definition.related_columns):
        found[related.name] = Member(related.name, related.attribute, entity_set.key, related=related)
    return found


def _members(
    type_: StructuredType,
    prefix: str,
    items: NavigationProperty | None,
    item_list: NavigationProperty | None,
) -> Iterator[Member]:
    for name, prop in type_.properties.items():
        declared = prop.declaration
        if isinstance(declared, NameProperty):
            attribute, record_name = declared.reference, declared.record_name
            yield Member(prefix + name, attribute, prop, record_name=record_name, item_list=item_list)
            continue
        in_bodies = prop.body_property or prop
        yield Member(
            prefix + name,
            in_bodies.attribute,
            in_bodies,
            is_key=prop.behaviour is Behaviour.KEY,
            is_read_only=prop.behaviour is Behaviour.READ_ONLY,
            item_list=item_list,
        )
    for part in type_.navigations.values():
        inside = f"{prefix}{part.name}/"
        if part.nesting is Nesting.EMBEDDED:
            yield from _members(part.type, inside, None, item_list)
        elif part is items:
            yield from _members(part.type, inside, None, part)
        else:
            yield from _reference_members(part, inside, item_list)


def _reference_members(
    part: NavigationProperty, prefix: str, item_list: NavigationProperty | None
) -> Iterator[Member]:
    """The key of a referred record, and the texts by which it can be found as well."""
    if part.nesting is Nesting.CONTAINED:
        # As one cell of JSON, or null in every record.
        some = next(iter(part.type.properties.values()))
        yield Member(prefix.removesuffix("/"), part.attribute, some, navigation=part, is_read_only=True)
    is_found = part.writable and part.nesting is Nesting.REFERENCE
    for name, prop in part.type.properties.items():
        declared = prop.declaration
        record_name = declared.record_name if isinstance(declared, NameProperty) else None
        yield Member(
            prefix + name,
            part.attribute,
            prop,
            navigation=part,
            record_name=record_name,
            is_read_only=not (is_found and (prop.behaviour is Behaviour.KEY or record_name is not None)),
            item_list=item_list,
        )
    for inner in part.type.navigations.values():
        for member in _reference_members(inner, f"{prefix}{inner.name}/", item_list):
            yield replace(member, is_read_only=True)


def spellings_of(entity_set: EntitySet, definition: ImportDefinition) -> dict[str, Member]:
    """Every way to spell a member, in letters alone.

    Its name, its aliases, the synonyms, and the last step of its path where only one member ends on it.
    """
    known = members_of(entity_set, definition)
    found = {letters_of(name): member for name, member in known.items()}
    last_steps: dict[str, list[Member]] = defaultdict(list)
    for name, member in known.items():
        before, _, own = name.rpartition("/")
        for alias in member.prop.declaration.aliases:
            found.setdefault(letters_of(f"{before}/{alias}"), member)
            last_steps[letters_of(alias)].append(member)
        last_steps[letters_of(own)].append(member)
    for name, headers in definition.header_synonyms.items():
        for header in headers:
            found.setdefault(letters_of(header), known[name])
    for text, ending in last_steps.items():
        if len(ending) == 1 and not ending[0].is_read_only:
            found.setdefault(text, ending[0])
    for member in known.values():
        if member.navigation is not None and not member.is_read_only:
            found.setdefault(letters_of(member.navigation.name), member)
    return found


def recognise_columns(
    table: Table,
    entity_set: EntitySet,
    definition: ImportDefinition,
    options: ImportOptions,
) -> tuple[list[ImportColumn], list[str]]:
    """The columns that give something, and what the user should know of the others.

    ``ImportFileError`` names every header that is not recognised.

    ``options.column_map`` is ``{header, "column C" or index: member's name}``, the name empty to leave the
    column out. ``options.by_name`` leaves out guids, which are another database's.
    """
    by_spelling = spellings_of(entity_set, definition)
    mapped = {
        **kept_members(options.kept, table, by_spelling),
        **mapped_members(options.column_map, table, by_spelling),
    }
    values = mapped_values(options, table)
    # An object that is null in every record of a JSON file gives nothing, nor does an old reason.
    unread = {letters_of(REASON), *(letters_of(part.name) for part in entity_set.type.embedded_navigations)}
    if (items := item_list_of(entity_set.type)) is not None:
        unread.add(letters_of(f"{items.name}/{REASON}"))
    columns: list[ImportColumn] = []
    unknown: list[str] = []
    read_only: list[str] = []
    for index, header in enumerate(table.header):
        text = letters_of(header)
        member = mapped[index] if index in mapped else by_spelling.get(text)
        if member is None and (not text or index in mapped or text in unread):
            continue
        if member is None:
            unknown.append(quote_header(index, header, table) + suggestion(header, by_spelling))
        elif member.is_read_only:
            read_only.append(header)
        else:
            columns.append(ImportColumn(index, header, member, values.get(index, {})))
    if unknown and not options.ignore_unknown:
        advice = ' Say --map "Header=Field", or --ignore-unknown to import without.'
        if table.has_cell_addresses:
            advice += " Where the header is in another row, say --header-row and its number."
        raise ImportFileError(f"Not understood: {'; '.join(unknown)}.{advice}")
    notices = [f"Imported without {'; '.join(unknown)}."] if unknown else []
    if options.by_name:
        left_out = [column for column in columns if column.member.is_guid]
        headers = ", ".join(column.header for column in left_out)
        notices += [f"Guids of another database, not read: {headers}."] if left_out else []
    else:
        # Names of listed records whose keys another column gives; a single record may have several names.
        keyed = {c.member.target for c in columns if c.member.is_list and c.member.is_guid}
        left_out = [c for c in columns if c.member.target in keyed and not c.member.is_guid]
        read_only += [column.header for column in left_out]
    columns = [column for column in columns if column not in left_out]
    check_unique_targets(columns, table)
    if all(column.member.is_import_reference for column in columns):
        raise ImportFileError("No column of the file gives anything that can be imported.")
    if read_only:
        notices.append(f"Not read, because the service determines it: {', '.join(read_only)}.")
    return columns, notices


def mapped_members(
    column_map: Mapping[str | int, str], table: Table, by_spelling: Mapping[str, Member]
) -> dict[int, Member | None]:
    """The members that ``--map`` names, by column; ``ImportFileError`` when it names what does not exist."""
    found: dict[int, Member | None] = {}
    for text, name in column_map.items():
        member = by_spelling.get(letters_of(name))
        if name and (member is None or member.is_read_only):
            raise ImportFileError(f"--map: there is no field {name}{suggestion(name, by_spelling)}.")
        found |= dict.fromkeys(indexes_of(text, table, "--map"), member)
    return found


def kept_members(
    kept: KeptMapping, table: Table, by_spelling: Mapping[str, Member]
) -> dict[int, Member | None]:
    """The members of a kept mapping for the columns of the file, as far as there still are such members."""
    found: dict[int, Member | None] = {}
    for index, header in enumerate(table.header):
        name = kept.columns.get(letters_of(header))
        member = by_spelling.get(letters_of(name or ""))
        if name == "" or (member is not None and not member.is_read_only):
            found[index] = member
    return found


def mapped_values(options: ImportOptions, table: Table) -> dict[int, Mapping[str, str]]:
    """The meanings of cells in place of their text, by column and text in small letters.

    ``ImportFileError`` when ``--value`` names no column of the file.
    """
    found: defaultdict[int, dict[str, str]] = defaultdict(dict)
    for index, header in enumerate(table.header):
        found[index] |= by_small_letters(options.kept.values.get(letters_of(header), {}))
    for text, values in options.value_map.items():
        for index in indexes_of(text, table, "--value"):
            found[index] |= by_small_letters(values)
    return {index: values for index, values in found.items() if values}


def by_small_letters(values: Mapping[str, str]) -> dict[str, str]:
    return {cleaned(text).casefold(): cleaned(other) for text, other in values.items()}


def indexes_of(text: str | int, table: Table, option: str) -> list[int]:
    """The columns of a header, ``column C`` or index; ``ImportFileError`` when there is none."""
    if isinstance(text, int):
        return [text]
    indexes = [i for i, header in enumerate(table.header) if letters_of(header) == letters_of(text)]
    if not indexes and table.has_cell_addresses:
        addresses = [f"column{column_letters(i)}".casefold() for i in range(len(table.header))]
        indexes = [i for i, address in enumerate(addresses) if address == letters_of(text)]
    if not indexes:
        raise ImportFileError(f"{option}: the file has no column {text}.{other_header_row(table, text)}")
    return indexes


def other_header_row(table: Table, header: str) -> str:
    """The hint that another row has the header: of a header of two lines it is the second."""
    wanted = letters_of(header)
    for number, cells in enumerate(table.first_rows, start=1):
        if number != table.header_row and any(letters_of(cell) == wanted for cell in cells):
            return f" Row {number} has it: say --header-row {number}."
    return ""


def header_row_of(table: Table, by_spelling: Mapping[str, Member], options: ImportOptions) -> int:
    """The row whose cells are plainly the headers: groups of columns may have a title above them."""
    wanted = {text for text, member in by_spelling.items() if not member.is_read_only}
    wanted |= {letters_of(header) for header in options.column_map if isinstance(header, str)}
    counts = {
        number: sum(letters_of(cell) in wanted for cell in cells)
        for number, cells in enumerate(table.first_rows, start=1)
    }
    best = max(counts, key=lambda number: counts[number], default=table.header_row)
    return best if counts.get(best, 0) > 2 * counts.get(table.header_row, 0) + 1 else table.header_row


def check_unique_targets(columns: Sequence[ImportColumn], table: Table) -> None:
    """``ImportFileError`` when two columns give one member, or name one list of records.

    A single record may have several names: the first that a row gives finds it.
    """
    seen: dict[tuple[str, ...], ImportColumn] = {}
    for column in columns:
        member = column.member
        is_name = member.is_import_reference or (member.record_name is not None and not member.is_list)
        first = seen.setdefault(("", member.name) if is_name else member.target, column)
        if first is not column:
            other = f"column {column_letters(column.index)}" if table.has_cell_addresses else column.header
            raise ImportFileError(
                f"{quote_header(first.index, first.header, table)} and"
                f" {quote_header(column.index, column.header, table)} both give {member.name};"
                f' leave one of them out (--map "{other}=").'
            )


def quote_header(index: int, header: str, table: Table) -> str:
    text = header.strip()
    short = text if len(text) <= 40 else f"{text[:39]}…"
    return f"column {column_letters(index)} “{short}”" if table.has_cell_addresses else f"“{short}”"


def suggestion(text: str, by_spelling: Mapping[str, Member]) -> str:
    """The member whose spelling is closest to the text."""
    spellings = [spelling for spelling, member in by_spelling.items() if not member.is_read_only]
    closest = difflib.get_close_matches(letters_of(text)[:90], spellings, n=1, cutoff=0.7)
    return f" (is {by_spelling[closest[0]].name} meant?)" if closest else ""
