"""The OData types that Django fields have on the wire."""

from dataclasses import dataclass

from django.db import models


@dataclass(frozen=True, slots=True)
class EdmType:
    """A primitive type with its facets: ``max_length`` in characters, ``precision``/``scale`` in digits."""

    name: str
    max_length: int | None = None
    precision: int | None = None
    scale: int | None = None


GUID = EdmType("Edm.Guid")
BOOLEAN = EdmType("Edm.Boolean")
DATE = EdmType("Edm.Date")
DATE_TIME_OFFSET = EdmType("Edm.DateTimeOffset")
INT16 = EdmType("Edm.Int16")
INT32 = EdmType("Edm.Int32")
INT64 = EdmType("Edm.Int64")
STRING = EdmType("Edm.String")

_WHOLE: tuple[tuple[type[models.Field], EdmType], ...] = (
    (models.UUIDField, GUID),
    (models.BooleanField, BOOLEAN),
    (models.DateTimeField, DATE_TIME_OFFSET),  # before DateField: it is one
    (models.DateField, DATE),
    (models.BigAutoField, INT64),
    (models.SmallIntegerField, INT16),
    (models.BigIntegerField, INT64),
    (models.IntegerField, INT32),
)

#: What an integer of each type can hold; PostgreSQL refuses more, SQLite would take it.
INTEGER_RANGES = {
    "Edm.Int16": (-(2**15), 2**15 - 1),
    "Edm.Int32": (-(2**31), 2**31 - 1),
    "Edm.Int64": (-(2**63), 2**63 - 1),
}


def edm_type(field: models.Field) -> EdmType:
    """The wire type of a Django field; ``TypeError`` for a kind that has none."""
    if isinstance(field, models.DecimalField):
        return EdmType("Edm.Decimal", precision=field.max_digits, scale=field.decimal_places)
    for kind, edm in _WHOLE:
        if isinstance(field, kind):
            return edm
    if isinstance(field, models.CharField | models.TextField):
        return EdmType("Edm.String", max_length=field.max_length)
    raise TypeError(f"{field!r} has no OData type")
