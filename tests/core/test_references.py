"""References to what an undone import deletes have an index: a scan for each record takes hours."""

import pytest
from django.apps import apps
from django.db.models import Q

#: Nobody deletes many of these at once.
SELDOM_DELETED = {"access.ApiApplication", "funding.CostCentre", "funding.PriceBook", "people.Staff"}
#: They have a row for a participant or a provider, not for each of their claims.
SMALL = {"payments.BankAccount", "payments.StatementConsent"}

REFERENCES = [
    column
    for model in apps.get_models()
    if model.__module__.startswith("apps.")
    for column in model._meta.concrete_fields
    if column.many_to_one or column.one_to_one
]


def is_indexed(column):
    """An index begins with the column, of all rows or of all that have the reference."""
    options = column.model._meta
    conditions = (None, Q(**{f"{column.name}__isnull": False}))
    return (
        column.db_index
        or column.unique
        or any(
            list(getattr(each, "fields", ()))[:1] == [column.name] and each.condition in conditions
            for each in (*options.indexes, *options.constraints)
        )
    )


@pytest.mark.parametrize("column", REFERENCES, ids=str)
def test_references_are_indexed(column):
    is_left_out = column.model._meta.label in SMALL or column.related_model._meta.label in SELDOM_DELETED
    assert is_left_out or is_indexed(column)
