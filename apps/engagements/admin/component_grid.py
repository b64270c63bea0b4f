"""The components of a plan and their funding periods in one table: rows and columns, saved together."""

import datetime as dt
import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from django import forms
from django.contrib import admin
from django.http import HttpRequest, QueryDict
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from apps.base.declaration.values import WireValueError
from apps.base.drafts import Issue, apply_rules
from apps.base.money import ZERO
from apps.core.admin_base.display import plain_amount
from apps.core.admin_base.forms import is_restored
from apps.engagements.admin.budget_grid import BudgetCells, amount_field, refuse_unpermitted, sent_rows
from apps.engagements.calendars import USUAL_MONTHS, calendar_of, divide_evenly
from apps.engagements.drafts import ComponentDraft, EnteredComponent, PeriodsDraft
from apps.engagements.funding_periods import Days
from apps.engagements.imports.component_rows import (
    COMPONENT_NAME,
    MAX_AMOUNT,
    Supports,
    read_supports,
)
from apps.engagements.imports.components import (
    NEW_COMPONENT,
    categories_by_number,
    find_issues,
    period_drafts,
    support_values,
    supports_of,
)
from apps.engagements.imports.pasted_components import read_periods
from apps.engagements.models import CategoryBudget, ClientEngagement, SupportCategory
from apps.engagements.services import find_differing_total, save_components
from apps.engagements.validation import PERIODS_WARNINGS

#: A period: its first day, its last, and what it releases.
Period = tuple[dt.date, dt.date, Decimal]

#: Codes of what ``find_differences`` names as long as it stands.
DIFFERENCE_CODES = frozenset({"TotalDiffers", "OutsidePlan"})


class Warned(NamedTuple):
    """A warning of what is entered."""

    text: str
    code: str = ""


#: Empty rows of a plan without components, of one with some, and the most that a page has.
FIRST_ROWS, NEXT_ROWS, MOST_ROWS = 4, 1, 60
#: Of a plan of three years, a month each.
MOST_PERIODS = 40

_DAYS = re.compile(r"(\d{4}-\d\d-\d\d)/(\d{4}-\d\d-\d\d)", re.ASCII)
#: The cells that are columns of the component.
COLUMNS = ("component_name", "pays_for", "management_type", "budget", "used_elsewhere")
CELL_OF_MEMBER = {"category": "pays_for", "further_categories": "pays_for", "stated_items": "pays_for"}


def text_widget(**attributes: str) -> UnfoldAdminTextInputWidget:
    return UnfoldAdminTextInputWidget(attrs={"autocomplete": "off", **attributes})


