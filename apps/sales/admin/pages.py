"""The pages of the pipeline in the back office: the board by stage, follow-ups, the funnel by source."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.text import capfirst
from unfold.admin import ModelAdmin

from apps.core.models import Subscriber
from apps.odata import clock
from apps.odata.write.drafts import ValidationFailed
from apps.people.models import Staff, Team
from apps.sales import pipeline
from apps.sales.admin.forms import FollowUpForm
from apps.sales.models import Opportunity, OpportunityStage, OpportunityType
from apps.sales.services import change_stage, complete_follow_up

#: The periods of the funnel, in days.
PERIODS = {"90": "the last 90 days", "365": "the last year", "all": "all time"}


class BoardFilter(forms.Form):
    """The opportunities of the board by owner, team and type; invalid values are ignored."""

    owner = forms.ChoiceField(choices=[("", "All"), ("mine", "Mine")], required=False)
    team = forms.ModelChoiceField(Team.objects.all(), required=False, empty_label="All teams")
    type = forms.ModelChoiceField(OpportunityType.objects.all(), required=False, empty_label="All types")

    def opportunities(self, user: Any) -> QuerySet[Opportunity]:
        """The current opportunities that match."""
        self.is_valid()
        values = self.cleaned_data
        opportunities = pipeline.current_opportunities()
        if values.get("owner") == "mine":
            opportunities = opportunities.filter(owner=user)
        return opportunities.filter(**{name: values[name] for name in ("team", "type") if values.get(name)})


def render_page(
    admin: ModelAdmin, request: HttpRequest, template: str, title: str, context: dict[str, Any]
) -> HttpResponse:
    """A page in the layout of the back office, for those who may view opportunities."""
    if not admin.has_view_permission(request):
        raise PermissionDenied
    request.current_app = admin.admin_site.name
    common = {
        **admin.admin_site.each_context(request),
        "title": title,
        "currency": Subscriber.current().currency,
        "may_change": admin.has_change_permission(request),
        "today": clock.today(),
    }
    return TemplateResponse(request, template, {**common, **context})


def board(admin: ModelAdmin, request: HttpRequest) -> HttpResponse:
    """The pipeline: a column for each stage with its sums and its latest opportunities."""
    board_filter = BoardFilter(request.GET)
    columns = pipeline.stage_columns(board_filter.opportunities(request.user))
    context = {
        "columns": columns,
        "totals": pipeline.total_of_columns(columns),
        "stages": [column.stage for column in columns if not column.stage.is_archived],
        "filter": board_filter,
        "list_url": reverse("admin:sales_opportunity_changelist"),
        "query": request.GET.urlencode(),
    }
    return render_page(admin, request, "sales/board.html", "Pipeline", context)


def move_card(admin: ModelAdmin, request: HttpRequest) -> HttpResponse:
    """Put one opportunity of the board into another stage."""
    opportunity = get_opportunity(admin, request)
    stage = get_object_or_404(OpportunityStage, pk=read_number(request, "stage"), archive_date=None)
    message = f"{opportunity} is in {stage} now."
    call_service(request, opportunity, message, lambda: change_stage(opportunity, stage))
    query = request.POST.get("query", "")
    return redirect(f"{reverse('admin:sales_opportunity_board')}?{query}#opportunity-{opportunity.pk}")


def follow_ups(admin: ModelAdmin, request: HttpRequest) -> HttpResponse:
    """Follow-ups that are overdue, due today, and due later this week."""
    all_owners = request.GET.get("owner") == "all"
    staff = request.user if isinstance(request.user, Staff) and not all_owners else None
    context = {
        "periods": pipeline.follow_up_periods(staff),
        "all_owners": all_owners,
        "tomorrow": clock.today() + dt.timedelta(days=1),
    }
    title = "All follow-ups" if all_owners else "My follow-ups"
    return render_page(admin, request, "sales/follow_ups.html", title, context)


def follow_up_done(admin: ModelAdmin, request: HttpRequest) -> HttpResponse:
    """Complete a follow-up and set the date of the next one."""
    opportunity = get_opportunity(admin, request)
    form = FollowUpForm(request.POST)
    if form.is_valid():
        day = form.cleaned_data["next_date"]
        message = f"{opportunity}: done" + (f", next on {day:%d %b %Y}." if day else ".")
        call_service(request, opportunity, message, lambda: complete_follow_up(opportunity, day))
    else:
        messages.error(request, f"{opportunity}: the next date is not a date.")
    query = "?owner=all" if request.POST.get("all_owners") else ""
    return redirect(f"{reverse('admin:sales_opportunity_follow_ups')}{query}")


def funnel(admin: ModelAdmin, request: HttpRequest) -> HttpResponse:
    """How many opportunities of each source reached each stage, and their outcomes."""
    period = request.GET.get("period", "365")
    period = period if period in PERIODS else "365"
    since = None if period == "all" else clock.now() - dt.timedelta(days=int(period))
    context = {"funnel": pipeline.load_funnel(since), "periods": PERIODS, "period": period}
    return render_page(admin, request, "sales/funnel.html", "Funnel and win rate", context)


# --- changes from the board and the follow-ups ----------------------------------------------------------


def get_opportunity(admin: ModelAdmin, request: HttpRequest) -> Opportunity:
    """The current opportunity that a form names, for those who may change it."""
    if not admin.has_change_permission(request):
        raise PermissionDenied
    return get_object_or_404(pipeline.current_opportunities(), pk=read_number(request, "opportunity"))


def read_number(request: HttpRequest, name: str) -> int:
    """A record's number in a form; 0, which no record has, when it is not a number."""
    text = request.POST.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def call_service(
    request: HttpRequest, opportunity: Opportunity, message: str, service: Callable[[], None]
) -> None:
    """Call a service, and show the message or the issues."""
    try:
        service()
    except ValidationFailed as failed:
        for _, issue in failed.issues:
            field = issue.field if isinstance(issue.field, str) else str(issue.field[0])
            messages.error(request, f"{opportunity}: {capfirst(field.replace('_', ' '))}. {issue.message}")
        return
    messages.success(request, message)
