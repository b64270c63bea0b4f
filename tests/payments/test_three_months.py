"""Three months of a participant, with a plan replaced in the middle of one, new prices, refusals and returns.

At the end of each, what lists, budgets, statements and ``$apply`` say is the same to the cent.
"""

import datetime as dt
from collections import defaultdict
from decimal import Decimal
from uuid import uuid4

import pytest

from apps.base import clock
from apps.engagements.models import ClientEngagement, ServiceBooking
from apps.funding.file_formats.answer_files import sha256_of
from apps.funding.file_formats.remittances import read_remittance
from apps.funding.file_formats.results import read_results
from apps.funding.models import Claim, ClaimFile, ClaimFileLine
from apps.funding.services.answer_faults import find_answer_faults
from apps.funding.services.claim_files import create_claim_files, mark_sent
from apps.funding.services.claim_results import import_results
from apps.funding.services.effects import recount_budgets
from apps.funding.services.invariants import find_claim_file_faults, find_money_faults
from apps.funding.services.remittances import import_remittance
from apps.funding.services.transitions import apply_transition
from apps.payments.file_formats.bank_returns import read_returns
from apps.payments.models import BankAccount, Statement
from apps.payments.services.accounts import confirm_account
from apps.payments.services.invariants import find_payment_faults
from apps.payments.services.returns import apply_returns
from apps.payments.services.runs import create_run, release_run
from apps.payments.services.statements import make_statements
from tests.api.caller import Caller, an_application, ok
from tests.engagements.builders import a_booking, a_plan
from tests.funding.admin_forms import CLAIMS, bill_form_data, line, save_anyway
from tests.funding.answer_files import a_payment, a_result, as_csv
from tests.funding.builders import a_price, a_product, an_entry
from tests.funding.claimable import ABN, a_participant, save_settings
from tests.payments.bank_returns import returns_of
from tests.payments.builders import an_account, payment_settings
from tests.people.records import a_client, an_administrator, get_unrendered

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.both_engines("pages sum by statements of their own"),
]

REFUSED = "C22 no plan on the dates"


def day(text):
    return dt.date.fromisoformat(text)


class Office:
    def __init__(self, client, set_clock, folder):
        self.client, self.set_clock, self.folder = client, set_clock, folder
        set_clock("2026-06-01 09:00")
        self.ada, self.bo = an_administrator(first_name="Ada"), an_administrator(first_name="Bo")
        save_settings()
        payment_settings()
        self.mia, self.provider = a_participant(), a_client(business_number=ABN)
        an_account(self.provider)
        item = a_product(code="01_011_0107_1_1", unit="H", type="Priced", category_number=1)
        self.entry = an_entry(product=item)
        a_price(self.entry, "60.00", end=day("2026-06-30"))
        a_price(self.entry, "63.00", start=day("2026-07-01"))
        days = {"plan_start_date": day("2025-08-01"), "plan_end_date": day("2026-07-31")}
        self.plan = a_plan(participant=self.mia, total_budget_amount=5000, **days)
        a_booking(self.plan, budget=5000, management_type="Plan")

    def on(self, moment):
        self.set_clock(moment)
        self.client.force_login(self.ada)  # a session does not last until the next of these days

    # --- steps

    def enter(self, reference, *lines):
        """A claim by its form, at the guide's prices; of each line the first day, the last and the hours."""
        rows = [line(self.entry, hours, from_date=first, to_date=last) for first, last, hours in lines]
        head = {"contact": str(self.mia.pk), "provider": str(self.provider.pk)}
        head |= {"start_date": lines[0][0], "end_date": lines[-1][1], "provider_invoice_reference": reference}
        self.save(f"{CLAIMS}add/", rows, **head)
        return Claim.objects.get(provider_invoice_reference=reference)

    def save(self, address, rows, **head):
        data = bill_form_data(get_unrendered(self.client, address), *rows, **head)
        answer = self.client.post(address, data)
        if answer.status_code == 200:
            answer = self.client.post(address, data | save_anyway(answer))
        assert answer.status_code == 302

    def claim(self, *claims):
        """Approve and claim; the lines that wait for their answer."""
        assert not apply_transition(Claim, [each.pk for each in claims], "approve", self.bo).refused
        create_claim_files()
        for file in ClaimFile.objects.filter(status="NotSent"):
            mark_sent(file.pk)
        return list(ClaimFileLine.objects.filter(result=None).order_by("pk"))

    def answer(self, lines, refused=()):
        """The agency refuses some lines and pays the others, which are paid out."""
        rows = [
            a_result(each.reference, "ERROR", REFUSED)
            if each in refused
            else a_result(each.reference, amount=each.amount)
            for each in lines
        ]
        path = as_csv(self.folder / "results.csv", rows)
        import_results(read_results(path)[1], path.name)
        paid_on = f"{clock.today():%Y%m%d}"
        paid = [
            a_payment(each.reference, each.amount, f"4{each.pk:08}", paid_on)
            for each in lines
            if each not in refused
        ]
        path = as_csv(self.folder / "paid.csv", paid)
        import_remittance(read_remittance(path, clock.today())[1], path.name, sha256_of(path))
        return release_run(create_run(None, clock.today(), self.ada).pk, self.bo)

    # --- sums

    def check(self):
        finders = (find_money_faults, find_claim_file_faults, find_answer_faults, find_payment_faults)
        assert [fault for find in finders for fault in find()] == []
        assert recount_budgets() == (0, 0, 0)
        sums = defaultdict(lambda: (0, Decimal(0)))
        for each in Claim.objects.all():
            count, total = sums[each.funding_status]
            sums[each.funding_status] = (count + 1, total + each.total)
        for status, expected in sums.items():
            query = {"status": status, "resubmitted": "all"}
            listed = get_unrendered(self.client, CLAIMS, query).context["cl"]
            assert (listed.sum_count, listed.sum) == expected, status
        assert self.sums_by_apply() == sums
        assert self.sums_of_budgets() == {
            "paid": sum(each.paid_itself for each in Claim.objects.all()),
            "waiting": sum(total for status, (_, total) in sums.items() if status in WAITING),
        }

    def sums_by_apply(self):
        api = Caller(an_application("claim.read", name=str(uuid4())))
        grouped = "groupby((FundingStatus),aggregate($count as Number,Total with sum as Total))"
        rows = ok(api.get("/api/claim", {"$apply": grouped}))["value"]
        return {row["FundingStatus"]: (row["Number"], row["Total"]) for row in rows}

    def sums_of_budgets(self):
        budgets = list(ServiceBooking.objects.all())
        return {name: sum(getattr(each, name) for each in budgets) for name in ("paid", "waiting")}

    def statement(self, month):
        make_statements(day(month), [self.mia.pk])
        return Statement.objects.get(month=day(month), is_replaced=False)


