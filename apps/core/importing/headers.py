"""Which member of the record each column of a file gives, however its header is spelt."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from apps.core.importing.additions import Finder
from apps.core.importing.folding import twin_of
from apps.core.importing.tables import Table, Unusable, letters
from apps.odata.declaration import service
from apps.odata.declaration.resource import Behaviour, Nesting, ReadOnly
from apps.odata.declaration.schema import (
    EntitySet,
    NavigationProperty,
    StructuralProperty,
    StructuredType,
    bind_property,
)

#: A column of the file of refused rows; coming back with them it says nothing.
REASON = "Reason"
#: A column that only says which rows are one record; nothing is stored of it.
REFERENCE = "ImportReference"

_SIGNS = re.compile(r"[\W_]+")


@dataclass(frozen=True, eq=False)
class Member:
    """What a column can give: a value of the record, or a value that finds a record it refers to.

    ``name`` is the interface's (``Address/Suburb``, ``Client/BusinessName``); ``attribute`` is what drafts
    call it. ``reference`` is the part whose record ``prop`` finds, ``is_key`` says that it is the record's
    own key, ``silent`` that the interface never reads it from a body. ``within`` is the list whose items it
    belongs to; ``finder`` says by what else than its key ``prop`` finds a record.
    """

    name: str
    attribute: str
    prop: StructuralProperty
    reference: NavigationProperty | None = None
    is_key: bool = False
    silent: bool = False
    within: NavigationProperty | None = None
    finder: Finder | None = None

    @property
    def gives(self) -> tuple[str, str]:
        """Which value of a record, or of an item of its list, it gives; several may give one reference."""
        return (self.within.name if self.within is not None else "", self.attribute)

    @property
    def is_reference(self) -> bool:
        """Whether it is only :data:`REFERENCE`."""
        return self.name == REFERENCE

    @property
    def is_guid(self) -> bool:
        """Whether it is a key, its own record's or that of one it refers to."""
        if self.reference is not None:
            return self.prop.behaviour is Behaviour.KEY
        return self.finder is None and (self.is_key or self.prop.related_model is not None)


@dataclass(frozen=True, eq=False)
class Column:
    """A column of the file and the member it gives."""

    index: int
    header: str
    member: Member

    @property
    def letters(self) -> str:
        return letters(self.index)


@dataclass(frozen=True)
class Understanding:
    """How the columns of a file were understood."""

    columns: tuple[Column, ...]
    remarks: tuple[str, ...]


def plain(text: str) -> str:
    """A header without case, blanks and punctuation: ``Date of birth`` is ``dateofbirth``."""
    return _SIGNS.sub("", text).casefold()


def listed_part(type_: StructuredType) -> NavigationProperty | None:
    """The one list whose items are rows of a file; ``None`` when there is none, or several."""
    lists = [
        p
        for p in type_.navigations.values()
        if p.nesting is Nesting.CONTAINED and p.writable and not p.item_only
    ]
    return lists[0] if len(lists) == 1 else None


def members(entity_set: EntitySet, finders: Sequence[Finder] = ()) -> dict[str, Member]:
    """Everything a column can give, by its name on the wire."""
    part = listed_part(entity_set.type)
    found = {member.name: member for member in _members(entity_set.type, "", part)}
    for finder in finders:
        to = found[finder.member]
        prop = bind_property(
            ReadOnly(finder.name, source=f"{to.attribute}__{finder.by}"),
            entity_set.model,
            entity_set.name,
            "",
        )
        found[finder.name] = Member(finder.name, to.attribute, prop, finder=finder)
    if part is not None:
        found[REFERENCE] = Member(REFERENCE, "", entity_set.key)
    return found


