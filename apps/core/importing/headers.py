"""The columns of a file, by their headers, however these are spelt."""

import difflib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from apps.base.declaration.resource import Behaviour, Nesting
from apps.base.declaration.schema import EntitySet, NavigationProperty, StructuredType
from apps.core.importing.cells import cell_reader, cleaned, letters_of
from apps.core.importing.columns import IMPORT_REFERENCE, REASON, RecordColumn, RelatedColumn, SplitColumn
from apps.core.importing.definition import ImportDefinition, ImportOptions, SavedMapping
from apps.core.importing.file_declaration import NameProperty
from apps.core.table_files.tables import ImportFileError, Table, column_letters


def item_list_of(type_: StructuredType) -> NavigationProperty | None:
    """The one list whose items are rows of a file; ``None`` when there is none, or several."""
    lists = [
        p
        for p in type_.navigations.values()
        if p.nesting is Nesting.CONTAINED and p.writable and not p.item_only
    ]
    return lists[0] if len(lists) == 1 else None


def possible_columns(entity_set: EntitySet, definition: ImportDefinition) -> dict[str, RecordColumn]:
    """Every column that files may have, by its name; ``entity_set`` is declared as files have it."""
    declared = {column.name: column for column in definition.columns}
    items = item_list_of(entity_set.type)
    found = {column.name: column for column in _columns(entity_set.type, "", items, "", declared)}
    if items is not None:
        found[IMPORT_REFERENCE] = replace(declared.get(IMPORT_REFERENCE) or RecordColumn(IMPORT_REFERENCE))
    for column in declared.values():
        if isinstance(column, RelatedColumn):
            found[column.name] = replace(column, model=entity_set.model)
        if isinstance(column, SplitColumn):
            found[column.name] = replace(column, attribute=column.name)
    for column in found.values():
        if column.prop is None or column.record_name is not None:
            continue
        column.read = cell_reader(column.prop)
        if column.part is None:
            column.clean = definition.cleaners.get(column.attribute)
            column.is_day = not column.refers and column.prop.edm.name in ("Edm.Date", "Edm.DateTimeOffset")
            column.is_birthday = column.attribute in definition.birthdays
    return found


def _columns(
    type_: StructuredType,
    prefix: str,
    items: NavigationProperty | None,
    list_name: str,
    declared: Mapping[str, RecordColumn],
) -> Iterator[RecordColumn]:
    for name, prop in type_.properties.items():
        column = declared.get(prefix + name) or RecordColumn(prefix + name)
        own = prop.declaration
        if isinstance(own, NameProperty):
            column = replace(column, attribute=own.reference, prop=prop, record_name=own.record_name)
            yield replace(column, list_name=list_name)
            continue
        in_bodies = prop.body_property or prop
        yield replace(
            column,
            attribute=in_bodies.attribute,
            prop=in_bodies,
            list_name=list_name,
            is_key=prop.behaviour is Behaviour.KEY,
            is_read_only=prop.behaviour is Behaviour.READ_ONLY,
        )
    for part in type_.navigations.values():
        inside = f"{prefix}{part.name}/"
        if part.nesting is Nesting.EMBEDDED:
            yield from _columns(part.type, inside, None, list_name, declared)
        elif part is items:
            yield from _columns(part.type, inside, None, part.name, declared)
        else:
            yield from _reference_columns(part, inside, list_name, declared)


def _reference_columns(
    part: NavigationProperty, prefix: str, list_name: str, declared: Mapping[str, RecordColumn]
) -> Iterator[RecordColumn]:
    """The key of a referred record, and the texts by which it can be found as well."""
    if part.nesting is Nesting.CONTAINED:
        # As one cell of JSON, or null in every record.
        name, some = prefix.removesuffix("/"), next(iter(part.type.properties.values()))
        yield RecordColumn(name, attribute=part.attribute, prop=some, part=part, is_read_only=True)
    is_found = part.writable and part.nesting is Nesting.REFERENCE
    for name, prop in part.type.properties.items():
        own = prop.declaration
        record_name = own.record_name if isinstance(own, NameProperty) else None
        yield replace(
            declared.get(prefix + name) or RecordColumn(prefix + name),
            attribute=part.attribute,
            prop=prop,
            part=part,
            record_name=record_name,
            list_name=list_name,
            is_read_only=not (is_found and (prop.behaviour is Behaviour.KEY or record_name is not None)),
        )
    for inner in part.type.navigations.values():
        for column in _reference_columns(inner, f"{prefix}{inner.name}/", list_name, declared):
            yield replace(column, is_read_only=True)


