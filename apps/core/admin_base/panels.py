"""The overview of one record: what refers to it, section by section, and the history of all of it.

Each app registers the panels that its records are shown in, so that an app below it shows them without
knowing them. A panel is for those who may view its kind of record.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import label_for_field, lookup_field
from django.core.exceptions import FieldDoesNotExist
from django.db.models import DateTimeField, DecimalField, F, IntegerField, Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from unfold.utils import display_for_field, display_for_header, display_for_label, display_for_value

from apps.core import history_display
from apps.core.admin_base.display import admin_url, contact_href, format_amount, link, list_url
from apps.core.caseload import visible_rows
from apps.core.models import Change, TimestampedModel

#: Records shown in a panel, and entries of the history; the full lists are a click away.
ROW_LIMIT, TIMELINE_LIMIT = 5, 20
#: Of so many records of a panel, the newest, the timeline shows the history.
TIMELINE_RECORDS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A section with a template of its own.

    ``context`` returns ``None`` where there is nothing to show; ``histories`` are the records whose changes
    belong to the timeline.
    """

    model: type[Model]
    title: str = ""
    order: int = 0
    template: str
    context: Callable[[HttpRequest, Any], dict[str, Any] | None]
    histories: Callable[[Any], Sequence[QuerySet[Model]]] = lambda record: ()

    @property
    def heading(self) -> str:
        return self.title or capfirst(str(self.model._meta.verbose_name_plural))

    def has_permission(self, request: HttpRequest) -> bool:
        return bool(admin.site.get_model_admin(self.model).has_view_permission(request))


def record_panel(
    model: type[Model],
    columns: Sequence[str],
    *,
    column: str = "",
    condition: Callable[[Any], Q] | None = None,
    parameter: str = "",
    filters: Mapping[str, str] | None = None,
    can_add: bool = False,
    title: str = "",
    order: int = 0,
) -> Panel:
    """A panel of the current records that refer to the record, in columns of their own list.

    They refer to it by ``column``, or ``condition`` finds them and ``parameter`` filters their list.
    ``filters`` are further parameters of that list, where it would leave some of them out.
    """

    def records(record: Model) -> QuerySet[Model]:
        found = condition(record) if condition else Q(**{column: record.pk})
        return model._default_manager.filter(found, archive_date=None)

    def context(request: HttpRequest, record: TimestampedModel) -> dict[str, object]:
        page: Any = admin.site.get_model_admin(model)
        found = visible_rows(request.user, records(record))
        newest = found.select_related(*(page.list_select_related or ())).order_by("-creation_date", "-pk")
        rows = list(newest[: ROW_LIMIT + 1])
        may_add = can_add and page.has_add_permission(request) and not record.is_archived
        query = {parameter or f"{column}__{record._meta.pk.name}__exact": record.pk, **(filters or {})}
        kinds = [column_kind(page, name) for name in columns]
        labels = [capfirst(str(label_for_field(name, model, page))) for name in columns]

        def cells(row: object) -> list[tuple[object, str]]:
            texts = [cell_text(page, row, name) for name in columns]
            classes = [cell_classes(page, kind, text) for kind, text in zip(kinds, texts, strict=True)]
            return list(zip(texts, classes, strict=True))

        return {
            "count": len(rows) if len(rows) <= ROW_LIMIT else found.count(),
            "headers": list(zip(labels, kinds, strict=True)),
            "rows": [(page.record_url(row), cells(row)) for row in rows[:ROW_LIMIT]],
            "keys": [row.pk for row in rows[:ROW_LIMIT]],
            "link": list_url(model, **query),
            "add_link": admin_url(model, "add", **{column: record.pk}) if may_add else None,
        }

    return Panel(
        model=model,
        title=title,
        order=order,
        template="admin/record_panel.html",
        context=context,
        histories=lambda record: [records(record)],
    )


#: The panels of each model's overview; apps that depend on the model's app add theirs.
PANELS: dict[type[Model], list[Panel]] = defaultdict(list)


def register_panels(model: type[Model], *panels: Panel) -> None:
    PANELS[model].extend(panels)


