"""What every page of the back office shares: lists, forms that obey the rules, archiving, history, menu."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.views.autocomplete import AutocompleteJsonView
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db import IntegrityError, connection, models
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import formats, timezone
from django.utils.html import format_html
from django.utils.text import capfirst
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import RadioFilter
from unfold.decorators import action, display

from apps.core import archive, history, history_display
from apps.core.models import Stamped
from apps.core.unique import find_conflicts
from apps.odata import clock
from apps.odata.batched_queries import alone
from apps.odata.write.drafts import Draft, Issue, Rule, apply_rules

LINES_ON_A_HISTORY_PAGE = 50
RECENT_CHANGES_ON_THE_FIRST_PAGE = 12


# --- forms --------------------------------------------------------------------------------------------


class RulesForm(forms.ModelForm):
    """A form whose input is held, as a draft, against the same rules as a request of the interface.

    ``rules`` become errors on their fields. ``cautions`` do not stop anybody: what they found is kept in
    ``cautioned`` and told once the record is stored. ``asked_by`` is the person at the form.
    """

    rules: ClassVar[Sequence[Rule]] = ()
    cautions: ClassVar[Sequence[Rule]] = ()
    asked_by: ClassVar[Any] = None

    opened_version = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.cautioned: list[Issue] = []
        if self._stands():
            self.fields["opened_version"].initial = self._version()

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        self._refuse_what_is_stale(cleaned.get("opened_version"))
        draft = self.draft()
        found = [*apply_rules([draft], self.rules), *alone(find_conflicts(self._meta.model, [draft]))]
        for _, finding in found:
            self.refuse(finding)
        if not self.errors:
            self.cautioned = [finding for _, finding in apply_rules([draft], self.cautions)]
        return cleaned

    def draft(self) -> Draft:
        """What is in the form, over what the record holds already."""
        model = self._meta.model
        values = {
            column.name: getattr(self.instance, column.name) if self._holds(column) else None
            for column in model._meta.concrete_fields
            if column.name not in self.fields
        }
        if self._stands():
            left_out = [column for column in model._meta.many_to_many if column.name not in self.fields]
            values |= {column.name: list(getattr(self.instance, column.name).all()) for column in left_out}
        values |= {name: value for name, value in self.cleaned_data.items() if name not in self.errors}
        key = self.instance.pk if self._stands() else None
        return Draft(values, given=values, invalid=set(self.errors), key=key)

    def refuse(self, finding: Issue) -> None:
        """Put a finding on its field, or above the form when the form has no such field."""
        place = finding.field if isinstance(finding.field, str) else str(finding.field[0])
        if place in self.fields:
            self.add_error(place, forms.ValidationError(finding.message, code=finding.code))
            return
        label = capfirst(place.replace("_", " "))
        self.add_error(None, forms.ValidationError(f"{label}: {finding.message}", code=finding.code))

    def _holds(self, column: models.Field[Any, Any]) -> bool:
        """Whether the column can be asked: a reference that nobody set yet has nothing behind it."""
        return getattr(self.instance, column.attname) is not None

    def _stands(self) -> bool:
        return not self.instance._state.adding

    def _version(self) -> str:
        moment = getattr(self.instance, "modify_date", None)
        return moment.isoformat() if moment else ""

    def _refuse_what_is_stale(self, opened: str | None) -> None:
        """Whoever opened the form before somebody else saved has not seen what they would overwrite."""
        if not self._stands() or not self._version() or opened == self._version():
            return
        last = history_display.changes_of(self.instance).first()
        who = history_display.entries([last])[0].who if last else "Somebody"
        when = formats.date_format(timezone.localtime(self.instance.modify_date), "DATETIME_FORMAT")
        message = format_html(
            "{} changed this record at {}, after you had opened it. Nothing was stored. "
            '<a href="">Open it as it is now</a>, then make your change again.',
            who,
            when,
        )
        self.add_error(None, forms.ValidationError(message, code="Stale"))


# --- lists --------------------------------------------------------------------------------------------


class ArchivedFilter(RadioFilter):
    """Current records unless somebody asks for others."""

    title = "archived"
    parameter_name = "archived"
    all_option: ClassVar[list[str]] = ["", "Current"]

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "Archived"), ("all", "All")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() == "all":
            return queryset
        return queryset.filter(archive_date__isnull=self.value() != "yes")


@dataclass(frozen=True, slots=True)
class MenuPage:
    """A page of its own beside a list, for whoever may see the list: ``url_name`` without ``admin:``."""

    title: str
    url_name: str
    icon: str
    order: int


class RecordAdmin(ModelAdmin):
    """The back office's page for one kind of record.

    A subclass says ``rules`` and ``cautions`` (lists of rules over drafts), ``fieldsets`` and the like of
    Django's own ``ModelAdmin``, and where it stands in the menu.
    """

    form: Any = RulesForm
    rules: ClassVar[Sequence[Rule]] = ()
    cautions: ClassVar[Sequence[Rule]] = ()

    #: The menu's heading, the place under it (headings follow their first entry), and a Material symbol.
    menu_group: ClassVar[str] = "Records"
    menu_order: ClassVar[int] = 500
    icon: ClassVar[str] = "description"
    menu_pages: ClassVar[Sequence[MenuPage]] = ()

    show_full_result_count = False
    list_per_page = 50
    list_filter: ClassVar[Any] = (ArchivedFilter,)
    actions: ClassVar[Any] = ("archive_selected", "restore_selected")
    warn_unsaved_form = True
    object_history_template = "admin/record_history.html"
    #: Refused to archive even for those who may change the record.
    may_be_archived: ClassVar[bool] = True

    # --- what is shown

    def get_list_display(self, request: HttpRequest) -> Sequence[Any]:
        """Without the mark of archived records while there are none in the list."""
        columns = super().get_list_display(request)
        shows_archived = request.GET.get(ArchivedFilter.parameter_name)
        return columns if shows_archived else [name for name in columns if name != "archived"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related(*(self.list_select_related or ()))

    def choice_told(self, record: Any) -> str:
        """A record among others to choose from: enough to tell it from its namesakes."""
        return str(record)

    def get_autocomplete_fields(self, request: HttpRequest) -> Sequence[str]:
        """Every reference to a record with a page of its own is looked up, never listed in full."""
        references = (*self.opts.concrete_fields, *self.opts.many_to_many)
        return [
            column.name
            for column in references
            if column.is_relation
            and column.editable
            and self.admin_site.is_registered(column.related_model)
            and self.admin_site.get_model_admin(column.related_model).search_fields
        ]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        found, may_repeat = super().get_search_results(request, queryset, search_term)
        if _is_choosing(request):
            found = found.filter(archive_date=None)  # archived records are not referred to anew
        return found, may_repeat

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Sequence[str]:
        return (*super().get_readonly_fields(request, obj), *self._stamps())

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        fieldsets = list(self.fieldsets or [(None, {"fields": self._own_fields(request, obj)})])
        if obj is not None:
            in_tabs = any("tab" in options.get("classes", ()) for _, options in fieldsets)
            classes = ("tab",) if in_tabs else ("collapse",)
            fieldsets.append(("Stamps", {"fields": self._stamps(), "classes": classes}))
        return fieldsets

    def _own_fields(self, request: HttpRequest, obj: Any) -> list[str]:
        left_out = {*self._stamps(), "opened_version"}
        return [name for name in self.get_fields(request, obj) if name not in left_out]

    def _stamps(self) -> list[str]:
        names = ("creation_date", "modify_date", "archive_date", self.opts.pk.name)
        known = {column.name for column in self.opts.concrete_fields}
        return [name for name in names if name in known]

    @display(description="", label={"Archived": "warning"})
    def archived(self, record: Stamped) -> str | None:
        """A column that marks archived records in lists that show both."""
        return "Archived" if record.is_archived else None

    # --- what is stored

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:
        form = super().get_form(request, obj, change=change, **options)
        form.rules, form.cautions, form.asked_by = self.rules, self.cautions, request.user
        return form

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        record = super().get_object(request, object_id, from_field)
        if record is None or request.method != "POST" or not connection.in_atomic_block:
            return record
        # Held until we commit: of two people saving together, the second must find the first one's version.
        type(record)._default_manager.select_for_update(of=("self",)).filter(pk=record.pk).first()
        return super().get_object(request, object_id, from_field)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        links = self.record_links(request, object_id) if object_id else []
        extra_context = {"record_links": links, **(extra_context or {})}
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except IntegrityError:
            # Somebody took a unique text between our question and our answer: asked again, the form says so.
            return super().changeform_view(request, object_id, form_url, extra_context)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        for finding in getattr(form, "cautioned", ()):
            messages.warning(request, finding.message)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        before = self.lists_of(form.instance)
        super().save_related(request, form, formsets, change)
        self.store_lists(request, form)
        record_lists(form.instance, before, self.lists_of(form.instance))

    def store_lists(self, request: HttpRequest, form: Any) -> None:
        """What a subclass stores beside the record itself, and tells in ``lists_of``."""

    def lists_of(self, record: Any) -> dict[str, list[str]]:
        """The record's lists by name, as the history tells them; a subclass adds its own."""
        return {
            column.name: [str(each) for each in getattr(record, column.name).all()]
            for column in self.opts.many_to_many
        }

    # Django would keep a second, thinner history of its own.

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        return None

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        return None

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        return None

    # --- archiving

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def archive_records(self, request: HttpRequest, records: QuerySet[Any]) -> int:
        """Archive the records and say how many; a subclass first leaves out those that may not be."""
        return archive.archive(records)

    def restore_records(self, request: HttpRequest, records: QuerySet[Any]) -> int:
        """Bring the records back and say how many."""
        return archive.restore(records)

    @action(description="Archive", permissions=["change"], icon="archive")
    def archive_selected(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self._tell(request, self.archive_records(request, queryset), "archived")

    @action(description="Restore", permissions=["change"], icon="unarchive")
    def restore_selected(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self._tell(request, self.restore_records(request, queryset), "restored")

    def _tell(self, request: HttpRequest, count: int, done: str) -> None:
        noun = self.opts.verbose_name if count == 1 else self.opts.verbose_name_plural
        level = messages.SUCCESS if count else messages.WARNING
        self.message_user(request, f"{count or 'No'} {noun} {done}.", level)

    def record_links(self, request: HttpRequest, object_id: str) -> list[dict[str, str]]:
        """The links above a record's form, beside its history."""
        if not self.may_be_archived or not self.has_change_permission(request):
            return []
        link = {"title": "Archive", "icon": "archive", "title_archived": "Restore"}
        return [{**link, "link": self.address("archiving", object_id)}]

    def address(self, page: str, object_id: Any) -> str:
        """Where one of this record's own pages is."""
        return reverse(f"admin:{self._url_name()}_{page}", args=[object_id])

    def _url_name(self) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}"

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.archiving_view)
        ours = [path("<path:object_id>/archiving/", view, name=f"{self._url_name()}_archiving")]
        return [*ours, *super().get_urls()]

    def archiving_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask before one record is archived or restored, showing what refers to it; then do it."""
        record = self.get_object(request, object_id)
        if record is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        if not self.may_be_archived or not self.has_change_permission(request, record):
            raise PermissionDenied
        if request.method == "POST":
            self.change_archived(request, record)
            return redirect(f"admin:{self._url_name()}_change", object_id)
        context = {
            **self.admin_site.each_context(request),
            "title": f"{'Restore' if record.is_archived else 'Archive'} {record}",
            "opts": self.opts,
            "original": record,
            "references": references_to(record),
            **self.archiving_context(request, record),
        }
        return TemplateResponse(request, "admin/archiving.html", context)

    def change_archived(self, request: HttpRequest, record: Any) -> None:
        """Archive the record, or restore it when it is archived."""
        records = self.model._default_manager.filter(pk=record.pk)
        if record.is_archived:
            self._tell(request, self.restore_records(request, records), "restored")
            return
        self._tell(request, self.archive_records(request, records), "archived")

    def archiving_context(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        """What a subclass adds to the page that asks before archiving."""
        return {}

    # --- history

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        record = self.get_object(request, object_id)
        if record is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        if not self.has_view_permission(request, record):
            raise PermissionDenied
        pages = Paginator(history_display.changes_of(record), LINES_ON_A_HISTORY_PAGE)
        page = pages.get_page(request.GET.get("p"))
        context = {
            **self.admin_site.each_context(request),
            "title": f"History of {record}",
            "opts": self.opts,
            "original": record,
            "page": page,
            "lines": history_display.entries(page.object_list),
            **(extra_context or {}),
        }
        request.current_app = self.admin_site.name
        return TemplateResponse(request, self.object_history_template, context)


class ChoosingView(AutocompleteJsonView):
    """What is offered while somebody types what to refer to, each record as its own page tells it."""

    def serialize_result(self, obj: Any, to_field_name: str) -> dict[str, str]:
        told = super().serialize_result(obj, to_field_name)
        page = self.model_admin
        return {**told, "text": page.choice_told(obj)} if isinstance(page, RecordAdmin) else told


def _is_choosing(request: HttpRequest) -> bool:
    """Whether somebody looks for a record to refer to, rather than in a list."""
    match = request.resolver_match
    return match is not None and match.url_name == "autocomplete"


def record_lists(record: Any, before: dict[str, list[str]], after: dict[str, list[str]]) -> None:
    """Write which of the record's lists changed; the record itself counts as modified then."""
    changed = [
        name for name in {**before, **after} if sorted(before.get(name, [])) != sorted(after.get(name, []))
    ]
    for name in changed:
        history.record_list(record, name, before.get(name, []), after.get(name, []))
    if changed and isinstance(record, Stamped):
        record.modify_date = clock.now()
        type(record)._default_manager.filter(pk=record.pk).update(modify_date=record.modify_date)


