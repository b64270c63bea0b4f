"""The page that merges two contacts or two organisations, and the one that undoes it."""

from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Field, Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.html import format_html
from django.utils.text import capfirst

from apps.base.drafts import ValidationFailed, is_merged
from apps.base.errors import plural
from apps.core.admin_base import Page
from apps.core.admin_base.display import record_link
from apps.core.admin_base.record_admin import is_autocomplete
from apps.core.admin_base.record_fields import RecordSelect
from apps.core.admin_base.searching import search_records
from apps.core.caseload import is_visible
from apps.people.admin.custom_fields import CustomFieldsAdmin
from apps.people.merging import is_undoable, merge, referring_columns, referring_records, undo_merge
from apps.people.models import Contact

#: What refers to a duplicate may be of any participant.
MERGE = Page("merge", "Merge", permission="change", is_minor=True, of_all=True)


class DuplicateForm(forms.Form):
    """The choice of the record that is the duplicate."""

    def __init__(self, record: Model, site: Any, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        model: type[Model] = type(record)
        others = model._default_manager.filter(merged_into=None).exclude(pk=record.pk)
        widget = RecordSelect(model._meta.get_field("merged_into"), site)
        self.fields["duplicate"] = forms.ModelChoiceField(others, label="Duplicate", widget=widget)


class MergingAdmin(CustomFieldsAdmin):
    """Records of which two may be one person or organisation."""

    record_pages = (MERGE, *CustomFieldsAdmin.record_pages)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Model], search_term: str
    ) -> tuple[QuerySet[Model], bool]:
        """In fields that look records up, the name of a duplicate finds the record that is in use.

        Its invoices and letters go on to say that name.
        """
        found, may_repeat = super().get_search_results(request, queryset, search_term)
        if is_autocomplete(request) and not found.exists():
            merged = self.model._default_manager.filter(merged_into__isnull=False)
            searched = self.searched
            duplicates = search_records(merged, search_term, searched.lists, searched.numbers, searched.names)
            found = queryset.filter(archive_date=None, pk__in=duplicates.order_by().values("merged_into"))
        return found, may_repeat

    def overview_page(self, request: HttpRequest, record: Model) -> HttpResponse:
        self.name_survivor(request, record)
        return super().overview_page(request, record)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: object, **options: object
    ) -> HttpResponse:
        self.name_survivor(request, context["original"])
        return super().render_change_form(request, context, *args, **options)

    def name_survivor(self, request: HttpRequest, record: Any) -> None:
        """Say on the page of a duplicate which record is in use."""
        if record is not None and is_merged(record):
            other = record.merged_into
            shown = record_link(other) if is_visible(request.user, other) else "one that you do not see"
            text = format_html("{} was merged into {}: change that one.", record, shown)
            self.message_user(request, text, messages.WARNING)

    def merge_page(self, request: HttpRequest, record: Contact) -> HttpResponse:
        """Choose the duplicate, compare both, and merge it into this record; of a merged one, undo that."""
        if record.merged_into_id is not None:
            return self.merged_page(request, record)
        is_post = request.method == "POST"
        chosen = request.POST if is_post else request.GET
        form = DuplicateForm(record, self.admin_site, chosen if "duplicate" in chosen else None)
        duplicate = form.cleaned_data["duplicate"] if form.is_valid() else None
        if is_post and duplicate is not None and self.merge_records(request, record, duplicate):
            return redirect(self.page_url("change", record.pk))
        return self.render_page(
            request,
            "people/merge.html",
            f"Merge into {record}",
            record,
            form=form,
            duplicate=duplicate,
            shown_records={} if duplicate is None else {self.model: [duplicate.pk]},
            differences=[] if duplicate is None else differing_values(record, duplicate),
            moves=[] if duplicate is None else count_references(duplicate),
        )

    def merge_records(self, request: HttpRequest, record: Contact, duplicate: Any) -> bool:
        """True when the two were merged; messages say why not."""
        try:
            count = merge(record, duplicate)
        except ValidationFailed as failed:
            self.show_issues(request, (issue for _, issue in failed.issues))
            return False
        undo = format_html('<a class="rs-link" href="{}">Undo</a>', self.page_url("merge", duplicate.pk))
        text = format_html(
            "{} is merged into {}; {} moved. {}", duplicate, record, plural(count, "record"), undo
        )
        self.message_user(request, text, messages.SUCCESS)
        return True

    def merged_page(self, request: HttpRequest, record: Contact) -> HttpResponse:
        if request.method != "POST":
            context = {
                "target": record_link(record.merged_into),
                "is_undoable": is_undoable(record),
                "shown_records": {self.model: [record.merged_into_id]},
            }
            title = f"{record} was merged"
            return self.render_page(request, "people/merged.html", title, record, **context)
        try:
            count = undo_merge(record)
        except ValidationFailed as failed:
            self.show_issues(request, (issue for _, issue in failed.issues))
        else:
            text = f"{record} is a record of its own again; {plural(count, 'record')} moved back."
            self.message_user(request, text, messages.SUCCESS)
        return redirect(self.page_url("change", record.pk))


def differing_values(record: Any, duplicate: Any) -> list[tuple[str, object, object]]:
    """Label and both values of each column that differs."""
    columns = [column for column in record._meta.concrete_fields if column.editable]
    rows = [
        (capfirst(column.verbose_name), display_value(record, column), display_value(duplicate, column))
        for column in columns
    ]
    return [row for row in rows if row[1] != row[2]]


def display_value(record: Model, column: Field) -> object:
    if column.choices:
        return getattr(record, f"get_{column.name}_display")()
    value = getattr(record, column.name)
    return ("Yes" if value else "No") if isinstance(value, bool) else value


def count_references(record: Contact) -> list[tuple[int, str]]:
    """How many records refer to the record, by kind and column."""
    found = []
    for column in referring_columns(type(record)):
        count = referring_records(record, column).count()
        if count:
            meta = column.model._meta
            noun = meta.verbose_name if count == 1 else meta.verbose_name_plural
            found.append((count, f"{noun} ({column.verbose_name})"))
    return found
