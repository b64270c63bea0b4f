"""The search of the command palette (Ctrl+K): records by names and numbers, and pages by their titles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Case, When
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_GET
from unfold.dataclasses import SearchResult

from apps.core.admin_base import home
from apps.core.admin_base.record_admin import RecordAdmin
from apps.core.admin_base.searching import INDEXED_LETTERS, has_words, search_words, search_words_in
from apps.core.caseload import visible_rows
from apps.core.read_log import log_search

#: Results of each kind of record.
RESULT_LIMIT = 5
#: Shorter searches would find nearly everything.
SHORTEST_SEARCH = 2


@require_GET
def search_page(request: HttpRequest) -> HttpResponse:
    """The results below the palette's field.

    Unfold's own view keeps results for five minutes: new records were missing, and a person who lost a
    permission still saw names.
    """
    words = search_words(request.GET.get("s", ""))
    if len("".join(words)) < SHORTEST_SEARCH:
        words = []
    results = find_results(request, words) if words else []
    context = {"results": results, "is_short": not words}
    return TemplateResponse(request, "unfold/helpers/command_results.html", context)


def find_results(request: HttpRequest, words: Sequence[str]) -> list[SearchResult]:
    """Pages and records, of the kinds that the person may view."""
    results = [
        SearchResult(entry["title"], entry["group"], entry["link"], entry["icon"])
        for entry in home.menu_entries(request)
        if all(word in entry["title"].lower() for word in words)
    ]
    found = {page: find_records(page, words, request.user) for page in searched_pages(request)}
    log_search({page.model: [record.pk for record in records] for page, records in found.items()}, "s=?")
    for page, records in found.items():
        for record in records:
            title = page.palette_label(record)
            kind = str(page.opts.verbose_name) + (", archived" if record.is_archived else "")
            results.append(SearchResult(title, kind, page.record_url(record), page.icon))
    return results


def searched_pages(request: HttpRequest) -> list[RecordAdmin]:
    """The pages whose records the palette finds and the person may view, in the order of the menu."""
    return [page for page in record_pages(request) if page.searched.palette]


def record_pages(request: HttpRequest) -> list[RecordAdmin]:
    """The pages of records that the person may view, in the order of the menu."""
    pages = [page for page in home.registered_pages() if isinstance(page, RecordAdmin)]
    allowed = [page for page in pages if page.has_view_permission(request)]
    return sorted(allowed, key=lambda page: page.menu_order)


def find_records(
    page: RecordAdmin, words: Sequence[str], person: object, limit: int = RESULT_LIMIT
) -> list[Any]:
    """A person's records with the words in the page's columns: exact ones, else all, else names
    spelt alike."""
    records = page.model._default_manager.select_related(*(page.list_select_related or ())).order_by()
    records = visible_rows(person, records)
    found = search_words_in(records, words, page.searched.palette, page.searched.names)
    if max(map(len, words)) < INDEXED_LETTERS:
        return list(found[:limit])
    exact = Case(When(has_words(page.searched.palette, words, "exact"), then=True), default=False)
    rows = list(found.annotate(is_exact=exact).order_by("-is_exact")[:limit])
    return [row for row in rows if row.is_exact] or rows