class ComponentCells(BudgetCells):
    """A component, or a row for a new one, with its periods.

    Periods are cells of the plan's ``calendar``, or a text where the component has other days.
    """

    field_order = COLUMNS

    component_name = forms.CharField(
        label="Component",
        required=False,
        max_length=COMPONENT_NAME,
        widget=text_widget(),
        show_hidden_initial=True,
    )
    pays_for = forms.CharField(
        label="Pays for",
        required=False,
        widget=text_widget(placeholder="01 02 03, or codes"),
        show_hidden_initial=True,
    )
    budget = amount_field("Amount")
    own_periods = forms.CharField(
        label="Periods of its own",
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3, "placeholder": "1/7/2026  30/9/2026  5,000.00"}),
    )

    def __init__(
        self,
        record: CategoryBudget | None,
        calendar: Sequence[Days],
        categories: dict[int, SupportCategory],
        data: QueryDict | None,
        **options: Any,
    ) -> None:
        self.record, self.calendar, self.categories = record, calendar, categories
        self.saved_periods = [] if record is None else periods_of(record)
        super().__init__(data, initial=self.saved(), **options)
        for first, last in calendar:
            self.fields[cell_name(first)] = amount_field(f"{first:%d %b} – {last:%d %b %Y}")
            self.fields[cell_name(first)].show_hidden_initial = False
        for name, field in self.fields.items():
            field.widget.attrs["aria-label"] = f"{self.title}: {field.label}"
            if name != "budget" and not name.startswith("p2"):
                field.widget.attrs.pop("data-amount-cell", None)
        self.initial.update(self.saved_cells())
        #: What is entered as periods, once it is cleaned.
        self.periods: list[Period] = self.saved_periods
        self.supports: Supports | None = None

    @property
    def title(self) -> str:
        if self.record is not None:
            return str(self.record)
        return (
            self.data.get(self.add_prefix("component_name"), "") if self.is_bound else ""
        ) or "New component"

    def saved(self) -> dict[str, str]:
        """The cells of the component as it is saved."""
        record = self.record
        return {
            "component_name": "" if record is None else record.component_name or "",
            "pays_for": "" if record is None else str(supports_of(record)),
            **super().saved(),
        }

    def saved_cells(self) -> dict[str, str]:
        """The cells of its periods, or the text of those with other days."""
        if [(first, last) for first, last, _ in self.saved_periods] == list(self.calendar):
            return {cell_name(first): plain_amount(released) for first, _, released in self.saved_periods}
        return {"own_periods": periods_text(self.saved_periods)} if self.saved_periods else {}

    # --- the fields that the page shows

    @property
    def column_cells(self) -> list[forms.BoundField]:
        return [self[name] for name in COLUMNS[2:4]]

    @property
    def period_cells(self) -> list[forms.BoundField]:
        return [self[cell_name(first)] for first, _ in self.calendar]

    @property
    def has_own_periods(self) -> bool:
        return bool(self["own_periods"].value())

    @property
    def opened_name(self) -> str:
        """The hidden field with the periods as they were opened."""
        return f"initial-{self.add_prefix('periods')}"

    @property
    def opened_periods(self) -> str:
        saved = key_of(self.saved_periods)
        return str(self.data.get(self.opened_name, saved)) if self.is_bound else saved

    # --- what is entered

    def clean_pays_for(self) -> str:
        text = str(self.cleaned_data["pays_for"])
        if text.strip():
            try:
                self.supports = read_supports(text)
            except WireValueError as error:
                raise forms.ValidationError(f"It {error.sentence}", code=error.code) from None
            for number in self.supports.categories:
                if number not in self.categories:
                    raise forms.ValidationError(f"There is no support category {number}.", code="NotFound")
        return text

    def clean(self) -> dict[str, object]:
        """The same of its periods, which are compared as one."""
        self.read_periods()
        super().clean()
        saved_key = key_of(self.saved_periods)
        if self.has_changed_periods and self.opened_periods != saved_key:
            self.data[self.opened_name] = saved_key
            said = periods_text(self.saved_periods, "; ") or "no periods"
            text = f"Meanwhile its periods were saved as: {said}. Save again to overwrite them."
            self.add_error(None, forms.ValidationError(text, code="Stale"))
        if self.record is None and self.is_filled and self.supports is None and not self["pays_for"].errors:
            text = "Say what it pays for: categories such as 01 02 03, or codes of stated supports."
            self.add_error("pays_for", forms.ValidationError(text, code="Required"))
        elif self.record is not None and self.supports is None and not self["pays_for"].errors:
            self.add_error(
                "pays_for", forms.ValidationError("A component pays for something.", code="Required")
            )
        return self.cleaned_data

    def read_periods(self) -> None:
        cells = [(first, last, self.cleaned_data.get(cell_name(first))) for first, last in self.calendar]
        in_calendar = any(amount is not None for _, _, amount in cells)
        own = str(self.cleaned_data.get("own_periods") or "")
        if own.strip():
            periods, sentences = read_periods(own)
            for sentence in sentences:
                self.add_error("own_periods", sentence)
            if in_calendar:
                self.add_error(
                    "own_periods", "Empty its other cells, or this text: its periods are one of both."
                )
            self.periods = periods
        elif in_calendar:
            self.periods = [(first, last, amount or ZERO) for first, last, amount in cells]
        else:
            self.periods = []
        if sum((released for _, _, released in self.periods), ZERO) > MAX_AMOUNT:
            self.add_error("budget", "The periods release more than an amount can be.")

    @property
    def has_changed_periods(self) -> bool:
        return key_of(self.periods) != self.opened_periods

    @property
    def is_filled(self) -> bool:
        """True when something is to be stored; a new row without an entry is nothing."""
        if self.record is not None:
            return bool(set(self.changed_data) & set(COLUMNS)) or self.has_changed_periods
        entered = ("component_name", "pays_for", "budget", "used_elsewhere")
        return any(self.cleaned_data.get(name) for name in entered) or bool(self.periods or self.errors)

    def entered(self, plan: ClientEngagement) -> EnteredComponent:
        """New drafts of what is entered."""
        cells = {name: self.cleaned_data.get(name) for name in COLUMNS}
        released = sum((amount for _, _, amount in self.periods), ZERO)
        values: dict[str, Any] = {
            "component_name": cells["component_name"] or None,
            "management_type": cells["management_type"],
            "budget": cells["budget"] if cells["budget"] is not None else released,
            "used_elsewhere": cells["used_elsewhere"] or ZERO,
        }
        if self.supports is not None:
            values |= support_values(self.supports, self.categories)
        if self.record is None:
            values = {**NEW_COMPONENT, **values, "engagement": plan}
            draft = ComponentDraft(values, given=set(values))
            return EnteredComponent(draft, period_drafts(self.periods) if self.periods else None)
        changed = set(self.changed_data) | ({"budget"} if cells["budget"] is None else set())
        if "pays_for" in changed:
            changed |= {"category", "further_categories", "stated_items"}
        given = {name: value for name, value in values.items() if name in changed}
        draft = ComponentDraft(given, given=set(given), key=self.record.pk)
        return EnteredComponent(draft, period_drafts(self.periods) if self.has_changed_periods else None)

    def place(self, issue: Issue) -> str | None:
        """The cell of an issue of the services; ``None`` for one of the periods, and of the whole row."""
        if not isinstance(issue.field, str):
            return "own_periods" if self.cleaned_data.get("own_periods") else None
        name = CELL_OF_MEMBER.get(issue.field, issue.field)
        return name if name in self.fields else None


