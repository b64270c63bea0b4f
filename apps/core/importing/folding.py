"""Which text columns are compared folded."""

from __future__ import annotations

from django.db import models

from apps.core.models import NormalisedField


def twin_of(field: models.Field) -> NormalisedField | None:
    """The folded twin of a text column; ``None`` when there is none, or the field is no column."""
    for other in field.model._meta.concrete_fields:
        if isinstance(other, NormalisedField) and other.of == field.name:
            return other
    return None
