"""Parts of declarations that all apps share: the dates of a record, and short lists."""

from apps.base.declaration.resource import Key, NestedType, ReadOnly, UnrestrictedResource
from apps.core.models import Lookup

RECORD_DATES = (ReadOnly("CreationDate"), ReadOnly("ModifyDate"), ReadOnly("ArchiveDate"))


class LookupResource(UnrestrictedResource):
    """A short list that other records choose from: read-only, ordered by name."""

    order = ("name",)


def lookup_summary(type_name: str, model: type[Lookup], key: str) -> type[NestedType]:
    """The type of a reference to an entry of a short list: its key, its name and whether it is archived."""
    fields = (Key(key, source=model._meta.pk.name), ReadOnly("Name"), ReadOnly("ArchiveDate"))
    return type(type_name, (NestedType,), {"type_name": type_name, "model": model, "fields": fields})