class ComponentGrid:
    """The rows that a person may enter or change, the calendar of their periods, and what is wrong."""

    def __init__(
        self, request: HttpRequest, plan: ClientEngagement, components: Sequence[CategoryBudget]
    ) -> None:
        self.plan, self.components = plan, components
        page: Any = admin.site.get_model_admin(CategoryBudget)
        self.may_add, self.may_change = page.has_add_permission(request), page.has_change_permission(request)
        if plan.is_archived:
            self.may_add = self.may_change = False
        is_sent = request.method == "POST" and "calendar" in request.POST
        #: A copy that rows may correct: what was opened is what is saved now.
        self.data: QueryDict | None = request.POST.copy() if is_sent else None
        self.is_restored = is_restored(request)
        self.action = request.POST.get("action", "") if is_sent and not self.is_restored else ""
        self.calendar = self.find_calendar()
        self.warnings: list[Warned] = []
        self.errors: list[str] = []
        self.is_refused = False
        self.categories = categories_by_number()
        self.new_rows = self.count_of_new_rows() if self.may_add else 0
        if self.data is not None and self.action.startswith("months-"):
            self.change_calendar(self.action.removeprefix("months-"))
        self.rows = list(self.make_rows())
        if not plan.is_archived:
            sent = sent_rows(self.data)
            is_new = [prefix.startswith("new") for prefix in sent]
            refuse_unpermitted(
                page, request, *(["add"] if any(is_new) else []), *(["change"] if not all(is_new) else [])
            )

    # --- the calendar

    def find_calendar(self) -> list[Days]:
        """The days of the columns: as the page has them, else those that most components have."""
        if self.data is not None:
            return calendar_from(self.data.get("calendar", ""))
        calendars: Counter[tuple[Days, ...]] = Counter(
            tuple((first, last) for first, last, _ in periods)
            for each in self.components
            if (periods := periods_of(each))
        )
        return list(calendars.most_common(1)[0][0]) if calendars else []

    @property
    def calendar_text(self) -> str:
        return " ".join(f"{first}/{last}" for first, last in self.calendar)

    @property
    def choices(self) -> list[tuple[int, str, bool]]:
        """The calendars to choose from: months, what the button says, and whether it is the one shown."""
        plan = self.plan
        found = [
            (months, f"{months} months" if months > 1 else "1 month", calendar_of(*days_of(plan), months))
            for months in USUAL_MONTHS
        ]
        return [
            (0, "None", not self.calendar),
            *((months, label, days == self.calendar) for months, label, days in found),
        ]

    def change_calendar(self, months: str) -> None:
        """Give the rows other columns: what each has is divided evenly, rows with days of their own stay."""
        assert self.data is not None
        former = self.calendar
        number = int(months) if months.isascii() and months.isdigit() else 0
        self.calendar = calendar_of(*days_of(self.plan), number) if number in USUAL_MONTHS else []
        for prefix in self.prefixes():
            for first, _ in former:
                self.data.pop(f"{prefix}-{cell_name(first)}", None)
            amount = amount_of(self.data.get(f"{prefix}-budget", ""))
            if not amount or not self.calendar or self.data.get(f"{prefix}-own_periods", "").strip():
                continue
            parts = divide_evenly(amount, len(self.calendar))
            for (first, _), part in zip(self.calendar, parts, strict=True):
                self.data[f"{prefix}-{cell_name(first)}"] = plain_amount(part)

    # --- rows

    def count_of_new_rows(self) -> int:
        if self.data is None:
            return NEXT_ROWS if self.components else FIRST_ROWS
        sent = self.data.get("new_rows", "")
        number = int(sent) if sent.isascii() and sent.isdigit() and len(sent) < 4 else NEXT_ROWS
        return min(number + FIRST_ROWS * (self.action == "more"), MOST_ROWS)

    def prefixes(self) -> list[str]:
        of_components = [f"c{each.pk}" for each in self.components] if self.may_change else []
        return [*of_components, *(f"new{number}" for number in range(self.new_rows))]

    def make_rows(self) -> Iterator[ComponentCells]:
        """A row for each component, and empty ones for new ones."""
        for each in self.components:
            data = self.data if self.may_change else None
            yield ComponentCells(each, self.calendar, self.categories, data, prefix=f"c{each.pk}")
        for number in range(self.new_rows):
            yield ComponentCells(None, self.calendar, self.categories, self.data, prefix=f"new{number}")

    @property
    def is_readable_only(self) -> bool:
        return not (self.may_add or self.may_change)

    # --- storing

    def filled_rows(self) -> list[ComponentCells]:
        return [row for row in self.rows if row.is_bound and row.is_filled]

    def is_valid(self) -> bool:
        """True when all that is entered can be stored; otherwise its errors are on the rows."""
        bound = [row for row in self.rows if row.is_bound]
        valid = [row.is_valid() for row in bound]  # of all rows: each shows its errors
        known = {row.prefix for row in self.rows}
        assert self.data is not None
        sent = {
            name.partition("-budget")[0] for name in self.data if re.fullmatch(r"c[0-9a-f-]+-budget", name)
        }
        if gone := sent - known:
            self.errors.append(f"Meanwhile {len(gone)} of these components were deleted: save again without.")
        if all(valid) and not self.errors:
            filled = self.filled_rows()
            for number, issue in find_issues(self.plan, [row.entered(self.plan) for row in filled]):
                self.place(filled[number], issue)
        self.is_refused = bool(self.errors) or any(row.errors for row in bound)
        return not self.is_refused

    def place(self, row: ComponentCells, issue: Issue) -> None:
        if issue.severity != "warning":
            row.add_error(row.place(issue), issue.message)
        else:
            is_of_plan = issue.field == "total_budget_amount"
            text = issue.message if is_of_plan else f"{row.title}: {issue.message}"
            self.warnings.append(Warned(text, issue.code))

    def save(self) -> int:
        """Store what was entered, all or none; how many components."""
        entered = [row.entered(self.plan) for row in self.filled_rows()]
        save_components(self.plan.pk, entered, ignore_warnings=True)
        return len(entered)


