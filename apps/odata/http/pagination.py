"""Keyset paging: each page links to the next one with a $skiptoken."""

from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.db.models import QuerySet
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response

from apps.odata.apply.reader import TransformedReader
from apps.odata.http.headers import read_preferences
from apps.odata.query.options import parameters
from apps.odata.read.reader import JsonReader, filter_rows

#: Options of one page that the link to the next one replaces.
_OPTIONS_OF_A_PAGE = {"skiptoken", "skip", "top"}
#: Characters that are not escaped in a link, so that people can read it.
_READABLE = "$,()/:@'*"


class KeysetPagination(BasePagination):
    """Pages of API_PAGE_SIZE records, with $top of API_TOP_PAGE_SIZE, or as many as Prefer asks for.

    A client that names a $top often reads one page only, so the usual ones (1,000) fit into it.
    """

    def paginate_queryset(self, queryset: QuerySet[Any], request: Request, view: Any = None) -> list[str]:
        self.view = view
        self.preferences = read_preferences(request)
        self.reader = self.reader_of(queryset)
        default = settings.API_PAGE_SIZE if view.query_options.top is None else settings.API_TOP_PAGE_SIZE
        self.page = self.reader.page(self.preferences.max_page_size or default)
        return self.page.records

    def reader_of(self, queryset: QuerySet[Any]) -> JsonReader | TransformedReader:
        """The reader of the records, or of the rows that $apply makes of them."""
        view, options = self.view, self.view.query_options
        if options.apply is not None:
            renderer: Any = view.request.accepted_renderer
            reader = TransformedReader(
                view.entity_set,
                queryset,
                options,
                view.request.auth,
                renderer.requested.has_text_numbers,
                self.preferences.omits_nulls,
            )
            if reader.records is None:
                return reader
            queryset = filter_rows(view.entity_set, reader.records, options, view.request.auth)
        return view.reader(queryset, options)

    def get_paginated_response(self, data: list[str]) -> Response:
        token = self.page.next_token
        next_link = "" if token is None else self.next_link(token)
        page = self.view.rendered(self.reader, data, count=self.page.count, next_link=next_link)
        applied = self.preferences.applied(has_pages=True)
        return Response(page, headers={"Preference-Applied": applied} if applied else None)

    def next_link(self, token: str) -> str:
        """The same query, from the record after the last one of this page."""
        options = [
            (name, value)
            for name, value in parameters(self.view.query_string)
            if name.lower().removeprefix("$") not in _OPTIONS_OF_A_PAGE
        ]
        top = self.view.query_options.top
        if top is not None:
            options.append(("$top", str(top - len(self.page.records))))
        options.append((self.reader.next_option, token))
        return f"{self.view.base_url}{self.view.address}?{urlencode(options, safe=_READABLE)}"
