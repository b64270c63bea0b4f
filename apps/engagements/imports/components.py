"""Components and funding periods that were read from rows, beside those that a plan has; and files of them.

A component is known by its name in the plan, else by what it pays for. The components of a plan go in
together or not at all: their sum is the plan's. Periods that are given replace those that a component has.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import transaction

from apps.base.batched_queries import AnyOf
from apps.base.drafts import Issue, ValidationFailed
from apps.base.money import ZERO
from apps.core.importing.cells import letters_of
from apps.core.importing.definition import ImportOptions
from apps.core.importing.report import ImportReport, RowIssue
from apps.core.importing.runs import ImportDisplay, import_of_fixed_columns
from apps.core.models import normalised
from apps.core.table_files.opening import open_table
from apps.core.table_files.tables import ImportFileError
from apps.engagements.choices import ManagementType
from apps.engagements.drafts import ComponentDraft, EnteredComponent, PeriodDraft
from apps.engagements.imports.component_rows import (
    ComponentRow,
    ReadComponent,
    Supports,
    find_component_columns,
    group_rows,
    read_component_rows,
)
from apps.engagements.models import CategoryBudget, ClientEngagement, FundingPeriod, SupportCategory, codes_of
from apps.engagements.services import save_components
from apps.people.entered_texts import clean_scheme_number
from apps.people.merging import find_in_use
from apps.people.models import Contact

#: The columns that members of drafts come from, for the issues of the rules.
COLUMN_OF_MEMBER = {
    "engagement": "plan_start",
    "component_name": "component",
    "category": "categories",
    "further_categories": "categories",
    "stated_items": "stated_supports",
    "management_type": "managed_by",
    "budget": "amount",
    "used_elsewhere": "spent_elsewhere",
    "total_budget_amount": "amount",
    "first_day": "period_from",
    "last_day": "period_to",
    "released": "released",
}


def supports_of(budget: CategoryBudget) -> Supports:
    """The supports of a component of a plan, as rows say them."""
    return Supports(budget.categories, tuple(code.upper() for code in codes_of(budget.stated_items)))


def support_values(supports: Supports, categories: Mapping[int, SupportCategory]) -> dict[str, Any]:
    """The columns of a component that pays for these; ``KeyError`` for a category that is not there."""
    first, *further = supports.categories
    return {
        "category": categories[first],
        "further_categories": " ".join(f"{number:02}" for number in further) or None,
        "stated_items": " ".join(supports.codes) or None,
    }


#: A new component as far as nothing is said of it: drafts of one call have the same members.
NEW_COMPONENT: Mapping[str, Any] = {
    "component_name": None,
    "further_categories": None,
    "stated_items": None,
    "management_type": ManagementType.PLAN.value,
    "budget": ZERO,
    "used_elsewhere": ZERO,
}


@dataclass(eq=False)
class ComponentChange:
    """A component that was read, beside the one that the plan has.

    ``values`` are the columns that differ, ``periods`` all of its periods where they do.
    """

    read: ReadComponent
    existing: CategoryBudget | None = None
    values: dict[str, Any] = field(default_factory=dict)
    periods: list[tuple[dt.date, dt.date, Any]] | None = None
    stored_periods: Sequence[FundingPeriod] = ()
    warnings: list[RowIssue] = field(default_factory=list)

    @property
    def outcome(self) -> str:
        """ "new", "changed" or "unchanged"."""
        if self.existing is None:
            return "new"
        return "changed" if self.values or self.periods is not None else "unchanged"

    def entered(self, plan: ClientEngagement) -> EnteredComponent:
        """New drafts of it: services fill those that they are given."""
        values = dict(self.values)
        if self.existing is None:
            values = {**NEW_COMPONENT, **values, "engagement": plan}
        key = None if self.existing is None else self.existing.pk
        draft = ComponentDraft(values, given=set(values), key=key)
        return EnteredComponent(draft, None if self.periods is None else period_drafts(self.periods))

    def row_and_column(self, issue: Issue) -> tuple[ComponentRow, str]:
        """The row that an issue of the services belongs to."""
        name = issue.field
        if isinstance(name, str):
            return self.read.rows[0], COLUMN_OF_MEMBER.get(name, "component")
        number, column = int(name[1]), COLUMN_OF_MEMBER.get(str(name[-1]), "period_from")
        period = self.periods[number] if self.periods else None
        row = next((row for row in self.read.rows if row.period == period), self.read.rows[0])
        return row, column

    def add_error(self, issue: Issue) -> None:
        row, column = self.row_and_column(issue)
        if column == "stated_supports" and column not in row.columns:
            column = "categories"
        row.add_error(column, issue.code, issue.message)

    def add_warning(self, issue: Issue) -> None:
        row, column = self.row_and_column(issue)
        self.warnings.append(row.issue(column, issue.code, issue.message, is_warning=True))


def period_drafts(periods: Iterable[tuple[dt.date, dt.date, Any]]) -> list[PeriodDraft]:
    return [PeriodDraft.of(*period) for period in periods]


def compare_components(
    components: Iterable[ReadComponent], existing: Sequence[CategoryBudget]
) -> list[ComponentChange]:
    """The changes of each component that was read; one that cannot be stored gets errors.

    ``existing`` are the components of the plan, with their periods.
    """
    categories = categories_by_number()
    by_name: dict[str, CategoryBudget] = {}
    for budget in existing:
        by_name.setdefault(letters_of(str(budget)), budget)
    by_supports = {supports_of(budget).compared: budget for budget in existing}
    taken: dict[UUID, ReadComponent] = {}
    changes = []
    for read in components:
        change = ComponentChange(read)
        changes.append(change)
        if read.has_errors:
            continue
        named = by_name.get(letters_of(read.name or ""))
        same = by_supports.get(read.supports.compared) if read.supports else None
        found = named or same
        if named and same and named is not same:
            read.add_error(
                "component", "Ambiguous", f"{named} has another name, and {same} pays for this already."
            )
        elif found is not None and taken.setdefault(found.pk, read) is not read:
            read.add_error("component", "NotUnique", f"{found} is in another row as well; write it one way.")
        elif found is None and read.supports is None:
            read.add_error(
                "categories",
                "Required",
                "The plan has no such component. Say what a new one pays for: categories such as 01 02 03, or"
                " codes of stated supports.",
            )
        elif found is None and read.amount is None:
            read.add_error("amount", "Required", "A new component has an amount, or periods that release it.")
        else:
            compare_component(change, found, categories)
    return changes


def compare_component(
    change: ComponentChange, existing: CategoryBudget | None, categories: Mapping[int, SupportCategory]
) -> None:
    read = change.read
    values: dict[str, Any] = {
        "component_name": read.name,
        "management_type": read.managed_by,
        "budget": read.amount,
        "used_elsewhere": read.spent_elsewhere,
    }
    values = {name: value for name, value in values.items() if value is not None}
    if read.supports is not None:
        try:
            values |= support_values(read.supports, categories)
        except KeyError as missing:
            text = f"There is no support category {missing.args[0]}."
            read.add_error("categories", "NotFound", text)
            return
    change.existing = existing
    periods = read.periods or None
    if existing is not None:
        change.stored_periods = list(existing.periods.all())
        if read.supports is not None and supports_of(existing).compared == read.supports.compared:
            for name in ("category", "further_categories", "stated_items"):
                values.pop(name)
        if existing.component_name is None and letters_of(read.name or "") == letters_of(str(existing)):
            values.pop("component_name", None)
        values = {name: value for name, value in values.items() if getattr(existing, name) != value}
        stored = [(each.first_day, each.last_day, each.released) for each in change.stored_periods]
        if periods == stored:
            periods = None
    change.values, change.periods = values, periods


def check_changes(plan: ClientEngagement, changes: Sequence[ComponentChange]) -> list[ComponentChange]:
    """The components that change something, with the errors and warnings of the service about them."""
    changing = [each for each in changes if each.outcome != "unchanged"]
    if any(each.read.has_errors for each in changes) or not changing:
        return changing
    for number, issue in find_issues(plan, [each.entered(plan) for each in changing]):
        change = changing[number]
        (change.add_warning if issue.severity == "warning" else change.add_error)(issue)
    return changing


def find_issues(plan: ClientEngagement, entered: Sequence[EnteredComponent]) -> list[tuple[int, Issue]]:
    """The issues and warnings that the service would raise; whatever it writes is rolled back."""
    try:
        with transaction.atomic():
            save_components(plan.pk, entered)
            transaction.set_rollback(True)
    except ValidationFailed as failed:
        return failed.issues
    return []


def components_of(plans: Iterable[UUID]) -> dict[UUID, list[CategoryBudget]]:
    """The components of plans, with their periods; three queries."""
    found: dict[UUID, list[CategoryBudget]] = defaultdict(list)
    budgets = CategoryBudget.objects.filter(engagement__in=list(plans)).select_related("category")
    for budget in budgets.prefetch_related("periods"):
        found[budget.engagement_id].append(budget)
    return found


def categories_by_number() -> dict[int, SupportCategory]:
    return {each.number: each for each in SupportCategory.objects.all()}


# --- files ----------------------------------------------------------------------------------------------


def import_components(
    path: Path, options: ImportOptions, display: ImportDisplay | None = None
) -> ImportReport:
    """Import a file of components and periods; ``ImportFileError`` when it cannot be read at all.

    Each plan is stored in a transaction of its own. Warnings are shown and keep nothing out.
    """
    display = display or ImportDisplay()
    table = open_table(path, sheet=options.sheet, header_row=options.header_row)
    found = find_component_columns(table, options.day_first)
    columns = found.by_name
    check_columns(columns)
    for notice in table.notices():
        display.show_notice(notice)
    if found.unknown:
        display.show_notice(f"Not read: {', '.join(found.unknown)}.")
    with import_of_fixed_columns(path, table, columns, options, display) as (report, rows):
        read = read_component_rows(rows, columns)
        report.has_items, report.counts.rows = True, len(read)
        for plan, components in find_plans(read):
            store_plan(plan, components, report, options.dry_run)
    return report


def check_columns(columns: Mapping[str, object]) -> None:
    """``ImportFileError`` for a file that cannot say which component of which plan a row is."""
    missing = [name for name in ("participant", "plan_start") if name not in columns]
    if not columns.keys() & {"component", "categories", "stated_supports"}:
        missing.append("component or categories")
    if not columns.keys() & {"amount", "released"}:
        missing.append("released or amount")
    if missing:
        names = ", ".join(missing)
        raise ImportFileError(
            f"The file lacks {names}; docs/plans.md has an example of a file of components."
        )


def find_plans(
    rows: Sequence[ComponentRow],
) -> Iterator[tuple[ClientEngagement | None, list[ReadComponent]]]:
    """The plans that rows are of, each with its components; rows whose plan is not found have errors.

    Participants are found by their scheme number or their code: two queries, and one for the plans.
    """
    for row in rows:
        for name in ("participant", "plan_start"):
            is_faulty = row.row.defect is not None or any(
                issue.column == row.columns[name].index for issue in row.errors
            )
            if row.values.get(name) is None and not is_faulty:
                row.add_error(name, "Required", "It is required.")
    texts = {row: row.values["participant"] for row in rows if row.values.get("participant")}
    participants = contacts_by_number_or_code(set(texts.values()))
    plans: dict[object, list[ClientEngagement]] = defaultdict(list)
    contacts = {contact.pk for found in participants.values() for contact in found}
    for plan in ClientEngagement.objects.filter(AnyOf("participant", contacts)).select_related("participant"):
        plans[plan.participant_id].append(plan)
    plan_of: dict[ComponentRow, ClientEngagement] = {}
    for row, text in texts.items():
        found = participants.get(text, ())
        start = row.values.get("plan_start")
        if len(found) != 1:
            code = "Ambiguous" if found else "NotFound"
            said = f"{len(found)} participants have" if found else "No participant has"
            row.add_error("participant", code, f"{said} this scheme number or code.")
        elif start is not None:
            meant = plan_on(start, plans[found[0].pk], row)
            if meant is not None:
                plan_of[row] = meant
    # Rows of one participant and start are one plan, found or not: all of it is stored, or nothing.
    groups: dict[object, list[ComponentRow]] = defaultdict(list)
    for row in rows:
        known = plan_of.get(row)
        key = known.pk if known else (row.values.get("participant"), row.values.get("plan_start"))
        groups[key].append(row)
    for group in groups.values():
        yield plan_of.get(group[0]), group_rows(group)


def plan_on(start: dt.date, plans: Sequence[ClientEngagement], row: ComponentRow) -> ClientEngagement | None:
    """The PACE plan of a participant that starts on a day, or the row's error."""
    starting = [plan for plan in plans if plan.plan_start_date == start and not plan.is_archived]
    pace = [plan for plan in starting if plan.is_pace]
    if pace:
        return pace[0]
    if starting:
        text = "That plan is no PACE plan: its budgets are service bookings."
        row.add_error("plan_start", "NotAllowed", text)
        return None
    others = sorted(plan.plan_start_date for plan in plans if plan.is_pace and not plan.is_archived)
    known = ", ".join(f"{day:%d %b %Y}" for day in others[-3:])
    advice = f"their PACE plans start on {known}." if known else "enter the plan first."
    text = f"The participant has no plan that starts on {start:%d %b %Y}: {advice}"
    row.add_error("plan_start", "NotFound", text)
    return None


