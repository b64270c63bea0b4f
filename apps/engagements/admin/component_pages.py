"""The page on which the components of a PACE plan and their funding periods are entered, or pasted."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from apps.base.errors import plural
from apps.base.money import ZERO
from apps.core.table_files.tables import ImportFileError
from apps.engagements.admin.component_grid import (
    DIFFERENCE_CODES,
    ComponentGrid,
    Warned,
    find_differences,
    state_of,
)
from apps.engagements.choices import CATEGORIES
from apps.engagements.imports.components import (
    ComponentChange,
    check_changes,
    compare_components,
    components_of,
    supports_of,
)
from apps.engagements.imports.pasted_components import read_pasted
from apps.engagements.models import CategoryBudget, ClientEngagement
from apps.engagements.services import save_components

#: Characters of a pasted text.
MOST_PASTED = 200_000


@dataclass
class Pasted:
    """A pasted text, what was read of it, and what it would change.

    ``state`` is that of the plan's components when it was read: it is read again where they changed since.
    """

    text: str = ""
    state: str = ""
    changes: Sequence[ComponentChange] = ()
    faults: list[str] = field(default_factory=list)
    warnings: list[Warned] = field(default_factory=list)

    @property
    def changing(self) -> list[ComponentChange]:
        return [each for each in self.changes if each.outcome != "unchanged"]

    @property
    def can_be_stored(self) -> bool:
        return bool(self.changing) and not self.faults

    @property
    def rows(self) -> list[dict[str, object]]:
        """The components that were read, as the page shows them."""
        return [shown_change(each) for each in self.changes if each.read.label]

    @property
    def total(self) -> Decimal:
        return sum((each.read.amount or ZERO for each in self.changes), ZERO)


def shown_change(change: ComponentChange) -> dict[str, object]:
    read, existing = change.read, change.existing
    supports = read.supports or (supports_of(existing) if existing is not None else "")
    return {
        "label": read.name or (str(existing) if existing is not None else "") or read.label,
        "supports": str(supports),
        "managed_by": read.managed_by or (existing.management_type if existing is not None else "Plan"),
        "amount": read.amount,
        "former_amount": existing.budget if existing is not None and "budget" in change.values else None,
        "periods": read.periods,
        "outcome": "cannot be stored" if read.has_errors else change.outcome,
    }


def read_text(text: str, plan: ClientEngagement, components: Sequence[CategoryBudget]) -> Pasted:
    """The components that a pasted text says of a plan; nothing is stored."""
    pasted = Pasted(text, state_of(components))
    if len(text) > MOST_PASTED:
        pasted.faults.append("The text is too long: import it as a file.")
        return pasted
    try:
        table, read = read_pasted(text)
    except ImportFileError as error:
        pasted.faults.append(str(error))
        return pasted
    if not read:
        pasted.faults.append(
            "Nothing was pasted: a row is a component, what it pays for, from, to and released."
        )
        return pasted
    pasted.changes = compare_components(read, components)
    check_changes(plan, pasted.changes)
    rows = sorted((row for each in read for row in each.rows), key=lambda row: row.row.number)
    for row in rows:
        for issue in row.errors:
            place = "" if issue.column is None else f" ({table.header[issue.column].replace('_', ' ')})"
            pasted.faults.append(f"Row {row.row.number:,}{place}: {issue.message}")
        pasted.warnings += [Warned(f"Row {row.row.number:,}: {issue.message}") for issue in row.warnings]
    for each in pasted.changes:
        pasted.warnings += [
            Warned(f"{each.read.label}: {issue.message}", issue.code) for issue in each.warnings
        ]
    return pasted


def components_page(page: Any, request: HttpRequest, plan: ClientEngagement) -> HttpResponse:
    """The grid of a plan's components and periods, and the text that is pasted in place of it."""
    with transaction.atomic():
        if request.method == "POST":
            # Of two people saving together, the second must find what the first has saved.
            ClientEngagement.objects.select_for_update(of=("self",)).get(pk=plan.pk)
        components = sorted(
            components_of([plan.pk])[plan.pk],
            key=lambda each: (each.category.number, each.stated_items or "", str(each.pk)),
        )
        grid = ComponentGrid(request, plan, components)
        pasted = Pasted()
        if request.method == "POST" and grid.is_readable_only and not plan.is_archived:
            raise PermissionDenied("Your role lacks the permission to add or change components.")
        if request.method == "POST" and grid.data is None and not grid.is_readable_only:
            pasted = read_text(request.POST.get("pasted", ""), plan, components)
            is_stored = request.POST.get("action") == "store" and not grid.is_restored
            if is_stored and may_store(grid, pasted):
                if request.POST.get("state") == pasted.state:
                    entered = [each.entered(plan) for each in pasted.changing]
                    save_components(plan.pk, entered, ignore_warnings=True)
                    return saved(page, request, plan, len(entered), pasted.warnings)
                pasted.warnings.insert(
                    0,
                    Warned("Meanwhile the plan's components were changed. Look at it, then store it again."),
                )
        elif grid.action == "save" and not grid.is_readable_only and grid.is_valid():
            count = grid.save()
            return saved(page, request, plan, count, grid.warnings)
    allocated = sum((each.budget for each in components), ZERO)
    answer: HttpResponse = page.render_page(
        request,
        "engagements/components.html",
        f"Components of {plan.participant}",
        plan,
        plan=plan,
        grid=grid,
        pasted=pasted,
        may_store=may_store(grid, pasted),
        differences=find_differences(plan, components),
        allocated=allocated,
        categories=[(f"{number:02}", name) for number, name, _ in CATEGORIES],
    )
    return answer


def may_store(grid: ComponentGrid, pasted: Pasted) -> bool:
    """True when a person may do all that the pasted text says."""
    is_permitted = all(grid.may_add if each.existing is None else grid.may_change for each in pasted.changing)
    return pasted.can_be_stored and is_permitted


def saved(
    page: Any, request: HttpRequest, plan: ClientEngagement, count: int, warnings: Sequence[Warned]
) -> HttpResponse:
    """The page again, which names differences itself as long as they stand."""
    for warning in warnings:
        if warning.code not in DIFFERENCE_CODES:
            messages.warning(request, warning.text)
    text = f"{plural(count, 'component')} saved." if count else "Nothing was changed."
    page.message_user(request, text, messages.SUCCESS)
    return redirect(page.page_url("components", plan.pk))
