"""The service: the list of its entity sets."""

from collections.abc import Sequence
from functools import cached_property, lru_cache

from django.conf import settings
from django.db import models
from django.utils.module_loading import import_string

from apps.base.declaration.resource import V2_0, V2_1, VERSIONS, Resource
from apps.base.declaration.schema import EntitySet, bind_resource
from apps.base.declaration.set_navigations import add_set_navigations


class Service:
    """One version of the resources, bound to their models at first use.

    ``namespace`` is the namespace of their types. ``declared`` are the resources of all versions,
    ``resources`` those that this one has.
    """

    def __init__(self, *resources: type[Resource], namespace: str = "Records", version: str = V2_0) -> None:
        self.declared: Sequence[type[Resource]] = resources
        self.resources = [each for each in resources if each.since == V2_0 or each.since <= version]
        self.namespace, self.version = namespace, version

    @cached_property
    def entity_sets(self) -> tuple[EntitySet, ...]:
        """Every entity set, in the order declared."""
        entity_sets = tuple(bind_resource(resource, self.version) for resource in self.resources)
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


@lru_cache
def get_service(version: str = V2_0) -> Service:
    """A version of the service of this site, which the setting ``ODATA_SERVICE`` names."""
    service: Service = import_string(settings.ODATA_SERVICE)
    if version == service.version:
        return service
    return Service(*service.declared, namespace=service.namespace, version=version)


def declared_set(model: type[models.Model]) -> EntitySet | None:
    """The entity set of a model for forms and files, which know no versions: as the first one has it."""
    found = (get_service(version).by_model.get(model) for version in VERSIONS)
    return next((entity_set for entity_set in found if entity_set is not None), None)


def declared_sets() -> dict[str, EntitySet]:
    """Every entity set for forms and files, by its path in small letters."""
    return get_service(V2_1).by_path | get_service().by_path
