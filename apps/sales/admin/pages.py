"""The pages of the pipeline in the back office: the board by stage, follow-ups, the funnel by source."""

import datetime as dt
from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.text import capfirst
from unfold.widgets import UnfoldAdminDateWidget

from apps.base import clock
from apps.base.drafts import ValidationFailed
from apps.core.admin_base import DayField, Page, RecordAdmin
from apps.core.caseload import visible_rows
from apps.people.models import Team
from apps.sales import pipeline
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
        opportunities = pipeline.current_opportunities(user)
        if values.get("owner") == "mine":
            opportunities = opportunities.filter(owner=user)
        return opportunities.filter(**{name: values[name] for name in ("team", "type") if values.get(name)})


class FollowUpForm(forms.Form):
    """The date of the next follow-up; without one there is none."""

    next_date = DayField(required=False, widget=UnfoldAdminDateWidget)


class PipelineAdmin(RecordAdmin):
    """The pages of the pipeline beside the list of opportunities."""

    list_pages = (
        Page("board", "Pipeline", "view_kanban", 100, method="GET"),
        Page("board/move", permission="change", method="POST"),
        Page("follow-ups", "My follow-ups", "event_upcoming", 110, method="GET"),
        Page("follow-ups/done", permission="change", method="POST"),
        Page("funnel", "Funnel and win rate", "filter_alt", 120, method="GET"),
    )

    def board_page(self, request: HttpRequest) -> HttpResponse:
        """The pipeline: a column for each stage with its sums and its latest opportunities."""
        board_filter = BoardFilter(request.GET)
        columns = pipeline.stage_columns(board_filter.opportunities(request.user))
        return self.render_page(
            request,
            "sales/board.html",
            "Pipeline",
            columns=columns,
            shown_records={Opportunity: [card["id"] for column in columns for card in column.cards]},
            totals={
                name: sum(getattr(column, name) for column in columns)
                for name in ("count", "upfront", "recurring", "weighted")
            },
            stages=[column.stage for column in columns if not column.stage.is_archived],
            filter=board_filter,
            query=request.GET.urlencode(),
            today=clock.today(),
            may_add=self.has_add_permission(request),
            may_change=self.has_change_permission(request),
        )

    def board_move_page(self, request: HttpRequest) -> HttpResponse:
        """Put one opportunity of the board into another stage."""
        opportunity = get_opportunity(request)
        stage = get_object_or_404(OpportunityStage, pk=read_number(request, "stage"), archive_date=None)
        message = f"{opportunity} is in {stage} now."
        call_service(request, opportunity, message, lambda: change_stage(opportunity, stage))
        query = request.POST.get("query", "")
        return redirect(f"{self.page_url('board')}?{query}#opportunity-{opportunity.pk}")

    def follow_ups_page(self, request: HttpRequest) -> HttpResponse:
        """Follow-ups that are overdue, due today, and due later this week."""
        all_owners = request.GET.get("owner") == "all"
        opportunities = pipeline.current_opportunities(request.user)
        if not all_owners:
            opportunities = opportunities.filter(follow_up_staff=request.user.pk)
        periods = pipeline.follow_up_periods(opportunities)
        return self.render_page(
            request,
            "sales/follow_ups.html",
            "All follow-ups" if all_owners else "My follow-ups",
            periods=periods,
            shown_records={Opportunity: [card["id"] for period in periods for card in period.cards]},
            all_owners=all_owners,
            today=clock.today(),
            media=self.media + FollowUpForm().media,
            may_change=self.has_change_permission(request),
        )

    def follow_ups_done_page(self, request: HttpRequest) -> HttpResponse:
        """Complete a follow-up and set the date of the next one."""
        opportunity = get_opportunity(request)
        form = FollowUpForm(request.POST)
        if form.is_valid():
            day = form.cleaned_data["next_date"]
            message = f"{opportunity}: done" + (f", next on {day:%d %b %Y}." if day else ".")
            call_service(request, opportunity, message, lambda: complete_follow_up(opportunity, day))
        else:
            text = request.POST.get("next_date", "")
            messages.error(request, f"{opportunity}: “{text}” is not a date: write 31/12/2026.")
        query = "?owner=all" if request.POST.get("all_owners") else ""
        return redirect(self.page_url("follow_ups") + query)

    def funnel_page(self, request: HttpRequest) -> HttpResponse:
        """How many opportunities of each source reached each stage, and their outcomes."""
        period = request.GET.get("period", "365")
        period = period if period in PERIODS else "365"
        since = None if period == "all" else clock.now() - dt.timedelta(days=int(period))
        return self.render_page(
            request,
            "sales/funnel.html",
            "Funnel and win rate",
            funnel=pipeline.load_funnel(visible_rows(request.user, Opportunity.objects.all()), since),
            periods=PERIODS,
            period=period,
        )


# --- changes from the board and the follow-ups ----------------------------------------------------------


def get_opportunity(request: HttpRequest) -> Opportunity:
    """The current opportunity that a form names."""
    opportunities = pipeline.current_opportunities(request.user)
    return get_object_or_404(opportunities, pk=read_number(request, "opportunity"))


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