def spellings_of(entity_set: EntitySet, definition: ImportDefinition) -> dict[str, RecordColumn]:
    """Every way to spell a column's header, in letters alone.

    Its name, its aliases, its other headers, and the last step of its path where only one ends on it.
    """
    known = possible_columns(entity_set, definition)
    found = {letters_of(name): column for name, column in known.items()}
    last_steps: dict[str, list[RecordColumn]] = defaultdict(list)
    for name, column in known.items():
        before, _, own = name.rpartition("/")
        for alias in column.prop.declaration.aliases if column.prop is not None else ():
            found.setdefault(letters_of(f"{before}/{alias}"), column)
            last_steps[letters_of(alias)].append(column)
        last_steps[letters_of(own)].append(column)
    for declared in definition.columns:
        for header in declared.headers:
            if declared.name in known:  # else a check names it
                found.setdefault(letters_of(header), known[declared.name])
    for text, ending in last_steps.items():
        if len(ending) == 1 and not ending[0].is_read_only:
            found.setdefault(text, ending[0])
    seconds = {letters_of(header) for column in definition.columns for header in column.second_headers}
    for column in known.values():
        part = letters_of(column.part.name) if column.part is not None else ""
        if part and part not in seconds and not column.is_read_only:
            found.setdefault(part, column)
    for word in map(letters_of, definition.record_words):
        for text, column in [*found.items()]:
            # The code of what they call a client may be that of its organisation.
            is_code = column.normalised_field is not None and column.normalised_field.unique
            if not (column.is_read_only or column.refers or column.is_key or is_code):
                found.setdefault(word + text, column)
    return found


@dataclass
class FoundHeader:
    """A header of a file, and the column that it gives, if any.

    ``text`` are its letters, without the word for the record that it ``has_word`` before it: ``phone`` of
    *Participant phone*. ``is_chosen``: a person said which column it gives.
    """

    index: int
    text: str
    column: RecordColumn | None
    is_chosen: bool = False
    has_word: bool = False

    @property
    def rank(self) -> int:
        """The place among those that its column declares; before them what it is called besides."""
        declared = [*map(letters_of, self.column.headers)] if self.column is not None else []
        return declared.index(self.text) if self.text in declared else -1


def columns_of_headers(
    header: Sequence[str],
    by_spelling: Mapping[str, RecordColumn],
    definition: ImportDefinition,
    chosen: Mapping[int, RecordColumn | None],
) -> dict[int, RecordColumn | None]:
    """The column that each header is, by its index; a person has ``chosen`` some.

    Of several headers of one column the first among those that it declares is its own. The others, and
    headers of no column, may be ``second_headers``.
    """
    headers = [find_header(index, text, by_spelling, definition, chosen) for index, text in enumerate(header)]
    # Beside Phone, Client phone is that of somebody else.
    without_word = {id(each.column) for each in headers if not each.has_word}
    for each in headers:
        if each.has_word and id(each.column) in without_word:
            each.column = None
    give_second_headers(headers, by_spelling, definition)
    return {each.index: each.column for each in headers}


def find_header(
    index: int,
    header: str,
    by_spelling: Mapping[str, RecordColumn],
    definition: ImportDefinition,
    chosen: Mapping[int, RecordColumn | None],
) -> FoundHeader:
    """The column of a header by itself, whatever the others are."""
    text = letters_of(header)
    if index in chosen:
        return FoundHeader(index, text, chosen[index], is_chosen=True)
    column = by_spelling.get(text)
    own = own_header(text, column, by_spelling, definition)
    return FoundHeader(index, own or text, column, has_word=bool(own))


def own_header(
    text: str,
    column: RecordColumn | None,
    by_spelling: Mapping[str, RecordColumn],
    definition: ImportDefinition,
) -> str:
    """The header without the word for the record before it, ``participantphone`` as ``phone``, or nothing."""
    if column is None or column.refers:
        return ""
    for word in map(letters_of, definition.record_words):
        own = text.removeprefix(word)
        if own != text and by_spelling.get(own) is column:
            return own
    return ""


def give_second_headers(
    headers: Sequence[FoundHeader], by_spelling: Mapping[str, RecordColumn], definition: ImportDefinition
) -> None:
    """Let headers that are not their column's own give another, which no header of the file gives."""
    given = {each.column.target for each in headers if each.column is not None}
    for each in sorted(headers, key=lambda each: each.rank):
        if each.is_chosen or is_own(each, headers):
            continue
        for declared in definition.columns:
            second = by_spelling.get(letters_of(declared.name))
            is_named = each.text in map(letters_of, declared.second_headers)
            if is_named and second is not None and second.target not in given:
                each.column = second
                given.add(second.target)
                break


