"""The budgets of a plan in one table: a row for each support category, saved together."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, QueryDict
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from apps.base.money import ZERO
from apps.core import saving
from apps.core.admin_base.display import plain_amount
from apps.core.admin_base.forms import AmountField, is_restored
from apps.core.services import Service
from apps.engagements.choices import FIRST_PACE_CATEGORY, ManagementType
from apps.engagements.drafts import BookingDraft, BudgetDraft, ComponentDraft
from apps.engagements.models import ClientEngagement, SupportCategory

#: The cells of a row that are the budget's columns.
COLUMNS = ("budget", "management_type", "used_elsewhere")
#: The first cell of a row, by its prefix; not what it was when it was opened.
ROW = re.compile(r"(?!initial-)[0-9a-z-]+-budget")


def amount_field(label: str) -> AmountField:
    widget = UnfoldAdminTextInputWidget(
        attrs={"inputmode": "decimal", "autocomplete": "off", "data-amount-cell": ""}
    )
    return AmountField(decimal_places=2, label=label, widget=widget, show_hidden_initial=True)


class BudgetCells(forms.Form):
    """The cells of a budget (``record``), or of one that is not there yet.

    What was opened is sent along with what is entered. ``data`` is corrected to what is saved meanwhile.
    """

    data: QueryDict
    record: Any

    budget = amount_field("Budget")
    management_type = forms.ChoiceField(
        label="Managed by",
        choices=ManagementType.choices,
        widget=UnfoldAdminSelectWidget,
        required=False,
        show_hidden_initial=True,
    )
    used_elsewhere = amount_field("Spent elsewhere")

    def saved(self) -> dict[str, str]:
        """The cells of the budget as it is saved."""
        if self.record is None:
            return {"budget": "", "management_type": ManagementType.PLAN.value, "used_elsewhere": ""}
        return {
            "budget": plain_amount(self.record.budget),
            "management_type": self.record.management_type,
            "used_elsewhere": plain_amount(self.record.used_elsewhere) if self.record.used_elsewhere else "",
        }

    def clean(self) -> dict[str, object]:
        """Refuse to overwrite what somebody else saved since: it is shown, and can then be overwritten."""
        saved = self.saved()
        for name in self.changed_data:
            if name not in saved:
                continue
            opened = self[name].html_initial_name
            if self.data.get(opened, saved[name]) != saved[name]:
                self.data[opened] = saved[name]
                text = f"Meanwhile {saved[name] or 'nothing'} was saved here. Save again to overwrite it."
                self.add_error(name, forms.ValidationError(text, code="Stale"))
        return self.cleaned_data


class BudgetRow(BudgetCells):
    """A budget, or the category that has none yet."""

    def __init__(
        self, record: Any, category: SupportCategory | None, data: QueryDict | None, **options: Any
    ) -> None:
        self.record, self.category = record, category
        super().__init__(data, initial=self.saved(), **options)
        for field in self.fields.values():
            field.widget.attrs["aria-label"] = f"{self.title}: {field.label}"

    @property
    def title(self) -> str:
        return str(self.record or self.category)

    @property
    def is_filled(self) -> bool:
        """True when something is to be stored; a category without an amount has no budget."""
        if self.record is not None:
            return bool(self.changed_data)
        return any(self.cleaned_data.get(name) for name in ("budget", "used_elsewhere")) or bool(self.errors)

    def draft(self, plan: ClientEngagement) -> BudgetDraft:
        draft_class = ComponentDraft if plan.is_pace else BookingDraft
        values = {name: self.cleaned_data.get(name) for name in COLUMNS}
        values = {name: ZERO if value is None else value for name, value in values.items()}
        if self.record is not None:
            changed = {name: values[name] for name in self.changed_data}
            return draft_class(changed, given=set(changed), key=self.record.pk)
        values |= {"engagement": plan, "category": self.category}
        if not plan.is_pace and self.category is not None:
            values["support_purpose"] = self.category.support_purpose
        return draft_class(values, given=set(values))


def sent_rows(data: QueryDict | None) -> set[str]:
    """The prefixes of the rows that were sent with a budget."""
    if data is None:
        return set()
    names = filter(ROW.fullmatch, data)
    return {name.removesuffix("-budget") for name in names if str(data[name]).strip()}


def refuse_unpermitted(page: Any, request: HttpRequest, *sent: str) -> None:
    """Refuse what was sent by who may not enter it any more: it would be left out without a word.

    ``sent`` are the permissions that it needs.
    """
    for name in sent:
        if not getattr(page, f"has_{name}_permission")(request):
            raise PermissionDenied(*page.explain_refusal(request, name))


class BudgetGrid:
    """The rows that a person may enter or change, and what is wrong with them."""

    def __init__(self, request: HttpRequest, plan: ClientEngagement, budgets: Sequence[object]) -> None:
        self.plan = plan
        page: Any = admin.site.get_model_admin(plan.budgets.model)
        self.create: Service = page.create
        self.update: Service = page.update
        self.may_add, self.may_change = page.has_add_permission(request), page.has_change_permission(request)
        #: A copy that rows may correct: what was opened is what is saved now.
        self.data: QueryDict | None = request.POST.copy() if request.method == "POST" else None
        self.is_restored = is_restored(request)
        self.rows = [] if plan.is_archived else list(self.make_rows(budgets))
        if not plan.is_archived and sent_rows(self.data) - {row.prefix for row in self.rows}:
            refuse_unpermitted(page, request, "add", "change")
        self.warnings: list[str] = []

    def make_rows(self, budgets: Sequence[Any]) -> Iterator[BudgetRow]:
        """A row for each budget, and one for each category without."""
        categories = SupportCategory.objects.filter(archive_date=None).order_by("number")
        if not self.plan.is_pace:
            categories = categories.filter(number__lt=FIRST_PACE_CATEGORY)
        of_category: dict[object, list[Any]] = {each.pk: [] for each in categories}
        others = [each for each in budgets if each.category_id not in of_category]
        for each in budgets:
            if each.category_id in of_category:
                of_category[each.category_id].append(each)
        for category in categories:
            existing = of_category[category.pk]
            # The first has the prefix of its category: whoever enters it meanwhile is found by it.
            prefixes = [f"category{category.number}", *(str(each.pk) for each in existing[1:])]
            if existing and self.may_change:
                for prefix, each in zip(prefixes, existing, strict=True):
                    yield BudgetRow(each, category, self.data, prefix=prefix)
            elif not existing and self.may_add:
                yield BudgetRow(None, category, self.data, prefix=prefixes[0])
        for each in others if self.may_change else ():
            yield BudgetRow(each, None, self.data, prefix=str(each.pk))

    def is_valid(self) -> bool:
        """True when each row can be stored, and is to be; otherwise its errors are on it."""
        if self.is_restored:
            return False
        valid = [row.is_valid() for row in self.rows]  # of all rows: each shows its errors
        if not all(valid):
            return False
        for service, rows in self.filled_rows():
            for number, issue in saving.try_out(service, [row.draft(self.plan) for row in rows]):
                row, column = rows[number], str(issue.field)
                if issue.severity == "warning":
                    self.warnings.append(f"{row.title}: {issue.message}")
                else:
                    row.add_error(column if column in row.fields else None, issue.message)
        return not any(row.errors for row in self.rows)

    def filled_rows(self) -> list[tuple[Service, list[BudgetRow]]]:
        filled = [row for row in self.rows if row.is_filled]
        new = [row for row in filled if row.record is None]
        changed = [row for row in filled if row.record is not None]
        return [(service, rows) for service, rows in ((self.create, new), (self.update, changed)) if rows]

    @transaction.atomic
    def save(self) -> int:
        """Store what was entered, all or none; how many budgets."""
        count = 0
        for service, rows in self.filled_rows():
            service([row.draft(self.plan) for row in rows], ignore_warnings=True)
            count += len(rows)
        return count

    @property
    def has_errors(self) -> bool:
        return any(row.is_bound and row.errors for row in self.rows)
