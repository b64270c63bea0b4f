"""Pages of our own beside a list or of one record: an admin class declares them, one place checks them."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar

from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.auth import get_permission_codename
from django.core.checks import CheckMessage, Error
from django.core.exceptions import BadRequest, PermissionDenied
from django.db.models import Model, QuerySet
from django.forms import Media
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern, get_script_prefix, path, reverse
from django.utils.text import capfirst
from unfold.admin import ModelAdmin

from apps.core.admin_base.filters import CappedPaginator, filter_media
from apps.core.admin_base.lists import RecordChangeList
from apps.core.admin_base.lookups import is_condition
from apps.core.admin_base.record_fields import is_key
from apps.core.caseload import caseload_of, caseload_path, visible_rows
from apps.core.models import Subscriber


@dataclass(frozen=True, slots=True)
class Page:
    """A page that the admin's method ``<name>_page`` answers, for those with the permission.

    ``path`` comes after the address of the list or of the record; arguments in it are passed to the method.
    With a ``title`` the page is linked: in the menu with its ``icon`` at its ``order``, or above the form of
    the record, an ``is_minor`` one in the menu "More" there.
    ``method``: the only HTTP method that it answers. ``of_all``: it is about all participants at once, and so
    closed to those who see some of them. ``leads_to``: the path of the pages beside it that its entry in the
    menu leads to.
    """

    path: str
    title: str = ""
    icon: str = ""
    order: int = 0
    permission: str = "view"
    method: str = ""
    is_minor: bool = False
    of_all: bool = False
    leads_to: str = ""

    @property
    def name(self) -> str:
        """``board/move`` and ``month-end`` as names: ``board_move``, ``month_end``."""
        return re.sub(r"\W", "_", self.path.split("/<")[0])


@dataclass(frozen=True, slots=True)
class RecordLink:
    """A link at the top of a record's pages; a minor one is in the menu "More"."""

    title: str
    link: str
    is_minor: bool = False


OF_ALL = "This page is about all participants; your role sees some of them."


def sees_everybody(request: HttpRequest) -> bool:
    return caseload_of(request.user) is None


@lru_cache(maxsize=1_024)
def page_address(name: str, prefix: str) -> str:
    """The address of a page without arguments: each menu has sixty, which took a tenth of a small page.

    ``prefix``: the path that a proxy serves the service under, which `reverse` puts before it.
    """
    return reverse(name)


def is_page(request: HttpRequest, url_name: str) -> bool:
    return request.resolver_match is not None and request.resolver_match.url_name == url_name