def days_of(plan: ClientEngagement) -> Days:
    return plan.plan_start_date, plan.plan_end_date


def periods_of(component: CategoryBudget) -> list[Period]:
    return [(each.first_day, each.last_day, each.released) for each in component.periods.all()]


def cell_name(first: dt.date) -> str:
    return f"p{first:%Y%m%d}"


def key_of(periods: Sequence[Period]) -> str:
    """The same text for the same periods, whatever the page shows of them."""
    return ";".join(f"{first} {last} {released:.2f}" for first, last, released in periods)


def periods_text(periods: Sequence[Period], separator: str = "\n") -> str:
    return separator.join(
        f"{first:%d %b %Y} – {last:%d %b %Y}  {released:,.2f}" for first, last, released in periods
    )


def calendar_from(text: str) -> list[Days]:
    """The columns that a page was sent with; none where somebody has changed them to something else."""
    found = []
    for first, last in _DAYS.findall(text)[:MOST_PERIODS]:
        try:
            found.append((dt.date.fromisoformat(first), dt.date.fromisoformat(last)))
        except ValueError:
            return []
    return found


def amount_of(text: str) -> Decimal | None:
    """The amount of a cell that is not cleaned yet; nothing of one that is none."""
    text = re.sub(r"[\s,$]", "", text)
    return Decimal(text) if re.fullmatch(r"\d{1,12}(\.\d{0,2})?", text, re.ASCII) else None


def find_differences(plan: ClientEngagement, components: Sequence[CategoryBudget]) -> list[str]:
    """The sums that do not add up as stored: periods and their component, components and the total."""
    drafts = [
        PeriodsDraft(
            {
                "budget": each.budget,
                "periods": period_drafts(periods_of(each)),
                "plan": plan,
            },
            key=each.pk,
        )
        for each in components
    ]
    found = [
        f"{components[number]}: {issue.message}" for number, issue in apply_rules(drafts, PERIODS_WARNINGS)
    ]
    total = find_differing_total(plan.pk) if components else []
    return [*found, *(issue.message for _, issue in total)]


def state_of(components: Sequence[CategoryBudget]) -> str:
    """A short text that differs when a component or a period does."""
    text = "|".join(
        f"{each.pk} {each.modify_date.isoformat()} {each.budget} {key_of(periods_of(each))}"
        for each in components
    )
    return hashlib.sha256(text.encode()).hexdigest()[:32]
