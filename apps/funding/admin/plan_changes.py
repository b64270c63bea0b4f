"""The page on which a plan is replaced: what is open of the old one, and what would become of its lines."""

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.widgets import UnfoldAdminTextInputWidget

from apps.base import clock
from apps.base.drafts import ValidationFailed
from apps.base.errors import Conflict, plural
from apps.base.money import ZERO
from apps.core.admin_base import Page, Panel, register_panels
from apps.core.admin_base.display import (
    admin_url,
    format_amount,
    link,
    plain_amount,
    record_link,
    short_day,
    short_period,
)
from apps.core.admin_base.forms import AmountField, typed_day_field
from apps.core.admin_base.pages import PageAdmin
from apps.core.caseload import visible_rows
from apps.engagements.models import Budget, ClientEngagement
from apps.engagements.plan_copies import DAY, PlanTerms
from apps.funding.models import Claim, Invoice, ProviderInvoice
from apps.funding.services.plan_changes import (
    BudgetCopy,
    PlacedLine,
    PlanChange,
    change_plan,
    find_successor,
    move_lines,
    preview_change,
    preview_moves,
)
from apps.funding.services.plan_survey import OpenBills, PlanSurvey, survey_plan
from apps.funding.validation.guards import AnyBill

PLAN_CHANGE = Page("plan-change/<uuid:key>", permission="plan_change")
#: As many records, and lines, as a part of the page lists.
LISTED = 100