def is_own(header: FoundHeader, headers: Sequence[FoundHeader]) -> bool:
    """True when no other header of the column is chosen, or is declared before this one.

    One with the word for the record that lost its column to a header without it is no other's either.
    """
    if header.column is None:
        return header.has_word
    same = [each for each in headers if each.column is header.column]
    return header is min(same, key=lambda each: (not each.is_chosen, each.rank, each.index))


def is_second(column: RecordColumn, by_spelling: Mapping[str, RecordColumn]) -> bool:
    """True when a header of a file is another column's, or none's, where that one has no better header."""
    own = by_spelling.get(letters_of(column.header))
    return own is None or own.name != column.name


def recognise_columns(
    table: Table,
    entity_set: EntitySet,
    definition: ImportDefinition,
    options: ImportOptions,
) -> tuple[list[RecordColumn], list[str]]:
    """The columns that give something, and what the user should know of the others.

    ``ImportFileError`` names every header that is not recognised.

    ``options.column_map`` is ``{header, "column C" or index: column's name}``, the name empty to leave the
    column out. ``options.by_name`` leaves out guids, which are another database's.
    """
    by_spelling = spellings_of(entity_set, definition)
    chosen = {
        **saved_columns(options.saved_mapping, table, by_spelling),
        **mapped_columns(options.column_map, table, by_spelling),
    }
    meanings = mapped_values(options, table)
    # An object that is null in every record of a JSON file gives nothing, nor does an old reason.
    unread = {letters_of(REASON), *(letters_of(part.name) for part in entity_set.type.embedded_navigations)}
    if (items := item_list_of(entity_set.type)) is not None:
        unread.add(letters_of(f"{items.name}/{REASON}"))
    columns: list[RecordColumn] = []
    unknown: list[str] = []
    read_only: list[str] = []
    by_index = columns_of_headers(table.header, by_spelling, definition, chosen)
    for index, header in enumerate(table.header):
        text = letters_of(header)
        column = by_index[index]
        if column is None and (not text or index in chosen or text in unread):
            continue
        if column is None:
            unknown.append(quote_header(index, header, table) + suggestion(header, by_spelling))
        elif column.is_read_only:
            read_only.append(header)
        else:
            columns += [
                each.in_file(table, index, options.day_first, meanings.get(index, {}))
                for each in split_columns(column, by_spelling)
            ]
    if unknown and not options.ignore_unknown:
        raise ImportFileError(unknown_sentence(unknown, table))
    left_out = needless_columns(columns, options.by_name)
    seconds = [each for each in columns if each.index not in chosen and is_second(each, by_spelling)]
    notices = [
        *([f"Imported without {'; '.join(unknown)}."] if unknown else []),
        *(
            f"{sentence_start(quote_header(each.index, each.header, table))} is read as {each.name}."
            for each in seconds
        ),
        *left_out_sentences([each.header for each in left_out], read_only, options.by_name),
    ]
    columns = [column for column in columns if column not in left_out]
    check_unique_targets(columns, table)
    if all(column.only_groups for column in columns):
        raise ImportFileError("No column of the file gives anything that can be imported.")
    return columns, notices


def unknown_sentence(unknown: Sequence[str], table: Table) -> str:
    advice = ' Say --map "Header=Field", or --ignore-unknown to import without.'
    if table.has_cell_addresses:
        advice += " Where the header is in another row, say --header-row and its number."
    return f"Not understood: {'; '.join(unknown)}.{advice}"


def left_out_sentences(left_out: Sequence[str], read_only: Sequence[str], by_name: bool) -> Iterator[str]:
    """The headers of columns that are not read, and why."""
    if by_name and left_out:
        yield f"Guids of another database, not read: {', '.join(left_out)}."
        left_out = ()
    if headers := [*read_only, *left_out]:
        yield f"Not read, because the service determines it: {', '.join(headers)}."


def split_columns(column: RecordColumn, by_spelling: Mapping[str, RecordColumn]) -> Sequence[RecordColumn]:
    """The columns that one of a file gives: mostly itself."""
    if isinstance(column, SplitColumn):
        return column.split(lambda name: by_spelling[letters_of(name)])
    return (column,)


def needless_columns(columns: Sequence[RecordColumn], by_name: bool) -> list[RecordColumn]:
    """Guids where records are found by names, else names of listed records that another column's guids name.

    A single record may have several names.
    """
    if by_name:
        return [column for column in columns if column.is_guid]
    named = {column.target for column in columns if column.is_list and column.is_guid}
    return [column for column in columns if column.target in named and not column.is_guid]


