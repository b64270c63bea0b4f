"""Saving the payment settings, of which there is one record."""

from collections.abc import Sequence

from django.db import transaction

from apps.base.drafts import Draft
from apps.core import saving
from apps.payments.models import PaymentSettings


@transaction.atomic
def save_payment_settings(drafts: Sequence[Draft]) -> list[object]:
    """Store the settings; what a draft does not give stays as it is."""
    saving.validate(PaymentSettings, drafts)
    for draft in drafts:
        record = PaymentSettings.current()
        for column in PaymentSettings._meta.concrete_fields:
            if draft.has(column.name) and column.name not in saving.SYSTEM_COLUMNS and not column.primary_key:
                setattr(record, column.name, draft.get(column.name))
        record.save()
    return [1 for _ in drafts]