def _members(
    type_: StructuredType,
    before: str,
    listed: NavigationProperty | None = None,
    within: NavigationProperty | None = None,
) -> Iterator[Member]:
    for name, prop in type_.properties.items():
        is_key = prop.behaviour is Behaviour.KEY
        silent = prop.behaviour is Behaviour.READ_ONLY
        taken = prop.body_property or prop
        yield Member(before + name, taken.attribute, taken, is_key=is_key, silent=silent, within=within)
    for part in type_.navigations.values():
        inside = f"{before}{part.name}/"
        if part.nesting is Nesting.EMBEDDED:
            yield from _members(part.type, inside, within=within)
        elif part is listed:
            yield from _members(part.type, inside, within=part)
        else:
            yield from _reference_members(part, before, within)


def _reference_members(
    part: NavigationProperty, before: str, within: NavigationProperty | None
) -> Iterator[Member]:
    """The key of a referred record, and the texts by which it can be found as well."""
    able = part.writable and part.nesting is Nesting.REFERENCE
    texts = finding_properties(part) if able else {}
    for name, prop in {**part.type.properties, **texts}.items():
        finds = able and (prop.behaviour is Behaviour.KEY or name in texts)
        yield Member(
            f"{before}{part.name}/{name}",
            part.attribute,
            prop,
            reference=part,
            silent=not finds,
            within=within,
        )


def finding_properties(part: NavigationProperty) -> dict[str, StructuralProperty]:
    """The referred record's texts that no other record has (their folded twin is unique)."""
    whole = service.get_service().by_model.get(part.type.model)
    properties = {**part.type.properties, **(whole.type.properties if whole is not None else {})}
    found = {}
    for name, prop in properties.items():
        twin = twin_of(prop.source_field) if prop.source_field.model is part.type.model else None
        if twin is not None and twin.unique:
            found[name] = prop
    return found


def spellings(known: Mapping[str, Member], synonyms: Mapping[str, str]) -> dict[str, Member]:
    """Every way to spell a member, in plain letters.

    Its name, its aliases, the last step of its path where only one member ends on it, and the synonyms.
    """
    found: dict[str, Member] = {}
    last: dict[str, list[Member]] = {}
    for name, member in known.items():
        found[plain(name)] = member
        before, _, own = name.rpartition("/")
        for alias in member.prop.declaration.aliases:
            found.setdefault(plain(f"{before}/{alias}"), member)
            last.setdefault(plain(alias), []).append(member)
        last.setdefault(plain(own), []).append(member)
    for text, ending in last.items():
        if len(ending) == 1 and not ending[0].silent:
            found.setdefault(text, ending[0])
    for text, name in synonyms.items():
        found.setdefault(plain(text), known[name])
    for member in known.values():
        if member.reference is not None and not member.silent:
            found.setdefault(plain(member.reference.name), member)
    return found


def understood(
    table: Table,
    entity_set: EntitySet,
    synonyms: Mapping[str, str],
    told: Mapping[str, str],
    ignore_unknown: bool = False,
    finders: Sequence[Finder] = (),
    by_name: bool = False,
) -> Understanding:
    """The columns that give something; ``Unusable`` tells of every header that cannot be understood.

    ``told`` is what the user said: ``{header: member's name}``, the name empty to leave the column out.
    ``by_name`` leaves out guids, which are another database's.
    """
    known = members(entity_set, finders)
    by_spelling = spellings(known, synonyms)
    wishes = told_members(told, table.header, by_spelling)
    silently = silent_headers(entity_set.type, table)
    columns: list[Column] = []
    unknown: list[str] = []
    silent: list[str] = []
    for index, header in enumerate(table.header):
        text = plain(header)
        # An address that is null in every record of a JSON file gives nothing, nor does an old reason.
        member = wishes[text] if text in wishes else by_spelling.get(text)
        if not text or (member is None and (text in wishes or text in silently)):
            continue
        if member is None:
            unknown.append(described(index, header, table, by_spelling))
        elif member.silent:
            silent.append(header)
        else:
            columns.append(Column(index, header, member))
    if unknown and not ignore_unknown:
        raise Unusable(
            f'Not understood: {"; ".join(unknown)}. Say --map "Header=Field", or --ignore-unknown to import'
            " without."
        )
    columns, doubled = names_alone(columns) if by_name else without_doubles(columns)
    check_once(columns, table)
    if all(column.member.is_reference for column in columns):
        raise Unusable("No column of the file gives anything that can be imported.")
    remarks = []
    if unknown:
        remarks.append(f"Imported without {'; '.join(unknown)}.")
    if not by_name:
        silent += doubled
    elif doubled:
        remarks.append(f"Guids of another database, not read: {', '.join(doubled)}.")
    if silent:
        remarks.append(f"Not read, because the service knows it better: {', '.join(silent)}.")
    return Understanding(tuple(columns), tuple(remarks))


