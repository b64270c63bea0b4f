"""The search of the command palette (Ctrl+K): records by names and numbers, and pages by their titles."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from functools import cache, reduce
from operator import and_, or_
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.db import connection, transaction
from django.db.models import BooleanField, Func, Q, QuerySet, Value
from django.db.models.constants import LOOKUP_SEP
from django.db.models.functions import Lower
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_GET
from unfold.dataclasses import SearchResult

from apps.core.admin_base import home
from apps.core.admin_base.record_admin import RecordAdmin

#: Results of each kind of record, and words of a search that are read.
RESULT_LIMIT, WORD_LIMIT = 5, 6
#: Shorter searches would find nearly everything.
SHORTEST_SEARCH = 2
#: Without trigrams, names that begin alike are compared: so many letters, so many names, so similar.
SAME_LETTERS, COMPARED_NAMES, SIMILARITY = 1, 3_000, 0.7


@require_GET
def search_page(request: HttpRequest) -> HttpResponse:
    """The results below the palette's field.

    Unfold's own view keeps results for five minutes: new records were missing, and a person who lost a
    permission still saw names.
    """
    words = search_words(request.GET.get("s", ""))
    results = find_results(request, words) if words else []
    context = {"results": results, "is_short": not words}
    return TemplateResponse(request, "unfold/helpers/command_results.html", context)


def search_words(text: str) -> list[str]:
    """The words of a search: ``Walsh, Matilda`` has two, the number ``430 123 456`` is one."""
    text = text.strip().lower()
    if re.fullmatch(r"[\d\s]+", text):
        text = re.sub(r"\s", "", text)
    words = [word for word in re.split(r"[\s,;\0]+", text) if word][:WORD_LIMIT]
    return words if len("".join(words)) >= SHORTEST_SEARCH else []


def find_results(request: HttpRequest, words: Sequence[str]) -> list[SearchResult]:
    """Pages and records, of the kinds that the person may view."""
    results = [
        SearchResult(entry["title"], entry["group"], entry["link"], entry["icon"])
        for entry in home.menu_entries(request)
        if all(word in entry["title"].lower() for word in words)
    ]
    for page in searched_pages(request):
        for record in find_records(page, words):
            title = page.palette_label(record)
            kind = str(page.opts.verbose_name) + (", archived" if record.is_archived else "")
            results.append(SearchResult(title, kind, page.record_url(record), page.icon))
    return results


def searched_pages(request: HttpRequest) -> list[RecordAdmin]:
    """The pages whose records the palette finds and the person may view, in the order of the menu."""
    pages = [admin.site.get_model_admin(m) for m in apps.get_models() if admin.site.is_registered(m)]
    searched = [page for page in pages if isinstance(page, RecordAdmin) and page.palette_columns]
    allowed = [page for page in searched if page.has_view_permission(request)]
    return sorted(allowed, key=lambda page: page.menu_order)


def find_records(page: RecordAdmin, words: Sequence[str], limit: int = RESULT_LIMIT) -> list[Any]:
    """The records with each of the words in one of the page's columns; without any, names spelt alike."""
    records = page.model._default_manager.select_related(*(page.list_select_related or ())).order_by()
    if len(words) == 1:
        exact = list(with_words(records, page.palette_columns, words, "exact")[:limit])
        if exact:
            return exact
    found = list(with_words(records, page.palette_columns, words, "contains")[:limit])
    is_number = any(character.isdigit() for word in words for character in word)
    if found or is_number or not page.palette_names:
        return found
    return find_misspelt(records, page.palette_names, words)


def with_words(
    records: QuerySet[Any], columns: Sequence[str], words: Sequence[str], lookup: str
) -> QuerySet[Any]:
    """The records of which each word is found in one of the columns.

    The columns are compared in small letters, as the search indexes have them.
    """
    conditions = (
        reduce(or_, [Q(**{f"{column}_lower__{lookup}": word}) for column in columns]) for word in words
    )
    lower = {f"{column}_lower": Lower(column) for column in columns}
    return records.alias(**lower).filter(reduce(and_, conditions))


# --- misspelt names -------------------------------------------------------------------------------------


#: From this share of common trigrams on, PostgreSQL takes a word for similar to one of a text. Two letters in
#: the wrong order leave 0.375 of a name of seven letters.
WORD_SIMILARITY = 0.35


class HasSimilarWord(Func):
    """Whether a text has a word that is similar to another text; the search indexes find such texts."""

    template = "%(expressions)s"
    arg_joiner = " %%> "
    output_field = BooleanField()


def find_misspelt(records: QuerySet[Any], columns: Sequence[str], words: Sequence[str]) -> list[Any]:
    """Records with names that are spelt much like the words, the most similar first."""
    if has_trigrams():
        similar = (
            reduce(or_, [Q(HasSimilarWord(Lower(column), Value(word))) for column in columns])
            for word in words
        )
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL pg_trgm.word_similarity_threshold = %s", [WORD_SIMILARITY])
            candidates = list(records.filter(reduce(and_, similar))[:COMPARED_NAMES])
    else:
        starts = [word[:SAME_LETTERS] for word in words]
        candidates = list(with_words(records, columns, starts, "startswith")[:COMPARED_NAMES])
    ranked = [(similarity(record, columns, words), record) for record in candidates]
    near = sorted((each for each in ranked if each[0] >= SIMILARITY), key=lambda each: -each[0])
    return [record for _, record in near[:RESULT_LIMIT]]


def similarity(record: Any, columns: Sequence[str], words: Sequence[str]) -> float:
    """How much the least similar word is like a word of the record's names, from 0 to 1."""
    names = [getattr_path(record, column) or "" for column in columns]
    parts = [part for name in names for part in name.lower().split()]
    return min(
        max((difflib.SequenceMatcher(None, word, part).ratio() for part in parts), default=0.0)
        for word in words
    )


def getattr_path(record: Any, path: str) -> Any:
    """The value at the end of a path of columns: ``participant__last_name``."""
    return reduce(getattr, path.split(LOOKUP_SEP), record)


@cache
def has_trigrams() -> bool:
    """Whether the database compares texts by trigrams; asked once."""
    if connection.vendor != "postgresql":
        return False
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_extension WHERE extname = 'pg_trgm'")
        return cursor.fetchone() is not None
