"""The menu of the back office, its home page, and the label of the installation.

Each app registers its panels of the home page; a person sees those of the records that they may view.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse

from apps.core import history_display
from apps.core.admin_base.charts import BarChart
from apps.core.models import Change

RECENT_CHANGES = 8


# --- panels ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Figure:
    """How many records a list has, with the address of that list.

    ``text`` replaces the number where nobody counts further, ``note`` stands below it.
    """

    label: str
    count: int
    link: str
    note: str = ""
    text: str = ""
    is_urgent: bool = False


@dataclass(frozen=True, slots=True)
class FigureGroup:
    """Figures under a heading of their own; ``nothing`` is said where there are none."""

    title: str
    figures: Sequence[Figure]
    nothing: str = ""


@dataclass(frozen=True, slots=True)
class HomeContent:
    """What a panel shows: figures, a chart, or both; ``links`` are (label, address) beside the title."""

    groups: Sequence[FigureGroup] = ()
    chart: BarChart | None = None
    links: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class HomePanel:
    """A section of the home page, for those who may view the model's records."""

    title: str
    model: type[Model]
    order: int
    content: Callable[[HttpRequest], HomeContent | None]


HOME_PANELS: list[HomePanel] = []


def home_panels(request: HttpRequest) -> list[tuple[HomePanel, HomeContent]]:
    """The panels that this person may view and that have content, in their order."""
    allowed = [
        panel
        for panel in sorted(HOME_PANELS, key=lambda panel: panel.order)
        if admin.site.get_model_admin(panel.model).has_view_permission(request)
    ]
    contents = [(panel, panel.content(request)) for panel in allowed]
    return [(panel, content) for panel, content in contents if content is not None]


# --- the menu -------------------------------------------------------------------------------------------


def menu(request: HttpRequest) -> list[dict[str, Any]]:
    """The sidebar: what the person may see, under the headings that the pages name themselves.

    One entry at most is active: of a list and a page of its own beside it, the page that is shown.
    """
    entries = sorted(menu_entries(request), key=lambda entry: (entry["order"], entry["title"]))
    active = max((e["link"] for e in entries if request.path.startswith(e["link"])), key=len, default="")
    groups: dict[str, list[dict[str, Any]]] = {}
    for entry in entries:
        groups.setdefault(entry["group"], []).append({**entry, "active": entry["link"] == active})
    index = reverse("admin:index")
    home = {"title": "Home", "icon": "home", "link": index, "active": request.path == index}
    return [
        {"title": None, "items": [home]},
        *({"title": title, "items": items, "separator": True} for title, items in groups.items()),
    ]


def menu_entries(request: HttpRequest) -> Iterable[dict[str, Any]]:
    for application in admin.site.get_app_list(request):
        for listed in application["models"]:
            page: Any = admin.site.get_model_admin(listed["model"])
            if not listed["admin_url"]:
                continue
            yield {
                "title": page.list_title,
                "link": listed["admin_url"],
                "add_link": listed["add_url"],
                "icon": getattr(page, "icon", "description"),
                "group": getattr(page, "menu_group", application["name"]),
                "order": getattr(page, "menu_order", 500),
            }
            for list_page in getattr(page, "list_pages", ()):
                if list_page.title:
                    yield {
                        "title": list_page.title,
                        "link": page.page_url(list_page.name),
                        "add_link": None,
                        "icon": list_page.icon,
                        "group": getattr(page, "menu_group", application["name"]),
                        "order": list_page.order,
                    }


def home_page(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """The context of the first page: the panels, the menu as cards, and the person's own last changes."""
    recent = list(Change.objects.filter(staff_id=str(request.user.pk))[:RECENT_CHANGES])
    return {
        **context,
        "title": "Home",
        "panels": home_panels(request),
        "cards": [group for group in context["sidebar_navigation"] if group["title"]],
        "recent_lines": history_display.history_lines(recent),
        "shown_records": history_display.referred_keys(recent),
    }


def environment_label(request: HttpRequest) -> list[str] | None:
    """The label of an installation that is not the real one, at the top of every page."""
    return [settings.ENVIRONMENT_LABEL, "warning"] if settings.ENVIRONMENT_LABEL else None
