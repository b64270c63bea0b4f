"""An office in which somebody sees the participants of some colleagues, and what others have beside them."""

import datetime as dt
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import count

from django.db import models

from apps.base import clock
from apps.core import history
from apps.core.caseload import caseload_path
from apps.core.models import Notice
from apps.core.notices import write_notices
from apps.funding.models import (
    AcknowledgedWarning,
    ClaimResult,
    PriceBookEntry,
    StatusMove,
)
from apps.operations.personal_records import find_records, load_keys
from apps.payments.models import BankAccount
from apps.people.admin.roles import service_permissions
from apps.people.choices import Participants
from apps.people.models import Client, Contact, CustomField, CustomFieldAnswer, Location, Staff, Team
from apps.sales.models import Opportunity, OpportunityOutcomeReason, OpportunityStage
from tests.documents.builders import a_category, a_document
from tests.engagements.builders import a_booking, a_category_budget, a_pace_plan, a_plan, with_periods
from tests.funding.builders import (
    a_claim,
    a_claim_file,
    a_price,
    a_provider_invoice,
    a_remittance,
    an_entry,
    an_invoice,
)
from tests.operations.persons import KEPT_TEXTS
from tests.payments.builders import an_account
from tests.payments.statement_builders import a_consent, a_statement
from tests.people.builders import a_location, a_lookup, a_team
from tests.people.records import a_client, a_contact, a_role, a_staff_member

_numbers = count(430_000_001)
#: Stands in every text about a participant whom the person does not see.
MARKER = "Qwyxal"
STATUSES = (
    "AwaitingStaffApproval",
    "OnHold",
    "Approved",
    "AgencyClaimed",
    "AgencyFullyPaid",
    "PaymentProviderRejected",
)


def a_limited_role(participants=Participants.OWN):
    """A role with every permission, which sees some participants only."""
    role = a_role(participants=participants)
    role.permissions.set(service_permissions())
    return role


@dataclass
class Office:
    """What everybody sees, and the people: who looks, a colleague of theirs, and somebody elsewhere."""

    me: Staff
    colleague: Staff
    stranger: Staff
    provider: Client
    entry: PriceBookEntry
    stage: OpportunityStage
    reason: OpportunityOutcomeReason
    question: CustomField
    category: object
    here: Location
    team: Team
    #: The keys of each participant's records, by model.
    keys: dict[object, dict[type[models.Model], list[object]]] = field(default_factory=dict)


def an_office(participants=Participants.LOCATION):
    here, there, team = a_location(), a_location(), a_team()
    me = a_staff_member(role=a_limited_role(participants), location=here, first_name="Mine")
    colleague = a_staff_member(location=here)
    stranger = a_staff_member(location=there)
    for person in (me, colleague):
        person.teams.add(team)
    stranger.teams.add(a_team())
    provider = a_client()
    an_account(provider, entered_by=colleague)
    entry = an_entry()
    a_price(entry)
    shared = (a_lookup(OpportunityStage), a_lookup(OpportunityOutcomeReason, outcome="Lost"))
    question = a_lookup(CustomField, applies_to="Contact")
    return Office(me, colleague, stranger, provider, entry, *shared, question, a_category(), here, team)


def a_participant(office, manager, name, text=None):
    """A participant of an account manager with current records of every kind, each with the text."""
    contact = a_contact(first_name=name, account_manager=manager, scheme_number=str(next(_numbers)))
    return with_records(office, contact, text or name)


def with_records(office, contact, text):
    """Give a contact current records of every kind, each with the text; half of them are assigned to me."""
    today, me = clock.today(), office.me
    plan = {"plan_start_date": today - dt.timedelta(days=300), "plan_end_date": today + dt.timedelta(days=20)}
    booking = a_booking(a_plan(participant=contact, **plan), used_elsewhere=Decimal(95), budget_manager=me)
    component = a_category_budget(a_pace_plan(participant=contact, **plan), used_elsewhere=Decimal(120))
    with_periods(component, (str(plan["plan_start_date"]), str(plan["plan_end_date"]), "100.00"))
    document = a_document(name=text, category=office.category, created_by=me, contact=contact)
    invoices = [
        a_provider_invoice(
            contact=contact,
            provider=office.provider,
            document=document,
            invoice_total=Decimal(90),
            service_start_date=today,
            created_by=me,
        )
        for _ in range(2)
    ]
    days = {"start_date": today, "end_date": today}
    line = {"entry": office.entry, "booking": booking, "first_day": today, "last_day": today}
    claims = [
        a_claim(
            [line],
            contact=contact,
            provider=office.provider,
            provider_invoice=a_provider_invoice(contact=contact, provider=office.provider),
            funding_status=status,
            staff=(me, office.colleague)[number % 2],
            **days,
        )
        for number, status in enumerate(STATUSES)
    ]
    bill = an_invoice([{**line, "booking": None}], contact=contact, staff=me, **days)
    for owner in ({"claim": claims[0]}, {"invoice": bill}, {"provider_invoice": invoices[0]}):
        StatusMove.objects.create(**owner, verb="hold", from_status="A", to_status="B", reason=text)
    AcknowledgedWarning.objects.create(claim=claims[0], code="OverBudget", message=text)
    if text in contact.first_name:
        answer = CustomFieldAnswer.objects.create(custom_field=office.question, contact=contact)
        answer.responses.create(response=text)
    opportunity = Opportunity.objects.create(
        name=text,
        source="Referral",
        owner=me,
        primary_contact=contact,
        stage=office.stage,
        upfront_value_of_sale=Decimal(500),
        follow_up_date=today,
        follow_up_staff=me,
    )
    opportunity.outcome_reasons.add(office.reason)
    BankAccount.objects.create(contact=contact, bsb="062-000", account_number="1", account_name=text)
    a_consent(contact)
    a_statement(contact, (today.replace(day=1) - dt.timedelta(days=1)).replace(day=1))
    file = a_claim_file(claims[3:4])
    for each in file.lines.all():
        ClaimResult.objects.create(file_line=each, is_accepted=False, text=text, code="-", file_name="r.csv")
    a_remittance(*file.lines.all())
    write_everywhere(contact, text)
    with history.as_author(history.Author(staff_id=me.pk)):
        claims[0].refresh_from_db()
        claims[0].save()
        opportunity.save()
    for record in (claims[0], opportunity, invoices[0]):
        page = f"/admin/{record._meta.app_label}/{record._meta.model_name}/{record.pk}/change/"
        write_notices([Notice(staff_id=me.pk, kind="Due", text=f"Follow up on {text}", url=page)])
    office.keys[contact] = load_keys(find_records(contact))
    return contact


def write_everywhere(contact, text):
    """Write the text into every text about a participant, and so into their history."""
    for model, records in find_records(contact).items():
        for record in list(records) if caseload_path(model) else ():
            if isinstance(record, Contact) and text not in record.first_name:
                continue  # whose own record everybody of the office sees
            for column in model._meta.concrete_fields:
                is_text = isinstance(column, models.CharField | models.TextField) and not column.choices
                if is_text and not hasattr(column, "text_field") and column.name not in LEFT:
                    setattr(record, column.name, f"{text}{str(record.pk)[-8:]}")
            record.save()


LEFT = KEPT_TEXTS | {"scheme_number"}
