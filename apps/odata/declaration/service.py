"""The list of entity sets that one service offers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache

from django.conf import settings
from django.db import models
from django.utils.module_loading import import_string

from apps.odata.declaration.resource import Resource
from apps.odata.declaration.schema import EntitySet, entity_set


class Service:
    """The resources of a service, bound to their models at first use; ``namespace`` names its types."""

    def __init__(self, *resources: type[Resource], namespace: str = "Records") -> None:
        self.resources: Sequence[type[Resource]] = resources
        self.namespace = namespace

    @cached_property
    def entity_sets(self) -> tuple[EntitySet, ...]:
        """Every entity set, in the order declared."""
        return tuple(entity_set(resource) for resource in self.resources)

    @cached_property
    def by_path(self) -> dict[str, EntitySet]:
        """The entity sets by their path in lower case."""
        return {found.path.lower(): found for found in self.entity_sets}

    @cached_property
    def by_model(self) -> dict[type[models.Model], EntitySet]:
        """The entity set that shows a model."""
        return {found.model: found for found in self.entity_sets}

    @cached_property
    def of_resource(self) -> dict[type[Resource], EntitySet]:
        """The entity set bound from a declaration."""
        return dict(zip(self.resources, self.entity_sets, strict=True))


@lru_cache(maxsize=1)
def current() -> Service:
    """The service this site serves: the setting ``ODATA_SERVICE`` names it."""
    service: Service = import_string(settings.ODATA_SERVICE)
    return service
