"""Filter backends: $filter and $search, and the plain filters of django-filter."""

from typing import Any

from django.db.models import Model, QuerySet
from django_filters.rest_framework import DjangoFilterBackend
from rest_framework.filters import BaseFilterBackend
from rest_framework.request import Request

from apps.odata.errors import BadQuery
from apps.odata.query.plain_filters import PlainFilterSet, filterset_for, unknown_parameter
from apps.odata.read.reader import filter_rows


class ODataFilterBackend(BaseFilterBackend):
    """The records that $filter and $search select."""

    def filter_queryset(self, request: Request, queryset: QuerySet[Model], view: Any) -> QuerySet[Model]:
        if view.query_options.apply is not None:
            return queryset  # which is transformed before it is filtered
        caller: Any = request.auth
        return filter_rows(view.entity_set, queryset, view.query_options, caller)


class PlainFilterBackend(DjangoFilterBackend):
    """The records that the plain filters of the query string select (``?Gender=Female``)."""

    def get_filterset_class(self, view: Any, queryset: QuerySet[Model] | None = None) -> type[PlainFilterSet]:
        """The FilterSet of the entity set; ``BadQuery`` for a parameter it does not have."""
        filterset_class = filterset_for(view.entity_set)
        for name, _ in view.query_options.plain:
            if name not in filterset_class.base_filters:
                raise unknown_parameter(name, view.entity_set)
        return filterset_class

    def get_filterset_kwargs(
        self, request: Request, queryset: QuerySet[Model], view: Any
    ) -> dict[str, object]:
        return {"data": dict(view.query_options.plain), "queryset": queryset}

    def filter_queryset(self, request: Request, queryset: QuerySet[Model], view: Any) -> QuerySet[Model]:
        """As django-filter's, but the first error of a form is an OData error with a code."""
        if not view.query_options.plain:
            return queryset
        filterset = self.get_filterset(request, queryset, view)
        for name, errors in filterset.errors.as_data().items():
            raise BadQuery(f"{name} {errors[0].message}", target=name, code=errors[0].code or "")
        return filterset.qs