def column_kind(page: Any, name: str) -> str:
    """``figure`` of a column that sorts by a number, ``moment`` by a time, ``status`` of one of badges."""
    _, attribute = label_for_field(name, page.model, page, return_attr=True)
    if getattr(attribute, "label", None):
        return "status"
    try:
        column = page.opts.get_field(str(getattr(attribute, "admin_order_field", name)))
    except FieldDoesNotExist:
        return ""
    if isinstance(column, DateTimeField) and column.name == name:
        return "moment"
    return "figure" if isinstance(column, DecimalField | IntegerField) and not column.choices else ""


def cell_classes(page: Any, kind: str, text: object) -> str:
    """The class names of a cell: of the kind of its column, and ``rs-none`` where it has nothing to show."""
    is_empty = text in (None, "", page.get_empty_value_display())
    return " ".join([f"rs-{kind}"] * bool(kind) + ["rs-none"] * is_empty)


def cell_text(page: Any, row: Any, name: str) -> object:
    """A cell as the list of the model's page shows it."""
    column, attribute, value = lookup_field(name, row, page)
    empty = page.get_empty_value_display()
    if column is not None:
        if isinstance(value, Decimal):
            return format_amount(value)
        if href := contact_href(column, value):
            return link(href, value)
        related = getattr(row, column.name) if column.is_relation else None
        return related or display_for_field(value, column, empty)
    label = getattr(attribute, "label", None)
    if isinstance(label, dict) and isinstance(value, tuple):
        key, text = value
        return badge(text, label[key]) if key in label else badge(key, None)
    if label and value is not None:
        return display_for_label(value, empty, label)
    if getattr(attribute, "header", False):
        return display_for_header(value, empty)
    return display_for_value(value, empty, boolean=getattr(attribute, "boolean", False))


@lru_cache(maxsize=512, typed=True)  # a text that is safe is not the same as one that is not
def badge(text: str, colour: str | None) -> SafeString:
    """A status as lists show it; its template is rendered for each of the few statuses, not for each row."""
    rendered: SafeString = display_for_label(("", text), "", {"": colour})
    return rendered


# --- the overview ---------------------------------------------------------------------------------------


def permitted_panels(request: HttpRequest, record: Model) -> list[Panel]:
    """The panels of the record's model that this person may view, in their order."""
    panels = [panel for panel in PANELS[type(record)] if panel.has_permission(request)]
    return sorted(panels, key=lambda panel: (panel.order, panel.heading))


def load_panels(request: HttpRequest, record: Model) -> list[tuple[Panel, dict[str, Any]]]:
    """These panels with what they show of the record; without those that have nothing to show."""
    found = ((panel, panel.context(request, record)) for panel in permitted_panels(request, record))
    return [(panel, context) for panel, context in found if context is not None]


def overview_context(request: HttpRequest, record: Model) -> dict[str, object]:
    """The panels of the record's model that this person may view, and the timeline."""
    panels = permitted_panels(request, record)
    found = load_panels(request, record)
    shown = [(panel, context) for panel, context in found if context.get("count", 1)]
    empty = [(panel, context) for panel, context in found if not context.get("count", 1)]
    timeline = load_timeline(record, panels, request.user)
    shown_records = history_display.referred_keys(timeline)
    for panel, context in shown:
        shown_records.setdefault(panel.model, set()).update(context.get("keys", ()))
    shown_records.get(type(record), set()).discard(record.pk)  # which the page is about
    return {
        "panels": shown,
        "empty_panels": empty,
        "shown_records": shown_records,
        "timeline": history_display.history_lines(timeline, request.user),
        "timeline_limit": TIMELINE_LIMIT,
    }


def load_timeline(record: Model, panels: Sequence[Panel], person: object) -> list[Change]:
    """The newest changes of the record, and of the records in its panels that the person sees."""
    changes = Q(record_type=record._meta.label_lower, record_key=str(record.pk))
    for records in (each for panel in panels for each in panel.histories(record)):
        newest = visible_rows(person, records).order_by("-creation_date", "-pk")
        keys = newest.values_list("pk", flat=True)[:TIMELINE_RECORDS]
        changes |= Q(record_type=records.model._meta.label_lower, record_key__in=[str(key) for key in keys])
    # Ordered by the bare key, PostgreSQL would read all changes backwards until it has found enough.
    return list(Change.objects.filter(changes).order_by((F("id") + 0).desc())[:TIMELINE_LIMIT])