def references_to(record: models.Model) -> list[dict[str, Any]]:
    """How many current records of each kind refer to this one, with the address of their list."""
    found = []
    for relation in record._meta.related_objects:
        model = relation.related_model
        if not issubclass(model, Stamped):
            continue
        referring = model._default_manager.filter(**{relation.field.name: record.pk, "archive_date": None})
        count = referring.count()
        if count:
            found.append(
                {
                    "count": count,
                    "what": _kind(model, relation.field),
                    "url": _list_url(model, relation, record),
                }
            )
    return found


def _kind(model: type[models.Model], reference: Any) -> str:
    return f"{model._meta.verbose_name_plural} ({reference.verbose_name})"


def _list_url(model: type[models.Model], relation: Any, record: models.Model) -> str | None:
    if not admin.site.is_registered(model):
        return None
    address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    return f"{address}?{relation.field.name}__{relation.field.target_field.name}__exact={record.pk}"


# --- the menu and the first page ----------------------------------------------------------------------


def menu(request: HttpRequest) -> list[dict[str, Any]]:
    """The sidebar: what the person may see, under the headings that the pages name themselves.

    One entry at most is marked: of a list and a page of its own beside it, the page that is looked at.
    """
    entries = sorted(_entries(request), key=lambda entry: (entry["order"], entry["title"]))
    open_now = max((e["link"] for e in entries if request.path.startswith(e["link"])), key=len, default="")
    groups: dict[str, list[dict[str, Any]]] = {}
    for entry in entries:
        groups.setdefault(entry["group"], []).append({**entry, "active": entry["link"] == open_now})
    index = reverse("admin:index")
    home = {"title": "Start", "icon": "home", "link": index, "active": request.path == index}
    return [
        {"title": None, "items": [home]},
        *({"title": title, "items": items, "separator": True} for title, items in groups.items()),
    ]


