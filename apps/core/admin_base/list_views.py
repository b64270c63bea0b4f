"""How a person sees a list: filters saved under a name, for themselves or their teams, and chosen columns."""

from collections.abc import Sequence
from typing import Any, ClassVar
from urllib.parse import urlsplit

from django.contrib import messages
from django.contrib.admin.utils import label_for_field
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.text import capfirst

from apps.base.declaration.resource import Nesting
from apps.base.declaration.schema import StructuredType
from apps.base.declaration.service import declared_set
from apps.base.retries import retry_on_conflict
from apps.core.admin_base.pages import Page, PageAdmin
from apps.core.admin_base.record_fields import is_key
from apps.core.models import ChosenColumns, SavedFilter

LIST_VIEW = Page("list-view")
CHOOSE_COLUMNS = Page("columns", method="POST")
#: What the address of a list says besides its filters.
PAGE_PARAMETERS = ("p", "all", "o", "e")
#: More names than anybody finds one in.
SAVED_LIMIT = 50


def filters_of(query: QueryDict) -> str:
    """The filters in the address of a list."""
    filters = query.copy()
    for name in PAGE_PARAMETERS:
        filters.pop(name, None)
    return filters.urlencode()


def own_columns(type_: StructuredType) -> set[str]:
    """The names of the record's own columns that the interface shows, those of embedded objects too."""
    names = {
        prop.path
        for prop in type_.readable_properties.values()
        if len(prop.steps) == 1 and not prop.source_field.is_relation and not prop.source_field.primary_key
    }
    embedded = [each for each in type_.navigations.values() if each.nesting is Nesting.EMBEDDED]
    return names.union(*(own_columns(each.type) for each in embedded))


class ListViewAdmin(PageAdmin):
    """A list whose filters can be saved and whose columns can be chosen, by whoever may view it."""

    base_pages: ClassVar[Sequence[Page]] = (LIST_VIEW, CHOOSE_COLUMNS)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, object] | None = None
    ) -> HttpResponse:
        default = self.default_filters(request)
        if default:
            return redirect(f"{request.path}?{default}")
        address = f"{self.page_url(LIST_VIEW.name)}?{filters_of(request.GET)}"
        return super().changelist_view(request, {"list_view_url": address, **(extra_context or {})})

    def owner(self, request: HttpRequest) -> dict[str, Any]:
        """The columns by which what somebody chose for this list is found."""
        return {"staff": request.user, "record_type": self.opts.label_lower}

    def default_filters(self, request: HttpRequest) -> str:
        """The person's default filters, where they open the list from another page without any."""
        opened_from = urlsplit(request.headers.get("Referer", "")).path
        if request.method != "GET" or request.GET or opened_from == request.path:
            return ""
        own = SavedFilter.objects.filter(**self.owner(request), is_default=True)
        return own.values_list("query", flat=True).first() or ""

    def saved_filters(self, request: HttpRequest) -> QuerySet[SavedFilter]:
        """The person's own, and those that members of the same teams share."""
        shared = Q(is_shared=True, staff__teams__staff=request.user.pk)
        found = SavedFilter.objects.filter(
            Q(staff=request.user.pk) | shared, record_type=self.opts.label_lower
        )
        return found.select_related("staff").distinct()

    def list_view_page(self, request: HttpRequest) -> HttpResponse:
        """The menu of a list; a POST saves, renames or deletes one of the person's own filters."""
        if request.method == "POST":
            query = filters_of(QueryDict(request.POST.get("query", "")))
            try:
                self.save_filter(request, query)
            except ValidationError as error:
                messages.error(request, " ".join(error.messages))
            return redirect(f"{self.page_url('changelist')}?{query}")
        context = {
            "query": filters_of(request.GET),
            "saved_filters": self.saved_filters(request),
            "columns": self.column_choices(request),
            "address": self.page_url(LIST_VIEW.name),
            "columns_address": self.page_url(CHOOSE_COLUMNS.name),
        }
        return TemplateResponse(request, "admin/list_view.html", context)

    @retry_on_conflict
    def save_filter(self, request: HttpRequest, query: str) -> None:
        own = SavedFilter.objects.filter(**self.owner(request))
        key, name = request.POST.get("key"), request.POST.get("name", "").strip()
        saved = own.filter(pk=key).first() if key and is_key(SavedFilter, key) else None
        if saved is not None and "delete" in request.POST:
            saved.delete()
            messages.success(request, f"Saved filter {saved.name} deleted.")
            return
        if saved is None:
            # The same name again replaces what it stood for.
            saved = own.filter(name=name).first() or SavedFilter(**self.owner(request))
            saved.query = query
        saved.name, saved.is_shared = name, "is_shared" in request.POST
        saved.is_default = "is_default" in request.POST
        if saved.is_default:
            own.exclude(pk=saved.pk).update(is_default=False)
        saved.full_clean()
        if saved.pk is None and own.count() >= SAVED_LIMIT:
            raise ValidationError(f"A list has at most {SAVED_LIMIT} saved filters: delete one first.")
        saved.save()
        messages.success(request, f"Filters saved as {name}.")

    # --- columns

    def available_columns(self) -> list[str]:
        """The columns of the list, and those of the record that the interface shows too: no secrets.

        None where the list has columns without a name.
        """
        listed = [name for name in self.list_display if isinstance(name, str)]
        if len(listed) < len(self.list_display):
            return []
        entity_set = declared_set(self.model)
        shown = own_columns(entity_set.type) if entity_set else set()
        fields = [column.name for column in self.opts.concrete_fields if column.name in shown]
        return [*listed, *(name for name in fields if name not in listed)]

    def column_choices(self, request: HttpRequest) -> list[tuple[str, str, bool]]:
        """The name and label of each available column, and whether the list shows it.

        A column of the record that the list has under the same label is left out, unless it is shown.
        """
        shown = self.get_list_display(request)
        found: dict[str, tuple[str, str, bool]] = {}
        for name in self.available_columns():
            label = capfirst(str(label_for_field(name, self.model, self))) or "Archived"
            if name != "archived" and (name in shown or label not in {each[1] for each in found.values()}):
                found[name] = (name, label, name in shown)
        return list(found.values())

    def columns_page(self, request: HttpRequest) -> HttpResponse:
        """Choose the columns of the list; none are the usual ones."""
        chosen = [name for name in self.available_columns() if name in request.POST.getlist("columns")]
        if chosen and "usual" not in request.POST:
            columns = {"columns": [*chosen, "archived"]}
            ChosenColumns.objects.update_or_create(defaults=columns, **self.owner(request))
        else:
            ChosenColumns.objects.filter(**self.owner(request)).delete()
        query = filters_of(QueryDict(request.POST.get("query", "")))
        return redirect(f"{self.page_url('changelist')}?{query}")

    def get_sortable_by(self, request: HttpRequest) -> Sequence[object]:
        """Every column, so that those which the person chose are read once for a list."""
        return self.available_columns() or super().get_sortable_by(request)

    def get_list_display(self, request: HttpRequest) -> Sequence[object]:
        known = self.available_columns()
        if not known:
            return super().get_list_display(request)
        own = ChosenColumns.objects.filter(**self.owner(request))
        chosen = own.values_list("columns", flat=True).first() or ()
        return [name for name in chosen if name in known] or super().get_list_display(request)
