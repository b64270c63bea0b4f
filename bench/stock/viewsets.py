"""Model viewsets; who may call them, and how often, is asked by the product's own classes."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from rest_framework.pagination import PageNumberPagination
from rest_framework.parsers import JSONParser
from rest_framework.viewsets import ModelViewSet

from apps.people.models import Client, Staff
from bench.stock.serializers import ClientSerializer, NewClientSerializer, StaffSerializer


class Pages(PageNumberPagination):
    page_size = 300
    page_size_query_param = "page_size"
    max_page_size = 5_000


class StockViewSet(ModelViewSet):
    parser_classes = (JSONParser,)
    pagination_class = Pages

    def get_serializer(self, *args: Any, **options: Any) -> Any:
        """A list in the body is as many records."""
        if isinstance(options.get("data"), list):
            options["many"] = True
        return super().get_serializer(*args, **options)

    def perform_create(self, serializer: Any) -> None:
        with transaction.atomic():
            super().perform_create(serializer)


class ClientViewSet(StockViewSet):
    queryset = Client.objects.order_by("-creation_date", "-guid")
    serializer_class = ClientSerializer


class NewClientViewSet(StockViewSet):
    queryset = Client.objects.select_related("key_contact").order_by("-creation_date", "-guid")
    serializer_class = NewClientSerializer


class StaffViewSet(StockViewSet):
    queryset = (
        Staff.objects.select_related("role", "position", "location", "account_manager")
        .prefetch_related("teams")
        .order_by("-creation_date", "-guid")
    )
    serializer_class = StaffSerializer
