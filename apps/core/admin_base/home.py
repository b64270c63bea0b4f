"""The menu of the back office, its home page, and the label of the installation.

Each app registers its panels of the home page; a person sees those of the records that they may view. The
page fits a window of 1,280 by 800 pixels: work is rows of a table, and nothing of the menu is repeated.
"""

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse

from apps.core import history_display
from apps.core.admin_base.charts import BarChart
from apps.core.admin_base.display import age, capped_label
from apps.core.admin_base.pages import sees_everybody
from apps.core.models import Change, Subscriber

#: The person's last changes that the page shows; those among which it looks for records that they see.
RECENT_CHANGES, LOOKED_AT = 3, 50


# --- panels ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Figure:
    """How many records a list has, with the address of that list; lists count no further than their limit."""

    count: int
    link: str
    label: str = ""

    @property
    def text(self) -> str:
        return capped_label(self.count)


@dataclass(frozen=True, slots=True)
class Work:
    """A row of the table of work: what waits, how many, how much money, and since when.

    ``amount``: the sum of the counted records, in the subscriber's currency, where they have one. ``late``:
    those that wait too long, and ``own``: those of the signed-in person, each in a list of its own.
    ``parts``: some of the records by what they have in common.
    """

    label: str
    count: int
    link: str
    amount: Decimal | None = None
    oldest: dt.datetime | None = None
    late: Figure | None = None
    own: Figure | None = None
    parts: Sequence[Figure] = ()

    @property
    def text(self) -> str:
        return capped_label(self.count)

    @property
    def age(self) -> str | None:
        """How long the oldest has waited."""
        return None if self.oldest is None else age(self.oldest)


@dataclass(frozen=True, slots=True)
class HomeContent:
    """The contents of a panel: rows of the table of work, a chart, or both.

    ``late_note`` says which of them are late. ``links`` are (label, address) beside its title.
    """

    rows: Sequence[Work] = ()
    chart: BarChart | None = None
    late_note: str = ""
    links: Sequence[tuple[str, str]] = ()

    @property
    def has_oldest(self) -> bool:
        return any(row.oldest for row in self.rows)

    @property
    def has_late(self) -> bool:
        return any(row.late for row in self.rows)

    @property
    def has_own(self) -> bool:
        return any(row.own for row in self.rows)

    @property
    def columns(self) -> int:
        """How many columns the rows take: the label, the number and the amount, and these."""
        return 3 + self.has_oldest + self.has_late + self.has_own


@dataclass(frozen=True, slots=True)
class HomePanel:
    """A section of the home page, for those who may view the model's records."""

    title: str
    model: type[Model]
    order: int
    content: Callable[[HttpRequest], HomeContent]


HOME_PANELS: list[HomePanel] = []


def home_panels(request: HttpRequest) -> list[tuple[HomePanel, HomeContent]]:
    """The panels that this person may view and that have content, in their order."""
    allowed = [
        panel
        for panel in sorted(HOME_PANELS, key=lambda panel: panel.order)
        if admin.site.get_model_admin(panel.model).has_view_permission(request)
    ]
    contents = [(panel, panel.content(request)) for panel in allowed]
    return [(panel, content) for panel, content in contents if content.rows or content.chart or content.links]


# --- the menu -------------------------------------------------------------------------------------------


def menu(request: HttpRequest) -> list[dict[str, object]]:
    """The sidebar: what the person may see, under the headings that the pages name themselves.

    One entry at most is active: of a list and a page of its own beside it, the page that is shown.
    """
    entries = menu_entries(request)
    addresses = ((address, e["link"]) for e in entries for address in (e["link"], e["leads_to"]) if address)
    here = [pair for pair in addresses if request.path.startswith(pair[0])]
    _, active = max(here, key=lambda pair: len(pair[0]), default=("", ""))
    groups: dict[str, list[dict[str, object]]] = {}
    for entry in entries:
        groups.setdefault(entry["group"], []).append({**entry, "active": entry["link"] == active})
    index = reverse("admin:index")
    home = {"title": "Home", "icon": "home", "link": index, "active": request.path == index}
    return [
        {"title": None, "items": [home]},
        *({"title": title, "items": items, "separator": True} for title, items in groups.items()),
    ]


def menu_entries(request: HttpRequest) -> list[dict[str, Any]]:
    """The pages that the person may see, in the order of the menu."""
    sees_all = sees_everybody(request)
    entries = []
    for page in registered_pages():
        if not (page.has_module_permission(request) and page.has_view_or_change_permission(request)):
            continue
        group = getattr(page, "menu_group", page.opts.app_config.verbose_name)
        icon, order = getattr(page, "icon", "description"), getattr(page, "menu_order", 500)
        shown = [("changelist", page.list_title, icon, order, "")]
        for beside in page.list_pages:
            if beside.title and (sees_all or not beside.of_all):
                to = beside.leads_to and f"{page.page_url('changelist')}{beside.leads_to}/"
                shown.append((beside.name, beside.title, beside.icon, beside.order, to))
        entries += [
            {
                "title": title,
                "link": page.page_url(name),
                "icon": icon,
                "group": group,
                "order": order,
                "leads_to": to,
            }
            for name, title, icon, order, to in shown
        ]
    return sorted(entries, key=lambda entry: (entry["order"], entry["title"]))


def registered_pages() -> list[Any]:
    """The pages of all kinds of records, which are `PageAdmin`s."""
    return [
        admin.site.get_model_admin(model) for model in apps.get_models() if admin.site.is_registered(model)
    ]


def home_page(request: HttpRequest, context: dict[str, Any]) -> dict[str, object]:
    """The context of the first page: the work, its charts, and the person's own last changes."""
    looked_at = RECENT_CHANGES if sees_everybody(request) else LOOKED_AT
    own = Change.objects.filter(staff_id=str(request.user.pk))[:looked_at]
    recent = history_display.visible_changes(own, request.user)[:RECENT_CHANGES]
    panels = home_panels(request)
    return {
        **context,
        "title": "Home",
        "sight": getattr(request.user, "sight", ""),
        "panels": panels,
        "late_notes": [content.late_note for _, content in panels if content.has_late and content.late_note],
        "has_pages": any(group["title"] for group in context["sidebar_navigation"]),
        "recent_lines": history_display.history_lines(recent, request.user),
        "shown_records": history_display.referred_keys(recent),
        "currency": Subscriber.current().currency,
    }


def environment_label(request: HttpRequest) -> list[str] | None:
    """The label of an installation that is not the real one, at the top of every page."""
    return [settings.ENVIRONMENT_LABEL, "warning"] if settings.ENVIRONMENT_LABEL else None