class PageAdmin(ModelAdmin):
    """An admin with pages of its own."""

    #: What the list is for: shown while it has no records.
    purpose: ClassVar[str] = ""
    #: What the list is called, where the records' own plural does not say it.
    menu_title: ClassVar[str | None] = None
    #: Pages beside the list: ``def queues_page(self, request)``.
    list_pages: ClassVar[Sequence[Page]] = ()
    #: Pages beside the list that a base class adds to those.
    base_pages: ClassVar[Sequence[Page]] = ()
    #: Pages of one record: ``def plan_page(self, request, record)``.
    record_pages: ClassVar[Sequence[Page]] = ()
    #: The page that a link to a record opens: the form, or one of ``record_pages``.
    main_page: ClassVar[str] = "change"

    list_filter_submit = True
    list_per_page = 50
    paginator = CappedPaginator
    show_full_result_count = False

    def check(self, **options: object) -> list[CheckMessage]:
        """Django's own checks; each page has its method, each page and action its permission."""
        return [
            *super().check(**options),
            *self.find_pages_without_method(),
            *self.find_pages_without_permission(),
            *self.find_actions_without_permission(),
        ]

    def find_pages_without_method(self) -> Iterator[CheckMessage]:
        for page in self.pages:
            if not hasattr(self, f"{page.name}_page"):
                yield Error(
                    f"{type(self).__name__} has no method {page.name}_page for the page {page.path}.",
                    hint="Define it, or take the Page out of list_pages or record_pages.",
                    obj=type(self),
                    id="core.E022",
                )

    def find_pages_without_permission(self) -> Iterator[CheckMessage]:
        for page in self.pages:
            if not hasattr(self, f"has_{page.permission}_permission"):
                yield Error(
                    f"{type(self).__name__} has no method has_{page.permission}_permission for {page.path}.",
                    hint="Define it, or name another permission of the Page.",
                    obj=type(self),
                    id="core.E024",
                )

    def find_actions_without_permission(self) -> Iterator[CheckMessage]:
        for name in (*(self.actions or ()), *self.actions_submit_line):
            action = getattr(self, str(name), None)
            if action is not None and not getattr(action, "allowed_permissions", ()):
                yield Error(
                    f"{type(self).__name__} lets everybody who sees the list do {name}.",
                    hint='Say what they need: @action(permissions=["change"]).',
                    obj=type(self),
                    id="core.E023",
                )

    @property
    def pages(self) -> tuple[Page, ...]:
        return (*self.list_pages, *self.base_pages, *self.record_pages)

    @property
    def media(self) -> Media:
        """Django's scripts but those that make addresses from titles; names for the fields of select2."""
        names = ("vendor/jquery/jquery.min", "jquery.init", "core", "admin/RelatedObjectLookups", "actions")
        return Media(js=[*(f"admin/js/{name}.js" for name in names), "select_labels.js"])

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, object] | None = None
    ) -> HttpResponse:
        media = self.media + filter_media(self.get_list_filter(request))
        with self.named_permission(request, "view"):
            return super().changelist_view(request, {"media": media, **(extra_context or {})})

    def response_action(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        if not all(is_key(self.model, key) for key in request.POST.getlist(ACTION_CHECKBOX_NAME)):
            raise BadRequest("What was chosen is no record.")
        return super().response_action(request, queryset)

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, *args: object, **options: object
    ) -> HttpResponse:
        name = "change" if request.method == "POST" else "view"
        with self.named_permission(request, "add" if object_id is None else name):
            return super().changeform_view(request, object_id, *args, **options)

    def history_view(self, request: HttpRequest, *args: object, **options: object) -> HttpResponse:
        with self.named_permission(request, "view"):
            return super().history_view(request, *args, **options)

    @contextmanager
    def named_permission(self, request: HttpRequest, name: str) -> Iterator[None]:
        """Let the page of a refusal say which permission is missing, where Django refuses without a word."""
        try:
            yield
        except PermissionDenied as denied:
            if denied.args:
                raise
            raise PermissionDenied(*self.explain_refusal(request, name)) from denied

    def explain_refusal(self, request: HttpRequest, name: str) -> list[str]:
        """The sentence about a permission that a person's role lacks; none where no role can have it."""
        if not sees_everybody(request) and caseload_path(self.model) is None:
            return [OF_ALL]  # whatever is ticked
        permission = f"{self.opts.app_label}.{get_permission_codename(name, self.opts)}"
        if name not in self.opts.default_permissions or request.user.has_perm(permission):
            return []
        return [f"Your role lacks the permission to {name} {self.opts.verbose_name_plural}."]

    @property
    def list_title(self) -> str:
        """The title of the list in the menu and the header."""
        return self.menu_title or capfirst(str(self.opts.verbose_name_plural))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """The records that the person sees."""
        return visible_rows(request.user, super().get_queryset(request))

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Django filters by any column that an address names: a secret would be read letter by letter."""
        if lookup.partition("__")[0] in getattr(self.model, "secret_columns", ()):
            return False
        return is_condition(self.model, lookup, value) and super().lookup_allowed(lookup, value, request)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """The record of a key; the library looks for a field without a name where ``_to_field`` is empty."""
        return super().get_object(request, object_id, from_field or None)

    def is_list(self, request: HttpRequest) -> bool:
        """True when the list is shown, which may need more of its records than other pages."""
        return is_page(request, self.url_name("changelist"))

    def get_changelist(self, request: HttpRequest, **options: object) -> type[RecordChangeList]:
        return RecordChangeList

    def filtered_records(self, request: HttpRequest) -> QuerySet[Model]:
        """The records that the filters in an address leave of the list; 404 for unknown filters."""
        try:
            return self.get_changelist_instance(request).queryset
        except IncorrectLookupParameters:
            raise Http404 from None

    def url_name(self, page: str) -> str:
        """The name of one of this model's pages, without ``admin:``."""
        return f"{self.opts.app_label}_{self.opts.model_name}_{page}"

    def page_url(self, page: str, *arguments: object) -> str:
        """The address of a page beside the list, or of one of a record's pages."""
        name = f"admin:{self.url_name(page)}"
        return reverse(name, args=arguments) if arguments else page_address(name, get_script_prefix())

    def record_url(self, record: Model) -> str:
        """The address of a record's main page."""
        return self.page_url(self.main_page, record.pk)

    def get_urls(self) -> list[URLPattern]:
        addresses = [
            *((f"{page.path}/", page) for page in (*self.list_pages, *self.base_pages)),
            *((f"<path:object_id>/{page.path}/", page) for page in self.record_pages),
        ]
        pages = [
            path(
                address,
                self.admin_site.admin_view(partial(self.open_page, page)),
                name=self.url_name(page.name),
            )
            for address, page in addresses
        ]
        return [*pages, *super().get_urls()]

    def open_page(
        self, page: Page, request: HttpRequest, object_id: str | None = None, **arguments: object
    ) -> HttpResponseBase:
        """Call the page's method, with the record of the address."""
        if page.method and request.method != page.method:
            return HttpResponseNotAllowed([page.method])
        if page.of_all and not sees_everybody(request):
            raise PermissionDenied(OF_ALL)
        record = None
        if object_id is not None:
            record = arguments["record"] = self.get_object(request, object_id)
            if record is None:
                return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        if not self.has_page_permission(page, request, record):
            raise PermissionDenied(*self.explain_refusal(request, page.permission))
        answer: HttpResponseBase = getattr(self, f"{page.name}_page")(request, **arguments)
        return answer

    def has_page_permission(self, page: Page, request: HttpRequest, record: Model | None = None) -> bool:
        if page.of_all and not sees_everybody(request):
            return False
        has_permission = getattr(self, f"has_{page.permission}_permission")
        return bool(has_permission(request) if page.permission == "add" else has_permission(request, record))

    def record_links(self, request: HttpRequest, record: Model) -> list[RecordLink]:
        """The links above a record's form, beside its history."""
        return [
            RecordLink(page.title, self.page_url(page.name, record.pk), page.is_minor)
            for page in self.record_pages
            if page.title and self.has_page_permission(page, request)
        ]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: object, **options: object
    ) -> HttpResponse:
        record = context["original"]
        page = {
            "record_links": self.record_links(request, record) if record is not None else [],
            "currency": Subscriber.current().currency,
        }
        return super().render_change_form(request, {**page, **context}, *args, **options)

    def render_page(
        self, request: HttpRequest, template: str, title: str, record: object = None, **context: object
    ) -> TemplateResponse:
        """A page in the layout of the back office."""
        request.current_app = self.admin_site.name
        common = {
            **self.admin_site.each_context(request),
            "title": title,
            "opts": self.opts,
            "original": record,
            "list_url": self.page_url("changelist"),
            "change_url": self.page_url("change", record.pk) if isinstance(record, Model) else None,
            "media": self.media,
            "currency": Subscriber.current().currency,
        }
        return TemplateResponse(request, template, {**common, **context})


class ReadOnlyAdmin(PageAdmin):
    """A list of what the service writes: nobody adds, changes or deletes it here.

    The first of ``record_pages`` stands in place of the form.
    """

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: object = None
    ) -> HttpResponseBase:
        if not self.record_pages:
            return super().change_view(request, object_id, form_url, extra_context)
        return self.open_page(self.record_pages[0], request, object_id)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class OwnRecordsAdmin(ReadOnlyAdmin):
    """Records with a ``staff`` who alone sees them."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_active)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return bool(request.user.is_active)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Model]:
        return ModelAdmin.get_queryset(self, request).filter(staff_id=request.user.pk)
