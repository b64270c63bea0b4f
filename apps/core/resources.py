"""What the declarations of all apps share: the dates of a record, and lookup resources."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from apps.odata.declaration.resource import ReadOnly, Resource

RECORD_DATES = (ReadOnly("CreationDate"), ReadOnly("ModifyDate"), ReadOnly("ArchiveDate"))


class LookupResource(Resource):
    """A short list that other records choose from: read-only, ordered by name, visible to every caller."""

    order = ("name",)

    def visible_to(self, caller: Any) -> QuerySet[Any]:
        assert self.model is not None
        return self.model._default_manager.all()