def mapped_columns(
    column_map: Mapping[str | int, str], table: Table, by_spelling: Mapping[str, RecordColumn]
) -> dict[int, RecordColumn | None]:
    """The columns that ``--map`` names, by index; ``ImportFileError`` when it names what does not exist."""
    found: dict[int, RecordColumn | None] = {}
    for text, name in column_map.items():
        column = by_spelling.get(letters_of(name))
        if name and (column is None or column.is_read_only):
            raise ImportFileError(f"--map: there is no field {name}{suggestion(name, by_spelling)}.")
        found |= dict.fromkeys(indexes_of(text, table, "--map"), column)
    return found


def saved_columns(
    saved: SavedMapping, table: Table, by_spelling: Mapping[str, RecordColumn]
) -> dict[int, RecordColumn | None]:
    """The columns of a saved mapping by their index in the file, as far as there still are such columns."""
    found: dict[int, RecordColumn | None] = {}
    for index, header in enumerate(table.header):
        name = saved.columns.get(letters_of(header))
        column = by_spelling.get(letters_of(name or ""))
        if name == "" or (column is not None and not column.is_read_only):
            found[index] = column
    return found


def mapped_values(options: ImportOptions, table: Table) -> dict[int, Mapping[str, str]]:
    """The meanings of cells in place of their text, by column and text in small letters.

    ``ImportFileError`` when ``--value`` names no column of the file.
    """
    found: defaultdict[int, dict[str, str]] = defaultdict(dict)
    for index, header in enumerate(table.header):
        found[index] |= by_small_letters(options.saved_mapping.values.get(letters_of(header), {}))
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


def header_row_of(table: Table, by_spelling: Mapping[str, RecordColumn], options: ImportOptions) -> int:
    """The row whose cells are plainly the headers: groups of columns may have a title above them."""
    counts = known_headers(table, by_spelling, options)
    best = max(counts, key=lambda number: counts[number], default=table.header_row)
    return best if counts.get(best, 0) > 2 * counts.get(table.header_row, 0) + 1 else table.header_row


def known_headers(
    table: Table, by_spelling: Mapping[str, RecordColumn], options: ImportOptions
) -> dict[int, int]:
    """How many headers that are understood the first rows have, by their number."""
    wanted = {text for text, column in by_spelling.items() if not column.is_read_only}
    wanted |= {letters_of(header) for header in options.column_map if isinstance(header, str)}
    return {
        number: sum(letters_of(cell) in wanted for cell in cells)
        for number, cells in enumerate(table.first_rows, start=1)
    }


def check_unique_targets(columns: Sequence[RecordColumn], table: Table) -> None:
    """``ImportFileError`` when two columns give one value, or name one list of records.

    A single record may have several names: the first that a row gives finds it.
    """
    seen: dict[tuple[str, ...], RecordColumn] = {}
    pairs: list[str] = []
    others: list[str] = []
    for column in columns:
        is_name = column.only_groups or (column.record_name is not None and not column.is_list)
        first = seen.setdefault(("", column.name) if is_name else column.target, column)
        if first is not column:
            others.append(
                f"column {column_letters(column.index)}" if table.has_cell_addresses else column.header
            )
            pairs.append(
                f"{quote_header(first.index, first.header, table)} and"
                f" {quote_header(column.index, column.header, table)} both give {column.name}"
            )
    if pairs:
        leave_out = " ".join(f'--map "{other}="' for other in others)
        raise ImportFileError(
            f'{"; ".join(pairs)}; give one of them another field (--map "{others[0]}=Field"), or leave it out'
            f" ({leave_out})."
        )


def sentence_start(text: str) -> str:
    return text[:1].upper() + text[1:]


def quote_header(index: int, header: str, table: Table) -> str:
    text = header.strip()
    short = text if len(text) <= 40 else f"{text[:39]}…"
    return f"column {column_letters(index)} “{short}”" if table.has_cell_addresses else f"“{short}”"


def suggestion(text: str, by_spelling: Mapping[str, RecordColumn]) -> str:
    """The column whose spelling is closest to the text."""
    spellings = [spelling for spelling, column in by_spelling.items() if not column.is_read_only]
    closest = difflib.get_close_matches(letters_of(text)[:90], spellings, n=1, cutoff=0.7)
    return f" (is {by_spelling[closest[0]].name} meant?)" if closest else ""
