"""The pages of remittances, and what the agency answered to the lines of a bill."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar
from uuid import UUID

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Count, Model
from django.http import HttpRequest, HttpResponse
from unfold.decorators import display

from apps.base.batched_queries import AnyOf
from apps.base.money import ZERO
from apps.core.admin_base import DateRangeFilter, Page
from apps.core.admin_base.display import format_amount, list_column, record_link, short_day, staff_name
from apps.core.admin_base.pages import ReadOnlyAdmin
from apps.core.computed import MoneySum, count_of
from apps.funding.admin.actions import MENU
from apps.funding.admin.rejection_sentences import new_sentence_url
from apps.funding.admin.rights import may_administer_all
from apps.funding.models import ClaimFileLine, ClaimResult, RejectionSentence, Remittance, RemittanceLine
from apps.funding.rejection_codes import next_step
from apps.funding.validation.guards import AnyBill

#: Rows on a page of a remittance.
LISTED_ROWS = 100
NOT_APPLIED = count_of(RemittanceLine.objects.filter(is_applied=False), "remittance")


@admin.register(Remittance)
class RemittanceAdmin(ReadOnlyAdmin):
    """Remittances with their rows: what was applied, and why the rest was not."""

    purpose = "What the agency paid, by the files it sent, which are imported under Imports."
    menu_group = MENU
    menu_order = 216
    icon = "payments"
    ordering = ("-creation_date", "-guid")
    list_display = ("name", "paid_on", "amount", "rows", "not_applied", "imported", "imported_by")
    list_select_related = ("received_by",)
    list_filter = (("day", DateRangeFilter),)
    search_fields = ("file_name",)
    record_pages = (Page("remittance", method="GET"),)

    class Media:
        css: ClassVar[dict[str, Sequence[str]]] = {"all": ["funding.css"]}

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return may_administer_all(request) or super().has_view_permission(request, obj)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    name = list_column("file", "file_name")
    paid_on = list_column("paid on", "day", short_day)
    rows = list_column("rows", "row_count", "{:,}".format)
    amount = list_column("total", "total", format_amount)

    @display(description="not applied")
    def not_applied(self, remittance: Any) -> str:
        return f"{remittance.not_applied:,}" if remittance.not_applied else "–"

    imported = list_column("imported", "creation_date", short_day)
    imported_by = list_column("imported by", "received_by", staff_name, is_sorted=False)

    def get_queryset(self, request: HttpRequest) -> Any:
        found = super().get_queryset(request)
        return found.annotate(not_applied=NOT_APPLIED) if self.is_list(request) else found

    def remittance_page(self, request: HttpRequest, record: Remittance) -> HttpResponse:
        lines = record.lines.select_related("file_line__claim", "file_line__invoice")
        page = Paginator(lines.order_by("is_applied", "position", "pk"), LISTED_ROWS).get_page(
            request.GET.get("page")
        )
        return self.render_page(
            request,
            "funding/remittance.html",
            f"Remittance {record}",
            record,
            summary=[
                ("Paid on", short_day(record.day)),
                ("Imported", short_day(record.creation_date)),
                ("Imported by", self.imported_by(record)),
                ("SHA-256", record.sha256),
            ],
            parts=parts_of(record),
            rows=[(line, record_link(line.file_line.claim or line.file_line.invoice)) for line in page],
            page=page,
        )


def parts_of(remittance: Remittance) -> list[tuple[str, int, Decimal]]:
    """The rows by their outcome; together they are the file's."""
    sums = RemittanceLine.objects.filter(remittance=remittance).order_by().values_list("is_applied")
    found = {
        is_applied: (count, total)
        for is_applied, count, total in sums.annotate(count=Count("pk"), total=MoneySum("amount"))
    }
    parts = [
        ("Applied", *found.get(True, (0, ZERO))),
        ("Not applied", *found.get(False, (0, ZERO))),
        ("Of other organisations", remittance.unmatched_count, remittance.unmatched_total),
    ]
    count = remittance.row_count - sum(each for _, each, _ in parts)
    total = remittance.total - sum((each for *_, each in parts), ZERO)
    return [*parts, ("In an earlier remittance, or twice in this one", count, total)]


# --- what the agency answered to the lines of a bill -----------------------------------------------------


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """A line of a bill in a claim file: its reference, the agency's result, and its payments.

    ``sentence_url``: where somebody says what to do next about a refusal that nobody has said it of.
    """

    item: str
    file: str
    is_withdrawn: bool
    reference: str
    amount: Decimal
    result: str
    next_step: str
    sentence_url: str
    payments: Sequence[RemittanceLine]


def answer_rows(bill: AnyBill) -> list[AnswerLine]:
    """The agency's answers to lines of a bill that stand in claim files, the newest file last."""
    name = str(bill._meta.model_name)
    lines = ClaimFileLine.objects.filter(**{name: bill.pk}).order_by("claim_file__number", "position")
    related = ("claim_file", "result", f"{name}_line__product")
    found = list(lines.select_related(*related).prefetch_related("payments"))
    own = RejectionSentence.current() if any(map(refusal_of, found)) else {}
    return [answer_row(line, getattr(line, f"{name}_line"), own) for line in found]


def next_steps_of(model: type[AnyBill], keys: Collection[UUID]) -> dict[UUID, str]:
    """The next steps for the refused lines of bills, each step once, by the keys of the bills."""
    name = str(model._meta.model_name)
    lines = ClaimFileLine.objects.filter(
        AnyOf(name, keys), is_withdrawn=False, result__is_accepted=False
    ).order_by("pk")
    own = RejectionSentence.current()
    steps: dict[UUID, dict[str, None]] = defaultdict(dict)
    for key, code, text in lines.values_list(f"{name}_id", "result__code", "result__text"):
        if step := next_step(code, text, own):
            steps[key][step] = None
    return {key: " ".join(of_bill) for key, of_bill in steps.items()}


def refusal_of(line: Any) -> ClaimResult | None:
    """The agency's result for a line that it refused."""
    result: ClaimResult | None = getattr(line, "result", None)
    return result if result is not None and not result.is_accepted else None


def result_text(line: Any) -> str:
    """The agency's result for a line of a claim file, in a sentence."""
    result = getattr(line, "result", None)
    if result is None:
        return "No result yet."
    if not result.is_accepted:
        return f"Refused: {result.text or result.code or 'without a reason'}."
    promised = f", {result.amount:,.2f} promised" if result.amount is not None else ""
    return f"Accepted{promised}{' (capped)' if result.is_capped else ''}."


def answer_row(line: Any, of_bill: Any, own: Mapping[str, str]) -> AnswerLine:
    refusal = refusal_of(line)
    step = next_step(refusal.code, refusal.text, own) if refusal is not None else ""
    return AnswerLine(
        item=of_bill.product.code if of_bill is not None else "A line that is gone",
        file=line.claim_file.file_name,
        is_withdrawn=line.is_withdrawn,
        reference=line.reference,
        amount=line.amount,
        result=result_text(line),
        next_step=step,
        sentence_url=new_sentence_url(refusal.code, refusal.text) if refusal is not None and not step else "",
        payments=list(line.payments.all()),
    )
