"""A batch of records from rows to the services: read, matched, validated and saved in one transaction."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from apps.core.archive import set_archive_dates
from apps.core.importing.columns import ImportColumn, Member, item_list_of
from apps.core.importing.definition import ImportDefinition
from apps.core.importing.existing import ItemMatcher, RecordMatcher
from apps.core.importing.grouping import RecordRows, RowGrouper
from apps.core.importing.reading import ARCHIVE_DATE, Candidate, RowReader, read_candidates
from apps.core.importing.references import ReferenceResolver
from apps.core.importing.report import ImportReport, RowIssue, in_column_order
from apps.core.importing.tables import Row
from apps.odata.declaration.schema import EntitySet
from apps.odata.write.drafts import Draft, Issue, ValidationFailed, WarningsPresent, apply_rules
from apps.odata.write.references import attach_references
from apps.odata.write.targets import wire_target

Service = Callable[..., Any]

#: ``LineItems[1]/Quantity``: the list, the number of the item, and its member.
_IN_LIST = re.compile(r"(\w+)\[(\d+)\](?:/(.*))?")

#: Marks the draft of a rejected row as invalid where no member of it is.
REJECTED = "rejected"


class BatchImporter:
    """Imports the records of a file batch by batch; a batch belongs into one transaction."""

    def __init__(
        self,
        entity_set: EntitySet,
        columns: Sequence[ImportColumn],
        definition: ImportDefinition,
        match_fields: Sequence[str],
        report: ImportReport,
        day_first: bool = True,
        updates: bool = True,
        ignore_warnings: bool = False,
        by_name: bool = False,
    ) -> None:
        self.entity_set, self.definition, self.report = entity_set, definition, report
        self.updates, self.ignore_warnings = updates, ignore_warnings
        own = [c for c in columns if c.member.item_list is None and not c.member.is_import_reference]
        inner = [c for c in columns if c.member.item_list is not None]
        past_dates = definition.future_dates if by_name else ()
        self.reader = RowReader(entity_set.type, own, report.table, definition, day_first, past_dates)
        self.items: ItemMatcher | None = None
        part = item_list_of(entity_set.type)
        if part is not None and inner:
            item_reader = RowReader(part.type, inner, report.table, definition, day_first)
            self.items = ItemMatcher(part, inner, item_reader, definition)
        report.has_items = self.items is not None
        self.grouper = RowGrouper(entity_set, definition, columns, self.reader, report.has_items)
        self.references = ReferenceResolver(entity_set, definition, columns)
        self.matcher = RecordMatcher(
            entity_set, definition, columns, match_fields, self.references, self.items
        )
        self.columns_by_target = columns_by_target(columns, definition, self.references.members)
        self.has_warnings = entity_set.resource.has_warnings
        #: Columns by whose texts rows name records of their own kind.
        self.own_kind_columns = {
            c.index
            for c in own
            if c.member.record_name and c.member.record_name.column.model is entity_set.model
        }

    def close(self) -> None:
        self.matcher.first_rows.close()

    def batches(self, rows: Iterable[Row], size: int) -> Iterator[list[RecordRows]]:
        """The records of some rows, in batches of about so many rows; no record is in two of them."""
        return self.grouper.batches(rows, size)

    def import_batch(self, records: Sequence[RecordRows]) -> list[Candidate]:
        """Save what can be saved of the records. May be called again, when the transaction was lost."""
        candidates = read_candidates(
            [(record.rows, record.too_long) for record in records],
            self.reader,
            self.items.reader if self.items is not None else None,
        )
        self.reject_scattered(candidates, records)
        complete = [one for one in candidates if one.is_complete]
        self.references.resolve_names(complete)
        self.matcher.match(complete)
        new, changed = [], []
        for one in complete:
            self.check_required(one)
            if one.existing is None:
                new.append(one)
            elif one.is_rejected or (self.updates and not self.matcher.is_unchanged(one)):
                changed.append(one)
        for one in new:
            one.draft = self.new_draft(one)
        for one in changed:
            one.draft = self.changed_draft(one)
        self.save(new, self.definition.create)
        self.save(changed, self.definition.update)
        return candidates

    def reject_scattered(self, candidates: Sequence[Candidate], records: Sequence[RecordRows]) -> None:
        """Reject rows of a record that are apart from its others."""
        keyed = [
            (one, record.key)
            for one, record in zip(candidates, records, strict=True)
            if record.key is not None and not record.too_long
        ]
        values = [(one, (key.rank, key.texts)) for one, key in keyed]
        columns = {id(one): key.columns[0] for one, key in keyed}
        for one, number in self.matcher.first_rows.earlier("group", values):
            message = f"Row {number:,} of the file has it already; the rows of one record must be adjacent."
            one.read.reject(columns[id(one)], "NotUnique", message)

    def check_required(self, one: Candidate) -> None:
        """What the declaration requires: of an existing record only what the file has columns for."""
        is_new = one.existing is None
        if self.items is not None:
            self.items.match(one)
            for item, existing in zip(one.items, one.existing_items, strict=True):
                self.items.reader.check_required(item, only_columns=existing is not None)
            if one.items:
                one.read.values[self.items.part.attribute] = one.items
        self.reader.check_required(one.read, only_columns=not is_new)
        if self.items is not None:
            one.read.values.pop(self.items.part.attribute, None)

    def new_draft(self, one: Candidate) -> Draft:
        draft = self.reader.new_draft(one.read)
        if self.items is not None:
            self.items.fill_list(draft, one)
        return draft

    def changed_draft(self, one: Candidate) -> Draft:
        given = self.matcher.compared.given_values(one.read.values)
        given.pop(ARCHIVE_DATE, None)
        draft = self.reader.draft_class(given, given, one.read.invalid, key=one.existing.key)
        if self.items is not None and (
            one.is_rejected or not self.items.are_unchanged(one.existing, one.items)
        ):
            self.items.fill_list(draft, one)
        return draft

    # --- saving

    def save(self, candidates: Sequence[Candidate], service: Service) -> None:
        """Save the drafts by the service; those it rejects get its issues, the others are tried again."""
        drafts = [one.draft for one in candidates if one.draft is not None]
        for number, issue in attach_references(self.entity_set.type, drafts):
            self.add_error(candidates[number], *self.located(issue))
        rejected = [one for one in candidates if one.is_rejected]
        for one in rejected:
            assert one.draft is not None
            one.draft.invalid |= {REJECTED}
        if rejected and self.call(service, rejected):
            raise RuntimeError("a service saved invalid drafts")
        waiting = [one for one in candidates if not one.is_rejected]
        while waiting and not self.call(service, waiting):
            left = [one for one in waiting if not one.is_rejected]
            if len(left) == len(waiting):
                raise RuntimeError("a service rejected drafts without saying which")
            waiting = left
        for number, issue in apply_rules(drafts, self.definition.warnings):
            self.add_warning(candidates[number], issue)

    def call(self, service: Service, candidates: Sequence[Candidate]) -> bool:
        """Whether the service saved all drafts; the issues of those that it rejects are added."""
        drafts = [one.draft for one in candidates]
        try:
            keys = service(drafts, **({"ignore_warnings": False} if self.has_warnings else {}))
        except WarningsPresent as found:
            # Warnings that the interface does not know stop nobody.
            if self.ignore_warnings or not self.has_warnings:
                for number, issue in found.issues:
                    self.add_warning(candidates[number], issue)
                self.save_archive_dates(candidates, service(drafts, ignore_warnings=True))
                return True
            for number, issue in found.issues:
                self.add_error(candidates[number], *self.located(issue), unconfirmed=True)
        except ValidationFailed as found:
            for number, issue in found.issues:
                self.add_error(candidates[number], *self.located(issue))
        else:
            self.save_archive_dates(candidates, keys)
            return True
        return False

    def save_archive_dates(self, candidates: Sequence[Candidate], keys: Sequence[Any]) -> None:
        """Archive and restore records as the file says; ``keys`` are those of new records, in their order."""
        if ARCHIVE_DATE not in self.reader.by_attribute:
            return
        dates = []
        for number, one in enumerate(candidates):
            after = one.read.values.get(ARCHIVE_DATE)
            before = None if one.existing is None else one.existing.values[ARCHIVE_DATE]
            if after != before:
                dates.append((keys[number] if one.existing is None else one.existing.key, before, after))
        set_archive_dates(self.entity_set.model, dates)

    def located(self, issue: Issue) -> tuple[str, str, str]:
        """Code, wire name of the place, and message of an issue."""
        return issue.code, wire_target(self.entity_set.type, issue.field, issue.code), issue.message

    def add_error(
        self, one: Candidate, code: str, target: str | None, message: str, unconfirmed: bool = False
    ) -> None:
        issue = self.row_issue(one, code, target or "", message)
        if unconfirmed:
            issue = replace(issue, is_warning=True, unconfirmed=True)
        one.read.errors += (issue,)

    def add_warning(self, one: Candidate, found: Issue) -> None:
        """Add a warning of what the file gives; not of what an existing record had before."""
        issue = self.row_issue(one, *self.located(found))
        if issue.column is not None or self.has_warnings:
            one.read.warnings += (replace(issue, is_warning=True),)

    def row_issue(self, one: Candidate, code: str, target: str, message: str) -> RowIssue:
        """An issue at the cell that gives its place; the message names the member when there is none."""
        row, name = one.read.row, target
        in_list = _IN_LIST.fullmatch(target)
        if in_list is not None and self.items is not None and in_list[1] == self.items.part.name:
            number, name = int(in_list[2]), in_list[3] or ""
            row = one.items[number].row if number < len(one.items) else row
            target = f"{in_list[1]}/{name}"
        outer = target.rpartition("/")[0].partition("[")[0]
        column = self.columns_by_target.get(target) or self.columns_by_target.get(outer)
        if column is not None:
            return RowIssue(row, column.index, code, message)
        return RowIssue(row, None, code, f"{name}: {message}" if name else message)

    # --- reporting

    def report_batch(
        self, candidates: Sequence[Candidate], records: Sequence[RecordRows], may_postpone: bool
    ) -> list[RecordRows]:
        """Report the records of a batch that is saved; those are returned that are to be tried later.

        They name a record of their own kind, which a later row may create.
        """
        counts = self.report.counts
        postponed = []
        for one, record in zip(candidates, records, strict=True):
            if may_postpone and one.is_rejected and self.lacks_only_own_kind(one):
                postponed.append(record)
                continue
            counts.rows += len(one.rows)
            if one.is_rejected:
                self.report.reject(one.rows, in_column_order(one.issues()))
                continue
            if one.draft is None:
                counts.unchanged += 1
                continue
            warnings = one.warnings()
            if warnings:
                self.report.warn(in_column_order(warnings))
            if one.existing is None:
                counts.new += 1
            else:
                counts.changed += 1
        return postponed

    def lacks_only_own_kind(self, one: Candidate) -> bool:
        """Whether the record is rejected only for naming records of its own kind that do not exist yet."""
        return not any(item.errors for item in one.items) and all(
            error.code == "NotFound" and error.column in self.own_kind_columns for error in one.read.errors
        )


def columns_by_target(
    columns: Sequence[ImportColumn], definition: ImportDefinition, members: Mapping[str, Member]
) -> dict[str, ImportColumn]:
    """The column that gives what is at a place of the interface: ``LineItems/Product``, ``StaffGuid``."""
    found: dict[str, ImportColumn] = {column.member.name: column for column in columns}
    for column in columns:
        member = column.member
        if member.navigation is not None:
            found.setdefault(member.name.rpartition("/")[0], column)
        elif member.record_name is not None:
            for name, other in members.items():
                if other.target == member.target and other.record_name is None:
                    found.setdefault(name, column)
    for derived in definition.derived_references:
        column_of_first = found.get(next(iter(derived.by.values())))
        if column_of_first is not None:
            found.setdefault(derived.member, column_of_first)
    return found
