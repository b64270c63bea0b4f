"""A month with odd turns through the pages, each button pressed twice: all sums agree after each of them."""

import re

import pytest

from apps.base import clock
from apps.engagements.models import ServiceBooking
from apps.funding.file_formats.answer_files import sha256_of
from apps.funding.file_formats.remittances import read_remittance
from apps.funding.models import Claim, ClaimFile, ClaimFileLine, ProviderInvoice
from apps.funding.services.claim_files import mark_sent
from apps.funding.services.remittances import import_remittance
from apps.payments.models import BankAccount, PaymentRun, Statement
from apps.payments.services.accounts_exports import create_accounts_export
from apps.payments.services.ready import load_ready
from tests.engagements.builders import a_booking, a_plan
from tests.funding.admin_forms import CLAIMS, line, run_list_action
from tests.funding.answer_files import a_payment, as_csv
from tests.funding.claimable import a_participant
from tests.payments.builders import accounts_settings, owed_amount
from tests.payments.test_three_months import Office
from tests.people.records import form_data, get_unrendered

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.both_engines("money is summed, and what is repeated is refused, by statements of their own"),
]

DAY = "10/06/2026"
INVOICES, FILES = "/admin/funding/providerinvoice/add/", "/admin/funding/claimfile/add/"
RUNS, ACCOUNTS = "/admin/payments/paymentrun/", "/admin/payments/bankaccount/"


class OddMonth(Office):
    """The office of the three months, with a second participant and an accounting package."""

    def __init__(self, client, set_clock, folder):
        super().__init__(client, set_clock, folder)
        accounts_settings()
        self.zoe = a_participant(first_name="Zoe", scheme_number="430222222")
        days = {"plan_start_date": self.plan.plan_start_date, "plan_end_date": self.plan.plan_end_date}
        a_booking(
            a_plan(participant=self.zoe, total_budget_amount=5000, **days),
            budget=5000,
            management_type="Plan",
        )

    def press(self, address, **data):
        """Press a button twice; the last of what was said to each."""
        answers = [self.client.post(address, data, follow=True) for _ in range(2)]
        self.check()
        said = [list(map(str, answer.context["messages"])) for answer in answers]
        return [each[-1] if each else "" for each in said]

    def enter_for(self, invoice, contact, *rows):
        """A claim on a provider invoice that has no participant of its own."""
        head = {"contact": str(contact.pk), "start_date": DAY, "end_date": DAY}
        self.save(f"{CLAIMS}add/?provider_invoice={invoice.pk}", rows, **head)

    def hear(self, name, line, amount):
        """The agency's remittance of one line; what became of it."""
        number = f"4{name:>08}"
        row = a_payment(line.reference, amount, number, f"{clock.today():%Y%m%d}")
        path = as_csv(self.folder / f"{name}.csv", [row])
        report = import_remittance(read_remittance(path, clock.today())[1], path.name, sha256_of(path))
        self.check()
        return [kind for kind, tally in report.tallies.items() if tally.count]


