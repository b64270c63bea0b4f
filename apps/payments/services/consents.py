"""Recording who wants statements by mail."""

from collections.abc import Sequence
from functools import partial
from uuid import UUID

from django.db import transaction

from apps.core import archive, history, saving
from apps.core.services import Checks, update_records
from apps.payments.drafts import ConsentDraft
from apps.payments.models import StatementConsent
from apps.payments.validation import CONSENT_RULES
from apps.people.models import Staff


@transaction.atomic
def create_consents(drafts: Sequence[ConsentDraft]) -> list[UUID]:
    """Store new consents, with who recorded them; the present ones of their participants are archived."""
    saving.apply_model_defaults(StatementConsent, drafts)
    author = history.author().staff_id
    for draft in drafts if author is not None else ():
        draft.fill("recorded_by", Staff(pk=author))
    saving.validate(StatementConsent, drafts, CONSENT_RULES)
    for draft in drafts:
        archive.archive(StatementConsent.objects.filter(contact=draft.contact))
    return saving.insert_records(StatementConsent, drafts)


update_consents = partial(update_records, StatementConsent, checks=Checks(CONSENT_RULES))
