"""The plan of a person's erasure: what it removes, and the rules about when it may."""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Max
from django.utils.text import capfirst

from apps.base import clock
from apps.base.errors import plural
from apps.core.bulk_insert import in_batches
from apps.core.models import Change, TimestampedModel, normalised
from apps.documents.models import Document
from apps.engagements.models import ClientEngagement
from apps.funding.models import (
    Claim,
    ClaimFileLine,
    ClaimLine,
    ClaimResult,
    Invoice,
    InvoiceLine,
    ProviderInvoice,
    RemittanceLine,
)
from apps.funding.statuses import ENDED, FINISHED
from apps.operations.personal_records import RecordKeys, find_history, find_records, load_keys
from apps.operations.services.erasure_copies import (
    ERASED,
    Copies,
    find_copies,
    remaining_copies,
    running_copies,
)
from apps.operations.tables import OperationError
from apps.payments.models import PaymentRunClaim, PaymentRunItem, Statement, StatementBudget, StatementLine
from apps.people.models import Client, Contact

_BILL = frozenset(
    {
        *("contact", "staff", "entered_by", "start_date", "end_date", "external_invoice_number"),
        *("total", "amount_paid", "paid_earlier", "funding_status", "status_date", "approved_date"),
        *("payment_date", "resubmitted", "resubmission_of"),
    }
)
_LINE = frozenset(
    {
        *("position", "price_book", "product", "quantity", "price", "total", "amount_paid", "tax_choice"),
        *("first_day", "last_day", "resubmitted_as"),
    }
)
#: The columns that keep their values in the records that the books rest on: amounts, days, who was paid,
#: and numbers of the books. Every other column loses its value; records of other models are deleted.
RETAINED_COLUMNS: Mapping[type[models.Model], frozenset[str]] = {
    Contact: frozenset(),
    Claim: _BILL
    | {
        *("claim_number", "claim_number_key", "provider", "provider_invoice", "send_payment_to"),
        *("takes_provider_invoice", "missing_abn_reason_code", "paid_out"),
    },
    ClaimLine: _LINE | {"claim"},
    Invoice: _BILL
    | {"invoice_number", "invoice_number_key", "invoice_claim_type", "recurrence_of", "recurrence_date"},
    InvoiceLine: _LINE | {"invoice", "is_credit_item", "cost_centre"},
    ClaimFileLine: frozenset(column.name for column in ClaimFileLine._meta.concrete_fields),
    ClaimResult: frozenset(
        {"id", "file_line", "is_accepted", "amount", "is_capped", "at", "staff", "application"}
    ),
    RemittanceLine: frozenset(
        {
            *("id", "remittance", "position", "file_line", "payment_number", "day", "amount", "claimed"),
            *("is_applied", "reason"),
        }
    ),
    ProviderInvoice: frozenset(
        {
            *("service_start_date", "service_end_date", "invoice_total", "is_reusable", "send_payment_to"),
            *("contact", "provider", "created_by", "approval_status", "auto_approved", "is_claimed"),
            *("actioned_by", "actioned_date"),
        }
    ),
    PaymentRunItem: frozenset(
        {
            *("id", "run", "position", "client", "contact", "amount", "returned_at", "returned_by"),
            "advice_sent_at",
        }
    ),
    PaymentRunClaim: frozenset({"id", "item", "claim", "amount", "returned"}),
    Statement: frozenset(
        {
            *(
                "contact",
                "made_for",
                "month",
                "version",
                "is_replaced",
                "paid",
                "claimed",
                "waiting",
                "refused",
            ),
            *("plan_first_day", "plan_last_day", "sha256", "made_by", "sent_at"),
        }
    ),
    StatementLine: frozenset(
        {"id", "statement", "position", "number", "paid", "claimed", "waiting", "refused"}
    ),
    StatementBudget: frozenset({"id", "statement", "position", "budget", "used", "runs_out"}),
}
#: Columns of every record that stay: its key and when it was created and archived.
RECORD_COLUMNS = frozenset({"guid", "creation_date", "modify_date", "archive_date"})

#: The last day of a service in a record of these models.
SERVICE_DAYS: Mapping[type[models.Model], str] = {
    ClaimLine: "last_day",
    InvoiceLine: "last_day",
    Claim: "end_date",
    Invoice: "end_date",
    ProviderInvoice: "service_end_date",
    ClientEngagement: "plan_end_date",
}
#: Statuses of bills that nothing more is expected of.
CLOSED = FINISHED | ENDED


def cleared_columns(model: type[models.Model]) -> dict[str, object]:
    """The values of the columns that are not kept: null, their default, or ``ERASED``."""
    retained = RETAINED_COLUMNS[model] | RECORD_COLUMNS
    cleared = {
        column.name: cleared_value(column)
        for column in model._meta.concrete_fields
        if column.name not in retained
    }
    # Whoever copies changed records by their ModifyDate copies the erasure too.
    return {**cleared, "modify_date": clock.now()} if issubclass(model, TimestampedModel) else cleared


def cleared_value(column: Any) -> Any:
    if hasattr(column, "text_field"):
        return normalised(cleared_value(column.model._meta.get_field(column.text_field)))
    if column.null:
        return None
    return column.get_default() if column.has_default() else ERASED


