"""Parts of declarations that all apps share: the dates of a record, and short lists."""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from django.db import models

from apps.base.declaration.resource import (
    DELETE,
    GET,
    PATCH,
    POST,
    V2_0,
    V2_1,
    Key,
    Navigation,
    NestedType,
    Property,
    ReadOnly,
    Required,
    Resource,
    UnrestrictedResource,
)
from apps.core.archive import archive
from apps.core.models import Lookup, TimestampedModel
from apps.core.services import NO_CHECKS, Checks, create_records, update_records

RECORD_DATES = (ReadOnly("CreationDate"), ReadOnly("ModifyDate"), ReadOnly("ArchiveDate"))


class RecordResource(UnrestrictedResource):
    """Records that version 2.1 has, created, changed and archived by the usual services with ``checks``."""

    since = V2_1
    methods: ClassVar[Sequence[str]] = (GET, POST, PATCH, DELETE)
    checks: ClassVar[Checks] = NO_CHECKS

    def __init_subclass__(cls) -> None:
        """Declare what the resource does not say: the usual services, and what its records are found by."""
        if cls.model is None:  # a base of resources
            return
        assert issubclass(cls.model, TimestampedModel)
        cls.create = cls.create or partial(create_records, cls.model, checks=cls.checks)
        cls.update = cls.update or partial(update_records, cls.model, checks=cls.checks)
        cls.archive = cls.archive or archive
        cls.search = cls.search or cls.model.searched.interface


class LookupResource(RecordResource):
    """A short list that other records choose from, ordered by name; version 2.1 changes its entries."""

    since = V2_0
    order = ("name",)
    methods = (GET,)
    methods_of_2_1: ClassVar[Sequence[str]] = (PATCH, DELETE)
    fields_of_2_1: ClassVar[Sequence[Property | Navigation]] = (Required("Name"),)


class OwnResource(Resource):
    """Something an API application began: it alone sees it by the interface, staff in the back office."""

    since = V2_1
    methods: ClassVar[Sequence[str]] = GET, POST
    is_tracked = False
    is_own = True

    def visible_to(self, caller: object) -> models.QuerySet:
        assert self.model is not None
        guid = getattr(caller, "guid", None)
        return self.model._default_manager.filter(application__isnull=False, application=guid)


def lookup_summary(type_name: str, model: type[Lookup], key: str) -> type[NestedType]:
    """The type of a reference to an entry of a short list: its key, its name and whether it is archived."""
    fields = (Key(key, source=model._meta.pk.name), ReadOnly("Name"), ReadOnly("ArchiveDate"))
    return type(type_name, (NestedType,), {"type_name": type_name, "model": model, "fields": fields})