WAITING = ("AwaitingStaffApproval", "OnHold", "Approved")


def test_all_pages_say_the_same_at_the_end_of_each_month(client, at, tmp_path):
    office = Office(client, at, tmp_path)

    office.on("2026-06-12 10:00")
    office.enter("H-1", ("2026-06-10", "2026-06-10", "3"))
    second = office.enter("H-2", ("2026-06-11", "2026-06-11", "2"), ("2026-06-12", "2026-06-12", "1"))
    lines = office.claim(*Claim.objects.all())
    run = office.answer(lines, refused=lines[2:])
    apply_returns(read_returns(returns_of(run, day=run.day)), office.ada)
    account = BankAccount.objects.get()
    confirm_account(account.pk, office.bo, "Rang them on the number of their service agreement")
    assert apply_transition(Claim, [second.pk], "resubmit-gap", office.ada).done
    office.check()

    office.on("2026-07-10 10:00")
    office.enter("H-3", ("2026-07-08", "2026-07-08", "1"))
    office.enter("H-4", ("2026-07-13", "2026-07-13", "2"), ("2026-07-16", "2026-07-16", "3"))
    over_both = office.enter("H-5", ("2026-07-14", "2026-07-17", "4"))
    office.check()
    office.on("2026-07-17 10:00")
    terms = {"first_day": "15/07/2026", "last_day": "14/07/2027", "total": "6000"}
    assert client.post(f"/admin/funding/claim/plan-change/{office.plan.pk}/", terms).status_code == 302
    former, current = ClientEngagement.objects.order_by("plan_start_date")
    office.check()
    lines = office.claim(*Claim.objects.filter(funding_status="AwaitingStaffApproval"))
    run = office.answer(lines, refused=[each for each in lines if each.claim_id == over_both.pk])
    assert run.total == Decimal("738.00")  # 300.00 of June came back
    office.check()

    office.on("2026-08-03 10:00")
    told = office.statement("2026-07-01")
    assert (told.paid, told.refused) == (Decimal("378.00"), Decimal("252.00"))
    assert apply_transition(Claim, [over_both.pk], "resubmit", office.ada).done
    again = Claim.objects.get(resubmission_of=over_both)
    parts = (("2026-07-14", "2026-07-14", "1"), ("2026-07-15", "2026-07-17", "3"))
    rows = [line(office.entry, hours, from_date=first, to_date=last) for first, last, hours in parts]
    office.save(f"{CLAIMS}{again.pk}/change/", rows)
    assert [each.booking.engagement for each in again.line_items.order_by("position")] == [former, current]
    august = office.enter("H-6", ("2026-08-02", "2026-08-02", "1"))
    office.check()
    office.answer(office.claim(again, august))
    taken = {"amounts": {august.pk: Decimal("13.00")}, "reason": "Credit note CN-6"}
    assert apply_transition(Claim, [august.pk], "take-back", office.ada, **taken).done
    assert apply_transition(Claim, [august.pk], "write-off", office.ada, reason="Credit note CN-6").done
    office.check()

    office.on("2026-09-01 10:00")
    statements = [office.statement(f"2026-{month:02}-01") for month in (6, 7, 8)]
    assert [each.paid for each in statements] == [Decimal("360.00"), Decimal("630.00"), Decimal("50.00")]
    assert sum(each.paid for each in statements) == office.sums_of_budgets()["paid"]
