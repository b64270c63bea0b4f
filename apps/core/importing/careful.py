"""The careful way of rows: read one by one, judged and stored by the same verbs as the interface's."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import models

from apps.core.identifiers import folded
from apps.core.importing.additions import Importing
from apps.core.importing.first_rows import FirstRows
from apps.core.importing.folding import twin_of
from apps.core.importing.headers import Column
from apps.core.importing.reports import Remark, Report, in_order
from apps.core.importing.rows import ReadRow, RowReader, is_list
from apps.core.importing.tables import Row
from apps.odata.among import Among
from apps.odata.drafts import Draft, Finding, Refused, judge
from apps.odata.errors import Fault
from apps.odata.places import wire_place
from apps.odata.references import resolve
from apps.odata.schema import EntitySet

Verb = Callable[[Sequence[Draft]], Any]


@dataclass(eq=False, slots=True)
class Candidate:
    """A row on its way in, and the record it was found to be."""

    read: ReadRow
    record: Any = None
    draft: Draft | None = None

    @property
    def number(self) -> int:
        return self.read.row.number


class CarefulWay:
    """Judges and stores rows in batches; a batch belongs into one transaction."""

    def __init__(
        self,
        entity_set: EntitySet,
        columns: Sequence[Column],
        importing: Importing,
        match: Sequence[str],
        report: Report,
        day_first: bool = True,
        updates: bool = True,
    ) -> None:
        self.entity_set = entity_set
        self.model = entity_set.model
        self.importing = importing
        self.columns = columns
        self.report = report
        self.updates = updates
        self.reader = RowReader(entity_set, columns, importing, day_first, report.table.has_guards)
        self.by_name = {column.member.name: column for column in columns}
        self.by_part = {
            column.member.reference.name: column for column in columns if column.member.reference is not None
        }
        self.match = [self.by_name[name] for name in match if name in self.by_name]
        self.uniques = [
            column
            for column in columns
            if column.member.reference is None
            and (twin := twin_of(column.member.prop.source_field)) is not None
            and twin.unique
        ]
        self.key_column = next((column for column in columns if column.member.is_key), None)
        self.first_rows = FirstRows()
        fields = {field.name: field for field in self.model._meta.get_fields()}
        self.compared = [
            (column, fields[column.member.attribute]) for column in columns if not column.member.is_key
        ]

    def close(self) -> None:
        self.first_rows.close()

    def judge(self, rows: Sequence[Row]) -> None:
        """Store what can be stored of the rows, and report all of them."""
        candidates = [Candidate(self.reader.read(row)) for row in rows]
        sound = [one for one in candidates if one.read.row.trouble is None]
        self._find_references(sound)
        self._find_records(sound)
        new: list[Candidate] = []
        known: list[Candidate] = []
        for one in sound:
            self._require(one)
            (new if one.record is None else known).append(one)
        changed = [one for one in known if one.read.faults or not self._is_unchanged(one)]
        for one in new:
            one.draft = self.reader.draft(one.read)
        for one in changed:
            one.draft = self._revision(one)
        self._put(new, self.importing.create)
        self._put(changed, self.importing.revise)
        self._tell(candidates, changed)

    # --- what a row refers to

    def _find_references(self, candidates: Iterable[Candidate]) -> None:
        """Turn texts that name a referred record into its key, one query for each column."""
        asked: dict[Column, list[Candidate]] = defaultdict(list)
        for one in candidates:
            for column in one.read.finders:
                asked[column].append(one)
        for column, askers in asked.items():
            self._find_by_text(column, askers)

    def _find_by_text(self, column: Column, askers: Sequence[Candidate]) -> None:
        part = column.member.reference
        twin = twin_of(column.member.prop.source_field)
        assert part is not None
        assert twin is not None
        texts = {folded(text) for one in askers for text in one.read.finders[column]}
        records = part.type.model._base_manager.filter(Among(twin, texts)).values_list(twin.name, "pk")
        keys = dict(records)
        for one in askers:
            wanted = one.read.finders[column]
            missing = [text for text in wanted if folded(text) not in keys]
            if missing:
                name = part.type.model._meta.verbose_name
                one.read.refuse(column, "NotFound", f"There is no {name} called {missing[0]}.")
                continue
            found = [keys[folded(text)] for text in wanted]
            one.read.values[column.member.attribute] = found if is_list(column.member) else found[0]

    # --- which record a row is

    def _find_records(self, candidates: Sequence[Candidate]) -> None:
        """Find the record each row changes, and refuse rows that stood in the file before."""
        by_column: dict[Column | None, list[tuple[Candidate, Any]]] = defaultdict(list)
        for one in candidates:
            column, value = self._found_by(one)
            self._refuse_twins(one, column)
            if value is not None:
                by_column[column].append((one, value))
            elif column is None and not one.read.faults:
                by_column[None].append((one, None))
        for column, found in by_column.items():
            if column is None:
                self._find_alike([one for one, _ in found])
            else:
                self._find_by(column, found)

    def _found_by(self, one: Candidate) -> tuple[Column | None, Any]:
        """The first of the columns that rows are found by which the row gives, and its value as compared."""
        if self.key_column is not None:
            if one.read.key is not None:
                return self.key_column, one.read.key
            if self.key_column.member.attribute in one.read.faulty:
                return self.key_column, None
        for column in self.match:
            value = one.read.values.get(column.member.attribute)
            if value is not None or column.member.attribute in one.read.faulty:
                return column, self._compared(column, value)
        return None, None

    def _compared(self, column: Column, value: Any) -> Any:
        return folded(value) if twin_of(column.member.prop.source_field) is not None else value

    def _refuse_twins(self, one: Candidate, used: Column | None) -> None:
        """Tell of a value that an earlier row of the file has, where it must be one row's alone."""
        if used is None and not one.read.faults:
            values = sorted((name, repr(value)) for name, value in one.read.values.items())
            first = self.first_rows.first("", values, one.number)
            if first != one.number:
                message = f"Row {first:,} of the file says the same."
                one.read.faults.append(Remark(one.read.row, None, "NotUnique", message))
            return
        for column in dict.fromkeys([*self.match, *self.uniques]):
            value = one.read.values.get(column.member.attribute)
            if value is None:
                continue
            first = self.first_rows.first(column.member.name, self._compared(column, value), one.number)
            if first != one.number and (column is used or column in self.uniques):
                one.read.refuse(column, "NotUnique", f"Row {first:,} of the file has it already.")
        if used is not None and used is self.key_column and one.read.key is not None:
            first = self.first_rows.first(used.member.name, one.read.key, one.number)
            if first != one.number:
                one.read.refuse(used, "NotUnique", f"Row {first:,} of the file has it already.")

    def _find_by(self, column: Column, wanted: Sequence[tuple[Candidate, Any]]) -> None:
        field = column.member.prop.source_field
        twin = twin_of(field)
        by = twin if twin is not None else field
        records: dict[Any, list[Any]] = defaultdict(list)
        for record in self._records(Among(by, {value for _, value in wanted})):
            records[getattr(record, by.attname)].append(record)
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
                    column, "NotFound", f"There is no {name} of this key; leave it empty for a new one."
                )

    def _find_alike(self, wanted: Sequence[Candidate]) -> None:
        """Rows that no column finds are the records that equal them in every column."""
        names = [name for name in self.importing.alike if name in self.reader.by_attribute]
        if not names:
            return
        field = self.model._meta.get_field(names[0])
        values = {one.read.values.get(names[0]) for one in wanted} - {None}
        records: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
        rows = {tuple(one.read.values.get(name) for name in names) for one in wanted}
        assert isinstance(field, models.Field)
        held = self._records(Among(field, values))
        for name in names[1:]:
            other = self.model._meta.get_field(name)
            assert isinstance(other, models.Field)
            held = held.filter(Among(other, {one.read.values.get(name) for one in wanted} - {None}))
        for record in held:
            key = tuple(getattr(record, name) for name in names)
            if key in rows:
                records[key].append(record)
        for one in wanted:
            key = tuple(one.read.values.get(name) for name in names)
            for record in records.get(key, ()):
                one.record = record
                if self._is_unchanged(one):
                    break
                one.record = None

    def _records(self, condition: Among) -> Any:
        lists = [field.name for _, field in self.compared if field.many_to_many]
        return self.model._base_manager.filter(condition).prefetch_related(*lists).order_by("pk")

    def _is_unchanged(self, one: Candidate) -> bool:
        """Whether the record holds what the row gives, or must be left as it is."""
        return not self.updates or all(
            self._holds(one.record, field, one.read.values[column.member.attribute])
            for column, field in self.compared
        )

    def _holds(self, record: Any, field: Any, value: Any) -> bool:
        if field.many_to_many:
            return {other.pk for other in getattr(record, field.name).all()} == set(value)
        # An empty cell says nothing of a column that cannot be empty.
        return (value is None and not field.null) or instant(getattr(record, field.attname)) == value

    # --- judging and storing

    def _require(self, one: Candidate) -> None:
        """What the declaration requires: of a new record all, of one that stands what the file speaks of."""
        self.reader.missing(one.read, only_told=one.record is not None)

    def _revision(self, one: Candidate) -> Draft:
        """The draft of a standing record: what the row says of it."""
        given = {
            column.member.attribute: one.read.values[column.member.attribute]
            for column, field in self.compared
            if column.member.attribute in one.read.values
            and (field.many_to_many or field.null or one.read.values[column.member.attribute] is not None)
        }
        return Draft(given, given, one.read.faulty, key=one.record.pk)

    def _put(self, candidates: Sequence[Candidate], verb: Verb) -> None:
        """Store the drafts by the verb; those it refuses get its findings, the others are tried again."""
        drafts = [one.draft for one in candidates if one.draft is not None]
        for number, fault in resolve(self.entity_set.type, drafts, [""] * len(drafts)):
            self._blame(candidates[number], fault)
        waiting = list(candidates)
        while waiting:
            refused: Refused | None = None
            drafts = [one.draft for one in waiting if one.draft is not None]
            try:
                verb(drafts)
            except Refused as found:
                refused = found
                for number, finding in found.findings:
                    self._blame(waiting[number], self._fault(finding))
            # After the verb, which fills in what drafts leave out.
            for number, finding in judge(drafts, self.importing.warnings):
                if refused is None or waiting[number].read.faults:
                    self._warn(waiting[number], finding)
            if refused is None:
                return
            left = [one for one in waiting if not one.read.faults]
            if len(left) == len(waiting):
                raise RuntimeError("a verb refused drafts without saying which") from refused
            waiting = left

    def _fault(self, finding: Finding) -> Fault:
        place = wire_place(self.entity_set.type, finding.place, finding.code)
        return Fault(finding.code, place, finding.message)

    def _blame(self, one: Candidate, fault: Fault) -> None:
        one.read.faults.append(self._remark(one, fault))

    def _warn(self, one: Candidate, finding: Finding) -> None:
        """Tell a warning of what the file says; not of what stood in the record before."""
        remark = self._remark(one, self._fault(finding))
        if remark.column is not None:
            one.read.warnings.append(replace(remark, is_warning=True))

    def _remark(self, one: Candidate, fault: Fault) -> Remark:
        """A fault at the column that gives its place; the message names the member when there is none."""
        place = fault.target or ""
        column = self.by_name.get(place) or self.by_part.get(place.partition("/")[0].partition("[")[0])
        if column is not None:
            return Remark(one.read.row, column.index, fault.code, fault.message)
        return Remark(one.read.row, None, fault.code, f"{place}: {fault.message}" if place else fault.message)

    def _tell(self, candidates: Sequence[Candidate], changed: Sequence[Candidate]) -> None:
        sums = self.report.sums
        changing = {id(one) for one in changed}
        for one in candidates:
            if one.read.faults:
                wrong = {fault.column for fault in one.read.faults}
                doubtful = [warning for warning in one.read.warnings if warning.column not in wrong]
                self.report.refuse(one.read.row, in_order([*one.read.faults, *doubtful]))
                continue
            if one.record is not None and id(one) not in changing:
                sums.unchanged += 1
                continue
            self.report.warn(in_order(one.read.warnings))
            if one.record is None:
                sums.new += 1
            else:
                sums.changed += 1


def instant(value: Any) -> Any:
    """A time in UTC. Two zones' times that a clock change makes ambiguous are never equal to Python."""
    return value.astimezone(dt.UTC) if isinstance(value, dt.datetime) else value