@dataclass(frozen=True, slots=True)
class RemovedFile:
    """The file of a document."""

    storage_key: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ErasurePlan:
    """The records of a person that an erasure removes, and their files."""

    person: Contact
    keys: RecordKeys
    changes: list[int]
    files: list[RemovedFile]
    last_service: dt.date | None
    copies: list[Copies]
    remains: list[str]
    #: Of the records, and of those that were deleted before, as the history names them.
    record_keys: dict[str, set[str]]

    @property
    def retained_until(self) -> dt.date | None:
        """The first day on which the records may be erased; none for a person without a service."""
        if self.last_service is None:
            return None
        return clock.years_after(self.last_service, settings.RETENTION_YEARS)

    @property
    def summary(self) -> list[str]:
        """The effect on the records, a line for each model."""
        outcome = {True: "without personal data", False: "deleted"}
        counts = {model: len(keys) for model, keys in self.keys.items() if keys}
        return [
            *(
                f"{model_label(each)}: {counts[each]:,} {outcome[each in RETAINED_COLUMNS]}"
                for each in counts
            ),
            f"Values of changes: {len(self.changes):,} deleted",
            f"Files: {len(self.files):,} deleted",
            *(f"{each.label}: {each.count:,} {each.outcome}" for each in self.copies),
        ]


# --- what would be removed ------------------------------------------------------------------------------


def plan_erasure(
    person: Contact,
    client: Client | None = None,
    backups: Path | None = None,
    archives: Path | None = None,
) -> ErasurePlan:
    """Plan an erasure, with what remains: the backups in a folder, archives unless theirs is named."""
    keys = load_keys(find_records(person, client))
    history = find_history(keys)
    documents = Document.objects.filter(pk__in=keys.get(Document, [])).order_by("storage_key")
    return ErasurePlan(
        person=person,
        keys=keys,
        changes=[change.pk for change in history if change.differences],
        files=[RemovedFile(each.storage_key, each.size, each.sha256) for each in documents],
        last_service=last_service(keys),
        copies=find_copies(keys, history),
        remains=remaining_copies(backups, archives),
        record_keys=record_keys(keys, history),
    )


def record_keys(keys: RecordKeys, history: Iterable[Change]) -> dict[str, set[str]]:
    """Keys as texts by the label of their model."""
    found = {model._meta.label_lower: set(map(str, own)) for model, own in keys.items()}
    for change in history:
        found.setdefault(change.record_type, set()).add(change.record_key)
    return found


def last_service(keys: RecordKeys) -> dt.date | None:
    """The last day on which the person had a service or a plan."""
    days = [
        model._base_manager.filter(pk__in=batch).aggregate(day=Max(column))["day"]
        for model, column in SERVICE_DAYS.items()
        for batch in in_batches(keys.get(model, []))
    ]
    return max((day for day in days if day is not None), default=None)


def model_label(model: type[models.Model]) -> str:
    return capfirst(str(model._meta.verbose_name_plural))


# --- rules ----------------------------------------------------------------------------------------------


def person_is_archived(plan: ErasurePlan) -> str | None:
    if not plan.person.is_archived:
        return "The contact is in use: archive it first."
    return None


def retention_is_over(plan: ErasurePlan) -> str | None:
    until = plan.retained_until
    if until is not None and until > clock.today():
        return (
            f"The last service was on {plan.last_service:%d %b %Y}: the records are kept for"
            f" {plural(settings.RETENTION_YEARS, 'year')}, until {until:%d %b %Y}."
        )
    return None


def bills_are_closed(plan: ErasurePlan) -> str | None:
    open_bills = [
        str(each)
        for model in (Claim, Invoice)
        for batch in in_batches(plan.keys.get(model, []))
        for each in model._base_manager.filter(pk__in=batch, archive_date=None)
        if each.funding_status not in CLOSED
    ]
    if not open_bills:
        return None
    return (
        f"Claims and invoices that are not closed: {len(open_bills):,}, the first is {open_bills[0]}."
        " Pay, cancel, reject or archive them first."
    )


def no_current_record_names_the_person(plan: ErasurePlan) -> str | None:
    """Check that the person is key contact or representative of nobody with a role of today."""
    key = plan.person.pk
    current = {
        "key contact of": Client.objects.filter(key_contact=key).exclude(pk__in=plan.keys.get(Client, [])),
        "representative of": Contact.objects.filter(representative=key),
        "support coordinator of": ClientEngagement.objects.filter(
            support_coordinator=key, plan_end_date__gte=clock.today()
        ),
        "responsible for the fees of": ClientEngagement.objects.filter(
            person_responsible_for_direct_fees=key, plan_end_date__gte=clock.today()
        ),
    }
    for role, records in current.items():
        if found := records.filter(archive_date=None).first():
            return f"The contact is {role} {found}: change that first."
    return None


ERASURE_RULES = (
    person_is_archived,
    retention_is_over,
    bills_are_closed,
    lambda plan: running_copies(),
    no_current_record_names_the_person,
)


def check_erasure(plan: ErasurePlan) -> None:
    """Raises ``OperationError`` with every reason why the records must stay."""
    if reasons := [reason for rule in ERASURE_RULES if (reason := rule(plan))]:
        raise OperationError("\n".join(reasons))
