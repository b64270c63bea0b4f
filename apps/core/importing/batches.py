"""A batch of records from rows to the services: read, matched, validated and saved in one transaction."""

from collections.abc import Sequence

from django.db import connection

from apps.base.declaration.resource import POST
from apps.base.declaration.schema import EntitySet
from apps.base.drafts import (
    Issue,
    ValidationFailed,
    WarningsPresent,
    apply_rules,
    attach_references,
    wire_target,
)
from apps.core.archive import set_archive_dates
from apps.core.importing.columns import RecordColumn
from apps.core.importing.definition import ImportDefinition, ImportOptions
from apps.core.importing.existing import FirstRows, match_records
from apps.core.importing.grouping import RowGrouper, group_keys
from apps.core.importing.headers import item_list_of, possible_columns
from apps.core.importing.reading import read_records
from apps.core.importing.record_columns import ARCHIVE_DATE, ItemColumns, RecordColumns
from apps.core.importing.records import ReadRecord, RecordRows
from apps.core.importing.report import ImportReport, RowIssue
from apps.core.services import Service, service_of

#: Marks the draft of a rejected row as invalid where no member of it is.
REJECTED = "rejected"


class BatchImporter:
    """Imports the records of a file batch by batch; a batch belongs into one transaction."""

    def __init__(
        self,
        entity_set: EntitySet,
        columns: Sequence[RecordColumn],
        definition: ImportDefinition,
        match_fields: Sequence[str],
        report: ImportReport,
        options: ImportOptions,
    ) -> None:
        self.entity_set, self.definition, self.report = entity_set, definition, report
        self.options, self.columns, known = options, columns, possible_columns(entity_set, definition)
        own = [column for column in columns if not column.list_name and not column.only_groups]
        inner = [column for column in columns if column.list_name]
        part = item_list_of(entity_set.type)
        self.items = ItemColumns(part, inner, definition) if part is not None and inner else None
        report.has_items = self.items is not None
        by_name = {column.name: column for column in own}
        #: References that the definition finds, and the column at fault when it does not.
        self.found = {
            known[name]: by_name[by] for name, by in definition.found_references.items() if by in by_name
        }
        self.own = RecordColumns(
            entity_set.type, own, definition, self.items, [*self.found], is_past=options.by_name
        )
        self.grouper = RowGrouper(own, group_keys(definition, known, columns), report.has_items)
        #: The record's own key comes before the columns that identify it.
        self.match_columns = [column for column in own if column.is_key]
        self.match_columns += [by_name[name] for name in match_fields if name in by_name]
        self.first_rows = FirstRows()
        #: The column that gives a value of a record, or of an item of its list; of several the guid's.
        self.columns_by_target: dict[tuple[str, str], RecordColumn] = {}
        for column in sorted(columns, key=lambda c: not c.is_guid):
            self.columns_by_target.setdefault(column.target, column)
        for found, column in self.found.items():
            self.columns_by_target.setdefault(found.target, column)
        #: Warnings stop a row where they stop a POST; of records without one they are told.
        self.has_warnings = entity_set.resource.has_warnings and entity_set.supports(POST)
        self.has_references = any(column.refers for column in columns)
        #: Columns by whose texts rows name records of their own kind.
        self.own_kind_columns = {
            c.index for c in own if c.record_name and c.record_name.column.model is entity_set.model
        }

    def import_batch(self, records: Sequence[RecordRows]) -> list[ReadRecord]:
        """Save what can be saved of the records. May be called again, when the transaction was lost."""
        read = read_records(records, self.own)
        self.reject_scattered(read)
        complete = [record for record in read if all(row.defect is None for row in record.rows)]
        match_records(complete, self.own, self.match_columns, self.first_rows, self.find_references)
        new, changed = [], []
        for record in complete:
            self.check_required(record)
            if record.existing is None:
                new.append(record)
            elif record.is_rejected or (
                self.options.updates and not self.own.is_unchanged(record, record.existing)
            ):
                changed.append(record)
        for record in (*new, *changed):
            record.draft = self.own.draft(record)
            record.draft.fill("label", self.report.record_label(record.row))
            if self.items is not None and not self.items.are_unchanged(record):
                self.items.fill_list(record.draft, record)
        self.save(new, self.definition.create or service_of(self.entity_set.model, "create"))
        self.save(changed, self.definition.update or service_of(self.entity_set.model, "update"))
        return read

    def analyse(self) -> None:
        """Let PostgreSQL look at the tables, which have outgrown the statistics that it plans by.

        Until it does so by itself, a minute later, it would compare each new row with every other.
        """
        if connection.vendor == "postgresql":
            models = [self.own.model, *([self.items.model] if self.items is not None else [])]
            tables = [connection.ops.quote_name(model._meta.db_table) for model in models]
            with connection.cursor() as cursor:
                cursor.execute("ANALYZE (SKIP_LOCKED) " + ", ".join(tables))

    def find_references(self, records: Sequence[ReadRecord]) -> None:
        """Let the definition find the references that rows do not name themselves."""
        for column in self.found.values():
            self.definition.find_references(records, column)

    def reject_scattered(self, records: Sequence[ReadRecord]) -> None:
        """Reject rows of a record that are apart from its others."""
        keyed = [
            (record, record.source.key)
            for record in records
            if record.source is not None and record.source.key is not None and not record.source.too_long
        ]
        ranks = {id(record): rank for record, (rank, _) in keyed}
        for record, number in self.first_rows.earlier("group", keyed):
            column = self.grouper.keys[ranks[id(record)]][0][0]
            message = f"Row {number:,} of the file has it already; the rows of one record must be adjacent."
            record.reject(column, "NotUnique", message)

    def check_required(self, record: ReadRecord) -> None:
        """Check the required members of a record and of its items."""
        list_attribute = None
        if self.items is not None and record.items:
            list_attribute = self.items.part.attribute
            for item in record.items:
                self.items.check_required(item)
        self.own.check_required(record, given=list_attribute)

    # --- saving

    def save(self, records: Sequence[ReadRecord], service: Service) -> None:
        """Save the drafts by the service; those it rejects get its issues, the others are tried again."""
        drafts = [record.draft for record in records if record.draft is not None]
        if self.has_references:
            for number, issue in attach_references(self.entity_set.type, drafts):
                self.add_error(records[number], issue)
        self.definition.complete_drafts(drafts)
        warnings = list(self.definition.find_warnings(drafts))
        rejected = [record for record in records if record.is_rejected]
        for record in rejected:
            assert record.draft is not None
            record.draft.invalid |= {REJECTED}
        if rejected and self.call(service, rejected):
            raise RuntimeError("a service saved invalid drafts")
        waiting = [record for record in records if not record.is_rejected]
        while waiting and not self.call(service, waiting):
            left = [record for record in waiting if not record.is_rejected]
            if len(left) == len(waiting):
                raise RuntimeError("a service rejected drafts without saying which")
            waiting = left
        of_saved = [(number, issue) for number, issue in warnings if not records[number].is_rejected]
        for number, issue in (*of_saved, *apply_rules(drafts, self.definition.warnings)):
            self.add_warning(records[number], issue)

    def call(self, service: Service, records: Sequence[ReadRecord]) -> bool:
        """True when the service saved all drafts; the issues of those that it rejects are added."""
        drafts = [record.draft for record in records]
        try:
            keys = service(drafts, **({"ignore_warnings": False} if self.has_warnings else {}))
        except WarningsPresent as found:
            if self.has_warnings and not self.options.ignore_warnings:
                for number, issue in found.issues:
                    self.add_error(records[number], issue, is_warning=True)
                return False
            for number, issue in found.issues:
                self.add_warning(records[number], issue, is_of_record=True)
            keys = service(drafts, ignore_warnings=True)
        except ValidationFailed as found:
            for number, issue in found.issues:
                self.add_error(records[number], issue)
            return False
        self.save_archive_dates(records, keys)
        return True

    def save_archive_dates(self, records: Sequence[ReadRecord], keys: Sequence[object]) -> None:
        """Archive and restore records as the file says; ``keys`` are those of new records, in their order."""
        if ARCHIVE_DATE not in self.own.by_attribute:
            return
        dates = []
        for number, record in enumerate(records):
            after = record.values.get(ARCHIVE_DATE)
            before = None if record.existing is None else record.existing.values[ARCHIVE_DATE]
            if after != before:
                dates.append(
                    (keys[number] if record.existing is None else record.existing.key, before, after)
                )
        set_archive_dates(self.entity_set.model, dates)

    def add_error(self, record: ReadRecord, found: Issue, is_warning: bool = False) -> None:
        """Add what keeps the record out: an error, or a warning that nobody confirmed."""
        record.errors += (self.row_issue(record, found, is_warning, is_of_record=is_warning),)

    def add_warning(self, record: ReadRecord, found: Issue, is_of_record: bool = False) -> None:
        """Add a warning of what the file gives; not of what an existing record had before."""
        issue = self.row_issue(record, found, True, is_of_record)
        if issue.column is not None or self.has_warnings:
            record.warnings += (issue,)

    def row_issue(
        self, record: ReadRecord, issue: Issue, is_warning: bool, is_of_record: bool = False
    ) -> RowIssue:
        """An issue at the cell that gives its field; the message names the member when there is none."""
        attribute, *rest = (issue.field,) if isinstance(issue.field, str) else issue.field
        row, type_, target = record.row, self.entity_set.type, ("", str(attribute))
        path = (str(attribute), *rest)
        if self.items is not None and attribute == self.items.part.attribute and rest:
            number, *inner = rest
            row = record.items[int(number)].row
            type_, path = self.items.part.type, tuple(inner)
            target = (self.items.part.name, str(inner[0]) if inner else "")
        column = self.columns_by_target.get(target)
        if column is not None:
            return RowIssue(row, column.index, issue.code, issue.message, is_warning, is_of_record)
        name = wire_target(type_, path, issue.code) if path else ""
        message = f"{name}: {issue.message}" if name else issue.message
        return RowIssue(row, None, issue.code, message, is_warning, is_of_record)

    # --- reporting

    def report_batch(self, records: Sequence[ReadRecord], may_postpone: bool) -> list[RecordRows]:
        """Report the records of a batch that is saved; those are returned that are to be tried later.

        They name a record of their own kind, which a later row may create.
        """
        counts = self.report.counts
        postponed = []
        for record in records:
            if may_postpone and record.is_rejected and self.lacks_only_own_kind(record):
                assert record.source is not None
                postponed.append(record.source)
                continue
            counts.rows += len(record.rows)
            if record.is_rejected:
                self.report.reject(record.rows, record.all_errors(), record.all_warnings())
            elif record.draft is None:
                counts.unchanged += 1
            else:
                self.report.warn(record.all_warnings())
                counts.new += record.existing is None
                counts.changed += record.existing is not None
        return postponed

    def lacks_only_own_kind(self, record: ReadRecord) -> bool:
        """True when the record is rejected only for naming records of its own kind that do not exist yet."""
        return not any(item.errors for item in record.items) and all(
            error.code == "NotFound" and error.column in self.own_kind_columns for error in record.errors
        )