def contacts_by_number_or_code(texts: Iterable[str]) -> Mapping[str, Sequence[Contact]]:
    """The participants of texts in a file."""
    numbers = {text: clean_scheme_number(text).text for text in texts}
    codes = {text: normalised(text) for text in numbers}
    records = Contact.objects.select_related("merged_into")
    contacts = list(records.filter(AnyOf("scheme_number", set(numbers.values()))))
    contacts += records.filter(AnyOf("unique_code_key", set(codes.values()) - {None}))
    found: dict[str, dict[UUID, Contact]] = defaultdict(dict)
    for text in numbers:
        for contact in contacts:
            if numbers[text] == contact.scheme_number or codes[text] == normalised(contact.unique_code):
                found[text][contact.pk] = contact
    return {text: find_in_use(group.values()) for text, group in found.items()}


def store_plan(
    plan: ClientEngagement | None, components: Sequence[ReadComponent], report: ImportReport, dry_run: bool
) -> None:
    """Store the components of a plan, and report them; all of them are rejected where one has an error."""
    changes: list[ComponentChange] = []
    if plan is not None and not any(component.has_errors for component in components):
        with transaction.atomic():
            # Of two imports of one plan, the second compares with what the first has stored.
            ClientEngagement.objects.select_for_update(of=("self",)).get(pk=plan.pk)
            existing = components_of([plan.pk])[plan.pk]
            changes = compare_components(components, existing)
            changing = check_changes(plan, changes)
            if not any(component.has_errors for component in components) and changing and not dry_run:
                save_components(plan.pk, [each.entered(plan) for each in changing], ignore_warnings=True)
    if any(component.has_errors for component in components):
        reject_plan(components, report)
        return
    for change in changes:
        setattr(report.counts, change.outcome, getattr(report.counts, change.outcome) + 1)
        if change.outcome != "unchanged":
            of_cells = [issue for row in change.read.rows for issue in row.warnings]
            report.warn([*of_cells, *change.warnings])


def reject_plan(components: Sequence[ReadComponent], report: ImportReport) -> None:
    faulty = next(row for each in components for row in each.rows if row.errors)
    for component in components:
        rows = [row.row for row in component.rows]
        errors = [issue for row in component.rows for issue in row.errors]
        if not errors:
            text = f"Row {faulty.row.number:,} keeps it out: the components of a plan go in together."
            errors = [RowIssue(row, None, "SamePlan", text) for row in rows]
        report.reject(rows, errors)
