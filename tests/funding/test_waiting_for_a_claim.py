"""Which provider invoices wait for a claim: they say what their claims say, whatever happens."""

import contextlib
import importlib
from decimal import Decimal
from io import StringIO
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.base.drafts import ValidationFailed
from apps.base.errors import ServiceError
from apps.core import archive
from apps.core.models import Change
from apps.funding.admin.queues import waiting_invoices
from apps.funding.choices import ApprovalAction
from apps.funding.drafts import ClaimDraft, ProviderInvoiceDraft
from apps.funding.models import Claim, ProviderInvoice
from apps.funding.services.effects import recount_claim_flags
from apps.funding.services.provider_invoices import update_provider_invoices
from apps.funding.services.transitions import apply_transition, list_transitions
from apps.funding.services.update import update_claims
from apps.funding.validation.transitions import TransitionName
from tests.funding.admin_forms import PROVIDER_INVOICES
from tests.funding.bodies import a_claim_body, a_full_provider_invoice, a_funder, a_priced_entry, submitted
from tests.funding.builders import a_claim, act
from tests.people.records import form_data, get_unrendered

pytestmark = pytest.mark.django_db

MIGRATION = importlib.import_module("apps.funding.migrations.0004_claimed_provider_invoices")


def looked_up():
    """Those that wait, looked up among all claims: current, not decided against, and no claim has them."""
    current = ProviderInvoice.objects.filter(
        archive_date=None, approval_status__in=("Unactioned", "Approved")
    ).order_by()
    claims = Claim.objects.filter(provider_invoice=OuterRef("pk")).order_by()
    alone = current.filter(~Exists(claims.filter(takes_provider_invoice=True)), is_reusable=False)
    shared = current.filter(~Exists(claims.filter(archive_date=None)), is_reusable=True)
    return {provider_invoice.pk for some in (alone, shared) for provider_invoice in some}


def waiting():
    return {provider_invoice.pk for provider_invoice in waiting_invoices(ProviderInvoice.objects.all())}


#: What is done (see ``Office.deeds``), to which of the records, and in which way.
walks = st.lists(
    st.tuples(st.integers(0, 99), st.integers(0, 9), st.integers(0, 99)), min_size=6, max_size=20
)


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(walk=walks)
def test_whatever_happens_they_say_what_their_claims_say(db, walk):
    with transaction.atomic():
        office = Office()
        for step in walk:
            office.do(*step)
            assert waiting() == looked_up(), step
            assert recount_claim_flags() == 0, step
        transaction.set_rollback(True)


class Office:
    """Somebody who does what can be done to a few provider invoices and the claims on them."""

    def __init__(self):
        self.staff, self.entry = a_funder(), a_priced_entry()
        self.provider_invoices = [
            a_full_provider_invoice(),
            a_full_provider_invoice(is_reusable=True),
            a_full_provider_invoice(contact=None),
        ]
        self.deeds = (
            self.submit,
            self.submit,
            self.revise,
            self.change_status,
            self.change_status,
            self.change_status,
            self.decide,
        )
        self.deeds += (self.file_away, self.take_out, self.reuse)

    def do(self, deed, which, how):
        with contextlib.suppress(ValidationFailed, ServiceError):
            self.deeds[deed % len(self.deeds)](which, how)

    def provider_invoice(self, which):
        return ProviderInvoice.objects.get(pk=self.provider_invoices[which % len(self.provider_invoices)].pk)

    def claims(self, which):
        """One of the claims that there are, as a list; none while there are none."""
        known = list(Claim.objects.order_by("claim_number"))
        return known[which % max(len(known), 1) :][:1]

    def submit(self, which, how):
        contact = {"ContactGuid": str(self.provider_invoices[0].contact_id)}
        submitted("claim", a_claim_body(self.provider_invoice(which), self.staff, self.entry, **contact))

    def revise(self, which, how):
        for claim in self.claims(which):
            values = {"provider_invoice": self.provider_invoice(how)}
            update_claims([ClaimDraft(values, given=values, key=claim.pk)], ignore_warnings=True)

    def change_status(self, which, how):
        for claim in self.claims(which):
            rows = list_transitions(claim)
            verbs = [row.name for row in rows] if rows and how % 4 else list(TransitionName)
            verb = verbs[how % len(verbs)]
            apply_transition(Claim, [claim.pk], verb, reason="Because", amounts={claim.pk: Decimal("0.01")})

    def decide(self, which, how):
        action = ApprovalAction.values[how % len(ApprovalAction.values)]
        act([self.provider_invoice(which).pk], action, self.staff, "Because")

    def file_away(self, which, how):
        archive.archive(ProviderInvoice.objects.filter(pk=self.provider_invoice(which).pk))

    def take_out(self, which, how):
        archive.restore(ProviderInvoice.objects.filter(pk=self.provider_invoice(which).pk))

    def reuse(self, which, how):
        provider_invoice = self.provider_invoice(which)
        values = {"is_reusable": not provider_invoice.is_reusable}
        update_provider_invoices([ProviderInvoiceDraft(values, given=values, key=provider_invoice.pk)])