def silent_headers(type_: StructuredType, table: Table) -> set[str]:
    """Headers, in plain letters, that give nothing and need not be told of."""
    found = {plain(REASON), *(plain(part.name) for part in type_.embedded_navigations)}
    part = listed_part(type_)
    if part is not None:
        found.add(plain(f"{part.name}/{REASON}"))
        if not table.has_letters:
            found.add(plain(part.name))  # a list that is null in every record
    return found


def told_members(
    told: Mapping[str, str], header: Sequence[str], by_spelling: Mapping[str, Member]
) -> dict[str, Member | None]:
    """What ``--map`` says, by plain header; ``Unusable`` when it speaks of what is not there."""
    there = {plain(text) for text in header}
    wishes: dict[str, Member | None] = {}
    for text, name in told.items():
        if plain(text) not in there:
            raise Unusable(f"--map: the file has no column {text}.")
        member = by_spelling.get(plain(name))
        if name and (member is None or member.silent):
            raise Unusable(f"--map: there is no field {name}{hint(name, by_spelling)}.")
        wishes[plain(text)] = member
    return wishes


def without_doubles(columns: Sequence[Column]) -> tuple[list[Column], list[str]]:
    """The columns without names of records whose key another column gives; and those columns' headers.

    What an app's finders name stays: it is read in the rows that give no key.
    """
    keyed = {
        c.member.gives for c in columns if c.member.reference and c.member.prop.behaviour is Behaviour.KEY
    }
    kept: list[Column] = []
    left: list[Column] = []
    for column in columns:
        is_double = column.member.reference is not None and not column.member.is_guid
        (left if is_double and column.member.gives in keyed else kept).append(column)
    return kept, [column.header for column in left]


def names_alone(columns: Sequence[Column]) -> tuple[list[Column], list[str]]:
    """The columns without guids, one name for each record referred to; and the headers of the others."""
    kept: list[Column] = []
    left: list[Column] = []
    for column in columns:
        is_double = column.member.reference is not None and any(
            other.member.gives == column.member.gives for other in kept
        )
        (left if column.member.is_guid or is_double else kept).append(column)
    return kept, [column.header for column in left]


def check_once(columns: Sequence[Column], table: Table) -> None:
    """``Unusable`` when two columns give one member, or find one referred record.

    Finders may be several: the first that a row gives finds the record.
    """
    seen: dict[tuple[str, ...], Column] = {}
    for column in columns:
        member = column.member
        key = ("", member.name) if member.finder is not None or member.is_reference else member.gives
        first = seen.setdefault(key, column)
        if first is not column:
            raise Unusable(
                f"{named(first.index, first.header, table)} and {named(column.index, column.header, table)}"
                f' both give {member.name}; leave one out with --map "{column.header}=".'
            )


def described(index: int, header: str, table: Table, by_spelling: Mapping[str, Member]) -> str:
    return named(index, header, table) + hint(header, by_spelling)


def named(index: int, header: str, table: Table) -> str:
    text = header.strip()
    short = text if len(text) <= 40 else f"{text[:39]}…"
    return f"column {letters(index)} “{short}”" if table.has_letters else f"“{short}”"


def hint(text: str, by_spelling: Mapping[str, Member]) -> str:
    """A suggestion, when some spelling is like the text."""
    able = [spelling for spelling, member in by_spelling.items() if not member.silent]
    close = difflib.get_close_matches(plain(text)[:90], able, n=1, cutoff=0.7)
    return f" (is {by_spelling[close[0]].name} meant?)" if close else ""