def test_an_invoice_for_two_participants_an_account_that_changes_and_money_taken_back(client, at, tmp_path):
    office = OddMonth(client, at, tmp_path)
    office.on("2026-06-12 10:00")

    # One invoice for two participants, with and without GST.
    page = get_unrendered(client, INVOICES)
    invoice = {"provider": str(office.provider.pk), "reference": "BOTH-1", "invoice_total": "240"}
    assert client.post(INVOICES, form_data(page, **invoice, is_reusable="on")).status_code == 302
    both = ProviderInvoice.objects.get()
    taxes = ("GstOnIncome", "GstFreeIncome")
    rows = [line(office.entry, "1", from_date=DAY, to_date=DAY, tax_choice=tax) for tax in taxes]
    office.enter_for(both, office.mia, *rows)
    office.enter_for(both, office.zoe, line(office.entry, "2", from_date=DAY, to_date=DAY))
    office.check()

    # Approved by somebody else, then claimed; a page that was open before does neither again.
    office.client.force_login(office.bo)
    address = f"{CLAIMS}?status=AwaitingStaffApproval"
    claims = list(Claim.objects.order_by("claim_number"))
    asked = run_list_action(client, address, "approve", claims, follow=True)
    approval = {**dict(asked.context["hidden"]), "ticked": [str(each.pk) for each in claims], "_do": "1"}
    assert office.press(address, **approval)[0].startswith("Approve: 2 claims.")
    token = re.search(r'name="plan" value="([^"]*)"', client.get(FILES).content.decode())[1]
    said = office.press(FILES, until="12/06/2026", plan=token)
    assert ("was made: 3 lines, 240.00." in said[0], "have changed since" in said[1]) == (True, True)
    lines = list(ClaimFileLine.objects.order_by("pk"))
    rows = bytes(ClaimFile.objects.get().content).decode().splitlines()[1:]
    assert [row.split(",")[9] for row in rows] == ["P1", "P2", "P2"]
    mark_sent(ClaimFile.objects.get().pk)
    assert [office.hear(number, each, each.amount) for number, each in enumerate(lines)] == [["applied"]] * 3

    # The provider's account changes between the run and its release.
    rows = client.get(f"{RUNS}ready/").context["rows"]
    chosen = {"payee": [each["value"] for each in rows], "day": "2026-06-12"}
    office.press(f"{RUNS}make/", **chosen)
    run = PaymentRun.objects.get()
    office.client.force_login(office.ada)
    account = {
        "client": str(office.provider.pk),
        "bsb": "063-000",
        "account_number": "9",
        "account_name": "New",
    }
    assert client.post(f"{ACCOUNTS}add/", account).status_code == 302
    shown = client.get(f"{RUNS}{run.pk}/run/").content.decode()
    assert ("was changed meanwhile" in shown, f"{RUNS}{run.pk}/release/" in shown) == (True, False)
    assert "was changed meanwhile" in office.press(f"{RUNS}{run.pk}/release/")[0]
    assert "is ready again" in office.press(f"{RUNS}{run.pk}/withdraw/")[0]
    office.client.force_login(office.bo)
    new = BankAccount.objects.get(archive_date=None)
    said = office.press(f"{ACCOUNTS}{new.pk}/confirm/", confirmation="Rang them on the number we knew")
    assert ("is confirmed." in said[0], said[1]) == (True, f"It is confirmed already, by {office.bo}.")
    office.press(f"{RUNS}make/", **chosen)
    office.client.force_login(office.ada)
    run = PaymentRun.objects.get(status="Draft")
    said = office.press(f"{RUNS}{run.pk}/release/")
    assert ("is released" in said[0], said[1]) == (True, "It is released already.")
    assert PaymentRun.objects.get(status="Released").total == 240

    # A second remittance takes back a part of the first: by hand alone, and once.
    assert office.hear(9, lines[0], "-20.00") == ["not_applicable"]
    address = f"{CLAIMS}{claims[0].pk}/do/take-back/"
    page = client.get(address).context
    taken = {**dict(page["hidden"]), "amount": "20.00", "reason": "Debt 17"}
    assert office.press(address, **taken)[0] == "Money taken back: done."
    claims[0].refresh_from_db()
    assert (claims[0].funding_status, claims[0].amount_paid) == ("AgencyPartiallyPaid", 100)
    assert [(each.amount, owed_amount(each)) for each in load_ready()] == [(0, 20)]
    export = create_accounts_export(clock.today())
    assert (export.received, export.taken_back, export.paid_out) == (240, 20, 240)

    # Its statement, and the budgets of both.
    office.on("2026-07-02 10:00")
    make = f"/admin/payments/statement/make-one/{office.mia.pk}/"
    said = office.press(make, month="2026-06")
    assert ("is made." in said[0], "nothing of it changed" in said[1]) == (True, True)
    told = Statement.objects.get()
    assert (told.paid, told.claimed, told.waiting, told.refused) == (100, 20, 0, 0)
    paid = {each.engagement.participant: each.paid for each in ServiceBooking.objects.all()}
    assert paid == {office.mia: 100, office.zoe: 120}