# --- step by step ---------------------------------------------------------------------------------------


def is_claimed(provider_invoice):
    return ProviderInvoice.objects.get(pk=provider_invoice.pk).is_claimed


def test_a_claim_on_it_ends_its_waiting_and_its_history_has_no_entry_of_it():
    provider_invoices = [a_full_provider_invoice(), a_full_provider_invoice(is_reusable=True)]
    before = [provider_invoice.modify_date for provider_invoice in provider_invoices]
    assert waiting() == {provider_invoice.pk for provider_invoice in provider_invoices}
    submitted("claim", *(a_claim_body(provider_invoice) for provider_invoice in provider_invoices))
    assert waiting() == set()
    assert [
        ProviderInvoice.objects.get(pk=provider_invoice.pk).modify_date
        for provider_invoice in provider_invoices
    ] == before
    assert not Change.objects.filter(record_type="funding.providerinvoice", kind="Changed").exists()


def test_a_claim_that_moves_lets_one_wait_and_takes_the_other():
    old, new = a_full_provider_invoice(), a_full_provider_invoice()
    (key,) = submitted("claim", a_claim_body(old))
    values = {"provider_invoice": ProviderInvoice.objects.get(pk=new.pk)}
    update_claims([ClaimDraft(values, given=values, key=key)], ignore_warnings=True)
    assert (is_claimed(old), is_claimed(new)) == (False, True)


def test_an_archived_claim_lets_its_provider_invoice_wait_and_takes_it_again_when_restored():
    provider_invoice = a_full_provider_invoice()
    keys = submitted("claim", a_claim_body(provider_invoice))
    apply_transition(Claim, keys, "archive")
    assert not is_claimed(provider_invoice)
    apply_transition(Claim, keys, "restore")
    assert is_claimed(provider_invoice)


def test_a_form_that_was_read_before_the_claim_came_does_not_undo_it(client):
    """What the form had read may be old when it is stored."""
    client.force_login(a_funder())
    provider_invoice = a_full_provider_invoice()
    page = f"{PROVIDER_INVOICES}{provider_invoice.pk}/change/"
    form = form_data(get_unrendered(client, page), invoice_total="12.50")
    a_claim(
        provider_invoice=provider_invoice,
        contact=provider_invoice.contact,
        provider=provider_invoice.provider,
    )
    ProviderInvoice.objects.filter(pk=provider_invoice.pk).update(is_claimed=True)
    answer = client.post(page, form)
    assert answer.status_code == 302
    assert is_claimed(provider_invoice)