class TermsForm(forms.Form):
    """The days and the total of the new plan."""

    first_day = typed_day_field("First day of the new plan")
    last_day = typed_day_field("Last day")
    total = AmountField(
        decimal_places=2,
        label="Total budget",
        widget=UnfoldAdminTextInputWidget(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["total"].required = True  # amounts of other forms may be left out

    @property
    def terms(self) -> PlanTerms:
        values = self.cleaned_data
        return PlanTerms(values["first_day"], values["last_day"], values["total"])

    def add_issues(self, refusal: ValidationFailed) -> None:
        """Put what the service found on the fields that it names."""
        for _, issue in refusal.issues:
            field = issue.field if issue.field in self.fields else None
            self.add_error(field, forms.ValidationError(issue.message, code=issue.code))


class PlanChangeAdmin(PageAdmin):
    """A list with the page on which a plan is replaced."""

    def has_plan_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return not lacking(request)

    def explain_refusal(self, request: HttpRequest, name: str) -> list[str]:
        if name != PLAN_CHANGE.permission:
            return super().explain_refusal(request, name)
        return [f"Your role lacks the permission to {each}." for each in lacking(request)]

    def plan_change_page(self, request: HttpRequest, key: UUID) -> HttpResponse:
        """Ask for the new plan and show what it would change; then make it. Or move what may move later."""
        plans = ClientEngagement.objects.select_related("participant").filter(pk=key)
        plan = visible_rows(request.user, plans).first()
        if plan is None:
            raise Http404
        if request.method == "POST" and "move" in request.POST:
            return self.move_later(request, plan)
        successor = find_successor(plan)
        if successor is not None:
            if request.method == "POST":
                text = f"{replaced_sentence(successor)} Nothing was changed."
                self.message_user(request, text, messages.WARNING)
            return self.replaced_page(request, plan, successor)
        if request.method == "POST":
            return self.make_plan(request, plan)
        form = TermsForm(request.GET or None, initial=usual_terms(plan))
        change = None
        if form.is_valid():
            try:
                change = preview_change(plan.pk, form.terms)
            except ValidationFailed as refusal:
                form.add_issues(refusal)
            except Conflict as conflict:
                self.message_user(request, str(conflict), messages.ERROR)
        if change is not None and not change.is_new:  # replaced while the page was made
            return self.replaced_page(request, plan, change.new)
        return self.terms_page(request, plan, form, change)

    def make_plan(self, request: HttpRequest, plan: ClientEngagement) -> HttpResponse:
        form = TermsForm(request.POST)
        if not form.is_valid():
            return self.terms_page(request, plan, form, None)
        try:
            change = change_plan(plan.pk, form.terms)
        except ValidationFailed as refusal:
            form.add_issues(refusal)
            return self.terms_page(request, plan, form, None)
        except Conflict as conflict:
            self.message_user(request, str(conflict), messages.ERROR)
            return redirect(change_url(plan))
        if not change.is_new:
            text = f"{replaced_sentence(change.new)} Nothing was changed."
            self.message_user(request, text, messages.WARNING)
            return redirect(change_url(plan))
        made = plural(sum(each.is_copied for each in change.copies), "budget")
        text = f"The new plan was made with {made}. {moved_sentence(change)}"
        self.message_user(request, text, messages.SUCCESS)
        if change.staying:
            text = (
                f"{plural(len(change.staying), 'line')} from its first day on, total"
                f" {format_amount(change.staying_total)}, did not move: the page “Change of plan” of the old"
                " plan says why."
            )
            self.message_user(request, text, messages.WARNING)
        return redirect(record_page(change.new))

    def move_later(self, request: HttpRequest, plan: ClientEngagement) -> HttpResponse:
        try:
            change = move_lines(plan.pk)
        except (ValidationFailed, Conflict) as refusal:
            text = refusal.issues[0][1].message if isinstance(refusal, ValidationFailed) else str(refusal)
            self.message_user(request, text, messages.ERROR)
        else:
            level = messages.SUCCESS if change.moved else messages.WARNING
            self.message_user(request, moved_sentence(change), level)
        return redirect(change_url(plan))

    def terms_page(
        self, request: HttpRequest, plan: ClientEngagement, form: TermsForm, change: PlanChange | None
    ) -> HttpResponse:
        context = {"form": form, "terms": form.terms if change is not None else None}
        return self.render_plan_page(request, plan, change, **context)

    def replaced_page(
        self, request: HttpRequest, plan: ClientEngagement, successor: ClientEngagement
    ) -> HttpResponse:
        change = None
        try:
            change = preview_moves(plan.pk)
        except (ValidationFailed, Conflict) as refusal:
            self.message_user(request, str(refusal), messages.ERROR)
        return self.render_plan_page(request, plan, change, successor=record_link(successor))

    def render_plan_page(
        self, request: HttpRequest, plan: ClientEngagement, change: PlanChange | None, **context: object
    ) -> HttpResponse:
        survey = survey_plan(plan)
        return self.render_page(
            request,
            "funding/plan_change.html",
            f"Change of plan: {plan}",
            plan,
            opts=ClientEngagement._meta,
            plan=plan,
            plan_link=record_page(plan),
            change=change,
            sections=sections_of(survey),
            open_bills=survey,
            budgets=[OpenBudget.of(copy, change) for copy in change.copies] if change else (),
            moved=groups_of(change.moved) if change else (),
            staying=groups_of(change.staying) if change else (),
            gap=gap_before(plan, change),
            over_allocated=change.allocated - change.new.total_budget_amount if change else None,
            shown_records=shown_records(survey, change),
            **context,
        )


# --- who, where, which words ----------------------------------------------------------------------------


def lacking(request: HttpRequest) -> list[str]:
    """The permissions that the page needs and a person's role lacks."""
    plans: Any = admin.site.get_model_admin(ClientEngagement)
    claims: Any = admin.site.get_model_admin(Claim)
    has = {
        "add plans": plans.has_add_permission(request),
        "change plans": plans.has_change_permission(request),
        "change claims": claims.has_change_permission(request),
    }
    return [name for name, granted in has.items() if not granted]


def change_url(plan: ClientEngagement) -> str:
    return admin_url(Claim, PLAN_CHANGE.name, plan.pk)


def record_page(plan: ClientEngagement) -> str:
    page: Any = admin.site.get_model_admin(ClientEngagement)
    address: str = page.record_url(plan)
    return address


def replaced_sentence(successor: ClientEngagement) -> str:
    return f"The plan was replaced already, from {short_day(successor.plan_start_date)} by {successor}."


def moved_sentence(change: PlanChange) -> str:
    if not change.moved:
        return "No line had to move."
    return f"{plural(len(change.moved), 'line')} moved to it, total {format_amount(change.moved_total)}."


def usual_terms(plan: ClientEngagement) -> dict[str, object]:
    """A plan of a year from the day after the old one, with the same total."""
    terms: dict[str, object] = {"total": plain_amount(plan.total_budget_amount)}
    if plan.last_day.year == dt.MAXYEAR:  # a plan without an end: nothing follows it
        return terms
    first = plan.last_day + DAY
    return {**terms, "first_day": first, "last_day": clock.months_after(first, 12) - DAY}


def gap_before(plan: ClientEngagement, change: PlanChange | None) -> str:
    """The days between the two plans, which none of them covers."""
    if change is None or not change.is_new or (change.new.plan_start_date - plan.last_day).days <= 1:
        return ""
    return short_period(plan.last_day + DAY, change.new.plan_start_date - DAY)


# --- what the page shows --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Section:
    """A kind of what is open of the old plan; each row is a link, words and an amount."""

    title: str
    note: str
    count: int
    total: Decimal
    rows: Sequence[tuple[str, str, Decimal | None]]


def sections_of(survey: PlanSurvey) -> list[Section]:
    invoices = survey.unclaimed
    return [
        bills_section("Waiting", "Entered on this plan and not claimed yet.", survey.waiting),
        bills_section("Claimed and not paid", "What is still to be paid of it.", survey.unpaid),
        Section(
            "Provider invoices without a claim",
            "Of this participant, whichever plan will pay them.",
            len(invoices),
            survey.unclaimed_total,
            [
                (record_link(each), each.get_approval_status_display(), each.invoice_total)
                for each in invoices[:LISTED]
            ],
        ),
    ]


def bills_section(title: str, note: str, found: OpenBills) -> Section:
    rows = [(bill_link(each.model, each.key, each.number), each.status, each.amount) for each in found.bills]
    return Section(title, note, len(rows), found.total, rows[:LISTED])


def bill_link(model: type[AnyBill], key: UUID, number: str) -> str:
    return link(admin_url(model, "change", key), number)


@dataclass(frozen=True, slots=True)
class OpenBudget:
    """A budget of the old plan, how far it runs after that plan's new end, and its copy."""

    link: str
    until: dt.date
    runs_after: bool
    remaining: Decimal
    budget: Decimal | None
    days: str
    periods: int

    @classmethod
    def of(cls, copy: BudgetCopy, change: PlanChange) -> "OpenBudget":
        budget: Budget = copy.budget
        until = getattr(budget, "booking_end_date", None) or change.old.plan_end_date
        return cls(
            link(admin_url(type(budget), "change", budget.pk), budget),
            until,
            until >= change.new.plan_start_date,
            budget.remaining,
            budget.budget if copy.is_copied else None,
            short_period(*copy.days) if copy.days else "",
            copy.periods,
        )


@dataclass(frozen=True, slots=True)
class LineGroup:
    """The lines of one claim or invoice that move, or that stay."""

    link: str
    status: str
    total: Decimal
    lines: Sequence[PlacedLine]


def groups_of(lines: Iterable[PlacedLine]) -> list[LineGroup]:
    groups = []
    for (model, key, number, status), found in groupby(
        list(lines)[:LISTED], key=lambda line: (line.model, line.bill, line.bill_number, line.status)
    ):
        of_bill = list(found)
        total = sum((line.total for line in of_bill), ZERO)
        groups.append(LineGroup(bill_link(model, key, number), status, total, of_bill))
    return groups


def shown_records(survey: PlanSurvey, change: PlanChange | None) -> dict[type[Model], set[UUID]]:
    """The keys of the records on the page, for the log of who read them."""
    shown: dict[type[Model], set[UUID]] = {
        Claim: set(),
        Invoice: set(),
        ProviderInvoice: {each.pk for each in survey.unclaimed[:LISTED]},
    }
    for part in (survey.waiting, survey.unpaid):
        for bill in part.bills[:LISTED]:
            shown[bill.model].add(bill.key)
    for lines in (change.moved, change.staying) if change else ():
        for line in lines[:LISTED]:
            shown[line.model].add(line.bill)
    return shown


# --- on the page of the plan ----------------------------------------------------------------------------


def plan_change_context(request: HttpRequest, plan: ClientEngagement) -> dict[str, object] | None:
    """The plan that replaced this one, or the button that makes it."""
    successor, may_change = find_successor(plan), not lacking(request)
    if successor is None and (plan.is_archived or not may_change):
        return None
    return {
        "successor": record_link(successor) if successor else None,
        "since": successor and successor.plan_start_date,
        "link": change_url(plan) if may_change and not plan.is_archived else None,
        "has_ended": plan.last_day < clock.today(),
    }


register_panels(
    ClientEngagement,
    Panel(
        model=ClientEngagement,
        title="Change of plan",
        order=-1,
        template="funding/plan_change_panel.html",
        context=plan_change_context,
    ),
)