def _entries(request: HttpRequest) -> Iterable[dict[str, Any]]:
    for application in admin.site.get_app_list(request):
        for listed in application["models"]:
            page = admin.site.get_model_admin(listed["model"])
            if not listed["admin_url"]:
                continue
            yield {
                "title": capfirst(str(listed["name"])),
                "link": listed["admin_url"],
                "add_link": listed["add_url"],
                "icon": getattr(page, "icon", "description"),
                "group": getattr(page, "menu_group", application["name"]),
                "order": getattr(page, "menu_order", 500),
            }
            for own in getattr(page, "menu_pages", ()):
                yield {
                    "title": own.title,
                    "link": reverse(f"admin:{own.url_name}"),
                    "add_link": None,
                    "icon": own.icon,
                    "group": getattr(page, "menu_group", application["name"]),
                    "order": own.order,
                }


def first_page(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """What the back office opens with: the menu as cards, and what this person did last."""
    recent = history_display.changes_by(request.user)[:RECENT_CHANGES_ON_THE_FIRST_PAGE]
    return {
        **context,
        "title": "Back office",
        "cards": [group for group in menu(request) if group["title"]],
        "recent_lines": history_display.entries(recent),
    }


def environment_label(request: HttpRequest) -> list[str] | None:
    """What this installation is called at the top of every page, when it is not the real thing."""
    return [settings.ENVIRONMENT_LABEL, "warning"] if settings.ENVIRONMENT_LABEL else None
