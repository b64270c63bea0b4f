"""``GET /api/$entity?$id=…``: the record that an id names (OData 4.01, URL Conventions 4.9)."""

from urllib.parse import quote, urlencode, urlsplit

from django.http.response import HttpResponseBase
from rest_framework.request import Request

from apps.base.errors import NotFound
from apps.odata.errors import BadQuery
from apps.odata.http.batch.messages import IndividualRequest
from apps.odata.http.batch.processing import respond_for, split_url
from apps.odata.http.views import ODataView
from apps.odata.query.options import parameters


class EntityView(ODataView):
    """Answers as the address of the record does, with the other options of the query string."""

    own_options = ("id",)

    def get(self, request: Request) -> HttpResponseBase:
        self.refuse_plain_filters()
        options = list(parameters(self.query_string))
        ids = [value for name, value in options if name.lower() in ("$id", "id")]
        if len(ids) != 1 or not ids[0].strip():
            raise BadQuery("$entity needs one $id, such as $id=client(…).", target="$id")
        root = urlsplit(self.base_url).path.encode()
        path, query = split_url(quote(ids[0].strip(), safe="/:()=,'@%?").encode(), request, root)
        if query or b"(" not in path or b"/" in path:
            raise NotFound("$id names no record; it is an address such as client(…).")
        others = [(name, value) for name, value in options if name.lower() not in ("$id", "id")]
        accepted = {
            name: value
            for name, value in ((name.lower(), value) for name, value in request.headers.items())
            if name in ("accept", "prefer", "if-none-match")
        }
        target = IndividualRequest("GET", path, accepted)
        return respond_for(request, request.auth, target, path, urlencode(others).encode())
