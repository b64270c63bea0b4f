"""What the declarations of all apps share: the dates of a record, who sees records, and lookup resources."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from apps.odata.declaration.resource import ReadOnly, Resource

RECORD_DATES = (ReadOnly("CreationDate"), ReadOnly("ModifyDate"), ReadOnly("ArchiveDate"))


class UnrestrictedResource(Resource):
    """Records that every caller may see."""

    def visible_to(self, caller: Any) -> QuerySet[Any]:
        assert self.model is not None
        return self.model._default_manager.all()


class LookupResource(UnrestrictedResource):
    """A short list that other records choose from: read-only, ordered by name."""

    order = ("name",)
