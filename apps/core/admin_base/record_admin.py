"""The back office's page for one kind of record: its list, its form, its history."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.admin import AdminSite
from django.contrib.admin.utils import flatten_fieldsets, label_for_field
from django.contrib.admin.views.autocomplete import AutocompleteJsonView
from django.core.checks import CheckMessage, Error
from django.core.exceptions import FieldDoesNotExist, PermissionDenied, ValidationError
from django.core.paginator import Paginator
from django.db import IntegrityError, connection, models
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.html import format_html

from apps.base import draft_checks
from apps.base.drafts import UNSEEN, Draft, Issue, Rule, ValidationFailed, apply_rules
from apps.core import history_display, saving
from apps.core.admin_base.archiving import ArchivingAdmin
from apps.core.admin_base.display import record_link, short_day
from apps.core.admin_base.exports import ExportAdmin
from apps.core.admin_base.filters import ArchivedFilter
from apps.core.admin_base.forms import (
    AmountField,
    DayField,
    LocalTimeField,
    NumberInput,
    RecordForm,
    fieldset,
    is_restored,
)
from apps.core.admin_base.pages import Page, is_page, sees_everybody
from apps.core.admin_base.panels import cell_text, overview_context
from apps.core.admin_base.record_fields import RecordSelect, RecordSelectMultiple, RecordsField, is_key
from apps.core.admin_base.searching import search_records, searched_digits
from apps.core.caseload import caseload_of, is_visible, visible_rows
from apps.core.declaration_checks import editable_columns
from apps.core.models import Searched, TimestampedModel
from apps.core.read_log import log_search
from apps.core.services import Service, draft_class_of, service_of

HISTORY_PAGE_SIZE = 50
#: In the address of a new record's form: what was typed where it was looked up (``select_labels.js``).
NAME = "_name"

#: Whole numbers have the limits of PostgreSQL, on either engine. Each names the widget: Django takes the
#: entry of the nearest class alone.
WHOLE_NUMBERS: dict[type[models.Field], dict[str, object]] = {
    column: {"widget": NumberInput(inputmode="numeric"), **limits}
    for column, limits in (
        (models.IntegerField, {"min_value": -(2**31), "max_value": 2**31 - 1}),
        (models.PositiveIntegerField, {"max_value": 2**31 - 1}),
        (models.SmallIntegerField, {"min_value": -(2**15), "max_value": 2**15 - 1}),
        (models.PositiveSmallIntegerField, {"max_value": 2**15 - 1}),
    )
}

#: The page with everything about one record.
OVERVIEW = Page("overview", "Overview")


class RecordAdmin(ExportAdmin, ArchivingAdmin):
    """The back office's page for one kind of record.

    A subclass has ``fieldsets`` and the like of Django's own ``ModelAdmin``, and its place in the menu. The
    services of the model's resource check and store what the form asks for; those of a model without a
    resource are named: ``create = staticmethod(create_bookings)``. Without services the model's columns and
    unique texts are all that is checked, as of a short list.
    """

    form: object = RecordForm
    formfield_overrides: ClassVar[Any] = {
        models.DateTimeField: {"form_class": LocalTimeField},
        models.DateField: {"form_class": DayField},
        models.DecimalField: {"form_class": AmountField, "widget": NumberInput},
        **WHOLE_NUMBERS,
    }
    create: ClassVar[Service | None] = None
    update: ClassVar[Service | None] = None
    #: Where the resource of the model, or a model without one, does not name it.
    draft_class: ClassVar[type[Draft] | None] = None
    #: Rules whose issues stop nobody: messages once the record is stored.
    warnings: ClassVar[Sequence[Rule]] = ()
    #: Codes of the service's warnings that are confirmed before it is stored; the others are shown after it.
    confirmed_codes: ClassVar[Collection[str]] = frozenset()

    #: The lists that contained forms edit, as the history names them, with their labels.
    contained_lists: ClassVar[Mapping[str, str]] = MappingProxyType({})

    #: The menu's heading, the place under it (headings follow their first entry), and a Material symbol.
    menu_group: ClassVar[str] = "Records"
    menu_order: ClassVar[int] = 500
    icon: ClassVar[str] = "description"

    list_filter: ClassVar[Sequence[object]] = (ArchivedFilter,)
    search_fields: Any = ()
    actions: ClassVar[Sequence[str]] = ("archive_selected", "restore_selected")
    warn_unsaved_form = True
    #: Columns that people could enter, and this form does not show.
    left_out_of_form: ClassVar[Sequence[str]] = ()
    #: The columns at the top of the record's overview.
    overview_fields: ClassVar[Sequence[str]] = ()

    def __init__(self, model: type[models.Model], admin_site: AdminSite) -> None:
        super().__init__(model, admin_site)
        #: What the records are found by; where the model does not say it, ``search_fields`` of the page.
        self.searched: Searched = getattr(model, "searched", Searched())
        if not self.searched.lists:
            self.searched = Searched(in_lists=tuple(self.search_fields))
        self.search_fields = self.searched.lists

    def check(self, **options: object) -> list[CheckMessage]:
        """Django's own checks; the draft class named here fits the model, and the form is complete."""
        members = draft_checks.members_of_model(self.model)
        return [
            *super().check(**options),
            *(
                Error(message, hint=draft_checks.HINT, obj=type(self), id="core.E020")
                for message in draft_checks.find_mistakes(self.draft_class or Draft, members)
            ),
            *(
                Error(
                    f"The form of {self.opts.verbose_name_plural} does not show {name}.",
                    hint=f"Name it in the fieldsets of {type(self).__name__}, or in left_out_of_form.",
                    obj=type(self),
                    id="core.E021",
                )
                for name in self.missing_in_form()
            ),
        ]

    def missing_in_form(self) -> list[str]:
        if not self.fieldsets:
            return []  # a form without them shows every column
        shown = {*flatten_fieldsets(self.fieldsets), *self.readonly_fields, *self.left_out_of_form}
        return [column.name for column in editable_columns(self.model) if column.name not in shown]

    # --- the list and the form

    def get_list_display(self, request: HttpRequest) -> Sequence[object]:
        """Without the mark of archived records while there are none in the list."""
        columns = super().get_list_display(request)
        shows_archived = request.GET.get(ArchivedFilter.parameter_name)
        return columns if shows_archived else [name for name in columns if name != "archived"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related(*(self.list_select_related or ()))

    def autocomplete_label(self, record: models.Model) -> str:
        """The label of a record in a list of suggestions, where several can have the same name."""
        return str(record)

    def palette_label(self, record: models.Model) -> str:
        """The label of a record in the command palette."""
        return self.autocomplete_label(record)

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
        self, request: HttpRequest, queryset: QuerySet[models.Model], search_term: str
    ) -> tuple[QuerySet[models.Model], bool]:
        if is_autocomplete(request):
            queryset = queryset.filter(archive_date=None)  # archived records are not referred to anew
        searched = self.searched
        found = search_records(queryset, search_term, searched.lists, searched.numbers, searched.names)
        return found, False

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Sequence[str]:
        fixed = obj.unchangeable_columns() if obj is not None else []
        return (*super().get_readonly_fields(request, obj), *fixed, *self.system_fields())

    def get_fieldsets(self, request: HttpRequest, obj: models.Model | None = None) -> Any:
        left_out = {*self.system_fields(), "opened_version"}
        fieldsets = list(
            self.fieldsets
            or [fieldset(None, *(name for name in self.get_fields(request, obj) if name not in left_out))]
        )
        if obj is not None:
            in_tabs = any("tab" in options["classes"] for _, options in fieldsets)
            style = "tab" if in_tabs else "collapse"
            fieldsets.append(fieldset("Record information", *self.system_fields(), style=style))
        return fieldsets

    def system_fields(self) -> list[str]:
        names = ("creation_date", "modify_date", "archive_date", self.opts.pk.name)
        known = {column.name for column in self.opts.concrete_fields}
        return [name for name in names if name in known]

    def get_form(
        self, request: HttpRequest, obj: models.Model | None = None, change: bool = False, **options: object
    ) -> Any:
        form = super().get_form(request, obj, change=change, **options)
        form.record_admin = self
        form.describe_other = staticmethod(partial(self.describe_other, request))
        form.person = request.user
        form.draft_class = self.draft_class or draft_class_of(self.model)
        return form

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Initial values from the address; left out is what a column refuses: Django's widgets fail on it."""
        read = {}
        given = {**super().get_changeform_initial_data(request), **self.read_name(request.GET.get(NAME, ""))}
        for name, text in given.items():
            with suppress(ValidationError):
                read[name] = self.read_initial(name, text)
        return read

    def read_name(self, text: str) -> dict[str, str]:
        """The columns of a name that was typed where a record is looked up; none for a number."""
        words = text.split()
        if not words or searched_digits(text) is not None:
            return {}
        *others, last = self.searched.names or ("",)
        if not others:
            return {last: text}
        return {others[-1]: " ".join(words[:-1]), last: words[-1]}

    def read_initial(self, name: str, text: object) -> Any:
        """The value of a column, of a reference its keys; ``ValidationError`` where the text is no value."""
        try:
            column: Any = self.opts.get_field(name)
        except FieldDoesNotExist:
            return text
        if not column.is_relation:
            return column.to_python(text)
        keys = text if isinstance(text, list) else [text]
        if not all(is_key(column.related_model, key) for key in keys):
            raise ValidationError("This is no key.")
        return text

    def formfield_for_foreignkey(self, column: Any, request: HttpRequest, **options: Any) -> Any:
        if column.name in self.get_autocomplete_fields(request):
            options.setdefault("widget", RecordSelect(column, self.admin_site))
        return super().formfield_for_foreignkey(column, request, **options)

    def formfield_for_manytomany(self, column: Any, request: HttpRequest, **options: Any) -> Any:
        if column.name in self.get_autocomplete_fields(request):
            options.setdefault("widget", RecordSelectMultiple(column, self.admin_site))
        return super().formfield_for_manytomany(column, request, **{"form_class": RecordsField, **options})

    def describe_other(self, request: HttpRequest, model: type[models.Model], key: object) -> str | None:
        """Another record as an issue names it, with a link; ``None`` for those who may not view it."""
        page: Any = self.admin_site.get_model_admin(model)
        record = visible_rows(request.user, model._default_manager.filter(pk=key)).first()
        if record is None or not page.has_view_permission(request, record):
            return None
        return format_html("{}, {}", record_link(record), page.describe(request, record))

    def describe(self, request: HttpRequest, record: TimestampedModel) -> str:
        """When a record was entered, and whether it is archived."""
        archived = ", archived" if record.is_archived else ""
        return f"entered {short_day(record.creation_date)}{archived}"

    # --- saving

    def service_for(self, draft: Draft) -> Service:
        """The service that stores the draft."""
        if draft.key is None:
            return self.create or service_of(self.model, "create")
        return self.update or service_of(self.model, "update")

    def find_issues(self, draft: Draft, person: object) -> list[Issue]:
        """The errors and warnings of the service, which stores the draft and is rolled back.

        Nobody creates a record that they would not see.
        """
        try:
            issues = [issue for _, issue in saving.try_out(self.service_for(draft), [draft])]
        except IntegrityError:
            issues = []  # the form's own check of the model's constraints names the one that no rule is about
        caseload = caseload_of(person)
        is_refused = any(issue.severity == "error" for issue in issues)
        if caseload is None or draft.key is not None or is_refused or caseload.takes(self.model, draft.get):
            return issues
        member = caseload.path(self.model).partition("__")[0]
        return [*issues, Issue("NotAllowed", member, UNSEEN)]

    def find_warnings(self, draft: Draft) -> list[Issue]:
        """Warnings about a draft that can be stored."""
        return [issue for _, issue in apply_rules([draft], self.warnings)]

    def find_warnings_to_confirm(self, draft: Draft, person: object) -> list[Issue]:
        """Warnings of likely mistakes, about what the person sees: they confirm them before it is saved."""
        return []

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: object, **options: object
    ) -> HttpResponse:
        form = context["adminform"].form
        warnings = form.warning_rows() if form.is_bound and not form.errors else []
        is_restored(request, " Files have to be chosen again." if form.is_multipart() else "")
        has_marks = len(context["errors"]) > bool(form.non_field_errors())
        # One banner says why nothing was saved: without its errors the library's form has none of its own.
        shown = {"warnings": warnings, **context, "has_marks": has_marks, "errors": []}
        return super().render_change_form(request, shown, *args, **options)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        record = super().get_object(request, object_id, from_field)
        if record is None or request.method != "POST" or not connection.in_atomic_block:
            return record
        # Locked until we commit: of two people saving together, the second must find the first one's version.
        type(record)._default_manager.select_for_update(of=("self",)).filter(pk=record.pk).first()
        return super().get_object(request, object_id, from_field)

    def changeform_view(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        try:
            answer = super().changeform_view(request, *args, **options)
        except (IntegrityError, ValidationFailed):
            # Another writer came between the check and the insert: checked again, the form shows the issue.
            answer = super().changeform_view(request, *args, **options)
        return self.list_if_given_away(request, args[0] if args else None, answer)

    def list_if_given_away(self, request: HttpRequest, key: object, answer: HttpResponse) -> HttpResponse:
        """The list in place of the page of a record that its person has just handed to somebody else."""
        if key is None or sees_everybody(request) or (request.method, answer.status_code) != ("POST", 302):
            return answer
        is_visible = self.get_queryset(request).filter(pk=str(key)).exists()
        return answer if is_visible else redirect(self.page_url("changelist"))

    def save_model(self, request: HttpRequest, obj: models.Model, form: Any, change: bool) -> None:
        # Only warnings of the service have this severity; those of ``warnings`` are not known to it.
        is_warned = any(issue.severity == "warning" for issue in (*form.warnings, *form.to_confirm))
        self.store(obj, form.draft(), **({"ignore_warnings": True} if is_warned else {}))
        for issue in form.warnings:
            messages.warning(request, issue.message)
        # The base class would save the record itself before it runs the buttons of its form.
        for action in self.get_actions_submit_line(request, obj.pk):
            if action.action_name in request.POST:
                action.method(request, obj)

    def store(self, record: models.Model, draft: Draft, **options: object) -> None:
        """Store the draft by the record's service, and read the record again."""
        keys = self.service_for(draft)([draft], **options)
        if draft.key is None:
            record.pk, record._state.adding = keys[0], False
        record.refresh_from_db()

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Save what contained forms show; lists of references are stored by the service."""
        for formset in formsets:
            if form.keeps_contained:
                formset.save(commit=False)  # Django asks it for what is new
            else:
                self.save_formset(request, form, formset, change=change)

    # Django's own history would repeat ours with less detail.

    def log_addition(self, *args: object, **options: object) -> None:
        return None

    log_change = log_addition

    def log_deletions(self, request: HttpRequest, queryset: object) -> None:
        return None

    # --- the overview

    def overview_page(self, request: HttpRequest, record: models.Model) -> HttpResponse:
        """Everything about the record that this person may view."""
        context = {"details": self.overview_details(request, record), **overview_context(request, record)}
        return self.render_page(
            request,
            "admin/overview.html",
            str(record),
            record,
            record_links=[
                each for each in self.record_links(request, record) if each.title != OVERVIEW.title
            ],
            **context,
        )

    def overview_details(self, request: HttpRequest, record: models.Model) -> list[tuple[str, object]]:
        """The labels and texts at the top; a reference is a link for those who may view its record."""
        return [
            (str(label_for_field(name, self.model, self)), self.overview_text(request, record, name))
            for name in self.overview_fields
            if getattr(record, name, None) not in (None, "")
        ]

    def overview_text(self, request: HttpRequest, record: models.Model, name: str) -> object:
        value = getattr(record, name)
        if isinstance(value, models.Model) and self.admin_site.is_registered(type(value)):
            page = self.admin_site.get_model_admin(type(value))
            may_view = page.has_view_permission(request) and is_visible(request.user, value)
            return record_link(value) if may_view else value
        return cell_text(self, record, name)

    # --- history

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, object] | None = None
    ) -> HttpResponseBase:
        return self.open_page(Page("history"), request, object_id)

    def history_page(self, request: HttpRequest, record: models.Model) -> HttpResponse:
        pages = Paginator(history_display.changes_of(record), HISTORY_PAGE_SIZE)
        page = pages.get_page(request.GET.get("p"))
        lines = history_display.history_lines(page.object_list, request.user)
        return self.render_page(
            request, "admin/record_history.html", f"History of {record}", record, page=page, lines=lines
        )


class LookupAdmin(RecordAdmin):
    """A short list that other records choose from."""

    purpose = "Other records choose from this list."
    menu_group = "Lists"
    list_display: ClassVar[Sequence[str]] = ("name", "archived")
    search_fields: object = ("name",)
    ordering: ClassVar[Sequence[str]] = ("name",)


def is_autocomplete(request: HttpRequest) -> bool:
    """True when records are searched to refer to one of them."""
    return is_page(request, "autocomplete")


class RecordAutocompleteView(AutocompleteJsonView):
    """The suggestions while somebody types what to refer to, labelled by the record's own page."""

    def process_request(self, request: HttpRequest) -> tuple[Any, ...]:
        found: tuple[Any, ...] = super().process_request(request)
        _, _, source_field, _ = found
        if not source_field.concrete:
            raise PermissionDenied  # the other end of a reference: no form has it
        return found

    def get_context_data(self, **options: Any) -> dict[str, object]:
        context = super().get_context_data(**options)
        keys = [record.pk for record in context["object_list"]]
        log_search({self.model_admin.model: keys}, "term=?" if self.term else "")
        return context

    def serialize_result(self, obj: models.Model, to_field_name: str) -> dict[str, str]:
        result = super().serialize_result(obj, to_field_name)
        page = self.model_admin
        return {**result, "text": page.autocomplete_label(obj)} if isinstance(page, RecordAdmin) else result
