"""The service: the list of its entity sets."""

from collections.abc import Sequence
from functools import cached_property, lru_cache

from django.conf import settings
from django.db import models
from django.utils.module_loading import import_string

from apps.odata.declaration.resource import Resource
from apps.odata.declaration.schema import EntitySet, bind_resource
from apps.odata.declaration.set_navigations import add_set_navigations


class Service:
    """Resources, bound to their models at first use; ``namespace`` is the namespace of their types."""

    def __init__(self, *resources: type[Resource], namespace: str = "Records") -> None:
        self.resources: Sequence[type[Resource]] = resources
        self.namespace = namespace

    @cached_property
    def entity_sets(self) -> tuple[EntitySet, ...]:
        """Every entity set, in the order declared."""
        entity_sets = tuple(bind_resource(resource) for resource in self.resources)
        add_set_navigations(entity_sets)
        return entity_sets

    @cached_property
    def by_path(self) -> dict[str, EntitySet]:
        """The entity sets by their path in lower case."""
        return {entity_set.path.lower(): entity_set for entity_set in self.entity_sets}

    @cached_property
    def by_model(self) -> dict[type[models.Model], EntitySet]:
        """The entity sets by their model."""
        return {entity_set.model: entity_set for entity_set in self.entity_sets}

    @cached_property
    def by_resource(self) -> dict[type[Resource], EntitySet]:
        """The entity sets by their declaration."""
        return dict(zip(self.resources, self.entity_sets, strict=True))


@lru_cache(maxsize=1)
def get_service() -> Service:
    """The service of this site, named by the setting ``ODATA_SERVICE``."""
    service: Service = import_string(settings.ODATA_SERVICE)
    return service