def test_a_rejected_claim_lets_a_reusable_one_wait_once_it_is_for_one_claim_only():
    provider_invoice = a_full_provider_invoice(is_reusable=True)
    a_claim(
        provider_invoice=provider_invoice,
        contact=provider_invoice.contact,
        provider=provider_invoice.provider,
        funding_status="PaymentProviderRejected",
    )
    assert is_claimed(provider_invoice)
    values = {"is_reusable": False}
    update_provider_invoices([ProviderInvoiceDraft(values, given=values, key=provider_invoice.pk)])
    assert not is_claimed(provider_invoice)
    assert waiting() == looked_up() == {provider_invoice.pk}


# --- all of them ----------------------------------------------------------------------------------------


def some_of_each():
    """Provider invoices that wait and that do not, all of which say the contrary."""
    free, shared, archived = (
        a_full_provider_invoice(),
        a_full_provider_invoice(is_reusable=True),
        a_full_provider_invoice(),
    )
    claimed, used = a_full_provider_invoice(), a_full_provider_invoice(is_reusable=True)
    for provider_invoice in (claimed, used):
        a_claim(provider_invoice=provider_invoice)
    apply_transition(Claim, [a_claim(provider_invoice=archived).pk], "archive")
    right = {
        provider_invoice.pk: is_claimed(provider_invoice)
        for provider_invoice in (free, shared, archived, claimed, used)
    }
    assert sorted(right.values()) == [False, False, False, True, True]
    ProviderInvoice.objects.filter(pk__in=right).update(is_claimed=~F("is_claimed"))
    return right


def all_say():
    return dict(ProviderInvoice.objects.values_list("pk", "is_claimed"))


def test_a_command_puts_right_what_provider_invoices_say():
    right, out = some_of_each(), StringIO()
    call_command("recount_budgets", "--dry-run", stdout=out)
    assert all_say() != right
    call_command("recount_budgets", stdout=out)
    assert all_say() == right
    call_command("recount_budgets", stdout=out)
    assert out.getvalue().splitlines()[1::2] == [
        "5 provider invoices do not agree with their claims.",
        "Put right: 5 provider invoices.",
        "Every provider invoice agrees with its claims.",
    ]


def test_the_migration_marks_existing_provider_invoices():
    right = some_of_each()
    ProviderInvoice.objects.update(is_claimed=False)
    MIGRATION.fill_is_claimed(apps, SimpleNamespace(connection=connection))
    assert all_say() == right


# --- what it costs --------------------------------------------------------------------------------------


def those_that_mark_claimed(seen):
    """Prepared statements have the first words of their SQL as names, without quotes."""
    unquoted = [each["sql"].replace('"', "") for each in seen]
    return [sql for sql in unquoted if "SET is_claimed = TRUE" in sql]


def test_statements_are_constant_in_the_number_of_claims():
    counts = []
    for number in (1, 5):
        bodies = [
            a_claim_body(a_full_provider_invoice(), a_funder(), a_priced_entry()) for _ in range(number)
        ]
        with CaptureQueriesContext(connection) as seen:
            submitted("claim", *bodies)
        counts.append(those_that_mark_claimed(seen))
    assert [len(found) for found in counts] == [1, 1]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite makes no trips")
def test_a_single_claim_makes_no_trip_of_its_own_for_it():
    """It goes with the claim's own rows."""
    body = a_claim_body(a_full_provider_invoice(), a_funder(), a_priced_entry())
    with CaptureQueriesContext(connection) as seen:
        submitted("claim", body)
    (sent,) = those_that_mark_claimed(seen)
    assert "INSERT INTO funding_claim " in sent


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite's plans are told otherwise")
def test_those_that_wait_are_read_in_order_from_an_index_of_their_own():
    """An empty table costs nothing in any way: without a sort, only an index in this order can answer.

    That of all provider invoices has the same order, and has to read those that do not wait as well.
    """
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
        cursor.execute("DROP INDEX funding_provider_newest")
    assert "funding_provider_waiting" in waiting_invoices(ProviderInvoice.objects.all())[:20].explain()
