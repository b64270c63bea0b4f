"""Keyset paging: each page links to the next one with a $skiptoken, the last one to changes if asked."""

import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, urlencode

from django.conf import settings
from django.db.models import Model, QuerySet
from django.http import HttpResponse
from rest_framework.pagination import BasePagination
from rest_framework.request import Request

from apps.odata.apply.reader import TransformedReader
from apps.odata.delta.dependencies import UntrackableError, find_dependencies
from apps.odata.delta.reader import DeltaPage, DeltaReader
from apps.odata.delta.tokens import (
    READABLE,
    DeltaToken,
    moment_for,
    query_digest,
    read_token,
    sight_of,
    tracked_options,
)
from apps.odata.errors import BadQuery
from apps.odata.http.headers import reads_version_401
from apps.odata.http.views import QUERY_IN_BODY
from apps.odata.query.options import OPTIONS_OF_A_PAGE, parameters
from apps.odata.read.reader import JsonReader

#: What reads the records of a page, or the rows that are made of them.
PageReader = JsonReader | TransformedReader | DeltaReader

#: Those of a link in a header, where readers split at commas.
_READABLE_IN_HEADER = "$()/:@'*?&=%+~#[]!"
#: Characters of the greatest link that a Link header repeats: proxies refuse long lines of headers.
MAX_LINK_HEADER = 4_096
#: Characters of the longest query in a link that is followed by GET: most servers take addresses of 8 KB.
MAX_QUERY_OF_LINK = 8_000


class KeysetPagination(BasePagination):
    """Pages of API_PAGE_SIZE records, with $top of API_TOP_PAGE_SIZE, or as many as Prefer asks for.

    A client that names a $top often reads one page only, so the usual ones (1,000) fit into it.
    """

    def paginate_queryset(self, queryset: QuerySet[Model], request: Request, view: Any = None) -> list[str]:
        self.view, options, preferences = view, view.query_options, view.preferences
        self.reader: PageReader
        self.tracking: DeltaToken | None = None
        if options.apply is None:
            self.reader = view.reader(queryset, options)
        else:
            self.reader = view.transformed_reader(queryset)
        is_tracked = options.deltatoken is not None or preferences.tracks_changes
        if is_tracked and isinstance(self.reader, JsonReader):
            self.start_tracking(self.reader)
        default = settings.API_PAGE_SIZE if options.top is None else settings.API_TOP_PAGE_SIZE
        self.page = self.reader.page(preferences.max_page_size or default)
        return self.page.records

    # --- changes ----------------------------------------------------------------------------------------

    def start_tracking(self, reader: JsonReader) -> None:
        """Set the token of the page, whose changes are tracked; a delta gets its own reader.

        A preference that cannot be met is not applied, as OData says; a token that no longer fits is refused.
        """
        text, view = self.view.query_options.deltatoken, self.view
        digest = query_digest(view.address, view.query_options.parameters)
        token = None if text is None else read_token(text, digest, view.caller)
        try:
            if view.action == "member":
                raise UntrackableError("Changes are tracked of whole entity sets.")
            dependencies = find_dependencies(
                view.entity_set, reader.projection, view.query_options, reader.request
            )
        except UntrackableError as error:
            if token is None:
                return
            raise BadQuery(str(error), target="$deltatoken") from None
        if token is not None and token.since is not None:
            self.reader = DeltaReader(reader, dependencies, token)
        self.tracking = token or DeltaToken(
            digest, until=moment_for(view.caller), sight=sight_of(view.caller)
        )

    def removed_entry(self, key: object, is_deleted: bool) -> str:
        """The JSON of a record that is not, or no longer, in the collection (JSON Format 15.4)."""
        address, reason = (
            f"{self.view.base_url}{self.view.address}({key})",
            ["changed", "deleted"][is_deleted],
        )
        if reads_version_401(self.view.request):
            return json.dumps({"@removed": {"reason": reason}, "@odata.id": address})
        context = f"{self.view.base_url}$metadata#{self.view.address}/$deletedEntity"
        return json.dumps({"@odata.context": context, "id": address, "reason": reason})

    # --- the response -----------------------------------------------------------------------------------

    def get_paginated_response(self, data: list[str]) -> HttpResponse:
        page, tracking = self.page, self.tracking
        entries = page.removed.items() if isinstance(page, DeltaPage) else ()
        removed = [self.removed_entry(*entry) for entry in entries]
        links = dict(self.links())
        rendered = self.view.rendered(self.reader, data, count=page.count, links=links, removed=removed)
        headers = {
            "Preference-Applied": self.view.preferences.applied(True, is_tracked=tracking is not None),
            "Link": self.link_header(links["@odata.nextLink"]) if page.next_token is not None else None,
        }
        if removed and reads_version_401(self.view.request):
            headers["OData-Version"] = "4.01"
        response: HttpResponse = self.view.respond(rendered, headers)
        return response

    def links(self) -> Any:
        """The link to the next page, or of a tracked query to the changes since its first page was read."""
        page, tracking = self.page, self.tracking
        top = self.view.query_options.top
        if page.next_token is not None:
            options = [] if top is None else [("$top", str(top - len(page.records)))]
            if tracking is not None and tracking.since is None:
                options.append(("$deltatoken", tracking.sign()))
            yield (
                "@odata.nextLink",
                self.link(self.options_of_query(), *options, (self.reader.next_option, page.next_token)),
            )
        elif tracking is not None:
            following = DeltaToken(tracking.query, since=tracking.until, sight=tracking.sight)
            token = page.delta_token if isinstance(page, DeltaPage) else following.sign()
            options = tracked_options(self.view.query_options.parameters)
            yield "@odata.deltaLink", self.link(options, ("$deltatoken", token))

    def link(self, query: list[tuple[str, str]], *options: tuple[str, str]) -> str:
        text = urlencode([*query, *options], safe=READABLE)
        if self.view.action == QUERY_IN_BODY and len(text) > MAX_QUERY_OF_LINK:
            return self.link_for_same_body(options)
        return f"{self.view.base_url}{self.view.address}?{text}"

    @property
    def query_address(self) -> str:
        return f"{self.view.base_url}{self.view.address}/$query?"

    def link_for_same_body(self, options: Iterable[tuple[str, str]]) -> str:
        """The link to which the body of a ``$query`` request is posted again, when no address holds it."""
        sent = parameters(self.view.sent_query_string)
        unpaged = [
            (name, value) for name, value in sent if name.lower().removeprefix("$") not in OPTIONS_OF_A_PAGE
        ]
        given = {"$skip": "0", **dict(options)} if self.view.query_options.skip else dict(options)
        return self.query_address + urlencode([*unpaged, *given.items()], safe=READABLE)

    def options_of_query(self) -> list[tuple[str, str]]:
        """The options of the request without those of a page."""
        return [
            (name, value)
            for name, value in self.view.query_options.parameters
            if name.lower().removeprefix("$") not in OPTIONS_OF_A_PAGE
        ]

    def link_header(self, link: str) -> str:
        """The Link header (RFC 8288) of a page with a next one, when proxies take a GET of it."""
        address = quote(link, safe=_READABLE_IN_HEADER)
        if len(address) > MAX_LINK_HEADER or link.startswith(self.query_address):
            return ""
        return f'<{address}>; rel="next"'
