"""Parts of declarations that all apps share: the dates of a record, and short lists."""

from collections.abc import Sequence
from typing import ClassVar

from django.db import models

from apps.base.declaration.resource import (
    GET,
    POST,
    V2_1,
    Key,
    NestedType,
    ReadOnly,
    Resource,
    UnrestrictedResource,
)
from apps.core.models import Lookup

RECORD_DATES = (ReadOnly("CreationDate"), ReadOnly("ModifyDate"), ReadOnly("ArchiveDate"))


class LookupResource(UnrestrictedResource):
    """A short list that other records choose from: read-only, ordered by name."""

    order = ("name",)


class OwnResource(Resource):
    """Something an API application began: it alone sees it by the interface, staff in the back office."""

    since = V2_1
    methods: ClassVar[Sequence[str]] = GET, POST
    is_tracked = False

    def visible_to(self, caller: object) -> models.QuerySet:
        assert self.model is not None
        guid = getattr(caller, "guid", None)
        return self.model._default_manager.filter(application__isnull=False, application=guid)


def lookup_summary(type_name: str, model: type[Lookup], key: str) -> type[NestedType]:
    """The type of a reference to an entry of a short list: its key, its name and whether it is archived."""
    fields = (Key(key, source=model._meta.pk.name), ReadOnly("Name"), ReadOnly("ArchiveDate"))
    return type(type_name, (NestedType,), {"type_name": type_name, "model": model, "fields": fields})
