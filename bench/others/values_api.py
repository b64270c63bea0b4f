"""Claims with their lines by Django REST framework without serializers: ``.values()`` and orjson."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import orjson
from django.db.models import F
from django.http import HttpResponse
from rest_framework.request import Request
from rest_framework.views import APIView

from apps.funding.models import ClaimLine
from bench.stock.claims import CLAIM, CLAIMS, LINE

BOOK = {"guid": "price_book", "name": "price_book__name"}
PRODUCT = {
    "guid": "product",
    **{name: f"product__{name}" for name in ("code", "name", "long_description")},
}
OF_LINE = [name for name in LINE if name not in ("price_book", "product")]
COLUMNS = ("claim", *OF_LINE, *BOOK.values(), *PRODUCT.values())


class ClaimsView(APIView):
    def get(self, request: Request) -> HttpResponse:
        size = int(request.query_params["page_size"])
        claims: list[dict[str, Any]] = list(CLAIMS.values(*CLAIM, client=F("contact__client"))[:size])
        lines = ClaimLine.objects.filter(claim__in=[claim["guid"] for claim in claims])
        by_claim = defaultdict(list)
        for line in lines.order_by("position", "guid").values(*COLUMNS):
            by_claim[line["claim"]].append(
                {name: line[name] for name in OF_LINE}
                | {"price_book": {name: line[path] for name, path in BOOK.items()}}
                | {"product": {name: line[path] for name, path in PRODUCT.items()}}
            )
        for claim in claims:
            claim["line_items"] = by_claim[claim["guid"]]
        return HttpResponse(orjson.dumps(claims, default=str), content_type="application/json")
