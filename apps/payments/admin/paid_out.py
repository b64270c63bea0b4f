"""The panel of a claim that says what payment runs have of it, and what is still to be paid out."""

from django.http import HttpRequest

from apps.base.money import ZERO
from apps.core.admin_base import Panel, register_panels
from apps.core.admin_base.display import admin_url, record_link, short_day
from apps.funding.choices import SendPaymentTo
from apps.funding.models import Claim
from apps.payments.admin.runs import by_model
from apps.payments.choices import RunStatus
from apps.payments.models import PaymentRun, PaymentRunClaim


def paid_out(request: HttpRequest, claim: Claim) -> dict[str, object] | None:
    """The parts of runs with what became of them; nothing of a claim of which the agency paid nothing."""
    if claim.paid_itself == claim.paid_out == ZERO or claim.send_payment_to == SendPaymentTo.PLAN_MANAGER:
        return None
    found = PaymentRunClaim.objects.filter(claim=claim).exclude(item__run__status=RunStatus.WITHDRAWN)
    parts = found.select_related("item__run", "item__client", "item__contact").order_by("-pk")
    to_pay_out = claim.paid_itself - claim.paid_out
    return {
        "rows": [
            (record_link(part.item.run), describe(part), part.item.payee, part.amount) for part in parts
        ],
        "shown_records": by_model([each.item.payee for each in parts]),
        "ready": max(to_pay_out, ZERO),
        "owed": max(-to_pay_out, ZERO),
        "ready_link": admin_url(PaymentRun, "ready"),
    }


def describe(part: PaymentRunClaim) -> str:
    """The fate of a part of a run, as the end of a sentence about it."""
    item, run = part.item, part.item.run
    if item.returned_at is not None:
        reason = f": {item.return_reason}" if item.return_reason else ""
        return f"came back on {short_day(item.returned_at)}{reason}"
    if run.status == RunStatus.RELEASED:
        return f"set off on {short_day(run.day)}" if part.amount < ZERO else f"paid on {short_day(run.day)}"
    return run.get_status_display().lower()


register_panels(
    Claim,
    Panel(model=PaymentRun, title="Paid out", template="payments/paid_out.html", context=paid_out),
)
