"""A participant with a record of every model that can belong to one."""

import datetime as dt
from dataclasses import dataclass

from django.db import models

from apps.base import clock
from apps.funding.models import (
    AcknowledgedWarning,
    Claim,
    ClaimResult,
    Invoice,
    ProviderInvoice,
    Remittance,
    RemittanceLine,
    StatusMove,
)
from apps.operations.personal_records import find_records, load_keys
from apps.payments.models import BankAccount
from apps.payments.services.returns import mark_returned
from apps.payments.services.runs import create_run, release_run
from apps.people.models import Client, Contact, CustomField, CustomFieldAnswer
from apps.sales.models import Opportunity, OpportunityOutcomeReason, OpportunityStage
from tests.documents.builders import a_document
from tests.engagements.builders import a_booking, a_category_budget, a_pace_plan, a_plan, with_periods
from tests.funding.builders import a_claim, a_claim_file, a_provider_invoice, an_invoice
from tests.payments.builders import a_releaser, an_account, payment_settings
from tests.payments.statement_builders import a_consent, a_statement
from tests.people.builders import a_lookup
from tests.people.records import a_client, a_contact, a_staff_member

#: The last day of a service of these participants.
LAST_SERVICE = dt.date(2016, 6, 30)
#: Stands in every text about the participant, and their birthday nowhere else.
NAME, BIRTHDAY = "Zyxabel", dt.date(1907, 1, 7)


@dataclass
class Participant:
    """A participant with what refers to them."""

    contact: Contact
    claim: Claim
    provider_invoice: ProviderInvoice
    provider: Client

    @property
    def keys(self):
        return load_keys(find_records(self.contact))


def a_participant(provider=None, staff=None):
    """A participant whose last service was long ago, archived, with a record of every model."""
    staff, provider = staff or a_staff_member(), provider or a_client()
    contact = a_contact(birthday=BIRTHDAY, account_manager=staff, client=a_client())
    plan_days = {"plan_start_date": dt.date(2015, 7, 1), "plan_end_date": LAST_SERVICE}
    booking = a_booking(a_plan(participant=contact, **plan_days))
    component = a_category_budget(a_pace_plan(participant=contact, **plan_days))
    with_periods(component, ("2015-07-01", "2016-06-30", "100.00"))
    deleted_booking = a_booking(booking.engagement, booking_number=f"{NAME} deleted")
    deleted_booking.delete()
    document = a_document(name="Invoice of June")
    provider_invoice = a_provider_invoice(contact=contact, provider=provider, document=document)
    bill = {"contact": contact, "staff": staff, "start_date": LAST_SERVICE, "end_date": LAST_SERVICE}
    line = {"booking": booking, "first_day": LAST_SERVICE, "last_day": LAST_SERVICE}
    claim = a_claim(
        [line], **bill, provider=provider, provider_invoice=provider_invoice, funding_status="AgencyFullyPaid"
    )
    # One that names nobody, and that only claims of this participant are built on.
    unnamed = a_provider_invoice(provider=provider, is_reusable=True)
    a_claim(
        [line], **bill, provider=provider, provider_invoice=unnamed, funding_status="PaymentProviderCancelled"
    )
    invoice = an_invoice([{**line, "booking": None}], **bill, funding_status="Paid")
    for owner in ({"claim": claim}, {"invoice": invoice}, {"provider_invoice": provider_invoice}):
        StatusMove.objects.create(**owner, verb="approve", from_status="A", to_status="B", staff=staff)
    AcknowledgedWarning.objects.create(claim=claim, code="OverBudget", message="-")
    field = a_lookup(CustomField, applies_to="Contact")
    CustomFieldAnswer.objects.create(custom_field=field, contact=contact).responses.create(response="-")
    opportunity = Opportunity.objects.create(
        name="-", source="Referral", owner=staff, primary_contact=contact, stage=a_lookup(OpportunityStage)
    )
    opportunity.outcome_reasons.add(a_lookup(OpportunityOutcomeReason, outcome="Lost"))
    a_contact(merged_into=contact)
    pay_out(claim, contact)
    a_consent(contact)
    a_statement(contact, LAST_SERVICE.replace(day=1))
    name_everywhere(contact)
    # Its bytes have the scheme number, which is the name by now.
    file = a_claim_file([Claim.objects.get(pk=claim.pk), Invoice.objects.get(pk=invoice.pk)])
    answer(file)
    contact.refresh_from_db()
    return Participant(contact, claim, provider_invoice, provider)


def answer(file):
    """Answer every line of a claim file, with the name wherever the agency may write it."""
    told = {"extra": {"Comment": NAME}}
    remittance = Remittance(
        file_name="paid.csv",
        sha256="0" * 56 + f"{file.number:08}",
        day=LAST_SERVICE,
        row_count=2,
        total=2,
        unmatched_count=0,
        unmatched_total=0,
    )
    remittance.save()
    for line in file.lines.all():
        ClaimResult.objects.create(
            file_line=line,
            is_accepted=True,
            text=f"Accepted for {NAME}",
            code=NAME,
            file_name="r.csv",
            application="The portal",
            **told,
        )
        RemittanceLine.objects.create(
            remittance=remittance,
            position=line.position,
            file_line=line,
            payment_number=line.reference,
            day=LAST_SERVICE,
            amount=1,
            is_applied=True,
            **told,
        )


def pay_out(claim, contact):
    """A released run that pays for the claim, to the provider and, after it came back, to the participant."""
    payment_settings()
    if not claim.provider.bank_accounts.exists():
        an_account(claim.provider)
    an_account(contact, account_name=NAME)
    Claim.objects.filter(pk=claim.pk).update(provider_invoice_reference=NAME, amount_paid=claim.total)
    run = release_run(create_run([claim.pk], clock.today(), None).pk, a_releaser())
    mark_returned(run.items.get().pk, "closed", None)
    BankAccount.objects.filter(client=claim.provider).update(
        confirmed_at=clock.now(), confirmed_for=claim.provider.pk, confirmed_by=a_releaser()
    )
    Claim.objects.filter(pk=claim.pk).update(send_payment_to="Client")
    release_run(create_run([claim.pk], clock.today(), None).pk, a_releaser())


def name_everywhere(contact):
    """Write the name into every text about the participant, and into the history by changing it."""
    for model, records in find_records(contact).items():
        for record in list(records):
            texts = {
                column.name: f"{NAME}{str(record.pk)[-8:]}"
                for column in model._meta.concrete_fields
                if isinstance(column, models.CharField | models.TextField)
                and not column.choices
                and not hasattr(column, "text_field")
                and column.name not in KEPT_TEXTS
            }
            for name, text in texts.items():
                setattr(record, name, text)
            if model is Contact:
                record.archive_date = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
            record.save()


#: Texts of a form of their own, and the numbers that the books keep.
KEPT_TEXTS = {
    *("storage_key", "sha256", "file_name", "media_type", "verb", "from_status", "to_status", "code"),
    *("claim_number", "invoice_number", "external_invoice_number", "country", "state", "source_details"),
    *("bsb", "account_number", "number"),
}
