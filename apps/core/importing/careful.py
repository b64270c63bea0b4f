"""The careful way of rows: read one by one, judged and stored by the same verbs as the interface's."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from django.db import models

from apps.core.importing.additions import Importing
from apps.core.importing.cells import is_same
from apps.core.importing.finding import References, comparable, compared_field
from apps.core.importing.first_rows import FirstRows
from apps.core.importing.folding import twin_of
from apps.core.importing.headers import Column, listed_part
from apps.core.importing.items import Items
from apps.core.importing.records import Assembler, Candidate, FileRecord, Together
from apps.core.importing.reports import Remark, Report, in_order
from apps.core.importing.rows import RowReader
from apps.core.importing.tables import Row
from apps.odata.any_of import AnyOf
from apps.odata.declaration.schema import EntitySet
from apps.odata.errors import ErrorDetail
from apps.odata.write.drafts import Draft, Issue, ValidationFailed, WarningsPresent, apply_rules
from apps.odata.write.references import attach_references
from apps.odata.write.targets import wire_target

Verb = Callable[..., Any]

#: ``LineItems[1]/Quantity``: the list, the number in it, and what is inside.
_IN_LIST = re.compile(r"(\w+)\[(\d+)\](?:/(.*))?")

#: Among the faulty members of a draft: a fault of its rows that is no member's.
WHOLE = "rows"


class CarefulWay:
    """Judges and stores records in batches; a batch belongs into one transaction."""

    def __init__(
        self,
        entity_set: EntitySet,
        columns: Sequence[Column],
        importing: Importing,
        match: Sequence[str],
        report: Report,
        day_first: bool = True,
        updates: bool = True,
        ignore_warnings: bool = False,
    ) -> None:
        self.entity_set = entity_set
        self.model = entity_set.model
        self.importing = importing
        self.report = report
        self.updates = updates
        self.words = {"ignore_warnings": ignore_warnings} if importing.has_warnings else {}
        own = [c for c in columns if c.member.within is None and not c.member.is_reference]
        inner = [c for c in columns if c.member.within is not None]
        guards = report.table.has_guards
        self.reader = RowReader(entity_set.type, own, importing, day_first, guards)
        part = listed_part(entity_set.type)
        self.items: Items | None = None
        if part is not None and inner:
            reader = RowReader(part.type, inner, importing, day_first, guards)
            self.items = Items(part, inner, reader, importing)
        report.has_lists = self.items is not None
        item_reader = self.items.reader if self.items is not None else None
        self.assembler = Assembler(self.reader, item_reader)
        self.together = Together(entity_set, importing, columns, self.reader, item_reader)
        self.references = References(entity_set, importing, columns)
        self.columns = own
        self.places = places_of(columns, importing)
        by_name = {column.member.name: column for column in own}
        self.match = [by_name[name] for name in match if name in by_name]
        self.apart = {
            by_name[name]: member
            for name, other in importing.apart_by.items()
            if name in by_name and (member := self._given(other)) is not None
        }
        self.uniques = [
            column
            for column in own
            if column.member.reference is None
            and column.member.finder is None
            and (twin := twin_of(column.member.prop.source_field)) is not None
            and twin.unique
        ]
        self.key_column = next((column for column in own if column.member.is_key), None)
        self.first_rows = FirstRows()
        self.judged: tuple[Sequence[Candidate], Container[int]] = ((), ())
        #: What rows say of a record: its fields by the attributes of drafts.
        self.compared: dict[str, Any] = {
            column.member.attribute: self.model._meta.get_field(column.member.attribute)
            for column in own
            if not column.member.is_key
        } | {
            member.attribute: self.model._meta.get_field(member.attribute)
            for _, member, _ in self.references.named_by
        }
        self.filled_in = {c.member.attribute for c in own if c.member.name in importing.filled_in}

    def _given(self, name: str) -> Any:
        """The attribute of a member that some column of the file gives."""
        member = self.references.known[name]
        return next((c.member.attribute for c in self.columns if c.member.gives == member.gives), None)

    def close(self) -> None:
        self.first_rows.close()

    @property
    def has_lists(self) -> bool:
        """Whether several rows of the file may be one record."""
        return self.items is not None

    def batches(self, rows: Iterable[Row], size: int) -> Iterator[list[FileRecord]]:
        """The records of some rows, in batches of about so many rows; no record is in two of them."""
        return self.together.batches(rows, size)

    def judge(self, records: Sequence[FileRecord]) -> None:
        """Store what can be stored of the records; ``tell`` reports all of them once they are certain.

        May be done again, when the transaction was lost.
        """
        candidates = [self.assembler.read(record) for record in records]
        sound = [one for one in candidates if one.is_whole]
        for one, record in zip(candidates, records, strict=True):
            self._refuse_scattered(one, record)
        self.references.find(sound)
        self._find_records(sound)
        new: list[Candidate] = []
        known: list[Candidate] = []
        for one in sound:
            self._require(one)
            (new if one.record is None else known).append(one)
        changed = [one for one in known if one.is_faulty or not self._is_unchanged(one)]
        for one in new:
            one.draft = self._draft(one)
        for one in changed:
            one.draft = self._revision(one)
        for one in (*new, *changed):
            if one.is_faulty and one.draft is not None:
                one.draft.invalid |= {WHOLE}  # whatever is wrong, no verb stores it
        self._put(new, self.importing.create)
        self._put(changed, self.importing.revise)
        self.judged = candidates, {id(one) for one in changed}

    def _refuse_scattered(self, one: Candidate, record: FileRecord) -> None:
        """Tell of rows of a record that stand apart from its others."""
        if record.mark is None or record.too_long:
            return
        first = self.first_rows.first(f"mark {record.mark.rank}", record.mark.texts, one.number)
        if first != one.number:
            column = record.mark.columns[0]
            message = f"Row {first:,} of the file has it already; the rows of one record must stand together."
            one.read.refuse(column, "NotUnique", message)

    # --- which record a row is

    def _find_records(self, candidates: Sequence[Candidate]) -> None:
        """Find the record each row changes, and refuse rows that stood in the file before."""
        by_column: dict[Column, list[tuple[Candidate, Any]]] = defaultdict(list)
        alone: list[Candidate] = []
        for one in candidates:
            column, value = self._found_by(one)
            if value is not None:
                by_column[column].append((one, value))
            elif column is None:
                alone.append(one)
            if column is not None:
                self._refuse_twins(one, column)
        for column, found in by_column.items():
            self._find_by(column, found)
        self.references.deduce(candidates)
        for one in alone:
            self._refuse_twins(one, None)
        self._find_alike([one for one in alone if not one.is_faulty])

    def _found_by(self, one: Candidate) -> tuple[Any, Any]:
        """The first of the columns that rows are found by which the row gives, and its value as compared."""
        if self.key_column is not None:
            if one.read.key is not None:
                return self.key_column, one.read.key
            if self.key_column.member.attribute in one.read.invalid:
                return self.key_column, None
        for column in self.match:
            name = column.member.attribute
            if one.read.values.get(name) is not None and self.apart.get(column) not in one.read.invalid:
                return column, self._compared(one, column)
            if {name, self.apart.get(column)} & one.read.invalid:
                return column, None
        return None, None

    def _compared(self, one: Candidate, column: Column) -> Any:
        """What a row is found by in a column: its value as compared, and what tells its records apart."""
        name, other = column.member.attribute, self.apart.get(column)
        value = comparable(compared_field(self.model, name), one.read.values[name])
        return value if other is None else (value, one.read.values.get(other))

    def _refuse_twins(self, one: Candidate, used: Column | None) -> None:
        """Tell of a value that an earlier row of the file has, where it must be one row's alone."""
        if used is None and not one.is_faulty:
            values = [
                sorted((name, repr(value)) for name, value in read.values.items())
                for read in (one.read, *one.items)
            ]
            first = self.first_rows.first("", values, one.number)
            if first != one.number:
                message = f"Row {first:,} of the file says the same."
                one.read.faults.append(Remark(one.read.row, None, "NotUnique", message))
        if used is None:
            return
        for column in dict.fromkeys([*self.match, *self.uniques]):
            if one.read.values.get(column.member.attribute) is None:
                continue
            first = self.first_rows.first(column.member.name, self._compared(one, column), one.number)
            if first != one.number and (column is used or column in self.uniques):
                one.read.refuse(column, "NotUnique", f"Row {first:,} of the file has it already.")
        if used is not None and used is self.key_column and one.read.key is not None:
            first = self.first_rows.first(used.member.name, one.read.key, one.number)
            if first != one.number:
                one.read.refuse(used, "NotUnique", f"Row {first:,} of the file has it already.")

    def _find_by(self, column: Column, wanted: Sequence[tuple[Candidate, Any]]) -> None:
        by, other = compared_field(self.model, column.member.attribute), self.apart.get(column)
        texts = {value if other is None else value[0] for _, value in wanted}
        records: dict[Any, list[Any]] = defaultdict(list)
        for record in self._records(AnyOf(by, texts)):
            value = getattr(record, by.attname)
            if other is not None:
                value = (value, getattr(record, self.compared[other].attname))
            records[value].append(record)
        for one, value in wanted:
            found = records.get(value, [])
            if len(found) > 1:
                many = self.model._meta.verbose_name_plural
                one.read.refuse(column, "Ambiguous", f"{len(found):,} {many} have it; which one is meant?")
            elif found:
                one.record = found[0]
            elif column.member.is_key:
                name = self.model._meta.verbose_name
                one.read.refuse(
                    column,
                    "NotFound",
                    f"There is no {name} of this key; leave it empty for a new one, or give --by-name"
                    " for a file of another database.",
                )

    def _find_alike(self, wanted: Sequence[Candidate]) -> None:
        """Rows that no column finds are the records that equal them in every column."""
        names = [name for name in self.importing.alike if name in self.compared]
        if not names:
            return
        records: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
        wanted_by = [(name, {one.read.values.get(name) for one in wanted}) for name in names]
        rows = {tuple(one.read.values.get(name) for name in names) for one in wanted}
        held = self._records(*(among(self.compared[name], values) for name, values in wanted_by))
        for record in held:
            key = tuple(getattr(record, self.compared[name].attname) for name in names)
            if key in rows:
                records[key].append(record)
        for one in wanted:
            key = tuple(one.read.values.get(name) for name in names)
            for record in records.get(key, ()):
                one.record = record
                if self._is_equal(one):
                    break
                one.record = None

    def _records(self, *conditions: Any) -> Any:
        lists = [field.name for field in self.compared.values() if field.many_to_many]
        if self.items is not None:
            lists.append(self.items.part.path)
        return self.model._base_manager.filter(*conditions).prefetch_related(*lists).order_by("pk")

    def _is_unchanged(self, one: Candidate) -> bool:
        """Whether the record holds what the row gives, or must be left as it is."""
        return not self.updates or self._is_equal(one)

    def _is_equal(self, one: Candidate) -> bool:
        values = one.read.values
        return all(
            self._holds(one.record, field, values[name])
            for name, field in self.compared.items()
            if name in values
        ) and (self.items is None or self.items.hold(one.record, one.items))

    def _holds(self, record: Any, field: Any, value: Any) -> bool:
        if field.many_to_many:
            return {other.pk for other in getattr(record, field.name).all()} == set(value)
        return self._says_nothing(field, value) or is_same(getattr(record, field.attname), value)

    def _says_nothing(self, field: Any, value: Any) -> bool:
        """Whether an empty cell says nothing: of a column that cannot be empty, or that the verb fills in."""
        return value is None and (not field.null or field.name in self.filled_in)

    # --- judging and storing

    def _require(self, one: Candidate) -> None:
        """What the declaration requires: of a new record all, of one that stands what the file speaks of."""
        if self.items is not None:
            self.items.find_standing(one)
            self.items.require(one)
            if one.items:
                one.read.values[self.items.part.attribute] = one.items
        self.reader.missing(one.read, only_told=one.record is not None)
        if self.items is not None:
            one.read.values.pop(self.items.part.attribute, None)

    def _draft(self, one: Candidate) -> Draft:
        """The draft of a new record."""
        draft = self.reader.draft(one.read)
        if self.items is not None:
            self.items.give(draft, one)
        return draft

    def _revision(self, one: Candidate) -> Draft:
        """The draft of a standing record: what the row says of it."""
        values = one.read.values
        given = {
            name: values[name]
            for name, field in self.compared.items()
            if name in values and (field.many_to_many or not self._says_nothing(field, values[name]))
        }
        draft = Draft(given, given, one.read.invalid, key=one.record.pk)
        if self.items is not None and (one.is_faulty or not self.items.hold(one.record, one.items)):
            self.items.give(draft, one)
        return draft

    def _put(self, candidates: Sequence[Candidate], verb: Verb) -> None:
        """Store the drafts by the verb; those it refuses get its findings, the others are tried again."""
        drafts = [one.draft for one in candidates if one.draft is not None]
        for number, finding in attach_references(self.entity_set.type, drafts):
            self._blame(candidates[number], self._fault(finding))
        waiting = list(candidates)
        while waiting:
            refused: ValidationFailed | None = None
            drafts = [one.draft for one in waiting if one.draft is not None]
            try:
                verb(drafts, **self.words)
            except ValidationFailed as found:
                refused = found
                for number, finding in found.issues:
                    self._blame(waiting[number], self._fault(finding), isinstance(found, WarningsPresent))
            # After the verb, which fills in what drafts leave out.
            if refused is None or not self.importing.has_warnings:
                for number, finding in apply_rules(drafts, self.importing.warnings):
                    if refused is None or waiting[number].is_faulty:
                        self._warn(waiting[number], finding)
            if refused is None:
                return
            left = [one for one in waiting if not one.is_faulty]
            if len(left) == len(waiting):
                raise RuntimeError("a verb refused drafts without saying which") from refused
            waiting = left

    def _fault(self, finding: Issue) -> ErrorDetail:
        place = wire_target(self.entity_set.type, finding.field, finding.code)
        return ErrorDetail(finding.code, place, finding.message)

    def _blame(self, one: Candidate, fault: ErrorDetail, only_warned: bool = False) -> None:
        remark = self._remark(one, fault)
        one.read.faults.append(replace(remark, is_warning=True, keeps_out=True) if only_warned else remark)

    def _warn(self, one: Candidate, finding: Issue) -> None:
        """Tell a warning of what the file says; not of what stood in the record before."""
        remark = self._remark(one, self._fault(finding))
        if remark.column is not None or self.importing.has_warnings:
            one.read.warnings.append(replace(remark, is_warning=True))

    def _remark(self, one: Candidate, fault: ErrorDetail) -> Remark:
        """A fault at the cell that gives its place; the message names the member when there is none."""
        place, row = fault.target or "", one.read.row
        told = place
        inside = _IN_LIST.fullmatch(place)
        if inside is not None and self.items is not None and inside[1] == self.items.part.name:
            number = int(inside[2])
            row = one.items[number].row if number < len(one.items) else row
            place, told = f"{inside[1]}/{inside[3] or ''}", inside[3] or ""
        column = self.places.get(place) or self.places.get(place.rpartition("/")[0].partition("[")[0])
        if column is not None:
            return Remark(row, column.index, fault.code, fault.message)
        return Remark(row, None, fault.code, f"{told}: {fault.message}" if told else fault.message)

    def tell(self) -> None:
        """Report the records judged last."""
        sums = self.report.sums
        candidates, changing = self.judged
        for one in candidates:
            sums.lines += len(one.rows)
            if one.is_faulty:
                self.report.refuse_record(one.rows, in_order(one.remarks()))
                continue
            if one.record is not None and id(one) not in changing:
                sums.unchanged += 1
                continue
            self.report.warn(in_order(one.warnings()))
            if one.record is None:
                sums.new += 1
            else:
                sums.changed += 1


def among(field: Any, values: Iterable[Any]) -> Any:
    """The condition that a column holds one of the values, ``None`` being one."""
    given = set(values)
    condition = models.Q(AnyOf(field, given - {None}))
    return condition | models.Q(**{f"{field.name}__isnull": True}) if None in given else condition


def places_of(columns: Sequence[Column], importing: Importing) -> dict[str, Column]:
    """The column that gives what stands at a place of the interface: ``LineItems/Product``, ``StaffGuid``."""
    found: dict[str, Column] = {}
    for column in columns:
        member = column.member
        found[member.name] = column
        if member.reference is not None:
            found.setdefault(member.name.rpartition("/")[0], column)
        if member.finder is not None:
            found.setdefault(member.finder.member, column)
    for named in importing.named_by:
        column_of_first = found.get(next(iter(named.by.values())))
        if column_of_first is not None:
            found.setdefault(named.member, column_of_first)
    return found
